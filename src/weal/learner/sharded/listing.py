"""Who a score that costs much looks at, of a pool in shards: as `learner.shortlist` says.

Half of them are the candidates that the mixture is least sure of (gpm-var, rounded; of equal ones
the least hash of (seed, id)): each shard gives its own, and two lists make one. The other half have
the least hash of all, which the index knows.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.constants import SHORTLIST
from weal.core.hashing import Hashes, hash_ids, keyed
from weal.learner.shortlist import rounded
from weal.shards.shard import Shard


@dataclass(frozen=True, slots=True, eq=False)
class Unsure:
    """The candidates with the largest variance: by falling variance, then by hash."""

    variances: Array  # (n,)  rounded
    hashes: Hashes  # (n,)
    at: NDArray[np.int64]  # (n,)
    X: Array  # (n, d)  in the user's units


def unsure_rows(
    shard: Shard, X: Array, variances: Array, free: NDArray[np.bool_], seed: int
) -> Unsure:
    """Half of SHORTLIST of a shard's free rows."""
    at, half = np.flatnonzero(free), SHORTLIST // 2
    values = rounded(variances[at])
    if len(at) > half:
        least = np.partition(values, len(values) - half)[len(values) - half]
        at, values = at[values >= least], values[values >= least]
    hashes = keyed(hash_ids(shard.ids(at)), seed) if len(at) else np.zeros(0, np.uint64)
    return _first(Unsure(values, hashes, at + shard.start, X[at]))


def merged_unsure(a: Unsure, b: Unsure) -> Unsure:
    """Half of SHORTLIST of both."""
    return _first(
        Unsure(
            np.concatenate([a.variances, b.variances]),
            np.concatenate([a.hashes, b.hashes]),
            np.concatenate([a.at, b.at]),
            np.concatenate([a.X, b.X]),
        )
    )


def _first(found: Unsure) -> Unsure:
    order = np.lexsort((found.hashes, -found.variances))[: SHORTLIST // 2]
    return Unsure(found.variances[order], found.hashes[order], found.at[order], found.X[order])
