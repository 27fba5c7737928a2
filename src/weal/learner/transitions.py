"""`apply(state, event) -> state`: every change of a learner, as one pure function.

An event that cannot be applied (a label or candidate too far away for the model) raises ValueError
and leaves the state unchanged.

Only this module decides, after new labels of a part, whether there are enough for a model
(`n_start`), which labels select the experts, and how many labels are conditioned on jointly
(`weal.model.training` has the numbers of labels at which a selection is due):

    the first model                all labels so far give scaling and experts
    a label dropped or confirmed   experts that adapt to labels are selected again
    labels added                   the same, when a selection is due
    many labels added at once      the experts stay, and all labels are conditioned on jointly
"""

from collections.abc import Callable, Collection, Hashable
from dataclasses import replace
from typing import Any

import numpy as np

from weal.learner import history
from weal.learner.events import (
    Added,
    Asked,
    EarlierTold,
    Event,
    FunctionsChanged,
    LabelsTold,
    Released,
    Removed,
    Resumed,
    Skipped,
)
from weal.learner.labels import Labels
from weal.learner.part_labels import (
    LabelUpdate,
    first_outcomes,
    part_label,
    update_of_outcomes,
    updates_of_parts,
)
from weal.learner.quantity_sources import with_sources
from weal.learner.state import (
    QuantityState,
    QuantityView,
    SelectionPoint,
    State,
    with_bound_goal,
)
from weal.model import scaled_data
from weal.model.scaled_data import check_distance
from weal.model.training import last_selection
from weal.quantities.kinds import WORKED, check_distinct, worked_quantity

IN_BULK = 64  # labels told at once from which one joint update is faster than one by one


def apply(state: State, event: Event) -> State:
    """The state after the event."""
    return _STATE_TRANSITIONS[type(event)](state, event)


def _apply_asked(state: State, event: Asked) -> State:
    asked = {name: row for name, row in state.asked.items() if name != event.id}
    rows = history.add_query(state.history, state.n_labels, event.id, event.reason)
    asked[event.id] = len(rows) - 1
    batch = (event.id,) if event.opens else (*state.batch, event.id)
    after = replace(state, asked=asked, batch=batch, history=rows)
    if event.log_omega is None:
        return after
    return replace(after, log_omega=event.log_omega, weighed=True)


def _apply_told(state: State, event: LabelsTold) -> State:
    """Labels of a quantity, which its parts and the outcomes of the runs follow."""
    told = LabelUpdate(event.dropped, event.labels, event.confirmed)
    before = {name: one.labels for name, one in state.quantities.items()}
    if event.quantity == WORKED:
        after = _told_outcomes(state, told)
    else:
        quantity = state.find_measured(event.quantity)
        after = state
        for part, update in updates_of_parts(quantity, told, before).items():
            after = _update_part(after, part, update)
        now = {name: one.labels for name, one in after.quantities.items()}
        outcomes = update_of_outcomes(before, now, told)
        after = after if outcomes is None else _update_part(after, WORKED, outcomes)
        after = with_sources(after)
    names = {label.name for label in event.labels}
    return replace(
        after,
        asked={name: row for name, row in state.asked.items() if not _answered(after, name, names)},
        skipped=state.skipped - names,
        batch=(),
        weighed=False,
        history=history.add_labels(
            state.history, state.n_labels, state.measured[0].name, event, state.asked
        ),
    )


def _apply_earlier(state: State, event: EarlierTold) -> State:
    """Labels from elsewhere have a model of their own, whose predictions may be an input."""
    quantity = event.quantity
    check_distinct([*state.measured, *state.given, quantity])
    parts = {part.name: QuantityState(part) for part in quantity.parts()}
    state = replace(state, quantities={**state.quantities, **parts}, given=(*state.given, quantity))
    before = {name: one.labels for name, one in state.quantities.items()}
    updates = updates_of_parts(quantity, LabelUpdate(added=event.labels), before)
    for part, update in updates.items():
        state = _update_part(state, part, update)
    return replace(with_sources(state), batch=(), weighed=False)


def _answered(state: State, name: Hashable, told: Collection[Hashable | None]) -> bool:
    """Whether a row with a new label needs no other: it has them all, or the run failed."""
    return name in told and (state.has_failed(name) or state.is_complete(name))


def _told_outcomes(state: State, told: LabelUpdate) -> State:
    """The state after runs that failed, or failures that are withdrawn.

    The first failure adds implied passes for the rows that were measured before.
    """
    quantity = worked_quantity()
    if WORKED not in state.quantities:
        parts = {name: one.labels for name, one in state.quantities.items()}
        own = QuantityState(quantity)
        state = replace(state, quantities={**state.quantities, WORKED: own})
        state = _update_part(state, WORKED, LabelUpdate(added=first_outcomes(parts).told))
    added = tuple(part_label(quantity, 0, label) for label in told.added)
    return _update_part(state, WORKED, replace(told, added=added))


def _update_part(state: State, part: str, update: LabelUpdate) -> State:
    """The state with other labels of a part, and the selection point that follows."""
    if update.is_empty:
        return state
    view = state.view(part)
    if view.selection is not None:
        _check_labels(view.selection, update)
    # [1, alg:1 line 6, alg:2 line 14]
    labels = view.labels.after(update.dropped, update.added, update.confirmed)
    adaptive = view.parameters.setting.adaptive
    anew = bool(update.dropped) or (adaptive and bool(update.confirmed))
    return replace(state, quantities=view.after(labels, _next_selection(view, labels, anew)))


def _next_selection(view: QuantityView, labels: Labels, anew: bool) -> SelectionPoint | None:
    """The selection point of a quantity once these are its labels."""
    before, t = view.selection, len(labels)
    if before is None:
        return _first(view, labels) if t >= view.settings.n_start else None
    adaptive = view.parameters.setting.adaptive
    if anew:
        if adaptive and t > 0:
            return SelectionPoint(before.scaling, labels.arrays(), t, t, trusted=labels.sure())
        return replace(before, n=t, n_joint=t)
    n = last_selection(before.n, t) if adaptive else before.n
    if n > before.n:
        return SelectionPoint(before.scaling, labels.arrays(0, n), n, n, trusted=labels.sure(0, n))
    return replace(before, n_joint=t) if t - len(view.labels) >= IN_BULK else before


def _first(view: QuantityView, labels: Labels) -> SelectionPoint:
    """The first scaling and selection point: by all labels, and all candidates or a sample."""
    X, y, noise = labels.arrays()
    pool = view.candidates
    at, rows = pool.sample(view.settings.seed)
    labelled = np.isin(at, [pool.index[name] for name in labels.by_name])
    known = np.concatenate([X, rows[~labelled]])
    widths = None if pool.plan is None else pool.plan.widths
    scaling = view.parameters.scaling_of(known, y, labels.sure(), widths)
    scaled_data.scale_data(scaling, X, y, noise)  # refuses values that are too far away
    return SelectionPoint(scaling, (X, y, noise), len(y), len(y), trusted=labels.sure())


def _check_labels(selection: SelectionPoint, update: LabelUpdate) -> None:
    """Refuse labels, and points outside the pool, that are too far away for the model."""
    scale = selection.scaling
    scaled_data.labels(scale, np.array([label.y for label in update.added]))
    scaled_data.noise_variances(
        scale, np.array([label.noise for label in update.added]), len(update.added)
    )
    outside = [label.x for label in update.added if label.name is None]
    if outside:
        scaled_data.inputs(scale, np.array(outside))


def _apply_skipped(state: State, event: Skipped) -> State:
    if not event.on:
        return replace(state, skipped=state.skipped - {event.id}, batch=())
    asked = {name: row for name, row in state.asked.items() if name != event.id}
    return replace(state, skipped=state.skipped | {event.id}, asked=asked, batch=())


def _apply_released(state: State, event: Released) -> State:
    gone = set(event.ids)
    asked = {name: row for name, row in state.asked.items() if name not in gone}
    return replace(state, asked=asked, batch=())


def _apply_resumed(state: State, event: Resumed) -> State:
    row = history.last_row(state.history, event.id)
    if row is None or event.id in state.asked:
        return state
    return replace(state, asked={**state.asked, event.id: row}, batch=())


def _apply_added(state: State, event: Added) -> State:
    before = len(state.candidates)
    new = event.candidates.new_inputs(before)
    for one in state.quantities.values():
        if one.selection is not None and new is not None:
            check_distance("the pool", one.selection.scaling.inputs(new))
    # The former pool stays the reference, unless there is another one.
    reference = state.reference
    if reference is None and new is not None:
        _, reference = state.candidates.sample(state.settings.seed)
    if event.to_reference and new is not None:
        reference = np.concatenate([reference, new])
    return replace(state, candidates=event.candidates, reference=reference, batch=())


def _apply_removed(state: State, event: Removed) -> State:
    candidates = state.candidates.without(event.ids, event.shards)
    asked = state.candidates.ids_in_shards(event.shards, state.asked)
    released = _apply_released(state, Released((*event.ids, *asked)))
    return replace(released, candidates=candidates)


def _functions_changed(state: State, event: FunctionsChanged) -> State:
    settings = replace(state.settings, functions=event.functions, by_goal=event.by_goal)
    if event.goal is not None:
        settings = replace(settings, goal=event.goal)
    changed = replace(state, settings=settings, log_omega=settings.even, weighed=False, batch=())
    return with_bound_goal(changed)


_STATE_TRANSITIONS: dict[type, Callable[[State, Any], State]] = {
    Asked: _apply_asked,
    LabelsTold: _apply_told,
    EarlierTold: _apply_earlier,
    Skipped: _apply_skipped,
    Released: _apply_released,
    Resumed: _apply_resumed,
    Added: _apply_added,
    Removed: _apply_removed,
    FunctionsChanged: _functions_changed,
}
