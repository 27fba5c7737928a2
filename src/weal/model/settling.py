"""From parameters and first labels to the prior: dictionary, magnitudes, noises, embedding.

With given kernels everything here depends on the labels of the first fit only, and stays. Without,
the experts themselves follow the labels, and are settled anew now and then (`core.lineup`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from weal.core import evidence, features, kernels, lineup, refining
from weal.core.arrays import Array
from weal.core.bend import Bend
from weal.core.embedding import Embedding, Encoded, Exact, Spectral
from weal.core.ensemble import Ensemble, normalise
from weal.core.exact import ExactExperts
from weal.core.experts import Experts, FeatureExperts
from weal.core.inducing import Inducing, InducingExperts
from weal.core.kernels import Kernel
from weal.core.magnitude import Conjugate, Fixed
from weal.core.scaling import location_scale
from weal.core.stated_noise import expected_units
from weal.core.tuned import RATIOS
from weal.model import approximation, warping
from weal.model.approximation import least_hashes
from weal.model.checks import (
    check_bounds,
    check_dictionary,
    check_fixed,
    check_kind,
    check_n_frequencies,
    check_prior_weights,
    check_ratios,
    check_temper,
    check_warp,
)

# Labels that the marginal likelihood looks at; what it finds is fitted again to half of the labels,
# this many at the most. At 1,500 labels, noise 10 %, NMSE was lower by 8 % (se 2) with 600 and by
# 12 % (2) with 1,000 than with 300, for 2.4, 6.5 and 0.7 s; three functions, two seeds.
EVIDENCE_LABELS, REFINED_LABELS = 300, 1000
INTEGRATED = "integrated"
# Of what is fitted, in units of the scaled labels: of the magnitude, and of the sd of the noise.
MAGNITUDE_BOUNDS = (1e-5, 1e5)
NOISE_BOUNDS = (1e-4, 1e5**0.5)
LENGTH_BOUNDS = (1e-5, 1e5)  # of a fitted lengthscale, scikit-learn's default


@dataclass(frozen=True, slots=True)
class Setting:
    """The parameters of the estimator, checked; see there for what each means."""

    kernels: Sequence[Kernel] | None = None
    approximation: str = "auto"
    n_frequencies: int = 200
    orthogonal: bool = False
    magnitude: ArrayLike | str | None = INTEGRATED
    noise: ArrayLike | None = None  # sd
    noise_ratios: Sequence[float] = RATIOS
    fit_length_scale: bool = False
    magnitude_bounds: tuple[float, float] = MAGNITUDE_BOUNDS
    noise_bounds: tuple[float, float] = NOISE_BOUNDS  # of the sd
    prior_weights: ArrayLike | None = None
    temper: float = 1.0
    warp: str | None = None

    def __post_init__(self) -> None:
        check_kind(self.approximation)
        check_n_frequencies(self.n_frequencies)
        check_bounds("magnitude_bounds", self.magnitude_bounds)
        check_bounds("noise_bounds", self.noise_bounds)
        check_ratios(self.noise_ratios)
        check_temper(self.temper)
        check_warp(self.warp)
        if self.integrated and (self.noise is not None or self.fit_length_scale):
            raise ValueError(
                "noise and fit_length_scale go with a magnitude that is fitted (magnitude=None) or "
                "given; with magnitude='integrated' give noise_ratios, and lengthscales are fitted "
                "as labels come unless kernels are given"
            )

    @property
    def integrated(self) -> bool:
        """Whether magnitudes are integrated out; encoded experts fit theirs."""
        if isinstance(self.magnitude, str) and self.magnitude != INTEGRATED:
            raise ValueError(
                f"magnitude is {self.magnitude!r}; it must be {INTEGRATED!r}, None or numbers"
            )
        return isinstance(self.magnitude, str) and self.approximation != "encoded"

    @property
    def adaptive(self) -> bool:
        """Whether the experts themselves follow the labels."""
        return self.integrated and self.kernels is None

    @property
    def noise_variance_bounds(self) -> tuple[float, float]:
        """Bounds of the noise as evidence sees it, a variance."""
        low, high = self.noise_bounds
        return low**2, high**2


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """What the first fit settles."""

    dictionary: tuple[Kernel, ...]  # M; empty where the kernels are not ours to know
    embedding: Embedding
    ensemble: Ensemble  # before the first label
    bend: Bend  # of the labels, as the experts see them


def check(setting: Setting, d: int) -> None:
    """Refuse parameters that do not fit one another, or d inputs; `settle` would refuse them."""
    found = _kernels(setting, d)
    if setting.integrated:
        M = len(found) * len(setting.noise_ratios)
    else:
        M = len(found) or _encoded_experts(setting, d)
        check_fixed("magnitude", _given(setting), M)
        check_fixed("noise", setting.noise, M)
    if not setting.adaptive:
        check_prior_weights(setting.prior_weights, M)


def settle(setting: Setting, X: Array, y: Array, extra: Array, seed: int) -> Prior:
    """The prior for labels y (t,) of scaled inputs X (t, d), with noise variances extra (t,)."""
    if setting.integrated:
        return line_up(setting, pick(setting, X, y, extra), X, seed)
    rows, bend = evidence_rows(X, y, extra), _bend(setting, X, y, extra)
    y, extra = bend.labels(y), bend.variances(extra, y)
    dictionary = _kernels(setting, X.shape[1])
    M = len(dictionary) or _encoded_experts(setting, X.shape[1])
    log_w = check_prior_weights(setting.prior_weights, M)
    magnitude = check_fixed("magnitude", _given(setting), M)
    noise = _squared(check_fixed("noise", setting.noise, M))
    if setting.fit_length_scale:
        known = (X[rows], y[rows], extra[rows])
        dictionary = _with_fitted_lengths(setting, dictionary, magnitude, noise, *known)
    if magnitude is None or noise is None:
        K = _correlations(dictionary, X[rows], M)
        bounds = (setting.magnitude_bounds, setting.noise_variance_bounds)
        fitted = evidence.fit_hyperparameters(K, y[rows], extra[rows], *bounds, magnitude, noise)
        magnitude, noise = fitted.magnitude, fitted.noise
    ratio = noise / magnitude
    embedding = _embedding(setting, dictionary, ratio, X, seed)
    experts = prior_experts(embedding, dictionary, X.shape[1], M)
    ensemble = Ensemble(experts, log_w, Fixed(magnitude), ratio, setting.temper)
    return Prior(dictionary, embedding, ensemble, bend)


@dataclass(frozen=True, slots=True, eq=False)
class Settled:
    """Experts with their magnitude integrated out, before the first label."""

    dictionary: tuple[Kernel, ...]  # M
    noise: Array  # (M,)  lam
    log_w: Array  # (M,)
    variance: float  # of labels that the priors of their magnitudes are measured by
    bend: Bend  # of the labels that they see
    unit: Array  # (M,)  that the noise of labels is measured by (`core.stated_noise`)


def pick(setting: Setting, X: Array, y: Array, extra: Array) -> Settled:
    """The experts that play: all of the user's, or the best of ours for these labels."""
    found, ratios = _kernels(setting, X.shape[1]), tuple(setting.noise_ratios)
    bend = _bend(setting, X, y, extra)
    if not setting.adaptive:
        dictionary = tuple(kernel for kernel in found for _ in ratios)
        log_w = check_prior_weights(setting.prior_weights, len(dictionary))
        unit = expected_units(found, ratios, X.shape[1]).ravel()
        return Settled(dictionary, np.tile(ratios, len(found)), log_w, 1.0, bend, unit)
    rows, z, noise = evidence_rows(X, y, extra), bend.labels(y), bend.variances(extra, y)
    variance = _variance(z)
    known = (X[rows], z[rows] / np.sqrt(variance), noise[rows] / variance)
    best = lineup.choose(found, ratios, *known, temper=setting.temper)
    fitted_to = min(REFINED_LABELS, len(y) // 2)
    if fitted_to > EVIDENCE_LABELS:
        more = evidence_rows(X, y, extra, most=fitted_to)
        known = (X[more], z[more] / np.sqrt(variance), noise[more] / variance)
        most = approximation.most_experts(len(y))
        best = refining.refined(best, *known, most, setting.temper)
    log_w, unit = normalise(best.log_prior), variance * best.unit
    return Settled(best.kernels, best.noise, log_w, variance, bend, unit)


def line_up(setting: Setting, picked: Settled, X: Array, seed: int) -> Prior:
    """The prior of experts that were picked for labels at X (t, d)."""
    M, d = len(picked.dictionary), X.shape[1]
    embedding = _embedding(setting, picked.dictionary, picked.noise, X, seed)
    experts = prior_experts(embedding, picked.dictionary, d, M)
    scale = Conjugate.prior(M, picked.variance, picked.unit)
    ensemble = Ensemble(experts, picked.log_w, scale, picked.noise, setting.temper)
    return Prior(picked.dictionary, embedding, ensemble, picked.bend)


def _bend(setting: Setting, X: Array, y: Array, extra: Array) -> Bend:
    """The bend of labels; by evidence only where it can be thought over, with the experts."""
    warp = None if setting.warp == "auto" and not setting.adaptive else setting.warp
    rows = evidence_rows(X, y, extra)
    return warping.choose(warp, X[rows], y[rows], extra[rows])


def _variance(y: Array) -> float:
    """Variance of labels, by which the prior of the magnitudes is measured; 1 if they are equal.

    Those of the first fit have 1, but may have been one label, or all the same by chance.
    """
    _, (sd,) = location_scale(y[:, None])
    return float(sd) ** 2 or 1.0


def _squared(sd: Array | None) -> Array | None:
    """Standard deviations as variances."""
    return None if sd is None else sd**2


def _given(setting: Setting) -> ArrayLike | None:
    """The magnitudes that the user gave."""
    return None if isinstance(setting.magnitude, str) else setting.magnitude


def _kernels(setting: Setting, d: int) -> tuple[Kernel, ...]:
    if setting.approximation == "encoded":
        return ()
    if setting.kernels is not None:
        return check_dictionary(setting.kernels, d)
    return lineup.grid(d) if setting.integrated else kernels.default_dictionary(d)


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
        fitted.append(evidence.fit_length_scale(kernel, X, y, *bounds, extra))
    return tuple(fitted)


def _encoded_experts(setting: Setting, d: int) -> int:
    F = 2 * setting.n_frequencies
    if d % F:
        raise ValueError(
            f"encoded inputs have 2 x n_frequencies = {F} columns for each expert; "
            f"{d} columns are no multiple of that: give the encoder's n_frequencies"
        )
    return d // F


def _embedding(
    setting: Setting, dictionary: tuple[Kernel, ...], noise: Array, X: Array, seed: int
) -> Embedding:
    """How inputs become points of the experts, for noise ratios (M,) and labelled inputs X."""
    if setting.approximation == "encoded":
        return Encoded(len(noise))
    if setting.approximation != "features":
        return approximation.chosen(setting.approximation, dictionary, noise, X)
    d = X.shape[1]
    zeta = features.draw_frequencies(dictionary, d, setting.n_frequencies, seed, setting.orthogonal)
    offset = np.array([kernel.offset for kernel in dictionary])
    return Spectral(zeta, offset if offset.any() else None)


def prior_experts(embedding: Embedding, dictionary: tuple[Kernel, ...], d: int, M: int) -> Experts:
    """Experts that have seen no label."""
    if isinstance(embedding, Exact):
        return ExactExperts.prior(dictionary, d)
    F = d // M if isinstance(embedding, Encoded) else embedding.width(None)
    if isinstance(embedding, Inducing):
        return InducingExperts.prior(M, F)
    return FeatureExperts.prior(M, F)


def _correlations(dictionary: tuple[Kernel, ...], X: Array, M: int) -> Array:
    """Correlations (M, t, t): the kernels' own, or those of the features that came encoded."""
    if dictionary:
        return np.stack([kernels.correlation(kernel, X, X) for kernel in dictionary])
    Phi = Encoded(M).points(None, X)
    return FeatureExperts.prior(M, Phi.shape[2]).prior_covariance(Phi, Phi)


def evidence_rows(*parts: Array, most: int | None = None) -> Any:
    """The rows of inputs, labels, .. that evidence looks at: all, or those with the least hashes.

    A hash of what is in a row, so that they depend on the set of labels and not on their order.
    """
    t = len(parts[0])
    most = EVIDENCE_LABELS if most is None else most
    if t <= most:
        return slice(None)
    return least_hashes(np.column_stack(parts), most)
