"""Preconditions of a write: "only if nothing has changed", and the state that a write leads to.

A state is the number and the hash of the last event; its tag is what an API sends as an ETag:

>>> state_tag(12, "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")
'12-9f86d081884c7d65'

`GuardedStore` wraps a store for one call. Each write compares the tag under the write lock, so that
no event of another client can come in between, and remembers the state after it. A call that has
nothing to write, such as a retry with its key, is not refused.
"""

from collections.abc import Collection, Sequence
from typing import cast

from weal.errors import Changed, ReusedKey, WealError
from weal.store.events import Draft, Event
from weal.store.protocol import Chunk, Decide, Store, Transaction

TAG_LETTERS = 16  # of the hash: 64 bits


def state_tag(seq: int, hash: str) -> str:
    """The tag of the state after this event."""
    return f"{seq}-{hash[:TAG_LETTERS]}"


class GuardedStore:
    """A store whose writes need one of the expected tags; None: any state."""

    def __init__(self, store: Store, expected: Collection[str] | None = None) -> None:
        self._store, self._expected = store, expected
        self.tag: str | None = None  # of the state after the last transaction

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def transact(
        self, name: str, decide: Decide, chunks: Sequence[Chunk] = ()
    ) -> tuple[Event, ...]:
        """As in the store; raises Changed if there is something to write and the state differs."""
        before = ""

        def decide_if_expected(tx: Transaction) -> Sequence[Draft]:
            nonlocal before
            before = state_tag(tx.last, tx.hash)
            is_expected = self._expected is None or before in self._expected
            try:
                drafts = decide(tx)
            except ReusedKey:
                raise
            except (WealError, ValueError) as error:
                if is_expected:
                    raise
                raise self._changed(name, tx.last) from error
            if drafts and not is_expected:
                raise self._changed(name, tx.last)
            return drafts

        events = self._store.transact(name, decide_if_expected, chunks)
        self.tag = state_tag(events[-1].seq, events[-1].hash) if events else before
        return events

    @staticmethod
    def _changed(name: str, last: int) -> Changed:
        return Changed(
            f"{name!r} has changed since (its last event is {last}), so nothing was written: read "
            "it again, and send the ETag of that answer as If-Match"
        )


def guard(store: Store, expected: Collection[str] | None = None) -> tuple[Store, GuardedStore]:
    """The store to write through, and the guard with the tag after the write."""
    found = GuardedStore(store, expected)
    return cast(Store, found), found
