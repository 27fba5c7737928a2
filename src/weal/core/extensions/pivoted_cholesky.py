"""Which points stand for all: greedily those that the ones before explain least.

With Z the points chosen and Q(x, x') = k(x, Z) k(Z, Z)^-1 k(Z, x'), the remainder of a point is

    r(x) = k(x, x) - Q(x, x) >= 0

what is left of its prior variance once f is known on Z. A pivoted Cholesky factor of k(X, X) takes
the point with the largest remainder next, and its rows give all remainders: with row_j the j-th,
r(x) = k(x, x) - sum_j row_j(x)^2. It ends when the mean of the remainders is small enough.
[2] Harbrecht, Peters, Schneider: On the low-rank approximation by the pivoted Cholesky
    decomposition, 2012. The remainders fall as fast as the best choice's, but for a factor.

Points are taken in turns, each for one matrix product: those of the largest remainders that,
given each other, still have HALF of the largest one. So which are taken follows from the kernel and
the points alone, and a turn of many is as good as one by one, but for that half.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from weal.core.arrays import Array
from weal.core.paper.kernels import Kernel, correlation

TURN, LOOKED_AT = 128, 256  # points taken in a turn at most, and those it looks at
HALF = 0.5
DIGITS = 9  # to which remainders are compared, so that rounding does not choose
LEAST_PIVOT = 1e-11  # of the prior variance: a remainder below it is rounding


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """Points that stand for all."""

    rows: NDArray[np.intp]  # (m,)  positions, in the order in which they were taken
    left: float  # mean of the remainders of the others
    enough: bool  # whether that was enough, or is rounding


def pivots(kernel: Kernel, X: Array, most: int, enough: float) -> Chosen:
    """Points out of X (n, d), at most so many, that leave remainders of a mean of `enough`.

    Ties go to the first.
    """
    n = len(X)
    left, rounding = np.full(n, kernel.variance), LEAST_PIVOT * kernel.variance  # r
    rows = np.empty((min(most, n), n))
    chosen = np.zeros(0, dtype=np.intp)
    while (j := len(chosen)) < len(rows) and left.max() > rounding and _mean(left, j) > enough:
        looked_at = np.argsort(-np.round(left / left.max(), DIGITS), kind="stable")[:LOOKED_AT]
        among = rows[:j, looked_at]
        R = correlation(kernel, X[looked_at], X[looked_at]) - among.T @ among
        new = looked_at[_greedy(R, min(TURN, len(rows) - j), rounding)]
        C = correlation(kernel, X[new], X) - rows[:j, new].T @ rows[:j]  # (new, n)
        L = np.linalg.cholesky(C[:, new])
        rows[j : j + len(new)] = solve_triangular(L, C, lower=True, check_finite=False)
        left -= np.einsum("jn,jn->n", rows[j : j + len(new)], rows[j : j + len(new)])
        chosen = np.append(chosen, new)
        left[chosen] = 0.0
    mean = _mean(left, len(chosen))
    return Chosen(chosen, mean, bool(mean <= enough or left.max() <= rounding))


def _mean(left: Array, m: int) -> float:
    """The mean of the remainders (n,) of points other than the m chosen, which have none."""
    return float(left.sum() / max(len(left) - m, 1))


def _greedy(R: Array, most: int, rounding: float) -> NDArray[np.intp]:
    """Positions in R (n, n), the covariance of what is left: each next the largest, while that is
    HALF of the first and more than rounding; one at the least.
    """
    left, rows = np.diag(R).copy(), np.empty((most, len(R)))
    top, taken = float(left.max()), list[int]()
    least = max(HALF * top, rounding)
    while len(taken) < most and left[i := int(np.argmax(np.round(left / top, DIGITS)))] >= least:
        j = len(taken)
        rows[j] = (R[i] - rows[:j, i] @ rows[:j]) / np.sqrt(left[i])
        left -= rows[j] ** 2
        left[[*taken, i]] = 0.0
        taken.append(i)
    return np.array(taken or [int(np.argmax(np.diag(R)))], dtype=np.intp)
