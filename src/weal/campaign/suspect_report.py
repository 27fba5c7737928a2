"""Labels of a number that are probably wrong, with the batch that each came in.

Labels of one batch may be swapped, and labels of one call of `tell` may be in another unit
(`weal.diagnostics.suspects`):

    batch   rows that were asked together: their leases end at the same time; for rows that were not
            asked, the call
    call    labels that were told at the same time by the same person

A row that was measured again counts with its last label. Words have no suspects of this kind
(`quantity_status.UnlikelyWord`).
"""

from collections.abc import Hashable
from dataclasses import dataclass

from weal.campaign.ledger import QuantityLedger
from weal.campaign.session import Session, is_number
from weal.diagnostics.suspects import OtherUnit, Suspect, other_units, suspects


@dataclass(frozen=True, slots=True)
class SuspectReport:
    """Labels that are probably wrong, and calls of `tell` that are probably in another unit."""

    labels: tuple[Suspect, ...] = ()
    units: tuple[OtherUnit, ...] = ()

    def lines(self) -> list[str]:
        """One line for each."""
        return [*(unit.words for unit in self.units), *(one.words for one in self.labels)]


def find_suspects(session: Session, quantity: str | None = None) -> SuspectReport:
    """Labels of a number that are probably wrong by the model; none before there is one.

    If `quantity` is None, the first quantity of the goal.
    """
    view = session.view(quantity)
    if not view.has_model or not is_number(view):
        return SuspectReport()
    own = session.ledger.quantity(view.quantity.name)
    found = suspects(view, session.beliefs.model(view), batches(own))
    return SuspectReport(tuple(found), tuple(other_units(found, labels_by_call(own))))


def batches(own: QuantityLedger) -> dict[Hashable, Hashable]:
    """The batch of each labelled row: rows asked together, or else told together."""
    found = labels_by_call(own)
    asked = {past.told.id: past.body["until"] for past in own.foretold}
    return {name: asked.get(str(name), call) for name, call in found.items()}


def labels_by_call(own: QuantityLedger) -> dict[Hashable, Hashable]:
    """The `tell` call of each labelled row: its time, and who told."""
    told = {name: several[-1] for name, several in own.labels.items()}
    return {
        name: f"{one.time:%Y-%m-%d %H:%M:%S.%f} by {one.who or 'nobody'}"
        for name, one in told.items()
    }
