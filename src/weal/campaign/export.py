"""A campaign as tables: labels, predictions, candidates, events, and worksheets to fill in.

    labels        id, label, noise, by, time, note, event      a row for each label, in order;
                  quantity, and labels as text, if there are several, words or failures
    predictions   id, mean, sd, low, high, labelled, label     a row for each candidate
    candidates    the original columns and cells
    events        number, kind, id, by, time, body (JSON), key, hash
    worksheet     id, inputs, expected, expected sd, TARGET, note      a row for each leased one.
                  With several quantities: `expected TARGET` and a column for each

Files end in .csv .tsv .parquet .json .jsonl or .xlsx; "-" is CSV on stdout
(`weal.tables.table_writer`). Predictions for candidates in many files go to a folder, shard by
shard. The target column of a worksheet is empty, for numbers or "failed"; `weal tell --file` reads
it back. If a column of the pool has one of these names, the worksheet uses `weal expected`,
`weal note`. Cells that a spreadsheet could run are escaped (`tables.text_records.escape`), and read
back unescaped.
"""

import csv
import io
import json
import math
import os
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from weal.campaign.events import AskedBody, LedgerLabel, prediction_of
from weal.campaign.ledger import Ledger
from weal.campaign.predict import columns_at, frame_of, predicted_quantities
from weal.campaign.quantity_names import find_named, label_text
from weal.campaign.session import Session
from weal.core.arrays import Array
from weal.core.constants import INTERVAL_LEVEL
from weal.learner.pools.predictions import Columns, check_folder, write_predictions
from weal.learner.quantity_predictions import joined_columns
from weal.quantities.kinds import UNNAMED, WORKED
from weal.quantities.protocol import Quantity
from weal.shards.parquet_file import pyarrow
from weal.tables.frame_kinds import check_kind
from weal.tables.table_writer import check_place, new_table_file, row_count, save_sheet, write
from weal.tables.text_records import escape

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign
    from weal.campaign.suggestions import LeasedRow


WORKSHEET_SUFFIXES = (".csv", ".tsv", ".xlsx")


def check_worksheet(to: str | os.PathLike[str], force: bool = False) -> Path:
    """Check the path of a worksheet; ValueError if it cannot be written."""
    place = Path(to).expanduser()
    if place.suffix.lower() not in WORKSHEET_SUFFIXES:
        raise ValueError(
            f"{place} does not end in one of {', '.join(WORKSHEET_SUFFIXES)}: a worksheet does"
        )
    if place.suffix.lower() == ".xlsx":
        try:
            import openpyxl  # noqa: F401
        except ModuleNotFoundError as error:
            raise ValueError(f'{place} needs openpyxl: pip install "weal[excel]"') from error
    return check_place(place, force)


def write_worksheet(
    rows: "Sequence[LeasedRow]", ledger: Ledger, place: Path, force: bool = False
) -> None:
    """Write the worksheet of these rows atomically."""
    table = worksheet(rows, ledger)
    with new_table_file(place, force) as draft:
        if place.suffix.lower() == ".xlsx":
            save_sheet(table, draft, header=True)
        else:
            draft.write_bytes(_text(table, "\t" if place.suffix.lower() == ".tsv" else ","))


def worksheet(rows: "Sequence[LeasedRow]", ledger: Ledger) -> list[list[object]]:
    """The header and the rows of a worksheet."""
    columns = ledger.plan["columns"]
    inputs = [column["name"] for column in columns if column["kind"] != "dropped"]
    quantities = [one.quantity for one in ledger.quantities.values()]
    targets = [one.column or (UNNAMED if len(quantities) == 1 else one.name) for one in quantities]
    own = {ledger.id_column, *targets, *(column["name"] for column in columns)}

    def free(name: str) -> str:
        return name if name not in own else f"weal {name}"

    expected = [free("expected"), free("expected sd")]
    if len(targets) > 1:
        expected = [name for one in quantities for name in _expected_columns(one)]
    header = [ledger.id_column, *inputs, *expected, *targets, free("note")]
    return [header, *(_row(row, inputs, ledger) for row in rows)]


def _expected_columns(quantity: Quantity) -> list[str]:
    """The columns of the prediction of one of several quantities; words are predicted in one."""
    of = quantity.column or quantity.name
    return [f"expected {of}"] if quantity.words else [f"expected {of}", f"expected sd {of}"]


def _row(row: "LeasedRow", inputs: Sequence[str], ledger: Ledger) -> list[object]:
    cells = [row.row.get(name) for name in inputs]
    plain = [cell.isoformat(" ") if isinstance(cell, datetime) else cell for cell in cells]
    note = "repeat" if row.repeat else None
    expected: list[object] = [*_round_prediction(row.mean, row.sd)]
    if len(ledger.quantities) > 1:
        body, first = ledger.leases[row.id].body, ledger.first_quantity
        expected = [
            cell
            for name, one in ledger.quantities.items()
            for cell in _expected_cells(one.quantity, prediction_of(body, name, first))
        ]
    return [row.id, *plain, *expected, *[None] * len(ledger.quantities), note]


def _expected_cells(quantity: Quantity, body: AskedBody) -> list[object]:
    """The prediction of a quantity, for its columns."""
    mean, sd = body["mean"], body["sd"]
    if not quantity.words:
        return [*_round_prediction(mean, sd)]
    if p := body.get("probabilities"):
        likeliest = max(p, key=lambda word: p[word])
        return [f"{likeliest} (P {p[likeliest]:.2f})"]
    return [None if mean is None else quantity.format_prediction(mean, sd or 0.0)]


def _round_prediction(mean: float | None, sd: float | None) -> tuple[float | None, float | None]:
    """Mean and sd, rounded to significant digits."""
    if mean is None or sd is None:
        return None, None
    if sd <= 0.0 or not math.isfinite(sd):
        return mean, sd
    places = 1 - math.floor(math.log10(sd))
    return round(mean, places), round(sd, places)


def _text(table: Sequence[Sequence[object]], separator: str) -> bytes:
    """Delimited text; with the mark that spreadsheets need for letters such as é."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=separator, lineterminator="\n")
    for row in table:
        writer.writerow(escape(cell) if isinstance(cell, str) else cell for cell in row)
    text = file.getvalue()
    return text.encode("utf-8" if text.isascii() else "utf-8-sig")


EXPORT_TABLES = ("labels", "predictions", "candidates", "events")
PREDICTED_AT_A_TIME = 20_000  # candidates that are predicted at a time


def frame(campaign: "Campaign", what: str = "labels", kind: str | None = None) -> Any:
    """A frame of labels, predictions, candidates or events, of this kind or the campaign's."""
    found = check_kind(kind) or campaign.frame_kind
    return frame_of(columns_of(campaign, what), found)


def columns_of(campaign: "Campaign", what: str) -> Columns:
    """The columns of labels, predictions, candidates or events."""
    if what not in _FRAMES:
        raise ValueError(f"there is no table of {what!r}; there are {', '.join(EXPORT_TABLES)}")
    return _FRAMES[what](campaign)


def export(
    campaign: "Campaign", what: str, path: str | os.PathLike[str], *, force: bool = False,
    quantity: str | None = None,
) -> int:  # fmt: skip
    """Write a table to a file atomically; returns its number of rows.

    An existing file is only replaced with `force`. A folder has the predictions of one quantity; a
    file has those of all.
    """
    if what == "predictions" and _is_folder(path):
        return _write_prediction_folder(campaign, path, force, quantity)
    if quantity is not None:
        raise ValueError(f"{path} is a file, which has all quantities: leave out --quantity")
    place = check_place(path, force)
    if what == "predictions":
        predicted_quantities(campaign.read_session())
    table = columns_of(campaign, what)
    write(table, place, force)
    return row_count(table)


def _is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether the path names a folder: it ends in a slash, or is an existing folder."""
    text = os.fspath(path)
    return text != "-" and (text.endswith(("/", os.sep)) or Path(text).is_dir())


def _write_prediction_folder(
    campaign: "Campaign", path: str | os.PathLike[str], force: bool, quantity: str | None
) -> int:
    """Predictions of a numeric quantity as a folder of Parquet files, shard by shard."""
    session = campaign.read_session()
    one = _number_of_folder(session, quantity)
    view, told = session.view(one.name), session.ledger.quantity(one.name).labels
    known = {name: _mean_label(told[name]) for name in told}
    if not view.candidates.in_shards:
        raise ValueError(f"{path} is a folder, for candidates in many files; name a file")
    if not view.has_model:
        raise ValueError("there is no model yet: there are too few labels for predictions")
    check_folder(path, force)

    def more(columns: Columns) -> Columns:
        labels = [known.get(name) for name in columns["id"]]
        kind = float_column(labels)
        return {"labelled": [label is not None for label in labels], "label": kind}

    found = view.candidates.predict_shards(
        session.beliefs.model(view), INTERVAL_LEVEL, session.executor, session.progress
    )
    return write_predictions(path, found, more=more, force=force)


def _number_of_folder(session: Session, quantity: str | None) -> Quantity:
    """The quantity whose predictions go to a folder; ValueError if it is not clear."""
    known = {one.name: one for one in session.state.measured}
    names = ", ".join(name for name, one in known.items() if not one.words)
    if quantity is None and len(known) > 1:
        raise ValueError(f"a folder has the predictions of one quantity: --quantity ({names})")
    found = next(iter(known.values())) if quantity is None else find_named(known, quantity)
    if found.words:
        raise ValueError(f"{found.name} has words, and a folder has numbers: --quantity ({names})")
    return found


def float_column(values: Sequence[float | None]) -> Any:
    """Numbers or None as an Arrow column."""
    arrow, _ = pyarrow()
    return arrow.array(values, type=arrow.float64())


def _mean_label(labels: Sequence[LedgerLabel]) -> float:
    return float(np.mean([told.y for told in labels]))


def _labels(campaign: "Campaign") -> Columns:
    ledger = campaign.read_ledger()
    every = [(one.quantity, told) for one in ledger.with_failures().values() for told in one.told()]
    every.sort(key=lambda pair: pair[1].seq)
    told = [one for _, one in every]
    names, labels = [one.name for one, _ in every], [one.y for one in told]
    columns = {
        "id": [one.id for one in told],
        "label": labels,
        "noise": [one.noise for one in told],
        "by": [one.who for one in told],
        "time": [one.time.isoformat() for one in told],
        "note": [_note(one.note) for one in told],
        "event": [one.seq for one in told],
    }
    measured = list(ledger.quantities.values())
    if len(measured) == 1 and not measured[0].quantity.words and not ledger.failures.labels:
        return columns
    texts = ["failed" if one.name == WORKED else label_text(one, told.y) for one, told in every]
    return {"id": columns.pop("id"), "quantity": names, **columns, "label": texts}


def _note(note: object) -> str | None:
    """A note as text; old stores may have other JSON values."""
    return note if note is None or isinstance(note, str) else json.dumps(note)


def _predictions(campaign: "Campaign") -> Columns:
    session = campaign.read_session()
    where = "write them to a folder: --what predictions --to predictions/"
    session.pool.refuse_many("predictions", where)
    ids, ledger, measured = list(session.pool.ids[:]), session.ledger, session.state.measured
    columns: Columns = {"id": ids}
    predicted = _predict_candidates(session)
    for one in measured:
        start = f"{one.name} " if len(measured) > 1 else ""
        columns |= {k: cells for k, cells in predicted.items() if _is_of(k, one, start)}
        labels = ledger.quantity(one.name).labels
        columns[f"{start}labelled"] = [name in labels for name in ids]
        columns[f"{start}label"] = [label_cell(one, labels.get(str(name), ())) for name in ids]
    if ledger.failures.labels:
        columns |= {k: cells for k, cells in predicted.items() if k == "P(works)"}
        columns["failed"] = [name in ledger.failures.labels for name in ids]
    return columns


def _is_of(column: str, quantity: Quantity, start: str) -> bool:
    """Whether a column of predictions is one of this quantity."""
    own = ("mean", "sd", "low", "high", *(f"P({word})" for word in quantity.words))
    return column in [f"{start}{name}" for name in own]


def label_cell(quantity: Quantity, labels: Sequence[LedgerLabel]) -> float | str | None:
    """The mean of the labels of a row, NaN without any; of words, the last one."""
    if quantity.words:
        return quantity.format(labels[-1].y) if labels else None
    return _mean_label(labels) if labels else np.nan


def _predict_candidates(session: Session) -> dict[str, Array]:
    """The columns of predictions of all candidates; NaN before there is any model."""
    U, state = session.pool.rows, session.state
    starts = range(0, U, PREDICTED_AT_A_TIME)
    blocks = [
        columns_at(
            session, state.measured,
            state.candidates.inputs_at(slice(start, start + PREDICTED_AT_A_TIME)),
            INTERVAL_LEVEL, U,
        )
        for start in starts
    ]  # fmt: skip
    found = joined_columns(blocks)
    plain = len(state.measured) == 1 and not state.measured[0].words
    nothing = {} if found or not plain else {"mean": np.full(U, np.nan)}
    return found or {name: nothing["mean"] for name in ("mean", "sd", "low", "high") if nothing}


def _candidates(campaign: "Campaign") -> Columns:
    return campaign.read_session().pool.columns()


def _events(campaign: "Campaign") -> Columns:
    events = campaign.events()
    return {
        "number": [event.seq for event in events],
        "kind": [event.kind for event in events],
        "id": [event.id for event in events],
        "by": [event.who for event in events],
        "time": [event.time.isoformat() for event in events],
        "body": [json.dumps(event.body, sort_keys=True) for event in events],
        "key": [event.key for event in events],
        "hash": [event.hash for event in events],
    }


_FRAMES: dict[str, Callable[["Campaign"], Columns]] = {
    "labels": _labels,
    "predictions": _predictions,
    "candidates": _candidates,
    "events": _events,
}
