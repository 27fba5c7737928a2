"""A campaign as tables: labels, predictions, candidates and events, in memory or in a file.

    labels        id, label, noise, by, time, note, event      one row a label, in order
    predictions   id, mean, sd, low, high, labelled, label     one row a candidate
    candidates    the columns that came, cells as they were
    events        number, kind, id, by, time, body (JSON), key, hash

Files end in .csv .tsv .parquet .json .jsonl or .xlsx; "-" is CSV on stdout. A file is written
beside its place, synced and then moved there: whoever reads the path finds the old file or the new
one, whole. Text is kept to the letter: in CSV as it is, in .xlsx as text even after "=".
"""

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from weal.campaign.session import Session
from weal.core.arrays import Array
from weal.diagnostics.coverage import LEVEL

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign

WHAT = ("labels", "predictions", "candidates", "events")
BLOCK = 20_000  # candidates that are predicted at a time
_SHEET = 1_048_576  # rows of a sheet of Excel


def frame(campaign: "Campaign", what: str = "labels") -> Any:
    """A pandas frame of labels, predictions, candidates or events."""
    if what not in _FRAMES:
        raise ValueError(f"there is no table of {what!r}; there are {', '.join(WHAT)}")
    return _pandas().DataFrame(_FRAMES[what](campaign))


def export(campaign: "Campaign", what: str, path: str | os.PathLike[str]) -> int:
    """Write such a table to a file, whole or not at all; returns its number of rows."""
    if os.fspath(path) == "-":
        table = frame(campaign, what)
        table.to_csv(sys.stdout, index=False, lineterminator="\n")
        return len(table)
    place = Path(path).expanduser()
    write = _WRITERS.get(place.suffix.lower())
    if write is None:
        raise ValueError(f"{place} does not end in one of {', '.join(_WRITERS)}")
    if not place.parent.is_dir():
        raise ValueError(f"there is no folder {place.parent} to write {place.name} to")
    table = frame(campaign, what)
    with whole(place) as draft:
        write(table, draft)
    return len(table)


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A draft that becomes the file at the path, once it is written and on disk."""
    handle, name = tempfile.mkstemp(
        prefix=f".{path.name[:100]}.", suffix=f".draft{path.suffix}", dir=path.parent
    )
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        draft.chmod(0o644)  # mkstemp gives 0600; a result is for everyone
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _labels(campaign: "Campaign") -> dict[str, Any]:
    told = campaign.ledger.told()
    return {
        "id": [one.id for one in told],
        "label": [one.y for one in told],
        "noise": [one.noise for one in told],
        "by": [one.who for one in told],
        "time": [one.time.isoformat() for one in told],
        "note": [one.note for one in told],
        "event": [one.seq for one in told],
    }


def _predictions(campaign: "Campaign") -> dict[str, Any]:
    session, labels = campaign.session, campaign.ledger.labels
    known = {name: float(np.mean([told.y for told in labels[name]])) for name in labels}
    mean, sd, low, high = _predicted(session)
    return {
        "id": session.pool.ids,
        "mean": mean,
        "sd": sd,
        "low": low,
        "high": high,
        "labelled": [name in known for name in session.pool.ids],
        "label": [known.get(name, np.nan) for name in session.pool.ids],
    }


def _predicted(session: Session) -> Array:
    """Mean, sd and the ends of intervals (4, U) of all candidates; NaN before there is a model."""
    X = session.pool.X
    if not session.state.fitted:
        return np.full((4, len(X)), np.nan)
    blocks = [X[start : start + BLOCK] for start in range(0, len(X), BLOCK)]
    model = session.model
    parts = [
        np.stack([*model.predict(block, return_std=True), *model.predict_interval(block, LEVEL)])
        for block in blocks
    ]
    return np.concatenate(parts, axis=1)


def _candidates(campaign: "Campaign") -> dict[str, Any]:
    pool = campaign.session.pool
    names = list(dict.fromkeys(name for part in pool.parts for name in part.columns))
    return {
        name: [
            cell
            for part in pool.parts
            for cell in (part.cells(name) if name in part.columns else [None] * len(part))
        ]
        for name in names
    }


def _events(campaign: "Campaign") -> dict[str, Any]:
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


_FRAMES: dict[str, Callable[["Campaign"], dict[str, Any]]] = {
    "labels": _labels,
    "predictions": _predictions,
    "candidates": _candidates,
    "events": _events,
}


def _csv(table: Any, path: Path) -> None:
    table.to_csv(path, index=False, lineterminator="\n", encoding="utf-8")


def _tsv(table: Any, path: Path) -> None:
    table.to_csv(path, index=False, sep="\t", lineterminator="\n", encoding="utf-8")


def _parquet(table: Any, path: Path) -> None:
    table.to_parquet(path, index=False)


def _json(table: Any, path: Path) -> None:
    text = json.dumps(list(_records(table)), indent=1, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _jsonl(table: Any, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for record in _records(table):
            file.write(json.dumps(record, allow_nan=False) + "\n")


def _xlsx(table: Any, path: Path) -> None:
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE as control
    except ModuleNotFoundError as error:
        raise ValueError(f'{path.suffix} needs openpyxl: pip install "weal[excel]"') from error
    if len(table) >= _SHEET:
        raise ValueError(f"{len(table):,} rows are too many for a sheet of Excel: write .parquet")
    texts = (value for row in _rows(table) for value in row if isinstance(value, str))
    if bad := next((value for value in texts if control.search(value)), None):
        raise ValueError(f"Excel cannot hold the control character in {bad!r}: write .csv")
    book = Workbook(write_only=True)
    sheet = book.create_sheet("weal")
    for row in _rows(table):
        cells = [WriteOnlyCell(sheet, value) for value in row]
        for cell, value in zip(cells, row, strict=True):
            if isinstance(value, str):
                cell.data_type = "s"  # else text that begins with "=" becomes a formula
        sheet.append(cells)
    book.save(path)


_WRITERS: dict[str, Callable[[Any, Path], None]] = {
    ".csv": _csv,
    ".tsv": _tsv,
    ".parquet": _parquet,
    ".json": _json,
    ".jsonl": _jsonl,
    ".xlsx": _xlsx,
}


def _records(table: Any) -> Iterator[dict[str, Any]]:
    """Rows by the names of the columns, as what JSON can say."""
    names, *rows = _rows(table)
    for row in rows:
        yield dict(zip(names, row, strict=True))


def _rows(table: Any) -> Iterator[list[Any]]:
    """The names of the columns, and the rows: None where missing, times as text."""
    yield [str(name) for name in table.columns]
    for row in table.itertuples(index=False, name=None):
        yield [_plain(value) for value in row]


def _plain(value: Any) -> Any:
    if hasattr(value, "isoformat"):
        return None if value != value else value.isoformat()
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _pandas() -> Any:
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise ValueError('tables need pandas: pip install "weal[frames]"') from error
    return pandas
