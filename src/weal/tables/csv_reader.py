"""CSV and its like, as records of text: encoding and separator are found, not asked for.

    encoding     UTF-8 with or without a byte order mark, UTF-16 with one; else Latin-1, with a note
                 (`text_records`, which also keeps within the limits of `weal.limits`)
    separator    of , ; tab and |, the one that divides the header, and the first records into as
                 many cells each; of a .tsv it is the tab
    records      as RFC 4180: quoted cells may hold separators, quotes (doubled) and line breaks;
                 blank lines are skipped; a record longer or shorter than the header is refused

What `weal export` has written so that no spreadsheet runs it is read as it was
(`spreadsheet_escaping`). The first record names the columns; title lines above it are passed over
where they are clearly such (half as many cells at the most as the first record of nothing but words
that is as long as those below), or the line of the header is given. Names are kept as they are;
empty and double ones are refused.

A file of results as a grid of cells, before anybody knows which of its rows names the columns.

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
from pathlib import Path
from statistics import median
from typing import Any

from weal.errors import TooLarge
from weal.limits import read_limits
from weal.tables.cells import cell_text, read_number
from weal.tables.text_records import SEPARATORS, TextScan, check_cells, read_records, scan_text

LATIN = "{} is not UTF-8; it was read as Latin-1: check letters such as é and µ"
_SNIFFED_BYTES = 20  # records that choose the separator


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A file of records, looked at but not read yet."""

    path: Path
    encoding: str
    separator: str
    names: tuple[str, ...]
    notes: tuple[str, ...]
    header: int = 1  # the line that names the columns
    lines: int = 0  # of the file, with those inside quoted cells
    quotes: bool = True  # whether there is a quotation mark anywhere

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Every record after the header, with the line it begins on."""
        for line, row in _rows(self.path, self.encoding, self.separator, self.quotes):
            if line <= self.header or not any(map(str.strip, row)):
                continue
            if len(row) != len(self.names):
                raise ValueError(
                    f"line {line} of {self.path} has {len(row)} cells, not {len(self.names)} as "
                    f"its header; quote cells that hold the separator {self.separator!r}"
                )
            yield line, row


def look_at(path: Path, header: int | None = None, max_lines: int | None = None) -> CsvFile:
    """Encoding, separator and column names of a file, which may be told to stand on some line.

    TooLarge where the file has more lines than `max_lines`, or a line beyond the limits.
    """
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    with path.open("rb") as start:
        scan = scan_text(start, str(path), max_lines)
    encoding = scan.encoding
    separators = "\t" if path.suffix.lower() == ".tsv" else SEPARATORS
    separator = max(separators, key=lambda one: _separator_fit(path, scan, one, header))
    found = _rows(path, encoding, separator, scan.quotes)
    rows = list(islice(found, _SNIFFED_BYTES + (header or 0)))
    if not rows:
        raise ValueError(f"{path} is empty; its first line must name the columns")
    if header is not None and header not in [line for line, _ in rows]:
        raise ValueError(f"line {header} of {path} is blank or not there: where is the header?")
    line, names = rows[_header(rows, header)]
    notes = [LATIN.format(path.name)] if encoding == "latin-1" else []
    if header is None and line != rows[0][0]:
        notes.append(f"{path.name}: the header was found on line {line}")
    checked = check_names(names, str(path))
    counted = (scan.lines, scan.quotes)
    return CsvFile(path, encoding, separator, checked, tuple(notes), line, *counted)


def _header(rows: Sequence[tuple[int, list[str]]], given: int | None) -> int:
    """Which of the first records names the columns: the first, or one below title lines."""
    if given is not None:
        return next((n for n, (line, _) in enumerate(rows) if line == given), 0)
    filled = [sum(map(bool, map(str.strip, row))) for _, row in rows]
    for n, (_, row) in enumerate(rows[:-1]):
        usual = median(filled[n + 1 :])
        if filled[n] >= max(2, usual) and filled[n] == len(row):
            words = all(read_number(cell) is None for cell in row)
            titles = all(2 * above <= filled[n] for above in filled[:n])
            return n if words and titles else 0
    return 0


def check_names(names: Sequence[str], where: str) -> tuple[str, ...]:
    """The names, refused where one is empty or comes twice."""
    unnamed = [n for n, name in enumerate(names, start=1) if not name.strip()]
    if unnamed:
        raise ValueError(
            f"{where} has columns without a name (number {', '.join(map(str, unnamed[:5]))}); name "
            "or delete them (pandas writes none with index=False)"
        )
    seen: set[str] = set()
    twice = [name for name in names if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
    if twice:
        shown = ", ".join(map(repr, twice[:5]))
        raise ValueError(f"{where} has two columns of the same name: {shown}; rename one")
    return tuple(names)


def _rows(
    path: Path, encoding: str, separator: str, quotes: bool
) -> Iterator[tuple[int, list[str]]]:
    """All records that are not blank, with the line each begins on."""
    with path.open(encoding=encoding, newline="") as file:
        for line, row in read_records(file, separator, str(path), quotes):
            if row:
                yield line, row


def _separator_fit(
    path: Path, scan: TextScan, separator: str, header: int | None
) -> tuple[bool, float, int]:
    """How well it separates: the header at all, then as many cells in each record, then many."""
    try:
        found = _rows(path, scan.encoding, separator, scan.quotes)
        rows = list(islice(found, _SNIFFED_BYTES + (header or 0)))
    except TooLarge as error:  # into too many columns: it is the separator
        return error.limit == "columns", 1.0, 0
    except ValueError:
        return False, 0.0, 0
    lengths = [len(row) for _, row in rows[_header(rows, header) :]]
    if not lengths:
        return False, 0.0, 0
    return lengths[0] > 1, lengths.count(lengths[0]) / len(lengths), lengths[0]


MAX_RESULTS_HEADER_ROWS = 40  # rows among which the header is looked for
_UNITLESS = re.compile(r"(?i)[\[(]?\s*(-|units?|einheit(en)?|unité|1)?\s*[\])]?")
Wants = Callable[[Sequence[str]], bool]  # whether these could be the names of the columns


@dataclass(frozen=True, slots=True)
class CellGrid:
    """Rows that are not blank, with their numbers in the file."""

    where: str  # for messages
    rows: list[tuple[int, list[Any]]]
    comma: bool  # whether 12,5 may be a number
    notes: tuple[str, ...]
    ragged: bool = False  # whether rows end with their last cell that is filled


def text_grid(data: bytes, where: str, ending: str, wants: Wants) -> CellGrid:
    """The grid of a text file; of separators, that which shows a header is taken."""
    limits = read_limits()
    scan = scan_text(io.BytesIO(data), where, limits.rows)
    encoding = scan.encoding
    separators = "\t" if ending == ".tsv" else SEPARATORS
    separator = max(separators, key=lambda one: _grid_fit(data, scan, one, where, wants))
    columns = data.count(separator.encode()) // max(scan.lines, 1) + 1  # on average
    check_cells(where, scan.lines, columns, limits.cells)
    rows = [row for row in _records(data, scan, separator, where) if any(map(str.strip, row[1]))]
    notes = (LATIN.format(where),) if encoding == "latin-1" else ()
    return CellGrid(where, rows, separator == ";", notes)


def header_at(grid: CellGrid, wants: Wants, given: int | None) -> int:
    """Which of the rows names the columns: that on the line given, else the first that could."""
    if not grid.rows:
        raise ValueError(f"{grid.where} is empty; its first line must name the columns")
    if given is not None:
        if given in (lines := [line for line, _ in grid.rows]):
            return lines.index(given)
        raise ValueError(
            f"line {given} of {grid.where} is blank or not there: where is the header?"
        )
    looked_at = grid.rows[:MAX_RESULTS_HEADER_ROWS]
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


def _grid_fit(
    data: bytes, scan: TextScan, separator: str, where: str, wants: Wants
) -> tuple[bool, bool, float, int]:
    """How well it separates: into a header, at all, into as many cells each, into many."""
    try:
        rows = [
            row
            for _, row in islice(_records(data, scan, separator, where), MAX_RESULTS_HEADER_ROWS)
            if row
        ]
    except TooLarge as error:  # into too many columns: it is the separator
        return error.limit == "columns", True, 1.0, 0
    except ValueError:
        return False, False, 0.0, 0
    lengths = [len(row) for row in rows] or [0]
    header = any(wants(names_of(row)) for row in rows)
    return header, lengths[0] > 1, lengths.count(lengths[0]) / len(lengths), lengths[0]
