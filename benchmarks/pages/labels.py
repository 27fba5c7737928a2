"""Real labels: outliers, noise, interval coverage, and many labels."""

import re
from typing import Any

import pandas as pd
from benchmarks.pages.markdown import repeat, table
from benchmarks.pages.result_files import Figures, Files, ResultFile

from weal.benchmark.summary import task_title
from weal.benchmark.tasks import TASKS

TEXT = """# Real labels

**{found}**

Functions here are smooth ones of five and six inputs, with noise of a stated share of their
standard deviation; errors (NMSE) are those of the function without the noise, at new points. What
was asked is what we set out to reach; where the number beside it misses it, it says so.
{sections}
"""

SECTION = """
## {title}

{says}

{table}

{made}
"""

SECTIONS = {
    "outliers": (
        "Labels that are wrong",
        "One or more labels are off, by a typo or in another unit. Ratios are of the error with "
        "these labels to that of a "
        "model of the same labels without the mistakes: 1 is as if nothing had happened. Below "
        "it, how often right labels "
        "are doubted, however odd they look.",
    ),
    "noise": (
        "Labels that are noisy",
        "Differences are of log10 NMSE to scikit-learn's GP with a lengthscale for each input and"
        " three restarts on the same "
        "labels: below 0 ours is better. Noise found is what the model believes over the truth. "
        "Coverage is the share of "
        "new labels inside the 90 % intervals.",
    ),
    "many": (
        "Labels by the thousand",
        "With more labels the error should fall and a step should stay quick; times are ratios "
        "within one run.",
    ),
    "dictionary": (
        "More kinds of kernels",
        "What the ANOVA kernel brings beside the others: log10 NMSE with it, less that without "
        "it; below 0 it helps.",
    ),
    "suspects": (
        "Typos that are pointed out",
        "Campaigns with one label multiplied, divided or swapped: how often it is named, and how "
        "often a right one is.",
    ),
}
COVERAGE = (
    "Intervals on the tasks",
    "The share of test labels inside the 90 % intervals on the ten tasks, mean over realisations;"
    " the width is in standard "
    "deviations of the test labels, and the interval score counts width and misses together: "
    "lower is better.",
)


def page(files: Files, figures: Figures) -> str:
    """The text."""
    parts, met, asked = [], 0, 0
    for name, (title, says) in SECTIONS.items():
        for kept in _files(files, name):
            rows = [row for row in kept.rows if row.get("section") == name]
            judged = [_met(row["asked"], row["measured"]) for row in rows]
            met, asked = met + judged.count(True), asked + len(judged) - judged.count(None)
            marks = ["**missed** " if good is False else "" for good in judged]
            cells = [
                [row["what"].strip(), row["asked"], mark + row["measured"]]
                for row, mark in zip(rows, marks, strict=True)
            ]
            text = table(["what", "asked", "measured"], cells, "lll")
            parts.append(SECTION.format(title=title, says=says, table=text, made=repeat(kept)))
    if "coverage" in files:
        title, says = COVERAGE
        made = repeat(files["coverage"])
        text = coverage(files["coverage"].frame)
        parts.append(SECTION.format(title=title, says=says, table=text, made=made))
    said = f"Of {asked} numbers that were asked for and can be judged alone, {met} are met."
    return TEXT.format(found=said, sections="".join(parts))


def _files(files: Files, section: str) -> list[ResultFile]:
    """The files that have rows of a section."""
    return [kept for kept in files.values() if any(r.get("section") == section for r in kept.rows)]


def _met(asked: str, measured: str) -> bool | None:
    """Whether the first number measured is as asked; None if nothing was asked.

    >>> _met("<= 1.3", "median 1.02, 90 % 1.4"), _met("87 to 93 %", "86.4 %"), _met("", "3")
    (True, False, None)
    >>> _met("<= 0", "-0.115 (se 0.01)"), _met("< 0.5 %", "0.75 % (3 of 400)"), _met("falls", "1")
    (True, False, None)
    """
    value = re.search(r"[-+]?\d[\d.]*", measured)
    limits = [float(one) for one in re.findall(r"[-+]?\d+(?:\.\d+)?", asked)]
    if value is None or not limits:
        return None
    first = float(value.group().rstrip("."))
    if " to " in asked:
        return limits[0] <= first <= limits[1]
    return first >= limits[0] if asked.startswith(">") else first <= limits[0]


def coverage(runs: pd.DataFrame) -> str:
    """Coverage, width and score after some queries, of weal and of scikit-learn's GP."""
    rows: list[list[Any]] = []
    names = {"weal": "weal", "sklearn": "scikit-learn"}
    for (queries, who), group in runs.groupby(["queries", "who"], sort=False):
        by_task = group.groupby("task")[["coverage", "width", "score"]].mean()
        worst = str(by_task["coverage"].idxmin())
        title = task_title(worst) if worst in TASKS else worst
        least = f"{by_task['coverage'].min():.1%} ({title})".replace("%", " %")
        mean = by_task.mean()
        cells = [f"{mean['coverage']:.1%}".replace("%", " %"), least]
        rows.append([names[who], queries, *cells, f"{mean['width']:.2f}", f"{mean['score']:.2f}"])
    header = ["", "queries", "inside", "on the worst task", "width", "interval score"]
    return table(header, rows, "lrrrrr")
