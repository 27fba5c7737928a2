"""Who does a job: this process, or one beside it.

    Local    in this process: for stores in memory, and for tests
    Child    in a process of its own (`python -m weal.web.job_process`), spoken to in lines of JSON

A child that dies fails the job that it was at, and the next job gets another. It ends with the
server, however that ends: its input is closed then. `stop` ends the job that is under way: that of
a child at once, since the child is killed; a local one when it next reports its progress.
"""

import json
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from weal import errors
from weal.errors import WealError
from weal.progress import Progress
from weal.store.protocol import Store
from weal.web.job_context import Arguments, JobContext

STOPPED = "the worker stopped in the middle of this: try again"


class Runner(Protocol):
    """Who does a job."""

    def __call__(self, kind: str, given: Arguments, progress: Progress) -> Any:
        """The answer of a job, or an error."""

    def stop(self) -> None:
        """End the job that is under way with an error; called by another thread."""

    def close(self) -> None:
        """Let go."""


class Local:
    """Jobs in this process."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._shelf = JobContext(store, folder)
        self._stopped = threading.Event()

    def __call__(self, kind: str, given: Arguments, progress: Progress) -> Any:
        from weal.web.jobs import run  # numerics, which the server does without

        self._stopped.clear()

        def report(what: str, done: int, total: int) -> None:
            if self._stopped.is_set():
                raise WealError(STOPPED)
            progress(what, done, total)

        return json.loads(json.dumps(run(self._shelf, kind, given, report)))

    def stop(self) -> None:
        self._stopped.set()

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
                [sys.executable, "-m", "weal.web.job_process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                start_new_session=True,  # Ctrl-C is for the server, which then ends this
            )
            _say(self._process, self._greeting)
        return self._process

    def stop(self) -> None:
        child = self._process
        if child is not None:
            child.kill()
            child.wait()  # the next job must not find it alive

    def close(self) -> None:
        child, self._process = self._process, None
        if child is not None:
            child.kill()
            with suppress(ValueError):  # closed by another thread meanwhile
                child.communicate()


def _say(child: "subprocess.Popen[str]", words: Any) -> None:
    assert child.stdin is not None
    child.stdin.write(json.dumps(words) + "\n")
    child.stdin.flush()


def _heard(child: "subprocess.Popen[str]", progress: Progress) -> Any:
    """What the child answers; meanwhile it says how far it is."""
    assert child.stdout is not None
    while line := child.stdout.readline():
        if not line.endswith("\n"):  # the child died in the middle of it
            raise EOFError
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
