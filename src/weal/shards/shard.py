"""A shard: rows of a pool that are read together, from a file or from memory.

Rows of a pool are numbered through its shards, in their order: a shard has the positions from
`start` on. It is read in blocks, so that a file of any size takes little memory. A shard is a small
value that is sent to workers with the identity and the sums of its file: every row group is
compared with them when it is read.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.hashing import Hashes, hash_ids, hash_numbers, hash_texts
from weal.errors import UnreadableFile, UnreadableShard
from weal.shards.encoding import InputEncoder, Later
from weal.shards.parquet_file import ParquetFile, Sums, changed_error, pyarrow
from weal.shards.row_groups import hash_row_groups, open_checked
from weal.tables.cells import cell_text

if TYPE_CHECKING:
    import pyarrow as pa

MAX_BLOCK_ROWS = 32_768  # rows of a block, at most

Rows = NDArray[np.intp]


class Shard(Protocol):
    """Rows that are read together."""

    @property
    def start(self) -> int:
        """Position of its first row in the pool."""

    @property
    def rows(self) -> int:
        """The number of rows."""

    @property
    def name(self) -> str:
        """Its name in messages."""

    @property
    def path(self) -> str | None:
        """The file that it is part of; None for rows in memory."""

    def shift(self, by: int) -> Self:
        """The same rows, further on in the pool."""

    def check(self) -> None:
        """Raise ChangedShard if the shard has changed since the pool was opened."""

    def blocks(self, encoder: InputEncoder, later: Later) -> Iterator[Array]:
        """The inputs of all rows in order, in blocks (n, d)."""

    def take(self, encoder: InputEncoder, rows: Rows) -> Array:
        """The inputs (n, d) of some rows, by their place in the shard."""

    def ids(self, rows: Rows) -> list[Hashable]:
        """The ids of some rows."""

    def table(self, rows: Rows, columns: Sequence[str]) -> "pa.Table":
        """Some rows with these columns, as a pyarrow table."""

    def hashes(self) -> Hashes:
        """Hashes (rows,) of all ids."""


@dataclass(frozen=True, slots=True, eq=False)
class ArrayShard:
    """Rows in memory."""

    start: int
    X: Array  # (n, d)
    names: Sequence[Hashable] | None  # ids; None: positions
    path: None = None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.X)

    @property
    def name(self) -> str:
        """Its rows."""
        return f"rows {self.start:,} to {self.start + self.rows - 1:,}"

    def shift(self, by: int) -> Self:
        """The same rows, further on in the pool."""
        return replace(self, start=self.start + by)

    def check(self) -> None:
        """Rows in memory do not change."""

    def blocks(self, encoder: InputEncoder, later: Later) -> Iterator[Array]:
        """The inputs."""
        for start in range(0, self.rows, MAX_BLOCK_ROWS):
            yield np.asarray(self.X[start : start + MAX_BLOCK_ROWS], dtype=np.float64)

    def take(self, encoder: InputEncoder, rows: Rows) -> Array:
        """The inputs of some rows."""
        return np.asarray(self.X[rows], dtype=np.float64)

    def ids(self, rows: Rows) -> list[Hashable]:
        """The ids of some rows."""
        names = self.names
        return [self.start + n if names is None else names[n] for n in rows.tolist()]

    def table(self, rows: Rows, columns: Sequence[str]) -> "pa.Table":
        """Some rows as a pyarrow table; `columns` names the inputs."""
        arrow, _ = pyarrow()
        return arrow.table({name: self.X[rows, n] for n, name in enumerate(columns)})

    def hashes(self) -> Hashes:
        """Hashes of all ids."""
        if self.names is None:
            return hash_numbers(np.arange(self.start, self.start + self.rows))
        return hash_ids(self.names)


@dataclass(frozen=True, slots=True)
class FileShard:
    """Some row groups of a Parquet file."""

    start: int
    file: ParquetFile
    groups: tuple[int, ...]
    id_column: str | None  # None: positions
    as_text: bool = False  # whether ids are converted to text

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(self.file.groups[n] for n in self.groups)

    @property
    def name(self) -> str:
        """The file, and which of its row groups."""
        if len(self.groups) == len(self.file.groups):
            return self.file.path
        first, last = self.groups[0], self.groups[-1]
        which = f"row group {first}" if first == last else f"row groups {first} to {last}"
        return f"{self.file.path} ({which})"

    @property
    def path(self) -> str:
        """The path of the file."""
        return self.file.path

    def shift(self, by: int) -> Self:
        """The same rows, further on in the pool."""
        return replace(self, start=self.start + by)

    def check(self) -> None:
        """Raise ChangedShard if the file has changed."""
        self.file.check()

    def blocks(self, encoder: InputEncoder, later: Later) -> Iterator[Array]:
        """The inputs, read as they are needed."""
        for batch in self.batches(encoder.columns):
            yield self._finite(encoder.encode_batch(batch, later), encoder)

    def take(self, encoder: InputEncoder, rows: Rows) -> Array:
        """The inputs of some rows; only the row groups that they are in are read."""
        found = np.empty((len(rows), len(encoder.names)))
        for at, batch in self._read_rows(encoder.columns, rows):
            found[at] = self._finite(encoder.encode_batch(batch, Later()), encoder)
        return found

    def ids(self, rows: Rows) -> list[Hashable]:
        """The ids of some rows."""
        if self.id_column is None:
            places = (self.start + n for n in rows.tolist())
            return [str(n + 1) if self.as_text else n for n in places]  # messages count rows from 1
        found: list[Hashable] = [None] * len(rows)
        for at, batch in self._read_rows((self.id_column,), rows):
            cells = batch.column(self.id_column).to_pylist()
            for n, cell in zip(at.tolist(), cells, strict=True):
                found[n] = cell_text(cell) if self.as_text and cell is not None else cell
        return found

    def table(self, rows: Rows, columns: Sequence[str]) -> "pa.Table":
        """Some rows of the file, unchanged, as a pyarrow table."""
        arrow, _ = pyarrow()
        order, parts = [], []
        for at, batch in self._read_rows(columns, rows):
            order.append(at)
            parts.append(batch)
        back = np.argsort(np.concatenate(order), kind="stable")
        return arrow.Table.from_batches(parts).take(arrow.array(back))

    def hashes(self) -> Hashes:
        """Hashes of all ids."""
        if self.id_column is None:
            positions = np.arange(self.start, self.start + self.rows)
            if self.as_text:
                return hash_ids([str(n + 1) for n in positions.tolist()])
            return hash_numbers(positions)
        batches = self.batches((self.id_column,))
        parts = [_hashes(batch.column(self.id_column), self) for batch in batches]
        return np.concatenate(parts) if parts else np.zeros(0, np.uint64)

    def batches(
        self, columns: Sequence[str] | None, groups: Sequence[int] | None = None
    ) -> Iterator["pa.RecordBatch"]:
        """Record batches of these columns; ChangedShard if a row group has changed."""
        arrow, _ = pyarrow()
        wanted = list(self.groups if groups is None else groups)
        names = None if columns is None else list(columns)
        try:
            with open_checked(self.file) as (reader, file):
                wrong = reader.load(file.metadata, wanted, names)
                batches = file.iter_batches(MAX_BLOCK_ROWS, wanted, names, use_threads=False)
                if wrong is not None:
                    for _ in batches:  # an error here means a damaged file
                        pass
                    raise changed_error(self.name, f"it has other values in the column {wrong!r}")
                yield from batches
        except (arrow.ArrowException, OSError, ValueError) as error:
            why = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise UnreadableShard(f"{self.name} cannot be read: {why}") from error

    def sums(self, columns: Sequence[str]) -> Sums:
        """Present hashes of these columns in its row groups."""
        try:
            return hash_row_groups(self.file, self.groups, columns)
        except (OSError, UnreadableFile) as error:
            raise UnreadableShard(f"{self.name} cannot be read: {error}") from error

    def _read_rows(
        self, columns: Sequence[str] | None, rows: Rows
    ) -> Iterator[tuple[Rows, "pa.RecordBatch"]]:
        """The rows in parts: their indices in `rows`, and their cells."""
        arrow, _ = pyarrow()
        ends = np.cumsum([self.file.groups[n] for n in self.groups])
        group = np.searchsorted(ends, rows, side="right")
        for g in np.unique(group).tolist():
            before = int(ends[g - 1]) if g else 0
            here, done = np.flatnonzero(group == g), 0
            for batch in self.batches(columns, [self.groups[g]]):
                place = rows[here] - before - done
                inside = (place >= 0) & (place < batch.num_rows)
                if inside.any():
                    yield here[inside], batch.take(arrow.array(place[inside]))
                done += batch.num_rows

    def _finite(self, X: Array, encoder: InputEncoder) -> Array:
        if np.isfinite(X).all():
            return X
        bad = ~np.isfinite(X)
        column = encoder.names[int(np.flatnonzero(bad.any(axis=0))[0])]
        raise ValueError(
            f"{self.name}: {int(bad.any(axis=1).sum())} rows have no finite number in the column "
            f"{column!r}, which the sample of the pool did not show; fill them, or open the pool "
            "with plan=True, which imputes missing values and marks them"
        )


def _hashes(cells: "pa.Array", shard: FileShard) -> Hashes:
    """Hashes of a column of ids."""
    arrow, _ = pyarrow()
    if cells.null_count:
        raise ValueError(f"{shard.name}: {cells.null_count} rows have no id in {shard.id_column!r}")
    if arrow.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    if shard.as_text and not arrow.types.is_string(cells.type):
        return hash_ids([cell_text(cell) for cell in cells.to_pylist()])
    if arrow.types.is_signed_integer(cells.type) or arrow.types.is_uint32(cells.type):
        return hash_numbers(cells.to_numpy(zero_copy_only=False))
    if arrow.types.is_string(cells.type):
        _, ends, data = cells.buffers()
        offsets = np.frombuffer(ends, np.int32)[cells.offset : cells.offset + len(cells) + 1]
        raw = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
        return hash_texts(raw, offsets.astype(np.int64))
    return hash_ids(cells.to_pylist())
