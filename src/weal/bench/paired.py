"""Two methods compared on the same realisations, and how far the mean difference can be trusted.

Realisations are pairs: both methods saw the same split, so we look at their differences. The 95 %
interval of their mean is the bootstrap's percentile interval, with its tails widened for small n
[1]: the tail probability is not a = 2.5 % but

    Phi(sqrt(n / (n - 1)) t_{n-1}(a)),        0.9 % for n = 10

since a plain percentile interval is too short, by a fifth for n = 10. With fewer than ENOUGH = 6
differences no interval of this kind can decide: by chance alone all have the same sign once in
2^(n-1), which is more than 5 %.

The resamples depend on (seed, n) alone: the same numbers in any order of work.
[1] Hesterberg: What teachers should know about the bootstrap, 2014, arXiv 1411.5279.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
from scipy import stats

from weal.core.arrays import Array

ENOUGH = 6
RESAMPLES = 10_000
_TAIL = 0.025


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


def sides(runs: Runs, task: str, one: Side, other: Side) -> tuple[Array, Array]:
    """Two (method, column) of a task, each (n,), over the n realisations that both have."""
    if (task, one[0]) not in runs or (task, other[0]) not in runs:
        return np.empty(0), np.empty(0)
    a, b = runs[task, one[0]], runs[task, other[0]]
    _, i, j = np.intersect1d(a["realisation"], b["realisation"], return_indices=True)
    return a[one[1]][i].astype(np.float64), b[other[1]][j].astype(np.float64)


def interval(values: Array, seed: int) -> Interval:
    """The mean of values (n,) and its bootstrap interval.

    >>> interval(np.array([1.0, 1.0, 1.0]), seed=1)
    Interval(mean=1.0, low=1.0, high=1.0, n=3)
    """
    n = len(values)
    mean = float(np.mean(values)) if n else np.nan
    if n < 2 or not np.isfinite(values).all():
        return Interval(mean, np.nan, np.nan, n)
    means = _shares(n, seed) @ values
    tail = stats.norm.cdf(np.sqrt(n / (n - 1)) * stats.t.ppf(_TAIL, n - 1))
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(mean, float(low), float(high), n)


@lru_cache(maxsize=8)
def _shares(n: int, seed: int) -> Array:
    """The share of each of n values in each resample (RESAMPLES, n)."""
    rng = np.random.default_rng([seed, n, RESAMPLES])
    return rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES) / n
