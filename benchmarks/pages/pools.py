"""Pools in shards: what was asked of them, and what was measured."""

import re

from benchmarks.pages.kept import Figures, Files
from benchmarks.pages.markdown import repeat, table

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

SIZE, ASK = "rows, files, labels, threads; experts held", "ask(1) / bare"
MEMORY = "peak memory"


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
    return TEXT.format(found=found(rows_of_all), sections="".join(parts))


def _cells(what: str, asked: str, measured: str) -> list[str]:
    """A row of the table: two workers are to be faster by so much, all else is to take no more.

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
        f"times the processor time of a bare pass over them, and {most} of memory at the most."
    )
