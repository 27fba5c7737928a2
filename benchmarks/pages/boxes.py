"""Candidates out of ranges: sizes of boxes, refining, costs."""

import numpy as np
import pandas as pd
from benchmarks.pages.markdown import repeat, table, whole
from benchmarks.pages.result_files import Figures, Files

from weal.benchmark.statistics import Interval, interval

TEXT = """# Candidates out of ranges

A simulator has ranges instead of candidates, and `weal.box` makes candidates of them
([how it is used](../guide/simulator.md)). Does it matter how many, or whether they become more
where that is wanted? And what do costs change? In the end:

{found}

Errors are root mean squares over fresh rows of the same
ranges, in units of the sd of their labels: the median over {seeds} boxes, and the range. Ratios are
to the first line, seed by seed: their geometric mean with its 95 % interval, by sign flips. Below 1
is better.
{sections}
"""

SECTION = """
## {title}

{table}

{made}
"""


def page(files: Files, figures: Figures) -> str:
    """The text."""
    kept = files["boxes"]
    parts = []
    for title, rows in kept.frame.groupby("section", sort=False):
        parts.append(SECTION.format(title=title, table=of_section(rows), made=repeat(kept)))
    seeds = kept.frame["realisation"].nunique()
    return TEXT.format(found=found(kept.frame), seeds=seeds, sections="".join(parts))


def of_section(rows: pd.DataFrame) -> str:
    """Labels, errors and ratios to the first line, for each number of labels that was looked at."""
    ways = list(dict.fromkeys(rows["who"]))
    spent = rows.groupby("who")["labels"].nunique().max() > len(looks(rows))
    cells = []
    for look in looks(rows):
        seen = rows if spent else rows[rows["labels"] == look]
        for who in ways:
            own = seen[seen["who"] == who]
            labels = _range(own["labels"]) if spent else str(look)
            beside = "" if who == ways[0] else _ratio(ratio(seen, who, ways[0]))
            cells.append([who, whole(labels), whole(_range(own["error"])), whole(beside)])
    return table(["", "labels", "error", "ratio"], cells, "lrrr")


def looks(rows: pd.DataFrame) -> list[int]:
    """The numbers of labels that every run was looked at with; one where they differ."""
    each = rows.groupby(["who", "realisation"])["labels"].agg(tuple)
    return list(each.iloc[0]) if each.nunique() == 1 else [int(rows["labels"].median())]


def ratio(rows: pd.DataFrame, who: str, other: str) -> Interval:
    """Of log errors, on the same seeds."""
    one, two = (
        rows[rows["who"] == name].set_index("realisation")["error"] for name in (who, other)
    )
    return interval(np.log((one / two).dropna().to_numpy(dtype=float)))


def found(rows: pd.DataFrame) -> str:
    """What is decided after the most labels, and which way: a line for each comparison."""
    said = []
    for title, own in rows.groupby("section", sort=False):
        last = own if len(looks(own)) == 1 else own[own["labels"] == looks(own)[-1]]
        first, *others = dict.fromkeys(last["who"])
        for who in others:
            d = ratio(last, who, first)
            sure = "" if d.high < 0.0 or d.low > 0.0 else ", undecided"
            said.append(f"- {title}: {who}, {np.exp(d.mean):.2f} times the error of {first}{sure}")
    return "\n".join(said)


def _range(values: pd.Series) -> str:
    if values.nunique() == 1:
        return f"{values.iloc[0]:.3g}"
    return f"{values.median():.2g} ({values.min():.2g} to {values.max():.2g})"


def _ratio(found: Interval) -> str:
    mean, low, high = (np.exp(end) for end in (found.mean, found.low, found.high))
    return f"{mean:.2f} ({low:.2f} to {high:.2f})" if np.isfinite(low) else f"{mean:.2f}"
