"""The ledger of a campaign: labels, leases, skipped rows and settings after its events.

    quantities   name -> quantity, and its labels by id; several if a row was measured again
    failures     the quantity "worked": a label 0 for each row whose run failed
    leases       id -> the lease of a row: asked, and not told, skipped or withdrawn since
    ended        id -> its last lease, if it has ended: an undo may open it again
    skipped      id -> note, of rows that are not suggested

A row is leased for all quantities: the lease ends when each of them has a label, with a failure, a
skip or a withdrawal. A label that comes later replaces the failure of its row.

An event with a label names its quantity. Events of weal 0.2 do not: they mean the only quantity of
their campaign, which is the first one.

A lease lapses by the clock and not by an event, so a lapsed lease stays in the ledger;
`open_leases(now)` leaves lapsed leases out. `apply_events` never changes the ledger that it is
given. The ledger needs no model and no numerics: `weal tell` starts quickly.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from weal.campaign.config import current_settings
from weal.campaign.events import (
    REPEATS,
    AskedBody,
    LabelChange,
    LedgerLabel,
    change_of_labels,
    gives_row_back,
    prediction_of,
    resumes_lease,
)
from weal.errors import WealError
from weal.quantities.kinds import (
    WORKED,
    find_quantity,
    quantity_from_json,
    quantity_of_column,
    worked_quantity,
)
from weal.quantities.protocol import Quantity
from weal.store.events import Event

if TYPE_CHECKING:
    from weal.campaign.earlier_labels import EarlierBody
    from weal.shards.dataset import DatasetBody


@dataclass(frozen=True, slots=True)
class Lease:
    """The lease of a row: its holder and its end."""

    id: str
    who: str
    since: datetime
    until: datetime
    seq: int
    body: AskedBody  # the prediction at that time, and why this row

    def is_answered(self, labels: Iterable[Sequence["LedgerLabel"]]) -> bool:
        """Whether each quantity has a label, given those of the row; a repeat needs new ones."""
        since = self.seq if self.is_repeat else 0
        return all(any(one.seq > since for one in several) for several in labels)

    @property
    def is_repeat(self) -> bool:
        """Whether a row with a label was leased, to measure it again."""
        return self.body["why"]["how"] in REPEATS


@dataclass(frozen=True, slots=True)
class PredictedLabel:
    """A label beside the prediction from the time when its row was asked."""

    told: LedgerLabel
    body: AskedBody  # with the prediction of the label's quantity


@dataclass(frozen=True, slots=True)
class QuantityLedger:
    """The labels of one quantity."""

    quantity: Quantity
    labels: dict[str, tuple[LedgerLabel, ...]] = field(default_factory=dict)  # by id
    foretold: list[PredictedLabel] = field(default_factory=list)

    @property
    def n_labels(self) -> int:
        """The number of labels, with repeats."""
        return sum(map(len, self.labels.values()))

    def told(self) -> list[LedgerLabel]:
        """All labels in the order of their events."""
        every = (told for several in self.labels.values() for told in several)
        return sorted(every, key=lambda told: told.seq)

    def copy(self) -> "QuantityLedger":
        """The same, with a dict and a list of its own."""
        return QuantityLedger(self.quantity, dict(self.labels), list(self.foretold))


@dataclass(frozen=True, slots=True)
class Ledger:
    """A campaign after its events up to `seq`."""

    name: str
    seq: int = 0
    hash: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    plan: dict[str, Any] = field(default_factory=dict)
    box: dict[str, Any] | None = None  # that candidates were drawn in (`tables.design_file`)
    earlier: tuple["EarlierBody", ...] = ()  # labels of an earlier campaign
    copied_from: dict[str, Any] | None = None  # campaign, number and hash of its last event
    begun: datetime | None = None  # when it was created, with the labels of its first table
    id_column: str = ""
    numbered: bool = False  # whether ids are the numbers of rows
    rows: int = 0  # candidates
    shards: tuple["DatasetBody", ...] = ()  # candidates that stay in their files, as added
    quantities: dict[str, QuantityLedger] = field(default_factory=dict)  # by name
    failures: QuantityLedger = field(default_factory=lambda: QuantityLedger(worked_quantity()))
    leases: dict[str, Lease] = field(default_factory=dict)
    ended: dict[str, Lease] = field(default_factory=dict)
    skipped: dict[str, str | None] = field(default_factory=dict)  # id -> note
    asked: int = 0  # rows leased so far
    checks: int = 0  # of them drawn at random, to test the predictions

    def quantity(self, name: str | None = None) -> QuantityLedger:
        """The quantity of this name, with its labels; None: the only one.

        ValueError if there is no such quantity, or several to choose from.
        """
        return find_quantity(self.quantities, name)

    @property
    def first_quantity(self) -> str:
        """The name of the first quantity, which events without a name mean."""
        return next(iter(self.quantities))

    def with_failures(self) -> dict[str, QuantityLedger]:
        """The quantities by name, and "worked"."""
        return {**self.quantities, WORKED: self.failures}

    @property
    def title(self) -> str | None:
        """The title to show instead of the name; None if there is none."""
        found: str | None = self.settings.get("title")
        return found

    @property
    def is_hidden(self) -> bool:
        """Whether lists leave the campaign out: it is archived, or weal 0.2 has hidden it."""
        return bool(self.settings.get("hidden"))

    @property
    def is_archived(self) -> bool:
        """Whether the campaign is archived, so that it asks for no rows."""
        return is_archived(self.settings)

    @property
    def column_names(self) -> list[str]:
        """The columns of the candidates, including columns that are not inputs."""
        return [str(one["name"]) for one in self.plan.get("columns", ())]

    @property
    def n_labels(self) -> int:
        """The number of labels of all quantities, with repeats but without failures."""
        return sum([one.n_labels for one in self.quantities.values()])

    def labelled(self) -> set[str]:
        """Ids of the rows with a label of any quantity, or a failure."""
        return {name for one in self.with_failures().values() for name in one.labels}

    def is_labelled(self, name: str) -> bool:
        """Whether the row has a label of any quantity, or a failure."""
        return any(name in one.labels for one in self.with_failures().values())

    def labels_of(self, name: str) -> dict[str, tuple[LedgerLabel, ...]]:
        """The labels of the row, by quantity; a failure under "worked"."""
        every = self.with_failures().items()
        return {key: one.labels[name] for key, one in every if name in one.labels}

    def open_leases(self, now: datetime) -> list[Lease]:
        """Leases that have not lapsed at this time, in the order of their events."""
        return [lease for lease in self.leases.values() if lease.until > now]

    def open_repeats(self, now: datetime) -> dict[str, Lease]:
        """By id, the leases of rows that are measured again, which have not lapsed."""
        return {lease.id: lease for lease in self.open_leases(now) if lease.is_repeat}


def is_archived(settings: Mapping[str, Any]) -> bool:
    """Whether a campaign with these settings is archived; weal 0.2 has only `hidden`."""
    return bool(settings.get("hidden")) and bool(settings.get("archived"))


def apply_events(ledger: Ledger, events: Iterable[Event]) -> Ledger:
    """The ledger after more events."""
    after = replace(
        ledger,
        settings=dict(ledger.settings),
        quantities={name: one.copy() for name, one in ledger.quantities.items()},
        failures=ledger.failures.copy(),
        leases=dict(ledger.leases),
        ended=dict(ledger.ended),
        skipped=dict(ledger.skipped),
    )
    for event in events:
        after = replace(
            _LEDGER_TRANSITIONS[event.kind](after, event), seq=event.seq, hash=event.hash
        )
    return after


# These functions may write into the dicts and lists of the ledger: `apply_events` has copied them.


def _apply_created(ledger: Ledger, event: Event) -> Ledger:
    body = event.body
    return replace(
        ledger,
        settings={"until": None, **current_settings(body["settings"])},
        plan=body["plan"],
        box=body.get("box"),
        earlier=tuple(body.get("earlier", ())),
        copied_from=body.get("copied_from"),
        begun=event.time,
        quantities={one.name: QuantityLedger(one) for one in quantities_of(event)},
        id_column=body["id"],
        numbered=bool(body.get("numbered", False)),
    )


def quantities_of(created: Event) -> list[Quantity]:
    """The quantities in the event `created`; weal 0.2 wrote the target column alone."""
    body = created.body
    if "quantities" in body:
        return [quantity_from_json(one) for one in body["quantities"]]
    only = quantity_of_column(body["target"])
    if only.name == WORKED:  # the name of failures since weal 0.3; labels of 0.2 name no quantity
        only = quantity_from_json({**only.to_json(), "name": f"{WORKED} (measured)"})
    return [only]


def quantity_of_event(quantities: Iterable[str], event: Event) -> str:
    """The quantity that an event with a label names; without a name, the first one."""
    names = list(quantities)
    name = event.body.get("quantity", names[0])
    if name not in (*names, WORKED):
        raise WealError(
            f"event {event.seq} is about the quantity {name!r}, and the campaign has "
            f"{', '.join(map(repr, names))}: another version of weal wrote it. Open the store with "
            "that version, or check it with `weal doctor`"
        )
    return str(name)


def has_levels(quantity: Quantity) -> bool:
    """Whether words can be added: it has classes or grades."""
    return "levels" in quantity.to_json()


def with_levels(quantity: Quantity, words: Sequence[str]) -> Quantity:
    """The classes or grades with these words, of which the known ones come first."""
    return quantity_from_json({**quantity.to_json(), "levels": list(words)})


def _apply_settings(ledger: Ledger, event: Event) -> Ledger:
    changes = current_settings(event.body["changes"])
    for name, words in event.body.get("words", {}).items():
        own = ledger.quantities[name]
        ledger.quantities[name] = replace(own, quantity=with_levels(own.quantity, words))
    return replace(ledger, settings={**ledger.settings, **changes})


def _apply_added(ledger: Ledger, event: Event) -> Ledger:
    body = event.body
    shards = (*ledger.shards, body["shards"]) if "shards" in body else ledger.shards
    return replace(ledger, rows=ledger.rows + body["rows"], shards=shards)


def _apply_asked(ledger: Ledger, event: Event) -> Ledger:
    name, body = str(event.id), event.body
    until = datetime.fromisoformat(body["until"])
    ledger.leases.pop(name, None)  # a lapsed one; the new one comes last
    ledger.ended.pop(name, None)
    ledger.leases[name] = Lease(name, event.who, event.time, until, event.seq, body)
    checks = ledger.checks + bool(body["check"])
    return replace(ledger, asked=ledger.asked + 1, checks=checks)


def _apply_labels(ledger: Ledger, event: Event) -> Ledger:
    """Apply an event `told`, `corrected` or `withdrawn`."""
    name, first = str(event.id), ledger.first_quantity
    quantity = quantity_of_event(ledger.quantities, event)
    own, lease = ledger.with_failures()[quantity], ledger.leases.get(name)
    before = own.labels.get(name, ())
    change = change_of_labels(before, event)
    asked = _lease_of_restored(ledger, event) if "origin" in event.body else lease
    prediction = prediction_of(asked.body, quantity, first) if asked else None
    _update_predicted(own.foretold, prediction, event, before, change)
    if change.dropped:
        own.labels.pop(name)  # a corrected label comes last
    if labels := change.after(before):
        own.labels[name] = labels
    if change.added:
        ledger.skipped.pop(name, None)
        if own is not ledger.failures:
            ledger.failures.labels.pop(name, None)
    if gives_row_back(event) or (change.added and _is_answered(ledger, lease)):
        _end_lease(ledger, name)
    return _resume_lease(ledger, event)


def _end_lease(ledger: Ledger, name: str) -> None:
    if lease := ledger.leases.pop(name, None):
        ledger.ended[name] = lease


def _resume_lease(ledger: Ledger, event: Event) -> Ledger:
    """Open the last lease of a row again where the event says so, at its place."""
    name = str(event.id)
    if resumes_lease(event) and name in ledger.ended and name not in ledger.leases:
        every = [*ledger.leases.values(), ledger.ended.pop(name)]
        ledger.leases.clear()
        ledger.leases.update({one.id: one for one in sorted(every, key=lambda one: one.seq)})
    return ledger


def _lease_of_restored(ledger: Ledger, event: Event) -> Lease | None:
    """The lease under which a label that comes back was predicted, if it is known."""
    name = str(event.id)
    lease = ledger.leases.get(name) or ledger.ended.get(name)
    is_first = lease is not None and not lease.is_repeat
    return lease if is_first and event.body["origin"]["predicted"] else None


def _is_answered(ledger: Ledger, lease: Lease | None) -> bool:
    """Whether the row of a lease has a label of every quantity, or has failed."""
    if lease is None or lease.id in ledger.failures.labels or len(ledger.quantities) == 1:
        return True
    return lease.is_answered(one.labels.get(lease.id, ()) for one in ledger.quantities.values())


def _update_predicted(
    foretold: list[PredictedLabel],
    prediction: AskedBody | None,
    event: Event,
    before: Sequence[LedgerLabel],
    change: LabelChange,
) -> None:
    """Keep the first label of each row that was asked beside the prediction of that time."""
    if event.kind == "told":
        is_first = not before or "origin" in event.body
        if change.added and is_first and prediction:
            foretold.append(PredictedLabel(change.added[0], prediction))
        return
    dropped = {one.seq for one in change.dropped}
    foretold[:] = [
        replace(past, told=change.added[0]) if past.told.seq in dropped else past
        for past in foretold
        if change.added or past.told.seq not in dropped
    ]
    is_missing = all(past.told.id != event.id for past in foretold)
    if "origin" in event.body and prediction and change.added and is_missing:
        foretold.append(PredictedLabel(change.added[0], prediction))


def _apply_skipped(ledger: Ledger, event: Event) -> Ledger:
    name = str(event.id)
    if event.body["on"]:
        ledger.skipped[name] = event.body.get("note")
        _end_lease(ledger, name)
    else:
        ledger.skipped.pop(name, None)
    return _resume_lease(ledger, event)


_LEDGER_TRANSITIONS = {
    "created": _apply_created,
    "settings": _apply_settings,
    "added": _apply_added,
    "asked": _apply_asked,
    "told": _apply_labels,
    "corrected": _apply_labels,
    "withdrawn": _apply_labels,
    "skipped": _apply_skipped,
}
