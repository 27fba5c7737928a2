"""Processes that die while they write: run as a program of its own, which forks its victims.

    python dying.py WHAT ARGUMENTS...      prints one line of JSON

A program, since a fork of a process with threads (pytest's workers have some) is not safe, and a
fork of a warm one costs a millisecond. `run` starts it.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from constants import set_constants

TESTS = Path(__file__).parents[1]
AT_MOST = 40  # labels of one teller, should whoever kills it come late


def environment():
    """Where a program finds the modules of the tests; one BLAS thread, since it forks."""
    folders = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    one_thread = dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"], "1")
    return {**os.environ, **one_thread, "PYTHONPATH": os.pathsep.join(folders)}


def run(what, *arguments, before=(), killed=False, program=__file__):
    """Start this program, or another like it, which ends well or is killed; what it printed."""
    started = subprocess.run(
        [*before, sys.executable, program, what, *map(str, arguments)],
        capture_output=True, text=True, env=environment(),
    )  # fmt: skip
    if started.returncode != (-signal.SIGKILL if killed else 0):
        raise AssertionError(started.stderr or started.stdout)
    return [json.loads(line) for line in started.stdout.splitlines()]


def random_kills(url, count):
    """Kill tellers at random moments; what was acknowledged and is lost, and what is there."""
    acknowledged, surplus, start = {}, 0, 0
    rng = random.Random(7)
    for _ in range(int(count)):
        got = _kill_one(url, start, rng)
        store = open_store(url)
        there = labels(store)
        lost = [i for i in got if there.get(f"id{i}") != float(i)]
        assert not lost, f"lost {lost}"
        more = [i for i in range(start, start + len(got) + 2) if f"id{i}" in there]
        assert len(more) - len(got) in (0, 1), "more than one that was not acknowledged"
        for i in more:
            assert tell(store, f"id{i}", float(i)) == i + 3
        store.close()
        acknowledged |= dict.fromkeys(got)
        surplus += len(more) - len(got)
        start += len(more)
    return {"acknowledged": len(acknowledged), "surplus": surplus, "told": start}


def _kill_one(url, start, rng):
    """Numbers that a teller has acknowledged before it was killed at some moment."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        store = open_store(url)
        os.write(writing, b"ready\n")
        for i in range(start, start + AT_MOST):
            tell(store, f"id{i}", float(i))
            os.write(writing, b"%d\n" % i)
        signal.pause()
    os.close(writing)
    with os.fdopen(reading) as acknowledgements:
        acknowledgements.readline()
        begun = time.monotonic()
        first = [acknowledgements.readline() for _ in range(rng.randrange(1, 4))]
        time.sleep(rng.uniform(0, 1.2) * (time.monotonic() - begun) / len(first))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return [int(line) for line in (*first, *acknowledgements)]


def at(url, point, times, deed):
    """Die when this point is passed for the n-th time, while doing the deed; never if not."""
    left = [int(times)]

    def trace(here):
        left[0] -= here == point
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    sqlite_file.trace = trace
    deeds = {
        "tell": lambda store: tell(store, "id1", 1.5),
        "make": lambda store: make(store, names(9)),
        "snapshot": lambda store: store.write_snapshot(NAME, "mind", 2, "new", b"new"),
        "upgrade": lambda store: None,
    }
    if deed == "upgrade":
        steps = (("CREATE TABLE weal_more (a)",), ("DROP TABLE weal_more",))
        set_constants(statements, SQLITE=(*statements.SQLITE, *steps))
    deeds[deed](open_store(url))
    return "survived"


def telling(url, count):
    """Make a campaign and tell labels, going on after errors; one line for each."""
    store = open_store(url)
    for i in range(-1, int(count)):
        try:
            if NAME not in store.campaigns():
                make(store, names(int(count)))
            number = tell(store, f"id{i}", float(i)) if i >= 0 else 0
            print(json.dumps({"id": i, "seq": number}), flush=True)
        except WealError as error:
            print(json.dumps({"id": i, "error": str(error)}), flush=True)
    store.close()
    return "done"


def forked(url):
    """A child that writes with the store of its parent, between writes of the parent."""
    store = open_store(url)
    make(store, names(9))
    child = os.fork()
    if child == 0:
        tell(store, "id1", 1.0)
        store.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    tell(store, "id2", 2.0)
    return labels(store)


if __name__ == "__main__":
    from campaign.telling import NAME, labels, make, names, tell
    from weal.errors import WealError
    from weal.store import sqlite_file, statements
    from weal.store.protocol import open_store

    what, *arguments = sys.argv[1:]
    print(json.dumps(globals()[what](*arguments)))
