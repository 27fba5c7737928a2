"""The experiment protocol: metrics of a run, plans of many runs, and their results as tables.

    NMSE = mean (mean_i - y_i)^2 / var(y)            over the test points
    NPLL = mean (-log p(y_i)) - log sd(y)            p in raw units, noise included
    joint NPLL = -log p(y_1, ..., y_N)               as the paper writes it (`joint_log_density`)

Predicting the mean and sd of the test labels scores 1 and 1/2 log(2 pi e) = 1.42 in the first two.
The joint one is in nats of all N labels together and in their units: it differs from task to task,
but not from method to method.

A run depends on (task, method, realisation, seed, T) and nothing else: results are the same to
the last digit in any order and on any number of processes, if each has one BLAS thread.

A plan is every method on every realisation of every task:

    tasks      a name, a group (synthetic, real, robot), "all", a Task, or a list of those
    methods    a name, a group (paper, fair, ours, peers), "all", a Method, or a list of those

Duplicate names count once; two different objects under one name are an error. A task without its
data, or a method without its package, is listed in `skipped` with how to get it. Wrong names and
numbers are errors before anything is computed.

Tables have one row for each reading, or one for each weight:

    results    task, method, realisation, t, labels, nmse, npll, joint, seconds
    goals      task, method, realisation, t, labels, and the columns of `goal_metrics`
    weights    task, method, realisation, t, kind ("expert" or "acquisition"), name, weight

t counts queries, 0 is before the first; labels counts all labels used, validation included; joint
is NaN if it was not computed.
"""

import difflib
import operator
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from weal.benchmark import peers
from weal.benchmark.data_folders import Folder, NotAvailable, data_folders
from weal.benchmark.goal_metrics import goal_metrics
from weal.benchmark.methods import METHODS, Method, Reading
from weal.benchmark.tasks import TASKS, Split, Task, availability, draw
from weal.core.arrays import Array


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Metrics and weights of a method on a realisation; entry t is after t queries."""

    task: str
    method: str
    realisation: int
    labels: Array  # (T + 1,)  labels used
    nmse: Array  # (T + 1,)
    npll: Array  # (T + 1,)
    joint: Array  # (T + 1,)  joint NPLL; NaN if it was not computed
    seconds: Array  # (T + 1,)  processor time so far, metrics included
    experts: dict[str, list[float]]  # weight of each expert over time
    acquisitions: dict[str, list[float]]  # weight of each acquisition function over time
    goals: dict[str, list[float]] = field(default_factory=dict)  # `goal_metrics`, if it has any


def run_method(
    task: Task, method: Method, realisation: int, seed: int, T: int, data_folder: Folder = None
) -> Curve:
    """The curve of a method on a realisation."""
    split = draw(task, realisation, seed, data_folder)
    key = int(np.random.default_rng([seed, task.number, realisation, 1]).integers(2**31 - 1))
    T = min(T, len(split.yu))
    start = time.process_time()
    rows, readings = [], []
    for reading in method.run(split, task.eta, key, T):
        nmse = np.mean((reading.mean - split.yt) ** 2) / np.var(split.yt)  # [1, metric:nmse]
        npll = -np.mean(reading.log_density) - np.log(np.std(split.yt))  # [1, metric:npll]
        rows.append((reading.labels, nmse, npll, -reading.joint, time.process_time() - start))
        readings.append(reading)
    labels, nmses, nplls, joints, seconds = np.array(rows, dtype=np.float64).T
    return Curve(
        task.name,
        method.name,
        realisation,
        labels,
        nmses,
        nplls,
        joints,
        seconds,
        _over_time([reading.experts for reading in readings]),
        _over_time([reading.acquisitions for reading in readings]),
        goal_metrics(split, readings) if task.group == "goals" else {},
    )


def _over_time(weights: list[dict[str, float]]) -> dict[str, list[float]]:
    """Weights by name, one entry for each reading; 0 before a name first appears."""
    names = dict.fromkeys(name for reading in weights for name in reading)
    return {name: [reading.get(name, 0.0) for reading in weights] for name in names}


ALL_METHODS = "all"
Tasks = str | Task | Iterable[str | Task]
Methods = str | Method | Iterable[str | Method]
Item = TypeVar("Item", Task, Method)


@dataclass(frozen=True, slots=True)
class BenchmarkPlan:
    """Tasks, methods and sizes of a benchmark, and the items that cannot be run here."""

    tasks: tuple[Task, ...]
    methods: tuple[Method, ...]
    realisations: int
    T: int
    seed: int
    data: Folder
    skipped: dict[str, str]  # task or method -> why it cannot be run here, and the remedy


def make_plan(
    tasks: Tasks,
    methods: Methods,
    *,
    realisations: int = 10,  # [1, set:realisations]
    T: int = 100,
    seed: int = 0,
    data: Folder = None,
) -> BenchmarkPlan:
    """The plan of these tasks and methods; ValueError for wrong names and numbers."""
    realisations, T = check_whole("realisations", realisations, 1), check_whole("T", T, 1)
    seed = check_whole("seed", seed, 0)
    data_folders(data)  # ValueError for a missing folder, even if no task needs it
    wanted = choose_tasks(tasks)
    usable, missing = _split_available(
        wanted, {task.name: availability(task, data) for task in wanted}
    )
    chosen, absent = _split_available(choose_methods(methods), peers.unavailable())
    return BenchmarkPlan(usable, chosen, realisations, T, seed, data, {**missing, **absent})


def _split_available(
    items: tuple[Item, ...], reasons: Mapping[str, str | None]
) -> tuple[tuple[Item, ...], dict[str, str]]:
    """The available items, and why the others are not; NotAvailable if none is."""
    why = {item.name: reason for item in items if (reason := reasons.get(item.name))}
    if len(why) == len(items):
        raise NotAvailable("; ".join(f"{name}: {reason}" for name, reason in why.items()))
    return tuple(item for item in items if item.name not in why), why


def check_whole(name: str, value: object, least: int) -> int:
    """The value as an int of at least `least`.

    >>> check_whole("T", 0, 1)
    Traceback (most recent call last):
    ValueError: T must be a whole number of at least 1; got 0
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = least - 1
    if number < least or isinstance(value, bool):
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}")
    return number


def choose_tasks(given: Tasks) -> tuple[Task, ...]:
    """The tasks of these names and groups, in the order given.

    >>> [task.name for task in choose_tasks(["higdon", "robot"])]
    ['higdon', 'robot3d', 'robot4d']
    """
    return choose_items("task", [given] if isinstance(given, str | Task) else given, TASKS)


def choose_methods(given: Methods) -> tuple[Method, ...]:
    """The methods of these names and groups, in the order given.

    >>> [method.name for method in choose_methods("random")]
    ['random']
    """
    return choose_items(
        "method", [given] if isinstance(given, str | Method) else given, all_methods()
    )


def all_methods() -> dict[str, Method]:
    """Every method by name: `METHODS`, then methods of other packages, installed or not."""
    absent = {
        name: Method(name, name, _raise_not_installed, "peers") for name in peers.unavailable()
    }
    return {**METHODS, **peers.methods(), **absent, **METHODS}


def _raise_not_installed(split: Split, eta: float, seed: int, T: int) -> Iterator[Reading]:
    raise NotAvailable("the package of this method is not installed")


def choose_items(
    what: str, given: Iterable[str | Item], table: Mapping[str, Item]
) -> tuple[Item, ...]:
    """The items of these names and groups, in the order given, each once."""
    chosen: dict[str, Item] = {}
    for entry in given:
        for item in _items_by_name(what, entry, table) if isinstance(entry, str) else [entry]:
            if chosen.setdefault(item.name, item) is not item:
                raise ValueError(f"two different {what}s are called {item.name!r}; rename one")
    if not chosen:
        raise ValueError(f"name at least one {what}; there are {', '.join(table)}")
    return tuple(chosen.values())


def _items_by_name(what: str, name: str, table: Mapping[str, Item]) -> list[Item]:
    if name in table:
        return [table[name]]
    groups: list[str] = list(dict.fromkeys(item.group for item in table.values()))
    if name == ALL_METHODS or name in groups:
        return [item for item in table.values() if name in (ALL_METHODS, item.group)]
    near = difflib.get_close_matches(name, [*table, *groups, ALL_METHODS], 1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise ValueError(
        f"unknown {what} {name!r}{hint}; there are {', '.join(table)}, "
        f"and the groups {', '.join([*groups, ALL_METHODS])}"
    )


class RunSetting(TypedDict):
    """Settings and circumstances of a finished benchmark."""

    seed: int
    T: int
    realisations: int
    versions: dict[str, str]
    wall_seconds: float
    command: str
    skipped: dict[str, str]


Cells = dict[str, str | int | npt.ArrayLike]  # a column each: one value, or one for each row
_CURVE_COLUMNS = ("task", "method", "realisation")
RESULTS = (*_CURVE_COLUMNS, "t", "labels", "nmse", "npll", "joint", "seconds")
WEIGHT_COLUMNS = (*_CURVE_COLUMNS, "t", "kind", "name", "weight")


def results_table(curves: Iterable[Curve]) -> pd.DataFrame:
    """The results of some curves as a table, in their order."""
    return _concat_parts(RESULTS, map(_readings, curves))


def weights_table(curves: Iterable[Curve]) -> pd.DataFrame:
    """The weights of some curves as a table, in their order."""
    return _concat_parts(WEIGHT_COLUMNS, (part for curve in curves for part in _weights(curve)))


def goals_table(curves: Iterable[Curve]) -> pd.DataFrame:
    """The metrics of the goals of some curves as a table, in their order; empty if none has any."""
    known = [curve for curve in curves if curve.goals]
    names = list(known[0].goals) if known else []
    return _concat_parts((*_CURVE_COLUMNS, "t", "labels", *names), map(_goals, known))


def _goals(curve: Curve) -> Cells:
    t, labels = np.arange(len(curve.labels)), np.rint(curve.labels).astype(np.int64)
    return {**_run(curve), "t": t, "labels": labels, **curve.goals}


def _readings(curve: Curve) -> Cells:
    return {
        **_run(curve),
        "t": np.arange(len(curve.labels)),
        "labels": np.rint(curve.labels).astype(np.int64),
        "nmse": curve.nmse,
        "npll": curve.npll,
        "joint": curve.joint,
        "seconds": curve.seconds,
    }


def _weights(curve: Curve) -> Iterator[Cells]:
    for kind, weights in (("expert", curve.experts), ("acquisition", curve.acquisitions)):
        for name, weight in weights.items():
            t = np.arange(len(weight))
            yield {**_run(curve), "t": t, "kind": kind, "name": name, "weight": weight}


def _run(curve: Curve) -> Cells:
    return {"task": curve.task, "method": curve.method, "realisation": curve.realisation}


def _concat_parts(names: tuple[str, ...], parts: Iterable[Cells]) -> pd.DataFrame:
    """The parts one below the other; a scalar in a part is repeated in all its rows."""
    rows = list(parts)
    lengths = [np.size(part["t"]) for part in rows]
    return pd.DataFrame({name: _column([part[name] for part in rows], lengths) for name in names})


def _column(values: Sequence[object], lengths: list[int]) -> object:
    if not values:
        return []
    if isinstance(values[0], str):  # stored once, not copied to every row
        codes, texts = pd.factorize(np.array(values, dtype=object))
        return pd.Categorical.from_codes(np.repeat(codes, lengths), texts).astype(str)
    if isinstance(values[0], int):
        return np.repeat(np.asarray(values), lengths)
    return np.concatenate([np.asarray(value) for value in values])
