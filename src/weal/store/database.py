"""A store on a database engine: the `Store` protocol by SQL statements.

    engine.read(work)      returns work(sql)
    engine.write(work)     returns work(sql, again) after the commit

An engine (SQLite, PostgreSQL) takes care of connections, locks, retries and error messages. `again`
tells the work that the connection was lost during an earlier commit, whose outcome is unknown: the
random token of each transaction, kept in its rows, shows whether the commit succeeded.
"""

import math
import os
import random
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime
from functools import partial
from typing import Generic, Protocol, TypeVar

from weal.errors import NotAllowed
from weal.store import statements
from weal.store.events import Draft, Event, check_name
from weal.store.protocol import Chunk, Decide, check_created
from weal.store.statements import SqlConnection
from weal.store.tokens import DecideTokens, Token

T = TypeVar("T")


class Closable(Protocol):
    """A connection that can be closed."""

    def close(self) -> None:
        """Close it."""


C = TypeVar("C", bound=Closable)


class Engine(Protocol):
    """Runs read and write transactions on a database."""

    @property
    def place(self) -> str:
        """The store's name, with *** for a password."""

    def read(self, work: Callable[[SqlConnection], T]) -> T:
        """Run work that only reads, and return its result."""

    def write(self, work: Callable[[SqlConnection, bool], T]) -> T:
        """Run work in a transaction, and return its result after the commit."""

    def turn(self, name: str) -> AbstractContextManager[None]:
        """A block for one client at a time, as in `Store.turn`."""

    def close(self) -> None:
        """Close the connection."""


class SharedConnection(Generic[C]):
    """One connection that the threads of a process share; a forked child opens its own.

    Closing the parent's connection in a child would break it, so the child keeps it unused.
    """

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._parents: list[C | None] = []
        self.connection: C | None = None

    @contextmanager
    def turn(self) -> Iterator["SharedConnection[C]"]:
        """Lock the connection for this thread until the end of the block."""
        if self._pid != os.getpid():
            self._parents.append(self.connection)
            self._pid, self._lock, self.connection = os.getpid(), threading.RLock(), None
        with self._lock:
            yield self

    def drop(self) -> None:
        """Close the connection, if there is one."""
        with self.turn():
            old, self.connection = self.connection, None
            if old is not None:
                old.close()


class DatabaseStore:
    """Campaigns in a database."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    @property
    def url(self) -> str:
        return self.engine.place

    def create(self, name: str, drafts: Sequence[Draft], chunks: Sequence[Chunk] = ()) -> bool:
        check_name(name)
        check_created(drafts)
        token = secrets.token_hex(8)
        return self.engine.write(lambda sql, _: statements.create(sql, name, drafts, chunks, token))

    def campaigns(self) -> list[str]:
        return self.engine.read(statements.campaigns)

    def transact(
        self, name: str, decide: Decide, chunks: Sequence[Chunk] = ()
    ) -> tuple[Event, ...]:
        token = secrets.token_hex(8)
        return self.engine.write(
            lambda sql, again: statements.transact(sql, name, decide, chunks, token, again)
        )

    def read(self, name: str, since: int = 0) -> list[Event]:
        return self.engine.read(lambda sql: statements.read(sql, name, since))

    def events_between(self, name: str, first: int, last: int) -> list[Event]:
        return self.engine.read(lambda sql: statements.between(sql, name, first, last))

    def head(self, name: str) -> tuple[int, str]:
        return self.engine.read(lambda sql: statements.head(sql, name))

    def events_of(self, name: str, ids: Iterable[str]) -> list[Event]:
        wanted = list(ids)
        return self.engine.read(lambda sql: statements.of(sql, name, wanted))

    def existing_ids(self, name: str, ids: Iterable[str]) -> set[str]:
        wanted = list(ids)
        return self.engine.read(lambda sql: statements.existing_ids(sql, name, wanted))

    def read_chunks(self, name: str) -> Iterator[bytes]:
        count = self.engine.read(lambda sql: statements.chunk_count(sql, name))
        return (
            self.engine.read(partial(statements.chunk, name=name, number=number))
            for number in range(count)
        )

    def read_snapshot(self, name: str, kind: str) -> tuple[int, str, bytes] | None:
        return self.engine.read(lambda sql: statements.snapshot(sql, name, kind, warn=True))

    def write_snapshot(self, name: str, kind: str, seq: int, hash: str, data: bytes) -> None:
        with suppress(NotAllowed):  # a cache: a user without write access skips it
            self.engine.write(
                lambda sql, _: statements.keep_snapshot(sql, name, kind, seq, hash, data)
            )

    def tokens(self) -> list[Token]:
        return self.engine.read(statements.tokens)

    def find_token(self, digest: str) -> Token | None:
        return self.engine.read(lambda sql: statements.find_token(sql, digest))

    def write_tokens(self, decide: DecideTokens) -> list[Token]:
        return self.engine.write(lambda sql, _: statements.write_tokens(sql, decide))

    def now(self) -> datetime:
        return self.engine.read(lambda sql: sql.now())

    def turn(self, name: str) -> AbstractContextManager[None]:
        return self.engine.turn(name)

    def close(self) -> None:
        self.engine.close()


# seconds between tries: the first, and the shortest
FIRST_PAUSE_SECONDS, _MIN_PAUSE_SECONDS = 0.008, 0.001
_RETRIES_UNTIL_MIN_PAUSE = 16  # tries until the pauses are short


def pauses(patience: float = math.inf) -> Iterator[float]:
    """Random pauses in seconds between tries, shorter after many tries."""
    tries, deadline = 0, time.monotonic() + patience
    while time.monotonic() < deadline:
        tries += 1
        longest = max(
            _MIN_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * (1.0 - tries / _RETRIES_UNTIL_MIN_PAUSE)
        )
        yield random.uniform(0.5, 1.0) * longest
