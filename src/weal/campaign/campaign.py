"""The facade of a campaign: candidates and labels, kept as events in a store.

    with weal.open_campaign("alloys", store="sqlite:///weal.db") as campaign:
        ids = campaign.ask(4)
        campaign.tell(ids[0], 312.5, by="mk", note="batch 7")

Every change is one transaction of the store: when a method returns, it is on disk. `ask` replays
the events through a learner (`replay`); `tell`, `skip` and `withdraw` read neither the candidates
nor a model, and this module imports no numerics. `open_campaign` opens a campaign, or makes it.
"""

import getpass
import os
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast, overload

from weal.campaign import id_lookup, rules
from weal.campaign.config import (
    check_changes,
    check_goal,
    check_together,
    stored_settings,
    with_goal_parts,
)
from weal.campaign.events import settings_body
from weal.campaign.idempotency import content_change, is_repeated, with_key
from weal.campaign.label_input import distinct, entries, names
from weal.campaign.log import CampaignLog
from weal.campaign.plausibility import (
    implausible_message,
)
from weal.campaign.row_rules import decide_withdrawals, decide_words, fail_rows, skip_rows
from weal.campaign.rules import LabelInput, TellResult
from weal.errors import UnknownId, WealError
from weal.progress import Progress
from weal.shards.executors import check_scheduler
from weal.store.events import Draft, check_name
from weal.store.protocol import Store, Transaction, open_store

if TYPE_CHECKING:
    import pandas
    from numpy.typing import ArrayLike

    from weal.campaign.candidate_files import FileCandidates
    from weal.campaign.candidate_report import CandidateReport
    from weal.campaign.earlier_labels import EarlierCampaign
    from weal.campaign.goal_report import BestTable
    from weal.campaign.results_import import ImportArguments, ResultsImport
    from weal.campaign.status import Status
    from weal.campaign.suggestions import LeasedRow
    from weal.diagnostics.contradictions import Contradiction
    from weal.diagnostics.suspects import Suspect
    from weal.goals.protocol import Goal
    from weal.goals.until import Until
    from weal.learner.batch_options import AtMostArgument, RowsArgument, SameArgument
    from weal.learner.run import Run
    from weal.plots.axes import Plots
    from weal.tables.table_options import TableOptions


class Campaign(CampaignLog):
    """A campaign: candidates and labels in a store; `weal.open_campaign` opens one.

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
    log : tuple of Ledger and list of Event, or None
        The campaign as it was just read, so that only newer events are read.

    Raises
    ------
    UnknownCampaign
        If the store has none of that name.

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

    def __repr__(self) -> str:
        from weal.campaign.status_text import line

        return line(self)

    def _repr_html_(self) -> str:
        from weal.campaign.status_text import page

        return page(self)

    def asked(self, ids: Iterable[Any] | None = None) -> list["LeasedRow"]:
        """Leased rows, with their predictions and the reasons for their choice.

        Parameters
        ----------
        ids : list of ids, or None
            Which rows; if None, all that are out now.

        Returns
        -------
        list of LeasedRow
            With `id`, `row` (its cells), `who`, `since`, `until`, what was expected when it was
            asked (`mean`, `sd`, `low`, `high`; None before there was a model), `shares` and
            `scores` of the acquisition functions, labelled rows that are `near`, and `why`.

        Raises
        ------
        ValueError
            If one of these rows is not out.

        Examples
        --------
        >>> import pandas as pd, weal
        >>> pool = pd.DataFrame({"temp": [20, 80, 140, 200]}, index=["a", "b", "c", "d"])
        >>> campaign = weal.open_campaign("demo", "memory:", pool=pool, by="ann")
        >>> name = campaign.ask()
        >>> [row] = campaign.asked()
        >>> row.id == name, row.who, row.why
        (True, 'ann', 'Fills the space before there is a model.')
        """
        from weal.campaign.suggestions import explain

        session = self.read_session()
        leases = session.ledger.leases
        if ids is None:
            return explain(session, session.ledger.open_leases(self.store.now()))
        wanted = names(list(ids))
        if missing := [name for name in wanted if name not in leases]:
            raise ValueError(f"{', '.join(map(repr, missing[:5]))}: not out with anybody")
        return explain(session, [leases[name] for name in wanted])

    def card(self, name: Any) -> "CandidateReport":
        """One row: its inputs, labels, lease, prediction, and why it was asked.

        Parameters
        ----------
        name : id
            Of the row.

        Returns
        -------
        CandidateReport
            With `row` (its cells), `labels`, `skipped`, `who` and `until` of the lease, `mean`,
            `sd`, `low` and `high` as predicted now, `expected` and `why` of its last ask, labelled
            rows that are `near`, and the numbers of its `events`.

        Raises
        ------
        UnknownId
            If there is no such row.

        Examples
        --------
        >>> import pandas as pd, weal
        >>> pool = pd.DataFrame({"temp": [20, 80, 140, 200]}, index=["a", "b", "c", "d"])
        >>> campaign = weal.open_campaign("demo", "memory:", pool=pool, by="ann")
        >>> number = campaign.tell("a", 312.5, note="batch 7")
        >>> [(told.y, told.note) for told in campaign.card("a").labels]
        [(312.5, 'batch 7')]
        """
        from weal.campaign.candidate_report import candidate_report

        [found] = names([name])
        try:
            return candidate_report(self.read_session(), self._events, found, self.store.now())
        except UnknownId as error:
            raise self._suggest_ids(error) from None

    def far_inputs(self, table: Any) -> list[str]:
        """Messages on inputs of new candidates far outside the range of the existing ones.

        Parameters
        ----------
        table : PlannedTable
            New candidates, as `weal.campaign.creation.read_more` reads them.

        Returns
        -------
        list of str
            One line for each such input.
        """
        from weal.campaign.creation import far_inputs

        return far_inputs(self.read_session().pool.plan, table, self.inputs_there())

    def inputs_there(self) -> Any:
        """The inputs (S, d) of the candidates, or of a sample if they are in files.

        Returns
        -------
        array (S, d)
            By the plan of the campaign.
        """
        session = self.read_session()
        candidates, seed = session.state.candidates, session.state.settings.seed
        return candidates.inputs_at(candidates.summary_positions(seed))

    def status(
        self,
        *,
        goal: "Goal | str | float | None" = None,
        until: "Until | str | None" = None,
        progress: Progress | None = None,
    ) -> "Status":
        """The status of the campaign: progress towards its goal, and advice on stopping.

        Parameters
        ----------
        goal : Goal, str, float or None
            What the labels are for, in place of the goal in the settings; a number is an error at
            which to stop, in units of the label.
        until : Until, str or None
            When to stop, such as "error < 6" or "labels = 80", in place of that in the settings;
            "never": no condition.
        progress : function or None
            Called with what is being done, how far it is, and of how much.

        Returns
        -------
        Status
            Counts, error estimates, coverage, what the model believes, and `advice`; `lines()` is
            what ``weal status`` prints, `to_dict()` its JSON.

        Examples
        --------
        >>> import pandas as pd, weal
        >>> pool = pd.DataFrame({"temp": [20, 80, 140, 200]}, index=["a", "b", "c", "d"])
        >>> campaign = weal.open_campaign("demo", "memory:", pool=pool, by="ann")
        >>> number = campaign.tell({"a": 312.5, "b": 320.0})
        >>> found = campaign.status()
        >>> found.candidates, found.labels, found.beliefs is None
        (4, 2, True)
        """
        from weal.campaign import status_cache
        from weal.campaign.status import status

        now, ledger = self.store.now(), self.read_ledger()
        if (kept := status_cache.read(self.store, ledger, goal, until, now)) is not None:
            return kept
        session = self.replay_session()
        found = status(session, goal, until, now, progress)
        with suppress(WealError):  # advice for next time may fail
            session.keep()
        status_cache.keep(self.store, session.ledger, goal, until, found)
        return found

    def best(self, n: int = 10, *, goal: "Goal | str | None" = None) -> "BestTable":
        """The rows that most probably belong to the set of the goal, measured ones included.

        Parameters
        ----------
        n : int
            How many rows.
        goal : Goal, str or None
            Another goal than that of the settings, such as "maximise" or "above 7.5".

        Returns
        -------
        BestTable
            `rows`, the likeliest first; `to_frame()` is a table for pandas, `to_dict()` JSON, and
            `words` say how many rows of the set are still unmeasured.

        Raises
        ------
        ValueError
            If the goal is learn, which has no set.
        WealError
            If there is no model yet.

        Examples
        --------
        >>> import weal
        >>> from weal.samples import alloys, path
        >>> campaign = weal.open_campaign(
        ...     "alloys", "memory:", pool=path("alloys.csv"), id_column="sample",
        ...     target="hardness", goal="maximise",
        ... )
        >>> len(campaign.best(3).rows)
        3
        """
        from weal.campaign.goal_report import best
        from weal.campaign.status import goal_in_force
        from weal.model.checks import check_count

        session = self.read_session()
        wanted, _ = goal_in_force(session.ledger, goal)
        wanted.check_rows(session.ledger.rows)
        return best(session, wanted, check_count(n))

    def suspects(self) -> "list[Suspect]":
        """Labels that are probably wrong, the most surprising first.

        Returns
        -------
        list of Suspect
            With `id`, `label`, what the others make of it, and `words`; none before there is a
            model.
        """
        from weal.campaign.suspect_report import find_suspects

        return list(find_suspects(self.read_session()).labels)

    def contradictions(self) -> "list[Contradiction]":
        """Labels in use that the other labels contradict; nothing is changed.

        These are labels told as sure, runs of equal labels in a row, and labels of one person, one
        day, or one value of a column that is no input, such as an instrument.

        Returns
        -------
        list of Contradiction
            With `kind` ("sure", "run" or "group"), `ids`, the error with these labels and without,
            and `words`; none before there is a model.
        """
        from weal.campaign.contradiction_report import find_contradictions

        return list(find_contradictions(self.read_session()))

    @property
    def plot(self) -> "Plots":
        """Figures on matplotlib axes, such as ``campaign.plot.predicted()``.

        There are learning_curve, predicted, inputs, experts, effect(name) and map(a, b);
        save(folder) writes files. They are those of the quantity that the goal looks at first;
        `plots` has the others.
        """
        return self.plots()

    def plots(self, quantity: str | None = None) -> "Plots":
        """The figures of a quantity, such as ``campaign.plots("purity").predicted()``.

        Parameters
        ----------
        quantity : str or None
            Its name; if None, the one that the goal looks at first. Words have no figures.

        Returns
        -------
        Plots
            As `plot`.
        """
        from weal.campaign.plots import plots

        return plots(self.read_session, quantity)

    def to_frame(self, what: str = "labels") -> "pandas.DataFrame":
        """A table of labels, predictions, candidates or events.

        Parameters
        ----------
        what : {"labels", "predictions", "candidates", "events"}
            What ``weal export`` writes.

        Returns
        -------
        pandas.DataFrame
            Its columns are those of the exported files.

        Raises
        ------
        ValueError
            If there is no such table, pandas is not installed, or candidates are in files and
            too many for one table.

        Examples
        --------
        >>> import pandas as pd, weal
        >>> pool = pd.DataFrame({"temp": [20, 80, 140, 200]}, index=["a", "b", "c", "d"])
        >>> campaign = weal.open_campaign("demo", "memory:", pool=pool, by="ann")
        >>> number = campaign.tell({"a": 312.5, "b": 320.0})
        >>> campaign.to_frame()[["id", "label", "by"]].to_dict("list")
        {'id': ['a', 'b'], 'label': [312.5, 320.0], 'by': ['ann', 'ann']}
        """
        from weal.campaign.export import frame

        return frame(self, what)

    def predict(
        self,
        table: Any,
        *,
        id_column: str | None = None,
        level: float = 0.9,
        sheet: str | None = None,
        header: int | None = None,
        quantity: str | None = None,
    ) -> "pandas.DataFrame":
        """Predict rows that are not candidates.

        They are read as the candidates were, and nothing is written. A warning says what may not be
        meant: columns that are passed over, levels never seen before, inputs far outside those of
        the campaign.

        Parameters
        ----------
        table : path or frame
            Rows with the columns that the campaign learns from, as in `open_campaign`.
        id_column : str or None
            Column with their ids; if None, that of the campaign where there is one, or the index of
            a pandas frame. Rows need no ids: they are then called row 1, row 2, ...
        level : float
            Probability with which the interval holds a label.
        sheet : str or None
            Of an Excel file; if None, the first.
        header : int or None
            The line of a file that names the columns; if None, it is found.
        quantity : str or None
            The quantity to predict; if None, all.

        Returns
        -------
        pandas.DataFrame
            A row for each, in their order: `id`, `mean` and `sd` of the function, `low` and `high`
            of a label, as in ``to_frame("predictions")``; `P(word)` of words, and `P(works)` once
            runs have failed. Columns of several quantities begin with the name of the quantity.

        Raises
        ------
        ValueError
            If a column is missing, a cell cannot be read, or there are no rows.
        WealError
            If there are too few labels for a model.

        Examples
        --------
        >>> import pandas as pd, weal
        >>> pool = pd.DataFrame({"temp": [20, 80, 140, 200]}, index=["a", "b", "c", "d"])
        >>> campaign = weal.open_campaign("demo", "memory:", pool=pool, by="ann", n_start=3)
        >>> number = campaign.tell({"a": 312.5, "b": 320.0, "d": 340.0})
        >>> found = campaign.predict(pd.DataFrame({"temp": [50, 110]}))
        >>> found.columns.tolist(), found["id"].tolist()
        (['id', 'mean', 'sd', 'low', 'high'], ['row 1', 'row 2'])
        """
        from weal.campaign.predict import frame_of, predict

        found = predict(self, table, id_column, level, sheet, header, quantity=quantity)
        _warn(found.notes)
        return frame_of(found.columns())

    def candidate_ids(self) -> list[str]:
        """The ids of all candidates.

        Returns
        -------
        list of str
            In the order in which they were added.

        Raises
        ------
        ValueError
            If they are in files, and too many for a list.
        """
        return id_lookup.candidate_ids(self)

    def columns(self) -> tuple[str, ...]:
        """The names of the columns that candidates came with.

        Returns
        -------
        tuple of str
            That of the ids, and those that nothing is learnt from, included.
        """
        return id_lookup.columns(self)

    def preview(self, source: object, **how: "Unpack[ImportArguments]") -> "ResultsImport":
        """The action of `tell_file` for each line of these results; nothing is written.

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
        ResultsImport
            As of `tell_file`, with `event` 0; what cannot be taken is in `problems` and in the rows
            that are "refused".

        Raises
        ------
        ValueError
            If the file cannot be read at all.

        Examples
        --------
        >>> import pandas as pd, weal
        >>> pool = pd.DataFrame({"temp": [20, 80, 140, 200]}, index=["a", "b", "c", "d"])
        >>> campaign = weal.open_campaign("demo", "memory:", pool=pool, by="ann")
        >>> results = pd.DataFrame({"id": ["a", "x"], "value": [312.5, 320.0]})
        >>> [(row.id, row.action) for row in campaign.preview(results).rows]
        [('a', 'told'), ('x', 'refused')]
        """
        from weal.campaign.results_import import preview

        return preview(self, source, **how)

    def worksheet(self, ids: Any, to: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write a worksheet of leased rows, to be filled in and imported with `tell_file`.

        Parameters
        ----------
        ids : id, list of ids, or None
            Which rows; if None, all that are out now.
        to : path
            A file that ends in .csv, .tsv or .xlsx.
        force : bool
            Whether a file that is there is replaced.

        Returns
        -------
        pathlib.Path
            The file.

        Raises
        ------
        ValueError
            If no row is out, one of these is not, the file is there, or its ending is another.
        """
        from weal.campaign.export import check_worksheet, write_worksheet

        place = check_worksheet(to, force)
        rows = self.asked(None if ids is None else distinct(ids))
        if not rows:
            raise ValueError(f"no row of {self.name} is out: ask for some first")
        ledger = self.last_ledger  # `asked` has read it
        write_worksheet(rows, ledger, place, force)
        return place

    @overload
    def ask(
        self,
        n: None = None,
        *,
        by: str | None = None,
        lease: str | float | None = None,
        check: bool = False,
        key: str | None = None,
        repeats: bool = True,
        same: "SameArgument" = None,
        at_most: "AtMostArgument" = None,
        where: str | None = None,
        instead_of: "RowsArgument" = None,
        rows: "RowsArgument" = None,
    ) -> str: ...
    @overload
    def ask(
        self,
        n: int,
        *,
        by: str | None = None,
        lease: str | float | None = None,
        check: bool = False,
        key: str | None = None,
        repeats: bool = True,
        same: "SameArgument" = None,
        at_most: "AtMostArgument" = None,
        where: str | None = None,
        instead_of: "RowsArgument" = None,
        rows: "RowsArgument" = None,
    ) -> list[str]: ...
    def ask(
        self,
        n: int | None = None,
        *,
        by: str | None = None,
        lease: str | float | None = None,
        check: bool = False,
        key: str | None = None,
        repeats: bool = True,
        same: "SameArgument" = None,
        at_most: "AtMostArgument" = None,
        where: str | None = None,
        instead_of: "RowsArgument" = None,
        rows: "RowsArgument" = None,
    ) -> str | list[str]:
        """The id of the row to measure next, or the ids of a batch.

        Rows that were asked are out with who asked until their label comes or the lease ends, so
        that each ask offers others. An `ActiveLearner`, which works for one person, says the same
        again while there is no news.

        Parameters
        ----------
        n : int or None
            How many; if None, as many as `rows`, or as `instead_of`; else one, and its id is
            returned by itself.
        by : str or None
            Who is at work; if None, who opened the campaign.
        lease : str, float or None
            How long they are out: "3d", "12h", or seconds; if None, as the campaign's settings say.
        check : bool
            Whether rows are drawn at random, for an honest test of the predictions.
        key : str or None
            A name of your own for this call: a retry with the same key gives the rows of the first
            call and asks for none, whatever became of them. So a program that was killed before it
            had the answer can ask again. The key belongs to the number of rows, to `by`, `check`,
            the options below and, where it is given, to `lease`.
        repeats : bool
            Whether a row that has a label may be asked again, where noise hides whether it belongs
            to the set of the goal, or where its label may be wrong. The setting `repeats` False
            forbids it for all. While the row is out, `tell` adds its label to the others.
        same : str, list of str, or None
            A column with one value in the whole batch, or several: a factor that is hard to change,
            such as the temperature of a plate. The value is that of the best joint batch. Only
            values that n free rows have are compared.
        at_most : dict of str to int, or None
            By column, how many different values the batch may hold: ``{"solvent": 4}`` is a batch
            with four solvents at the most, and any number of rows of each.
        where : str or None
            A condition on columns of the table that every row of the batch satisfies, such as
            ``"solvent is THF and temp < 90"``.
        instead_of : id, list of ids, or None
            Rows that are out with this person and come back: others are asked in their place, in
            one transaction. A later ask may offer them again; `skip` prevents it.
        rows : id, list of ids, or None
            Rows to include. They count among n, come first, and satisfy the other options too.

        Returns
        -------
        str, or list of str
            One id without `n`; a list of n ids with it.

        Raises
        ------
        Exhausted
            If fewer rows are left than are wanted, or than the options allow.
        Conflict
            If others were faster, again and again.
        ReusedKey
            If the key was used for another call of `ask`, or by another user.
        ValueError
            If an option names a column, value or row that is none.

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

        >>> pool = pd.DataFrame({"temp": [20, 20, 20, 90, 90, 90]}, index=list("abcdef"))
        >>> campaign = weal.open_campaign("plates", "memory:", pool=pool, by="ann")
        >>> plate = campaign.ask(2, same="temp")
        >>> pool.temp[plate].nunique()
        1
        >>> [other] = campaign.ask(instead_of=plate[0])  # the sample is lost
        >>> sorted(row.id for row in campaign.asked()) == sorted([plate[1], other])
        True
        """
        from weal.campaign.suggestions import ask
        from weal.learner.batch_options import read_options

        back = None if instead_of is None else distinct(instead_of)
        options = read_options(same, at_most, where, back, None if rows is None else distinct(rows))
        call = (n, by or self.who, lease, check, key)
        ids = ask(self, self.read_ledger(), *call, repeats=repeats, options=options)
        if self.last_ledger.settings.get("budget") is not None:
            from weal.campaign.budget import beyond_budget

            _warn(beyond_budget(self.replay_session(), self.store.now()))
        return ids[0] if n is None and not (options.rows or options.instead_of) else ids

    def ask_for(self, ids: Any, *, by: str | None = None, lease: Any = None) -> list[str]:
        """Lease these rows, whatever the learner would choose.

        All are taken, or none.

        Parameters
        ----------
        ids : id, or list of ids
            Which rows.
        by : str or None
            Who is at work; if None, who opened the campaign.
        lease : str, float or None
            As in `ask`.

        Returns
        -------
        list of str
            Their ids.

        Raises
        ------
        AlreadyLabelled
            If one has a label.
        Conflict
            If one is leased already.
        UnknownId
            If there is no such row.
        ValueError
            If one is skipped.
        """
        from weal.campaign.suggestions import ask_for

        return ask_for(self, distinct(ids), by or self.who, lease)

    @overload
    def tell(
        self,
        ids: Mapping[Any, Any],
        labels: None = None,
        *,
        noise: "ArrayLike | None" = None,
        by: str | None = None,
        note: str | None = None,
        sure: bool = False,
        replace: bool = False,
        repeat: bool = False,
        key: str | None = None,
    ) -> int: ...
    @overload
    def tell(
        self,
        ids: Hashable | Iterable[Any],
        labels: "ArrayLike | str | Mapping[str, Any] | Sequence[Any]",
        *,
        noise: "ArrayLike | Mapping[str, Any] | None" = None,
        by: str | None = None,
        note: str | None = None,
        sure: bool = False,
        replace: bool = False,
        repeat: bool = False,
        key: str | None = None,
    ) -> int: ...
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
        """Save the labels of a row, or of several rows.

        When it returns, the label is on disk. The same label again changes nothing. Either all is
        taken or nothing. A label far from what was expected, or, where nothing was, from the labels
        so far, is kept as any other; a warning says so.

        Parameters
        ----------
        ids : id, list of ids, or dict of id to label
            Whose labels they are; rows need not have been asked.
        labels : label, dict of quantity to label, list of these, or None
            As many as ids; None where `ids` is a dict. A campaign with several quantities names
            them: ``{"yield": 82.1, "crystallised": "yes"}``. The others can be told later.
        noise : float, dict of quantity to float, list of these, or None
            Standard deviation of what is known of a label's noise, in its units.
        by : str or None
            Who is at work; if None, who opened the campaign.
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
            If another label is there, without `replace` or `repeat`.
        ReusedKey
            If the key was used for other content.
        UnknownId
            If there is no such row.
        ValueError
            If a label cannot be read, a quantity is not known, or numbers of ids and labels
            differ.

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
        found = entries(self.read_quantities(), ids, labels, noise, note, sure)
        kept = self.tell_entries(found, by=by, replace=replace, repeat=repeat, key=key)
        _warn(
            [*(implausible_message(*one) for one in kept.reasons), *kept.superseded, *kept.unclear]
        )
        return kept.seq

    def tell_entries(
        self,
        entries: Sequence[LabelInput],
        *,
        by: str | None = None,
        replace: bool = False,
        repeat: bool = False,
        key: str | None = None,
    ) -> TellResult:
        """Save labels that were checked already (`tell`).

        Parameters
        ----------
        entries : list of LabelInput
            Each with `id`, `y`, `noise`, `note` and `sure`.
        by : str or None
            Who is at work; if None, who opened the campaign.
        replace : bool
            As in `tell`.
        repeat : bool
            As in `tell`.
        key : str or None
            As in `tell`.

        Returns
        -------
        TellResult
            `seq`, the number of the last event; how many labels were `new`; and `doubts`, a line on
            each label that is far from its prediction, or far from the labels so far.

        Raises
        ------
        AlreadyLabelled
            As in `tell`.
        ReusedKey
            As in `tell`.
        UnknownId
            If there is no such row.
        ValueError
            If there is no entry, or both `replace` and `repeat`.
        """
        who = by or self.who
        return rules.tell_labels(self, entries, who, replace, repeat, key)

    def tell_file(self, source: object, **how: "Unpack[ImportArguments]") -> "ResultsImport":
        """Save the labels of a results file, all or none.

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
        ResultsImport
            What became of each line (`rows`, with `line`, `id`, `action`, `value` and `message`;
            `counts` of the actions), `notes` on the file, and the number of the last `event`.

        Raises
        ------
        AlreadyLabelled
            If another label is there, without `replace` or `repeat`.
        ReusedKey
            If the key was used for other content; `failed` in place of a value is content too.
        UnknownId
            If a line is of no row of this campaign.
        ValueError
            If a line, or the file, cannot be taken. The message names each line.

        Examples
        --------
        >>> import pandas as pd, weal
        >>> pool = pd.DataFrame({"temp": [20, 80, 140, 200]}, index=["a", "b", "c", "d"])
        >>> campaign = weal.open_campaign("demo", "memory:", pool=pool, by="ann")
        >>> results = pd.DataFrame({"id": ["a", "b"], "value": [312.5, None]})
        >>> campaign.tell_file(results).counts
        {'told': 1, 'empty': 1}
        """
        from weal.campaign.results_import import tell_file

        return tell_file(self, source, **how)

    def fail(
        self,
        ids: Any,
        *,
        by: str | None = None,
        note: str | None = None,
        accident: bool = False,
        replace: bool = False,
        key: str | None = None,
    ) -> int:
        """Tell that the runs of rows failed: nothing could be measured.

        A failure is a label of the quantity "worked": rows that probably fail are asked less. A
        label that is told later replaces it.

        Parameters
        ----------
        ids : id, or list of ids
            Which rows.
        by : str or None
            Who is at work; if None, who opened the campaign.
        note : str or None
            Kept with it.
        accident : bool
            Whether the reason says nothing about the row, such as a power cut: the row is skipped,
            and nothing is learnt from it. A failure that was told before becomes an accident.
        replace : bool
            Whether labels of these rows are withdrawn; a row with a label has worked.
        key : str or None
            As in `tell`.

        Returns
        -------
        int
            The number of the last event.

        Raises
        ------
        AlreadyLabelled
            If one has a label, without `replace`.
        ReusedKey
            If the key was used for other content.
        UnknownId
            If there is no such row.

        Examples
        --------
        >>> import pandas as pd, weal
        >>> pool = pd.DataFrame({"temp": [20, 80, 140, 200]}, index=["a", "b", "c", "d"])
        >>> campaign = weal.open_campaign("demo", "memory:", pool=pool, by="ann")
        >>> number = campaign.fail("d", note="stirrer stopped")
        >>> list(campaign.read_ledger().failures.labels)
        ['d']
        """
        who = by or self.who
        found = fail_rows(self, distinct(ids), who, note, accident, replace, key)
        _warn(found.messages)
        return found.seq

    def skip(
        self,
        ids: Any,
        *,
        by: str | None = None,
        note: str | None = None,
        key: str | None = None,
    ) -> None:
        """Skip rows: they are not suggested until `unskip`, or until they get a label.

        Parameters
        ----------
        ids : id, or list of ids
            Which rows.
        by : str or None
            Who is at work; if None, who opened the campaign.
        note : str or None
            Kept with it.
        key : str or None
            A name of your own for this call: a retry with the same key and the same ids writes
            nothing, and warns of rows that were brought back or labelled since.

        Raises
        ------
        AlreadyLabelled
            If one has a label.
        ReusedKey
            If the key was used for other ids, for `unskip` or for labels.
        UnknownId
            If there is no such row.

        Examples
        --------
        >>> import pandas as pd, weal
        >>> pool = pd.DataFrame({"temp": [20, 80, 140, 200]}, index=["a", "b", "c", "d"])
        >>> campaign = weal.open_campaign("demo", "memory:", pool=pool, by="ann")
        >>> campaign.skip("b", note="cracked")
        >>> "b" in campaign.ask(3)
        False
        """
        _warn(skip_rows(self, distinct(ids), True, by or self.who, note, key).values())

    def unskip(
        self,
        ids: Any,
        *,
        by: str | None = None,
        note: str | None = None,
        key: str | None = None,
    ) -> None:
        """Allow skipped rows to be suggested again.

        Parameters
        ----------
        ids : id, or list of ids
            Which rows.
        by : str or None
            Who is at work; if None, who opened the campaign.
        note : str or None
            Kept with it.
        key : str or None
            As in `skip`.

        Raises
        ------
        ReusedKey
            If the key was used for other ids, for `skip` or for labels.
        UnknownId
            If there is no such row.
        """
        _warn(skip_rows(self, distinct(ids), False, by or self.who, note, key).values())

    def withdraw(
        self,
        ids: Any,
        *,
        by: str | None = None,
        note: str | None = None,
        event: int | None = None,
        quantity: str | None = None,
        key: str | None = None,
    ) -> None:
        """Withdraw the labels and failures of rows, or the lease of rows without a label.

        A row that this person has for a repeat is given back, and keeps its label: withdraw it once
        more to withdraw the label. What was withdrawn stays in the history.

        Parameters
        ----------
        ids : id, or list of ids
            Which rows.
        by : str or None
            Who is at work; if None, who opened the campaign.
        note : str or None
            Kept with it.
        event : int or None
            Number of the event of one label of one row: other labels of the row stay. If None, all.
        quantity : str or None
            The quantity whose labels are withdrawn; "failed": the failure of the row. If None, all.
        key : str or None
            A name of your own for this call: a retry with the same key and the same rows, event and
            quantity writes nothing.

        Raises
        ------
        ReusedKey
            If the key was used for other content.
        UnknownId
            If there is no such row.
        ValueError
            If one is neither labelled nor out, or the label of the event is not there.

        Examples
        --------
        >>> import pandas as pd, weal
        >>> pool = pd.DataFrame({"temp": [20, 80, 140, 200]}, index=["a", "b", "c", "d"])
        >>> campaign = weal.open_campaign("demo", "memory:", pool=pool, by="ann")
        >>> number = campaign.tell("a", 312.5)
        >>> campaign.withdraw("a", note="wrong sample")
        >>> campaign.read_ledger().n_labels
        0
        """
        found, who = distinct(ids), by or self.who
        self.transact(lambda tx: decide_withdrawals(tx, found, who, note, event, quantity, key))

    def add(
        self, pool: Any, *, by: str | None = None, options: "TableOptions | None" = None
    ) -> int:
        """Add candidates, read like the first ones.

        Parameters
        ----------
        pool : path or frame
            As in `open_campaign`; of a campaign on files, more files.
        by : str or None
            Who is at work; if None, who opened the campaign.
        options : TableOptions or None
            The sheet and the line of the header, where they are not found by themselves.

        Returns
        -------
        int
            How many were added.

        Raises
        ------
        ValueError
            If an id is there already, or a column is missing.

        Examples
        --------
        >>> import pandas as pd, weal
        >>> pool = pd.DataFrame({"temp": [20, 80, 140, 200]}, index=["a", "b", "c", "d"])
        >>> campaign = weal.open_campaign("demo", "memory:", pool=pool, by="ann")
        >>> campaign.add(pd.DataFrame({"temp": [260, 320]}, index=["e", "f"]))
        2
        """
        from weal.campaign.candidate_files import is_in_files
        from weal.campaign.creation import add, add_files

        session = self.read_session()
        ledger = session.ledger
        if ledger.shards:
            there = cast("FileCandidates", session.pool)
            return add_files(self.store, ledger, pool, there, by or self.who)
        if is_in_files(pool):
            raise ValueError(
                f"the candidates of {self.name!r} are in its store: add one file or frame at a "
                "time, or begin a campaign with the pattern or folder"
            )
        if not ledger.numbered:
            from weal.tables.frames import with_ids  # numpy

            pool, _ = with_ids(pool, None, wanted=ledger.id_column)
        like = session.state.candidates.inputs_at(slice(None))
        made = add(self.store, ledger, pool, like, by or self.who, options)
        return len(made.table)

    def refine(self, n: int = 100, *, by: str | None = None) -> list[str]:
        """Add candidates near those that would be asked next, within the box of the campaign.

        For a campaign on `weal.box`, or of `weal new --box`: the new rows keep to its bounds,
        mixtures and constraints.

        Parameters
        ----------
        n : int
            How many.
        by : str or None
            Who is at work; if None, who opened the campaign.

        Returns
        -------
        list of str
            Ids of the candidates that were added.

        Raises
        ------
        ValueError
            If there are too few labels for a model; where the candidates came from a table without
            a box, or next to no row near the promising ones satisfies the constraints.

        Examples
        --------
        >>> import weal
        >>> pool = weal.box({"x": (0, 1), "y": (0, 1)}, n=50, constraint="x + y <= 1")
        >>> campaign = weal.open_campaign("demo", "memory:", pool=pool, by="ann")
        >>> run = campaign.run(lambda row: row["x"] * row["y"], 10)
        >>> campaign.refine(5)
        ['51', '52', '53', '54', '55']
        """
        from weal.campaign.box_candidates import refine

        while True:  # once, unless others add candidates at the same moment
            session = self.read_session()
            rows = session.ledger.rows
            try:
                return refine(session, n, by or self.who)
            except ValueError:
                if self.read_ledger().rows == rows:
                    raise

    def run(
        self,
        oracle: Callable[[Any], Any],
        n: int,
        *,
        workers: int = 1,
        timeout: float | None = None,
        by_id: bool = False,
        on_failure: str = "raise",
        until: "Until | str | None" = None,
        max_cost: float | None = None,
        by: str | None = None,
        callback: Callable[[Any, Hashable, float], object] | None = None,
        progress: bool | None = None,
    ) -> "Run":
        """Ask, measure with `oracle`, and tell, up to n times; every label is in the store at once.

        Ctrl-C, or an oracle that raises, loses no label. Rows that were asked and not measured are
        given back. The run ends before the budget of the campaign is exceeded.

        Parameters
        ----------
        oracle : function
            Gets the row of a candidate as a dict, and returns its label, or a dict of labels by
            quantity.
        n : int
            How many labels at the most.
        workers : int
            How many rows are measured at the same time, each by a call of the oracle in a thread.
        timeout : float or None
            Seconds within which the oracle gives a label; as in `ActiveLearner.run`.
        by_id : bool
            Whether the oracle gets ids in place of rows.
        on_failure : {"raise", "skip", "fail"}
            What happens where the oracle raises, gives NaN or exceeds `timeout`: the run ends with
            the error; the row is skipped, or told as failed, with the error as its note. Of a dict,
            quantities that are NaN or None were not measured, and the others are told. A result
            that cannot be read, such as a label of an unknown quantity, always ends the run.
        until : Until, str or None
            The run ends when this is met; if None, as the campaign's settings say.
        max_cost : float or None
            The run ends for "cost" before a row whose cost no longer fits; if None, as far as the
            budget of the campaign allows.
        by : str or None
            Who is at work; if None, who opened the campaign.
        callback : function or None
            Called with campaign, id and label after every label.
        progress : bool or None
            Whether a bar is drawn on standard error; if None, where that is a terminal.

        Returns
        -------
        Run
            As of `ActiveLearner.run`.

        Raises
        ------
        ValueError
            If an argument is wrong, the oracle gives no label, or it cannot be sent to a
            process.

        Examples
        --------
        >>> import weal
        >>> pool = weal.box({"x": (0, 1), "y": (0, 1)}, n=50, constraint="x + y <= 1")
        >>> campaign = weal.open_campaign("demo", "memory:", pool=pool, by="ann", budget=12)
        >>> run = campaign.run(lambda row: row["x"] * row["y"], 20, workers=2)
        >>> run.reason, run.labels
        ('cost', 12)
        """
        from weal.campaign.run import run_campaign
        from weal.learner.oracle import Oracle

        measures = Oracle(oracle, by_id, None, on_failure, workers, timeout)
        who = by or self.who
        return run_campaign(self, measures, n, who, until, max_cost, callback, progress)

    def widget(self) -> Any:
        """The bench of the campaign in a notebook: ask for rows, type their labels, undo.

        It shows the rows of the person who opened the campaign. Labels typed there are in the store
        at once, and labels told elsewhere appear there. Needs the extra: ``pip install
        'weal[widget]'``.

        Returns
        -------
        anywidget.AnyWidget
            The same one each time; a notebook shows it where it is the value of a cell.

        Raises
        ------
        ImportError
            If the extra is not installed.

        Examples
        --------
        >>> import pandas as pd, weal
        >>> pool = pd.DataFrame({"temp": [20, 80, 140, 200]}, index=["a", "b", "c", "d"])
        >>> campaign = weal.open_campaign("demo", "memory:", pool=pool, by="ann")
        >>> campaign.widget()  # doctest: +SKIP
        """
        from weal.campaign.notebook_bench import CampaignBench
        from weal.widget.widget import widget_of

        return widget_of(self, lambda: CampaignBench(self))

    def add_words(self, quantity: str, *words: str, by: str | None = None) -> None:
        """Add words to a quantity of classes or grades, such as a class never seen before.

        Parameters
        ----------
        quantity : str
            Its name.
        *words : str
            New classes; new grades come after, and above, those that there are.
        by : str or None
            Who is at work; if None, who opened the campaign.

        Raises
        ------
        ValueError
            If there is no such quantity, or it has no classes or grades.
        """
        who = by or self.who
        self.transact(lambda tx: decide_words(tx, quantity, words, who))

    @property
    def title(self) -> str | None:
        """The title that people read in place of the name; None: the name itself.

        `change(title="...")` changes it. The events are read where this object has read none yet.
        """
        return (self._ledger if self._ledger.seq else self.read_ledger()).title

    def copy(
        self, name: str, *, labels: bool = True, by: str | None = None, key: str | None = None
    ) -> "Campaign":
        """Copy the campaign within its store: candidates, settings and labels.

        The copy gives the same predictions. Rows that are out, the title and whether the campaign
        is archived are not copied. Labels keep who told them, and when.

        Parameters
        ----------
        name : str
            Of the copy.
        labels : bool
            Whether labels, failures and skipped rows are copied.
        by : str or None
            Who is at work; if None, who opened the campaign.
        key : str or None
            A name of your own for this call: a retry with the same key copies nothing again.

        Returns
        -------
        Campaign
            The copy. `read_ledger().copied_from` names this campaign and its last event.

        Raises
        ------
        CampaignExists
            If there is a campaign of that name.

        Examples
        --------
        >>> import pandas as pd, weal
        >>> pool = pd.DataFrame({"temp": [20, 80, 140, 200]}, index=["a", "b", "c", "d"])
        >>> campaign = weal.open_campaign("demo", "memory:", pool=pool, by="ann")
        >>> number = campaign.tell("a", 312.5)
        >>> campaign.copy("again")
        <Campaign 'again': 4 candidates, 1 label; memory:>
        >>> campaign.copy("new", labels=False)
        <Campaign 'new': 4 candidates, 0 labels; memory:>
        """
        from weal.campaign.campaign_copy import copy_campaign

        who = by or self.who
        copy_campaign(self, name, who, labels, key)
        return Campaign(name, self.store, who, scheduler=self.scheduler, progress=self.progress)

    def archive(self, on: bool = True, *, by: str | None = None) -> None:
        """Archive the campaign, or open it again; nothing is deleted.

        An archived campaign is left out of lists and asks for no rows. Labels can still be told.

        Parameters
        ----------
        on : bool
            Whether it is archived from now on.
        by : str or None
            Who is at work; if None, who opened the campaign.

        Examples
        --------
        >>> import pandas as pd, weal
        >>> pool = pd.DataFrame({"temp": [20, 80, 140, 200]}, index=["a", "b", "c", "d"])
        >>> campaign = weal.open_campaign("demo", "memory:", pool=pool, by="ann")
        >>> campaign.archive()
        >>> campaign.read_ledger().is_archived
        True
        """
        draft = Draft("settings", settings_body({"hidden": on, "archived": on}), who=by or self.who)
        ledger = self.read_ledger()
        is_so = ledger.is_archived if on else not ledger.is_hidden
        self.transact(lambda _: [] if is_so else [draft])

    def change(self, *, by: str | None = None, key: str | None = None, **settings: Any) -> None:
        """Change settings.

        Parameters
        ----------
        by : str or None
            Who is at work; if None, who opened the campaign.
        key : str or None
            A name of your own for this call: a retry with the same key and the same settings
            writes nothing.
        **settings
            acquisition (a name, or a list of names), goal ("learn", or a list of two), subject_to
            (["purity >= 95"]; [] for none), weights ({"purity": 2}), until ("error < 6", or
            None), lease ("3d"), warp (None, "auto" or "asinh"), outliers (whether labels may be
            wrong), repeats (whether a measured row may be asked again), budget (what labels may
            cost, or None), title (that people read in place of the name, or None).

        Raises
        ------
        ValueError
            If a setting is unknown, wrong, or cannot change once the campaign has begun (seed,
            n_start, cost).

        Examples
        --------
        >>> import pandas as pd, weal
        >>> pool = pd.DataFrame({"temp": [20, 80, 140, 200]}, index=["a", "b", "c", "d"])
        >>> campaign = weal.open_campaign("demo", "memory:", pool=pool, by="ann")
        >>> campaign.change(until="error < 5", lease="3d")
        >>> campaign.read_ledger().settings["until"]
        'error < 5'
        """
        ledger = self.read_ledger()
        changes = check_changes(with_goal_parts(settings, ledger.settings["goal"]))
        check_together({**ledger.settings, **changes})
        measured = [one.quantity for one in ledger.quantities.values()]
        check_goal(changes, ledger.rows, measured, ledger.column_names)
        stored = stored_settings(changes, ledger.settings.get("until"))
        draft = Draft("settings", settings_body(stored), who=by or self.who)
        content = [content_change("settings", stored)]

        def decide(tx: Transaction) -> list[Draft]:
            return [] if is_repeated(tx, key, content) else with_key([draft], key, content)

        self.transact(decide)


def _read_earlier(like: "str | Campaign", place: Store, who: str) -> "EarlierCampaign":
    from weal.campaign.earlier_labels import read_earlier

    return read_earlier(Campaign(like, place, who) if isinstance(like, str) else like)


def open_campaign(
    name: str,
    store: str | os.PathLike[str] | Store | None = None,
    *,
    pool: Any = None,
    id_column: str | None = None,
    target: str | Sequence[str] | None = None,
    features: Any = "auto",
    types: dict[str, str] | None = None,
    missing: dict[str, Sequence[str]] | None = None,
    also_inputs: Sequence[str] = (),
    same: dict[str, dict[str, str]] | None = None,
    units: dict[str, str] | None = None,
    decimal: str | dict[str, str] | None = None,
    sheet: str | None = None,
    header: int | None = None,
    ranges: Mapping[str, tuple[float | None, float | None]] | None = None,
    like: "str | Campaign | None" = None,
    by: str | None = None,
    copy: bool = False,
    scheduler: Any = None,
    progress: Any = None,
    **settings: Any,
) -> Campaign:
    """Open the campaign of this name; with `pool`, create it if it does not exist.

    Parameters
    ----------
    name : str
        Of the campaign.
    store : str, path, Store or None
        Where it is kept: sqlite:///weal.db, postgresql://user@host/database or memory: ; if None,
        what WEAL_STORE says, else sqlite:///weal.db.
    pool : path, frame or None
        Table of candidates: CSV, TSV, Parquet or Excel file; pandas, polars or pyarrow frame. A
        pattern of Parquet files, a folder of them or a pool of `weal.open_pool` stays where it
        is: the store keeps names, sizes and hashes of the files, not their rows.
    id_column : str or None
        Column with the ids. If None, the index of a pandas frame, where it does not just count the
        rows; else rows are numbered 1, 2, 3, ...
    target : str, list of str, or None
        What is measured; labels that a column of that name has already are taken. Several are
        measured together: each row may have some of them, and get the others later.
    features : list of str, or "auto"
        Columns to learn from; "auto": all that can be.
    types : dict of column to type, or None
        What a column is, where we would guess wrong: {"made": "day-first"}. Of a target:
        "number", "pass:ja,nein", "ordered:low,medium,high" or "classes:a,b,c".
    missing : dict of column to texts, or None
        Further texts that stand for a missing cell, as {"pressure": ["<0.5"]}.
    also_inputs : list of str
        Columns to learn from although they are filled only where the target is.
    same : dict of column to {spelling: level}, or None
        Other spellings of categories: {"solvent": {"Toluol": "toluol"}}.
    units : dict of column to unit, or None
        The unit of a column of numbers; cells in other units are converted: {"volume": "mL"}.
    decimal : "comma", "point", dict of column to one of these, or None
        The decimal mark, where 1,234 could be either.
    sheet : str or None
        Sheet of a workbook; if None, the one with the named columns.
    header : int or None
        Line of the column names; if None, it is found.
    ranges : dict of the target to (low, high), or None
        Bounds of the labels, None for no bound; intervals stay inside, and labels outside are
        doubted: {"yield": (0, 100)}. A percentage has these bounds without it.
    like : str, Campaign or None
        An earlier campaign, by name if it is in the same store. Its targets are measured where
        `target` names none, and its labels are a quantity of their own, whose predictions are an
        input of the models where that helps.
    by : str or None
        Who is at work; if None, WEAL_WHO, else the name of the account.
    copy : bool
        Whether the store is to keep the rows of candidates in many files too.
    scheduler : str, distributed.Client or None
        Who does passes over such files; see `weal.ActiveLearner`.
    progress : function or None
        Called with what is being done, how many rows are done, and of how many.
    **settings
        Of a new campaign: acquisition, lease ("7d"), goal ("learn"), until ("error < 6"), n_start,
        seed, warp, outliers, cost (a column: what is gained by a label is divided by it), budget
        (what all labels may cost, in units of that column; without one, their number).

    Returns
    -------
    Campaign
        Open; close it, or use it in a ``with`` block.

    Raises
    ------
    UnknownCampaign
        If the store has none of that name, and no `pool` was given.
    ValueError
        If the table, a column, a setting or the name of the store cannot be.
    WealError
        If the store cannot be reached, or is of a newer weal.

    Examples
    --------
    >>> import weal
    >>> from weal.samples import alloys, path
    >>> with weal.open_campaign(
    ...     "alloys", "memory:", pool=path("alloys.csv"), id_column="sample", target="hardness"
    ... ) as campaign:
    ...     ids = campaign.ask(4)
    ...     number = campaign.tell(ids[0], alloys.measure(ids[0]), by="mk", note="batch 7")
    ...     campaign.read_ledger().n_labels
    13
    """
    check_scheduler(scheduler)
    named = store is None or isinstance(store, str | os.PathLike)
    place: Store = open_store(store) if named else store  # type: ignore[arg-type,assignment]
    name, who = check_name(name), by or account()
    try:
        if pool is not None and name not in place.campaigns():
            from weal.campaign.candidate_files import is_in_files
            from weal.campaign.creation import create
            from weal.shards.dask_executor import choose_executor
            from weal.tables.design_file import box_of_frame
            from weal.tables.table_options import TableOptions, check_features, decimal_marks

            id_column = None if id_column is None else str(id_column)
            targets = [target] if isinstance(target, str) else list(target or ())
            box = box_of_frame(pool, getattr(pool, "columns", ()))
            if not is_in_files(pool):
                from weal.tables.frames import with_ids  # numpy

                pool, id_column = with_ids(pool, id_column)
            options = TableOptions(
                id_column, next(iter(targets), None), check_features(features),
                types or {}, tuple(also_inputs), same or {}, units or {}, decimal_marks(decimal),
                missing or {}, sheet, header, ranges or {}, tuple(targets[1:]),
            )  # fmt: skip
            executor = choose_executor(scheduler)
            earlier = None if like is None else _read_earlier(like, place, who)
            _, made = create(
                place, name, pool, options, settings, who, copy, executor, progress, box, earlier
            )
            for note in made.changes if made is not None else ():
                warnings.warn(note, UserWarning, stacklevel=2)
        elif pool is None and settings:
            raise ValueError(
                f"{', '.join(settings)}: settings are given with a pool, for a new campaign; "
                "change them later with campaign.change(...)"
            )
        return Campaign(name, place, who, scheduler=scheduler, progress=progress)
    except BaseException:
        place.close()
        raise


def _warn(messages: Iterable[str]) -> None:
    """Warn the caller of a method of `Campaign`."""
    for words in messages:
        warnings.warn(words, UserWarning, stacklevel=3)


def account() -> str:
    """The name of the user's account, the default author of events."""
    try:
        return os.environ.get("WEAL_WHO") or getpass.getuser()
    except (OSError, KeyError):  # an account without a name, as in some containers
        return ""
