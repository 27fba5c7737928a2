"""Rules of labels: decide which events a call of `tell` writes.

Each function reads the campaign under the write lock (`protocol.Transaction`) and returns drafts of
events, or raises an error, and then nothing is written. The lock orders concurrent writers: the
second one reads the events of the first. A retry with an idempotency key writes nothing, and
reports the rows that have changed since. `row_rules` has skips, failures and withdrawals.
"""

import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import replace as dataclass_replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from weal.campaign.events import (
    EVENT_BODY_VERSION,
    SEVERAL_BODY_VERSION,
    LedgerLabel,
    ToldBody,
    word_keys,
)
from weal.campaign.idempotency import LABEL, SKIP, Change, change_of, find_call, with_key
from weal.campaign.ledger import Ledger, apply_events, has_levels, quantities_of
from weal.campaign.plausibility import (
    Doubt,
    expected_label,
    implausible_message,
    judge_first_labels,
    name_where_several,
    needs_range,
)
from weal.campaign.quantity_names import assignment, label_text
from weal.errors import AlreadyLabelled, UnknownId, WealError
from weal.learner.label_changes import (
    CONFIRMED,
    OtherLabel,
    change_labels,
    classify_label,
    same_labels,
)
from weal.quantities.kinds import WORKED
from weal.quantities.protocol import Implausible, Quantity
from weal.store.events import Draft, Event
from weal.store.protocol import Transaction

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign


MAX_IDS_IN_MESSAGE = 5  # ids in an error message


@dataclass(frozen=True, slots=True)
class LabelInput:
    """A label as it was typed, checked."""

    quantity: str  # its name
    id: str
    y: float
    noise: float | None = None
    note: str | None = None
    sure: bool = False  # never treated as an outlier


@dataclass(frozen=True, slots=True)
class LabelDecision:
    """The decision on one label: a draft, the number of an existing event, or an error."""

    entry: LabelInput
    draft: Draft | None = None
    seq: int = 0  # of the event that holds it already
    error: AlreadyLabelled | None = None
    implausible: Implausible | None = None  # why the label may be wrong
    needs_range: bool = False  # whether it is judged by the other labels: it has no prediction
    superseded: str | None = None  # of a retry: what became of the label since
    unclear: str | None = None  # argument of `weal tell` for what may be a repeat
    named: str | None = None  # the quantity, where there are several

    def unclear_message(self, campaign: str) -> str | None:
        """How to save a label that may be a repeat, and was not saved, or None."""
        if self.unclear is None:
            return None
        id_, y = self.entry.id, self.unclear
        words = shlex.join(["weal", "tell", "--repeat", "--", campaign, id_, y])
        return (
            f"{id_} is out for a repeat, and {y} is its label already, so nothing was saved; if it "
            f"was measured again: `{words}`"
        )


class TellResult(NamedTuple):
    """The outcome of labels that were told."""

    seq: int  # number of the event with the last of them
    new: int  # labels that were written
    doubts: tuple[str, ...] = ()  # on labels that may be wrong, with the command that corrects them
    reasons: tuple[Doubt, ...] = ()  # the same: id, reason and quantity
    superseded: tuple[str, ...] = ()  # of a retry: labels that were corrected or withdrawn since
    repeated: tuple[str, ...] = ()  # ids of rows that had a label, and keep it beside the new one
    unclear: tuple[str, ...] = ()  # on labels that may be repeats, and were not saved


def tell_labels(
    campaign: "Campaign", entries: Sequence[LabelInput], who: str, replace: bool, repeat: bool,
    key: str | None,
) -> TellResult:  # fmt: skip
    """Write these labels, all or none, and judge whether they are plausible."""
    if replace and repeat:
        raise ValueError("replace corrects a label and repeat adds to it: not both at once")
    if not entries:
        raise ValueError("there is no label to tell")
    found: list[LabelDecision] = []

    def decide(tx: Transaction) -> list[Draft]:
        found[:] = decide_labels(tx, entries, who, replace, repeat, key)
        return [one.draft for one in found if one.draft]

    events = campaign.transact(decide)
    last = events[-1].seq if events else found[-1].seq
    reasons = _implausible_labels(campaign, found)
    doubts = tuple(implausible_message(*one, campaign.name) for one in reasons)
    superseded = tuple(one.superseded for one in found if one.superseded)
    again = (str(one.id) for one in events if one.kind == "told" and one.body["repeat"])
    repeated = tuple(dict.fromkeys(again))
    unclear = tuple(words for one in found if (words := one.unclear_message(campaign.name)))
    more = (superseded, repeated, unclear)
    return TellResult(last, len(events), doubts, tuple(reasons), *more)


def _implausible_labels(campaign: "Campaign", found: Sequence[LabelDecision]) -> list[Doubt]:
    """The implausible ones of these labels and of the first labels, with the reason."""
    first: list[Doubt] = []
    if any(one.needs_range for one in found):
        with suppress(WealError):  # the labels are saved: the warning may fail
            found, first = judge_first_labels(campaign.read_ledger(), found)
    own = [(one.entry.id, one.implausible, one.named) for one in found if one.implausible]
    return [*own, *first]


def decide_labels(
    tx: Transaction,
    entries: Sequence[LabelInput],
    who: str,
    replace: bool,
    repeat: bool,
    key: str | None,
) -> list[LabelDecision]:
    """The decisions on these labels; an error in one of them rejects all."""
    now = check_ids(tx, [entry.id for entry in entries])
    changes = [label_change(now, entry) for entry in entries]
    is_there = partial(is_recorded, now)
    if key is not None and (past := find_call(tx, key, changes, is_there, now.first_quantity)):
        return decide_retry(tx, now, entries, past)
    found = decide_each_label(tx, now, entries, who, replace, repeat, alone=len(entries) == 1)
    if error := next((one.error for one in found if one.error), None):
        raise error
    drafts = iter(with_key([one.draft for one in found if one.draft], key, changes))
    return [dataclass_replace(one, draft=next(drafts)) if one.draft else one for one in found]


def decide_each_label(
    tx: Transaction, now: Ledger, entries: Sequence[LabelInput], who: str, replace: bool,
    repeat: bool, fingerprint: str | None = None, alone: bool = False,
) -> list[LabelDecision]:  # fmt: skip
    """The decision on each of these labels, in order.

    The first label of a row that is leased for a repeat is a repeat. A label that the row has
    already may be an old label told again, in a file or in a notebook: it is a repeat if the person
    with the lease tells it `alone`.

    The fingerprint is a key that is made of all their content. It only prevents that `repeat` adds
    them twice, and only while the label with this key exists.
    """
    labels = {
        (one.quantity.name, name): list(several)
        for one in now.quantities.values()
        for name, several in one.labels.items()
    }
    past = _by_fingerprint(tx, fingerprint, len(entries))
    out = {} if replace or repeat else now.open_repeats(tx.now)
    answered, found = set[tuple[str, str]](), list[LabelDecision]()
    for n, entry in enumerate(entries):
        own = None if fingerprint is None else f"{fingerprint}/{n}"
        quantity = now.quantity(entry.quantity).quantity
        row = (quantity.name, entry.id)
        before, seq = labels.setdefault(row, []), past.get(own, 0)
        seen = _judge(tx, now, entry)
        again = [told for told in before if repeat and seq and told.seq == seq]
        lease = None if row in answered else out.get(entry.id)
        if lease is not None and any(told.seq > lease.seq for told in before):
            lease = None  # this quantity was measured again already
        answers = lease is not None and _answers(entry, before, alone and lease.who == who)
        adds = answers or (repeat and not again)
        try:
            kind = classify_label(entry, again or before, replace, adds)
        except OtherLabel:
            error = _other_label(seen.named, quantity, entry, before)
            found.append(LabelDecision(entry, error=error))
            continue
        if kind is None:
            typed = assignment(now.quantities, quantity.name, label_text(quantity, entry.y))
            unclear = None if lease is None else typed
            found.append(dataclass_replace(seen, seq=(again or before)[-1].seq, unclear=unclear))
            continue
        if answers:
            answered.add(row)
        draft, labels[row] = _draft(entry, kind, before, who, tx.now)
        draft = dataclass_replace(draft, key=None if seq else own)
        found.append(dataclass_replace(seen, draft=draft))
    return found


def _answers(entry: LabelInput, before: Sequence[LedgerLabel], by_holder: bool) -> bool:
    """Whether a label of a row that is leased as a repeat is a second measurement."""
    return not same_labels(entry, before) or (by_holder and not entry.sure)


def _by_fingerprint(tx: Transaction, fingerprint: str | None, rows: int) -> dict[str | None, int]:
    """Numbers of the events of a file with this fingerprint, by their keys."""
    if fingerprint is None:
        return {}
    events = tx.events_by_keys([f"{fingerprint}/{n}" for n in range(rows)])
    return {event.key: event.seq for event in events}


def _judge(tx: Transaction, now: Ledger, entry: LabelInput) -> LabelDecision:
    """The label, judged by its prediction; without one, by the other labels."""
    named = name_where_several(now, entry.quantity)
    if entry.sure:
        return LabelDecision(entry, named=named)
    expected = expected_label(now, entry.quantity, entry.id)
    judge = now.quantity(entry.quantity).quantity.judge
    return LabelDecision(
        entry,
        implausible=judge(entry.y, expected, None, entry.noise),
        needs_range=needs_range(now, entry, tx.last),
        named=named,
    )


def _draft(
    entry: LabelInput, kind: str, before: list[LedgerLabel], who: str, time: datetime
) -> tuple[Draft, list[LedgerLabel]]:
    """The event with a label, and the labels of its row after it."""
    body = told_body(entry, bool(before) and kind != CONFIRMED)
    new = LedgerLabel(entry.id, entry.y, entry.noise, 0, time, who, None, entry.sure)
    dropped, confirmed, added = change_labels(kind, new, before)
    kept = [one for one in before if one not in dropped]
    after = [dataclass_replace(one, sure=True) if one in confirmed else one for one in kept]
    if kind == CONFIRMED:
        return Draft("told", {**body, "confirms": True}, entry.id, who), after
    return Draft(kind, body, entry.id, who), [*after, *added]


def decide_retry(
    tx: Transaction, now: Ledger, entries: Sequence[LabelInput], past: Sequence[Event]
) -> list[LabelDecision]:
    """The decisions for a retry of a call with a key: nothing is written.

    A label that is no longer there is reported as superseded: corrected or withdrawn since.
    """
    seqs: dict[Change, list[int]] = {}
    for event in past:
        seqs.setdefault(change_of(event, now.first_quantity), []).append(event.seq)
    found = []
    for entry in entries:
        change = label_change(now, entry)
        own = seqs.get(change)
        seq = own.pop(0) if own else past[-1].seq
        if is_recorded(now, change):
            seen = LabelDecision(entry) if entry.quantity == WORKED else _judge(tx, now, entry)
            found.append(dataclass_replace(seen, seq=seq))
        else:
            found.append(
                LabelDecision(entry, seq=seq, superseded=_superseded_message(now, entry, seq))
            )
    return found


def _superseded_message(now: Ledger, entry: LabelInput, seq: int) -> str:
    own = now.with_failures()[entry.quantity]
    labels = [label_text(own.quantity, told.y) for told in own.labels.get(entry.id, ())]
    since = f"its label is {', '.join(labels)} now" if labels else "it was withdrawn since"
    if now.is_labelled(entry.id) and not labels and entry.quantity == WORKED:
        since = "it has a label now"
    said = "failed" if own is now.failures else label_text(own.quantity, entry.y)
    return (
        f"{entry.id}: {said} was told under this key before (event {seq}), and {since}. Nothing "
        "was written: to tell it again, use another key"
    )


def label_change(now: Ledger, entry: LabelInput) -> Change:
    """The content of a label, for a call with a key."""
    quantity = None if entry.quantity == now.first_quantity else entry.quantity
    return Change(entry.id, LABEL, entry.y, entry.noise, entry.sure, quantity)


def is_recorded(now: Ledger, change: Change) -> bool:
    """Whether the campaign has this label or skip already."""
    if change.what == LABEL:
        own = now.with_failures()[change.quantity or now.first_quantity]
        labels = own.labels.get(change.id, ())
        said = (change.y, change.noise)
        same = [told for told in labels if (told.y, told.noise) == said]
        return any(told.sure or not change.sure for told in same)
    return now.is_labelled(change.id) or (change.id in now.skipped) == (change.what == SKIP)


def _other_label(
    named: str | None, quantity: Quantity, entry: LabelInput, before: Sequence[LedgerLabel]
) -> AlreadyLabelled:
    """The error on a label that differs from the labels of its row, in value or in noise."""
    if all(told.y != entry.y for told in before):
        there = ", ".join(label_text(quantity, told.y) for told in before)
        differs = f"{label_text(quantity, entry.y)} is another"
    else:
        there = ", ".join(f"{one.y} {_noise_words(one.noise)}" for one in before)
        differs = f"this one has {'none' if entry.noise is None else f'noise {entry.noise}'}"
    return AlreadyLabelled(
        f"{entry.id!r} has the {named or 'label'} {there} already, and {differs}; use replace "
        "(--replace) to correct it, or repeat (--repeat) to add a second measurement"
    )


def _noise_words(noise: float | None) -> str:
    return "without a noise" if noise is None else f"with noise {noise}"


def told_body(entry: LabelInput, again: bool) -> ToldBody:
    """The body of the event with this label; `sure` is in it only if it is True."""
    body: ToldBody = {
        "v": SEVERAL_BODY_VERSION if entry.quantity == WORKED else EVENT_BODY_VERSION,
        "y": entry.y,
        "noise": entry.noise,
        "note": entry.note,
        "repeat": again,
        "quantity": entry.quantity,
    }
    return {**body, "sure": True} if entry.sure else body


def check_ids(tx: Transaction, ids: Sequence[str]) -> Ledger:
    """The ledger of these rows; UnknownId if one is not a candidate."""
    there = tx.existing_ids(ids)
    if unknown := [name for name in dict.fromkeys(ids) if name not in there]:
        raise UnknownId(f"no candidate has the id {some_ids(unknown)}", unknown)
    return read_rows(tx, ids)


def read_rows(tx: Transaction, ids: Iterable[str]) -> Ledger:
    """The ledger of the event `created`, of added words, and of the events of these rows."""
    [created] = tx.events_between(1, 1)
    words = list[Event]()
    if any(has_levels(one) for one in quantities_of(created)):
        words = [one for one in tx.events_by_keys(word_keys()) if "words" in one.body]
    return apply_events(Ledger(""), [created, *words, *tx.events_of(ids)])


def some_ids(ids: Iterable[str]) -> str:
    """The first few of these ids, for a message."""
    names = list(ids)
    more = f" and {len(names) - MAX_IDS_IN_MESSAGE} more" if len(names) > MAX_IDS_IN_MESSAGE else ""
    return ", ".join(map(repr, names[:MAX_IDS_IN_MESSAGE])) + more
