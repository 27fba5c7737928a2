"""Where labels scatter more: varying noise in one sentence.

The noise of a label at each labelled row (`Model.predict_noise`) is split into two groups by one or
two conditions on the inputs or on the predicted level: the conditions that explain most of the
variance of the log of the noise. A second condition has to explain MIN_GAIN more. No difference is
reported if even noise is more probable, or if the ratio of the noise of the groups is below
MIN_RATIO.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.model.model import Model
from weal.tables.plan import TablePlan
from weal.text import number

MIN_PROBABILITY = 0.5
MIN_RATIO = 1.5
MIN_GAIN = 0.1  # of the variance of the log noise
MIN_ROWS = 3  # on either side
THRESHOLD_DIGITS, MAX_THRESHOLDS = 3, 40


@dataclass(frozen=True, slots=True)
class NoiseDifference:
    """Where labels scatter more, and by how much."""

    where: str  # such as "temp is above 90"
    there: float  # sd of the noise of a label
    elsewhere: float
    probability: float  # of varying noise


class Factor(NamedTuple):
    """What noise may depend on: an input, the predicted level, or a level of a category."""

    name: str
    values: Array  # (n,)
    is_category: bool = False


class _Split(NamedTuple):
    where: str
    loud: NDArray[np.bool_]  # (n,)
    explained: float  # share of the variance of the log noise


def varying_probability(model: Model) -> float:
    """Probability that noise varies."""
    varies = model.ensemble_.varies
    return 0.0 if varies is None else float(model.weights_ @ varies)


def noise_difference(model: Model, X: Array, factors: Sequence[Factor]) -> NoiseDifference | None:
    """Where labels scatter more, given rows X (n, d) in the user's units and factors there."""
    probability = varying_probability(model)
    if probability < MIN_PROBABILITY:
        return None
    sd = model.predict_noise(X)
    log_sd = np.log(np.maximum(sd, np.finfo(np.float64).tiny))
    everywhere = np.ones(len(sd), dtype=np.bool_)
    first = _best(log_sd, factors, everywhere, "")
    if first is None:
        return None
    second = _best(log_sd, factors, first.loud, f"{first.where} and ")
    better = second is not None and second.explained >= first.explained + MIN_GAIN
    found = second if second is not None and better else first
    there, elsewhere = (float(np.median(sd[side])) for side in (found.loud, ~found.loud))
    if there < MIN_RATIO * elsewhere:
        return None
    return NoiseDifference(found.where, there, elsewhere, probability)


def noise_factors(
    model: Model,
    X: Array,
    columns: Mapping[str, Sequence[int]],
    plan: TablePlan | None,
    target: str,
) -> list[Factor]:
    """Numbers and levels of categories by their positions in X (n, d), and the predicted level."""
    found, kinds = (
        list[Factor](),
        {column.name: column for column in (plan.columns if plan else ())},
    )
    for name, at in columns.items():
        column = kinds.get(name)
        if column is None or column.kind == "number":
            scale = 1.0 if column is None else column.scale
            found.append(Factor(name, scale * X[:, at[0]]))
        elif column.kind == "category":
            pairs = zip(column.levels, at, strict=False)  # gaps have an input of their own
            found += [Factor(f"{name} is {level}", X[:, n], True) for level, n in pairs]
    return [*found, Factor(f"the predicted {target}", np.asarray(model.predict(X)))]


def _best(
    log_sd: Array, factors: Sequence[Factor], within: NDArray[np.bool_], before: str
) -> _Split | None:
    """The condition on the rows `within` that explains most; None if all rows are alike."""
    total = float(((log_sd - log_sd.mean()) ** 2).sum())
    best: _Split | None = None
    for factor in factors if total > 0.0 else ():
        for threshold in _thresholds(factor.values[within]):
            above = within & (factor.values > threshold)
            for loud, word in ((above, "above"), (within & ~above, "below")):
                explained = _explained(log_sd, loud) / total
                if best is None or explained > best.explained:
                    where = _words(factor, word, threshold)
                    best = _Split(before + where, loud, explained)
    return best if best is not None and best.explained > 0.0 else None


def _thresholds(values: Array) -> list[float]:
    """Values halfway between neighbours, MAX_THRESHOLDS at most."""
    known = np.unique(values)
    middles = 0.5 * (known[1:] + known[:-1])
    at = np.linspace(0, len(middles) - 1, min(len(middles), MAX_THRESHOLDS)).round().astype(np.intp)
    return [float(middle) for middle in middles[at]]


def _explained(log_sd: Array, loud: NDArray[np.bool_]) -> float:
    """Sum of squares between the groups; 0 where a group is small, or `loud` is the quieter."""
    n, N = int(loud.sum()), len(loud)
    if min(n, N - n) < MIN_ROWS:
        return 0.0
    gap = float(log_sd[loud].mean() - log_sd[~loud].mean())
    return n * (N - n) / N * gap**2 if gap > 0.0 else 0.0


def _words(factor: Factor, side: str, threshold: float) -> str:
    if factor.is_category:
        return factor.name if side == "above" else factor.name.replace(" is ", " is not ", 1)
    return f"{factor.name} is {side} {number(threshold, THRESHOLD_DIGITS)}"
