"""Which inputs matter to a model, and how near rows are to one another by that.

Expert m has lengthscales l_mi, one for each scaled input i (or the same for all): a step of l_mi
along i changes the function about as much as it ever changes. So 1 / l_mi says how much i matters
to m, and the weights w_m of the experts say whom to believe:

    share of input i     sum_m w_m (1 / l_mi) / sum_j (1 / l_mj)
    distance             sqrt(sum_i (x_i - x'_i)^2 sum_m w_m / l_mi^2)

What is near is relative: distances are told in units of the usual one, the median over candidates
of the distance to the nearest label.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from weal.core.arrays import Array
from weal.core.distances import squared_distances
from weal.core.scaling import location_scale
from weal.model.model import Model

DIFFER = 1.1  # ratio of lengthscales from which inputs are told apart
LEAST_WEIGHT = 0.05  # of the experts that do


def length_scales(model: Model) -> Array:  # (M, d)
    """Lengthscales of the experts, in scaled inputs; 1 for columns that came encoded."""
    d = model.n_features_in_
    if not model.dictionary_:
        return np.ones((len(model.weights_), d))
    return np.array([np.broadcast_to(k.length_scale, (d,)) for k in model.dictionary_])


def shares(model: Model, names: Sequence[str]) -> dict[str, float]:
    """How much each input matters, the most important first; they sum to 1."""
    each = 1.0 / length_scales(model)
    share = model.weights_ @ (each / each.sum(axis=1, keepdims=True))
    order = np.argsort(-share, kind="stable").tolist()
    return {names[i]: float(share[i]) for i in order}


def by_column(model: Model, columns: Mapping[str, Sequence[int]]) -> dict[str, float]:
    """The same for columns that became several inputs, such as categories: their shares summed."""
    every = shares(model, [str(n) for n in range(model.n_features_in_)])
    summed = {name: sum(every[str(n)] for n in at) for name, at in columns.items()}
    return dict(sorted(summed.items(), key=lambda pair: -pair[1]))


def told_apart(model: Model) -> bool:
    """Whether the labels say anything about which inputs matter.

    They do where experts whose lengthscales differ have some weight, or where there is one input.
    """
    lengths = length_scales(model)
    differ = lengths.max(axis=1) > DIFFER * lengths.min(axis=1)
    return model.n_features_in_ == 1 or float(model.weights_[differ].sum()) > LEAST_WEIGHT


def distances(model: Model | None, pool: Array, X: Array, Y: Array) -> Array:  # (N, N')
    """Distances of rows X (N, d) and Y (N', d), both in the user's units.

    While there is no model all inputs count the same, each in units of its sd in the pool (U, d).
    """
    if model is not None:
        pull = np.sqrt(model.weights_ @ length_scales(model) ** -2.0)
        scale = model.scaling.inputs
        return np.sqrt(squared_distances(scale(X) * pull, scale(Y) * pull))
    _, sd = location_scale(pool)
    unit = np.where(sd == 0.0, 1.0, sd)
    return np.sqrt(squared_distances(X / unit, Y / unit))
