"""What the worker can do: work that needs numerics, so that the server itself stays small and free.

A job is a function of the shelf, its arguments and a callback that says how far it is; its answer
is JSON. Jobs of `FINDING` keep what they found for a campaign (`kept`), and answer nothing; whoever
looks at a page has asked for them, and none waits. `DOING` is what somebody waits for.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from weal.campaign.explaining import explain
from weal.campaign.ledger import Ledger
from weal.campaign.shard_pool import MOST_AT_ONCE, ShardPool
from weal.web import findings, results, tables
from weal.web.kept import plain_cells
from weal.web.shelf import Arguments, Progress, Shelf


def rows(shelf: Shelf, given: Arguments, progress: Progress) -> None:
    """The cells of all candidates; of many in files, of those that something happened to."""
    campaign = shelf.campaign(given["name"])
    session = campaign.session
    pool, ledger = session.pool, session.ledger
    many = isinstance(pool, ShardPool) and pool.rows > MOST_AT_ONCE
    found = _met(pool, ledger) if many else _cells(pool)
    shelf.kept.keep_rows(campaign.name, ledger.seq, found)


def _met(pool: Any, ledger: Ledger) -> Iterator[tuple[str, str]]:
    """The cells of rows that are labelled, out or skipped."""
    met = dict.fromkeys([*ledger.leases, *ledger.skipped, *ledger.labels])
    for name, row in pool.cells(list(met)).items():
        yield name, json.dumps(plain_cells(row))


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
    session = campaign.session
    ledger = session.ledger
    asked = explain(session, ledger.open_leases(shelf.store.now()))
    found = {str(ledger.leases[one.id].seq): list(one.sentences) for one in asked}
    shelf.keep(campaign, "why", ledger.seq, found)


def status(shelf: Shelf, given: Arguments, progress: Progress) -> None:
    """How far the campaign is, as `weal status` has it."""
    campaign = shelf.campaign(given["name"])
    seq = campaign.ledger.seq
    found = campaign.status(progress=progress)
    shelf.keep(campaign, "status", seq, {**found.to_dict(), "lines": found.lines()})


def ask(shelf: Shelf, given: Arguments, progress: Progress) -> list[str]:
    """Rows to measure next: asked when this returns, whoever still looks."""
    campaign = shelf.campaign(given["name"], given["who"])
    how = {"check": given.get("check", False), "key": given.get("form")}
    ids: list[str] = campaign.ask(given["n"], **how)
    return ids


def take(shelf: Shelf, given: Arguments, progress: Progress) -> list[str]:
    """Ask for this very row."""
    ids: list[str] = shelf.campaign(given["name"], given["who"]).ask_for([given["id"]])
    return ids


def change(shelf: Shelf, given: Arguments, progress: Progress) -> None:
    """Change settings."""
    shelf.campaign(given["name"], given["who"]).change(**given["changes"])


def export(shelf: Shelf, given: Arguments, progress: Progress) -> dict[str, Any]:
    """Write a table of the campaign to a place of the server's; what it is to be called."""
    from weal.campaign.exporting import export

    campaign, path = shelf.campaign(given["name"]), Path(given["path"])
    rows = export(campaign, given["what"], path)
    return {"file": path.stem, "called": f"{given['name']}-{given['what']}{path.suffix}", "n": rows}


Job = Callable[[Shelf, Arguments, Progress], Any]
FINDING: dict[str, Job] = {"rows": rows, "why": why, "status": status, **findings.FINDING}
DOING: dict[str, Job] = {
    "ask": ask,
    "take": take,
    "change": change,
    "export": export,
    **findings.DOING,
    **tables.KINDS,
    **results.KINDS,
}
KINDS: dict[str, Job] = {**FINDING, **DOING}


def run(shelf: Shelf, kind: str, given: Arguments, progress: Progress) -> Any:
    """Do one job."""
    return KINDS[kind](shelf, given, progress)
