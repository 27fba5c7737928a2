"""One pass over the parts of an Excel workbook before openpyxl reads it, within `weal.limits`.

A workbook is a ZIP archive of XML parts, and a small one can unpack into anything. Each part is
decompressed by blocks, and none is held whole:

    size        the bytes that it says it has, in all parts together, are within the limit; a part
                that unpacks into more or fewer bytes than it says is refused
    text        no run of text without a tag is longer than a cell may be
    elements    a part of few tags is harmless whatever they are; one of many is parsed, and its
                rows, cells and other elements are counted

Document types (entities that grow) are refused: no spreadsheet program writes one. Row numbers and
columns are counted where rows are made of cells (`excel`).
"""

import io
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any
from xml.parsers import expat
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from weal.errors import TooLarge
from weal.limits import Limits, read_limits, too_large
from weal.tables.text_records import check_size, too_long_cell, too_many_rows

BLOCK_BYTES = 1 << 18
HARMLESS_TAGS = 1_000_000  # of a part: 100 MB at the most when all of them are kept as elements
HARMLESS_BYTES = 32 << 20  # of a part: the text of one cell, in however many pieces
OTHER_ELEMENTS = 500_000  # elements of a part that are neither rows nor cells nor texts
BYTES_PER_ELEMENT = 200  # that follow the rows: merged cells, formats, validations
BYTES_PER_CHARACTER = 10  # of a text at the most: &#x10FFFF;
_FORMULA = re.compile(rb"<(?:\w+:)?f[ >/]")
_ENCODING = re.compile(rb"<\?xml[^>]{0,200}encoding\s*=\s*[\"']([^\"']*)")
_OVERLAP = 16  # bytes of a block that are looked at again with the next
_LOCAL_HEADER = 30  # bytes before the name of a part
DISTINCT_NAMES = 1_000  # of elements that are remembered
KIND_COUNT = 4
OTHER, ROW, CELL, PIECE = range(KIND_COUNT)
_KINDS = {"row": ROW, "c": CELL, "si": CELL}
_PIECES = frozenset(("v", "is", "t", "f", "r", "rPr", "phoneticPr"))  # of a cell or a shared text


def scan_workbook(data: bytes, where: str) -> bool:
    """Whether a sheet has formulas; TooLarge beyond the limits, other errors where damaged."""
    limits = read_limits()
    with ZipFile(io.BytesIO(data)) as bundle:
        parts = bundle.infolist()
    size = sum(part.file_size for part in parts)
    check_size(f"{where}, once decompressed,", size, limits.workbook_bytes, "workbook_bytes")
    found = [_scan_part(data, part, where, limits) for part in parts]
    return any(found)


def _scan_part(data: bytes, part: ZipInfo, where: str, limits: Limits) -> bool:
    """Whether the part is a sheet with a formula."""
    look = _PartLook(where, limits)
    for block in unpacked(data, part):
        look.at(block)
    if not look.is_harmless:
        _parse(data, part, where, limits)
    return look.formula and "worksheets/" in part.filename


class _PartLook:
    """Tags, runs of text and formulas in the bytes of a part."""

    def __init__(self, where: str, limits: Limits) -> None:
        self.where, self.limits = where, limits
        self.bytes, self.tags, self.run, self.end = 0, 0, 0, b""
        self.plain = True  # whether it is UTF-8 without a document type, as far as it says
        self.formula, self.first = False, True

    @property
    def is_harmless(self) -> bool:
        """Whether parsing it can take little memory, whatever it holds."""
        return self.plain and self.tags <= HARMLESS_TAGS and self.bytes <= HARMLESS_BYTES

    def at(self, block: bytes) -> None:
        """Take in the next block; TooLarge where a text is too long."""
        if self.first:
            self.first, self.plain = False, _is_utf8(block)
        self.bytes += len(block)
        tags = block.count(b"<")
        self.tags += tags
        self.run = 0 if tags else self.run + len(block)
        if self.run > BYTES_PER_CHARACTER * self.limits.cell_length:
            raise too_long_cell(self.where, self.limits, "in the workbook")
        seen = self.end + block
        self.plain = self.plain and b"<!DOCTYPE" not in seen
        self.formula = self.formula or _FORMULA.search(seen) is not None
        self.end = block[-_OVERLAP:]


def _is_utf8(start: bytes) -> bool:
    if b"\0" in start[:4]:  # UTF-16
        return False
    named = _ENCODING.match(start.removeprefix(b"\xef\xbb\xbf"))
    return named is None or named[1].lower() in (b"utf-8", b"us-ascii", b"ascii")


def _parse(data: bytes, part: ZipInfo, where: str, limits: Limits) -> None:
    """Count the elements of a part; what is not XML is left to whoever reads it."""
    count = _ElementCount(where, limits)
    parser = expat.ParserCreate(namespace_separator="}")
    parser.ordered_attributes = True  # a list, which is quicker to make
    parser.StartDoctypeDeclHandler = _refuse_document_type
    parser.StartElementHandler = _counting(count.elements)
    try:
        for block in unpacked(data, part):
            parser.Parse(block)
            count.check(len(block))
    except expat.ExpatError:
        return


def _counting(elements: list[int]) -> Callable[[str, Any], None]:
    """What is called for each element, and so has no more to do than it must."""
    kinds = _Kinds()

    def start(name: str, _: Any) -> None:
        elements[kinds[name]] += 1

    return start


class _Kinds(dict[str, int]):
    """Kinds of elements by name."""

    def __missing__(self, name: str) -> int:
        plain = name.rpartition("}")[2]
        kind = _KINDS.get(plain, PIECE if plain in _PIECES else OTHER)
        if len(self) < DISTINCT_NAMES:
            self[name] = kind
        return kind


class _ElementCount:
    """Elements of a part by their kind, checked after each block."""

    def __init__(self, where: str, limits: Limits) -> None:
        self.where, self.limits = where, limits
        self.elements = [0] * KIND_COUNT
        self.begun, self.others = 0, 0  # rows, cells and shared texts; other elements
        self.distance = 0  # bytes since the last row, cell or shared text

    def check(self, size: int) -> None:
        """TooLarge where there is too much of something, after this many bytes more."""
        if self.elements[ROW] > self.limits.rows:
            raise too_many_rows(self.where, self.limits.rows)
        if self.elements[CELL] > self.limits.sheet_cells:
            found = f"more than {self.limits.sheet_cells:,} cells"
            raise too_large(self.where, found, "sheet_cells", "save it as CSV")
        if self.elements[OTHER] > OTHER_ELEMENTS:
            raise TooLarge(
                f"{self.where} has a part of more than {OTHER_ELEMENTS:,} elements that are no "
                "cells; save the sheet as CSV"
            )
        self._check_distance(size)

    def _check_distance(self, size: int) -> None:
        """TooLarge where a cell goes on for too long, in however many pieces."""
        begun, others = self.elements[ROW] + self.elements[CELL], self.elements[OTHER]
        aside = BYTES_PER_ELEMENT * (others - self.others)
        self.distance = 0 if begun > self.begun else self.distance + max(size - aside, 0)
        self.begun, self.others = begun, others
        if self.begun and self.distance > BYTES_PER_CHARACTER * self.limits.cell_length:
            raise too_long_cell(self.where, self.limits, "in the workbook")


def _refuse_document_type(*_: Any) -> None:
    raise ValueError("it has a document type (<!DOCTYPE>)")


def unpacked(data: bytes, part: ZipInfo) -> Iterator[bytes]:
    """The bytes of a part, by blocks; BadZipFile where they are not as many as it says."""
    left = part.file_size
    for block in _inflated(data, part):
        left -= len(block)
        if left < 0:
            break
        yield block
    if left:
        raise BadZipFile(f"{part.filename} does not have the {part.file_size:,} bytes that it says")


def _inflated(data: bytes, part: ZipInfo) -> Iterator[bytes]:
    packed = _packed(data, part)
    starts = range(0, len(packed), BLOCK_BYTES)
    if part.compress_type == ZIP_STORED:
        yield from (bytes(packed[start : start + BLOCK_BYTES]) for start in starts)
        return
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    for start in starts:
        block = bytes(packed[start : start + BLOCK_BYTES])
        while block and not inflate.eof:
            yield inflate.decompress(block, BLOCK_BYTES)
            block = inflate.unconsumed_tail
    while found := inflate.decompress(b"", BLOCK_BYTES):
        yield found


def _packed(data: bytes, part: ZipInfo) -> memoryview:
    """A part as it is in the archive."""
    if part.compress_type not in (ZIP_STORED, ZIP_DEFLATED) or part.flag_bits & 1:
        raise BadZipFile(f"{part.filename} is encrypted, or compressed in an unusual way")
    header = data[part.header_offset : part.header_offset + _LOCAL_HEADER]
    if len(header) < _LOCAL_HEADER or header[:4] != b"PK\3\4":
        raise BadZipFile(f"{part.filename} is not where the archive says")
    name, extra = struct.unpack("<HH", header[26:30])
    start = part.header_offset + _LOCAL_HEADER + name + extra
    return memoryview(data)[start : start + part.compress_size]
