"""A label that was acknowledged is there, whatever dies: R1 to R5 and R12 of the test plan."""

import os
import re
import shutil
import sqlite3
import subprocess
import warnings
from contextlib import contextmanager
from pathlib import Path

import pytest

from campaign import dying
from campaign.telling import NAME, labels, make, names, tell
from weal.campaign import schema, sqlite, sqlite_file
from weal.campaign.doctor import examine
from weal.campaign.store import open_store
from weal.errors import WealError

KEPT = Path(__file__).parent / "kept"


def sound(url):
    """Whether SQLite and the chain find nothing wrong."""
    return [finding for finding in examine(url) if finding.level == "broken"] == []


@contextmanager
def opened(url):
    store = open_store(url)
    try:
        yield store
    finally:
        store.close()


def test_300_random_kills_lose_nothing(quick_sqlite_url):  # R1
    with opened(quick_sqlite_url) as store:
        make(store, names(20_000))
    [report] = dying.run("random_kills", quick_sqlite_url, 300)
    assert report["acknowledged"] + report["surplus"] == report["told"]
    assert report["told"] > 300
    with opened(quick_sqlite_url) as store:
        assert labels(store) == {f"id{i}": float(i) for i in range(report["told"])}
    assert sound(quick_sqlite_url)


@pytest.mark.parametrize(
    ("point", "there"),
    [
        ("before begin", False),
        ("after insert", False),
        ("before commit", False),
        ("after commit", True),
        ("before the answer", True),
    ],
)
def test_killed_at_a_named_point_while_telling(sqlite_url, point, there):  # R2
    with opened(sqlite_url) as store:
        make(store, names(9))
        tell(store, "id0", 0.5)
    assert dying.run("at", sqlite_url, point, 1, "tell", check=False) == []
    with opened(sqlite_url) as store:
        assert labels(store) == {"id0": 0.5} | ({"id1": 1.5} if there else {})
        assert tell(store, "id1", 1.5) == 4
    assert sound(sqlite_url)


@pytest.mark.parametrize("times", [1, 2, 3])
def test_killed_while_a_campaign_is_made(sqlite_url, times):  # R2
    assert dying.run("at", sqlite_url, "after insert", times, "make", check=False) == []
    with opened(sqlite_url) as store:
        assert store.campaigns() == []
        assert make(store, names(9))
    assert sound(sqlite_url)


@pytest.mark.parametrize("point", ["before begin", "after insert", "before commit", "after commit"])
def test_killed_while_a_snapshot_is_kept(sqlite_url, point):  # R2
    with opened(sqlite_url) as store:
        make(store, names(9))
        store.keep_snapshot(NAME, "mind", 1, "old", b"old")
    assert dying.run("at", sqlite_url, point, 1, "snapshot", check=False) == []
    with opened(sqlite_url) as store:
        new = point == "after commit"
        assert store.snapshot(NAME, "mind") == ((2, "new", b"new") if new else (1, "old", b"old"))


FAULTS = [
    (calls, error, n)
    for calls, error in (
        ("pwrite64", "EIO"),
        ("pwrite64", "ENOSPC"),
        ("fdatasync,fsync", "EIO"),
        ("unlink", "EIO"),
    )
    for n in (1, 2, 3, 5, 8, 13, 21, 30, 34, 40)
]


def can_trace():
    if not shutil.which("strace"):
        return False
    return subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True).returncode == 0


needs_strace = pytest.mark.skipif(not can_trace(), reason="strace may not trace here")


@needs_strace
@pytest.mark.parametrize("calls", sorted({calls for calls, _, _ in FAULTS}))
def test_a_failing_disk_gives_a_clean_error_and_loses_nothing(tmp_path, calls):  # R3
    errors = 0
    for _, error, n in (fault for fault in FAULTS if fault[0] == calls):
        path = tmp_path / f"{error}{n}.db"
        strace = ["strace", "-f", "-o", os.devnull, "-P", path, "-P", f"{path}-journal"]
        strace += ["-e", f"trace={calls}", "-e", f"inject={calls}:error={error}:when={n}..{n + 1}"]
        *lines, last = dying.run("telling", f"sqlite:///{path}", 6, before=strace)
        assert last == "done"
        errors += any("error" in line for line in lines)
        assert all(str(path) in line["error"] for line in lines if "error" in line)
        with opened(f"sqlite:///{path}") as store:
            there = labels(store)
        told = [line["id"] for line in lines if "seq" in line and line["id"] >= 0]
        assert all(there[f"id{i}"] == float(i) for i in told)
        assert sound(f"sqlite:///{path}")
    assert errors >= 5 or calls == "unlink"


@needs_strace
def test_every_tell_syncs_before_it_answers(sqlite_url, tmp_path):  # R4
    log = tmp_path / "calls"
    strace = ["strace", "-f", "-y", "-o", log, "-e", "trace=fsync,fdatasync,write"]
    dying.run("telling", sqlite_url, 5, before=strace)
    answers = re.split(r'write\(1<.*"seq\\"', log.read_text())
    assert len(answers) == 7
    for between in answers[1:-1]:
        assert re.search(r"(fsync|fdatasync)\(\d+<[^>]*/weal\.db>", between)
        assert re.search(r"(fsync|fdatasync)\(\d+<[^>]*/weal\.db-(journal|wal)>", between)


def test_a_sqlite_that_does_not_sync_is_refused(sqlite_url, monkeypatch):  # R4
    with opened(sqlite_url) as store:
        make(store, names(2))
        read = store.engine.read(lambda sql: sqlite_file.pragma(sql.connection, "synchronous"))
        assert read == 3
    pragma = sqlite_file.pragma
    monkeypatch.setattr(
        sqlite_file, "pragma", lambda c, name: 1 if name == "synchronous" else pragma(c, name)
    )
    with pytest.raises(WealError, match="does not sync its writes"):
        open_store(sqlite_url)


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 1 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield folder
    subprocess.run(["umount", folder], check=True)


def fill(folder):
    with (folder / "ballast").open("wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return folder / "ballast"


def test_a_full_disk_while_telling(small_disk):  # R5
    with opened(f"sqlite:///{small_disk}/weal.db") as store:
        make(store, names(50))
        tell(store, "id0", 0.5)
        ballast = fill(small_disk)
        with pytest.raises(WealError, match="disk is full: make room and try again"):
            [tell(store, f"id{i}", float(i)) for i in range(1, 50)]
        before = labels(store)
        assert before["id0"] == 0.5
        ballast.unlink()
        tell(store, "id49", 4.5)
        assert labels(store) == before | {"id49": 4.5}
    assert sound(f"sqlite:///{small_disk}/weal.db")


def test_a_full_disk_while_a_snapshot_or_a_pool_is_kept(small_disk):  # R5
    with opened(f"sqlite:///{small_disk}/weal.db") as store:
        make(store, names(50))
        with pytest.raises(WealError, match="disk is full"):
            store.keep_snapshot(NAME, "mind", 2, "ab", bytes(2 << 20))
        with pytest.raises(WealError, match="disk is full"):
            make(store, names(50_000), "large")
        assert store.campaigns() == [NAME]
        assert store.snapshot(NAME, "mind") is None
        assert tell(store, "id1", 1.5) == 3
    assert sound(f"sqlite:///{small_disk}/weal.db")


def test_a_full_disk_while_a_store_is_made(small_disk):  # R5
    fill(small_disk)
    with pytest.raises(WealError, match="disk is full"):
        make(open_store(f"sqlite:///{small_disk}/weal.db"), names(5))


@pytest.fixture
def a_newer_schema(monkeypatch):
    steps = (("CREATE TABLE weal_more (a)", "INSERT INTO weal_more VALUES (7)"),)
    monkeypatch.setattr(schema, "SQLITE", schema.SQLITE + steps)


def version(path):
    with sqlite3.connect(path) as connection:
        found = sqlite_file.pragma(connection, "user_version")
    connection.close()
    return found


def test_a_full_disk_while_upgrading(small_disk, monkeypatch):  # R5
    url = f"sqlite:///{small_disk}/weal.db"
    with opened(url) as store:
        make(store, names(50))
    ballast = fill(small_disk)
    with monkeypatch.context() as patch:
        patch.setattr(schema, "SQLITE", (*schema.SQLITE, ("CREATE TABLE weal_more (a)",)))
        with pytest.raises(WealError, match="disk is full"):
            open_store(url)
        ballast.unlink()
        assert version(small_disk / "weal.db") == 1
        with opened(url) as store:
            assert store.campaigns() == [NAME]
        assert version(small_disk / "weal.db") == 2


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
    assert dying.run("at", sqlite_url, point, times, "upgrade", check=False) == []
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
        assert len(list(store.chunks(NAME))) == 1
        assert store.snapshot(NAME, "mind") == (5, store.head(NAME)[1], b"advice")
        assert tell(store, "id2", 2.5) == 6
    assert sound(str(tmp_path / "weal.db"))


def test_there_is_a_kept_file_of_every_schema():  # R12
    assert len(list(KEPT.glob("*.db"))) == len(schema.SQLITE)


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


def test_a_read_only_store_can_be_read(sqlite_url, tmp_path):
    with opened(sqlite_url) as store:
        make(store, names(3))
        tell(store, "id1", 1.5)
    code = f"""
import os
from campaign.telling import labels, tell
from weal.campaign import sqlite
from weal.campaign.store import open_store
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
    assert done.stdout.startswith("{'id1': 1.5}\nWealError"), done.stderr
    assert "read-only: make the file and its folder writable" in done.stdout


def test_a_store_that_is_locked_says_so(sqlite_url, monkeypatch):
    with opened(sqlite_url) as store:
        make(store, names(3))
    monkeypatch.setattr(sqlite_file, "PATIENCE", 0.1)
    with opened(sqlite_url) as one, opened(sqlite_url) as other:

        def decide(book):
            with pytest.raises(WealError, match=r"locked for 0.1 s: try again"):
                tell(other, "id1", 1.5)
            return []

        one.transact(NAME, decide)
        assert tell(other, "id1", 1.5) == 3


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


def test_a_safe_sqlite_uses_the_log_and_an_older_one_goes_back(sqlite_url, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(sqlite_file, "SAFE_LOG", (3, 0, 0))
        with opened(sqlite_url) as store:
            make(store, names(3))
            assert store.engine.read(lambda sql: sql.rows("PRAGMA journal_mode")) == [("wal",)]
            tell(store, "id1", 1.5)
            monkeypatch.setattr(sqlite_file, "SAFE_LOG", (99,))
            monkeypatch.setattr(sqlite_file, "PATIENCE", 0.1)
            with pytest.raises(WealError, match=r"write-ahead log.*close the other program"):
                open_store(sqlite_url)
    monkeypatch.setattr(sqlite_file, "SAFE_LOG", (99,))
    with opened(sqlite_url) as store:
        assert store.engine.read(lambda sql: sql.rows("PRAGMA journal_mode")) == [("delete",)]
        assert labels(store) == {"id1": 1.5}


@pytest.mark.parametrize(
    "url", ["sqlite://weal.db", "sqlite:///", "sqlite:///:memory:", "sqlite:weal.db"]
)
def test_addresses_without_a_file_are_refused(url):
    with pytest.raises(WealError, match="names no file"):
        sqlite.open(url)
