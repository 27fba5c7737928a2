"""The id index: sorted hashes of all ids, and their positions.

The index finds an id without reading the pool. It is made in one pass over the id column, which
also finds duplicates: equal hashes are compared by the ids themselves. The same pass hashes the row
groups (`row_groups`). It takes 16 bytes per candidate. If a folder is given, the index is stored
there under the digest of the pool, with checksums: a damaged index is rebuilt, with a warning.
"""

import json
import re
import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from weal.core.hashing import Hashes, hash_ids, least, mix_with_seed
from weal.errors import ForeignFile
from weal.files import FolderKind, atomic_folder, changed_file, check_folder, read_mark
from weal.shards.dataset import Dataset
from weal.shards.parquet_file import ParquetFile, Sums
from weal.shards.row_groups import merged_sums, sums_from_json, sums_to_json
from weal.shards.shard import FileShard, Shard


class IndexedFile(TypedDict):
    """The entry of a file in the index."""

    stamp: list[int] | None
    sums: dict[str, str] | None


INDEX_VERSION = 2  # 1: weal 0.2, without checksums
MAX_IDS_IN_MESSAGE = 5  # ids in a message
# equal hashes that are compared: enough to find a duplicate if there is one
MAX_COLLISIONS = 10_000

INDEX_FOLDER = FolderKind(
    "index of a pool",
    re.compile(r"hashes\.npy|positions\.npy|index\.json"),
    made_by_0_2=lambda place: re.fullmatch("index-[0-9a-f]{32}", place.name) is not None,
)

Positions = NDArray[np.int64]
Looked = tuple[Hashes, Sums | None]
Each = Callable[[Callable[[Shard], Looked], Sequence[Shard]], Iterable[tuple[int, Looked]]]


@dataclass(frozen=True, slots=True, eq=False)
class IdIndex:
    """Hashes of ids, ascending, and their positions."""

    hashes: Hashes  # (U,)
    positions: Positions  # (U,)

    def places(self, name: Hashable) -> Positions:
        """Positions of the ids with the hash of this id."""
        wanted = hash_ids([name])[0]
        first = np.searchsorted(self.hashes, wanted, side="left")
        last = np.searchsorted(self.hashes, wanted, side="right")
        return np.asarray(self.positions[first:last])

    def first(self, seed: int, most: int) -> Positions:
        """Positions of the `most` ids with the least hash of (seed, id), the least first."""
        mixed = mix_with_seed(np.asarray(self.hashes), seed)
        at = least(mixed, most)
        return np.asarray(self.positions[at[np.argsort(mixed[at], kind="stable")]])


@dataclass(frozen=True, slots=True)
class FirstLook:
    """The first pass over a shard: hashes of its ids, and of row groups without hashes.

    The ids are read from the very bytes that were hashed.
    """

    columns: tuple[str, ...]

    def __call__(self, shard: Shard) -> tuple[Hashes, Sums | None]:
        """Hashes (rows,) of the ids, and the sums of its row groups."""
        shard.check()
        if not isinstance(shard, FileShard) or shard.file.sums is not None:
            return shard.hashes(), None
        sums = shard.sums(self.columns)
        return replace(shard, file=replace(shard.file, sums=sums)).hashes(), sums


def make_index(pool: Dataset, each: Each) -> tuple[IdIndex, Dataset]:
    """The index of a pool, and the pool with the hashes of its row groups.

    ValueError names duplicate ids.
    """
    hashes, sums = np.empty(len(pool), np.uint64), dict[str, list[Sums]]()
    for n, (found, of_groups) in each(FirstLook(pool.used_columns), pool.parts):
        part = pool.parts[n]
        hashes[part.start : part.start + part.rows] = found
        if of_groups is not None and isinstance(part, FileShard):
            sums.setdefault(part.file.path, []).append(of_groups)
    pool.check()  # else a file was written after it was opened and before it was hashed
    pool = pool.with_sums({path: merged_sums(parts) for path, parts in sums.items()})
    order = np.argsort(hashes, kind="stable")
    index = IdIndex(hashes[order], order.astype(np.int64, copy=False))
    _refuse_twins(pool, index)
    return index, pool


def kept_index(folder: Path, pool: Dataset, each: Each) -> tuple[IdIndex, Dataset]:
    """The index of this pool from the folder; built and stored there if it is missing.

    With it the pool, with the hashes of its row groups: they are kept beside the index.
    """
    place = folder / f"index-{pool.digest}"
    found = _read(place, pool)
    if found is None:
        index, pool = make_index(pool, each)
        _keep(place, index, pool)
        return index, pool
    return found


def part_of(parts: Sequence[Shard], position: int) -> int:
    """The number of the shard that has a position."""
    starts = np.array([part.start for part in parts])
    return int(np.searchsorted(starts, position, side="right")) - 1


def ids_at(parts: Sequence[Shard], positions: Positions) -> list[Hashable]:
    """The ids at these positions, in this order; every shard is read at most once."""
    found: list[Hashable] = [None] * len(positions)
    for part, at in by_part(parts, positions):
        for n, name in zip(at.tolist(), part.ids(positions[at] - part.start), strict=True):
            found[n] = name
    return found


def by_part(
    parts: Sequence[Shard], positions: Positions
) -> Iterable[tuple[Shard, NDArray[np.intp]]]:
    """Positions grouped by shard."""
    starts = np.array([part.start for part in parts])
    which = np.searchsorted(starts, positions, side="right") - 1
    for n in np.unique(which).tolist():
        yield parts[n], np.flatnonzero(which == n)


def _refuse_twins(pool: Dataset, index: IdIndex) -> None:
    """Raise ValueError for duplicate ids, within a shard or across shards."""
    same = np.flatnonzero(index.hashes[1:] == index.hashes[:-1])[:MAX_COLLISIONS]
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
        for n in twice[:MAX_IDS_IN_MESSAGE]
    )
    more = "at least " if len(same) == MAX_COLLISIONS else ""
    raise ValueError(f"{more}{len(twice)} ids are duplicates: {some}; ids are unique")


def _where(pool: Dataset, position: int) -> str:
    return pool.parts[part_of(pool.parts, position)].name


def _read(place: Path, pool: Dataset) -> tuple[IdIndex, Dataset] | None:
    """The stored index of this pool; None if it is missing or unreadable."""
    try:
        return _read_whole(place, pool)
    except OSError:  # it may belong to another user, or another process is replacing it
        return None


def _read_whole(place: Path, pool: Dataset) -> tuple[IdIndex, Dataset] | None:
    """The stored index of this pool, with a warning if it is damaged."""
    if not _is_there(place):
        return None
    if (name := changed_file(place, INDEX_FOLDER)) is not None:
        warnings.warn(f"{place / name} is damaged: the index of ids is built again", stacklevel=2)
        return None
    note = json.loads((place / "index.json").read_bytes())
    if {**note, "files": None} != {**_note(pool), "files": None}:
        return None
    pairs = zip(pool.files, note["files"], strict=True)
    sums = {file.path: _valid_sums(file, one) for file, one in pairs}
    if None in sums.values():
        return None
    parts = [np.load(place / f"{one}.npy", mmap_mode="r") for one in ("hashes", "positions")]
    return IdIndex(*parts), pool.with_sums({path: one for path, one in sums.items() if one})


def _is_there(place: Path) -> bool:
    """Whether an index with checksums exists; indexes of weal 0.2 have none and are rebuilt."""
    try:
        if not check_folder(place, INDEX_FOLDER):
            return False
    except ForeignFile:  # `_keep` warns about it
        return False
    if read_mark(place, INDEX_FOLDER.name) is not None:
        return True
    try:
        return bool(json.loads((place / "index.json").read_bytes())["version"] != 1)
    except (OSError, ValueError, KeyError, TypeError):
        return True


def _valid_sums(file: ParquetFile, kept: IndexedFile) -> Sums | None:
    """The checksums of a file in the index, if they match its content.

    For a file that a store describes without its sums (weal 0.2), these are the first hashes that
    were stored: its row groups are compared with them when they are read. For a file that the user
    has just opened, they are valid if it was not written since.
    """
    sums = sums_from_json(kept["sums"])
    if file.sums is not None:
        return file.sums if file.sums == sums else None
    same = file.stamp is None or list(file.stamp) == kept["stamp"]
    return sums if same else None


def _keep(place: Path, index: IdIndex, pool: Dataset) -> None:
    """Write the index atomically; without write access it is built again next time."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with atomic_folder(place, INDEX_FOLDER) as draft:
            np.save(draft / "hashes.npy", index.hashes)
            np.save(draft / "positions.npy", index.positions)
            (draft / "index.json").write_text(json.dumps(_note(pool)))
    except ForeignFile as error:
        warnings.warn(f"the index of the pool was not saved: {error}", stacklevel=2)
    except OSError:
        pass


def _note(pool: Dataset) -> dict[str, object]:
    starts = [[part.start, part.rows] for part in pool.parts]
    texts = any(getattr(part, "as_text", False) for part in pool.parts)
    files = [{"stamp": one.stamp, "sums": sums_to_json(one.sums)} for one in pool.files]
    about = {"version": INDEX_VERSION, "pool": pool.digest, "parts": starts, "texts": texts}
    return {**about, "files": files}
