"""Weights of M experts by Bayes' rule, and the mixture of their predictions.

The state after t labels is Xi = {w, theta, Sigma} of [1, eq:xi_t]. A label (x*, y) multiplies the
weight of each expert by the density that the expert gave to y [1, eq:w_update],

    log w_m += log N(y; mu_m(x*), sig2_m s_m),      s_m = v_m(x*) + lam_m

(a Student-t where sig2 is integrated out: `fixed_magnitude`; the update by a label is in
`fixed_magnitude`) and conditions the expert on it (`feature_gp`). So w_m is the probability of
expert m given the labels: prior times exact model evidence, whatever the order of the labels. All
in logs: a weight may fall to exp(-1e300) and come back. `temper` < 1 raises each density to that
power, which slows the weights down and keeps their independence of order; 1 is Bayes' rule.

The function is believed to be the mixture [1, eq:RF_func_post]

    f(x) ~ sum_m w_m N(mu_m, sig2_m v_m)      mean = sum_m w_m mu_m
                                              var  = sum_m w_m (sig2_m v_m + (mu_m - mean)^2)

and a label adds noise sig2_m lam_m to each component.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from weal.core.arrays import Array, Index
from weal.core.paper.fixed_magnitude import innovation
from weal.core.protocols import (
    Experts,
    ExpertsOfKind,
    Magnitude,
    NoiseVariances,
    Points,
    StepOfKind,
)

QUANTILE_RTOL = 1e-12  # a step, relative to the label and to the bounds, after which none follows
BISECTIONS = 60  # of the interval between the components' quantiles


@dataclass(frozen=True, slots=True, eq=False)
class Ensemble:
    """Belief of M experts after the labels seen so far [1, eq:xi_t]."""

    experts: Experts
    log_w: Array  # (M,)  log weights, normalised
    scale: Magnitude  # what is known of sig2, in squared scaled-label units
    noise: Array  # (M,)  lam, noise variance / magnitude
    temper: float = 1.0  # power of the densities that the weights are multiplied by
    field: NoiseVariances | None = None  # varying noise of labels; None: noise is even
    varies: Array | None = None  # (M,)  1 for experts whose labels have that noise, else 0

    @property
    def w(self) -> Array:  # (M,)
        """Weights of the experts; they sum to 1."""
        return np.exp(self.log_w)

    @property
    def magnitude(self) -> Array:  # (M,)
        """Expected sig2 of each expert."""
        return self.scale.variance

    def ratios(self, noise_var: Array) -> Array:  # (N,) or (M, N) -> (M, N)
        """Noise ratios (M, N) of labels with known noise variances, for all experts or for each."""
        return self.noise[:, None] + noise_var / self.scale.unit[:, None]

    def known_noise(self, X: Array, noise_var: Array) -> Array:  # (N, d), (N,) -> (N,) or (M, N)
        """Noise variances of labels at X that state noise_var: those of the field are added."""
        if self.field is None or self.varies is None:
            return noise_var
        return noise_var + self.varies[:, None] * self.field.variances(X)

    def noise_of_labels(self, X: Array) -> Array:
        """Noise ratios (M, N) of labels told at X (N, d), besides the noise that they state."""
        return self.ratios(self.known_noise(X, np.zeros(len(X))))

    def noise_at(self, X: Array, varying: Array | None = None) -> Array:
        """Noise ratios (M, N) of new labels at X (N, d); (M, 1) if noise is even.

        `varying` (N,) are the variances of the field there, where they are computed already.
        """
        if self.field is None or self.varies is None:
            return self.noise[:, None]
        more = self.field.expected_variances(X) if varying is None else varying
        return self.ratios(self.varies[:, None] * more)

    def take(self, which: Index) -> "Ensemble":
        """Some of the experts, with the weights that they have among all."""
        experts: ExpertsOfKind = self.experts
        return replace(self.take_prior(which), experts=experts.take(which))

    def take_prior(self, which: Index) -> "Ensemble":
        """Weights, magnitudes and noise of some of the experts; the experts themselves stay all."""
        varies = None if self.varies is None else self.varies[which]
        log_w, noise = self.log_w[which], self.noise[which]
        return replace(self, log_w=log_w, scale=self.scale.take(which), noise=noise, varies=varies)


def normalise(log_w: Array) -> Array:
    """Log weights (M,) shifted so that the weights sum to 1."""
    shifted: Array = log_w - log_w.max()
    normalised: Array = shifted - np.log(np.exp(shifted).sum())
    return normalised


def step(ens: Ensemble, point: Points, y: float, noise_var: float | Array = 0.0) -> StepOfKind:
    """The update of the experts by the label y of one point, with known noise variance.

    The variance is one for all experts, or (M, 1), one for each.
    """
    return ens.experts.step(point, y, ens.ratios(np.atleast_1d(noise_var))[:, 0])


def advance(ens: Ensemble, told: StepOfKind) -> Ensemble:
    """The ensemble after a step [1, eq:posterior_update_1]."""
    return _after(ens, ens.experts.condition(told), told.e[:, None], told.s[:, None])


def update(ens: Ensemble, point: Points, y: float, noise_var: float = 0.0) -> Ensemble:
    """The ensemble after the label y of one point."""
    return advance(ens, step(ens, point, y, noise_var))


def update_many(ens: Ensemble, points: Points, y: Array, noise_var: Array) -> Ensemble:
    """The ensemble after the labels y (N,) of the points, with known noise variances.

    Variances are (N,), or (M, N), those of each expert.
    """
    # [1, alg:1 line 3, alg:2 line 4]
    return _after(ens, *ens.experts.absorb(points, y, ens.ratios(noise_var)))


def _after(ens: Ensemble, experts: Experts, e: Array, s: Array) -> Ensemble:
    """The ensemble with these experts, after innovations e (M, N) of variances s."""
    log_p, scale = ens.scale.after(e, s)
    log_w = normalise(ens.log_w + ens.temper * log_p)  # [1, eq:w_update]
    return replace(ens, experts=experts, log_w=log_w, scale=scale)


def predict(ens: Ensemble, points: Points) -> tuple[Array, Array]:
    """Means and variances (M, N) of f under each expert, in scaled-label units."""
    mu, v = ens.experts.predict(points)
    return mu, ens.magnitude[:, None] * v  # [1, eq:RF_func_post]


def mixture(w: Array, mu: Array, var: Array) -> tuple[Array, Array]:
    """Mean and variance (N,) of the mixture of N(mu, var) (M, N)."""
    mean = w @ mu  # [1, eq:QBC_mean]
    return mean, w @ (var + (mu - mean) ** 2)  # [1, eq:var-GPM]


def _innovation_of_new(
    ens: Ensemble, mu: Array, var: Array, y: Array, lam: Array | None
) -> tuple[Array, Array]:
    """Innovations e and variances s (M, N) of new labels y (N,), from means and variances of f.

    `lam` are the noise ratios (M, N) of these labels (`Ensemble.noise_at`); None: even noise.
    """
    v = var / ens.magnitude[:, None]
    return innovation(y, mu, v, ens.noise[:, None] if lam is None else lam)


def label_spread(ens: Ensemble, var: Array, lam: Array | None = None) -> Array:
    """Variances s (M, N) of a new label, from the variances (M, N) of f."""
    return _innovation_of_new(ens, np.zeros_like(var), var, np.zeros(var.shape[1]), lam)[1]


def log_density(ens: Ensemble, mu: Array, var: Array, y: Array, lam: Array | None = None) -> Array:
    """Log predictive density (N,) of labels y (N,), from means and variances (M, N) of f.

    `lam` are their noise ratios (M, N), where noise varies (`Ensemble.noise_at`).
    """
    log_p = ens.scale.log_predictive(*_innovation_of_new(ens, mu, var, y, lam))
    parts = ens.log_w[:, None] + log_p  # (M, N) [1, eq:EGP_post]
    largest = parts.max(axis=0)
    return np.asarray(largest + np.log(np.exp(parts - largest).sum(axis=0)))


def quantile(ens: Ensemble, mu: Array, var: Array, level: float, lam: Array | None = None) -> Array:
    """Quantiles (N,) of a label at this level, from means and variances (M, N) of f."""
    return solve_quantile(
        lambda y: cdf(ens, mu, var, y, lam),
        lambda y: log_density(ens, mu, var, y, lam),
        mu + ens.scale.quantile(level, label_spread(ens, var, lam)),
        level,
    )


def solve_quantile(
    cdf: Callable[[Array], Array],
    log_density: Callable[[Array], Array],
    ends: Array,
    level: float | Array,
) -> Array:
    """Solve cdf(y) = level for y (N,), between the quantiles `ends` (M, N) of the components.

    `level` is one for all, or one for each (N,).

    Newton's steps where they stay within the bounds, and bisection every third time: some 8 steps
    instead of 60, in nearly all the time that intervals take.
    """
    # The mixture's quantile lies between its components'.
    low, high = ends.min(axis=0), ends.max(axis=0)
    y, reach, found = 0.5 * (low + high), high - low, np.zeros(ends.shape[1], dtype=bool)
    for turn in range(3 * BISECTIONS):
        above = cdf(y) - level
        low, high = np.where(above < 0.0, y, low), np.where(above < 0.0, high, y)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # halved instead
            newton = y - above / np.exp(log_density(y))
        middle, inside = 0.5 * (low + high), (newton > low) & (newton < high)
        found |= (np.abs(newton - y) <= QUANTILE_RTOL * (np.abs(y) + reach)) | (low >= high)
        if found.all():
            break
        y = np.where(found, y, np.where(inside & (turn % 3 < 2), newton, middle))
    return np.asarray(y)


def cdf(ens: Ensemble, mu: Array, var: Array, y: Array, lam: Array | None = None) -> Array:
    """Probability (N,) of labels below y (N,), from means and variances (M, N) of f."""
    return ens.w @ ens.scale.cdf(*_innovation_of_new(ens, mu, var, y, lam))
