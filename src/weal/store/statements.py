"""The tables of a store, and the SQL statements that SQLite and PostgreSQL share.

    weal_campaign   name, number and hash of the last event: the row that a writer locks
    weal_event      the events; `token` names the transaction that wrote them
    weal_candidate  the ids of a campaign; a long id is stored as its digest, for the index
    weal_chunk      Parquet bytes, numbered, with their sha256
    weal_snapshot   a cache, each entry with its digest
    weal_token      digests of tokens (`tokens`); the first token makes the table

All functions take a `SqlConnection`: one open connection, in a transaction if they write. An event
is read together with the hash of the event before it, and checked. One statement reads head and
events, so readers need no transaction.

`SQLITE` and `POSTGRES` are the numbered steps that make the tables: a new store takes all of them,
an old one the steps that it lacks. A released step never changes. The store keeps the number of its
last step (SQLite's user_version, PostgreSQL's table weal_schema); a store with a higher number than
this version of weal supports is refused.

    1   the tables
    2   an event whose body has the version 2 or higher: weal 0.2 would misread it

Step 2 changes no table. The transaction that writes the first such event takes it, so weal 0.2
refuses the store from then on, and opens stores without such events.
"""

import hashlib
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hmac import compare_digest
from typing import Protocol

from weal import __version__
from weal.errors import WealError
from weal.store import events
from weal.store.events import Draft, Event, SqlRow, damage_error
from weal.store.protocol import Chunk, Decide, check_write, unknown_campaign
from weal.store.tokens import (
    TOKEN_FIELDS,
    DecideTokens,
    Token,
    merged,
    read_token,
    token_row,
)

# characters of an id that an index of PostgreSQL takes whatever they are
MAX_INDEXED_ID_CHARACTERS = 256
_EVENT_FIELDS = ("campaign", "seq", "kind", "id", "body", "who", "time", "key", "hash")
_EVENTS = f"""
    SELECT {", ".join(f"e.{field}" for field in _EVENT_FIELDS)}, p.hash FROM weal_event e
    LEFT JOIN weal_event p ON p.campaign = e.campaign AND p.seq = e.seq - 1
    WHERE e.campaign = ? AND """
_HEAD_AND_EVENTS = f"""
    SELECT {", ".join(f"e.{field}" for field in _EVENT_FIELDS)}, p.hash, c.last, c.hash
    FROM weal_campaign c
    LEFT JOIN weal_event e ON e.campaign = c.name AND e.seq > ?
    LEFT JOIN weal_event p ON p.campaign = e.campaign AND p.seq = e.seq - 1
    WHERE c.name = ? ORDER BY e.seq"""


class SqlConnection(Protocol):
    """An open connection to a database; `?` stands for a value."""

    @property
    def place(self) -> str:
        """The store's name, for messages."""

    @property
    def locking(self) -> str:
        """The suffix that makes a SELECT lock its row until the end of the transaction."""

    @property
    def among(self) -> str:
        """The condition that a value is in a list, which is given as `as_list(values)`."""

    def as_list(self, values: list[str]) -> object:
        """A list of texts as one SQL value."""

    def rows(self, text: str, values: Sequence[object] = ()) -> list[SqlRow]:
        """The rows of a statement; none for one that writes."""

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Write many rows."""

    def now(self) -> datetime:
        """The database's clock."""

    def has_tokens(self) -> bool:
        """Whether there is a table of tokens."""

    def make_tokens(self) -> None:
        """Make the table of tokens if there is none, and lock it until the end."""

    def raise_version(self, number: int) -> None:
        """Raise the version of the store to this number, in the open transaction."""


@dataclass(frozen=True, slots=True)
class TableTransaction:
    """One campaign under the write lock."""

    sql: SqlConnection
    name: str
    last: int
    hash: str
    now: datetime

    def events_of(self, ids: Iterable[str]) -> list[Event]:
        return of(self.sql, self.name, ids)

    def existing_ids(self, ids: Iterable[str]) -> set[str]:
        return existing_ids(self.sql, self.name, ids)

    def events_by_keys(self, keys: Iterable[str]) -> list[Event]:
        wanted = self.sql.as_list(list(keys))
        among = f"k.campaign = ? AND k.key {self.sql.among}"
        by_index = f"e.seq IN (SELECT k.seq FROM weal_event k WHERE {among})"  # SQLite needs a hint
        return _select(self.sql, self.name, by_index, self.name, wanted)

    def events_between(self, first: int, last: int) -> list[Event]:
        return between(self.sql, self.name, first, last)

    def count_chunks(self) -> int:
        text = "SELECT count(*) FROM weal_chunk WHERE campaign = ?"
        return int(self.sql.rows(text, (self.name,))[0][0])


def campaigns(sql: SqlConnection) -> list[str]:
    """Names of all campaigns, sorted."""
    names = [name for (name,) in sql.rows("SELECT name FROM weal_campaign")]
    if not all(isinstance(name, str) for name in names):
        raise damage_error(sql.place, "the name of a campaign is not text")
    return sorted(names)


def head(sql: SqlConnection, name: str, lock: bool = False) -> tuple[int, str]:
    """Number and hash of the last event; `lock` blocks other writers until the commit."""
    suffix = sql.locking if lock else ""
    found = sql.rows(f"SELECT last, hash FROM weal_campaign WHERE name = ?{suffix}", (name,))
    if not found:
        raise unknown_campaign(name, campaigns(sql), sql.place)
    return _check_head(sql, name, found[0])


def check_campaign(sql: SqlConnection, name: str, locking: str = "") -> None:
    """UnknownCampaign unless the store has this campaign; with `locking`, lock its row."""
    if not sql.rows(f"SELECT 1 FROM weal_campaign WHERE name = ?{locking}", (name,)):
        raise unknown_campaign(name, campaigns(sql), sql.place)


def _check_head(sql: SqlConnection, name: str, row: Sequence[object]) -> tuple[int, str]:
    last, tip = row
    if not (isinstance(last, int) and isinstance(tip, str)):
        raise damage_error(sql.place, f"the head of {name!r} is not a number and a hash")
    return last, tip


def read(sql: SqlConnection, name: str, since: int) -> list[Event]:
    """Read head and events after this number in one statement; DamagedStore: a broken chain."""
    rows = sql.rows(_HEAD_AND_EVENTS, (since, name))
    if not rows:
        raise unknown_campaign(name, campaigns(sql), sql.place)
    last, tip = _check_head(sql, name, rows[0][-2:])
    found = [_check_event(sql, row[:-2]) for row in rows if row[1] is not None]
    _check_end(sql, name, last, tip, found)
    expected = range(max(since, 0) + 1, last + 1)  # a damaged number may be huge
    if len(found) != len(expected) or [event.seq for event in found] != list(expected):
        raise damage_error(
            sql.place, f"events of {name!r} between {since + 1} and {last} are missing"
        )
    return found


def of(sql: SqlConnection, name: str, ids: Iterable[str]) -> list[Event]:
    """All events of these ids, in order."""
    found = _select(sql, name, f"e.id {sql.among}", sql.as_list(list(ids)))
    if not found:
        check_campaign(sql, name)
    return found


def between(sql: SqlConnection, name: str, first: int, last: int) -> list[Event]:
    """The events with the numbers `first` to `last`, in order."""
    found = _select(sql, name, "e.seq >= ? AND e.seq <= ?", first, last)
    if not found:
        check_campaign(sql, name)
    return found


def existing_ids(sql: SqlConnection, name: str, ids: Iterable[str]) -> set[str]:
    """The ids of candidates among these."""
    slots = {_slot(one): one for one in ids}
    text = f"SELECT id FROM weal_candidate WHERE campaign = ? AND id {sql.among}"
    rows = sql.rows(text, (name, sql.as_list(list(slots))))
    if any(slot not in slots for (slot,) in rows):
        raise damage_error(
            sql.place, f"the table of ids of {name!r} returns ids that were not requested"
        )
    found = {slots[slot] for (slot,) in rows}
    if not found:
        check_campaign(sql, name)
    return found


def create(
    sql: SqlConnection, name: str, drafts: Sequence[Draft], chunks: Sequence[Chunk], token: str
) -> bool:
    """Create the campaign; False if another transaction created it."""
    start = "INSERT INTO weal_campaign (name, last, hash) VALUES (?, 0, '') ON CONFLICT DO NOTHING"
    sql.rows(start, (name,))
    last, _ = head(sql, name, lock=True)
    if last:  # a campaign that was committed has an event
        mine = "SELECT 1 FROM weal_event WHERE campaign = ? AND seq = 1 AND token = ?"
        return bool(sql.rows(mine, (name, token)))
    _write(TableTransaction(sql, name, 0, "", sql.now()), drafts, chunks, token)
    return True


def transact(
    sql: SqlConnection, name: str, decide: Decide, chunks: Sequence[Chunk], token: str, again: bool
) -> tuple[Event, ...]:
    """Lock, decide, write; if tried `again`, first check whether the last commit succeeded."""
    last, tip = head(sql, name, lock=True)
    end = _select(sql, name, "e.seq >= ?", last)
    if not end:
        raise damage_error(sql.place, f"event {last} of {name!r}, its last, is missing")
    _check_end(sql, name, last, tip, end)
    if again and (done := _select(sql, name, "e.token = ?", token)):
        return tuple(done)
    tx = TableTransaction(sql, name, last, tip, sql.now())
    return _write(tx, decide(tx), chunks, token)


def _check_end(sql: SqlConnection, name: str, last: int, tip: str, found: Sequence[Event]) -> None:
    """DamagedStore unless event `last` has the hash `tip` and no event comes after it."""
    if beyond := [event.seq for event in found if event.seq > last]:
        more = "1 more event" if len(beyond) == 1 else f"{len(beyond)} more events"
        raise damage_error(
            sql.place,
            f"{name!r} has {more} after the event marked as its last event, number {last}",
        )
    if any(event.seq == last and event.hash != tip for event in found):
        raise damage_error(
            sql.place, f"the last event of {name!r} differs from the event that was written last"
        )


def chunk_count(sql: SqlConnection, name: str) -> int:
    """The number of chunks; UnknownCampaign if there is no such campaign."""
    check_campaign(sql, name)
    return TableTransaction(sql, name, 0, "", sql.now()).count_chunks()


def chunk(sql: SqlConnection, name: str, number: int) -> bytes:
    """The bytes of a chunk; DamagedStore if their checksum is wrong."""
    text = "SELECT sha256, data FROM weal_chunk WHERE campaign = ? AND number = ?"
    found = sql.rows(text, (name, number))
    if not found or not isinstance(found[0][1], bytes):
        raise damage_error(sql.place, f"chunk {number} of the candidates of {name!r} is missing")
    expected, data = found[0]
    if hashlib.sha256(data).hexdigest() != expected:
        raise damage_error(sql.place, f"chunk {number} of the candidates of {name!r} has changed")
    return bytes(data)


def snapshot(
    sql: SqlConnection, name: str, kind: str, warn: bool = False
) -> tuple[int, str, bytes] | None:
    """The snapshot of this kind, or None; with `warn`, a damaged one gives a warning."""
    text = "SELECT seq, hash, data, digest FROM weal_snapshot WHERE campaign = ? AND kind = ?"
    found = sql.rows(text, (name, kind))
    if not found:
        check_campaign(sql, name)
    for seq, tip, data, digest in found:
        if isinstance(data, bytes) and _digest(seq, tip, data) == digest:
            return seq, tip, data
        if warn:
            warnings.warn(
                f"the snapshot {kind!r} of {name!r} is damaged (wrong checksum): it is computed "
                "again",
                stacklevel=2,
            )
    return None


def keep_snapshot(
    sql: SqlConnection, name: str, kind: str, seq: int, hash: str, data: bytes
) -> None:
    """Replace the snapshot of this kind."""
    check_campaign(sql, name, sql.locking)
    sql.rows("DELETE FROM weal_snapshot WHERE campaign = ? AND kind = ?", (name, kind))
    columns = ("campaign", "kind", "seq", "hash", "data", "digest")
    row = (name, kind, seq, hash, bytes(data), _digest(seq, hash, data))
    sql.insert("weal_snapshot", columns, [row])


def tokens(sql: SqlConnection) -> list[Token]:
    """All tokens, sorted by name."""
    if not sql.has_tokens():
        return []
    rows = sql.rows(f"SELECT {', '.join(TOKEN_FIELDS)} FROM weal_token")
    return sorted((read_token(row, sql.place) for row in rows), key=lambda one: one.name)


def find_token(sql: SqlConnection, digest: str) -> Token | None:
    """The token with this digest that is valid now, or None."""
    if not sql.has_tokens():
        return None
    text = f"SELECT {', '.join(TOKEN_FIELDS)} FROM weal_token WHERE digest = ?"
    for row in sql.rows(text, (digest,)):
        found = read_token(row, sql.place)
        if compare_digest(found.digest, digest) and found.state(sql.now()) == "valid":
            return found
    return None


def write_tokens(sql: SqlConnection, decide: DecideTokens) -> list[Token]:
    """Lock the tokens, decide, write; returns all tokens."""
    sql.make_tokens()
    before = tokens(sql)
    new = decide(before, sql.now())
    for one in new:
        sql.rows("DELETE FROM weal_token WHERE name = ?", (one.name,))
    sql.insert("weal_token", TOKEN_FIELDS, [token_row(one) for one in new])
    return merged(before, new)


def _select(sql: SqlConnection, name: str, condition: str, *values: object) -> list[Event]:
    found = sql.rows(f"{_EVENTS}{condition} ORDER BY e.seq", (name, *values))
    return [_check_event(sql, row) for row in found]


def _check_event(sql: SqlConnection, row: SqlRow) -> Event:
    own = row[:-1]
    return events.read(own, "" if own[1] == 1 else row[-1], sql.place)


def _write(
    tx: TableTransaction, drafts: Sequence[Draft], chunks: Sequence[Chunk], token: str
) -> tuple[Event, ...]:
    check_write(tx, drafts, chunks)
    if not drafts:
        return ()
    sql, name = tx.sql, tx.name
    rows = events.write(name, drafts, tx.last, tx.hash, tx.now)
    if (needed := body_version(drafts)) > TABLES_VERSION:
        sql.raise_version(needed)
    sql.insert("weal_event", (*_EVENT_FIELDS, "token"), [(*row, token) for row in rows])
    if chunks:
        _write_chunks(tx, chunks)
    tip = (rows[-1][1], rows[-1][-1], name)
    sql.rows("UPDATE weal_campaign SET last = ?, hash = ? WHERE name = ?", tip)
    return tuple(map(events.event_of_row, rows))


def body_version(drafts: Iterable[Draft]) -> int:
    """The highest version among the bodies of these events, which the store must have."""
    found = (draft.body.get("v", TABLES_VERSION) for draft in drafts)
    return max((v for v in found if isinstance(v, int)), default=TABLES_VERSION)


def _write_chunks(tx: TableTransaction, chunks: Sequence[Chunk]) -> None:
    first = tx.count_chunks()
    rows = [(tx.name, first + i, one.sha256, one.data) for i, one in enumerate(chunks)]
    tx.sql.insert("weal_chunk", ("campaign", "number", "sha256", "data"), rows)
    slots = sorted(_slot(one) for chunk in chunks for one in chunk.ids)
    tx.sql.insert("weal_candidate", ("campaign", "id"), ((tx.name, slot) for slot in slots))


def _slot(name: str) -> str:
    """The id, or the digest of a long id, as the table of candidates has it."""
    if len(name) <= MAX_INDEXED_ID_CHARACTERS:
        return name
    return f"blake2b:{hashlib.blake2b(name.encode(), digest_size=32).hexdigest()}"


def _digest(seq: int, tip: str, data: bytes) -> str:
    found = hashlib.blake2b(f"{seq} {tip} ".encode(), digest_size=32)
    found.update(data)
    return found.hexdigest()


STORE_APPLICATION_ID = 0x5745414C  # "WEAL", in the header of our SQLite files

# fmt: off
SQLITE: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE weal_campaign (
            name TEXT NOT NULL PRIMARY KEY, last INTEGER NOT NULL, hash TEXT NOT NULL
        ) WITHOUT ROWID""","""CREATE TABLE weal_event (
            campaign TEXT NOT NULL, seq INTEGER NOT NULL,
            kind TEXT NOT NULL, id TEXT, body TEXT NOT NULL, who TEXT NOT NULL,
            time TEXT NOT NULL, key TEXT, hash TEXT NOT NULL, token TEXT NOT NULL,
            PRIMARY KEY (campaign, seq)
        ) WITHOUT ROWID""",
        "CREATE INDEX weal_event_id ON weal_event (campaign, id) WHERE id IS NOT NULL",
        "CREATE UNIQUE INDEX weal_event_key ON weal_event (campaign, key) WHERE key IS NOT NULL",
        """CREATE TABLE weal_candidate (
            campaign TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (campaign, id)
        ) WITHOUT ROWID""","""CREATE TABLE weal_chunk (
            campaign TEXT NOT NULL, number INTEGER NOT NULL, sha256 TEXT NOT NULL,
            data BLOB NOT NULL, PRIMARY KEY (campaign, number)
        )""","""CREATE TABLE weal_snapshot (
            campaign TEXT NOT NULL, kind TEXT NOT NULL, seq INTEGER NOT NULL, hash TEXT NOT NULL,
            data BLOB NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (campaign, kind)
        )""",
    ),
)

# A hash index takes ids of any length.
POSTGRES: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE weal_campaign (
            name text PRIMARY KEY, last bigint NOT NULL, hash text NOT NULL
        )""","""CREATE TABLE weal_event (
            campaign text NOT NULL, seq bigint NOT NULL,
            kind text NOT NULL, id text, body text NOT NULL, who text NOT NULL,
            time text NOT NULL, key text, hash text NOT NULL, token text NOT NULL,
            PRIMARY KEY (campaign, seq)
        )""",
        "CREATE INDEX weal_event_id ON weal_event USING hash (id)",
        "CREATE UNIQUE INDEX weal_event_key ON weal_event (campaign, key) WHERE key IS NOT NULL",
        """CREATE TABLE weal_candidate (
            campaign text NOT NULL, id text NOT NULL, PRIMARY KEY (campaign, id)
        )""","""CREATE TABLE weal_chunk (
            campaign text NOT NULL, number bigint NOT NULL, sha256 text NOT NULL,
            data bytea NOT NULL, PRIMARY KEY (campaign, number)
        )""","""CREATE TABLE weal_snapshot (
            campaign text NOT NULL, kind text NOT NULL, seq bigint NOT NULL, hash text NOT NULL,
            data bytea NOT NULL, digest text NOT NULL, PRIMARY KEY (campaign, kind)
        )""",
    ),
)
# fmt: on
SQLITE_TOKENS = """CREATE TABLE weal_token (
    name TEXT NOT NULL PRIMARY KEY, digest TEXT NOT NULL UNIQUE, body TEXT NOT NULL,
    hash TEXT NOT NULL
) WITHOUT ROWID"""
POSTGRES_TOKENS = """CREATE TABLE weal_token (
    name text PRIMARY KEY, digest text NOT NULL UNIQUE, body text NOT NULL, hash text NOT NULL
)"""


TABLES_VERSION = len(SQLITE)  # of a new store
STORE_VERSION = 2  # the newest that this weal reads and writes


def check_version(found: int, place: str) -> None:
    """Raise WealError for a store of a newer weal."""
    newest = max(STORE_VERSION, len(SQLITE))
    if found > newest:
        raise WealError(
            f"{place} was written by a newer weal (its tables have version {found}; weal "
            f"{__version__} supports versions up to {newest}): upgrade weal"
        )
