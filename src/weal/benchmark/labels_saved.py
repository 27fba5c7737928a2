"""Labels and error that active learning saves against random choice.

Labels saved, for each realisation, with e_c(t) and e_r(t) the lowest errors within t queries of
active learning and of random choice, and e the error that both reach in the end:

    e = max(e_c(T), e_r(T)),    saved = first t with e_r(t) <= e  -  first t with e_c(t) <= e

so that a realisation counts in the same way whichever wins. The mean over the realisations comes
with the interval of Student's t. It is undecided if the interval contains 0, or with fewer than
MIN_REALISATIONS_FOR_SAVINGS.

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
with all tasks of a pair of methods in one family, and "not told apart" otherwise.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import t as student

from weal.benchmark.paper_claims import ClaimedComparison
from weal.benchmark.paper_verdicts import DOES_NOT_HOLD, HOLDS, NO_RESULTS, UNDECIDED, compare
from weal.benchmark.statistics import Interval, Runs, in_arrays, interval, pairs
from weal.benchmark.summary import by_run, in_order_of_tasks
from weal.core.arrays import Array

INTERVAL_LEVEL = 0.9
MIN_REALISATIONS_FOR_SAVINGS = 3


@dataclass(frozen=True, slots=True)
class LabelsSaved:
    """Labels saved, over the realisations."""

    method: str
    other: str
    queries: int
    realisations: int
    mean: float
    low: float
    high: float

    @property
    def is_decided(self) -> bool:
        """Whether the interval is on one side of 0."""
        return self.realisations >= MIN_REALISATIONS_FOR_SAVINGS and (
            self.low > 0.0 or self.high < 0.0
        )

    @property
    def words(self) -> str:
        """The answer in a sentence."""
        over = f"over {self.realisations} realisations"
        ends = f"90 %: {self.low:.0f} to {self.high:.0f}"
        if self.realisations < MIN_REALISATIONS_FOR_SAVINGS:
            return f"Undecided: {self.realisations} realisations say nothing; ask for 10 or more."
        if not self.is_decided:
            return (
                f"Undecided: choosing ({self.method}) saved {self.mean:.0f} of {self.queries} "
                f"labels on average ({ends}) against random choice, {over}; more realisations may "
                "tell."
            )
        if self.low > 0.0:
            return (
                f"Yes: choosing ({self.method}) reached the error of random choice with "
                f"{self.mean:.0f} fewer of {self.queries} labels ({ends}), {over}."
            )
        return (
            f"No: random choice reached the error of choosing ({self.method}) with "
            f"{-self.mean:.0f} fewer of {self.queries} labels "
            f"(90 %: {-self.high:.0f} to {-self.low:.0f}), {over}."
        )


def labels_saved(chosen: Array, drawn: Array) -> Array:  # (R,)
    """Labels saved in each realisation, for errors (R, T + 1) by choosing and at random.

    >>> labels_saved(np.array([[5.0, 2.0, 1.0]]), np.array([[5.0, 3.0, 2.0]]))
    array([1.])
    """
    best, other = (np.minimum.accumulate(part, axis=1) for part in (chosen, drawn))
    both = np.maximum(best[:, -1:], other[:, -1:])
    found: Array = (other <= both).argmax(axis=1) - (best <= both).argmax(axis=1).astype(float)
    return found


def labels_saved_on_task(results: "pd.DataFrame", method: str, other: str) -> LabelsSaved | None:
    """Labels that `method` saved against `other` on the one task of these results, or None."""
    tables = [
        results[results["method"] == name]
        .pivot(index="realisation", columns="t", values="nmse")
        .to_numpy()
        for name in (method, other)
    ]
    if not all(part.size for part in tables):
        return None
    return mean_saved(tables[0], tables[1], method, other)


def mean_saved(chosen: Array, drawn: Array, method: str, other: str) -> LabelsSaved:
    """The mean of the labels saved for errors (R, T + 1), with its interval."""
    found = labels_saved(chosen, drawn)
    n, mean = len(found), float(found.mean())
    half = np.inf
    if n > 1:
        half = float(
            student.ppf(0.5 + INTERVAL_LEVEL / 2.0, n - 1) * found.std(ddof=1) / np.sqrt(n)
        )
    return LabelsSaved(method, other, chosen.shape[1] - 1, n, mean, mean - half, mean + half)


PAIRS = (
    ("weal-auto", "weal-random"),
    ("weal-auto", "weal-even"),
    ("egp-multiafs", "random"),
)
_VERDICT_TEXTS = {HOLDS: "lower", DOES_NOT_HOLD: "higher", UNDECIDED: "not told apart"}


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
    end: str  # "lower", "higher" or "not told apart"
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
