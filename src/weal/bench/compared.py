"""What the results say of comparisons that are made together.

A comparison looks at the differences low - high over the realisations that both methods have, on
the scale of its metric (`paired`), at the last reading t = T, which decides, and as a second
opinion at the area over t:

    holds           low is below high, and the flips decide so (p <= 5 %, `flips`)
    does not hold   it is above, and they decide so
    undecided       they do not; fewer than ENOUGH realisations never do
    missing         the task or a method was not run, or the metric never read

All comparisons that are given together are one family: `verdict` and `area` are corrected for their
number, `alone` is not. A run that is not finite leaves its comparison undecided and out of the
family.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weal.bench.claims import Comparison
from weal.bench.flips import ERROR_RATE, p_values
from weal.bench.paired import Interval, Runs, interval, on_scale, pairs
from weal.core.arrays import Array

HOLDS, NOT, UNDECIDED, MISSING = "holds", "does not hold", "undecided", "missing"
# Differences that hardly matter: 1 % of NMSE; hundredths of a nat a label, a nat of all together.
_SMALL = {"nmse": 0.01, "npll": 0.01, "joint": 1.0}


@dataclass(frozen=True, slots=True)
class ComparisonFound:
    """A comparison with its numbers at the last reading; `area` is the second opinion."""

    comparison: Comparison
    verdict: str
    alone: str  # what it would be, were this the only comparison
    area: str
    low: float  # mean of `low`, and of `high`, over the shared realisations
    high: float
    difference: Interval  # low - high, of logs for NMSE
    wins: int  # realisations where low is below high
    p: float  # within its family
    p_alone: float

    @property
    def small(self) -> bool:
        """Whether the difference is too small to matter."""
        return abs(self.difference.mean) < _SMALL[self.comparison.metric]


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """Two columns of the runs over the n realisations that have both."""

    realisations: Array  # (n,)
    low: Array  # (n,)
    high: Array  # (n,)
    d: Array  # (n,)  low - high on the scale of the column


def compare(
    runs: Runs, comparisons: Sequence[Comparison], seed: int
) -> tuple[ComparisonFound, ...]:
    """What is found of comparisons that are one family, in their order."""
    ends = [_at_the_end(runs, c) for c in comparisons]
    areas = [_over_all(runs, c) for c in comparisons]
    (alone, p), (_, p_area) = _together(ends, seed), _together(areas, seed)
    return tuple(
        ComparisonFound(
            c,
            _verdict(end, p[i]),
            _verdict(end, alone[i]),
            _verdict(areas[i], p_area[i]),
            float(np.mean(end.low)) if len(end.d) else np.nan,
            float(np.mean(end.high)) if len(end.d) else np.nan,
            interval(end.d, seed),
            int(np.sum(end.low < end.high)),
            float(p[i]),
            float(alone[i]),
        )
        for i, (c, end) in enumerate(zip(comparisons, ends, strict=True))
    )


def _at_the_end(runs: Runs, c: Comparison) -> _Pairs:
    return _pairs(runs, c, f"{c.metric}_start" if c.rise else c.metric, c.metric)


def _over_all(runs: Runs, c: Comparison) -> _Pairs:
    # a rise is in NPLL, whose area is a mean over t, in the units of the start
    area = f"{c.metric}_area"
    return _pairs(runs, c, f"{c.metric}_start" if c.rise else area, area)


def _pairs(runs: Runs, c: Comparison, column: str, other: str) -> _Pairs:
    found, low, high = pairs(runs, c.task, (c.low, column), (c.high, other))
    if c.metric == "joint" and np.isnan([low, high]).all(axis=1).any():
        found, low, high = found[:0], low[:0], high[:0]
    return _Pairs(found, low, high, on_scale(column, low) - on_scale(other, high))


def _together(family: list[_Pairs], seed: int) -> tuple[Array, Array]:
    """P of each alone and of all together (C,); NaN for those that are missing or not finite."""
    alone, together = np.full((2, len(family)), np.nan)
    usable = [i for i, pair in enumerate(family) if len(pair.d) and np.isfinite(pair.d).all()]
    if usable:
        every = np.unique(np.concatenate([family[i].realisations for i in usable]))
        D = np.zeros((len(every), len(usable)))
        for column, i in enumerate(usable):
            D[np.searchsorted(every, family[i].realisations), column] = family[i].d
        alone[usable], together[usable] = p_values(D, seed)
    return alone, together


def _verdict(pair: _Pairs, p: float) -> str:
    if not len(pair.d):
        return MISSING
    if not p <= ERROR_RATE:  # NaN too
        return UNDECIDED
    return HOLDS if np.mean(pair.d) < 0.0 else NOT
