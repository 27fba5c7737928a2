"""What an open campaign has at hand besides its ledger: candidates, the learner's state, beliefs.

All of it follows from the store, and is made when it is needed and brought up to date.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from weal.active_learner import ActiveLearner
from weal.campaign import checkpoint, kept_pool
from weal.campaign.candidate_table import read_pool
from weal.campaign.ledger import Ledger
from weal.campaign.replay import Pool, Replay, choosable, follow, goes_on, replay
from weal.campaign.shard_pool import read_shard_pool
from weal.learner.beliefs import Beliefs
from weal.learner.candidate_sample import compared
from weal.learner.memory_pool import MEMORY
from weal.learner.state import Settlement, State
from weal.model.model import Model
from weal.progress import Progress
from weal.shards.crew import Crew, Threads
from weal.store.events import Event
from weal.store.store import Store

OFTEN = 8  # labels since the belief on the candidates was kept, from which it is kept again


class Session:
    """Candidates, replay and beliefs of a campaign, after the events that it was shown."""

    def __init__(
        self,
        store: Store,
        ledger: Ledger,
        events: Sequence[Event],
        crew: Crew | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.store, self.ledger = store, ledger
        self.crew, self.progress = crew or Threads(), progress
        self.pool: Pool = self._read_pool()
        self.replay: Replay = self._replayed(events)
        snapshot = kept_pool.read(store, ledger, self.state)
        self.beliefs = Beliefs(MEMORY, snapshot, self.crew, progress)
        self._kept: Settlement | None = None  # whose experts are in the store
        self._kept_pool: tuple[Settlement | None, int] = (
            None,
            0,
        )  # of it, and after so many labels

    def update(self, ledger: Ledger, events: Sequence[Event]) -> None:
        """Take in what is new; `events` are all of the campaign."""
        grown, self.ledger = ledger.rows != self.ledger.rows, ledger
        if grown:
            self.pool = self._read_pool()
        new = events[self.replay.seq :]
        if goes_on(self.replay, new, ledger):
            self.replay = follow(self.replay, new, self.pool)
        else:
            self.replay = self._replayed(events)

    def _read_pool(self) -> Pool:
        if self.ledger.shards:
            return read_shard_pool(self.store, self.ledger, self.crew, self.progress)
        return read_pool(self.store, self.ledger)

    def _replayed(self, events: Sequence[Event]) -> Replay:
        found = replay(events, self.pool, self.ledger)
        return replace(found, state=checkpoint.resumed(self.store, self.ledger, found.state))

    @property
    def state(self) -> State:
        """The state of the learner."""
        return self.replay.state

    @property
    def learner(self) -> ActiveLearner:
        """The learner that has been through all labels."""
        return ActiveLearner.of(self.state, self.beliefs)

    @property
    def model(self) -> Model:
        """What the labels have taught; RuntimeError while they are too few."""
        return self.beliefs.model(self.state)

    def choosable(self, time: datetime) -> State:
        """The state that rows are chosen from at that time."""
        return choosable(self.replay, self.ledger, time)

    def keep(self) -> None:
        """Keep the experts in the store, if they were settled here."""
        settlement = self.state.settlement
        if settlement is None or settlement.experts is not None or settlement is self._kept:
            return
        checkpoint.keep(self.store, self.ledger, self.state, self.beliefs.settled(self.state))
        self._kept = settlement

    def keep_pool(self) -> None:
        """Keep what was believed of the candidates; an open campaign does so now and then."""
        state, labels = self.state, len(self.state.labels)
        settlement, before = self._kept_pool
        if not state.fitted or (state.settlement is settlement and labels - before < OFTEN):
            return
        if compared(state, self.model) is not None:  # then nobody has looked at all candidates
            return
        if (found := self.beliefs.snapshot(state)) is not None:
            kept_pool.keep(self.store, self.ledger, state, found)
        self._kept_pool = (state.settlement, labels)
