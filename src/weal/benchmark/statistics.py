"""Paired differences of two methods: sign-flip tests, and intervals that match them.

Both methods of a realisation have the same split, so we look at their differences, on a scale on
which a difference means the same everywhere:

    NMSE              spans decades: its logarithm; a mean difference is the log of a ratio
    NPLL, joint NPLL  are logarithms already; a mean difference is the log of a ratio of densities,
                      in nats

If two methods do equally well, a realisation could as well have given them each other's results:
its difference d_r could as well have been -d_r. So all 2^n sign flips of n realisations are equally
likely, and the p-value is the share of flips with a difference as large [1],

    p = share of flips s with |z(s)| >= |z(1)|,        z(s) = sum_r s_r d_r / sqrt(sum_r d_r^2)

This is exact for every n and every symmetric distribution, however long its tails. (Differences
that are skewed around a mean of 0 are another matter, and no test of so few numbers keeps its level
for all of them: of ten lognormal ones this test decides 15 % by chance. Two methods that can be
exchanged have no skew.) z orders flips as Student's t does, since sum d^2 is the same for all of
them. At n = 10 there are 1,024 flips and p is at least 2/1,024; for n below
MIN_REALISATIONS_FOR_TEST = 6 it is above 5 %.

Of many comparisons at 5 % each, one in twenty is decided by chance. The comparisons of a claim are
flipped together, realisation by realisation, which keeps their correlation, and each is compared
with the largest z among itself and all that are less certain (step-down max-t [2]): in 95 % of
cases chance decides none of them. Holm's rule on single p-values could not decide 30 at n = 10:
2/1,024 times 30 is above 5 %.

The 95 % interval inverts the test: it has every value that the flips of d - value do not reject.
These are the values between the k-th smallest and the k-th largest of the means of all 2^n - 1
subsets of the differences, k = 2^n / 40 [3]. It is exact if the differences are symmetric around
their mean, whatever their tails; on skewed ones it is too narrow, as every interval of so few
numbers is. For n below MIN_REALISATIONS_FOR_TEST it is the whole line.

[1] Fisher: The design of experiments, 1935, ch. III.  [2] Westfall and Young: Resampling-based
multiple testing, 1993, algorithm 2.8.  [3] Hartigan: Using subsample values as typical values,
1969, JASA 64.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from weal.core.arrays import Array

MIN_REALISATIONS_FOR_TEST = 6
ERROR_RATE = 0.05
MAX_EXACT_FLIPS = 12  # realisations up to which all flips are enumerated
FLIPS_DRAWN = 10_000  # random flips for more realisations
_SLACK = 1e-9  # of z, for flips that are equal but for rounding


def p_values(D: Array, seed: int = 0) -> tuple[Array, Array]:
    """P-values of C comparisons, alone and corrected (C,), for differences D (n, C).

    A difference of 0 marks a realisation that a comparison does not have.

    >>> p_values(np.array([[1.0, 3.0]] * 6 + [[2.0, -3.0]] * 4))
    (array([0.00195312, 0.75390625]), array([0.00390625, 0.75390625]))
    """
    D = D / np.maximum(np.abs(D).max(axis=0, initial=0.0), np.finfo(float).tiny)
    size = np.sqrt(np.sum(D * D, axis=0))
    z = np.abs(_signs(len(D), seed) @ (D / np.where(size > 0.0, size, 1.0)))  # (flips, C)
    observed = z[0] - _SLACK
    order = np.argsort(-observed, kind="stable")
    rivals = np.maximum.accumulate(z[:, order[::-1]], axis=1)[
        :, ::-1
    ]  # the column and the less certain ones
    together = np.empty(len(order))
    together[order] = np.maximum.accumulate(np.mean(rivals >= observed[order], axis=0))
    return np.mean(z >= observed, axis=0), together


@lru_cache(maxsize=8)
def _signs(n: int, seed: int) -> Array:
    """Flips (flips, n) of -1 and 1, the identity first; one of each s and -s (same |z|)."""
    if n <= MAX_EXACT_FLIPS:
        bits = np.arange(2 ** max(n - 1, 0))[:, None] >> np.arange(n) & 1
    else:
        bits = np.random.default_rng([seed, n, FLIPS_DRAWN]).integers(2, size=(FLIPS_DRAWN, n))
        bits[0] = 0
    signs: Array = 1.0 - 2.0 * bits.astype(np.float64)
    signs.flags.writeable = False
    return signs


# NMSE below this is raised to it before a logarithm: float64 predictions are not more exact.
LEAST_NMSE = 1e-30


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean of n differences with its 95 % interval; NaN without one."""

    mean: float
    low: float
    high: float
    n: int


Side = tuple[str, str]  # method, column
Runs = Mapping[Side, Mapping[str, Array]]  # (task, method) -> column -> (n,), "realisation" too


def in_arrays(runs: pd.DataFrame) -> Runs:
    """A table indexed by task, method and realisation as plain arrays, for fast lookup."""
    return {
        key: {name: column.to_numpy() for name, column in group.items()}
        for key, group in runs.reset_index("realisation").groupby(level=["task", "method"])
    }


def pairs(runs: Runs, task: str, one: Side, other: Side) -> tuple[Array, Array, Array]:
    """The n realisations that both (method, column) of a task have, and both columns (n,)."""
    if (task, one[0]) not in runs or (task, other[0]) not in runs:
        return np.empty(0, dtype=np.intp), np.empty(0), np.empty(0)
    a, b = runs[task, one[0]], runs[task, other[0]]
    both, i, j = np.intersect1d(a["realisation"], b["realisation"], return_indices=True)
    return both, a[one[1]][i].astype(np.float64), b[other[1]][j].astype(np.float64)


def on_scale(column: str, values: Array) -> Array:
    """A column of `summary.by_run` on the scale of its differences.

    >>> on_scale("nmse", np.array([1.0, 0.0])).round(1), on_scale("npll", np.array([-3.0]))
    (array([  0. , -69.1]), array([-3.]))
    """
    if column not in ("nmse", "nmse_start"):  # areas of NMSE are means of logs already
        return values
    return np.asarray(np.log(np.maximum(values, LEAST_NMSE)))


def interval(values: Array, seed: int = 0) -> Interval:
    """The mean of values (n,) and its interval; `seed` draws subsets if there are too many.

    >>> interval(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 9.0]))
    Interval(mean=4.0, low=1.0, high=9.0, n=6)
    """
    n = len(values)
    mean = float(np.mean(values)) if n else np.nan
    if n < 2 or not np.isfinite(values).all():
        return Interval(mean, np.nan, np.nan, n)
    means = np.sort(_subsets(n, seed) @ values)
    k = int(ERROR_RATE / 2.0 * (len(means) + 1))
    low, high = (means[k - 1], means[-k]) if k else (-np.inf, np.inf)
    return Interval(mean, float(low), float(high), n)


@lru_cache(maxsize=8)
def _subsets(n: int, seed: int) -> Array:
    """The share of each of n values in the mean of each subset (subsets, n)."""
    if n <= MAX_EXACT_FLIPS:
        inside = np.arange(1, 2**n)[:, None] >> np.arange(n) & 1
    else:
        inside = np.random.default_rng([seed, n, FLIPS_DRAWN]).integers(2, size=(FLIPS_DRAWN, n))
        inside = inside[inside.any(axis=1)]
    return np.asarray(inside / inside.sum(axis=1, keepdims=True))
