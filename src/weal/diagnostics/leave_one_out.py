"""Every label predicted from all the others, by the experts that there are, in the user's units.

`core.leave_one_out` has the formulas: innovation e_i and its variance s_i of each label under each
expert, its magnitude without the label, and the weights w_m / p_m(y_i | the others). Here they
become means, sds and intervals. Nothing is fitted anew: lengthscales and noise ratios are those
that all labels settled, which is slightly optimistic.
"""

from dataclasses import dataclass

import numpy as np

from weal.core import leave_one_out as core
from weal.core.arrays import Array, standard_deviation
from weal.core.scaling import Scaling
from weal.diagnostics.mixtures import Mixtures, weights
from weal.model.fold import Fold


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut:
    """What was expected of each label by the others, in the user's units."""

    mean: Array  # (t,)
    sd: Array  # (t,)  of f
    low: Array  # (t,)  ends of intervals for the label
    high: Array  # (t,)


def without_each(fold: Fold) -> Mixtures:
    """What the experts expect of each label of a fold by the others."""
    ens, bend = fold.ensemble, fold.bend
    z, extra = bend.labels(fold.y), bend.variances(fold.extra, fold.y)
    e, s, lam = core.left_out(ens, fold.embedding, fold.X, z, extra)
    scale = ens.scale.without(e, s)
    log_w = ens.log_w[:, None] - ens.temper * scale.log_density(e, s)
    return Mixtures(fold, weights(log_w), z - e, np.maximum(s - lam, 0.0), s, scale)


def left_out_means(fold: Fold, scale: Scaling) -> Array:  # (t,)
    """What each label was expected to be by the others."""
    return without_each(fold).moments(scale)[0]


def left_out(fold: Fold, scale: Scaling, level: float) -> LeftOut:
    """The same, with intervals that hold a label with that probability."""
    found = without_each(fold)
    return LeftOut(*found.moments(scale), *found.interval(scale, level))


def left_out_levels(fold: Fold) -> Array:  # (t,)
    """The probability that the others gave to values below each label."""
    return without_each(fold).levels(fold.bend.labels(fold.y))


def baseline(y: Array) -> float:
    """Root mean square error when each of the labels y (t,) is guessed by the mean of the others.

    >>> round(baseline(np.array([1.0, 2.0, 6.0])), 3)
    3.24
    """
    t = len(y)
    return standard_deviation(y) * t / (t - 1) if t > 1 else 0.0
