"""Searches of pools: the best rows, rows above a level, passes; beside other packages."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from benchmarks.comparison import GOALS
from benchmarks.pages.figures import SHAPES, Ink, in_inks, quiet
from benchmarks.pages.markdown import (
    bold,
    ends,
    figure,
    milliseconds,
    plain,
    repeat,
    table,
    whole,
)
from benchmarks.pages.paired import (
    BETTER,
    OPEN,
    WORSE,
    Comparison,
    GoalRows,
    compared,
    goal_rows,
    holm,
    student,
)
from benchmarks.pages.result_files import Figures, Files, ResultFile
from matplotlib.figure import Figure

PEAK_REGRET = 1 / 4  # of the pool needle: no row off its peak is as good
SEARCHES = ("best", "threshold", "pass-fail")
MAX_NAMED = 5  # pools in a sentence
LEAST_POOLS = 2.0 / 3.0  # share of the pools that a method of the mean curves has

TEXT = """---
html_theme.sidebar_secondary.remove: true
---

# Searching a pool

What survives Holm's correction over the methods, with pools as units; losses first. weal is

{found}

A pool has a label for every row, hidden at first. Each method starts from the same 10 random labels
and asks for one row at a time ({what}). Laboratory tables are from the collection Olympus; small
results that are good are negated. The rule of the goal `best` was chosen on other realisations of
these tables: on tables of your own, expect less.

- *Best*: the share of the ten best rows of the pool among the rows measured so far. *Threshold*:
  the F1 score of the rows that the model puts above a level that a fifth of the pool exceeds.
  *Pass or fail*: the log loss of rows outside the pool.
- *Area* is the mean of the score over the label counts of the curve. Differences are weal less the
  other method, turned so that **below 0 weal is better**, paired by realisation, then averaged
  over the realisations of each pool. The 95 % interval is over pools by Student's t: the question
  is how it would be on another pool.
- *No clear difference* says that the difference does not survive the correction; it does not say
  that the methods are equal. The [first page](index.md) has every pool separately.
- Methods and their refits are in the [table of methods](index.md#methods-and-their-refits).
{sections}
"""

SECTION = """
## {title}

{says}

{picture}
{table}

{made}

### Pool by pool: {title_lower}

{pools}

{made}
"""

NEEDLE_TEXT = """
## When no goal finds it

The pool *needle* was made to mislead: a wide hill with ripples that few labels cannot resolve, and
elsewhere a peak twice as high and so narrow that its slope reaches few rows. {says}

A search follows the hill that it has seen: the model has no reason to expect the peak until a label
falls on it. **If a narrow optimum is plausible, learn first**: `--goal learn` spreads the labels
over the pool. When they are as close to each other as the optimum may be wide, change the goal
(`weal settings NAME --goal maximise`). No number that weal shows warns of a peak that no label has
touched.

{table}

{made}
"""

COST_TEXT = """
## What a query costs

Processor time of one query, in turn on the same pools in one process: the median, and the median of
its ratios to a query of `auto`. [What it costs](cost.md) has other packages.

{table}

{made}
"""


@dataclass(frozen=True, slots=True)
class OverPools:
    """Ours beside a method, with pools as units."""

    title: str
    pools: int
    realisations: str
    area: float  # of the method, on average over its pools
    comparison: Comparison


def page(files: Files, figures: Figures) -> str:
    """The text; its figures are added to `figures`."""
    goals = [rows for rows in goal_rows(files) if rows.goal in SEARCHES]
    found = {rows.goal: over_pools(rows) for rows in goals}
    sections = [_section(rows, found[rows.goal], figures) for rows in goals]
    if "goals-needle" in files:
        sections.append(of_needle(files["goals-needle"]))
    if "goals-cost" in files:
        sections.append(of_cost(files["goals-cost"]))
    what = goals[0].files[0].about["what"].split(", ")[-1] if goals else "nothing measured yet"
    said = "\n\n".join(verdicts(rows, found[rows.goal]) for rows in goals)
    return TEXT.format(found=said, what=what, sections="".join(sections))


def over_pools(rows: GoalRows) -> dict[str, OverPools]:
    """Ours beside each other method over the pools that both have, corrected over the methods."""
    others = [method for method in rows.methods if method != rows.ours]
    found = []
    for method in others:
        own = compared(rows, method)
        means = np.array([one.difference.mean for one in own.values()])
        difference, p = student(means)
        counts = [one.difference.n for one in own.values()]
        areas = [np.mean(rows.rows[task, method]["areas"]) for task in own]
        found.append(
            OverPools(
                rows.title(method),
                len(own),
                _span(counts),
                float(np.mean(areas)),
                Comparison("all pools", method, difference, p),
            )
        )
    corrected = holm([one.comparison.p for one in found])
    return {
        method: replace(one, comparison=replace(one.comparison, corrected=float(p)))
        for method, one, p in zip(others, found, corrected, strict=True)
    }


def _span(counts: list[int]) -> str:
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"


def verdicts(rows: GoalRows, found: Mapping[str, OverPools]) -> str:
    """The methods that weal is worse than, without a clear difference from, and better than."""
    lines = [f"**{GOALS[rows.goal].title}**, {len(rows.tasks())} pools:", ""]
    for verdict, word in ((WORSE, "than"), (OPEN, "from"), (BETTER, "than")):
        own = [m for m, one in found.items() if one.comparison.verdict == verdict]
        named = "; ".join(f"{found[m].title} ({_behind(rows, m, found[m])})" for m in own)
        lines.append(f"- *{verdict}* {word} {named or 'none'}")
    return "\n".join(lines)


def _behind(rows: GoalRows, method: str, one: OverPools) -> str:
    """On how many pools weal has the worse mean, and on how many realisations."""
    lost = [task for task, pair in compared(rows, method).items() if pair.difference.mean > 0.0]
    named = f": {', '.join(lost)}" if 0 < len(lost) <= MAX_NAMED else ""
    return f"behind on {len(lost)} of {one.pools} pools{named}; realisations: {one.realisations}"


def _section(rows: GoalRows, found: Mapping[str, OverPools], figures: Figures) -> str:
    title, name = GOALS[rows.goal].title, f"goals-{rows.goal}"
    methods, pools = shown_together(rows)
    figures |= mean_curves(name, rows, methods, pools)
    score = GOALS[rows.goal].score
    says = f"{score}: the mean over {len(pools)} pools against labels, of each method"
    left_out = [rows.title(method) for method in rows.methods if method not in methods]
    note = f" Too few pools for this figure: {', '.join(left_out)}." if left_out else ""
    direction = "lower" if GOALS[rows.goal].lower_is_better else "higher"
    return SECTION.format(
        title=title,
        title_lower=title.lower(),
        says=f"The score is the {score}; {direction} is better.{note}",
        picture=figure(name, says),
        table=_table(rows, found),
        pools=_pools(rows, found),
        made=repeat(*rows.files),
    )


def _table(rows: GoalRows, found: Mapping[str, OverPools]) -> str:
    """Methods down: pools, realisations, area, difference, verdict."""
    areas = [np.mean(rows.rows[task, rows.ours]["areas"]) for task in rows.tasks()]
    counts = [len(rows.rows[task, rows.ours]["areas"]) for task in rows.tasks()]
    lines = [["weal", len(areas), _span(counts), plain(float(np.mean(areas)), 3), "", ""]]
    for one in found.values():
        decided = one.comparison.verdict != OPEN
        lines.append(
            [one.title, one.pools, one.realisations, plain(one.area, 3),
             whole(ends(one.comparison.difference)), bold(one.comparison.verdict, decided)]
        )  # fmt: skip
    header = ["method", "pools", "realisations", "area", "weal less it", "weal is"]
    return table(header, lines, "lrrrrl")


def _pools(rows: GoalRows, found: Mapping[str, OverPools]) -> str:
    """Areas: pools down, methods across, the best of each pool in bold."""
    names = [rows.ours, *found]
    pick = min if GOALS[rows.goal].lower_is_better else max
    lines = []
    for task in rows.tasks():
        areas = {
            name: float(np.mean(rows.rows[task, name]["areas"]))
            for name in names
            if (task, name) in rows.rows
        }
        best = pick(areas.values())
        cells = [bold(plain(areas[n]), areas[n] == best) if n in areas else "" for n in names]
        lines.append([task, *cells])
    header = ["area", "weal", *(one.title for one in found.values())]
    return table(header, lines, "l" + "r" * len(names))


def shown_together(rows: GoalRows) -> tuple[list[str], list[str]]:
    """The methods that have most pools, and the pools that all of these have."""
    every = rows.tasks()
    has = {m: [task for task in every if (task, m) in rows.rows] for m in rows.methods}
    methods = [m for m in rows.methods if len(has[m]) >= LEAST_POOLS * len(every)]
    return methods, [task for task in every if all(task in has[m] for m in methods)]


def mean_curves(name: str, rows: GoalRows, methods: list[str], pools: list[str]) -> Figures:
    """The score against labels, the mean over pools, a line for each method."""
    counts = {tuple(rows.rows[task, method]["labels"]) for task in pools for method in methods}
    labels = min(counts, key=len)  # a small pool ends early

    def draw(fig: Figure, ink: Ink) -> None:
        ax = fig.subplots()
        for k, method in enumerate(methods):
            curves = [rows.rows[task, method]["curve"][: len(labels)] for task in pools]
            ax.plot(
                labels, np.mean(np.array(curves, dtype=float), axis=0), markersize=4,
                label=rows.title(method), linewidth=2.0 if k == 0 else 1.2,
                color=ink.marks[k % len(ink.marks)], marker=SHAPES[k % len(SHAPES)],
            )  # fmt: skip
        ax.set(xlabel="labels", ylabel=GOALS[rows.goal].score)
        quiet(ax, ink)
        ax.legend(loc="lower center", bbox_to_anchor=(0.45, 1.0), ncols=2, frameon=False)

    return in_inks(name, 3.4, draw)


def by_run(rows: pd.DataFrame) -> pd.DataFrame:
    """One row for each run, of a table with one for each pool and method and lists in its cells."""
    columns = ("regret at 40", "regret end")
    runs = []
    for row in rows.to_dict("records"):
        for n in range(len(row[columns[0]])):
            runs.append({**row, **{name: row[name][n] for name in columns}, "realisation": n})
    return pd.DataFrame(runs)


def of_needle(kept: ResultFile) -> str:
    """The pool that has a narrow peak."""
    runs = by_run(kept.frame)
    runs["found"] = runs["regret end"] < PEAK_REGRET
    means = runs.groupby("method", sort=False)[["found", "regret at 40", "regret end"]].mean()
    titles = dict(zip(runs["method"], runs["title"], strict=True))
    rows = [
        [titles[str(name)], _percent(row["found"]), plain(row["regret at 40"]),
         plain(row["regret end"])]
        for name, row in means.iterrows()
    ]  # fmt: skip
    found = means["found"]
    others = [found[name] for name in found.index if not str(name).startswith("weal")]
    says = (
        f"Of {runs['realisation'].nunique()} realisations `auto` measured the peak in "
        f"{_percent(found['weal-auto'])}, weal with `best 10` in {_percent(found['weal-best'])}"
        + (
            f", other searches in {_percent(min(others))} to {_percent(max(others))}."
            if others
            else "."
        )
    )
    header = ["method", "found the peak", "regret, 40 labels", "regret, all labels"]
    text = table(header, rows, "lrrr")
    return NEEDLE_TEXT.format(says=says, table=text, made=repeat(kept))


def of_cost(kept: ResultFile) -> str:
    """Milliseconds of a query, and the ratio to `auto`."""
    rows = [
        [f"{int(row['rows']):,}", row["goal"], milliseconds(row["ms"]), plain(row["ratio"])]
        for row in kept.rows
    ]
    text = table(["rows", "goal", "a query", "beside auto"], rows, "rlrr")
    return COST_TEXT.format(table=text, made=repeat(kept))


def _percent(value: float) -> str:
    return f"{100.0 * value:.0f} %"
