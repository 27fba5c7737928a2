"""The session of an open campaign: its candidates, the state of its learner, and the posterior.

A session is made from the store when it is needed, and updated with new events. Experts and the
posterior of the candidates are snapshots in the store, so that opening a campaign is fast.

`trend` is the course of the error estimates. Its snapshot carries a fingerprint of labels and model
(`diagnostics.error_trend`), and the number and hash of the event that it was computed after; a
snapshot that does not match is ignored.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from weal.active_learner import ActiveLearner
from weal.campaign.candidate_files import read_shard_pool
from weal.campaign.candidates import CandidateTable, read_pool
from weal.campaign.ledger import Ledger
from weal.campaign.replay import (
    Replay,
    can_continue,
    replay,
    replay_new_events,
    state_for_choice,
)
from weal.core.arrays import Array
from weal.diagnostics.error_trend import (
    SequentialError,
    Trend,
    TrendPoint,
    error_trend,
    expected_error_inputs,
    fingerprint,
)
from weal.errors import WealError
from weal.formats.codec import BROKEN
from weal.formats.snapshots import (
    EXPERTS_KIND,
    MAX_POOL_SNAPSHOT_BYTES,
    POOL_KIND,
    pack_experts_snapshot,
    pack_pool_snapshot,
    unpack_experts_snapshot,
    unpack_pool_snapshot,
)
from weal.goals.protocol import Goal
from weal.learner.candidate_sample import comparison_size
from weal.learner.joint_scores import lead_view, outcome_view, scored_views
from weal.learner.pools.memory import POOL_BYTES
from weal.learner.pools.protocol import PoolSnapshot
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.quantity_sources import with_selected_sources
from weal.learner.state import QuantityView, SelectionPoint, State
from weal.model.model import Model
from weal.model.training import TrainedEnsemble
from weal.progress import Progress
from weal.shards.executors import Executor, ThreadExecutor
from weal.store.events import Event
from weal.store.protocol import Store


def snapshot_kind(kind: str, view: QuantityView) -> str:
    """The kind of a snapshot of a part; the first part has the kind alone, as in weal 0.2."""
    name = view.quantity.name
    return kind if name == next(iter(view.state.quantities)) else f"{kind} {name}"


def resume_experts(store: Store, ledger: Ledger, state: State) -> State:
    """The state with the experts of the snapshots, where they belong to it."""
    for view in every_view(state):
        kept = store.read_snapshot(ledger.name, snapshot_kind(EXPERTS_KIND, view))
        experts = unpack_experts_snapshot(kept[2], view) if kept else None
        if experts is not None:
            state = replace(view, state=state).with_experts(experts)
    return with_selected_sources(state)


def is_number(view: QuantityView) -> bool:
    """Whether the labels of a part are numbers, not codes of words."""
    return not view.quantity.words


def every_view(state: State) -> list[QuantityView]:
    """The state as each part with a model sees it, "worked" included."""
    views = [state.view(name) for name in state.quantities]
    return [view for view in views if view.has_model]


def write_experts(
    store: Store, ledger: Ledger, view: QuantityView, experts: TrainedEnsemble
) -> None:
    """Write the snapshot of the experts of a fitted state."""
    data, kind = pack_experts_snapshot(experts, view), snapshot_kind(EXPERTS_KIND, view)
    store.write_snapshot(ledger.name, kind, ledger.seq, ledger.hash, data)


def read_pool_snapshot(store: Store, ledger: Ledger, view: QuantityView) -> PoolSnapshot | None:
    """The posterior snapshot, if it belongs to this state or to an earlier one."""
    kind = snapshot_kind(POOL_KIND, view)
    kept = store.read_snapshot(ledger.name, kind) if view.has_model else None
    return None if kept is None else unpack_pool_snapshot(kept[2], view)


def write_pool(store: Store, ledger: Ledger, view: QuantityView, found: PoolSnapshot) -> None:
    """Write the posterior snapshot of a fitted state."""
    if found.mu.nbytes + found.v.nbytes <= MAX_POOL_SNAPSHOT_BYTES:
        kind, data = snapshot_kind(POOL_KIND, view), pack_pool_snapshot(found, view)
        store.write_snapshot(ledger.name, kind, ledger.seq, ledger.hash, data)


# labels after which the posterior of the candidates is written again
LABELS_PER_POOL_SNAPSHOT = 8
EAGER_POOL_BYTES = 64 * 2**20  # of correlations with candidates: most commands ask once and end


class Session:
    """Candidates, replay and posterior of a campaign after the events it has applied."""

    def __init__(
        self,
        store: Store,
        ledger: Ledger,
        events: Sequence[Event],
        executor: Executor | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.store, self.ledger = store, ledger
        self.executor, self.progress = executor or ThreadExecutor(), progress
        self.pool: CandidateTable = self._read_pool(ledger)
        self.replay: Replay = self._replay_all(ledger, events)
        found = {
            view.quantity.name: read_pool_snapshot(store, ledger, view)
            for view in every_view(self.state)
        }
        snapshots = {name: one for name, one in found.items() if one is not None}
        self.beliefs = PosteriorCache(
            POOL_BYTES, snapshots, self.executor, progress, EAGER_POOL_BYTES
        )
        # by part: whose experts are in the store, and whose posterior, after so many labels
        self._kept: dict[str, SelectionPoint] = {}
        self._kept_pool: dict[str, tuple[SelectionPoint | None, int]] = {
            name: (self.state.view(name).selection, one.n) for name, one in snapshots.items()
        }

    def update(self, ledger: Ledger, events: Sequence[Event]) -> None:
        """Apply new events; `events` are all events of the campaign.

        The ledger is updated last: after an interrupt, the next call repeats the whole update.
        """
        if ledger.rows != self.ledger.rows:
            self.pool = self._read_pool(ledger)
        new = events[self.replay.seq :]
        if can_continue(self.replay, new, ledger):
            self.replay = replay_new_events(self.replay, new, self.pool)
        else:
            self.replay = self._replay_all(ledger, events)
        self.ledger = ledger

    def _read_pool(self, ledger: Ledger) -> CandidateTable:
        if ledger.shards:
            return read_shard_pool(self.store, ledger, self.executor, self.progress)
        return read_pool(self.store, ledger)

    def _replay_all(self, ledger: Ledger, events: Sequence[Event]) -> Replay:
        found = replay(events, self.pool, ledger)
        return replace(found, state=resume_experts(self.store, ledger, found.state))

    @property
    def state(self) -> State:
        """The state of the learner."""
        return self.replay.state

    @property
    def learner(self) -> ActiveLearner:
        """The learner after all labels."""
        return ActiveLearner.of(self.state, self.beliefs)

    def view(self, part: str | None = None) -> QuantityView:
        """The state restricted to a part; None: the first part of the goal."""
        return lead_view(self.state) if part is None else self.state.view(part)

    def model(self, part: str | None = None) -> Model:
        """The model of all labels of a part (None: the first part of the goal).

        RuntimeError if there are too few.
        """
        return self.beliefs.model(self.view(part))

    def choosable(self, time: datetime) -> State:
        """The state to choose rows from at this time."""
        return state_for_choice(self.replay, self.ledger, time)

    def keep(self) -> None:
        """Write the experts to the store, if this session selected them."""
        for view in every_view(self.state):
            name, selection = view.quantity.name, view.selection
            if selection is None or selection.experts is not None:
                continue
            if selection is not self._kept.get(name):
                write_experts(self.store, self.ledger, view, self.beliefs.selected_experts(view))
                self._kept[name] = selection

    def keep_pool(self) -> None:
        """Write the posterior of the candidates to the store, every few labels."""
        for view in (*scored_views(self.state), *filter(None, [outcome_view(self.state)])):
            labels, name = len(view.labels), view.quantity.name
            selection, before = self._kept_pool.get(name, (None, 0))
            if view.selection is selection and labels - before < LABELS_PER_POOL_SNAPSHOT:
                continue
            if comparison_size(view, self.beliefs.model(view)) is not None:
                continue  # the posterior of all candidates was not computed
            if (found := self.beliefs.snapshot(view)) is not None:
                write_pool(self.store, self.ledger, view, found)
            self._kept_pool[name] = (view.selection, labels)


# Of the snapshot; 1: weal 0.1, experts selected at fixed intervals; 2: errors of all labels.
TREND_KIND, TREND_VERSION = "trend", 3


def trend(
    session: Session, progress: Progress | None = None, goal: Goal | None = None,
    part: str | None = None,
) -> Trend | None:  # fmt: skip
    """The error estimates of a part over the labels, and the value of a goal.

    None without a model, and for words. If `part` is None, the first part of the goal.
    """
    view, ledger = session.view(part), session.ledger
    t = len(view.labels)
    if not view.has_model or not t or not is_number(view):
        return None
    model, X = session.beliefs.model(view), expected_error_inputs(view.state)
    kind = snapshot_kind(TREND_KIND, view)
    known = _read_cached_trend(session, kind, model, X, goal)
    if known is not None and known.now.labels == t:
        return known
    found = error_trend(model, view.settings.n_start, X, known, progress, goal)
    data = {"v": TREND_VERSION, "of": fingerprint(model, X, t, goal), **asdict(found)}
    with suppress(WealError):  # the trend is complete even if the snapshot cannot be stored
        text = json.dumps(data).encode()
        session.store.write_snapshot(ledger.name, kind, ledger.seq, ledger.hash, text)
    return found


def _read_cached_trend(
    session: Session, kind: str, model: Model, X: Array, goal: Goal | None
) -> Trend | None:
    """The trend of the snapshot, if it belongs to this campaign and these labels."""
    kept = session.store.read_snapshot(session.ledger.name, kind)
    if kept is None or not _on_chain(session, *kept[:2]):
        return None
    try:
        data = json.loads(kept[2])
        if data["v"] != TREND_VERSION:
            return None
        found = _from_json(data)
    except BROKEN:  # of another version, or damaged
        return None
    t = found.now.labels
    same = t <= len(model.trained.y) and data["of"] == fingerprint(model, X, t, goal)
    return found if same else None


def _on_chain(session: Session, seq: int, hash: str) -> bool:
    events = session.store.read(session.ledger.name, seq - 1)
    return bool(events) and (events[0].seq, events[0].hash) == (seq, hash)


def _from_json(data: dict[str, Any]) -> Trend:
    marks = tuple(TrendPoint(**one) for one in data["marks"])
    return Trend(
        marks, tuple(SequentialError(**one) for one in data["surprises"]), data["candidates"]
    )
