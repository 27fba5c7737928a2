"""Tables of a search benchmark: a row for each run, and weal compared with each method.

A run is a (task, method, realisation); its readings are those of `goal_metrics`. The columns of
`by_run` are

    top_10 at 20, 40        share of the ten best rows among the first 20, 40 labels
    labels to 1 %           labels until a row of the best hundredth; one more than all if never
    regret at 40, end       simple regret, in units of the range of the pool
    F1 fifth, twentieth     after the last label, and "area": the mean over all labels

A column is NaN for runs that ended before so many labels.

A comparison belongs to a question: the best ten, or all rows above a level. Its methods start from
the same labels of the same rows, so differences are paired: ours less the other's, the mean over
the realisations of each task, then over tasks, with the 95 % interval over tasks
(`statistics.interval`; it says nothing for fewer than six tasks). Tasks, not realisations, are the
units: the question is how it would be on another pool.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from weal.benchmark.goal_metrics import labels_until
from weal.benchmark.statistics import Interval, interval

RUN = ["task", "method", "realisation"]
LOOKS = (20, 40)  # labels
LOWER_IS_BETTER = ("labels to 1 %", "regret at 40", "regret end")


@dataclass(frozen=True, slots=True)
class Question:
    """A goal, its methods (weal's first, then those without a goal), and its columns."""

    name: str
    title: str
    series: str  # of `goal_metrics`, for the figure
    methods: tuple[str, ...]
    columns: tuple[str, ...]


_WITHOUT_A_GOAL = ("weal-auto", "weal-random")
_SEARCHES = ("sklearn-ei", "forest-ei", "botorch-logei", "botorch-logei-1", "botorch-qlognei")
_BEST_COLUMNS = ("top_10 at 20", "top_10 at 40", "labels to 1 %", "regret at 40", "regret end")


def _above(name: str, title: str) -> Question:
    methods = (f"weal-{name}", *_WITHOUT_A_GOAL, f"sklearn-{name}")
    return Question(name, title, f"f1_{name}", methods, (f"F1 {name}", f"F1 {name} area"))


QUESTIONS = (
    Question(
        "best",
        "The ten best rows",
        "top_10",
        ("weal-best", *_WITHOUT_A_GOAL, *_SEARCHES),
        _BEST_COLUMNS,
    ),
    _above("fifth", "All rows of the top fifth"),
    _above("twentieth", "All rows of the top twentieth"),
)


def by_run(goals: pd.DataFrame) -> pd.DataFrame:
    """The columns above for each run, from a table of `protocol.goals_table`."""
    rows = [
        {**dict(zip(RUN, map(_plain, key), strict=True)), **_of_run(run)}
        for key, run in goals.groupby(RUN, sort=False)
    ]
    return pd.DataFrame(rows)


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value


def _of_run(run: pd.DataFrame) -> dict[str, float]:
    at = run.set_index("labels")
    last = at.iloc[-1]
    found = {f"top_10 at {n}": _at(at["top_10"], n) for n in LOOKS}
    found["labels to 1 %"] = labels_until(run["top_percent"].tolist(), run["labels"].tolist())
    found |= {"regret at 40": _at(at["regret"], 40), "regret end": float(last["regret"])}
    for name in ("fifth", "twentieth"):
        found[f"F1 {name}"] = float(last[f"f1_{name}"])
        found[f"F1 {name} area"] = float(at[f"f1_{name}"].mean())
    return found


def _at(series: pd.Series, labels: int) -> float:
    """The value at this number of labels; NaN if the run has fewer, or began with more."""
    return float(series.get(labels, np.nan))


@dataclass(frozen=True, slots=True)
class Comparison:
    """A method on the tasks of a question: its mean, and the difference of weal's mean to it."""

    question: str
    method: str
    column: str
    mean: float
    difference: Interval  # ours less this method's, over tasks; 0 for ours itself


def compare(runs: pd.DataFrame) -> list[Comparison]:
    """All comparisons of a table of runs, of the methods and tasks that it has."""
    found = []
    for question in QUESTIONS:
        there = [name for name in question.methods if name in set(runs["method"])]
        for column in question.columns:
            table = runs.pivot(index=["task", "realisation"], columns="method", values=column)
            for method in there:
                found.append(_compare(question, method, column, table))
    return found


def _compare(question: Question, method: str, column: str, table: pd.DataFrame) -> Comparison:
    mean = float(table[method].groupby("task").mean().mean())
    ours = question.methods[0]
    if ours not in table:
        return Comparison(question.name, method, column, mean, interval(np.empty(0)))
    apart = (table[ours] - table[method]).dropna().groupby("task").mean()
    return Comparison(question.name, method, column, mean, interval(apart.to_numpy()))


def mean_curves(
    goals: pd.DataFrame, series: str, methods: Iterable[str]
) -> Mapping[str, pd.Series]:
    """A metric against labels for each of the methods that are there: the mean over tasks."""
    found = {}
    for method in methods:
        own = goals[goals["method"] == method]
        if len(own):
            found[method] = own.groupby(["task", "labels"])[series].mean().groupby("labels").mean()
    return found


def as_frame(found: Iterable[Comparison]) -> pd.DataFrame:
    """Comparisons as a table."""
    return pd.DataFrame(
        {
            "question": one.question,
            "method": one.method,
            "column": one.column,
            "mean": one.mean,
            "difference": one.difference.mean,
            "low": one.difference.low,
            "high": one.difference.high,
            "tasks": one.difference.n,
        }
        for one in found
    )
