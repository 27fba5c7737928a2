"""Where an id is, without reading the pool: hashes of all ids, sorted, and the positions they have.

The index is made in one pass over the column of ids, and finds what repeats: equal ids have equal
hashes, and the few equal hashes are compared by the ids themselves. 16 bytes a candidate; kept as
files where a folder is given, under the digest of the pool, and mapped into memory, not read.
"""

import json
import re
import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from weal.core.hashing import Hashes, hash_ids, keyed, least
from weal.errors import ForeignFile
from weal.files import FolderKind, atomic_folder
from weal.shards.pool import Shards
from weal.shards.shard import Shard

VERSION = 1
NAMED = 5  # ids in a message
LOOKED_AT = 10_000  # equal hashes that are compared; one is found among so many if there is one

FOLDER = FolderKind(
    "index of a pool",
    re.compile(r"hashes\.npy|positions\.npy|index\.json"),
    made_by_0_2=lambda place: re.fullmatch("index-[0-9a-f]{32}", place.name) is not None,
)

Positions = NDArray[np.int64]
Each = Callable[[Callable[[Shard], Hashes], Sequence[Shard]], Iterable[tuple[int, Hashes]]]


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """Hashes of ids, ascending, and their positions."""

    hashes: Hashes  # (U,)
    positions: Positions  # (U,)

    def places(self, name: Hashable) -> Positions:
        """Positions that an id may have: those of its hash."""
        wanted = hash_ids([name])[0]
        first = np.searchsorted(self.hashes, wanted, side="left")
        last = np.searchsorted(self.hashes, wanted, side="right")
        return np.asarray(self.positions[first:last])

    def first(self, seed: int, most: int) -> Positions:
        """Positions of the `most` ids with the least hash of (seed, id), the least first."""
        mixed = keyed(np.asarray(self.hashes), seed)
        at = least(mixed, most)
        return np.asarray(self.positions[at[np.argsort(mixed[at], kind="stable")]])


def make_index(pool: Shards, each: Each) -> Index:
    """The index of a pool; ValueError names ids that come more than once."""
    hashes = np.empty(len(pool), np.uint64)
    for n, found in each(hashes_of, pool.parts):
        part = pool.parts[n]
        hashes[part.start : part.start + part.rows] = found
    order = np.argsort(hashes, kind="stable")
    index = Index(hashes[order], order.astype(np.int64, copy=False))
    _refuse_twins(pool, index)
    return index


def hashes_of(shard: Shard) -> Hashes:
    """The hashes of the ids of a shard that is what it was."""
    shard.check()
    return shard.hashes()


def kept_index(folder: Path, pool: Shards, each: Each) -> Index:
    """The index in the folder, if it is of this pool; else made, and kept there."""
    place = folder / f"index-{pool.digest}"
    found = _read(place, pool)
    if found is None:
        found = make_index(pool, each)
        _keep(place, found, pool)
    return found


def part_of(parts: Sequence[Shard], position: int) -> int:
    """Which of the shards has a position."""
    starts = np.array([part.start for part in parts])
    return int(np.searchsorted(starts, position, side="right")) - 1


def ids_at(parts: Sequence[Shard], positions: Positions) -> list[Hashable]:
    """The ids of these positions, in this order; every shard is read once at the most."""
    found: list[Hashable] = [None] * len(positions)
    for part, at in by_part(parts, positions):
        for n, name in zip(at.tolist(), part.ids(positions[at] - part.start), strict=True):
            found[n] = name
    return found


def by_part(
    parts: Sequence[Shard], positions: Positions
) -> Iterable[tuple[Shard, NDArray[np.intp]]]:
    """The shards that have some of these positions, with which of them they have."""
    starts = np.array([part.start for part in parts])
    which = np.searchsorted(starts, positions, side="right") - 1
    for n in np.unique(which).tolist():
        yield parts[n], np.flatnonzero(which == n)


def _refuse_twins(pool: Shards, index: Index) -> None:
    """Refuse ids that come twice, in one shard or in two."""
    same = np.flatnonzero(index.hashes[1:] == index.hashes[:-1])[:LOOKED_AT]
    if not len(same):
        return
    at = np.stack([index.positions[same], index.positions[same + 1]])  # (2, n)
    names = ids_at(pool.parts, at.ravel())
    pairs = list(zip(names[: len(same)], names[len(same) :], strict=True))
    twice = [n for n, (a, b) in enumerate(pairs) if a == b]
    if not twice:
        return
    some = ", ".join(
        f"{pairs[n][0]!r} ({_where(pool, at[0, n])} and {_where(pool, at[1, n])})"
        for n in twice[:NAMED]
    )
    more = "at least " if len(same) == LOOKED_AT else ""
    raise ValueError(f"{more}{len(twice)} ids come more than once: {some}; ids are unique")


def _where(pool: Shards, position: int) -> str:
    return pool.parts[part_of(pool.parts, position)].name


def _read(place: Path, pool: Shards) -> Index | None:
    try:
        note = json.loads((place / "index.json").read_text())
        parts = [np.load(place / f"{one}.npy", mmap_mode="r") for one in ("hashes", "positions")]
    except (OSError, ValueError):
        return None
    whole = note == _note(pool) and all(part.shape == (len(pool),) for part in parts)
    return Index(*parts) if whole else None


def _keep(place: Path, index: Index, pool: Shards) -> None:
    """Write it whole or not at all; where nothing may be written, it is made again next time."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with atomic_folder(place, FOLDER) as draft:
            np.save(draft / "hashes.npy", index.hashes)
            np.save(draft / "positions.npy", index.positions)
            (draft / "index.json").write_text(json.dumps(_note(pool)))
    except ForeignFile as error:
        warnings.warn(f"the index of the pool is not kept: {error}", stacklevel=2)
    except OSError:
        pass


def _note(pool: Shards) -> dict[str, object]:
    starts = [[part.start, part.rows] for part in pool.parts]
    texts = any(getattr(part, "as_text", False) for part in pool.parts)
    return {"version": VERSION, "pool": pool.digest, "parts": starts, "texts": texts}
