"""A store that is only read: every write is refused, and advice is not kept."""

from collections.abc import Sequence
from typing import Any, NoReturn, cast

from weal.errors import NotAllowed
from weal.store.events import Draft
from weal.store.store import Chunk, Decide, Store


class ReadingOnly:
    """A store behind glass."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def create(self, name: str, drafts: Sequence[Draft], chunks: Sequence[Chunk] = ()) -> NoReturn:
        """Refuse."""
        raise _refusal()

    def transact(self, name: str, decide: Decide, chunks: Sequence[Chunk] = ()) -> NoReturn:
        """Refuse."""
        raise _refusal()

    def keep_snapshot(self, name: str, kind: str, seq: int, hash: str, data: bytes) -> None:
        """Keep nothing: it is advice."""


def reading_only(store: Store) -> Store:
    """The store, behind glass."""
    return cast(Store, ReadingOnly(store))


def _refusal() -> NotAllowed:
    return NotAllowed("this server only shows campaigns (--read-only): nothing was written")
