"""The tables of a report: methods down, tasks across, one table for each group of tasks.

In bold is the lowest mean of a task. A method marked with the sign of near-equality cannot be
told from it: the 95 % interval of the paired difference (of logs for NMSE) does not lie above 0.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from weal.bench.page import Html, html, table, tag
from weal.bench.report_figures import grouped
from weal.bench.summary import LEVELS, area, cost, final, labels_needed
from weal.bench.titles import ALL_METRICS, method_title, number, task_title

LEGEND = (
    "Mean ± standard deviation over realisations. Bold: the lowest mean of the task. ≈: cannot be "
    "told from it (the 95 % interval of the paired difference, of logs for NMSE, is not above 0)."
)
_NONE = "-"

Cells = Callable[[pd.Series], str]


def final_tables(results: pd.DataFrame, seed: int) -> Html:
    """NMSE and NPLL after the last query."""
    found = final(results, seed)
    blocks = []
    for metric, title in ALL_METRICS.items():
        read = found[found[f"{metric}_mean"].notna()] if metric == "joint" else found
        if len(read):
            blocks.append(tag("h3", f"{title[0].upper()}{title[1:]} after the last query"))
            blocks += _by_group(read, partial(_final_cell, metric))
    note = (
        "NPLL has the median over realisations below the mean, which one bad run can carry off. It "
        "is a mean over test labels, in units of their sd; the joint NPLL is -log of the joint "
        "density of all of them, as the paper writes it, in raw units."
    )
    return tag("div", tag("p", f"{LEGEND} {note}", kind="note"), *blocks)


def areas(results: pd.DataFrame, seed: int) -> Html:
    """Area under log10 max(NMSE, 1e-5)."""
    tables = _by_group(area(results, seed), lambda row: _mean_and_sd(row, "area"))
    return tag("div", tag("p", LEGEND, kind="note"), *tables)


def times(results: pd.DataFrame) -> Html:
    """Processor time of a query in milliseconds."""
    return tag("div", *_by_group(cost(results), lambda row: number(1e3 * row["query"])))


def labels_tables(results: pd.DataFrame) -> Html:
    """Labels until a level of NMSE, one table a task."""
    needed, spent = labels_needed(results), results.groupby(["task", "method"])["labels"].max()
    blocks = []
    for task, rows in needed.groupby("task", sort=False):
        levels = [lv for lv in LEVELS if rows.loc[rows["level"] == lv, "reached"].sum()]
        cells = {(row["method"], row["level"]): row for _, row in rows.iterrows()}
        body = [
            [
                method_title(m),
                *(_labels_cell(cells[m, level]) for level in levels),
                number(spent[task, m]),
            ]
            for m in dict.fromkeys(rows["method"])
        ]
        header = ["NMSE at most", *(f"{level:g}" for level in levels), "spent"]
        missed = [f"{level:g}" for level in LEVELS if level not in levels]
        note = f" (no run reached {', '.join(missed)})" if missed else ""
        blocks.append(table(header, body, caption=task_title(task) + note))
    return tag("div", *blocks, kind="side")


def _by_group(rows: pd.DataFrame, cell: Cells) -> list[Html]:
    """A table for each group of tasks: methods down, tasks across."""
    cells = {(row["task"], row["method"]): cell(row) for _, row in rows.iterrows()}
    methods = list(dict.fromkeys(rows["method"]))
    found = []
    for tasks in grouped(list(dict.fromkeys(rows["task"]))).values():
        body = [
            [method_title(m), *(cells.get((task, m), _NONE) for task in tasks)] for m in methods
        ]
        found.append(table(["", *map(task_title, tasks)], body))
    return found


def _final_cell(metric: str, row: pd.Series) -> Html:
    cell = _mean_and_sd(row, metric)
    name = f"{metric}_median"
    median = tag("small", f"median {number(row[name])}") if name in row else ""
    return Html(cell + median)


def _mean_and_sd(row: pd.Series, name: str) -> Html:
    mean, sd, mark = (row[f"{name}_{part}"] for part in ("mean", "sd", "mark"))
    text = number(mean) + (f" ± {number(sd)}" if np.isfinite(sd) else "")
    return tag("b", text) if mark == "best" else html(text + (" ≈" if mark == "tie" else ""))


def _labels_cell(row: pd.Series) -> str:
    labels = number(row["labels"]) if np.isfinite(row["labels"]) else _NONE
    every = row["reached"] == row["realisations"]
    return labels if every else f"{labels} ({row['reached']} of {row['realisations']})"
