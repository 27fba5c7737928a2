"""What is wrong with a store: SQLite's own check and the chain of hashes, since neither finds all.

SQLite's check sees damaged pages and indexes, but not a changed letter in a label; the chain sees
the letter, but not an index that lost a row. A file is opened read-only, unless a write was cut
short and has to be rolled back first, as any use of the store would. `rescue` saves what is left.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from weal.errors import WealError
from weal.store import schema, sqlite_file, statements
from weal.store.events import Event
from weal.store.rescue import rescue
from weal.store.sqlite import SqliteSql, in_our_words, path_of
from weal.store.statements import Sql

__all__ = ["Finding", "examine", "rescue"]

_RESCUE = "save what can still be read with `weal doctor --rescue FOLDER`, or go back to a copy"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    level: Literal["fine", "warning", "broken"]
    what: str
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.what}; {self.advice}" if self.advice else self.what


def examine(url: str) -> list[Finding]:
    """All findings about the store; those that are "broken" need care."""
    try:
        if url.startswith("memory:"):
            return [Finding("fine", "a store in memory: nothing is kept")]
        if url.startswith(("postgres://", "postgresql://")):
            return _examine_server(url)
        return _examine_file(path_of(url), url)
    except WealError as error:
        return [_broken(str(error))]


def _broken(what: str) -> Finding:
    return Finding("broken", what, _RESCUE)


def _attempt(look: Callable[[], list[Finding]], place: str) -> list[Finding]:
    """The findings, or the error that looking ended with."""
    try:
        with in_our_words(place):
            return look()
    except WealError as error:
        return [_broken(str(error))]


def _examine_file(path: Path, place: str) -> list[Finding]:
    if not path.exists():
        return [Finding("warning", f"{place} does not exist yet", "make a campaign: `weal new`")]
    sqlite_file.check_path(path, place)
    with _opened(path, place) as connection:
        sql = SqliteSql(place, connection)
        looks = (
            lambda: _header(connection, place),
            lambda: _pages(connection, place),
            lambda: _safety(connection, path, place),
            lambda: _campaigns(sql),
        )
        return [finding for look in looks for finding in _attempt(look, place)]


@contextmanager
def _opened(path: Path, place: str) -> Iterator[sqlite3.Connection]:
    """A connection that cannot write; one that can where a journal must be rolled back."""
    address = f"file:{quote(str(path))}?mode="
    with in_our_words(place):
        connection = sqlite3.connect(f"{address}ro", uri=True, timeout=sqlite_file.PATIENCE)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master")
        except sqlite3.OperationalError:
            connection.close()
            connection = sqlite3.connect(f"{address}rw", uri=True, timeout=sqlite_file.PATIENCE)
        except sqlite3.DatabaseError:
            pass  # each look says what it could not see
    with closing(connection):
        yield connection


def _header(connection: sqlite3.Connection, place: str) -> list[Finding]:
    found = sqlite_file.version(connection, place)
    newest = len(schema.SQLITE)
    if not found:
        return [Finding("warning", f"{place} is empty", "if it held labels, go back to a copy")]
    if found < newest:
        what = f"its tables have version {found}, and {newest} is the newest"
        return [Finding("warning", what, "the next use makes a copy and upgrades it")]
    return [Finding("fine", f"a store of weal, tables of version {found}")]


def _pages(connection: sqlite3.Connection, place: str) -> list[Finding]:
    lines = [str(line) for (line,) in connection.execute("PRAGMA integrity_check(20)")]
    if lines == ["ok"]:
        return [Finding("fine", "SQLite finds its pages and indexes in order")]
    return [_broken(f"SQLite finds in {place}: {line}") for line in lines]


def _safety(connection: sqlite3.Connection, path: Path, place: str) -> list[Finding]:
    journal = str(connection.execute("PRAGMA journal_mode").fetchone()[0])
    connection.execute("PRAGMA synchronous=EXTRA")
    synced = sqlite_file.pragma(connection, "synchronous") >= 2
    found = [Finding("fine" if synced else "broken", f"journal {journal}, synced: {synced}")]
    if journal == "wal" and not sqlite_file.log_is_safe(path):
        advice = "upgrade SQLite to 3.51.3; the next use goes back to the rollback journal"
        found.append(Finding("warning", "a write-ahead log, which is not safe here", advice))
    return found


def _examine_server(url: str) -> list[Finding]:
    from weal.store import postgres  # needs the extra

    def look(sql: Sql) -> list[Finding]:
        found = [Finding("fine", f"{sql.place} answers")]
        for name in ("fsync", "full_page_writes"):
            if sql.rows("SELECT current_setting(?)", (name,))[0][0] != "on":
                advice = f"set {name} = on: without it a power cut can lose labels"
                found.append(Finding("warning", f"the server runs with {name} off", advice))
        return [*found, *_campaigns(sql)]

    with closing(postgres.open(url)) as store:
        return store.engine.read(look)


def _campaigns(sql: Sql) -> list[Finding]:
    names = statements.campaigns(sql)
    strays = {name for (name,) in sql.rows("SELECT DISTINCT campaign FROM weal_event")}
    found = [_broken(f"events of {name!r}, which is not a campaign") for name in strays - {*names}]
    for name in names:
        found += _attempt(lambda name=name: _campaign(sql, name), sql.place)  # type: ignore[misc]
    return found


def _campaign(sql: Sql, name: str) -> list[Finding]:
    events = statements.read(sql, name, 0)
    found = [Finding("fine", f"{name!r}: {len(events)} events, each with the right hash")]
    if any(later.time < event.time for event, later in pairwise(events)):
        found.append(_broken(f"{name!r}: times of events go backwards"))
    for look in (_candidates, _ids, _snapshots):
        found += _attempt(lambda look=look: look(sql, name, events), sql.place)  # type: ignore[misc]
    return found


def _candidates(sql: Sql, name: str, events: list[Event]) -> list[Finding]:
    added = [event.body for event in events if event.kind == "added"]
    count = statements.chunk_count(sql, name)
    for number in range(count):
        statements.chunk(sql, name, number)
    sums = "SELECT number, sha256 FROM weal_chunk WHERE campaign = ?"
    kept = dict(sql.rows(sums, (name,)))
    lost = [body for body in added if kept.get(body.get("chunk")) != body.get("sha256")]
    if lost:
        return [_broken(f"{name!r}: chunk {lost[0].get('chunk')} is not the one that was added")]
    text = "SELECT count(*) FROM weal_candidate WHERE campaign = ?"
    rows, expected = sql.rows(text, (name,))[0][0], sum(body.get("rows", 0) for body in added)
    if rows != expected:
        return [_broken(f"{name!r}: {rows} ids are there, but {expected} candidates were added")]
    return [Finding("fine", f"{name!r}: {rows} candidates in {count} chunks with the right sums")]


def _ids(sql: Sql, name: str, events: list[Event]) -> list[Finding]:
    named = {event.id for event in events if event.id is not None}
    lost = sorted(named - statements.known(sql, name, named))
    if lost:
        first = ", ".join(map(repr, lost[:5]))
        return [_broken(f"{name!r}: events of {len(lost)} ids that are no candidates: {first}")]
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
