"""Candidates looked up by their ids, whether the store keeps them or they stay in their files.

The store answers first, as it needs no numerics for it. It knows none of the ids that stay in
files: those are looked up in the index beside it (`shard_pool`).
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from weal.errors import UnknownId
from weal.store.events import Event
from weal.store.store import Book, Decide

if TYPE_CHECKING:
    from weal.campaign.opened import Opened
    from weal.campaign.shard_pool import ShardPool


@dataclass(frozen=True, slots=True)
class WiderBook:
    """A book that knows more candidates: those that stay in files, and those with events."""

    book: Book
    elsewhere: Callable[[set[str]], set[str]]

    @property
    def last(self) -> int:
        """Number of the last event."""
        return self.book.last

    @property
    def now(self) -> datetime:
        """The store's clock."""
        return self.book.now

    def of(self, ids: Iterable[str]) -> list[Event]:
        """All events of these ids."""
        return self.book.of(ids)

    def known(self, ids: Iterable[str]) -> set[str]:
        """Which of these are candidates."""
        wanted = set(ids)
        found = self.book.known(wanted) | {str(event.id) for event in self.book.of(wanted)}
        return found | self.elsewhere(wanted - found)

    def by_key(self, key: str) -> Event | None:
        """The event that a client wrote under this key."""
        return self.book.by_key(key)

    def by_keys(self, keys: Iterable[str]) -> list[Event]:
        """The events that clients wrote under these keys."""
        return self.book.by_keys(keys)

    def between(self, first: int, last: int) -> list[Event]:
        """The events with these numbers and those between them."""
        return self.book.between(first, last)

    def next_chunk(self) -> int:
        """The number that the next chunk will have."""
        return self.book.next_chunk()


def transact(campaign: "Opened", decide: Decide) -> tuple[Event, ...]:
    """Write what `decide` answers; ids that stay in files are looked up in their index."""
    try:
        return campaign.store.transact(campaign.name, decide)
    except UnknownId:
        if not campaign.ledger.shards:
            raise
    here = lambda ids: _in_files(campaign, ids)  # noqa: E731
    return campaign.store.transact(campaign.name, lambda book: decide(WiderBook(book, here)))


def known(campaign: "Opened", ids: set[str]) -> set[str]:
    """Which of these are ids of candidates."""
    found = campaign.store.known(campaign.name, ids)
    if len(found) == len(ids) or not campaign.ledger.shards:
        return found
    return found | _in_files(campaign, ids - found)


def candidate_ids(campaign: "Opened") -> list[str]:
    """The ids of all candidates, in order; ValueError where files have too many."""
    from weal.campaign.candidate_rows import read_ids

    if not campaign.ledger.shards:
        return read_ids(campaign.store, campaign.name, campaign.created["id"])
    pool = _pool(campaign)
    pool.refuse_many("ids")
    return [str(name) for name in pool.ids[:]]


def near_ids(campaign: "Opened") -> list[str]:
    """Ids among which one may be meant that is written in another way; none of many in files."""
    from weal.campaign.near_ids import LOOKED_AT

    ledger = campaign.ledger
    return [] if ledger.shards and ledger.rows > LOOKED_AT else candidate_ids(campaign)


def columns(campaign: "Opened") -> tuple[str, ...]:
    """The names of the columns that candidates came with."""
    from weal.campaign.candidate_rows import read_columns

    if not campaign.ledger.shards:
        return read_columns(campaign.store, campaign.name)
    first = _pool(campaign).pieces[0]
    own = [first.id_column] if first.id_column else []
    return (*own, *first.columns)


def rows(
    campaign: "Opened", ids: Collection[str], columns: Collection[str]
) -> dict[str, dict[str, Any]]:
    """The original cells of these candidates, in these columns at least, by id."""
    from weal.campaign.candidate_rows import read_rows

    if not campaign.ledger.shards:
        return read_rows(campaign.store, campaign.name, campaign.created["id"], ids, columns)
    pool = _pool(campaign)
    return pool.cells(sorted(_in_files(campaign, set(ids))))


def _in_files(campaign: "Opened", ids: set[str]) -> set[str]:
    from weal.campaign.shard_pool import known

    return known(_pool(campaign), ids)


def _pool(campaign: "Opened") -> "ShardPool":
    """The candidates in files: those at hand, else opened."""
    from weal.campaign.shard_pool import ShardPool, read_shard_pool

    there = campaign.pool_at_hand
    if isinstance(there, ShardPool) and there.rows == campaign.ledger.rows:
        return there
    return read_shard_pool(campaign.store, campaign.ledger)
