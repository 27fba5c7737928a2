"""Row groups of a Parquet file, read into memory and hashed before they are decoded.

A column of a row group is one run of bytes (a column chunk) whose place the footer gives. `Reader`
is a file for pyarrow with the footer and the chunks in memory: each chunk was compared with the
hash that the first pass over the pool took (`ParquetFile.sums`). The decoded numbers are therefore
the numbers of the original file, or ChangedShard is raised. The bytes that were compared are the
bytes that are decoded, so a concurrent write has no effect.
"""

import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from weal.errors import UnreadableFile
from weal.shards.parquet_file import (
    ParquetFile,
    Sums,
    changed_error,
    check_is_file,
    footer_hash,
    is_settled,
    pyarrow,
    read_tail,
)

if TYPE_CHECKING:
    import pyarrow.parquet as pq

DIGEST_LETTERS = 16  # of a hash: 64 bits


class Reader(io.RawIOBase):
    """A file object for pyarrow: loaded row groups from memory, the rest from the file."""

    def __init__(self, file: ParquetFile) -> None:
        check_is_file(Path(file.path))
        self._raw = open(file.path, "rb", buffering=0)  # noqa: SIM115, closed in `close`
        self._at, self._loaded, self.file = 0, dict[int, bytes](), file
        try:
            size, tail = read_tail(self._raw, file.path)
            if (size, footer_hash(tail)) != (file.size, file.footer):
                raise changed_error(file.path, f"{file.size:,} bytes then, {size:,} now")
        except BaseException:
            self._raw.close()
            raise
        self._loaded[size - len(tail)] = tail

    def chunk(self, start: int, length: int) -> bytes:
        """The bytes of a column chunk, from the file."""
        self._raw.seek(start)
        parts, left = [], length
        while left and (part := self._raw.read(left)):
            parts.append(part)
            left -= len(part)
        if left:
            raise UnreadableFile(f"{self.file.path} ends within a column")
        return b"".join(parts)

    def load(
        self, layout: "pq.FileMetaData", groups: Iterable[int], columns: Sequence[str] | None
    ) -> str | None:
        """Load row groups; the name of the first column that has changed, if any."""
        wrong = None
        for group in groups:
            for name, places in chunks(layout, group, columns).items():
                parts = {start: self.chunk(start, length) for start, length in places}
                self._loaded.update(parts)
                sums = (self.file.sums or {}).get(name)
                if wrong is None and sums is not None and sums[group] != digest(parts.values()):
                    wrong = name
        return wrong

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def tell(self) -> int:
        """The offset of the next read."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to an offset."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.file.size}[whence]
        self._at = base + offset
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        """The next bytes."""
        end = self.file.size if size is None or size < 0 else min(self._at + size, self.file.size)
        start, self._at = self._at, max(self._at, end)
        for begin, data in self._loaded.items():
            if begin <= start and end <= begin + len(data):
                return data[start - begin : end - begin]
        return self._assemble(start, end)

    def _assemble(self, start: int, end: int) -> bytes:
        """Bytes that span several parts: from the file, overlaid with the loaded ones."""
        self._raw.seek(start)
        found = bytearray(self._raw.read(max(end - start, 0)))
        for begin, data in self._loaded.items():
            first, last = max(start, begin), min(end, begin + len(data))
            if first < last:
                found[first - start : last - start] = data[first - begin : last - begin]
        return bytes(found)

    def close(self) -> None:
        """Close the file."""
        self._raw.close()
        self._loaded.clear()
        super().close()


def chunks(
    layout: "pq.FileMetaData", group: int, columns: Sequence[str] | None
) -> dict[str, list[tuple[int, int]]]:
    """Offsets (start, length) of the column chunks of a row group, by column name."""
    found: dict[str, list[tuple[int, int]]] = {}
    wanted = None if columns is None else set(columns)
    row_group = layout.row_group(group)
    for n in range(layout.num_columns):
        name = layout.schema.column(n).path.split(".")[0]
        if wanted is None or name in wanted:
            chunk = row_group.column(n)
            start = chunk.data_page_offset
            if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < start:
                start = chunk.dictionary_page_offset
            found.setdefault(name, []).append((start, chunk.total_compressed_size))
    return found


def digest(parts: Iterable[bytes]) -> str:
    """A hash of the bytes of a column in a row group."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()[:DIGEST_LETTERS]


@contextmanager
def open_checked(file: ParquetFile) -> Iterator[tuple[Reader, "pq.ParquetFile"]]:
    """The open file and its pyarrow reader; ChangedShard if its footer has changed."""
    _, parquet = pyarrow()
    with Reader(file) as reader, parquet.ParquetFile(reader, pre_buffer=False) as found:
        yield reader, found


def hash_row_groups(file: ParquetFile, groups: Sequence[int], columns: Sequence[str]) -> Sums:
    """The sums of these row groups; "" for the others."""
    sums = {name: [""] * len(file.groups) for name in columns}
    with open_checked(file) as (reader, found):
        for group in groups:
            for name, places in chunks(found.metadata, group, columns).items():
                sums[name][group] = digest(reader.chunk(*place) for place in places)
    return {name: tuple(each) for name, each in sums.items()}


def merged_sums(parts: Iterable[Sums]) -> Sums:
    """The checksums of a file, merged from those of its shards."""
    found: dict[str, tuple[str, ...]] = {}
    for sums in parts:
        for name, each in sums.items():
            before = found.get(name, each)
            found[name] = tuple(a or b for a, b in zip(before, each, strict=True))
    return found


def hashed_if_new(file: ParquetFile, columns: Sequence[str]) -> ParquetFile:
    """The file, with checksums if it was just written and its timestamps show no change yet."""
    if is_settled(file):
        return file
    groups = [n for n, rows in enumerate(file.groups) if rows]
    return replace(file, sums=hash_row_groups(file, groups, columns))


def sums_to_json(sums: Sums | None) -> dict[str, str] | None:
    """Sums as JSON: one text for each column."""
    return None if sums is None else {name: " ".join(each) for name, each in sums.items()}


def sums_from_json(given: Mapping[str, str] | None) -> Sums | None:
    """The sums that `sums_to_json` wrote."""
    return None if given is None else {name: tuple(each.split(" ")) for name, each in given.items()}
