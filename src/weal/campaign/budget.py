"""The budget of a campaign: cost of the labels, of leased rows, and the rest.

    spent    measurements and failures since the campaign began, each at the cost of its row; labels
             that the first table had already are not counted
    out leased rows

A measurement of several quantities is one measurement. Without a cost column each costs 1. The
budget is a setting. Only `run` enforces it: it ends before the budget is exceeded.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from datetime import datetime
from shlex import quote

from weal.campaign.ledger import Ledger
from weal.campaign.session import Session
from weal.text import number

COST_ROUNDING = 1e-9  # share of the budget by which sums of costs may differ


@dataclass(frozen=True, slots=True)
class Spending:
    """The costs of a campaign, and its budget."""

    budget: float
    spent: float
    out: float  # of rows that are out
    unit: str | None  # the cost column; None: labels

    @property
    def left(self) -> float:
        """The rest of the budget."""
        return max(self.budget - self.spent - self.out, 0.0)

    @property
    def is_used_up(self) -> bool:
        """Whether the budget is spent."""
        return self.spent >= self.budget * (1.0 - COST_ROUNDING)

    @property
    def is_exceeded(self) -> bool:
        """Whether the rows that are out go beyond the budget."""
        return self.spent + self.out > self.budget * (1.0 + COST_ROUNDING)

    @property
    def text(self) -> str:
        """The spending in a line."""
        out = f", {number(self.out)} more by rows that are out" if self.out else ""
        unit = f" ({self.unit})" if self.unit else " labels"
        return f"{number(self.spent)} of {number(self.budget)}{unit} spent{out}"


def spending(session: Session, now: datetime) -> Spending | None:
    """The costs of a campaign; None if it has no budget."""
    ledger = session.ledger
    budget = ledger.settings.get("budget")
    if budget is None:
        return None
    pool = session.state.candidates

    def cost(name: Hashable) -> float:
        return 1.0 if pool.cost is None else float(pool.cost[pool.index[name]])

    spent = sum(n * cost(name) for name, n in _measurements(ledger).items())
    out = sum(cost(lease.id) for lease in ledger.open_leases(now))
    return Spending(float(budget), float(spent), float(out), ledger.settings.get("cost"))


def beyond_budget(session: Session, now: datetime) -> list[str]:
    """The sentence for leased rows that exceed the budget; none if all are within it."""
    costs = spending(session, now)
    if costs is None or not costs.is_exceeded:
        return []
    return [
        f"the budget is used up: {costs.text}. Raise it with `weal settings "
        f"{quote(session.ledger.name)} --budget NUMBER`, or give rows back with `weal withdraw`"
    ]


def _measurements(ledger: Ledger) -> dict[str, int]:
    """By id, how often the row was measured, or failed, since the campaign began."""
    found: dict[str, int] = {}
    for own in ledger.with_failures().values():
        for name, several in own.labels.items():
            new = sum(one.time != ledger.begun for one in several)
            found[name] = max(found.get(name, 0), new)
    return found
