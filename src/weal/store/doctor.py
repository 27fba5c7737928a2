"""What is wrong with a store: SQLite's own check and the chain of hashes, since neither finds all.

SQLite's check sees damaged pages and indexes, but not a changed letter in a label; the chain sees
the letter, but not an index that lost a row, nor a candidate that is called otherwise than in the
table that was added: ids are compared with those in the chunks, whose sums are in the chain. A
file is opened read-only, unless a write was cut short and has to be rolled back first, as any use
of the store would. Whatever a look ends with is a finding; `rescue` saves what is left.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from weal.errors import WealError
from weal.store import schema, sqlite_file
from weal.store.checkup import Finding, attempt, broken, campaigns
from weal.store.naming import Name, read_name
from weal.store.rescue import rescue
from weal.store.sqlite import in_our_words
from weal.store.sqlite_sql import SqliteSql
from weal.store.statements import Sql

__all__ = ["Finding", "examine", "rescue"]


def examine(url: str | PathLike[str] | None) -> list[Finding]:
    """All findings about the store; those that are "broken" need care."""
    name = read_name(url)
    try:
        if name.kind == "memory":
            return [Finding("fine", "a store in memory: nothing is kept")]
        if name.kind == "postgres":
            return _examine_server(name)
        return examine_file(Path(name.address), name.shown)
    except WealError as error:
        return [broken(str(error))]


def examine_file(path: Path, place: str) -> list[Finding]:
    """All findings about a SQLite file."""
    sqlite_file.check_path(path, place)
    if not path.exists():
        advice = "check its name, or make a campaign: `weal new`"
        return [Finding("broken", f"there is no store {place}", advice)]
    with _opened(path, place) as connection:
        sql = SqliteSql(place, connection)
        looks = (
            lambda: _header(connection, place),
            lambda: _pages(connection, place),
            lambda: _tables(connection),
            lambda: _safety(connection, path, place),
            lambda: campaigns(sql),
        )
        found: list[Finding] = []
        for look in looks:
            found += attempt(look, place)
            if any(one.what == _empty(place) for one in found):
                break
        return list(dict.fromkeys(found))  # a file that cannot be read is said so once


@contextmanager
def _opened(path: Path, place: str) -> Iterator[sqlite3.Connection]:
    """A connection that cannot write; one that can where a journal must be rolled back."""
    with in_our_words(place):
        connection = _connected(path, "ro")
        try:
            connection.execute("SELECT count(*) FROM sqlite_master")
        except sqlite3.OperationalError:
            connection.close()
            connection = _connected(path, "rw")
        except (sqlite3.DatabaseError, UnicodeDecodeError):
            pass  # each look says what it could not see
    with closing(connection):
        yield connection


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    address = f"{path.as_uri()}?mode={mode}"
    connection = sqlite3.connect(
        address, uri=True, timeout=sqlite_file.PATIENCE, isolation_level=None
    )
    connection.execute("PRAGMA trusted_schema=OFF")
    return connection


def _empty(place: str) -> str:
    return f"{place} is empty"


def _header(connection: sqlite3.Connection, place: str) -> list[Finding]:
    found = sqlite_file.version(connection, place)
    newest = len(schema.SQLITE)
    if not found:
        advice = "if it held labels, go back to a copy; if not, `weal new` makes a store of it"
        return [Finding("broken", _empty(place), advice)]
    if found < newest:
        what = f"its tables have version {found}, and {newest} is the newest"
        return [Finding("warning", what, "the next use makes a copy and upgrades it")]
    return [Finding("fine", f"a store of weal, tables of version {found}")]


def _pages(connection: sqlite3.Connection, place: str) -> list[Finding]:
    lines = [str(line) for (line,) in connection.execute("PRAGMA integrity_check(20)")]
    if lines == ["ok"]:
        return [Finding("fine", "SQLite finds its pages and indexes in order")]
    return [broken(f"SQLite finds in {place}: {line}") for line in lines]


def _tables(connection: sqlite3.Connection) -> list[Finding]:
    """Tables and indexes beside those that we would have made."""
    there = _made(connection)
    steps = schema.SQLITE[: sqlite_file.pragma(connection, "user_version")]
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        for statement in (one for step in steps for one in step):
            fresh.execute(statement)
        ours = _made(fresh)
    return [
        _changed(str(name), ours.get(name), there.get(name))
        for name in sorted({*ours, *there}, key=str)
        if there.get(name) != ours.get(name)
    ]


def _made(connection: sqlite3.Connection) -> dict[Any, tuple[str, str]]:
    """Name -> type and words of all that was made in a file, automatic indexes apart."""
    text = "SELECT name, type, sql FROM sqlite_master WHERE sql IS NOT NULL"
    return {
        name: (str(kind), " ".join(str(words).split()))
        for name, kind, words in connection.execute(text)
    }


def _changed(name: str, ours: Any, there: Any) -> Finding:
    if ours is None:
        advice = "weal did not make it: delete it if nobody else needs it"
        return Finding("warning", f"there is a {there[0]} {name} of somebody else's", advice)
    if there is None and ours[0] == "index":
        advice = f"the store is slower without it, and checks less; make it again: {ours[1]}"
        return Finding("warning", f"the index {name} is missing", advice)
    if there is None:
        return broken(f"the table {name} is missing")
    return broken(f"the {ours[0]} {name} is not as weal made it: it is a {there[0]}, {there[1]}")


def _safety(connection: sqlite3.Connection, path: Path, place: str) -> list[Finding]:
    journal = str(connection.execute("PRAGMA journal_mode").fetchone()[0])
    connection.execute("PRAGMA synchronous=EXTRA")
    synced = sqlite_file.pragma(connection, "synchronous") >= 2
    found = [Finding("fine" if synced else "broken", f"journal {journal}, synced: {synced}")]
    if journal == "wal" and not sqlite_file.log_is_safe(path):
        advice = "upgrade SQLite to 3.51.3; the next use goes back to the rollback journal"
        found.append(Finding("warning", "a write-ahead log, which is not safe here", advice))
    return found


def _examine_server(name: Name) -> list[Finding]:
    from weal.store import postgres  # needs the extra

    def look(sql: Sql) -> list[Finding]:
        found = [Finding("fine", f"{sql.place} answers")]
        for setting in ("fsync", "full_page_writes"):
            if sql.rows("SELECT current_setting(?)", (setting,))[0][0] != "on":
                advice = f"set {setting} = on: without it a power cut can lose labels"
                found.append(Finding("warning", f"the server runs with {setting} off", advice))
        return [*found, *campaigns(sql)]

    with closing(postgres.open(name)) as store:
        if not store.engine.read(lambda sql: isinstance(sql, postgres.PostgresSql)):
            advice = "check its name, or make a campaign: `weal new`"
            return [Finding("broken", f"there is no store in {name.shown}", advice)]
        return store.engine.read(look)
