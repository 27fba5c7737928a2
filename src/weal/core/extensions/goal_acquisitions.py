"""Acquisition functions of goals: find the highest or lowest rows, or those beyond a level.

    best(k)        log p_i(tau_k), the probability of being among the k highest rows; of a large
                   pool, of the rows that may be (`level_probability`). lowest(k): the same of -f
    ei             log E(f - y*)+, y* the highest label; ei-min the same of -f
                   [1] Jones, Schonlau, Welch: Efficient global optimization, 1998
    ucb(b)         mean + b sd of the mixture; lcb(b) is -mean + b sd, for the lowest rows
    straddle(h)    1.96 sd - |mean - h|, for a level h in the user's units: rows that may lie on
                   either side of h. straddle(low, high) takes the nearer of two levels.
                   [2] Bryan et al.: Active learning for identifying function threshold boundaries,
                   2005

For ei, each expert has its own expectation, of a normal or of a Student-t with nu degrees of
freedom; with z = (mu - y*) / scale, T and t its cdf and density,

    E(f - y*)+ = scale [ (nu + z^2) / (nu - 1) t(z) + z T(z) ]

A level in the user's units goes through the scaling and the warp of the labels (`Belief.scaled`).
The cost of a label is subtracted from logs as a log; an amount is divided by it where it is
positive, and multiplied where it is not, so that of equal rows the cheaper one comes first.
"""

import numpy as np
from scipy.special import gammaln

from weal.core.arrays import Array
from weal.core.extensions.level_probability import likely_best_level, log_lower_tail, negated
from weal.core.paper.acquisition import (
    Acquisition,
    Belief,
    gpm_var,
    non_negligible,
    score_traits,
)

FAR = 1e3  # standardised: beyond it the expected improvement of a normal is phi(z) / z^2
LEAST_DIFFERENCE = 1e-15  # of the logs of two terms of an improvement, below which it is rounding
LEAST_FREEDOM = 2.0  # with fewer degrees of freedom a Student-t has no expected improvement


def best(k: float = 10.0) -> Acquisition:
    """The log probability of being among the k highest rows."""
    count = _check_rows(k)

    @score_traits(log_amount=True)
    def score(belief: Belief) -> Array:
        return likely_best_level(belief, count).log_p

    return score


def lowest(k: float = 10.0) -> Acquisition:
    """The log probability of being among the k lowest rows."""
    count = _check_rows(k)

    @score_traits(log_amount=True)
    def score(belief: Belief) -> Array:
        return likely_best_level(negated(belief), count).log_p

    return score


@score_traits(pointwise=True, log_amount=True)
def ei(belief: Belief) -> Array:
    """The log of the expected improvement on the highest label."""
    return log_expected_improvement(belief, float(belief.y_labelled.max(initial=-np.inf)))


@score_traits(pointwise=True, log_amount=True)
def ei_min(belief: Belief) -> Array:
    """The log of the expected improvement on the lowest label."""
    return log_expected_improvement(
        negated(belief), float((-belief.y_labelled).max(initial=-np.inf))
    )


def ucb(b: float = 2.0) -> Acquisition:
    """The upper confidence bound, mean + b sd of the mixture."""

    @score_traits(pointwise=True)
    def score(belief: Belief) -> Array:
        return belief.mean + b * np.sqrt(gpm_var(belief))

    return score


def lcb(b: float = 2.0) -> Acquisition:
    """The negated lower confidence bound, -mean + b sd of the mixture."""

    @score_traits(pointwise=True)
    def score(belief: Belief) -> Array:
        return b * np.sqrt(gpm_var(belief)) - belief.mean

    return score


def straddle(h: float, high: float | None = None) -> Acquisition:
    """1.96 sd - |mean - h| for a level h, or for the nearer of two, in the user's units."""

    @score_traits(pointwise=True, amount=True)
    def score(belief: Belief) -> Array:
        distance = np.abs(belief.mean - belief.scaled(h))
        if high is not None:
            distance = np.minimum(distance, np.abs(belief.mean - belief.scaled(high)))
        return 1.96 * np.sqrt(gpm_var(belief)) - distance

    return score


def log_expected_improvement(belief: Belief, y: float) -> Array:  # (N,)
    """log sum_m w_m E_m(f_i - y)+, for a label y in the units of `belief.mu`."""
    if not np.isfinite(y):  # without a label
        return np.zeros(belief.mu.shape[1])
    w, mu, var = non_negligible(belief)
    nu = np.inf if belief.dof is None else max(LEAST_FREEDOM, float(belief.dof.min()))
    scale = np.sqrt(var if nu == np.inf else var * max(nu - 2.0, 1.0) / nu)
    with np.errstate(over="ignore"):
        z = np.clip((mu - y) / scale, -1e140, 1e140)
    each = np.log(scale) + _log_standard_improvement(z, nu)  # (H, N)
    top = each.max(axis=0)
    return np.asarray(top + np.log((w / w.sum()) @ np.exp(each - top)))


def _log_standard_improvement(z: Array, nu: float) -> Array:
    """log E(T + z)+ of a Student-t of nu degrees of freedom, elementwise."""
    a = np.abs(z)
    if nu == np.inf:
        log_p = -0.5 * (np.log(2.0 * np.pi) + a * a)
    else:
        log_p = gammaln(0.5 * (nu + 1.0)) - gammaln(0.5 * nu) - 0.5 * np.log(nu * np.pi)
        log_p = log_p - 0.5 * (nu + 1.0) * np.log1p(a * a / nu)
        log_p += np.log((nu + a * a) / (nu - 1.0))
    with np.errstate(divide="ignore"):
        share = np.log(a) + log_lower_tail(a, nu) - log_p
    below = log_p + np.log1p(-np.exp(np.minimum(share, -LEAST_DIFFERENCE)))
    if nu == np.inf:  # the difference is 1 / z^2, and lost to rounding
        below = np.where(a > FAR, log_p - 2.0 * np.log(np.maximum(a, 1.0)), below)
    above = np.log(a + np.exp(below))  # E(T + z)+ = z + E(T - z)+
    return np.asarray(np.where(z <= 0.0, below, above))


def _check_rows(k: float) -> int:
    if not (k >= 1 and k == int(k)):
        raise ValueError(f"k is {k:g}; it is a number of rows, 1 or more, as in best(10)")
    return int(k)
