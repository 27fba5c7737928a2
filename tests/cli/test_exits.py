"""No command ends with a signal of its own making: whatever thread it starts has ended before.

A thread that still runs while Python shuts down may end the process with SIGABRT: one of Python
that writes to stderr, or one of Arrow that lets go of bytes of ours. `benchmarks/attack.py exits`
counts how commands end, with the timer at its worst.
"""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from campaign.dying import environment
from shell import typed
from weal import ActiveLearner
from weal.cli import interrupts, screen
from weal.shards.executors import _end_with
from weal.web.job_runners import ChildProcessRunner
from weal.web.job_worker import Worker

# Commands in one process; after each its exit code and the threads of the system it has left.
THREADS = """
import json, sys
from pathlib import Path
from constants import set_constants
from weal.cli import main, screen

set_constants(screen, SECONDS_BEFORE_WORDS=0.0)
for words in sys.argv[1:]:
    try:
        main.main(words.split())
    except SystemExit as left:
        names = [(task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()]
        ours = [name for name in names if name != "jemalloc_bg_thd"]  # it knows nothing of Python
        print(json.dumps([words, left.code, len(ours)]), file=sys.stderr)
"""
COMMANDS = (
    "tell steel A-5 7",
    "ask steel",
    "add steel more.csv",
    "status steel",
    "export steel --to labels.parquet",
    "show steel A-5",
    "log steel",
    "list",
    "settings steel",
    "backup copy.db",
    "doctor --store weal.db",
    "doctor --store weal.db --rescue saved",
    "doctor --store copy.db --json",
)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted in /proc")
def test_no_command_leaves_a_thread_behind(steel):
    Path("more.csv").write_text("sample,temp,hours\nB-1,907,2.5\nB-2,915,3.5\n")
    command = [sys.executable, "-c", THREADS, *COMMANDS]
    how = {"capture_output": True, "text": True, "timeout": 300, "env": environment()}
    done = subprocess.run(command, check=False, **how)
    ends = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("[")]
    assert ends == [[words, 0, 1] for words in COMMANDS]
    assert done.returncode == 0


def new_threads(before):
    """Threads of Python that were not there before."""
    return set(threading.enumerate()) - before


@pytest.fixture
def slow_stderr(monkeypatch, constants):
    """Talk that takes a while to be written; what was written to the end."""
    written, begun = [], threading.Event()

    def write(line):
        begun.set()
        time.sleep(0.2)
        written.append(line)

    monkeypatch.setattr(screen, "say", write)
    constants(screen, SECONDS_BEFORE_WORDS=0.0)
    return written, begun


def test_a_timer_that_is_writing_is_waited_for(slow_stderr):
    written, begun = slow_stderr
    with screen.show_activity("examining"):
        assert begun.wait(60)
    assert written == ["examining ..."]


def test_a_timer_is_stopped_before_it_says_anything(slow_stderr, constants):
    constants(screen, SECONDS_BEFORE_WORDS=600.0)
    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt), screen.show_activity("examining"):
        raise KeyboardInterrupt
    assert not new_threads(before)
    assert slow_stderr[0] == []


def test_the_end_of_a_command_stops_timers_that_a_second_ctrl_c_has_left(steel, constants):
    constants(screen, SECONDS_BEFORE_WORDS=600.0)
    before = set(threading.enumerate())
    left = screen.show_activity("examining")  # entered, and never left
    left.__enter__()
    assert new_threads(before)
    assert typed("list").code == 0
    assert not new_threads(before)


def test_an_interrupt_that_is_to_be_sent_again_ends_with_the_command(steel, constants):
    constants(interrupts, RESEND_SECONDS=600.0)
    before = set(threading.enumerate())
    unraisable = type("Unraisable", (), {"exc_type": KeyboardInterrupt})
    interrupts._unraisable(unraisable)
    assert typed("list").code == 0
    assert not new_threads(before)


def test_a_line_that_cannot_be_written_is_no_error_of_a_thread(monkeypatch, constants):
    def full(line):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(screen, "say", full)
    constants(screen, SECONDS_BEFORE_WORDS=0.0)
    with screen.show_activity("examining"):
        time.sleep(0.05)


def test_bars_are_drawn_without_a_thread(monkeypatch, constants, capsys):
    before = set(threading.enumerate())
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    constants(screen, SECONDS_BEFORE_WORDS=0.0)
    with screen.show_count() as progress:
        progress("scoring", 1, 2)
        assert not new_threads(before)
    assert "scoring" in capsys.readouterr().err


def test_a_run_of_a_learner_draws_its_bar_without_a_thread(capsys):
    seen = []
    learner = ActiveLearner(np.random.default_rng(3).normal(size=(12, 3)))
    before = set(threading.enumerate())

    def oracle(point):
        seen.append(new_threads(before))
        return float(len(seen) % 3)

    learner.run(oracle, 3, progress=True)
    assert seen == [set()] * 3
    assert "labels" in capsys.readouterr().err


def worker_process(folder):
    child = subprocess.Popen(
        [sys.executable, "-m", "weal.web.job_process"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    given = {"store": f"sqlite:///{folder}/weal.db", "folder": str(folder), "read_only": False,
             "logs": {}}  # fmt: skip
    child.stdin.write(json.dumps(given) + "\n")
    child.stdin.flush()
    return child


def test_a_worker_process_ends_when_the_server_dies_in_the_middle_of_a_line(steel, tmp_path):
    child = worker_process(tmp_path)
    _, errors = child.communicate('{"kind": "rows", "gi', timeout=120)
    assert child.returncode == 0, errors


def test_a_worker_process_whose_server_is_gone_ends_quietly(steel, tmp_path):
    child = worker_process(tmp_path)
    child.stdout.close()
    child.stdin.write('{"kind": "rows", "given": {"name": "no such campaign"}}\n')
    child.stdin.flush()  # and stays open: some other process may have it still
    assert (child.wait(120), child.stderr.read()) == (0, "")
    child.stdin.close()
    child.stderr.close()


def test_a_server_that_closes_waits_for_the_thread_of_its_worker(steel, tmp_path):
    before = set(threading.enumerate())
    worker = Worker(lambda: ChildProcessRunner(f"sqlite:///{tmp_path}/weal.db", tmp_path))
    worker.submit("rows", {"name": "steel"})
    assert set(threading.enumerate()) - before
    worker.close()
    assert set(threading.enumerate()) <= before


def test_a_worker_of_a_benchmark_stops_to_watch_its_parent():
    over = threading.Event()
    watcher = threading.Thread(target=_end_with, args=(os.getppid(), over))
    watcher.start()
    over.set()
    watcher.join(60)
    assert not watcher.is_alive()
