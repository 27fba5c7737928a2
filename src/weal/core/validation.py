"""How good the ensemble would be after a pseudo label: the loss that acquisition functions pay.

Acquisition function k would ask for x_k, k = 1..K. Its pseudo label is the ensemble's own mean
there [1, eq:pseudo_k]. With c the posterior covariance of a judged point with x_k,

    e = y_k - mu(x_k)     s = v(x_k) + lam     mu'(x) = mu(x) + c e / s
    log w'_m = log w_m + log N(e_m; 0, sig2_m s_m),  normalised

give the ensemble after it in closed form [1, eq:EGP_parameter_k]: no copy of Sigma, all experts
and all k at once. Two ways to judge it:

held out   mean squared error on labels that were kept apart, the paper's [1, eq:error_k].
left out   ours, for who cannot spare such labels: leave one out on the labels at hand
           (`leave_one_out`, whose a and A_ii these are). A pseudo label takes
               a_i -= b_i e / s      A_ii += b_i^2 / s      b = A k(X, x_k)
           From the posterior at the labels b = c / lam; where lam is tiny, from the root of A.
"""

from dataclasses import dataclass

import numpy as np

from weal.core import leave_one_out
from weal.core.arrays import Array
from weal.core.ensemble import Ensemble
from weal.core.exact import LEAST_RATIO
from weal.core.experts import Points
from weal.core.likelihood import innovation

# Below this noise ratio lam - v has lost half its digits, for its relative error is 1e-16 / lam^2:
# the root of A is computed instead, with an error of 1e-15 / lam.
TINY_RATIO = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Points with known labels on which pseudo labels are judged, and the belief on them."""

    points: Points
    mu: Array  # (M, V)
    v: Array  # (M, V)
    y: Array  # (V,)
    lam: Array  # (M, V)  noise ratios of the labels


@dataclass(frozen=True, slots=True, eq=False)
class Picks:
    """The points x_k that the K acquisition functions would ask for."""

    points: Points
    mu: Array  # (M, K)
    v: Array  # (M, K)


def _pseudo(ens: Ensemble, picks: Picks) -> tuple[Array, Array, Array]:
    """Innovations e, their variances s and log weights w' (M, K) of the pseudo labels."""
    y = ens.w @ picks.mu  # [1, eq:pseudo_k, alg:2 line 7]
    e, s = innovation(y, picks.mu, picks.v, ens.noise[:, None])
    log_w = ens.log_w[:, None] + ens.temper * ens.scale.log_density(e, s)
    return e, s, _normalise(log_w)  # [1, eq:EGP_parameter_k, alg:2 line 8]


def _normalise(log_w: Array) -> Array:
    """Log weights normalised over the experts, the first axis."""
    top = log_w.max(axis=0)
    return np.asarray(log_w - (top + np.log(np.exp(log_w - top).sum(axis=0))))


def held_out_errors(ens: Ensemble, judged: Judged, picks: Picks) -> Array:
    """Mean squared errors (K,) on labels that were kept apart."""
    e, s, log_w = _pseudo(ens, picks)
    c = ens.experts.covariance(judged.points, picks.points)  # (M, V, K)
    w = np.exp(log_w)
    y_hat = judged.mu.T @ w + np.einsum("mvk,mk->vk", c, w * e / s)  # [1, eq:y_hat_v]
    # [1, eq:error_k, alg:2 line 9]
    return np.asarray(((judged.y[:, None] - y_hat) ** 2).mean(axis=0))


def left_out_errors(ens: Ensemble, judged: Judged, picks: Picks) -> Array:
    """Mean squared errors (K,) on the labels seen, each predicted without itself."""
    e, s, log_w = _pseudo(ens, picks)
    by = _by_root if judged.lam.min() < TINY_RATIO else _by_posterior
    a, A_ii, b = by(ens, judged, picks)  # (M, t), (M, t), (M, t, K)
    e, s = e[:, None, :], s[:, None, :]
    ratio = b / s
    a_k = a[:, :, None] - ratio * e  # (M, t, K)
    A_k = A_ii[:, :, None] + ratio * b
    error, spread = leave_one_out.innovations(a_k, A_k)
    _, added = leave_one_out.unlearnt(ens, ens.scale.having(e, s), error, spread)
    w = np.exp(_normalise(log_w[:, None, :] - added))
    return np.asarray((np.einsum("mtk,mtk->tk", w, error) ** 2).mean(axis=0))


def _by_posterior(ens: Ensemble, judged: Judged, picks: Picks) -> tuple[Array, Array, Array]:
    c = ens.experts.covariance(judged.points, picks.points)
    a, A_ii = leave_one_out.by_posterior(judged.y, judged.mu, judged.v, judged.lam)
    return a, A_ii, c / judged.lam[:, :, None]


def _by_root(ens: Ensemble, judged: Judged, picks: Picks) -> tuple[Array, Array, Array]:
    K = ens.experts.prior_covariance(judged.points, judged.points)
    k = ens.experts.prior_covariance(judged.points, picks.points)  # (M, t, K)
    parts = []
    for m, lam in enumerate(np.maximum(judged.lam, LEAST_RATIO)):
        R = leave_one_out.inverse_root(K[m] + np.diag(lam))
        parts.append((*leave_one_out.by_root(R, judged.y), R.T @ (R @ k[m])))
    a, A_ii, b = (np.stack(part) for part in zip(*parts, strict=True))
    return a, A_ii, b
