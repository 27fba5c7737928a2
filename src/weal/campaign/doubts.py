"""The labels of a campaign to look at again, with who told them and in which batch they came."""

from collections.abc import Hashable
from dataclasses import dataclass

from weal.campaign.ledger import Ledger
from weal.campaign.session import Session
from weal.diagnostics.suspects import OtherUnit, Suspect, other_units, suspects


@dataclass(frozen=True, slots=True)
class Doubts:
    """Labels that look wrong, and calls that look as if they were in another unit."""

    labels: tuple[Suspect, ...] = ()
    units: tuple[OtherUnit, ...] = ()

    def lines(self) -> list[str]:
        """One line for each."""
        return [*(unit.words for unit in self.units), *(one.words for one in self.labels)]


def doubts(session: Session) -> Doubts:
    """What the model makes of the labels; nothing before there is one."""
    if not session.state.fitted:
        return Doubts()
    ledger = session.ledger
    found = suspects(session.state, session.model, batches(ledger))
    return Doubts(tuple(found), tuple(other_units(found, calls(ledger))))


def batches(ledger: Ledger) -> dict[Hashable, Hashable]:
    """For each labelled row, with which others it was asked, or else told."""
    found = calls(ledger)
    asked = {past.told.id: past.body["until"] for past in ledger.foretold}
    return {name: asked.get(str(name), call) for name, call in found.items()}


def calls(ledger: Ledger) -> dict[Hashable, Hashable]:
    """For each labelled row, in which call of `tell` its label came."""
    told = {name: several[-1] for name, several in ledger.labels.items()}
    return {
        name: f"{one.time:%Y-%m-%d %H:%M:%S.%f} by {one.who or 'nobody'}"
        for name, one in told.items()
    }
