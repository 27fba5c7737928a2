"""Tables as files: whole or not at all, not in place of others, and with nothing in them that runs.

    .csv .tsv         text that a spreadsheet would run is written with a ' before it, control
                      characters are spelt (`tables.guarding`); `weal` reads both back as they were
    .xlsx             text cells; control characters are spelt
    .json .jsonl      exact
    .parquet          exact; half a character, which an old store may hold, is spelt

A file is written beside its place, synced and then moved there: whoever reads the path finds the
old file or the new one, whole. Its rights are those of the umask. A file or link that is there
stays, unless it is to be replaced; a link is then replaced itself, and what it leads to is left.
"""

import io
import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from weal.files import atomic_file
from weal.tables.spreadsheet_escaping import escape, escape_control_characters

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_SHEET_ROWS = 1_048_576  # rows of a sheet of Excel
_MAX_CELL_CHARACTERS = 32_767  # characters of a cell: openpyxl would cut the rest off


def write(table: Any, path: str | os.PathLike[str], force: bool = False) -> None:
    """Write a frame to a file whose name says how; "-" is CSV on stdout."""
    if os.fspath(path) == "-":
        _delimited(table, sys.stdout, ",")
        return
    place = Path(path)
    with new_table_file(place, force) as draft:
        WRITERS[place.suffix.lower()](table, draft)


def check_place(path: str | os.PathLike[str], force: bool) -> Path:
    """The path, or an error that says why nothing can be written there; before the work is done."""
    place = Path(path).expanduser()
    if os.fspath(path) == "-":
        return place
    if place.suffix.lower() not in WRITERS:
        raise ValueError(f"{place} does not end in one of {', '.join(WRITERS)}")
    if not place.parent.is_dir():
        raise ValueError(f"there is no folder {place.parent} to write {place.name} to")
    if os.path.lexists(place) and not force:
        raise _there(place)
    return place


@contextmanager
def new_table_file(path: Path, replace: bool = True) -> Iterator[Path]:
    """A draft that becomes the file at the path, once it is written and on disk."""
    try:
        with atomic_file(path, replace) as draft:
            yield draft
    except FileExistsError:
        raise _there(path) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(error.errno or 0, f"{reason}; it was not written", str(path)) from error


def _there(path: Path) -> ValueError:
    what = "a link" if path.is_symlink() else "a file" if path.is_file() else "something"
    return ValueError(
        f"there is {what} {path} already; write it elsewhere, or say force (--force) to replace it"
    )


def _csv(table: Any, path: Path) -> None:
    _delimited(table, path, ",")


def _tsv(table: Any, path: Path) -> None:
    _delimited(table, path, "\t")


def _delimited(table: Any, where: Any, separator: str) -> None:
    count = 0

    def safe(value: Any) -> Any:
        nonlocal count
        if not isinstance(value, str):
            return value
        text = escape(value)
        count += text != value
        return text

    plain = table.map(safe)
    plain.columns = [safe(str(name)) for name in table.columns]
    plain.to_csv(where, index=False, sep=separator, lineterminator="\n", encoding="utf-8")
    if count:
        cells = "1 cell is" if count == 1 else f"{count} cells are"
        warnings.warn(
            f"{cells} written so that a spreadsheet runs nothing: with a ' before = + - @, and "
            "control characters spelt; weal reads that back as it was, and .json and .parquet "
            "have it exactly",
            stacklevel=2,
        )


def _parquet(table: Any, path: Path) -> None:
    whole = table.map(lambda value: value if encodable(value) else escape_control_characters(value))
    whole.to_parquet(path, index=False)


def encodable(value: Any) -> bool:
    """Whether this is no text, or one of whole characters."""
    return not isinstance(value, str) or not _LONE_SURROGATE.search(value)


def _json(table: Any, path: Path) -> None:
    text = json.dumps(list(_records(table)), indent=1, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _jsonl(table: Any, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for record in _records(table):
            file.write(json.dumps(record, allow_nan=False) + "\n")


def _xlsx(table: Any, path: Path) -> None:
    if len(table) >= _MAX_SHEET_ROWS:
        raise ValueError(f"{len(table):,} rows are too many for a sheet of Excel: write .parquet")
    save_sheet(_rows(table), path)


def save_sheet(table: Iterable[Sequence[Any]], path: Path, header: bool = False) -> None:
    """Write rows as a sheet of Excel; with `header` the first stays in sight, and is bold."""
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.styles import Font
    except ModuleNotFoundError as error:
        raise ValueError('.xlsx needs openpyxl: pip install "weal[excel]"') from error
    rows = [[_for_a_cell(value) for value in row] for row in table]
    book, packed = Workbook(write_only=True), io.BytesIO()
    sheet = book.create_sheet("weal")
    sheet.freeze_panes = "B2" if header else None
    for n, values in enumerate(rows):
        cells = [WriteOnlyCell(sheet, value) for value in values]
        for cell, value in zip(cells, values, strict=True):
            if isinstance(value, str):
                cell.data_type = "s"  # else text that begins with "=" becomes a formula
            if header and n == 0:
                cell.font = Font(bold=True)
        sheet.append(cells)
    book.save(packed)  # in memory: a workbook on a full disk complains long after
    path.write_bytes(packed.getvalue())


def _for_a_cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = escape_control_characters(value)
    if len(text) > _MAX_CELL_CHARACTERS:
        raise ValueError(
            f"a cell of Excel holds {_MAX_CELL_CHARACTERS:,} characters, not {len(text):,}: "
            "write .csv"
        )
    return text


WRITERS: dict[str, Callable[[Any, Path], None]] = {
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
