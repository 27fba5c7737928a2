"""What may be written: drafts of events, decided under the write lock of the campaign.

Each function here looks at the book (`store.Book`) and says which events follow, or refuses with an
error and nothing is written. Two people who do the same thing at once are told apart by the lock:
the second sees what the first has done.
"""

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from shlex import quote
from typing import Any

from weal.campaign.ledger import VERSION, Ledger, Told, confirmed, fold
from weal.campaign.surprise import expectation, surprise
from weal.errors import AlreadyLabelled, Conflict, UnknownId
from weal.store.events import MAX_KEY, Draft, Event, check_note, check_text
from weal.store.store import Book

NAMED = 5  # ids in an error message
EARLY = 2000  # events up to which labels are looked at beside all others: it takes all events
CONFIRMED = "confirmed"  # a label that is there and is called sure now: an event "told"


@dataclass(frozen=True, slots=True)
class Entry:
    """A label that somebody brings."""

    id: str
    y: float
    noise: float | None = None
    note: str | None = None
    sure: bool = False  # never to be taken for an outlier


@dataclass(frozen=True, slots=True)
class Offer:
    """A row to be asked, best first, and what is to be kept with it."""

    id: str
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Telling:
    """What becomes of one label: an event to write, a number where it is there, or an error."""

    entry: Entry
    draft: Draft | None = None
    seq: int = 0  # of the event that holds it already
    error: AlreadyLabelled | None = None
    doubt: str | None = None  # why the label may be wrong
    blind: bool = False  # whether nothing was expected of it, and it is to be seen beside others


@dataclass(frozen=True, slots=True)
class WiderBook:
    """A book that knows more candidates: those that stay in files, and those with events."""

    book: Book
    elsewhere: Callable[[set[str]], set[str]]

    @property
    def last(self) -> int:
        """Number of the last event."""
        return self.book.last

    @property
    def now(self) -> datetime:
        """The store's clock."""
        return self.book.now

    def of(self, ids: Iterable[str]) -> list[Event]:
        """All events of these ids."""
        return self.book.of(ids)

    def known(self, ids: Iterable[str]) -> set[str]:
        """Which of these are candidates."""
        wanted = set(ids)
        found = self.book.known(wanted) | {str(event.id) for event in self.book.of(wanted)}
        return found | self.elsewhere(wanted - found)

    def by_key(self, key: str) -> Event | None:
        """The event that a client wrote under this key."""
        return self.book.by_key(key)

    def next_chunk(self) -> int:
        """The number that the next chunk will have."""
        return self.book.next_chunk()


def told(
    book: Book, entries: Sequence[Entry], who: str, replace: bool, repeat: bool, key: str | None
) -> list[Telling]:
    """What becomes of these labels, all or none; a label that is there is not written again."""
    now = known(book, [entry.id for entry in entries])
    found = tellings(book, now, entries, who, replace, repeat, key)
    if error := next((one.error for one in found if one.error), None):
        raise error
    return found


def tellings(
    book: Book, now: Ledger, entries: Sequence[Entry], who: str, replace: bool, repeat: bool,
    key: str | None, content: bool = False,
) -> list[Telling]:  # fmt: skip
    """What becomes of each of these labels, in their order, one after the other.

    With `content` the key is a fingerprint of them all: it then stands against telling them twice
    with `repeat` alone, and only as long as the label that was told under it is still there.
    """
    labels = {name: list(several) for name, several in now.labels.items()}
    found, early = [], book.last <= EARLY
    for n, entry in enumerate(entries):
        own = key if key is None or (len(entries) == 1 and not content) else f"{key}/{n}"
        past = book.by_key(own) if own is not None else None
        before = labels.setdefault(entry.id, [])
        there = past is not None and any(told.seq == past.seq for told in before)
        doubt = None if entry.sure else surprise(now, entry)
        blind = early and not entry.sure and expectation(now, entry.id) is None
        if past and (there and repeat if content else True):
            found.append(Telling(entry, seq=past.seq, doubt=doubt, blind=blind))
            continue
        try:
            kind = _kind(entry, before, replace, repeat)
        except AlreadyLabelled as error:
            found.append(Telling(entry, error=error))
            continue
        if kind is None:
            found.append(Telling(entry, seq=before[-1].seq, doubt=doubt, blind=blind))
            continue
        body = told_body(entry, bool(before) and kind != CONFIRMED)
        if kind == CONFIRMED:
            body, kind = {**body, "confirms": True}, "told"
            labels[entry.id] = confirmed(before, entry.y, entry.noise)
        else:
            new = Told(entry.id, entry.y, entry.noise, 0, book.now, who, None, entry.sure)
            labels[entry.id] = [new] if kind == "corrected" else [*before, new]
        draft = Draft(kind, body, entry.id, who, None if past else own)
        found.append(Telling(entry, draft, doubt=doubt, blind=blind))
    return found


def _kind(entry: Entry, before: Sequence[Told], replace: bool, repeat: bool) -> str | None:
    """The kind of the event that this label is; None where it is there already."""
    if not before or repeat:
        return "told"
    same = [told for told in before if (told.y, told.noise) == (entry.y, entry.noise)]
    known = any(told.sure for told in same)
    unsure = replace and known and not entry.sure
    if same and not unsure and (len(before) == 1 or not replace):
        return CONFIRMED if entry.sure and not known else None
    if replace:
        return "corrected"
    there = ", ".join(str(told.y) for told in before)
    raise AlreadyLabelled(
        f"{entry.id!r} has the label {there} already, and {entry.y} is another; say replace "
        "(--replace) to correct it, or repeat (--repeat) to add a second measurement"
    )


def told_body(entry: Entry, again: bool) -> dict[str, Any]:
    """Body of the event that keeps this label; `sure` is in it where it is so."""
    return {
        "v": VERSION,
        "y": entry.y,
        "noise": entry.noise,
        "note": entry.note,
        "repeat": again,
        **({"sure": True} if entry.sure else {}),
    }


def skipped(book: Book, ids: Sequence[str], who: str, on: bool, note: str | None) -> list[Draft]:
    """Events that leave rows out, or bring them back; none where that is so already."""
    now = known(book, ids)
    if on and (labelled := [name for name in ids if name in now.labels]):
        raise AlreadyLabelled(f"{_some(labelled)}: labelled already, so there is nothing to skip")
    body = {"v": VERSION, "on": on, "note": check_note(note, "a note")}
    return [Draft("skipped", body, name, who) for name in ids if (name in now.skipped) != on]


def withdrawn(book: Book, ids: Sequence[str], who: str, note: str | None) -> list[Draft]:
    """Events that take labels back, or rows from who had them."""
    now = known(book, ids)
    if nothing := [name for name in ids if name not in now.labels and name not in now.leases]:
        raise ValueError(f"{_some(nothing)}: neither labelled nor asked, so nothing to withdraw")
    body = {"v": VERSION, "note": check_note(note, "a note")}
    return [Draft("withdrawn", body, name, who) for name in ids]


def asked(
    book: Book, offers: Sequence[Offer], n: int, who: str, lease: timedelta,
    common: dict[str, Any] | None, key: str | None = None,
) -> list[Draft]:  # fmt: skip
    """Leases of the first n offers that nobody else took meanwhile; Conflict if too few are left.

    `common` goes with the first: what this ask leaves behind for the next. None, where rows were
    asked under this key already.
    """
    if key is not None and asked_under(book, key):
        return []
    now = fold(Ledger(""), book.of([offer.id for offer in offers]))
    out = {one.id for one in now.open_leases(book.now)}
    taken = out | now.labels.keys() | now.skipped.keys()
    free = [offer for offer in offers if offer.id not in taken][:n]
    if len(free) < n:
        raise Conflict("somebody else has asked for the same rows; ask again")
    until = (book.now + lease).isoformat()
    bodies = [{"v": VERSION, "until": until, **offer.body} for offer in free]
    if common is not None:
        bodies[0]["ask"] = common
    return [
        Draft("asked", body, offer.id, who, None if key is None else _ask_key(key, n))
        for n, (offer, body) in enumerate(zip(free, bodies, strict=True))
    ]


def asked_under(book: Book, key: str) -> list[str]:
    """The ids of the rows that were asked under this key, in order."""
    found: list[str] = []
    while event := book.by_key(_ask_key(key, len(found))):
        found.append(str(event.id))
    return found


def _ask_key(key: str, n: int) -> str:
    """Under which the n-th row of an ask is kept; keys of labels have other names."""
    return f"ask {check_text(key, 'a key', MAX_KEY - 20)}/{n}"


def check_free(now: Ledger, ids: Sequence[str], rows: Container[Any], time: datetime) -> None:
    """ValueError that says what is the matter with rows that somebody wants by name."""
    out = {lease.id: lease for lease in now.open_leases(time)}
    for name in ids:
        if name not in rows:
            raise UnknownId(f"no candidate has the id {name!r}", [name])
        if name in now.labels:
            raise AlreadyLabelled(f"{name!r} is labelled already")
        if name in out:
            who = f" with {out[name].who}" if out[name].who else ""
            raise Conflict(f"{name!r} is out{who} until {out[name].until:%Y-%m-%d %H:%M} UTC")
        if name in now.skipped:
            undo = f"weal skip --undo -- {quote(now.name)} {quote(name)}"
            raise ValueError(f"{name!r} is skipped; `{undo}` brings it back")


def known(book: Book, ids: Sequence[str]) -> Ledger:
    """What is known of these ids; UnknownId where one is no candidate."""
    there = book.known(ids)
    if unknown := [name for name in dict.fromkeys(ids) if name not in there]:
        raise UnknownId(f"no candidate has the id {_some(unknown)}", unknown)
    return fold(Ledger(""), book.of(ids))


def _some(ids: Iterable[str]) -> str:
    names = list(ids)
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(map(repr, names[:NAMED])) + more
