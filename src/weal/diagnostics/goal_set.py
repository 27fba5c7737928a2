"""Progress on the set of a goal: its rows, the best label, and the gain of one more label.

`set_progress` gives the numbers from which a goal forms its sentences
(`goals.protocol.SetProgress`), for any state of a learner; the measures are in the module
`set_progress`.
"""

from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from weal.core.extensions.feasibility import best_feasible
from weal.diagnostics.set_progress import expected_f1, expected_wrong, largest_gain
from weal.goals.protocol import Goal, SetProgress
from weal.goals.threshold import reach
from weal.learner.best_rows import joint_gain, set_membership
from weal.learner.choosing import doubted_of_set
from weal.learner.joint_beliefs import joint_belief, joint_labels, pareto_rows_of
from weal.learner.joint_scores import lead_view
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.repeats import belief_at, doubted_labels
from weal.learner.state import QuantityView, State

if TYPE_CHECKING:
    from weal.diagnostics.error_trend import Trend


def goal_view(state: State, goal: Goal) -> QuantityView:
    """The state with this goal, as the quantity that the goal looks at first sees it."""
    return lead_view(replace(state, settings=replace(state.settings, goal=goal)))


def set_progress(
    state: State, beliefs: PosteriorCache, goal: Goal, course: "Trend | None"
) -> SetProgress | None:
    """What the model predicts for the goal's set; None without a set, a model or rows."""
    view = goal_view(state, goal)
    found = set_membership(view.state, beliefs, goal) if view.has_model else None
    if found is None or not len(found.at):
        return None
    pool, p = view.candidates, found.p
    names = [pool.ids[n] for n in found.at.tolist()]
    labels = view.mean_labels()
    measured = np.array([name in labels for name in names])
    free = found.at[~measured & np.array([name not in view.state.skipped for name in names])]
    y = np.array([label.y for label in view.labels])
    progress = SetProgress(
        len(pool),
        int(measured.sum()),
        float(p[measured].sum()),
        float(p[~measured].sum()),
        wrong=expected_wrong(p),
        f1=expected_f1(p),
        label_sd=float(y.std(ddof=1)) if len(y) > 1 else 0.0,
        doubted=doubted_rows(state, beliefs, goal),
        reach=reach(p) if goal.curve == "f1" else None,
    )
    if goal.is_joint:
        return _joint_progress(view, beliefs, goal, progress, found.at, free)
    if goal.curve != "best":
        return progress
    first, gains = _best_label(view, beliefs, goal), _gains(view, beliefs, goal, course, free)
    return replace(progress, best_id=first[0], best=first[1], gain=gains[0], gain_before=gains[1])


def _joint_progress(
    view: QuantityView,
    beliefs: PosteriorCache,
    goal: Goal,
    progress: SetProgress,
    at: NDArray[np.intp],
    free: NDArray[np.intp],
) -> SetProgress:
    """The progress of a goal over several quantities, with its constraints and its front."""
    told = joint_labels(view.state, beliefs)
    feasible = goal.meets(told.labels)
    log_p = goal.log_feasible(joint_belief(view.state, beliefs, goal, at))
    gain = joint_gain(view.state, beliefs, goal, free) if len(free) else None
    front: tuple[tuple[Hashable, float, float], ...] = ()
    own: tuple[Hashable | None, float | None] = (None, None)
    if len(goal.directions) == 2:
        front = tuple(pareto_rows_of(view.state, beliefs, goal))
    elif goal.directions:
        y = told.labels[view.quantity.name]
        n = best_feasible(y, feasible, goal.lowest)
        own = (None, None) if n is None else (told.ids[n], float(y[n]))
        gain = None if gain is None else gain * float(beliefs.model(view).scaling.y_sd)
    return replace(
        progress,
        best_id=own[0],
        best=own[1],
        gain=gain,
        feasible=None if log_p is None else int(feasible.sum()),
        expected_feasible=None if log_p is None else float(np.exp(log_p).sum()),
        front=front,
    )


def doubted_rows(state: State, beliefs: PosteriorCache, goal: Goal) -> tuple[Hashable, ...]:
    """Rows whose label is treated as wrong, and would be the best or change the set if right."""
    view = goal_view(state, goal)
    if goal.set_text is None or not view.has_model:
        return ()
    return tuple(doubted_of_set(view, beliefs))


def _best_label(
    view: QuantityView, beliefs: PosteriorCache, goal: Goal
) -> tuple[Hashable | None, float | None]:
    """The row with the best label that counts, and the label."""
    doubted = doubted_labels(view, beliefs.model(view))
    known = {name: y for name, y in view.mean_labels().items() if name not in doubted}
    if not known:
        return None, None
    name = (min if goal.lowest else max)(known, key=known.__getitem__)
    return name, float(known[name])


def _gains(
    view: QuantityView, beliefs: PosteriorCache, goal: Goal, course: "Trend | None",
    free: NDArray[np.intp],
) -> tuple[float | None, float | None]:  # fmt: skip
    """The largest expected improvement over the free rows, now and before the last label."""
    before = course.marks[-2].goal_value if course and len(course.marks) > 1 else None
    if not len(free):
        return None, before
    belief = belief_at(beliefs.posterior(view), free)
    scale = float(beliefs.model(view).scaling.y_sd)
    return largest_gain(belief, goal.lowest, scale), before
