"""Does active learning pay? The default against random choice, even weights, single functions."""

import math
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.pages import ceiling
from benchmarks.pages.figures import dots
from benchmarks.pages.markdown import ends, figure, repeat, share, signed, table, whole
from benchmarks.pages.result_files import (
    Figures,
    Files,
    by_realisation,
    difference,
    over_tasks,
    paired,
)
from benchmarks.real_labels.tasks import EVERY, NOISY, TABLES

from weal.benchmark.statistics import Interval, interval

DEFAULT, RANDOM, EVEN, SIX = "auto", "random", "even", "six"
ALMOST = 0.01  # what an upper end may be: asked of the default
SINGLE = ("mvr-var", "mvr", "gpm-var", "igs", "ivr")

TEXT = """# Does choosing pay?

**{found}**

Here is the default, `auto`, beside random choice with the same model: first labels and splits are
the same, so what differs is the choice alone. Tasks are the ten of `weal bench`, two functions
with noise (a tenth of their sd; errors are against the function itself), and tables, some with
fewer columns. The area is the mean over {queries} of log10 NMSE ([how to read it](index.md)).
Differences are paired, in brackets the 95 % interval by sign flips, then the number of
realisations. Below 0 choosing pays. None of these realisations was looked at before the default
was chosen. They are others than those of [the overview](index.md), so that a task may come out
otherwise there.

{figure}

{areas}

{made}

{summary}

## Beside other ways to choose

{others}

`six` are the paper's five functions and igs, weighed by their losses as in the paper's Algorithm
2; *even* gives them even weights. A single function is compared on average over tasks, on
realisations that all the tasks have. What the default does, and why: [what to ask
next](../understand/choosing.md).

## What was tried

The default was chosen on other realisations than these. Weighing functions by the losses of
pseudo labels, as the paper does, was the default once: these losses differ by very little, a
large rate adds that up, and the weight ends on one function. `mvr` times gpm-var came next, and
was best on average over tasks; times the root of igs it is the default, for the sake of tables
where the model is wrong about itself. Also looked at, and no better: `mvr` alone, more weight on
gpm-var, the distance to the nearest label in place of igs, igs and `mvr` without gpm-var; and
since then, on nine other tables and on other realisations, igs with a lesser power, igs whose
distance in output counts what is not known or whose distance in input levels off, and four times
as many targets.
{ceiling}{batches}
"""

BATCHES = """
## Batches

{found} A batch of eight is asked at once and told together. Points that are out are believed at
the mean that the ensemble expects of them.

{table}

{made}
"""


def page(files: Files, figures: Figures) -> str:
    """The text; its figure is added to `figures`."""
    kept = files["choice"]
    runs = kept.frame[kept.frame["batch"] == 1]
    tasks = [task for task in EVERY if _has(runs, task, DEFAULT, RANDOM)]
    against = [difference(runs, task, DEFAULT, RANDOM) for task in tasks]
    label = "area, default minus random"
    figures |= dots("choice", tasks, {"default minus random": against}, label)
    words = "Default minus random choice, with intervals, task by task"
    return TEXT.format(
        found=found(tasks, against),
        queries=kept.about["what"].split(", ")[-1],
        figure=figure("choice", words),
        areas=areas(runs, tasks, against),
        made=repeat(kept),
        summary=summary(runs, tasks, against),
        others=others(files),
        ceiling=ceiling.section(files),
        batches=batches(files),
    )


def _has(runs: pd.DataFrame, task: str, *methods: str) -> bool:
    return set(methods) <= set(runs.loc[runs["task"] == task, "method"])


def found(tasks: list[str], against: list[Interval]) -> str:
    """What is found, in a sentence."""
    better, sure = (sum(d.mean < 0 for d in against), sum(d.high < 0 for d in against))
    worse = [t for t, d in zip(tasks, against, strict=True) if d.low > 0.0]
    mean = float(np.mean([d.mean for d in against]))
    text = (
        f"Choosing beats random choice on average on {share(better, len(tasks))} tasks, with the "
        f"whole interval on {sure}; over all tasks the error along the curve is "
        f"{1.0 - 10.0**mean:.0%} lower."
    ).replace("%", " %")
    return text + (
        f" It is worse on {', '.join(worse)}."
        if worse
        else " On none is the whole interval above 0."
    )


def areas(runs: pd.DataFrame, tasks: list[str], against: list[Interval]) -> str:
    """Areas, task by task."""
    rows: list[list[Any]] = []
    for task, d in zip(tasks, against, strict=True):
        ours, random = (by_realisation(runs, task, who).mean() for who in (DEFAULT, RANDOM))
        rows.append([task, signed(ours), signed(random), whole(ends(d, count=True))])
    return table(["task", "default", "random", "difference"], rows, "lrrr")


def summary(runs: pd.DataFrame, tasks: list[str], against: list[Interval]) -> str:
    """The requirements for the default, and what came out."""
    near = sum(d.high < ALMOST for d in against)
    few = sum(not math.isfinite(d.high) for d in against)
    if few:
        return f"{few} of the tasks have too few realisations for an interval."
    far = [
        f"{t} ({signed(d.high)})" for t, d in zip(tasks, against, strict=True) if d.high >= ALMOST
    ]
    tables = [task for task in tasks if task in TABLES]
    inside = [d for t, d in zip(tasks, against, strict=True) if t in TABLES]
    mean = over_tasks(runs, tables, DEFAULT, RANDOM)
    better = sum(d.mean < 0 for d in inside)
    lines = [
        f"- The upper end of the interval is below {ALMOST:+g} on {share(near, len(tasks))} tasks"
        + (f"; not on {', '.join(far)}." if far else "."),
        f"- On the {len(tables)} tables: better on {share(better, len(tables))}, "
        f"on average {ends(mean, count=True)}.",
        f"- Over {len(tasks)} tasks, on average: "
        f"{ends(over_tasks(runs, tasks, DEFAULT, RANDOM), count=True)}.",
    ]
    return "\n".join(lines)


def others(files: Files) -> str:
    """The default minus other ways to choose; each pair is of one file."""
    rows, used = [], []
    for name, kept in files.items():
        if name.split("-")[0] == "choice" and (found := _others(kept.frame)):
            rows += found
            used.append(kept)
    if not rows:
        return "Not measured yet with this model."
    return table(["the default minus", "on", "area"], rows, "llr") + "\n\n" + repeat(*used)


def _others(frame: pd.DataFrame) -> list[list[str]]:
    """Minus even weights on noisy functions, and minus single functions over tasks."""
    runs, rows = frame[frame["batch"] == 1], []
    for task in NOISY:
        if _has(runs, task, DEFAULT, EVEN):
            found = difference(runs, task, DEFAULT, EVEN)
            rows.append(["the six with even weights", task, whole(ends(found, count=True))])
    for other in (*SINGLE, SIX):
        names = [task for task in EVERY if _has(runs, task, DEFAULT, other)]
        if names:
            mean = over_tasks(runs, names, DEFAULT, other)
            where = f"{len(names)} tasks, on average"
            rows.append([other, where, whole(ends(mean, count=True))])
    return rows


def batches(files: Files) -> str:
    """What is lost when rows are asked in batches."""
    kept = files["choice"]
    runs = kept.frame
    names = [t for t in EVERY if len(runs[(runs["task"] == t) & (runs["batch"] > 1)])]
    if not names:
        return ""
    rows, gains = [], []
    for task in names:
        alone, random, many = (
            by_realisation(runs[where], task, who, "area at batches")
            for where, who in (
                (runs["batch"] == 1, DEFAULT), (runs["batch"] == 1, RANDOM),
                (runs["batch"] > 1, DEFAULT),
            )
        )  # fmt: skip
        rows.append([task, whole(ends(interval(paired(many, alone)), count=True))])
        gains.append((paired(random, alone).mean(), paired(random, many).mean()))
    gain, left = np.mean(gains, axis=0)
    said = (
        f"Asked in batches, {1.0 - left / gain:.0%} of the gain over random choice is lost: "
        f"{gain:.3f} one by one, {left:.3f} in batches, on average over {len(names)} tables."
    ).replace("%", " %")
    header = ["table", "area, batches minus one by one"]
    return BATCHES.format(found=said, table=table(header, rows, "lr"), made=repeat(kept))
