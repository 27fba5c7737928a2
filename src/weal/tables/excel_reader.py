"""The Excel reader: one sheet of a workbook, as a grid of cells or as columns.

`plain_sheet` reads sheets of numbers, text and booleans, `openpyxl_sheet` all others. Of several
sheets, the named one is read; else the first with the columns that the user named; else the first
that looks like a table. The value of a merged cell counts for its whole range (`merged_cells`).
For columns, the header is found below title lines (`csv_reader.find_header`); blank rows
and blank columns without a name are skipped.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise, zip_longest
from pathlib import Path

from weal.limits import read_limits
from weal.tables.cells import Cell, cell_text
from weal.tables.csv_reader import (
    HEADER_ROWS,
    CellGrid,
    check_names,
    column_names,
    find_header,
    header_note,
    is_filled,
    is_name,
)
from weal.tables.frames import plain_cell, plain_cells
from weal.tables.merged_cells import Rows
from weal.tables.openpyxl_sheet import read_with_openpyxl
from weal.tables.plain_sheet import read_plain_sheet
from weal.tables.table_error import Remedy, TableError
from weal.tables.text_records import check_size, too_long_cell, unescape_control_characters
from weal.tables.units import canonical_unit, is_known_unit

MAX_SHEETS_SEARCHED = 30
_MIN_COLUMNS = 2
IsTable = Callable[[Rows], bool]  # whether these rows belong to the wanted sheet


def read_sheet_grid(
    data: bytes, where: str, sheet: str | None = None, is_table: IsTable | None = None
) -> CellGrid:
    """The rows of a sheet, with a note where one of several was chosen."""
    titles, rows = _read_rows(data, where, sheet)
    title = sheet or titles[0]
    if sheet is None and len(titles) > 1 and not (is_table or looks_like_table)(rows):
        for other in titles[1:MAX_SHEETS_SEARCHED]:
            try:
                _, found = _read_rows(data, where, other)
            except ValueError:  # such as a sheet with a chart alone
                continue
            if (is_table or looks_like_table)(found):
                title, rows = other, found
                break
    others = [repr(one) for one in titles if one != title]
    note = f"read the sheet {title!r} of {Path(where).name}; it also has {', '.join(others[:10])}"
    notes = (note,) if sheet is None and others else ()
    return CellGrid(where, rows, False, notes, True, title, tuple(titles))


def read_sheet_columns(
    path: Path, sheet: str | None = None, header: int | None = None, named: Sequence[str] = (),
    target: str | None = None,
) -> tuple[dict[str, list[Cell]], tuple[str, ...]]:  # fmt: skip
    """The columns of a sheet by name, and notes; `named` and the target choose the sheet."""
    where = str(path)
    check_size(where, path.stat().st_size, read_limits().workbook_bytes, "workbook_bytes")
    wanted = {*named, *filter(None, [target])}

    def is_table(rows: Rows) -> bool:
        return _find_names(rows, wanted) is not None if wanted else looks_like_table(rows)

    data = path.read_bytes()
    grid = read_sheet_grid(data, where, sheet, is_table)
    if wanted and named and not is_table(grid.rows):  # the target may be in no sheet
        wanted = set(named)
        grid = read_sheet_grid(data, where, sheet, is_table)
    if wanted and sheet is None and grid.notes and not is_table(grid.rows):
        raise _no_sheet(data, where, named or [str(target)])
    first = None if header else _find_names(grid.rows, wanted)
    if first is None:
        first = find_header(grid.rows, where, header, ragged=True, named=list(wanted))
    notes = list(grid.notes)
    if first and header is None:
        notes.append(header_note(where, grid.rows[first][0]))
    rows = [row for _, row in grid.rows[first:]]
    if joined := join_header(rows):
        notes.append(f"{Path(where).name}: the column names are on two lines")
    return _columns(joined or rows, where), tuple(notes)


def _no_sheet(data: bytes, where: str, named: Sequence[str]) -> TableError:
    """The error for a workbook of several sheets of which none has the named columns."""
    shown, remedies = list[str](), list[Remedy]()
    for title in sheet_titles(data)[:MAX_SHEETS_SEARCHED]:
        _, rows = _read_rows(data, where, title)
        if looks_like_table(rows):
            names = column_names(rows[find_header(rows, where, ragged=True)][1])
            shown.append(f"{title!r} has {', '.join(names[:20])}")
            lower = {name.casefold(): name for name in names}
            remedies += [
                Remedy("id", lower[n], "names it") for n in [named[0].casefold()] if n in lower
            ]
    lost = ", ".join(map(repr, named))
    return TableError(
        f"no sheet of {Path(where).name} has {lost}: {'; '.join(shown) or 'none is a table'}",
        *remedies[:1],
        otherwise="write the names as they are in a sheet, or choose it (--sheet)",
    )


def _find_names(rows: Rows, wanted: set[str]) -> int | None:
    """The first row with all these names, or the first of two such rows; None without names."""
    heads = [set(column_names(row)) for _, row in rows[: HEADER_ROWS + 1]]
    single = (n for n, head in enumerate(heads[:HEADER_ROWS]) if wanted and wanted <= head)
    joined = (n for n, (a, b) in enumerate(pairwise(heads)) if wanted and wanted <= a | b)
    found = next(single, None)
    return next(joined, None) if found is None else found


def join_header(rows: Sequence[Sequence[Cell]]) -> list[Sequence[Cell]] | None:
    """The rows with one header, where the first has groups and the second their columns.

    >>> join_header([["run", "bath", "bath", "yield"], [None, "T", "time", None], ["A", 1, 2, 3]])
    [['run', 'T', 'time', 'yield'], ['A', 1, 2, 3]]
    """
    if len(rows) < 3:
        return None
    width = max(len(rows[0]), len(rows[1]))
    groups, names = ([*column_names(row), *[""] * (width - len(row))] for row in rows[:2])
    counts, after = Counter(groups), [*groups[1:], ""]
    own = [bool(name) and name != group for name, group in zip(names, groups, strict=True)]
    grouped = [
        not group or counts[group] > 1 or (not after[n] and n + 1 < width and own[n + 1])
        for n, group in enumerate(groups)
    ]
    if not any(own) or own != [is_in and bool(names[n]) for n, is_in in enumerate(grouped)]:
        return None
    wanted = [n for n in range(width) if own[n]]
    are_units = all(is_known_unit(canonical_unit(names[n])) for n in wanted)
    if are_units or not all(is_name(names[n]) for n in wanted):
        return None
    taken = Counter(name if own[n] else groups[n] for n, name in enumerate(names))
    head: list[Cell] = [
        groups[n] if not own[n] else name if taken[name] == 1 else f"{groups[n]} {name}".strip()
        for n, name in enumerate(names)
    ]
    return [head, *rows[2:]]


def sheet_titles(data: bytes) -> list[str]:
    """The titles of all sheets of a workbook."""
    return _read_rows(data, "this file", None)[0]


def looks_like_table(rows: Rows) -> bool:
    """Whether a row of several words is above rows of several cells."""
    counts = [sum(map(is_filled, row)) for _, row in rows[:HEADER_ROWS]]
    for n, (_, row) in enumerate(rows[:HEADER_ROWS]):
        words = all(is_name(cell) for cell in row if is_filled(cell))
        if counts[n] >= _MIN_COLUMNS and words:
            below = counts[n + 1 :]
            return bool(below) and max(below) >= _MIN_COLUMNS
    return False


def _read_rows(data: bytes, where: str, sheet: str | None) -> tuple[list[str], Rows]:
    """The titles of all sheets, and the rows of one."""
    titles, rows = read_plain_sheet(data, sheet) or read_with_openpyxl(data, where, sheet)
    rows = [(line, [_unescape(cell) for cell in row]) for line, row in rows]
    _check_lengths(rows, where)
    return titles, rows


def _columns(rows: Sequence[Sequence[Cell]], where: str) -> dict[str, list[Cell]]:
    columns = [column for column in zip_longest(*rows) if any(map(is_filled, column))]
    names = ["" if column[0] is None else cell_text(column[0]) for column in columns]
    cells = (plain_cells(column[1:]) for column in columns)
    return dict(zip(check_names(names, where), cells, strict=True))


def _unescape(value: object) -> Cell:
    """A value of a workbook as a cell, with the control characters that weal escaped."""
    plain = plain_cell(value)
    return unescape_control_characters(plain) if isinstance(plain, str) else plain


def _check_lengths(rows: Rows, where: str) -> None:
    limits = read_limits()
    for line, row in rows:
        for cell in row:
            if type(cell) is str and len(cell) > limits.cell_length:
                raise too_long_cell(where, limits, f"line {line}")
