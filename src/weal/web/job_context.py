"""What jobs have at hand: the store, the folder for what they find, and open campaigns.

Campaigns stay open between jobs, so that a second ask goes on from the first.

A store that is only read: every write is refused, and advice is not kept.
"""

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn, cast

from weal.campaign.campaign import Campaign
from weal.errors import NotAllowed
from weal.store.events import Draft
from weal.store.protocol import Chunk, Decide, Store
from weal.web.server_folder import JobResults

MAX_OPEN_CAMPAIGNS = 4  # campaigns that stay open
Arguments = dict[str, Any]


class JobContext:
    """What all jobs have at hand."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store, self.kept = store, JobResults(folder)
        self._open: OrderedDict[str, Campaign] = OrderedDict()

    def campaign(self, name: str, who: str = "") -> Campaign:
        """The campaign, kept open; `who` writes next."""
        found = self._open.get(name)
        head = self.store.head(name)
        if found is None or head[0] < found.ledger.seq:  # a copy was put in its place
            found = Campaign(name, self.store)
        self._open[name] = found
        self._open.move_to_end(name)
        while len(self._open) > MAX_OPEN_CAMPAIGNS:
            self._open.popitem(last=False)
        found.who = who
        return found

    def keep(self, campaign: Campaign, kind: str, seq: int, data: Any) -> None:
        """Keep what was found of a campaign; `seq` is from before it was looked for.

        Whoever told a label meanwhile makes it old, and it is looked for again.
        """
        self.kept.keep(campaign.name, kind, seq, data)


class ReadOnlyStore:
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
    return cast(Store, ReadOnlyStore(store))


def _refusal() -> NotAllowed:
    return NotAllowed("this server only shows campaigns (--read-only): nothing was written")
