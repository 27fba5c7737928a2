"""Who does a pass: threads of this process, or a Dask cluster (`weal.shards.cluster`).

`work` is a small value that is called with a shard and returns what it found, a pure function of
the two: it does not matter who does it, when, or how often. Results come in any order, each with
the number of its shard.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, Protocol, TypeVar

from weal.progress import Progress as Progress
from weal.shards.shard import Shard

Result = TypeVar("Result")
Merge = Callable[[Result, Result], Result]  # of two results one, in any order and grouping
LISTEN = 0.5  # seconds after which a pass looks up, so that Ctrl-C is heard


class Crew(Protocol):
    """Does a pass."""

    def each(
        self,
        work: Callable[[Shard], Result],
        shards: Sequence[Shard],
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


class Threads:
    """Threads of this process: numpy lets them work at the same time."""

    def __init__(self, n: int | None = None) -> None:
        if n is not None and n < 1:
            raise ValueError(f"{n} threads cannot do any work; it needs 1 at the least")
        self.n = n or processors()

    def each(
        self,
        work: Callable[[Shard], Result],
        shards: Sequence[Shard],
        what: str = "",
        progress: Progress | None = None,
        merge: Merge[Result] | None = None,
    ) -> Iterator[tuple[int, Result]]:
        """What `work` finds in every shard; an error or Ctrl-C ends all threads first."""
        from weal.model.blas import one_thread

        count = Count(what, shards, progress)
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
                    done, _ = wait(waiting, timeout=LISTEN, return_when=FIRST_COMPLETED)
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


class Count:
    """Rows done, told to whoever wants to know."""

    def __init__(self, what: str, shards: Sequence[Shard], progress: Progress | None) -> None:
        self.what, self.progress = what, progress
        self.total, self.done = sum(shard.rows for shard in shards), 0
        self.add(0)

    def add(self, rows: int) -> None:
        """So many rows more are done."""
        self.done += rows
        if self.progress is not None:
            self.progress(self.what, self.done, self.total)


def said(what: str, done: int, total: int, seconds: float) -> str:
    """How far a pass is, in words.

    >>> said("scoring", 2_000_000, 10_000_000, 5.0)
    'scoring: 2,000,000 of 10,000,000 rows, 400,000 rows/s, 20 s left'
    """
    rate = done / max(seconds, 1e-9)
    left = (total - done) / max(rate, 1e-9)
    return f"{what}: {done:,} of {total:,} rows, {rate:,.0f} rows/s, {left:,.0f} s left"


class Line:
    """Progress on one line of a terminal, once a pass turns out to take a while."""

    def __init__(self, write: Callable[[str], object], after: float = 2.0) -> None:
        self.write, self.after = write, after
        self.what, self.start, self.last = "", 0.0, 0.0

    def __call__(self, what: str, done: int, total: int) -> None:
        """Say how far it is, now and then."""
        now = time.monotonic()
        if what != self.what or done == 0:
            self.what, self.start, self.last = what, now, now + self.after - 1.0
        if done >= total:
            self.write("\r\033[K" if now - self.start > self.after else "")
            self.what = ""
        elif now - self.last > 1.0:
            self.last = now
            self.write(f"\r\033[K{said(what, done, total, now - self.start)}")


def line_on_stderr() -> Progress | None:
    """Progress for people: where standard error is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None

    def write(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()

    return Line(write)
