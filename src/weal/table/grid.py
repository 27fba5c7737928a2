"""A file of results as a grid of cells, before anybody knows which of its rows names the columns.

    .csv .tsv .txt   text; encoding and separator are found (`delimited` says how)
    .xlsx            one sheet, values as they were last computed (`excel`)

`header_at` finds the row that names the columns: title lines may stand above it, and a row of units
below it. Rows that are blank are left out; the others keep the number they have in the file. Of the
standard library alone, but for Excel, so that `weal tell` starts at once.
"""

import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from weal.errors import TooLarge
from weal.limits import read_limits
from weal.table.cells import cell_text, read_number
from weal.table.delimited import LATIN
from weal.table.text_records import SEPARATORS, TextScan, check_cells, read_records, scan_text

LOOKED_AT = 40  # rows among which the header is looked for
_UNITLESS = re.compile(r"(?i)[\[(]?\s*(-|units?|einheit(en)?|unité|1)?\s*[\])]?")
Wants = Callable[[Sequence[str]], bool]  # whether these could be the names of the columns


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows that are not blank, with their numbers in the file."""

    where: str  # for messages
    rows: list[tuple[int, list[Any]]]
    comma: bool  # whether 12,5 may be a number
    notes: tuple[str, ...]
    ragged: bool = False  # whether rows end with their last cell that is filled


def text_grid(data: bytes, where: str, ending: str, wants: Wants) -> Grid:
    """The grid of a text file; of separators, that which shows a header is taken."""
    limits = read_limits()
    scan = scan_text(io.BytesIO(data), where, limits.rows)
    encoding = scan.encoding
    separators = "\t" if ending == ".tsv" else SEPARATORS
    separator = max(separators, key=lambda one: _fit(data, scan, one, where, wants))
    columns = data.count(separator.encode()) // max(scan.lines, 1) + 1  # on average
    check_cells(where, scan.lines, columns, limits.cells)
    rows = [row for row in _records(data, scan, separator, where) if any(map(str.strip, row[1]))]
    notes = (LATIN.format(where),) if encoding == "latin-1" else ()
    return Grid(where, rows, separator == ";", notes)


def header_at(grid: Grid, wants: Wants, given: int | None) -> int:
    """Which of the rows names the columns: that on the line given, else the first that could."""
    if not grid.rows:
        raise ValueError(f"{grid.where} is empty; its first line must name the columns")
    if given is not None:
        if given in (lines := [line for line, _ in grid.rows]):
            return lines.index(given)
        raise ValueError(
            f"line {given} of {grid.where} is blank or not there: where is the header?"
        )
    looked_at = grid.rows[:LOOKED_AT]
    return next((n for n, (_, row) in enumerate(looked_at) if wants(names_of(row))), 0)


def names_of(row: Sequence[Any]) -> list[str]:
    """Cells as names of columns: one line each, no blanks around."""
    return [" ".join(text_of(cell).split()) for cell in row]


def text_of(cell: Any) -> str:
    """A cell as text; blank where it is missing."""
    return "" if cell is None or cell != cell else cell_text(cell)


def are_units(row: Sequence[str], id_at: int) -> bool:
    """Whether a row below the header names units: no number in it, and no id.

    >>> are_units(["", "°C", "[HV]"], 0), are_units(["A-1", "", "failed"], 0)
    (True, False)
    """
    some = [cell for cell in row if cell.strip()]
    no_id = _UNITLESS.fullmatch(row[id_at].strip()) is not None
    return no_id and bool(some) and all(read_number(cell) is None for cell in some)


def _records(
    data: bytes, scan: TextScan, separator: str, where: str
) -> Iterator[tuple[int, list[str]]]:
    """All records, with the line each begins on."""
    text = io.TextIOWrapper(io.BytesIO(data), scan.encoding, newline="")
    return read_records(text, separator, where, scan.quotes)


def _fit(
    data: bytes, scan: TextScan, separator: str, where: str, wants: Wants
) -> tuple[bool, bool, float, int]:
    """How well it separates: into a header, at all, into as many cells each, into many."""
    try:
        rows = [row for _, row in islice(_records(data, scan, separator, where), LOOKED_AT) if row]
    except TooLarge as error:  # into too many columns: it is the separator
        return error.limit == "columns", True, 1.0, 0
    except ValueError:
        return False, False, 0.0, 0
    lengths = [len(row) for row in rows] or [0]
    header = any(wants(names_of(row)) for row in rows)
    return header, lengths[0] > 1, lengths.count(lengths[0]) / len(lengths), lengths[0]
