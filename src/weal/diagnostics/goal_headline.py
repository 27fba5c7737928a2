"""The headline of a goal with a set: the best found, rows of the set, or Pareto rows.

The possible gain follows from functions drawn from the model (`posterior_draws`), over rows without
a label. A goal over several quantities has expected gains instead, because functions of all its
models would have to be drawn jointly.
"""

import numpy as np

from weal.core.arrays import Array
from weal.diagnostics.explanation import sample_rows
from weal.diagnostics.goal_set import goal_view
from weal.diagnostics.headline import (
    Headline,
    best_headline,
    front_headline,
    members_headline,
)
from weal.diagnostics.posterior_draws import (
    Interval,
    PossibleGain,
    expected_rows,
    possible_gain,
)
from weal.goals.protocol import Goal, SetProgress
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.state import QuantityView, State

MAX_FREE_ROWS = 4000  # rows without a label that are predicted for the headline
_FREE_KEY = 37  # part of the random key of these rows


def goal_headline(
    state: State, beliefs: PosteriorCache, goal: Goal, members: SetProgress
) -> Headline | None:
    """The one number of a goal with a set."""
    view = goal_view(state, goal)
    if goal.curve == "hypervolume":
        return front_headline(members)
    y = [label.y for label in view.labels]
    n = min(view.settings.n_start, len(y))
    if goal.curve == "best":
        first = (min if goal.lowest else max)(y[:n]) if n and not goal.is_joint else None
        found = None if goal.is_joint else _gain(view, beliefs, goal, members)
        name = view.quantity.name if view.quantity.column else ""
        return best_headline(members, found, goal, (n, first), name)
    among = 0 if goal.is_joint else int(goal.true_members(np.array(y[:n])).sum()) if n else 0
    left = None if goal.is_joint else _expected(view, beliefs, goal)
    return members_headline(members, left, goal, (n, among))


def _free_rows(view: QuantityView) -> tuple[Array, int]:
    """Inputs of rows without a label, a sample if the pool is large; and the number of all."""
    state = view.state
    at, X = state.candidates.sample(state.settings.seed)
    labelled, ids = view.mean_labels(), state.candidates.ids
    names = [ids[n] for n in at.tolist()]
    free = np.array([one not in labelled and one not in state.skipped for one in names], dtype=bool)
    rows = X[free]
    total = round(len(rows) * len(state.candidates) / max(len(X), 1))
    return rows[sample_rows(state, len(rows), MAX_FREE_ROWS, _FREE_KEY)], total


def _gain(
    view: QuantityView, beliefs: PosteriorCache, goal: Goal, members: SetProgress
) -> PossibleGain | None:
    """What may still be gained on the best label."""
    free, _ = _free_rows(view)
    if not len(free) or members.best_id is None or members.best_id not in view.candidates.index:
        return None
    best = view.candidates.inputs([members.best_id])[0]
    _, pool = view.state.candidates.sample(view.settings.seed)
    model = beliefs.model(view)
    return possible_gain(model, best, free, pool, goal.lowest, view.settings.seed)


def _expected(view: QuantityView, beliefs: PosteriorCache, goal: Goal) -> Interval | None:
    """The rows of the set that are still expected."""
    free, total = _free_rows(view)
    if not len(free):
        return None
    found = expected_rows(beliefs.model(view), goal, free, view.settings.seed)
    times = total / len(free)
    return Interval(times * found.value, times * found.low, times * found.high)
