"""Candidates in shards: ids, rows and positions are looked up without reading all rows.

Removed candidates are marked; removed shards are no longer read, and keep their positions.
"""

import os
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.learner.candidates import (
    MAX_CANDIDATES_WITHOUT_SAMPLE,
    SAMPLE_CANDIDATES,
    Candidates,
    Cost,
    CostArgument,
    Positions,
    Sample,
    unknown_id,
)
from weal.learner.memory_candidates import MemoryCandidates, read_candidates
from weal.learner.pools.combined_scores import ShardContext
from weal.learner.pools.predictions import Columns, predictions
from weal.learner.pools.protocol import PoolContext
from weal.learner.pools.sharded import ShardedPool
from weal.learner.pools.sharded_rows import IdPositions, ShardedIds, ShardedRows
from weal.model.model import Model
from weal.progress import Progress
from weal.quantities.protocol import Quantity
from weal.shards.dataset import Dataset, open_pool
from weal.shards.encoding import InputEncoder, Later, NumericEncoder, PlanEncoder, rows_as_table
from weal.shards.executors import Executor, ThreadExecutor
from weal.shards.id_index import Each, IdIndex, by_part, kept_index, make_index
from weal.shards.parquet_file import pyarrow
from weal.shards.shard import Shard
from weal.tables.frames import as_frame, plain_id
from weal.tables.plan import TablePlan, encode, make_plan
from weal.tables.table import Table, read_table

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class ShardedCandidates:
    """Candidates in shards."""

    dataset: Dataset
    encoder: InputEncoder
    hashes: IdIndex
    reader: ShardedRows
    ids: ShardedIds
    index: IdPositions
    removed: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    closed: frozenset[int] = frozenset()  # numbers of shards that were removed
    first: dict[int, NDArray[np.int64]] = field(default_factory=dict)  # cache, by seed
    samples: dict[int, Sample] = field(default_factory=dict)  # cache, by seed
    frame: None = None
    target: None = None  # files do not name the measured column
    targets: tuple[str, ...] = ()
    cost: None = None  # all candidates in shards cost the same
    box: None = None  # candidates of a box are in memory
    file_tag: ClassVar[str] = "shards"
    in_shards: ClassVar[bool] = True

    def __len__(self) -> int:
        return len(self.dataset)

    def __repr__(self) -> str:
        return f"<candidates of {self.dataset!r}>"

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Columns that are inputs; None if a plan encodes the columns."""
        return None if isinstance(self.encoder, PlanEncoder) else self.encoder.columns

    @property
    def frame_kind(self) -> None:
        """None: the candidates came in files."""

    @property
    def plan(self) -> TablePlan | None:
        """The plan that encodes columns as inputs; None if numbers are used unchanged."""
        return self.encoder.plan if isinstance(self.encoder, PlanEncoder) else None

    @property
    def input_names(self) -> list[str]:
        """Names of the d inputs."""
        return list(self.encoder.names)

    @property
    def n_inputs(self) -> int:
        """The number of inputs d."""
        return len(self.encoder.names)

    @property
    def row_identity(self) -> object:
        """The reader of the rows: it is replaced when shards are added."""
        return self.reader

    @property
    def id_column(self) -> str | None:
        """Column of the ids."""
        return self.dataset.id_column

    @property
    def parts(self) -> tuple[Shard, ...]:
        """The shards that are part of the pool now."""
        return tuple(one for n, one in enumerate(self.dataset.parts) if n not in self.closed)

    @property
    def present(self) -> NDArray[np.bool_]:  # (U,)
        """Mask of the candidates that have not been removed."""
        here = np.ones(len(self), dtype=bool)
        here[self.removed] = False
        for n in self.closed:
            part = self.dataset.parts[n]
            here[part.start : part.start + part.rows] = False
        return here

    def sample(self, seed: int) -> Sample:
        """All candidates, or a sample of many; the same arrays until rows are added."""
        if seed not in self.samples:
            few = len(self) <= MAX_CANDIDATES_WITHOUT_SAMPLE
            at = np.arange(len(self)) if few else self.sample_positions(seed)
            self.samples[seed] = at, self.reader[at]
        return self.samples[seed]

    def sample_positions(self, seed: int) -> NDArray[np.int64]:
        """Positions, ascending, of the SAMPLE_CANDIDATES with the least hash of (seed, id)."""
        return np.sort(self.first_by_hash(seed))

    def summary_positions(self, seed: int) -> Positions:
        """The candidates of the sample."""
        return self.sample(seed)[0]

    def first_by_hash(self, seed: int, n: int = SAMPLE_CANDIDATES) -> NDArray[np.int64]:
        """At most n positions of the sample, by the hash of (seed, id)."""
        if seed not in self.first:
            self.first[seed] = self.hashes.first(seed, SAMPLE_CANDIDATES)
        return self.first[seed][:n]

    def hash_order(self, seed: int) -> None:
        """Passes over shards need no order of all positions."""

    def target_inputs(self, seed: int, n: int) -> Array:
        """Inputs of the n present candidates with the least hash of (seed, id)."""
        return self.reader[self.least(seed, n, self.removed_positions)]

    def starts_with(self, X: Array) -> bool:
        """False: rows in shards are not compared with arrays."""
        return False

    def new_inputs(self, start: int) -> None:
        """The next scoring pass checks new rows."""

    def predict_shards(
        self, model: Model, level: float, executor: Executor, progress: Progress | None
    ) -> Iterator[tuple[int, Columns]]:
        """Predictions for each shard, as they come, with its number."""
        shards = (self.parts, self.encoder, len(self))
        return predictions(*shards, model, level, executor, progress)

    def make_pool(self, model: Model, reference: Array | None, context: PoolContext) -> ShardedPool:
        """The posterior of the model, computed from the shards in every pass."""
        shards = ShardContext(
            self, context.executor, context.seed, context.progress, context.score_cache
        )
        return ShardedPool(model.ensemble_, model.embedding_, model.scaling, shards, reference)

    @property
    def removed_positions(self) -> NDArray[np.int64]:
        """Positions, ascending, of removed candidates."""
        parts = [self.dataset.parts[n] for n in sorted(self.closed)]
        shards = [np.arange(part.start, part.start + part.rows) for part in parts]
        return np.unique(np.concatenate([self.removed, *shards]))

    def least(self, seed: int, most: int, taken: NDArray[np.int64]) -> NDArray[np.int64]:
        """Positions, ascending, of the `most` least hashes of (seed, id), without `taken`."""
        near = self.first_by_hash(seed)
        free = near[~np.isin(near, taken)]
        if len(free) < most and len(near) < len(self):
            near = self.hashes.first(seed, most + len(taken))
            free = near[~np.isin(near, taken)]
        return np.sort(free[:most])

    def position(self, name: Hashable) -> int:
        """The position of an id; UnknownId if there is no such candidate."""
        try:
            return self.index[plain_id(name)]
        except (KeyError, TypeError):
            raise unknown_id(name, self.ids[: min(3, len(self))]) from None

    def name(self, given: Hashable) -> Hashable:
        """The id as it is stored, for one that equals it."""
        found: Hashable = self.ids[self.position(given)]
        return found

    def x(self, given: Hashable) -> Array:  # (d,)
        """The inputs of an id."""
        return self.reader[self.position(given)]

    def row(self, given: Hashable) -> Any:
        """The row of an id: inputs (d,) in memory, a dict by column from a file."""
        if self.dataset.in_memory:
            return self.x(given).copy()
        return self.rows([given]).to_pylist()[0]

    def rows(self, names: Sequence[Hashable]) -> Any:
        """The rows of these ids, in this order: an array in memory, a table of arrow from files."""
        at = np.array([self.position(name) for name in names], dtype=np.int64)
        return self.reader[at] if self.dataset.in_memory else self.cells(at)

    @property
    def table_columns(self) -> Sequence[str]:
        """Names of the columns that are read, that of the ids included; of arrays, the inputs."""
        return [*([self.id_column] if self.id_column else []), *self.dataset.columns]

    def tables(self, columns: Sequence[str]) -> Sequence[Table]:
        """A table for each shard, read from its file."""
        if self.dataset.in_memory:
            X, names = self.reader[slice(None)], list(self.dataset.columns)
            return [Table({name: X[:, names.index(name)] for name in columns}, len(self))]
        text = [one for one in columns if one == self.id_column]
        return [
            rows_as_table(part.table(np.arange(part.rows, dtype=np.intp), columns), text)
            for part in self.dataset.parts
        ]

    def inputs(self, names: Sequence[Hashable]) -> Array:  # (n, d)
        """The inputs of these ids."""
        return self.reader[np.array([self.position(name) for name in names], dtype=np.int64)]

    def inputs_at(self, at: Positions | Sequence[int] | slice) -> Array:  # (n, d)
        """The inputs at these positions."""
        return self.reader[at]

    def ids_at(self, at: Positions) -> Sequence[Hashable]:
        """The ids at these positions."""
        return self.ids.at(at)

    def cells(self, at: NDArray[np.int64]) -> "pa.Table":
        """The rows at these positions as they are in their files, as a table of arrow."""
        arrow, _ = pyarrow()
        columns = [*([self.id_column] if self.id_column else []), *self.dataset.columns]
        tables, order = [], []
        for part, which in by_part(self.dataset.parts, at):
            tables.append(part.table(at[which] - part.start, columns))
            order.append(which)
        back = np.argsort(np.concatenate(order), kind="stable")
        return arrow.concat_tables(tables, promote_options="permissive").take(arrow.array(back))

    def like(self, points: object) -> Array:  # (N, d)
        """Inputs of other points, checked as the pool's were; columns of a frame by name."""
        if isinstance(self.encoder, PlanEncoder) and as_frame(points) is not None:
            return encode(self.encoder.plan, read_table(points))
        like = read_candidates(np.zeros((1, self.n_inputs)))
        return replace(like, columns=self.columns).like(points)

    def frame_rows(self, names: Sequence[Hashable]) -> None:
        """None if the pool is not a frame."""

    def labels_in_table(
        self, quantities: Sequence[Quantity], start: int = 0
    ) -> list[tuple[str, dict[Hashable, object]]]:
        """No labels: the target columns of files are not read."""
        return []

    def with_more(
        self, pool: object, ids: Iterable[Hashable] | None = None, cost: CostArgument = None
    ) -> "ShardedCandidates":
        """The candidates with the shards of another pool below."""
        if cost is not None:
            raise ValueError("candidates in shards have no costs")
        names = None if ids is None else list(ids)
        more = open_pool(pool, id_column=self.id_column, columns=self.dataset.columns, ids=names)
        return _build(
            self.dataset.with_more(more), self.encoder, ThreadExecutor(), None, None, self
        )

    def without(self, names: Iterable[Hashable], shards: Iterable[str] = ()) -> "ShardedCandidates":
        """The candidates without these ids and files; ValueError for a file of another pool."""
        gone = np.array([self.index[name] for name in names], dtype=np.int64)
        wanted = {os.path.abspath(path) for path in shards}
        if missing := sorted(wanted - {file.path for file in self.dataset.files}):
            raise ValueError(f"{missing[0]} is not a shard of the pool")
        closed = {n for n, part in enumerate(self.dataset.parts) if part.path in wanted}
        if closed and len(self.closed | closed) == len(self.dataset.parts):
            raise ValueError(
                "these are all shards of the pool, and it would be empty; keep at least one"
            )
        return replace(self, removed=np.union1d(self.removed, gone), closed=self.closed | closed)

    def ids_in_shards(self, shards: Iterable[str], names: Iterable[Hashable]) -> list[Hashable]:
        """The ids among these that are in these files."""
        wanted = {os.path.abspath(path) for path in shards}
        return [name for name in names if wanted and self._part(name).path in wanted]

    def _part(self, name: Hashable) -> Shard:
        return next(iter(by_part(self.dataset.parts, np.array([self.index[name]]))))[0]

    def with_cost_function(self, cost: Cost) -> "ShardedCandidates":
        """ValueError: candidates in shards have no costs."""
        raise ValueError("candidates in shards have no costs")

    def subset(self, at: Positions) -> MemoryCandidates:
        """The candidates at these positions, in memory."""
        names, X = self.ids.at(at), self.reader[at]
        index = {name: n for n, name in enumerate(names)}
        present = np.ones(len(names), dtype=bool)
        return MemoryCandidates(tuple(names), X, index, present, self.columns)


def read_shards(
    pool: Dataset,
    seed: int,
    executor: Executor | None = None,
    folder: Path | None = None,
    progress: Progress | None = None,
    encoder: InputEncoder | None = None,
) -> ShardedCandidates:
    """The candidates of a pool in shards: hash all ids in one pass, make a plan if needed."""
    pool.check()
    first = encoder or NumericEncoder(pool.columns)
    found = _build(pool, first, executor or ThreadExecutor(), folder, progress)
    if encoder is not None or pool.in_memory:
        return found
    if pool.numbers and not pool.plan and _whole(found, seed):
        return found
    plan = plan_for(found, seed)
    return _build(pool, PlanEncoder(plan), ThreadExecutor(), None, None, found, same=True)


def open_candidates(
    pool: object, seed: int, executor: Executor, folder: Path | None, progress: Progress | None
) -> Candidates | None:
    """The candidates of an opened pool, or those given; None for any other kind of table."""
    if isinstance(pool, MemoryCandidates | ShardedCandidates):
        return pool
    if isinstance(pool, Dataset):
        return read_shards(pool, seed, executor, folder, progress)
    return None


def plan_for(found: ShardedCandidates, seed: int, **chosen: Any) -> TablePlan:
    """The plan of a sample of the pool; `chosen` goes to `make_plan`."""
    table = rows_as_table(found.cells(found.sample_positions(seed)))
    features = {"features": list(found.dataset.columns), **chosen}
    return make_plan(table, id_column=None, **features)


def _whole(found: ShardedCandidates, seed: int) -> bool:
    """Whether every cell of the sample is a number."""
    encoder = NumericEncoder(found.dataset.columns)
    at = found.sample_positions(seed)
    for part, which in by_part(found.dataset.parts, at):
        table = part.table(at[which] - part.start, encoder.columns).combine_chunks()
        X = [encoder.encode_batch(batch, Later()) for batch in table.to_batches()]
        if np.isnan(np.concatenate(X)).any():
            return False
    return True


def _build(
    pool: Dataset, encoder: InputEncoder, executor: Executor, folder: Path | None,
    progress: Progress | None, before: ShardedCandidates | None = None, same: bool = False,
) -> ShardedCandidates:  # fmt: skip
    each: Each = lambda work, parts: executor.each(work, parts, "ids", progress)  # noqa: E731
    if same and before is not None:
        index, pool = before.hashes, before.dataset
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
