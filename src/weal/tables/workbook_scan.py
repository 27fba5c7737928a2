"""One pass over an Excel workbook before openpyxl reads it, within `weal.limits`.

A workbook is a ZIP archive of XML parts, and a small archive can unpack into gigabytes. Each part
is decompressed by blocks and never held whole:

    size        the stated sizes of all parts together are within the limit; a part that unpacks
                into more or fewer bytes is refused
    text        no text between two tags is longer than a cell may be
    elements    a part with few tags is harmless; a part with many is parsed, and its rows, cells
                and other elements are counted

Document types (expanding entities) are refused: no spreadsheet program writes them. `excel_reader`
checks row numbers and columns.
"""

import io
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from xml.parsers import expat
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from weal.errors import TooLarge
from weal.limits import Limits, read_limits, too_large
from weal.tables.text_records import READ_BLOCK_BYTES, check_size, too_long_cell, too_many_rows

HARMLESS_TAGS = 1_000_000  # of a part: at most 100 MB as elements
HARMLESS_BYTES = 32 << 20  # of a part: at most the text of one cell
OTHER_ELEMENTS = 500_000  # of a part: elements that are not rows, cells or texts
BYTES_PER_ELEMENT = 200  # of elements after the rows: merged cells, formats, validations
BYTES_PER_CHARACTER = 10  # at most: &#x10FFFF;
_FORMULA = re.compile(rb"<(?:\w+:)?f[ >/]")
_ENCODING = re.compile(rb"<\?xml[^>]{0,200}encoding\s*=\s*[\"']([^\"']*)")
_OVERLAP = 16  # bytes of a block that are searched again with the next
_LOCAL_HEADER = 30  # bytes before the name of a part in the archive
MAX_CACHED_NAMES = 1_000  # of elements
KIND_COUNT = 4
OTHER, ROW, CELL_OR_TEXT, PIECE = range(KIND_COUNT)
_ELEMENT_KINDS = {"row": ROW, "c": CELL_OR_TEXT, "si": CELL_OR_TEXT}
# Elements inside a cell or a shared text
_PIECES = frozenset(("v", "is", "t", "f", "r", "rPr", "phoneticPr"))


def scan_workbook(data: bytes, where: str) -> bool:
    """Whether a sheet has formulas; TooLarge beyond the limits, other errors for damaged files."""
    limits = read_limits()
    with ZipFile(io.BytesIO(data)) as bundle:
        parts = bundle.infolist()
    size = sum(part.file_size for part in parts)
    check_size(f"{where}, once decompressed,", size, limits.workbook_bytes, "workbook_bytes")
    found = [_scan_part(data, part, where, limits) for part in parts]
    return any(found)


def _scan_part(data: bytes, part: ZipInfo, where: str, limits: Limits) -> bool:
    """Whether the part is a sheet with a formula."""
    scan = _PartScan(where, limits)
    for block in unpack(data, part):
        scan.add_block(block)
    if not scan.is_harmless:
        _count_elements(data, part, where, limits)
    return scan.formula and "worksheets/" in part.filename


class _PartScan:
    """Counts of tags and text, and formulas, in the bytes of a part."""

    def __init__(self, where: str, limits: Limits) -> None:
        self.where, self.limits = where, limits
        self.bytes, self.tags, self.run, self.end = 0, 0, 0, b""
        self.plain = True  # whether it is UTF-8 without a document type
        self.formula, self.first = False, True

    @property
    def is_harmless(self) -> bool:
        """Whether parsing the part needs little memory."""
        return self.plain and self.tags <= HARMLESS_TAGS and self.bytes <= HARMLESS_BYTES

    def add_block(self, block: bytes) -> None:
        """Scan the next block; TooLarge if a text is too long."""
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


def _count_elements(data: bytes, part: ZipInfo, where: str, limits: Limits) -> None:
    """Refuse a part with too many elements; openpyxl reports a part that is not XML."""
    count = _ElementCount(where, limits)
    parser = expat.ParserCreate(namespace_separator="}")
    parser.ordered_attributes = True  # a list, which is quicker to make
    parser.StartDoctypeDeclHandler = _refuse_document_type
    parser.StartElementHandler = _element_counter(count.elements)
    try:
        for block in unpack(data, part):
            parser.Parse(block)
            count.check(len(block))
    except expat.ExpatError:
        return


def _element_counter(elements: list[int]) -> Callable[[str, list[str]], None]:
    """The callback for each element, which must be fast."""
    kinds = _Kinds()

    def start(name: str, _: list[str]) -> None:
        elements[kinds[name]] += 1

    return start


class _Kinds(dict[str, int]):
    """The kind of an element by its name."""

    def __missing__(self, name: str) -> int:
        plain = name.rpartition("}")[2]
        kind = _ELEMENT_KINDS.get(plain, PIECE if plain in _PIECES else OTHER)
        if len(self) < MAX_CACHED_NAMES:
            self[name] = kind
        return kind


class _ElementCount:
    """The number of elements of each kind, checked after each block."""

    def __init__(self, where: str, limits: Limits) -> None:
        self.where, self.limits = where, limits
        self.elements = [0] * KIND_COUNT
        self.begun, self.others = 0, 0  # rows, cells and shared texts; other elements
        self.distance = 0  # bytes since the last row, cell or shared text

    def check(self, size: int) -> None:
        """Refuse too many elements, after `size` more bytes."""
        if self.elements[ROW] > self.limits.rows:
            raise too_many_rows(self.where, self.limits.rows)
        if self.elements[CELL_OR_TEXT] > self.limits.sheet_cells:
            found = f"more than {self.limits.sheet_cells:,} cells"
            raise too_large(self.where, found, "sheet_cells", "save it as CSV")
        if self.elements[OTHER] > OTHER_ELEMENTS:
            raise TooLarge(
                f"{self.where} has a part of more than {OTHER_ELEMENTS:,} elements that are not "
                "cells; save the sheet as CSV"
            )
        self._check_distance(size)

    def _check_distance(self, size: int) -> None:
        """Refuse a cell that is too long, in any number of pieces."""
        begun, others = self.elements[ROW] + self.elements[CELL_OR_TEXT], self.elements[OTHER]
        aside = BYTES_PER_ELEMENT * (others - self.others)
        self.distance = 0 if begun > self.begun else self.distance + max(size - aside, 0)
        self.begun, self.others = begun, others
        if self.begun and self.distance > BYTES_PER_CHARACTER * self.limits.cell_length:
            raise too_long_cell(self.where, self.limits, "in the workbook")


def _refuse_document_type(*_: object) -> None:
    raise ValueError("it has a document type (<!DOCTYPE>)")


def unpack(data: bytes, part: ZipInfo) -> Iterator[bytes]:
    """The bytes of a part by blocks; BadZipFile if their number differs from the stated one."""
    left = part.file_size
    for block in _inflate(data, part):
        left -= len(block)
        if left < 0:
            break
        yield block
    if left:
        raise BadZipFile(f"{part.filename} does not have its {part.file_size:,} bytes")


def _inflate(data: bytes, part: ZipInfo) -> Iterator[bytes]:
    packed = _compressed_bytes(data, part)
    starts = range(0, len(packed), READ_BLOCK_BYTES)
    if part.compress_type == ZIP_STORED:
        yield from (bytes(packed[start : start + READ_BLOCK_BYTES]) for start in starts)
        return
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    for start in starts:
        block = bytes(packed[start : start + READ_BLOCK_BYTES])
        while block and not inflater.eof:
            yield inflater.decompress(block, READ_BLOCK_BYTES)
            block = inflater.unconsumed_tail
    while found := inflater.decompress(b"", READ_BLOCK_BYTES):
        yield found


def _compressed_bytes(data: bytes, part: ZipInfo) -> memoryview:
    """The compressed bytes of a part."""
    if part.compress_type not in (ZIP_STORED, ZIP_DEFLATED) or part.flag_bits & 1:
        raise BadZipFile(f"{part.filename} is encrypted or compressed with an unsupported method")
    header = data[part.header_offset : part.header_offset + _LOCAL_HEADER]
    if len(header) < _LOCAL_HEADER or header[:4] != b"PK\3\4":
        raise BadZipFile(f"{part.filename} is not where the archive's directory says")
    name, extra = struct.unpack("<HH", header[26:30])
    start = part.header_offset + _LOCAL_HEADER + name + extra
    return memoryview(data)[start : start + part.compress_size]
