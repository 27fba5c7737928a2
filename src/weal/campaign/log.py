"""The event log of an open campaign: read on request, and the ledger and session that follow it.

`CampaignLog` keeps the events that it has read. `read_ledger` and `read_session` read the new
events of the store; no property does. A method of a campaign calls one of them once and passes the
value on. Nothing here changes the campaign except `transact`. Imports no numerics.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from weal.campaign import id_lookup
from weal.campaign.ledger import Ledger, apply_events, has_levels, quantities_of
from weal.errors import UnknownId, WealError
from weal.progress import Progress
from weal.shards.executors import check_scheduler
from weal.store.events import Event
from weal.store.protocol import Decide, Store, unknown_campaign

if TYPE_CHECKING:
    from weal.active_learner import ActiveLearner
    from weal.campaign.candidates import CandidateTable
    from weal.campaign.session import Session
    from weal.model.model import Model
    from weal.quantities.protocol import Quantity
    from weal.tables.frame_kinds import FrameKind


class CampaignLog:
    """The events of a campaign, its ledger and its session."""

    def __init__(
        self,
        name: str,
        store: Store,
        who: str = "",
        *,
        scheduler: object = None,
        progress: Progress | None = None,
        log: "tuple[Ledger, Sequence[Event]] | None" = None,
    ) -> None:
        check_scheduler(scheduler)
        if log is None and name not in (there := store.campaigns()):
            raise unknown_campaign(name, there, store.url)
        self.name, self.who = name, who
        self._store: Store | None = store
        self.scheduler, self.progress = scheduler, progress  # of passes over files
        self.frame_kind: FrameKind | None = None  # of the pool; None: it did not come as a frame
        self._ledger = Ledger(name) if log is None else log[0]
        # the events that the ledger has applied
        self._events: list[Event] = [] if log is None else list(log[1])
        self._session: Session | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store; every label that was told is on disk already."""
        if self._session is not None:
            self._session.executor.close()
        store, self._store = self._store, None
        if store is not None:
            store.close()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._store is None

    @property
    def store(self) -> Store:
        """The open store; WealError once the campaign is closed."""
        if self._store is None:
            raise WealError(
                f"the campaign {self.name!r} is closed; open it again: "
                f"weal.open_campaign({self.name!r}, ...)"
            )
        return self._store

    @contextmanager
    def writing_through(self, store: Store) -> Iterator[None]:
        """Use another view of the same store in a block.

        Parameters
        ----------
        store : Store
            The view, such as a `GuardedStore`.

        Returns
        -------
        context manager
            For the block.
        """
        own, self._store = self.store, store
        try:
            yield
        finally:
            self._store = own

    def read_ledger(self) -> Ledger:
        """Read the new events of the store.

        Returns
        -------
        Ledger
            Labels, leases, skipped rows and settings after the last event of the store.
        """
        self._apply(self.store.read(self.name, self._ledger.seq))
        return self._ledger

    def read_quantities(self) -> "dict[str, Quantity]":
        """Read the quantities; if no words can be added to them, only the first event is read.

        Returns
        -------
        dict of str to Quantity
            The quantities by name.
        """
        if not self._ledger.quantities:
            [created] = self.store.events_between(self.name, 1, 1)
            found = {one.name: one for one in quantities_of(created)}
            if not any(map(has_levels, found.values())):  # else words may have been added
                return found
        self.read_ledger()
        return {name: one.quantity for name, one in self._ledger.quantities.items()}

    def read_session(self) -> "Session":
        """Read the new events of the store, and replay them.

        Returns
        -------
        Session
            Candidates, the state of the learner and its posterior after the last event.
        """
        self.read_ledger()
        return self.replay_session()

    def replay_session(self) -> "Session":
        """Replay the events that were read already.

        Returns
        -------
        Session
            As returned by `read_session`, after the last event that this object has read.
        """
        from weal.campaign.session import Session

        if self._session is None:
            from weal.shards.dask_executor import choose_executor

            executor = choose_executor(self.scheduler)
            self._session = Session(self.store, self._ledger, self._events, executor, self.progress)
        else:
            self._session.update(self._ledger, self._events)
        return self._session

    def read_learner(self) -> "ActiveLearner":
        """Read the new events of the store, and replay them.

        Returns
        -------
        ActiveLearner
            After all labels. Its queries and labels are not written to the store.
        """
        return self.read_session().learner

    def read_model(self) -> "Model":
        """Read the new events of the store, and fit the model.

        Returns
        -------
        Model
            Fitted to all labels; its inputs are those of the campaign's plan.

        Raises
        ------
        RuntimeError
            If there are too few labels for a model.
        """
        return self.read_session().model()

    @property
    def last_ledger(self) -> Ledger:
        """The ledger after the last event that this object has read or written."""
        return self._ledger

    @property
    def loaded_pool(self) -> "CandidateTable | None":
        """The candidates, if a session has read them already; else None."""
        return None if self._session is None else self._session.pool

    def events(self) -> list[Event]:
        """Read all events of the campaign.

        Returns
        -------
        list of Event
            In order, each with `seq`, `kind`, `id`, `body`, `who`, `time`, `key` and `hash`.

        Raises
        ------
        DamagedStore
            If the chain of hashes is broken.
        """
        return self.store.read(self.name, 0)

    def existing_ids(self, ids: Iterable[str]) -> set[str]:
        """The ids of candidates among these.

        Parameters
        ----------
        ids : list of str
            Ids, or texts that may be ids.

        Returns
        -------
        set of str
            The ids of candidates among them.
        """
        return id_lookup.existing_ids(self, set(ids))

    def transact(self, decide: Decide) -> tuple[Event, ...]:
        """Write the events that a function decides on under the write lock.

        Parameters
        ----------
        decide : function
            Takes the open `Transaction` and returns drafts of events. The store may call it again;
            it must only read and return.

        Returns
        -------
        tuple of Event
            The events as they were written.

        Raises
        ------
        UnknownId
            If `decide` raises it; the message suggests an existing id.
        """
        try:
            written = id_lookup.transact(self, decide)
        except UnknownId as error:
            raise self._suggest_ids(error) from None
        self._append(written)
        return written

    def _append(self, written: Sequence[Event]) -> None:
        """Apply events that were just written, unless others wrote since the last read."""
        if self._ledger.seq and written and written[0].seq == self._ledger.seq + 1:
            self._apply(written)

    def _apply(self, events: Sequence[Event]) -> None:
        """Apply new events; an interrupt leaves them to the next read."""
        if events:
            ledger = apply_events(self._ledger, events)
            self._events[self._ledger.seq :] = events  # also those of an interrupted call
            self._ledger = ledger

    def _suggest_ids(self, error: UnknownId) -> UnknownId:
        return id_lookup.explain_unknown_ids(self.name, error, self.existing_ids)
