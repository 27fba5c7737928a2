"""CSV and its like, as records of text: encoding and separator are found, not asked for.

    encoding     UTF-8 with or without a byte order mark, UTF-16 with one; else Latin-1, with a note
    separator    of , ; tab and |, the one that divides the header, and the first records into as
                 many cells each; of a .tsv it is the tab
    records      as RFC 4180: quoted cells may hold separators, quotes (doubled) and line breaks;
                 blank lines are skipped; a record longer or shorter than the header is refused

What `weal export` has written so that no spreadsheet runs it is read as it was (`guarding`).
The first record names the columns. Names are kept as they are; empty and double ones are refused.
"""

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

from weal.table.guarding import unguarded

SEPARATORS = ",;\t|"
LATIN = "{} is not UTF-8; it was read as Latin-1: check letters such as é and µ"
_LOOKED_AT = 20  # records that choose the separator
_BLOCK = 1 << 20
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


@dataclass(frozen=True, slots=True)
class Delimited:
    """A file of records, looked at but not read yet."""

    path: Path
    encoding: str
    separator: str
    names: tuple[str, ...]
    notes: tuple[str, ...]

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Every record after the header, with the line it begins on."""
        rows = _rows(self.path, self.encoding, self.separator)
        next(rows)
        for line, row in rows:
            if len(row) != len(self.names):
                raise ValueError(
                    f"line {line} of {self.path} has {len(row)} cells, not {len(self.names)} as "
                    f"its header; quote cells that hold the separator {self.separator!r}"
                )
            yield line, row


def look_at(path: Path) -> Delimited:
    """Encoding, separator and column names of a file."""
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    with path.open("rb") as start:
        encoding = _encoding(start, str(path))
    separators = "\t" if path.suffix.lower() == ".tsv" else SEPARATORS
    separator = max(separators, key=lambda one: _fit(path, encoding, one))
    header = next(_rows(path, encoding, separator), None)
    if header is None:
        raise ValueError(f"{path} is empty; its first line must name the columns")
    notes = (LATIN.format(path.name),) if encoding == "latin-1" else ()
    return Delimited(path, encoding, separator, check_names(header[1], str(path)), notes)


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


def encoding_of(data: bytes, where: str) -> str:
    """The encoding of a text file that is at hand whole."""
    return _encoding(io.BytesIO(data), where)


def _encoding(file: IO[bytes], where: str) -> str:
    start = file.read(_BLOCK)
    for mark, encoding in _MARKS.items():
        if start.startswith(mark):
            return encoding
    if b"\0" in start:
        raise ValueError(f"{where} is not a text file, whatever its name says")
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        while start:
            decoder.decode(start)
            start = file.read(_BLOCK)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def _rows(path: Path, encoding: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """All records that are not blank, with the line each begins on."""
    try:
        with path.open(encoding=encoding, newline="") as file:
            reader = csv.reader(file, delimiter=separator, strict=True)
            line = 1
            for row in reader:
                if row:
                    yield line, list(map(unguarded, row))
                line = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"{path} cannot be read: line {reader.line_num}: {error}") from error
    except UnicodeDecodeError as error:  # a broken UTF-16
        raise ValueError(f"{path} cannot be read: {error}") from error


def _fit(path: Path, encoding: str, separator: str) -> tuple[bool, float, int]:
    """How well it separates: the header at all, then as many cells in each record, then many."""
    try:
        lengths = [len(row) for _, row in islice(_rows(path, encoding, separator), _LOOKED_AT)]
    except ValueError:
        return False, 0.0, 0
    if not lengths:
        return False, 0.0, 0
    return lengths[0] > 1, lengths.count(lengths[0]) / len(lengths), lengths[0]
