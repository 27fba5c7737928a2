"""Unequal experts and read-only data: nothing here is 1, square or alike."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from reference.decimals import exact
from reference.gaussian import gp_joint_posterior
from reference.kernels import matrix
from weal.core.paper.ensemble import Ensemble, normalise
from weal.core.paper.exact_gp import ExactExperts
from weal.core.paper.feature_gp import FeatureExperts
from weal.core.paper.fixed_magnitude import FixedMagnitude
from weal.core.paper.kernels import Kernel
from weal.core.paper.random_features import draw_frequencies, features

D = 9  # frequencies, so that F = 18 lies between few and many labels


def frozen(A):
    """The array, which from now on fails whoever writes into it."""
    A = np.array(A, dtype=np.float64)
    A.flags.writeable = False
    return A


def kernels(d):
    """Four kernels of different family and lengthscale, one with a lengthscale for each input."""
    return (
        Kernel("rbf", 0.7 * d**0.5),
        Kernel("matern32", tuple(0.5 + 0.4 * i for i in range(d))),
        Kernel("rq", 1.9, alpha=0.6),
        Kernel("matern52", 4.0),
    )


MAGNITUDE = frozen([0.3, 2.0, 11.0, 0.9])
PRIOR = frozen([0.1, 0.55, 0.3, 0.05])


@dataclass(frozen=True)
class Kind:
    """A kind of expert: how to begin, how to show it points, what correlations it stands for."""

    name: str
    prior: Any  # () -> experts
    embed: Any  # (experts, X) -> points in the form that the experts work on
    correlations: Any  # (m, X, Z) -> correlations under expert m

    def truth(self, m, X, y, lam, Z):
        """Posterior mean (N,) and covariance (N, N) of f at Z under expert m, in one batch."""
        return gp_joint_posterior(
            *(self.correlations(m, *XZ) for XZ in ((X, X), (X, Z), (Z, Z))), y, lam
        )

    def ensemble(self, noise, magnitude=MAGNITUDE, prior=PRIOR):
        """An ensemble of these experts that has seen no label."""
        with np.errstate(divide="ignore"):
            log_w = normalise(np.log(prior))
        return Ensemble(self.prior(), frozen(log_w), FixedMagnitude(magnitude), frozen(noise))


def kind(name, d, seed=5):
    """The kind of expert of that name on d inputs, with the four kernels above."""
    return of_kernels(name, kernels(d), d, seed)


def of_kernels(name, chosen, d, seed=5, n_frequencies=D):
    """The kind of expert of that name with the given kernels."""
    if name == "exact":
        return Kind(
            name,
            lambda: ExactExperts.prior(chosen, d),
            lambda experts, X: experts.solved_points(X),
            lambda m, X, Z: matrix(chosen[m], X, Z),
        )
    zeta = frozen(draw_frequencies(chosen, d, n_frequencies, seed))
    return Kind(
        name,
        lambda: FeatureExperts.prior(len(chosen), 2 * n_frequencies),
        lambda experts, X: frozen(features(X, zeta)),
        lambda m, X, Z: exact(features(X, zeta)[m]) @ exact(features(Z, zeta)[m]).T,
    )


@dataclass(frozen=True)
class Campaign:
    """Labels y of points X, points Z to look at, and noise ratios lam of the experts."""

    d: int
    X: Any  # (t, d)
    y: Any  # (t,)
    Z: Any  # (N, d)
    lam: Any  # (M,)
    noise_var: Any  # (t,) noise variances of the labels' own
    seed: int


def campaign(seed, d=3, t=12, ratio=1e-2, layout="scattered", scale=1.0):
    """Labels of a function with noise, on points laid out in one of LAYOUTS."""
    rng = np.random.default_rng([seed, d, t])
    X = rng.standard_normal((t, d))
    if layout == "repeated":
        X = X[rng.integers(0, (t + 3) // 4, t)]
    if layout == "crowded":
        X = X[0] + 1e-3 * X
    y = scale * (np.sin(2.0 * X.sum(axis=1)) + 1.5 + 0.3 * rng.standard_normal(t))
    Z = np.concatenate([rng.standard_normal((3, d)), X[: min(t, 2)]])
    lam = ratio * np.array([1.0, 30.0, 1.7, 6.0])
    noise_var = scale**2 * rng.exponential(0.2, t) * (rng.random(t) < 0.6)
    return Campaign(d, *map(frozen, (X, y, Z, lam, noise_var)), seed)


LAYOUTS = ("scattered", "repeated", "crowded")


def campaigns(least=-4.0, most_labels=20):
    """Campaigns with noise ratios from 10^least on."""
    return st.builds(
        campaign,
        seed=st.integers(0, 10**6),
        d=st.integers(3, 5),
        t=st.integers(1, most_labels),
        ratio=st.floats(least, 0.0).map(lambda power: 10.0**power),
        layout=st.sampled_from(LAYOUTS),
        scale=st.sampled_from([1e-6, 1.0, 1e6]),
    )
