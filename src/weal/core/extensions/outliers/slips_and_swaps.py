"""Slipped decimal points (a factor of 10, 100 or 1000), and pairs of swapped labels.

With the zero of the labels at o, the intended value of label y_i would have been

    v_k = o + (y_i - o) / 10^k        k = -3, -2, -1, 1, 2, 3

with the density 10^-k p(v_k | others), evenly over k. This prior is far more specific than the wide
one (`prior`): it finds a label in the middle of the others that is off by an sd, and it separates a
far label from the tail of skewed labels.

Where the others predict a value close to zero, division makes any label small enough, but a peak
above a plain of zeros is not a slip. So the others must contradict zero itself, and the density is

    10^-k (p(v_k | others) - e^MIN_NATS_AGAINST_ZERO p(o | others)),  or 0 if that is negative

Swaps: the gain in evidence from exchanging two labels.

With A = C^-1 over the included labels (`inclusion.InclusionState`), exchanging labels i and j, d =
y_j - y_i, changes their square under an expert in closed form,

    y'A y  +=  2 d ((A y)_i - (A y)_j) + d^2 (A_ii + A_jj - 2 A_ij)

and so its evidence, with the magnitude integrated out. The mean over experts, weighted by their
posterior, is how much more probable the two labels are exchanged than as told, given all others.
Excluded labels are included for the swap, at the price of their outlier prior (`OutlierPrior`).

A priori a label is exchanged with the same probability p as it is wrong, with every other label
equally: the log odds of a pair are the gain plus log(p / (1 - p)) - log(t - 1).
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from weal.core.arrays import Array, logsumexp
from weal.core.constants import (
    DECIMAL_SLIP_POWERS,
    MIN_NATS_AGAINST_ZERO,
    PRIOR_OUTLIER_PROBABILITY,
    PRIOR_SLIPPED,
)
from weal.core.extensions.conjugate_magnitude import LEAST_LEFT
from weal.core.extensions.outliers.inclusion import InclusionState, MixturePrediction

LOG_10, LOG_SLIPPED = float(np.log(10.0)), float(logit(PRIOR_SLIPPED))


def log_prior(expected: MixturePrediction, y: Array, label_zero: float) -> Array:  # (N,)
    """Log of the density of labels y (N,) with slipped decimal points, times its prior odds.

    `label_zero` is the zero of the labels; with nan no label counts as slipped.
    """
    if not np.isfinite(label_zero):
        return np.full(len(y), -np.inf)
    size, found = y - label_zero, []
    nothing = expected.log_density(-size) + MIN_NATS_AGAINST_ZERO
    for k in DECIMAL_SLIP_POWERS:
        log_p = expected.log_density(size * (10.0**-k - 1.0))
        with np.errstate(divide="ignore"):
            more = np.log(-np.expm1(np.minimum(nothing - log_p, 0.0)))
        found.append(log_p + more - k * LOG_10)
    return np.asarray(logsumexp(found, axis=0) + LOG_SLIPPED - np.log(len(DECIMAL_SLIP_POWERS)))


Pairs = NDArray[np.intp]  # (P, 2)


def gains(now: InclusionState, prior: Array, pairs: Pairs) -> Array:  # (P,)
    """Gain in log evidence, in nats, from swapping each of the pairs.

    `prior` (t,) is the log outlier prior of an excluded label.
    """
    found, whole = np.empty(len(pairs)), now.log_z()
    off = [tuple(one for one in pair if now.wrong[one]) for pair in pairs.tolist()]
    for excluded in dict.fromkeys(off):
        believed = now
        for i in excluded:
            believed = believed.toggle(i)
        mine = np.array([one == excluded for one in off])
        more = believed.log_z() - whole - float(prior[list(excluded)].sum()) if excluded else 0.0
        found[mine] = gains_of_included_pairs(believed, pairs[mine]) + more
    return found


def gains_of_included_pairs(now: InclusionState, pairs: Pairs) -> Array:  # (P,)
    """Gain in log evidence from swapping each of the pairs of included labels."""
    log_z, scale, Ay = now.weigh()
    i, j = pairs.T
    d = now.y[j] - now.y[i]
    A_ii = np.einsum("mtt->mt", now.A)
    more = 2.0 * d * (Ay[:, i] - Ay[:, j]) + d**2 * (A_ii[:, i] + A_ii[:, j] - 2.0 * now.A[:, i, j])
    b = scale.b[:, None]
    log_ratio = np.log(np.maximum(1.0 + 0.5 * more / b, LEAST_LEFT))
    return np.asarray(
        logsumexp(log_z[:, None] - scale.a[:, None] * log_ratio, axis=0) - logsumexp(log_z)
    )


def log_odds(now: InclusionState, sure: Array) -> Array:  # (t,)
    """Log odds of each label being swapped with the most probable other label.

    Only labels that are included and not sure (t,) take part; the others have -inf.
    """
    t, free = len(now.y), np.flatnonzero(~now.wrong & (sure == 0.0))
    found = np.full(t, -np.inf)
    if len(free) < 2:
        return found
    i, j = (free[n] for n in np.triu_indices(len(free), 1))
    gain = gains_of_included_pairs(now, np.column_stack([i, j]))
    np.maximum.at(found, i, gain)
    np.maximum.at(found, j, gain)
    return np.asarray(
        found
        + np.log(PRIOR_OUTLIER_PROBABILITY / (1.0 - PRIOR_OUTLIER_PROBABILITY))
        - np.log(t - 1.0)
    )
