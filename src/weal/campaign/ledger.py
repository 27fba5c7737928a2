"""Where a campaign stands, without a model: the fold of its events.

    labels    id -> what was told of it; several where it was measured again
    leases    id -> who has it until when: asked, and neither told, skipped nor withdrawn since
    skipped   ids that are not to be offered

A lease lapses by the clock alone, so that it stays in the ledger: `open_leases(now)` leaves lapsed
ones out. `apply_events` never changes the ledger that it is given. Standard library only: `weal
tell` starts no numerics.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from weal.store.events import Event

EVENT_BODY_VERSION = 1  # of the bodies that are written
LARGEST_LABEL = 1e300  # beyond, sums, differences and intervals overflow a float


@dataclass(frozen=True, slots=True)
class LedgerLabel:
    """One label."""

    id: str
    y: float
    noise: float | None  # sd of what is known of its noise
    seq: int
    time: datetime
    who: str
    note: str | None = None
    sure: bool = False  # never to be taken for an outlier


@dataclass(frozen=True, slots=True)
class Lease:
    """A row that is out with somebody."""

    id: str
    who: str
    since: datetime
    until: datetime
    seq: int
    body: Mapping[str, Any]  # of the event: what was expected, and why this row


@dataclass(frozen=True, slots=True)
class PredictedLabel:
    """A label beside what was expected when its row was asked."""

    told: LedgerLabel
    body: Mapping[str, Any]  # mean, sd, low, high, check


@dataclass(frozen=True, slots=True)
class Ledger:
    """A campaign after its events up to `seq`."""

    name: str
    seq: int = 0
    hash: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    plan: dict[str, Any] = field(default_factory=dict)
    target: str | None = None
    rows: int = 0
    shards: tuple[dict[str, Any], ...] = ()  # candidates that stay in their files, as added
    labels: dict[str, tuple[LedgerLabel, ...]] = field(default_factory=dict)
    leases: dict[str, Lease] = field(default_factory=dict)
    skipped: dict[str, str | None] = field(default_factory=dict)  # id -> note
    foretold: list[PredictedLabel] = field(default_factory=list)
    asked: int = 0  # rows offered so far
    checks: int = 0  # of them for an honest test

    @property
    def n_labels(self) -> int:
        """Labels that count, repeated ones included."""
        return sum(map(len, self.labels.values()))

    def told(self) -> list[LedgerLabel]:
        """All labels that count, in the order they came."""
        every = (told for several in self.labels.values() for told in several)
        return sorted(every, key=lambda told: told.seq)

    def open_leases(self, now: datetime) -> list[Lease]:
        """Rows that are out at that time, in the order they were asked."""
        return [lease for lease in self.leases.values() if lease.until > now]


def apply_events(ledger: Ledger, events: Iterable[Event]) -> Ledger:
    """The ledger after more events."""
    after = replace(
        ledger,
        settings=dict(ledger.settings),
        labels=dict(ledger.labels),
        leases=dict(ledger.leases),
        skipped=dict(ledger.skipped),
        foretold=list(ledger.foretold),
    )
    for event in events:
        after = replace(
            _LEDGER_TRANSITIONS[event.kind](after, event), seq=event.seq, hash=event.hash
        )
    return after


# Each of these may write into the dicts and lists of the ledger that `apply_events` has copied.


def _apply_created(ledger: Ledger, event: Event) -> Ledger:
    body = event.body
    return replace(ledger, settings=body["settings"], plan=body["plan"], target=body["target"])


def _settings(ledger: Ledger, event: Event) -> Ledger:
    return replace(ledger, settings={**ledger.settings, **event.body["changes"]})


def _apply_added(ledger: Ledger, event: Event) -> Ledger:
    body = event.body
    shards = (*ledger.shards, body["shards"]) if "shards" in body else ledger.shards
    return replace(ledger, rows=ledger.rows + body["rows"], shards=shards)


def _apply_asked(ledger: Ledger, event: Event) -> Ledger:
    name, body = str(event.id), event.body
    until = datetime.fromisoformat(body["until"])
    ledger.leases.pop(name, None)  # a lapsed one; the new one comes last
    ledger.leases[name] = Lease(name, event.who, event.time, until, event.seq, body)
    checks = ledger.checks + bool(body["check"])
    return replace(ledger, asked=ledger.asked + 1, checks=checks)


def _apply_told(ledger: Ledger, event: Event) -> Ledger:
    told = _label(event)
    before = ledger.labels.get(told.id, ())
    if before and event.body.get("confirms"):
        ledger.labels[told.id] = tuple(mark_trusted(before, told.y, told.noise))
        return ledger
    if not before and (lease := ledger.leases.get(told.id)):
        ledger.foretold.append(PredictedLabel(told, lease.body))
    ledger.labels[told.id] = (*before, told)
    return _close_lease_and_skip(ledger, told.id)


def _apply_corrected(ledger: Ledger, event: Event) -> Ledger:
    told = _label(event)
    for n, past in enumerate(ledger.foretold):
        if past.told.id == told.id:
            ledger.foretold[n] = replace(past, told=told)
    ledger.labels.pop(told.id, None)
    ledger.labels[told.id] = (told,)
    return _close_lease_and_skip(ledger, told.id)


def _withdrawn(ledger: Ledger, event: Event) -> Ledger:
    name = str(event.id)
    ledger.leases.pop(name, None)
    if not ledger.labels.pop(name, None):
        return ledger
    ledger.foretold[:] = [past for past in ledger.foretold if past.told.id != name]
    return ledger


def _apply_skipped(ledger: Ledger, event: Event) -> Ledger:
    name = str(event.id)
    if event.body["on"]:
        ledger.skipped[name] = event.body.get("note")
        ledger.leases.pop(name, None)
    else:
        ledger.skipped.pop(name, None)
    return ledger


def _close_lease_and_skip(ledger: Ledger, name: str) -> Ledger:
    """A label is there: nobody has to bring it, and whoever skipped the row did not."""
    ledger.leases.pop(name, None)
    ledger.skipped.pop(name, None)
    return ledger


def mark_trusted(before: Iterable[LedgerLabel], y: float, noise: float | None) -> list[LedgerLabel]:
    """Labels of a row, those that say the same called sure."""
    return [replace(one, sure=True) if (one.y, one.noise) == (y, noise) else one for one in before]


def _label(event: Event) -> LedgerLabel:
    body = event.body
    who = (event.seq, event.time, event.who)
    sure = bool(body.get("sure", False))
    return LedgerLabel(str(event.id), body["y"], body["noise"], *who, body.get("note"), sure)


_LEDGER_TRANSITIONS = {
    "created": _apply_created,
    "settings": _settings,
    "added": _apply_added,
    "asked": _apply_asked,
    "told": _apply_told,
    "corrected": _apply_corrected,
    "withdrawn": _withdrawn,
    "skipped": _apply_skipped,
}
