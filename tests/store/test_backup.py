"""`weal backup`: a checked copy of one moment; and stores that one may only read."""

import os
import sqlite3
import subprocess
import threading
from contextlib import closing
from pathlib import Path

import pytest

from campaign import dying
from campaign.alloys import begin_alloys
from campaign.telling import NAME, labels, make, names, opened, sound, tell
from shell import typed
from weal.errors import DamagedStore, WealError
from weal.store.protocol import open_store
from weal.store.recovery import backup


def test_a_copy_is_of_one_moment_while_others_write(sqlite_url, tmp_path):
    with opened(sqlite_url) as store:
        make(store, names(2000))
    stop, told = threading.Event(), []

    def work():
        with opened(sqlite_url) as store:
            while not stop.is_set() and len(told) < 2000:
                told.append(tell(store, f"id{len(told)}", float(len(told))))

    teller = threading.Thread(target=work)
    teller.start()
    counts = []
    try:
        for n in range(5):
            least = len(told)
            assert {one.level for one in backup(sqlite_url, tmp_path / f"{n}.db")} == {"fine"}
            with opened(str(tmp_path / f"{n}.db")) as copy:
                there = labels(copy)
                assert there == {f"id{i}": float(i) for i in range(len(there))}
                assert len(there) >= least
                counts.append(len(there))
                assert tell(copy, "id1999", 1.0)  # restoring is opening
    finally:
        stop.set()
        teller.join()
    assert counts == sorted(counts)
    with opened(sqlite_url) as store:
        assert len(labels(store)) == len(told)
    assert not list(tmp_path.glob(".weal*"))


@pytest.mark.usefixtures("steel")
def test_the_command_copies_and_stays_off_what_is_there():
    before = Path("weal.db").read_bytes()
    done = typed("backup", "copy.db")
    assert (done.code, done.out) == (0, "copy.db\n")
    assert "open it with --store sqlite:///copy.db" in done.err
    assert typed("list", "--store", "copy.db").out == typed("list").out
    for words in (["copy.db"], ["weal.db"], ["weal.db", "--force"], ["no/such.db"]):
        assert typed("backup", *words).code == 2
    assert typed("backup", "copy.db", "--force").code == 0
    assert Path("weal.db").read_bytes() == before
    assert typed("backup", "other.db", "--store", "typo.db").code == 1
    assert not Path("other.db").exists()


def test_what_is_damaged_is_not_copied(sqlite_url, tmp_path):
    with opened(sqlite_url) as store:
        make(store, names(9))
        tell(store, "id1", 1.5)
    with closing(sqlite3.connect(tmp_path / "weal.db")) as connection, connection:
        connection.execute("UPDATE weal_event SET who = 'eve' WHERE seq = 3")
    with pytest.raises(DamagedStore, match=r"was not copied, since it is damaged.*event 3"):
        backup(sqlite_url, tmp_path / "copy.db")
    assert [path.name for path in tmp_path.iterdir()] == ["weal.db"]


def test_a_full_disk_leaves_no_half_copy(sqlite_url, small_disk):
    with opened(sqlite_url) as store:
        make(store, [f"{n} {os.urandom(40).hex()}" for n in range(9000)])
    with pytest.raises((WealError, OSError), match=r"full|space"):
        backup(sqlite_url, small_disk / "copy.db")
    assert list(small_disk.iterdir()) == []


def test_a_server_is_copied_by_its_own_tools(postgres_url, tmp_path):
    with pytest.raises(WealError, match=r"pg_dump.*weal doctor") as caught:
        backup(postgres_url, tmp_path / "copy.db")
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", None], ids=["empty", "without tables"])
def test_looking_makes_no_store_of_an_empty_file(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WEAL_WHO", "mk")
    path = tmp_path / "weal.db"
    if content is None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE t (a)")
            connection.execute("DROP TABLE t")
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    assert typed("list").code == 0
    assert typed("doctor").code == 1
    for words in ("status x", "export x --to -", "ask x", "tell x A 1", "settings x"):
        assert typed(*words.split()).code == 2
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["weal.db"]


def test_looking_makes_no_tables_on_a_server(postgres_url):
    assert typed("list", "--store", postgres_url).code == 0
    assert typed("doctor", "--store", postgres_url).code == 1
    assert typed("status", "x", "--store", postgres_url).code == 2
    store = open_store(postgres_url)
    assert store.engine.read(lambda sql: sql.rows("SELECT 1")) == [(1,)]
    assert type(store.engine.read(lambda sql: sql)).__name__ == "SqliteSql"  # of nothing
    make(store, names(3))
    assert type(store.engine.read(lambda sql: sql)).__name__ == "PostgresSql"
    store.close()


def test_who_may_only_read_can_look(in_a_folder, small_disk):
    begin_alloys()
    store = small_disk / "weal.db"
    store.write_bytes(Path("weal.db").read_bytes())
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    before = store.read_bytes()
    for words in ("list", "status alloys", "export alloys --to -", "doctor", "settings alloys"):
        done = typed(*words.split(), "--store", store)
        assert done.code == 0, done.err
        assert done.out
    done = typed("tell", "alloys", "A-0020", "5", "--store", store)
    assert done.code == 1
    assert "read-only: make the file" in done.complaint
    assert store.read_bytes() == before
    assert [path.name for path in small_disk.iterdir()] == ["weal.db"]


def test_a_snapshot_is_kept_only_where_one_may(sqlite_url, monkeypatch):
    with opened(sqlite_url) as store:
        make(store, names(3))

    def read_only(path, place, make=True):
        return sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None)

    monkeypatch.setattr("weal.store.sqlite_file.connect", read_only)
    with opened(sqlite_url) as store:
        store.write_snapshot(NAME, "mind", 2, "ab", b"advice")
        assert store.read_snapshot(NAME, "mind") is None


def test_a_copy_before_an_upgrade_is_checked_and_killed_in_it_nothing_is_lost(sqlite_url, tmp_path):
    with opened(sqlite_url) as store:
        make(store, names(50))
        tell(store, "id3", 3.5)
        events = store.read(NAME)
    assert dying.run("at", sqlite_url, "in the copy", 1, "upgrade", killed=True) == []
    with opened(sqlite_url) as store:
        assert store.read(NAME) == events
    assert sound(sqlite_url)
    assert not list(tmp_path.glob("*.v1"))  # a copy that was not finished has no name
    assert dying.run("at", sqlite_url, "nowhere", 1, "upgrade") == ["survived"]
    assert len(list(tmp_path.glob("weal.db.v1"))) == 1
