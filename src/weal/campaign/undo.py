"""Undo: revert the last actions of a person on the page, one at a time.

An action is the events that one form wrote: labels of one or several quantities, a correction, a
confirmation, a withdrawal, a failure, a skip. Its first event has the form's key (PAGE_KEY_PREFIX)
and the number of its events. All of them are about one row.

Undoing an action writes events that bring back the state of the row before it: earlier labels with
their authors and times, an earlier failure or skip, and the lease that it ended. Each of these
events names the first event of the action as `undoes`. So the events alone determine the next undo:
an undone action is skipped, an undo is not an action, and a second press undoes the action before.

A later change of the same labels by somebody else, or from elsewhere, is never overwritten: then
`decide_undo_action` writes nothing and names that event.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from weal.campaign.events import LABELLING, LedgerLabel
from weal.campaign.label_edits import changes_row, keep_lease
from weal.campaign.ledger import Ledger, apply_events, quantity_of_event
from weal.campaign.row_rules import withdrawal
from weal.campaign.rules import LabelInput, read_rows, told_body
from weal.quantities.kinds import WORKED
from weal.store.events import Draft, Event, timestamp
from weal.store.protocol import Transaction

PAGE_KEY_PREFIX = "bench-"  # of the keys of forms of the page
UNDO_NOTE = "undone"
_SKIP_KEYS = ("v", "on", "note", "accident")
_SKIP = "\0skip"  # stands for the skip of a row beside the names of its quantities


@dataclass(frozen=True, slots=True)
class Action:
    """What one form wrote."""

    events: tuple[Event, ...]

    @property
    def seq(self) -> int:
        """The number of its first event, which names the action."""
        return self.events[0].seq

    @property
    def id(self) -> str:
        """The row."""
        return str(self.events[0].id)

    @property
    def who(self) -> str:
        """The person."""
        return self.events[0].who

    @property
    def is_skip(self) -> bool:
        """Whether it skipped or unskipped the row, and recorded no accident."""
        return all(one.kind == "skipped" and "accident" not in one.body for one in self.events)


@dataclass(frozen=True, slots=True)
class UndoDecision:
    """Events that undo an action; or none, because it is undone or the row has changed since."""

    action: Action
    drafts: tuple[Draft, ...] = ()
    is_undone: bool = False  # before
    changed_by: Event | None = None  # the event of another change that stays


def is_action(event: Event) -> bool:
    """Whether an event is the first one of an action."""
    key = event.key or ""
    return changes_row(event) and key.startswith(PAGE_KEY_PREFIX) and "undoes" not in event.body


def event_count(first: Event) -> int:
    """The number of events of the action with this first event."""
    return int(first.body.get("call", {}).get("events", 1))


def actions(events: Sequence[Event], who: str) -> Iterator[Action]:
    """The actions of a person that are not undone, the last one first; `events` are in order."""
    undone = {one.body["undoes"] for one in events if "undoes" in one.body}
    for n in range(len(events) - 1, -1, -1):
        first = events[n]
        if first.who == who and first.seq not in undone and is_action(first):
            yield Action(tuple(events[n : n + event_count(first)]))


def last_action(events: Sequence[Event], who: str) -> Action | None:
    """The action that the next undo of this person reverts, or None.

    Actions whose labels somebody else has changed since are skipped.
    """
    for action in actions(events, who):
        row = [one for one in events if one.id == action.id]
        if later_change(row, action) is None:
            return action
    return None


def later_change(row: Sequence[Event], action: Action) -> Event | None:
    """The last change of what the action changed, after it and not undone; `row`: its events."""
    undone = {one.body["undoes"] for one in row if "undoes" in one.body}
    gone = {one.seq + k for one in row if one.seq in undone for k in range(event_count(one))}
    parts = _parts(action.events)
    for event in reversed(row):
        if event.seq <= action.events[-1].seq:
            return None
        if "undoes" in event.body or event.seq in gone:
            continue
        if _overlap(parts, event) or _is_asked_by_other(event, action):
            return event
    return None


def _overlap(parts: set[str], event: Event) -> bool:
    """Whether a later event changes one of these parts of the row."""
    if not changes_row(event):
        return False
    own = _parts([event])
    ends_skip = event.kind in LABELLING and bool(parts & {_SKIP, WORKED})
    unnamed = "" in own | parts and bool(own - {_SKIP}) and bool(parts - {_SKIP})
    return ends_skip or unnamed or bool(parts & own)


def _is_asked_by_other(event: Event, action: Action) -> bool:
    """Whether somebody else has asked for a row that the action brought back."""
    last = action.events[-1]
    is_back = last.kind == "skipped" and not last.body["on"]
    return is_back and event.kind == "asked" and event.who != action.who


def _parts(events: Sequence[Event]) -> set[str]:
    """The parts of a row that events change: names of quantities, or the skip.

    An event without a name is one of weal 0.2, of a campaign with one quantity.
    """
    return {_SKIP if one.kind == "skipped" else str(one.body.get("quantity", "")) for one in events}


def decide_undo_action(tx: Transaction, seq: int, who: str) -> UndoDecision | None:
    """The decision to undo the action with this first event; None if it is not an action of
    `who`.
    """
    first = next(iter(tx.events_between(seq, seq)), None)
    if first is None or first.who != who or not is_action(first):
        return None
    action = Action(tuple(tx.events_between(seq, seq + event_count(first) - 1)))
    row = tx.events_of([action.id])
    if any(one.body.get("undoes") == seq for one in row):
        return UndoDecision(action, is_undone=True)
    if other := later_change(row, action):
        return UndoDecision(action, changed_by=other)
    return UndoDecision(action, tuple(_drafts(tx, row, action)))


def _drafts(tx: Transaction, row: Sequence[Event], action: Action) -> list[Draft]:
    """The events that bring back the row as it was before the action."""
    base, name = read_rows(tx, []), action.id
    before = apply_events(base, [one for one in row if one.seq < action.seq])
    now = apply_events(base, row)
    drafts = [
        keep_lease(tx, now, draft)
        for quantity in _touched(before, now, action)
        for draft in _restore_labels(before, now, name, quantity, action.who)
    ]
    others = any(one.id == name and one.who != action.who for one in now.open_leases(tx.now))
    drafts += _restore_skip(
        before, now, row, action, not others and not _is_told(before, now, action)
    )
    body: dict[str, object] = {"undoes": action.seq}
    found = [replace(one, body={**one.body, **body}) for one in drafts]
    lease, ended = before.leases.get(name), now.ended.get(name)
    if found and lease and ended and lease.seq == ended.seq:
        found[-1] = replace(found[-1], body={**found[-1].body, "resumes": True})
    return found


def _touched(before: Ledger, now: Ledger, action: Action) -> list[str]:
    """The quantities to restore: those of the action, and a failure that its labels replaced.

    A failure is restored last and removed first, because a label would replace it.
    """
    own = _quantities(before, action)
    found = [one for one in dict.fromkeys(own) if one != WORKED]
    had, has = (action.id in one.failures.labels for one in (before, now))
    if had and not has:
        return found if _is_told(before, now, action) else [*found, WORKED]
    return [WORKED, *found] if has and not had else found


def _quantities(ledger: Ledger, action: Action) -> list[str]:
    """The quantities of the labels that the action changed."""
    labelling = (one for one in action.events if one.kind != "skipped")
    return [quantity_of_event(ledger.quantities, one) for one in labelling]


def _is_told(before: Ledger, now: Ledger, action: Action) -> bool:
    """Whether a label of another quantity was added since, so that the row is neither failed nor
    free.
    """
    name, own = action.id, _quantities(before, action)
    return any(
        name in one.labels and name not in before.quantities[key].labels
        for key, one in now.quantities.items()
        if key not in own
    )


def _restore_labels(
    before: Ledger, now: Ledger, name: str, quantity: str, who: str
) -> Iterator[Draft]:
    """Events after which the row has the earlier labels of a quantity."""
    target = before.labels_of(name).get(quantity, ())
    present = now.labels_of(name).get(quantity, ())
    if [_content(one) for one in target] == [_content(one) for one in present]:
        return
    kept = [one for one in present if one in target]
    if len(kept) == len(target):
        extra = [one.seq for one in present if one not in target]
        yield withdrawal(quantity, name, who, UNDO_NOTE, extra if target else None)
        return
    past = before.with_failures()[quantity].foretold
    for n, label in enumerate(target):
        kind = "corrected" if present and not n else "told"
        entry = LabelInput(quantity, name, label.y, label.noise, label.note, label.sure)
        predicted = any(one.told.seq == label.seq for one in past)
        origin = {"who": label.who, "time": timestamp(label.time), "predicted": predicted}
        body: Mapping[str, object] = {**told_body(entry, bool(present) or n > 0), "origin": origin}
        yield Draft(kind, body, name, who)


def _content(label: LedgerLabel) -> tuple[object, ...]:
    return (label.y, label.noise, label.note, label.sure)


def _restore_skip(
    before: Ledger, now: Ledger, row: Sequence[Event], action: Action, is_free: bool
) -> Iterator[Draft]:
    """The event after which the row is skipped as before, or not; only a free row is."""
    name, who = action.id, action.who
    was, is_ = (one.skipped.get(name, _SKIP) for one in (before, now))
    if was == is_:
        return
    if was == _SKIP:
        yield Draft("skipped", {"v": 1, "on": False, "note": UNDO_NOTE}, name, who)
        return
    if not is_free:
        return
    past = next(
        one for one in reversed(row)
        if one.kind == "skipped" and one.body["on"] and one.seq < action.seq
    )  # fmt: skip
    kept = {key: value for key, value in past.body.items() if key in _SKIP_KEYS}
    yield Draft("skipped", kept, name, who)


def action_text(action: Action, ledger: Ledger) -> str:
    """What an action did, in a few words: "53.2", "corrected to 54", "failed", "skipped"."""
    told = [one for one in action.events if one.kind in LABELLING]
    if not told:
        last = action.events[-1]
        if last.kind != "skipped":
            return "withdrawn"
        if not last.body["on"]:
            return "brought back"
        return "failed by accident" if last.body.get("accident") else "skipped"
    if any(one.body.get("confirms") for one in told):
        return "confirmed"
    words = ", ".join(_label_text(one, ledger) for one in told)
    is_corrected = len(told) < len(action.events) or told[0].kind == "corrected"
    return f"corrected to {words}" if is_corrected and words != "failed" else words


def _label_text(event: Event, ledger: Ledger) -> str:
    quantity = quantity_of_event(ledger.quantities, event)
    if quantity not in ledger.quantities:
        return "failed"
    shown = ledger.quantity(quantity).quantity.format(float(event.body["y"]), 8)
    return f"{quantity} {shown}" if len(ledger.quantities) > 1 else shown
