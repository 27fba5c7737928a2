"""Labels that look wrong: of each, what the others believed let expect, and how likely it is wrong.

Those folded in are left out of the others in closed form (`leave_one_out`); those set aside are
predicted by the model, which has not seen them.
"""

from dataclasses import dataclass, replace

import numpy as np

from weal.core.arrays import Array
from weal.core.paper.exact_gp import LEAST_RATIO
from weal.diagnostics.leave_one_out import LeftOut, left_out, without_each
from weal.model import prediction
from weal.model.model import Model

WITHIN_ONE_SD = 0.6827  # probability of a normal


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Labels in the order told, in the user's units."""

    probability: Array  # (n,)  of being wrong
    expected: Array  # (n,)  what the others let expect of f
    sd: Array  # (n,)  of a label there: half of the interval that holds it with one sd's chance
    log_odds: Array  # (n,)  of being wrong


def beside_others(model: Model, level: float) -> LeftOut:
    """What the labels believed let expect of each label told, with intervals for it."""
    fold, right, scale = model.fold, model.fold.right, model.scaling
    found = np.empty((4, len(right)))
    alone = left_out(fold, scale, level)
    found[:, right] = alone.mean, alone.sd, alone.low, alone.high
    if not right.all():
        X, ends = fold.seen.X[~right], 0.5 + 0.5 * level * np.array([-1.0, 1.0])
        found[:2, ~right] = prediction.mean_sd(fold, scale, X)
        found[2:, ~right] = prediction.quantiles(fold, scale, X, ends)
    return LeftOut(*found)


def judged(model: Model) -> Judged:
    """What the labels believed say of each label told to a model."""
    fold, right = model.fold, model.fold.right
    expected, sd = np.empty((2, len(right)))
    alone = without_each(fold)
    own = np.maximum(fold.ensemble.noise, LEAST_RATIO)[:, None]
    alone = replace(alone, s=alone.v + own)  # as a label without noise of its own
    low, high = alone.interval(model.scaling, WITHIN_ONE_SD)
    expected[right], sd[right] = alone.moments(model.scaling)[0], 0.5 * (high - low)
    if not right.all():
        X, levels = fold.seen.X[~right], 0.5 + 0.5 * WITHIN_ONE_SD * np.array([-1.0, 1.0])
        low, high = prediction.quantiles(fold, model.scaling, X, levels)
        expected[~right] = prediction.mean_sd(fold, model.scaling, X)[0]
        sd[~right] = 0.5 * (high - low)
    probability = model.outlier_probability_
    with np.errstate(divide="ignore"):
        log_odds = np.log(probability) - np.log1p(-probability)
    return Judged(probability, expected, sd, log_odds)
