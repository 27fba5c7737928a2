"""Passes on a Dask cluster: one of this machine, or one of the user's.

A pass sends `work` to the workers once, and then one task at a time to each, with as many shards
as make a wave: few messages, and a worker that dies costs one wave, which another does again. As
`work` is a pure function of the shard, the answer is the same. Shards go back to the worker that
had them in the pass before, which may have kept what it found.

The client and all workers must have the same weal. A cluster of this machine listens on 127.0.0.1
alone and has no dashboard; that of the user is used as it is, TLS and all: its client is taken as
given, or an address is connected to with the security that Dask's configuration says.

Who does passes over shards, by what the user says.
"""

import atexit
import os
from asyncio import CancelledError as LoopCancelled
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import reduce
from typing import Any, TypeVar

from weal import __version__
from weal.errors import UnreadableShard, WealError, WorkerLost
from weal.progress import Progress
from weal.shards.executors import (
    Executor,
    Merge,
    RowCounter,
    ThreadExecutor,
    check_host,
    check_scheduler,
)
from weal.shards.shard import Shard

# tasks that each worker gets in a pass, at least, where there are shards enough
TASKS_PER_WORKER = 8
MAX_TASK_ROWS = 1_000_000  # of a task, at most
MAX_TASK_RETRIES = 3  # times that a lost task is given out again
MAX_CACHED_WORK = {
    "MALLOC_TRIM_THRESHOLD_": 1 << 28,
    "MALLOC_MMAP_THRESHOLD_": 1 << 25,
}  # bytes, of glibc
CONNECT_TIMEOUT_SECONDS = 20  # seconds to wait for a scheduler, and for its first worker

Result = TypeVar("Result")


class DaskExecutor:
    """A Dask cluster by name ("local", "local:4"), address or client; connected to when needed."""

    def __init__(self, scheduler: Any) -> None:
        check_scheduler(scheduler)
        self.scheduler = scheduler
        self._client: Any = None
        self._own: list[Any] = []  # to close
        self._had: dict[int, str] = {}  # start of a shard -> address of the worker that had it

    def each(
        self,
        work: Callable[[Shard], Result],
        shards: Sequence[Shard],
        what: str = "",
        progress: Progress | None = None,
        merge: Merge[Result] | None = None,
    ) -> Iterator[tuple[int, Result]]:
        """What `work` finds in every shard; an error or Ctrl-C takes all tasks back.

        With `merge` a worker sends one result for each of its tasks.
        """
        return _DaskPass(self, work, shards, RowCounter(what, shards, progress), merge).run()

    @property
    def client(self) -> Any:
        """The connection; WorkerLost where nobody answers."""
        if self._client is None:
            self._client = self._connected()
            self._check()
        return self._client

    def workers(self) -> list[str]:
        """Addresses of the workers; WorkerLost where there is none."""
        client = self.client
        try:
            client.wait_for_workers(1, timeout=CONNECT_TIMEOUT_SECONDS)
        except TimeoutError as error:
            raise WorkerLost(f"the cluster at {self._place} has no worker") from error
        return sorted(client.scheduler_info(n_workers=-1)["workers"])

    def close(self) -> None:
        """Let go of what was opened here; a client that was given stays open."""
        self._client, own, self._own = None, self._own[::-1], []
        for one in own:
            with suppress(Exception):  # whatever is wrong with it, we are done with it
                one.close()
        atexit.unregister(self.close)

    @property
    def _place(self) -> str:
        address = getattr(getattr(self.scheduler, "scheduler", None), "address", None)
        return str(address or self.scheduler)

    def _connected(self) -> Any:
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

    def _local(self, name: str) -> Any:
        from weal.shards.executors import processors

        _, _, number = name.partition(":")
        with _keeping_memory():
            cluster = _distributed().LocalCluster(
                n_workers=int(number or processors()),
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",  # None would open one on every interface
                worker_dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
                memory_limit=0,  # what they take is known; a limit would kill them for the cache
                silence_logs=50,
            )
        self._own.append(cluster)
        return cluster

    def _check(self) -> None:
        """Refuse workers with another weal."""
        self.workers()
        try:
            found = self._client.run(version)
        except Exception as error:
            self.close()
            why = (str(error).strip().splitlines() or [type(error).__name__])[-1]
            raise WorkerLost(f"the workers at {self._place} cannot run weal: {why}") from error
        if other := {one for one in found.values() if one != __version__}:
            place = self._place
            self.close()
            raise WorkerLost(_other_version(sorted(other)[0], place))


class _DaskPass:
    """One pass: what is out, and with whom."""

    def __init__(
        self, crew: DaskExecutor, work: Any, shards: Sequence[Shard], count: RowCounter, merge: Any
    ) -> None:
        self.crew, self.work, self.shards, self.count = crew, work, shards, count
        self.merge = merge
        self.out: dict[Any, tuple[str, list[int], int]] = {}  # future -> worker, shards, tries

    def run(self) -> Iterator[tuple[int, Any]]:
        """The results, as they come."""
        if not self.shards:
            return
        workers = self.crew.workers()
        self.sent = self._sent()
        left = _waves(self.shards, workers, self.crew._had)
        done = _distributed().as_completed(loop=self.crew.client.loop)
        try:
            for worker in workers:
                self._submit(done, worker, left)
            for future in done:
                worker, numbers, tries = self.out.pop(future)
                found = self._result(future, numbers, tries, done, worker)
                if found is None:
                    continue
                address, results = found
                for n in numbers:
                    self.crew._had[self.shards[n].start] = address
                    self.count.add(self.shards[n].rows)
                yield from zip(numbers, results, strict=self.merge is None)
                self._submit(done, worker if worker in left else address, left)
        finally:
            with suppress(Exception):  # Ctrl-C, or a cluster that is gone
                self.crew.client.cancel(list(self.out), force=True)

    def _sent(self) -> Any:
        """What is to be done, as the result of a task: whoever lost it has it made again.

        (What `scatter` sends is gone with the last worker that has it.)
        """
        data = _distributed().protocol.pickle.dumps(self.work)
        return self.crew.client.submit(unpack_once, data, pure=False)

    def _submit(self, done: Any, worker: str, left: dict[str, list[list[int]]]) -> None:
        """Give the worker its next wave, or one of whoever has most left."""
        mine = left.get(worker) or max(left.values(), key=len, default=[])
        if mine:
            self._out(done, worker, mine.pop(0), 0)

    def _out(self, done: Any, worker: str, numbers: list[int], tries: int) -> None:
        shards = [self.shards[n] for n in numbers]
        future = self.crew.client.submit(
            wave, __version__, self.sent, shards, self.merge,
            workers=[worker], allow_other_workers=True, pure=False,
        )  # fmt: skip
        self.out[future] = (worker, numbers, tries)
        done.add(future)

    def _result(
        self, future: Any, numbers: list[int], tries: int, done: Any, worker: str
    ) -> tuple[str, list[Any]] | None:
        """What came; None where the task was lost with all who had `work`, and is out again."""
        names = ", ".join(self.shards[n].name for n in numbers[:3])
        try:
            found: tuple[str, list[Any]] = future.result()
            return found
        except (CancelledError, LoopCancelled) as error:
            if tries >= MAX_TASK_RETRIES:
                raise WorkerLost(f"workers were lost again and again at {names}") from error
            self.crew.workers()
            self.sent = self._sent()
            self._out(done, worker, numbers, tries + 1)
            return None
        except _distributed().scheduler.KilledWorker as error:
            raise WorkerLost(
                f"workers died again and again, perhaps for want of memory, at {names}; the same "
                "call with fewer workers on a machine may do"
            ) from error


def unpack_once(data: bytes) -> Any:
    """What was packed, once for each worker."""
    return _distributed().protocol.pickle.loads(data)  # of the client that the user trusts


def wave(
    client_version: str, work: Callable[[Shard], Any], shards: list[Shard], merge: Any = None
) -> Any:
    """What a worker does: its address, and what `work` finds in these shards, or in them all."""
    from weal.model.blas import one_thread

    worker = _distributed().get_worker().address
    if client_version != __version__:
        raise WorkerLost(_other_version(__version__, worker, client_version))
    with one_thread():
        each = (_run_task(work, shard) for shard in shards)
        return worker, list(each) if merge is None else [reduce(merge, each)]


def _run_task(work: Callable[[Shard], Any], shard: Shard) -> Any:
    try:
        return work(shard)
    except MemoryError as error:
        raise UnreadableShard(f"{shard.name}: the worker has not the memory for it") from error
    except (WealError, ValueError):
        raise
    except OSError as error:
        raise UnreadableShard(f"{shard.name} cannot be read: {error}") from error


def version() -> str:
    """The weal of whoever is asked."""
    return __version__


def _waves(
    shards: Sequence[Shard], workers: Sequence[str], had: dict[int, str]
) -> dict[str, list[list[int]]]:
    """Tasks for each worker: shards that it had before, or its share of them."""
    own: dict[str, list[int]] = {worker: [] for worker in workers}
    for n, shard in enumerate(shards):
        before = had.get(shard.start, "")
        own[before if before in own else workers[n * len(workers) // len(shards)]].append(n)
    rows = min(
        MAX_TASK_ROWS, sum(shard.rows for shard in shards) / (TASKS_PER_WORKER * len(workers))
    )
    return {worker: _cut(numbers, shards, rows) for worker, numbers in own.items()}


def _cut(numbers: Sequence[int], shards: Sequence[Shard], rows: float) -> list[list[int]]:
    """Shards in groups of so many rows, or little more."""
    found: list[list[int]] = []
    here = rows
    for n in numbers:
        if here >= rows:
            found.append([])
            here = 0
        found[-1].append(n)
        here += shards[n].rows
    return found


def _other_version(theirs: str, place: str, ours: str | None = None) -> str:
    return (
        f"this is weal {ours or __version__}, and the workers at {place} have weal {theirs}: "
        "install the same version on both"
    )


def _keeping_memory() -> Any:
    """Dask tells its processes to give every freed block back to the system; blocks of a pass are
    made and freed thousands of times, and asking for them anew took 1.3 s of the system for 2.9 s
    of arithmetic (120,000 rows, 24 labels, one worker; 0.3 s with this; one run each).
    """
    import dask

    where = "distributed.nanny.pre-spawn-environ"
    return dask.config.set({where: {**dask.config.get(where, {}), **MAX_CACHED_WORK}})


def _distributed() -> Any:
    try:
        import distributed
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError('a scheduler needs Dask: pip install "weal[cluster]"') from error
    return distributed


def choose_executor(scheduler: Any = None, threads: int | None = None) -> Executor:
    """Who does passes: threads, or a Dask cluster by name, address or client.

    None: what WEAL_SCHEDULER says, else threads. A cluster is connected to when it is needed;
    ValueError at once for text that names none.
    """
    if scheduler is None and threads is None:
        scheduler = os.environ.get("WEAL_SCHEDULER") or None
    if scheduler is None:
        return ThreadExecutor(threads)
    if threads is not None:
        raise ValueError("threads are those of this process: leave them out with a scheduler")
    return DaskExecutor(scheduler)
