"""Who does a pass: threads of this process, or a Dask cluster (`weal.shards.dask_executor`).

`work` is a small value that is called with a shard and returns what it found, a pure function of
the two: it does not matter who does it, when, or how often. Results come in any order, each with
the number of its shard.

The name of a Dask scheduler as users write it, checked before any work begins.

    local, local:4            a cluster on this machine, of as many processes
    tcp://host:8786           the address of a scheduler; also tls, ws, wss, ucx and inproc
    host:8786                 the same, by TCP

Standard library only: commands check what was typed before they import anything large.
"""

import os
import re
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from weal.progress import Progress

if TYPE_CHECKING:
    from weal.shards.shard import Shard

Result = TypeVar("Result")
Merge = Callable[[Result, Result], Result]  # of two results one, in any order and grouping
INTERRUPT_POLL_SECONDS = 0.5  # seconds after which a pass looks up, so that Ctrl-C is heard


class Executor(Protocol):
    """Does a pass."""

    def each(
        self,
        work: "Callable[[Shard], Result]",
        shards: "Sequence[Shard]",
        what: str = "",
        progress: Progress | None = None,
        merge: Merge[Result] | None = None,
    ) -> Iterator[tuple[int, Result]]:
        """What `work` finds in every shard, as it comes.

        Whoever does several shards in a row may give what `merge` makes of them, as the result of
        the first.
        """

    def close(self) -> None:
        """Let go of processes and connections."""


class ThreadExecutor:
    """Threads of this process: numpy lets them work at the same time."""

    def __init__(self, n: int | None = None) -> None:
        if n is not None and n < 1:
            raise ValueError(f"{n} threads cannot do any work; it needs 1 at the least")
        self.n = n or processors()

    def each(
        self,
        work: "Callable[[Shard], Result]",
        shards: "Sequence[Shard]",
        what: str = "",
        progress: Progress | None = None,
        merge: Merge[Result] | None = None,
    ) -> Iterator[tuple[int, Result]]:
        """What `work` finds in every shard; an error or Ctrl-C ends all threads first."""
        from weal.model.blas import one_thread

        count = RowCounter(what, shards, progress)
        left = iter(range(len(shards)))
        stop = threading.Event()

        def do(n: int) -> Any:
            return None if stop.is_set() else work(shards[n])

        with one_thread(), ThreadPoolExecutor(self.n, "weal-shards") as pool:
            waiting: dict[Future[Any], int] = {}
            try:
                while True:
                    for n in left:
                        waiting[pool.submit(do, n)] = n
                        if len(waiting) >= 2 * self.n:
                            break
                    if not waiting:
                        return
                    done, _ = wait(
                        waiting, timeout=INTERRUPT_POLL_SECONDS, return_when=FIRST_COMPLETED
                    )
                    for future in done:
                        n = waiting.pop(future)
                        found = future.result()
                        count.add(shards[n].rows)
                        yield n, found
            finally:
                stop.set()
                for future in waiting:
                    future.cancel()

    def close(self) -> None:
        """Threads end with each pass."""


def processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class RowCounter:
    """Rows done, told to whoever wants to know."""

    def __init__(self, what: str, shards: "Sequence[Shard]", progress: Progress | None) -> None:
        self.what, self.progress = what, progress
        self.total, self.done = sum(shard.rows for shard in shards), 0
        self.add(0)

    def add(self, rows: int) -> None:
        """So many rows more are done."""
        self.done += rows
        if self.progress is not None:
            self.progress(self.what, self.done, self.total)


_LOCAL = re.compile(r"local(?::0*[1-9][0-9]*)?")
_ADDRESS = re.compile(
    r"(?:(?:tcp|tls|ucx|ws|wss)://)?(?P<host>\[[^\s\[\]/]+\]|[^\s\[\]/:@]+):(?P<port>[0-9]{1,5})/?"
)
_INPROC = re.compile(r"inproc://\S+")
MAX_PORT = 65_535


def check_scheduler(scheduler: Any) -> None:
    """ValueError for text that names no scheduler; clients, and None, are left alone.

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
    """ValueError for text that is no address of a scheduler."""
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
    """OSError where the host of an address has no such name; Dask would try for many seconds."""
    if (found := _ADDRESS.fullmatch(address)) and not _LOCAL.fullmatch(address):
        socket.getaddrinfo(found["host"].strip("[]"), int(found["port"]), type=socket.SOCK_STREAM)
