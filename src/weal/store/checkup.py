"""What is wrong with the campaigns of a store, whatever database they are in.

    events      the chain of hashes up to the head, and nothing behind it
    times       clocks that were wrong: a warning, since the order comes from the numbers
    chunks      the sums that the chain has of them
    candidates  the ids in the chunks against those in the table of ids
    snapshots   of these events, or a warning: they are advice

Whatever a look ends with is a finding. A campaign that others write to meanwhile is looked at
again.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from weal.errors import WealError
from weal.store import statements
from weal.store.events import AHEAD, Event, from_the_future
from weal.store.sqlite import in_our_words
from weal.store.statements import Sql

_RESCUE = "save what can still be read with `weal doctor --rescue FOLDER`, or go back to a copy"
_TRIES = 5  # looks at a campaign that others write to meanwhile
# What reading rows can end with that are not what was written, beside the errors of a database.
ODD = (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    level: Literal["fine", "warning", "broken"]
    what: str
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.what}; {self.advice}" if self.advice else self.what


def broken(what: str) -> Finding:
    """A finding that needs care."""
    return Finding("broken", what, _RESCUE)


def attempt(look: Callable[[], list[Finding]], place: str) -> list[Finding]:
    """The findings, or the error that looking ended with."""
    try:
        with in_our_words(place):
            return look()
    except WealError as error:
        return [broken(str(error))]
    except ODD as error:
        return [broken(f"{place} holds what cannot be read ({type(error).__name__}: {error})")]


def campaigns(sql: Sql) -> list[Finding]:
    """All findings about the campaigns of a store."""
    strays = {name for (name,) in sql.rows("SELECT DISTINCT campaign FROM weal_event")}
    names = statements.campaigns(sql)  # after the events: a new campaign is not a stray
    found = [
        broken(f"events of {name!r}, which is not a campaign")
        for name in sorted(strays - {*names}, key=str)
    ]
    for name in names:
        found += _settled(sql, name)
    return found


def _settled(sql: Sql, name: str) -> list[Finding]:
    """What is found in a campaign, looked at again where others have written meanwhile."""
    for left in reversed(range(_TRIES)):
        before = _attempt_head(sql, name)
        found = attempt(lambda: _campaign(sql, name), sql.place)
        sound = not any(one.level == "broken" for one in found)
        if sound or not left or before == _attempt_head(sql, name):
            break
    return found


def _attempt_head(sql: Sql, name: str) -> object:
    try:
        with in_our_words(sql.place):
            return statements.head(sql, name)
    except WealError:
        return None  # what is wrong with it is found in the campaign


def _campaign(sql: Sql, name: str) -> list[Finding]:
    events = statements.read(sql, name, 0)
    found = [Finding("fine", f"{name!r}: {len(events)} events, each with the right hash")]
    found += _times(sql, name, events)
    for look in (_chunks, _ids, _snapshots):
        found += attempt(lambda look=look: look(sql, name, events), sql.place)  # type: ignore[misc]
    return found


def _times(sql: Sql, name: str, events: list[Event]) -> list[Finding]:
    """What the clocks of those who wrote were wrong about; the order comes from the numbers."""
    found = []
    if future := from_the_future(events, sql.now()):
        first, what = future[0], "the clock of whoever wrote it was wrong: rows asked then are out"
        many = "event" if len(future) == 1 else f"{len(future)} events, the first"
        words = f"{name!r}: {many} {first.seq} of {first.time:%Y-%m-%d %H:%M} UTC, in the future"
        found.append(Finding("warning", words, f"{what} until then, or until `weal withdraw`"))
    back = [later.seq for event, later in pairwise(events) if later.time < event.time - AHEAD]
    if back:
        words = f"{name!r}: times go back at event {back[0]}"
        found.append(Finding("warning", words, "a clock was wrong; numbers tell the order"))
    return found


def _chunks(sql: Sql, name: str, events: list[Event]) -> list[Finding]:
    every = [event.body for event in events if event.kind == "added"]
    added = [body for body in every if "shards" not in body]  # those stay in their files
    if every and not added:
        files = sum(len(body["shards"].get("files", ())) for body in every)
        return [Finding("fine", f"{name!r}: its candidates are in {files} files, not looked at")]
    count = statements.chunk_count(sql, name)
    sums = "SELECT number, sha256 FROM weal_chunk WHERE campaign = ?"
    kept = dict(sql.rows(sums, (name,)))
    lost = [body for body in added if kept.get(body.get("chunk")) != body.get("sha256")]
    if lost or count != len(added):
        number = lost[0].get("chunk") if lost else len(added)
        return [broken(f"{name!r}: chunk {number} is not the one that was added")]
    ids = _ids_in((statements.chunk(sql, name, n) for n in range(count)), events[0].body.get("id"))
    text = "SELECT count(*) FROM weal_candidate WHERE campaign = ?"
    rows, expected = sql.rows(text, (name,))[0][0], sum(body.get("rows", 0) for body in added)
    if rows != expected:
        return [broken(f"{name!r}: {rows} ids are there, but {expected} candidates were added")]
    whole = Finding("fine", f"{name!r}: {rows} candidates in {count} chunks with the right sums")
    return [whole, *_compared(sql, name, ids)]


def _compared(sql: Sql, name: str, ids: list[str] | None) -> list[Finding]:
    """Candidates whose id is not in the table of ids; or why they could not be compared."""
    if ids is None:
        what = f"{name!r}: its chunks cannot be read as tables, so that ids were not compared"
        return [Finding("warning", what, 'is pyarrow there? pip install "weal[campaign]"')]
    lost = sorted(set(ids) - statements.known(sql, name, ids))
    if lost:
        first = ", ".join(map(repr, lost[:5]))
        return [broken(f"{name!r}: {len(lost)} candidates are not in its table of ids: {first}")]
    return []


def _ids_in(chunks: Iterator[bytes], column: Any) -> list[str] | None:
    """The ids in the chunks; None where no table can be read there."""
    ids: list[str] | None = []
    for data in chunks:
        some = _column(data, column)
        ids = None if ids is None or some is None else ids + some
    return ids


def _column(data: bytes, column: Any) -> list[str] | None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq

        # Without Arrow's threads: one that lets go of `data` while Python shuts down ends the
        # process with SIGABRT.
        file = pq.ParquetFile(pa.BufferReader(data), pre_buffer=False)
        table = file.read([column], use_threads=False)
        return [str(name) for name in table.column(column).to_pylist()]
    except (ImportError, OSError, *ODD):  # pyarrow's own errors are among these
        return None


def _ids(sql: Sql, name: str, events: list[Event]) -> list[Finding]:
    if any("shards" in event.body for event in events if event.kind == "added"):
        return []  # their ids are in files
    named = {event.id for event in events if event.id is not None}
    lost = sorted(named - statements.known(sql, name, named))
    if lost:
        first = ", ".join(map(repr, lost[:5]))
        return [broken(f"{name!r}: events of {len(lost)} ids that are no candidates: {first}")]
    return [Finding("fine", f"{name!r}: every event is of a candidate")]


def _snapshots(sql: Sql, name: str, events: list[Event]) -> list[Finding]:
    found: list[Finding] = []
    hashes = {event.seq: event.hash for event in events}
    kinds = sql.rows("SELECT kind FROM weal_snapshot WHERE campaign = ?", (name,))
    for (kind,) in kinds:
        kept = statements.snapshot(sql, name, kind)
        if kept is None or hashes.get(kept[0]) != kept[1]:
            what = f"{name!r}: the snapshot {kind!r} does not belong to its events"
            found.append(Finding("warning", what, "it is not used; opening takes longer, once"))
    return found
