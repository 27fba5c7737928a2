"""Pools in shards: what was asked of them, and what was measured."""

from benchmarks.pages.kept import Figures, Files
from benchmarks.pages.markdown import repeat, table

TEXT = """# Large pools

**{found}**

Candidates in files, scored without holding them in memory ([how it is used](../guide/pools.md)).
The bare loop is numpy and pyarrow alone: it reads the same columns and takes the correlations,
solves and scores that a pass cannot do without. Times are of the processor, except where they say
that they are of the clock on the wall.
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
        rows = [[row["what"], row.get("asked", ""), row["measured"]] for row in kept.rows]
        title = kept.about["what"].capitalize()
        text = table(["what", "asked", "measured"], rows, "lll")
        parts.append(SECTION.format(title=title, table=text, made=repeat(kept)))
    rows_of_all = [row for name in names for row in files[name].rows]
    return TEXT.format(found=found(rows_of_all), sections="".join(parts))


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
