"""Algorithm 2 of the paper: weights of K acquisition functions, updated with each label.

Acquisition function k would ask for x_k, k = 1..K. Its pseudo label is the ensemble's own mean
there [1, eq:pseudo_k]. With c the posterior covariance of a validation point with x_k,

    e = y_k - mu(x_k)     s = v(x_k) + lam     mu'(x) = mu(x) + c e / s
    log w'_m = log w_m + log N(e_m; 0, sig2_m s_m),  normalised

give the ensemble after it in closed form [1, eq:EGP_parameter_k]: no copy of Sigma, all experts and
all k at once. The loss eps_k is the mean squared error on labels that were held out
[1, eq:error_k], or, ours, the leave-one-out error on the labels
(`extensions.leave_one_out.left_out_errors`). The weights follow

    omega_k <- omega_k exp(-eta eps_k), normalised                        [1, eq:AF_weight]

and the next point maximises the weighted sum of the scores [1, eq: EGPmultiacq], each first brought
to [0, 1] over the free candidates. The paper divides by the maximum, which turns the order around
where a score is negative, as the entropies are: we shift and scale by default.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from weal.core.arrays import Array
from weal.core.paper.ensemble import Ensemble, normalise
from weal.core.paper.fixed_magnitude import innovation
from weal.core.protocols import Points


def shift_and_scale(scores: Array, low: Array, high: Array) -> Array:
    """Scores (K, N) scaled to [0, 1] by their least and largest (K,); constant scores give 0."""
    low, span = low[:, None], (high - low)[:, None]
    return np.where(span > 0.0, (scores - low) / np.where(span > 0.0, span, 1.0), 0.0)


def divide_by_maximum(scores: Array, low: Array, high: Array) -> Array:
    """Scores (K, N) divided by their largest (K,) [1, set:maximum]."""
    return scores / np.where(high == 0.0, 1.0, high)[:, None]


SCALINGS: dict[str, Callable[[Array, Array, Array], Array]] = {
    "range": shift_and_scale,
    "maximum": divide_by_maximum,
}


def update_log_weights(log_omega: Array, errors: Array, eta: float) -> Array:
    """Log weights (K,) after losses (K,) [1, eq:AF_weight]."""
    return normalise(log_omega - eta * errors)


@dataclass(frozen=True, slots=True, eq=False)
class ValidationLabels:
    """Labelled points on which pseudo labels are evaluated, and the posterior there."""

    points: Points
    mu: Array  # (M, V)
    v: Array  # (M, V)
    y: Array  # (V,)
    lam: Array  # (M, V)  noise ratios of the labels


@dataclass(frozen=True, slots=True, eq=False)
class PseudoLabelPoints:
    """The points x_k with the best score of each of the K acquisition functions."""

    points: Points
    mu: Array  # (M, K)
    v: Array  # (M, K)
    lam: Array | None = None  # (M, K)  noise ratios of labels there; None: even noise


def pseudo_labels(ens: Ensemble, picks: PseudoLabelPoints) -> tuple[Array, Array, Array]:
    """Innovations e, their variances s and log weights w' (M, K) of the pseudo labels."""
    y = ens.w @ picks.mu  # [1, eq:pseudo_k, alg:2 line 7]
    lam = ens.noise[:, None] if picks.lam is None else picks.lam
    e, s = innovation(y, picks.mu, picks.v, lam)
    log_w = ens.log_w[:, None] + ens.temper * ens.scale.log_density(e, s)
    return e, s, normalise_over_experts(log_w)  # [1, eq:EGP_parameter_k, alg:2 line 8]


def normalise_over_experts(log_w: Array) -> Array:
    """Log weights normalised over the experts, the first axis."""
    top = log_w.max(axis=0)
    return np.asarray(log_w - (top + np.log(np.exp(log_w - top).sum(axis=0))))


def held_out_errors(ens: Ensemble, judged: ValidationLabels, picks: PseudoLabelPoints) -> Array:
    """Mean squared errors (K,) on validation labels after each of K pseudo labels."""
    e, s, log_w = pseudo_labels(ens, picks)
    c = ens.experts.covariance(judged.points, picks.points)  # (M, V, K)
    w = np.exp(log_w)
    y_hat = judged.mu.T @ w + np.einsum("mvk,mk->vk", c, w * e / s)  # [1, eq:y_hat_v]
    # [1, eq:error_k, alg:2 line 9]
    return np.asarray(((judged.y[:, None] - y_hat) ** 2).mean(axis=0))
