"""Paired comparisons of methods task by task, with verdicts that survive correction.

For each task and each other method, d_r is our area less that of the other method on realisation
r, with its sign turned where a higher score is better: below 0, ours is better. Its mean has the
95 % interval and the two-sided p-value of Student's t. Holm's rule corrects the p-values of one
method over all the tasks of the goal,

    p_(1) <= ... <= p_(m),    corrected p_(k) = max over j <= k of min(1, (m - j + 1) p_(j))

and a difference counts as better or worse only where the corrected p-value is at most ERROR_RATE:
by chance not even one of the tasks is decided, in 95 % of cases. A corrected p-value is never below
the plain one, so a verdict never contradicts the interval beside it. Fewer than MIN_REALISATIONS
decide nothing: two differences that happen to be almost equal have a small p-value.

The exact sign-flip test of `weal.benchmark.statistics` needs no normal distribution, but with six
realisations its p-value is at least 2/64, and no verdict could survive the correction over more
than one task. Student's t trusts the differences to be near normal; log errors are.

S. Holm: A simple sequentially rejective multiple test procedure, 1979.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from benchmarks.comparison import GOALS, GROUPS, METHODS
from benchmarks.pages.result_files import Files, ResultFile
from scipy.stats import t as student_t

from weal.benchmark.statistics import ERROR_RATE, Interval
from weal.core.arrays import Array

BETTER, WORSE, OPEN = "better", "worse", "no clear difference"
MIN_REALISATIONS = 5  # of a difference with a verdict
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Ours less another method on one task; below 0, ours is better."""

    task: str
    method: str
    difference: Interval
    p: float  # of Student's t
    corrected: float = 1.0  # by Holm's rule, over the tasks

    @property
    def verdict(self) -> str:
        """What survives the correction: better, worse, or no clear difference."""
        if not self.corrected <= ERROR_RATE:
            return OPEN
        return BETTER if self.difference.mean < 0.0 else WORSE


def student(values: Array) -> tuple[Interval, float]:
    """The mean of values (n,) with its 95 % interval, and the p-value of a mean of 0.

    >>> found, p = student(np.array([1.0, 2.0, 3.0, 4.0]))
    >>> round(found.low, 3), round(found.high, 3), round(p, 4)
    (0.446, 4.554, 0.0305)
    """
    n = len(values)
    mean = float(np.mean(values)) if n else np.nan
    if n < 2:
        return Interval(mean, np.nan, np.nan, n), 1.0
    error = float(np.std(values, ddof=1)) / n**0.5
    half = float(student_t.ppf(1.0 - ERROR_RATE / 2.0, n - 1)) * error
    p = 2.0 * float(student_t.sf(abs(mean) / error, n - 1)) if error else float(mean == 0.0)
    return Interval(mean, mean - half, mean + half, n), p


def holm(p: Sequence[float]) -> Array:  # (m,)
    """P-values corrected by Holm's rule.

    >>> holm([0.01, 0.04, 0.03, 0.005]).round(3).tolist()
    [0.03, 0.06, 0.06, 0.02]
    """
    order = np.argsort(p, kind="stable")
    factors = len(p) - np.arange(len(p))
    steps = np.minimum(np.maximum.accumulate(factors * np.asarray(p)[order]), 1.0)
    corrected = np.empty(len(p))
    corrected[order] = steps
    return corrected


@dataclass(frozen=True, slots=True, eq=False)
class GoalRows:
    """The rows of one goal, of all files."""

    goal: str
    rows: Mapping[tuple[str, str], Row]  # by task and method
    files: tuple[ResultFile, ...]

    @property
    def ours(self) -> str:
        """The name of our method."""
        return METHODS[self.goal][0].name

    @property
    def methods(self) -> list[str]:
        """The methods that were run, in the order of the fixed table."""
        run = {method for _, method in self.rows}
        return [method.name for method in METHODS[self.goal] if method.name in run]

    def tasks(self, group: str | None = None) -> list[str]:
        """The tasks that ours was run on, group by group, in the order of the files."""
        own = [(row["group"], task) for (task, method), row in self.rows.items()
               if method == self.ours]  # fmt: skip
        return [
            task for one in GROUPS for name, task in own if one == name and group in (None, one)
        ]

    def title(self, method: str) -> str:
        """The name of a method on pages."""
        return next(one.title for one in METHODS[self.goal] if one.name == method)


def goal_rows(files: Files) -> list[GoalRows]:
    """The rows of each goal that was run, in the order of GOALS."""
    found = []
    for goal in GOALS:
        own = tuple(
            sorted(
                (file for file in files.values() if _goal(file) == goal),
                key=lambda file: (file.name != goal, file.name),
            )
        )
        rows = {(row["task"], row["method"]): row for file in own for row in file.rows}
        if any(method == METHODS[goal][0].name for _, method in rows):
            found.append(GoalRows(goal, rows, own))
    return found


def _goal(file: ResultFile) -> str | None:
    return file.rows[0].get("goal") if "areas" in file.rows[0] else None


def compared(rows: GoalRows, method: str) -> dict[str, Comparison]:
    """Ours beside another method on every task that both have, by task."""
    pairs = [task for task in rows.tasks() if (task, method) in rows.rows]
    found = [_pair(rows, task, method) for task in pairs]
    corrected = holm([one.p for one in found])
    return {
        one.task: replace(one, corrected=float(p)) for one, p in zip(found, corrected, strict=True)
    }


def _pair(rows: GoalRows, task: str, method: str) -> Comparison:
    ours, other = (by_realisation(rows.rows[task, name]) for name in (rows.ours, method))
    sign = 1.0 if GOALS[rows.goal].lower_is_better else -1.0
    both = [n for n in ours if n in other]
    found, p = student(np.array([sign * (ours[n] - other[n]) for n in both]))
    return Comparison(task, method, found, p if len(both) >= MIN_REALISATIONS else 1.0)


def by_realisation(row: Row) -> dict[int, float]:
    """The areas of a row by realisation."""
    return dict(zip(row["realisations"], row["areas"], strict=True))


def over_tasks(found: Iterable[Comparison]) -> Interval:
    """The mean of the differences over tasks, each task counted once, with its 95 % interval."""
    return student(np.array([one.difference.mean for one in found]))[0]


def tasks_with(found: Mapping[str, Comparison], verdict: str) -> list[str]:
    """The tasks of a verdict."""
    return [task for task, one in found.items() if one.verdict == verdict]
