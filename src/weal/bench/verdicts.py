"""What is found of each claim.

A comparison looks at the differences low - high over the realisations that both methods have
(`paired`), at the last reading t = T, which decides, and as a second opinion at the area over t:

    holds           the 95 % interval of the mean difference lies below 0
    does not hold   it lies above 0
    undecided       it holds 0, or there are fewer than ENOUGH realisations
    missing         the task or a method was not run; not counted any further

With h holding and u undecided of n that are there, and k of them needed, a part or a claim
"holds" when h >= k and "does not hold" when h + u < k. A claim that does neither, or that fails
while some of its parts hold, holds "partly" when h > 0 and is "undecided" when h = 0.

A difference can be certain and still not matter: those below 1 % (NMSE) or 0.01 (NPLL) are
counted in the words. Beside the claim itself two variants are judged when they were run: the
exact GP-Var in place of the one on features, and EGP-multiAFs against methods that train on its
validation labels too.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from weal.bench.claims import (
    BASELINE,
    CLAIMS,
    MULTI,
    SINGLE,
    Claim,
    Comparison,
    Enough,
    Part,
    needed,
)
from weal.bench.paired import ENOUGH, Interval, Runs, in_arrays, interval, sides
from weal.bench.summary import by_run
from weal.bench.titles import number, shared_rows, spread, task_title

HOLDS, NOT, UNDECIDED, MISSING, PARTLY = "holds", "does not hold", "undecided", "missing", "partly"
_EXACT = "gp-var-exact"
_SMALL = {"nmse": 0.01, "npll": 0.01}  # NMSE: of the larger one; NPLL: as it is


@dataclass(frozen=True, slots=True)
class ComparisonFound:
    """A comparison with its numbers at the last reading; `area` is the second opinion."""

    comparison: Comparison
    verdict: str
    area: str
    low: float  # mean of `low`, and of `high`, over the shared realisations
    high: float
    difference: Interval  # low - high
    wins: int  # realisations where low is below high

    @property
    def small(self) -> bool:
        """Whether the difference is too small to matter."""
        scale = max(self.low, self.high) if self.comparison.metric == "nmse" else 1.0
        return abs(self.difference.mean) < _SMALL[self.comparison.metric] * scale


@dataclass(frozen=True, slots=True)
class PartFound:
    """A part with what was found of its comparisons."""

    part: Part
    comparisons: tuple[ComparisonFound, ...]
    verdict: str
    area: str

    @property
    def words(self) -> str:
        """How many hold, the means that were compared, and how far they differ."""
        there = [c for c in self.comparisons if c.verdict != MISSING]
        if not there:
            return "missing"
        low, high = spread(c.low for c in there), spread(c.high for c in there)
        verb = "from {} at the start to {}" if there[0].comparison.rise else "{} against {}"
        apart = spread(c.difference.mean for c in there)
        ends = min(c.difference.low for c in there), max(c.difference.high for c in there)
        within = f"difference {apart}, 95 % within [{number(ends[0])}, {number(ends[1])}]"
        wins = spread(c.wins for c in there)
        runs = f"as claimed in {wins} of {spread(c.difference.n for c in there)} realisations"
        return f"{count(there)}; {verb.format(low, high)}; {within}; {runs}"


@dataclass(frozen=True, slots=True)
class ClaimFound:
    """A claim with what was found of it."""

    claim: Claim
    parts: tuple[PartFound, ...]
    verdict: str
    area: str
    notes: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """How many of its parts and comparisons hold."""
        every = [c for part in self.parts for c in part.comparisons]
        if self.verdict == MISSING:
            return "none of its tasks was run with the methods it is about"
        return f"Parts: {count(self.parts)}. Comparisons: {count(every)}."


def judge(
    results: pd.DataFrame, seed: int = 0, claims: Sequence[Claim] = CLAIMS
) -> tuple[ClaimFound, ...]:
    """What the results say of each claim; `seed` keys the bootstrap."""
    runs = in_arrays(by_run(results))
    return tuple(_with_notes(runs, seed, _judge_claim(runs, seed, claim)) for claim in claims)


def count(found: Sequence[ComparisonFound | PartFound]) -> str:
    """Verdicts counted in words.

    >>> count([])
    'none'
    """
    n = Counter(one.verdict for one in found)
    there = len(found) - n[MISSING]
    words = [f"{n[HOLDS]} of {there} hold{'s' * (n[HOLDS] == 1)}"] if there else []
    words += [f"{n[NOT]} {'does' if n[NOT] == 1 else 'do'} not"] if n[NOT] else []
    words += [f"{n[UNDECIDED]} undecided"] if n[UNDECIDED] else []
    words += [f"{n[MISSING]} missing"] if n[MISSING] else []
    return ", ".join(words) or "none"


def _judge_claim(runs: Runs, seed: int, claim: Claim) -> ClaimFound:
    parts = tuple(_judge_part(runs, seed, part) for part in claim.parts)
    verdict = _partly(claim.enough, [part.verdict for part in parts])
    return ClaimFound(claim, parts, verdict, _partly(claim.enough, [part.area for part in parts]))


def _judge_part(runs: Runs, seed: int, part: Part) -> PartFound:
    found = tuple(_compare(runs, seed, comparison) for comparison in part.comparisons)
    verdict = _together(part.enough, [c.verdict for c in found])
    return PartFound(part, found, verdict, _together(part.enough, [c.area for c in found]))


def _together(enough: Enough, verdicts: Sequence[str]) -> str:
    n = Counter(verdicts)
    there = len(verdicts) - n[MISSING]
    if not there:
        return MISSING
    if n[HOLDS] >= needed(enough, there):
        return HOLDS
    return NOT if n[HOLDS] + n[UNDECIDED] < needed(enough, there) else UNDECIDED


def _partly(enough: Enough, verdicts: Sequence[str]) -> str:
    verdict = _together(enough, verdicts)
    return PARTLY if verdict in (NOT, UNDECIDED) and HOLDS in verdicts else verdict


def _compare(runs: Runs, seed: int, c: Comparison) -> ComparisonFound:
    start, area = f"{c.metric}_start", f"{c.metric}_area"
    low, high = sides(runs, c.task, (c.low, start if c.rise else c.metric), (c.high, c.metric))
    end = interval(low - high, seed)
    # a rise is in NPLL, whose area is a mean over t, in the units of the start
    over = sides(runs, c.task, (c.low, start if c.rise else area), (c.high, area))
    means = (float(np.mean(low)), float(np.mean(high))) if end.n else (np.nan, np.nan)
    second = _verdict(interval(over[0] - over[1], seed))
    return ComparisonFound(c, _verdict(end), second, *means, end, int(np.sum(low < high)))


def _verdict(found: Interval) -> str:
    if found.n == 0:
        return MISSING
    if found.n < ENOUGH:
        return UNDECIDED
    return HOLDS if found.high < 0 else NOT if found.low > 0 else UNDECIDED


def _exact_baseline(c: Comparison) -> Comparison | None:
    low, high = (_EXACT if method == BASELINE else method for method in (c.low, c.high))
    return replace(c, low=low, high=high)


def _fair(c: Comparison) -> Comparison | None:
    return (
        replace(c, high=f"{c.high}+v") if c.low == MULTI and c.high in (BASELINE, *SINGLE) else None
    )


_VARIANTS: dict[str, Callable[[Comparison], Comparison | None]] = {
    "With the exact GP-Var as the baseline": _exact_baseline,
    "EGP-multiAFs against methods that train on its validation labels too": _fair,
}


def _variant(claim: Claim, change: Callable[[Comparison], Comparison | None]) -> Claim:
    """The claim with its comparisons changed; those changed to None left out."""
    parts = []
    for part in claim.parts:
        changed = tuple(new for c in part.comparisons if (new := change(c)))
        parts += [replace(part, comparisons=changed)] if changed else []
    return replace(claim, parts=tuple(parts))


def _variants(runs: Runs, seed: int, found: ClaimFound) -> list[str]:
    """What is found of the claim's variants, for those that were run."""
    own = {c.comparison for c in _there(found)}
    notes = []
    for words, change in _VARIANTS.items():
        other = _judge_claim(runs, seed, _variant(found.claim, change))
        new = any(c.comparison not in own for c in _there(other))
        notes += [f"{words}: {other.verdict}. {other.words}"] if new else []
    return notes


def _with_notes(runs: Runs, seed: int, found: ClaimFound) -> ClaimFound:
    if found.verdict == MISSING:
        return found
    tasks = dict.fromkeys(c.comparison.task for c in _there(found))
    shared = [note for task in tasks if (note := shared_rows(task))]
    notes = [*_missing(found), *_too_few(found), *_too_small(found), *shared]
    return replace(found, notes=(*notes, *_variants(runs, seed, found)))


def _missing(found: ClaimFound) -> list[str]:
    every = [c for part in found.parts for c in part.comparisons]
    gone = dict.fromkeys(task_title(c.comparison.task) for c in every if c.verdict == MISSING)
    return [f"Missing, wholly or in part, and not counted: {', '.join(gone)}."] if gone else []


def _too_few(found: ClaimFound) -> list[str]:
    n = min(c.difference.n for c in _there(found))
    few = f"Only {n} realisations: with fewer than {ENOUGH} nothing can be decided."
    return [few] if n < ENOUGH else []


def _too_small(found: ClaimFound) -> list[str]:
    n = sum(c.small and c.verdict in (HOLDS, NOT) for c in _there(found))
    words = "decided by less than 1 % (NMSE) or 0.01 (NPLL), which hardly matters"
    return [f"{n} of the comparisons {'is' if n == 1 else 'are'} {words}."] if n else []


def _there(found: ClaimFound) -> list[ComparisonFound]:
    return [c for part in found.parts for c in part.comparisons if c.verdict != MISSING]
