"""The CSV reader of candidate tables, results files, previews and shards.

    encoding        UTF-8 with or without a byte order mark, UTF-16 with one; otherwise Latin-1,
                    with a note (`text_records`, which also enforces `weal.limits`)
    separator tab for .tsv; otherwise the one of , ; tab and | that splits the header and gives the
                    first records the same number of cells
    decimal comma   possible where the comma is not the separator
    header          the first record, or the record below title lines (`find_header`)
    records         RFC 4180: quoted cells may hold separators, doubled quotes and line breaks;
                    blank lines are skipped

Text that `weal export` escaped for spreadsheets is unescaped (`text_records`). This module
needs the standard library only, so `weal tell` starts fast.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from typing import BinaryIO

from weal.errors import TooLarge
from weal.limits import read_limits
from weal.tables.cells import Cell, cell_text, read_number
from weal.tables.text_records import SEPARATORS, TextScan, check_cells, read_records, scan_text

HEADER_ROWS = 40  # rows that are searched for the header and that choose the separator
MIN_HEADER_SHARE = 0.8  # filled cells of a sheet's header, as a share of the rows below it
Row = tuple[int, list[str]]  # line number, cells
IsHeader = Callable[[Sequence[str]], bool]  # whether these can be the column names


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A CSV file whose format is known and whose records are not read yet."""

    source: Path | bytes
    where: str  # its name in messages
    encoding: str
    separator: str
    names: tuple[str, ...]
    header: int  # line that names the columns
    has_titles: bool  # whether the header was found below title lines
    lines: int  # including those inside quoted cells
    quotes: bool  # whether the file has a quotation mark

    @property
    def decimal_comma(self) -> bool:
        """Whether 12,5 can be a number."""
        return self.separator != ","

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user on the encoding."""
        latin = f"{Path(self.where).name} is not UTF-8; it was read as Latin-1: check letters such"
        return (f"{latin} as é and µ",) if self.encoding == "latin-1" else ()

    def rows(self) -> Iterator[Row]:
        """Every row that is not blank, title lines and header included."""
        scan = TextScan(self.encoding, self.lines, self.quotes)
        for line, row in _read_rows(self.source, self.where, scan, self.separator):
            if any(map(str.strip, row)):
                yield line, row

    def records(self, footnotes: bool = False) -> Iterator[Row]:
        """Every record below the header; ValueError if one has another length.

        Blank cells beyond the header are skipped. With `footnotes`, a line with its first cell
        alone is a record too.
        """
        width = len(self.names)
        for line, row in self.rows():
            if line <= self.header:
                continue
            if len(row) != width:
                if footnotes and len(row) < width and not any(map(str.strip, row[1:])):
                    row = [*row, *[""] * (width - len(row))]
                elif any(map(str.strip, row[width:])) or len(row) < width:
                    raise wrong_length(self.where, line, len(row), width)
            yield line, row[:width]


@dataclass(frozen=True, slots=True)
class CellGrid:
    """The rows of a file or frame that are not blank, with their line numbers."""

    where: str  # name of the file in messages
    rows: list[tuple[int, list[Cell]]]
    decimal_comma: bool
    notes: tuple[str, ...]
    ragged: bool = False  # whether a row ends with its last filled cell, as in a sheet
    sheet: str = ""  # of a workbook
    sheets: tuple[str, ...] = ()  # all of its titles


def open_csv(
    source: Path | bytes, where: str | None = None, *, header: int | None = None,
    is_header: IsHeader | None = None, max_lines: int | None = None, named: Sequence[str] = (),
) -> CsvFile:  # fmt: skip
    """Detect encoding, separator and header of a CSV file.

    `header` is the line of the header where the user gave it; the header has the columns `named`,
    if one line does. With `is_header`, title lines are recognised by known column names; without
    it, column names must be present and unique.
    TooLarge if the file has more than `max_lines` lines, or a line beyond the limits.
    """
    where = str(source) if where is None else where
    with _open_bytes(source, where) as file:
        scan = scan_text(file, where, max_lines)
    sniffed, broken = HEADER_ROWS + (header or 0), list[ValueError]()

    def first_rows(separator: str) -> list[Row]:
        rows = _read_rows(source, where, scan, separator)
        return [row for row in islice(rows, sniffed) if any(map(str.strip, row[1]))]

    def fit(separator: str) -> tuple[bool, bool, float, int]:
        """Sort key: a known header, a header of several cells, records of its length, cells."""
        try:
            rows = first_rows(separator)
        except TooLarge as error:  # the right separator may give too many columns
            return error.limit == "columns", True, 1.0, 0
        except ValueError as error:  # a quote that is not closed
            broken.append(error)
            return False, False, 0.0, 0
        try:
            below = rows[find_header(rows, where, header, is_header, named=named) :]
        except ValueError:
            return False, False, 0.0, 0
        lengths = [len(row) for _, row in below]
        found = column_names(below[0][1])
        known = set(named) <= set(found) if is_header is None else is_header(found)
        return known, lengths[0] > 1, lengths.count(lengths[0]) / len(lengths), lengths[0]

    suffix = source.suffix if isinstance(source, Path) else Path(where).suffix
    separator = "\t" if suffix.lower() == ".tsv" else max(SEPARATORS, key=fit)
    rows = first_rows(separator)
    at = find_header(rows, where, header, is_header, named=named)
    line, row = rows[at]
    if len(row) == 1 and broken:
        raise broken[0]
    names = tuple(row) if is_header else check_names(_without_trailing_blanks(row), where)
    titles = header is None and at > 0
    return CsvFile(
        source, where, scan.encoding, separator, names, line, titles, scan.lines, scan.quotes
    )


def read_csv_grid(
    source: Path | bytes, where: str, is_header: IsHeader, header: int | None = None
) -> CellGrid:
    """All rows of a CSV file whose column names are known; TooLarge beyond the limits."""
    limits = read_limits()
    file = open_csv(source, where, header=header, is_header=is_header, max_lines=limits.rows)
    rows, width = list[tuple[int, list[Cell]]](), 0
    for line, row in file.rows():
        rows.append((line, list(row)))
        width = max(width, len(row))
        check_cells(where, len(rows), width, limits.cells)
    return CellGrid(where, rows, file.decimal_comma, file.notes)


def find_header(
    rows: Sequence[tuple[int, Sequence[Cell]]], where: str, given: int | None = None,
    is_header: IsHeader | None = None, ragged: bool = False, named: Sequence[str] = (),
) -> int:  # fmt: skip
    """The index of the row that names the columns; ValueError if there is none.

    It is the row on the line `given`; or the first row with known names (`is_header`, `named`); or
    the first row of words without a gap that is as long as the rows below it, where the rows above
    it are at most half as long. A sheet (`ragged`) may have gaps in its header and longer rows
    above it.
    """
    if not rows:
        raise ValueError(f"{where} is empty; write the column names in its first line")
    if given is not None:
        lines = [line for line, _ in rows]
        if given not in lines:
            raise ValueError(
                f"line {given} of {where} is blank or missing: give the line of the column names"
            )
        return lines.index(given)
    first = [row for _, row in rows[:HEADER_ROWS]]
    if is_header is not None:
        return next((n for n, row in enumerate(first) if is_header(column_names(row))), 0)
    wanted = set(named)
    has_names = (n for n, row in enumerate(first) if wanted and wanted <= set(column_names(row)))
    known = next(has_names, None)
    return _guess_header(first, ragged) if known is None else known


def _guess_header(rows: Sequence[Sequence[Cell]], ragged: bool) -> int:
    filled = [sum(map(is_filled, row)) for row in rows]
    for n, row in enumerate(rows):
        if ragged and _is_group_header(rows, n):
            continue
        usual = median(filled[n + 1 :] or filled[n:])
        has_words = all(is_name(cell) for cell in row if is_filled(cell))
        if ragged:
            if filled[n] >= max(2, MIN_HEADER_SHARE * usual) and has_words:
                return n
        elif n + 1 < len(rows) and filled[n] >= max(2, usual) and filled[n] == len(row):
            below_titles = all(2 * above <= filled[n] for above in filled[:n])
            return n if has_words and below_titles else 0
    return 0


def _is_group_header(rows: Sequence[Sequence[Cell]], n: int) -> bool:
    """Whether a row of merged titles is above the row of column names."""
    if n + 1 == len(rows):
        return False
    titles, below = (list(filter(is_filled, row)) for row in rows[n : n + 2])
    is_header = len(set(below)) == len(below) > len(set(titles)) and all(map(is_name, below))
    return len(set(titles)) < len(titles) and is_header


def wrong_length(where: str, line: int, cells: int, names: int) -> ValueError:
    """The error for a record that is not as long as the header."""
    count = "1 cell" if cells == 1 else f"{cells} cells"
    return ValueError(
        f"line {line} of {where} has {count}, but its header has {names}; name every column, and "
        "quote cells that hold the separator"
    )


def header_note(where: str, line: int) -> str:
    """The note for the user on a header that was found below title lines."""
    return f"{Path(where).name}: the header was found on line {line}"


def check_names(names: Sequence[str], where: str) -> tuple[str, ...]:
    """The column names; ValueError if one is empty or occurs twice."""
    unnamed = [n for n, name in enumerate(names, start=1) if not name.strip()]
    if unnamed:
        raise ValueError(
            f"{where} has columns without a name (number {', '.join(map(str, unnamed[:20]))}); "
            "name or delete them (pandas writes none with index=False)"
        )
    seen: set[str] = set()
    twice = [name for name in names if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
    if twice:
        shown = ", ".join(map(repr, twice[:20]))
        raise ValueError(f"{where} has two columns of the same name: {shown}; rename one")
    return tuple(names)


def column_names(row: Sequence[Cell]) -> list[str]:
    """Cells as column names, on one line and without surrounding blanks."""
    return [" ".join(text_or_blank(cell).split()) for cell in row]


def text_or_blank(cell: Cell) -> str:
    """A cell as text; blank where it is missing."""
    return "" if cell is None or cell != cell else cell_text(cell)


def is_filled(cell: Cell) -> bool:
    """Whether a cell is neither missing nor blank."""
    if isinstance(cell, str):
        return bool(cell) and not cell.isspace()
    return cell is not None and cell == cell


def is_name(cell: Cell) -> bool:
    """Whether a cell can name a column: text that is not a number."""
    return isinstance(cell, str) and read_number(cell) is None


def _without_trailing_blanks(names: Sequence[str]) -> list[str]:
    """The names before a trailing separator."""
    last = next((n for n in range(len(names), 0, -1) if names[n - 1].strip()), len(names))
    return list(names[:last])


def _open_bytes(source: Path | bytes, where: str) -> BinaryIO:
    if isinstance(source, bytes):
        return io.BytesIO(source)
    if not source.is_file():
        raise ValueError(f"there is no file {where}; check its name and its folder")
    return source.open("rb")


def _read_rows(source: Path | bytes, where: str, scan: TextScan, separator: str) -> Iterator[Row]:
    """All records, blank ones included, with the line each begins on."""
    with io.TextIOWrapper(_open_bytes(source, where), scan.encoding, newline="") as file:
        yield from read_records(file, separator, where, scan.quotes)
