"""The candidates of a campaign: as they came, and as the plan makes inputs of them."""

from dataclasses import dataclass

import numpy as np

from weal.campaign.ledger import Ledger
from weal.core.arrays import Array
from weal.learner.costs import read_costs
from weal.store.store import Store
from weal.table.parquet import parquet_to_table
from weal.table.plan import Plan, encode
from weal.table.reading import Table
from weal.table.rows import check_columns


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """All candidates of a campaign."""

    plan: Plan
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


def read_pool(store: Store, ledger: Ledger) -> Pool:
    """The candidates of a campaign, by its plan."""
    plan = Plan.from_json(ledger.plan)
    parts = tuple(parquet_to_table(data) for data in store.chunks(ledger.name))
    ids = [str(name) for part in parts for name in part.cells(plan.id_column)]
    cost = ledger.settings.get("cost")
    costs = [column_costs(part, plan.id_column, cost) for part in parts]
    X = np.concatenate([encode(plan, part) for part in parts])
    return Pool(plan, parts, ids, X, None if cost is None else np.concatenate(costs))


def column_costs(table: Table, id_column: str, cost: str | None) -> Array:  # (N,), or (0,)
    """What labels cost, by a column; ValueError where a cell is no number above 0."""
    if cost is None:
        return np.zeros(0)
    check_columns(table, [cost])
    values = read_costs(table.cells(cost), None, (), table.cells(id_column))
    return np.zeros(0) if values is None else values
