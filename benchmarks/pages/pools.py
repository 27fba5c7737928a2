"""Pools in shards: requirements and measurements."""

import re

from benchmarks.pages.markdown import repeat, table
from benchmarks.pages.result_files import Figures, Files

TEXT = """# Large pools

**{found}**

Candidates in files, scored without holding them in memory ([how it is used](../guide/pools.md)).
The bare loop is numpy and pyarrow alone: it reads the same columns and takes the correlations,
solves and scores that a pass cannot do without. Times are of the processor, except where they say
that they are of the clock on the wall. Numbers that were asked for are limits; where one is not
kept, it says so.
{sections}
"""

SECTION = """
## {title}

{table}

{made}
"""

PAPER = """
## A thousand million rows, on paper

Nobody has run this; it is what the numbers above say. At {us} a row a batch takes {core} core
seconds: {many} on {cores} cores, {most} on a thousand, if storage keeps up.
"""
CORES = 64

SIZE, ASK = "rows, files, labels, threads; experts held", "ask(1) / bare"
MEMORY, A_ROW = "peak memory", "CPU a row"


def page(files: Files, figures: Figures) -> str:
    """The text."""
    names = [name for name in files if name.startswith("pools")]
    parts = []
    for name in names:
        kept = files[name]
        rows = [_cells(row["what"], row.get("asked", ""), row["measured"]) for row in kept.rows]
        title = kept.about["what"].capitalize()
        text = table(["what", "asked", "measured"], rows, "lll")
        parts.append(SECTION.format(title=title, table=text, made=repeat(kept)))
    rows_of_all = [row for name in names for row in files[name].rows]
    sections = "".join([*parts, on_paper(rows_of_all)])
    return TEXT.format(found=found(rows_of_all), sections=sections)


def on_paper(rows: list[dict[str, str]]) -> str:
    """What as many rows as nobody has tried would take, by what a row took."""
    each = next((row["measured"] for row in rows if row["what"].endswith(A_ROW)), None)
    if each is None:
        return ""
    seconds = 1e9 * float(each.split()[0]) * 1e-6
    many, most = (_time(seconds / cores) for cores in (CORES, 1000))
    core = f"{float(f'{seconds:.2g}'):,.0f}"
    return PAPER.format(us=each, core=core, many=many, cores=CORES, most=most)


def _time(seconds: float) -> str:
    """A time in words.

    >>> _time(25.2), _time(391.0)
    ('25 seconds', '7 minutes')
    """
    return f"{seconds:.0f} seconds" if seconds < 90.0 else f"{seconds / 60.0:.0f} minutes"


def _cells(what: str, asked: str, measured: str) -> list[str]:
    """A row of the table: two workers must be faster by so much, all else must take no more.

    >>> _cells("ask(1) / bare", "2", "1.09"), _cells("two Dask workers / one", "1.6", "1.36")
    (['ask(1) / bare', '<= 2', '1.09'], ['two Dask workers / one', '>= 1.6', '**missed** 1.36'])
    """
    numbers = [re.match(r"[\d.]+", text) for text in (asked, measured)]
    if not all(numbers):
        return [what, asked, measured]
    limit, value = (float(number[0]) for number in numbers if number)
    faster = "workers" in what
    kept = value >= limit if faster else value <= limit
    return [
        what,
        f"{'>=' if faster else '<='} {asked}",
        measured if kept else f"**missed** {measured}",
    ]


def found(rows: list[dict[str, str]]) -> str:
    """What the next question takes, where that was measured."""
    measured = {row["what"]: row["measured"] for row in reversed(rows)}
    size, ask, most = (measured.get(name) for name in (SIZE, ASK, MEMORY))
    if None in (size, ask, most):
        return "What passes over pools in files cost, beside the bare work."
    return (
        f"The next question out of {str(size).split(', ')[0]} candidates in files takes {ask} "
        f"times the processor time of a bare pass over them, and {most} of memory at most."
    )
