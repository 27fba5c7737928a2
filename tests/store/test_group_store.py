"""A store for a group: what is made under umask 007 can be written by everyone in the group."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from campaign.alloys import begin_alloys
from campaign.dying import environment
from campaign.lab import campaign, pool, truth
from campaign.telling import labels, make, names, opened, tell
from shell import typed
from weal.campaign.campaign import open_campaign
from weal.store import sqlite_file, statements
from weal.store.recovery import backup

GROUP, ANN, BO = 23_456, 23_457, 23_458  # nobody's numbers
PERSON = """
import os
from campaign.telling import make, names, opened, tell
import pyarrow.parquet, weal.store.sqlite  # what is imported later may be out of reach
os.setgroups([]), os.setgid({group}), os.setuid({user}), os.umask(0o007)
with opened("sqlite:///{place}") as store:
    {words}
"""


@pytest.fixture(params=[0o007, 0o022, 0o077], ids=oct)
def mask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@contextmanager
def under(mask):
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def modes(folder):
    """The rights of all that is in a folder, by name."""
    return {
        str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode)
        for path in folder.rglob("*")
    }


def check_modes(folder, mask):
    wrong = {
        name: oct(mode)
        for name, mode in modes(folder).items()
        if mode != ((0o777 if (folder / name).is_dir() else 0o666) & ~mask)
    }
    assert not wrong


def test_the_file_and_its_journals_have_the_rights_of_the_umask(tmp_path, mask, journal):
    seen = {}

    def look(point):
        if point == "before commit":
            seen.update(modes(tmp_path))

    with pytest.MonkeyPatch.context() as patch, opened(f"sqlite:///{tmp_path}/weal.db") as store:
        make(store, names(50))
        patch.setattr(sqlite_file, "trace", look)
        tell(store, "id3", 3.5)
        with under(0o077):  # another member, whose umask is closer
            tell(store, "id4", 4.5)
    assert any(name.startswith("weal.db-") for name in seen)
    assert set(seen.values()) == {0o666 & ~mask}
    check_modes(tmp_path, mask)


def test_backups_and_copies_before_an_upgrade_have_them_too(tmp_path, mask, constants):
    with opened(f"sqlite:///{tmp_path}/weal.db") as store:
        make(store, names(50))
    backup(f"sqlite:///{tmp_path}/weal.db", tmp_path / "copy.db")
    constants(statements, SQLITE=(*statements.SQLITE, ("CREATE TABLE weal_more (a)",)))
    with opened(f"sqlite:///{tmp_path}/weal.db") as store:
        tell(store, "id3", 3.5)
    assert sorted(modes(tmp_path)) == ["copy.db", "weal.db", "weal.db.v1"]
    check_modes(tmp_path, mask)


def test_what_lies_beside_the_store_has_them_too(tmp_path, mask):
    (tmp_path / "pool").mkdir()
    pool().to_parquet(tmp_path / "pool" / "part.parquet")
    place = f"sqlite:///{tmp_path}/weal.db"
    source = str(tmp_path / "pool" / "*.parquet")
    with open_campaign("lab", place, pool=source, id_column="name") as one:
        one.tell("r1", 1.0)
    assert any(name.startswith("weal.db.pools/") for name in modes(tmp_path))
    check_modes(tmp_path, mask)


@pytest.mark.usefixtures("in_a_folder")
def test_pictures_and_exports_have_them_too(tmp_path):
    with under(0o007):
        begin_alloys()
        assert typed("export", "alloys", "--to", "labels.csv").code == 0
        with campaign() as one:
            one.tell({f"r{n}": truth(n) for n in range(6)})
            one.read_learner().plot.save(tmp_path / "pictures")
    assert len(modes(tmp_path)) > 6
    check_modes(tmp_path, 0o007)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become two other people")
def test_two_people_of_a_group_work_on_one_store():
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    try:
        os.chown(folder, ANN, GROUP)
        folder.chmod(0o2770)
        for user, words in (
            (ANN, "make(store, names(9))"),
            (BO, "tell(store, 'id1', 1.5)"),
            (ANN, "tell(store, 'id2', 2.5)"),
        ):
            program = PERSON.format(group=GROUP, user=user, place=folder / "weal.db", words=words)
            done = subprocess.run(
                [sys.executable, "-c", program], env=environment(), capture_output=True, text=True
            )
            assert done.returncode == 0, done.stderr
        with opened(f"sqlite:///{folder}/weal.db") as store:
            assert labels(store) == {"id1": 1.5, "id2": 2.5}
    finally:
        shutil.rmtree(folder)
