"""The candidates of a campaign: as they came, and as the plan makes inputs of them."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weal.campaign.ledger import Ledger
from weal.core.arrays import Array
from weal.learner.candidates import read_costs
from weal.store.protocol import Store
from weal.tables.columns import check_columns
from weal.tables.parquet_io import parquet_to_table
from weal.tables.plan import TablePlan, encode
from weal.tables.table import Table

if TYPE_CHECKING:
    pass


def read_ids(store: Store, name: str, id_column: str) -> list[str]:
    """The ids of all candidates, in order."""
    parts = (parquet_to_table(data, [id_column]) for data in store.chunks(name))
    return [str(one) for part in parts for one in part.cells(id_column)]


def read_columns(store: Store, name: str) -> tuple[str, ...]:
    """The names of the columns that candidates came with."""
    parts = (parquet_to_table(data) for data in store.chunks(name))
    return tuple(dict.fromkeys(column for part in parts for column in part.columns))


def read_rows(
    store: Store, name: str, id_column: str, ids: Collection[str], columns: Collection[str]
) -> dict[str, dict[str, object]]:
    """The original cells of these candidates in these columns, by id."""
    found: dict[str, dict[str, object]] = {}
    wanted = [id_column, *(column for column in columns if column != id_column)]
    for part in (parquet_to_table(data, wanted) for data in store.chunks(name)):
        at = [n for n, one in enumerate(part.cells(id_column)) if one in ids]
        some = part.take(at)
        cells = [some.cells(column) for column in some.columns]
        for one, row in zip(some.cells(id_column), zip(*cells, strict=True), strict=True):
            found[str(one)] = dict(zip(some.columns, row, strict=True))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class CampaignCandidates:
    """All candidates of a campaign."""

    plan: TablePlan
    parts: tuple[Table, ...]  # as they came, original cells
    ids: list[str]
    X: Array  # (U, d)
    cost: Array | None = None  # (U,)  of a label of each

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
    parts = tuple(parquet_to_table(data) for data in store.chunks(ledger.name))
    ids = [str(name) for part in parts for name in part.cells(plan.id_column)]
    cost = ledger.settings.get("cost")
    costs = [column_costs(part, plan.id_column, cost) for part in parts]
    X = np.concatenate([encode(plan, part) for part in parts])
    return CampaignCandidates(plan, parts, ids, X, None if cost is None else np.concatenate(costs))


def column_costs(table: Table, id_column: str, cost: str | None) -> Array:  # (N,), or (0,)
    """What labels cost, by a column; ValueError where a cell is no number above 0."""
    if cost is None:
        return np.zeros(0)
    check_columns(table, [cost])
    values = read_costs(table.cells(cost), None, (), table.cells(id_column))
    return np.zeros(0) if values is None else values
