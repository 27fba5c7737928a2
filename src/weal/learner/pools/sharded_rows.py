"""Rows and ids of a pool in shards by position, read when they are needed and cached.

Few rows are ever needed (asked, labelled, best of a pass), and the same ones again and again.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.errors import UnknownId
from weal.shards.encoding import InputEncoder
from weal.shards.id_index import IdIndex, by_part, ids_at
from weal.shards.shard import Shard
from weal.tables.frames import plain_id

MAX_CACHED_ROWS = 200_000  # rows that are kept
MAX_ROWS_AT_ONCE = 200_000  # rows up to which all of a pool may be had at once


class ShardedRows:
    """The inputs (U, d) of a pool in shards."""

    def __init__(self, parts: Sequence[Shard], encoder: InputEncoder) -> None:
        self.parts, self.encoder = tuple(parts), encoder
        self.shape = (parts[-1].start + parts[-1].rows, len(encoder.names))
        self._cached: dict[int, Array] = {}

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, at: Any) -> Array:
        if isinstance(at, int | np.integer):
            row: Array = self._rows(np.array([at]))[0]
            return row
        if isinstance(at, slice):
            at = np.arange(*at.indices(len(self)))
            if len(at) > MAX_ROWS_AT_ONCE:
                raise ValueError(f"a pool in shards is not read as one array of {len(at):,} rows")
        return self._rows(np.asarray(at, dtype=np.int64))

    def remember(self, positions: Sequence[int], X: Array) -> None:
        """Cache rows that were read."""
        if len(self._cached) + len(positions) > MAX_CACHED_ROWS:
            self._cached.clear()
        self._cached.update(zip(positions, np.asarray(X), strict=True))

    def _rows(self, at: NDArray[np.int64]) -> Array:
        wanted = at.tolist()
        new = np.array(sorted({n for n in wanted if n not in self._cached}), dtype=np.int64)
        found = np.empty((len(new), self.shape[1]))
        for part, which in by_part(self.parts, new) if len(new) else ():
            found[which] = part.take(self.encoder, new[which] - part.start)
        fresh = dict(zip(new.tolist(), found, strict=True))
        rows = [fresh[n] if n in fresh else self._cached[n] for n in wanted]
        if len(new) <= MAX_CACHED_ROWS // 4:
            self.remember(new.tolist(), found)
        return np.array(rows).reshape(len(wanted), self.shape[1])


class ShardedIds(Sequence[Hashable]):
    """The ids of a pool in shards, by position."""

    def __init__(self, parts: Sequence[Shard]) -> None:
        self.parts = tuple(parts)
        self._cached: dict[int, Hashable] = {}

    def __len__(self) -> int:
        return self.parts[-1].start + self.parts[-1].rows

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return self.at(np.arange(*at.indices(len(self))))
        if not 0 <= int(at) < len(self):
            raise IndexError(at)
        return self.at(np.array([at]))[0]

    def at(self, positions: NDArray[Any]) -> list[Hashable]:
        """The ids of these positions."""
        wanted = positions.tolist()
        new = np.array(sorted({n for n in wanted if n not in self._cached}), dtype=np.int64)
        if len(new):
            if len(self._cached) + len(new) > MAX_CACHED_ROWS:
                self._cached.clear()
            fresh = dict(zip(new.tolist(), map(plain_id, ids_at(self.parts, new)), strict=True))
            if len(wanted) > MAX_CACHED_ROWS:
                return [fresh[n] if n in fresh else self._cached[n] for n in wanted]
            self._cached.update(fresh)
        missing = [n for n in wanted if n not in self._cached]
        return self.at(positions) if missing else [self._cached[n] for n in wanted]


class IdPositions(Mapping[Hashable, int]):
    """The position of an id, looked up in the hash index and verified."""

    def __init__(self, index: IdIndex, ids: ShardedIds) -> None:
        self.index, self.ids = index, ids
        self._cached: dict[Hashable, int] = {}

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Hashable]:
        for n in range(len(self.ids)):
            yield self.ids[n]

    def __getitem__(self, name: Hashable) -> int:
        if name not in self._cached:
            at = self.index.places(name)
            found = [n for n, other in zip(at.tolist(), self.ids.at(at), strict=True)
                     if type(other) is type(name) and other == name]  # fmt: skip
            if not found:
                raise UnknownId(name)
            self._cached[name] = found[0]
        return self._cached[name]
