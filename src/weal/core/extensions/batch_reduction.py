"""The variance that a greedy batch removes, in closed form: a batch of `ivr` with pseudo labels.

Experts m with weights w_m and noise variances s_m have, after the labels, the posterior covariance
C_m of the candidates with each other, and of the candidates with points p of the pool. A label of
candidate i changes it by

    C_m(x, x') -= C_m(x, i) C_m(i, x') / (C_m(i, i) + s_m)

whatever the label is. So a batch can be chosen, and its joint value is known, before any label:

    gain(i) = sum_m w_m mean_p C_m(i, p)^2 / (C_m(i, i) + s_m)

is the part of the mean variance over the points that i removes. The candidate with the largest gain
is chosen, and the covariances are updated. The gains of a batch add up to its joint value. Weights
stay, and the variance between experts is left out.

    M experts, N candidates, R points; magnitudes are in C and s
"""

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array

TINY = 1e-300  # lower bound of the variance of a label


def greedy_reduction(
    w: Array, cov: Array, cov_points: Array, noise: Array, k: int
) -> tuple[NDArray[np.intp], Array]:
    """Positions (k,) of a greedy batch of k candidates, and what each removes (k,) in its turn.

    w (M,), covariances of candidates (M, N, N) and with points (M, N, R), noise variances (M,).
    There are at least k candidates; of equal ones the first is taken.

    >>> at, gains = greedy_reduction(np.ones(1), np.eye(3)[None] * [[1.0], [2.0], [1.0]],
    ...     np.array([[[1.0, 0.0], [0.0, 2.0], [1.0, 0.0]]]), np.array([1.0]), 2)
    >>> at.tolist(), gains.round(3).tolist()
    ([1, 0], [0.667, 0.25])
    """
    C, P = cov.copy(), cov_points.copy()  # (M, N, N), (M, N, R)
    free = np.ones(C.shape[1], dtype=bool)
    at, gains = np.zeros(k, dtype=np.intp), np.zeros(k)
    for n in range(k):
        s = np.maximum(np.einsum("mii->mi", C) + noise[:, None], TINY)  # (M, N)
        q = np.einsum("mnr,mnr->mn", P, P) / P.shape[2]  # (M, N)
        gain = np.where(free, w @ (q / s), -1.0)
        i = int(np.argmax(gain))
        at[n], gains[n], free[i] = i, gain[i], False
        step = C[:, :, i] / s[:, i, None]  # (M, N)
        P -= step[:, :, None] * P[:, None, i]
        C -= step[:, :, None] * C[:, None, i]
    return at, gains
