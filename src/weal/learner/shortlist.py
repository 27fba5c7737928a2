"""Which candidates a score that costs much looks at: all of a small pool, some of a large one.

Of more than SHORTLIST free candidates these are the half of SHORTLIST that the mixture is least
sure of (gpm-var), and as many with the least hash of (seed, id), wherever they are. Variances
within 1e-9 of one another are equal here, and the hash decides: rounding, the order of the pool and
the blocks or shards that it is walked in decide nothing.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.constants import SHORTLIST
from weal.learner.pool import Pass

_STEPS = 2.0**30  # that variances are told apart by, within a factor of two


def shortlist(asked: Pass, variances: Callable[[], Array]) -> NDArray[np.intp]:
    """Positions of the candidates to look at, ascending."""
    free = np.flatnonzero(asked.free)
    if len(free) <= SHORTLIST:
        return free
    assert asked.order is not None
    hashed = asked.order[asked.free[asked.order]]
    values = variances()[hashed]
    if asked.cost is not None:  # else what is cheap might never be looked at
        values = values / asked.cost[hashed]
    best = _best(rounded(values))
    return np.unique(np.concatenate([hashed[: SHORTLIST // 2], hashed[best]]))


def rounded(variances: Array) -> Array:  # (N,) -> (N,)
    """Variances that are told apart: to 30 bits, whatever the others are."""
    mantissa, exponent = np.frexp(variances)
    return np.asarray(np.ldexp(np.rint(mantissa * _STEPS) / _STEPS, exponent))


def _best(values: Array) -> NDArray[np.intp]:
    """Positions of the half of SHORTLIST largest values; of equal ones, the first."""
    half = SHORTLIST // 2
    least = np.partition(values, len(values) - half)[len(values) - half]
    above = np.flatnonzero(values > least)
    return np.concatenate([above, np.flatnonzero(values == least)[: half - len(above)]])
