"""Ledgers of the campaigns of a store, kept up to date: each look reads what is new, and no more.

Views run in threads; a ledger is frozen, so that who has it may read it for as long as it likes.
"""

import threading
from collections import OrderedDict

from weal.campaign.ledger import Ledger, fold
from weal.store.events import Event
from weal.store.store import Store

OPEN = 64  # campaigns whose events are held in memory


class Books:
    """The ledgers of a store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._lock = threading.Lock()
        self._open: OrderedDict[str, _Book] = OrderedDict()

    def ledger(self, name: str) -> Ledger:
        """Where the campaign stands now; UnknownCampaign where there is none."""
        return self._book(name).look(self.store)[0]

    def events(self, name: str, most: int) -> list[Event]:
        """The last events, the newest first."""
        return self._book(name).look(self.store)[1][: -most - 1 : -1]

    def _book(self, name: str) -> "_Book":
        with self._lock:
            book = self._open.setdefault(name, _Book(name))
            self._open.move_to_end(name)
            while len(self._open) > OPEN:
                self._open.popitem(last=False)
        return book


class _Book:
    """One campaign, read by one thread at a time."""

    def __init__(self, name: str) -> None:
        self._lock = threading.Lock()
        self._ledger, self._events = Ledger(name), list[Event]()

    def look(self, store: Store) -> tuple[Ledger, list[Event]]:
        """The ledger and the events, read as far as they go; anew where the store is another."""
        with self._lock:
            name = self._ledger.name
            head = store.head(name)
            if head != (self._ledger.seq, self._ledger.hash):
                if head[0] <= self._ledger.seq:  # a copy was put in its place
                    self._ledger, self._events = Ledger(name), []
                new = store.read(name, self._ledger.seq)
                self._ledger = fold(self._ledger, new)
                self._events = [*self._events, *new]
            return self._ledger, self._events
