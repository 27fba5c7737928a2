"""Weights over M experts by Bayes' rule, and the mixture of their beliefs.

The state after t labels is Xi = {w, theta, Sigma} of [1, eq:xi_t]. A label (x*, y) multiplies the
weight of each expert by the density that the expert gave to y [1, eq:w_update],

    log w_m += log N(y; mu_m(x*), sig2_m s_m),      s_m = v_m(x*) + lam_m

and conditions the expert on it (`experts`). So w_m is the probability of expert m given the
labels: prior times exact model evidence, whatever the order of the labels. All in logs: a weight
may fall to exp(-1e300) and come back.

The function is believed to be the mixture [1, eq:RF_func_post]

    f(x) ~ sum_m w_m N(mu_m, sig2_m v_m)      mean = sum_m w_m mu_m
                                              var  = sum_m w_m (sig2_m v_m + (mu_m - mean)^2)

and a label adds noise sig2_m lam_m to each component.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from weal.core.arrays import Array
from weal.core.experts import Experts, Points

# Standardised surprises beyond this would overflow when squared; every expert is as wrong there.
Z_MAX = 1e150
LOG_2_PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, slots=True, eq=False)
class Ensemble:
    """Belief of M experts after the labels seen so far."""

    experts: Experts
    log_w: Array  # (M,)  log weights, normalised
    magnitude: Array  # (M,)  sig2, in squared scaled-label units
    noise: Array  # (M,)  lam, noise variance / magnitude

    @property
    def w(self) -> Array:  # (M,)
        """Weights of the experts; they sum to 1."""
        return np.exp(self.log_w)


def normalise(log_w: Array) -> Array:
    """Log weights (M,) shifted so that the weights sum to 1."""
    shifted: Array = log_w - log_w.max()
    normalised: Array = shifted - np.log(np.exp(shifted).sum())
    return normalised


def log_normal(e: Array, var: Array) -> Array:
    """Log density of N(0, var) at e, elementwise; finite for every finite e and var > 0."""
    with np.errstate(over="ignore"):  # to inf, and then to Z_MAX
        z = np.clip(e / np.sqrt(var), -Z_MAX, Z_MAX)
    return -0.5 * (LOG_2_PI + np.log(var) + z * z)


def step(ens: Ensemble, point: Points, y: float, extra: float = 0.0) -> Any:
    """What the label y of one point tells; `extra` is noise variance of this label alone."""
    return ens.experts.step(point, y, ens.noise + extra / ens.magnitude)


def advance(ens: Ensemble, told: Any) -> Ensemble:
    """The ensemble after a step [1, eq:w_update, eq:posterior_update_1]."""
    log_w = normalise(ens.log_w + log_normal(told.e, ens.magnitude * told.s))
    return Ensemble(ens.experts.condition(told), log_w, ens.magnitude, ens.noise)


def update(ens: Ensemble, point: Points, y: float, extra: float = 0.0) -> Ensemble:
    """The ensemble after the label y of one point."""
    return advance(ens, step(ens, point, y, extra))


def fold(ens: Ensemble, points: Points, y: Array, extra: Array) -> Ensemble:
    """The ensemble after the labels y (N,) of the points, with extra noise variances (N,)."""
    lam = ens.noise[:, None] + extra / ens.magnitude[:, None]  # (M, N)
    experts, e, s = ens.experts.absorb(points, y, lam)
    log_p = log_normal(e, ens.magnitude[:, None] * s).sum(axis=1)
    return Ensemble(experts, normalise(ens.log_w + log_p), ens.magnitude, ens.noise)


def predict(ens: Ensemble, points: Points) -> tuple[Array, Array]:
    """Means and variances (M, N) of f under each expert, in scaled-label units."""
    mu, v = ens.experts.predict(points)
    return mu, ens.magnitude[:, None] * v


def mixture(w: Array, mu: Array, var: Array) -> tuple[Array, Array]:
    """Mean and variance (N,) of the mixture of N(mu, var) (M, N) [1, eq:QBC_mean, eq:var-GPM]."""
    mean = w @ mu
    return mean, w @ (var + (mu - mean) ** 2)


def log_density(ens: Ensemble, mu: Array, var: Array, y: Array) -> Array:
    """Log predictive density (N,) of labels y (N,), given `predict`'s means and variances."""
    noise = (ens.magnitude * ens.noise)[:, None]
    parts = ens.log_w[:, None] + log_normal(y - mu, var + noise)  # (M, N)
    largest = parts.max(axis=0)
    return np.asarray(largest + np.log(np.exp(parts - largest).sum(axis=0)))
