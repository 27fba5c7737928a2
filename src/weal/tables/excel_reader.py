"""The Excel reader: one sheet of a workbook, as a grid of cells or as columns.

A sheet of numbers, text and truth values is read with the standard library, which takes less time
than importing openpyxl does and works without it. Every other sheet (dates, formulas, formatted
text, large or damaged workbooks) is read with openpyxl, after one pass over the archive that
enforces `weal.limits` (`workbook_scan`). Both give the same cells.

Formulas count with the value that was last computed; a formula without one is refused. The first
sheet is read unless another is named. As columns, the sheet has its header found below title lines
(`csv_reader.find_header`), and a row of units, blank rows and blank columns without a name are
skipped.
"""

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import zip_longest
from pathlib import Path
from typing import Protocol
from xml.etree import ElementTree
from xml.etree.ElementTree import Element
from zipfile import BadZipFile, ZipFile
from zlib import error as ZlibError

from weal.errors import TooLarge
from weal.limits import read_limits
from weal.tables.cells import Cell, cell_text
from weal.tables.csv_reader import (
    CellGrid,
    check_names,
    find_header,
    header_note,
    is_filled,
    is_name,
)
from weal.tables.frames import plain_cell, plain_cells
from weal.tables.spreadsheet_escaping import unescape_control_characters
from weal.tables.text_records import (
    check_cells,
    check_size,
    too_long_cell,
    too_many_columns,
    too_many_rows,
)
from weal.tables.workbook_scan import scan_workbook

MAX_PLAIN_SHEET_BYTES = 4 << 20  # of an XML part that is parsed in memory; openpyxl reads larger
MAX_PLAIN_SHEET_TAGS = 400_000
_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_LINK = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_CELL_REFERENCE = re.compile(r"([A-Z]{1,3})[1-9][0-9]*")
_PLAIN_FORMATS = {*range(14), *range(37, 45), 48, 49}  # built-in number formats without a date

# Errors that openpyxl, zipfile and the XML parser raise on damaged or hostile workbooks.
SHEET_ERRORS = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, NotImplementedError),
    *(OSError, RecursionError, SyntaxError, TypeError, ValueError, BadZipFile, ZlibError),
)
Rows = list[tuple[int, list[Cell]]]  # rows that are not blank, with their line numbers


def read_sheet_grid(data: bytes, where: str, sheet: str | None = None) -> CellGrid:
    """The rows of a sheet, with a note where the first of several sheets was read."""
    titles, rows = read_plain_sheet(data, sheet) or _read_with_openpyxl(data, where, sheet)
    rows = [(line, [_unescape(cell) for cell in row]) for line, row in rows]
    _check_lengths(rows, where)
    note = f"read the first sheet of {Path(where).name}, {titles[0]!r}, of {len(titles)}"
    has_others = sheet is None and len(titles) > 1
    return CellGrid(where, rows, False, (note,) if has_others else (), ragged=True)


def read_sheet_columns(
    path: Path, sheet: str | None = None, header: int | None = None
) -> tuple[dict[str, list[Cell]], tuple[str, ...]]:
    """The columns of a sheet by name, and notes on skipped rows."""
    where = str(path)
    check_size(where, path.stat().st_size, read_limits().workbook_bytes, "workbook_bytes")
    grid = read_sheet_grid(path.read_bytes(), where, sheet)
    first = find_header(grid.rows, where, header, ragged=True)
    notes = list(grid.notes)
    if first and header is None:
        notes.append(header_note(where, grid.rows[first][0]))
    table = _columns([row for _, row in grid.rows[first:]], where)
    if _has_units(table):
        notes.append(f"{path.name}: line {grid.rows[first + 1][0]} was read as a row of units")
        table = {name: cells[1:] for name, cells in table.items()}
    return table, tuple(notes)


def _columns(rows: Sequence[Sequence[Cell]], where: str) -> dict[str, list[Cell]]:
    columns = [column for column in zip_longest(*rows) if any(map(is_filled, column))]
    names = ["" if column[0] is None else cell_text(column[0]) for column in columns]
    cells = (plain_cells(column[1:]) for column in columns)
    return dict(zip(check_names(names, where), cells, strict=True))


def _has_units(table: dict[str, list[Cell]]) -> bool:
    """Whether the first row holds words or blanks only, also above numbers."""
    if any(len(cells) < 3 for cells in table.values()):
        return False
    first = [cells[0] for cells in table.values() if is_filled(cells[0])]
    above_numbers = (
        is_filled(cells[0]) and all(isinstance(c, int | float) for c in cells[1:] if is_filled(c))
        for cells in table.values()
    )
    return bool(first) and all(map(is_name, first)) and any(above_numbers)


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


# --- with the standard library


def read_plain_sheet(data: bytes, wanted: str | None) -> tuple[list[str], Rows] | None:
    """Sheet names, and the rows of one (None: the first); None for a sheet that needs openpyxl."""
    try:
        with ZipFile(io.BytesIO(data)) as bundle:
            return _plain_sheet(bundle, wanted)
    except SHEET_ERRORS:  # openpyxl names the problem
        return None


def _plain_sheet(bundle: ZipFile, wanted: str | None) -> tuple[list[str], Rows] | None:
    book, links = _parse(bundle, "xl/workbook.xml"), _parse(bundle, "xl/_rels/workbook.xml.rels")
    sheets = {one.attrib["name"]: one.attrib[_LINK] for one in book.iter(f"{_MAIN}sheet")}
    targets = {one.attrib["Id"]: one.attrib for one in links}
    title = next(iter(sheets), "") if wanted is None else wanted
    kinds = {targets[link]["Type"].rsplit("/", 1)[-1] for link in sheets.values()}
    if title not in sheets or kinds != {"worksheet"}:
        return None
    target = targets[sheets[title]]["Target"]
    sheet = _parse(bundle, target.lstrip("/") if target.startswith("/") else f"xl/{target}")
    shared, texts = "xl/sharedStrings.xml", list[str]()
    if shared in bundle.namelist():
        texts = [_text(one) for one in _parse(bundle, shared).iter(f"{_MAIN}si")]
    rows = list(_plain_rows(sheet, texts, _plain_styles(_parse(bundle, "xl/styles.xml"))))
    lines = [line for line, _ in rows]
    if lines != sorted(set(lines)):
        return None
    return list(sheets), [(line, cells) for line, cells in rows if any(map(is_filled, cells))]


def _plain_rows(
    sheet: Element, texts: list[str], styles: set[str]
) -> Iterator[tuple[int, list[Cell]]]:
    """The rows of a sheet; TooLarge beyond the limits."""
    limits, width = read_limits(), 0
    for n, row in enumerate(sheet.iter(f"{_MAIN}row"), start=1):
        line, cells = int(row.attrib["r"]), _plain_cells(row, texts, styles)
        width = max(width, len(cells))
        check_cells("", n, width, limits.sheet_cells)
        if line > limits.rows:
            raise too_many_rows("", limits.rows)
        yield line, cells


def _parse(bundle: ZipFile, name: str) -> Element:
    """A part of the workbook; ValueError where it is large or has entities."""
    with bundle.open(name) as part:  # the archive may understate the size of a part
        text = part.read(MAX_PLAIN_SHEET_BYTES + 1)
    if len(text) > MAX_PLAIN_SHEET_BYTES or text.count(b"<") > MAX_PLAIN_SHEET_TAGS:
        raise ValueError(name)
    if b"<!" in text:  # entities or CDATA sections
        raise ValueError(name)
    return ElementTree.fromstring(text)


def _text(parent: Element) -> str:
    """The text of a string element; ValueError where it is formatted or escaped."""
    [only] = parent
    text = only.text or ""
    if only.tag != f"{_MAIN}t" or "_x" in text:
        raise ValueError(only.tag)
    return text


def _plain_styles(styles: Element) -> set[str]:
    """Styles that show a number or a text as it is."""
    [formats] = styles.iter(f"{_MAIN}cellXfs")
    numbers = [int(one.get("numFmtId", "0")) for one in formats]
    return {str(n) for n, one in enumerate(numbers) if one in _PLAIN_FORMATS}


def _plain_cells(row: Element, texts: list[str], styles: set[str]) -> list[Cell]:
    cells: list[Cell] = []
    for cell in row:
        place = _CELL_REFERENCE.fullmatch(cell.attrib["r"])
        column = 0
        for letter in place[1] if place else "":
            column = 26 * column + ord(letter) - 64
        if column <= len(cells) or cell.get("s", "0") not in styles:
            raise ValueError(cell.attrib["r"])
        cells += [None] * (column - 1 - len(cells))
        cells.append(_plain_value(cell, texts))
    return cells


def _plain_value(cell: Element, texts: list[str]) -> Cell:
    kind, parts = cell.get("t", "n"), list(cell)
    if not parts:
        return None
    [only] = parts
    if kind == "inlineStr" and only.tag == f"{_MAIN}is":
        return _text(only)
    if only.tag != f"{_MAIN}v" or only.text is None:
        raise ValueError(only.tag)
    if kind == "s":
        return texts[int(only.text)]
    if kind == "b":
        return bool(int(only.text))
    if kind != "n":
        raise ValueError(kind)
    return float(only.text) if re.search("[.eE]", only.text) else int(only.text)


# --- with openpyxl


class _Sheet(Protocol):
    """A sheet of openpyxl."""

    def reset_dimensions(self) -> None: ...
    def iter_rows(self, *, values_only: bool) -> Iterator[Sequence[Cell]]: ...


class _WorkbookAdvice(Exception):
    """An error message for the user, as opposed to an error of openpyxl."""


def _read_with_openpyxl(data: bytes, where: str, sheet: str | None) -> tuple[list[str], Rows]:
    """Sheet names, and the rows of one sheet."""
    try:
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException
    except ModuleNotFoundError as error:
        raise ValueError(
            f'{where} is Excel, which needs openpyxl: pip install "weal[excel]", or save it as CSV'
        ) from error
    try:
        has_formulas = scan_workbook(data, where)
        with closing(load_workbook(io.BytesIO(data), True, data_only=True)) as book:
            titles = list(book.sheetnames)
            title = _sheet_title(titles, sheet, where)
            rows = _filled_rows(book[title], where)
        if has_formulas:
            with closing(load_workbook(io.BytesIO(data), True)) as book:
                _refuse_uncomputed(_filled_rows(book[title], where), dict(rows), where)
    except _WorkbookAdvice as error:
        raise ValueError(str(error)) from None
    except TooLarge:
        raise
    except (InvalidFileException, *SHEET_ERRORS) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{where} cannot be read as Excel: {reason}") from error
    return titles, rows


def _sheet_title(titles: list[str], wanted: str | None, where: str) -> str:
    if wanted is None:
        return titles[0]
    if wanted not in titles:
        names = ", ".join(map(repr, titles[:10]))
        raise _WorkbookAdvice(f"{where} has no sheet {wanted!r}; it has {names}")
    return wanted


def _filled_rows(sheet: _Sheet, where: str) -> Rows:
    """Rows up to their last filled cell; TooLarge beyond the limits, blank rows included."""
    limits = read_limits()
    sheet.reset_dimensions()  # a sheet may misstate its size
    rows, width = Rows(), 0
    for line, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        if line > limits.rows:
            raise too_many_rows(where, limits.rows)
        last = next((n for n in range(len(row), 0, -1) if is_filled(row[n - 1])), 0)
        if last:
            rows.append((line, list(row[:last])))
            width = max(width, last)
            check_cells(where, len(rows), width, limits.sheet_cells, "sheet_cells")
    if width > limits.columns:
        raise too_many_columns(where, limits)
    return rows


def _refuse_uncomputed(written: Rows, values: dict[int, list[Cell]], where: str) -> None:
    """Refuse a sheet with a formula that has no computed value."""
    for line, row in written:
        known = values.get(line, [])
        for n, cell in enumerate(row):
            is_empty = n >= len(known) or known[n] is None
            if is_empty and isinstance(cell, str) and cell.startswith("="):
                raise _WorkbookAdvice(
                    f"{where}: the formula in column {_letters(n)}, line {line}, has no value yet; "
                    "open the file in a spreadsheet, save it, and try again"
                )


def _letters(n: int) -> str:
    """The name of a spreadsheet column, counted from 0.

    >>> _letters(0), _letters(27)
    ('A', 'AB')
    """
    letters = ""
    while n >= 0:
        letters, n = chr(65 + n % 26) + letters, n // 26 - 1
    return letters
