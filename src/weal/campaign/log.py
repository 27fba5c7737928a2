"""A campaign that is open: its store, the ledger of its events, and the session that follows them.

Nothing here changes the campaign; what does is in `campaign`. Imports no numerics.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

from weal.campaign import id_lookup
from weal.campaign.ledger import Ledger, apply_events
from weal.errors import UnknownId, WealError
from weal.progress import Progress
from weal.shards.executors import check_scheduler
from weal.store.events import Event
from weal.store.protocol import Decide, Store

if TYPE_CHECKING:
    from weal.active_learner import ActiveLearner
    from weal.campaign.session import Session
    from weal.model.model import Model


class CampaignLog:
    """What is known of a campaign, up to date with its store."""

    def __init__(
        self,
        name: str,
        store: Store,
        who: str = "",
        *,
        scheduler: Any = None,
        progress: Progress | None = None,
    ) -> None:
        check_scheduler(scheduler)
        self.name, self.who = name, who
        self._store: Store | None = store
        self.scheduler, self.progress = scheduler, progress  # of passes over files
        store.head(name)  # UnknownCampaign where there is none
        self._ledger = Ledger(name)
        self._events: list[Event] = []  # those in the ledger
        self._session: Session | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the store go; all that was told is on disk already."""
        if self._session is not None:
            self._session.executor.close()
        store, self._store = self._store, None
        if store is not None:
            store.close()

    @property
    def closed(self) -> bool:
        """Whether the store was let go."""
        return self._store is None

    @property
    def store(self) -> Store:
        """Where it is kept; WealError once the campaign is closed."""
        if self._store is None:
            raise WealError(
                f"the campaign {self.name!r} is closed; open it again: "
                f"weal.open_campaign({self.name!r}, ...)"
            )
        return self._store

    @property
    def ledger(self) -> Ledger:
        """Where the campaign stands now, whoever wrote last."""
        if events := self.store.read(self.name, self._ledger.seq):
            self._ledger = apply_events(self._ledger, events)
            self._events += events
        return self._ledger

    @property
    def session(self) -> "Session":
        """Candidates, state of the learner and its beliefs, up to date with the events."""
        from weal.campaign.session import Session

        ledger = self.ledger
        if self._session is None:
            from weal.shards.dask_executor import choose_executor

            who = choose_executor(self.scheduler), self.progress
            self._session = Session(self.store, ledger, self._events, *who)
        else:
            self._session.update(ledger, self._events)
        return self._session

    @property
    def learner(self) -> "ActiveLearner":
        """The learner that has been through all labels; what is asked of it is kept nowhere."""
        return self.session.learner

    @property
    def model(self) -> "Model":
        """The model, fitted to all labels; its inputs are those of the campaign's plan."""
        return self.session.model

    @property
    def pool_at_hand(self) -> Any:
        """The candidates, where the learner was needed before; else None."""
        return None if self._session is None else self._session.pool

    @property
    def created(self) -> dict[str, Any]:
        """How it began: settings, plan, target and the column of the ids."""
        return (self._events or self.store.read(self.name, 0))[0].body

    def events(self) -> list[Event]:
        """All that has happened.

        Returns
        -------
        list of Event
            In order, each with `seq`, `kind`, `id`, `body`, `who`, `time`, `key` and `hash`.

        Raises
        ------
        DamagedStore
            Where the chain of hashes is broken.
        """
        return self.store.read(self.name, 0)

    def known(self, ids: Iterable[str]) -> set[str]:
        """Which of these are ids of candidates.

        Parameters
        ----------
        ids : list of str
            Ids, or what may be some.

        Returns
        -------
        set of str
            Those that are.
        """
        return id_lookup.existing_ids(self, set(ids))

    def transact(self, decide: Decide) -> tuple[Event, ...]:
        """Write what is decided under the write lock; for rules of one's own.

        Parameters
        ----------
        decide : function
            Gets the `Transaction` of the campaign as it is then, and returns drafts of the events.
            It may be called again, and must do nothing but look and answer.

        Returns
        -------
        tuple of Event
            As they were written.

        Raises
        ------
        UnknownId
            Where the rule says so; the message names the id that may be meant.
        """
        try:
            return id_lookup.transact(self, decide)
        except UnknownId as error:
            raise self._meant(error) from None

    def _meant(self, error: UnknownId) -> UnknownId:
        from weal.campaign.id_lookup import explain_unknown_ids

        return explain_unknown_ids(self.name, error, self.known)
