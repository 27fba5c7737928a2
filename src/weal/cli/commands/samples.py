"""`weal samples`: tables to try weal with, and a simulated laboratory that measures their rows.

    weal samples copy reactions.csv     copies a table that ships with weal into this folder
    weal samples fill batch.csv         writes simulated results into a worksheet of that table

`python -m weal.samples` does the same, but not if weal was installed as a tool (`uv tool install`,
`pipx install`, `uvx`), because the Python of a tool is not on the path.
"""

import click

from weal.cli.options import examples
from weal.cli.screen import show

TABLES = ("alloys.csv", "reactions.csv")


@click.group(
    short_help="Copy a sample table; fill in its worksheets by simulation.",
    epilog=examples("weal samples copy reactions.csv", "weal samples fill recipes.csv"),
)
def samples() -> None:
    """Tables to try weal with, and simulated measurements of their rows."""


@samples.command(
    "copy",
    short_help="Copy a sample table into this folder.",
    epilog=examples("weal samples copy reactions.csv"),
)
@click.argument("table", type=click.Choice(TABLES))
def copy_table(table: str) -> None:
    """Copy a sample table into this folder: alloys.csv or reactions.csv.

    An existing file is left as it is.
    """
    from weal.samples.__main__ import copy

    show(copy(table))


@samples.command(
    "fill",
    short_help="Fill in a worksheet of a sample table by simulation.",
    epilog=examples("weal samples fill recipes.csv"),
)
@click.argument("worksheet", type=click.Path(exists=True, dir_okay=False))
def fill_worksheet(worksheet: str) -> None:
    """Fill in the empty results of WORKSHEET, a CSV file that `weal ask --to` wrote.

    Its rows are those of a sample table. Results that are filled in already stay.
    """
    from weal.samples.__main__ import fill

    show(fill(worksheet))
