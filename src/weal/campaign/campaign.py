"""A campaign: a table of candidates and its labels, kept as events in a store.

    with weal.open_campaign("alloys", store="sqlite:///weal.db") as campaign:
        ids = campaign.ask(4)
        campaign.tell(ids[0], 312.5, by="mk", note="batch 7")

Every change is one transaction of the store: when a method returns, it is on disk. What is asked
comes from a learner that has been through the events (`replay`), and is made when it is needed:
`tell`, `skip` and `withdraw` read neither the candidates nor a model, and this module imports no
numerics.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from weal.campaign import rules
from weal.campaign.entries import distinct, entries, entry, names
from weal.campaign.ledger import VERSION, Ledger, fold
from weal.campaign.rules import Entry, Offer
from weal.campaign.settings import check_changes, check_together, seconds
from weal.diagnostics.progress import Progress
from weal.errors import Conflict, UnknownId, WealError
from weal.store.events import Draft, Event
from weal.store.store import Decide, Store
from weal.table.index import with_ids

if TYPE_CHECKING:
    from weal.active_learner import ActiveLearner
    from weal.campaign.explaining import Asked
    from weal.campaign.session import Session
    from weal.campaign.status import Status
    from weal.model.model import Model
    from weal.plots.axes import Plots

TRIES = 20  # of an ask that others were faster than


class Kept(NamedTuple):
    """What came of labels that were told."""

    seq: int  # number of the event that holds the last of them
    new: int  # labels that were not there yet


class Campaign:
    """Candidates and labels that outlive the program; `weal.open_campaign` opens one."""

    def __init__(
        self,
        name: str,
        store: Store,
        who: str = "",
        *,
        scheduler: Any = None,
        progress: Progress | None = None,
    ) -> None:
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
            self._session.crew.close()
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

    def __repr__(self) -> str:
        from weal.campaign.describing import line

        return line(self)

    def _repr_html_(self) -> str:
        from weal.campaign.describing import page

        return page(self)

    @property
    def ledger(self) -> Ledger:
        """Where the campaign stands now, whoever wrote last."""
        if events := self.store.read(self.name, self._ledger.seq):
            self._ledger = fold(self._ledger, events)
            self._events += events
        return self._ledger

    @property
    def session(self) -> "Session":
        """Candidates, state of the learner and its beliefs, up to date with the events."""
        from weal.campaign.session import Session

        ledger = self.ledger
        if self._session is None:
            from weal.shards.crews import crew_of

            who = crew_of(self.scheduler), self.progress
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

    def events(self) -> list[Event]:
        """All that has happened, in order."""
        return self.store.read(self.name, 0)

    def ask(
        self,
        n: int | None = None,
        *,
        by: str | None = None,
        lease: Any = None,
        check: bool = False,
    ) -> Any:
        """The id of the row to measure next; with `n`, a list of n ids for one batch.

        Rows that were asked are out with who asked (`by`) until their label comes or the lease
        ends (seconds, "3d", or None for the campaign's own), so that each ask offers others. An
        `ActiveLearner`, which works for one person, says the same again while there is no news.
        `check` offers rows drawn at random, for an honest test of the predictions.
        """
        wanted = _count(n)
        settings = self.ledger.settings
        out = timedelta(seconds=seconds(settings["lease"] if lease is None else lease))
        _ = self.session  # what takes long, following the labels, is done before it is our turn
        with self.store.turn(self.name):  # else all who ask now choose the same rows
            events = self._asked(wanted, out, by or self.who, check)
        with suppress(WealError):  # the rows are asked: advice for next time may fail
            self._keep(check)
        ids = [str(event.id) for event in events]
        return ids[0] if n is None else ids

    def _asked(self, wanted: int, out: timedelta, who: str, check: bool) -> tuple[Event, ...]:
        """Rows of those that were chosen that nobody else took; chosen anew where too few are."""
        spare = 0
        for left in reversed(range(TRIES)):
            offers, common = self._offers(wanted, spare, check)
            before = self._ledger.asked
            try:
                return self.store.transact(
                    self.name,
                    lambda book: rules.asked(book, offers, wanted, who, out, common),  # noqa: B023
                )
            except Conflict:  # rows went to others: next time have as many to spare, and more
                spare = max(wanted, 2 * spare, 2 * (self.ledger.asked - before))
                if not left:
                    raise
        raise AssertionError("the last try ends in rows or in Conflict")

    def _offers(self, wanted: int, spare: int, check: bool) -> tuple[Sequence[Offer], Any]:
        from weal.campaign import offers

        session = self.session
        state, beliefs = session.choosable(self.store.now()), session.beliefs
        if check:
            return offers.drawn(state, beliefs, wanted, session.ledger.checks), None
        found, after = offers.chosen(state, beliefs, wanted, spare)
        acquisition = session.ledger.settings["acquisition"]
        return found, {"log_omega": after.log_omega.tolist(), "acquisition": acquisition}

    def _keep(self, check: bool) -> None:
        session = self.session
        session.keep()
        if not check:  # then nobody has looked at all candidates
            session.keep_pool()

    def asked(self, ids: Iterable[Any] | None = None) -> list["Asked"]:
        """Rows that are out (or these), with what is expected of them and why they were chosen."""
        from weal.campaign.explaining import explain

        session = self.session
        leases = session.ledger.leases
        if ids is None:
            return explain(session, session.ledger.open_leases(self.store.now()))
        wanted = names(list(ids))
        if missing := [name for name in wanted if name not in leases]:
            raise ValueError(f"{', '.join(map(repr, missing[:5]))}: not out with anybody")
        return explain(session, [leases[name] for name in wanted])

    def tell(
        self,
        ids: Any,
        labels: Any = None,
        *,
        noise: Any = None,
        by: str | None = None,
        note: str | None = None,
        replace: bool = False,
        repeat: bool = False,
        key: str | None = None,
    ) -> int:
        """Keep the label of an id, the labels of several, or of a dict: {id: label}.

        Returns the number of its event.

        When it returns, the label is on disk. The same label again changes nothing; another one
        raises AlreadyLabelled, unless `replace` says that it corrects the old or `repeat` that it
        is a second measurement. `noise` is the sd of what is known of its noise. `key` is a name
        of your own for this call: a second call with the same key writes nothing. Either all is
        taken or nothing.
        """
        if isinstance(ids, Mapping) and labels is None:
            ids, labels = list(ids), list(ids.values())
        found = entries(ids, labels, noise, note)
        return self.tell_entries(found, by=by, replace=replace, repeat=repeat, key=key).seq

    def tell_entries(
        self,
        entries: Sequence[Entry],
        *,
        by: str | None = None,
        replace: bool = False,
        repeat: bool = False,
        key: str | None = None,
    ) -> Kept:
        """As `tell`, for labels that were checked already."""
        if replace and repeat:
            raise ValueError("replace corrects a label and repeat adds to it: not both at once")
        if not entries:
            raise ValueError("there is no label to tell")
        there = 0

        def decide(book: Any) -> list[Draft]:
            nonlocal there
            drafts, there = rules.told(book, entries, by or self.who, replace, repeat, key)
            return drafts

        events = self._transact(decide)
        return Kept(there or events[-1].seq, len(events))

    def tell_file(
        self, source: Any, *, by: str | None = None, replace: bool = False, repeat: bool = False
    ) -> int:
        """Keep the labels of a results file (or frame), all or none; returns how many there are."""
        from weal.table.results import read_results

        created = self.store.read(self.name, 0)[0].body
        rows = read_results(source, created["id"], created["target"]).rows
        found = [entry(row.id, row.value, row.noise, row.note) for row in rows]
        self.tell_entries(found, by=by, replace=replace, repeat=repeat)
        return len(found)

    def skip(self, ids: Any, *, by: str | None = None, note: str | None = None) -> None:
        """Leave rows out: not offered until `unskip`, or until a label of theirs is told."""
        self._skip(ids, True, by, note)

    def unskip(self, ids: Any, *, by: str | None = None, note: str | None = None) -> None:
        """Let skipped rows be offered again."""
        self._skip(ids, False, by, note)

    def _skip(self, ids: Any, on: bool, by: str | None, note: str | None) -> None:
        found, who = distinct(ids), by or self.who
        self._transact(lambda book: rules.skipped(book, found, who, on, note))

    def withdraw(self, ids: Any, *, by: str | None = None, note: str | None = None) -> None:
        """Take back the labels of rows; of rows without one, the lease."""
        found, who = distinct(ids), by or self.who
        self._transact(lambda book: rules.withdrawn(book, found, who, note))

    def add(self, pool: Any, *, by: str | None = None) -> int:
        """Add candidates, read as the first ones were; returns how many."""
        from weal.campaign.creating import add, add_files
        from weal.campaign.shard_pool import ShardPool, is_in_files

        created, there = self.events()[0].body, self.session.pool
        if isinstance(there, ShardPool):
            return add_files(self.store, self.ledger, created, pool, there, by or self.who)
        if is_in_files(pool):
            raise ValueError(
                f"the candidates of {self.name!r} are in its store: add one file or frame at a "
                "time, or begin a campaign with the pattern or folder"
            )
        if not created["numbered"]:
            pool, _ = with_ids(pool, None, wanted=created["id"])
        return add(self.store, self.ledger, created, pool, there.X, by or self.who)

    def _transact(self, decide: Decide) -> tuple[Event, ...]:
        """Write what `decide` answers; ids that stay in files are looked up in their index."""
        try:
            return self.store.transact(self.name, decide)
        except UnknownId:
            if not self.ledger.shards:
                raise
        from weal.campaign.shard_pool import known, read_shard_pool

        pool = read_shard_pool(self.store, self.ledger)
        here = lambda ids: known(pool, ids)  # noqa: E731
        return self.store.transact(self.name, lambda book: decide(rules.WiderBook(book, here)))

    def change(self, *, by: str | None = None, **settings: Any) -> None:
        """Change settings: acquisition, goal, lease or warp."""
        changes = check_changes(settings)
        check_together({**self.ledger.settings, **changes})
        body = {"v": VERSION, "changes": changes}
        draft = Draft("settings", body, who=by or self.who)
        self.store.transact(self.name, lambda book: [draft])

    def status(self, *, goal: float | None = None, progress: Progress | None = None) -> "Status":
        """How far the campaign is: error estimates and their trend, and whether to go on."""
        from weal.campaign.status import status

        session = self.session
        found = status(session, goal, self.store.now(), progress)
        with suppress(WealError):  # advice for next time may fail
            session.keep()
        return found

    @property
    def plot(self) -> "Plots":
        """Pictures: `campaign.plot.learning_curve()`, `.predicted()`, `.inputs()`,
        `.effect(name)`, `.map(a, b)` and `.experts()` return matplotlib axes; `.save(folder)`
        writes files.
        """
        from weal.campaign.pictures import plots

        return plots(lambda: self.session)

    def to_frame(self, what: str = "labels") -> Any:
        """A pandas frame of labels, predictions, candidates or events."""
        from weal.campaign.exporting import frame

        return frame(self, what)


def _count(n: int | None) -> int:
    if n is None:
        return 1
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ValueError(f"asked for {n!r} rows; it needs a whole number of at least 1")
    return n
