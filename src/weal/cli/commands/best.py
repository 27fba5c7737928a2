"""`weal best`: the rows that most probably meet the goal.

Slow packages are imported where they are used.
"""

from typing import TYPE_CHECKING

import click

from weal.cli import options as line
from weal.cli.options import command, open_for_command, plural, with_parameters
from weal.cli.screen import say, show_activity, show_json, show_table

if TYPE_CHECKING:
    from weal.campaign.goal_report import BestTable

MAX_INPUTS_SHOWN = 6  # without --to, which has all


@command(
    "List the best rows, measured or not.",
    "weal best alloys -n 4 --goal maximise",
    "weal best alloys --goal maximise --to best.csv",
)
@with_parameters(
    line.name,
    click.option(
        *("-n", "n"),
        type=click.IntRange(min=1),
        default=10,
        show_default=True,
        help="Number of rows.",
    ),
    line.goal,
    line.subject_to,
    click.option(
        "--to",
        metavar="FILE",
        help="Output file: .csv, .tsv, .parquet, .xlsx or .json; - is CSV on stdout "
        "[default: a table on stdout].",
    ),
    click.option("--force", is_flag=True, help="Replace an existing file."),
)
def best(
    name: str, n: int, goal: str | list[str] | None, subject_to: tuple[str, ...], to: str | None,
    force: bool, store: str | None, as_json: bool,
) -> None:  # fmt: skip
    """List the rows that most probably meet the goal, measured or not.

    Each row has its expected value and its probability of being among the best, or above the level.
    Probabilities below 2 % and above 98 % are not calibrated and are shown as bounds.
    """
    if as_json and to is not None:
        raise ValueError("--to and --json both write the table: leave out one of them")
    with open_for_command(name, store) as campaign, show_activity("computing probabilities"):
        from weal.tables.table_writer import check_place, write

        place = None if to is None else check_place(to, force)  # before the work
        found = campaign.best(n, goal=line.given_goal(campaign, goal, subject_to))
        if place is not None:
            write(found.columns(), place, force)
    if as_json:
        show_json(found.to_dict())
        return
    if to is None:
        _show(found)
    else:
        say(f"{plural(len(found.rows), 'row')} written" + ("" if to == "-" else f" to {to}"))
    for words in found.words:
        say(words)


def _show(found: "BestTable") -> None:
    inputs = found.inputs[:MAX_INPUTS_SHOWN]
    header = ["id", *inputs, *found.headings]
    show_table(header, found.cells(MAX_INPUTS_SHOWN))
    if len(found.inputs) > MAX_INPUTS_SHOWN:
        say(f"{plural(len(found.inputs) - MAX_INPUTS_SHOWN, 'input')} not shown: --to FILE has all")
