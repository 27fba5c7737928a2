"""The store in one SQLite file: the default, without a server.

Every write is BEGIN IMMEDIATE, work, COMMIT: the lock is taken before anything is read, so writers
queue and none is refused. One connection serves the threads of a process in turn; a forked
child opens its own. The first write makes a store of a missing or empty file; until then readers
see an empty store, and do not write the file. Errors of SQLite become WealError with the name of
the file; a failed write is rolled back, and the store stays usable.

A statement that finds the file locked is tried again until a timeout, with pauses that get shorter,
so a writer that has waited long is not overtaken. Python sleeps, not SQLite, so Ctrl-C works.
"""

import json
import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from weal.errors import NotAllowed, WealError
from weal.store import sqlite_file
from weal.store.database import FIRST_PAUSE_SECONDS, DatabaseStore, SharedConnection, pauses
from weal.store.events import SqlRow, damage_error
from weal.store.statements import SQLITE_TOKENS, SqlConnection
from weal.store.urls import StoreUrl


@dataclass(frozen=True, slots=True)
class SqliteSql:
    """An open connection to a file."""

    place: str
    connection: sqlite3.Connection
    locking: str = ""  # BEGIN IMMEDIATE has locked the whole file
    among: str = "IN (SELECT value FROM json_each(?))"

    def as_list(self, values: list[str]) -> str:
        return json.dumps(values)

    def rows(self, text: str, values: Sequence[object] = ()) -> list[SqlRow]:
        return self._patiently(text, values)[0]

    def begin(self) -> bool:
        """Take the write lock; True if others had it first."""
        return self._patiently("BEGIN IMMEDIATE", ())[1] > 0

    def _patiently(self, text: str, values: Sequence[object]) -> tuple[list[SqlRow], int]:
        """The rows of a statement, and the number of failed tries."""
        deadline = time.monotonic() + sqlite_file.BUSY_TIMEOUT_SECONDS
        for tries, pause in enumerate(pauses()):
            try:
                return self.connection.execute(text, values).fetchall(), tries
            except sqlite3.OperationalError as error:
                if not _is_busy(error) or time.monotonic() > deadline:
                    raise
            time.sleep(pause)
        raise AssertionError("the pauses never end")

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        marks = ", ".join("?" * len(columns))
        self.connection.executemany(
            f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows
        )
        sqlite_file.trace("after insert")

    def now(self) -> datetime:
        text = self.rows("SELECT strftime('%Y-%m-%dT%H:%M:%f', 'now')")[0][0]
        return datetime.fromisoformat(text).replace(tzinfo=UTC)

    def has_tokens(self) -> bool:
        return bool(self.rows("SELECT 1 FROM sqlite_master WHERE name = 'weal_token'"))

    def make_tokens(self) -> None:
        if not self.has_tokens():
            self.rows(SQLITE_TOKENS)

    def raise_version(self, number: int) -> None:
        if sqlite_file.pragma(self.connection, "user_version") < number:
            self.rows(f"PRAGMA user_version={number:d}")


@contextmanager
def empty_store(place: str) -> Iterator[SqliteSql]:
    """A connection to an empty store in memory."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        sqlite_file.build(connection)
        yield SqliteSql(place, connection)
    finally:
        connection.close()


def _is_busy(error: sqlite3.OperationalError) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


T = TypeVar("T")
CONTENTION_SECONDS = 1.0  # seconds for which a wait is remembered
LOCK_TIMEOUT_SECONDS = 30.0  # seconds to wait for the lock
_PERMISSION_ERRORS = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)


class SqliteEngine:
    """Transactions on one file."""

    def __init__(self, path: Path, place: str) -> None:
        self.place = place
        self._path = path
        self._shared: SharedConnection[sqlite3.Connection] = SharedConnection()
        self._crowded = 0.0  # until when other writers probably wait
        self._file = (0, 0)  # device and inode of the open file
        sqlite_file.check_path(path, place)
        if path.exists():
            self.read(lambda sql: None)  # raises at once if the file is wrong

    def read(self, work: Callable[[SqlConnection], T]) -> T:
        with self._connection(make=False) as sql:
            return work(sql)

    def write(self, work: Callable[[SqlConnection, bool], T]) -> T:
        with self._connection(make=True) as sql:
            self._check_in_place()
            sqlite_file.trace("before begin")
            self._begin(sql)
            try:
                answer = work(sql, False)
                sqlite_file.trace("before commit")
                sql.rows("COMMIT")
            except BaseException:
                self._undo(sql.connection)
                raise
            sqlite_file.trace("after commit")
        sqlite_file.trace("before the answer")
        return answer

    def _begin(self, sql: SqliteSql) -> None:
        """Take the write lock; after a recent wait, pause first to let others in."""
        if time.monotonic() < self._crowded:
            time.sleep(random.uniform(0.0, 2.0 * FIRST_PAUSE_SECONDS))
        if sql.begin():
            self._crowded = time.monotonic() + CONTENTION_SECONDS

    @contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """Lock the folder of the file: one process of this machine at a time is in the block."""
        try:
            import fcntl
        except ModuleNotFoundError:  # Windows has no such lock: a late writer gets Conflict
            yield
            return
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            for pause in pauses(LOCK_TIMEOUT_SECONDS):
                with suppress(OSError):
                    fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                time.sleep(pause)
            yield
        finally:
            os.close(folder)

    def close(self) -> None:
        self._shared.drop()

    @contextmanager
    def _connection(self, make: bool) -> Iterator[SqliteSql]:
        with self._shared.turn() as shared, translate_errors(self.place):
            if shared.connection is None and (make or self._path.exists()):
                shared.connection = self._connect(make)
            if shared.connection is not None:
                yield SqliteSql(self.place, shared.connection)
            else:
                with empty_store(self.place) as empty:
                    yield empty

    def _connect(self, make: bool) -> sqlite3.Connection | None:
        try:
            connection = sqlite_file.connect(self._path, self.place, make)
            self._file = _identity(self._path)
            return connection
        except OSError as error:  # from syncing the folder or keeping a copy
            raise WealError(f"{self.place}: {error}; nothing was written") from error

    def _check_in_place(self) -> None:
        """Raise WealError if the file was moved or deleted: writes would be lost."""
        if _identity(self._path) != self._file:
            self.close()
            raise WealError(f"{self.place} was moved or deleted while it was in use: open it again")

    def _undo(self, connection: sqlite3.Connection) -> None:
        """Roll back; a connection that fails to is closed, and the next use opens another."""
        try:
            sqlite_file.roll_back(connection)
        except sqlite3.Error:
            self.close()


def _identity(path: Path) -> tuple[int, int]:
    """Device and inode of the file; (0, 0) if it does not exist."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return (0, 0)
    return found.st_dev, found.st_ino


@contextmanager
def translate_errors(place: str) -> Iterator[None]:
    """Translate errors of SQLite into WealError with the name of the store."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translate_error(error, place) from error
    except UnicodeDecodeError as error:  # from SQLite's message, which quotes the damaged bytes
        raise damage_error(place, "it has text that cannot be decoded") from error


def _translate_error(error: sqlite3.Error, place: str) -> WealError:
    code = getattr(error, "sqlite_errorcode", None)
    corrupt = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_TOOBIG)
    if code is None or code == sqlite3.SQLITE_IOERR_SHORT_READ or code & 0xFF in corrupt:
        return damage_error(place, str(error))
    advice = {
        sqlite3.SQLITE_BUSY: "another program kept it locked for "
        f"{sqlite_file.BUSY_TIMEOUT_SECONDS:g} s: try again",
        sqlite3.SQLITE_FULL: "its disk is full: make room and try again",
        sqlite3.SQLITE_READONLY: "it is read-only: make the file and its folder writable, or name "
        "another store",
        sqlite3.SQLITE_CANTOPEN: "it cannot be opened: check that you may write to the file and "
        "its folder",
        sqlite3.SQLITE_IOERR: "its disk reports an error: check the disk, and try again",
    }
    if code == sqlite3.SQLITE_IOERR_SHMSIZE:  # no room for the index of the log
        code = sqlite3.SQLITE_FULL
    reason = advice.get(code & 0xFF, "SQLite refused")
    kind = NotAllowed if code & 0xFF in _PERMISSION_ERRORS else WealError
    return kind(f"{place}: {reason} ({error}); labels saved before are safe")


def open(name: StoreUrl) -> DatabaseStore:
    """The store in this file."""
    return DatabaseStore(SqliteEngine(Path(name.address), name.shown))
