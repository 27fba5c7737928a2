"""A file of results comes in: line by line what will happen, and then just that, all or nothing.

    told        a label that is new            repeated    a second measurement (`repeat`)
    corrected   in place of another            same        it is there already
    confirmed   it is there, and now said to be sure (`sure`)
    skipped     "failed", "n/a" or "-" in place of a value: the row is skipped, with that as note
    empty       no value: left out             refused     the line cannot be taken, and no line is

`preview` looks only; `tell_file` decides the same under the write lock of the campaign and writes.
Without a key of the client's own (`idempotency`), the fingerprint of the labels is their key: the
same content told twice changes nothing. Inputs in a
file (a worksheet has them) are compared with those of the campaign. Standard library only, unless
the file is no text, or has inputs to compare: then the candidates are read.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from weal.campaign import rules
from weal.campaign.entries import entry
from weal.campaign.first_labels import at_first
from weal.campaign.idempotency import SKIP, Change, find_call, with_key
from weal.campaign.ledger import VERSION, Ledger, fold
from weal.campaign.near_ids import meant
from weal.campaign.rules import Entry, Telling
from weal.campaign.surprise import doubtful
from weal.errors import AlreadyLabelled, ReusedKey, UnknownId
from weal.store.events import Draft, Event, spell
from weal.store.store import Book
from weal.table.results import Result, Results, bad_lines

if TYPE_CHECKING:
    from weal.campaign.view import CampaignView

ACTIONS = ("told", "corrected", "repeated", "confirmed", "same", "skipped", "empty", "refused")
ELSEWHERE = 0.5  # share of lines with other inputs from which the file is another campaign's


@dataclass(frozen=True, slots=True)
class IntakeRow:
    """What becomes of one line."""

    line: int
    id: str
    action: str  # one of ACTIONS
    value: float | None = None
    noise: float | None = None
    note: str | None = None
    message: str = ""  # what its owner should know


@dataclass(frozen=True, slots=True)
class Intake:
    """What becomes of a file; where there are problems, nothing does."""

    where: str
    rows: tuple[IntakeRow, ...]
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # on the file as a whole
    event: int = 0  # number of the last event; 0 in a preview

    @property
    def counts(self) -> dict[str, int]:
        """Lines by what becomes of them."""
        found = Counter(row.action for row in self.rows)
        return {action: found[action] for action in ACTIONS if found[action]}

    @property
    def labels(self) -> int:
        """Labels in the file, those that were there already included."""
        return sum(self.counts.get(one, 0) for one in ACTIONS[:5])

    @property
    def new(self) -> int:
        """Labels that are written."""
        return sum(
            self.counts.get(one, 0) for one in ("told", "corrected", "repeated", "confirmed")
        )


@dataclass(frozen=True, slots=True)
class How:
    """How labels are taken."""

    who: str = ""
    replace: bool = False
    repeat: bool = False
    key: str | None = None
    sure: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, and what to write for it."""

    intake: Intake
    drafts: tuple[Draft, ...] = ()
    there: int = 0  # number of the event that holds the last label, if it was there
    error: Exception | None = None  # why nothing is done


@dataclass(frozen=True, slots=True)
class Glance:
    """What `Book` shows under a lock, looked at without one."""

    campaign: "CampaignView"
    events: list[Event] = field(default_factory=list)

    @property
    def last(self) -> int:
        """Number of the last event."""
        return self.campaign.store.head(self.campaign.name)[0]

    @property
    def now(self) -> datetime:
        """The store's clock."""
        return self.campaign.store.now()

    def of(self, ids: Any) -> list[Event]:
        """All events of these ids."""
        return self.campaign.store.of(self.campaign.name, ids)

    def known(self, ids: Any) -> set[str]:
        """Which of these are candidates."""
        return self.campaign.known(ids)

    def by_key(self, key: str) -> Event | None:
        """The event that was written under this key."""
        return next(iter(self.by_keys([key])), None)

    def by_keys(self, keys: Any) -> list[Event]:
        """The events that were written under these keys."""
        wanted = set(keys)
        return [event for event in self._all() if event.key in wanted]

    def between(self, first: int, last: int) -> list[Event]:
        """The events with these numbers and those between them."""
        return self._all()[first - 1 : last]

    def _all(self) -> list[Event]:
        if not self.events:
            self.events.extend(self.campaign.events())
        return self.events

    def next_chunk(self) -> int:
        """Nobody asks."""
        raise NotImplementedError


def plan(campaign: str, book: Book, results: Results, differs: Mapping[int, str], how: How,
         ids: Callable[[], Sequence[str]], ledger: Ledger) -> Plan:  # fmt: skip
    """What becomes of each line: decided by what the book says now.

    The ledger has the other labels, beside which those are looked at of which nothing was expected.
    """
    named = [line.id for line in results.lines if line.says and not line.bad]
    there = book.known(named)
    if unknown := [name for name in dict.fromkeys(named) if name not in there]:
        results = _without(results, unknown, meant(unknown, ids()))
    names = [name for name in named if name in there]
    now = fold(Ledger(""), book.of(names))
    found = _entries(results.lines, how.sure)
    entries = {n: one for n, one in found.items() if isinstance(one, Entry)}
    changes = [rules.label_change(one) for one in entries.values()]
    changes += [Change(line.id, SKIP) for line in results.lines if line.failed and not line.bad]
    past, reused = _past(book, how.key, changes, now)
    if past:
        told = rules.retold(book, now, list(entries.values()), past)
    else:
        content = _fingerprint(list(entries.values())) if how.key is None else None
        told = rules.tellings(
            book, now, list(entries.values()), how.who, how.replace, how.repeat, content
        )
    told, early = at_first(ledger, told)
    tellings = dict(zip(entries, told, strict=True))
    rows, drafts = [], list[Draft]()
    for n, line in enumerate(results.lines):
        row, draft = _becomes(campaign, line, found.get(n), tellings.get(n), now, how)
        if past and draft:
            words = f"{line.id} was skipped under this key before, and brought back since"
            row, draft = replace(row, action="same", message=words), None
        if n in differs and row.action != "refused":
            row = replace(row, message=" ".join(filter(None, [row.message, differs[n]])))
        rows.append(row)
        drafts += [draft] if draft else []
    notes = (*results.notes, *(doubtful(campaign, *one) for one in early))
    problems = _problems(results, differs, how) + ((str(reused),) if reused else ())
    intake = Intake(results.where, tuple(rows), problems, notes)
    last = told[-1].seq if told else max((one.seq for one in now.told()), default=0)
    labelled = AlreadyLabelled if any(one.error for one in told) else ValueError
    kind = UnknownId if unknown else labelled
    keyed = tuple(with_key(drafts, how.key, changes))
    return Plan(intake, keyed, last, reused or _error(intake, kind))


def _past(
    book: Book, key: str | None, changes: Sequence[Change], now: Ledger
) -> tuple[Sequence[Event], ReusedKey | None]:
    """The events of an earlier call with this key and content; the error where it had another."""
    if key is None:
        return (), None
    try:
        return find_call(book, key, changes, partial(rules.is_there, now)), None
    except ReusedKey as error:
        return (), error


def _error(intake: Intake, kind: type[Exception]) -> Exception | None:
    """What is wrong with the file, if anything is."""
    bad = [f"line {row.line}: {row.message}" for row in intake.rows if row.action == "refused"]
    if bad:
        return kind(bad_lines(intake.where, bad))
    return ValueError(intake.problems[0]) if intake.problems else None


def _without(results: Results, unknown: Sequence[str], like: Mapping[str, str]) -> Results:
    """The file, its lines on rows that are not there marked as bad."""

    def said(name: str) -> str:
        hint = f"; did you mean {like[name]!r}?" if name in like else ""
        return f"no candidate has the id {name!r}{hint}"

    lines = (
        line._replace(bad=said(line.id)) if line.id in unknown and not line.bad else line
        for line in results.lines
    )
    return replace(results, lines=tuple(lines))


def _entries(lines: Sequence[Result], sure: bool) -> dict[int, Entry | str]:
    """Labels by the place of their line; text where a line is no label after all."""
    found: dict[int, Entry | str] = {}
    for n, line in enumerate(lines):
        if line.value is None or line.bad:
            continue
        try:
            found[n] = entry(line.id, line.value, line.noise, line.note, sure)
        except ValueError as error:
            found[n] = str(error)
    return found


def _fingerprint(entries: Sequence[Entry]) -> str:
    content = spell([[one.id, one.y, one.noise] for one in entries])
    return f"file {blake2b(content.encode(), digest_size=16).hexdigest()}"


def _becomes(
    campaign: str, line: Result, found: Entry | str | None, telling: Telling | None, now: Ledger,
    how: How,
) -> tuple[IntakeRow, Draft | None]:  # fmt: skip
    row = IntakeRow(line.line, line.id, "empty", line.value, line.noise, line.note)
    if line.bad or isinstance(found, str):
        return replace(row, action="refused", message=line.bad or str(found)), None
    if telling is None:
        return _skipped(row, line, now, how) if line.failed else (row, None)
    if telling.error:
        return replace(row, action="refused", message=str(telling.error)), None
    message = doubtful(campaign, line.id, telling.doubt) if telling.doubt else ""
    message = telling.superseded or message
    if telling.draft is None:
        return replace(row, action="same", message=message), None
    kind, again = telling.draft.kind, telling.draft.body["repeat"]
    action = "corrected" if kind == "corrected" else "repeated" if again else "told"
    action = "confirmed" if telling.draft.body.get("confirms") else action
    return replace(row, action=action, message=message), telling.draft


def _skipped(row: IntakeRow, line: Result, now: Ledger, how: How) -> tuple[IntakeRow, Draft | None]:
    note = ": ".join(filter(None, [line.failed, line.note]))
    row = replace(row, action="same", note=note)
    if line.id in now.labels:
        return replace(
            row, message=f"{line.id} has a label, so {line.failed!r} skips nothing"
        ), None
    if line.id in now.skipped:
        return row, None
    body = {"v": VERSION, "on": True, "note": note}
    return replace(row, action="skipped"), Draft("skipped", body, line.id, how.who)


def _problems(results: Results, differs: Mapping[int, str], how: How) -> tuple[str, ...]:
    if not any(line.says or line.bad for line in results.lines):
        return (f"{results.where} has no value in any row, so there is no label to tell",)
    compared = [n for n, line in enumerate(results.lines) if line.inputs and line.says]
    wrong = [n for n in compared if n in differs]
    if how.sure or len(wrong) < 2 or len(wrong) <= ELSEWHERE * len(compared):
        return ()
    return (
        f"{len(wrong)} of {len(compared)} rows of {results.where} have other inputs than the "
        f"campaign (line {results.lines[wrong[0]].line}: {differs[wrong[0]]}), so none was taken: "
        "is it the file of another campaign? --sure takes it",
    )
