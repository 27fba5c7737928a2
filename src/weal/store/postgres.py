"""The store on a PostgreSQL server, for several machines: psycopg 3, the extra `postgres`.

A writer locks the row of its campaign (SELECT ... FOR UPDATE) until its commit, so writers of one
campaign queue and writers of others do not wait. A lost connection is made again, with growing
pauses, for half a minute or the `patience` of the caller; threads share that time. A transaction
that was interrupted is tried again, and first looks for its token under the lock: if the token
exists, the commit succeeded. The clock is the server's. The first write makes the tables; until
then readers see an empty store. No message, log or repr has a password: errors of libpq about an
address are not shown, since they quote it.
"""

import math
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from weal.errors import NotAllowed, WealError
from weal.store import statements
from weal.store.database import DatabaseStore, SharedConnection, pauses
from weal.store.events import SqlRow, damage_error
from weal.store.sqlite import empty_store
from weal.store.statements import SqlConnection
from weal.store.urls import StoreUrl

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
except ImportError as error:
    raise WealError(
        "a store in PostgreSQL needs psycopg: run pip install 'weal[postgres]'"
    ) from error

if TYPE_CHECKING:
    from typing import LiteralString

T = TypeVar("T")
Connection = psycopg.Connection[tuple[Any, ...]]
RECONNECT_SECONDS = 30.0  # seconds to try to get a lost connection back
_PAUSES = (0.05, 0.1, 0.2, 0.5, 1.0)  # seconds between tries; the last one repeats
LOCK_TIMEOUT_SECONDS = 30.0  # seconds to wait for the lock
_TRY, _RELEASE = "SELECT pg_try_advisory_lock(?, ?)", "SELECT pg_advisory_unlock(?, ?)"
_SETUP = (
    "SET lock_timeout = '60s'",
    "SET idle_in_transaction_session_timeout = '60s'",  # a frozen client must not hold its lock
    "SELECT set_config('synchronous_commit', 'on', false)"
    " WHERE current_setting('synchronous_commit') = 'off'",
)
_NOW = """SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')"""
_PERMISSION_CODES = "your user may not do that: ask for the rights to read, write and create tables"
_ADVICE = {
    "3F000": _PERMISSION_CODES,
    "42501": _PERMISSION_CODES,
    "53100": "its disk is full: make room and try again",
    "53300": "it has too many connections: close some, or raise max_connections",
    "55P03": "another program kept the campaign locked for a minute: try again",
    "25006": "it is read-only: name the primary server",
}


@dataclass(frozen=True, slots=True)
class PostgresSql:
    """An open connection to a server."""

    place: str
    connection: Connection
    locking: str = " FOR UPDATE"
    among: str = "= ANY(?)"

    def as_list(self, values: list[str]) -> list[str]:
        return values

    def rows(self, text: str, values: Sequence[object] = ()) -> list[SqlRow]:
        cursor = self.connection.execute(_statement(text), values)
        return cursor.fetchall() if cursor.description else []

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        text = _statement(f"COPY {table} ({', '.join(columns)}) FROM STDIN")
        with self.connection.cursor() as cursor, cursor.copy(text) as copy:
            for row in rows:
                copy.write_row(row)

    def now(self) -> datetime:
        return datetime.fromisoformat(self.rows(_NOW)[0][0]).replace(tzinfo=UTC)

    def has_tokens(self) -> bool:
        there = "SELECT to_regclass('weal_token') IS NOT NULL"
        if not self.rows(there)[0][0]:
            return False
        if not self.rows("SELECT has_table_privilege('weal_token', 'SELECT')")[0][0]:
            raise _tokens_refused("read the table of tokens", "run GRANT SELECT ON weal_token TO")
        return True

    def make_tokens(self) -> None:
        """Make the table one process at a time, and lock it."""
        self.rows("SELECT pg_advisory_xact_lock(?, 1)", (statements.STORE_APPLICATION_ID,))
        there = self.has_tokens()
        try:
            if not there:
                self.rows(statements.POSTGRES_TOKENS)
            self.rows("LOCK TABLE weal_token IN SHARE ROW EXCLUSIVE MODE")
        except psycopg.errors.InsufficientPrivilege as error:
            grant = "GRANT SELECT, INSERT, UPDATE, DELETE ON weal_token TO"
            make = "run " if there else "make the first token, and then run "
            raise _tokens_refused("write tokens", f"{make}{grant}") from error

    def raise_version(self, number: int) -> None:
        if self.rows("SELECT 1 FROM weal_schema WHERE version < ?", (number,)):
            try:
                self.rows("UPDATE weal_schema SET version = ?", (number,))
            except psycopg.errors.InsufficientPrivilege as error:
                raise NotAllowed(
                    "this is the first entry of the store that weal 0.2 cannot read, and your user "
                    "may not raise the version of the store; ask the owner of the tables to run "
                    "GRANT UPDATE ON weal_schema TO your user, or to enter it; nothing was saved"
                ) from error


def _tokens_refused(what: str, way_out: str) -> NotAllowed:
    return NotAllowed(
        f"your user may not {what}: ask the owner of the tables to {way_out} your user"
    )


class PostgresEngine:
    """Transactions on one database of a server."""

    def __init__(self, name: StoreUrl, patience: float | None = None) -> None:
        self.place = name.shown
        self._login = _login(name, patience)
        self._patience = patience
        self._gave_up = -math.inf  # when connecting last timed out
        self._shared: SharedConnection[Connection] = SharedConnection()
        self._built: Connection | None = None  # to a database known to have our tables
        with self._shared.turn() as shared, self._translate_errors():
            shared.connection = self._connect()  # raises at once if the address is wrong

    def read(self, work: Callable[[SqlConnection], T]) -> T:
        def look(sql: PostgresSql, again: bool) -> T:
            if self._built is sql.connection or _version(sql):
                return work(sql)
            with empty_store(self.place) as empty:
                return work(empty)

        return self._persist(look)

    def write(self, work: Callable[[SqlConnection, bool], T]) -> T:
        def transaction(sql: PostgresSql, again: bool) -> T:
            if self._built is not sql.connection:
                _bring_up(sql)
                self._built = sql.connection
            with sql.connection.transaction():
                return work(sql, again)

        return self._persist(transaction)

    @contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """Take an advisory lock: one client of this campaign at a time is in the block."""
        key = (statements.STORE_APPLICATION_ID, zlib.crc32(name.encode()) - (1 << 31))
        taken = False
        for pause in pauses(LOCK_TIMEOUT_SECONDS):
            if taken := bool(self.read(lambda sql: sql.rows(_TRY, key)[0][0])):
                break
            time.sleep(pause)
        try:
            yield
        finally:
            if taken:
                self.read(lambda sql: sql.rows(_RELEASE, key))

    def close(self) -> None:
        self._shared.drop()

    def _persist(self, work: Callable[[PostgresSql, bool], T]) -> T:
        """Run work, again after a lost connection, and return its result."""
        with self._shared.turn() as shared, self._translate_errors():
            deadline = self._deadline()
            for again, pause in enumerate(_pauses()):
                try:
                    shared.connection = shared.connection or self._connect()
                    answer = work(PostgresSql(self.place, shared.connection), again > 0)
                except (psycopg.OperationalError, psycopg.InterfaceError):
                    if not _is_lost(shared.connection):
                        raise
                    self._shared.drop()
                    if time.monotonic() > deadline:
                        self._gave_up = time.monotonic()
                        raise
                    time.sleep(pause)
                else:
                    self._gave_up = -math.inf
                    return answer
        raise AssertionError("the pauses never end")

    def _deadline(self) -> float:
        """The time of the last try; now, if another thread has just timed out."""
        now, patience = (
            time.monotonic(),
            RECONNECT_SECONDS if self._patience is None else self._patience,
        )
        return now if now - self._gave_up < patience else now + patience

    def _connect(self) -> Connection:
        connection = psycopg.connect(**self._login)
        try:
            for setting in _SETUP:
                connection.execute(_statement(setting))
            if _version(sql := PostgresSql(self.place, connection)):
                _bring_up(sql)
                self._built = connection
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        failed: psycopg.Error | None = None
        try:
            yield
        except psycopg.Error as error:
            failed = error
        if failed is not None:  # raised here, so that the original is not shown beside it
            raise self._translate(failed)

    def _translate(self, error: psycopg.Error) -> WealError:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        reason = lines[0]
        for secret in (self._login.get("password"), self._login.get("sslpassword")):
            if secret:
                reason = reason.replace(str(secret), "***")
        if error.sqlstate in ("XX001", "XX002"):
            return damage_error(self.place, reason)
        if error.sqlstate is None:
            return WealError(f"{self.place} cannot be reached: {reason}")
        advice = _ADVICE.get(error.sqlstate, "PostgreSQL refused")
        kind = NotAllowed if error.sqlstate in ("3F000", "42501", "25006") else WealError
        return kind(f"{self.place}: {advice} ({reason}); labels saved before are safe")


def _login(name: StoreUrl, patience: float | None) -> dict[str, Any]:
    """Parameters for psycopg; those in the address override the defaults."""
    try:
        given: dict[str, Any] | None = dict(conninfo_to_dict(name.address))
    except psycopg.Error:
        given = None
    if given is None:
        raise WealError(
            f"{name.shown} is not a PostgreSQL address; write "
            "postgresql://user:password@host/database, with %40 for @, %3A for : and %2F for / in "
            "a password"
        )
    seconds = 10 if patience is None else max(2, int(patience))
    wishes = {"connect_timeout": seconds, "application_name": "weal"}
    fixed = {"client_encoding": "UTF8", "autocommit": True, "prepare_threshold": None}
    return {**wishes, **given, **fixed}


def _bring_up(sql: PostgresSql) -> None:
    """Create or upgrade the tables, one process at a time."""
    if _version(sql) >= len(statements.POSTGRES):
        return
    with sql.connection.transaction():
        sql.rows("SELECT pg_advisory_xact_lock(?)", (statements.STORE_APPLICATION_ID,))
        sql.rows("CREATE TABLE IF NOT EXISTS weal_schema (version integer NOT NULL)")
        for step in statements.POSTGRES[_version(sql) :]:
            for statement in step:
                sql.rows(statement)
        sql.rows("DELETE FROM weal_schema")
        sql.rows("INSERT INTO weal_schema VALUES (?)", (len(statements.POSTGRES),))


def _version(sql: PostgresSql) -> int:
    look = "SELECT current_setting('server_encoding'), to_regclass('weal_schema') IS NOT NULL,"
    encoding, there, usable = sql.rows(f"{look} current_schema() IS NOT NULL")[0]
    if not usable:  # PostgreSQL hides schemas that this user has no permission for
        raise NotAllowed(f"{sql.place}: {_PERMISSION_CODES}")
    if encoding != "UTF8":
        raise WealError(
            f"{sql.place} has the encoding {encoding}, which cannot store every id: create a "
            "database with ENCODING 'UTF8'"
        )
    found = sql.rows("SELECT max(version) FROM weal_schema")[0][0] if there else 0
    statements.check_version(found or 0, sql.place)
    return int(found or 0)


def _is_lost(connection: Connection | None) -> bool:
    return connection is None or connection.closed


def _pauses() -> Iterator[float]:
    yield from _PAUSES
    while True:
        yield _PAUSES[-1]


def _statement(text: str) -> "LiteralString":
    """A statement with the placeholders of psycopg; values are never part of the text."""
    return text.replace("?", "%s")


def open(name: StoreUrl, patience: float | None = None) -> DatabaseStore:
    """The store in this database; a lost connection is tried again for `patience` seconds."""
    return DatabaseStore(PostgresEngine(name, patience))
