"""Workers that call an oracle at the same time: threads, or processes with a time limit.

A thread cannot be stopped, so a time limit needs processes. A worker process takes one point at a
time; one that exceeds the limit is killed with its children, one that ends unexpectedly is noticed,
and a new one takes its place. Processes are spawned: the oracle is sent to them by pickle, and one
that cannot be sent is refused before anything is measured.

    start(name, point)    a free worker measures the point
    wait(seconds)         the points that are done, with a label or an `OracleError`

All results come to the thread that waits, which is the only one that tells labels.
"""

import multiprocessing
import os
import pickle
import queue
import signal
import threading
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from multiprocessing.context import SpawnProcess
from numbers import Real
from typing import Any, Protocol

from weal.model.checks import check_count
from weal.text import number

Measure = Callable[[Any], Any]
MAX_WORKERS = 1000
MAX_TIMEOUT_SECONDS = 1e9
START_SECONDS = 120.0  # within which a process has to load the oracle
GRACE_SECONDS = 2.0  # for idle processes to end on their own


@dataclass(frozen=True, slots=True)
class OracleError:
    """The error that an oracle raised, instead of a label."""

    error: Exception


Result = tuple[Hashable, Any]  # the id, and a label or an OracleError


class Workers(Protocol):
    """Some workers, each busy with a point or free."""

    size: int

    def start(self, name: Hashable, point: object) -> None:
        """Let a free worker measure a point."""

    def wait(self, seconds: float) -> list[Result]:
        """Points that are done; none after so many seconds without one."""

    def close(self) -> None:
        """End the workers; points under way are given up."""


def check_workers(workers: int, timeout: float | None) -> tuple[int, float | None]:
    """The number of workers and the limit in seconds; ValueError with the way out."""
    size = check_count(workers)
    if size > MAX_WORKERS:
        raise ValueError(f"workers is {size}; write a whole number from 1 to {MAX_WORKERS}")
    if timeout is None:
        return size, None
    is_number = isinstance(timeout, Real) and not isinstance(timeout, bool)
    if not is_number or not 0.0 < timeout < MAX_TIMEOUT_SECONDS:
        raise ValueError(f"timeout is {timeout!r}; write seconds above 0, as timeout=600")
    return size, float(timeout)


def make_workers(measure: Measure, size: int, timeout: float | None) -> Workers:
    """Threads, or processes where there is a time limit."""
    if timeout is None:
        return ThreadWorkers(measure, size)
    return ProcessWorkers(measure, size, timeout)


class ThreadWorkers:
    """A thread for each point under way."""

    def __init__(self, measure: Measure, size: int) -> None:
        self.measure, self.size = measure, size
        self._done: queue.SimpleQueue[Result] = queue.SimpleQueue()

    def start(self, name: Hashable, point: object) -> None:
        """Let a new thread measure a point."""
        threading.Thread(target=self._call, args=(name, point), daemon=True).start()

    def _call(self, name: Hashable, point: object) -> None:
        try:
            found = self.measure(point)
        except Exception as error:  # noqa: BLE001  raised again, or reported, by the waiting thread
            found = OracleError(error)
        except BaseException as error:  # noqa: BLE001  SystemExit would end a thread silently
            found = OracleError(RuntimeError(f"the oracle raised {error!r}"))
        self._done.put((name, found))

    def wait(self, seconds: float) -> list[Result]:
        """Points that are done; none after so many seconds without one."""
        found = list[Result]()
        with suppress(queue.Empty):
            found.append(self._done.get(timeout=seconds))
            while True:
                found.append(self._done.get_nowait())
        return found

    def close(self) -> None:
        """Do nothing: a thread cannot be stopped, and none outlives the program."""


@dataclass(slots=True)
class _Slot:
    """A worker process, and the point that it measures."""

    process: SpawnProcess
    pipe: Connection
    name: Hashable = None
    deadline: float | None = None  # None if it is free


class ProcessWorkers:
    """Processes that are killed where a point takes too long."""

    def __init__(self, measure: Measure, size: int, timeout: float) -> None:
        self.size, self.timeout = size, timeout
        self._oracle = pickled_oracle(measure)
        self._slots = list[_Slot]()
        try:
            self._slots += [self._spawn() for _ in range(size)]
            for slot in self._slots:
                _wait_until_ready(slot)
        except BaseException:
            self.close()
            raise

    def _spawn(self) -> _Slot:
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        process = context.Process(target=_serve, args=(there, self._oracle))
        process.start()
        there.close()  # the end of the process is seen as the end of the pipe
        return _Slot(process, here)

    def start(self, name: Hashable, point: object) -> None:
        """Let a free process measure a point."""
        at = next(n for n, one in enumerate(self._slots) if one.deadline is None)
        try:
            self._slots[at].pipe.send(point)
        except OSError:  # it ended while it was free
            self._replace(at)
            self._slots[at].pipe.send(point)
        slot = self._slots[at]
        slot.name, slot.deadline = name, time.monotonic() + self.timeout

    def wait(self, seconds: float) -> list[Result]:
        """Points that are done; none after so many seconds without one."""
        busy = {one.pipe: n for n, one in enumerate(self._slots) if one.deadline is not None}
        next_deadline = min((one.deadline for one in self._slots if one.deadline), default=0.0)
        until = max(min(seconds, next_deadline - time.monotonic()), 0.0)
        ready = wait_for(list(busy), until)
        found = [self._take(at) for pipe, at in busy.items() if pipe in ready]
        now = time.monotonic()
        for at, slot in enumerate(self._slots):
            if slot.deadline is not None and slot.deadline <= now and not slot.pipe.poll():
                late = TimeoutError(f"no label within {number(self.timeout)} s")
                found.append((slot.name, OracleError(late)))
                self._replace(at)
        return found

    def _take(self, at: int) -> Result:
        slot = self._slots[at]
        name, slot.deadline = slot.name, None
        try:
            return name, _unpacked(slot.pipe.recv_bytes())
        except (EOFError, OSError):
            slot.process.join(GRACE_SECONDS)
            code = slot.process.exitcode
            self._replace(at)
            return name, OracleError(RuntimeError(f"the process of the oracle ended (exit {code})"))

    def _replace(self, at: int) -> None:
        before, self._slots[at] = self._slots[at], self._spawn()
        _kill(before)
        _wait_until_ready(self._slots[at])

    def close(self) -> None:
        """End the processes; points under way are given up."""
        for slot in self._slots:
            slot.pipe.close()
        for slot in self._slots:
            if slot.deadline is None:
                slot.process.join(GRACE_SECONDS)
            _kill(slot)


def pickled_oracle(measure: Measure) -> bytes:
    """The oracle as bytes for another process; ValueError if it cannot be sent."""
    try:
        return pickle.dumps(measure)
    except Exception as error:
        raise ValueError(
            f"the oracle {measure!r} cannot be sent to another process, which a timeout needs "
            f"({error}); define it with def at the top of a module, or leave the timeout out"
        ) from error


def _wait_until_ready(slot: _Slot) -> None:
    """Raise ValueError unless the process could load the oracle."""
    try:
        problem = slot.pipe.recv() if slot.pipe.poll(START_SECONDS) else "it takes too long"
    except (EOFError, OSError):
        problem = "it ended at once"
    if problem is not None:
        raise ValueError(
            f"a process cannot load the oracle: {problem}. Define the oracle in a module of its "
            "own, call run below `if __name__ == '__main__':`, or leave the timeout out"
        )


def _kill(slot: _Slot) -> None:
    """End a process and the processes that it has begun."""
    pid = slot.process.pid
    if slot.process.is_alive():
        if hasattr(os, "killpg") and pid is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
        slot.process.kill()
    slot.process.join()
    slot.pipe.close()
    slot.process.close()


def _unpacked(data: bytes) -> object:
    try:
        return pickle.loads(data)  # noqa: S301  from a process of our own
    except Exception as error:  # noqa: BLE001  a class that only the process has
        return OracleError(RuntimeError(f"the label of the oracle cannot be read: {error!r}"))


def _serve(pipe: Connection, oracle: bytes) -> None:
    """The work of a process: load the oracle, then measure one point after another."""
    if hasattr(os, "setsid"):
        os.setsid()  # children of the oracle end with it; Ctrl-C is for the caller alone
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        measure = pickle.loads(oracle)  # noqa: S301  from the caller
    except BaseException as error:  # noqa: BLE001  the caller reports it
        pipe.send(f"{type(error).__name__}: {error}")
        return
    pipe.send(None)
    with suppress(EOFError, OSError):  # the caller has ended
        while True:
            pipe.send_bytes(_packed(measure, pipe.recv()))


def _packed(measure: Measure, point: object) -> bytes:
    """The label as bytes, or the error."""
    try:
        found = measure(point)
    except Exception as error:  # noqa: BLE001  the caller raises it
        found = OracleError(error)
    except BaseException as error:  # noqa: BLE001  sys.exit() in a simulator
        found = OracleError(RuntimeError(f"the oracle raised {error!r}"))
    try:
        data = pickle.dumps(found)
        pickle.loads(data)  # noqa: S301  an error with arguments of its own may not come back
    except Exception as error:  # noqa: BLE001
        said = found.error if isinstance(found, OracleError) else error
        data = pickle.dumps(OracleError(RuntimeError(f"{type(said).__name__}: {said}")))
    return data
