"""Labels of an earlier campaign, which inform a new one (`weal new B --like A`).

Each number of the earlier campaign becomes a quantity of the new one that is not measured there:
its labels are in the event `created`, as inputs of the new plan. A separate model predicts them,
and its predictions are an input of the other models if that improves their leave-one-out errors
(`learner.quantity_sources`).

    "earlier": [{"campaign": "A", "quantity": {...}, "x": [[...], ...], "y": [...]}]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from weal.campaign.candidates import read_rows
from weal.quantities.kinds import quantity_from_json
from weal.quantities.protocol import Quantity, QuantityBody
from weal.tables.table import Table, table_of

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign
    from weal.learner.events import EarlierTold
    from weal.tables.plan import TablePlan

MAX_EARLIER_LABELS = 2000  # of each quantity, the last ones: every `weal tell` reads the event


class EarlierBody(TypedDict):
    """Labels of a quantity of an earlier campaign, in the event `created`."""

    campaign: str
    quantity: QuantityBody
    x: list[list[float]]
    y: list[float]


@dataclass(frozen=True, slots=True, eq=False)
class EarlierCampaign:
    """The labels of an earlier campaign, and the rows that they belong to."""

    name: str
    quantities: tuple[Quantity, ...]
    labels: dict[str, list[tuple[str, float]]]  # by quantity: id and label, in order
    cells: dict[str, dict[str, Any]]  # of the rows, by id and column

    def table(self, ids: Sequence[str], columns: Sequence[str]) -> Table:
        """These rows, with these columns; ValueError if the campaign lacks one."""
        known = list(next(iter(self.cells.values()), {}))
        if missing := [name for name in columns if name not in known]:
            raise ValueError(
                f"the candidates of {self.name!r} have no column {missing[0]!r}, which is an input "
                f"of the new campaign; leave it out (--features {','.join(known)}), or leave out "
                f"--like"
            )
        return table_of({name: [self.cells[id][name] for id in ids] for name in columns})


def read_earlier(campaign: "Campaign") -> EarlierCampaign:
    """The labels of a campaign; ValueError if it has none."""
    ledger = campaign.read_ledger()
    if ledger.shards:
        raise ValueError(
            f"the candidates of {campaign.name!r} are in files; --like needs a campaign whose "
            "store keeps them"
        )
    labels = {
        name: [(one.id, one.y) for one in own.told()][-MAX_EARLIER_LABELS:]
        for name, own in ledger.quantities.items()
    }
    ids = list(dict.fromkeys(id for told in labels.values() for id, _ in told))
    if not ids:
        raise ValueError(f"the campaign {campaign.name!r} has no labels yet; leave out --like")
    quantities = tuple(one.quantity for one in ledger.quantities.values())
    cells = read_rows(campaign.store, campaign.name, ledger.id_column, set(ids), campaign.columns())
    return EarlierCampaign(campaign.name, quantities, labels, cells)


def earlier_bodies(earlier: EarlierCampaign, plan: "TablePlan") -> list[EarlierBody]:
    """The labels of numbers as inputs of a plan."""
    from weal.tables.plan import encode

    found = []
    columns = [column.name for column in plan.columns if column.inputs]
    for one in earlier.quantities:
        told = earlier.labels[one.name]
        if one.words or not told:
            continue
        X = encode(plan, earlier.table([id for id, _ in told], columns))
        body = {**one.to_json(), "name": f"{one.name} ({earlier.name})", "column": None}
        quantity = quantity_from_json(body)  # type: ignore[arg-type]
        y = [label for _, label in told]
        found.append(EarlierBody(
            campaign=earlier.name, quantity=quantity.to_json(), x=X.tolist(), y=y
        ))  # fmt: skip
    return found


def earlier_event(body: EarlierBody) -> "EarlierTold":
    """The event of the learner."""
    import numpy as np

    from weal.learner.events import EarlierTold
    from weal.learner.labels import Label

    rows = zip(body["x"], body["y"], strict=True)
    labels = tuple(Label(None, np.array(x, dtype=np.float64), float(y)) for x, y in rows)
    return EarlierTold(quantity_from_json(body["quantity"]), labels)


def earlier_line(body: EarlierBody) -> str:
    """A sentence on the labels of an earlier campaign."""
    n = len(body["y"])
    return (
        f"{n} label{'' if n == 1 else 's'} of {body['campaign']}: {body['quantity']['name']} "
        "informs the models where that improves leave-one-out predictions"
    )
