"""Options that several commands share, and stores and campaigns opened for a command.

This module is imported for `weal --help`: slow packages are imported where they are used.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

import click

from weal.cli.screen import say, show_row_progress

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign
    from weal.goals.protocol import Goal
    from weal.store.protocol import Store
    from weal.store.urls import StoreUrl
    from weal.tables.table_options import TableOptions

Function = Callable[..., object]  # of a command
Decorator = Callable[[Function], Function]
VERBATIM = {"ignore_unknown_options": True}  # -3.5 is a value, and -A17 an id
FILE = click.Path(path_type=Path)


class Settings(TypedDict, total=False):
    """Settings of a campaign from the options of a command; None if an option was not given."""

    title: str | None
    lease: str | None
    acquisition: str | None
    goal: str | list[str] | None
    subject_to: tuple[str, ...]
    weight: tuple[str, ...]
    until: str | None
    budget: str | None
    cost: str | None
    outliers: bool | None
    repeats: bool | None
    warp: str | None
    model_version: str | None
    seed: int | None
    n_start: int | None


def examples(*lines: str) -> str:
    """The examples at the end of a command's help."""
    return "\n".join(["\b", "Example:", *(f"  $ {line}" for line in lines)])


def command(
    brief: str,
    *lines: str,
    name: str | None = None,
    context_settings: dict[str, bool] | None = None,
) -> Callable[[Function], click.Command]:
    """A command with its line in the list of commands, and examples at the end of its help."""
    settings: dict[str, Any] = {"context_settings": context_settings}
    return click.command(name, short_help=brief, epilog=examples(*lines), **settings)


def with_parameters(
    *parameters: Decorator,
) -> Decorator:
    """Add these parameters and those of every command: --store, --json and those of the log."""

    def add(function: Function) -> Function:
        all_parameters: list[Decorator] = [*parameters, _store, _json, *LOG_OPTIONS]
        for parameter in reversed(all_parameters):
            function = parameter(function)
        return function

    return add


def campaign_names(context: click.Context, _: click.Parameter, prefix: str) -> list[str]:
    """Campaign names for shell completion; a PostgreSQL server, which may be slow, is not
    queried.
    """
    from weal.errors import WealError
    from weal.store.urls import read_name

    url = context.params.get("store")
    try:
        if read_name(url).kind == "postgres":
            return []
        with open_store_url(url) as store:
            return [name for name in store.campaigns() if name.startswith(prefix)]
    except (WealError, ValueError, OSError):  # a completing shell cannot show errors
        return []


_store = click.option(
    "--store",
    metavar="URL",
    help="URL of the store [default: WEAL_STORE, else sqlite:///weal.db].",
)
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def _configure_logs(context: click.Context, option: click.Parameter, given: str | None) -> None:
    """Write records to stderr from now on."""
    if given is not None:
        from weal.logs import configure

        level, form = (given, None) if option.name == "log_level" else (None, given)
        configure(level, form)


LOG_OPTIONS: tuple[Decorator, ...] = (
    click.option(
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"]),
        expose_value=False,
        callback=_configure_logs,
        help="Write a log of this level to stderr [default: none].",
    ),
    click.option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        expose_value=False,
        callback=_configure_logs,
        help="Format of the log [default: text].",
    ),
)
name = click.argument("name", shell_complete=campaign_names)
ids = click.argument("ids", metavar="ID...", nargs=-1, required=True)
by = click.option(
    "--by", metavar="WHO", help="Name of the person [default: WEAL_WHO, else the account]."
)
note = click.option("--note", metavar="TEXT", help="A note to store with it.")
title = click.option(
    "--title",
    metavar="TEXT",
    help='Title to show instead of the name; "" removes it.',
)
lease = click.option("--lease", metavar="TIME", help="How long rows stay reserved: 12h, 3d, 2w.")
acquisition = click.option(
    "--acquisition", metavar="NAME", help="Acquisition function, or several separated by commas."
)
budget = click.option(
    "--budget",
    metavar="NUMBER",
    help="Maximum total cost of the labels, or their maximum number without a cost column; none "
    "removes the limit.",
)
outliers = click.option(
    "--outliers/--no-outliers",
    default=None,
    help="Whether the model allows for wrong labels [default: yes].",
)
repeats = click.option(
    "--repeats/--no-repeats",
    default=None,
    help="Whether a measured row may be suggested again if that helps the goal [default: yes].",
)
warp = click.option(
    "--warp",
    type=click.Choice(["off", "auto", "asinh"]),
    help="Transform skewed labels: always (asinh), if it helps (auto), never (off).",
)
model_version = click.option(
    "--model-version",
    type=click.Choice(["0.2", "0.3"]),
    help="Version of weal whose model selection to use [default: 0.3; a store of 0.2 keeps 0.2].",
)


def check_scheduler_option(_: click.Context, __: click.Parameter, given: str | None) -> str | None:
    """The address of a scheduler; ValueError before any work begins if it is malformed."""
    from weal.shards.executors import check_scheduler

    check_scheduler(given)
    return given


scheduler = click.option(
    "--scheduler",
    metavar="ADDRESS",
    callback=check_scheduler_option,
    help="Dask scheduler for candidates in Parquet files, or `local` "
    "[default: WEAL_SCHEDULER, else threads].",
)
sheet = click.option(
    "--sheet",
    metavar="NAME",
    help="Sheet of an Excel file [default: the one with the named columns].",
)
header = click.option(
    "--header",
    type=click.IntRange(min=1),
    metavar="LINE",
    help="Line of the column names in CSV or Excel [default: detected].",
)
_column_options = (
    click.option(
        "--type",
        multiple=True,
        metavar="COLUMN=TYPE",
        help="number, flag, category, date, day-first, month-first, ordered:low,high or drop.",
    ),
    click.option(
        "--range",
        multiple=True,
        metavar="TARGET=LOW..HIGH",
        help="Bounds of the labels, such as 'yield=0..100'; intervals stay inside [default: 0..100 "
        "for a percentage, .. for none].",
    ),
    click.option(
        "--also-input",
        multiple=True,
        metavar="COLUMN",
        help="Use this column as an input although it has values only where the target has.",
    ),
    click.option(
        "--same",
        multiple=True,
        metavar="COLUMN:A=B",
        help="A is another spelling of the category B.",
    ),
    click.option(
        "--unit",
        multiple=True,
        metavar="COLUMN=UNIT",
        help="Unit of a column; cells in other units are converted.",
    ),
    click.option(
        "--decimal",
        multiple=True,
        metavar="[COLUMN=]MARK",
        help="Decimal mark, comma or point, if a number such as 1,234 is ambiguous.",
    ),
    click.option(
        "--missing",
        multiple=True,
        metavar="COLUMN=TEXT",
        help="Another text that marks a missing value, as in 'Druck=<0,5'.",
    ),
)
TABLE_OPTIONS = (*_column_options, sheet, header)


def with_table_options(function: Function) -> Function:
    """Add the options of a table to a command."""
    for option in reversed(TABLE_OPTIONS):
        function = option(function)
    return function


class TableWords(TypedDict, total=False):
    """The options of a table as typed."""

    type: tuple[str, ...]
    range: tuple[str, ...]
    also_input: tuple[str, ...]
    same: tuple[str, ...]
    unit: tuple[str, ...]
    decimal: tuple[str, ...]
    missing: tuple[str, ...]
    sheet: str | None
    header: int | None


def table_options(words: TableWords, **named: Any) -> "TableOptions":
    """The options of a table, read."""
    from weal.tables.table_options import TableOptions

    pairs = []
    for name in TableWords.__annotations__:
        given = words.get(name)
        values = given if isinstance(given, tuple) else [] if given is None else [given]
        pairs += [(name.replace("_", "-"), str(value)) for value in values]
    return TableOptions(**named).with_words(pairs)


def chosen_settings(given: Settings) -> Settings:
    """The settings among the options of a command."""
    return cast(Settings, {k: one for k, one in given.items() if k in Settings.__annotations__})


def _one_or_several(
    context: click.Context, option: click.Parameter, given: tuple[str, ...]
) -> str | list[str] | None:
    """None, the only text, or all of them."""
    return list(given) if len(given) > 1 else (given or (None,))[0]


goal = click.option(
    "--goal",
    metavar="GOAL",
    multiple=True,
    callback=_one_or_several,
    help="Goal: learn [default], maximise, minimise, 'best 10', 'above 7.5', 'below 3', 'between "
    "40 and 60'; with several quantities 'maximise yield'. Give it twice for two objectives.",
)
subject_to = click.option(
    "--subject-to",
    metavar="CONDITION",
    multiple=True,
    help="Constraint on the rows: 'purity >= 95', 'crystallised is yes'; none removes all.",
)
weight = click.option(
    "--weight",
    metavar="RESULT=NUMBER",
    multiple=True,
    help="Weight of a quantity for the goal learn: purity=2 [default: 1]; none removes all.",
)
until = click.option(
    "--until",
    metavar="CONDITION",
    help="When to stop: 'error < 6', 'labels = 80', 'best > 90'; never [default].",
)


def store_url(url: str | None) -> "StoreUrl":
    """The URL of the store; ValueError for a store in memory."""
    from weal.store.urls import read_name

    found = read_name(url)
    if found.kind == "memory":
        raise ValueError("memory: is lost when the command ends; name a file: sqlite:///weal.db")
    return found


@contextmanager
def open_store_url(url: str | None) -> "Iterator[Store]":
    """The store, closed at the end."""
    from weal.store.protocol import open_store

    store_url(url)
    store = open_store(url)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def open_for_command(
    name: str, url: str | None, by: str | None = None, scheduler: str | None = None
) -> "Iterator[Campaign]":
    """The campaign, closed with its store at the end; passes over files show their progress."""
    from weal.campaign.campaign import Campaign, account
    from weal.store.events import check_name

    with open_store_url(url) as store, show_row_progress() as progress:
        own = (check_name(name), store, by or account())
        campaign = Campaign(*own, scheduler=scheduler, progress=progress)
        try:
            yield campaign
        finally:
            campaign.close()


def given_settings(**options: Unpack[Settings]) -> dict[str, Any]:
    """The settings that were given; several acquisition functions are a list."""
    from weal.campaign.config import split_names

    note_error_goal(options.get("goal"))
    parts = _goal_parts(options.pop("subject_to", ()), options.pop("weight", ()))
    acquisition = options.get("acquisition")
    names = split_names(acquisition or "")
    given = {**options, **parts, "acquisition": names if len(names) > 1 else acquisition}
    return {key: value for key, value in given.items() if value is not None}


def _goal_parts(subject_to: tuple[str, ...], weight: tuple[str, ...]) -> dict[str, object]:
    """Constraints and weights as settings; "none" alone removes the existing ones."""
    from weal.goals.grammar import read_weight

    found: dict[str, object] = {}
    if subject_to:
        found["subject_to"] = [] if subject_to == ("none",) else list(subject_to)
    if weight:
        found["weights"] = {} if weight == ("none",) else dict(map(read_weight, weight))
    return found


def given_goal(
    campaign: "Campaign", goal: str | list[str] | None, subject_to: tuple[str, ...]
) -> "Goal | str | None":
    """The goal of a command that changes no setting; None for the goal in the settings.

    Constraints without a goal replace those of the settings.
    """
    from weal.campaign.config import chosen_goal

    return chosen_goal(goal, subject_to, lambda: campaign.read_ledger().settings["goal"])


def note_error_goal(goal: str | list[str] | None) -> None:
    """Print a note that a number instead of a goal is a stopping condition (--until)."""
    from weal.goals.grammar import goal_and_until

    if goal is None or isinstance(goal, list):
        return
    found, until = goal_and_until(goal, None)
    if found is not None and until is not None:
        say(f"--goal {goal} is a stopping condition: write --until '{until.text}'")


def plural(n: int, one: str, many: str | None = None) -> str:
    """A number and its noun.

    >>> plural(1, "row"), plural(4812, "row")
    ('1 row', '4,812 rows')
    """
    return f"{n:,} {one if n == 1 else many or f'{one}s'}"
