"""Which candidates a score that costs much looks at: all of a small pool, some of a large one.

Of more than MOST free candidates these are the half of MOST that the mixture is least sure of
(gpm-var), and as many with the least hash of (seed, id), so that none is never looked at. Variances
within 1e-9 of one another are equal here, and the hash decides: rounding, the order of the pool and
the blocks or shards that it is walked in decide nothing.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.learner.pool import Pass

MOST = 256
_STEPS = 2.0**30  # that variances are told apart by, within a factor of two


def shortlist(asked: Pass, variances: Callable[[], Array]) -> NDArray[np.intp]:
    """Positions of the candidates to look at, ascending."""
    free = np.flatnonzero(asked.free)
    if len(free) <= MOST:
        return free
    assert asked.order is not None
    hashed = asked.order[asked.free[asked.order]]
    unsure = np.argsort(-rounded(variances()[hashed]), kind="stable")[: MOST // 2]
    return np.unique(np.concatenate([hashed[: MOST // 2], hashed[unsure]]))


def rounded(variances: Array) -> Array:  # (N,) -> (N,)
    """Variances that are told apart: to 30 bits, whatever the others are."""
    mantissa, exponent = np.frexp(variances)
    return np.asarray(np.ldexp(np.rint(mantissa * _STEPS) / _STEPS, exponent))
