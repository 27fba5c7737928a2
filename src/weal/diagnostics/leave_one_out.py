"""Every label predicted from all the others, by the experts that there are, in the user's units.

`core.extensions.leave_one_out` has the formulas: innovation e_i and its variance s_i of each label
under each expert, its magnitude without the label, and the weights w_m / p_m(y_i | the others).
Here they become means, sds and intervals. Nothing is fitted anew: lengthscales and noise ratios are
those that all labels settled, which is slightly optimistic.

Averages over more than ALL_LABELS labels are taken over SOME_LABELS of them, evenly spread over the
order in which they came; each of these is still predicted from all others. A root mean square over
1,000 labels is known to about 2 % (`rms`).
"""

from dataclasses import dataclass

import numpy as np

from weal.core.arrays import Array, root_mean_square, standard_deviation
from weal.core.extensions import leave_one_out as core
from weal.core.scaling import Scaling
from weal.diagnostics.mixtures import Mixtures, weights
from weal.model.fold import Fold

ALL_LABELS, SOME_LABELS = 2000, 1000  # up to so many, averages are over all; beyond, over so many


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut:
    """What was expected of each label by the others, in the user's units."""

    mean: Array  # (t,)
    sd: Array  # (t,)  of f
    low: Array  # (t,)  ends of intervals for the label
    high: Array  # (t,)


def without_each(fold: Fold, which: core.Which = None) -> Mixtures:
    """What the experts expect of each label of a fold, or of some, by all others."""
    ens, bend = fold.ensemble, fold.bend
    z, extra = bend.labels(fold.y), bend.variances(fold.extra, fold.y)
    e, s, lam = core.left_out(ens, fold.embedding, fold.X, z, extra, which)
    z = z if which is None else z[which]
    scale = ens.scale.without(e, s)
    log_w = ens.log_w[:, None] - ens.temper * scale.log_density(e, s)
    return Mixtures(fold, weights(log_w), z - e, np.maximum(s - lam, 0.0), s, scale)


def some_labels(t: int) -> core.Which:
    """Positions of the labels that stand for t in averages; None up to ALL_LABELS, which all do."""
    if t <= ALL_LABELS:
        return None
    return np.linspace(0, t - 1, SOME_LABELS).round().astype(np.intp)


def left_out_means(fold: Fold, scale: Scaling, which: core.Which = None) -> Array:  # (t,)
    """What each label, or each of some, was expected to be by the others."""
    return without_each(fold, which).moments(scale)[0]


def left_out(fold: Fold, scale: Scaling, level: float) -> LeftOut:
    """The same, with intervals that hold a label with that probability."""
    found = without_each(fold)
    return LeftOut(*found.moments(scale), *found.interval(scale, level))


def left_out_levels(fold: Fold, which: core.Which = None) -> Array:  # (t,)
    """The probability that the others gave to values below each label, or each of some."""
    z = fold.bend.labels(fold.y)
    return without_each(fold, which).levels(z if which is None else z[which])


def baseline(y: Array) -> float:
    """Root mean square error when each of the labels y (t,) is guessed by the mean of the others.

    >>> round(baseline(np.array([1.0, 2.0, 6.0])), 3)
    3.24
    """
    t = len(y)
    return standard_deviation(y) * t / (t - 1) if t > 1 else 0.0


def rms(errors: Array, of: int) -> tuple[float, float | None]:
    """Root mean square of errors (n,), and its standard error where they stand for more than n.

    >>> found, error = rms(np.array([1.0, -1.0, 2.0, 0.0]), of=100)
    >>> round(found, 3), round(error, 2)
    (1.225, 0.35)
    """
    found, n = root_mean_square(errors), len(errors)
    if n >= of or n < 2 or found == 0.0:
        return found, None
    share = 1.0 - n / of  # of the labels that are not looked at
    ratios = (errors / found) ** 2  # squares of labels of 1e300 would overflow
    return found, float(found * ratios.std(ddof=1) * np.sqrt(share / n) / 2.0)
