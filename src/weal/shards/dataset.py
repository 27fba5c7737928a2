"""`open_pool`: the files, columns and shards of a pool, without reading its rows.

    weal.open_pool("candidates/*.parquet", id_column="smiles_id")
    weal.open_pool("candidates/")                    a folder and its subfolders
    weal.open_pool("candidates.csv")                 converted to Parquet once, beside it
    weal.open_pool(X), weal.open_pool(frame)         in memory, in blocks

Shards are whole files, or row groups of large ones, in the order of their paths. All files must
have the used columns, with types that agree.

A learner's file and a store keep the description of a pool as JSON: names, sizes and hashes of its
files, not their rows. Opening it again checks the files: the error names a changed or missing file
(`ParquetFile.check`), or a row group with another hash, as soon as it is read (`row_groups`).
"""

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict, TypeGuard

import numpy as np

from weal.core.arrays import Array
from weal.errors import UnreadableFile
from weal.files import FilePath
from weal.shards.encoding import InputEncoder, NumericEncoder, PlanEncoder, holds_numbers
from weal.shards.parquet_file import ParquetFile, Sums, find_files, inspect_file
from weal.shards.row_groups import hashed_if_new, sums_from_json, sums_to_json
from weal.shards.shard import ArrayShard, FileShard, Shard
from weal.tables.frames import read_numbers
from weal.tables.plan import PlanBody, TablePlan

if TYPE_CHECKING:
    import pyarrow as pa

MIN_SHARD_ROWS = 131_072  # of a shard, at least, where a file has more than one row group
MEMORY_SHARD_ROWS = 65_536  # rows of a shard in memory


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """The description of a pool."""

    parts: tuple[Shard, ...]
    columns: tuple[str, ...]  # that are used as inputs
    id_column: str | None
    kinds: tuple[str, ...]  # types of the columns, as arrow names them
    numbers: bool  # whether all columns hold numbers
    plan: bool = False  # whether a plan is always made
    in_memory: bool = False

    def __len__(self) -> int:
        last = self.parts[-1]
        return last.start + last.rows

    def __repr__(self) -> str:
        what = f"{len(self.files)} files" if self.files else "memory"
        return f"<pool of {len(self):,} candidates in {len(self.parts)} shards ({what})>"

    @property
    def files(self) -> tuple[ParquetFile, ...]:
        """The files, in order."""
        return tuple({part.path: part.file for part in self.file_shards}.values())

    @property
    def used_columns(self) -> tuple[str, ...]:
        """The columns that are read: inputs and ids."""
        return (*(() if self.id_column is None else (self.id_column,)), *self.columns)

    def check(self) -> None:
        """Raise ChangedShard if a file has changed."""
        for file in self.files:
            file.check()
            file.check_stamp()

    def with_sums(self, sums: Mapping[str, Sums]) -> "Dataset":
        """The same pool, with the hashes of row groups of these files (by path)."""
        known = {
            file.path: replace(file, sums=sums[file.path]) for file in self.files
            if file.path in sums
        }  # fmt: skip
        parts = [
            replace(part, file=known.get(part.file.path, part.file))
            if isinstance(part, FileShard) else part for part in self.parts
        ]  # fmt: skip
        return replace(self, parts=tuple(parts))

    @property
    def sums(self) -> dict[str, Sums]:
        """The hashes of row groups, by path, of files that have them."""
        return {file.path: file.sums for file in self.files if file.sums is not None}

    @property
    def digest(self) -> str:
        """A hash of columns and files, without their content."""
        found = blake2b(repr((self.columns, self.id_column, self.kinds)).encode(), digest_size=16)
        for file in self.files:
            found.update(f"{Path(file.path).name} {file.size} {file.footer}".encode())
        return found.hexdigest()

    @property
    def content(self) -> str:
        """A hash of the content, where row groups are hashed; else the digest."""
        found = blake2b(self.digest.encode(), digest_size=16)
        for file in self.files:
            found.update(repr(sorted((file.sums or {}).items())).encode())
        return found.hexdigest()

    def with_more(self, other: "Dataset") -> "Dataset":
        """The pool with the shards of another appended; ValueError if the columns differ."""
        same = (self.columns, self.kinds, self.id_column) == (
            other.columns, other.kinds, other.id_column,
        )  # fmt: skip
        if not same or self.in_memory != other.in_memory:
            raise ValueError(
                f"the pool has the columns {_describe_source(self)}, and the new shards "
                f"{_describe_source(other)}; add shards with the same columns"
            )
        there = {file.path for file in self.files}
        if again := [file.path for file in other.files if file.path in there]:
            raise ValueError(f"{again[0]} is a shard of the pool already")
        before = len(self)
        moved = (part.shift(before) for part in other.parts)
        return replace(self, parts=(*self.parts, *moved))

    @property
    def file_shards(self) -> tuple[FileShard, ...]:
        """The shards that are row groups of files."""
        return tuple(part for part in self.parts if isinstance(part, FileShard))

    def memory_rows(self) -> Array:
        """All rows of a pool in memory, with the type of number that they came with."""
        return np.concatenate([part.X for part in self.parts if isinstance(part, ArrayShard)])

    def as_text(self) -> "Dataset":
        """The same pool, with ids as text."""
        return replace(self, parts=tuple(replace(one, as_text=True) for one in self.file_shards))


def open_pool(
    source: object,
    *,
    id_column: str | None = None,
    columns: Sequence[str] | None = None,
    ids: Sequence[Hashable] | None = None,
    plan: bool = False,
    drop: Sequence[str] = (),
) -> Dataset:
    """Open a pool of candidates of any size without reading its rows, for `ActiveLearner`.

    Parameters
    ----------
    source : str, path, list of them, array or frame
        Parquet files (a pattern such as ``"candidates/*.parquet"``, or a list), a folder of them, a
        CSV file (converted to Parquet once, in a folder beside it), or rows in memory. An opened
        pool is returned unchanged.
    id_column : str or None
        Column of the ids; if None, candidates are numbered 0, 1, 2, ...
    columns : list of str or None
        Columns to use as inputs; if None, all but the id column and those in `drop`.
    ids : list or None
        Ids of the rows of an array.
    plan : bool
        Whether to encode columns by a plan (missing values, categories, dates) even if they look
        like plain numbers. A column that is not numeric is always encoded by a plan.
    drop : list of str
        Columns to leave out, if they exist.

    Returns
    -------
    Shards
        A description of the pool, with `len()`, `files` and `columns`.

    Raises
    ------
    ValueError
        If no file is found, the pool is empty, or a named column is missing.
    UnreadableFile
        If a file is not a Parquet file, or its columns differ from those of the first.

    Examples
    --------
    >>> import numpy as np, weal
    >>> weal.open_pool(np.zeros((200_000, 3)))
    <pool of 200,000 candidates in 4 shards (memory)>
    """
    if isinstance(source, Dataset):
        return source
    if not _names_files(source):
        return _in_memory(source, id_column, columns, ids)
    if ids is not None:
        raise ValueError("ids are for an array; name the column of a file with id_column")
    paths = find_files(source)
    looked = [inspect_file(path) for path in paths]
    first = looked[0][1]
    names = _columns(first.names, columns, id_column, drop, str(paths[0]))
    for path, (_, schema) in zip(paths, looked, strict=True):
        _check_schema(path, schema, paths[0], first, names, id_column)
    kinds = [first.field(name).type for name in names]
    used = [*([] if id_column is None else [id_column]), *names]
    parts = parts_of([hashed_if_new(file, used) for file, _ in looked], id_column)
    if not parts:
        raise ValueError(f"the pool is empty: {len(paths)} files without any rows")
    numbers = all(map(holds_numbers, kinds))
    return Dataset(parts, names, id_column, tuple(map(str, kinds)), numbers, plan)


def is_opened_files(source: object) -> bool:
    """Whether this is an opened pool whose rows are in files."""
    return isinstance(source, Dataset) and not source.in_memory


def _names_files(source: object) -> TypeGuard[FilePath | list[FilePath]]:
    one = source[0] if isinstance(source, list | tuple) and source else source
    return isinstance(one, str | os.PathLike)


def _columns(
    there: Sequence[str], wanted: Sequence[str] | None, id_column: str | None,
    drop: Sequence[str], where: str,
) -> tuple[str, ...]:  # fmt: skip
    if isinstance(wanted, str):
        raise ValueError(f"columns is {wanted!r}; it needs a list of names")
    named = [*([id_column] if id_column is not None else []), *(wanted or ())]
    if missing := [name for name in named if name not in there]:
        raise ValueError(f"{where} has no column {missing[0]!r}; it has {', '.join(there)}")
    if wanted is not None:
        names = [name for name in dict.fromkeys(wanted) if name != id_column]
    else:
        names = [name for name in there if name != id_column and name not in drop]
    if not names:
        raise ValueError(f"{where} has no column to learn from besides the ids")
    return tuple(names)


def _check_schema(
    path: Path,
    schema: "pa.Schema",
    first_path: Path,
    first: "pa.Schema",
    names: Sequence[str],
    id_column: str | None,
) -> None:
    for name in [*names, *([id_column] if id_column is not None else [])]:
        if name not in schema.names:
            raise UnreadableFile(
                f"{path} has no column {name!r}, which {first_path} has; "
                f"it has {', '.join(schema.names)}"
            )
        here, there = schema.field(name).type, first.field(name).type
        if here != there and not (name in names and holds_numbers(here) and holds_numbers(there)):
            raise UnreadableFile(
                f"the column {name!r} is {here} in {path}, and {there} in {first_path}; "
                "shards must have the same columns"
            )


def parts_of(files: Iterable[ParquetFile], id_column: str | None) -> tuple[FileShard, ...]:
    """Files as shards: row groups, joined up to MIN_SHARD_ROWS rows."""
    parts, start = [], 0
    for file in files:
        groups: list[int] = []
        for n, rows in enumerate(file.groups):
            groups = [*groups, n] if rows else groups
            here = sum(file.groups[one] for one in groups)
            if here >= MIN_SHARD_ROWS or (groups and n == len(file.groups) - 1):
                parts.append(FileShard(start, file, tuple(groups), id_column))
                start, groups = start + here, []
    return tuple(parts)


def _in_memory(
    source: object,
    id_column: str | None,
    columns: Sequence[str] | None,
    ids: Sequence[Hashable] | None,
) -> Dataset:
    if isinstance(source, np.ndarray) and source.dtype == np.float32 and source.ndim == 2:
        X, own, names = source, None, None  # as it is: half the memory
    else:
        read = read_numbers(source, id_column)
        X, names = np.asarray(read.X), read.columns
        own = None if read.ids == list(range(len(read.ids))) else read.ids
    if columns is not None:
        raise ValueError("columns is for files; select them before the table is given")
    given = own if ids is None else list(ids)
    if given is not None and len(given) != len(X):
        raise ValueError(f"got {len(given)} ids for {len(X)} candidates; it needs one for each")
    if not X.size:
        raise ValueError("the pool is empty; it needs at least one candidate")
    if not np.isfinite(X).all():
        bad = int((~np.isfinite(X)).any(axis=1).sum())
        raise ValueError(f"{bad} candidates have NaN or infinite inputs")
    starts = range(0, len(X), MEMORY_SHARD_ROWS)
    parts = tuple(
        ArrayShard(
            n,
            X[n : n + MEMORY_SHARD_ROWS],
            None if given is None else given[n : n + MEMORY_SHARD_ROWS],
        )
        for n in starts
    )
    names = names or tuple(f"x{n}" for n in range(X.shape[1]))
    kinds = (str(X.dtype),) * len(names)
    return Dataset(parts, names, id_column, kinds, numbers=True, in_memory=True)


def _describe_source(pool: Dataset) -> str:
    return ", ".join(f"{a} ({b})" for a, b in zip(pool.columns, pool.kinds, strict=True))


DESCRIPTION_VERSION = 1


class FileBody(TypedDict):
    """A file of a pool as JSON."""

    path: str
    size: int
    footer: str  # its hash
    groups: list[int]  # rows of each row group
    sums: NotRequired[dict[str, str] | None]  # weal 0.2 wrote none


class DatasetBody(TypedDict):
    """A pool as JSON."""

    version: int
    files: list[FileBody]
    id: str | None
    columns: list[str]
    kinds: list[str]
    numbers: bool
    texts: bool  # whether ids are texts whatever the column holds


def dataset_to_json(pool: Dataset) -> DatasetBody:
    """The pool as JSON."""
    return {
        "version": DESCRIPTION_VERSION,
        "files": [
            {
                "path": one.path,
                "size": one.size,
                "footer": one.footer,
                "groups": list(one.groups),
                "sums": sums_to_json(one.sums),
            }
            for one in pool.files
        ],
        "id": pool.id_column,
        "columns": list(pool.columns),
        "kinds": list(pool.kinds),
        "numbers": pool.numbers,
        "texts": any(getattr(part, "as_text", False) for part in pool.parts),
    }


def dataset_from_json(given: DatasetBody) -> Dataset:
    """The pool that `dataset_to_json` encoded."""
    if given.get("version") != DESCRIPTION_VERSION:
        raise ValueError(
            f"the pool was saved by another version of weal (version {given.get('version')!r} of "
            "its "
            f"description, not {DESCRIPTION_VERSION}); use that version or a newer one"
        )
    files = [
        ParquetFile(
            str(one["path"]),
            int(one["size"]),
            str(one["footer"]),
            tuple(one["groups"]),
            sums=sums_from_json(one.get("sums")),
        )
        for one in given["files"]
    ]
    columns, kinds = tuple(given["columns"]), tuple(given["kinds"])
    pool = Dataset(parts_of(files, given["id"]), columns, given["id"], kinds, given["numbers"])
    return pool.as_text() if given["texts"] else pool


def encoder_to_json(encoder: InputEncoder) -> PlanBody | None:
    """The plan that encodes columns as inputs, or None if the numbers are used unchanged."""
    return encoder.plan.to_json() if isinstance(encoder, PlanEncoder) else None


def encoder_from_json(plan: PlanBody | None, pool: Dataset) -> InputEncoder:
    """The encoder that `encoder_to_json` encoded, for this pool."""
    return NumericEncoder(pool.columns) if plan is None else PlanEncoder(TablePlan.from_json(plan))
