"""Where jobs are done: in this process, on the cores of this machine, or on a Dask cluster.

All three are executors in the sense of concurrent.futures, and one loop feeds them. It keeps only
a few jobs in flight, so that thousands of them cost no memory, and hands each result on as it
comes. Leaving the `with`, by the end of the work or by Ctrl-C, ends the processes at once.

Every job has one BLAS thread: how a sum is split over threads shows in its last digits.
"""

import atexit
import os
import queue
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing import resource_tracker
from typing import Any, TypeVar

from weal.errors import WorkerLost as WorkerLost
from weal.shards.executors import check_address, check_host

Job = TypeVar("Job")
Result = TypeVar("Result")
_ONE_THREAD = dict.fromkeys(
    (
        *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
        *("BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS"),
    ),
    "1",
)
_CONNECT_SECONDS = 20
PARENT_CHECK_SECONDS = 1.0
_FEEDER_SECONDS = 1.0  # it may hang for good, on a job that nobody reads any more
_AT_LEAST = 64  # jobs in flight on a cluster, which may grow while it works


@dataclass(frozen=True, slots=True)
class JobExecutor:
    """An executor and how many jobs to have in flight."""

    executor: Executor
    in_flight: int

    def do(self, function: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
        """The results of function(job), each as soon as it is there, in any order."""
        left = iter(jobs)
        waiting = {self.executor.submit(function, job) for job in islice(left, self.in_flight)}
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
            waiting |= {self.executor.submit(function, job) for job in islice(left, len(done))}


@contextmanager
def crew(jobs: int) -> Iterator[JobExecutor]:
    """So many processes on this machine; for one job at a time, this process itself."""
    if jobs == 1:
        yield JobExecutor(_SerialExecutor(), in_flight=1)
    else:
        with _processes(jobs) as here:
            yield here


def cores() -> int:
    """Processors this process may use."""
    from joblib import cpu_count

    return int(cpu_count())


class _SerialExecutor(Executor):
    """Does a job while it is submitted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@contextmanager
def _processes(jobs: int) -> Iterator[JobExecutor]:
    from joblib.externals.loky import BrokenProcessPool, ProcessPoolExecutor
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    executor = ProcessPoolExecutor(
        jobs, initializer=_follow_parent, initargs=(os.getpid(),), env=_ONE_THREAD
    )
    try:
        with _ctrl_c_waits():
            executor.submit(int)  # the first job starts the processes
        yield JobExecutor(executor, in_flight=2 * jobs)  # what fits into loky's own queue
    except TerminatedWorkerError as error:
        raise WorkerLost(
            "a worker process was killed, perhaps for want of memory; "
            "the same call resumes, with fewer jobs if need be"
        ) from error
    except BrokenProcessPool as error:  # it could not be started, or not read its job
        why = str(error.__cause__ or error).strip().splitlines()[-1].strip(' "')
        raise WorkerLost(f"a worker process cannot work: {why}") from error
    finally:
        _forget_jobs_in_line(executor)
        feeder = getattr(getattr(executor, "_call_queue", None), "_thread", None)
        executor.shutdown(wait=True, kill_workers=True)
        if feeder is not None:  # cut off at the exit, it leaves semaphores and a warning behind
            feeder.join(_FEEDER_SECONDS)


@contextmanager
def _ctrl_c_waits() -> Iterator[None]:
    """Ctrl-C comes afterwards, and not at all to processes that are started now.

    A worker is seconds old before it can leave Ctrl-C to its parent: it would print a traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # Python 3.11's lets Ctrl-C through again when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _forget_jobs_in_line(executor: Any) -> None:
    """Empty loky's list of jobs to begin: its thread stumbles over those that it just dropped."""
    line = getattr(executor, "_work_ids", None)
    while line is not None and not line.empty():
        with suppress(queue.Empty):
            line.get_nowait()


def _follow_parent(parent: int) -> None:
    """Leave Ctrl-C to the parent, and end when it is gone: loky's workers would live on."""
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
    """End the thread before Python shuts down."""
    over.set()
    watcher.join()


@contextmanager
def cluster(scheduler: str) -> Iterator[JobExecutor]:
    """The Dask cluster of that address; a worker that dies costs time but no job."""
    with _client(scheduler) as client:
        executor = client.get_executor(pure=False)
        try:
            yield JobExecutor(executor, max(_AT_LEAST, 4 * sum(client.nthreads().values())))
        finally:
            executor.shutdown(wait=False)


def _client(scheduler: str) -> Any:
    from distributed import Client

    check_address(scheduler)
    connect: Any = Client  # its annotations are not for the strict
    try:
        check_host(scheduler)
        return connect(scheduler, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise WorkerLost(f"no Dask scheduler answers at {scheduler}: {error}") from error


_pinned: list[Any] = []  # one entry for each thread that works now; the first restores
_pinning = threading.Lock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """One BLAS thread in this process until the last of its threads that want it so is done."""
    from threadpoolctl import threadpool_limits

    with _pinning:
        _pinned.append(threadpool_limits(1))
    try:
        yield
    finally:
        with _pinning:
            last = _pinned.pop()
            if not _pinned:
                last.restore_original_limits()
