"""Every label predicted from all the others, by the experts that there are, in closed form.

With C = K + diag(lam) the covariance of the labels z (as experts see them) in units of the
magnitude, A = C^-1 and a = A z, expert m would, without label i, have expected

    z_i - a_i / A_ii      with variance 1 / A_ii, noise included

and known of its magnitude what the other labels tell: b without e^2 / 2 s, a without 1/2. The
weight of the expert would have been w_m / p_m(z_i | the others), normalised. No model is fitted
anew: lengthscales and noise ratios are those that all labels settled, which is slightly
optimistic. Rows that were measured twice keep their other label.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from weal.core import ensemble
from weal.core.arrays import Array
from weal.core.ensemble import Ensemble, normalise
from weal.core.exact import LEAST_RATIO, ExactExperts
from weal.core.magnitude import A0, Conjugate, Magnitude
from weal.core.scaling import Scaling
from weal.model.fold import Fold
from weal.model.prediction import in_units


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut:
    """What was expected of each label by the others, in the user's units."""

    mean: Array  # (t,)
    sd: Array  # (t,)  of f
    low: Array  # (t,)  ends of intervals for the label
    high: Array  # (t,)


def left_out_means(fold: Fold, scale: Scaling) -> Array:  # (t,)
    """What each label was expected to be by the others."""
    parts = [in_units(without, scale, mu, f)[0] for without, mu, f, _ in _each(fold)]
    return np.concatenate([*parts, np.zeros(0)])


def left_out(fold: Fold, scale: Scaling, level: float) -> LeftOut:
    """The same, with intervals that hold a label with that probability."""
    rows = []
    for without, mu, f, y in _each(fold):
        mean, sd = in_units(without, scale, mu, f)
        ends = [
            ensemble.quantile(without.ensemble, mu, y, 0.5 + side * level) for side in (-0.5, 0.5)
        ]
        low, high = scale.means(fold.bend.unbent(np.concatenate(ends)))
        rows.append((mean[0], sd[0], low, high))
    return LeftOut(*np.array(rows).reshape(-1, 4).T)


def left_out_levels(fold: Fold) -> Array:  # (t,)
    """The probability that the others gave to values below each label."""
    z = fold.bend.labels(fold.y)
    levels = [
        without.ensemble.w
        @ without.ensemble.scale.cdf(z[i] - mu, ensemble.label_spread(without.ensemble, y))
        for i, (without, mu, _, y) in enumerate(_each(fold))
    ]
    return np.concatenate([*levels, np.zeros(0)])


def _each(fold: Fold) -> Iterator[tuple[Fold, Array, Array, Array]]:
    """For each label: weights and magnitudes without it, and the means of f at its point with
    variances of f and (less the noise that every label has) of the label, all (M, 1).
    """
    ens = fold.ensemble
    z, lam = fold.bend.labels(fold.y), ens.ratios(fold.bend.variances(fold.extra, fold.y))
    lam = np.maximum(lam, LEAST_RATIO)
    a, A_ii = _inverses(fold, z, lam)  # (M, t)
    e, s = a / A_ii, 1.0 / A_ii
    for i in range(len(z)):
        less = _without(ens, e[:, i], s[:, i])
        sig2 = less.magnitude
        f = sig2 * np.maximum(s[:, i] - lam[:, i], 0.0)
        y = sig2 * np.maximum(s[:, i] - ens.noise, 0.0)
        yield replace(fold, ensemble=less), (z[i] - e[:, i])[:, None], f[:, None], y[:, None]


def _without(ens: Ensemble, e: Array, s: Array) -> Ensemble:
    """Weights and magnitudes as if a label with innovation e (M,), variance s had not come."""
    scale = _magnitude_without(ens.scale, e, s)
    log_p = scale.log_density(e[:, None], s[:, None])[:, 0]
    return replace(ens, log_w=normalise(ens.log_w - ens.temper * log_p), scale=scale)


def _magnitude_without(scale: Magnitude, e: Array, s: Array) -> Magnitude:
    if not isinstance(scale, Conjugate):
        return scale
    least = (A0 - 1.0) * scale.unit  # rounding may not take b below its prior
    return replace(scale, a=scale.a - 0.5, b=np.maximum(scale.b - 0.5 * e * e / s, least))


def _inverses(fold: Fold, z: Array, lam: Array) -> tuple[Array, Array]:
    """a = A z and the diagonal of A (M, t), each."""
    pairs = [_inverse(*_factor(fold, m, z, lam[m])) for m in range(len(lam))]
    a, A_ii = (np.stack(part) for part in zip(*pairs, strict=True))
    return a, A_ii


def _factor(fold: Fold, m: int, z: Array, lam: Array) -> tuple[Array, Array]:
    """L with L L' = C of expert m, and L^-1 z."""
    experts = fold.ensemble.experts
    if isinstance(experts, ExactExperts):
        return experts.L[m], experts.z[m]
    points = fold.embedding.take([m]).points(experts.take([m]), fold.X)
    L = cholesky(experts.take([m]).prior_covariance(points, points)[0] + np.diag(lam), lower=True)
    return L, solve_triangular(L, z, lower=True, check_finite=False)


def _inverse(L: Array, z: Array) -> tuple[Array, Array]:
    R = solve_triangular(L, np.eye(len(L)), lower=True, check_finite=False)  # L^-1
    return R.T @ z, np.einsum("ti,ti->i", R, R)
