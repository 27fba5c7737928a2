"""One sheet of an Excel workbook, as a grid of cells or as plain columns.

Values as they were last computed, not formulas; a formula that was never computed is named and
refused. Without the name of a sheet, the first is read. As columns: title lines above the header
are passed over where it is clear which row that is (the first of nothing but text that is about as
long as those below), or `header` says on which line it stands; so are a row of units below it,
empty rows, and columns without a name that are empty all the way down. Needs openpyxl, unless the
sheet is a plain one (`plain_sheet`). What is too large (`weal.limits`) is refused while it is read.
"""

import io
from collections.abc import Sequence
from contextlib import closing
from itertools import zip_longest
from pathlib import Path
from statistics import median
from typing import Any

from weal.errors import TooLarge
from weal.limits import read_limits
from weal.table.cells import cell_text, read_number
from weal.table.delimited import check_names
from weal.table.frames import plain_cell, plain_cells
from weal.table.grid import Grid
from weal.table.guarding import unspelt
from weal.table.plain_sheet import FAILS, Rows, plain_rows
from weal.table.text_records import (
    check_cells,
    check_size,
    too_long_cell,
    too_many_columns,
    too_many_rows,
)
from weal.table.workbook_scan import scan_workbook

LOOKED_AT = 20  # rows that say how long a row is
NEARLY = 0.8  # of that: cells of a header


def sheet_columns(
    path: Path, sheet: str | None = None, header: int | None = None
) -> tuple[dict[str, list[Any]], tuple[str, ...]]:
    """Columns of a sheet by name, and notes on what was passed over."""
    check_size(str(path), path.stat().st_size, read_limits().workbook_bytes, "workbook_bytes")
    grid = sheet_grid(path.read_bytes(), str(path), sheet)
    rows, notes = grid.rows, list(grid.notes)
    if not rows:
        raise ValueError(f"{path} is empty; its first row must name the columns")
    first = _header(rows, header, str(path))
    if first and header is None:
        notes.append(f"{path.name}: the header was found on line {rows[first][0]}")
    table = _columns([row for _, row in rows[first:]], str(path))
    if _has_units(table):
        notes.append(f"{path.name}: line {rows[first + 1][0]} was read as a row of units")
        table = {name: cells[1:] for name, cells in table.items()}
    return table, tuple(notes)


def sheet_grid(data: bytes, where: str, sheet: str | None = None) -> Grid:
    """The rows of a sheet, and a note where there are more sheets and none was named."""
    titles, rows = plain_rows(data, sheet) or _read(data, where, sheet)
    rows = [(n, [_cell(cell) for cell in row]) for n, row in rows]
    _check_lengths(rows, where)
    title = titles[0] if sheet is None else sheet
    more = f"read the first sheet of {Path(where).name}, {title!r}, of {len(titles)}"
    several = sheet is None and len(titles) > 1
    return Grid(where, rows, False, (more,) if several else (), ragged=True)


def _read(data: bytes, where: str, sheet: str | None) -> tuple[list[str], Rows]:
    """Titles of the sheets, and the rows of one, by openpyxl."""
    try:
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException
    except ModuleNotFoundError as error:
        raise ValueError(
            f'{where} is Excel, which needs openpyxl: pip install "weal[excel]", or save it as CSV'
        ) from error
    formulas = _has_formulas(data, where)
    try:
        with closing(load_workbook(io.BytesIO(data), True, data_only=True)) as book:
            titles = list(book.sheetnames)
            title = _title(titles, sheet, where)
            rows = _filled_rows(book[title], where)
        if formulas:
            with closing(load_workbook(io.BytesIO(data), True)) as book:
                _refuse_formulas(_filled_rows(book[title], where), rows, where)
    except _Wrong as error:
        raise ValueError(str(error)) from None
    except TooLarge:
        raise
    except (InvalidFileException, *FAILS) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{where} cannot be read as Excel: {reason}") from error
    return titles, rows


class _Wrong(Exception):
    """Advice of our own, told apart from what the reader of workbooks says."""


def _title(there: list[str], wanted: str | None, where: str) -> str:
    if wanted is None:
        return there[0]
    if wanted not in there:
        names = ", ".join(map(repr, there[:10]))
        raise _Wrong(f"{where} has no sheet {wanted!r}; it has {names}")
    return wanted


def _filled_rows(sheet: Any, where: str) -> Rows:
    """Rows up to their last cell that is filled; TooLarge beyond the limits, gaps included."""
    limits = read_limits()
    sheet.reset_dimensions()  # what the sheet says of its size may be wrong
    rows, width = Rows(), 0
    for line, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        if line > limits.rows:
            raise too_many_rows(where, limits.rows)
        if row and (last := _last_filled(row)):  # a gap has no cells
            rows.append((line, list(row[:last])))
            width = max(width, last)
            check_cells(where, len(rows), width, limits.sheet_cells, "sheet_cells")
    if width > limits.columns:
        raise too_many_columns(where, limits)
    return rows


def _last_filled(row: Sequence[Any]) -> int:
    """How many cells there are up to the last that is filled."""
    return next((n for n in range(len(row), 0, -1) if _filled(row[n - 1])), 0)


def _cell(value: Any) -> Any:
    """A cell as others have it; control characters that weal has spelt, as they were."""
    plain = plain_cell(value)
    return unspelt(plain) if isinstance(plain, str) else plain


def _check_lengths(rows: Rows, where: str) -> None:
    limits = read_limits()
    for line, row in rows:
        for cell in row:
            if type(cell) is str and len(cell) > limits.cell_length:
                raise too_long_cell(where, limits, f"line {line}")


def _refuse_formulas(written: Rows, computed: Rows, where: str) -> None:
    values = dict(computed)
    for line, row in written:
        known = values.get(line, [])
        for n, cell in enumerate(row):
            empty = n >= len(known) or known[n] is None
            if empty and isinstance(cell, str) and cell.startswith("="):
                raise _Wrong(
                    f"{where}: the formula in column {_letters(n)}, line {line}, has no value yet; "
                    "open the file in a spreadsheet, save it, and try again"
                )


def _letters(n: int) -> str:
    """The name of a column in a spreadsheet."""
    found = ""
    while n >= 0:
        found, n = chr(65 + n % 26) + found, n // 26 - 1
    return found


def _header(rows: Rows, given: int | None, where: str) -> int:
    """Which row names the columns."""
    if given is not None:
        if given in (lines := [line for line, _ in rows]):
            return lines.index(given)
        raise ValueError(f"line {given} of {where} is blank or not there: where is the header?")
    lengths = [sum(map(_filled, row)) for _, row in rows[: LOOKED_AT + 1]]
    for n, (_, row) in enumerate(rows[:LOOKED_AT]):
        usual = median(lengths[n + 1 :] or lengths[n:])
        if lengths[n] >= max(2, NEARLY * usual) and all(map(_is_name, filter(_filled, row))):
            return n
    return 0


def _is_name(cell: Any) -> bool:
    return isinstance(cell, str) and read_number(cell) is None


def _has_units(table: dict[str, list[Any]]) -> bool:
    """Whether the first cells are words, in columns of numbers too, or blank."""
    if any(len(cells) < 3 for cells in table.values()):
        return False
    first = [cells[0] for cells in table.values() if _filled(cells[0])]
    over_numbers = [
        _filled(cells[0]) and all(isinstance(c, int | float) for c in cells[1:] if _filled(c))
        for cells in table.values()
    ]
    return bool(first) and all(map(_is_name, first)) and any(over_numbers)


def _columns(rows: list[list[Any]], where: str) -> dict[str, list[Any]]:
    columns = [column for column in zip_longest(*rows) if any(map(_filled, column))]
    names = ["" if column[0] is None else cell_text(column[0]) for column in columns]
    cells = (plain_cells(column[1:]) for column in columns)
    return dict(zip(check_names(names, where), cells, strict=True))


def _has_formulas(data: bytes, where: str) -> bool:
    """Whether a sheet has formulas; refuses what is not to be read."""
    try:
        return scan_workbook(data, where)
    except TooLarge:
        raise
    except FAILS as error:
        raise ValueError(f"{where} cannot be read as Excel: {error}") from error


def _filled(value: Any) -> bool:
    return value is not None and value != ""
