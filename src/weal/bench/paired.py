"""Two methods compared on the same realisations, and how far the mean difference can be trusted.

Realisations are pairs: both methods saw the same split, so we look at their differences, on a scale
where a difference means the same everywhere:

    NMSE              spans decades: its logarithm; a mean difference is the log of a ratio
    NPLL, joint NPLL  logarithms already: as they are; a mean difference is the log of a ratio of
                      densities, in nats

The 95 % interval goes with the test by sign flips (`flips`): it holds every value that the flips of
d - value do not decide against. These are the values between the k-th smallest and the k-th largest
of the means of all 2^n - 1 subsets of the differences, k = 2^n / 40 [1]. It is exact where the
differences are symmetric around what they estimate, whatever their tails; on skewed ones it is too
narrow, as every interval of so few numbers is. With fewer than ENOUGH = 6 it is the whole line.

[1] Hartigan: Using subsample values as typical values, 1969, JASA 64.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from weal.bench.flips import ERROR_RATE, EXACT, FLIPS_DRAWN
from weal.core.arrays import Array

# What a logarithm sees of an NMSE of 0; below it a float64 prediction could not be right anyway.
LEAST_NMSE = 1e-30


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean of n differences with its 95 % interval; NaN where there is none."""

    mean: float
    low: float
    high: float
    n: int


Side = tuple[str, str]  # method, column
Runs = Mapping[Side, Mapping[str, Array]]  # (task, method) -> column -> (n,), "realisation" too


def in_arrays(runs: pd.DataFrame) -> Runs:
    """A table indexed by task, method and realisation as plain arrays: quick to look up."""
    return {
        key: {name: column.to_numpy() for name, column in group.items()}
        for key, group in runs.reset_index("realisation").groupby(level=["task", "method"])
    }


def pairs(runs: Runs, task: str, one: Side, other: Side) -> tuple[Array, Array, Array]:
    """The n realisations that both (method, column) of a task have, and the two, each (n,)."""
    if (task, one[0]) not in runs or (task, other[0]) not in runs:
        return np.empty(0, dtype=np.intp), np.empty(0), np.empty(0)
    a, b = runs[task, one[0]], runs[task, other[0]]
    both, i, j = np.intersect1d(a["realisation"], b["realisation"], return_indices=True)
    return both, a[one[1]][i].astype(np.float64), b[other[1]][j].astype(np.float64)


def on_scale(column: str, values: Array) -> Array:
    """A column of `summary.by_run` on the scale that its differences are judged on.

    >>> on_scale("nmse", np.array([1.0, 0.0])).round(1), on_scale("npll", np.array([-3.0]))
    (array([  0. , -69.1]), array([-3.]))
    """
    if column not in ("nmse", "nmse_start"):  # areas of NMSE are means of logs
        return values
    return np.asarray(np.log(np.maximum(values, LEAST_NMSE)))


def interval(values: Array, seed: int = 0) -> Interval:
    """The mean of values (n,) and its interval; `seed` draws subsets where there are too many.

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
    if n <= EXACT:
        inside = np.arange(1, 2**n)[:, None] >> np.arange(n) & 1
    else:
        inside = np.random.default_rng([seed, n, FLIPS_DRAWN]).integers(2, size=(FLIPS_DRAWN, n))
        inside = inside[inside.any(axis=1)]
    return np.asarray(inside / inside.sum(axis=1, keepdims=True))
