"""`weal simulate --goal`: would choosing rows by a goal have saved labels on a user's own table?

Every row of the table has a label, which is taken to be the truth. In each realisation the same
FIRST_LABELS random rows are known at first; then rows are asked for one by one, by the goal and at
random, both with the default model. After each label counts

    best k       the share of the k best rows (more where labels tie) that are measured
    above, ...   F1 of the rows whose predicted mean is in the set, against those whose label is

Labels saved are those of `labels_saved`, of 1 minus this number: labels that random choice needs
more than choosing to get as far as both get in the end.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from weal.active_learner import ActiveLearner
from weal.benchmark.goal_metrics import f1
from weal.benchmark.labels_saved import MIN_REALISATIONS_FOR_SAVINGS, LabelsSaved, mean_saved
from weal.benchmark.user_table import OwnRows
from weal.core.arrays import Array
from weal.goals.protocol import Goal
from weal.progress import Progress
from weal.shards.executors import Executor, ProcessExecutor, SerialExecutor
from weal.text import number, percent

FIRST_LABELS = 10
MAX_SIMULATED_ROWS = 2000  # of a table; larger ones are sampled for each realisation
_SIMULATION_KEY = 29  # part of the random key
Metric = Callable[[Array, list[int], Array], float]  # labels (N,), rows measured, predictions (N,)


@dataclass(frozen=True, slots=True, eq=False)
class Realisation:
    """One search of the table: a random start, then rows by the goal, or at random."""

    points: OwnRows
    goal: Goal
    by_goal: bool
    queries: int
    seed: int
    number: int

    @property
    def name(self) -> str:
        """The search in messages."""
        return f"realisation {self.number}, {'by the goal' if self.by_goal else 'at random'}"

    @property
    def rows(self) -> int:
        """How much it adds to the progress."""
        return 1


@dataclass(frozen=True, slots=True)
class GoalSimulation:
    """What choosing by a goal was worth on a table, over the realisations."""

    goal: Goal
    metric: str  # what counts, in words
    labels: tuple[int, ...]  # numbers of labels
    chosen: tuple[float, ...]  # the mean metric after them, choosing by the goal, and
    drawn: tuple[float, ...]  # at random
    saved: LabelsSaved

    @property
    def words(self) -> list[str]:
        """The answer in sentences."""
        return [self._verdict(), self._at_the_end()]

    def to_dict(self) -> dict[str, object]:
        """The simulation as JSON."""
        saved = self.saved
        ends = [end if np.isfinite(end) else None for end in (saved.low, saved.high)]
        return {
            "goal": self.goal.to_dict(),
            "metric": self.metric,
            "realisations": saved.realisations,
            "labels": list(self.labels),
            "chosen": list(self.chosen),
            "random": list(self.drawn),
            "saved": {"mean": saved.mean, "low": ends[0], "high": ends[1]},
            "words": self.words,
        }

    def _verdict(self) -> str:
        saved = self.saved
        over = f"over {saved.realisations} realisations"
        ends = f"90 %: {saved.low:.0f} to {saved.high:.0f}"
        if saved.realisations < MIN_REALISATIONS_FOR_SAVINGS:
            return f"Undecided: {saved.realisations} realisations say nothing; ask for 10 or more."
        if not saved.is_decided:
            return (
                f"Undecided: choosing for the goal {self.goal.text} saved {saved.mean:.0f} of "
                f"{saved.queries} labels on average ({ends}) against random choice, {over}; more "
                "realisations may tell."
            )
        if saved.low > 0.0:
            return (
                f"Yes: choosing for the goal {self.goal.text} got as far as random choice with "
                f"{saved.mean:.0f} fewer of {saved.queries} labels ({ends}), {over}."
            )
        return (
            f"No: random choice got as far as choosing for the goal {self.goal.text} with "
            f"{-saved.mean:.0f} fewer of {saved.queries} labels "
            f"(90 %: {-saved.high:.0f} to {-saved.low:.0f}), {over}."
        )

    def _at_the_end(self) -> str:
        last = (self.chosen[-1], self.drawn[-1])
        ours, theirs = (percent(one) if "share" in self.metric else number(one, 2) for one in last)
        return (
            f"After {self.labels[-1]} labels the {self.metric} was {ours}, and {theirs} at random."
        )


def simulate_goal(
    points: OwnRows, goal: Goal, realisations: int, queries: int, seed: int = 0,
    jobs: int | None = None, progress: Progress | None = None,
) -> GoalSimulation:  # fmt: skip
    """Search the table by the goal and at random; ValueError where the goal does not fit it."""
    metric, words = metric_of(goal)
    check_table(points, goal)
    rows = min(len(points.y), MAX_SIMULATED_ROWS)
    T = min(queries, rows - FIRST_LABELS)
    tasks = [
        Realisation(points, goal, by_goal, T, seed, number)
        for number in range(realisations)
        for by_goal in (True, False)
    ]
    n = jobs or os.cpu_count() or 1
    executor: Executor = ProcessExecutor(min(n, len(tasks))) if n > 1 else SerialExecutor()
    try:
        found = dict(executor.each(partial(search, metric), tasks, "searches", progress))
    finally:
        executor.close()
    chosen, drawn = (np.array([found[i] for i in range(k, len(tasks), 2)]) for k in (0, 1))
    saved = mean_saved(1.0 - chosen, 1.0 - drawn, goal.text, "random")
    labels = tuple(range(FIRST_LABELS, FIRST_LABELS + T + 1))
    ours, theirs = (tuple(part.mean(axis=0).tolist()) for part in (chosen, drawn))
    return GoalSimulation(goal, words, labels, ours, theirs, saved)


def search(metric: Metric, task: Realisation) -> list[float]:
    """The metric after the first labels, and after each query."""
    rng = np.random.default_rng([task.seed, _SIMULATION_KEY, task.number])
    rows = rng.permutation(len(task.points.y))[:MAX_SIMULATED_ROWS]
    X, y = task.points.X[rows], task.points.y[rows]
    name = task.goal.acquisition(in_shards=False) if task.by_goal else "random"
    learner = ActiveLearner(X, acquisition=name, seed=task.seed + task.number, n_start=FIRST_LABELS)
    measured = list(range(FIRST_LABELS))
    learner.tell(measured, y[measured])
    pool = learner.watch(X)
    found = [metric(y, measured, pool.predict()[0])]
    for _ in range(task.queries):
        row = int(learner.ask())
        learner.tell(row, float(y[row]))
        measured.append(row)
        found.append(metric(y, measured, pool.predict()[0]))
    return found


def metric_of(goal: Goal) -> tuple[Metric, str]:
    """What counts for a goal, and its name; ValueError for a goal without a set."""
    if goal.set_text is None:
        raise ValueError("leave out --goal learn: `weal simulate` compares errors without a goal")
    if goal.curve == "best":
        return partial(share_found, goal), f"share of {goal.set_text.removeprefix('among ')} rows"
    return partial(set_f1, goal), f"F1 of the rows {goal.set_text}"


def share_found(goal: Goal, y: Array, measured: list[int], mean: Array) -> float:
    """The share of the rows of the set that are measured."""
    inside = goal.true_members(y)
    return float(inside[measured].sum() / inside.sum())


def set_f1(goal: Goal, y: Array, measured: list[int], mean: Array) -> float:
    """F1 of the rows that are measured or predicted to be in the set."""
    said, true = goal.true_members(mean), goal.true_members(y)
    said[measured] = true[measured]
    return f1(said, true)


def check_table(points: OwnRows, goal: Goal) -> None:
    """ValueError where no row of the table, or every one, belongs to the set."""
    y = points.y
    goal.check_rows(min(len(y), MAX_SIMULATED_ROWS))
    inside = int(goal.true_members(y).sum())
    if inside in (0, len(y)):
        which = "no row" if inside == 0 else "every row"
        raise ValueError(
            f"{which} of the table is {goal.set_text}: its labels lie between {number(y.min())} "
            f"and {number(y.max())}; check the level and its unit"
        )
