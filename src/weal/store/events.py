"""Events of a campaign: append-only rows, each with a hash of all rows before it.

    Draft   an event to write: kind, id, body, who, key
    Event   a draft that was written: with campaign, number (1, 2, 3, ...), time and hash

The hash of an event covers the hash of the event before it and every field of its own,

    hash_n = blake2b(JSON [hash_{n-1}, campaign, n, kind, id, body, who, time, key]),   hash_0 = "",

so every reader detects a changed, lost or reordered row. A body is JSON with
a version "v"; it is kept as text, always in the same spelling (keys sorted, no spaces, ASCII, no
NaN), so that the text hashed is the text stored. Times are UTC with microseconds, from the clock of
the store; clocks may be wrong, so the numbers alone give the order. Ids are text:
1, "1", numpy's 1 and 1.0 are the same id.
"""

import hashlib
import json
import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from numbers import Integral, Real
from typing import Any

from weal.errors import DamagedStore

EVENT_KINDS = ("created", "added", "asked", "told", "skipped", "corrected", "withdrawn", "settings")
MAX_CLOCK_DIFFERENCE = timedelta(minutes=5)  # between clocks, without a warning
MAX_KEY = 200  # characters of a client's key; databases limit what they can index
MAX_DIGITS = 4000  # of an id that is given as a number
WHOLE = 2.0**53  # above it, a float cannot represent every integer
MAX_ID, MAX_NOTE, MAX_WHO = 10_000, 10_000, 200  # characters
# An event as stored: the fields of Event in order, body and time as text.
Row = tuple[str, int, str, str | None, str, str, str, str | None, str]
SqlRow = tuple[Any, ...]  # values as the driver gives them
_TYPES = (str, int, str, str | None, str, str, str, str | None, str)


@dataclass(frozen=True, slots=True)
class Draft:
    """An event to be written; `key` is the idempotency key of the client."""

    kind: str
    body: Mapping[str, object]
    id: str | None = None
    who: str = ""
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """An event as it was written."""

    campaign: str
    seq: int
    kind: str
    id: str | None
    body: Any  # a JSON object; `campaign.events` has the types
    who: str
    time: datetime
    key: str | None
    hash: str


def canonical_json(body: object) -> str:
    """JSON in the one spelling that is stored and hashed."""
    return json.dumps(
        body, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def timestamp(time: datetime) -> str:
    """A time as it is stored and hashed."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def hash_event(previous: str, fields: Sequence[object]) -> str:
    """The hash of the row with these fields (all of Row but the hash) after that hash."""
    return hashlib.blake2b(canonical_json([previous, *fields]).encode(), digest_size=32).hexdigest()


def write(
    campaign: str, drafts: Iterable[Draft], last: int, previous: str, now: datetime
) -> list[Row]:
    """The rows that these drafts become after the event number `last` with the hash `previous`."""
    rows: list[Row] = []
    for seq, draft in enumerate(drafts, start=last + 1):
        text = _checked_body(draft)
        fields = (campaign, seq, draft.kind, draft.id, text, draft.who, timestamp(now), draft.key)
        previous = hash_event(previous, fields)
        rows.append((*fields, previous))
    return rows


def read(row: SqlRow, previous: object, place: str) -> Event:
    """The event of a stored row, which must follow the hash `previous`; else DamagedStore."""
    if not all(isinstance(value, kind) for value, kind in zip(row, _TYPES, strict=True)):
        raise damage_error(place, "a row of its events has values of the wrong type")
    if not isinstance(previous, str) or hash_event(previous, row[:-1]) != row[-1]:
        raise damage_error(place, f"event {row[1]} of {row[0]!r} does not match its hash")
    return event_of_row(row)


def event_of_row(row: SqlRow) -> Event:
    """The event of a row whose hash was checked already."""
    campaign, seq, kind, name, text, who, time, key, found = row
    when = datetime.fromisoformat(time)
    return Event(campaign, seq, kind, name, json.loads(text), who, when, key, found)


def from_the_future(events: Iterable[Event], now: datetime) -> list[Event]:
    """Events with times after now, written by a clock that was ahead."""
    return [event for event in events if event.time > now + MAX_CLOCK_DIFFERENCE]


def damage_error(place: str, what: str) -> DamagedStore:
    """The error for a store whose rows are not what was written."""
    return DamagedStore(
        f"{place} is damaged: {what}; run `weal doctor --store {place}`, which gives details and "
        "can save the readable data, or restore a backup"
    )


def check_id(given: object) -> str:
    """An id as text, checked; ValueError for text that cannot be an id."""
    if isinstance(given, str):
        return check_text(str(given), "an id", MAX_ID)
    if isinstance(given, Integral) and not isinstance(given, bool):
        if abs(int(given)) >= 10**MAX_DIGITS:
            raise ValueError(
                f"a number of more than {MAX_DIGITS} digits cannot be an id; shorten it"
            )
        return str(int(given))
    if isinstance(given, Real) and not isinstance(given, bool):
        value = float(given)
        if abs(value) >= WHOLE and value.is_integer():
            raise ValueError(
                f"{given!r} cannot be an id: above 2^53 a float is rounded and may equal another "
                "id; write it as text or as an integer"
            )
        if math.isfinite(value):
            return str(int(value)) if value.is_integer() else repr(value)
    raise ValueError(f"{given!r} cannot be an id; an id is text or a number: write it as text")


def check_name(name: object) -> str:
    """The name of a campaign, checked; ValueError with advice for an invalid one."""
    if not isinstance(name, str) or not 1 <= len(name) <= 100 or not name.strip():
        raise ValueError(
            f"a campaign's name is text of 1 to 100 characters, not {_short(name)}; choose another"
        )
    if any(part in name for part in ("/", "\\", "..")):
        raise ValueError(
            f"a campaign's name cannot contain '/', '\\' or '..': {name!r} does; choose another"
        )
    if any(unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") for letter in name):
        raise ValueError(
            f"a campaign's name cannot contain control characters: {name!r} does; choose another"
        )
    return name


def _checked_body(draft: Draft) -> str:
    """The body's text; an error when the draft cannot be written and read back the same."""
    if draft.kind not in EVENT_KINDS:
        raise ValueError(f"an event is {', '.join(EVENT_KINDS)}, not {draft.kind!r}")
    if draft.id is not None and check_id(draft.id) != draft.id:
        raise ValueError(f"the id {draft.id!r} is not text; pass it through check_id first")
    check_text(draft.who, "who wrote it", MAX_WHO, empty=True)
    if draft.key is not None:
        check_text(draft.key, "a key", MAX_KEY)
    if not isinstance(draft.body.get("v"), int):
        raise ValueError(f"the body of {draft.kind!r} lacks its version: add 'v': 1")
    try:
        text = canonical_json(draft.body)
        json.dumps(draft.body, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"the body of {draft.kind!r} has a lone surrogate (half a character)"
        ) from None
    except TypeError as error:
        raise ValueError(f"the body of {draft.kind!r} is not JSON: {error}") from error
    if (
        canonical_json(json.loads(text)) != text
    ):  # two keys that are equal in JSON, such as True and "true"
        raise ValueError(
            f"the body of {draft.kind!r} changes when it is written as JSON: {_short(text)}"
        )
    return text


def check_note(note: object, what: str) -> str | None:
    """A note, checked and without surrounding blanks; None for an empty one."""
    if note is None:
        return None
    return check_text(note, what, MAX_NOTE, empty=True).strip() or None


def check_text(text: object, what: str, longest: int, empty: bool = False) -> str:
    """The text, checked; ValueError for text that a store cannot return unchanged."""
    if not isinstance(text, str) or not (text or empty):
        raise ValueError(
            f"{what} is text{'' if empty else ' that is not empty'}, not {_short(text)}; write it "
            "as text"
        )
    if len(text) > longest:
        raise ValueError(
            f"{what} has at most {longest:,} characters, not {len(text):,}; shorten it"
        )
    if "\0" in text:
        raise ValueError(f"{what} cannot contain a NUL character: {_short(text)}; delete it")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"{what} cannot contain a lone surrogate (half a character): {_short(text)}; the text "
            "was "
            "read with a wrong encoding"
        ) from None
    return text


def _short(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
