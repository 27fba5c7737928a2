"""Whether methods differ, by flipping the signs of whole realisations.

If two methods do equally well, a realisation could as well have given them each other's results:
its difference d_r could as well have been -d_r. So all 2^n ways to flip n realisations were equally
likely, and a difference is certain to the degree that few of them give one as large [1],

    p = share of flips s with |z(s)| >= |z(1)|,        z(s) = sum_r s_r d_r / sqrt(sum_r d_r^2)

which is exact for every n and every distribution: nothing is assumed but the symmetry of d, however
long its tails. (Differences that are skewed around a mean of 0 are another matter, and no test of
so few numbers keeps its level for all of them: of ten lognormal ones this decides 15 % by chance.
Two methods that can be exchanged have none such.) z orders flips as Student's t does, since sum d^2
is the same for all of them. At n = 10 there are 1,024, and p is 2/1,024 at the least; with fewer
than ENOUGH = 6 it is above 5 %.

Of many comparisons at 5 % each, one in twenty is decided by chance. Those of a claim are flipped
together, realisation by realisation, so that what they share they keep, and each is held against
the largest z among itself and all that are less certain (step-down max-t [2]): by chance not even
one of a claim is decided, in 95 % of cases. Holm's rule on single p could not decide 30 at n = 10:
2/1,024 times 30 is above 5 %.

[1] Fisher: The design of experiments, 1935, ch. III.  [2] Westfall and Young: Resampling-based
multiple testing, 1993, algorithm 2.8.
"""

from functools import lru_cache

import numpy as np

from weal.core.arrays import Array

ENOUGH = 6
ERROR_RATE = 0.05
EXACT = 12  # realisations up to which all flips are looked at
FLIPS_DRAWN = 10_000  # flips beyond
_SLACK = 1e-9  # of z: flips that give the same but for rounding


def p_values(D: Array, seed: int = 0) -> tuple[Array, Array]:
    """P of C comparisons, each alone and all of them together (C,), for differences D (n, C).

    A difference of 0 stands for a realisation that a comparison has not.

    >>> p_values(np.array([[1.0, 3.0]] * 6 + [[2.0, -3.0]] * 4))
    (array([0.00195312, 0.75390625]), array([0.00390625, 0.75390625]))
    """
    D = D / np.maximum(np.abs(D).max(axis=0, initial=0.0), np.finfo(float).tiny)
    size = np.sqrt(np.sum(D * D, axis=0))
    z = np.abs(_signs(len(D), seed) @ (D / np.where(size > 0.0, size, 1.0)))  # (flips, C)
    seen = z[0] - _SLACK
    order = np.argsort(-seen, kind="stable")
    rivals = np.maximum.accumulate(z[:, order[::-1]], axis=1)[:, ::-1]  # it and the less certain
    together = np.empty(len(order))
    together[order] = np.maximum.accumulate(np.mean(rivals >= seen[order], axis=0))
    return np.mean(z >= seen, axis=0), together


@lru_cache(maxsize=8)
def _signs(n: int, seed: int) -> Array:
    """Flips (flips, n) of -1 and 1, none first; of s and -s, which give the same |z|, one."""
    if n <= EXACT:
        bits = np.arange(2 ** max(n - 1, 0))[:, None] >> np.arange(n) & 1
    else:
        bits = np.random.default_rng([seed, n, FLIPS_DRAWN]).integers(2, size=(FLIPS_DRAWN, n))
        bits[0] = 0
    signs: Array = 1.0 - 2.0 * bits.astype(np.float64)
    signs.flags.writeable = False
    return signs
