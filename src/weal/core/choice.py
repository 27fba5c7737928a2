"""Choosing among candidates: ties by key, a batch that does not crowd, a start that fills space.

Ties. Scores within TIE of the best, relative to it, are equal for us, and the candidate with the
least hash of (seed, id) is taken: rounding, the order of the pool and the number of threads
decide nothing.

Start. Before there are labels enough for a model, each next point is the one farthest from all
points taken so far among a random handful of candidates (Mitchell's best candidate): it fills the
space, and keeps to where the pool is, where plain farthest-first would collect the outliers.
"""

from collections.abc import Hashable, Sequence
from hashlib import blake2b
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from weal.core.arrays import Array

TIE = 1e-9
HANDFUL = 64  # candidates that the start looks at for each point


def best(scores: Array, free: NDArray[np.bool_], seed: int, ids: Sequence[Hashable]) -> int:
    """Position of the best of the free candidates (N,), of which there must be one."""
    masked = np.where(free, scores, -np.inf)
    top = masked.max()
    if not np.isfinite(top):
        raise ValueError(f"the best score of the candidates is {top}; scores must be finite")
    tied: list[int] = np.flatnonzero(masked >= top - TIE * abs(top)).tolist()
    return tied[0] if len(tied) == 1 else _first(tied, seed, ids)


def _first(tied: list[int], seed: int, ids: Sequence[Hashable]) -> int:
    """The one of these with the least hash: a quick one, and a long one where that is shared."""
    quick = [crc32(repr(ids[n]).encode(), seed & 0xFFFFFFFF) for n in tied]
    least = min(quick)
    few = [n for n, key in zip(tied, quick, strict=True) if key == least]
    return min(few, key=lambda n: _rank(seed, ids[n]))


def _rank(seed: int, name: Hashable) -> bytes:
    return blake2b(repr(name).encode(), digest_size=16, key=str(seed).encode()).digest()


def spread(
    X: Array, taken: Array, free: NDArray[np.bool_], seed: int, ids: Sequence[Hashable]
) -> int:
    """The next point of a space-filling start: far from the rows of `taken` (t, d)."""
    rng = np.random.default_rng([seed, len(taken)])
    open_ = np.flatnonzero(free)
    some = np.sort(rng.choice(open_, min(HANDFUL, len(open_)), replace=False))
    if len(taken):
        far = cdist(X[some], taken).min(axis=1)
    else:  # the first: nearest to the middle
        far = -cdist(X[some], X.mean(axis=0, keepdims=True))[:, 0]
    everyone = np.ones(len(some), dtype=bool)
    return int(some[best(far, everyone, seed, [ids[n] for n in some.tolist()])])
