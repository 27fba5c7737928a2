"""Candidates that stay in their files: the store keeps names, sizes and hashes of the files.

    added    {"rows": 10000000, "shards": the description of the files}

A campaign begins with one such event, and each addition of files is another. The rows are not in
the store: a campaign cannot be opened without the files, and the error names a file that changed.
The index of the ids is beside the store (`index_folder`), and is built again if it is missing.
"""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from weal.campaign.events import EVENT_BODY_VERSION
from weal.campaign.label_input import entry
from weal.campaign.ledger import Ledger
from weal.campaign.rules import told_body
from weal.campaign.target_columns import quantities_of_options
from weal.errors import UnknownId
from weal.learner.batch_limits import CandidateColumns, table_columns
from weal.learner.candidates import MAX_CANDIDATES_WITHOUT_SAMPLE, SAMPLE_CANDIDATES
from weal.learner.pools.sharded_rows import ShardedIds
from weal.learner.sharded_candidates import ShardedCandidates, read_shards
from weal.progress import Progress
from weal.quantities.protocol import Quantity
from weal.shards.dataset import (
    Dataset,
    dataset_from_json,
    dataset_to_json,
    is_opened_files,
    open_pool,
)
from weal.shards.encoding import NumericEncoder, PlanEncoder, rows_as_table
from weal.shards.executors import Executor, ThreadExecutor
from weal.shards.shard import FileShard
from weal.store.events import Draft, check_id
from weal.store.protocol import Store
from weal.store.urls import read_name
from weal.tables.cells import Cell
from weal.tables.plan import TablePlan, encode, make_plan
from weal.tables.table import Table, table_of
from weal.tables.table_options import TableOptions

GLOB_CHARACTERS = "*?["  # of a pattern
MAX_TABLE_ROWS = 200_000  # candidates in files that one table may hold


@dataclass(frozen=True, slots=True, eq=False)
class FileCandidates:
    """The candidates of a campaign in files (`candidates.CandidateTable`)."""

    plan: TablePlan
    pieces: tuple[Dataset, ...]  # as they were added
    folder: Path  # of the index
    executor: Executor
    progress: Progress | None
    made: dict[int, ShardedCandidates] = field(default_factory=dict)  # by number of rows

    @property
    def rows(self) -> int:
        """The number of candidates."""
        return sum(map(len, self.pieces))

    @property
    def candidates(self) -> ShardedCandidates:
        """The candidates as a learner takes them."""
        return self.upto(self.rows)

    @property
    def ids(self) -> ShardedIds:
        """The ids."""
        return self.candidates.ids

    def row(self, n: int) -> dict[str, object]:
        """The original cells of candidate n."""
        return dict(self.candidates.cells(np.array([n])).to_pylist()[0])

    def cells(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The original cells of these candidates, by id."""
        if not ids:
            return {}
        at = np.array([self.candidates.index[name] for name in ids], dtype=np.int64)
        return dict(zip(ids, self.candidates.cells(at).to_pylist(), strict=True))

    @property
    def parts(self) -> tuple[Table, ...]:
        """The original tables; ValueError if they are too large for memory."""
        self.refuse_many("candidates")
        id_column = self.plan.id_column
        cells = self.candidates.cells(np.arange(self.rows))
        return (rows_as_table(cells, [id_column] if id_column else []),)

    def columns(self) -> dict[str, list[Any]]:
        """The original cells by column; ValueError if they are too many."""
        self.refuse_many("candidates")
        return dict(self.candidates.cells(np.arange(self.rows)).to_pydict())

    def named_columns(self, results: Collection[str]) -> CandidateColumns:
        """The columns that options of an ask may name: all columns read, except the results."""
        pool = self.candidates
        names = [name for name in pool.table_columns if name not in results]
        return table_columns(pool.tables, names, self.plan, list(results))

    @property
    def fits_one_table(self) -> bool:
        """Whether one table can hold all rows."""
        return self.rows <= MAX_TABLE_ROWS

    def refuse_many(self, what: str, instead: str = "they are in their files") -> None:
        """Raise ValueError if one table cannot hold all rows."""
        if not self.fits_one_table:
            raise ValueError(f"{self.rows:,} {what} are too many for one table; {instead}")

    def upto(self, rows: int) -> ShardedCandidates:
        """The first `rows` candidates."""
        if rows not in self.made:
            ends = np.cumsum([len(piece) for piece in self.pieces]).tolist()
            pool = reduce(Dataset.with_more, self.pieces[: ends.index(rows) + 1])
            how = (self.executor, self.folder, self.progress)
            self.made[rows] = read_shards(pool, 0, *how, encoder=PlanEncoder(self.plan))
        return self.made[rows]


def is_in_files(source: object) -> bool:
    """Whether a source of candidates stays in its files: a pattern, a folder, or an opened pool."""
    if not isinstance(source, str | os.PathLike):
        return is_opened_files(source)
    text = os.fspath(source)
    return Path(text).is_dir() or (
        any(one in text for one in GLOB_CHARACTERS) and not Path(text).exists()
    )


def whole_table(source: object) -> Any:
    """All rows of such a source as one Arrow table, to copy them into the store."""
    from weal.shards.parquet_file import pyarrow

    arrow, parquet = pyarrow()
    pool = open_pool(source)
    pool.check()
    tables = [parquet.read_table(file.path) for file in pool.files]
    pool.check()  # raises an error if a file was written while it was read
    check_unwritten(pool)
    return arrow.concat_tables(tables, promote_options="default")


def read_shard_pool(
    store: Store, ledger: Ledger, executor: Executor | None = None, progress: Progress | None = None
) -> FileCandidates:
    """The candidates of a campaign whose ledger has shards."""
    pieces = tuple(dataset_from_json(one) for one in ledger.shards)
    plan = TablePlan.from_json(ledger.plan)
    return FileCandidates(plan, pieces, index_folder(store), executor or ThreadExecutor(), progress)


def index_folder(store: Store) -> Path:
    """The folder of the id indexes: beside a SQLite file, else in the user's cache."""
    name = read_name(store.url) if store.url.startswith("sqlite") else None
    if name is not None and name.kind == "sqlite":
        return Path(f"{name.address}.pools").absolute()
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "weal" / "pools"


@dataclass(frozen=True, slots=True, eq=False)
class NewFileCampaign:
    """The plan and the first events of a campaign in files."""

    plan: TablePlan
    sample: Table  # that the plan was made on
    drafts: list[Draft]  # added, told
    quantities: list[Quantity]
    targets: list[str]  # target columns that a file has


def begin(
    store: Store, source: object, options: TableOptions, seed: int, who: str, executor: Executor,
    progress: Progress | None,
) -> NewFileCampaign:  # fmt: skip
    """Read the files: index the ids, make a plan on a sample, take the labels in the files."""
    id_column, target = options.id_column, options.target
    columns = None if options.features is None else list(options.features)
    pool = _open_dataset(source, id_column, columns, options.targets)
    found = read_shards(
        pool, seed, executor, index_folder(store), progress, encoder=NumericEncoder(pool.columns)
    )
    most = len(pool) if len(pool) <= MAX_CANDIDATES_WITHOUT_SAMPLE else SAMPLE_CANDIDATES
    names = [*([id_column] if id_column else []), *pool.columns]
    table = rows_as_table(found.cells(np.sort(found.hashes.first(seed, most))).select(names))
    inputs = {name: kind for name, kind in options.types.items() if name not in options.targets}
    plan = make_plan(table, replace(options, target=None, more_targets=(), types=inputs))
    encode(plan, table)  # refuses what cannot be used before anything is written
    cells = _label_cells(found.dataset, options.targets)
    quantities = quantities_of_options(options, _as_table(cells))
    drafts = _drafts(found.dataset, quantities, cells, who)
    files = [columns_of(one) for one in pool.file_shards]
    there = [name for name in options.targets if any(name in names for names in files)]
    return NewFileCampaign(replace(plan, target=target), table, drafts, quantities, there)


def more(ledger: Ledger, source: object, who: str, before: FileCandidates) -> list[Draft]:
    """Events that add files to a campaign in files; an error if an id exists already."""
    columns = list(before.pieces[0].columns)
    id_column = None if ledger.numbered else ledger.id_column
    pool = _open_dataset(source, id_column, columns, ())
    grown = replace(before, pieces=(*before.pieces, pool), made={})
    all_of_them = grown.candidates.dataset  # the index of all ids finds duplicates
    quantities = [one.quantity for one in ledger.quantities.values()]
    cells = _label_cells(pool, [one.column for one in quantities if one.column is not None])
    return _drafts(pool.with_sums(all_of_them.sums), quantities, cells, who)


def existing_ids(pool: FileCandidates, ids: Iterable[str]) -> set[str]:
    """The ids of candidates among these."""
    index, found = pool.candidates.index, set()
    for name in ids:
        try:
            index[name]
        except UnknownId:
            continue
        found.add(name)
    return found


def _open_dataset(
    source: object, id_column: str | None, columns: Sequence[str] | None, targets: Sequence[str]
) -> Dataset:
    return open_pool(source, id_column=id_column, columns=columns, drop=list(targets)).as_text()


LabelCells = Mapping[str, list[tuple[str, Cell]]]  # by column, ids and filled cells


def _drafts(
    pool: Dataset, quantities: Sequence[Quantity], cells: LabelCells, who: str
) -> list[Draft]:
    body = {"v": EVENT_BODY_VERSION, "rows": len(pool), "shards": dataset_to_json(pool)}
    labels = [
        entry(quantity, name, cell, None, None)
        for quantity in quantities
        for name, cell in cells.get(quantity.column or "", ())
    ]
    if labels:
        check_unwritten(pool)
    told = [Draft("told", told_body(label, False), label.id, who) for label in labels]
    return [Draft("added", body, who=who), *told]


def check_unwritten(pool: Dataset) -> None:
    """Raise ChangedShard if a file was written since the pool was opened.

    For columns that are not inputs, which have no checksums of their own.
    """
    for file in pool.files:
        file.check_unwritten()


def _label_cells(pool: Dataset, columns: Sequence[str]) -> LabelCells:
    """The ids and the filled cells of these columns, where the files have them."""
    return {
        name: [pair for part in pool.file_shards for pair in _filled(part, name)]
        for name in columns
    }


def _filled(part: FileShard, column: str) -> Iterable[tuple[str, Cell]]:
    if column not in columns_of(part):
        return
    done = 0
    for batch in part.batches([column]):
        there = np.flatnonzero(batch.column(0).is_valid().to_numpy(zero_copy_only=False))
        if len(there):
            cells = batch.column(0).to_pylist()
            for n, name in zip(there.tolist(), part.ids(there + done), strict=True):
                if cells[n] == cells[n]:  # NaN is none
                    yield check_id(str(name)), cells[n]
        done += batch.num_rows


def _as_table(cells: LabelCells) -> Table:
    """The labels of each column as a table."""
    most = max(map(len, cells.values()), default=0)
    columns = {name: [cell for _, cell in some] for name, some in cells.items()}
    return table_of({name: [*some, *[None] * (most - len(some))] for name, some in columns.items()})


def columns_of(part: FileShard) -> list[str]:
    """All columns of the file of a shard."""
    from weal.shards.parquet_file import metadata

    names: list[str] = list(metadata(Path(part.file.path)).schema.to_arrow_schema().names)
    return names
