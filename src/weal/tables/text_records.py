r"""Encoding and records of a text file, within the limits of `weal.limits`.

scan_text       one pass over the bytes: the encoding, the number of lines, whether there are
                quotes; a file with too many lines or a line that is too long is refused before it
                is in memory
read_records    the records, one at a time; a cell, a row or a number of columns beyond the limit
                is refused when it is read

encoding        UTF-8 with or without a byte order mark, UTF-16 with one; otherwise Latin-1
records         RFC 4180: quoted cells may hold separators, doubled quotes and line breaks

escape, unescape    text for spreadsheets, so that no cell runs as a formula, and back:

    =1+1        '=1+1       a ' goes before a cell that begins with = + - @ or a tab, which a
                            spreadsheet could run, and before one that begins with ' and these
    bell BEL    bell \u{7}  control characters (line breaks and tabs apart) and lone surrogates,
                            which an old store may hold, become escapes, also a \ before u{

`unescape` reverses both and changes no other text. Standard library only, since `weal tell` imports
it.
"""

import codecs
import csv
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from weal.errors import TooLarge
from weal.limits import BYTES_PER_COLUMN, Limits, read_limits, too_large

_RISKY = re.compile(
    "'*[=+\\-@\t\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}"
    "\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}]"
)
_CONTROL_CHARACTER = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\ufffe\uffff]|\\\\(?=u\\{)"
)
_ESCAPED = re.compile(r"\\u\{([0-9a-f]{1,6})\}")


def escape(text: str) -> str:
    r"""The text of a cell as a CSV file has it.

    >>> escape("-2"), escape("'=x"), escape("a-2"), escape("a\rb")
    ("'-2", "''=x", 'a-2', 'a\\u{d}b')
    """
    plain = escape_control_characters(text)
    return f"'{plain}" if _RISKY.match(plain) else plain


def unescape(text: str) -> str:
    r"""The text that `escape` was given.

    >>> unescape("'-2"), unescape("'tis"), unescape("-2"), unescape(r"C:\new")
    ('-2', "'tis", '-2', 'C:\\new')
    """
    plain = text[1:] if text[:1] == "'" and _RISKY.match(text) else text
    return unescape_control_characters(plain)


def escape_control_characters(text: str) -> str:
    """The text with control characters as escapes."""
    return _CONTROL_CHARACTER.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", text)


def unescape_control_characters(text: str) -> str:
    """The text with escapes as control characters."""
    return _ESCAPED.sub(_letter, text) if "\\u{" in text else text


def _letter(found: re.Match[str]) -> str:
    code = int(found[1], 16)
    whole = code < 0xD800 or 0xDFFF < code <= 0x10FFFF  # a lone surrogate stays escaped
    return chr(code) if whole else found[0]


SEPARATORS = ",;\t|"
READ_BLOCK_BYTES = 1 << 18
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


@dataclass(frozen=True, slots=True)
class TextScan:
    """The encoding and size of a text file."""

    encoding: str
    lines: int
    quotes: bool  # whether it has a quotation mark


def scan_text(file: IO[bytes], where: str, max_lines: int | None = None) -> TextScan:
    """The encoding and the number of lines; TooLarge beyond `max_lines` or for a huge line."""
    counter = _LineCounter(where, read_limits(), max_lines)
    block = file.read(READ_BLOCK_BYTES)
    encoding = next(
        (name for mark, name in _BYTE_ORDER_MARKS.items() if block.startswith(mark)), None
    )
    if encoding is None and b"\0" in block:
        raise ValueError(f"{where} is not a text file, despite its name; save it as CSV (UTF-8)")
    kind = "utf-16" if encoding == "utf-16" else "utf-8"
    decoder = codecs.getincrementaldecoder(kind)("replace" if encoding else "strict")
    while True:
        if encoding != "latin-1":
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeDecodeError:
                encoding = "latin-1"
        if not block:
            break
        wide = encoding == "utf-16"  # its bytes may include the codes of line ends
        counter.count(text.encode("utf-8", "replace") if wide else block)
        block = file.read(READ_BLOCK_BYTES)
    return TextScan(encoding or "utf-8", counter.lines, counter.quotes)


class _LineCounter:
    """Counts the lines of a file by blocks, and the length of the current line in whole blocks."""

    def __init__(self, where: str, limits: Limits, max_lines: int | None) -> None:
        self.where, self.limits, self.max_lines = where, limits, max_lines
        self.lines = 0
        self.length = self.separators = self.plain = 0  # of a line that fills whole blocks
        self.quotes = self.carriage = False

    def count(self, block: bytes) -> None:
        """Count the line ends in a block; TooLarge for too many lines or too long a line."""
        returns = block.count(b"\r")
        ends = returns + block.count(b"\n")
        if returns:
            ends -= block.count(b"\r\n")
        if self.carriage and block.startswith(b"\n"):  # of the line end in the block before
            ends -= 1
        self.carriage = block.endswith(b"\r")
        self.quotes = self.quotes or b'"' in block
        self.lines += ends
        if ends:
            self.length = self.separators = self.plain = 0
        else:
            self._extend_line(block)
        if self.max_lines is not None and self.lines > self.max_lines:
            raise too_many_rows(self.where, self.max_lines)

    def _extend_line(self, block: bytes) -> None:
        """Add a block to the current line; TooLarge if the line is too long."""
        separators = max(block.count(one) for one in SEPARATORS.encode())
        self.length += len(block)
        self.separators += separators
        self.plain = 0 if separators else self.plain + len(block)
        if self.length <= self.limits.row_length:
            return
        if self.separators > self.limits.columns:
            raise too_many_columns(self.where, self.limits)
        if self.plain > self.limits.cell_length:
            raise too_long_cell(self.where, self.limits, f"line {self.lines + 1}")
        raise too_long_row(self.where, self.limits)


def read_records(
    file: IO[str], separator: str, where: str, quotes: bool = True
) -> Iterator[tuple[int, list[str]]]:
    """All records, blank ones ([]) included, with their first line; TooLarge beyond a limit."""
    limits = read_limits()
    lines, line = _RecordLines(file, where, limits), 1
    max_columns = limits.columns
    with _cell_length(limits.cell_length):
        reader = csv.reader(lines if quotes else file, delimiter=separator, strict=True)
        try:
            for row in reader:
                if len(row) > max_columns:
                    raise too_many_columns(where, limits)
                text = "".join(row)
                is_escaped = "'" in text or "\\u{" in text
                yield line, list(map(unescape, row)) if is_escaped else row
                line = reader.line_num + 1
                lines.length = 0
        except csv.Error as error:
            if "field limit" in str(error):
                raise too_long_cell(where, limits, f"line {reader.line_num}") from None
            raise ValueError(
                f"{where} cannot be read: {error} in the record that begins on line {line}; "
                "correct its quotes"
            ) from error
        except UnicodeDecodeError as error:  # damaged UTF-16
            raise ValueError(f"{where} cannot be read: {error}; save it as UTF-8") from error


class _RecordLines:
    """The lines of a file, with a limit on the length of a record of several lines.

    The reader sets `length` to 0 after each record.
    """

    def __init__(self, file: IO[str], where: str, limits: Limits) -> None:
        self.file, self.where, self.limits, self.length = file, where, limits, 0

    def __iter__(self) -> Iterator[str]:
        most = self.limits.row_length
        for line in self.file:
            self.length += len(line)
            if self.length > most:
                raise too_long_row(self.where, self.limits)
            yield line


@contextmanager
def _cell_length(most: int) -> Iterator[None]:
    """Set the cell limit of the csv module, which holds for the whole process."""
    before = csv.field_size_limit()
    if before == most:
        yield
        return
    csv.field_size_limit(most)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def too_many_rows(where: str, most: int) -> TooLarge:
    """The error for a file with too many rows."""
    found = f"more than {most:,} rows, the most that are read into memory"
    return too_large(where, found, "rows", "split it")


def too_many_columns(where: str, limits: Limits) -> TooLarge:
    """The error for a file with too many columns."""
    found = f"a row of more than {limits.columns:,} columns"
    return too_large(where, found, "columns", "delete columns that are not needed")


def too_long_row(where: str, limits: Limits) -> TooLarge:
    """The error for a file with a row that is too long."""
    each = f"{BYTES_PER_COLUMN} for each of {limits.columns:,} columns"
    found = f"a row of more than {limits.row_length:,} characters, {each}"
    return too_large(where, found, "columns", "delete columns that are not needed")


def too_long_cell(where: str, limits: Limits, place: str) -> TooLarge:
    """The error for a file with a cell that is too long."""
    found = f"a cell of more than {limits.cell_length:,} characters ({place})"
    return too_large(where, found, "cell_length", "shorten it")


def check_cells(where: str, rows: int, columns: int, most: int, name: str = "cells") -> None:
    """Refuse more than `most` cells, the limit of that name."""
    if rows * columns > most:
        found = f"more than {most:,} cells ({rows:,} rows of {columns:,} columns)"
        raise too_large(where, found, name, "split it, or delete columns that are not needed")


def check_size(where: str, size: int, most: int, name: str = "bytes") -> None:
    """Refuse more than `most` bytes, the limit of that name."""
    if size > most:
        raise too_large(where, f"{size:,} bytes, more than {most:,}", name, "split it")
