"""Does choosing pay? A method beside others that differ from it in the choice alone.

    weal-auto      the default                       against weal-random (the same model, points at
                                                     random) and weal-even (six acquisition
                                                     functions with even weights)
    egp-multiafs   Algorithm 2 of the paper          against random: the same model; but V labels
                                                     for validation more

For each task two numbers, each a mean over realisations of paired differences with its 95 %
interval (`paired`), as a factor by which the error is multiplied:

    at the end       ratio of NMSE after the last query
    over all         ratio of NMSE in the geometric mean over all queries (NMSE at least FLOOR)

A ratio below 1 says that choosing pays. It is "lower" or "higher" when the flips decide so, all
tasks of a pair of methods being one family (`flips`), and "not told apart" otherwise.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from weal.bench.claims import Comparison
from weal.bench.compared import HOLDS, MISSING, NOT, UNDECIDED, compare
from weal.bench.paired import Interval, Runs, in_arrays, interval, pairs
from weal.bench.summary import by_run
from weal.bench.titles import in_order_of_tasks

PAIRS = (
    ("weal-auto", "weal-random"),
    ("weal-auto", "weal-even"),
    ("egp-multiafs", "random"),
)
_WORDS = {HOLDS: "lower", NOT: "higher", UNDECIDED: "not told apart"}


@dataclass(frozen=True, slots=True)
class Paid:
    """What choosing did on a task; ratios of NMSE below 1 are its gain."""

    task: str
    method: str
    other: str
    nmse: float  # mean of the method at the end, and of the other
    other_nmse: float
    at_end: Interval  # of the ratio
    over_all: Interval
    end: str  # "lower", "higher" or "not told apart"
    area: str


def paid(results: pd.DataFrame, seed: int = 0) -> list[Paid]:
    """A row for every pair of methods that was run, and every task."""
    runs, tasks = in_arrays(by_run(results)), in_order_of_tasks(results["task"])
    return [row for pair in PAIRS for row in _of_pair(runs, tasks, *pair, seed)]


def in_one_line(rows: list[Paid]) -> str:
    """How many tasks choosing paid on, in words."""
    counts = {word: sum(row.area == word for row in rows) for word in _WORDS.values()}
    return ", ".join(f"{word} on {n}" for word, n in counts.items()) + f" of {len(rows)} tasks"


def _of_pair(runs: Runs, tasks: list[str], one: str, other: str, seed: int) -> list[Paid]:
    found = compare(runs, [Comparison(task, "nmse", one, other) for task in tasks], seed)
    return [
        Paid(
            c.comparison.task,
            one,
            other,
            c.low,
            c.high,
            _ratio(c.difference),
            _ratio(_over_all(runs, c.comparison.task, one, other, seed)),
            _WORDS[c.verdict],
            _WORDS[c.area],
        )
        for c in found
        if c.verdict != MISSING
    ]


def _over_all(runs: Runs, task: str, one: str, other: str, seed: int) -> Interval:
    """Of the natural log of the ratio; areas are in decades."""
    _, a, b = pairs(runs, task, (one, "nmse_area"), (other, "nmse_area"))
    return interval(np.log(10.0) * (a - b), seed)


def _ratio(log: Interval) -> Interval:
    with np.errstate(over="ignore"):
        mean, low, high = np.exp([log.mean, log.low, log.high]).tolist()
    return Interval(mean, low, high, log.n)
