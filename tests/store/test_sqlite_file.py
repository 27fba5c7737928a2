"""The SQLite file: whose it is, its version (R12 of the test plan), its journal."""

import os
import shutil
import sqlite3
import subprocess
import warnings
from pathlib import Path

import pytest

from campaign import dying
from campaign.telling import NAME, labels, make, names, opened, sound, tell, version
from weal.errors import WealError
from weal.store import sqlite_file, statements
from weal.store.protocol import open_store

KEPT = Path(__file__).parent / "schemas"


@pytest.fixture
def a_newer_schema(constants):
    steps = (("CREATE TABLE weal_more (a)", "INSERT INTO weal_more VALUES (7)"),)
    constants(statements, SQLITE=statements.SQLITE + steps)


def test_an_upgrade_keeps_the_rows_and_the_old_file(sqlite_url, tmp_path, request):  # R12
    with opened(sqlite_url) as store:
        make(store, names(50))
        tell(store, "id3", 3.5)
        events = store.read(NAME)
    request.getfixturevalue("a_newer_schema")
    with opened(sqlite_url) as store:
        assert store.read(NAME) == events
        assert tell(store, "id4", 4.5) == 4
    assert version(tmp_path / "weal.db") == 2
    assert version(tmp_path / "weal.db.v1") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["weal.db", "weal.db.v1"]


@pytest.mark.parametrize(
    ("point", "times"),
    [("after the copy", 1), ("in the upgrade", 1), ("in the upgrade", 2)],
)
def test_killed_in_an_upgrade(sqlite_url, tmp_path, point, times):  # R12
    with opened(sqlite_url) as store:
        make(store, names(50))
        tell(store, "id3", 3.5)
        events = store.read(NAME)
    assert dying.run("at", sqlite_url, point, times, "upgrade", killed=True) == []
    with opened(sqlite_url) as store:
        assert store.read(NAME) == events
    assert version(tmp_path / "weal.db") == 1
    assert dying.run("at", sqlite_url, "nowhere", 1, "upgrade") == ["survived"]
    assert version(tmp_path / "weal.db") == 3
    assert version(tmp_path / "weal.db.v1") == 1


@pytest.mark.parametrize("path", sorted(KEPT.glob("*.db")), ids=lambda path: path.stem)
def test_files_of_every_schema_still_open(path, tmp_path):  # R12
    shutil.copy(path, tmp_path / "weal.db")
    with opened(str(tmp_path / "weal.db")) as store:
        assert labels(store) == {"id1": 1.5, "🧪": -2.25, "x" * 300: 1e-300}
        assert store.head(NAME) == (5, path.with_suffix(".head").read_text().strip())
        assert len(list(store.read_chunks(NAME))) == 1
        assert store.read_snapshot(NAME, "mind") == (5, store.head(NAME)[1], b"advice")
        assert tell(store, "id2", 2.5) == 6
    assert sound(str(tmp_path / "weal.db"))


def test_there_is_a_kept_file_of_every_schema():  # R12
    assert len(list(KEPT.glob("*.db"))) == len(statements.SQLITE)


def test_a_folder_is_not_a_store(tmp_path):
    with pytest.raises(WealError, match="is a folder; name a file in it"):
        open_store(f"sqlite:///{tmp_path}")
    with pytest.raises(WealError, match=r"does not exist: make .*nowhere first"):
        open_store(f"sqlite:///{tmp_path}/nowhere/weal.db")


def test_reading_makes_no_file(sqlite_url, tmp_path):
    with opened(sqlite_url) as store:
        assert store.campaigns() == []
        assert store.now()
    assert list(tmp_path.iterdir()) == []


def test_a_foreign_file_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (a)")
    connection.close()
    (tmp_path / "text.db").write_text("sample,hardness\n" * 100)
    for name, word in (("other", "of another program"), ("text", "not a database")):
        before = (tmp_path / f"{name}.db").read_bytes()
        with pytest.raises(WealError, match=word):
            open_store(f"sqlite:///{tmp_path}/{name}.db")
        assert (tmp_path / f"{name}.db").read_bytes() == before


def test_a_read_only_store_can_be_read(sqlite_url, tmp_path, constants):
    constants(sqlite_file, SAFE_LOG=(99,))
    with opened(sqlite_url) as store:
        make(store, names(3))
        tell(store, "id1", 1.5)
    code = f"""
import os
from campaign.telling import labels, tell
from weal.store import sqlite
from weal.store.protocol import open_store
os.chmod({str(tmp_path)!r}, 0o555); os.chmod({str(tmp_path / "weal.db")!r}, 0o444)
if os.geteuid() == 0: os.seteuid(65534)
store = open_store({sqlite_url!r})
print(labels(store))
try: tell(store, "id2", 2.5)
except Exception as error: print(type(error).__name__, error)
"""
    for folder in list(tmp_path.parents)[:-2]:
        os.chmod(folder, 0o755)
    done = subprocess.run(
        [dying.sys.executable, "-c", code], capture_output=True, text=True, env=dying.environment()
    )
    os.chmod(tmp_path, 0o755)
    assert done.stdout.startswith("{'id1': 1.5}\nNotAllowed"), done.stderr
    assert "read-only: make the file and its folder writable" in done.stdout


@pytest.mark.usefixtures("journal")
def test_a_store_that_is_locked_says_so(sqlite_url, constants):
    with opened(sqlite_url) as store:
        make(store, names(3))
    constants(sqlite_file, BUSY_TIMEOUT_SECONDS=0.1)
    with opened(sqlite_url) as one, opened(sqlite_url) as other:

        def decide(book):
            with pytest.raises(WealError, match=r"locked for 0.1 s: try again"):
                tell(other, "id1", 1.5)
            return []

        one.transact(NAME, decide)
        assert tell(other, "id1", 1.5) == 3


@pytest.mark.usefixtures("journal")
def test_a_file_that_was_deleted_in_use_takes_no_labels(sqlite_url, tmp_path):
    with opened(sqlite_url) as store:
        make(store, names(3))
        (tmp_path / "weal.db").unlink()
        with pytest.raises(WealError):
            tell(store, "id1", 1.5)


def test_network_drives_are_warned_about_once(tmp_path, monkeypatch):
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda / ext4 rw 0 0\nserver:/x {tmp_path}/far nfs4 rw 0 0\n")
    (tmp_path / "far").mkdir()
    assert sqlite_file.filesystem(tmp_path / "far" / "weal.db", str(mounts)) == "nfs4"
    assert sqlite_file.filesystem(tmp_path / "weal.db", str(mounts)) == "ext4"
    assert sqlite_file.filesystem(tmp_path, "/nowhere") == ""
    monkeypatch.setattr(sqlite_file, "filesystem", lambda path: "nfs4")
    with pytest.warns(UserWarning, match=r"network drive \(nfs4\).*postgresql://"):
        open_store(f"sqlite:///{tmp_path}/weal.db")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        open_store(f"sqlite:///{tmp_path}/weal.db")


def test_a_safe_sqlite_uses_the_log_and_an_older_one_goes_back(sqlite_url, constants):
    constants(sqlite_file, BUSY_TIMEOUT_SECONDS=0.1, SAFE_LOG=(3, 0, 0))
    with opened(sqlite_url) as store:
        make(store, names(3))
        assert store.engine.read(lambda sql: sql.rows("PRAGMA journal_mode")) == [("wal",)]
        tell(store, "id1", 1.5)
        constants(sqlite_file, SAFE_LOG=(99,))
        with pytest.raises(WealError, match=r"write-ahead log.*close the other program"):
            open_store(sqlite_url)
    with opened(sqlite_url) as store:
        assert store.engine.read(lambda sql: sql.rows("PRAGMA journal_mode")) == [("delete",)]
        assert labels(store) == {"id1": 1.5}


@pytest.mark.parametrize(
    "url", ["sqlite://weal.db", "sqlite:///", "sqlite:///:memory:", "sqlite:weal.db"]
)
def test_addresses_without_a_file_are_refused(url):
    with pytest.raises(ValueError, match="is not the name of a file"):
        open_store(url)


def test_events_of_some_keys_are_found_by_their_index(sqlite_url):
    with opened(sqlite_url) as store:
        make(store, names(5))

        def plans(sql, again):
            said = []
            with pytest.MonkeyPatch.context() as patch:
                rows = type(sql).rows
                patch.setattr(type(sql), "rows", lambda *given: said.append(given) or rows(*given))
                statements.TableTransaction(sql, NAME, 2, "", sql.now()).events_by_keys(
                    ["k", "k/0"]
                )
            found = [rows(sql, f"EXPLAIN QUERY PLAN {text}", *more) for _, text, *more in said]
            return " ".join(step[3] for plan in found for step in plan)

        plan = store.engine.write(plans)
        assert "INDEX weal_event_key (campaign=? AND key=?)" in plan
        assert "PRIMARY KEY (campaign=?) " not in f"{plan} "  # else all events are read
