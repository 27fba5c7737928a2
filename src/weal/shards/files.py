"""A Parquet file as part of a pool: what it is known by, and how one sees that it changed.

    identity   path, size and a hash of the footer: the schema, and sizes and statistics of every
               row group. Read in a few kilobytes, when the pool is opened and before every pass
    stamp      inode and times of the file when the pool was opened: they stand for the content
               until it is hashed
    sums       a hash of each column in each row group, of the columns that are used: taken in the
               first pass over the pool, and compared whenever a row group is read (`row_groups`)

A file that is written anew with other numbers may have the same footer (where its writer keeps no
statistics and compresses nothing), and never has the same sums.
"""

import os
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from weal.errors import ChangedShard, UnreadableFile
from weal.files import kind_of_path

MARK = b"PAR1"
MOST_FOOTER = 256 * 2**20  # bytes; more is no footer


Stamp = tuple[int, int, int]  # inode, time of the last change of content, and of any change (ns)
Sums = Mapping[str, tuple[str, ...]]  # column -> hash of each row group, "" where it has no row
SETTLED_SECONDS = 3.0  # after a change, before times of files can be relied on to show another one


@dataclass(frozen=True, slots=True)
class File:
    """A Parquet file as it was when the pool was opened."""

    path: str
    size: int
    footer: str  # hash
    groups: tuple[int, ...]  # rows of each row group
    stamp: Stamp | None = field(default=None, compare=False)  # None: written down, not opened
    sums: Sums | None = field(default=None, compare=False)  # None: not hashed yet

    @property
    def rows(self) -> int:
        """Rows in the file."""
        return sum(self.groups)

    def check(self) -> None:
        """ChangedShard unless size and footer of the file are what they were."""
        try:
            now = _identity(Path(self.path))
        except (OSError, UnreadableFile) as error:
            raise ChangedShard(f"{self.path} was a shard of this pool, and now: {error}") from error
        if now != (self.size, self.footer):
            raise changed(self.path, f"{self.size:,} bytes then, {now[0]:,} now")

    def check_stamp(self) -> None:
        """ChangedShard where a file that is not hashed yet was written since it was opened."""
        if self.sums is None and self.stamp is not None and stamp_of(self.path) != self.stamp:
            raise changed(self.path, "it was written again, before its rows were read")

    def check_unwritten(self) -> None:
        """ChangedShard where the file was written since it was opened: for columns without sums."""
        if self.stamp is not None and stamp_of(self.path) != self.stamp:
            raise changed(self.path, "it was written again")


def changed(name: str, how: str) -> ChangedShard:
    """The error for a file that is not what it was."""
    return ChangedShard(
        f"{name} has changed since the pool was opened ({how}): open the pool anew, or bring back "
        "the file as it was"
    )


def stamp_of(path: str | os.PathLike[str]) -> Stamp:
    """Inode and times of a file as it is now."""
    found = os.stat(path)
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def is_settled(file: File) -> bool:
    """Whether the file was last written so long ago that its stamp shows the next change.

    Two changes within one tick of a file system's clock have the same time.
    """
    return file.stamp is not None and file.stamp[1] < (time.time() - SETTLED_SECONDS) * 1e9


def look(path: Path) -> tuple[File, Any]:
    """The file and its schema (of arrow); UnreadableFile where it is not Parquet."""
    size, footer = _identity(path)
    stamp, found = stamp_of(path), metadata(path)
    groups = tuple(found.row_group(n).num_rows for n in range(found.num_row_groups))
    return File(str(path), size, footer, groups, stamp), found.schema.to_arrow_schema()


def metadata(path: Path) -> Any:
    """What the footer says, as arrow reads it."""
    arrow, parquet = pyarrow()
    try:
        return parquet.read_metadata(path)
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise UnreadableFile(f"{path} is damaged: {_first_line(error)}") from error


def pyarrow() -> tuple[Any, Any]:
    """Pyarrow and its module for Parquet."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'pools in files need pyarrow: pip install "weal[frames]"'
        ) from error
    return pyarrow, pyarrow.parquet


def _identity(path: Path) -> tuple[int, str]:
    """Size and hash of the footer."""
    check_is_file(path)
    with path.open("rb") as file:
        size, tail = read_tail(file, path)
    return size, footer_hash(tail)


def check_is_file(path: Path) -> None:
    """UnreadableFile unless a file, or a link to one, is there; opening a pipe would never end."""
    if not os.path.lexists(path):
        raise UnreadableFile(f"{path} is not there")
    try:
        plain = stat.S_ISREG(path.stat().st_mode)
    except OSError:
        plain = False
    if not plain:
        raise UnreadableFile(f"{path} is {kind_of_path(path).rstrip(',')}, and not a file")


def read_tail(file: Any, path: Any) -> tuple[int, bytes]:
    """Size of an open Parquet file, and its end: the footer, its length and the magic bytes."""
    size = os.fstat(file.fileno()).st_size
    if size < 12:
        raise UnreadableFile(f"{path} is not Parquet: it has {size} bytes")
    file.seek(size - 8)
    tail = file.read(8)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != MARK or not 0 < length <= min(size - 12, MOST_FOOTER):
        raise UnreadableFile(f"{path} is not Parquet, or was not written to its end")
    file.seek(size - 8 - length)
    return size, file.read(length) + tail


def footer_hash(tail: bytes) -> str:
    """The hash of a footer, with which the end of a file begins."""
    return blake2b(tail[:-8], digest_size=16).hexdigest()


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
