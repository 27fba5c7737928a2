"""Result files: settings and rows of each."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from benchmarks import record

from weal.benchmark.statistics import Interval, interval
from weal.core.arrays import Array


@dataclass(frozen=True)
class ResultFile:
    """One result file."""

    name: str
    about: dict[str, Any]  # all but the rows
    rows: list[dict[str, Any]]

    @property
    def frame(self) -> pd.DataFrame:
        """The rows as a table."""
        return pd.DataFrame(self.rows)


Files = dict[str, ResultFile]
Figures = dict[str, bytes]  # SVG files by name
Page = Callable[[Files, Figures], str]


def load(folder: Path) -> Files:
    """All result files of a folder by name; one that cannot be repeated raises ValueError."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        about = record.read(path)
        rows = about.pop("rows")
        found[path.stem] = ResultFile(path.stem, about, rows)
    if not found:
        raise ValueError(f"there are no result files in {folder.name}")
    return found


def by_realisation(frame: pd.DataFrame, task: str, method: str, column: str = "area") -> pd.Series:
    """A column of the runs of a method on a task, by realisation."""
    rows = frame[(frame["task"] == task) & (frame["method"] == method)]
    return rows.set_index("realisation")[column].sort_index()


def paired(one: pd.Series, other: pd.Series) -> Array:
    """Differences (n,) on the realisations that both have."""
    return np.asarray((one - other).dropna().to_numpy(dtype=float))


def difference(
    frame: pd.DataFrame, task: str, one: str, other: str, column: str = "area"
) -> Interval:
    """The mean of the paired differences of two methods on a task, with its 95 % interval."""
    sides = (by_realisation(frame, task, method, column) for method in (one, other))
    return interval(paired(*sides))


def over_tasks(frame: pd.DataFrame, tasks: Iterable[str], one: str, other: str) -> Interval:
    """The same on average over tasks: of those realisations that all the tasks have."""
    columns = [
        by_realisation(frame, task, one) - by_realisation(frame, task, other) for task in tasks
    ]
    together = pd.concat(columns, axis=1).dropna() if columns else pd.DataFrame()
    return interval(together.mean(axis=1).to_numpy(dtype=float))
