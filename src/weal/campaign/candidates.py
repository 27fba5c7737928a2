"""The candidates of a campaign in the store: original cells, and inputs by the plan."""

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from weal.campaign.ledger import Ledger
from weal.core.arrays import Array
from weal.learner.batch_limits import CandidateColumns, table_columns
from weal.learner.candidates import Candidates, read_costs
from weal.learner.memory_candidates import read_candidates
from weal.store.protocol import Store
from weal.tables.columns import check_columns
from weal.tables.parquet_io import parquet_to_table
from weal.tables.plan import TablePlan, encode
from weal.tables.table import Table

if TYPE_CHECKING:
    pass


def read_ids(store: Store, name: str, id_column: str) -> list[str]:
    """The ids of all candidates, in order."""
    parts = (parquet_to_table(data, [id_column]) for data in store.read_chunks(name))
    return [str(one) for part in parts for one in part.cells(id_column)]


def read_columns(store: Store, name: str) -> tuple[str, ...]:
    """The names of the columns that candidates came with."""
    parts = (parquet_to_table(data) for data in store.read_chunks(name))
    return tuple(dict.fromkeys(column for part in parts for column in part.columns))


def read_rows(
    store: Store, name: str, id_column: str, ids: Collection[str], columns: Collection[str]
) -> dict[str, dict[str, object]]:
    """The original cells of these candidates in these columns, by id."""
    found: dict[str, dict[str, object]] = {}
    wanted = [id_column, *(column for column in columns if column != id_column)]
    for part in (parquet_to_table(data, wanted) for data in store.read_chunks(name)):
        at = [n for n, one in enumerate(part.cells(id_column)) if one in ids]
        some = part.take(at)
        cells = [some.cells(column) for column in some.columns]
        for one, row in zip(some.cells(id_column), zip(*cells, strict=True), strict=True):
            found[str(one)] = dict(zip(some.columns, row, strict=True))
    return found


class CandidateTable(Protocol):
    """The candidates of a campaign: in its store, or in files (`candidate_files`)."""

    @property
    def plan(self) -> TablePlan:
        """The plan that encodes columns as inputs."""

    @property
    def parts(self) -> tuple[Table, ...]:
        """The original tables; ValueError if they are too many for memory."""

    @property
    def ids(self) -> Sequence[Hashable]:
        """The ids, in order."""

    @property
    def rows(self) -> int:
        """The number of candidates."""

    @property
    def fits_one_table(self) -> bool:
        """Whether one table can hold all rows."""

    def row(self, n: int) -> dict[str, object]:
        """The original cells of candidate n."""

    def cells(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The original cells of these candidates, by id."""

    def columns(self) -> dict[str, list[Any]]:
        """The original cells by column; ValueError if they are too many."""

    def refuse_many(self, what: str, instead: str = ...) -> None:
        """ValueError if one table cannot hold all rows."""

    def upto(self, rows: int) -> Candidates:
        """The first `rows` candidates, as a learner takes them."""

    def named_columns(self, results: Collection[str]) -> CandidateColumns:
        """The columns that options of an ask may name: all but the results."""


@dataclass(frozen=True, slots=True, eq=False)
class CampaignCandidates:
    """The candidates that the store of a campaign keeps."""

    plan: TablePlan
    parts: tuple[Table, ...]  # as they came, original cells
    ids: list[str]
    X: Array  # (U, d)
    cost: Array | None = None  # (U,)  of a label of each

    @property
    def rows(self) -> int:
        """The number of candidates."""
        return len(self.ids)

    @property
    def fits_one_table(self) -> bool:
        """True if they are in memory already."""
        return True

    def refuse_many(self, what: str, instead: str = "") -> None:
        """Do nothing: all rows are in memory already."""

    def upto(self, rows: int) -> Candidates:
        """The first `rows` candidates, as a learner takes them."""
        cost = None if self.cost is None else self.cost[:rows]
        return read_candidates(self.X[:rows], self.ids[:rows], cost=cost)

    def named_columns(self, results: Collection[str]) -> CandidateColumns:
        """The columns that options of an ask may name: all but the results."""
        every = dict.fromkeys(name for part in self.parts for name in part.columns)
        names = [name for name in every if name not in results]
        return table_columns(lambda _: self.parts, names, self.plan, list(results))

    def columns(self) -> dict[str, list[Any]]:
        """The original cells by column; None if a part has no such column."""
        names = dict.fromkeys(name for part in self.parts for name in part.columns)
        return {
            name: [
                cell
                for part in self.parts
                for cell in (part.cells(name) if name in part.columns else [None] * len(part))
            ]
            for name in names
        }

    def cells(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The original cells of these candidates, by id."""
        index = {name: n for n, name in enumerate(self.ids)}
        return {name: self.row(index[name]) for name in ids}

    def row(self, n: int) -> dict[str, object]:
        """The original cells of candidate n."""
        for part in self.parts:
            if n < len(part):
                return dict(part.row(n))
            n -= len(part)
        raise IndexError(n)


def read_pool(store: Store, ledger: Ledger) -> CampaignCandidates:
    """The candidates of a campaign, by its plan."""
    plan = TablePlan.from_json(ledger.plan)
    parts = tuple(parquet_to_table(data) for data in store.read_chunks(ledger.name))
    ids = [str(name) for part in parts for name in part.cells(plan.id_column)]
    cost = ledger.settings.get("cost")
    costs = [column_costs(part, plan.id_column, cost) for part in parts]
    X = np.concatenate([encode(plan, part) for part in parts])
    return CampaignCandidates(plan, parts, ids, X, None if cost is None else np.concatenate(costs))


def column_costs(table: Table, id_column: str, cost: str | None) -> Array:  # (N,), or (0,)
    """The cost of a label of each row, from a column; ValueError unless all cells are above 0."""
    if cost is None:
        return np.zeros(0)
    check_columns(table, [cost])
    values = read_costs(table.cells(cost), None, (), table.cells(id_column))
    return np.zeros(0) if values is None else values
