"""Searches of pools: the best rows, all rows above a level, a needle, the cost of a query."""

import numpy as np
import pandas as pd
from benchmarks.pages.figures import INKS, SHAPES, Ink, quiet, svg
from benchmarks.pages.markdown import figure, milliseconds, plain, repeat, share, table, whole
from benchmarks.pages.result_files import Figures, Files, ResultFile
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from weal.benchmark.goal_summary import QUESTIONS, Comparison, Question, compare
from weal.benchmark.goal_tasks import GOAL_TASKS

BEST, FIFTH, TWENTIETH = QUESTIONS
PLACES = {"laboratory": "laboratory tables", "formulas": "formulas and public tables"}
COLUMNS = {
    "top_10 at 20": "top 10, 20 labels",
    "top_10 at 40": "top 10, 40 labels",
    "labels to 1 %": "labels to the top 1 %",
    "regret at 40": "regret, 40 labels",
    "regret end": "regret, all labels",
    "F1 fifth": "F1, all labels",
    "F1 fifth area": "F1, area",
    "F1 twentieth": "F1, all labels",
    "F1 twentieth area": "F1, area",
}
PEAK_REGRET = 1 / 4  # of the pool needle: no row off its peak is as good
POOL_COLUMNS = {BEST: "top_10 at 40", FIFTH: "F1 fifth area", TWENTIETH: "F1 twentieth area"}

TEXT = """---
html_theme.sidebar_secondary.remove: true
---

# Searching a pool

**{found}**

A pool has a label for every row, hidden at first. Each method starts from the same 10 random labels
and asks for one row at a time ({what}; {realisations} realisations). The laboratory tables are
{laboratory} results of the collection Olympus; small results that are good are negated. The rule of
the goal was chosen on other realisations of these tables: on tables of your own, expect less.

- *Top 10* is the share of the ten best rows of the pool among the rows measured so far. *Labels to
  the top 1 %* counts until a row of the best hundredth is measured, and one more than all where
  that never happens. *Regret* is the distance of the best measured row from the best row, in units
  of the range of the pool.
- *F1* weighs the rows that the model puts above the level against the rows that are above it; its
  *area* is the mean over all labels. A fifth, or a twentieth, of the pool exceeds the level.
- In brackets: weal with the goal less this method, paired by realisation, with the 95 % interval
  over pools by sign flips. `auto` is weal without a goal: it learns the function everywhere.
- Models of other packages are refitted after every fifth label, with three restarts for
  scikit-learn's.
{sections}
"""

SECTION = """
## {title}, on {n} {place}

{says}
{picture}
{table}

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
its ratios to a query of `auto`.

{table}

{made}
"""


def page(files: Files, figures: Figures) -> str:
    """The text; its figures are added to `figures`."""
    kept = [files[name] for name in ("goals", "goals-peers") if name in files]
    runs = pd.concat([by_run(file.frame) for file in kept], ignore_index=True)
    sections = []
    for group, place in PLACES.items():
        own = runs[runs["group"] == group]
        sections += [
            section(question, own, place, kept, figures) for question in QUESTIONS if len(own)
        ]
    if "goals-needle" in files:
        sections.append(of_needle(files["goals-needle"]))
    if "goals-cost" in files:
        sections.append(of_cost(files["goals-cost"]))
    laboratory = runs[runs["group"] == "laboratory"]
    return TEXT.format(
        found=headline(laboratory if len(laboratory) else runs),
        what=kept[0].about["what"].split(", ")[-1],
        realisations=realisations(runs),
        laboratory=laboratory["task"].nunique(),
        sections="".join(sections),
    )


def by_run(rows: pd.DataFrame) -> pd.DataFrame:
    """One row for each run, of a table with one for each pool and method and lists in its cells."""
    runs = []
    for row in rows.to_dict("records"):
        each = {name: row[name] for name in COLUMNS if isinstance(row.get(name), list)}
        for n in range(len(next(iter(each.values())))):
            runs.append(
                {**row, **{name: found[n] for name, found in each.items()}, "realisation": n}
            )
    return pd.DataFrame(runs)


def realisations(runs: pd.DataFrame) -> str:
    """How many realisations there are, or from how many to how many."""
    each = runs.groupby(["task", "method"])["realisation"].nunique()
    return str(each.max()) if each.nunique() == 1 else f"{each.min()} to {each.max()}"


def headline(runs: pd.DataFrame) -> str:
    """The shares of the ten best rows, and the areas of F1."""
    found = {(one.method, one.column): one for one in compare(runs)}
    means = {key: one.mean for key, one in found.items()}
    ours = means["weal-best", "top_10 at 40"]
    others = "; ".join(
        f"{title} {_percent(means[name, 'top_10 at 40'])}"
        for name, title in titles(runs).items()
        if name in BEST.methods[1:] and (name, "top_10 at 40") in means
    )
    areas = [
        f"{means[q.methods[0], column]:.2f} against {means['weal-auto', column]:.2f}"
        for q, column in ((FIFTH, "F1 fifth area"), (TWENTIETH, "F1 twentieth area"))
    ]
    return (
        f"With the goal `best 10`, {_percent(ours)} of the ten best rows of a pool are among the "
        f"first 40 labels ({others}). With a level that a fifth of the pool exceeds, the area of "
        f"F1 is {areas[0]} without a goal; for a twentieth, {areas[1]}."
    )


def titles(runs: pd.DataFrame) -> dict[str, str]:
    """Titles of the methods that were run, by name."""
    return dict(zip(runs["method"], runs["title"], strict=True))


def section(
    question: Question, runs: pd.DataFrame, place: str, kept: list[ResultFile], figures: Figures
) -> str:
    """A question on the pools of a group: in words, as curves, and as tables."""
    pools = runs["task"].nunique()
    name = f"goals-{question.name}-{runs['group'].iloc[0]}"
    figures |= curves(name, runs, question)
    says = f"{question.title}: the mean over {pools} pools against labels, of each method"
    found = [one for one in compare(runs) if one.question == question.name]
    return SECTION.format(
        title=question.title,
        n=pools,
        place=place,
        says=verdict(question, runs),
        picture="\n" + figure(name, says),
        table=f"{means_table(question, runs, found)}\n\n{repeat(*kept)}\n\n"
        + pools_table(question, runs),
        made=repeat(*kept),
    )


def verdict(question: Question, runs: pd.DataFrame) -> str:
    """On how many pools ours is ahead of each other method."""
    column = POOL_COLUMNS[question]
    means = runs.pivot_table(column, "task", "method")
    ours = question.methods[0]
    lines = []
    for name in question.methods[1:]:
        if name in means:
            d = (means[ours] - means[name]).dropna()
            ahead, behind = int((d > 0).sum()), int((d < 0).sum())
            lines.append(
                f"{titles(runs)[name]}: ahead on {share(ahead, len(d))}, behind on {behind}"
            )
    return f"By {COLUMNS[column]}, weal with the goal beside " + "; ".join(lines) + "."


def means_table(question: Question, runs: pd.DataFrame, found: list[Comparison]) -> str:
    """Methods down, columns across."""
    cells: dict[str, list[str]] = {}
    for one in found:
        cells.setdefault(one.method, []).append(_cell(one, question))
    rows = [[titles(runs)[method], *each] for method, each in cells.items()]
    header = ["method", *(COLUMNS[column] for column in question.columns)]
    return table(header, rows, "l" + "r" * len(question.columns))


def _cell(one: Comparison, question: Question) -> str:
    digits = 3 if "regret" in one.column else 1 if "labels to" in one.column else 2
    d = one.difference
    if one.method == question.methods[0]:
        return plain(one.mean, digits)
    ends = ""
    if np.isfinite(d.low) and np.isfinite(d.high):
        ends = f": {d.low:+.{digits}f} to {d.high:+.{digits}f}"
    return whole(f"{plain(one.mean, digits)} ({d.mean:+.{digits}f}{ends})")


def pools_table(question: Question, runs: pd.DataFrame) -> str:
    """One column for each pool: pools down, methods across."""
    column = POOL_COLUMNS[question]
    means = runs.pivot_table(column, "task", "method", sort=False)
    methods = [name for name in question.methods if name in means]
    rows = []
    for task, row in means.iterrows():
        title = GOAL_TASKS[str(task)].title if task in GOAL_TASKS else task
        rows.append([title, *(plain(row[name]) for name in methods)])
    header = [f"{COLUMNS[column]}", *(titles(runs)[name] for name in methods)]
    return table(header, rows, "l" + "r" * len(methods))


def of_needle(kept: ResultFile) -> str:
    """The pool that has a narrow peak."""
    runs = by_run(kept.frame)
    runs["found"] = runs["regret end"] < PEAK_REGRET
    means = runs.groupby("method", sort=False)[["found", "regret at 40", "regret end"]].mean()
    rows = [
        [titles(runs)[str(name)], _percent(row["found"]), plain(row["regret at 40"]),
         plain(row["regret end"])]
        for name, row in means.iterrows()
    ]  # fmt: skip
    found = means["found"]
    others = [found[name] for name in BEST.methods[3:] if name in found]
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


def curves(name: str, runs: pd.DataFrame, question: Question) -> Figures:
    """The metric of a question against labels, a line for each method."""

    def draw(fig: Figure, ink: Ink) -> None:
        ax = fig.subplots()
        there = [name for name in question.methods if name in set(runs["method"])]
        for k, method in enumerate(there):
            line(ax, runs[runs["method"] == method], question.series, ink, k)
        ax.set(xlabel="labels", ylabel="share of the ten best" if question is BEST else "F1")
        quiet(ax, ink)
        ax.legend(loc="lower center", bbox_to_anchor=(0.45, 1.0), ncols=2, frameon=False)

    return {f"{name}-{kind}.svg": svg(3.4, draw, ink) for kind, ink in INKS.items()}


def line(ax: Axes, own: pd.DataFrame, series: str, ink: Ink, k: int) -> None:
    """The mean over pools of the mean over realisations."""
    rows = own.drop_duplicates("task")
    mean = np.mean([np.array(one) for one in rows[f"{series} curve"]], axis=0)
    ax.plot(
        rows["labels"].iloc[0], mean, label=rows["title"].iloc[0], markersize=4,
        linewidth=2.0 if k == 0 else 1.2, color=ink.marks[k % len(ink.marks)],
        marker=SHAPES[k % len(SHAPES)],
    )  # fmt: skip


def _percent(value: float) -> str:
    return f"{100.0 * value:.0f} %"
