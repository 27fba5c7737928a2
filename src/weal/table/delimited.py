"""CSV and its like, as records of text: encoding and separator are found, not asked for.

    encoding     UTF-8 with or without a byte order mark, UTF-16 with one; else Latin-1, with a note
                 (`text_records`, which also keeps within the limits of `weal.limits`)
    separator    of , ; tab and |, the one that divides the header, and the first records into as
                 many cells each; of a .tsv it is the tab
    records      as RFC 4180: quoted cells may hold separators, quotes (doubled) and line breaks;
                 blank lines are skipped; a record longer or shorter than the header is refused

What `weal export` has written so that no spreadsheet runs it is read as it was (`guarding`).
The first record names the columns; title lines above it are passed over where they are clearly such
(half as many cells at the most as the first record of nothing but words that is as long as those
below), or the line of the header is given. Names are kept as they are; empty and double ones are
refused.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median

from weal.errors import TooLarge
from weal.table.cells import read_number
from weal.table.text_records import SEPARATORS, TextScan, read_records, scan_text

LATIN = "{} is not UTF-8; it was read as Latin-1: check letters such as é and µ"
_LOOKED_AT = 20  # records that choose the separator


@dataclass(frozen=True, slots=True)
class Delimited:
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


def look_at(path: Path, header: int | None = None, max_lines: int | None = None) -> Delimited:
    """Encoding, separator and column names of a file, which may be told to stand on some line.

    TooLarge where the file has more lines than `max_lines`, or a line beyond the limits.
    """
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    with path.open("rb") as start:
        scan = scan_text(start, str(path), max_lines)
    encoding = scan.encoding
    separators = "\t" if path.suffix.lower() == ".tsv" else SEPARATORS
    separator = max(separators, key=lambda one: _fit(path, scan, one, header))
    found = _rows(path, encoding, separator, scan.quotes)
    rows = list(islice(found, _LOOKED_AT + (header or 0)))
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
    return Delimited(path, encoding, separator, checked, tuple(notes), line, *counted)


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


def _fit(path: Path, scan: TextScan, separator: str, header: int | None) -> tuple[bool, float, int]:
    """How well it separates: the header at all, then as many cells in each record, then many."""
    try:
        found = _rows(path, scan.encoding, separator, scan.quotes)
        rows = list(islice(found, _LOOKED_AT + (header or 0)))
    except TooLarge as error:  # into too many columns: it is the separator
        return error.limit == "columns", 1.0, 0
    except ValueError:
        return False, 0.0, 0
    lengths = [len(row) for _, row in rows[_header(rows, header) :]]
    if not lengths:
        return False, 0.0, 0
    return lengths[0] > 1, lengths.count(lengths[0]) / len(lengths), lengths[0]
