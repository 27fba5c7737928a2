"""Columns of a shard encoded as inputs: numbers as they are, or by the plan of a table.

    NumericEncoder    every column holds numbers or booleans without missing values
    PlanEncoder       any other columns, by a plan (`weal.tables.plan`) made on a sample of the pool

A plan is made once and applied shard by shard. Values that the sample did not have are counted: an
unknown category is encoded as none of the known ones, a missing number as the median.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from weal.core.arrays import Array
from weal.shards.parquet_file import pyarrow
from weal.tables.columns import level
from weal.tables.plan import TablePlan
from weal.tables.plan_columns import PlanColumn, encode_column
from weal.tables.table import Table, read_table

if TYPE_CHECKING:
    import pyarrow as pa

Later = Counter[str]  # deviation from the plan -> number of cells


class InputEncoder(Protocol):
    """Encodes a batch of rows as inputs."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are read."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the inputs (d)."""

    def encode_batch(self, batch: "pa.RecordBatch", later: Later) -> Array:
        """Inputs (n, d) of a pyarrow record batch; values that are not in the plan are counted."""


@dataclass(frozen=True, slots=True)
class NumericEncoder:
    """Columns of numbers, as they are."""

    columns: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return self.columns

    def encode_batch(self, batch: "pa.RecordBatch", later: Later) -> Array:
        """The numbers; NaN for a missing cell, which the shard refuses."""
        X = np.empty((batch.num_rows, len(self.columns)))
        for k, name in enumerate(self.columns):
            X[:, k] = numbers(batch.column(name))
        return X


@dataclass(frozen=True, slots=True)
class PlanEncoder:
    """Columns by a plan."""

    plan: TablePlan

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that inputs are made of."""
        return tuple(column.name for column in self._input_columns())

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return tuple(self.plan.names)

    def encode_batch(self, batch: "pa.RecordBatch", later: Later) -> Array:
        """The inputs of the rows."""
        parts = [_encode_column(column, batch, later) for column in self._input_columns()]
        return np.concatenate(parts, axis=1)

    def _input_columns(self) -> list[PlanColumn]:
        return [column for column in self.plan.columns if column.kind != "dropped"]


def numbers(cells: "pa.Array") -> Array:  # (n,)
    """An arrow array of numbers or booleans, NaN if missing."""
    arrow, _ = pyarrow()
    if arrow.types.is_boolean(cells.type):
        cells = cells.cast(arrow.uint8())
    if cells.null_count:
        cells = cells.cast(arrow.float64()).fill_null(float("nan"))
    return np.asarray(cells.to_numpy(zero_copy_only=False), dtype=np.float64)


def holds_numbers(kind: "pa.DataType") -> bool:
    """Whether an arrow type is one of numbers or booleans."""
    types = pyarrow()[0].types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def rows_as_table(batch: "pa.RecordBatch | pa.Table", text: Sequence[str] = ()) -> Table:
    """Rows as a table of cells, as `weal.tables` reads a frame of arrow."""
    arrow, _ = pyarrow()
    table = batch if isinstance(batch, arrow.Table) else arrow.Table.from_batches([batch])
    return read_table(table, text=text)


def _encode_column(column: PlanColumn, batch: "pa.RecordBatch", later: Later) -> Array:  # (n, k)
    cells = batch.column(column.name)
    if column.kind == "number" and holds_numbers(cells.type):
        return _numbers(column, numbers(cells), later)
    if column.kind == "category":
        return _categories(column, cells, later)
    table = rows_as_table(batch.select([column.name]))
    found = encode_column(column, table, [str(n) for n in range(len(table))])
    _count_gaps(column, cells.null_count, later)
    return found


def _numbers(column: PlanColumn, x: Array, later: Later) -> Array:
    missing = np.isnan(x)
    with np.errstate(over="ignore"):
        x = np.where(missing, column.median, x) / column.scale
    _count_gaps(column, int(missing.sum()), later)
    return np.column_stack([x, missing]) if column.gaps else x[:, None]


def _categories(column: PlanColumn, cells: "pa.Array", later: Later) -> Array:
    """One input for each level."""
    arrow, _ = pyarrow()
    coded = cells if arrow.types.is_dictionary(cells.type) else cells.dictionary_encode()
    at = {name: n for n, name in enumerate(column.levels)}
    at |= {name: at[meant] for name, meant in column.same if meant in at}
    table = rows_as_table(arrow.table({column.name: coded.dictionary}))
    known = [-2 if one is None else at.get(level(one), -1) for one in table.cells(column.name)]
    codes = numbers(coded.indices)
    which = np.full(len(codes), -2, dtype=np.intp)  # -1: a level that is new, -2: missing
    there = ~np.isnan(codes)
    which[there] = np.array([*known, -2])[codes[there].astype(np.intp)]
    found = np.zeros((len(which), len(column.inputs)))
    rows = np.flatnonzero(which >= 0)
    found[rows, which[rows]] = 1.0
    missing = which == -2
    if column.gaps:
        found[:, -1] = missing
    _count_gaps(column, int(missing.sum()), later)
    if new := int((which == -1).sum()):
        later[f"{column.name}: of unknown levels, encoded as no level"] += new
    return found


def _count_gaps(column: PlanColumn, gaps: int, later: Later) -> None:
    if gaps and not column.gaps:
        what = "no level" if column.kind == "category" else "the median"
        later[f"{column.name}: missing, encoded as {what}"] += gaps
