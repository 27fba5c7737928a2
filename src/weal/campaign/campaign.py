"""A campaign: a table of candidates and its labels, kept as events in a store.

    with weal.open_campaign("alloys", store="sqlite:///weal.db") as campaign:
        ids = campaign.ask(4)
        campaign.tell(ids[0], 312.5, by="mk", note="batch 7")

Every change is one transaction of the store: when a method returns, it is on disk. What is asked
comes from a learner that has been through the events (`replay`), and is made when it is needed:
`tell`, `skip` and `withdraw` read neither the candidates nor a model, and this module imports no
numerics.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from weal.campaign import lookup, rules
from weal.campaign.entries import distinct, entries, names
from weal.campaign.ledger import VERSION
from weal.campaign.opened import Opened
from weal.campaign.rules import Entry, Telling
from weal.campaign.settings import check_changes, check_together
from weal.campaign.surprise import doubtful
from weal.diagnostics.progress import Progress
from weal.errors import UnknownId, WealError
from weal.store.events import Draft
from weal.store.store import Book
from weal.table.index import with_ids

if TYPE_CHECKING:
    from weal.campaign.card import Card
    from weal.campaign.explaining import Asked
    from weal.campaign.intake import Intake
    from weal.campaign.status import Status
    from weal.diagnostics.suspects import Suspect
    from weal.plots.axes import Plots


class Kept(NamedTuple):
    """What came of labels that were told."""

    seq: int  # number of the event that holds the last of them
    new: int  # labels that were not there yet
    doubts: tuple[str, ...] = ()  # on labels far outside what was expected


class Campaign(Opened):
    """Candidates and labels that outlive the program; `weal.open_campaign` opens one."""

    def __repr__(self) -> str:
        from weal.campaign.describing import line

        return line(self)

    def _repr_html_(self) -> str:
        from weal.campaign.describing import page

        return page(self)

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
        from weal.campaign.asking import ask

        ids = ask(self, n, by or self.who, lease, check)
        return ids[0] if n is None else ids

    def ask_for(self, ids: Any, *, by: str | None = None, lease: Any = None) -> list[str]:
        """Take these very rows, whatever the learner would choose; they are out as if asked.

        An error says where one is labelled, out with somebody or skipped: then none is taken.
        """
        from weal.campaign.asking import ask_for

        return ask_for(self, distinct(ids), by or self.who, lease)

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
        sure: bool = False,
        replace: bool = False,
        repeat: bool = False,
        key: str | None = None,
    ) -> int:
        """Keep the label of an id, the labels of several, or of a dict: {id: label}.

        Returns the number of its event.

        When it returns, the label is on disk. The same label again changes nothing; another one
        raises AlreadyLabelled, unless `replace` says that it corrects the old or `repeat` that it
        is a second measurement. `noise` is the sd of what is known of its noise. A label that is
        called `sure` is never taken for an outlier; told again as sure, one that is there is
        confirmed. `key` is a name of your own for this call: a second call with the same key writes
        nothing. Either all is taken or nothing.
        """
        if isinstance(ids, Mapping) and labels is None:
            ids, labels = list(ids), list(ids.values())
        found = entries(ids, labels, noise, note, sure)
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
        found: list[Telling] = []

        def decide(book: Book) -> list[Draft]:
            found[:] = rules.told(book, entries, by or self.who, replace, repeat, key)
            return [one.draft for one in found if one.draft]

        events = self.transact(decide)
        doubts = [doubtful(self.name, one.entry, one.doubt) for one in found if one.doubt]
        last = events[-1].seq if events else found[-1].seq
        return Kept(last, len(events), tuple(doubts))

    def preview(self, source: Any, **how: Any) -> "Intake":
        """What `tell_file` would do with these results, line by line; nothing is written."""
        from weal.campaign.intake_file import preview

        return preview(self, source, **how)

    def tell_file(self, source: Any, **how: Any) -> "Intake":
        """Keep the labels of a results file, all or none; returns what became of each line.

        `source` is a path, a frame, or the bytes of a file (then with its `name`): CSV, TSV, Excel
        or Parquet with the id, a column named as the target (or named by `value`), and perhaps
        noise and note; a worksheet, filled in. `header` is the line that names the columns where
        that is not clear, `sheet` the name of a sheet. `by`, `replace`, `repeat` and `key` are
        those of `tell`; the same content told twice changes nothing.
        """
        from weal.campaign.intake_file import tell_file

        return tell_file(self, source, **how)

    def worksheet(self, ids: Any, to: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write a worksheet (.csv, .tsv, .xlsx) of rows that are out, to be filled in and told.

        `ids` None: all that are out now. A file that is there stays, unless `force` says so.
        """
        from weal.campaign.worksheet import check_worksheet, write_worksheet

        place, created = check_worksheet(to, force), self.created
        rows = self.asked(None if ids is None else distinct(ids))
        if not rows:
            raise ValueError(f"no row of {self.name} is out: ask for some first")
        write_worksheet(rows, created["plan"], created["id"], created["target"], place, force)
        return place

    def skip(self, ids: Any, *, by: str | None = None, note: str | None = None) -> None:
        """Leave rows out: not offered until `unskip`, or until a label of theirs is told."""
        self._skip(ids, True, by, note)

    def unskip(self, ids: Any, *, by: str | None = None, note: str | None = None) -> None:
        """Let skipped rows be offered again."""
        self._skip(ids, False, by, note)

    def _skip(self, ids: Any, on: bool, by: str | None, note: str | None) -> None:
        found, who = distinct(ids), by or self.who
        self.transact(lambda book: rules.skipped(book, found, who, on, note))

    def withdraw(self, ids: Any, *, by: str | None = None, note: str | None = None) -> None:
        """Take back the labels of rows; of rows without one, the lease."""
        found, who = distinct(ids), by or self.who
        self.transact(lambda book: rules.withdrawn(book, found, who, note))

    def candidate_ids(self) -> list[str]:
        """The ids of all candidates, in order."""
        return lookup.candidate_ids(self)

    def columns(self) -> tuple[str, ...]:
        """The names of the columns that candidates came with."""
        return lookup.columns(self)

    def add(self, pool: Any, *, by: str | None = None) -> int:
        """Add candidates, read as the first ones were; returns how many."""
        from weal.campaign.creating import add, add_files
        from weal.campaign.shard_pool import ShardPool, is_in_files

        created, there = self.created, self.session.pool
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

    def hide(self, on: bool = True, *, by: str | None = None) -> None:
        """Leave the campaign out of lists, or bring it back; nothing is deleted."""
        draft = Draft("settings", {"v": VERSION, "changes": {"hidden": on}}, who=by or self.who)
        is_so = bool(self.ledger.settings.get("hidden")) == on
        self.store.transact(self.name, lambda book: [] if is_so else [draft])

    def card(self, name: Any) -> "Card":
        """One row: its inputs, labels, lease, prediction, and why it was asked."""
        from weal.campaign.card import card

        [found] = names([name])
        try:
            return card(self.session, self._events, found, self.store.now())
        except UnknownId as error:
            raise self._meant(error) from None

    def far_inputs(self, table: Any) -> list[str]:
        """Which inputs of new candidates lie far outside what is there, one line each."""
        import numpy as np

        from weal.campaign.creating import far_inputs
        from weal.learner.sampling import standing_for

        session = self.session
        X = session.pool.X
        if not isinstance(X, np.ndarray):  # in files: those that stand for all
            _, X = standing_for(session.state.candidates, session.state.settings.seed)
        return far_inputs(session.pool.plan, table, X)

    def change(self, *, by: str | None = None, **settings: Any) -> None:
        """Change settings: acquisition, goal, lease, warp or outliers."""
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

    def suspects(self) -> "list[Suspect]":
        """Labels to look at again: those that the model takes to be wrong, the worst first."""
        from weal.campaign.doubts import doubts

        return list(doubts(self.session).labels)

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
