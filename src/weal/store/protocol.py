"""The protocol of a store: transactions under a write lock, and reads of the event log.

    transact(name, decide)    takes the write lock of the campaign, passes `decide` the transaction,
                              writes the drafts that it returns, syncs, and then returns
    read(name, since)         the events after that number, their chain of hashes verified

Every rule of a campaign is a `decide` function: the events that it reads under the lock are still
the last ones when its drafts are written. `decide` may be called again after a lost connection, and
must only read and return. `append` is for drafts that were decided before the lock was taken: it
raises Conflict if another client wrote in between.

Candidates come in chunks: Parquet bytes with their sha256, numbered 0, 1, 2, ..., and their ids.
Snapshots are a cache: one of each kind, with the (number, hash) of the event that it belongs to.

Tokens have their own table (`tokens`), and the events do not refer to them.

Stores are memory, SQLite and PostgreSQL; one conformance suite runs on all of them.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from typing import Protocol

from weal.errors import Conflict, UnknownCampaign
from weal.store.events import Draft, Event
from weal.store.tokens import DecideTokens, Token
from weal.store.urls import read_name


@dataclass(frozen=True, slots=True)
class Chunk:
    """A block of candidates: a Parquet file as bytes, its sha256 in hex, and its ids."""

    data: bytes
    ids: Sequence[str]
    sha256: str

    @classmethod
    def of(cls, data: bytes, ids: Sequence[str]) -> "Chunk":
        """A chunk with its sha256."""
        return cls(data, ids, hashlib.sha256(data).hexdigest())


class Transaction(Protocol):
    """The view of one campaign under the write lock."""

    @property
    def last(self) -> int:
        """Number of the last event; 0: none."""

    @property
    def hash(self) -> str:
        """Hash of the last event; with `last` it names the state that a reader has seen."""

    @property
    def now(self) -> datetime:
        """The store's clock; it may be behind the last event, if another clock was fast."""

    def events_of(self, ids: Iterable[str]) -> list[Event]:
        """All events of these ids, in order."""

    def existing_ids(self, ids: Iterable[str]) -> set[str]:
        """The ids of candidates among these."""

    def events_by_keys(self, keys: Iterable[str]) -> list[Event]:
        """The events with these idempotency keys, in order."""

    def events_between(self, first: int, last: int) -> list[Event]:
        """The events with the numbers `first` to `last`, in order."""

    def count_chunks(self) -> int:
        """The number that the next chunk will have."""


Decide = Callable[[Transaction], Sequence[Draft]]


class Store(Protocol):
    """A store of campaigns."""

    @property
    def url(self) -> str:
        """The store's name as given, with *** for a password."""

    def create(self, name: str, drafts: Sequence[Draft], chunks: Sequence[Chunk] = ()) -> bool:
        """Create a campaign in one transaction; False if it exists already."""

    def campaigns(self) -> list[str]:
        """The names of all campaigns, sorted."""

    def transact(
        self, name: str, decide: Decide, chunks: Sequence[Chunk] = ()
    ) -> tuple[Event, ...]:
        """Write the drafts of `decide` under the write lock; returns the events once on disk."""

    def read(self, name: str, since: int = 0) -> list[Event]:
        """Events after this number, in order; DamagedStore when the chain is broken."""

    def events_between(self, name: str, first: int, last: int) -> list[Event]:
        """The events with the numbers `first` to `last`, in order."""

    def head(self, name: str) -> tuple[int, str]:
        """Number and hash of the last event."""

    def events_of(self, name: str, ids: Iterable[str]) -> list[Event]:
        """All events of these ids, in order."""

    def existing_ids(self, name: str, ids: Iterable[str]) -> set[str]:
        """The ids of candidates among these."""

    def read_chunks(self, name: str) -> Iterator[bytes]:
        """The candidates as Parquet bytes, in order; DamagedStore when a sha256 differs."""

    def read_snapshot(self, name: str, kind: str) -> tuple[int, str, bytes] | None:
        """(number, hash, data) of the snapshot; None if it is missing or damaged."""

    def write_snapshot(self, name: str, kind: str, seq: int, hash: str, data: bytes) -> None:
        """Replace the snapshot of this kind."""

    def tokens(self) -> list[Token]:
        """All tokens, sorted by name, including revoked and expired ones."""

    def find_token(self, digest: str) -> Token | None:
        """The token with this digest that is valid now, or None."""

    def write_tokens(self, decide: DecideTokens) -> list[Token]:
        """Write the tokens of `decide` under a lock of their own; returns all tokens."""

    def turn(self, name: str) -> AbstractContextManager[None]:
        """A block that one client at a time enters, to avoid doing the same work twice.

        The lock is advisory: after a long wait a client enters without it. `transact` alone
        guarantees consistency.
        """

    def now(self) -> datetime:
        """The store's clock."""

    def close(self) -> None:
        """Close files and connections; the next use opens them again."""


def append(store: Store, name: str, expected: int, drafts: Sequence[Draft]) -> tuple[Event, ...]:
    """Write drafts that were made after reading `expected` events; Conflict if there are more."""

    def decide(tx: Transaction) -> Sequence[Draft]:
        if tx.last != expected:
            raise Conflict(
                f"{name!r} has {tx.last} events now, not {expected}: another client wrote first; "
                "read the new events and try again"
            )
        return drafts

    return store.transact(name, decide)


def open_store(url: str | os.PathLike[str] | None = None, patience: float | None = None) -> Store:
    """Open a store; None: WEAL_STORE, else weal.db in this folder.

    A server whose connection is lost is tried again for `patience` seconds (None: half a minute).

    >>> open_store("memory:").campaigns()
    []
    """
    name = read_name(url)
    found: Callable[..., Store] = import_module(f"weal.store.{name.kind}").open
    return found(name, patience) if name.kind == "postgres" else found(name)


def unknown_campaign(name: str, there: Sequence[str], place: str) -> UnknownCampaign:
    """The error for an unknown campaign, with the names of the existing ones."""
    names = ", ".join(map(repr, there[:10])) + (", ..." if len(there) > 10 else "")
    have = f"it has {names}" if there else "it has none yet: create one with `weal new`"
    return UnknownCampaign(f"there is no campaign {name!r} in {place}; {have}")


def check_write(tx: Transaction, drafts: Sequence[Draft], chunks: Sequence[Chunk]) -> None:
    """Raise ValueError for used keys, existing ids, or wrong checksums."""
    if chunks and not drafts:
        raise ValueError("chunks need an event that says they were added; none was written")
    keys = [draft.key for draft in drafts if draft.key is not None]
    taken = {key for key, times in Counter(keys).items() if times > 1}
    taken |= {event.key for event in tx.events_by_keys(keys) if event.key} if keys else set()
    if taken:
        raise ValueError(f"the key {min(taken)!r} was used already; a key is for one event")
    for chunk in chunks:
        if hashlib.sha256(chunk.data).hexdigest() != chunk.sha256:
            raise ValueError("a chunk does not match its sha256; make it with Chunk.of")
    _check_new(tx, [one for chunk in chunks for one in chunk.ids])


def _check_new(tx: Transaction, ids: Sequence[str]) -> None:
    times = Counter(ids)
    there = tx.existing_ids(times) if tx.last else set()
    again = [one for one, count in times.items() if count > 1 or one in there]
    if again:
        first = ", ".join(map(repr, again[:5])) + (", ..." if len(again) > 5 else "")
        raise ValueError(
            f"{len(again)} ids are repeated, or already in the campaign: {first}; "
            "give each candidate its own id"
        )


def check_created(drafts: Sequence[Draft]) -> None:
    """Raise ValueError unless the first draft is `created`."""
    if not drafts or drafts[0].kind != "created":
        raise ValueError("a campaign begins with the event 'created'")
