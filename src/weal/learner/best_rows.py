"""The rows that belong to the set of a goal, with their probabilities, and the table of the best.

p_i = P(row i belongs to the goal's set) is that of the goal (`weal.goals`), for all rows that are
present. Of a pool in files it is that of the measured rows, of a random sample, and of the rows
that one pass finds most likely to belong; all other rows are taken to be outside.

The table has one row for each candidate, the most probable first; of equal probabilities (to 0.001)
the one with the better mean:

    id, the inputs, measured (mean of its labels; missing: none), mean and sd of f, probability

Of a goal over several quantities it has measured, expected and sd for each, and P(feasible) under
constraints. Of two objectives the measured Pareto rows come first, and the probability is that of
lying beyond them: no measured row is at least as good in both.
"""

from collections.abc import Collection, Hashable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.extensions.acquisition_registry import find_acquisition
from weal.core.extensions.goal_acquisitions import ei, ei_min
from weal.core.paper.acquisition import Acquisition, Belief
from weal.goals.protocol import Goal, JointBelief
from weal.learner.candidates import Candidates
from weal.learner.choosing import shortlist_state
from weal.learner.frames import object_cells
from weal.learner.joint_beliefs import joint_belief, joint_labels, pareto_rows_of
from weal.learner.joint_scores import joint_shortlist, lead_view
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.repeats import belief_at
from weal.learner.state import State
from weal.tables.frame_kinds import make_frame
from weal.tables.frames import as_frame

PROBABILITY_STEP = 1e-3  # probabilities within it count as equal in the order of the table
JOINT_PROBABILITY_STEP = 0.05  # the same where models of several quantities are multiplied
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
    state: State, beliefs: PosteriorCache, goal: Goal | None = None
) -> SetMembership | None:
    """The probability of the rows of belonging to the set; None for a goal without a set.

    Without a goal it is that of the learner. RuntimeError while labels are too few for a model.
    """
    wanted = state.settings.goal if goal is None else goal
    if wanted.set_text is None:
        return None
    state, pool = _with_goal(state, wanted), state.candidates
    if wanted.is_joint:
        at = joint_shortlist(state, beliefs) if pool.in_shards else np.arange(len(pool))
        at = at[pool.present[at]]
        p = wanted.joint_membership(joint_belief(state, beliefs, wanted, at))
    else:
        at = _likely_rows(state, beliefs) if pool.in_shards else np.flatnonzero(pool.present)
        p = wanted.membership(belief_at(beliefs.posterior(lead_view(state)), at))
    return None if p is None else SetMembership(at, p)


def _with_goal(state: State, goal: Goal) -> State:
    """The state with another goal."""
    return replace(state, settings=replace(state.settings, goal=goal))


def _likely_rows(state: State, beliefs: PosteriorCache) -> NDArray[np.intp]:
    """Positions of measured rows and of rows that may belong to the set, of a pool in files."""
    goal = state.settings.goal
    functions: dict[str, Acquisition] = {f"P({goal.text})": _membership_score(goal)}
    if not goal.pointwise:
        functions = dict([find_acquisition(goal.acquisition(in_shards=True))])
    settings = replace(state.settings, functions=functions)
    ranked = replace(state, settings=settings, log_omega=settings.even, asked={}, batch=())
    few = shortlist_state(ranked, beliefs).candidates
    names = [few.ids[n] for n in np.flatnonzero(few.present).tolist()]
    at = np.array([state.candidates.index[name] for name in names], dtype=np.intp)
    return np.sort(at[state.candidates.present[at]])


def remaining_gain(state: State, beliefs: PosteriorCache) -> float | None:
    """The remaining gain of a run with a goal of rows; None without a set, or a model.

    For the best rows the largest expected improvement, in sds of the labels; for two objectives the
    largest expected gain as a share of the hypervolume; else the expected number of rows on the
    wrong side. Infinite while no row meets the constraints.
    """
    goal, view = state.settings.goal, lead_view(state)
    found = set_membership(state, beliefs) if view.has_model else None
    if found is None:
        return None
    if goal.curve == "f1":
        return float(np.minimum(found.p, 1.0 - found.p).sum())
    labelled = set(state.labelled)
    free = np.array([view.candidates.ids[n] not in labelled for n in found.at.tolist()])
    if not free.any():
        return 0.0
    if goal.is_joint:
        gain = joint_gain(state, beliefs, goal, found.at[free])
        return np.inf if gain is None else gain  # before the first such row
    belief = belief_at(beliefs.posterior(view), found.at[free])
    return float(np.exp((ei_min if goal.lowest else ei)(belief).max()))


def joint_gain(
    state: State, beliefs: PosteriorCache, goal: Goal, at: NDArray[np.intp]
) -> float | None:
    """The largest gain of a goal over several quantities by one of the candidates `at`.

    None while no feasible row, or no front, is known.
    """
    gains = goal.joint_gains(joint_belief(state, beliefs, goal, at))
    return None if gains is None else float(gains.max())


@dataclass(frozen=True, slots=True, eq=False)
class QuantityColumn:
    """One quantity of some rows: labels, and predictions."""

    measured: list[object]  # mean of the labels, or a word; None: none
    expected: list[object]  # mean of f, or the most probable word
    sd: list[float]  # of f, or the probability of the word


@dataclass(frozen=True, slots=True, eq=False)
class BestRows:
    """The rows that most probably belong to the set of a goal, the most probable first."""

    ids: list[Hashable]
    measured: list[float]  # mean of the labels; NaN: none
    mean: Array  # (n,)  of f
    sd: Array  # (n,)
    probability: Array  # (n,)
    feasible: Array | None = None  # (n,)  P(feasible), of a goal with constraints
    on_front: list[bool] | None = None  # measured Pareto rows, of a goal with two objectives
    quantities: dict[str, QuantityColumn] = field(default_factory=dict)  # of a joint goal


def best_rows(state: State, beliefs: PosteriorCache, n: int, goal: Goal | None) -> BestRows:
    """The n rows that most probably belong to the set; ValueError for a goal without one.

    Of a goal with two objectives the measured Pareto rows come first.
    """
    found = set_membership(state, beliefs, goal)
    if found is None:
        raise ValueError(
            "the goal is learn, which looks for no rows: give one, as in "
            "learner.best(10, goal='maximise'), or change it with learner.change_goal('maximise')"
        )
    wanted = state.settings.goal if goal is None else goal
    view = lead_view(_with_goal(state, wanted))
    front = _front(state, beliefs, wanted)
    likely = found.at[np.argsort(-found.p, kind="stable")[: max(4 * n, 1000)]]
    likely = np.concatenate([front, likely[~np.isin(likely, front)]]).astype(np.intp)
    mean, sd = beliefs.moments(view, likely)
    p = found.p[np.searchsorted(found.at, likely)]
    place = np.minimum(np.arange(len(likely)), len(front))
    p = np.where(place < len(front), 1.0, p)
    step = JOINT_PROBABILITY_STEP if wanted.is_joint else PROBABILITY_STEP
    order = np.lexsort((mean if wanted.lowest else -mean, -np.round(p / step), place))
    order = order[:n]
    names = [view.candidates.ids[k] for k in likely[order].tolist()]
    labels = view.mean_labels()
    measured = [labels.get(name, float("nan")) for name in names]
    rows = BestRows(names, measured, mean[order], sd[order], p[order])
    if not wanted.is_joint:
        return rows
    joint = joint_belief(state, beliefs, wanted, likely[order])
    log_feasible = wanted.log_feasible(joint)
    return replace(
        rows,
        feasible=None if log_feasible is None else np.exp(log_feasible),
        on_front=(order < len(front)).tolist() if len(wanted.directions) == 2 else None,
        quantities=_quantity_columns(state, beliefs, wanted, likely[order], joint),
    )


def _front(state: State, beliefs: PosteriorCache, goal: Goal) -> NDArray[np.intp]:
    """Positions of the measured Pareto rows, by the first objective; none for other goals."""
    if len(goal.directions) != 2:
        return np.zeros(0, dtype=np.intp)
    found = [state.candidates.index[id] for id, _, _ in pareto_rows_of(state, beliefs, goal)]
    at = np.array(found, dtype=np.intp)
    return at[state.candidates.present[at]]


def _quantity_columns(
    state: State, beliefs: PosteriorCache, goal: Goal, at: NDArray[np.intp], joint: JointBelief
) -> dict[str, QuantityColumn]:
    """Labels and predictions of each quantity of a goal, for candidates `at`."""
    told, found = joint_labels(state), {}
    place = {id: n for n, id in enumerate(told.ids)}
    rows = [place.get(state.candidates.ids[n]) for n in at.tolist()]
    for name in goal.scored([one.name for one in state.measured]):
        of, labels = state.find_measured(name), told.labels[name].tolist()
        known = [None if row is None or labels[row] != labels[row] else labels[row] for row in rows]
        measured = [of.format(y) if of.words and y is not None else y for y in known]
        if name in joint.probabilities:
            p = joint.probabilities[name]
            words = [of.words[k] for k in p.argmax(axis=1).tolist()]
            found[name] = QuantityColumn(measured, [*words], p.max(axis=1).tolist())
        elif name in joint.numbers:
            mean, sd = beliefs.moments(state.view(name), at)
            found[name] = QuantityColumn(measured, mean.tolist(), sd.tolist())
        else:
            found[name] = QuantityColumn(measured, [None] * len(at), [float("nan")] * len(at))
    return found


def best_table(state: State, beliefs: PosteriorCache, n: int, goal: Goal | None) -> Any:
    """The same as the kind of frame that the pool is."""
    rows = best_rows(state, beliefs, n, goal)
    return _frame(state.candidates, rows.ids, table_columns(rows))


def table_columns(rows: BestRows) -> dict[str, list[object]]:
    """The columns behind the inputs, by name."""
    if not rows.quantities:
        cells = (rows.measured, rows.mean.tolist(), rows.sd.tolist(), rows.probability.tolist())
        return dict(zip(MEASURED_COLUMNS, map(list, cells), strict=True))
    found: dict[str, list[object]] = {}
    for name, one in rows.quantities.items():
        found |= {f"{name} measured": one.measured, f"{name} expected": one.expected}
        found[f"{name} sd"] = [*one.sd]
    if rows.feasible is not None:
        found["feasible"] = rows.feasible.tolist()
    if rows.on_front is not None:
        found["pareto"] = [*rows.on_front]
    return {**found, "probability": rows.probability.tolist()}


def _frame(pool: Candidates, names: list[Hashable], columns: dict[str, Any]) -> Any:
    """Ids, inputs and columns as a frame of the pool's kind; of an array, a pandas frame."""
    rows = pool.frame_rows(names)
    given: Any = pool.rows(names) if rows is None else rows
    if isinstance(given, np.ndarray):
        cells = {"id": object_cells(names), **dict(zip(pool.input_names, given.T, strict=True))}
        return make_frame({**cells, **_apart(columns, cells)})
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
