"""A label that was acknowledged is there, whatever dies: R1 to R5 and R12 of the test plan."""

import os
import re
import shutil
import subprocess

import pytest

from campaign import dying
from campaign.telling import NAME, labels, make, names, opened, sound, tell, version
from soak import count
from weal.errors import WealError
from weal.store import sqlite_file, statements
from weal.store.protocol import open_store

KILLS = count(60, long=300)


def test_random_kills_lose_nothing(quick_sqlite_url):  # R1
    with opened(quick_sqlite_url) as store:
        make(store, names(20_000))
    [report] = dying.run("random_kills", quick_sqlite_url, KILLS)
    assert report["acknowledged"] + report["surplus"] == report["told"]
    assert report["told"] > KILLS
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
    assert dying.run("at", sqlite_url, point, 1, "tell", killed=True) == []
    with opened(sqlite_url) as store:
        assert labels(store) == {"id0": 0.5} | ({"id1": 1.5} if there else {})
        assert tell(store, "id1", 1.5) == 4
    assert sound(sqlite_url)


@pytest.mark.parametrize("times", [1, 2, 3])
def test_killed_while_a_campaign_is_made(sqlite_url, times):  # R2
    assert dying.run("at", sqlite_url, "after insert", times, "make", killed=True) == []
    with opened(sqlite_url) as store:
        assert store.campaigns() == []
        assert make(store, names(9))
    assert sound(sqlite_url)


@pytest.mark.parametrize("point", ["before begin", "after insert", "before commit", "after commit"])
def test_killed_while_a_snapshot_is_kept(sqlite_url, point):  # R2
    with opened(sqlite_url) as store:
        make(store, names(9))
        store.write_snapshot(NAME, "mind", 1, "old", b"old")
    assert dying.run("at", sqlite_url, point, 1, "snapshot", killed=True) == []
    with opened(sqlite_url) as store:
        new = point == "after commit"
        assert store.read_snapshot(NAME, "mind") == (
            (2, "new", b"new") if new else (1, "old", b"old")
        )


FAULTS = [
    (calls, error, n)
    for calls, error in (
        ("pwrite64", "EIO"),
        ("pwrite64", "ENOSPC"),
        ("fdatasync,fsync", "EIO"),
        ("unlink", "EIO"),
    )
    for n in count((1, 3, 8, 21, 34), long=(1, 2, 3, 5, 8, 13, 21, 30, 34, 40))
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
        strace = [
            "strace",
            "-f",
            "--seccomp-bpf",
            "-o",
            os.devnull,
            "-P",
            path,
            "-P",
            f"{path}-journal",
        ]
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
    assert errors >= count(3, long=5) or calls == "unlink"


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


def fill(folder):
    with (folder / "ballast").open("wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return folder / "ballast"


@pytest.mark.usefixtures("journal")
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


@pytest.mark.usefixtures("journal")
def test_a_full_disk_while_a_snapshot_or_a_pool_is_kept(small_disk):  # R5
    with opened(f"sqlite:///{small_disk}/weal.db") as store:
        make(store, names(50))
        with pytest.raises(WealError, match="disk is full"):
            store.write_snapshot(NAME, "mind", 2, "ab", bytes(2 << 20))
        with pytest.raises(WealError, match="disk is full"):
            make(store, names(50_000), "large")
        assert store.campaigns() == [NAME]
        assert store.read_snapshot(NAME, "mind") is None
        assert tell(store, "id1", 1.5) == 3
    assert sound(f"sqlite:///{small_disk}/weal.db")


@pytest.mark.usefixtures("journal")
def test_a_full_disk_while_a_store_is_made(small_disk):  # R5
    fill(small_disk)
    with pytest.raises(WealError, match="disk is full"):
        make(open_store(f"sqlite:///{small_disk}/weal.db"), names(5))


@pytest.mark.usefixtures("journal")
def test_a_full_disk_while_upgrading(small_disk, constants):  # R5
    url = f"sqlite:///{small_disk}/weal.db"
    with opened(url) as store:
        make(store, names(50))
    ballast = fill(small_disk)
    constants(statements, SQLITE=(*statements.SQLITE, ("CREATE TABLE weal_more (a)",)))
    with pytest.raises(WealError, match="disk is full"):
        open_store(url)
    ballast.unlink()
    assert version(small_disk / "weal.db") == 1
    with opened(url) as store:
        assert store.campaigns() == [NAME]
    assert version(small_disk / "weal.db") == 2
