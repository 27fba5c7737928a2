"""Stores and files that are not what they should be: refused, left alone, and nothing executed."""

import io
import pickle
import sqlite3
import zipfile
from pathlib import Path

import numpy as np
import pytest

from shell import DOORS, POOL, events, make, refused, tell, tell_file, typed

pytestmark = pytest.mark.usefixtures("in_a_folder")


class Bomb:
    def __reduce__(self):
        return (Path.touch, (Path("bomb"),))


def npz_of(path):
    with zipfile.ZipFile(path, "w") as archive:
        array = io.BytesIO()
        np.lib.format.write_array(array, np.array([Bomb()], dtype=object), allow_pickle=True)
        archive.writestr("pool.npy", array.getvalue())


@pytest.mark.covering(strength=2)
@DOORS
@pytest.mark.parametrize(
    "ending", ["csv", "tsv", "txt", "parquet", "xlsx", "pkl", "npz", "npy", "db"]
)
@pytest.mark.parametrize("kind", ["pickle", "ascii pickle", "npz"])
def test_a_file_that_could_run_code_is_refused_and_runs_none(steel, door, ending, kind):
    path = Path(f"evil.{ending}")
    if kind == "npz":
        npz_of(path)
    else:
        path.write_bytes(pickle.dumps(Bomb(), protocol=0 if kind == "ascii pickle" else 4))
    before = events("steel")
    for done in (tell_file(door, str(path)), make(door, "evil", str(path))):
        assert done.code == 2
        assert done.complaint
    assert not Path("bomb").exists()
    assert events("steel") == before
    assert events("evil") == []


@DOORS
def test_a_store_that_is_a_folder_is_refused(door):
    Path("pool.csv").write_text(POOL)
    Path("folder.db").mkdir()
    refused(make(door, "steel", "pool.csv", store="folder.db"), 1, "is a folder; name a file")
    refused(tell(door, "A-5", "7", store="folder.db"), 1, "is a folder; name a file")


@DOORS
def test_a_store_in_a_folder_that_is_not_there_is_refused(door):
    Path("pool.csv").write_text(POOL)
    refused(make(door, "steel", "pool.csv", store="no/such.db"), 1, "does not exist: make")


@DOORS
def test_a_store_that_names_none_is_refused(door):
    refused(
        tell(door, "A-5", "7", store="ftp://x/y"), 2, "is not the name of a store; write sqlite:///"
    )


@DOORS
def test_a_store_of_another_program_is_refused(door):
    with sqlite3.connect("other.db") as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    refused(tell(door, "A-5", "7", store="other.db"), 1, "of another program")


@DOORS
def test_a_store_of_a_newer_version_is_refused_and_left_alone(steel, door):
    connection = sqlite3.connect("weal.db")
    connection.execute("PRAGMA user_version=99")
    connection.close()
    before = Path("weal.db").read_bytes()
    refused(tell(door, "A-5", "7"), 1, "written by a newer weal.*upgrade weal")
    assert Path("weal.db").read_bytes() == before


@DOORS
def test_a_read_only_store_is_refused_and_left_alone(steel, door, monkeypatch):
    before = events("steel")
    with monkeypatch.context() as patch:
        patch.setattr("weal.store.sqlite_file.connect", read_only)
        refused(tell(door, "A-5", "7"), 1, "read-only: make the file .* writable")
    assert events("steel") == before


def read_only(path, place, make=True):
    """As for somebody who may only read the file: the tests may run as root, who may do all."""
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)


@DOORS
@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:s3cret@127.0.0.1:1/lab",
        "postgresql://ann:s3c@cret@127.0.0.1:1/lab",
        "postgresql://127.0.0.1:1/lab?user=ann&password=s3cret",
        "postgres://ann:s3cret@nowhere.invalid/lab",
        "mysql://ann:s3cret@127.0.0.1/lab",
        "sqlite://ann:s3cret@127.0.0.1/lab",
    ],
)
def test_a_password_is_never_shown(door, url):
    done = tell(door, "A-5", "7", store=url)
    assert done.code in (1, 2)  # a name that is wrong in itself, or a server that is not there
    assert "s3c" not in done.err
    assert "cret" not in done.err
    assert done.complaint


@pytest.mark.parametrize(
    "words", ["", "tell", "list --store", "new x --pool", "doctor --store", "tell x A-1"]
)
def test_a_password_at_the_wrong_place_is_not_shown_either(words):
    done = typed(*words.split(), "postgresql://ann:s3cret@127.0.0.1:1/lab")
    assert done.code in (1, 2)
    assert "s3cret" not in done.out + done.err


def test_memory_is_no_store_for_a_command():
    refused(typed("list", "--store", "memory:"), 2, "lost when the command ends")
