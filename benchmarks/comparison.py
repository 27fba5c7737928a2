"""Comparison files: goals, the methods of each goal, and the form of the rows.

A comparison file (`learn.json`, `learn-rivals.json`, `best.json`, ...) is a result file (`record`)
with one row for each task and method:

    goal           learn, best, threshold or pass-fail (GOALS)
    task, group    name of the task; paper, public or laboratory (GROUPS)
    method, title  name of the method, and its name on a page (METHODS)
    realisations   list of n realisation numbers: equal numbers have equal splits and first labels
    areas          list of n numbers: mean of the score over the label counts of the curve
    labels         label counts of the curve, at most MAX_POINTS
    curve          mean of the score over the first CURVE_REALISATIONS realisations, at each count

The score of a goal is in GOALS with its direction. All methods of a task have the same label
counts. Differences of areas of two methods are paired by realisation. Runs of several files are
compared: rows of weal in `learn.json` with rows of rivals in `learn-rivals.json`. Files have no
times, so that runs can be made on a busy machine; `cost` measures times alone on the machine.

METHODS is the one place that says which method is compared for which goal.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

GoalName = Literal["learn", "best", "threshold", "pass-fail"]
Group = Literal["paper", "public", "laboratory"]
GROUPS: dict[str, str] = {
    "paper": "The paper's ten tasks",
    "public": "Public tables",
    "laboratory": "Laboratory pools",
}
MAX_POINTS = 13  # label counts of a curve
CURVE_REALISATIONS = 10  # a curve is the mean over realisations 0 to 9
DIGITS = 4  # of scores in a file


@dataclass(frozen=True, slots=True)
class ComparedGoal:
    """A goal of the comparison."""

    title: str
    score: str  # what the curve shows
    lower_is_better: bool


GOALS: dict[str, ComparedGoal] = {
    "learn": ComparedGoal("Learn the whole table", "log10 NMSE of rows not asked for", True),
    "best": ComparedGoal("Find the ten best rows", "share of the ten best rows found", False),
    "threshold": ComparedGoal(
        "Find all rows above a level", "F1 score of rows called above", False
    ),
    "pass-fail": ComparedGoal("Tell passes from failures", "log loss of rows not asked for", True),
}


@dataclass(frozen=True, slots=True)
class ComparedMethod:
    """A method of the comparison for one goal."""

    name: str
    title: str
    refits: str  # when its hyperparameters are fitted
    ours: bool = False


_EVERY_5 = "every 5 labels"
_OWN = "every 5 labels, later every 15 % more labels"
_OURS = ComparedMethod("weal-auto", "weal", _OWN, ours=True)
_RANDOM = ComparedMethod("weal-random", "weal's model, random rows", _OWN, ours=True)

# The first method of a goal is ours; the second is ours with the refit schedule of the rivals.
METHODS: dict[str, tuple[ComparedMethod, ...]] = {
    "learn": (
        _OURS,
        ComparedMethod("weal-refit-5", "weal, refit every 5", _EVERY_5, ours=True),
        _RANDOM,
        ComparedMethod("sklearn-std", "scikit-learn GP, max variance", _EVERY_5),
        ComparedMethod("botorch-ivr", "BoTorch, NIPV", _EVERY_5),
        ComparedMethod("skactiveml-igs", "scikit-activeml, GSi", _EVERY_5),
        ComparedMethod("skactiveml-qbc", "scikit-activeml, QBC", _EVERY_5),
        ComparedMethod("forest-random", "random forest, random rows", _EVERY_5),
        ComparedMethod("ridge-random", "ridge regression, random rows", _EVERY_5),
    ),
    "best": (
        ComparedMethod("weal-best", "weal", _OWN, ours=True),
        ComparedMethod("weal-best-refit-5", "weal, refit every 5", _EVERY_5, ours=True),
        ComparedMethod("random-rows", "random rows", "no model"),
        ComparedMethod("sklearn-ei", "scikit-learn GP, EI", _EVERY_5),
        ComparedMethod("botorch-logei", "BoTorch, LogEI", _EVERY_5),
        ComparedMethod("botorch-qlognei", "BoTorch, qLogNoisyEI", _EVERY_5),
        ComparedMethod("forest-ei", "random forest, EI", "every label"),
    ),
    "threshold": (
        ComparedMethod("weal-fifth", "weal", _OWN, ours=True),
        ComparedMethod("weal-fifth-refit-5", "weal, refit every 5", _EVERY_5, ours=True),
        _RANDOM,
        ComparedMethod("sklearn-fifth", "scikit-learn GP, straddle", _EVERY_5),
    ),
    "pass-fail": (
        ComparedMethod("weal-pass", "weal", _OWN, ours=True),
        ComparedMethod("weal-pass-refit-5", "weal, refit every 5", _EVERY_5, ours=True),
        ComparedMethod("weal-pass-random", "weal's model, random rows", _OWN, ours=True),
        ComparedMethod("gpc-margin", "GP classifier, margin", _EVERY_5),
        ComparedMethod("forest-margin", "random forest, margin", "every label"),
        ComparedMethod("logistic-margin", "logistic regression, margin", "every label"),
    ),
}


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One run of one method on one realisation of a task."""

    goal: str
    task: str
    group: str
    method: str
    realisation: int
    labels: tuple[int, ...]  # label counts
    curve: tuple[float, ...]  # score at each count

    @property
    def area(self) -> float:
        """Mean of the score over the label counts."""
        return fmean(self.curve)


def method_of(goal: str, name: str) -> ComparedMethod:
    """The method of a goal by its name; ValueError with all names if there is none."""
    for method in METHODS[goal]:
        if method.name == name:
            return method
    names = ", ".join(method.name for method in METHODS[goal])
    raise ValueError(f"{name!r} is not compared for the goal {goal}; take one of {names}")


def rows_of(runs: Iterable[ComparedRun]) -> list[dict[str, Any]]:
    """The rows of a file: one for each task and method, in the order of their first runs."""
    groups: dict[tuple[str, str, str], list[ComparedRun]] = {}
    for run in runs:
        groups.setdefault((run.goal, run.task, run.method), []).append(run)
    return [_row(sorted(own, key=lambda run: run.realisation)) for own in groups.values()]


def _row(runs: Sequence[ComparedRun]) -> dict[str, Any]:
    first = runs[0]
    if {run.labels for run in runs} != {first.labels}:
        raise ValueError(f"runs of {first.method} on {first.task} have different label counts")
    shown = [run.curve for run in runs if run.realisation < CURVE_REALISATIONS]
    return {
        "goal": first.goal,
        "task": first.task,
        "group": first.group,
        "method": first.method,
        "title": method_of(first.goal, first.method).title,
        "realisations": [run.realisation for run in runs],
        "areas": [_rounded(run.area) for run in runs],
        "labels": list(first.labels),
        "curve": [_rounded(fmean(column)) for column in zip(*shown, strict=True)],
    }


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def check_rows(rows: Iterable[dict[str, Any]], name: str) -> None:
    """Raise ValueError if a row of a comparison file does not have the form above."""
    for row in rows:
        about = f"{name}: {row.get('task')}, {row.get('method')}"
        if row.get("goal") not in GOALS or row.get("group") not in GROUPS:
            raise ValueError(f"{about} has no known goal and group; run ./scripts/results {name}")
        method_of(row["goal"], row["method"])
        if len(row["realisations"]) != len(row["areas"]) or not row["areas"]:
            raise ValueError(f"{about} needs one area for each realisation")
        if len(row["labels"]) != len(row["curve"]) or len(row["labels"]) > MAX_POINTS:
            raise ValueError(f"{about} needs one score for each of at most {MAX_POINTS} counts")
