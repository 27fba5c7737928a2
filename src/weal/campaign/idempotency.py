"""Idempotency keys: a client's name for a call, so that a retry of the call writes nothing.

    tell, tell_file, skip   content: labels (id, quantity, value, noise, sure) and rows to skip
    withdraw, release       content: rows, and the event or quantity whose labels are withdrawn
    change, create, add     content: a digest of settings, or of the table and its options
    ask                     content: number of rows, who asks, whether rows are drawn at random, and
                            what the batch may hold

The same key with the same content is a retry; with other content it raises ReusedKey, and nothing
is written. The order of rows, the notes and the author are not part of the content. Keys belong to
one campaign; those of `ask` are separate from those of `tell` and `skip`. A call that has nothing
to write, because everything is recorded already, leaves its key unused.

How keys are stored: the first event of a call has the key, and `call` in its body,

    rows     rows that the call was about
    events   events that it wrote, this one first: existing rows have none
    digest   of the content

weal 0.2 wrote no `call`, and the keys `KEY/0`, `KEY/1`, ... for several labels. In these stores,
the content is that of the events; a row without such an event must be in the campaign with the
content of the retry. Rows that were asked have the keys `ask KEY/0`, `ask KEY/1`, ...
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import NamedTuple

from weal.errors import ReusedKey
from weal.learner.batch_options import options_text
from weal.quantities.kinds import WORKED
from weal.store.events import MAX_KEY, Draft, Event, canonical_json, check_text
from weal.store.protocol import Store, Transaction

MAX_NAMED = 5  # rows in an error message
BLOCK_ROWS = 64  # keys of a call of weal 0.2 that are looked up at once
LABEL, SKIP, UNSKIP = "label", "skip", "undo skip"
WITHDRAW, RELEASE = "withdraw", "release"


class Change(NamedTuple):
    """The content of a call for one row."""

    id: str
    what: str  # LABEL, SKIP, UNSKIP, WITHDRAW or RELEASE; another text if the call concerns no row
    y: float | None = None
    noise: float | None = None
    sure: bool = False
    quantity: str | None = None  # None: the first one of the campaign

    def __str__(self) -> str:
        if not self.id:
            return self.what.partition(" ")[0]
        if self.what != LABEL:
            return f"{self.id!r}: {self.what}"
        if self.quantity == WORKED:
            return f"{self.id!r}: failed"
        noise = "" if self.noise is None else f", noise {self.noise}"
        of = "" if self.quantity is None else f"{self.quantity} "
        return f"{self.id!r}: {of}{self.y}{noise}{', sure' if self.sure else ''}"


@dataclass(frozen=True, slots=True)
class AskCall:
    """The content of a call of `ask`."""

    n: int
    who: str
    check: bool
    lease: timedelta | None = None  # None: as the settings say
    checks: int = 0  # rows drawn at random that the same command asks for after these
    options: str = "{}"  # what the batch may hold, as canonical JSON

    def __str__(self) -> str:
        kinds = {" drawn at random" if self.check else "": self.n}
        kinds[" drawn at random"] = kinds.get(" drawn at random", 0) + self.checks
        rows = [f"{n} {'row' if n == 1 else 'rows'}{kind}" for kind, n in kinds.items() if n]
        lease = "" if self.lease is None else f" with a lease of {_length(self.lease)}"
        options = options_text(json.loads(self.options))
        held = f" {options}" if options else ""
        return f"{' and '.join(rows)}{held} for {self.who or 'nobody by name'}{lease}"


def _length(lease: timedelta) -> str:
    """A lease as it is typed: 7d, 12h, or seconds."""
    seconds = lease.total_seconds()
    for unit, size in (("d", 86400), ("h", 3600)):
        if seconds and seconds % size == 0:
            return f"{seconds / size:g}{unit}"
    return f"{seconds:g} s"


def content_change(what: str, content: object) -> Change:
    """The content of a call that concerns no row, such as changed settings."""
    digest = blake2b(canonical_json(content).encode(), digest_size=16).hexdigest()
    return Change("", f"{what} {digest}")


def is_repeated(
    tx: Transaction, key: str | None, changes: Sequence[Change], first_quantity: str = ""
) -> bool:
    """Whether a call with this key and content was made before; ReusedKey for other content."""
    return key is not None and bool(
        find_call(tx, key, changes, lambda _: False, first_quantity)  # 0.2 had no such keys
    )


def was_called(store: Store, name: str, key: str | None, changes: Sequence[Change]) -> bool:
    """Whether a call with this key and content has changed a campaign; ReusedKey as above."""
    found = False

    def look(tx: Transaction) -> list[Draft]:
        nonlocal found
        found = is_repeated(tx, key, changes)
        return []

    if key is not None:
        store.transact(name, look)
    return found


def find_call(
    tx: Transaction, key: str, changes: Sequence[Change], is_recorded: Callable[[Change], bool],
    first_quantity: str,
) -> list[Event]:  # fmt: skip
    """The events of an earlier call with this key and content; none if the key is unused.

    `is_recorded` says whether the campaign has a change as it is; it decides on calls of weal 0.2.
    """
    events = _events_of_call(tx, check_text(key, "a key", MAX_KEY), len(changes))
    contents = [change_of(event, first_quantity) for event in events]
    if not events or _same(events, contents, changes, is_recorded):
        return events
    raise _reuse_error(key, events, contents, changes)


def with_key(drafts: Sequence[Draft], key: str | None, changes: Sequence[Change]) -> list[Draft]:
    """The drafts of a call; the first one gets the key and the digest of the content."""
    if key is None or not drafts:
        return list(drafts)
    first, *others = drafts
    call = {"rows": len(changes), "events": len(drafts), "digest": _digest(changes)}
    return [replace(first, key=key, body={**first.body, "call": call}), *others]


def change_of(event: Event, first_quantity: str) -> Change:
    """The content of an event, as a call has it."""
    name, body = event.id or "", event.body
    if event.kind in ("told", "corrected"):
        named = body.get("quantity", first_quantity)
        quantity = None if named == first_quantity else str(named)
        sure = bool(body.get("sure", False))
        return Change(name, LABEL, body["y"], body["noise"], sure, quantity)
    if event.kind == "skipped":
        return Change(name, SKIP if body["on"] else UNSKIP)
    return Change(name, event.kind)


def _events_of_call(tx: Transaction, key: str, rows: int) -> list[Event]:
    size = max(BLOCK_ROWS, rows)
    found = tx.events_by_keys([key, *_numbered_keys(key, 0, size)])
    if own := [event for event in found if event.key == key]:
        count = own[0].body.get("call", {}).get("events", 1)
        return tx.events_between(own[0].seq, own[0].seq + count - 1)
    found = block = [event for event in found if "call" not in event.body]  # else of another key
    first = size
    while block:
        block = tx.events_by_keys(_numbered_keys(key, first, first + size))
        found, first = [*found, *block], first + size
    return found


def _numbered_keys(key: str, start: int, stop: int) -> list[str]:
    return [f"{key}/{n}" for n in range(start, stop)]


def _same(
    events: Sequence[Event], contents: Sequence[Change], changes: Sequence[Change],
    is_recorded: Callable[[Change], bool],
) -> bool:  # fmt: skip
    """Whether the call that wrote these events had this content."""
    if call := events[0].body.get("call"):
        return bool(call["digest"] == _digest(changes))
    past, now = Counter(contents), Counter(changes)
    return not past - now and all(map(is_recorded, now - past))


def _digest(changes: Sequence[Change]) -> str:
    """A digest of the content; the order of rows and the spelling of numbers do not matter."""
    plain = sorted(
        canonical_json(
            [one.id, one.what, _plain(one.y), _plain(one.noise), one.sure]
            + ([] if one.quantity is None else [one.quantity])
        )
        for one in changes
    )
    return blake2b("\n".join(plain).encode(), digest_size=16).hexdigest()


def _plain(value: float | None) -> float | None:
    return None if value is None else float(value) + 0.0  # -0.0 is 0.0


def _reuse_error(
    key: str, events: Sequence[Event], contents: Sequence[Change], changes: Sequence[Change]
) -> ReusedKey:
    before, now = Counter(contents), Counter(changes)
    rows = events[0].body.get("call", {}).get("rows", len(events))
    used = _content(rows, before - now, rows - len(events))
    wanted = _content(len(changes), now - before)
    by = f" by {events[0].who}" if events[0].who else ""
    return _refuse(key, events[0], used, wanted, by)


def _refuse(key: str, first: Event, used: str, wanted: str, by: str = "") -> ReusedKey:
    message = (
        f"the key {key!r} was used for {used} (event {first.seq}{by}), and this call is for "
        f"{wanted}. Nothing was written: give other content another key (--key)"
    )
    return ReusedKey(message, used, wanted)


def _content(rows: int, others: "Counter[Change]", there: int = 0) -> str:
    """The number of rows, and the rows that differ from the other content.

    For rows that existed before the call, no event records the content of the call.
    """
    named = [str(one) for one in others.elements()]
    if rows == len(named) == 1:
        return named[0]
    count = f"{rows:,} {'row' if rows == 1 else 'rows'}"
    if there > 0:
        count += f" ({there:,} {'was' if there == 1 else 'were'} there already)"
    more = f" and {len(named) - MAX_NAMED} more" if len(named) > MAX_NAMED else ""
    return f"{count} with {'; '.join(named[:MAX_NAMED])}{more}" if named else count


def find_asked(tx: Transaction, key: str, call: AskCall) -> list[str]:
    """The ids that an earlier call with this key asked for; ReusedKey if the calls differ."""
    events = _read_asked(tx, key)
    if not events:
        return []
    checks = events[0].body.get("ask", {}).get("checks", call.checks)  # not kept by weal 0.2
    _compare(key, events, call, checks)
    return [str(event.id) for event in events]


def check_command(tx: Transaction, key: str, call: AskCall) -> None:
    """Raise ReusedKey if `weal ask` had this key with other numbers, or from another user.

    It asks for rows, and then for random rows under a derived key. If it was killed in between, the
    first row says how many random rows were wanted.
    """
    rows, drawn = _read_asked(tx, key), _read_asked(tx, key_of_checks(key))
    if rows:
        to_come = rows[0].body.get("ask", {}).get("checks", 0)
        _compare(key, rows, call, len(drawn) or to_come)
    elif drawn:
        alone = replace(call, n=call.checks, check=True, checks=0)
        _compare(key, drawn, call if call.n else alone, 0)


def _compare(key: str, events: Sequence[Event], call: AskCall, checks: int) -> None:
    """Raise ReusedKey if another call asked for these rows."""
    first = events[0]
    if first.kind != "asked":  # a label was told under a key with the form of our keys
        raise _refuse(key, first, str(change_of(first, str(first.body.get("quantity")))), str(call))
    lease = datetime.fromisoformat(first.body["until"]) - first.time
    drawn = bool(first.body["check"])
    options = canonical_json(first.body.get("ask", {}).get("options", {}))
    past = AskCall(len(events), first.who, drawn, call.lease and lease, checks, options)
    if past != call:
        raise _refuse(key, first, str(past), str(call))


def key_of_checks(key: str) -> str:
    """The key of the rows drawn at random in `weal ask`."""
    return f"{key} check"


def _read_asked(tx: Transaction, key: str) -> list[Event]:
    found: list[Event] = []
    while len(block := tx.events_by_keys(ask_keys(key, len(found), BLOCK_ROWS))) == BLOCK_ROWS:
        found += block
    return [*found, *block]


def ask_keys(key: str, first: int, count: int) -> list[str]:
    """The keys of `count` rows of an ask, from row number `first` on."""
    return _numbered_keys(f"ask {check_text(key, 'a key', MAX_KEY - 20)}", first, first + count)
