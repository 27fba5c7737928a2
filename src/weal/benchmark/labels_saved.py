"""Labels and error that active learning saves against random choice.

Labels saved, for each realisation, with e_c(t) and e_r(t) the lowest errors within t queries of
active learning and of random choice, and e the error that both reach in the end:

    e = max(e_c(T), e_r(T)),    saved = first t with e_r(t) <= e  -  first t with e_c(t) <= e

so that a realisation counts in the same way whichever wins. The mean over the realisations comes
with its 95 % interval (`statistics`). Choosing needs fewer labels if this interval and that of the
gain are above 0; the gain is the average difference of log NMSE (or of another metric) over all
queries; it needs more if both are below 0. Else it is undecided, and always with fewer than
MIN_REALISATIONS_FOR_TEST.

Error saved, for methods that differ in the choice of points only:

    weal-auto      the default                       against weal-random (the same model, points at
                                                     random) and weal-even (six acquisition
                                                     functions with even weights)
    egp-multiafs   Algorithm 2 of the paper          against random: the same model; but V more
                                                     labels for validation

For each task two ratios, each from a mean over realisations of paired differences with its 95 %
interval (`statistics`):

    at the end       ratio of NMSE after the last query
    over all         ratio of NMSE in the geometric mean over all queries (at least MIN_LOG_NMSE)

A ratio below 1 is a gain of active learning. It is "lower" or "higher" if the sign flips decide so,
with all tasks of a pair of methods in one family, and "no clear difference" otherwise.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from weal.benchmark.paper_claims import ClaimedComparison
from weal.benchmark.paper_verdicts import DOES_NOT_HOLD, HOLDS, NO_RESULTS, UNDECIDED, compare
from weal.benchmark.statistics import (
    MIN_REALISATIONS_FOR_TEST,
    Interval,
    Runs,
    in_arrays,
    interval,
    pairs,
)
from weal.benchmark.summary import MIN_LOG_NMSE, by_run, in_order_of_tasks
from weal.core.arrays import Array
from weal.text import number

ENOUGH_REALISATIONS = 10  # that are advised where there are too few


Verdict = Literal["fewer", "more", "undecided"]


@dataclass(frozen=True, slots=True)
class LabelsSaved:
    """Labels that choosing saves against random choice, and what it gains over all queries."""

    who: str  # what is compared with random choice: "choosing (weal-auto)"
    what: str  # "the error of random choice": what it reaches with fewer labels
    queries: int
    saved: Interval  # labels
    gain: Interval  # of the metric over all queries; above 0: choosing is better

    @property
    def verdict(self) -> Verdict:
        """Fewer or more labels, where both intervals are on that side of 0; else undecided."""
        if self.saved.n < MIN_REALISATIONS_FOR_TEST:
            return "undecided"
        if self.saved.low > 0.0 and self.gain.low > 0.0:
            return "fewer"
        return "more" if self.saved.high < 0.0 and self.gain.high < 0.0 else "undecided"

    @property
    def words(self) -> str:
        """The answer in a sentence."""
        n, sure = self.saved.n, "Yes" if self.verdict == "fewer" else "No"
        over = f"over {n} realisations"
        if n < MIN_REALISATIONS_FOR_TEST:
            many = "1 realisation is" if n == 1 else f"{n} realisations are"
            return f"Undecided: {many} too few to tell; take {ENOUGH_REALISATIONS} or more."
        if self.verdict == "undecided":
            return (
                f"Undecided: {self.who} {self._average()} ({self._ends(1)}) against random "
                f"choice, {over}; {self._reason()}."
            )
        first, second, sign = (self.who, self.what, 1)
        if self.verdict == "more":
            first, second, sign = "random choice", self.what.replace("random choice", self.who), -1
        mean = number(sign * self.saved.mean, 2)
        return (
            f"{sure}: {first} reached {second} with {mean} fewer of {self.queries} labels "
            f"({self._ends(sign)}), {over}."
        )

    def _average(self) -> str:
        mean, of = number(abs(self.saved.mean), 2), f"of {self.queries} labels on average"
        return f"needed {mean} more {of}" if self.saved.mean < 0.0 else f"saved {mean} {of}"

    def _ends(self, sign: int) -> str:
        low, high = sorted((sign * self.saved.low, sign * self.saved.high))
        return f"95 %: {number(low, 2)} to {number(high, 2)}"

    def _reason(self) -> str:
        """Why it is undecided: the labels, or the metric over all queries."""
        if self.saved.low <= 0.0 <= self.saved.high:
            return "more realisations may tell"
        return "but over all queries the difference to random choice is not clear"


def labels_saved(chosen: Array, drawn: Array) -> Array:  # (R,)
    """Labels saved in each realisation, for errors (R, T + 1) by choosing and at random.

    >>> labels_saved(np.array([[5.0, 2.0, 1.0]]), np.array([[5.0, 3.0, 2.0]]))
    array([1.])
    """
    best, other = (np.minimum.accumulate(part, axis=1) for part in (chosen, drawn))
    both = np.maximum(best[:, -1:], other[:, -1:])
    found: Array = (other <= both).argmax(axis=1) - (best <= both).argmax(axis=1).astype(float)
    return found


def labels_saved_on_task(
    results: "pd.DataFrame", method: str, other: str, seed: int = 0
) -> LabelsSaved | None:
    """Labels that `method` saved against `other` on the one task of these results, or None."""
    chosen, drawn = (curves_of(results, name) for name in (method, other))
    if not (chosen.size and drawn.size):
        return None
    return mean_saved(chosen, drawn, f"choosing ({method})", errors=True, seed=seed)


def curves_of(results: "pd.DataFrame", method: str) -> Array:  # (R, T + 1)
    """The errors of a method on the one task of these results, after each query."""
    own = results[results["method"] == method]
    return np.asarray(own.pivot(index="realisation", columns="t", values="nmse").to_numpy())


def mean_saved(chosen: Array, drawn: Array, who: str, errors: bool, seed: int = 0) -> LabelsSaved:
    """The labels saved for curves (R, T + 1) of errors, or of a metric that is better if larger."""
    if errors:
        saved, what = labels_saved(chosen, drawn), "the error of random choice"
        ours, theirs = (-np.log(np.maximum(part[:, 1:], MIN_LOG_NMSE)) for part in (chosen, drawn))
    else:
        saved, what = labels_saved(1.0 - chosen, 1.0 - drawn), "the result of random choice"
        ours, theirs = chosen[:, 1:], drawn[:, 1:]
    gain = (ours - theirs).mean(axis=1) if chosen.shape[1] > 1 else np.zeros(len(chosen))
    return LabelsSaved(who, what, chosen.shape[1] - 1, interval(saved, seed), interval(gain, seed))


PAIRS = (
    ("weal-auto", "weal-random"),
    ("weal-auto", "weal-even"),
    ("egp-multiafs", "random"),
)
_VERDICT_TEXTS = {HOLDS: "lower", DOES_NOT_HOLD: "higher", UNDECIDED: "no clear difference"}


@dataclass(frozen=True, slots=True)
class ChoiceGain:
    """NMSE of a method over that of another on a task; a ratio below 1 is a gain."""

    task: str
    method: str
    other: str
    nmse: float  # mean of the method at the end, and of the other
    other_nmse: float
    at_end: Interval  # of the ratio
    over_all: Interval
    end: str  # "lower", "higher" or "no clear difference"
    area: str


def compare_choices(results: pd.DataFrame, seed: int = 0) -> list[ChoiceGain]:
    """One row for each pair of methods that was run, and each task."""
    runs, tasks = in_arrays(by_run(results)), in_order_of_tasks(results["task"])
    return [row for pair in PAIRS for row in _compare_pair(runs, tasks, *pair, seed)]


def in_one_line(rows: list[ChoiceGain]) -> str:
    """The number of tasks with each verdict, in words."""
    counts = {word: sum(row.area == word for row in rows) for word in _VERDICT_TEXTS.values()}
    return ", ".join(f"{word} on {n}" for word, n in counts.items()) + f" of {len(rows)} tasks"


def _compare_pair(
    runs: Runs, tasks: list[str], one: str, other: str, seed: int
) -> list[ChoiceGain]:
    found = compare(runs, [ClaimedComparison(task, "nmse", one, other) for task in tasks], seed)
    return [
        ChoiceGain(
            c.comparison.task,
            one,
            other,
            c.low,
            c.high,
            _ratio(c.difference),
            _ratio(_over_all(runs, c.comparison.task, one, other, seed)),
            _VERDICT_TEXTS[c.verdict],
            _VERDICT_TEXTS[c.area],
        )
        for c in found
        if c.verdict != NO_RESULTS
    ]


def _over_all(runs: Runs, task: str, one: str, other: str, seed: int) -> Interval:
    """The natural log of the ratio over all queries; areas are in decades."""
    _, a, b = pairs(runs, task, (one, "nmse_area"), (other, "nmse_area"))
    return interval(np.log(10.0) * (a - b), seed)


def _ratio(log: Interval) -> Interval:
    with np.errstate(over="ignore"):
        mean, low, high = np.exp([log.mean, log.low, log.high]).tolist()
    return Interval(mean, low, high, log.n)
