"""Labels that pseudo labels are judged by, and what is believed of them
(`core.paper.adaptive_acquisition`).
"""

import numpy as np

from weal.core.arrays import Array
from weal.core.paper.adaptive_acquisition import Judged
from weal.model.approximation import least_hashes
from weal.model.checks import check_distance
from weal.model.model import Model

MOST_JUDGED = 500  # labels that pseudo labels are judged by; more cost t^2 each and tell the same


def some_of(X: Array, y: Array, extra: Array) -> tuple[Array, Array, Array]:
    """The labels, or some of many; which ones does not depend on their order."""
    if len(y) <= MOST_JUDGED:
        return X, y, extra
    rows = least_hashes(np.column_stack([X, y, extra]), MOST_JUDGED)
    return X[rows], y[rows], extra[rows]


def judged_on(model: Model, X: Array, y: Array, extra: Array) -> Judged:
    """Points X (V, d) with labels y (V,), and the belief on them.

    `extra` (V,) are the variances of their noise with which they are folded in, in scaled labels:
    larger than was stated where a label is held lightly.
    """
    ens, scale, bend = model.ensemble_, model.scaling, model.fold.bend
    points = model.points(X)
    mu, v = ens.experts.predict(points)
    scaled = check_distance("y of validation", scale.labels(y))
    r = ens.experts.remainders(points)  # as good as noise of the labels
    lam = ens.ratios(bend.variances(extra, scaled))
    return Judged(points, mu, v - r, bend.labels(scaled), lam + r)
