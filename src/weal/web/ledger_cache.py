"""Ledgers of campaigns, cached: a request reads only the events that are new.

A ledger is frozen and may be read for as long as a view likes. One thread at a time brings the
ledger of a campaign up to date; other campaigns do not wait. The least recently used ledgers are
dropped beyond `MAX_CACHED_LEDGERS`.
"""

import threading
from collections import OrderedDict

from weal.campaign.ledger import Ledger, apply_events
from weal.store.events import Event
from weal.store.protocol import Store

MAX_CACHED_LEDGERS = 64


class LedgerCache:
    """The ledgers and events of the campaigns of a store, up to date at every call."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._lock = threading.Lock()
        self._cached: OrderedDict[str, _CachedLedger] = OrderedDict()

    def ledger(self, name: str) -> Ledger:
        """The ledger of the campaign now; UnknownCampaign if there is none."""
        return self._entry(name).read(self.store)[0]

    def events(self, name: str, limit: int) -> list[Event]:
        """The last events, the newest first."""
        return self._entry(name).read(self.store)[1][: -limit - 1 : -1]

    def log(self, name: str) -> tuple[Ledger, list[Event]]:
        """The ledger and all events now, for a campaign to write to."""
        return self._entry(name).read(self.store)

    def _entry(self, name: str) -> "_CachedLedger":
        with self._lock:
            entry = self._cached.setdefault(name, _CachedLedger(name))
            self._cached.move_to_end(name)
            while len(self._cached) > MAX_CACHED_LEDGERS:
                self._cached.popitem(last=False)
        return entry


class _CachedLedger:
    """One campaign, read by one thread at a time."""

    def __init__(self, name: str) -> None:
        self._lock = threading.Lock()
        self._ledger, self._events = Ledger(name), list[Event]()

    def read(self, store: Store) -> tuple[Ledger, list[Event]]:
        """Ledger and events with the new events of the store; from scratch if it was replaced."""
        with self._lock:
            name = self._ledger.name
            head = store.head(name)
            if head != (self._ledger.seq, self._ledger.hash):
                if head[0] <= self._ledger.seq:  # the store was replaced by a copy
                    self._ledger, self._events = Ledger(name), []
                new = store.read(name, self._ledger.seq)
                self._ledger = apply_events(self._ledger, new)
                self._events = [*self._events, *new]
            return self._ledger, self._events
