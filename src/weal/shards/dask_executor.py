"""The Dask executor: tasks on a cluster of this machine, or on the user's.

A pass sends `work` to the workers once. Shards are then sent in waves, one wave at a time to each
worker. This needs few messages, and if a worker dies, another worker repeats one wave. Shards
return to the worker that had them in the pass before, which may have cached their scores. Jobs of a
benchmark (`spread`) are sent one by one to any worker, also to workers that join later.

The client and all workers must have the same weal. A cluster of this machine listens on 127.0.0.1
only and has no dashboard. The user's cluster is used as it is, TLS included: a given client is used
unchanged; an address is connected to with the security of Dask's configuration.
"""

import atexit
import os
from asyncio import CancelledError as LoopCancelled
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, suppress
from functools import reduce
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Generic

from weal import __version__
from weal.errors import UnreadableShard, WealError, WorkerLost
from weal.progress import Progress
from weal.shards.executors import (
    AnyTask,
    Executor,
    ExecutorTask,
    Merge,
    Result,
    RowCounter,
    ThreadExecutor,
    check_host,
    check_scheduler,
    processors,
)

if TYPE_CHECKING:
    import distributed

TASKS_PER_WORKER = 8  # waves for each worker in a pass, if there are enough shards
MAX_TASK_ROWS = 1_000_000  # rows of a wave
MAX_TASK_RETRIES = 3  # times that a lost wave is sent again
MIN_SPREAD_TASKS = 64  # jobs in flight, at least: a cluster may grow while it works
KEPT_MALLOC_BYTES = {"MALLOC_TRIM_THRESHOLD_": 1 << 28, "MALLOC_MMAP_THRESHOLD_": 1 << 25}  # glibc
CONNECT_TIMEOUT_SECONDS = 20  # seconds to wait for a scheduler, and for its first worker
ANY_WORKER = ""


class DaskExecutor:
    """A Dask cluster by name ("local", "local:4"), address or client; connected to when needed."""

    def __init__(self, scheduler: object, *, spread: bool = False) -> None:
        check_scheduler(scheduler)
        self.scheduler = scheduler
        self.spread = spread  # whether tasks go one by one to any worker
        self._client: distributed.Client | None = None
        self._own: list[distributed.Client | distributed.LocalCluster] = []  # to close
        self._had: dict[str, str] = {}  # name of a task -> address of the worker that ran it

    def each(
        self,
        work: Callable[[AnyTask], Result],
        tasks: Sequence[AnyTask],
        what: str = "",
        progress: Progress | None = None,
        merge: Merge[Result] | None = None,
    ) -> Iterator[tuple[int, Result]]:
        """The number and the result of every task; an error or Ctrl-C cancels all tasks.

        With `merge` a worker sends one result for each of its waves.
        """
        return _DaskPass(self, work, tasks, RowCounter(what, tasks, progress), merge).run()

    def connect(self) -> "distributed.Client":
        """The client, connected on the first call; WorkerLost where no scheduler answers."""
        if self._client is None:
            self._client = self._open_client()
            self._check_versions()
        return self._client

    def workers(self) -> list[str]:
        """Addresses of the workers; WorkerLost where there is none."""
        client = self.connect()
        try:
            client.wait_for_workers(1, timeout=CONNECT_TIMEOUT_SECONDS)
        except TimeoutError as error:
            raise WorkerLost(f"the cluster at {self._place} has no worker") from error
        return sorted(client.scheduler_info(n_workers=-1)["workers"])

    def close(self) -> None:
        """Close the cluster and client that were opened here; a client that was given stays."""
        self._client, own, self._own = None, self._own[::-1], []
        for one in own:
            with suppress(Exception):  # it is not used again
                one.close()
        atexit.unregister(self.close)

    @property
    def _place(self) -> str:
        address = getattr(getattr(self.scheduler, "scheduler", None), "address", None)
        return str(address or self.scheduler)

    def _open_client(self) -> "distributed.Client":
        distributed = _distributed()
        if isinstance(self.scheduler, distributed.Client):
            return self.scheduler
        name = str(self.scheduler)
        atexit.register(self.close)
        place = self._local(name) if name.split(":")[0] == "local" else name
        try:
            check_host(name)
            client = distributed.Client(
                place, timeout=CONNECT_TIMEOUT_SECONDS, set_as_default=False
            )
        except (OSError, ValueError, TypeError) as error:
            self.close()
            raise WorkerLost(f"no Dask scheduler answers at {name}: {error}") from error
        self._own.append(client)
        return client

    def _local(self, name: str) -> "distributed.LocalCluster":
        _, _, number = name.partition(":")
        with _keep_freed_memory():
            cluster = _distributed().LocalCluster(
                n_workers=int(number or processors()),
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",  # None would open one on every interface
                worker_dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
                memory_limit=0,  # a limit would kill workers for their cache
                silence_logs=50,
            )
        self._own.append(cluster)
        return cluster

    def _check_versions(self) -> None:
        """Refuse workers with another version of weal."""
        if not self.spread:
            self.workers()
        try:
            found = self.connect().run(version)
        except Exception as error:
            self.close()
            why = (str(error).strip().splitlines() or [type(error).__name__])[-1]
            raise WorkerLost(f"the workers at {self._place} cannot run weal: {why}") from error
        if other := {one for one in found.values() if one != __version__}:
            place = self._place
            self.close()
            raise WorkerLost(_other_version(sorted(other)[0], place))


class _DaskPass(Generic[AnyTask, Result]):
    """One pass over tasks on a cluster."""

    def __init__(
        self,
        executor: DaskExecutor,
        work: Callable[[AnyTask], Result],
        tasks: Sequence[AnyTask],
        count: RowCounter,
        merge: Merge[Result] | None,
    ) -> None:
        self.executor, self.work, self.tasks, self.count = executor, work, tasks, count
        self.merge = merge
        self.out: dict[distributed.Future, tuple[str, list[int], int]] = {}  # worker, tasks, tries

    def run(self) -> Iterator[tuple[int, Result]]:
        """The results, as they come."""
        if not self.tasks:
            return
        client = self.executor.connect()
        if self.executor.spread:
            left = {ANY_WORKER: [[n] for n in range(len(self.tasks))]}
            threads = sum(client.nthreads().values())
            first = [ANY_WORKER] * max(MIN_SPREAD_TASKS, 4 * threads)
        else:
            first = self.executor.workers()
            left = _waves(self.tasks, first, self.executor._had)
        self.sent = self._send_work()
        done = _distributed().as_completed(loop=client.loop)
        try:
            for worker in first:
                self._submit_next(done, worker, left)
            for future in done:
                worker, numbers, tries = self.out.pop(future)
                found = self._result(future, numbers, tries, done, worker)
                if found is None:
                    continue
                address, results = found
                for n in numbers:
                    self.executor._had[self.tasks[n].name] = address
                    self.count.add(self.tasks[n].rows)
                yield from zip(numbers, results, strict=self.merge is None)
                self._submit_next(done, worker if worker in left else address, left)
        finally:
            with suppress(Exception):  # Ctrl-C, or a cluster that is gone
                client.cancel(list(self.out), force=True)

    def _send_work(self) -> "distributed.Future":
        """The work as the result of a task, which Dask computes again where a worker lost it.

        (Data that `scatter` sends is gone with the last worker that has it.)
        """
        data = _distributed().protocol.pickle.dumps(self.work)
        return self.executor.connect().submit(unpack_once, data, pure=False)

    def _submit_next(
        self, done: "distributed.as_completed", worker: str, left: dict[str, list[list[int]]]
    ) -> None:
        """Send a worker its next wave, or one from the worker with most waves left."""
        mine = left.get(worker) or max(left.values(), key=len, default=[])
        if mine:
            self._submit(done, worker, mine.pop(0), 0)

    def _submit(
        self, done: "distributed.as_completed", worker: str, numbers: list[int], tries: int
    ) -> None:
        tasks = [self.tasks[n] for n in numbers]
        anywhere = worker == ANY_WORKER
        future = self.executor.connect().submit(
            wave, __version__, self.sent, tasks, self.merge, pure=False,
            workers=None if anywhere else [worker], allow_other_workers=not anywhere,
        )  # fmt: skip
        self.out[future] = (worker, numbers, tries)
        done.add(future)

    def _result(
        self,
        future: "distributed.Future",
        numbers: list[int],
        tries: int,
        done: "distributed.as_completed",
        worker: str,
    ) -> tuple[str, list[Result]] | None:
        """Worker and results; None if all workers with `work` were lost: it is sent again."""
        names = ", ".join(self.tasks[n].name for n in numbers[:3])
        try:
            found: tuple[str, list[Result]] = future.result()
            return found
        except (CancelledError, LoopCancelled) as error:
            if tries >= MAX_TASK_RETRIES:
                raise WorkerLost(
                    f"workers were lost repeatedly at {names}; check the cluster and run again"
                ) from error
            self.executor.workers()
            self.sent = self._send_work()
            self._submit(done, worker, numbers, tries + 1)
            return None
        except _distributed().scheduler.KilledWorker as error:
            raise WorkerLost(
                f"workers died repeatedly, perhaps out of memory, at {names}; run the same call "
                "with fewer workers on each machine"
            ) from error


def unpack_once(data: bytes) -> Callable[..., object]:
    """The unpickled work, once for each worker."""
    work: Callable[..., object] = _distributed().protocol.pickle.loads(data)
    return work  # from the user's own client


def wave(
    client_version: str,
    work: Callable[[AnyTask], Result],
    tasks: list[AnyTask],
    merge: Merge[Result] | None = None,
) -> tuple[str, list[Result]]:
    """Run on a worker: its address, and the results of these tasks, or their merged result."""
    from weal.model.blas import one_thread

    worker = _distributed().get_worker().address
    if client_version != __version__:
        raise WorkerLost(_other_version(__version__, worker, client_version))
    with one_thread():
        each = (_run_task(work, task) for task in tasks)
        return worker, list(each) if merge is None else [reduce(merge, each)]


def _run_task(work: Callable[[AnyTask], Result], task: AnyTask) -> Result:
    try:
        return work(task)
    except MemoryError as error:
        raise UnreadableShard(
            f"{task.name}: the worker does not have enough memory for it"
        ) from error
    except (WealError, ValueError):
        raise
    except OSError as error:
        raise UnreadableShard(f"{task.name} cannot be read: {error}") from error


def version() -> str:
    """The version of weal on a worker."""
    return __version__


def _waves(
    tasks: Sequence[ExecutorTask], workers: Sequence[str], had: dict[str, str]
) -> dict[str, list[list[int]]]:
    """Waves for each worker: tasks that it had before, or its share of them."""
    own: dict[str, list[int]] = {worker: [] for worker in workers}
    for n, task in enumerate(tasks):
        before = had.get(task.name, "")
        own[before if before in own else workers[n * len(workers) // len(tasks)]].append(n)
    rows = sum(task.rows for task in tasks) / (TASKS_PER_WORKER * len(workers))
    limit = min(MAX_TASK_ROWS, rows)
    return {worker: _cut(numbers, tasks, limit) for worker, numbers in own.items()}


def _cut(numbers: Sequence[int], tasks: Sequence[ExecutorTask], rows: float) -> list[list[int]]:
    """Tasks in groups of about this number of rows."""
    found: list[list[int]] = []
    here = rows
    for n in numbers:
        if here >= rows:
            found.append([])
            here = 0
        found[-1].append(n)
        here += tasks[n].rows
    return found


def _other_version(theirs: str, place: str, ours: str | None = None) -> str:
    return (
        f"this is weal {ours or __version__}, and the workers at {place} have weal {theirs}: "
        "install the same version on both"
    )


def _keep_freed_memory() -> AbstractContextManager[object]:
    """Let worker processes keep freed memory, which Dask would return to the system.

    Blocks of a pass are made and freed thousands of times; requesting them again took 1.3 s of
    system time for 2.9 s of arithmetic (120,000 rows, 24 labels, one worker; 0.3 s with this; one
    run each).
    """
    import dask

    where = "distributed.nanny.pre-spawn-environ"
    kept = {**dask.config.get(where, {}), **KEPT_MALLOC_BYTES}
    changed: AbstractContextManager[object] = dask.config.set({where: kept})
    return changed


def _distributed() -> ModuleType:
    try:
        found = import_module("distributed")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError('a scheduler needs Dask: pip install "weal[cluster]"') from error
    return found


def choose_executor(scheduler: object = None, threads: int | None = None) -> Executor:
    """The executor of passes over shards: threads, or a Dask cluster by name, address or client.

    None: the scheduler in WEAL_SCHEDULER, else threads. A cluster is connected to when it is
    needed; ValueError at once for text that names none.
    """
    if scheduler is None and threads is None:
        scheduler = os.environ.get("WEAL_SCHEDULER") or None
    if scheduler is None:
        return ThreadExecutor(threads)
    if threads is not None:
        raise ValueError("threads are those of this process: leave them out with a scheduler")
    return DaskExecutor(scheduler)
