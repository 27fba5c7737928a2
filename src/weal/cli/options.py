"""What all commands of campaigns share: the store and JSON as options, and how they are opened.

Imported for `weal --help`: whatever takes time is imported where it is used.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from weal.cli.screen import show_row_progress

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign
    from weal.store.protocol import Store
    from weal.store.urls import StoreUrl

Function = TypeVar("Function", bound=Callable[..., Any])


def examples(*lines: str) -> str:
    """The end of a command's help."""
    return "\n".join(["\b", "Example:", *(f"  $ {line}" for line in lines)])


def command(brief: str, *lines: str, **options: Any) -> Callable[[Any], click.Command]:
    """A command, with its line in the list of commands, and examples at the end of its help."""
    return click.command(short_help=brief, epilog=examples(*lines), **options)


def takes(*parameters: Callable[[Any], Any]) -> Callable[[Function], Function]:
    """These parameters, then those of every command: --store and --json."""

    def add(function: Function) -> Function:
        for parameter in reversed((*parameters, _store, _json)):
            function = parameter(function)
        return function

    return add


def campaign_names(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
    """Names for the shell to complete; not those on a server, which may be slow."""
    from weal.errors import WealError
    from weal.store.urls import read_name

    url = context.params.get("store")
    try:
        if read_name(url).kind == "postgres":
            return []
        with opened_store(url) as store:
            return [name for name in store.campaigns() if name.startswith(begun)]
    except (WealError, ValueError, OSError):  # a shell that completes is no place for a message
        return []


_store = click.option(
    "--store",
    metavar="URL",
    help="Where campaigns are kept [default: WEAL_STORE, else sqlite:///weal.db].",
)
_json = click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
name = click.argument("name", shell_complete=campaign_names)
ids = click.argument("ids", metavar="ID...", nargs=-1, required=True)
by = click.option("--by", metavar="WHO", help="Who is at work [default: WEAL_WHO, or the account].")
note = click.option("--note", metavar="TEXT", help="Kept with it.")
lease = click.option("--lease", metavar="TIME", help="How long rows are out: 12h, 3d, 2w.")
acquisition = click.option(
    "--acquisition", metavar="NAME", help="How rows are chosen; several with commas."
)
outliers = click.option(
    "--outliers/--no-outliers",
    default=None,
    help="Whether labels may be wrong [default: they may].",
)
warp = click.option(
    "--warp",
    type=click.Choice(["off", "auto", "asinh"]),
    help="Transform labels with a long tail: always (asinh), where it helps (auto), never (off).",
)


def checked_scheduler(_: click.Context, __: click.Parameter, given: str | None) -> str | None:
    """The name of a scheduler, refused before any work begins where it can be none."""
    from weal.shards.executors import check_scheduler

    check_scheduler(given)
    return given


scheduler = click.option(
    "--scheduler",
    metavar="ADDRESS",
    callback=checked_scheduler,
    help="Dask scheduler for candidates in many files; local for this machine's "
    "[default: WEAL_SCHEDULER, else threads].",
)
sheet = click.option("--sheet", metavar="NAME", help="Of an Excel file [default: the first].")
header = click.option(
    "--header",
    type=click.IntRange(min=1),
    metavar="LINE",
    help="The line that names the columns, of CSV or Excel [default: found].",
)
goal = click.option("--goal", type=float, metavar="ERROR", help="Error at which to stop.")


def store_named(url: str | None) -> "StoreUrl":
    """The name of the store that is meant."""
    from weal.store.urls import read_name

    found = read_name(url)
    if found.kind == "memory":
        raise ValueError("memory: is gone when the command ends; name a file: sqlite:///weal.db")
    return found


@contextmanager
def opened_store(url: str | None) -> "Iterator[Store]":
    """The store, closed at the end."""
    from weal.store.protocol import open_store

    store_named(url)
    store = open_store(url)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def open_for_command(
    name: str, url: str | None, by: str | None = None, scheduler: str | None = None
) -> "Iterator[Campaign]":
    """The campaign, its store closed at the end; passes over files say how far they are."""
    from weal.campaign.campaign import Campaign, account
    from weal.store.events import check_name

    with opened_store(url) as store, show_row_progress() as progress:
        own = (check_name(name), store, by or account())
        campaign = Campaign(*own, scheduler=scheduler, progress=progress)
        try:
            yield campaign
        finally:
            campaign.close()


def given_settings(acquisition: str | None, **others: Any) -> dict[str, Any]:
    """The settings that were given; acquisition functions with commas are a list."""
    names = [one.strip() for one in (acquisition or "").split(",") if one.strip()]
    given = {"acquisition": names if len(names) > 1 else acquisition, **others}
    return {key: value for key, value in given.items() if value is not None}


def plural(n: int, one: str, many: str | None = None) -> str:
    """A number and what is counted.

    >>> plural(1, "row"), plural(4812, "row")
    ('1 row', '4,812 rows')
    """
    return f"{n:,} {one if n == 1 else many or f'{one}s'}"
