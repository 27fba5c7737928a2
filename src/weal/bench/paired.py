"""Two methods compared on the same realisations, and how far the mean difference can be trusted.

Realisations are pairs: both methods saw the same split, so we look at their differences. The 95 %
interval of their mean is the bootstrap's percentile interval, with its tails widened for small n
[1, sec. 5]: the tail probability is not a = 2.5 % but

    Phi(sqrt(n / (n - 1)) t_{n-1}(a)),        0.9 % for n = 10

since a plain percentile interval is too short, with as few runs as ours by a quarter. Below
ENOUGH = 6 differences no interval of this kind can decide: all would have the same sign by
chance, once in 2^(n-1), which is more than 5 %.

The resamples depend on (seed, n) alone: the same numbers in any order of work.
[1] Hesterberg: What teachers should know about the bootstrap, 2015.
"""

from dataclasses import dataclass

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


def differences(
    runs: pd.DataFrame, column: str, one: tuple[str, str], other: tuple[str, str]
) -> Array:
    """One (task, method) less the other in a column, over the realisations both have (n,)."""
    pair = [
        runs[column].xs(key, level=["task", "method"]) if key in runs.index else runs[column][:0]
        for key in (one, other)
    ]
    shared = pair[0].index.intersection(pair[1].index).sort_values()
    return (pair[0].loc[shared] - pair[1].loc[shared]).to_numpy(np.float64)


def interval(values: Array, seed: int) -> Interval:
    """The mean of values (n,) and its bootstrap interval.

    >>> interval(np.array([1.0, 1.0, 1.0]), seed=1)
    Interval(mean=1.0, low=1.0, high=1.0, n=3)
    """
    n = len(values)
    mean = float(np.mean(values)) if n else np.nan
    if n < 2 or not np.isfinite(values).all():
        return Interval(mean, np.nan, np.nan, n)
    rng = np.random.default_rng([seed, n, RESAMPLES])
    means = values[rng.integers(n, size=(RESAMPLES, n))].mean(axis=1)
    tail = stats.norm.cdf(np.sqrt(n / (n - 1)) * stats.t.ppf(_TAIL, n - 1))
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(mean, float(low), float(high), n)
