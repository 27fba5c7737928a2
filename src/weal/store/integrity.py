"""The checks of `weal doctor`: which rows and pages of a store are damaged.

    pages       SQLite's own integrity check, and tables and indexes as weal makes them
    events      the chain of hashes up to the head, and no event after it
    times       clocks that were wrong: a warning, since the numbers give the order
    chunks the checksums that the events have of them
    candidates  the ids in the chunks against those in the table of ids
    snapshots whether they belong to these events: a warning, since they are only a cache
    tokens their checksums; a damaged token cannot be used to log in

SQLite's check finds damaged pages and indexes, but not a changed letter in a label; the chain finds
the letter, but not an index that lost a row. A file is opened read-only, unless an unfinished write
must be rolled back first. An error of a check becomes a finding. A campaign that others wrote to
during its check is checked again. `recovery` saves the readable rows of a damaged file.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Literal

from weal.errors import DamagedStore, NotAllowed, WealError
from weal.store import sqlite_file, statements
from weal.store.events import MAX_CLOCK_DIFFERENCE, Event, from_the_future
from weal.store.sqlite import SqliteSql, translate_errors
from weal.store.statements import SqlConnection
from weal.store.urls import StoreUrl, read_name

_RECOVERY_ADVICE = "save the readable data with `weal doctor --rescue FOLDER`, or restore a backup"
_MAX_RETRIES = 5  # checks of a campaign that others are writing to
# Errors of reading damaged rows, besides the errors of a database.
ROW_ERRORS = (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    level: Literal["fine", "warning", "broken"]
    what: str
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.what}; {self.advice}" if self.advice else self.what


def broken_finding(what: str) -> Finding:
    """A finding of damage, with advice."""
    return Finding("broken", what, _RECOVERY_ADVICE)


def check_safely(look: Callable[[], list[Finding]], place: str) -> list[Finding]:
    """Run a check; its error becomes a finding."""
    try:
        with translate_errors(place):
            return look()
    except WealError as error:
        return [broken_finding(str(error))]
    except ROW_ERRORS as error:
        return [broken_finding(f"{place} has unreadable data ({type(error).__name__}: {error})")]


def campaigns(sql: SqlConnection) -> list[Finding]:
    """All findings about the campaigns of a store."""
    strays = {name for (name,) in sql.rows("SELECT DISTINCT campaign FROM weal_event")}
    names = statements.campaigns(sql)  # after the events: a new campaign is not a stray
    found = [
        broken_finding(f"events of {name!r}, which is not a campaign")
        for name in sorted(strays - {*names}, key=str)
    ]
    for name in names:
        found += _check_until_stable(sql, name)
    return found


def _check_until_stable(sql: SqlConnection, name: str) -> list[Finding]:
    """Check a campaign, again if others wrote to it during the check."""
    for left in reversed(range(_MAX_RETRIES)):
        before = _attempt_head(sql, name)
        found = check_safely(lambda: _campaign(sql, name), sql.place)
        sound = not any(one.level == "broken" for one in found)
        if sound or not left or before == _attempt_head(sql, name):
            break
    return found


def _attempt_head(sql: SqlConnection, name: str) -> object:
    try:
        with translate_errors(sql.place):
            return statements.head(sql, name)
    except WealError:
        return None  # the check of the campaign reports the error


def _campaign(sql: SqlConnection, name: str) -> list[Finding]:
    events = statements.read(sql, name, 0)
    found = [Finding("fine", f"{name!r}: {len(events)} events, all hashes are correct")]
    found += _times(sql, name, events)
    for look in (_chunks, _ids, _snapshots):
        found += check_safely(lambda look=look: look(sql, name, events), sql.place)  # type: ignore[misc]
    return found


def _times(sql: SqlConnection, name: str, events: list[Event]) -> list[Finding]:
    """Warnings on events from wrong clocks."""
    found = []
    if future := from_the_future(events, sql.now()):
        first, what = future[0], "the clock of its writer was wrong: rows asked then are out"
        many = "event" if len(future) == 1 else f"{len(future)} events, the first"
        words = f"{name!r}: {many} {first.seq} of {first.time:%Y-%m-%d %H:%M} UTC, in the future"
        found.append(Finding("warning", words, f"{what} until then, or until `weal withdraw`"))
    back = [
        later.seq
        for event, later in pairwise(events)
        if later.time < event.time - MAX_CLOCK_DIFFERENCE
    ]
    if back:
        words = f"{name!r}: times go back at event {back[0]}"
        advice = "a clock was wrong; the event numbers give the order"
        found.append(Finding("warning", words, advice))
    return found


def _chunks(sql: SqlConnection, name: str, events: list[Event]) -> list[Finding]:
    every = [event.body for event in events if event.kind == "added"]
    added = [body for body in every if "shards" not in body]  # shards stay in their files
    if every and not added:
        files = sum(len(body["shards"].get("files", ())) for body in every)
        return [Finding("fine", f"{name!r}: its candidates are in {files} files, not checked")]
    count = statements.chunk_count(sql, name)
    sums = "SELECT number, sha256 FROM weal_chunk WHERE campaign = ?"
    kept: dict[object, object] = dict(sql.rows(sums, (name,)))
    lost = [body for body in added if kept.get(body.get("chunk")) != body.get("sha256")]
    if lost or count != len(added):
        number = lost[0].get("chunk") if lost else len(added)
        return [broken_finding(f"{name!r}: chunk {number} differs from the chunk that was added")]
    ids = _ids_in((statements.chunk(sql, name, n) for n in range(count)), events[0].body.get("id"))
    text = "SELECT count(*) FROM weal_candidate WHERE campaign = ?"
    rows, expected = sql.rows(text, (name,))[0][0], sum(body.get("rows", 0) for body in added)
    if rows != expected:
        return [
            broken_finding(f"{name!r}: it has {rows} ids, but {expected} candidates were added")
        ]
    whole = Finding("fine", f"{name!r}: {rows} candidates, all checksums are correct")
    return [whole, *_compare_ids(sql, name, ids)]


def _compare_ids(sql: SqlConnection, name: str, ids: list[str] | None) -> list[Finding]:
    """Candidates whose id is missing in the table of ids."""
    if ids is None:
        what = f"{name!r}: its chunks cannot be read as tables, so ids were not compared"
        return [Finding("warning", what, "is pyarrow installed? pip install pyarrow")]
    lost = sorted(set(ids) - statements.existing_ids(sql, name, ids))
    if lost:
        first = ", ".join(map(repr, lost[:5]))
        return [
            broken_finding(f"{name!r}: {len(lost)} candidates are not in its table of ids: {first}")
        ]
    return []


def _ids_in(chunks: Iterator[bytes], column: str) -> list[str] | None:
    """The ids in the chunks; None if the chunks cannot be read as tables."""
    ids: list[str] | None = []
    for data in chunks:
        some = _column(data, column)
        ids = None if ids is None or some is None else ids + some
    return ids


def _column(data: bytes, column: str) -> list[str] | None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq

        # Without Arrow's threads: one that lets go of `data` while Python shuts down ends the
        # process with SIGABRT.
        file = pq.ParquetFile(pa.BufferReader(data), pre_buffer=False)
        table = file.read([column], use_threads=False)
        return [str(name) for name in table.column(column).to_pylist()]
    except (ImportError, OSError, *ROW_ERRORS):  # pyarrow's own errors are among these
        return None


def _ids(sql: SqlConnection, name: str, events: list[Event]) -> list[Finding]:
    if any("shards" in event.body for event in events if event.kind == "added"):
        return []  # their ids are in files
    named = {event.id for event in events if event.id is not None}
    lost = sorted(named - statements.existing_ids(sql, name, named))
    if lost:
        first = ", ".join(map(repr, lost[:5]))
        return [broken_finding(f"{name!r}: {len(lost)} ids of events are not candidates: {first}")]
    return [Finding("fine", f"{name!r}: every event refers to a known candidate")]


def _snapshots(sql: SqlConnection, name: str, events: list[Event]) -> list[Finding]:
    found: list[Finding] = []
    hashes = {event.seq: event.hash for event in events}
    kinds = sql.rows("SELECT kind FROM weal_snapshot WHERE campaign = ?", (name,))
    for (kind,) in kinds:
        kept = statements.snapshot(sql, name, kind)
        if kept is None or hashes.get(kept[0]) != kept[1]:
            what = f"{name!r}: the snapshot {kind!r} does not belong to its events"
            found.append(Finding("warning", what, "it is not used; opening takes longer, once"))
    return found


def check_tokens(sql: SqlConnection) -> list[Finding]:
    """Findings about the tokens; a damaged token does not affect labels."""
    try:
        found = statements.tokens(sql)
    except NotAllowed as error:
        return [Finding("warning", f"the tokens were not checked: {error}")]
    except DamagedStore as error:
        advice = "delete its row from weal_token, and make a new one with `weal token add`"
        return [Finding("broken", str(error).partition(";")[0], advice)]
    valid = sum(one.state(sql.now()) == "valid" for one in found)
    words = f"tokens: {len(found)}, of which valid: {valid}; all checksums are correct"
    return [Finding("fine", words)] if found else []


def examine(url: str | PathLike[str] | None) -> list[Finding]:
    """All findings about the store; "broken" ones need action."""
    name = read_name(url)
    try:
        if name.kind == "memory":
            return [Finding("fine", "a store in memory, which is lost when the program ends")]
        if name.kind == "postgres":
            return _examine_server(name)
        return examine_file(Path(name.address), name.shown)
    except WealError as error:
        return [broken_finding(str(error))]


def examine_file(path: Path, place: str) -> list[Finding]:
    """All findings about a SQLite file."""
    sqlite_file.check_path(path, place)
    if not path.exists():
        advice = "check its name, or create a campaign: `weal new`"
        return [Finding("broken", f"there is no store {place}", advice)]
    with _open_read_only(path, place) as connection:
        sql = SqliteSql(place, connection)
        looks = (
            lambda: _header(connection, place),
            lambda: _pages(connection, place),
            lambda: _tables(connection),
            lambda: _safety(connection, path, place),
            lambda: campaigns(sql),
            lambda: check_tokens(sql),
        )
        found: list[Finding] = []
        for look in looks:
            found += check_safely(look, place)
            if any(one.what == _empty(place) for one in found):
                break
        return list(dict.fromkeys(found))  # an unreadable file is reported once


@contextmanager
def _open_read_only(path: Path, place: str) -> Iterator[sqlite3.Connection]:
    """A read-only connection; a writable one if a journal must be rolled back."""
    with translate_errors(place):
        connection = _connect(path, "ro")
        try:
            connection.execute("SELECT count(*) FROM sqlite_master")
        except sqlite3.OperationalError:
            connection.close()
            connection = _connect(path, "rw")
        except (sqlite3.DatabaseError, UnicodeDecodeError):
            pass  # each check reports its own error
    with closing(connection):
        yield connection


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    address = f"{path.as_uri()}?mode={mode}"
    connection = sqlite3.connect(
        address, uri=True, timeout=sqlite_file.BUSY_TIMEOUT_SECONDS, isolation_level=None
    )
    connection.execute("PRAGMA trusted_schema=OFF")
    return connection


def _empty(place: str) -> str:
    return f"{place} is empty"


def _header(connection: sqlite3.Connection, place: str) -> list[Finding]:
    found = sqlite_file.version(connection, place)
    newest = len(statements.SQLITE)
    if not found:
        advice = "if it had labels, restore a backup; if not, `weal new` creates a store in it"
        return [Finding("broken", _empty(place), advice)]
    if found < newest:
        what = f"its tables have version {found}, and {newest} is the newest"
        return [Finding("warning", what, "the next use makes a copy and upgrades it")]
    return [Finding("fine", f"a weal store, schema version {found}")]


def _pages(connection: sqlite3.Connection, place: str) -> list[Finding]:
    lines = [str(line) for (line,) in connection.execute("PRAGMA integrity_check(20)")]
    if lines == ["ok"]:
        return [Finding("fine", "SQLite's check of pages and indexes passed")]
    return [broken_finding(f"SQLite finds in {place}: {line}") for line in lines]


def _tables(connection: sqlite3.Connection) -> list[Finding]:
    """Compare tables and indexes with those of a new store."""
    there = _schema_objects(connection)
    steps = statements.SQLITE[: sqlite_file.pragma(connection, "user_version")]
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        for statement in (one for step in steps for one in step):
            fresh.execute(statement)
        if "weal_token" in there:  # of stores with tokens
            fresh.execute(statements.SQLITE_TOKENS)
        ours = _schema_objects(fresh)
    return [
        _schema_finding(str(name), ours.get(name), there.get(name))
        for name in sorted({*ours, *there}, key=str)
        if there.get(name) != ours.get(name)
    ]


def _schema_objects(connection: sqlite3.Connection) -> dict[str, tuple[str, str]]:
    """Name -> type and SQL of all tables and indexes, without automatic ones."""
    text = "SELECT name, type, sql FROM sqlite_master WHERE sql IS NOT NULL"
    return {
        name: (str(kind), " ".join(str(words).split()))
        for name, kind, words in connection.execute(text)
    }


def _schema_finding(
    name: str, ours: tuple[str, str] | None, there: tuple[str, str] | None
) -> Finding:
    if there is None:
        kind, sql = ours or ("table", "")
        if kind == "table":
            return broken_finding(f"the table {name} is missing")
        advice = f"the store is slower and checks less without it; create it again: {sql}"
        return Finding("warning", f"the index {name} is missing", advice)
    if ours is None:
        advice = "weal did not make it: delete it if nobody else needs it"
        return Finding("warning", f"there is a {there[0]} {name} that weal did not create", advice)
    return broken_finding(
        f"the {ours[0]} {name} is not as weal made it: it is a {there[0]}, {there[1]}"
    )


def _safety(connection: sqlite3.Connection, path: Path, place: str) -> list[Finding]:
    journal = str(connection.execute("PRAGMA journal_mode").fetchone()[0])
    connection.execute("PRAGMA synchronous=EXTRA")
    synced = sqlite_file.pragma(connection, "synchronous") >= 2
    sync = "writes are synced to disk" if synced else "writes are not synced to disk"
    found = [Finding("fine" if synced else "broken", f"journal mode {journal}, {sync}")]
    if journal == "wal" and not sqlite_file.log_is_safe(path):
        advice = "upgrade SQLite to 3.51.3; the next use goes back to the rollback journal"
        found.append(Finding("warning", "a write-ahead log, which is not safe here", advice))
    return found


def _examine_server(name: StoreUrl) -> list[Finding]:
    from weal.store import postgres  # needs the extra

    def look(sql: SqlConnection) -> list[Finding]:
        found = [Finding("fine", f"{sql.place} answers")]
        for setting in ("fsync", "full_page_writes"):
            if sql.rows("SELECT current_setting(?)", (setting,))[0][0] != "on":
                advice = f"set {setting} = on: without it a power cut can lose labels"
                found.append(Finding("warning", f"the server runs with {setting} off", advice))
        return [*found, *campaigns(sql), *check_safely(lambda: check_tokens(sql), sql.place)]

    with closing(postgres.open(name)) as store:
        if not store.engine.read(lambda sql: isinstance(sql, postgres.PostgresSql)):
            advice = "check its name, or create a campaign: `weal new`"
            return [Finding("broken", f"there is no store in {name.shown}", advice)]
        return store.engine.read(look)
