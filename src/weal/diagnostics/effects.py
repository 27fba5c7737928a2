"""What the model believes one input does, or two together: predictions averaged over candidates.

The input is set to each of some values in a sample of candidates, all else as it is there, and the
predictions are averaged (partial dependence). The sd is averaged too: the sd of a mean of f is at
the most that, so that a band drawn from it is wide enough.

An `Axis` is a column of the table: one input, or the several that a category has become.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from weal.core.arrays import Array
from weal.model.model import Model
from weal.table.plan import Plan
from weal.table.planning import Column

POINTS = 61  # of a line
LEVELS = 12  # values: an input that has no more is shown at these
LOG_RATIO = 20.0  # of the largest value to the smallest, from which a log scale may be in use


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """Values that a column takes, and the inputs that they become."""

    name: str
    kind: str  # number, flag, date, category
    at: tuple[int, ...]  # inputs
    values: Array  # (G,)  as drawn; of a category 0, 1, 2, ...
    inputs: Array  # (G, k)
    names: tuple[str, ...] = ()  # of the values of a category
    log: bool = False
    origin: datetime | None = None  # of dates

    @property
    def times(self) -> list[datetime]:
        """The values of dates."""
        origin = self.origin or datetime(1970, 1, 1)
        return [origin + timedelta(days=float(day)) for day in self.values]


def columns_of(names: Sequence[str], plan: Plan | None) -> dict[str, list[int]]:
    """The inputs that each column has become."""
    if plan is None:
        return {name: [n] for n, name in enumerate(names)}
    found: dict[str, list[int]] = {}
    start = 0
    for column in plan.columns:
        if column.inputs:
            found[column.name] = list(range(start, start + len(column.inputs)))
            start += len(column.inputs)
    return found


def axis_of(
    given: Any, X: Array, names: Sequence[str], plan: Plan | None, points: int = POINTS
) -> Axis:
    """The column of that name, or of that number, with values as candidates X (U, d) have them."""
    columns = columns_of(names, plan)
    name = _named(given, columns)
    kinds: Mapping[str, Column] = {one.name: one for one in plan.columns} if plan else {}
    column, at = kinds.get(name), tuple(columns[name])
    if column is not None and column.kind == "category":
        levels = (*column.levels, "missing") if column.gaps else column.levels
        G = len(levels)
        return Axis(name, "category", at, np.arange(float(G)), np.eye(G), tuple(levels))
    known = X[:, at[0]] if len(at) == 1 else X[X[:, at[1]] == 0.0, at[0]]
    x, log = _values(known, points)
    inputs = np.column_stack([x, *[np.zeros(len(x)) for _ in at[1:]]])
    scale = 1.0 if column is None else column.scale
    origin = datetime.fromisoformat(column.origin) if column and column.origin else None
    kind = "number" if column is None else column.kind
    return Axis(name, kind, at, x * scale, inputs, log=log, origin=origin)


def effect(model: Model, X: Array, axis: Axis) -> tuple[Array, Array]:
    """Mean and sd (G,) of f, averaged over rows X (N, d), at each value of the axis."""
    return _averaged(model, X, [(axis.at, row) for row in axis.inputs])


def surface(model: Model, X: Array, a: Axis, b: Axis) -> tuple[Array, Array]:
    """Mean and sd (G_b, G_a) of f at each pair of values of two axes."""
    both = a.at + b.at
    cells = [(both, np.concatenate([one, other])) for other in b.inputs for one in a.inputs]
    mean, sd = _averaged(model, X, cells)
    shape = (len(b.values), len(a.values))
    return mean.reshape(shape), sd.reshape(shape)


def _averaged(
    model: Model, X: Array, cells: Sequence[tuple[tuple[int, ...], Array]]
) -> tuple[Array, Array]:
    means, sds = np.empty(len(cells)), np.empty(len(cells))
    size = max(20_000 // len(X), 1)
    for start in range(0, len(cells), size):
        part = cells[start : start + size]
        rows = np.concatenate([X] * len(part))
        for n, (at, values) in enumerate(part):
            rows[n * len(X) : (n + 1) * len(X), at] = values
        mean, sd = model.predict(rows, return_std=True)
        means[start : start + size] = mean.reshape(len(part), len(X)).mean(axis=1)
        sds[start : start + size] = sd.reshape(len(part), len(X)).mean(axis=1)
    return means, sds


def _named(given: Any, columns: Mapping[str, Any]) -> str:
    if isinstance(given, int) and not isinstance(given, bool) and 0 <= given < len(columns):
        return list(columns)[given]
    if isinstance(given, str) and given in columns:
        return given
    raise ValueError(f"there is no input {given!r}; there are {', '.join(columns)}")


def _values(known: Array, points: int) -> tuple[Array, bool]:
    """Values along a column, and whether they lie on a log scale."""
    different = np.unique(known)
    if len(different) <= LEVELS:
        return different, False
    low, high, middle = float(known.min()), float(known.max()), float(np.median(known))
    if low > 0.0 and high > LOG_RATIO * low:  # by which mean the middle one is
        even, log = abs(middle - 0.5 * (low + high)), abs(np.log(middle / np.sqrt(low * high)))
        if log / np.log(high / low) < even / (high - low):
            return np.geomspace(low, high, points), True
    return np.linspace(low, high, points), False
