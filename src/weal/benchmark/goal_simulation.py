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
from weal.benchmark.simulation import Simulation, simulation_of
from weal.benchmark.user_table import OwnRows
from weal.core.arrays import Array
from weal.goals.protocol import Goal
from weal.progress import Progress
from weal.shards.executors import Executor, ProcessExecutor, SerialExecutor
from weal.tables.frame_kinds import FrameKind
from weal.text import number

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


def simulate_goal(
    points: OwnRows, goal: Goal, realisations: int, queries: int, seed: int = 0,
    jobs: int | None = None, progress: Progress | None = None, notes: tuple[str, ...] = (),
    kind: FrameKind | None = None,
) -> Simulation:  # fmt: skip
    """Search the table by the goal and at random; ValueError where the goal does not fit it.

    Ctrl-C ends it with the realisations that are finished; before the first, it is raised.
    """
    metric, words = metric_of(goal)
    check_table(points, goal)
    rows = min(len(points.y), MAX_SIMULATED_ROWS)
    T = min(queries, rows - FIRST_LABELS)
    tasks = [
        Realisation(points, goal, by_goal, T, seed, number)
        for number in range(realisations)
        for by_goal in (True, False)
    ]
    found = _searches(metric, tasks, jobs, progress)
    pairs = [(found[i], found[i + 1]) for i in range(0, len(tasks), 2) if {i, i + 1} <= set(found)]
    chosen, drawn = np.array(pairs).transpose(1, 0, 2)
    labels = tuple(range(FIRST_LABELS, FIRST_LABELS + T + 1))
    curves = (labels, chosen, drawn)
    return simulation_of(goal, points.target, words, *curves, notes, realisations, kind)


def _searches(
    metric: "Metric", tasks: list[Realisation], jobs: int | None, progress: Progress | None
) -> dict[int, list[float]]:
    """The curves of the searches by number: all, or those finished before Ctrl-C."""
    n = jobs or os.cpu_count() or 1
    executor: Executor = ProcessExecutor(min(n, len(tasks))) if n > 1 else SerialExecutor()
    found: dict[int, list[float]] = {}
    try:
        for number, curve in executor.each(partial(search, metric), tasks, "searches", progress):
            found[number] = curve
    except KeyboardInterrupt:
        if not any(i in found and i + 1 in found for i in range(0, len(tasks), 2)):
            raise
    finally:
        executor.close()
    return found


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
    """ValueError if no row of the table, or every one, belongs to the set."""
    y = points.y
    goal.check_rows(min(len(y), MAX_SIMULATED_ROWS))
    inside = int(goal.true_members(y).sum())
    if inside in (0, len(y)):
        which = "no row" if inside == 0 else "every row"
        raise ValueError(
            f"{which} of the table is {goal.set_text}: its labels lie between {number(y.min())} "
            f"and {number(y.max())}; check the level and its unit"
        )
