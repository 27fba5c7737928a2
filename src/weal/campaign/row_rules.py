"""Rules of rows: decide which events a call of skip, fail or withdraw writes.

    skip the row is not suggested until it is unskipped, or gets a label
    fail       the run of the row failed: a label 0 of the quantity "worked", which the model of
               failures learns from. A failure marked as an accident is a skip: the model ignores it
    withdraw labels, failures or a lease are withdrawn; a lease of another person stays where
               there are labels
    words      classes or grades get further words, which come last

As in `rules`, each function reads the campaign under the write lock and returns drafts of events,
or raises an error, and then nothing is written. A row with a label has worked: a failure has to
replace its labels. A row that is out for a repeat keeps its label, and the repeat is skipped.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from weal.campaign.events import (
    EVENT_BODY_VERSION,
    MAX_WORD_EVENTS,
    SEVERAL_BODY_VERSION,
    settings_body,
    word_keys,
)
from weal.campaign.idempotency import (
    RELEASE,
    SKIP,
    UNSKIP,
    WITHDRAW,
    Change,
    find_call,
    is_repeated,
    with_key,
)
from weal.campaign.ledger import Ledger, has_levels, with_levels
from weal.campaign.quantity_names import find_named, label_text
from weal.campaign.rules import (
    LabelInput,
    check_ids,
    decide_retry,
    is_recorded,
    label_change,
    read_rows,
    some_ids,
    told_body,
)
from weal.errors import AlreadyLabelled
from weal.quantities.kinds import WORKED
from weal.store.events import Draft, check_note
from weal.store.protocol import Transaction

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign


def decide_skips(
    tx: Transaction, ids: Sequence[str], who: str, on: bool, note: str | None,
    key: str | None = None, accident: bool = False,
) -> tuple[list[Draft], dict[str, str]]:  # fmt: skip
    """Events that skip or unskip rows; none for rows in that state already.

    For a retry, a message on each row whose state has changed. An accident replaces a failure.
    """
    now = check_ids(tx, ids)
    changes = [Change(name, SKIP if on else UNSKIP) for name in ids]
    is_there = partial(is_recorded, now)
    if key is not None and find_call(tx, key, changes, is_there, now.first_quantity):
        since = [name for name in ids if (name in now.skipped) != on]
        return [], {name: _changed_since(now, name, on) for name in since}
    if on:
        _check_skippable(tx, now, ids, accident)
    body: dict[str, object] = {"v": EVENT_BODY_VERSION, "on": on}
    body["note"] = check_note(note, "a note")
    if accident:
        body["accident"] = True
    failed = [name for name in ids if on and name in now.failures.labels]
    drafts = [withdrawal(WORKED, name, who, note) for name in failed]
    drafts += [Draft("skipped", body, name, who) for name in ids if (name in now.skipped) != on]
    return with_key(drafts, key, changes), {}


def _check_skippable(tx: Transaction, now: Ledger, ids: Sequence[str], accident: bool) -> None:
    """Raise AlreadyLabelled if a row has a label, or has failed other than by accident."""
    again = now.open_repeats(tx.now)  # of these, the label stays, and no other is asked
    failed = [one for one in ids if one in now.failures.labels]
    labelled = [one for one in ids if now.is_labelled(one) and one not in (*again, *failed)]
    if labelled:
        raise AlreadyLabelled(
            f"{some_ids(labelled)}: labelled already, so there is nothing to skip"
        )
    if failed and not accident:
        raise AlreadyLabelled(
            f"{some_ids(failed)}: told as failed already, so there is nothing to skip; to learn "
            "nothing from it, call it an accident (`weal tell NAME ID failed --accident`)"
        )


def _changed_since(now: Ledger, name: str, on: bool) -> str:
    did = "skipped it" if on else "brought it back"
    became = "labelled" if now.is_labelled(name) else "brought back" if on else "skipped"
    return f"{name}: this key {did} before; it was {became} since. Nothing was written"


def skip_rows(
    campaign: "Campaign", ids: Sequence[str], on: bool, who: str, note: str | None,
    key: str | None, accident: bool = False,
) -> dict[str, str]:  # fmt: skip
    """Skip rows (`on`) or unskip them; for a retry, a message on each row that has changed."""
    changed: dict[str, str] = {}

    def decide(tx: Transaction) -> list[Draft]:
        drafts, since = decide_skips(tx, ids, who, on, note, key, accident)
        changed.clear()
        changed.update(since)
        return drafts

    campaign.transact(decide)
    return changed


@dataclass(frozen=True, slots=True)
class FailureDecision:
    """The decision on a failed run: drafts, the event that already records it, or an error."""

    id: str
    drafts: tuple[Draft, ...] = ()
    seq: int = 0  # of the event that holds it already
    message: str = ""  # for the user
    error: AlreadyLabelled | None = None


class FailResult(NamedTuple):
    """The outcome of marking runs as failed."""

    seq: int  # number of the last event; of a retry, of that of the first call
    new: int  # failures that were written
    messages: tuple[str, ...] = ()


def failure(name: str, note: str | None) -> LabelInput:
    """A run that failed, as a label of the quantity "worked"."""
    return LabelInput(WORKED, name, 0.0, None, check_note(note, f"the note of {name}"))


def decide_failure(
    now: Ledger, name: str, note: str | None, who: str, replace: bool, repeats: Collection[str]
) -> FailureDecision:
    """The decision on one run; `repeats` are the rows that are out to be measured again."""
    if before := now.failures.labels.get(name):
        return FailureDecision(
            name, seq=before[-1].seq, message=f"{name} was told as failed before"
        )
    labels = now.labels_of(name)
    entry = failure(name, note)
    if labels and name in repeats:
        said = ": ".join(filter(None, ["failed", entry.note]))
        body = {"v": EVENT_BODY_VERSION, "on": True, "note": said}
        skipped = () if name in now.skipped else (Draft("skipped", body, name, who),)
        return FailureDecision(name, skipped, message=f"{name}: the repeat failed; its label stays")
    if labels and not replace:
        told = "; ".join(
            f"{quantity} {label_text(now.quantity(quantity).quantity, several[-1].y)}"
            for quantity, several in labels.items()
        )
        words = (
            f"{name!r} has a label ({told}), so its run worked; use replace (--replace) to "
            "withdraw it and call the run failed"
        )
        return FailureDecision(name, error=AlreadyLabelled(words))
    drafts = [withdrawal(quantity, name, who, note) for quantity in labels]
    return FailureDecision(name, (*drafts, Draft("told", told_body(entry, False), name, who)))


def fail_rows(
    campaign: "Campaign", ids: Sequence[str], who: str, note: str | None, accident: bool,
    replace: bool, key: str | None,
) -> FailResult:  # fmt: skip
    """Mark runs as failed, all or none; as accidents they are skipped, and the model ignores
    them.
    """
    if accident:
        said = ": ".join(filter(None, ["failed by accident", note]))
        since = skip_rows(campaign, ids, True, who, said, key, accident=True)
        ledger = campaign.read_ledger()
        return FailResult(ledger.seq, len(ids) - len(since), tuple(since.values()))
    found: list[FailureDecision] = []

    def decide(tx: Transaction) -> list[Draft]:
        drafts, found[:] = _decide_failures(tx, ids, who, note, replace, key)
        return drafts

    events = campaign.transact(decide)
    last = events[-1].seq if events else max(one.seq for one in found)
    new = sum(bool(one.drafts) for one in found)
    return FailResult(last, new, tuple(one.message for one in found if one.message))


def _decide_failures(
    tx: Transaction, ids: Sequence[str], who: str, note: str | None, replace: bool, key: str | None
) -> tuple[list[Draft], list[FailureDecision]]:
    """The events, and the decision on each run."""
    now = check_ids(tx, ids)
    entries = [failure(name, note) for name in ids]
    changes = [label_change(now, one) for one in entries]
    is_there = partial(is_recorded, now)
    if key is not None and (past := find_call(tx, key, changes, is_there, now.first_quantity)):
        told = decide_retry(tx, now, entries, past)
        return [], [
            FailureDecision(one.entry.id, (), one.seq, one.superseded or "") for one in told
        ]
    repeats = now.open_repeats(tx.now)
    found = [decide_failure(now, name, note, who, replace, repeats) for name in ids]
    if error := next((one.error for one in found if one.error), None):
        raise error
    drafts = [draft for one in found for draft in one.drafts]
    return with_key(drafts, key, changes), found


def decide_withdrawals(
    tx: Transaction, ids: Sequence[str], who: str, note: str | None, event: int | None = None,
    quantity: str | None = None, key: str | None = None,
) -> list[Draft]:  # fmt: skip
    """Events that withdraw labels or leases; none if a call with this key did it before.

    With `event`, the label of this event alone; with `quantity`, those of the quantity alone. If
    this person leases a row for a repeat, only the lease ends and the label stays.
    """
    changes = [Change(name, WITHDRAW, event, quantity=quantity) for name in ids]
    if is_repeated(tx, key, changes):
        return []
    return with_key(_withdrawals(tx, ids, who, note, event, quantity), key, changes)


def _withdrawals(
    tx: Transaction, ids: Sequence[str], who: str, note: str | None, event: int | None,
    quantity: str | None,
) -> list[Draft]:  # fmt: skip
    now = check_ids(tx, ids)
    if event is not None:
        drafts = decide_undo(tx, ids[0], event, who, note) if len(ids) == 1 else []
        if not drafts:
            raise ValueError(
                f"event {event} is not a current label of {some_ids(ids)}: `weal show NAME ID` "
                "lists the events of a row"
            )
        return drafts
    if quantity is not None:
        others = {one.id for one in now.open_leases(tx.now) if one.who != who}
        return _withdraw_quantity(now, ids, who, note, quantity, others)
    if nothing := [one for one in ids if not now.is_labelled(one) and one not in now.leases]:
        raise ValueError(f"{some_ids(nothing)}: neither labelled nor asked, so nothing to withdraw")
    repeats = now.open_repeats(tx.now)
    back = [one for one in ids if one in repeats and repeats[one].who == who]
    first = now.first_quantity
    others = {one.id for one in now.open_leases(tx.now) if one.who != who}
    drafts = [withdrawal(first, name, who, note, labels=[]) for name in back]
    for name in ids:
        labels = {} if name in back else now.labels_of(name)
        for quantity, several in labels.items():
            named = [one.seq for one in several] if name in others else None
            drafts.append(withdrawal(quantity, name, who, note, named))
        if not labels and name not in back:
            drafts.append(withdrawal(first, name, who, note))
    return drafts


def decide_release(
    tx: Transaction, ids: Sequence[str], who: str, note: str, key: str | None = None
) -> list[Draft]:
    """Events that end this person's leases of these rows; labels stay."""
    changes = [Change(name, RELEASE) for name in ids]
    if is_repeated(tx, key, changes):
        return []
    now = check_ids(tx, ids)
    held = {one.id for one in now.open_leases(tx.now) if one.who == who}
    first = now.first_quantity
    drafts = [
        withdrawal(first, name, who, note, labels=[] if now.is_labelled(name) else None)
        for name in ids
        if name in held
    ]
    return with_key(drafts, key, changes)


def _withdraw_quantity(
    now: Ledger, ids: Sequence[str], who: str, note: str | None, quantity: str,
    others: Collection[str],
) -> list[Draft]:  # fmt: skip
    """Events that withdraw the labels of one quantity; "failed" stands for failed runs.

    `others` are rows that other people have leased: their leases stay.
    """
    there = {name: one.quantity for name, one in now.quantities.items()}
    is_failed = quantity in (WORKED, "failed")
    own = WORKED if is_failed else find_named(there, quantity).name
    labels = now.with_failures()[own].labels
    if nothing := [one for one in ids if one not in labels]:
        said = "not told as failed" if is_failed else f"no label of {own}"
        raise ValueError(f"{some_ids(nothing)}: {said}, so nothing to withdraw")
    named = {name: [one.seq for one in labels[name]] for name in ids if name in others}
    return [withdrawal(own, name, who, note, named.get(name)) for name in ids]


def withdrawal(
    quantity: str, name: str, who: str, note: str | None, labels: Sequence[int] | None = None
) -> Draft:
    """The event that withdraws the labels of a row, or those of these events; [] for a lease."""
    version = EVENT_BODY_VERSION if labels is None else SEVERAL_BODY_VERSION
    body = {"v": version, "note": check_note(note, "a note"), "quantity": quantity}
    return Draft("withdrawn", body if labels is None else {**body, "labels": labels}, name, who)


def decide_undo(tx: Transaction, name: str, seq: int, who: str, note: str | None) -> list[Draft]:
    """The event that withdraws the label of event `seq`, if it still counts; others stay."""
    now = read_rows(tx, [name])
    is_out = any(one.id == name for one in now.open_leases(tx.now))  # the lease stays
    for quantity, labels in now.labels_of(name).items():
        if any(one.seq == seq for one in labels):
            named = [seq] if len(labels) > 1 or is_out else None
            return [withdrawal(quantity, name, who, note, named)]
    return []


def decide_words(tx: Transaction, quantity: str, words: Sequence[str], who: str) -> list[Draft]:
    """The event that adds words to classes or grades; none if all are there already."""
    now = read_rows(tx, [])
    own = find_named({name: one.quantity for name, one in now.quantities.items()}, quantity)
    if not has_levels(own):
        raise ValueError(
            f"{own.name} has no classes or grades, so no word can be added; name another quantity"
        )
    known = {word.casefold() for word in own.words}
    new = [word.strip() for word in words if word.strip().casefold() not in known]
    if not new:
        return []
    with_levels(own, [*own.words, *new])  # checks the words
    past = tx.events_by_keys(word_keys())
    if len(past) >= MAX_WORD_EVENTS:
        raise ValueError(f"words were added {len(past)} times, which is the most; add no more")
    body = {**settings_body({}), "v": SEVERAL_BODY_VERSION, "words": {own.name: [*own.words, *new]}}
    return [Draft("settings", body, who=who, key=word_keys()[len(past)])]
