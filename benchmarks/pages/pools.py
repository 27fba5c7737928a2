"""Pools in shards: what was asked of them, and what was measured."""

from benchmarks.pages.kept import Figures, Files
from benchmarks.pages.markdown import repeat, table

TEXT = """# Large pools

**{found}**

Candidates in files, scored without holding them in memory ([how it is used](../guide/pools)). The
bare loop is numpy and pyarrow alone: it reads the same columns and takes the correlations, solves
and scores that a pass cannot do without. Times are of the processor, except where they say that
they are of the clock on the wall. {sections}
"""

SECTION = """
## {title}

{table}

{made}
"""


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
    said = f"{sum(len(files[name].rows) for name in names)} numbers from {len(names)} runs."
    return TEXT.format(found=said, sections="".join(parts))
