"""From parameters and first labels to the prior: dictionary, magnitudes, noises, embedding.

Everything here depends on the labels of the first fit only, and stays until the next one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from weal.checks import (
    check_bounds,
    check_dictionary,
    check_fixed,
    check_kind,
    check_n_frequencies,
    check_prior_weights,
)
from weal.core import evidence, features, kernels
from weal.core.arrays import Array
from weal.core.embedding import Embedding, Encoded, Exact, Spectral
from weal.core.ensemble import Ensemble
from weal.core.exact import ExactExperts
from weal.core.experts import Experts, FeatureExperts
from weal.core.kernels import Kernel

# Labels that the marginal likelihood looks at; more cost t^3 and change next to nothing.
EVIDENCE_LABELS = 500
LENGTH_BOUNDS = (1e-5, 1e5)  # of a fitted lengthscale, scikit-learn's default


@dataclass(frozen=True, slots=True)
class Setting:
    """The parameters of the estimator, checked; see there for what each means."""

    kernels: Sequence[Kernel] | None
    approximation: str
    n_frequencies: int
    orthogonal: bool
    magnitude: ArrayLike | None
    noise: ArrayLike | None
    fit_length_scale: bool
    magnitude_bounds: tuple[float, float]
    noise_bounds: tuple[float, float]
    prior_weights: ArrayLike | None

    def __post_init__(self) -> None:
        check_kind(self.approximation)
        check_n_frequencies(self.n_frequencies)
        check_bounds("magnitude_bounds", self.magnitude_bounds)
        check_bounds("noise_bounds", self.noise_bounds)


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """What the first fit settles."""

    dictionary: tuple[Kernel, ...]  # M; empty where the kernels are not ours to know
    magnitude: Array  # (M,)
    noise: Array  # (M,)
    embedding: Embedding
    ensemble: Ensemble  # before the first label


def check(setting: Setting, d: int) -> None:
    """Refuse parameters that do not fit one another, or d inputs; `settle` would refuse them."""
    M = len(_kernels(setting, d)) or _encoded_experts(setting, d)
    check_prior_weights(setting.prior_weights, M)
    check_fixed("magnitude", setting.magnitude, M)
    check_fixed("noise", setting.noise, M)


def settle(setting: Setting, X: Array, y: Array, extra: Array, seed: int) -> Prior:
    """The prior for labels y (t,) of scaled inputs X (t, d), with noise variances extra (t,)."""
    rows = _evidence_rows(len(y), seed)
    dictionary = _dictionary(setting, X[rows], y[rows])
    M = len(dictionary) or _encoded_experts(setting, X.shape[1])
    log_w = check_prior_weights(setting.prior_weights, M)
    magnitude = check_fixed("magnitude", setting.magnitude, M)
    noise = check_fixed("noise", setting.noise, M)
    embedding = _embedding(setting, dictionary, X.shape[1], M, seed)
    experts = prior_experts(setting, dictionary, X.shape[1], M)
    if magnitude is None or noise is None:
        K = _correlations(dictionary, embedding, experts, X[rows])
        bounds = (setting.magnitude_bounds, setting.noise_bounds)
        fitted = evidence.fit_hyperparameters(K, y[rows], extra[rows], *bounds, magnitude, noise)
        magnitude, noise = fitted.magnitude, fitted.noise
    ensemble = Ensemble(experts, log_w, magnitude, noise / magnitude)
    return Prior(dictionary, magnitude, noise, embedding, ensemble)


def prior_again(
    setting: Setting, dictionary: tuple[Kernel, ...], d: int, magnitude: Array, noise: Array
) -> Ensemble:
    """The ensemble before the first label, as `settle` made it."""
    M = len(magnitude)
    experts = prior_experts(setting, dictionary, d, M)
    return Ensemble(
        experts, check_prior_weights(setting.prior_weights, M), magnitude, noise / magnitude
    )


def _kernels(setting: Setting, d: int) -> tuple[Kernel, ...]:
    if setting.approximation == "encoded":
        return ()
    given = setting.kernels
    return kernels.default_dictionary(d) if given is None else check_dictionary(given, d)


def _dictionary(setting: Setting, X: Array, y: Array) -> tuple[Kernel, ...]:
    found = _kernels(setting, X.shape[1])
    if not setting.fit_length_scale:
        return found
    bounds = (setting.magnitude_bounds, setting.noise_bounds, LENGTH_BOUNDS)
    return tuple(evidence.fit_length_scale(kernel, X, y, *bounds) for kernel in found)


def _encoded_experts(setting: Setting, d: int) -> int:
    F = 2 * setting.n_frequencies
    if d % F:
        raise ValueError(
            f"encoded inputs have 2 x n_frequencies = {F} columns for each expert; "
            f"{d} columns are no multiple of that: give the encoder's n_frequencies"
        )
    return d // F


def _embedding(
    setting: Setting, dictionary: tuple[Kernel, ...], d: int, M: int, seed: int
) -> Embedding:
    if setting.approximation == "exact":
        return Exact()
    if setting.approximation == "encoded":
        return Encoded(M)
    D = setting.n_frequencies
    return Spectral(features.draw_frequencies(dictionary, d, D, seed, setting.orthogonal))


def prior_experts(setting: Setting, dictionary: tuple[Kernel, ...], d: int, M: int) -> Experts:
    """Experts that have seen no label."""
    if setting.approximation == "exact":
        return ExactExperts.prior(dictionary, d)
    return FeatureExperts.prior(M, 2 * setting.n_frequencies)


def _correlations(
    dictionary: tuple[Kernel, ...], embedding: Embedding, experts: Experts, X: Array
) -> Array:
    """Correlations (M, t, t): the kernels' own, or those of the features that came encoded."""
    if dictionary:
        return np.stack([kernels.correlation(kernel, X, X) for kernel in dictionary])
    points = embedding.points(experts, X)
    return experts.prior_covariance(points, points)


def _evidence_rows(t: int, seed: int) -> Any:
    if t <= EVIDENCE_LABELS:
        return slice(None)
    rng = np.random.default_rng([seed, t])
    return np.sort(rng.choice(t, EVIDENCE_LABELS, replace=False))
