"""The labels of a row as the page shows and changes them, and the action that Undo takes back.

Forms carry the number of the last event that changed the row, so that a form from before a change
writes nothing. The button Undo has the last action of this person written on it.
"""

from dataclasses import dataclass
from datetime import datetime

from weal.campaign.events import LedgerLabel
from weal.campaign.label_edits import last_change
from weal.campaign.undo import Action, action_text, last_action
from weal.quantities.kinds import WORKED
from weal.store.events import Event
from weal.tables.result_lines import BOUND_WORDS
from weal.web.request import CampaignRequest

MAX_EVENTS_TO_UNDO = 2000  # of all people: an action further back is not offered


@dataclass(frozen=True, slots=True)
class ShownLabel:
    """A label of a row, with what its form needs."""

    quantity: str
    title: str  # empty where there is one quantity without a name
    text: str
    value: str  # as a person would type it
    words: tuple[str, ...]  # to choose from; empty: a number
    told: LedgerLabel
    is_failure: bool = False


@dataclass(frozen=True, slots=True)
class RowLabels:
    """The state of a row."""

    id: str
    labels: tuple[ShownLabel, ...]
    is_skipped: bool
    note: str | None  # of the skip
    seen: int  # the last event that changed the row; 0: none
    last: Event | None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to change."""
        return not self.labels and not self.is_skipped


def row_labels(context: CampaignRequest, id_: str) -> RowLabels:
    """Labels, failure and skip of a row now."""
    ledger = context.ledger
    last = last_change(context.row_events(id_)[::-1])
    shown = [
        _shown(context, name, told)
        for name, several in ledger.labels_of(id_).items()
        for told in several
    ]
    note, skipped = ledger.skipped.get(id_), id_ in ledger.skipped
    return RowLabels(id_, tuple(shown), skipped, note, last.seq if last else 0, last)


def _shown(context: CampaignRequest, name: str, told: LedgerLabel) -> ShownLabel:
    if name == WORKED and name not in context.ledger.quantities:
        return ShownLabel(name, "", "failed", "", (), told, is_failure=True)
    quantity = context.ledger.quantity(name).quantity
    text = quantity.format(told.y, 8)
    value = text if quantity.words else repr(told.y).removesuffix(".0")
    return ShownLabel(name, quantity.column or name, text, value, quantity.words, told)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the answer to a form says, and what it keeps of the form."""

    said: str = ""
    good: bool = False
    opened: int = 0  # the label whose form is open
    value: str = ""  # as typed
    note: str = ""
    question: str = ""
    what: str = ""  # the edit that is asked about
    key: str = ""  # of the form that is sent again with the answer to the question
    is_changed: bool = False  # whether something was written


NO_ANSWER = Answer()


@dataclass(frozen=True, slots=True)
class UndoOffer:
    """What the button Undo takes back."""

    id: str
    text: str
    seq: int  # of the first event of the action
    note: str | None
    time: datetime
    is_label: bool  # a label, and no skip, failure or change


def undo_offer(context: CampaignRequest) -> UndoOffer | None:
    """The last action of this person that can still be undone; None: none that is permitted."""
    events = context.events(MAX_EVENTS_TO_UNDO)[::-1]
    action = last_action(events, context.who) if context.who else None
    if action is None or not context.may(permission_to_undo(action)):
        return None
    text, last = action_text(action, context.ledger), action.events[-1]
    is_label = text not in ("failed", "confirmed") and all(
        one.kind == "told" for one in action.events
    )
    return UndoOffer(action.id, text, action.seq, last.body.get("note"), last.time, is_label)


def permission_to_undo(action: Action) -> str:
    """The permission that the action needed: a bound in place of a number is told, not skipped."""
    note = action.events[0].body.get("note") or ""
    return "skip" if action.is_skip and BOUND_WORDS not in note else "tell"
