"""The candidates of a pool in shards: what a learner needs of them, without reading them all.

The same questions as `learner.candidates.Candidates` answers, and the same answers: ids, rows and
positions are looked up when somebody asks. Candidates that leave are marked; shards that leave are
no longer read, and keep their positions.
"""

import os
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.errors import UnknownId
from weal.learner.candidates import Candidates, read_candidates
from weal.learner.pools.sharded_rows import IdPositions, ShardedIds, ShardedRows
from weal.learner.sampling import SAMPLE_CANDIDATES
from weal.progress import Progress
from weal.shards.dataset import Dataset, open_pool
from weal.shards.encoding import InputEncoder, Later, NumericEncoder, PlanEncoder, rows_as_table
from weal.shards.executors import Executor, ThreadExecutor
from weal.shards.id_index import Each, IdIndex, by_part, kept_index, make_index
from weal.shards.parquet_file import pyarrow
from weal.shards.shard import FileShard, Shard
from weal.tables.frames import as_frame, plain_id
from weal.tables.plan import TablePlan, encode, make_plan
from weal.tables.table import read_table


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class ShardedCandidates:
    """Candidates in shards."""

    pool: Dataset
    encoder: InputEncoder
    places: IdIndex
    X: ShardedRows
    ids: ShardedIds
    index: IdPositions
    removed: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    closed: frozenset[int] = frozenset()  # numbers of shards that left
    samples: dict[int, NDArray[np.int64]] = field(default_factory=dict)  # by seed
    frame: None = None

    def __len__(self) -> int:
        return len(self.pool)

    def __repr__(self) -> str:
        return f"<candidates of {self.pool!r}>"

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Columns of frames that the model predicts on; None where a plan makes the inputs."""
        return None if isinstance(self.encoder, PlanEncoder) else self.encoder.columns

    @property
    def plan(self) -> TablePlan | None:
        """The plan that makes inputs of the columns; None: their numbers as they are."""
        return self.encoder.plan if isinstance(self.encoder, PlanEncoder) else None

    @property
    def input_names(self) -> list[str]:
        """Names of the d inputs."""
        return list(self.encoder.names)

    @property
    def target(self) -> str | None:
        """Name of what is measured: files do not say."""
        return None

    @property
    def cost(self) -> Array | None:
        """All candidates in shards cost the same."""
        return None

    @property
    def id_column(self) -> str | None:
        """Column of the ids."""
        return self.pool.id_column

    @property
    def parts(self) -> tuple[Shard, ...]:
        """The shards that are part of the pool now."""
        return tuple(one for n, one in enumerate(self.pool.parts) if n not in self.closed)

    @property
    def present(self) -> NDArray[np.bool_]:  # (U,)
        """Who has not been removed."""
        here = np.ones(len(self), dtype=bool)
        here[self.removed] = False
        for n in self.closed:
            part = self.pool.parts[n]
            here[part.start : part.start + part.rows] = False
        return here

    def sample(self, seed: int) -> NDArray[np.int64]:
        """Positions of the candidates that stand for all (`learner.sampling`), ascending."""
        return np.sort(self.first(seed))

    def first(self, seed: int) -> NDArray[np.int64]:
        """The same, by the hash of (seed, id)."""
        if seed not in self.samples:
            self.samples[seed] = self.places.first(seed, SAMPLE_CANDIDATES)
        return self.samples[seed]

    @property
    def gone(self) -> NDArray[np.int64]:
        """Positions, ascending, of who has been removed."""
        parts = [self.pool.parts[n] for n in sorted(self.closed)]
        shards = [np.arange(part.start, part.start + part.rows) for part in parts]
        return np.unique(np.concatenate([self.removed, *shards]))

    def least(self, seed: int, most: int, taken: NDArray[np.int64]) -> NDArray[np.int64]:
        """Positions, ascending, of the `most` with the least hash of (seed, id) beside `taken`."""
        near = self.first(seed)
        free = near[~np.isin(near, taken)]
        if len(free) < most and len(near) < len(self):
            near = self.places.first(seed, most + len(taken))
            free = near[~np.isin(near, taken)]
        return np.sort(free[:most])

    def position(self, name: Hashable) -> int:
        """Position of an id; UnknownId where the pool has no such candidate."""
        try:
            return self.index[plain_id(name)]
        except (KeyError, TypeError):
            some = ", ".join(repr(self.ids[n]) for n in range(min(3, len(self))))
            raise UnknownId(
                f"no candidate has the id {name!r}; the pool's ids are like {some}. For a point "
                "outside the pool call tell_points(X, y)"
            ) from None

    def name(self, given: Hashable) -> Hashable:
        """The id as we keep it."""
        found: Hashable = self.ids[self.position(given)]
        return found

    def x(self, given: Hashable) -> Array:  # (d,)
        """The inputs of an id."""
        return self.X[self.position(given)]

    def row(self, given: Hashable) -> Any:
        """The row of an id: inputs (d,) in memory, a dict by column from a file."""
        if self.pool.in_memory:
            return self.x(given).copy()
        return self.rows([given]).to_pylist()[0]

    def rows(self, names: Sequence[Hashable]) -> Any:
        """The rows of these ids, in this order: an array in memory, a table of arrow from files."""
        at = np.array([self.position(name) for name in names], dtype=np.int64)
        return self.X[at] if self.pool.in_memory else self.cells(at)

    def inputs(self, names: Sequence[Hashable]) -> Array:  # (n, d)
        """The inputs of these ids."""
        return self.X[np.array([self.position(name) for name in names], dtype=np.int64)]

    def cells(self, at: NDArray[np.int64]) -> Any:
        """The rows at these positions as they are in their files, as a table of arrow."""
        arrow, _ = pyarrow()
        columns = [*([self.id_column] if self.id_column else []), *self.pool.columns]
        tables, order = [], []
        for part, which in by_part(self.pool.parts, at):
            assert isinstance(part, FileShard)
            tables.append(part.table(at[which] - part.start, columns))
            order.append(which)
        back = np.argsort(np.concatenate(order), kind="stable")
        return arrow.concat_tables(tables, promote_options="permissive").take(arrow.array(back))

    def like(self, points: Any) -> Array:  # (N, d)
        """Inputs of other points, checked as the pool's were; columns of a frame by name."""
        if isinstance(self.encoder, PlanEncoder) and as_frame(points) is not None:
            return encode(self.encoder.plan, read_table(points))
        like = read_candidates(np.zeros((1, self.X.shape[1])))
        return replace(like, columns=self.columns).like(points)

    def frame_rows(self, names: Sequence[Hashable]) -> Any:
        """Rows of a pool that is a frame: none is."""
        return None

    def known_labels(self, start: int = 0) -> dict[Hashable, float]:
        """Labels that came with the pool: none."""
        return {}

    def with_more(self, pool: Any, ids: Any = None, cost: Any = None) -> "ShardedCandidates":
        """The candidates with the shards of another pool below."""
        if cost is not None:
            raise ValueError("candidates in shards have no costs")
        more = pool if isinstance(pool, Dataset) else open_pool(
            pool, id_column=self.id_column, columns=self.pool.columns, ids=ids
        )  # fmt: skip
        return _build(self.pool.with_more(more), self.encoder, ThreadExecutor(), None, None, self)

    def without(self, names: Iterable[Hashable]) -> "ShardedCandidates":
        """The candidates with these marked as removed."""
        gone = [self.index[name] for name in names]
        return replace(self, removed=np.union1d(self.removed, np.array(gone, dtype=np.int64)))

    def without_shards(self, paths: Iterable[Any]) -> "ShardedCandidates":
        """The candidates without those in these files; ValueError where one is not of the pool."""
        wanted = {os.path.abspath(path) for path in paths}
        files = {file.path for file in self.pool.files}
        if missing := sorted(wanted - files):
            raise ValueError(f"{missing[0]} is not a shard of the pool")
        gone = {
            n for n, part in enumerate(self.pool.parts)
            if isinstance(part, FileShard) and part.file.path in wanted
        }  # fmt: skip
        if len(self.closed | gone) == len(self.pool.parts):
            raise ValueError("these are all shards of the pool: nothing would be left")
        return replace(self, closed=self.closed | gone)

    def in_shards(self, paths: Iterable[Any], names: Iterable[Hashable]) -> list[Hashable]:
        """Which of these ids are in the files."""
        wanted = {os.path.abspath(path) for path in paths}
        return [
            name for name in names
            if (part := self._part(name)) is not None and part.file.path in wanted
        ]  # fmt: skip

    def _part(self, name: Hashable) -> FileShard | None:
        at = np.array([self.index[name]])
        part = next(iter(by_part(self.pool.parts, at)))[0]
        return part if isinstance(part, FileShard) else None

    def chosen(self, at: NDArray[np.int64]) -> Candidates:
        """Some of the candidates, in memory."""
        names, X = self.ids.at(at), self.X[at]
        index = {name: n for n, name in enumerate(names)}
        present = np.ones(len(names), dtype=bool)
        return Candidates(tuple(names), X, index, present, self.columns)


def read_shards(
    pool: Dataset,
    seed: int,
    crew: Executor | None = None,
    folder: Path | None = None,
    progress: Progress | None = None,
    encoder: InputEncoder | None = None,
) -> ShardedCandidates:
    """The candidates of a pool: ids hashed in one pass, a plan made where it takes one."""
    pool.check()
    first = encoder or NumericEncoder(pool.columns)
    found = _build(pool, first, crew or ThreadExecutor(), folder, progress)
    if encoder is not None or pool.in_memory:
        return found
    if pool.numbers and not pool.plan and _whole(found, seed):
        return found
    plan = plan_for(found, seed)
    return _build(pool, PlanEncoder(plan), ThreadExecutor(), None, None, found, same=True)


def plan_for(found: ShardedCandidates, seed: int, **chosen: Any) -> TablePlan:
    """The plan of a sample of the pool; `chosen` goes to `make_plan`."""
    table = rows_as_table(found.cells(found.sample(seed)))
    features = {"features": list(found.pool.columns), **chosen}
    return make_plan(table, id_column=None, **features)


def _whole(found: ShardedCandidates, seed: int) -> bool:
    """Whether the sample has a number in every cell."""
    encoder = NumericEncoder(found.pool.columns)
    at = found.sample(seed)
    for part, which in by_part(found.pool.parts, at):
        assert isinstance(part, FileShard)
        table = part.table(at[which] - part.start, encoder.columns).combine_chunks()
        X = [encoder.encoded(batch, Later()) for batch in table.to_batches()]
        if np.isnan(np.concatenate(X)).any():
            return False
    return True


def _build(
    pool: Dataset, encoder: InputEncoder, crew: Executor, folder: Path | None,
    progress: Progress | None, before: ShardedCandidates | None = None, same: bool = False,
) -> ShardedCandidates:  # fmt: skip
    each: Each = lambda work, parts: crew.each(work, parts, "ids", progress)  # noqa: E731
    if same and before is not None:
        index, pool = before.places, before.pool
    elif folder is not None:
        index, pool = kept_index(folder, pool, each)
    else:
        index, pool = make_index(pool, each)
    ids = ShardedIds(pool.parts)
    rows, places = ShardedRows(pool.parts, encoder), IdPositions(index, ids)
    made = ShardedCandidates(pool, encoder, index, rows, ids, places)
    if before is None:
        return made
    return replace(made, removed=before.removed, closed=before.closed)


Pooled = Candidates | ShardedCandidates  # the candidates of a learner, wherever they are
