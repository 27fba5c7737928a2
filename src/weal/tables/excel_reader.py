"""One sheet of an Excel workbook, as a grid of cells or as plain columns.

Values as they were last computed, not formulas; a formula that was never computed is named and
refused. Without the name of a sheet, the first is read. As columns: title lines above the header
are passed over where it is clear which row that is (the first of nothing but text that is about as
long as those below), or `header` says on which line it stands; so are a row of units below it,
empty rows, and columns without a name that are empty all the way down. Needs openpyxl, unless the
sheet is a plain one (`plain_sheet`). What is too large (`weal.limits`) is refused while it is read.

A plain sheet of an Excel workbook, read with the standard library: quicker than openpyxl starts.

Only what is sure to be read as openpyxl would: numbers, texts and truth values, without formulas,
dates or anything else. None for all others, damaged and huge ones included: then openpyxl is asked.
"""

import io
import re
from collections.abc import Sequence
from contextlib import closing
from itertools import zip_longest
from pathlib import Path
from statistics import median
from typing import Any
from xml.etree import ElementTree
from zipfile import BadZipFile, ZipFile
from zlib import error as ZlibError

from weal.errors import TooLarge
from weal.limits import read_limits
from weal.tables.cells import cell_text, read_number
from weal.tables.csv_reader import CellGrid, check_names
from weal.tables.frames import plain_cell, plain_cells
from weal.tables.spreadsheet_escaping import unspelt
from weal.tables.text_records import (
    check_cells,
    check_size,
    too_long_cell,
    too_many_columns,
    too_many_rows,
)
from weal.tables.workbook_scan import scan_workbook

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_LINK = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_PLACE = re.compile(r"([A-Z]{1,3})[1-9][0-9]*")
_GENERAL = {*range(14), *range(37, 45), 48, 49}  # numbers of formats that come with Excel: no dates
MAX_PLAIN_SHEET_BYTES = (
    4 << 20
)  # bytes of a sheet or of its texts; larger ones are worth a slower start
MOST_TAGS = 400_000  # of such a part, which is held in memory whole

# What openpyxl, zipfile and the reader of XML can end with, such as on entities that grow.
SHEET_ERRORS = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, NotImplementedError),
    *(OSError, RecursionError, SyntaxError, TypeError, ValueError, BadZipFile, ZlibError),
)
Rows = list[tuple[int, list[Any]]]  # that are not empty, with their numbers


def plain_rows(data: bytes, wanted: str | None) -> tuple[list[str], Rows] | None:
    """Titles of the sheets, and the rows of one of them (None: the first); or None."""
    try:
        with ZipFile(io.BytesIO(data)) as bundle:
            return _rows(bundle, wanted)
    except SHEET_ERRORS:  # whatever is the matter, openpyxl says it
        return None


def _rows(bundle: ZipFile, wanted: str | None) -> tuple[list[str], Rows] | None:
    book, links = _tree(bundle, "xl/workbook.xml"), _tree(bundle, "xl/_rels/workbook.xml.rels")
    sheets = {one.attrib["name"]: one.attrib[_LINK] for one in book.iter(f"{_MAIN}sheet")}
    targets = {one.attrib["Id"]: one.attrib for one in links}
    title = next(iter(sheets), "") if wanted is None else wanted
    kinds = [targets[link]["Type"].rsplit("/", 1)[-1] for link in sheets.values()]
    if title not in sheets or set(kinds) != {"worksheet"}:
        return None
    target = targets[sheets[title]]["Target"]
    place = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
    names = bundle.namelist()
    texts = _texts(_tree(bundle, "xl/sharedStrings.xml")) if "xl/sharedStrings.xml" in names else []
    sheet, general = _tree(bundle, place), _general(_tree(bundle, "xl/styles.xml"))
    limits, rows, width = read_limits(), Rows(), 0
    for row in sheet.iter(f"{_MAIN}row"):
        line = int(row.attrib["r"])
        rows.append((line, _cells(row, texts, general)))
        width = max(width, len(rows[-1][1]))
        check_cells("", len(rows), width, limits.sheet_cells)
        if line > limits.rows:
            raise too_many_rows("", limits.rows)
    if [line for line, _ in rows] != sorted({line for line, _ in rows}):
        return None
    filled = [(line, cells) for line, cells in rows if any(c not in (None, "") for c in cells)]
    return list(sheets), filled


def _tree(bundle: ZipFile, name: str) -> Any:
    if bundle.getinfo(name).file_size > MAX_PLAIN_SHEET_BYTES:
        raise ValueError(name)
    with bundle.open(name) as part:
        text = part.read(
            MAX_PLAIN_SHEET_BYTES + 1
        )  # never all: what an archive says of its sizes may be wrong
    if len(text) > MAX_PLAIN_SHEET_BYTES or text.count(b"<") > MOST_TAGS:
        raise ValueError(name)
    if b"<!" in text:  # entities, or sections that are no element
        raise ValueError(name)
    return ElementTree.fromstring(text)


def _texts(tree: Any) -> list[str]:
    return [_text(one) for one in tree.iter(f"{_MAIN}si")]


def _text(one: Any) -> str:
    """A text without formats; one that has them is not ours."""
    [only] = one
    if only.tag != f"{_MAIN}t":
        raise ValueError(only.tag)
    found = only.text or ""
    if "_x" in found:  # characters that are spelt
        raise ValueError(found)
    return str(found)


def _general(styles: Any) -> set[str]:
    """Styles of cells that are shown as plain numbers or texts."""
    [formats] = styles.iter(f"{_MAIN}cellXfs")
    return {str(n) for n, one in enumerate(formats) if int(one.get("numFmtId", "0")) in _GENERAL}


def _cells(row: Any, texts: list[str], general: set[str]) -> list[Any]:
    found: list[Any] = []
    for cell in row:
        place = _PLACE.fullmatch(cell.attrib["r"])
        at = 0
        for letter in place[1] if place else "":
            at = 26 * at + ord(letter) - 64
        if at <= len(found) or cell.get("s", "0") not in general:
            raise ValueError(cell.attrib["r"])
        found += [None] * (at - 1 - len(found))
        found.append(_xml_cell(cell, texts))
    return found


def _xml_cell(cell: Any, texts: list[str]) -> Any:
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


MAX_SHEET_HEADER_ROWS = 20  # rows that say how long a row is
MIN_HEADER_SHARE = 0.8  # of that: cells of a header


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


def sheet_grid(data: bytes, where: str, sheet: str | None = None) -> CellGrid:
    """The rows of a sheet, and a note where there are more sheets and none was named."""
    titles, rows = plain_rows(data, sheet) or _read(data, where, sheet)
    rows = [(n, [_openpyxl_cell(cell) for cell in row]) for n, row in rows]
    _check_lengths(rows, where)
    title = titles[0] if sheet is None else sheet
    more = f"read the first sheet of {Path(where).name}, {title!r}, of {len(titles)}"
    several = sheet is None and len(titles) > 1
    return CellGrid(where, rows, False, (more,) if several else (), ragged=True)


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
    except _WorkbookAdvice as error:
        raise ValueError(str(error)) from None
    except TooLarge:
        raise
    except (InvalidFileException, *SHEET_ERRORS) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{where} cannot be read as Excel: {reason}") from error
    return titles, rows


class _WorkbookAdvice(Exception):
    """Advice of our own, told apart from what the reader of workbooks says."""


def _title(there: list[str], wanted: str | None, where: str) -> str:
    if wanted is None:
        return there[0]
    if wanted not in there:
        names = ", ".join(map(repr, there[:10]))
        raise _WorkbookAdvice(f"{where} has no sheet {wanted!r}; it has {names}")
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
    return next((n for n in range(len(row), 0, -1) if _is_filled(row[n - 1])), 0)


def _openpyxl_cell(value: Any) -> Any:
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
                raise _WorkbookAdvice(
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
    lengths = [sum(map(_is_filled, row)) for _, row in rows[: MAX_SHEET_HEADER_ROWS + 1]]
    for n, (_, row) in enumerate(rows[:MAX_SHEET_HEADER_ROWS]):
        usual = median(lengths[n + 1 :] or lengths[n:])
        if lengths[n] >= max(2, MIN_HEADER_SHARE * usual) and all(
            map(_is_name, filter(_is_filled, row))
        ):
            return n
    return 0


def _is_name(cell: Any) -> bool:
    return isinstance(cell, str) and read_number(cell) is None


def _has_units(table: dict[str, list[Any]]) -> bool:
    """Whether the first cells are words, in columns of numbers too, or blank."""
    if any(len(cells) < 3 for cells in table.values()):
        return False
    first = [cells[0] for cells in table.values() if _is_filled(cells[0])]
    over_numbers = [
        _is_filled(cells[0]) and all(isinstance(c, int | float) for c in cells[1:] if _is_filled(c))
        for cells in table.values()
    ]
    return bool(first) and all(map(_is_name, first)) and any(over_numbers)


def _columns(rows: list[list[Any]], where: str) -> dict[str, list[Any]]:
    columns = [column for column in zip_longest(*rows) if any(map(_is_filled, column))]
    names = ["" if column[0] is None else cell_text(column[0]) for column in columns]
    cells = (plain_cells(column[1:]) for column in columns)
    return dict(zip(check_names(names, where), cells, strict=True))


def _has_formulas(data: bytes, where: str) -> bool:
    """Whether a sheet has formulas; refuses what is not to be read."""
    try:
        return scan_workbook(data, where)
    except TooLarge:
        raise
    except SHEET_ERRORS as error:
        raise ValueError(f"{where} cannot be read as Excel: {error}") from error


def _is_filled(value: Any) -> bool:
    return value is not None and value != ""
