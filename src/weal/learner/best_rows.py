"""The rows that belong to the set of a goal, with their probabilities, and the table of the best.

p_i = P(row i belongs to the goal's set) is that of the goal (`weal.goals`), for all rows that are
present. Of a pool in files it is that of the measured rows, of a random sample, and of the rows
that one pass finds most likely to belong; all other rows are taken to be outside.

The table has one row for each candidate, the likeliest first; of equal probabilities (to 0.001) the
one with the better mean:

    id, the inputs, measured (mean of its labels; missing: none), mean and sd of f, probability
"""

from collections.abc import Collection, Hashable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.extensions.acquisition_registry import find_acquisition
from weal.core.extensions.goal_acquisitions import ei, ei_min
from weal.core.paper.acquisition import Acquisition, Belief
from weal.goals.protocol import Goal
from weal.learner.candidates import Candidates
from weal.learner.choosing import shortlist_state
from weal.learner.frames import object_cells
from weal.learner.history import pandas
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.repeats import belief_at
from weal.learner.state import QuantityView, State
from weal.tables.frames import as_frame

PROBABILITY_STEP = 1e-3  # probabilities within it count as equal in the order of the table
MEASURED_COLUMNS = ("measured", "mean", "sd", "probability")


@dataclass(frozen=True, slots=True, eq=False)
class SetMembership:
    """Candidates, and their probabilities of belonging to the set of a goal."""

    at: NDArray[np.intp]  # (n,)  positions, ascending
    p: Array  # (n,)


@dataclass(frozen=True, slots=True)
class MembershipScore:
    """The probability of a row as a score, where it depends on no other row."""

    goal: Goal
    pointwise = True

    def __call__(self, belief: Belief) -> Array:
        """The probabilities (N,)."""
        p = self.goal.membership(belief)
        assert p is not None
        return p


@cache
def _membership_score(goal: Goal) -> MembershipScore:
    """One object for each goal, as the cache key of passes over files."""
    return MembershipScore(goal)


def set_membership(
    view: QuantityView, beliefs: PosteriorCache, goal: Goal | None = None
) -> SetMembership | None:
    """The probability of the rows of belonging to the set; None for a goal without a set.

    Without a goal it is that of the learner. RuntimeError while labels are too few for a model.
    """
    wanted = view.settings.goal if goal is None else goal
    if wanted.set_text is None:
        return None
    pool = view.candidates
    at = (
        _likely_rows(view.state, beliefs, wanted)
        if pool.in_shards
        else np.flatnonzero(pool.present)
    )
    p = wanted.membership(belief_at(beliefs.posterior(view), at))
    return None if p is None else SetMembership(at, p)


def _likely_rows(state: State, beliefs: PosteriorCache, goal: Goal) -> NDArray[np.intp]:
    """Positions of measured rows and of those that may belong to the set, of a pool in files."""
    functions: dict[str, Acquisition] = {f"P({goal.text})": _membership_score(goal)}
    if not goal.pointwise:
        functions = dict([find_acquisition(goal.acquisition(in_shards=True))])
    settings = replace(state.settings, functions=functions)
    ranked = replace(state, settings=settings, log_omega=settings.even, asked={}, batch=())
    few = shortlist_state(ranked, beliefs).candidates
    names = [few.ids[n] for n in np.flatnonzero(few.present).tolist()]
    at = np.array([state.candidates.index[name] for name in names], dtype=np.intp)
    return np.sort(at[state.candidates.present[at]])


def remaining_gain(view: QuantityView, beliefs: PosteriorCache) -> float | None:
    """What a run with a goal of rows still has to gain; None without a set, or a model.

    For the best rows the largest expected improvement, in sds of the labels; else the expected
    number of rows on the wrong side.
    """
    goal = view.settings.goal
    found = set_membership(view, beliefs) if view.has_model else None
    if found is None:
        return None
    if goal.curve != "best":
        return float(np.minimum(found.p, 1.0 - found.p).sum())
    free = np.array([view.candidates.ids[n] not in view.labels.by_name for n in found.at.tolist()])
    if not free.any():
        return 0.0
    belief = belief_at(beliefs.posterior(view), found.at[free])
    return float(np.exp((ei_min if goal.lowest else ei)(belief).max()))


@dataclass(frozen=True, slots=True, eq=False)
class BestRows:
    """The rows that are likeliest to belong to the set of a goal, the likeliest first."""

    ids: list[Hashable]
    measured: list[float]  # mean of the labels; NaN: none
    mean: Array  # (n,)  of f
    sd: Array  # (n,)
    probability: Array  # (n,)


def best_rows(view: QuantityView, beliefs: PosteriorCache, n: int, goal: Goal | None) -> BestRows:
    """The n rows that are likeliest to belong to the set; ValueError for a goal without one."""
    found = set_membership(view, beliefs, goal)
    if found is None:
        raise ValueError(
            "the goal is learn, which looks for no rows: give one, as in "
            "learner.best(10, goal='maximise'), or change it with learner.change_goal('maximise')"
        )
    wanted = view.settings.goal if goal is None else goal
    likely = found.at[np.argsort(-found.p, kind="stable")[: max(4 * n, 1000)]]
    mean, sd = beliefs.moments(view, likely)
    p = found.p[np.searchsorted(found.at, likely)]
    order = np.lexsort((mean if wanted.lowest else -mean, -np.round(p / PROBABILITY_STEP)))[:n]
    names = [view.candidates.ids[k] for k in likely[order].tolist()]
    labels = view.mean_labels()
    measured = [labels.get(name, float("nan")) for name in names]
    return BestRows(names, measured, mean[order], sd[order], p[order])


def best_table(view: QuantityView, beliefs: PosteriorCache, n: int, goal: Goal | None) -> Any:
    """The same as the kind of frame that the pool is."""
    rows = best_rows(view, beliefs, n, goal)
    cells = (rows.measured, rows.mean, rows.sd, rows.probability)
    columns = dict(zip(MEASURED_COLUMNS, cells, strict=True))
    return _frame(view.candidates, rows.ids, columns)


def _frame(pool: Candidates, names: list[Hashable], columns: dict[str, Any]) -> Any:
    """Ids, inputs and columns as a frame of the pool's kind; of an array, a pandas frame."""
    rows = pool.frame_rows(names)
    given: Any = pool.rows(names) if rows is None else rows
    if isinstance(given, np.ndarray):
        cells = {"id": object_cells(names), **dict(zip(pool.input_names, given.T, strict=True))}
        return pandas().DataFrame({**cells, **_apart(columns, cells)})
    frame: Any = as_frame(given) if rows is None else rows
    kept = [name for name in frame.columns if name not in (pool.target, pool.id_column)]
    made = _apart({"id": list(names), **columns}, kept)
    return _with_columns(frame[kept], made, next(iter(made)))


def _apart(columns: dict[str, Any], taken: Collection[str]) -> dict[str, Any]:
    """Columns under names that the pool does not have."""
    return {(f"{name}_" if name in taken else name): cells for name, cells in columns.items()}


def _with_columns(frame: Any, columns: dict[str, Any], first: str) -> Any:
    """A narwhals frame with further columns, one of them first, in its own kind."""
    import narwhals as nw

    series = [
        nw.new_series(name, list(cells), backend=frame.implementation)
        for name, cells in columns.items()
    ]
    made = frame.with_columns(*series)
    return made.select(first, *(name for name in made.columns if name != first)).to_native()
