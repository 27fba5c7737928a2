"""`weal status | plot | export | settings`: read a campaign, and change its settings.

Slow packages are imported where they are used.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from weal.cli import options as line
from weal.cli.options import (
    Settings,
    command,
    given_settings,
    note_error_goal,
    open_for_command,
    plural,
    with_parameters,
)
from weal.cli.screen import say, show, show_count, show_json, show_table
from weal.errors import NoModel

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign
    from weal.progress import Progress

MAX_FUTURE_EVENTS_SHOWN = 5
MAX_FOLDER_LETTERS = 60
EXPORT_TABLES = ("labels", "predictions", "candidates", "events")


@command("Show the progress, and whether to continue.", "weal status alloys --until 'error < 5'")
@with_parameters(line.name, line.goal, line.subject_to, line.until)
def status(
    name: str,
    goal: str | list[str] | None,
    subject_to: tuple[str, ...],
    until: str | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Show labels, progress towards the goal, calibration, and advice on stopping."""
    from weal.store.events import from_the_future

    note_error_goal(goal)

    with open_for_command(name, store) as campaign, show_count() as progress:
        aim = line.given_goal(campaign, goal, subject_to)
        found = campaign.status(goal=aim, until=until, progress=progress)
        future = from_the_future(campaign.events(), campaign.store.now())
    if as_json:
        show_json({**found.to_dict(), "future": [event.seq for event in future]})
        return
    for event in future[:MAX_FUTURE_EVENTS_SHOWN]:
        by = f" by {event.who}" if event.who else ""
        say(
            f"event {event.seq} ({event.kind}{by}) is dated {event.time:%Y-%m-%d %H:%M} UTC, in "
            "the future: the clock of that machine was wrong"
        )
    for words in found.lines():
        show(words)


@command("Draw the figures of a campaign.", "weal plot alloys --to pictures")
@with_parameters(
    line.name,
    click.option(
        *("--to", "folder"),
        type=click.Path(path_type=Path),
        help="Folder of the figures [default: weal-NAME].",
    ),
    click.option(
        "--quantity",
        metavar="NAME",
        help="Draw only this quantity [default: all numeric quantities, each in its own folder].",
    ),
)
def plot(
    name: str, folder: Path | None, quantity: str | None, store: str | None, as_json: bool
) -> None:
    """Draw learning curve, predicted against measured, weights of the experts, input importance."""
    with open_for_command(name, store) as campaign, show_count() as progress:
        place = folder or Path(f"weal-{name}")
        if quantity is None and len(campaign.read_ledger().quantities) > 1:
            paths = _plot_each(campaign, place, progress)
        else:
            paths = campaign.plots(quantity).save(place, progress)
    if as_json:
        show_json([str(path) for path in paths])
        return
    for path in paths:
        show(path)


def _plot_each(campaign: "Campaign", place: Path, progress: "Progress") -> list[Path]:
    """Draw each numeric quantity in its own folder."""
    from weal.campaign.plots import drawn_quantities

    names, notes = drawn_quantities(campaign.read_session())
    for note in notes:
        say(note)
    if not names:
        raise NoModel(
            "there is nothing to draw before a numeric quantity has a model: tell more labels"
        )
    pairs = zip(names, _folder_names(names), strict=True)
    return [
        path for name, own in pairs for path in campaign.plots(name).save(place / own, progress)
    ]


def _folder_names(names: Sequence[str]) -> list[str]:
    """A folder name for each quantity; duplicates are numbered.

    >>> _folder_names(["yield", "a/b", "A:b", ".."])
    ['yield', 'a_b', 'A_b 3', 'quantity 4']
    """
    found = list[str]()
    for n, name in enumerate(names, start=1):
        plain = re.sub(r"[^\w .-]", "_", name).strip(". ")[:MAX_FOLDER_LETTERS].rstrip(". ")
        own = plain or f"quantity {n}"
        alike = own.casefold() in [one.casefold() for one in found]
        found.append(f"{own} {n}" if alike else own)
    return found


@command(
    "Write labels, predictions, candidates or events to a file.",
    "weal export alloys --what predictions --to predictions.parquet",
)
@with_parameters(
    line.name,
    click.option(
        "--what",
        type=click.Choice(EXPORT_TABLES),
        default="labels",
        show_default=True,
        help="The table to write.",
    ),
    click.option(
        "--to",
        required=True,
        metavar="FILE",
        help="Output file: .csv, .tsv, .parquet, .xlsx or .json; - is CSV on stdout; a folder/ for "
        "predictions of candidates in Parquet files.",
    ),
    click.option("--force", is_flag=True, help="Replace an existing file."),
    click.option(
        "--quantity",
        metavar="NAME",
        help="The quantity of predictions for candidates in Parquet files.",
    ),
    line.scheduler,
)
def export(
    name: str,
    what: str,
    to: str,
    force: bool,
    quantity: str | None,
    scheduler: str | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Write labels, predictions, candidates or events to a file."""
    from weal.campaign.export import export as write

    if as_json and to == "-":
        raise ValueError("--to - and --json both write to stdout: leave out one of them")
    with open_for_command(name, store, scheduler=scheduler) as campaign:
        rows = write(campaign, what, to, force=force, quantity=quantity)
    if as_json:
        show_json({"what": what, "rows": rows, "file": to})
    else:
        say(f"{plural(rows, 'row')} of {what} written" + ("" if to == "-" else f" to {to}"))


@command("Show or change the settings.", "weal settings alloys --lease 3d")
@with_parameters(
    *(line.name, line.title, line.lease, line.acquisition, line.goal, line.subject_to, line.weight),
    line.until,
    click.option(
        "--add-word",
        "new_words",
        multiple=True,
        metavar="NAME=WORD",
        help="Add a class, or a grade above the others, to a quantity.",
    ),
    *(line.budget, line.outliers, line.repeats, line.warp, line.model_version, line.by),
)
def settings(
    name: str,
    by: str | None,
    store: str | None,
    as_json: bool,
    new_words: tuple[str, ...],
    **changes: Unpack[Settings],
) -> None:
    """Show the settings, or change some of them."""
    from weal.campaign.answers import LIST_SETTINGS, settings_answer
    from weal.campaign.quantity_names import split_assignment

    given = given_settings(**changes)
    with open_for_command(name, store, by) as campaign:
        for typed in new_words:
            quantity, word = split_assignment(campaign.read_quantities(), typed)
            campaign.add_words(quantity.name, word)
            say(f"{name}: {quantity.name} may be {word.strip()} from now on")
        if given:
            campaign.change(**given)
            say(f"{name}: {', '.join(given)} changed")
            if "goal" in given:
                _note_reach(campaign)
        ledger = campaign.read_ledger()
    if as_json:
        show_json(settings_answer(ledger))
    else:
        found = {key: one for key, one in ledger.settings.items() if key not in LIST_SETTINGS}
        show_table(["setting", "value"], [[key, _format_setting(key, found[key])] for key in found])


def _note_reach(campaign: "Campaign") -> None:
    """Warn if no row can reach the level of the goal, or if all do."""
    from weal.campaign.goal_report import reach_note
    from weal.campaign.status import goal_in_force

    session = campaign.read_session()
    if note := reach_note(session, goal_in_force(session.ledger)[0]):
        say(note)


def _format_setting(key: str, value: object) -> str:
    if value is None:
        return "not set"
    if key == "lease" and isinstance(value, float | int):
        return next(
            f"{value / size:g}{unit}"
            for unit, size in (("d", 86400.0), ("h", 3600.0), ("m", 60.0), ("s", 1.0))
            if value >= size or unit == "s"
        )
    return ", ".join(value) if isinstance(value, list) else str(value)
