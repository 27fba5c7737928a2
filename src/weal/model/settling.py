"""From parameters and first labels to the prior: dictionary, magnitudes, noises, embedding.

With given kernels everything here depends on the labels of the first fit only, and stays. Without,
the experts themselves follow the labels, and are settled anew now and then
(`core.extensions.model_selection`).
"""

from dataclasses import dataclass

import numpy as np

from weal.core.arrays import Array
from weal.core.extensions.conjugate_magnitude import Conjugate
from weal.core.extensions.embeddings import Encoded, Exact, Spectral
from weal.core.extensions.inducing_gp import Inducing, InducingExperts
from weal.core.extensions.label_warp import Bend
from weal.core.extensions.outliers.prior import NO_DOUBT, Doubt
from weal.core.paper import kernels, marginal_likelihood, random_features
from weal.core.paper.ensemble import Ensemble
from weal.core.paper.exact_gp import ExactExperts
from weal.core.paper.feature_gp import FeatureExperts
from weal.core.paper.fixed_magnitude import Fixed
from weal.core.paper.kernels import Kernel
from weal.core.protocols import Embedding, Experts
from weal.model import approximation
from weal.model.checks import (
    check_fixed,
    check_prior_weights,
)
from weal.model.picking import Settled, bend_of, evidence_rows, pick
from weal.model.setting import Setting, encoded_experts, given_magnitudes, kernels_of

LENGTH_BOUNDS = (1e-5, 1e5)  # of a fitted lengthscale, scikit-learn's default


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """What the first fit settles."""

    dictionary: tuple[Kernel, ...]  # M; empty where the kernels are not ours to know
    embedding: Embedding
    ensemble: Ensemble  # before the first label
    bend: Bend  # of the labels, as the experts see them
    doubt: Doubt = NO_DOUBT  # of the labels


def check(setting: Setting, d: int) -> None:
    """Refuse parameters that do not fit one another, or d inputs; `settle` would refuse them."""
    M = len(kernels_of(setting, d)) or encoded_experts(setting, d)
    if setting.integrated:
        M *= len(setting.noise_ratios)
    else:
        check_fixed("magnitude", given_magnitudes(setting), M)
        check_fixed("noise", setting.noise, M)
    if not setting.adaptive:
        check_prior_weights(setting.prior_weights, M)


def settle(
    setting: Setting, X: Array, y: Array, extra: Array, seed: int, sure: Array | None = None,
    zero: float = np.nan,
) -> Prior:  # fmt: skip
    """The prior for labels y (t,) of scaled inputs X (t, d), with noise variances extra (t,).

    Labels that are `sure` (t,) are believed; others may turn out to be wrong.
    """
    if setting.integrated:
        return line_up(setting, pick(setting, X, y, extra, sure, zero), X, seed)
    rows, bend = evidence_rows(X, y, extra), bend_of(setting, X, y, extra)
    y, extra = bend.labels(y), bend.variances(extra, y)
    dictionary = kernels_of(setting, X.shape[1])
    M = len(dictionary) or encoded_experts(setting, X.shape[1])
    log_w = check_prior_weights(setting.prior_weights, M)
    magnitude = check_fixed("magnitude", given_magnitudes(setting), M)
    noise = _squared(check_fixed("noise", setting.noise, M))
    if setting.fit_length_scale:
        known = (X[rows], y[rows], extra[rows])
        dictionary = _with_fitted_lengths(setting, dictionary, magnitude, noise, *known)
    if magnitude is None or noise is None:
        K = _correlations(dictionary, X[rows], M)
        bounds = (setting.magnitude_bounds, setting.noise_variance_bounds)
        # [1, set:hyperparameters]
        fitted = marginal_likelihood.fit_hyperparameters(
            K, y[rows], extra[rows], *bounds, magnitude, noise
        )
        magnitude, noise = fitted.magnitude, fitted.noise
    ratio = noise / magnitude  # [1, eq:LF], a noise for each expert
    embedding = _embedding(setting, dictionary, ratio, X, seed)
    experts = prior_experts(embedding, dictionary, X.shape[1], M)
    # [1, eq:EGP_prior]
    ensemble = Ensemble(experts, log_w, Fixed(magnitude), ratio, setting.temper)
    return Prior(dictionary, embedding, ensemble, bend)


def line_up(setting: Setting, picked: Settled, X: Array, seed: int) -> Prior:
    """The prior of experts that were picked for labels at X (t, d)."""
    M, d = len(picked.noise), X.shape[1]
    embedding = _embedding(setting, picked.dictionary, picked.noise, X, seed)
    experts = prior_experts(embedding, picked.dictionary, d, M)
    scale = Conjugate.prior(M, picked.variance, picked.unit)
    ensemble = Ensemble(experts, picked.log_w, scale, picked.noise, setting.temper)
    return Prior(picked.dictionary, embedding, ensemble, picked.bend, picked.doubt)


def _squared(sd: Array | None) -> Array | None:
    """Standard deviations as variances."""
    return None if sd is None else sd**2


def _with_fitted_lengths(
    setting: Setting, dictionary: tuple[Kernel, ...], magnitude: Array | None, noise: Array | None,
    X: Array, y: Array, extra: Array,
) -> tuple[Kernel, ...]:  # fmt: skip
    """The kernels, each with its likeliest lengthscale; what is given is held."""
    fitted = []
    for m, kernel in enumerate(dictionary):
        magnitudes = setting.magnitude_bounds if magnitude is None else (magnitude[m],) * 2
        noises = setting.noise_variance_bounds if noise is None else (noise[m],) * 2
        bounds = (magnitudes, noises, LENGTH_BOUNDS)
        fitted.append(marginal_likelihood.fit_length_scale(kernel, X, y, *bounds, extra))
    return tuple(fitted)


def _embedding(
    setting: Setting, dictionary: tuple[Kernel, ...], noise: Array, X: Array, seed: int
) -> Embedding:
    """How inputs become points of the experts, for noise ratios (M,) and labelled inputs X."""
    if setting.approximation == "encoded":
        return Encoded.of(encoded_experts(setting, X.shape[1]), len(noise))
    if setting.approximation != "features":
        return approximation.chosen(setting.approximation, dictionary, noise, X)
    d = X.shape[1]
    zeta = random_features.draw_frequencies(
        dictionary, d, setting.n_frequencies, seed, setting.orthogonal
    )
    offset = np.array([kernel.offset for kernel in dictionary])
    return Spectral(zeta, offset if offset.any() else None)


def prior_experts(embedding: Embedding, dictionary: tuple[Kernel, ...], d: int, M: int) -> Experts:
    """Experts that have seen no label."""
    if isinstance(embedding, Exact):
        return ExactExperts.prior(dictionary, d)
    F = d // embedding.M if isinstance(embedding, Encoded) else embedding.width(None)
    if isinstance(embedding, Inducing):
        return InducingExperts.prior(M, F)
    return FeatureExperts.prior(M, F)


def _correlations(dictionary: tuple[Kernel, ...], X: Array, M: int) -> Array:
    """Correlations (M, t, t): the kernels' own, or those of the features that came encoded."""
    if dictionary:
        return np.stack([kernels.correlation(kernel, X, X) for kernel in dictionary])
    Phi = Encoded(M).points(None, X)
    return FeatureExperts.prior(M, Phi.shape[2]).prior_covariance(Phi, Phi)
