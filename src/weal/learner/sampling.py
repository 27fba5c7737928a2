"""The candidates that stand for all: every one of a small pool, a sample of a large one.

Scaling, bends, the space-filling start, the reference of `ivr` and what is said of the pool look
at these. Up to LARGE candidates they are all there are; beyond, the SAMPLE ids with the least hash
of (seed, id): the same rows whatever the order of the pool and wherever it is kept.
"""

from collections.abc import Hashable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.hashing import hash_ids, least, mix_with_seed

MAX_CANDIDATES_WITHOUT_SAMPLE = 100_000  # candidates up to which all are looked at
SAMPLE_CANDIDATES = 16_384  # candidates that are looked at where there are more

Standing = tuple[NDArray[np.intp], Array]
_found: WeakKeyDictionary[Any, dict[int, Standing]] = WeakKeyDictionary()


def sample_of_pool(candidates: Any, seed: int) -> Standing:
    """Positions (S,), ascending, and inputs (S, d) of the candidates that stand for all.

    The same arrays as long as there are these candidates.
    """
    if isinstance(candidates.X, np.ndarray) and len(candidates) <= MAX_CANDIDATES_WITHOUT_SAMPLE:
        return np.arange(len(candidates)), candidates.X
    by_seed = _found.setdefault(candidates, {})
    if seed not in by_seed:
        by_seed[seed] = _standing_for(candidates, seed)
    return by_seed[seed]


def _standing_for(candidates: Any, seed: int) -> Standing:
    in_shards = hasattr(candidates, "sample")  # then an index has the hashes
    if len(candidates) <= MAX_CANDIDATES_WITHOUT_SAMPLE:
        return np.arange(len(candidates)), candidates.X[:]
    if in_shards:
        at = candidates.sample(seed)
    else:
        at = least(mix_with_seed(hash_ids(candidates.ids), seed), SAMPLE_CANDIDATES)
    return at, candidates.X[at]


def ids_at(candidates: Any, at: NDArray[np.intp]) -> Sequence[Hashable]:
    """The ids of these positions."""
    if len(at) == len(candidates):
        return candidates.ids if isinstance(candidates.ids, tuple) else candidates.ids.at(at)
    if hasattr(candidates, "sample"):
        found: Sequence[Hashable] = candidates.ids.at(at)
        return found
    return [candidates.ids[n] for n in at.tolist()]
