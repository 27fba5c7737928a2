"""A campaign: a table of candidates and its labels, kept as events in a store.

    with weal.open_campaign("alloys", store="sqlite:///weal.db") as campaign:
        ids = campaign.ask(4)
        campaign.tell(ids[0], 312.5, by="mk", note="batch 7")

Every change is one transaction of the store: when a method returns, it is on disk. What is asked
comes from a learner that has been through the events (`replay`), and is made when it is needed:
`tell`, `skip` and `withdraw` read neither the candidates nor a model, and this module imports no
numerics.
"""

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from weal.campaign import rules
from weal.campaign.entries import distinct, entries
from weal.campaign.first_labels import at_first
from weal.campaign.ledger import VERSION
from weal.campaign.rules import Entry, Telling
from weal.campaign.settings import check_changes, check_together
from weal.campaign.skipping import skip_rows
from weal.campaign.surprise import doubtful, doubtful_here
from weal.campaign.view import CampaignView
from weal.errors import WealError
from weal.store.events import Draft
from weal.store.store import Book
from weal.table.index import with_ids

if TYPE_CHECKING:
    from weal.campaign.intake import Intake


class Kept(NamedTuple):
    """What came of labels that were told."""

    seq: int  # number of the event that holds the last of them
    new: int  # labels that were not there yet
    doubts: tuple[str, ...] = ()  # on labels that may be wrong, with the command that corrects them
    reasons: tuple[tuple[str, str], ...] = ()  # the same: id, and why it may be wrong
    superseded: tuple[str, ...] = ()  # of a retry: labels that were corrected or withdrawn since


class Campaign(CampaignView):
    """Candidates and labels that outlive the program; `weal.open_campaign` opens one.

    Every change is one transaction of the store: when a method returns, it is on disk. Use it in a
    ``with`` block, or `close` it.

    Parameters
    ----------
    name : str
        Of the campaign.
    store : Store
        Where it is kept, opened.
    who : str
        Who is at work, where a method is not told otherwise.
    scheduler : str, distributed.Client or None
        Who does passes over candidates in files; see `ActiveLearner`.
    progress : function or None
        Called with what is being done, how many rows are done, and of how many.

    Raises
    ------
    UnknownCampaign
        Where the store has none of that name.

    See Also
    --------
    open_campaign : Opens a campaign by the name of its store, or makes it.

    Examples
    --------
    >>> import pandas as pd, weal
    >>> pool = pd.DataFrame({"temp": [20, 80, 140, 200]}, index=["a", "b", "c", "d"])
    >>> with weal.open_campaign("demo", "memory:", pool=pool, by="ann") as campaign:
    ...     ids = campaign.ask(2)
    ...     number = campaign.tell(ids, [312.5, 340.0], note="batch 7")
    ...     print(campaign)
    <Campaign 'demo': 4 candidates, 2 labels; memory:>
    """

    def ask(
        self,
        n: int | None = None,
        *,
        by: str | None = None,
        lease: Any = None,
        check: bool = False,
        key: str | None = None,
    ) -> Any:
        """The id of the row to measure next, or the ids of a batch.

        Rows that were asked are out with who asked until their label comes or the lease ends, so
        that each ask offers others. An `ActiveLearner`, which works for one person, says the same
        again while there is no news.

        Parameters
        ----------
        n : int or None
            How many; None: one, and its id is returned by itself.
        by : str or None
            Who is at work; None: who opened the campaign.
        lease : str, float or None
            How long they are out: "3d", "12h", or seconds; None: as the campaign's settings say.
        check : bool
            Whether rows are drawn at random, for an honest test of the predictions.
        key : str or None
            A name of your own for this call: a retry with the same key gives the rows of the first
            call and asks for none, whatever became of them. So a program that was killed before it
            had the answer can ask again. The key belongs to the number of rows, to `by`, to `check`
            and, where it is given, to `lease`.

        Returns
        -------
        str, or list of str
            One id without `n`; a list of n ids with it.

        Raises
        ------
        Exhausted
            Where fewer rows are left than are wanted.
        Conflict
            Where others were faster, again and again.
        ReusedKey
            Where the key was used for another call of `ask`, or by somebody else.

        Examples
        --------
        >>> import pandas as pd, weal
        >>> pool = pd.DataFrame({"temp": [20, 80, 140, 200]}, index=["a", "b", "c", "d"])
        >>> campaign = weal.open_campaign("demo", "memory:", pool=pool, by="ann")
        >>> first, second = campaign.ask(2)
        >>> campaign.ask(by="bo") in (first, second)
        False
        >>> campaign.ask(key="monday") == campaign.ask(key="monday")
        True
        """
        from weal.campaign.asking import ask

        ids = ask(self, n, by or self.who, lease, check, key)
        return ids[0] if n is None else ids

    def ask_for(self, ids: Any, *, by: str | None = None, lease: Any = None) -> list[str]:
        """Take these very rows, whatever the learner would choose; they are out as if asked.

        All are taken, or none.

        Parameters
        ----------
        ids : id, or list of ids
            Which rows.
        by : str or None
            Who is at work; None: who opened the campaign.
        lease : str, float or None
            As in `ask`.

        Returns
        -------
        list of str
            Their ids.

        Raises
        ------
        AlreadyLabelled
            Where one has a label.
        Conflict
            Where one is out with somebody.
        UnknownId
            Where there is no such row.
        ValueError
            Where one is skipped.
        """
        from weal.campaign.asking import ask_for

        return ask_for(self, distinct(ids), by or self.who, lease)

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
        """Keep the label of a row, or the labels of several.

        When it returns, the label is on disk. The same label again changes nothing. Either all is
        taken or nothing. A label far from what was expected, or, where nothing was, from the labels
        so far, is kept as any other; a warning says so.

        Parameters
        ----------
        ids : id, list of ids, or dict of id to label
            Whose labels they are; rows need not have been asked.
        labels : float, list of floats, or None
            As many as ids; None where `ids` is a dict.
        noise : float, list of floats, or None
            Standard deviation of what is known of a label's noise, in its units.
        by : str or None
            Who is at work; None: who opened the campaign.
        note : str or None
            Kept with it.
        sure : bool
            A label that is sure is never taken for an outlier; told again as sure, one that is
            there is confirmed.
        replace : bool
            Whether it corrects the label that is there.
        repeat : bool
            Whether it is a second measurement, beside the label that is there.
        key : str or None
            A name of your own for this call: a retry with the same key and the same content writes
            nothing. The content is ids, labels, noise and `sure`, in any order; note and `by` may
            differ.

        Returns
        -------
        int
            The number of the event that holds the last of them.

        Raises
        ------
        AlreadyLabelled
            Where another label is there, without `replace` or `repeat`.
        ReusedKey
            Where the key was used for other content.
        UnknownId
            Where there is no such row.
        ValueError
            Where a label is no finite number, or numbers of ids and labels differ.

        Examples
        --------
        >>> import pandas as pd, weal
        >>> pool = pd.DataFrame({"temp": [20, 80, 140, 200]}, index=["a", "b", "c", "d"])
        >>> campaign = weal.open_campaign("demo", "memory:", pool=pool, by="ann")
        >>> campaign.tell("a", 312.5, note="batch 7")
        3
        >>> campaign.tell({"b": 320.0, "c": 340.0})
        5
        >>> campaign.tell("a", 312.5)  # the same again: nothing is written
        3
        """
        if isinstance(ids, Mapping) and labels is None:
            ids, labels = list(ids), list(ids.values())
        found = entries(ids, labels, noise, note, sure)
        kept = self.tell_entries(found, by=by, replace=replace, repeat=repeat, key=key)
        for words in (*(doubtful_here(*one) for one in kept.reasons), *kept.superseded):
            warnings.warn(words, UserWarning, stacklevel=2)
        return kept.seq

    def tell_entries(
        self,
        entries: Sequence[Entry],
        *,
        by: str | None = None,
        replace: bool = False,
        repeat: bool = False,
        key: str | None = None,
    ) -> Kept:
        """As `tell`, for labels that were checked already.

        Parameters
        ----------
        entries : list of Entry
            Each with `id`, `y`, `noise`, `note` and `sure`.
        by : str or None
            Who is at work; None: who opened the campaign.
        replace : bool
            As in `tell`.
        repeat : bool
            As in `tell`.
        key : str or None
            As in `tell`.

        Returns
        -------
        Kept
            `seq`, the number of the last event; how many labels were `new`; and `doubts`, a line on
            each label that is far outside what was expected, or far from the labels so far.

        Raises
        ------
        AlreadyLabelled
            As in `tell`.
        ReusedKey
            As in `tell`.
        UnknownId
            Where there is no such row.
        ValueError
            Where there is no entry, or both `replace` and `repeat`.
        """
        if replace and repeat:
            raise ValueError("replace corrects a label and repeat adds to it: not both at once")
        if not entries:
            raise ValueError("there is no label to tell")
        found: list[Telling] = []

        def decide(book: Book) -> list[Draft]:
            found[:] = rules.told(book, entries, by or self.who, replace, repeat, key)
            return [one.draft for one in found if one.draft]

        events = self.transact(decide)
        last = events[-1].seq if events else found[-1].seq
        reasons = self._doubted(found)
        doubts = tuple(doubtful(self.name, *one) for one in reasons)
        superseded = tuple(one.superseded for one in found if one.superseded)
        return Kept(last, len(events), doubts, tuple(reasons), superseded)

    def _doubted(self, found: Sequence[Telling]) -> list[tuple[str, str]]:
        """Labels that were just told, or early ones, that may be wrong; and why."""
        early: list[tuple[str, str]] = []
        if any(one.blind for one in found):
            with suppress(WealError):  # the labels are kept: a doubt may fail
                found, early = at_first(self.ledger, found)
        return [*((one.entry.id, one.doubt) for one in found if one.doubt), *early]

    def tell_file(self, source: Any, **how: Any) -> "Intake":
        """Keep the labels of a results file, all or none.

        The same content told twice changes nothing.

        Parameters
        ----------
        source : path, frame, or bytes
            CSV, TSV, Excel or Parquet with the id, a column named as the target, and perhaps noise
            and note; a worksheet, filled in.
        **how
            `value`, the column of the values, where it is not named as the target; `header`, the
            line that names the columns, and `sheet`, where that is not clear; `name`, of the file
            whose bytes these are; `by`, `sure`, `replace`, `repeat` and `key` as in `tell`.

        Returns
        -------
        Intake
            What became of each line (`rows`, with `line`, `id`, `action`, `value` and `message`;
            `counts` of the actions), `notes` on the file, and the number of the last `event`.

        Raises
        ------
        AlreadyLabelled
            Where another label is there, without `replace` or `repeat`.
        ReusedKey
            Where the key was used for other content; `failed` in place of a value is content too.
        UnknownId
            Where a line is of no row of this campaign.
        ValueError
            Where a line, or the file, cannot be taken. The message names each line.

        Examples
        --------
        >>> import pandas as pd, weal
        >>> pool = pd.DataFrame({"temp": [20, 80, 140, 200]}, index=["a", "b", "c", "d"])
        >>> campaign = weal.open_campaign("demo", "memory:", pool=pool, by="ann")
        >>> results = pd.DataFrame({"id": ["a", "b"], "value": [312.5, None]})
        >>> campaign.tell_file(results).counts
        {'told': 1, 'empty': 1}
        """
        from weal.campaign.intake_file import tell_file

        return tell_file(self, source, **how)

    def skip(
        self,
        ids: Any,
        *,
        by: str | None = None,
        note: str | None = None,
        key: str | None = None,
    ) -> None:
        """Leave rows out: not offered until `unskip`, or until a label of theirs is told.

        Parameters
        ----------
        ids : id, or list of ids
            Which rows.
        by : str or None
            Who is at work; None: who opened the campaign.
        note : str or None
            Kept with it.
        key : str or None
            A name of your own for this call: a retry with the same key and the same ids writes
            nothing, and warns of rows that were brought back or labelled since.

        Raises
        ------
        AlreadyLabelled
            Where one has a label.
        ReusedKey
            Where the key was used for other ids, for `unskip` or for labels.
        UnknownId
            Where there is no such row.

        Examples
        --------
        >>> import pandas as pd, weal
        >>> pool = pd.DataFrame({"temp": [20, 80, 140, 200]}, index=["a", "b", "c", "d"])
        >>> campaign = weal.open_campaign("demo", "memory:", pool=pool, by="ann")
        >>> campaign.skip("b", note="cracked")
        >>> "b" in campaign.ask(3)
        False
        """
        for words in skip_rows(self, distinct(ids), True, by or self.who, note, key).values():
            warnings.warn(words, UserWarning, stacklevel=2)

    def unskip(
        self,
        ids: Any,
        *,
        by: str | None = None,
        note: str | None = None,
        key: str | None = None,
    ) -> None:
        """Let skipped rows be offered again.

        Parameters
        ----------
        ids : id, or list of ids
            Which rows.
        by : str or None
            Who is at work; None: who opened the campaign.
        note : str or None
            Kept with it.
        key : str or None
            As in `skip`.

        Raises
        ------
        ReusedKey
            Where the key was used for other ids, for `skip` or for labels.
        UnknownId
            Where there is no such row.
        """
        for words in skip_rows(self, distinct(ids), False, by or self.who, note, key).values():
            warnings.warn(words, UserWarning, stacklevel=2)

    def withdraw(self, ids: Any, *, by: str | None = None, note: str | None = None) -> None:
        """Take back the labels of rows; of rows without one, the lease.

        What was withdrawn stays in the history.

        Parameters
        ----------
        ids : id, or list of ids
            Which rows.
        by : str or None
            Who is at work; None: who opened the campaign.
        note : str or None
            Kept with it.

        Raises
        ------
        UnknownId
            Where there is no such row.
        ValueError
            Where one is neither labelled nor out.

        Examples
        --------
        >>> import pandas as pd, weal
        >>> pool = pd.DataFrame({"temp": [20, 80, 140, 200]}, index=["a", "b", "c", "d"])
        >>> campaign = weal.open_campaign("demo", "memory:", pool=pool, by="ann")
        >>> number = campaign.tell("a", 312.5)
        >>> campaign.withdraw("a", note="wrong sample")
        >>> campaign.ledger.n_labels
        0
        """
        found, who = distinct(ids), by or self.who
        self.transact(lambda book: rules.withdrawn(book, found, who, note))

    def add(self, pool: Any, *, by: str | None = None) -> int:
        """Add candidates, read as the first ones were.

        Parameters
        ----------
        pool : path or frame
            As in `open_campaign`; of a campaign on files, more files.
        by : str or None
            Who is at work; None: who opened the campaign.

        Returns
        -------
        int
            How many were added.

        Raises
        ------
        ValueError
            Where an id is there already, or a column is missing.

        Examples
        --------
        >>> import pandas as pd, weal
        >>> pool = pd.DataFrame({"temp": [20, 80, 140, 200]}, index=["a", "b", "c", "d"])
        >>> campaign = weal.open_campaign("demo", "memory:", pool=pool, by="ann")
        >>> campaign.add(pd.DataFrame({"temp": [260, 320]}, index=["e", "f"]))
        2
        """
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
        """Leave the campaign out of lists, or bring it back; nothing is deleted.

        Parameters
        ----------
        on : bool
            Whether it is hidden from now on.
        by : str or None
            Who is at work; None: who opened the campaign.
        """
        draft = Draft("settings", {"v": VERSION, "changes": {"hidden": on}}, who=by or self.who)
        is_so = bool(self.ledger.settings.get("hidden")) == on
        self.store.transact(self.name, lambda book: [] if is_so else [draft])

    def change(self, *, by: str | None = None, **settings: Any) -> None:
        """Change settings.

        Parameters
        ----------
        by : str or None
            Who is at work; None: who opened the campaign.
        **settings
            acquisition (a name, or a list of names), goal (error at which to stop, or None), lease
            ("3d"), warp (None, "auto" or "asinh"), outliers (whether labels may be wrong).

        Raises
        ------
        ValueError
            Where a setting is unknown, wrong, or cannot change once the campaign has begun (seed,
            n_start, cost).

        Examples
        --------
        >>> import pandas as pd, weal
        >>> pool = pd.DataFrame({"temp": [20, 80, 140, 200]}, index=["a", "b", "c", "d"])
        >>> campaign = weal.open_campaign("demo", "memory:", pool=pool, by="ann")
        >>> campaign.change(goal=5.0, lease="3d")
        >>> campaign.ledger.settings["goal"]
        5.0
        """
        changes = check_changes(settings)
        check_together({**self.ledger.settings, **changes})
        body = {"v": VERSION, "changes": changes}
        draft = Draft("settings", body, who=by or self.who)
        self.store.transact(self.name, lambda book: [draft])
