"""What is found of each claim.

The comparisons of a claim are one family (`compared`): by chance not even one of them is decided,
in 95 % of cases. With h holding and u undecided of n that are there, and k of them needed, a part
or a claim "holds" when h >= k and "does not hold" when h + u < k. A claim that does neither, or
that fails while some of its parts hold, holds "partly" when h > 0 and is "undecided" when h = 0.

A difference can be certain and still not matter: those below 1 % (NMSE) or 0.01 (NPLL) are
counted in the words. The variants of a claim (`claims`) are judged beside it, each a family of its
own, when they were run.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import pandas as pd

from weal.bench.claims import CLAIMS, VARIANTS, Claim, Enough, Part, needed
from weal.bench.compared import HOLDS, MISSING, NOT, UNDECIDED, ComparisonFound, compare
from weal.bench.flips import ENOUGH
from weal.bench.paired import Runs, in_arrays
from weal.bench.summary import by_run
from weal.bench.titles import number, shared_rows, spread, task_title

PARTLY = "partly"


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
        wins = spread(c.wins for c in there)
        runs = f"as claimed in {wins} of {spread(c.difference.n for c in there)} realisations"
        return f"{count(there)}; {verb.format(low, high)}; {_apart(there)}; {runs}"


def _apart(there: list[ComparisonFound]) -> str:
    """How far they differ: as a ratio where the scale is a logarithm."""
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
        """How many of its parts and comparisons hold."""
        if self.verdict == MISSING:
            return "none of its tasks was run with the methods it is about"
        alone = verdicts_in_words([c.alone for c in self.comparisons])
        said = f"Parts: {count(self.parts)}. Comparisons: {count(self.comparisons)}"
        return f"{said} (each by itself, uncorrected: {alone})."


def judge(
    results: pd.DataFrame, seed: int = 0, claims: Sequence[Claim] = CLAIMS
) -> tuple[ClaimFound, ...]:
    """What the results say of each claim; `seed` draws flips where there are too many for all."""
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
    there = len(verdicts) - n[MISSING]
    words = [f"{n[HOLDS]} of {there} hold{'s' * (n[HOLDS] == 1)}"] if there else []
    words += [f"{n[NOT]} {'does' if n[NOT] == 1 else 'do'} not"] if n[NOT] else []
    words += [f"{n[UNDECIDED]} undecided"] if n[UNDECIDED] else []
    words += [f"{n[MISSING]} missing"] if n[MISSING] else []
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


def _with_notes(runs: Runs, seed: int, found: ClaimFound) -> ClaimFound:
    if found.verdict == MISSING:
        return found
    tasks = dict.fromkeys(c.comparison.task for c in _there(found))
    shared = [note for task in tasks if (note := shared_rows(task))]
    notes = [*_missing(found), *_too_few(found), *_too_small(found), *shared]
    variants = tuple(_variants(runs, seed, found))
    notes += [f"{says}: {other.verdict}. {other.words}" for says, other in variants]
    return replace(found, notes=tuple(notes), variants=variants)


def _variants(runs: Runs, seed: int, found: ClaimFound) -> Iterator[tuple[str, ClaimFound]]:
    """What is found of the claim's variants, for those that were run and say something new."""
    own = {c.comparison for c in _there(found)}
    for variant in VARIANTS:
        if found.claim.number in variant.claims:
            other = _judge_claim(runs, seed, variant.of(found.claim))
            if any(c.comparison not in own for c in _there(other)):
                yield variant.says, other


def _missing(found: ClaimFound) -> list[str]:
    missing = [c.comparison for c in found.comparisons if c.verdict == MISSING]
    gone = dict.fromkeys(task_title(c.task) for c in missing)
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
    return [c for c in found.comparisons if c.verdict != MISSING]
