"""The public class `Campaign`: candidates and labels, stored as events in a database.

    with weal.open_campaign("alloys", store="sqlite:///weal.db") as campaign:
        ids = campaign.ask(4)
        campaign.tell(ids[0], 312.5, by="mk", note="batch 7")

Every change is one transaction of the store: when a method returns, it is on disk. `ask` replays
the events through a learner (`replay`). `tell`, `skip` and `withdraw` need neither the candidates
nor a model, and this module imports no numerical package. `open_campaign` opens a campaign or
creates it.
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
    from numpy.typing import ArrayLike

    from weal.campaign.candidate_files import FileCandidates
    from weal.campaign.candidate_report import CandidateReport
    from weal.campaign.earlier_labels import EarlierCampaign
    from weal.campaign.goal_report import BestTable
    from weal.campaign.results_import import ImportArguments, ResultsImport
    from weal.campaign.status import Status
    from weal.campaign.suggestions import LeasedRow
    from weal.diagnostics.contradictions import Contradiction
    from weal.diagnostics.suspects import Suspects
    from weal.goals.protocol import Goal
    from weal.goals.until import Until
    from weal.learner.batch_options import AtMostArgument, RowsArgument, SameArgument
    from weal.learner.run import Run
    from weal.plots.axes import Plots
    from weal.tables.table_options import TableOptions


class Campaign(CampaignLog):
    """A campaign: candidates and labels in a store. Use `weal.open_campaign` to open one.

    Every change is one transaction of the store: when a method returns, the change is on disk. Use
    a campaign in a ``with`` block, or call `close`.

    Ids are text: a pool with the ids 7, 8, 9 has the candidates "7", "8" and "9". Methods accept
    the number too, and return text. (The ids of an `ActiveLearner` keep their type.)

    Parameters
    ----------
    name : str
        Name of the campaign.
    store : Store
        The opened store.
    who : str
        Default author of changes, for methods called without `by`.
    scheduler : str, distributed.Client or None
        Where candidates in files are scored; see `ActiveLearner`.
    progress : function or None
        Called as progress(task, rows done, rows in total).
    log : tuple of Ledger and list of Event, or None
        The state of the campaign if it was read before; only newer events are then read.

    Raises
    ------
    UnknownCampaign
        If the store has no campaign of that name.

    See Also
    --------
    open_campaign : Opens a campaign by the name of its store, or creates it.

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
            Which rows; if None, all leased rows.

        Returns
        -------
        list of LeasedRow
            Each has `id`, `row` (its cells), `who`, `since`, `until`, the prediction when it was
            asked (`mean`, `sd`, `low`, `high`; None before there was a model), `shares` and
            `scores` of the acquisition functions, the nearest labelled rows (`near`), and `why`.

        Raises
        ------
        ValueError
            If one of these rows is not leased.

        Examples
        --------
        >>> import pandas as pd, weal
        >>> pool = pd.DataFrame({"temp": [20, 80, 140, 200]}, index=["a", "b", "c", "d"])
        >>> campaign = weal.open_campaign("demo", "memory:", pool=pool, by="ann")
        >>> name = campaign.ask()
        >>> [row] = campaign.asked()
        >>> row.id == name, row.who, row.why
        (True, 'ann', 'Spread over the candidates, before there is a model.')
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
            Id of the row.

        Returns
        -------
        CandidateReport
            With `row` (its cells), `labels`, `skipped`, `who` and `until` of the lease, `mean`,
            `sd`, `low` and `high` of the current prediction, `expected` and `why` of its last ask,
            the nearest labelled rows (`near`), and the numbers of its `events`.

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
            Inputs, encoded by the plan of the campaign.
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
            A goal to use instead of that in the settings; a number is an error at which to stop, in
            units of the label.
        until : Until, str or None
            A stopping condition such as "error < 6" or "labels = 80", instead of that in the
            settings; "never" for none.
        progress : function or None
            Called as progress(task, done, total).

        Returns
        -------
        Status
            Counts, error estimates, coverage, a summary of the model, and `advice`; `lines()` is
            the text of ``weal status``, `to_dict()` its JSON.

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
        """The rows that most probably meet the goal, measured rows included.

        Parameters
        ----------
        n : int
            How many rows.
        goal : Goal, str or None
            A goal to use instead of that in the settings, such as "maximise" or "above 7.5".

        Returns
        -------
        BestTable
            `rows`, the most probable first; `to_frame()` is a table, `to_dict()` JSON, and `words`
            estimates how many rows that meet the goal are still unmeasured.

        Raises
        ------
        ValueError
            If the goal is learn, which selects no rows.
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
        from dataclasses import replace

        from weal.campaign.goal_report import best
        from weal.campaign.status import goal_in_force
        from weal.model.checks import check_count

        session = self.read_session()
        wanted, _ = goal_in_force(session.ledger, goal)
        wanted.check_rows(session.ledger.rows)
        return replace(best(session, wanted, check_count(n)), kind=self.frame_kind)

    def suspects(self) -> "Suspects":
        """Labels that are probably wrong, the most surprising first.

        Returns
        -------
        list of Suspect
            Each has `id`, `label`, the prediction from the other labels, and `words`. The list is
            empty before there is a model.
        """
        from weal.campaign.suspect_report import find_suspects
        from weal.diagnostics.suspects import Suspects

        return Suspects(find_suspects(self.read_session()).labels)

    def contradictions(self) -> "list[Contradiction]":
        """Find labels that contradict the other labels; nothing is changed.

        It checks labels marked as sure, consecutive equal labels, and labels of one person, one
        day, or one value of a column that is not an input, such as an instrument.

        Returns
        -------
        list of Contradiction
            Each has `kind` ("sure", "run" or "group"), `ids`, the error with and without these
            labels, and `words`. The list is empty before there is a model.
        """
        from weal.campaign.contradiction_report import find_contradictions

        return list(find_contradictions(self.read_session()))

    @property
    def plot(self) -> "Plots":
        """Figures on matplotlib axes, such as ``campaign.plot.predicted()``.

        The figures are learning_curve, predicted, inputs, experts, effect(name) and map(a, b);
        save(folder) writes them to files. They show the first quantity of the goal; use `plots` for
        the others.
        """
        return self.plots()

    def plots(self, quantity: str | None = None) -> "Plots":
        """The figures of a quantity, such as ``campaign.plots("purity").predicted()``.

        Parameters
        ----------
        quantity : str or None
            Name of a numeric quantity; if None, the first quantity of the goal.

        Returns
        -------
        Plots
            The same figures as `plot`.
        """
        from weal.campaign.plots import plots

        return plots(self.read_session, quantity)

    def to_frame(self, what: str = "labels", kind: str | None = None) -> Any:
        """A table of labels, predictions, candidates or events.

        Parameters
        ----------
        what : {"labels", "predictions", "candidates", "events"}
            Which table, as in ``weal export``.
        kind : {"pandas", "polars", "pyarrow"} or None
            The kind of frame; if None, that of the frame that was given to `open_campaign` as the
            pool, else pandas, or polars if pandas is not installed.

        Returns
        -------
        frame
            Its columns are those of the exported files. Ids are text, whatever they were in the
            pool.

        Raises
        ------
        ValueError
            If there is no such table, no library for frames is installed, or candidates are in
            files and too many for one table.

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

        return frame(self, what, kind)

    def predict(
        self,
        table: Any,
        *,
        id_column: str | None = None,
        level: float = 0.9,
        sheet: str | None = None,
        header: int | None = None,
        quantity: str | None = None,
    ) -> Any:
        """Predict rows that are not candidates.

        The rows are read like the candidates, and nothing is written. A warning lists ignored
        columns, unknown levels, and inputs far outside the range of the campaign.

        Parameters
        ----------
        table : path or frame
            Rows with the input columns of the campaign, as in `open_campaign`.
        id_column : str or None
            Column with their ids; if None, the id column of the campaign, or the index of a pandas
            frame. Rows without ids are named row 1, row 2, ...
        level : float
            Probability that the interval contains a label.
        sheet : str or None
            Sheet of an Excel file; if None, the first.
        header : int or None
            Line with the column names; if None, it is detected.
        quantity : str or None
            The quantity to predict; if None, all.

        Returns
        -------
        frame
            Of the same kind as the table; for a file, the kind of `to_frame`. One row for each row
            of the table, in the same order: `id`, `mean` and `sd` of the function, `low` and `high`
            of a label, as in ``to_frame("predictions")``; `P(word)` for pass/fail, classes and
            grades, and `P(works)` once runs have failed. With several quantities, column names
            begin with the name of the quantity.

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
        from weal.campaign.predict import frame_of, kind_of_input, predict

        found = predict(self, table, id_column, level, sheet, header, quantity=quantity)
        _warn(found.notes)
        return frame_of(found.columns(), kind_of_input(table) or self.frame_kind)

    def candidate_ids(self) -> list[str]:
        """The ids of all candidates.

        Returns
        -------
        list of str
            In the order in which they were added.

        Raises
        ------
        ValueError
            If the candidates are in files and too many for a list.
        """
        return id_lookup.candidate_ids(self)

    def columns(self) -> tuple[str, ...]:
        """The column names of the candidate table.

        Returns
        -------
        tuple of str
            The id column and unused columns are included.
        """
        return id_lookup.columns(self)

    def preview(self, source: object, **how: "Unpack[ImportArguments]") -> "ResultsImport":
        """What `tell_file` would do with each line of these results; nothing is written.

        Parameters
        ----------
        source : path, frame, or bytes
            A filled-in worksheet, or a CSV, TSV, Excel or Parquet table with the id, a column named
            like the target, and optionally noise and note.
        **how
            `value`, the column of the labels, if it is not named like the target; `header`, the
            line with the column names, and `sheet`, if they are not detected; `name`, the file name
            if `source` is bytes; `by`, `sure`, `replace`, `repeat` and `key` as in `tell`.

        Returns
        -------
        ResultsImport
            As in `tell_file`, with `event` 0; `problems`, and rows with the action "refused", are
            errors.

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
            Which rows; if None, all leased rows.
        to : path
            A file that ends in .csv, .tsv or .xlsx.
        force : bool
            Whether to replace an existing file.

        Returns
        -------
        pathlib.Path
            The file.

        Raises
        ------
        ValueError
            If no row is leased, one of these is not, the file exists, or it has another ending.
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

        Suggested rows are leased to the person who asked until they get a label or the lease ends,
        so each call suggests other rows. (`ActiveLearner.ask` gives the same answer until there is
        a new label.)

        Parameters
        ----------
        n : int or None
            Size of the batch. If None, the number of `rows` or `instead_of`; without these options,
            one id is returned instead of a list.
        by : str or None
            Author of the change; if None, the user who opened the campaign.
        lease : str, float or None
            Duration of the lease: "3d", "12h", or seconds; if None, the setting of the campaign.
        check : bool
            Whether rows are drawn at random, for an unbiased test of the predictions.
        key : str or None
            Idempotency key: a retry with the same key returns the rows of the first call and leases
            no others, even if they have labels by now. So a program that was killed before it got
            the answer can ask again. The retry must have the same number of rows, `by`, `check`,
            options below and, if given, `lease`.
        repeats : bool
            Whether a labelled row may be asked again, if noise makes it uncertain whether the row
            meets the goal, or if its label may be wrong. The setting `repeats=False` turns this off
            for the campaign. While such a row is leased, `tell` adds a repeat measurement.
        same : str, list of str, or None
            One or several columns that have the same value in the whole batch: factors that are
            hard to change, such as the temperature of a plate. The value with the best joint batch
            is chosen among the values that at least n free rows have.
        at_most : dict of str to int, or None
            Maximum number of different values of a column in the batch: ``{"solvent": 4}`` allows
            at most four solvents, each with any number of rows.
        where : str or None
            A condition on columns of the table that every row of the batch must satisfy, such as
            ``"solvent is THF and temp < 90"``.
        instead_of : id, list of ids, or None
            Rows leased to this person to replace by others, in one transaction. A later `ask` may
            suggest them again, unless you `skip` them.
        rows : id, list of ids, or None
            Rows to include. They count towards n, come first, and must satisfy the other options
            too.

        Returns
        -------
        str, or list of str
            One id if `n` is None, otherwise a list of n ids.

        Raises
        ------
        Exhausted
            If too few rows are left, or too few satisfy the options.
        Conflict
            If other writers were faster, repeatedly.
        ReusedKey
            If the key was used for another call of `ask`, or by another user.
        ValueError
            If an option names an unknown column, value or row.

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
        """Lease these rows, independently of what the learner would suggest.

        Either all rows are leased or none.

        Parameters
        ----------
        ids : id, or list of ids
            Which rows.
        by : str or None
            Author of the change; if None, the user who opened the campaign.
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

        When `tell` returns, the labels are on disk. Telling the same label again changes nothing.
        Either all labels are saved or none. A label far from its prediction (or, without a
        prediction, far from the labels so far) is saved with a warning.

        Parameters
        ----------
        ids : id, list of ids, or dict of id to label
            The labelled rows; they need not have been asked.
        labels : label, dict of quantity to label, list of these, or None
            One label for each id; None if `ids` is a dict. With several quantities, a dict of
            labels by quantity: ``{"yield": 82.1, "crystallised": "yes"}``; the others can be told
            later.
        noise : float, dict of quantity to float, list of these, or None
            Known standard deviation of the noise of a label, in units of the label.
        by : str or None
            Author of the change; if None, the user who opened the campaign.
        note : str or None
            A note, stored with the event.
        sure : bool
            Whether the label is certain: it is then never treated as an outlier. Tell an existing
            label again with sure=True to confirm it.
        replace : bool
            Whether the label corrects an existing one.
        repeat : bool
            Whether the label is a repeat measurement, in addition to existing ones.
        key : str or None
            Idempotency key: a retry with the same key and the same content writes nothing. The
            content is ids, labels, noise and `sure`, in any order; note and `by` may differ.

        Returns
        -------
        int
            The number of the last event.

        Raises
        ------
        AlreadyLabelled
            If the row has a different label, without `replace` or `repeat`.
        ReusedKey
            If the key was used for other content.
        UnknownId
            If there is no such row.
        ValueError
            If a label cannot be read, a quantity is unknown, or the numbers of ids and labels
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
        """Save labels that were already checked, as `tell` does.

        Parameters
        ----------
        entries : list of LabelInput
            Each with `id`, `y`, `noise`, `note` and `sure`.
        by : str or None
            Author of the change; if None, the user who opened the campaign.
        replace : bool
            As in `tell`.
        repeat : bool
            As in `tell`.
        key : str or None
            As in `tell`.

        Returns
        -------
        TellResult
            `seq`, the number of the last event; `new`, the number of new labels; and `doubts`, a
            warning for each label far from its prediction or from the labels so far.

        Raises
        ------
        AlreadyLabelled
            As in `tell`.
        ReusedKey
            As in `tell`.
        UnknownId
            If there is no such row.
        ValueError
            If there is no entry, or both `replace` and `repeat` are given.
        """
        who = by or self.who
        return rules.tell_labels(self, entries, who, replace, repeat, key)

    def tell_file(self, source: object, **how: "Unpack[ImportArguments]") -> "ResultsImport":
        """Save the labels of a results file, all or none.

        Importing the same content again changes nothing.

        Parameters
        ----------
        source : path, frame, or bytes
            A filled-in worksheet, or a CSV, TSV, Excel or Parquet table with the id, a column named
            like the target, and optionally noise and note.
        **how
            `value`, the column of the labels, if it is not named like the target; `header`, the
            line with the column names, and `sheet`, if they are not detected; `name`, the file name
            if `source` is bytes; `by`, `sure`, `replace`, `repeat` and `key` as in `tell`.

        Returns
        -------
        ResultsImport
            The action for each line (`rows`, with `line`, `id`, `action`, `value` and `message`;
            `counts` of the actions), `notes` on the file, and the number of the last `event`.

        Raises
        ------
        AlreadyLabelled
            If the row has a different label, without `replace` or `repeat`.
        ReusedKey
            If the key was used for other content; `failed` instead of a value is content too.
        UnknownId
            If the id of a line is not in this campaign.
        ValueError
            If the file or a line is invalid. The message names each line.

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
        """Report that the runs of rows failed and nothing could be measured.

        A failure is a label of the quantity "worked": rows that probably fail are asked less often.
        A later label replaces the failure.

        Parameters
        ----------
        ids : id, or list of ids
            Which rows.
        by : str or None
            Author of the change; if None, the user who opened the campaign.
        note : str or None
            A note, stored with the event.
        accident : bool
            Whether the reason has nothing to do with the row, such as a power cut: the row is
            skipped, and the model ignores the failure. An earlier failure of the row becomes an
            accident.
        replace : bool
            Whether to withdraw existing labels of these rows, since a row with a label has worked.
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
            Author of the change; if None, the user who opened the campaign.
        note : str or None
            A note, stored with the event.
        key : str or None
            Idempotency key: a retry with the same key and the same ids writes nothing, and warns
            about rows that were unskipped or labelled since.

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
            Author of the change; if None, the user who opened the campaign.
        note : str or None
            A note, stored with the event.
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

        If this person leases a row for a repeat measurement, only the lease is withdrawn; call
        `withdraw` again to withdraw the label. Withdrawn labels stay in the history.

        Parameters
        ----------
        ids : id, or list of ids
            Which rows.
        by : str or None
            Author of the change; if None, the user who opened the campaign.
        note : str or None
            A note, stored with the event.
        event : int or None
            Event number of one label: other labels of the row stay. If None, all labels.
        quantity : str or None
            The quantity whose labels are withdrawn, or "failed" for the failure of the row. If
            None, all.
        key : str or None
            Idempotency key: a retry with the same key and the same rows, event and quantity writes
            nothing.

        Raises
        ------
        ReusedKey
            If the key was used for other content.
        UnknownId
            If there is no such row.
        ValueError
            If a row is neither labelled nor leased, or the event holds no label of the row.

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
            As in `open_campaign`; more files if the candidates are in files.
        by : str or None
            Author of the change; if None, the user who opened the campaign.
        options : TableOptions or None
            The sheet and the header line, if they are not detected.

        Returns
        -------
        int
            Number of new candidates.

        Raises
        ------
        ValueError
            If an id exists already, or a column is missing.

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
        """Add candidates near the rows that would be asked next, within the box of the campaign.

        The campaign must have been created from `weal.box` or `weal new --box`. The new rows
        satisfy its bounds, mixtures and constraints.

        Parameters
        ----------
        n : int
            How many.
        by : str or None
            Author of the change; if None, the user who opened the campaign.

        Returns
        -------
        list of str
            Ids of the new candidates.

        Raises
        ------
        ValueError
            If there are too few labels for a model, the candidates came from a table without a box,
            or almost no new row satisfies the constraints.

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
        """Ask, measure with `oracle`, and tell, up to n times; every label is saved at once.

        No label is lost if you press Ctrl-C or the oracle raises. Leases of rows without a label
        are released. The run ends before it would exceed the budget of the campaign.

        Parameters
        ----------
        oracle : function
            Gets the row of a candidate as a dict and returns its label, or a dict of labels by
            quantity.
        n : int
            Maximum number of labels.
        workers : int
            Number of rows that are measured at the same time, each in its own thread.
        timeout : float or None
            Time limit of the oracle in seconds, as in `ActiveLearner.run`.
        by_id : bool
            Whether the oracle gets ids instead of rows.
        on_failure : {"raise", "skip", "fail"}
            What to do if the oracle raises, returns NaN or exceeds `timeout`: "raise" ends the run
            with the error; "skip" skips the row and "fail" reports it as failed, with the error as
            a note. In a dict of labels, NaN or None means that the quantity was not measured. An
            invalid result, such as a label of an unknown quantity, always ends the run.
        until : Until, str or None
            Stopping condition; if None, that in the settings of the campaign.
        max_cost : float or None
            The run ends with the reason "cost" before it would exceed this; if None, the budget of
            the campaign.
        by : str or None
            Author of the change; if None, the user who opened the campaign.
        callback : function or None
            Called as callback(campaign, id, label) after every label.
        progress : bool or None
            Whether to draw a progress bar on standard error; if None, only on a terminal.

        Returns
        -------
        Run
            As in `ActiveLearner.run`.

        Raises
        ------
        ValueError
            If an argument is invalid, the oracle returns no label, or it cannot be sent to a worker
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
        """A notebook widget for labelling: ask for rows, type their labels, undo.

        It shows the rows of the person who opened the campaign. Labels typed into the widget are
        saved at once, and labels from elsewhere appear in it. Needs the extra: ``pip install
        'weal[widget]'``.

        Returns
        -------
        anywidget.AnyWidget
            Always the same widget; a notebook displays it if it is the value of a cell.

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
        """Add words to a quantity of classes or grades, such as a new class.

        Parameters
        ----------
        quantity : str
            Its name.
        *words : str
            New classes, or new grades, which rank above the existing ones.
        by : str or None
            Author of the change; if None, the user who opened the campaign.

        Raises
        ------
        ValueError
            If there is no such quantity, or it has no classes or grades.
        """
        who = by or self.who
        self.transact(lambda tx: decide_words(tx, quantity, words, who))

    @property
    def title(self) -> str | None:
        """The title to show instead of the name; None if the campaign has none.

        `change(title="...")` changes it. The first access reads the events.
        """
        return (self._ledger if self._ledger.seq else self.read_ledger()).title

    def copy(
        self, name: str, *, labels: bool = True, by: str | None = None, key: str | None = None
    ) -> "Campaign":
        """Copy the campaign within its store: candidates, settings and labels.

        The copy gives the same predictions. Leases, the title and the archived state are not
        copied. Labels keep their authors and times.

        Parameters
        ----------
        name : str
            Name of the copy.
        labels : bool
            Whether labels, failures and skipped rows are copied.
        by : str or None
            Author of the change; if None, the user who opened the campaign.
        key : str or None
            Idempotency key: a retry with the same key makes no second copy.

        Returns
        -------
        Campaign
            The copy. `read_ledger().copied_from` names this campaign and its last event.

        Raises
        ------
        CampaignExists
            If a campaign of that name exists.

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
        """Archive the campaign, or restore it; nothing is deleted.

        An archived campaign is not listed and suggests no rows. Labels can still be added.

        Parameters
        ----------
        on : bool
            True to archive, False to restore.
        by : str or None
            Author of the change; if None, the user who opened the campaign.

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
            Author of the change; if None, the user who opened the campaign.
        key : str or None
            Idempotency key: a retry with the same key and the same settings writes nothing.
        **settings
            acquisition (a name, or a list of names), goal ("learn", or a list of two), subject_to
            (["purity >= 95"]; [] for none), weights ({"purity": 2}), until ("error < 6", or None),
            lease ("3d"), warp (None, "auto" or "asinh"), outliers (whether labels may be wrong),
            repeats (whether a measured row may be asked again), budget (maximum total cost of the
            labels, or None), title (text to show instead of the name, or None).

        Raises
        ------
        ValueError
            If a setting is unknown, invalid, or fixed once the campaign exists (seed, n_start,
            cost).

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
        Name of the campaign.
    store : str, path, Store or None
        The store: sqlite:///weal.db, postgresql://user@host/database or memory: ; if None, the
        value of WEAL_STORE, else sqlite:///weal.db.
    pool : path, frame or None
        Table of candidates: CSV, TSV, Parquet or Excel file; pandas, polars or pyarrow frame.
        Parquet files (a pattern or a folder) and a pool of `weal.open_pool` stay in place: the
        store keeps names, sizes and hashes of the files, not their rows.
    id_column : str or None
        Column with the ids, which become text. If None, the index of a pandas frame unless it is a
        plain row number; else rows are numbered 1, 2, 3, ...
    target : str, list of str, or None
        The measured quantity, or several. Values in a column of that name are used as labels. A row
        may have labels of some quantities and get the others later.
    features : list of str, or "auto"
        Columns to use as inputs; "auto" uses every suitable column.
    types : dict of column to type, or None
        Types of columns that would be guessed wrong: {"made": "day-first"}. Types of a target are
        "number", "pass:ja,nein", "ordered:low,medium,high" and "classes:a,b,c".
    missing : dict of column to texts, or None
        Additional texts that mark a missing value: {"pressure": ["<0.5"]}.
    also_inputs : list of str
        Columns to use as inputs although they have values only where the target has.
    same : dict of column to {spelling: level}, or None
        Other spellings of categories: {"solvent": {"Toluol": "toluol"}}.
    units : dict of column to unit, or None
        The unit of a numeric column; cells in other units are converted: {"volume": "mL"}.
    decimal : "comma", "point", dict of column to one of these, or None
        The decimal mark, if a number such as 1,234 is ambiguous.
    sheet : str or None
        Sheet of a workbook; if None, the sheet with the named columns.
    header : int or None
        Line with the column names; if None, it is detected.
    ranges : dict of the target to (low, high), or None
        Bounds of the labels, None for no bound: {"yield": (0, 100)}. Prediction intervals stay
        inside the bounds, and a label outside gives a warning. Percentages have the bounds 0 and
        100 by default.
    like : str, Campaign or None
        An earlier campaign, by name if it is in the same store. Its targets are the default of
        `target`. Its labels become a separate quantity, whose predictions are an input of the
        models if that helps.
    by : str or None
        Author of changes; if None, the value of WEAL_WHO, else the name of the user's account.
    copy : bool
        Whether to copy the rows into the store even if the candidates are in many files.
    scheduler : str, distributed.Client or None
        Where candidates in files are scored; see `weal.ActiveLearner`.
    progress : function or None
        Called as progress(task, rows done, rows in total).
    **settings
        Settings of a new campaign: acquisition, lease ("7d"), goal ("learn"), until ("error < 6"),
        n_start, seed, warp, outliers, cost (a column; scores are divided by it), budget (the
        maximum total cost, or the maximum number of labels if there is no cost).

    Returns
    -------
    Campaign
        The opened campaign; call `close`, or use it in a ``with`` block.

    Raises
    ------
    UnknownCampaign
        If the store has no campaign of that name, and no `pool` is given.
    ValueError
        If the table, a column, a setting or the name of the store is invalid.
    WealError
        If the store cannot be reached, or was written by a newer version of weal.

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
    name, who, given = check_name(name), by or account(), None
    try:
        if pool is not None and not isinstance(pool, str | os.PathLike):
            from weal.tables.frame_kinds import frame_kind  # numpy

            given = frame_kind(pool)
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
        campaign = Campaign(name, place, who, scheduler=scheduler, progress=progress)
        campaign.frame_kind = given
        return campaign
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
