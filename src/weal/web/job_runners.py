"""Runners of jobs: in this process, or in a child process.

    InProcessRunner      for stores in memory, and for tests
    ChildProcessRunner   `python -m weal.web.job_process`, which speaks JSON lines

A child that dies fails its job, and the next job starts another child. The child ends with the
server, however the server ends, because its input is closed then. `stop` ends the running job: a
child is killed at once; a job of this process ends when it next reports its progress.
"""

import json
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from weal import errors
from weal.errors import WealError
from weal.logs import current_request, settings
from weal.progress import Progress
from weal.store.protocol import Store
from weal.web.job_context import Arguments, JobContext

STOPPED = "the worker process ended during this job: try again"


class Runner(Protocol):
    """Runs one job at a time."""

    def __call__(self, kind: str, arguments: Arguments, progress: Progress) -> object:
        """The JSON answer of a job; raises its error."""

    def stop(self) -> None:
        """End the running job with an error. Called by another thread, which must not wait."""

    def close(self) -> None:
        """Release the resources of the runner."""


class InProcessRunner:
    """Jobs in this process."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._context = JobContext(store, folder)
        self._stopped = threading.Event()

    def __call__(self, kind: str, arguments: Arguments, progress: Progress) -> object:
        from weal.web.jobs import run  # numerics, which the server does without

        self._stopped.clear()

        def report(what: str, done: int, total: int) -> None:
            if self._stopped.is_set():
                raise WealError(STOPPED)
            progress(what, done, total)

        answer: object = json.loads(json.dumps(run(self._context, kind, arguments, report)))
        return answer

    def stop(self) -> None:
        self._stopped.set()

    def close(self) -> None:
        pass


class ChildProcessRunner:
    """Jobs in a child process; the store's URL is sent by a pipe because it may hold a password."""

    def __init__(self, store: str, folder: Path, read_only: bool = False) -> None:
        self._first_line = {"store": store, "folder": str(folder), "read_only": read_only,
                            "logs": settings()}  # fmt: skip
        self._process: subprocess.Popen[str] | None = None
        self._killed: subprocess.Popen[str] | None = None  # by `stop`, perhaps not dead yet

    def __call__(self, kind: str, arguments: Arguments, progress: Progress) -> object:
        try:
            child = self._start()
            _write_line(
                child, {"kind": kind, "arguments": arguments, "request_id": current_request()}
            )
            return _read_answer(child, progress)
        except (OSError, EOFError) as error:
            self.close()
            raise WealError(STOPPED) from error

    def _start(self) -> "subprocess.Popen[str]":
        """The running child, or a new one."""
        child = self._process
        if child is None or child is self._killed or child.poll() is not None:
            self.close()  # waits until a killed child has ended
            child = self._process = subprocess.Popen(
                [sys.executable, "-m", "weal.web.job_process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                start_new_session=True,  # Ctrl-C is for the server, which then ends the child
            )
            _write_line(child, self._first_line)
        return child

    def stop(self) -> None:
        child = self._killed = self._process
        if child is not None:
            child.kill()  # the thread that runs jobs waits for its end

    def close(self) -> None:
        child, self._process, self._killed = self._process, None, None
        if child is not None:
            child.kill()
            with suppress(ValueError):  # closed by another thread meanwhile
                child.communicate()


def _write_line(child: "subprocess.Popen[str]", line: object) -> None:
    assert child.stdin is not None
    child.stdin.write(json.dumps(line) + "\n")
    child.stdin.flush()


def _read_answer(child: "subprocess.Popen[str]", progress: Progress) -> object:
    """The answer of the child; its progress lines go to the callback."""
    assert child.stdout is not None
    while text := child.stdout.readline():
        if not text.endswith("\n"):  # the child died while it wrote
            raise EOFError
        line = json.loads(text)
        if "progress" in line:
            progress(*line["progress"])
        elif "error" in line:
            raise _error(*line["error"])
        else:
            answer: object = line["answer"]
            return answer
    raise EOFError


def error_fields(error: Exception) -> tuple[str, str, str]:
    """An error as the child writes it: type, message and code."""
    kind = type(error).__name__
    if not hasattr(errors, kind) and isinstance(error, ValueError):
        kind = "ValueError"  # such as a TableError, whose code goes with it
    return kind, str(error), errors.error_code(error)


def _error(kind: str, message: str, code: str) -> Exception:
    """The child's error as an exception of this process."""
    builtin = {"ValueError": ValueError, "TypeError": TypeError, "RuntimeError": RuntimeError}
    found = getattr(errors, kind, None) or builtin.get(kind)
    error: Exception = found(message) if found else WealError(f"a bug in weal: {kind}: {message}")
    if errors.error_code(error) != code:
        error.code = code  # type: ignore[attr-defined]
    return error
