"""The store in memory: campaigns in dictionaries, for trials and tests.

It has the same rows as the other stores and reads them through the same checks. Threads share it;
processes do not.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hmac import compare_digest

from weal.store import events
from weal.store.events import Draft, Event, Row, check_name
from weal.store.protocol import Chunk, Decide, check_created, check_write, unknown_campaign
from weal.store.tokens import DecideTokens, Token, merged
from weal.store.urls import StoreUrl


@dataclass(slots=True)
class _CampaignRows:
    """The rows of one campaign; also its `Transaction` while the lock is taken."""

    now: datetime
    rows: list[Row] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    snapshots: dict[str, tuple[int, str, bytes]] = field(default_factory=dict)

    @property
    def last(self) -> int:
        return len(self.rows)

    def event(self, seq: int) -> Event:
        return events.read(self.rows[seq - 1], self.hash_of(seq - 1), "memory:")

    @property
    def hash(self) -> str:
        return self.hash_of(self.last)

    def hash_of(self, seq: int) -> str:
        return self.rows[seq - 1][-1] if seq else ""

    def events_of(self, ids: Iterable[str]) -> list[Event]:
        wanted = set(ids)
        return [self.event(row[1]) for row in self.rows if row[3] in wanted]

    def existing_ids(self, ids: Iterable[str]) -> set[str]:
        return self.ids.intersection(ids)

    def events_by_keys(self, keys: Iterable[str]) -> list[Event]:
        wanted = set(keys)
        return [self.event(row[1]) for row in self.rows if row[7] in wanted]

    def events_between(self, first: int, last: int) -> list[Event]:
        return [self.event(seq) for seq in range(first, min(last, self.last) + 1)]

    def count_chunks(self) -> int:
        return len(self.chunks)

    def write(self, name: str, drafts: Sequence[Draft], chunks: Sequence[Chunk]) -> list[Row]:
        check_write(self, drafts, chunks)
        rows = events.write(name, drafts, self.last, self.hash, self.now)
        self.rows += rows
        self.chunks += chunks
        self.ids.update(one for chunk in chunks for one in chunk.ids)
        return rows


class MemoryStore:
    """Campaigns in the memory of this process."""

    url = "memory:"

    def __init__(self) -> None:
        self._campaigns: dict[str, _CampaignRows] = {}
        self._tokens: list[Token] = []
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return "MemoryStore()"

    def create(self, name: str, drafts: Sequence[Draft], chunks: Sequence[Chunk] = ()) -> bool:
        check_name(name)
        check_created(drafts)
        with self._lock:
            if name in self._campaigns:
                return False
            campaign = _CampaignRows(self.now())
            campaign.write(name, drafts, chunks)
            self._campaigns[name] = campaign
            return True

    def campaigns(self) -> list[str]:
        return sorted(self._campaigns)

    def transact(
        self, name: str, decide: Decide, chunks: Sequence[Chunk] = ()
    ) -> tuple[Event, ...]:
        with self._lock:
            campaign = self._find(name)
            campaign.now = self.now()
            rows = campaign.write(name, decide(campaign), chunks)
            return tuple(campaign.event(row[1]) for row in rows)

    def read(self, name: str, since: int = 0) -> list[Event]:
        campaign = self._find(name)
        return [campaign.event(seq) for seq in range(max(since, 0) + 1, campaign.last + 1)]

    def events_between(self, name: str, first: int, last: int) -> list[Event]:
        return self._find(name).events_between(first, last)

    def head(self, name: str) -> tuple[int, str]:
        campaign = self._find(name)
        return campaign.last, campaign.hash

    def events_of(self, name: str, ids: Iterable[str]) -> list[Event]:
        return self._find(name).events_of(ids)

    def existing_ids(self, name: str, ids: Iterable[str]) -> set[str]:
        return self._find(name).existing_ids(ids)

    def read_chunks(self, name: str) -> Iterator[bytes]:
        return iter([chunk.data for chunk in self._find(name).chunks])

    def read_snapshot(self, name: str, kind: str) -> tuple[int, str, bytes] | None:
        return self._find(name).snapshots.get(kind)

    def write_snapshot(self, name: str, kind: str, seq: int, hash: str, data: bytes) -> None:
        self._find(name).snapshots[kind] = (seq, hash, bytes(data))

    def tokens(self) -> list[Token]:
        return list(self._tokens)

    def find_token(self, digest: str) -> Token | None:
        found = [one for one in self._tokens if compare_digest(one.digest, digest)]
        return next((one for one in found if one.state(self.now()) == "valid"), None)

    def write_tokens(self, decide: DecideTokens) -> list[Token]:
        with self._lock:
            self._tokens = merged(self._tokens, decide(self._tokens, self.now()))
            return list(self._tokens)

    def turn(self, name: str) -> AbstractContextManager[None]:
        return nullcontext()  # threads of one process: the lock of `transact` is enough

    def now(self) -> datetime:
        return datetime.now(UTC)

    def close(self) -> None:
        """Do nothing."""

    def _find(self, name: str) -> _CampaignRows:
        if name not in self._campaigns:
            raise unknown_campaign(name, self.campaigns(), self.url)
        return self._campaigns[name]


def open(name: StoreUrl) -> MemoryStore:
    """A new, empty store."""
    return MemoryStore()
