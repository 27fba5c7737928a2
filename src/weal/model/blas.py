"""One BLAS thread for work on small matrices.

Expert selection factorises a hundred and more matrices of at most 300 rows. Threads gain nothing
there, and wait for one another on a busy machine: a fit of 100 labels took 3.7 s with two threads,
0.2 s with one. The limit is the process's: the first caller sets it, the last one restores it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

_guard = Lock()
_limits: list[Any] = []  # one for each that is at work; the first remembers the previous limits


@cache
def _libraries() -> Any:
    """The BLAS libraries of this process; finding them takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


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
