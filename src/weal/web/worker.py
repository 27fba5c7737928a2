"""One worker beside the server: jobs in turn, those that somebody waits for before the others.

`Worker` has a thread that takes jobs from a queue and hands each to a runner,

    Local      runs it in this process: for stores in memory, and for tests
    Child      hands it to a process of its own (`python -m weal.web.child`), by lines of JSON

A child that dies fails the job it was at, and the next job gets another. It ends with the server,
however that ends: its input is closed then.
"""

import itertools
import json
import queue
import secrets
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from weal import errors
from weal.errors import WealError
from weal.store.store import Store
from weal.web.shelf import Arguments, Progress, Shelf

REMEMBERED = 200  # jobs that were done
CLOSE_SECONDS = 2.0  # that a job of this process gets to end; one of a child is killed at once
STOPPED = "the worker stopped in the middle of this: try again"


@dataclass(slots=True, eq=False)
class Job:
    """Something to be done: how far it is, and what came of it."""

    id: str
    kind: str
    given: Arguments
    progress: tuple[str, int, int] | None = None
    answer: Any = None
    error: Exception | None = None
    finished: threading.Event = field(default_factory=threading.Event)
    begun: bool = False
    later: int | None = None  # the event after which the same is wanted again


class Runner(Protocol):
    """Who does a job."""

    def __call__(self, kind: str, given: Arguments, progress: Progress) -> Any:
        """The answer of a job, or an error."""

    def close(self) -> None:
        """Let go."""


class Local:
    """Jobs in this process."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._shelf = Shelf(store, folder)

    def __call__(self, kind: str, given: Arguments, progress: Progress) -> Any:
        from weal.web.jobs import run  # numerics, which the server does without

        return json.loads(json.dumps(run(self._shelf, kind, given, progress)))

    def close(self) -> None:
        pass


class Child:
    """Jobs in a process of their own; the store's name goes there by a pipe, for it is secret."""

    def __init__(self, store: str, folder: Path, read_only: bool = False) -> None:
        self._greeting = {"store": store, "folder": str(folder), "read_only": read_only}
        self._process: subprocess.Popen[str] | None = None

    def __call__(self, kind: str, given: Arguments, progress: Progress) -> Any:
        try:
            child = self._started()
            _say(child, {"kind": kind, "given": given})
            return _heard(child, progress)
        except (OSError, EOFError) as error:
            self.close()
            raise WealError(STOPPED) from error

    def _started(self) -> "subprocess.Popen[str]":
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "weal.web.child"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                start_new_session=True,  # Ctrl-C is for the server, which then ends this
            )
            _say(self._process, self._greeting)
        return self._process

    def close(self) -> None:
        child, self._process = self._process, None
        if child is not None:
            child.kill()
            child.communicate()


def _say(child: "subprocess.Popen[str]", words: Any) -> None:
    assert child.stdin is not None
    child.stdin.write(json.dumps(words) + "\n")
    child.stdin.flush()


def _heard(child: "subprocess.Popen[str]", progress: Progress) -> Any:
    """What the child answers; meanwhile it says how far it is."""
    assert child.stdout is not None
    while line := child.stdout.readline():
        words = json.loads(line)
        if "progress" in words:
            progress(*words["progress"])
        elif "error" in words:
            raise _error(*words["error"])
        else:
            return words["answer"]
    raise EOFError


def _error(kind: str, message: str) -> Exception:
    """An error of the child's, as ours."""
    known = {"ValueError": ValueError, "TypeError": TypeError, "RuntimeError": RuntimeError}
    found = getattr(errors, kind, None) or known.get(kind)
    return found(message) if found else WealError(f"a mistake in weal: {kind}: {message}")


class Worker:
    """A queue of jobs, and the thread that sees to them."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._queue: queue.PriorityQueue[tuple[int, int, Job | None]] = queue.PriorityQueue()
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._wanted: dict[tuple[str, str], Job] = {}  # results that are on their way
        self._failed: dict[tuple[str, str], tuple[int, str]] = {}
        self._thread = threading.Thread(target=self._work, name="weal worker", daemon=True)
        self._thread.start()

    def submit(self, kind: str, given: Arguments, key: str | None = None) -> Job:
        """A job that somebody waits for; the same key again is the same job."""
        with self._lock:
            id_ = key or secrets.token_hex(16)
            if id_ in self._jobs:
                return self._jobs[id_]
            job = self._jobs[id_] = Job(id_, kind, given)
            while len(self._jobs) > REMEMBERED:
                self._jobs.popitem(last=False)
        self._queue.put((0, next(self._numbers), job))
        return job

    def job(self, id_: str) -> Job | None:
        """The job with this id, if it is still remembered."""
        return self._jobs.get(id_)

    def want(self, kind: str, name: str, seq: int) -> None:
        """A result of a campaign, found after `seq` events, when there is time for it."""
        with self._lock:
            under_way = self._wanted.get((kind, name))
            if under_way is None and not self.trouble(kind, name, seq):
                self._want(kind, name, seq)
            elif under_way is not None and under_way.begun:  # it may have looked too early
                under_way.later = seq

    def _want(self, kind: str, name: str, seq: int) -> None:
        job = self._wanted[kind, name] = Job("", kind, {"name": name, "seq": seq})
        self._queue.put((1, next(self._numbers), job))

    def trouble(self, kind: str, name: str, seq: int) -> str | None:
        """Why there is no such result after these events; None: nothing went wrong."""
        past, message = self._failed.get((kind, name), (-1, ""))
        return message if past == seq else None

    def wanted(self, kind: str, name: str) -> Job | None:
        """The job that looks for this result, if it is on its way."""
        return self._wanted.get((kind, name))

    def close(self) -> None:
        """Stop; what is under way is given up."""
        self._queue.put((-1, -1, None))
        until = time.monotonic() + CLOSE_SECONDS
        while self._thread.is_alive() and time.monotonic() < until:
            self._runner.close()  # again, where the thread has started a child meanwhile
            self._thread.join(0.1)

    def _work(self) -> None:
        while (job := self._queue.get()[2]) is not None:
            job.begun = True
            try:
                job.answer = self._runner(job.kind, job.given, _counter(job))
            except Exception as error:  # noqa: BLE001  whoever waits for the job is told
                job.error = error
            self._settle(job)

    def _settle(self, job: Job) -> None:
        if not job.id:
            with self._lock:
                self._found(job, (job.kind, str(job.given["name"])))
        job.finished.set()

    def _found(self, job: Job, wanted: tuple[str, str]) -> None:
        """A result is there, or cannot be; it is looked for again where labels came meanwhile."""
        if job.error is not None:
            self._failed[wanted] = (job.given["seq"], str(job.error))
        self._wanted.pop(wanted, None)
        if job.later is not None and job.later != job.given["seq"]:
            self._want(*wanted, job.later)


def _counter(job: Job) -> Callable[[str, int, int], None]:
    def count(what: str, done: int, total: int) -> None:
        job.progress = (what, done, total)

    return count
