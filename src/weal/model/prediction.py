"""What a fold of labels believes of points, in the user's units; X (N, d) comes scaled.

All walk the points in blocks that fit the memory for one (`Fold.beliefs`).
"""

import numpy as np

from weal.core.arrays import Array, Index
from weal.core.extensions import mixture_quantiles
from weal.core.extensions.label_warp import moments
from weal.core.paper import ensemble
from weal.core.scaling import Scaling
from weal.model.fold import Fold

EXACT_ROWS = 5000  # rows of a table whose intervals are solved to the last bit, in seconds


def mean_sd(fold: Fold, scale: Scaling, X: Array) -> tuple[Array, Array]:
    """Mean and sd (N,) of f."""
    parts = [in_units(fold, scale, mu, var) for _, mu, var in fold.beliefs(X)]
    mean, sd = np.concatenate(parts, axis=1)
    return mean, sd


def in_units(
    fold: Fold, scale: Scaling, mu: Array, var: Array, held: Index = slice(None)
) -> tuple[Array, Array]:
    """Mean and sd (N,) of f, for means and variances (H, N) of it under the experts held."""
    mean, var = moments(fold.ensemble, fold.bend, mu, var, held)
    with np.errstate(over="ignore"):
        return scale.means(mean), scale.y_sd * np.sqrt(var)


def log_density(fold: Fold, scale: Scaling, X: Array, y: Array) -> Array:
    """Log density (N,) of labels y (N,), noise included."""
    parts = [
        log_density_in_units(fold, scale, mu, var, y[rows]) for rows, mu, var in fold.beliefs(X)
    ]
    return np.concatenate(parts)


def log_density_in_units(fold: Fold, scale: Scaling, mu: Array, var: Array, y: Array) -> Array:
    """The same, for means and variances (M, N) of f under each expert."""
    scaled = scale.labels(y)
    log_p = ensemble.log_density(fold.ensemble, mu, var, fold.bend.labels(scaled))
    return log_p + fold.bend.log_slope(scaled) - float(np.log(scale.y_sd))


def quantiles(fold: Fold, scale: Scaling, X: Array, levels: Array) -> Array:
    """Quantiles (levels, N) of a label, noise included."""
    parts = [
        [ensemble.quantile(fold.ensemble, mu, var, level) for level in levels.tolist()]
        for _, mu, var in fold.beliefs(X)
    ]
    return scale.means(fold.bend.unbent(np.concatenate(parts, axis=1)))


def summary(fold: Fold, scale: Scaling, X: Array, level: float, of: int) -> Array:  # (4, N)
    """Mean and sd of f, and the ends of the interval of a label, from one pass over the experts.

    X are some of `of` rows. Of more than EXACT_ROWS the ends are those of `quantiles` to 1e-8 of
    the sd of a label (`core.extensions.mixture_quantiles`); of fewer, to the last bit.
    """
    levels, parts = 0.5 + 0.5 * level * np.array([-1.0, 1.0]), []
    for _, mu, var in fold.beliefs(X):
        ends = _ends(fold, mu, var, levels, of)
        parts.append([*in_units(fold, scale, mu, var), *scale.means(fold.bend.unbent(ends))])
    return np.concatenate(parts, axis=1)


def _ends(fold: Fold, mu: Array, var: Array, levels: Array, of: int) -> Array:  # (2, N)
    """Quantiles of labels as experts see them."""
    if of > EXACT_ROWS:
        return mixture_quantiles.quantiles(fold.ensemble, mu, var, levels)
    return np.stack([ensemble.quantile(fold.ensemble, mu, var, one) for one in levels.tolist()])
