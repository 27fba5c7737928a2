"""Upper bounds of the gain from choosing: a section of the page on active learning."""

from typing import Any

import numpy as np
import pandas as pd
from benchmarks.pages.markdown import repeat, signed, table
from benchmarks.pages.result_files import Files, by_realisation, paired
from benchmarks.real_labels.tasks import EVERY

RANDOM = "random"
COLUMNS = {
    "auto": "default",
    "twice": "random, two labels a query",
    "all": "all labels of the pool",
    "oracle": "oracle, other rows",
}

TEXT = """
## What bounds the gain on tables

{found}

{table}

{made}

Areas minus that of random choice, on average over realisations. *All labels of the pool* are
known from the first query on. The *oracle* knows every label: of {looked} candidates by lot it
chooses the row whose label lowers the error on half of the test rows most. Its error there
("rows it sees") is lowered by luck, too, its error on the other rows is not; all other columns are
of these other rows.
"""


def section(files: Files) -> str:
    """The section, or nothing if it was not measured."""
    kept = files.get("choice-ceiling")
    if kept is None:
        return ""
    frame = kept.frame
    tasks = [task for task in EVERY if task in set(frame["task"])]
    rows: list[list[Any]] = []
    for task in tasks:
        seen = _gain(frame, task, "oracle", "area seen")
        gains = [_gain(frame, task, method) for method in COLUMNS]
        rows.append([task, *map(signed, [*gains, seen])])
    header = ["table", *COLUMNS.values(), "oracle, rows it sees"]
    return TEXT.format(
        found=_found(frame, tasks),
        table=table(header, rows, "l" + "r" * (len(header) - 1)),
        made=repeat(kept),
        looked="thirty",
    )


def _gain(frame: pd.DataFrame, task: str, method: str, column: str = "area") -> float:
    """The area of a method minus that of random choice; nan where one was not run."""
    sides = (by_realisation(frame, task, who, column) for who in (method, RANDOM))
    found = paired(*sides)
    return float(found.mean()) if len(found) else float("nan")


def _found(frame: pd.DataFrame, tasks: list[str]) -> str:
    """What is found, on average over tables."""
    default, twice, every = (
        float(np.nanmean([_gain(frame, task, method) for task in tasks]))
        for method in ("auto", "twice", "all")
    )
    few = [task for task in tasks if np.isfinite(_gain(frame, task, "oracle"))]
    text = (
        f"The default is worth {default / twice:.0%} of what twice the labels are worth to random "
        f"choice, and {default / every:.0%} of what all labels of the pool are: {signed(default)}, "
        f"{signed(twice)} and {signed(every)} on average over {len(tasks)} tables."
    ).replace("%", " %")
    if not few:
        return text
    ours, best = (
        float(np.mean([_gain(frame, task, who) for task in few])) for who in ("auto", "oracle")
    )
    return text + (
        f" On {len(few)} of them an oracle that looks at labels before it asks gains "
        f"{signed(best)}, the default {signed(ours)}."
    )
