"""Edits of a displayed label: correct, repeat, confirm or withdraw it, or mark the run as failed.

    correct     another value or note for this label; other labels of the row stay
    repeat      a second measurement beside it
    confirm     the label is right, and is never treated as an outlier
    withdraw the label is withdrawn; a failure is withdrawn in the same way
    failed      the run failed: all labels of the row are withdrawn
    unskip      the row may be suggested again

An edit names the event of the label, and the last event of the row that its author has seen. If the
row has changed since, `decide_edit` raises Changed under the write lock and nothing is written, so
that two people with one row open do not overwrite each other. A lease of the row stays as it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from weal.campaign.events import EVENT_BODY_VERSION, LedgerLabel
from weal.campaign.idempotency import Change, is_repeated, with_key
from weal.campaign.ledger import Ledger
from weal.campaign.row_rules import decide_failure, withdrawal
from weal.campaign.rules import LabelInput, check_ids, told_body
from weal.errors import Changed
from weal.quantities.kinds import WORKED
from weal.store.events import Draft, Event, check_note
from weal.store.protocol import Transaction

EditKind = Literal["correct", "repeat", "confirm", "withdraw", "failed", "unskip"]
ROW_CHANGES = ("told", "corrected", "withdrawn", "skipped")  # kinds that change the state of a row


@dataclass(frozen=True, slots=True)
class LabelEdit:
    """An edit as a person asks for it."""

    what: EditKind
    id: str
    event: int  # of the label; 0: of none
    seen: int  # the last event of the row that the person has seen, by `last_change`
    y: float | None = None  # of correct and repeat
    note: str | None = None

    def as_change(self) -> Change:
        """The content of the edit, for a call with a key."""
        return Change(self.id, f"{self.what} event {self.event}", self.y)


def last_change(events: Sequence[Event]) -> Event | None:
    """The last of a row's events that changed its labels, its failure or its skip."""
    return next((one for one in reversed(events) if changes_row(one)), None)


def changes_row(event: Event) -> bool:
    """Whether an event changes labels, failure or skip of its row, and not its lease alone."""
    return event.kind in ROW_CHANGES and event.body.get("labels") != []


def decide_edit(tx: Transaction, edit: LabelEdit, who: str, key: str | None) -> list[Draft]:
    """The events of an edit; none for a retry with its key. Raises Changed if the row has
    changed.
    """
    changes = [edit.as_change()]
    if is_repeated(tx, key, changes):
        return []
    now = check_ids(tx, [edit.id])
    last = last_change(tx.events_of([edit.id]))
    if (last.seq if last else 0) != edit.seen:
        raise Changed(f"{edit.id!r} has changed since, so nothing was written; read it again")
    drafts = _decide(tx, now, edit, who)
    return with_key(drafts, key, changes)


def _decide(tx: Transaction, now: Ledger, edit: LabelEdit, who: str) -> list[Draft]:
    note = check_note(edit.note, "a note")
    if edit.what == "unskip":
        body: dict[str, object] = {"v": EVENT_BODY_VERSION, "on": False, "note": note}
        return [Draft("skipped", body, edit.id, who)] if edit.id in now.skipped else []
    if edit.what == "failed":
        found = decide_failure(now, edit.id, note, who, True, ())
        return [keep_lease(tx, now, one) for one in found.drafts]
    quantity, label = _find_label(now, edit)
    several = len(now.labels_of(edit.id)[quantity]) > 1
    named = [label.seq] if several else None
    if edit.what == "withdraw":
        return [keep_lease(tx, now, withdrawal(quantity, edit.id, who, note, named))]
    if quantity == WORKED:
        raise ValueError(f"{edit.id!r} failed: withdraw the failure, or tell a result")
    if edit.what == "confirm":
        sure = LabelInput(quantity, edit.id, label.y, label.noise, note, sure=True)
        told = {**told_body(sure, False), "confirms": True}
        return [] if label.sure else [Draft("told", told, edit.id, who)]
    return _decide_value(edit, quantity, label, several, note, who)


def _decide_value(
    edit: LabelEdit, quantity: str, label: LedgerLabel, several: bool, note: str | None, who: str
) -> list[Draft]:
    """The events of a corrected value, or of a second one."""
    if edit.y is None:
        raise ValueError("a correction and a second measurement need a value: type one")
    if edit.what == "repeat":
        again = LabelInput(quantity, edit.id, edit.y, None, note)
        return [Draft("told", told_body(again, True), edit.id, who)]
    same = edit.y == label.y
    if same and note == label.note:
        return []
    entry = LabelInput(quantity, edit.id, edit.y, label.noise, note, sure=label.sure and same)
    if not several:
        return [Draft("corrected", told_body(entry, True), edit.id, who)]
    gone = withdrawal(quantity, edit.id, who, None, [label.seq])
    return [gone, Draft("told", told_body(entry, True), edit.id, who)]


def _find_label(now: Ledger, edit: LabelEdit) -> tuple[str, LedgerLabel]:
    """The label of the edit, and its quantity."""
    for quantity, labels in now.labels_of(edit.id).items():
        for label in labels:
            if label.seq == edit.event:
                return quantity, label
    raise Changed(f"event {edit.event} is not a current label of {edit.id!r}; read the row again")


def keep_lease(tx: Transaction, now: Ledger, draft: Draft) -> Draft:
    """A withdrawal that ends no lease: it names its labels if the row is leased."""
    name = str(draft.id)
    is_out = any(one.id == name for one in now.open_leases(tx.now))
    if draft.kind != "withdrawn" or not is_out or draft.body.get("labels"):
        return draft
    quantity = str(draft.body["quantity"])
    named = [one.seq for one in now.labels_of(name).get(quantity, ())]
    note = draft.body.get("note")
    return withdrawal(quantity, name, draft.who, None if note is None else str(note), named)
