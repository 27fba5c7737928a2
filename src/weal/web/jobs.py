"""What the worker can do: work that needs numerics, so that the server itself stays small and free.

A job is a function of the shelf (store, folder, open campaigns), its arguments and a callback that
says how far it is; its answer is JSON. Jobs of `FINDING` keep what they found for a campaign
(`kept`), and answer nothing. Campaigns stay open between jobs, so that a second ask goes on from
the first.
"""

import json
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from weal.campaign.campaign import Campaign
from weal.store.store import Store
from weal.web.kept import Kept, plain_cells

OPEN = 4  # campaigns that stay open
Progress = Callable[[str, int, int], object]
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

    def keep(self, campaign: Campaign, kind: str, data: Any) -> None:
        """Keep what was found of a campaign, which is up to date."""
        self.kept.keep(campaign.name, kind, campaign.session.ledger.seq, data)


def rows(shelf: Shelf, given: Arguments, progress: Progress) -> None:
    """The cells of all candidates."""
    campaign = shelf.campaign(given["name"])
    session = campaign.session
    shelf.kept.keep_rows(campaign.name, session.ledger.seq, _cells(session.pool))


def _cells(pool: Any) -> Iterator[tuple[str, str]]:
    ids = iter(pool.ids)
    for part in pool.parts:
        columns = {name: part.cells(name) for name in part.columns}
        for n in range(len(part)):
            row = {name: cells[n] for name, cells in columns.items()}
            yield next(ids), json.dumps(plain_cells(row))


def why(shelf: Shelf, given: Arguments, progress: Progress) -> None:
    """Why the rows that are out were asked, in sentences."""
    campaign = shelf.campaign(given["name"])
    leases = campaign.ledger.leases
    found = {str(leases[one.id].seq): one.why for one in campaign.asked()}
    shelf.keep(campaign, "why", found)


def status(shelf: Shelf, given: Arguments, progress: Progress) -> None:
    """How far the campaign is, as `weal status` has it."""
    campaign = shelf.campaign(given["name"])
    found = campaign.status(progress=progress)
    shelf.keep(campaign, "status", {**found.to_dict(), "lines": found.lines()})


def ask(shelf: Shelf, given: Arguments, progress: Progress) -> list[str]:
    """Rows to measure next: asked when this returns, whoever still looks."""
    campaign = shelf.campaign(given["name"], given["who"])
    ids: list[str] = campaign.ask(given["n"], check=given.get("check", False))
    return ids


Job = Callable[[Shelf, Arguments, Progress], Any]
FINDING: dict[str, Job] = {"rows": rows, "why": why, "status": status}
DOING: dict[str, Job] = {"ask": ask}
KINDS: dict[str, Job] = {**FINDING, **DOING}


def run(shelf: Shelf, kind: str, given: Arguments, progress: Progress) -> Any:
    """Do one job."""
    return KINDS[kind](shelf, given, progress)
