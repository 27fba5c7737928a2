"""The replay of a campaign: its events, applied to the state of a learner.

    created             settings, and the candidates of all `added` before the first label
    added               Added
    asked               Asked, with the weights of the acquisition functions that chose the row;
                        weights of an earlier "auto" with other functions are ignored (`other_auto`)
    told, corrected,    LabelsTold: labels that come, are dropped or are confirmed, by the same
    withdrawn           function as in the ledger (`events.change_of_labels`); the learner turns
                        labels of a quantity into labels of its parts
    skipped             Skipped
                        any of these four that reopens a lease: Resumed
    settings            FunctionsChanged, where the acquisition or the goal changes; after a change
                        of the model (`warp`, `outliers`) all events are replayed

The state depends on the events alone. A label that no model can use (1e300 among ones) stays in the
events and is left out of the state, with the reason, until it is corrected. A lease lapses by the
clock, not by an event: `state_for_choice` releases lapsed leases.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy as np

from weal.active_learner import ActiveLearner
from weal.campaign.candidates import CandidateTable
from weal.campaign.config import current_settings
from weal.campaign.earlier_labels import earlier_event
from weal.campaign.events import (
    LABELLING,
    AskedBody,
    LabelChange,
    LedgerLabel,
    change_of_labels,
    gives_row_back,
    resumes_lease,
)
from weal.campaign.ledger import Ledger, quantity_of_event
from weal.core.extensions.acquisition_registry import AcquisitionArgument
from weal.core.paper.acquisition import Acquisition
from weal.goals.grammar import parse_goal
from weal.goals.protocol import Goal
from weal.learner import events as happened
from weal.learner.config import is_auto, resolve_acquisition
from weal.learner.labels import Label
from weal.learner.part_labels import part_label
from weal.learner.state import State, measure
from weal.learner.transitions import apply
from weal.quantities.kinds import WORKED, worked_quantity
from weal.quantities.number import LARGEST_LABEL
from weal.store.events import Event


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """A learner's state after the events of a campaign up to `seq`."""

    state: State
    acquisition: Any  # the setting in force
    model: Mapping[str, Any]  # parameters of the model in force
    seq: int = 0
    rows: int = 0  # candidates that have come
    labelled: bool = False  # whether a label ever came
    unusable: Mapping[str, str] = field(default_factory=dict)  # id -> why its label is left out
    other_auto: bool = False  # whether the last rows were chosen by an earlier "auto"
    # as in the ledger, by quantity and id
    labels: dict[tuple[str, str], tuple[LedgerLabel, ...]] = field(default_factory=dict)


def replay(events: Sequence[Event], pool: CandidateTable, ledger: Ledger) -> Replay:
    """Replay all events, with the model of the ledger's present settings."""
    settings, first = current_settings(events[0].body["settings"]), _first_rows(events)
    acquisition, model = settings["acquisition"], _model(ledger)
    own = {"n_start": settings["n_start"], "seed": settings["seed"]}
    goal = parse_goal(settings.get("goal", "learn"))
    learner = ActiveLearner(pool.upto(first), model, acquisition, repeats=False, **own)
    state = measure(learner.state, [one.quantity for one in ledger.quantities.values()])
    functions = _functions(state, acquisition, goal)
    state = apply(state, happened.FunctionsChanged(functions, goal, is_auto(acquisition)))
    for body in ledger.earlier:
        state = apply(state, earlier_event(body))
    return replay_new_events(Replay(state, acquisition, model), events, pool)


def _functions(
    state: State, acquisition: AcquisitionArgument, goal: Goal
) -> dict[str, Acquisition]:
    """The acquisition functions of a campaign; "auto" goes by the version of its model."""
    return resolve_acquisition(acquisition, goal, state.candidates.in_shards)


def _model(ledger: Ledger) -> dict[str, Any]:
    """The parameters of the model that are settings of the campaign; older ones lack some."""
    given = ledger.settings
    return {
        "warp": given["warp"],
        "outliers": given.get("outliers", True),
        "model_version": given.get("model_version", "0.2"),
    }


def replay_new_events(now: Replay, events: Iterable[Event], pool: CandidateTable) -> Replay:
    """Replay more events."""
    now = replace(now, labels=dict(now.labels))
    for event in events:
        now = replace(_TRANSITIONS[event.kind](now, event, pool), seq=event.seq)
    return now


def can_continue(now: Replay, events: Sequence[Event], ledger: Ledger) -> bool:
    """Whether `replay_new_events` gives the state of `replay`: same model, same first rows."""
    first = not now.labelled and any(event.kind == "added" for event in events)
    measured = tuple(one.quantity for one in ledger.quantities.values())  # words may have come
    return now.model == _model(ledger) and not first and measured == now.state.measured


def state_for_choice(now: Replay, ledger: Ledger, time: datetime) -> State:
    """The state to choose rows from at this time.

    Leases that have lapsed are released, and rows whose only label is left out are not asked.
    """
    state = now.state
    lapsed = tuple(lease.id for lease in ledger.leases.values() if lease.until <= time)
    if lapsed:
        state = apply(state, happened.Released(lapsed))
    labelled = set(state.labelled)
    for name in now.unusable:
        if name not in labelled:
            state = apply(state, happened.Skipped(name))
    return state


def _first_rows(events: Sequence[Event]) -> int:
    """Number of candidates that came before the first label."""
    rows = 0
    for event in events:
        if event.kind in LABELLING:
            break
        rows += event.body["rows"] if event.kind == "added" else 0
    return rows


def _replay_created(now: Replay, event: Event, pool: CandidateTable) -> Replay:
    return now


def _replay_added(now: Replay, event: Event, pool: CandidateTable) -> Replay:
    rows, there = now.rows + event.body["rows"], now.state.candidates
    state = now.state
    if rows > len(there):
        state = apply(state, happened.Added(pool.upto(rows)))
    return replace(now, state=state, rows=rows)


def _replay_asked(now: Replay, event: Event, pool: CandidateTable) -> Replay:
    body = event.body
    ask, log_omega = body.get("ask"), None
    if ask and ask["acquisition"] == now.acquisition:
        log_omega = np.array(ask["log_omega"])
        other = log_omega.shape != now.state.log_omega.shape
        log_omega, now = None if other else log_omega, replace(now, other_auto=other)
    asked = happened.Asked(str(event.id), _reason(body), log_omega, opens=bool(ask))
    return replace(now, state=apply(now.state, asked))


def _reason(body: AskedBody) -> happened.Reason:
    why = body["why"]
    scores = why.get("scores", {})
    mean, sd = body["mean"], body["sd"]
    return happened.Reason(
        why=" + ".join(scores) if scores else why["how"],
        scores=scores,
        shares=why.get("shares", {}),
        mean=happened.NAN if mean is None else mean,
        std=happened.NAN if sd is None else sd,
        acquisition_weights=why.get("weights", {}),
    )


def _replay_labels(now: Replay, event: Event, pool: CandidateTable) -> Replay:
    """Replay an event `told`, `corrected` or `withdrawn`, by the meaning that the ledger uses."""
    state, name, unusable = now.state, str(event.id), now.unusable
    quantity = quantity_of_event([one.name for one in state.measured], event)
    before = now.labels.get((quantity, name), ())
    change = change_of_labels(before, event)
    now.labels[quantity, name] = after = change.after(before)
    if quantity != WORKED and change.added:
        now.labels.pop((WORKED, name), None)  # a label replaces the failure of its row
    if gives_row_back(event):
        state = apply(state, happened.Released((name,)))
    if change.dropped:
        unusable = {one: why for one, why in unusable.items() if one != name}
    told = _label_event(state, quantity, name, change, after)
    try:
        _check_size(told.labels)
        if told.labels or told.dropped or told.confirmed:
            state = apply(state, told)
    except ValueError as error:
        state = _left_out(state, told, name)
        unusable = {**unusable, name: str(error)}
    state = _resume(state, event)
    labelled = now.labelled or bool(change.added)
    return replace(now, state=state, unusable=unusable, labelled=labelled)


def _label_event(
    state: State, quantity: str, name: str, change: LabelChange, after: Sequence[LedgerLabel]
) -> happened.LabelsTold:
    """The change of the labels of a row as an event of the learner; labels that stay come again."""
    here = _labels_of_row(state, quantity, name)
    dropped = (name,) if change.dropped and here else ()
    measured = worked_quantity() if quantity == WORKED else state.find_measured(quantity)
    sure = [part_label(measured, 0, _training_label(state, one)) for one in change.confirmed]
    confirmed = [one for one in here if (one.y, one.noise) in [(s.y, s.noise) for s in sure]]
    labels = [_training_label(state, one) for one in (after if dropped else change.added)]
    return happened.LabelsTold(quantity, tuple(labels), dropped, tuple(confirmed))


def _labels_of_row(state: State, quantity: str, name: str) -> tuple[Label, ...]:
    """The labels of a row in the first part of a quantity; of "worked", a failure alone."""
    if quantity == WORKED:
        return state.view(WORKED).labels.by_name[name] if state.has_failed(name) else ()
    return state.views(quantity)[0].labels.by_name.get(name, ())


def _training_label(state: State, label: LedgerLabel) -> Label:
    """The label with the inputs of its row."""
    x = state.candidates.x(label.id)
    return Label(label.id, x, float(label.y), float(label.noise or 0.0), label.sure)


def _check_size(labels: Sequence[Label]) -> None:
    """ValueError for a label that no model can take; an old store may have one."""
    for label in labels:
        if abs(label.y) > LARGEST_LABEL:
            raise ValueError(f"{label.y} is too large; check its unit, and correct it")


def _left_out(state: State, told: happened.LabelsTold, name: str) -> State:
    """The state after a label that no model can use: the row is neither out nor skipped."""
    if told.dropped:
        state = apply(state, happened.LabelsTold(told.quantity, dropped=told.dropped))
    if name in state.skipped:
        state = apply(state, happened.Skipped(name, on=False))
    return apply(state, happened.Released((name,)))


def _replay_skipped(now: Replay, event: Event, pool: CandidateTable) -> Replay:
    skipped = happened.Skipped(str(event.id), bool(event.body["on"]))
    return replace(now, state=_resume(apply(now.state, skipped), event))


def _resume(state: State, event: Event) -> State:
    """The state with the row pending again, if the event reopens its lease."""
    return apply(state, happened.Resumed(str(event.id))) if resumes_lease(event) else state


def _replay_settings(now: Replay, event: Event, pool: CandidateTable) -> Replay:
    changes, before = current_settings(event.body["changes"]), now.state.settings.goal
    goal = parse_goal(changes["goal"]) if "goal" in changes else before
    if "acquisition" not in changes and goal == before:
        return now
    acquisition = changes.get("acquisition", now.acquisition)
    functions = _functions(now.state, acquisition, goal)
    changed = happened.FunctionsChanged(functions, goal, is_auto(acquisition))
    return replace(now, state=apply(now.state, changed), acquisition=acquisition)


_TRANSITIONS: dict[str, Callable[[Replay, Event, CandidateTable], Replay]] = {
    "created": _replay_created,
    "settings": _replay_settings,
    "added": _replay_added,
    "asked": _replay_asked,
    "told": _replay_labels,
    "corrected": _replay_labels,
    "withdrawn": _replay_labels,
    "skipped": _replay_skipped,
}
