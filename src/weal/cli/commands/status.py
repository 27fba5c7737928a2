"""`weal status | plot | export | settings | list | doctor`: what looks at campaigns.

Whatever is heavy is imported where it is used.
"""

from pathlib import Path
from typing import Any

import click

from weal.cli import options as line
from weal.cli.options import command, given_settings, open_for_command, opened_store, plural, takes
from weal.cli.screen import say, show, show_count, show_json, show_table

EVENTS_SHOWN = 5  # events from the future
EXPORT_TABLES = ("labels", "predictions", "candidates", "events")


@command("How far it is, and whether to go on.", "weal status alloys --goal 5")
@takes(line.name, line.goal)
def status(name: str, goal: float | None, store: str | None, as_json: bool) -> None:
    """Labels, error estimates and their trend, calibration, and advice on stopping."""
    from weal.store.events import from_the_future

    with open_for_command(name, store) as campaign, show_count() as progress:
        found = campaign.status(goal=goal, progress=progress)
        future = from_the_future(campaign.events(), campaign.store.now())
    if as_json:
        show_json({**found.to_dict(), "future": [event.seq for event in future]})
        return
    for event in future[:EVENTS_SHOWN]:
        by = f" by {event.who}" if event.who else ""
        say(
            f"event {event.seq} ({event.kind}{by}) is dated {event.time:%Y-%m-%d %H:%M} UTC, in "
            "the future: the clock that wrote it was wrong"
        )
    for words in found.lines():
        show(words)


@command("Pictures of it.", "weal plot alloys --to pictures")
@takes(
    line.name,
    click.option(
        *("--to", "folder"),
        type=click.Path(path_type=Path),
        help="Folder for the pictures [default: weal-NAME].",
    ),
)
def plot(name: str, folder: Path | None, store: str | None, as_json: bool) -> None:
    """Draw the learning curve, predicted against measured, who weighs what, which inputs matter."""
    with open_for_command(name, store) as campaign, show_count() as progress:
        paths = campaign.plot.save(folder or Path(f"weal-{name}"), progress)
    if as_json:
        show_json([str(path) for path in paths])
        return
    for path in paths:
        show(path)


@command(
    "Its labels, predictions, candidates or events as a file.",
    "weal export alloys --what predictions --to predictions.parquet",
)
@takes(
    line.name,
    click.option(
        "--what",
        type=click.Choice(EXPORT_TABLES),
        default="labels",
        show_default=True,
        help="Which table.",
    ),
    click.option(
        "--to",
        required=True,
        metavar="FILE",
        help="File that ends in .csv, .tsv, .parquet, .xlsx or .json; - is CSV on stdout; "
        "a folder/ for predictions of candidates in many files.",
    ),
    click.option("--force", is_flag=True, help="Replace a file that is there."),
    line.scheduler,
)
def export(
    name: str,
    what: str,
    to: str,
    force: bool,
    scheduler: str | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Write labels, predictions, candidates or events to a file."""
    from weal.campaign.export import export as write

    if as_json and to == "-":
        raise ValueError("--to - is CSV on stdout, where --json has no place: leave one out")
    with open_for_command(name, store, scheduler=scheduler) as campaign:
        rows = write(campaign, what, to, force=force)
    if as_json:
        show_json({"what": what, "rows": rows, "file": to})
    else:
        say(f"{plural(rows, 'row')} of {what} written" + ("" if to == "-" else f" to {to}"))


@command("Show or change its settings.", "weal settings alloys --lease 3d")
@takes(line.name, line.lease, line.acquisition, line.goal, line.outliers, line.warp, line.by)
def settings(name: str, by: str | None, store: str | None, as_json: bool, **changes: Any) -> None:
    """Show the settings, or change some."""
    given = given_settings(**changes)
    with open_for_command(name, store, by) as campaign:
        if given:
            campaign.change(**given)
            say(f"{name}: {', '.join(given)} changed")
        found = dict(campaign.ledger.settings)
        found.pop("hidden", None)
    if as_json:
        show_json(found)
    else:
        show_table(["setting", "value"], [[key, _format_setting(key, found[key])] for key in found])


def _format_setting(key: str, value: Any) -> str:
    if value is None:
        return "not set"
    if key == "lease":
        return next(
            f"{value / size:g}{unit}"
            for unit, size in (("d", 86400.0), ("h", 3600.0), ("m", 60.0), ("s", 1.0))
            if value >= size or unit == "s"
        )
    return ", ".join(value) if isinstance(value, list) else str(value)


@command("The campaigns of a store.", "weal list --store sqlite:///weal.db", name="list")
@takes(click.option("--all", "every", is_flag=True, help="Those that were removed, too."))
def list_(every: bool, store: str | None, as_json: bool) -> None:
    """List the campaigns of a store."""
    from weal.campaign.campaign import Campaign

    with opened_store(store) as place:
        ledgers = [Campaign(name, place).ledger for name in place.campaigns()]
        away = [ledger.name for ledger in ledgers if ledger.settings.get("hidden")]
        ledgers = [ledger for ledger in ledgers if every or ledger.name not in away]
        rows = [
            {
                "name": ledger.name,
                "candidates": ledger.rows,
                "labels": ledger.n_labels,
                "out": len(ledger.open_leases(place.now())),
                "skipped": len(ledger.skipped),
                **({"removed": ledger.name in away} if every else {}),
            }
            for ledger in ledgers
        ]
        where = place.url
    if as_json:
        show_json(rows)
    elif rows:
        show_table(list(rows[0]), [[str(cell) for cell in row.values()] for row in rows])
    elif not away:
        say(f"{where} has no campaigns yet: make one with `weal new`")
    if away and not every and not as_json:
        say(f"{plural(len(away), 'campaign')} removed: `weal list --all` shows all")
