"""Write columns as files: atomically, without overwriting, and with no cell that a spreadsheet
runs.

    .csv .tsv         text that a spreadsheet would run gets a ' before it, control characters are
                      escaped (`text_records`); `weal` reads both back unchanged
    .xlsx             text cells; control characters are escaped
    .json .jsonl      exact
    .parquet          exact; lone surrogates, which an old store may hold, are escaped

A file is written under a temporary name, synced and moved to its path (`weal.files`). A file or
link at the path stays unless `force` is given; a link is replaced itself, not its target.
"""

import csv
import io
import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from weal.files import atomic_file
from weal.tables.text_records import escape, escape_control_characters

if TYPE_CHECKING:
    import pyarrow

WrittenColumns = Mapping[str, Sequence[Any]]  # cells by the name of the column: lists or arrays
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_SHEET_ROWS = 1_048_576  # of an Excel sheet
_MAX_CELL_CHARACTERS = 32_767  # of an Excel cell: openpyxl drops the rest


def write(table: WrittenColumns, path: str | os.PathLike[str], force: bool = False) -> None:
    """Write columns in the format of the file's suffix; "-" is CSV on stdout."""
    if os.fspath(path) == "-":
        _write_text(table, sys.stdout, ",")
        return
    place = Path(path)
    with new_table_file(place, force) as draft:
        WRITERS[place.suffix.lower()](table, draft)


def check_place(path: str | os.PathLike[str], force: bool) -> Path:
    """The path; ValueError if it cannot be written, before the work is done."""
    place = Path(path).expanduser()
    if os.fspath(path) == "-":
        return place
    if place.suffix.lower() not in WRITERS:
        raise ValueError(f"{place} does not end in one of {', '.join(WRITERS)}")
    if not place.parent.is_dir():
        raise ValueError(f"there is no folder {place.parent} to write {place.name} to")
    if os.path.lexists(place) and not force:
        raise _already_exists(place)
    return place


@contextmanager
def new_table_file(path: Path, replace: bool = True) -> Iterator[Path]:
    """A temporary file that is moved to the path once it is written and synced."""
    try:
        with atomic_file(path, replace) as draft:
            yield draft
    except FileExistsError:
        raise _already_exists(path) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(error.errno or 0, f"{reason}; it was not written", str(path)) from error


def _already_exists(path: Path) -> ValueError:
    what = "a link" if path.is_symlink() else "a file" if path.is_file() else "something"
    return ValueError(
        f"there is {what} {path} already; write it elsewhere, or use force (--force) to replace it"
    )


def _write_text(table: WrittenColumns, file: Path | IO[str], separator: str) -> None:
    count = 0

    def safe(value: object) -> object:
        nonlocal count
        if not isinstance(value, str):
            return value
        text = escape(value)
        count += text != value
        return text

    with _text_file(file) as out:
        writer = csv.writer(out, delimiter=separator, lineterminator="\n")
        writer.writerow([safe(str(name)) for name in table])
        cells = (map(safe, _text_cells(column)) for column in table.values())
        writer.writerows(zip(*cells, strict=True))
    if count:
        cells_are = "1 cell is" if count == 1 else f"{count} cells are"
        warnings.warn(
            f"{cells_are} escaped so that a spreadsheet runs nothing: a ' before = + - @, and "
            "control characters as escapes; weal reads them back unchanged, and .json and .parquet "
            "have them exactly",
            stacklevel=2,
        )


@contextmanager
def _text_file(file: Path | IO[str]) -> Iterator[IO[str]]:
    """The file, opened if it is a path."""
    if isinstance(file, Path):
        with file.open("w", encoding="utf-8", newline="") as out:
            yield out
    else:
        yield file


def _text_cells(column: Sequence[object]) -> list[object]:
    """Cells as text for CSV: empty if missing; a date at midnight without its time."""
    cells = _cells(column)
    times = [one for one in cells if isinstance(one, datetime)]
    days = all(one.time() == time.min and one.tzinfo is None for one in times)
    return [one.date().isoformat() if days and isinstance(one, datetime) else one for one in cells]


def _cells(column: Sequence[object]) -> list[object]:
    """The cells of a column as plain values, None where missing (NaN, NaT)."""
    found = column.tolist() if isinstance(column, np.ndarray) else column
    plain = [one.item() if isinstance(one, np.generic) else one for one in found]
    return [None if one != one else one for one in plain]


def _write_parquet(table: WrittenColumns, path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    arrays = [_arrow_column(pyarrow, column) for column in table.values()]
    names = [_encodable(str(name)) for name in table]
    pyarrow.parquet.write_table(pyarrow.table(arrays, names=names), path)


def _arrow_column(arrow: ModuleType, column: Sequence[object]) -> "pyarrow.Array":
    """An Arrow column; text where the cells have several types."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiub":
        return arrow.array(column, from_pandas=True)  # NaN becomes null
    cells = [_encodable(one) for one in _cells(column)]
    try:
        return arrow.array(cells)
    except (arrow.ArrowInvalid, arrow.ArrowTypeError, OverflowError):
        return arrow.array([None if one is None else str(one) for one in cells])


def _encodable(value: Any) -> Any:
    """The value; text with a lone surrogate is escaped."""
    return value if is_encodable(value) else escape_control_characters(value)


def is_encodable(value: object) -> bool:
    """Whether a value has no lone surrogate, which UTF-8 cannot encode."""
    return not isinstance(value, str) or not _LONE_SURROGATE.search(value)


def _write_json(table: WrittenColumns, path: Path) -> None:
    text = json.dumps(list(_records(table)), indent=1, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _write_json_lines(table: WrittenColumns, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for record in _records(table):
            file.write(json.dumps(record, allow_nan=False) + "\n")


def _write_sheet(table: WrittenColumns, path: Path) -> None:
    if (rows := row_count(table)) >= _MAX_SHEET_ROWS:
        raise ValueError(f"{rows:,} rows are too many for an Excel sheet: write .parquet")
    save_sheet(_rows(table), path)


def save_sheet(table: Iterable[Sequence[object]], path: Path, header: bool = False) -> None:
    """Write rows as an Excel sheet; `header` makes the first row bold and freezes it."""
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.styles import Font
    except ModuleNotFoundError as error:
        raise ValueError('.xlsx needs openpyxl: pip install "weal[excel]"') from error
    rows = [[_sheet_value(value) for value in row] for row in table]
    book, packed = Workbook(write_only=True), io.BytesIO()
    sheet = book.create_sheet("weal")
    sheet.freeze_panes = "B2" if header else None
    for n, values in enumerate(rows):
        cells = [WriteOnlyCell(sheet, value) for value in values]
        for cell, value in zip(cells, values, strict=True):
            if isinstance(value, str):
                cell.data_type = "s"  # otherwise text that begins with "=" becomes a formula
            if header and n == 0:
                cell.font = Font(bold=True)
        sheet.append(cells)
    book.save(packed)  # in memory: openpyxl reports a full disk too late
    path.write_bytes(packed.getvalue())


def _sheet_value(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = escape_control_characters(value)
    if len(text) > _MAX_CELL_CHARACTERS:
        raise ValueError(
            f"an Excel cell holds {_MAX_CELL_CHARACTERS:,} characters, not {len(text):,}: "
            "write .csv"
        )
    return text


WRITERS: dict[str, Callable[[WrittenColumns, Path], None]] = {
    ".csv": lambda table, path: _write_text(table, path, ","),
    ".tsv": lambda table, path: _write_text(table, path, "\t"),
    ".parquet": _write_parquet,
    ".json": _write_json,
    ".jsonl": _write_json_lines,
    ".xlsx": _write_sheet,
}


def _records(table: WrittenColumns) -> Iterator[dict[object, object]]:
    """Rows as JSON objects."""
    names, *rows = _rows(table)
    for row in rows:
        yield dict(zip(names, row, strict=True))


def _rows(table: WrittenColumns) -> Iterator[list[object]]:
    """The column names and the rows: None where missing, times as text."""
    yield [str(name) for name in table]
    for row in zip(*(_cells(column) for column in table.values()), strict=True):
        yield [_plain(value) for value in row]


def _plain(value: object) -> object:
    if isinstance(value, date | time):
        return value.isoformat()
    return None if isinstance(value, float) and not np.isfinite(value) else value


def row_count(table: WrittenColumns) -> int:
    """The number of rows of a table of columns."""
    return len(next(iter(table.values()), ()))
