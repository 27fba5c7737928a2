"""Tables of a benchmark's results: one row for each run, and the tables of the report.

`results` has one row for each reading: task, method, realisation, t (queries so far), labels
(used), nmse, npll, joint (NaN if not computed), seconds (processor time so far). A run is a (task,
method, realisation). Runs of a task are compared after the same number of queries T: the largest
that all of them reached.

    final          at t = T: mean, standard deviation (n - 1) and, for NPLL, median over runs
    area           mean over t = 1 .. T of log10 max(NMSE, MIN_LOG_NMSE), and of NPLL; of the joint
                   NPLL over those t where it was computed
    labels needed  labels used when NMSE first is at or below a level; infinite if it never is,
                   and the median is infinite if half of the runs never reach the level
    cost           processor time of a query, metrics included: (seconds_T - seconds_0) / T

A number that is not finite makes its mean not finite: nothing is left out in silence.

Titles of tasks and methods come from their tables; a name in neither is its own title. Numbers have
three digits: the fourth is noise over ten runs.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from weal.benchmark import peers
from weal.benchmark.methods import METHODS, Method
from weal.benchmark.statistics import Runs, in_arrays, interval, on_scale, pairs
from weal.benchmark.tasks import TASKS
from weal.core.arrays import Array

METRICS = {"nmse": "NMSE", "npll": "NPLL"}
ALL_METRICS = {**METRICS, "joint": "joint NPLL"}


def find_method(name: str) -> Method | None:
    """The method of that name, of weal or of another package."""
    return METHODS.get(name) or peers.methods().get(name)


def task_title(name: str) -> str:
    """The title of a task."""
    return TASKS[name].title if name in TASKS else name


def method_title(name: str) -> str:
    """The title of a method."""
    method = find_method(name)
    return method.title if method else name


def in_order_of_tasks(names: Iterable[str]) -> list[str]:
    """The tasks of these names once each: in the order of the table, then others."""
    return _in_order(names, TASKS)


def in_order_of_methods(names: Iterable[str]) -> list[str]:
    """The methods of these names once each: in the order of the table, then others."""
    return _in_order(names, (*METHODS, *peers.methods()))


def number(value: float) -> str:
    """A number in three digits.

    >>> [number(x) for x in (0.02371, 36330.1, -1.9702, 0.0, 1.5e-6, 4.4e7)]
    ['0.0237', '36300', '-1.97', '0', '1.5e-6', '4.4e7']
    """
    if np.isfinite(value) and 1e3 <= abs(value) < 1e6:
        return f"{float(f'{value:.3g}'):.0f}"
    return f"{value:.3g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")


def spread(values: Iterable[float]) -> str:
    """The range of numbers in words.

    >>> spread([0.2, 0.1]), spread([0.1, 0.1])
    ('0.1 to 0.2', '0.1')
    """
    known = list(values)
    low, high = number(min(known)), number(max(known))
    return low if low == high else f"{low} to {high}"


def shared_rows(task: str) -> str | None:
    """A note on the rows that realisations of a task share; None if they share none.

    >>> shared_rows("diabetes")
    'Diabetes: every realisation uses all 442 rows, so its intervals are too narrow.'
    """
    known = TASKS.get(task)
    if known is None or known.rows is None:
        return None
    share = known.size / known.rows
    what = (
        f"every realisation uses all {known.rows} rows"
        if share == 1
        else f"two realisations share about {share:.0%} of their rows"
    )
    return f"{known.title}: {what}, so its intervals are too narrow."


def _in_order(names: Iterable[str], known: Iterable[str]) -> list[str]:
    there = list(dict.fromkeys(names))
    first = [name for name in known if name in there]
    return first + [name for name in there if name not in first]


RUN_COLUMNS = ["task", "method", "realisation"]
READINGS = [*RUN_COLUMNS, "t", "labels", "nmse", "npll", "joint", "seconds"]
MIN_LOG_NMSE = 1e-5  # NMSE below this is raised to it: a noise-free function is learnt
NMSE_LEVELS = (0.5, 0.2, 0.1, 0.05, 0.01)


def check(results: pd.DataFrame) -> None:
    """Raise ValueError if this is not a table of results."""
    if missing := [name for name in READINGS if name not in results.columns]:
        raise ValueError(f"results need the columns {', '.join(READINGS)}; no {', '.join(missing)}")
    if results.empty:
        raise ValueError("there are no results: no run was finished")
    if (twice := results.duplicated([*RUN_COLUMNS, "t"])).any():
        first = ", ".join(map(str, results.loc[twice, [*RUN_COLUMNS, "t"]].iloc[0]))
        raise ValueError(f"results hold a reading twice: task, method, realisation, t = {first}")


def by_run(results: pd.DataFrame) -> pd.DataFrame:
    """One row for each run: its metrics at the start and at the end, its areas and its cost."""
    check(results)
    parts = [_runs(readings) for _, readings in results.groupby("task")]
    return pd.concat(parts)


def final(results: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Mean and sd at the end, one row for each task and method, with marks.

    A mark is "best" (lowest mean of the task), "tie" (the interval of the paired difference to the
    best, of logs for NMSE, does not lie above 0) or empty. The joint NPLL is NaN for
    methods without one.
    """
    runs = by_run(results)
    columns: dict[str, object] = {"realisations": runs.groupby(level=[0, 1], sort=False).size()}
    for name in ("t", "labels"):
        columns[name] = _mean(runs[name])
    for metric in ALL_METRICS:
        columns[f"{metric}_mean"], columns[f"{metric}_sd"] = _mean(runs[metric]), _sd(runs[metric])
        columns[f"{metric}_mark"] = _marks(runs, metric, columns[f"{metric}_mean"], seed)
    for metric in ("npll", "joint"):
        columns[f"{metric}_median"] = _median(runs[metric])
    return _sorted_rows(pd.DataFrame(columns))


def area(results: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Mean and sd of the area under log10 max(NMSE, MIN_LOG_NMSE), with marks as in `final`."""
    runs = by_run(results)
    mean, sd = _mean(runs["nmse_area"]), _sd(runs["nmse_area"])
    mark = _marks(runs, "nmse_area", mean, seed)
    return _sorted_rows(pd.DataFrame({"area_mean": mean, "area_sd": sd, "area_mark": mark}))


def labels_needed(results: pd.DataFrame, levels: Iterable[float] = NMSE_LEVELS) -> pd.DataFrame:
    """Median labels until NMSE first is at or below a level, and the number of runs there."""
    check(results)
    tables = []
    for level in levels:
        there = results[results["nmse"] <= level]
        first = there.groupby(RUN_COLUMNS, sort=False)["labels"].min().astype(float)
        every = pd.MultiIndex.from_frame(results[RUN_COLUMNS].drop_duplicates())
        spent = first.reindex(every, fill_value=np.inf)
        groups = spent.groupby(level=[0, 1], sort=False)
        reached = groups.agg(lambda runs: int(np.isfinite(runs).sum()))
        found = {"labels": _median(spent), "reached": reached, "realisations": groups.size()}
        tables.append(_sorted_rows(pd.DataFrame(found)).assign(level=level))
    return pd.concat(tables, ignore_index=True)


def cost(results: pd.DataFrame) -> pd.DataFrame:
    """Mean processor time in seconds of a query and of a whole run."""
    runs = by_run(results)
    found = {"query": _mean(runs["seconds_query"]), "run": _mean(runs["seconds"])}
    return _sorted_rows(pd.DataFrame(found))


def _runs(readings: pd.DataFrame) -> pd.DataFrame:
    """The runs of one task, cut at the length of the shortest."""
    T = int(readings.groupby(RUN_COLUMNS)["t"].max().min())
    kept = readings[readings["t"] <= T]
    groups = kept.groupby(RUN_COLUMNS)
    place = groups.ngroup().to_numpy(), kept["t"].to_numpy()
    nmse, npll, joint, labels, seconds = (
        _matrix(place, (groups.ngroups, T + 1), kept[name])
        for name in ("nmse", "npll", "joint", "labels", "seconds")
    )
    logs = np.log10(np.maximum(nmse[:, 1:], MIN_LOG_NMSE))
    table = {
        "t": T,
        "labels": labels[:, -1],
        "nmse": nmse[:, -1],
        "npll": npll[:, -1],
        "joint": joint[:, -1],
        "nmse_start": nmse[:, 0],
        "npll_start": npll[:, 0],
        "joint_start": joint[:, 0],
        "nmse_area": logs.mean(axis=1) if T else np.nan,
        "npll_area": npll[:, 1:].mean(axis=1) if T else np.nan,
        "joint_area": _mean_of_computed(joint[:, 1:]),
        "seconds": seconds[:, -1],
        "seconds_query": (seconds[:, -1] - seconds[:, 0]) / T if T else np.nan,
    }
    return pd.DataFrame(table, index=groups.size().index)


def _mean_of_computed(readings: Array) -> Array:
    """Means (runs,) over the columns (runs, T) with a value in any run; NaN without any."""
    read = ~np.isnan(readings).all(axis=0)
    return readings[:, read].mean(axis=1) if read.any() else np.full(len(readings), np.nan)


def _matrix(place: tuple[Array, Array], shape: tuple[int, int], column: pd.Series) -> Array:
    """A column as (runs, T + 1), NaN without a reading."""
    matrix = np.full(shape, np.nan)
    matrix[place] = column
    return matrix


def _marks(
    runs: pd.DataFrame, column: str, means: pd.Series, seed: int
) -> dict[tuple[str, str], str]:
    """The mark of every (task, method), from the paired difference to the best of its task."""
    marks, arrays = {}, in_arrays(runs)
    for task, of_task in means.groupby(level=0, sort=False):
        known = of_task[np.isfinite(of_task)]
        best = known.idxmin()[1] if len(known) else None
        for _, method in of_task.index:
            marks[task, method] = _mark(arrays, column, task, method, best, seed)
    return marks


def _mark(runs: Runs, column: str, task: str, method: str, best: str | None, seed: int) -> str:
    if best is None or method == best:
        return "best" if best else ""
    _, one, other = pairs(runs, task, (method, column), (best, column))
    found = interval(on_scale(column, one) - on_scale(column, other), seed)
    return "tie" if found.low <= 0.0 else ""


def _mean(column: pd.Series) -> pd.Series:
    return column.groupby(level=[0, 1], sort=False).agg(lambda runs: runs.mean(skipna=False))


def _sd(column: pd.Series) -> pd.Series:
    return column.groupby(level=[0, 1], sort=False).agg(lambda runs: runs.std(skipna=False))


def _median(column: pd.Series) -> pd.Series:
    return column.groupby(level=[0, 1], sort=False).agg(lambda runs: runs.median(skipna=False))


def _sorted_rows(table: pd.DataFrame) -> pd.DataFrame:
    """(task, method) as the first two columns, rows in the order of the report."""
    rows = table.rename_axis(["task", "method"]).reset_index()
    tasks, methods = in_order_of_tasks(rows["task"]), in_order_of_methods(rows["method"])
    pairs = zip(rows["task"], rows["method"], strict=True)
    place = [(tasks.index(task), methods.index(method)) for task, method in pairs]
    return rows.iloc[sorted(range(len(rows)), key=place.__getitem__)].reset_index(drop=True)
