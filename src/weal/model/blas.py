"""Settings of the process for work on small matrices: one BLAS thread, and memory that is reused.

Expert selection factorises a hundred and more matrices of at most 300 rows. Threads gain nothing
there, and wait for one another on a busy machine: a fit of 100 labels took 3.7 s with two threads,
0.2 s with one. The limit is the process's: the first caller sets it, the last one restores it.

The GNU C library returns the memory of temporary arrays to the system, page by page, until a larger
block has been freed once. New pages took 0 to 5 % of a query's processor time on four tasks.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

import numpy as np

REUSED_BYTES = 30_000_000  # blocks up to this size are reused; the library's limit is 32 MiB

_guard = Lock()
_limits: list[Any] = []  # one for each that is at work; the first remembers the previous limits


@cache
def _libraries() -> Any:
    """The BLAS libraries of this process, found once, which takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


@cache
def reuse_memory() -> None:
    """Let the C library reuse the memory of blocks up to REUSED_BYTES, once in a process."""
    np.empty(REUSED_BYTES, dtype=np.uint8)  # freed at once, never written: it takes no memory


@contextmanager
def one_thread() -> Iterator[None]:
    """A context with one BLAS thread in this process, until the last such context ends."""
    with _guard:
        _limits.append(_libraries().limit(limits=1))
    try:
        yield
    finally:
        with _guard:
            limit = _limits.pop()
            if not _limits:
                limit.restore_original_limits()
