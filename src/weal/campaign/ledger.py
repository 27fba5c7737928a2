"""The ledger of a campaign: labels, leases, skipped rows and settings after its events.

    labels    id -> its labels; several if the row was measured again
    leases    id -> who has the row until when: asked, and not told, skipped or withdrawn since
    skipped   id -> note, of rows that are not suggested

A lease lapses by the clock and not by an event, so that it stays in the ledger; `open_leases(now)`
leaves lapsed leases out. `apply_events` never changes the ledger that it is given. The ledger needs
no model and no numerics: `weal tell` starts quickly.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from weal.campaign.config import current_settings
from weal.campaign.events import AskedBody, LedgerLabel, change_of_labels
from weal.store.events import Event

if TYPE_CHECKING:
    from weal.shards.dataset import DatasetBody

LARGEST_LABEL = 1e300  # beyond, sums, differences and intervals overflow a float


@dataclass(frozen=True, slots=True)
class Lease:
    """The lease of a row: its holder and its end."""

    id: str
    who: str
    since: datetime
    until: datetime
    seq: int
    body: AskedBody  # the prediction at that time, and why this row


@dataclass(frozen=True, slots=True)
class PredictedLabel:
    """A label beside the prediction from the time when its row was asked."""

    told: LedgerLabel
    body: AskedBody


@dataclass(frozen=True, slots=True)
class Ledger:
    """A campaign after its events up to `seq`."""

    name: str
    seq: int = 0
    hash: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    plan: dict[str, Any] = field(default_factory=dict)
    target: str | None = None
    id_column: str = ""
    numbered: bool = False  # whether ids are the numbers of rows
    rows: int = 0  # candidates
    shards: tuple["DatasetBody", ...] = ()  # candidates that stay in their files, as added
    labels: dict[str, tuple[LedgerLabel, ...]] = field(default_factory=dict)
    leases: dict[str, Lease] = field(default_factory=dict)
    skipped: dict[str, str | None] = field(default_factory=dict)  # id -> note
    foretold: list[PredictedLabel] = field(default_factory=list)
    asked: int = 0  # rows leased so far
    checks: int = 0  # of them drawn at random, to test the predictions

    @property
    def n_labels(self) -> int:
        """The number of labels, with repeats."""
        return sum(map(len, self.labels.values()))

    def told(self) -> list[LedgerLabel]:
        """All labels in the order of their events."""
        every = (told for several in self.labels.values() for told in several)
        return sorted(every, key=lambda told: told.seq)

    def open_leases(self, now: datetime) -> list[Lease]:
        """Leases that have not lapsed at this time, in the order of their events."""
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


# These functions may write into the dicts and lists of the ledger: `apply_events` has copied them.


def _apply_created(ledger: Ledger, event: Event) -> Ledger:
    body = event.body
    return replace(
        ledger,
        settings={"until": None, **current_settings(body["settings"])},
        plan=body["plan"],
        target=body["target"],
        id_column=body["id"],
        numbered=bool(body.get("numbered", False)),
    )


def _apply_settings(ledger: Ledger, event: Event) -> Ledger:
    changes = current_settings(event.body["changes"])
    return replace(ledger, settings={**ledger.settings, **changes})


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


def _apply_labels(ledger: Ledger, event: Event) -> Ledger:
    """Apply an event `told`, `corrected` or `withdrawn`."""
    name = str(event.id)
    before = ledger.labels.get(name, ())
    change = change_of_labels(before, event)
    kept = [one for one in before if one not in change.dropped]
    after = [replace(one, sure=True) if one in change.confirmed else one for one in kept]
    _update_predicted(ledger, name, before, change.added, event.kind)
    if change.dropped:
        ledger.labels.pop(name)  # a corrected label comes last
    if labels := (*after, *change.added):
        ledger.labels[name] = labels
    if change.added or event.kind == "withdrawn":
        ledger.leases.pop(name, None)
    if change.added:
        ledger.skipped.pop(name, None)
    return ledger


def _update_predicted(
    ledger: Ledger,
    name: str,
    before: Sequence[LedgerLabel],
    added: Sequence[LedgerLabel],
    kind: str,
) -> None:
    """Keep the first label of each row that was asked beside the prediction of that time."""
    if kind == "told":
        if added and not before and (lease := ledger.leases.get(name)):
            ledger.foretold.append(PredictedLabel(added[0], lease.body))
    elif before or added:
        ledger.foretold[:] = [
            replace(past, told=added[0]) if past.told.id == name else past
            for past in ledger.foretold
            if added or past.told.id != name
        ]


def _apply_skipped(ledger: Ledger, event: Event) -> Ledger:
    name = str(event.id)
    if event.body["on"]:
        ledger.skipped[name] = event.body.get("note")
        ledger.leases.pop(name, None)
    else:
        ledger.skipped.pop(name, None)
    return ledger


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
