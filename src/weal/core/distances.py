"""Squared distances between points, and space-filling starts from them.

scipy has a faster function, but the import of `scipy.spatial` takes as long as some 1e8 terms, too
long for a command that asks once. Both sum the inputs in the same order: the result is equal to the
last bit, whichever is used.
"""

import sys
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.tie_breaking import START_CANDIDATES, best

MAX_TERMS_WITHOUT_SCIPY = 10**8  # terms up to which scipy is not loaded for it
DISTANCE_BLOCK = 1 << 15  # distances at a time: they stay in the processor's cache


def squared_distances(X: Array, Y: Array) -> Array:  # (N, N')
    """|x - y|^2 for the rows of X (N, d) and Y (N', d).

    |x|^2 + |y|^2 - 2 x'y would put two equal points 1e-4 lengthscales apart when the lengthscale
    is 1e-4.
    """
    if (
        len(X) * len(Y) * X.shape[1] > MAX_TERMS_WITHOUT_SCIPY
        or "scipy.spatial.distance" in sys.modules
    ):
        from scipy.spatial.distance import cdist

        return np.asarray(cdist(X, Y, "sqeuclidean"))
    return _by_input(X, Y)


def _by_input(X: Array, Y: Array) -> Array:
    """Squared distances, summed input by input in blocks of rows of X."""
    A, B = np.ascontiguousarray(X.T), np.ascontiguousarray(Y.T)  # (d, N), (d, N')
    out = np.zeros((len(X), len(Y)))
    size = max(1, DISTANCE_BLOCK // max(1, len(Y)))
    room = np.empty((min(size, len(X)), len(Y)))
    for start in range(0, len(X), size):
        rows = out[start : start + size]
        for a, b in zip(A[:, start : start + size], B, strict=True):
            term = np.subtract(a[:, None], b, out=room[: len(rows)])
            rows += np.multiply(term, term, out=term)
    return out


def space_filling_start(
    X: Array, taken: Array, free: NDArray[np.bool_], seed: int, ids: Sequence[Hashable]
) -> int:
    """Position of the next point of a space-filling start: far from the rows of `taken` (t, d)."""
    rng = np.random.default_rng([seed, len(taken)])
    open_ = np.flatnonzero(free)
    some = np.sort(rng.choice(open_, min(START_CANDIDATES, len(open_)), replace=False))
    if len(taken):
        far = np.sqrt(squared_distances(X[some], taken)).min(axis=1)
    else:  # the first: nearest to the middle
        far = -np.sqrt(squared_distances(X[some], X.mean(axis=0, keepdims=True)))[:, 0]
    everyone = np.ones(len(some), dtype=bool)
    return int(some[best(far, everyone, seed, [ids[n] for n in some.tolist()])])
