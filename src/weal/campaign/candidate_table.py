"""The candidates of a campaign: as they came, and as the plan makes inputs of them."""

from dataclasses import dataclass

import numpy as np

from weal.campaign.ledger import Ledger
from weal.core.arrays import Array
from weal.store.store import Store
from weal.table.parquet import parquet_to_table
from weal.table.plan import Plan, encode
from weal.table.reading import Table


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """All candidates of a campaign."""

    plan: Plan
    parts: tuple[Table, ...]  # as they came, original cells
    ids: list[str]
    X: Array  # (U, d)

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
    return Pool(plan, parts, ids, np.concatenate([encode(plan, part) for part in parts]))
