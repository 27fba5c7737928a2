"""A Parquet file as part of a pool: what it is known by, and how one sees that it changed.

A Parquet file ends in a footer (schema, and sums of every row group) of a length that its last
eight bytes give. Path, size and a hash of the footer are its identity: whoever writes the file
anew writes another footer, and reading it takes a few kilobytes, not the data.
"""

import os
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from weal.errors import ChangedShard, UnreadableFile

MARK = b"PAR1"
MOST_FOOTER = 256 * 2**20  # bytes; more is no footer


@dataclass(frozen=True, slots=True)
class File:
    """A Parquet file as it was when the pool was opened."""

    path: str
    size: int
    footer: str  # hash
    groups: tuple[int, ...]  # rows of each row group

    @property
    def rows(self) -> int:
        """Rows in the file."""
        return sum(self.groups)

    def check(self) -> None:
        """ChangedShard unless the file is what it was."""
        try:
            now = _identity(Path(self.path))
        except (OSError, UnreadableFile) as error:
            raise ChangedShard(f"{self.path} was a shard of this pool, and now: {error}") from error
        if now != (self.size, self.footer):
            raise ChangedShard(
                f"{self.path} has changed since the pool was opened ({self.size:,} bytes then, "
                f"{now[0]:,} now): open the pool anew, or bring back the file as it was"
            )


def look(path: Path) -> tuple[File, Any]:
    """The file and its schema (of arrow); UnreadableFile where it is not Parquet."""
    size, footer = _identity(path)
    found = metadata(path)
    groups = tuple(found.row_group(n).num_rows for n in range(found.num_row_groups))
    return File(str(path), size, footer, groups), found.schema.to_arrow_schema()


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
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < 12:
            raise UnreadableFile(f"{path} is not Parquet: it has {size} bytes")
        file.seek(size - 8)
        tail = file.read(8)
        length = int.from_bytes(tail[:4], "little")
        if tail[4:] != MARK or not 0 < length <= min(size - 12, MOST_FOOTER):
            raise UnreadableFile(f"{path} is not Parquet, or was not written to its end")
        file.seek(size - 8 - length)
        return size, blake2b(file.read(length), digest_size=16).hexdigest()


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
