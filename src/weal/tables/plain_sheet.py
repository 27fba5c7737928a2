"""Sheets of numbers, text and booleans, read with the standard library.

This is faster than importing openpyxl and works without it. Every other sheet (dates,
formulas, formatted text, large or damaged workbooks) needs `openpyxl_sheet`; both give the same
cells.
"""

import io
import re
from collections.abc import Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element
from zipfile import BadZipFile, ZipFile
from zlib import error as ZlibError

from weal.limits import read_limits
from weal.tables.cells import Cell, PercentCell
from weal.tables.csv_reader import is_filled
from weal.tables.merged_cells import Rows, column_number, fill_merged
from weal.tables.text_records import check_cells, too_many_rows

MAX_PLAIN_SHEET_BYTES = 4 << 20  # of an XML part that is parsed in memory; openpyxl reads larger
MAX_PLAIN_SHEET_TAGS = 400_000
_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_LINK = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_CELL_REFERENCE = re.compile(r"([A-Z]{1,3})[1-9][0-9]*")
_PLAIN_FORMATS = {*range(14), *range(37, 45), 48, 49}  # built-in number formats without a date
_PERCENT_FORMATS = {9, 10}

# Errors that openpyxl, zipfile and the XML parser raise on damaged or hostile workbooks.
SHEET_ERRORS = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, NotImplementedError),
    *(OSError, RecursionError, SyntaxError, TypeError, ValueError, BadZipFile, ZlibError),
)


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
    rows = [(line, cells) for line, cells in rows if any(map(is_filled, cells))]
    merged = [one.attrib["ref"] for one in sheet.iter(f"{_MAIN}mergeCell")]
    return list(sheets), fill_merged(rows, merged)


def _plain_rows(
    sheet: Element, texts: list[str], styles: dict[str, bool]
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
    """A part of the workbook; ValueError if it is large or has entities."""
    with bundle.open(name) as part:  # the archive may understate the size of a part
        text = part.read(MAX_PLAIN_SHEET_BYTES + 1)
    if len(text) > MAX_PLAIN_SHEET_BYTES or text.count(b"<") > MAX_PLAIN_SHEET_TAGS:
        raise ValueError(name)
    if b"<!" in text:  # entities or CDATA sections
        raise ValueError(name)
    return ElementTree.fromstring(text)


def _text(parent: Element) -> str:
    """The text of a string element; ValueError if it is formatted or escaped."""
    [only] = parent
    text = only.text or ""
    if only.tag != f"{_MAIN}t" or "_x" in text:
        raise ValueError(only.tag)
    return text


def _plain_styles(styles: Element) -> dict[str, bool]:
    """Styles that show a number or a text as it is, and whether they show percentages."""
    [formats] = styles.iter(f"{_MAIN}cellXfs")
    numbers = [int(one.get("numFmtId", "0")) for one in formats]
    known = ((str(n), one) for n, one in enumerate(numbers) if one in _PLAIN_FORMATS)
    return {style: number in _PERCENT_FORMATS for style, number in known}


def _plain_cells(row: Element, texts: list[str], styles: dict[str, bool]) -> list[Cell]:
    cells: list[Cell] = []
    for cell in row:
        place = _CELL_REFERENCE.fullmatch(cell.attrib["r"])
        column = column_number(place[1]) if place else 0
        if column <= len(cells) or cell.get("s", "0") not in styles:
            raise ValueError(cell.attrib["r"])
        cells += [None] * (column - 1 - len(cells))
        value = _plain_value(cell, texts)
        if isinstance(value, int | float) and styles[cell.get("s", "0")]:
            value = PercentCell(value)
        cells.append(value)
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
