"""What jobs have at hand: the store, the folder for what they find, and open campaigns.

Campaigns stay open between jobs, so that a second ask goes on from the first.
"""

from collections import OrderedDict
from pathlib import Path
from typing import Any

from weal.campaign.campaign import Campaign
from weal.progress import Progress as Progress
from weal.store.store import Store
from weal.web.kept import Kept

OPEN = 4  # campaigns that stay open
Arguments = dict[str, Any]


class Shelf:
    """What all jobs have at hand."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store, self.kept = store, Kept(folder)
        self._open: OrderedDict[str, Campaign] = OrderedDict()

    def campaign(self, name: str, who: str = "") -> Campaign:
        """The campaign, kept open; `who` writes next."""
        found = self._open.get(name)
        head = self.store.head(name)
        if found is None or head[0] < found.ledger.seq:  # a copy was put in its place
            found = Campaign(name, self.store)
        self._open[name] = found
        self._open.move_to_end(name)
        while len(self._open) > OPEN:
            self._open.popitem(last=False)
        found.who = who
        return found

    def keep(self, campaign: Campaign, kind: str, seq: int, data: Any) -> None:
        """Keep what was found of a campaign; `seq` is from before it was looked for.

        Whoever told a label meanwhile makes it old, and it is looked for again.
        """
        self.kept.keep(campaign.name, kind, seq, data)
