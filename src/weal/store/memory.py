"""The store that forgets: campaigns in dictionaries, for trying things and for tests.

It keeps the same rows as the others and reads them back through the same checks, so that what
works here works there. Threads share it; processes do not.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime

from weal.store import events
from weal.store.events import Draft, Event, Row, check_name
from weal.store.protocol import Chunk, Decide, check_created, check_write, unknown
from weal.store.urls import StoreUrl


@dataclass(slots=True)
class _CampaignRows:
    """One campaign, and the book of whoever holds the lock."""

    now: datetime
    rows: list[Row] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    snapshots: dict[str, tuple[int, str, bytes]] = field(default_factory=dict)

    @property
    def last(self) -> int:
        return len(self.rows)

    def event(self, seq: int) -> Event:
        return events.read(self.rows[seq - 1], self.hash(seq - 1), "memory:")

    def hash(self, seq: int) -> str:
        return self.rows[seq - 1][-1] if seq else ""

    def of(self, ids: Iterable[str]) -> list[Event]:
        wanted = set(ids)
        return [self.event(row[1]) for row in self.rows if row[3] in wanted]

    def known(self, ids: Iterable[str]) -> set[str]:
        return self.ids.intersection(ids)

    def by_key(self, key: str) -> Event | None:
        return next(iter(self.by_keys([key])), None)

    def by_keys(self, keys: Iterable[str]) -> list[Event]:
        wanted = set(keys)
        return [self.event(row[1]) for row in self.rows if row[7] in wanted]

    def between(self, first: int, last: int) -> list[Event]:
        return [self.event(seq) for seq in range(first, min(last, self.last) + 1)]

    def next_chunk(self) -> int:
        return len(self.chunks)

    def write(self, name: str, drafts: Sequence[Draft], chunks: Sequence[Chunk]) -> list[Row]:
        check_write(self, drafts, chunks)
        rows = events.write(name, drafts, self.last, self.hash(self.last), self.now)
        self.rows += rows
        self.chunks += chunks
        self.ids.update(one for chunk in chunks for one in chunk.ids)
        return rows


class MemoryStore:
    """Campaigns in this process, gone when it ends."""

    url = "memory:"

    def __init__(self) -> None:
        self._shelves: dict[str, _CampaignRows] = {}
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return "MemoryStore()"

    def create(self, name: str, drafts: Sequence[Draft], chunks: Sequence[Chunk] = ()) -> bool:
        check_name(name)
        check_created(drafts)
        with self._lock:
            if name in self._shelves:
                return False
            shelf = _CampaignRows(self.now())
            shelf.write(name, drafts, chunks)
            self._shelves[name] = shelf
            return True

    def campaigns(self) -> list[str]:
        return sorted(self._shelves)

    def transact(
        self, name: str, decide: Decide, chunks: Sequence[Chunk] = ()
    ) -> tuple[Event, ...]:
        with self._lock:
            shelf = self._shelf(name)
            shelf.now = self.now()
            rows = shelf.write(name, decide(shelf), chunks)
            return tuple(shelf.event(row[1]) for row in rows)

    def read(self, name: str, since: int = 0) -> list[Event]:
        shelf = self._shelf(name)
        return [shelf.event(seq) for seq in range(max(since, 0) + 1, shelf.last + 1)]

    def head(self, name: str) -> tuple[int, str]:
        shelf = self._shelf(name)
        return shelf.last, shelf.hash(shelf.last)

    def of(self, name: str, ids: Iterable[str]) -> list[Event]:
        return self._shelf(name).of(ids)

    def known(self, name: str, ids: Iterable[str]) -> set[str]:
        return self._shelf(name).known(ids)

    def chunks(self, name: str) -> Iterator[bytes]:
        return iter([chunk.data for chunk in self._shelf(name).chunks])

    def snapshot(self, name: str, kind: str) -> tuple[int, str, bytes] | None:
        return self._shelf(name).snapshots.get(kind)

    def keep_snapshot(self, name: str, kind: str, seq: int, hash: str, data: bytes) -> None:
        self._shelf(name).snapshots[kind] = (seq, hash, bytes(data))

    def turn(self, name: str) -> AbstractContextManager[None]:
        return nullcontext()  # threads share one campaign, and take turns anyway

    def now(self) -> datetime:
        return datetime.now(UTC)

    def close(self) -> None:
        """Nothing to let go of."""

    def _shelf(self, name: str) -> _CampaignRows:
        if name not in self._shelves:
            raise unknown(name, self.campaigns(), self.url)
        return self._shelves[name]


def open(name: StoreUrl) -> MemoryStore:
    """A store of its own, empty."""
    return MemoryStore()
