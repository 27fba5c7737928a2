"""An open connection to a SQLite file, as the statements want it; and one to an empty store.

waiting    a statement that finds the file locked is tried again until PATIENCE is over. SQLite
           itself would wait longer and longer between its tries, so that who has waited long
           is overtaken by who comes now; here the pauses get shorter. Python sleeps, not
           SQLite, so that Ctrl-C is heard.
nothing    the tables of a store that nobody has made yet: readers need not know of it
"""

import json
import math
import random
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from weal.store import sqlite_file

FIRST, _LEAST = 0.008, 0.001  # seconds between tries: at first, and after a while
_SOON = 16  # tries until the pauses are short


@dataclass(frozen=True, slots=True)
class SqliteSql:
    """An open connection to a file."""

    place: str
    connection: sqlite3.Connection
    locking: str = ""  # BEGIN IMMEDIATE has locked the whole file
    among: str = "IN (SELECT value FROM json_each(?))"

    def listed(self, values: list[str]) -> str:
        return json.dumps(values)

    def rows(self, text: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._patiently(text, values)[0]

    def begin(self) -> bool:
        """Take the write lock; whether others had it."""
        return self._patiently("BEGIN IMMEDIATE", ())[1] > 0

    def _patiently(self, text: str, values: Sequence[Any]) -> tuple[list[tuple[Any, ...]], int]:
        """What the statement answers, and how often it was tried in vain."""
        deadline = time.monotonic() + sqlite_file.PATIENCE
        for tries, pause in enumerate(pauses()):
            try:
                return self.connection.execute(text, values).fetchall(), tries
            except sqlite3.OperationalError as error:
                if not _is_busy(error) or time.monotonic() > deadline:
                    raise
            time.sleep(pause)
        raise AssertionError("the pauses never end")

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        marks = ", ".join("?" * len(columns))
        self.connection.executemany(
            f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows
        )
        sqlite_file.trace("after insert")

    def now(self) -> datetime:
        text = self.rows("SELECT strftime('%Y-%m-%dT%H:%M:%f', 'now')")[0][0]
        return datetime.fromisoformat(text).replace(tzinfo=UTC)


@contextmanager
def nothing(place: str) -> Iterator[SqliteSql]:
    """What a store holds that nobody has made yet."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        sqlite_file.build(connection)
        yield SqliteSql(place, connection)
    finally:
        connection.close()


def _is_busy(error: sqlite3.OperationalError) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


def pauses(patience: float = math.inf) -> Iterator[float]:
    """Seconds to wait before each try: shorter for who has waited longer, and by chance."""
    tries, deadline = 0, time.monotonic() + patience
    while time.monotonic() < deadline:
        tries += 1
        longest = max(_LEAST, FIRST * (1.0 - tries / _SOON))
        yield random.uniform(0.5, 1.0) * longest
