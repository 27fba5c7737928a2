"""What can be looked at of a campaign: rows and why they were asked, status, tables, pictures.

Nothing here changes the campaign; what does is in `campaign`. Imports no numerics.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weal.campaign import lookup
from weal.campaign.entries import distinct, names
from weal.campaign.opened import Opened
from weal.errors import UnknownId, WealError
from weal.progress import Progress

if TYPE_CHECKING:
    from weal.campaign.card import Card
    from weal.campaign.explaining import Asked
    from weal.campaign.intake import Intake
    from weal.campaign.status import Status
    from weal.diagnostics.contradictions import Contradiction
    from weal.diagnostics.suspects import Suspect
    from weal.plots.axes import Plots


class CampaignView(Opened):
    """A campaign that is open, looked at."""

    def __repr__(self) -> str:
        from weal.campaign.describing import line

        return line(self)

    def _repr_html_(self) -> str:
        from weal.campaign.describing import page

        return page(self)

    def asked(self, ids: Iterable[Any] | None = None) -> list["Asked"]:
        """Rows that are out, with what was expected of them and why they were chosen.

        Parameters
        ----------
        ids : list of ids, or None
            Which rows; None: all that are out now.

        Returns
        -------
        list of Asked
            With `id`, `row` (its cells), `who`, `since`, `until`, what was expected when it was
            asked (`mean`, `sd`, `low`, `high`; None before there was a model), `shares` and
            `scores` of the acquisition functions, labelled rows that are `near`, and `why`.

        Raises
        ------
        ValueError
            Where one of these rows is not out.

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
        from weal.campaign.explaining import explain

        session = self.session
        leases = session.ledger.leases
        if ids is None:
            return explain(session, session.ledger.open_leases(self.store.now()))
        wanted = names(list(ids))
        if missing := [name for name in wanted if name not in leases]:
            raise ValueError(f"{', '.join(map(repr, missing[:5]))}: not out with anybody")
        return explain(session, [leases[name] for name in wanted])

    def card(self, name: Any) -> "Card":
        """One row: its inputs, labels, lease, prediction, and why it was asked.

        Parameters
        ----------
        name : id
            Of the row.

        Returns
        -------
        Card
            With `row` (its cells), `labels`, `skipped`, `who` and `until` of the lease, `mean`,
            `sd`, `low` and `high` as predicted now, `expected` and `why` of its last ask, labelled
            rows that are `near`, and the numbers of its `events`.

        Raises
        ------
        UnknownId
            Where there is no such row.

        Examples
        --------
        >>> import pandas as pd, weal
        >>> pool = pd.DataFrame({"temp": [20, 80, 140, 200]}, index=["a", "b", "c", "d"])
        >>> campaign = weal.open_campaign("demo", "memory:", pool=pool, by="ann")
        >>> number = campaign.tell("a", 312.5, note="batch 7")
        >>> [(told.y, told.note) for told in campaign.card("a").labels]
        [(312.5, 'batch 7')]
        """
        from weal.campaign.card import card

        [found] = names([name])
        try:
            return card(self.session, self._events, found, self.store.now())
        except UnknownId as error:
            raise self._meant(error) from None

    def far_inputs(self, table: Any) -> list[str]:
        """Which inputs of new candidates lie far outside what is there.

        Parameters
        ----------
        table : Table
            New candidates, as `weal.table.reading.read_table` reads them.

        Returns
        -------
        list of str
            One line for each such input.
        """
        from weal.campaign.creating import far_inputs

        return far_inputs(self.session.pool.plan, table, self.inputs_there())

    def inputs_there(self) -> Any:
        """The inputs (S, d) of the candidates, or of those that stand for all that are in files.

        Returns
        -------
        array (S, d)
            By the plan of the campaign.
        """
        import numpy as np

        from weal.learner.sampling import standing_for

        session = self.session
        X = session.pool.X
        if not isinstance(X, np.ndarray):
            _, X = standing_for(session.state.candidates, session.state.settings.seed)
        return X

    def status(self, *, goal: float | None = None, progress: Progress | None = None) -> "Status":
        """How far the campaign is: error estimates and their trend, and whether to go on.

        Parameters
        ----------
        goal : float or None
            Error at which to stop, in units of the label; None: that of the settings.
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
        from weal.campaign import kept_status
        from weal.campaign.status import status

        now = self.store.now()
        if (kept := kept_status.read(self.store, self.ledger, goal, now)) is not None:
            return kept
        session = self.session
        found = status(session, goal, now, progress)
        with suppress(WealError):  # advice for next time may fail
            session.keep()
        kept_status.keep(self.store, session.ledger, goal, found)
        return found

    def suspects(self) -> "list[Suspect]":
        """Labels to look at again: those that the model takes to be wrong, the worst first.

        Returns
        -------
        list of Suspect
            With `id`, `label`, what the others make of it, and `words`; none before there is a
            model.
        """
        from weal.campaign.doubts import doubts

        return list(doubts(self.session).labels)

    def contradictions(self) -> "list[Contradiction]":
        """Labels that count although the others contradict them; nothing is changed.

        These are labels told as sure, runs of equal labels in a row, and labels of one person, one
        day, or one value of a column that is no input, such as an instrument.

        Returns
        -------
        list of Contradiction
            With `kind` ("sure", "run" or "group"), `ids`, the error with these labels and without,
            and `words`; none before there is a model.
        """
        from weal.campaign.kept_contradictions import contradicted

        return list(contradicted(self.session))

    @property
    def plot(self) -> "Plots":
        """Pictures on matplotlib axes, such as ``campaign.plot.predicted()``.

        There are learning_curve, predicted, inputs, experts, effect(name) and map(a, b);
        save(folder) writes files.
        """
        from weal.campaign.pictures import plots

        return plots(lambda: self.session)

    def to_frame(self, what: str = "labels") -> Any:
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
            Where there is no such table, pandas is not installed, or candidates are in files and
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
        from weal.campaign.exporting import frame

        return frame(self, what)

    def predict(
        self,
        table: Any,
        *,
        id_column: str | None = None,
        level: float = 0.9,
        sheet: str | None = None,
        header: int | None = None,
    ) -> Any:
        """What is expected of rows that are no candidates.

        They are read as the candidates were, and nothing is written. A warning says what may not be
        meant: columns that are passed over, levels never seen before, inputs far outside those of
        the campaign.

        Parameters
        ----------
        table : path or frame
            Rows with the columns that the campaign learns from, as in `open_campaign`.
        id_column : str or None
            Column with their ids; None: that of the campaign where there is one, or the index of a
            pandas frame. Rows need no ids: they are then called row 1, row 2, ...
        level : float
            Probability with which the interval holds a label.
        sheet : str or None
            Of an Excel file; None: the first.
        header : int or None
            The line of a file that names the columns; None: it is found.

        Returns
        -------
        pandas.DataFrame
            A row for each, in their order: `id`, `mean` and `sd` of the function, `low` and `high`
            of a label, as in ``to_frame("predictions")``.

        Raises
        ------
        ValueError
            Where a column is missing, a cell cannot be read, or there are no rows.
        WealError
            While labels are too few for a model.

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
        import warnings

        from weal.campaign.predicting import frame_of, predict

        found = predict(self, table, id_column, level, sheet, header)
        for note in found.notes:
            warnings.warn(note, UserWarning, stacklevel=2)
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
            Where they are in files, and too many for a list.
        """
        return lookup.candidate_ids(self)

    def columns(self) -> tuple[str, ...]:
        """The names of the columns that candidates came with.

        Returns
        -------
        tuple of str
            That of the ids, and those that nothing is learnt from, included.
        """
        return lookup.columns(self)

    def preview(self, source: Any, **how: Any) -> "Intake":
        """What `tell_file` would do with these results, line by line; nothing is written.

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
            As of `tell_file`, with `event` 0; what cannot be taken is in `problems` and in the rows
            that are "refused".

        Raises
        ------
        ValueError
            Where the file cannot be read at all.

        Examples
        --------
        >>> import pandas as pd, weal
        >>> pool = pd.DataFrame({"temp": [20, 80, 140, 200]}, index=["a", "b", "c", "d"])
        >>> campaign = weal.open_campaign("demo", "memory:", pool=pool, by="ann")
        >>> results = pd.DataFrame({"id": ["a", "x"], "value": [312.5, 320.0]})
        >>> [(row.id, row.action) for row in campaign.preview(results).rows]
        [('a', 'told'), ('x', 'refused')]
        """
        from weal.campaign.intake_file import preview

        return preview(self, source, **how)

    def worksheet(self, ids: Any, to: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write a worksheet of rows that are out, to be filled in and told.

        Parameters
        ----------
        ids : id, list of ids, or None
            Which rows; None: all that are out now.
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
            Where no row is out, one of these is not, the file is there, or its ending is another.
        """
        from weal.campaign.worksheet import check_worksheet, write_worksheet

        place, created = check_worksheet(to, force), self.created
        rows = self.asked(None if ids is None else distinct(ids))
        if not rows:
            raise ValueError(f"no row of {self.name} is out: ask for some first")
        write_worksheet(rows, created["plan"], created["id"], created["target"], place, force)
        return place
