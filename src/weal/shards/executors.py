"""Executors: run tasks in this thread, in threads, in processes, or on a Dask cluster.

A task is a shard of a pool or a job of a benchmark. `work` is a small pure function of a task: it
may run anywhere, at any time, and more than once. Results come in any order, each with the number
of its task. An error or Ctrl-C ends all running tasks. `weal.shards.dask_executor` has the executor
for Dask clusters.

The name of a Dask scheduler is checked before any work begins:

    local, local:4            a cluster on this machine, of as many processes
    tcp://host:8786           the address of a scheduler; also tls, ws, wss, ucx and inproc
    host:8786                 the same, by TCP

This module imports the standard library only: commands check their options before they import
anything large.
"""

import atexit
import os
import queue
import re
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from itertools import islice
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Protocol, TypeVar

from weal.errors import WorkerLost
from weal.progress import Progress

if TYPE_CHECKING:
    from joblib.externals.loky import ProcessPoolExecutor

INTERRUPT_POLL_SECONDS = 0.5  # longest wait before Ctrl-C is handled
PARENT_CHECK_SECONDS = 1.0  # a worker process looks this often whether its parent is alive
QUEUE_THREAD_SECONDS = 1.0  # loky's queue thread may hang forever on a job that no worker reads
_ONE_THREAD = dict.fromkeys(
    (
        *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
        *("BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS"),
    ),
    "1",
)


class ExecutorTask(Protocol):
    """One unit of work."""

    @property
    def name(self) -> str:
        """The task in messages; unique among the tasks of a pass."""

    @property
    def rows(self) -> int:
        """The rows that the task adds to the progress."""


AnyTask = TypeVar("AnyTask", bound=ExecutorTask)
Result = TypeVar("Result")
Merge = Callable[[Result, Result], Result]  # merges two results; associative and commutative


class Executor(Protocol):
    """Runs a function on tasks."""

    def each(
        self,
        work: Callable[[AnyTask], Result],
        tasks: Sequence[AnyTask],
        what: str = "",
        progress: Progress | None = None,
        merge: Merge[Result] | None = None,
    ) -> Iterator[tuple[int, Result]]:
        """The number and the result of every task, as they come.

        An executor that runs several tasks in a row may merge their results into that of the first.
        """

    def close(self) -> None:
        """End processes and connections."""


class SerialExecutor:
    """Runs tasks one after the other in this thread."""

    def each(
        self,
        work: Callable[[AnyTask], Result],
        tasks: Sequence[AnyTask],
        what: str = "",
        progress: Progress | None = None,
        merge: Merge[Result] | None = None,
    ) -> Iterator[tuple[int, Result]]:
        """The number and the result of every task, in order."""
        count = RowCounter(what, tasks, progress)
        for n, task in enumerate(tasks):
            found = work(task)
            count.add(task.rows)
            yield n, found

    def close(self) -> None:
        """There is nothing to close."""


class ThreadExecutor:
    """Runs tasks in threads of this process; numpy releases the interpreter lock."""

    def __init__(self, n: int | None = None) -> None:
        if n is not None and n < 1:
            raise ValueError(f"{n} threads is too few: give at least 1")
        self.n = n or processors()

    def each(
        self,
        work: Callable[[AnyTask], Result],
        tasks: Sequence[AnyTask],
        what: str = "",
        progress: Progress | None = None,
        merge: Merge[Result] | None = None,
    ) -> Iterator[tuple[int, Result]]:
        """The number and the result of every task; an error or Ctrl-C ends all threads first."""
        from weal.model.blas import one_thread

        stop = threading.Event()

        def run(n: int) -> Result:
            if stop.is_set():
                raise CancelledError
            return work(tasks[n])

        with one_thread(), ThreadPoolExecutor(self.n, "weal-shards") as pool:
            count = RowCounter(what, tasks, progress)
            try:
                yield from _stream(lambda n: pool.submit(run, n), tasks, 2 * self.n, count)
            finally:
                stop.set()

    def close(self) -> None:
        """Threads end with each pass."""


class ProcessExecutor:
    """Runs tasks in processes of this machine, with one BLAS thread each.

    The number of BLAS threads changes the last digits of a sum.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self._pool: ProcessPoolExecutor | None = None

    def each(
        self,
        work: Callable[[AnyTask], Result],
        tasks: Sequence[AnyTask],
        what: str = "",
        progress: Progress | None = None,
        merge: Merge[Result] | None = None,
    ) -> Iterator[tuple[int, Result]]:
        """The number and the result of every task; WorkerLost where a process dies."""
        from joblib.externals.loky import BrokenProcessPool
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        try:
            pool, count = self._start(), RowCounter(what, tasks, progress)
            in_flight = 2 * self.n  # the size of loky's own queue
            yield from _stream(lambda n: pool.submit(work, tasks[n]), tasks, in_flight, count)
        except TerminatedWorkerError as error:
            raise WorkerLost(
                "a worker process was killed, perhaps out of memory; "
                "run the same call again, with fewer jobs if it fails again"
            ) from error
        except BrokenProcessPool as error:  # it could not be started, or could not read its job
            why = str(error.__cause__ or error).strip().splitlines()[-1].strip(' "')
            raise WorkerLost(f"a worker process failed to start: {why}") from error

    def _start(self) -> "ProcessPoolExecutor":
        from joblib.externals.loky import ProcessPoolExecutor

        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self.n, initializer=_follow_parent, initargs=(os.getpid(),), env=_ONE_THREAD
            )
            with _delay_interrupts():
                self._pool.submit(int)  # the first job starts the processes
        return self._pool

    def close(self) -> None:
        """End the processes at once."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        _drop_queued_jobs(pool)
        thread = getattr(getattr(pool, "_call_queue", None), "_thread", None)
        pool.shutdown(wait=True, kill_workers=True)
        if thread is not None:  # without this, the exit leaves semaphores and a warning behind
            thread.join(QUEUE_THREAD_SECONDS)


def _stream(
    submit: Callable[[int], "Future[Result]"],
    tasks: Sequence[AnyTask],
    in_flight: int,
    count: "RowCounter",
) -> Iterator[tuple[int, Result]]:
    """The number and the result of every task, with only a few submitted at a time."""
    left = iter(range(len(tasks)))
    waiting: dict[Future[Result], int] = {}
    try:
        while True:
            for n in islice(left, in_flight - len(waiting)):
                waiting[submit(n)] = n
            if not waiting:
                return
            done, _ = wait(waiting, timeout=INTERRUPT_POLL_SECONDS, return_when=FIRST_COMPLETED)
            for future in done:
                n = waiting.pop(future)
                found = future.result()
                count.add(tasks[n].rows)
                yield n, found
    finally:
        for future in waiting:
            future.cancel()


@contextmanager
def _delay_interrupts() -> Iterator[None]:
    """Block Ctrl-C in this block, and permanently in processes that it starts.

    A worker needs seconds before it can ignore Ctrl-C: it would print a traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # Python 3.11's unblocks Ctrl-C again when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _drop_queued_jobs(pool: "ProcessPoolExecutor") -> None:
    """Empty loky's queue of jobs: its thread fails on jobs that were dropped before."""
    line = getattr(pool, "_work_ids", None)
    while line is not None and not line.empty():
        with suppress(queue.Empty):
            line.get_nowait()


def _follow_parent(parent: int) -> None:
    """Ignore Ctrl-C, which the parent handles, and end when the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    over = threading.Event()
    watcher = threading.Thread(target=_end_with, args=(parent, over), daemon=True)
    watcher.start()
    atexit.register(_stop_watching, watcher, over)


def _end_with(parent: int, over: threading.Event) -> None:
    while os.getppid() == parent:
        if over.wait(PARENT_CHECK_SECONDS):
            return
    os._exit(1)


def _stop_watching(watcher: threading.Thread, over: threading.Event) -> None:
    """End the thread before Python exits."""
    over.set()
    watcher.join()


def processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class RowCounter:
    """Counts finished rows and reports them."""

    def __init__(self, what: str, tasks: Sequence[ExecutorTask], progress: Progress | None) -> None:
        self.what, self.progress = what, progress
        self.total, self.done = sum(task.rows for task in tasks), 0
        self.add(0)

    def add(self, rows: int) -> None:
        """Report more finished rows."""
        self.done += rows
        if self.progress is not None:
            self.progress(self.what, self.done, self.total)


_LOCAL = re.compile(r"local(?::0*[1-9][0-9]*)?")
_ADDRESS = re.compile(
    r"(?:(?:tcp|tls|ucx|ws|wss)://)?(?P<host>\[[^\s\[\]/]+\]|[^\s\[\]/:@]+):(?P<port>[0-9]{1,5})/?"
)
_INPROC = re.compile(r"inproc://\S+")
MAX_PORT = 65_535


def check_scheduler(scheduler: object) -> None:
    """Raise ValueError for text that is not a scheduler's name; clients and None are accepted.

    >>> check_scheduler("local:4"), check_scheduler("tcp://host:8786")
    (None, None)
    >>> check_scheduler("nonsense")
    Traceback (most recent call last):
    ValueError: scheduler is 'nonsense'; write local, local:4 for four processes, or the address of
    a Dask scheduler with its port, such as tcp://host:8786
    """
    if not isinstance(scheduler, str | int | float):
        return
    if not _LOCAL.fullmatch(str(scheduler)) and not _is_address(str(scheduler)):
        raise ValueError(
            f"scheduler is {scheduler!r}; write local, local:4 for four processes, or the address "
            "of a Dask scheduler with its port, such as tcp://host:8786"
        )


def check_address(scheduler: str | None) -> None:
    """Raise ValueError for text that is not the address of a scheduler."""
    if scheduler is not None and not _is_address(scheduler):
        raise ValueError(
            f"scheduler is {scheduler!r}; write the address of a Dask scheduler with its port, "
            "such as tcp://host:8786"
        )


def _is_address(text: str) -> bool:
    if _INPROC.fullmatch(text):
        return True
    found = _ADDRESS.fullmatch(text)
    if found is None or found["host"] == "local":
        return False
    return 0 < int(found["port"]) <= MAX_PORT


def check_host(address: str) -> None:
    """Raise OSError if the host of an address is unknown; Dask would retry for many seconds."""
    if (found := _ADDRESS.fullmatch(address)) and not _LOCAL.fullmatch(address):
        socket.getaddrinfo(found["host"].strip("[]"), int(found["port"]), type=socket.SOCK_STREAM)
