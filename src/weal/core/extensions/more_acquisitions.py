"""Acquisition functions beyond the paper's five (`paper.acquisition`).

    ivr       sum_m w_m r_m, with r_m(x) the fall of the variance of expert m, averaged over the
              reference points, that a label would bring: sig2 q / (v + lam), q the mean squared
              covariance of x with them. [2] Cohn: Neural network exploration using optimal
              experiment design, 1996; Seo et al.: Gaussian process regression: active data
              selection and test point rejection, 2000.
    bald      information of the label about f and about which expert is right: entropy of y minus
              the noise entropy of the experts
                  = sum_m w_m [ 1/2 log((var_m + noise_m) / noise_m) + KL(p_m || sum_m' w_m' p_m') ]
              [3] Houlsby et al.: Bayesian active learning, 2011. The divergences by
              Gauss-Hermite quadrature, each held to [0, -log w_m], where it must lie; right to
              1e-3 nats while sds are within a factor of 3, to 0.3 beyond.
    mvr       the expected fall of the variance of the mixture over the targets, the change of the
              weights with the label included: MV of `variance_reduction`. For one expert it is ivr.
    mvr-var   sqrt(MV gpm-var): the reduction over the whole pool, where the mixture is uncertain.
    mvr-var-igs  sqrt(MV gpm-var igs), the default: also far from measured points, which helps
              where the model is misspecified.
    mvr-var-misfit  sqrt(MV gpm-var) igs^p: p rises from 0 to 1/2 with the share of the variance
              that the model leaves unexplained, once there are enough labels.
    igs       min_i |x - x_i| |mean(x) - y_i| over the labels i: far in input and in output.
              [4] Wu, Lin, Huang: Active learning for regression using greedy sampling, 2019.

Those of goals (best, ei, ucb, straddle) are in `goal_acquisitions`. A user's own function takes the
same `Belief` and returns one score for each candidate.
"""

import numpy as np

from weal.core.arrays import Array
from weal.core.constants import MISFIT_LABELS, MISFIT_SHARES
from weal.core.distances import squared_distances
from weal.core.extensions.variance_reduction import expected_variance_reduction
from weal.core.paper.acquisition import (
    HERMITE_NODES,
    HERMITE_WEIGHTS,
    MAX_STANDARDISED_DISTANCE,
    NEGLIGIBLE_WEIGHT,
    VAR_FLOOR,
    Belief,
    gpm_var,
    non_negligible,
    score_traits,
)

IGS_BLOCK_DISTANCES = 1 << 16  # of `igs`, at a time: they stay in the processor's cache


@score_traits(pointwise=True, amount=True, needs_reduction=True)
def ivr(belief: Belief) -> Array:
    """Expected fall of the variance over the reference points."""
    if belief.reduction is None:
        raise ValueError(
            "ivr needs a belief with `reduction`; mark a function with needs_reduction"
        )
    return belief.w @ belief.reduction


@score_traits(pointwise=True, amount=True, needs_targets=True)
def mvr(belief: Belief) -> Array:
    """Expected fall of the variance of the mixture over the targets."""
    if belief.target_belief is None:
        raise ValueError("mvr needs a target_belief; mark a function with needs_targets")
    which = belief.target_belief.which
    w = belief.w[which]
    s = np.maximum(belief.var[which] + belief.label_noise[which], VAR_FLOOR)
    return expected_variance_reduction(w / w.sum(), belief.mu[which], s, belief.target_belief)


@score_traits(pointwise=True, amount=True, needs_targets=True)
def mvr_var(belief: Belief) -> Array:
    """Geometric mean of `mvr` and `gpm-var`."""
    return np.sqrt(mvr(belief)) * np.sqrt(gpm_var(belief))


@score_traits(pointwise=True, amount=True, needs_targets=True)
def mvr_var_igs(belief: Belief) -> Array:
    """`mvr-var` times the root of `igs`: the default."""
    return mvr_var(belief) * np.sqrt(igs(belief))


@score_traits(pointwise=True, amount=True, needs_targets=True)
def mvr_var_misfit(belief: Belief) -> Array:
    """`mvr-var` times a power of `igs`, once enough labels show that the model does not fit."""
    power = misfit_power(unexplained_share(belief), len(belief.y_labelled))
    return mvr_var(belief) * igs(belief) ** power if power > 0.0 else mvr_var(belief)


def unexplained_share(belief: Belief) -> float:
    """Expected share of the variance over the targets that the mean of the mixture leaves.

    U / (U + V), with U the mean over the targets of the variance of the mixture and V the variance
    of its mean: near 0 where the model expects to predict well, near 1 where it knows nothing.
    """
    target = belief.target_belief
    if target is None or target.var is None:
        raise ValueError("this score needs variances at targets; mark it with needs_targets")
    w = belief.w[target.which] / belief.w[target.which].sum()
    mean = w @ target.mu  # (R,)
    left = float(np.mean(w @ (target.var + (target.mu - mean) ** 2)))
    return left / max(left + float(np.var(mean)), VAR_FLOOR)


def misfit_power(share: float, t: int) -> float:
    """Power of `igs` for an unexplained share after t labels: from 0 to 1/2."""
    (fits, does_not), (few, enough) = MISFIT_SHARES, MISFIT_LABELS
    left = np.clip((share - fits) / (does_not - fits), 0.0, 1.0)
    told = np.clip((t - few) / (enough - few), 0.0, 1.0)
    return 0.5 * float(left * told)


@score_traits(pointwise=True)
def bald(belief: Belief) -> Array:
    """Information of the label about f and about the experts; never negative."""
    w, mu, var = non_negligible(belief)
    noise = np.maximum(belief.label_noise[belief.w >= NEGLIGIBLE_WEIGHT], VAR_FLOOR)
    about_f = 0.5 * np.log1p(var / noise)  # (M, N)
    return w @ (about_f + _divergences(w, mu, np.sqrt(var + noise)))


@score_traits(pointwise=True)
def igs(belief: Belief) -> Array:
    """Distance to the nearest label in input times output."""
    if not len(belief.y_labelled):
        return np.full(belief.mu.shape[1], 1.0)
    N, y, mean = belief.mu.shape[1], belief.y_labelled, belief.mean
    size = max(1, IGS_BLOCK_DISTANCES // len(y))
    scores = np.empty(N)
    for rows in (slice(start, start + size) for start in range(0, N, size)):
        dx = np.sqrt(squared_distances(belief.X[rows], belief.X_labelled))  # (n, t)
        dy = mean[rows, None] - y
        scores[rows] = np.abs(np.multiply(dx, dy, out=dy), out=dy).min(axis=1)
    return scores


def _divergences(w: Array, mu: Array, sd: Array) -> Array:
    """KL(p_m || sum_m' w_m' p_m') (M, N) of normal components, by quadrature."""
    out = np.empty_like(mu)
    for m in range(len(w)):
        wider = (sd[m] / sd)[:, None, :]  # (M, 1, N)
        # The nodes mu_m + sd_m x, standardised by each expert; mu_m - mu first, since mu_m may be
        # large.
        gap = ((mu[m] - mu) / sd)[:, None, :] + wider * HERMITE_NODES[:, None]  # (M, Q, N)
        gap = np.minimum(np.abs(gap), MAX_STANDARDISED_DISTANCE)
        ratio = wider * np.exp(0.5 * (HERMITE_NODES[:, None] ** 2 - gap * gap))
        out[m] = -(HERMITE_WEIGHTS @ np.log(np.tensordot(w, ratio, axes=1)))
    return np.clip(out, 0.0, -np.log(w)[:, None])
