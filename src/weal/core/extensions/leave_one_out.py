"""Leave-one-out predictions of labels in closed form, with the selected experts.

With C = K + diag(lam) the covariance of the labels y (as experts see them) in units of the
magnitude, A = C^-1 and a = A y, the innovation that label i would have been to an expert that knows
all the others, and its variance, are

    e_i = a_i / A_ii        s_i = 1 / A_ii

The magnitude of the expert would be known from the others alone: b without e^2 / (2 s), a without
1/2 (`conjugate_magnitude`); and its weight would have been w_m / p_m(y_i | the others), normalised.
No expert is selected again: lengthscales and noise ratios are those of all labels, which is
slightly optimistic. A row that was labelled twice keeps its other label.

There are two ways to a and A_ii. By a Cholesky factor L L' = C, with R = L^-1:

    a = R'R y        A_ii = sum_j R_ji^2

and from the posterior at the labels, which costs almost nothing if that is available:

    a = (y - mu) / lam        A_ii = (lam - v) / lam^2

but where lam is tiny v comes too close to it, and the factor is needed. Experts on features and on
inducing points have it from the posterior beyond ROOT_LABELS labels, with lam + r for lam (r as in
`inducing_gp`): there are then several labels for each feature, v is well below lam, and a factor of
all labels would take t^2 numbers.

The loss of acquisition functions without held-out labels (`left_out_errors`): a pseudo label at x_k
with the innovation e of variance s takes

    a_i -= b_i e / s      A_ii += b_i^2 / s      b = A k(X, x_k)

From the posterior at the labels b = c / lam; where lam is tiny, from the root of A.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dtrtri
from scipy.special import logsumexp

from weal.core.arrays import Array
from weal.core.paper import random_features
from weal.core.paper.adaptive_acquisition import (
    PseudoLabelPoints,
    ValidationLabels,
    normalise_over_experts,
    pseudo_labels,
)
from weal.core.paper.ensemble import Ensemble, normalise
from weal.core.paper.exact_gp import LEAST_RATIO
from weal.core.protocols import Embedding, Magnitude

ROOT_LABELS = 2000  # labels up to which every kind of expert goes by a Cholesky factor
Which = NDArray[np.intp] | None  # positions of labels; None: all


def innovations(a: Array, A_ii: Array) -> tuple[Array, Array]:
    """Leave-one-out innovations e and variances s from a and A_ii, elementwise."""
    return a / A_ii, 1.0 / A_ii


def by_posterior(y: Array, mu: Array, v: Array, lam: Array) -> tuple[Array, Array]:
    """a and A_ii (M, t) from the belief mu, v (M, t) at the points of labels y (t,)."""
    return (y - mu) / lam, (lam - v) / lam**2


def inverse_root(C: Array) -> Array:
    """R (t, t) with R'R = C^-1."""
    return _inverse_from_cholesky(np.linalg.cholesky(C).astype(np.float64, copy=False))


def by_root(R: Array, y: Array) -> tuple[Array, Array]:
    """a and A_ii (t,) of one expert from R (t, t) with R'R = A."""
    return R.T @ (R @ y), np.einsum("ji,ji->i", R, R)


def left_out(
    ens: Ensemble, embedding: Embedding, X: Array, y: Array, noise_var: Array, which: Which = None
) -> tuple[Array, Array, Array]:
    """Leave-one-out innovations e, variances s and noise ratios lam (M, t) of labels y (t,).

    `noise_var` (t,) has known noise variances. With `which`, positions of labels, only these are
    left out, each from all others.
    """
    lam = np.maximum(ens.ratios(ens.known_noise(X, noise_var)), LEAST_RATIO)
    if len(y) <= ROOT_LABELS or ens.experts.label_factor(0) is not None:
        pairs = [_by_factor(ens, embedding, m, X, y, lam[m], which) for m in range(len(lam))]
        a, A_ii = (np.stack(part) for part in zip(*pairs, strict=True))
    else:
        a, A_ii = _by_weights(ens, embedding, X, y, lam, which)
    return *innovations(a, A_ii), lam if which is None else lam[:, which]


def _by_factor(
    ens: Ensemble, embedding: Embedding, m: int, X: Array, y: Array, lam: Array, which: Which
) -> tuple[Array, Array]:
    """a and A_ii (t,) of expert m."""
    L = ens.experts.label_factor(m)
    if which is None or L is None:
        a, A_ii = by_root(_root(ens, embedding, m, X, lam), y)
        return (a, A_ii) if which is None else (a[which], A_ii[which])
    alone = np.zeros((len(y), len(which)))
    alone[which, np.arange(len(which))] = 1.0
    R = solve_triangular(L, alone, lower=True, check_finite=False)
    z = solve_triangular(L, y, lower=True, check_finite=False)
    return R.T @ z, np.einsum("ji,ji->i", R, R)


def _by_weights(
    ens: Ensemble, embedding: Embedding, X: Array, y: Array, lam: Array, which: Which
) -> tuple[Array, Array]:
    """a and A_ii (M, t) of experts on features or inducing points, in blocks of labels."""
    if which is not None:
        X, y, lam = X[which], y[which], lam[:, which]
    a, A_ii = np.empty_like(lam), np.empty_like(lam)
    for rows in random_features.blocks(len(y), 2 * 8 * len(lam) * embedding.width(ens.experts)):
        points = embedding.points(ens.experts, X[rows])
        r, (mu, v) = ens.experts.remainders(points), ens.experts.predict(points)
        noise = lam[:, rows] + r
        a[:, rows], found = by_posterior(y[rows], mu, v - r, noise)
        prior = np.einsum("mnf,mnf->mn", points, points)  # A_ii is 1 / C_ii at least
        A_ii[:, rows] = np.maximum(found, 1.0 / (prior + noise))
    return a, A_ii


@dataclass(frozen=True, slots=True, eq=False)
class LeftOutMixture:
    """Predictive distributions of labels from all others under each expert."""

    w: Array  # (M, t)  weights without the label
    mu: Array  # (M, t)  means of f
    v: Array  # (M, t)  variances of f, in units of the magnitude
    s: Array  # (M, t)  those of the label
    scale: Magnitude  # without the label: of (M, t), or of (M,) where it is fixed

    @property
    def var(self) -> Array:  # (M, t)
        """Variances of f."""
        return np.asarray(self.scale.variance.reshape(len(self.w), -1) * self.v)

    def log_density(self, y: Array) -> Array:  # (t,)
        """Log density of the labels y (t,), as experts see them, under the mixture."""
        log_p = self.scale.log_predictive(y - self.mu, self.s)
        return np.asarray(logsumexp(log_p, axis=0, b=self.w))


def left_out_mixture(
    ens: Ensemble, embedding: Embedding, X: Array, y: Array, noise_var: Array, which: Which = None
) -> LeftOutMixture:
    """The distributions of labels y (t,) as experts see them, each from all others; or of some."""
    e, s, lam = left_out(ens, embedding, X, y, noise_var, which)
    scale, added = remove_label(ens, ens.scale, e, s)
    w = np.exp(normalise_over_experts(ens.log_w[:, None] - added))
    y = y if which is None else y[which]
    return LeftOutMixture(w, y - e, np.maximum(s - lam, 0.0), s, scale)


def without(ens: Ensemble, e: Array, s: Array) -> Ensemble:
    """Weights and magnitudes without a label of leave-one-out e and s (M,).

    The experts are still conditioned on the label: the prediction of its point without it is e, s.
    """
    scale, added = remove_label(ens, ens.scale, e, s)
    return replace(ens, log_w=normalise(ens.log_w - added), scale=scale)


def remove_label(ens: Ensemble, scale: Magnitude, e: Array, s: Array) -> tuple[Magnitude, Array]:
    """The magnitudes without each label of e and s (M, ...), and its share of the log weights."""
    less = scale.without(e, s)
    return less, ens.temper * less.log_density(e, s)


def _root(ens: Ensemble, embedding: Embedding, m: int, X: Array, lam: Array) -> Array:
    """Root R of expert m; exact experts keep the Cholesky factor of C."""
    L = ens.experts.label_factor(m)
    if L is not None:
        return _inverse_from_cholesky(L)
    some = ens.experts.take([m])
    points = embedding.take([m]).points(some, X)
    noise = lam + some.remainders(points)[0]
    return inverse_root(some.prior_covariance(points, points)[0] + np.diag(noise))


def _inverse_from_cholesky(L: Array) -> Array:
    """L^-1 (t, t) of L with zeros above its diagonal; L' is passed, which LAPACK reads in place."""
    if not len(L):
        return L
    inverse, singular = dtrtri(L.T)
    if singular:
        raise np.linalg.LinAlgError("a Cholesky factor is singular")
    return np.asarray(inverse.T)


# Below this noise ratio lam - v has lost half its digits, for its relative error is 1e-16 / lam^2:
# the root of A is computed instead, with an error of 1e-15 / lam.
TINY_RATIO = 1e-4


def left_out_errors(ens: Ensemble, judged: ValidationLabels, picks: PseudoLabelPoints) -> Array:
    """Leave-one-out mean squared errors (K,) on the labels after each of K pseudo labels."""
    e, s, log_w = pseudo_labels(ens, picks)
    by = _by_root if judged.lam.min() < TINY_RATIO else _by_posterior
    a, A_ii, b = by(ens, judged, picks)  # (M, t), (M, t), (M, t, K)
    e, s = e[:, None, :], s[:, None, :]
    ratio = b / s
    a_k = a[:, :, None] - ratio * e  # (M, t, K)
    A_k = A_ii[:, :, None] + ratio * b
    error, spread = innovations(a_k, A_k)
    _, added = remove_label(ens, ens.scale.with_innovation(e, s), error, spread)
    w = np.exp(normalise_over_experts(log_w[:, None, :] - added))
    return np.asarray((np.einsum("mtk,mtk->tk", w, error) ** 2).mean(axis=0))


def _by_posterior(
    ens: Ensemble, judged: ValidationLabels, picks: PseudoLabelPoints
) -> tuple[Array, Array, Array]:
    c = ens.experts.covariance(judged.points, picks.points)
    a, A_ii = by_posterior(judged.y, judged.mu, judged.v, judged.lam)
    return a, A_ii, c / judged.lam[:, :, None]


def _by_root(
    ens: Ensemble, judged: ValidationLabels, picks: PseudoLabelPoints
) -> tuple[Array, Array, Array]:
    K = ens.experts.prior_covariance(judged.points, judged.points)
    k = ens.experts.prior_covariance(judged.points, picks.points)  # (M, t, K)
    parts = []
    for m, lam in enumerate(np.maximum(judged.lam, LEAST_RATIO)):
        R = inverse_root(K[m] + np.diag(lam))
        parts.append((*by_root(R, judged.y), R.T @ (R @ k[m])))
    a, A_ii, b = (np.stack(part) for part in zip(*parts, strict=True))
    return a, A_ii, b
