"""Partial dependence on inputs, and importance of inputs.

Partial dependence: the input is set to each of some values in a sample of candidates, all else
unchanged, and the predictions are averaged. The sd is averaged too: the sd of a mean of f is at
most that, so a band drawn from it is wide enough. An `EffectInput` is a column of the table: one
input, or the inputs of all levels of a category.

Importance: expert m has lengthscales l_mi, one for each scaled input i (or the same for all); l_mi
is the step along i over which f changes considerably. So 1 / l_mi measures how much i matters to m,
and experts count by their weights w_m:

    share of input i     sum_m w_m (1 / l_mi) / sum_j (1 / l_mj)
    distance             sqrt(sum_i (x_i - x'_i)^2 sum_m w_m / l_mi^2)

    probability          sum of w_m over the experts to which i matters (`relevant_inputs`)

Distances are reported in units of the usual distance: the median over candidates of the distance to
the nearest label.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from weal.core.arrays import Array
from weal.core.constants import MAX_IRRELEVANT_PROBABILITY, MIN_LABELS_TO_LEAVE_OUT
from weal.core.distances import squared_distances
from weal.core.scaling import location_scale
from weal.model.model import Model
from weal.tables.plan import TablePlan
from weal.tables.plan_columns import PlanColumn

EFFECT_LINE_POINTS = 61
MAX_EFFECT_VALUES = 12  # an input with at most so many values is shown at these
# ratio of the largest value to the smallest from which a log scale is considered
MIN_LOG_AXIS_RATIO_OF_INPUT = 20.0


@dataclass(frozen=True, slots=True, eq=False)
class EffectInput:
    """Values of a column, and the inputs that encode them."""

    name: str
    kind: str  # number, flag, date, category
    positions: tuple[int, ...]  # of its inputs
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


def columns_of(names: Sequence[str], plan: TablePlan | None) -> dict[str, list[int]]:
    """Positions of the inputs of each column."""
    if plan is None:
        return {name: [n] for n, name in enumerate(names)}
    found: dict[str, list[int]] = {}
    start = 0
    for column in plan.columns:
        if column.inputs:
            found[column.name] = list(range(start, start + len(column.inputs)))
            start += len(column.inputs)
    return found


def make_effect_input(
    given: str | int,
    X: Array,
    names: Sequence[str],
    plan: TablePlan | None,
    points: int = EFFECT_LINE_POINTS,
) -> EffectInput:
    """The column of that name or number, with the values of candidates X (U, d)."""
    columns = columns_of(names, plan)
    name = _column_name(given, columns)
    kinds: Mapping[str, PlanColumn] = {one.name: one for one in plan.columns} if plan else {}
    column, at = kinds.get(name), tuple(columns[name])
    if column is not None and column.kind == "category":
        levels = (*column.levels, "missing") if column.gaps else column.levels
        G = len(levels)
        return EffectInput(name, "category", at, np.arange(float(G)), np.eye(G), tuple(levels))
    known = X[:, at[0]] if len(at) == 1 else X[X[:, at[1]] == 0.0, at[0]]
    x, log = _values(known, points)
    inputs = np.column_stack([x, *[np.zeros(len(x)) for _ in at[1:]]])
    scale = 1.0 if column is None else column.scale
    origin = datetime.fromisoformat(column.origin) if column and column.origin else None
    kind = "number" if column is None else column.kind
    return EffectInput(name, kind, at, x * scale, inputs, log=log, origin=origin)


def partial_dependence(model: Model, X: Array, axis: EffectInput) -> tuple[Array, Array]:
    """Mean and sd (G,) of f, averaged over rows X (N, d), at each value of the axis."""
    return _average_predictions(model, X, [(axis.positions, row) for row in axis.inputs])


def partial_dependence_of_two(
    model: Model, X: Array, a: EffectInput, b: EffectInput
) -> tuple[Array, Array]:
    """Mean and sd (G_b, G_a) of f at each pair of values of two axes."""
    both = a.positions + b.positions
    cells = [(both, np.concatenate([one, other])) for other in b.inputs for one in a.inputs]
    mean, sd = _average_predictions(model, X, cells)
    shape = (len(b.values), len(a.values))
    return mean.reshape(shape), sd.reshape(shape)


def grid_inputs(X: Array, axis: EffectInput) -> Iterator[Array]:
    """The rows X (N, d) with each value of the axis in turn."""
    for values in axis.inputs:
        rows = X.copy()
        rows[:, axis.positions] = values
        yield rows


def _average_predictions(
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


def _column_name(given: object, columns: Mapping[str, object]) -> str:
    if isinstance(given, int) and not isinstance(given, bool) and 0 <= given < len(columns):
        return list(columns)[given]
    if isinstance(given, str) and given in columns:
        return given
    raise ValueError(f"there is no input {given!r}; there are {', '.join(columns)}")


def _values(known: Array, points: int) -> tuple[Array, bool]:
    """Values along a column, and whether they lie on a log scale."""
    different = np.unique(known)
    if len(different) <= MAX_EFFECT_VALUES:
        return different, False
    # A log scale if the median is nearer to the geometric than to the arithmetic mean.
    low, high, middle = float(known.min()), float(known.max()), float(np.median(known))
    if low > 0.0 and high > MIN_LOG_AXIS_RATIO_OF_INPUT * low:
        even, log = abs(middle - 0.5 * (low + high)), abs(np.log(middle / np.sqrt(low * high)))
        if log / np.log(high / low) < even / (high - low):
            return np.geomspace(low, high, points), True
    return np.linspace(low, high, points), False


MIN_LENGTH_SCALE_RATIO = 1.1  # from which an expert distinguishes inputs
LEAST_WEIGHT = 0.05  # of experts that distinguish inputs


def length_scales(model: Model) -> Array:  # (M, d)
    """Lengthscales of the experts, in scaled inputs; 1 for encoded columns."""
    d, all_inputs = model.n_features_in_, model.trained.X.shape[1:]  # with those of a source
    if not model.dictionary_:
        return np.ones((len(model.weights_), d))
    return np.array([k.column_scales(*all_inputs)[:d] for k in model.dictionary_])


def input_importance(model: Model, names: Sequence[str]) -> dict[str, float]:
    """Importance of each input, the largest first; the sum is 1."""
    each = 1.0 / (length_scales(model) * _columns_of_input(model))
    share = model.weights_ @ (each / each.sum(axis=1, keepdims=True))
    order = np.argsort(-share, kind="stable").tolist()
    return {names[i]: float(share[i]) for i in order}


def _columns_of_input(model: Model) -> Array:  # (d,)
    """For each column the number of columns of its input: the levels of a category share one."""
    widths = model.scaling.widths
    if widths is None:
        return np.ones(model.n_features_in_)
    return np.repeat(widths, widths).astype(np.float64)


def column_importance(model: Model, columns: Mapping[str, Sequence[int]]) -> dict[str, float]:
    """Importance of each column: the sum over its inputs."""
    every = input_importance(model, [str(n) for n in range(model.n_features_in_)])
    summed = {name: sum(every[str(n)] for n in at) for name, at in columns.items()}
    return dict(sorted(summed.items(), key=lambda pair: -pair[1]))


def has_input_importance(model: Model) -> bool:
    """Whether the importance of inputs can be estimated from the labels.

    It can if experts with unequal lengthscales have some weight, or if there is one input.
    """
    lengths = length_scales(model)
    differ = lengths.max(axis=1) > MIN_LENGTH_SCALE_RATIO * lengths.min(axis=1)
    return model.n_features_in_ == 1 or float(model.weights_[differ].sum()) > LEAST_WEIGHT


def column_probability(model: Model, columns: Mapping[str, Sequence[int]]) -> dict[str, float]:
    """Posterior probability that each column matters, the largest first.

    If a column has several inputs, such as a number and its missing-value flag, the highest counts.
    """
    each = model.input_importance_
    found = {name: float(max(each[n] for n in at)) for name, at in columns.items() if at}
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))


def columns_to_leave_out(model: Model, columns: Mapping[str, Sequence[int]]) -> list[str]:
    """Columns that could be left out of the sheet, in the order of the table.

    Their probability to matter is below MAX_IRRELEVANT_PROBABILITY, with MIN_LABELS_TO_LEAVE_OUT
    labels or more: fewer may be explained by few inputs by chance.
    """
    if model.n_labels_ < MIN_LABELS_TO_LEAVE_OUT:
        return []
    each = column_probability(model, columns)
    return [name for name in columns if each.get(name, 1.0) < MAX_IRRELEVANT_PROBABILITY]


def distances(model: Model | None, pool: Array, X: Array, Y: Array) -> Array:  # (N, N')
    """Distances of rows X (N, d) and Y (N', d), both in the user's units.

    Without a model all inputs count the same, each in units of its sd in the pool (U, d).
    """
    if model is not None:
        pull = np.sqrt(model.weights_ @ length_scales(model) ** -2.0)
        own = replace(model.scaling, source=None)
        return np.sqrt(squared_distances(own.inputs(X) * pull, own.inputs(Y) * pull))
    _, sd = location_scale(pool)
    unit = np.where(sd == 0.0, 1.0, sd)
    return np.sqrt(squared_distances(X / unit, Y / unit))
