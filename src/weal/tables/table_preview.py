"""The first rows of a file, unchanged, for choosing a sheet and the header line.

    sheets    titles of a workbook; empty for text
    sheet     the shown sheet
    header    line of the column names, as it was given or found
    lines     line numbers and the first cells of the first rows that are not blank

A file without a readable table is shown too, so another sheet or line can be chosen.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from weal.limits import read_limits
from weal.tables.cells import Cell
from weal.tables.csv_reader import column_names, find_header, open_csv, text_or_blank
from weal.tables.excel_reader import looks_like_table, read_sheet_grid
from weal.tables.text_records import check_size

PREVIEW_ROWS, PREVIEW_COLUMNS = 12, 8
MAX_CELL_LETTERS = 24

Line = tuple[int, Sequence[Cell]]
Rows = list[tuple[int, list[Cell]]]


@dataclass(frozen=True, slots=True)
class TablePreview:
    """The first rows of a sheet or of a text file."""

    sheets: tuple[str, ...] = ()
    sheet: str = ""
    header: int | None = None  # None if no line can be the header
    lines: tuple[tuple[int, tuple[str, ...]], ...] = ()

    def to_json(self) -> dict[str, object]:
        """The preview for a page."""
        lines = [{"line": line, "cells": list(cells)} for line, cells in self.lines]
        return {"sheets": list(self.sheets), "sheet": self.sheet, "header": self.header,
                "lines": lines}  # fmt: skip


def preview_table(
    path: Path, sheet: str | None = None, header: int | None = None, named: Sequence[str] = ()
) -> TablePreview:
    """The first rows of a file; `named` columns choose the sheet and the header, if they exist."""
    if path.suffix.lower() != ".xlsx":
        file = open_csv(path, header=header, is_header=_has_cells, max_lines=read_limits().rows)
        rows: list[Line] = list(islice(file.rows(), max(PREVIEW_ROWS, header or 0)))
        return TablePreview(header=_header(rows, header, named), lines=_shown(rows, header))
    data = path.read_bytes()
    check_size(str(path), len(data), read_limits().workbook_bytes, "workbook_bytes")

    def is_table(some: Rows) -> bool:
        heads = (set(column_names(row)) for _, row in some[:PREVIEW_ROWS])
        return any(set(named) <= names for names in heads) if named else looks_like_table(some)

    grid = read_sheet_grid(data, path.name, sheet, is_table)
    found = _header(grid.rows, header, named)
    return TablePreview(grid.sheets, grid.sheet, found, _shown(grid.rows, header or found))


def _has_cells(names: Sequence[str]) -> bool:
    """Whether a row of text can be a header, by its cells alone: the separator follows from it."""
    return sum(bool(name.strip()) for name in names) > 1


def _header(rows: Sequence[Line], given: int | None, named: Sequence[str]) -> int | None:
    """The line of the column names; None if there is no such line."""
    try:
        return rows[find_header(rows, "", given, ragged=True, named=named)][0]
    except ValueError:
        return None


def _shown(rows: Sequence[Line], header: int | None) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """The first rows and the header, shortened."""
    some = [one for n, one in enumerate(rows) if n < PREVIEW_ROWS or one[0] == header]
    return tuple((line, tuple(map(_short, row[:PREVIEW_COLUMNS]))) for line, row in some)


def _short(cell: Cell) -> str:
    text = " ".join(text_or_blank(cell).split())
    return text if len(text) <= MAX_CELL_LETTERS else text[: MAX_CELL_LETTERS - 1] + "\u2026"
