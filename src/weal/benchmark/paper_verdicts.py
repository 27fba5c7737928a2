"""Verdicts on the paper's claims, from sign-flip tests on paired results.

A comparison looks at the differences low - high over the realisations that both methods have, on
the scale of its metric (`statistics`), at the last reading t = T, which decides, and as a second
opinion at the area over t:

    holds           low is below high, and the test decides so (p <= 5 %)
    does not hold   low is above high, and the test decides so
    undecided       the test does not decide; with fewer than 6 realisations it never does
    missing         the task or a method was not run, or the metric was not computed

The comparisons of a claim are one family: `verdict` and `area` are corrected for their number (in
95 % of cases chance decides none of them), `alone` is not. A run that is not finite leaves its
comparison undecided and out of the family.

With h holding and u undecided of n comparisons that have results, and k of them needed, a part or a
claim "holds" when h >= k and "does not hold" when h + u < k. A claim that does neither, or that
fails while some of its parts hold, holds "partly" when h > 0 and is "undecided" when h = 0.

Differences below 1 % (NMSE) or 0.01 (NPLL) are too small to matter and are counted in the text.
Variants of a claim (`paper_claims`) are judged beside it, each a family of its own, if they were
run.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import pandas as pd

from weal.benchmark.paper_claims import (
    CLAIMS,
    VARIANTS,
    Claim,
    ClaimedComparison,
    Enough,
    Part,
    required_count,
)
from weal.benchmark.statistics import (
    ERROR_RATE,
    MIN_REALISATIONS_FOR_TEST,
    Interval,
    Runs,
    in_arrays,
    interval,
    on_scale,
    p_values,
    pairs,
)
from weal.benchmark.summary import by_run, number, shared_rows, spread, task_title
from weal.core.arrays import Array

HOLDS, DOES_NOT_HOLD, UNDECIDED, NO_RESULTS = "holds", "does not hold", "undecided", "missing"
# Differences too small to matter: 1 % of NMSE; hundredths of a nat a label, a nat of all together.
_MIN_DIFFERENCE = {"nmse": 0.01, "npll": 0.01, "joint": 1.0}


@dataclass(frozen=True, slots=True)
class ComparisonFound:
    """The verdict on a comparison and its numbers at the last reading."""

    comparison: ClaimedComparison
    verdict: str
    alone: str  # the verdict without the correction for many comparisons
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
        return abs(self.difference.mean) < _MIN_DIFFERENCE[self.comparison.metric]


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """Two columns of the runs over the n realisations that have both."""

    realisations: Array  # (n,)
    low: Array  # (n,)
    high: Array  # (n,)
    d: Array  # (n,)  low - high on the scale of the column


def compare(
    runs: Runs, comparisons: Sequence[ClaimedComparison], seed: int
) -> tuple[ComparisonFound, ...]:
    """Verdicts on comparisons that are one family, in their order."""
    ends = [_at_the_end(runs, c) for c in comparisons]
    areas = [_over_all(runs, c) for c in comparisons]
    (alone, p), (_, p_area) = _p_values(ends, seed), _p_values(areas, seed)
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


def _at_the_end(runs: Runs, c: ClaimedComparison) -> _Pairs:
    return _pairs(runs, c, f"{c.metric}_start" if c.rise else c.metric, c.metric)


def _over_all(runs: Runs, c: ClaimedComparison) -> _Pairs:
    # A rise is in NPLL: its area is a mean over t, in the units of its start.
    area = f"{c.metric}_area"
    return _pairs(runs, c, f"{c.metric}_start" if c.rise else area, area)


def _pairs(runs: Runs, c: ClaimedComparison, column: str, other: str) -> _Pairs:
    found, low, high = pairs(runs, c.task, (c.low, column), (c.high, other))
    if c.metric == "joint" and np.isnan([low, high]).all(axis=1).any():
        found, low, high = found[:0], low[:0], high[:0]
    return _Pairs(found, low, high, on_scale(column, low) - on_scale(other, high))


def _p_values(family: list[_Pairs], seed: int) -> tuple[Array, Array]:
    """P-values of each comparison alone and corrected (C,); NaN if missing or not finite."""
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
        return NO_RESULTS
    if not p <= ERROR_RATE:  # NaN too
        return UNDECIDED
    return HOLDS if np.mean(pair.d) < 0.0 else DOES_NOT_HOLD


PARTLY = "partly"


@dataclass(frozen=True, slots=True)
class PartFound:
    """The verdict on a part of a claim, with those on its comparisons."""

    part: Part
    comparisons: tuple[ComparisonFound, ...]
    verdict: str
    area: str

    @property
    def words(self) -> str:
        """Counts of verdicts, the means that were compared, and their difference."""
        there = [c for c in self.comparisons if c.verdict != NO_RESULTS]
        if not there:
            return "missing"
        low, high = spread(c.low for c in there), spread(c.high for c in there)
        verb = "from {} at the start to {}" if there[0].comparison.rise else "{} against {}"
        wins = spread(c.wins for c in there)
        runs = f"as claimed in {wins} of {spread(c.difference.n for c in there)} realisations"
        return f"{count(there)}; {verb.format(low, high)}; {_apart(there)}; {runs}"


def _apart(there: list[ComparisonFound]) -> str:
    """The difference of two means; a ratio on a logarithmic scale."""
    log = there[0].comparison.metric == "nmse"
    with np.errstate(over="ignore"):
        means, lows, highs = (
            [float(np.exp(value)) if log else value for value in values]
            for values in zip(
                *((c.difference.mean, c.difference.low, c.difference.high) for c in there),
                strict=True,
            )
        )
    what = "ratio" if log else "difference"
    return f"{what} {spread(means)}, 95 % within [{number(min(lows))}, {number(max(highs))}]"


@dataclass(frozen=True, slots=True)
class ClaimFound:
    """A claim with what was found of it, and of its variants."""

    claim: Claim
    parts: tuple[PartFound, ...]
    verdict: str
    area: str
    notes: tuple[str, ...] = ()
    variants: tuple[tuple[str, "ClaimFound"], ...] = ()

    @property
    def comparisons(self) -> tuple[ComparisonFound, ...]:
        """All comparisons of its parts."""
        return tuple(c for part in self.parts for c in part.comparisons)

    @property
    def words(self) -> str:
        """Numbers of its parts and comparisons that hold, in words."""
        if self.verdict == NO_RESULTS:
            return "none of its tasks was run with the methods it is about"
        alone = verdicts_in_words([c.alone for c in self.comparisons])
        said = f"Parts: {count(self.parts)}. Comparisons: {count(self.comparisons)}"
        return f"{said} (each on its own, uncorrected: {alone})."


def judge(
    results: pd.DataFrame, seed: int = 0, claims: Sequence[Claim] = CLAIMS
) -> tuple[ClaimFound, ...]:
    """Verdicts on each claim; `seed` draws sign flips if there are too many for all."""
    runs = in_arrays(by_run(results))
    return tuple(_with_notes(runs, seed, _judge_claim(runs, seed, claim)) for claim in claims)


def count(found: Sequence[ComparisonFound | PartFound]) -> str:
    """Verdicts counted in words.

    >>> count([])
    'none'
    """
    return verdicts_in_words([one.verdict for one in found])


def verdicts_in_words(verdicts: Sequence[str]) -> str:
    """Verdicts counted in words.

    >>> verdicts_in_words(["holds", "does not hold", "holds", "missing"])
    '2 of 3 hold, 1 does not, 1 missing'
    """
    n = Counter(verdicts)
    there = len(verdicts) - n[NO_RESULTS]
    words = [f"{n[HOLDS]} of {there} hold{'s' * (n[HOLDS] == 1)}"] if there else []
    words += (
        [f"{n[DOES_NOT_HOLD]} {'does' if n[DOES_NOT_HOLD] == 1 else 'do'} not"]
        if n[DOES_NOT_HOLD]
        else []
    )
    words += [f"{n[UNDECIDED]} undecided"] if n[UNDECIDED] else []
    words += [f"{n[NO_RESULTS]} missing"] if n[NO_RESULTS] else []
    return ", ".join(words) or "none"


def _judge_claim(runs: Runs, seed: int, claim: Claim) -> ClaimFound:
    family = [c for part in claim.parts for c in part.comparisons]
    found = iter(compare(runs, family, seed))
    parts = tuple(
        _judge_part(part, tuple(islice(found, len(part.comparisons)))) for part in claim.parts
    )
    verdict = _partly(claim.enough, [part.verdict for part in parts])
    return ClaimFound(claim, parts, verdict, _partly(claim.enough, [part.area for part in parts]))


def _judge_part(part: Part, found: tuple[ComparisonFound, ...]) -> PartFound:
    verdict = _combined_verdict(part.enough, [c.verdict for c in found])
    return PartFound(part, found, verdict, _combined_verdict(part.enough, [c.area for c in found]))


def _combined_verdict(enough: Enough, verdicts: Sequence[str]) -> str:
    n = Counter(verdicts)
    there = len(verdicts) - n[NO_RESULTS]
    if not there:
        return NO_RESULTS
    if n[HOLDS] >= required_count(enough, there):
        return HOLDS
    return DOES_NOT_HOLD if n[HOLDS] + n[UNDECIDED] < required_count(enough, there) else UNDECIDED


def _partly(enough: Enough, verdicts: Sequence[str]) -> str:
    verdict = _combined_verdict(enough, verdicts)
    return PARTLY if verdict in (DOES_NOT_HOLD, UNDECIDED) and HOLDS in verdicts else verdict


def _with_notes(runs: Runs, seed: int, found: ClaimFound) -> ClaimFound:
    if found.verdict == NO_RESULTS:
        return found
    tasks = dict.fromkeys(c.comparison.task for c in _there(found))
    shared = [note for task in tasks if (note := shared_rows(task))]
    notes = [*_missing(found), *_too_few(found), *_too_small(found), *shared]
    variants = tuple(_variants(runs, seed, found))
    notes += [f"{says}: {other.verdict}. {other.words}" for says, other in variants]
    return replace(found, notes=tuple(notes), variants=variants)


def _variants(runs: Runs, seed: int, found: ClaimFound) -> Iterator[tuple[str, ClaimFound]]:
    """Verdicts on the variants of a claim that were run and differ from it."""
    own = {c.comparison for c in _there(found)}
    for variant in VARIANTS:
        if found.claim.number in variant.claims:
            other = _judge_claim(runs, seed, variant.of(found.claim))
            if any(c.comparison not in own for c in _there(other)):
                yield variant.says, other


def _missing(found: ClaimFound) -> list[str]:
    missing = [c.comparison for c in found.comparisons if c.verdict == NO_RESULTS]
    gone = dict.fromkeys(task_title(c.task) for c in missing)
    return [f"Missing, wholly or in part, and not counted: {', '.join(gone)}."] if gone else []


def _too_few(found: ClaimFound) -> list[str]:
    n = min(c.difference.n for c in _there(found))
    least = MIN_REALISATIONS_FOR_TEST
    few = f"Only {n} realisations: with fewer than {least} nothing can be decided."
    return [few] if n < least else []


def _too_small(found: ClaimFound) -> list[str]:
    n = sum(c.small and c.verdict in (HOLDS, DOES_NOT_HOLD) for c in _there(found))
    words = "decided by less than 1 % (NMSE) or 0.01 (NPLL), which hardly matters"
    return [f"{n} of the comparisons {'is' if n == 1 else 'are'} {words}."] if n else []


def _there(found: ClaimFound) -> list[ComparisonFound]:
    return [c for c in found.comparisons if c.verdict != NO_RESULTS]
