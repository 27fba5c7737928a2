"""Sheets of any workbook, read with openpyxl after one pass that enforces `weal.limits`.

A formula gives the value that was last computed; a formula without one is refused. openpyxl
reads rows one by one, so merged ranges are read from the XML of the sheet.
"""

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Protocol
from zipfile import ZipFile

from weal.errors import TooLarge
from weal.limits import read_limits
from weal.tables.cells import Cell, PercentCell
from weal.tables.csv_reader import is_filled
from weal.tables.merged_cells import Rows, fill_merged
from weal.tables.plain_sheet import SHEET_ERRORS
from weal.tables.text_records import check_cells, too_many_columns, too_many_rows
from weal.tables.workbook_scan import scan_workbook

_BLOCK_BYTES = 1 << 20
_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s[^>]*?ref=\"([A-Z]{1,3}[0-9]+:[A-Z]{1,3}[0-9]+)\"")
_PERCENT_STYLE = re.compile(rb"numFmtId=\"(?:9|10)\"|formatCode=\"[^\"]*%")


class _Sheet(Protocol):
    """A sheet of openpyxl."""

    _worksheet_path: str

    def reset_dimensions(self) -> None: ...
    def iter_rows(self) -> Iterator[Sequence["_SheetCell"]]: ...


class _SheetCell(Protocol):
    """A cell of openpyxl."""

    value: Cell
    number_format: str


class _WorkbookAdvice(Exception):
    """An error message for the user, as opposed to an error of openpyxl."""


def read_with_openpyxl(data: bytes, where: str, sheet: str | None) -> tuple[list[str], Rows]:
    """Sheet names, and the rows of one sheet."""
    try:
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException
    except ModuleNotFoundError as error:
        raise ValueError(
            f'{where} is Excel, which needs openpyxl: pip install "weal[campaign]"; or save it as '
            "CSV"
        ) from error
    try:
        has_formulas = scan_workbook(data, where)
        with closing(load_workbook(io.BytesIO(data), True, data_only=True)) as book:
            titles = list(book.sheetnames)
            title = _sheet_title(titles, sheet, where)
            rows = _filled_rows(book[title], where, _has_percent_style(data))
            merged = _merged_ranges(data, book[title]._worksheet_path)
        if has_formulas:
            with closing(load_workbook(io.BytesIO(data), True)) as book:
                _refuse_uncomputed(_filled_rows(book[title], where), dict(rows), where)
    except _WorkbookAdvice as error:
        raise ValueError(str(error)) from None
    except TooLarge:
        raise
    except (InvalidFileException, *SHEET_ERRORS) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(
            f"{where} cannot be read as Excel: {reason}; save it in a spreadsheet as CSV"
        ) from error
    return titles, fill_merged(rows, merged)


def _sheet_title(titles: list[str], wanted: str | None, where: str) -> str:
    if wanted is None:
        return titles[0]
    if wanted not in titles:
        names = ", ".join(map(repr, titles[:20]))
        raise _WorkbookAdvice(
            f"{where} has no sheet {wanted!r}; it has {names}: name one of them (--sheet)"
        )
    return wanted


def _filled_rows(sheet: _Sheet, where: str, percent: bool = False) -> Rows:
    """Rows up to their last filled cell; TooLarge beyond the limits, blank rows included."""
    limits = read_limits()
    sheet.reset_dimensions()  # a sheet may misstate its size
    rows, width = Rows(), 0
    for line, cells in enumerate(sheet.iter_rows(), start=1):
        row = [_value(cell) if percent else cell.value for cell in cells]
        if line > limits.rows:
            raise too_many_rows(where, limits.rows)
        last = next((n for n in range(len(row), 0, -1) if is_filled(row[n - 1])), 0)
        if last:
            rows.append((line, row[:last]))
            width = max(width, last)
            check_cells(where, len(rows), width, limits.sheet_cells, "sheet_cells")
    if width > limits.columns:
        raise too_many_columns(where, limits)
    return rows


def _value(cell: _SheetCell) -> Cell:
    value = cell.value
    is_percent = type(value) in (int, float) and "%" in cell.number_format
    return PercentCell(value) if is_percent else value  # type: ignore[arg-type]


def _has_percent_style(data: bytes) -> bool:
    with ZipFile(io.BytesIO(data)) as bundle:
        if "xl/styles.xml" not in bundle.namelist():
            return False
        with bundle.open("xl/styles.xml") as part:
            return bool(_PERCENT_STYLE.search(part.read(_BLOCK_BYTES)))


def _merged_ranges(data: bytes, part: str) -> list[str]:
    """The merged ranges of a sheet, which follow its cells."""
    found, tail = list[str](), b""
    with ZipFile(io.BytesIO(data)) as bundle, bundle.open(part) as file:
        while block := file.read(_BLOCK_BYTES):
            found += [one.decode() for one in _MERGED.findall(tail + block)]
            tail = block[block.rfind(b"<") :]
    return found


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
