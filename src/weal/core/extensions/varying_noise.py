"""Varying noise as a hypothesis beside even noise, weighted by evidence.

    test     leave-one-out residuals of the experts with even noise: does their size depend on the
             inputs or on the level more than by chance?
    select   experts selected again, with the noise n(x) found so stated for every label
    refine   the residuals of these experts, whose variance of f fits that noise, give the final n
    weigh    both sets of experts enter the mixture with their log prior plus log evidence

Candidate fields g (`noise_field`) are functions of all inputs with one lengthscale, of a single
input, of the predicted level, or of the membership of a region (`noise_regions`), with the same
prior each. The test is one step of Fisher scoring from even noise: squares q of standardised
residuals, of mean 1, are pseudo observations of 1 + g with variance 2,

    log odds = log sum_k P(k) N(q - 1; 0, K_k + 2 I) - log N(q - 1; 0, K_even + 2 I)

Evidences of labels with and without stated noise are compared under a flat prior of the log
magnitude (`label_noise.prior_height`). The field was fitted to the same labels, so its experts are
penalised by the gain of the fit: Laplace's log evidence minus the log density at its mode, as in
the refits of `model_selection`. The result is a function of the set of labels alone.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import logsumexp

from weal.core.arrays import Array
from weal.core.extensions.conjugate_magnitude import ConjugateMagnitude
from weal.core.extensions.embeddings import RawInputs
from weal.core.extensions.leave_one_out import left_out_mixture
from weal.core.extensions.model_selection import ModelSelection
from weal.core.extensions.noise_field import (
    LEVEL_VARIANCE,
    LevelFunction,
    NoiseField,
    Residuals,
    cavity,
    covariance,
    mode,
)
from weal.core.extensions.noise_regions import NoiseRegion, find_region, find_region_again
from weal.core.paper import ensemble
from weal.core.paper.ensemble import Ensemble, normalise
from weal.core.paper.exact_gp import LEAST_RATIO, ExactExperts
from weal.core.paper.kernels import Kernel, correlation
from weal.core.protocols import ExpertsOfKind

FIELD_FAMILY = "matern52"
FIELD_LENGTHS = (0.6, 1.2)  # times sqrt(d), of all inputs; a single input, a level, a region has 1
FIELD_SDS = (1.0, 2.5)  # tau
NOT_READ = 1e6  # lengthscale of an input that a field does not depend on
MAX_SINGLE_INPUTS = 4  # fields of a single input: one for each of so many inputs
MAX_FITTED_FIELDS = 4  # candidates whose modes are found
MAX_TEST_SQUARE = 9.0  # of a standardised residual in the test
MEDIAN_CHI2 = 0.4549  # of one degree of freedom
LEAST_VARIANCE = 1e-20  # of residuals, in units of the labels' variance

Place = LevelFunction | NoiseRegion | None


class Candidate(NamedTuple):
    """A prior of g, and its covariance at the labels."""

    kernel: Kernel
    variance: float  # tau^2
    place: Place
    log_prior: float
    K: Array  # (t, t)


class FieldTest(NamedTuple):
    """The log odds of varying noise, and the most probable candidates."""

    log_odds: float
    likeliest: list[Candidate]


class FieldFit(NamedTuple):
    """The best field, and the evidence of varying noise."""

    field: NoiseField
    log_odds: float  # log evidence of all candidates minus that of even noise
    right: Array  # (t,)  probabilities that labels are right
    others: Array  # (t,)  n at each label, given the other residuals


class LeftOut(NamedTuple):
    """Predictions of labels by experts, each from the other labels."""

    w: Array  # (H, t)
    mu: Array  # (H, t)  means of f
    v: Array  # (H, t)  variances of f, in units of the magnitude
    scale: ConjugateMagnitude  # (H, t)
    lam: Array  # (H, 1)  ratios of even noise
    unit: Array  # (H, 1)  of stated noise

    @property
    def moments(self) -> tuple[Array, Array]:
        """Mean and variance (t,) of f."""
        mean = (self.w * self.mu).sum(axis=0)
        var = self.scale.variance * self.v
        return mean, (self.w * (var + (self.mu - mean) ** 2)).sum(axis=0)

    @property
    def even_noise(self) -> Array:  # (t,)
        """Variances of even noise."""
        return np.asarray((self.w * self.scale.variance * self.lam).sum(axis=0))

    def take(self, rows: NDArray[np.intp]) -> "LeftOut":
        """The predictions of some of the labels."""
        a = np.broadcast_to(self.scale.a.reshape(len(self.w), -1), self.w.shape)
        scale = replace(self.scale, a=a[:, rows], b=self.scale.b[:, rows])
        return self._replace(w=self.w[:, rows], mu=self.mu[:, rows], v=self.v[:, rows], scale=scale)

    def log_density(self, y: Array, noise_var: Array) -> Array:  # (t,)
        """Log densities of labels y (t,) with these noise variances (t,) besides even noise."""
        s = self.v + np.maximum(self.lam + noise_var / self.unit, LEAST_RATIO)
        return np.asarray(logsumexp(self.scale.log_density(y - self.mu, s), axis=0, b=self.w))


def selected_ensemble(found: ModelSelection, X: Array, y: Array, noise_var: Array) -> Ensemble:
    """Exact experts of a selection, trained on labels y (t,) at X (t, d)."""
    M, kind = len(found.kernels), RawInputs()
    experts: ExpertsOfKind = kind.prior_experts(found.kernels, X.shape[1], M)
    scale = ConjugateMagnitude.prior(M, 1.0, found.unit)
    ens = Ensemble(experts, normalise(found.log_prior), scale, found.noise)
    return ensemble.update_many(ens, kind.points(experts, X), y, noise_var)


def left_out_predictions(ens: Ensemble, labels: Sequence[Array], X_other: Array) -> LeftOut:
    """Predictions of the training labels (X, y, noise_var), each left out, and at other points."""
    X, y, noise_var = labels
    experts: ExpertsOfKind = ens.experts
    found = left_out_mixture(ens, RawInputs(), X, y, noise_var)
    lam, unit = ens.noise[:, None], ens.scale.unit[:, None]
    scale = cast(ConjugateMagnitude, found.scale)
    if not len(X_other):
        return LeftOut(found.w, found.mu, found.v, scale, lam, unit)
    mu, v = ens.experts.predict(RawInputs().points(experts, X_other))
    whole, n = cast(ConjugateMagnitude, ens.scale), len(X_other)
    scale = ConjugateMagnitude(
        np.column_stack([np.broadcast_to(scale.a[:, None], found.mu.shape), *[whole.a] * n]),
        np.column_stack([scale.b, *[whole.b] * n]),
        scale.unit,
    )
    w = np.column_stack([found.w, *[ens.w] * n])
    return LeftOut(w, np.append(found.mu, mu, 1), np.append(found.v, v, 1), scale, lam, unit)


def level_function(ens: Ensemble, X: Array) -> LevelFunction | None:
    """The mean of the weightiest expert; None if it is constant. X (t, d) are its labels'."""
    m, experts = int(np.argmax(ens.log_w)), cast(ExactExperts, ens.experts)
    alpha = solve_triangular(
        experts.label_factor(m), experts.z[m], lower=True, trans=1, check_finite=False
    )
    kernel = experts.kernels[m]
    values = correlation(kernel, X, X) @ alpha
    sd = float(values.std())
    return LevelFunction(kernel, alpha, float(values.mean()), sd) if sd > 0.0 else None


def standardised_squares(e: Array, s: Array) -> Array:  # (t,), (t,) -> (t,)
    """e^2 / s, limited and divided by their mean."""
    q = e * e / s
    q = np.minimum(q / max(float(np.median(q)) / MEDIAN_CHI2, LEAST_VARIANCE), MAX_TEST_SQUARE)
    return np.asarray(q / max(float(q.mean()), LEAST_VARIANCE))


def candidates(X: Array, squares: Array, level: LevelFunction | None) -> list[Candidate]:
    """Priors of g; the region is found by standardised squares (t,)."""
    d, found = X.shape[1], find_region(X, squares)
    groups: list[tuple[list[Kernel], Place, float]] = [
        ([Kernel(FIELD_FAMILY, ell * d**0.5) for ell in FIELD_LENGTHS], None, 0.0)
    ]
    if d > 1:
        some = likeliest_inputs(X, squares)
        missing = float(np.log(len(some) / d))  # each input has its share, the others are left out
        groups.append(([_of_one(j, d) for j in some], None, missing))
    if level is not None:
        groups.append(([Kernel(FIELD_FAMILY, 1.0)], level, 0.0))
    if found is not None:
        groups.append(([Kernel(FIELD_FAMILY, 1.0)], found.region, found.log_share))
    every = []
    for kernels, place, share in groups:
        at = X if place is None else place.at(X, X)[:, None]
        log_prior = share - float(np.log(len(groups) * len(kernels) * len(FIELD_SDS)))
        for kernel in kernels:
            k = correlation(kernel, at, at)
            for sd in FIELD_SDS:
                K = sd**2 * k + LEVEL_VARIANCE
                every.append(Candidate(kernel, sd**2, place, log_prior, K))
    return every


def likeliest_inputs(X: Array, squares: Array) -> list[int]:
    """The MAX_SINGLE_INPUTS inputs whose values, or squared values, vary most with the squares."""
    Z = X - X.mean(axis=0)
    Z = np.concatenate([Z, Z**2 - (Z**2).mean(axis=0)], axis=1)
    fit = np.abs(Z.T @ (squares - 1.0)) / np.maximum(np.sqrt((Z**2).sum(axis=0)), LEAST_VARIANCE)
    best = np.argsort(-fit.reshape(2, -1).max(axis=0), kind="stable")[:MAX_SINGLE_INPUTS]
    return [int(j) for j in np.sort(best)]


def _of_one(j: int, d: int) -> Kernel:
    """A kernel of input j alone."""
    return Kernel(FIELD_FAMILY, tuple(1.0 if i == j else NOT_READ for i in range(d)))


def test_field(X: Array, squares: Array, level: LevelFunction | None) -> FieldTest:
    """The test for standardised squares (t,) of mean 1 at X (t, d)."""
    u, noise = squares - 1.0, 2.0 * np.eye(len(X))
    even = log_normal(LEVEL_VARIANCE + noise, u)
    every = candidates(X, squares, level)
    heights = np.array([one.log_prior + log_normal(one.K + noise, u) for one in every])
    best = np.argsort(-heights, kind="stable")[:MAX_FITTED_FIELDS]
    return FieldTest(float(logsumexp(heights)) - even, [every[n] for n in best.tolist()])


def log_normal(C: Array, u: Array) -> float:
    """Log density of u ~ N(0, C), up to a constant."""
    L = np.linalg.cholesky(C)
    z = solve_triangular(L, u, lower=True, check_finite=False)
    return float(-0.5 * z @ z - np.log(np.diag(L)).sum())


def fit_field(
    X: Array, residuals: Residuals, log_level: float, likeliest: list[Candidate]
) -> FieldFit:
    """The field of residuals at X (t, d), whose variances n are exp(log_level + g)."""
    even = mode(np.full((len(X), len(X)), LEVEL_VARIANCE), residuals)
    found = [mode(one.K, residuals) for one in likeliest]
    log_z = [one.log_prior + fit.log_z for one, fit in zip(likeliest, found, strict=True)]
    at = int(np.argmax(log_z))
    one, best, total = likeliest[at], found[at], float(logsumexp(log_z))
    if isinstance(one.place, NoiseRegion):
        one = _with_region_again(X, residuals, one, best.beta, one.place)
        best = mode(one.K, residuals)
    field = NoiseField(X, best.beta, best.root, one.kernel, one.variance, log_level, one.place)
    mean, spread = cavity(one.K, residuals, best)
    others = field.noise(mean, spread)
    return FieldFit(field, total - even.log_z, best.right, others)


def _with_region_again(
    X: Array, residuals: Residuals, one: Candidate, beta: Array, region: NoiseRegion
) -> Candidate:
    """The candidate with the boxes that fit the noises inside and outside of its region."""
    ends, phi = np.array([[1.0], [0.0]]), region.at(X)[:, None]
    g = covariance(one.kernel, one.variance, ends, phi) @ beta
    inside, outside = (residuals.log_density(np.full(len(X), end))[0] for end in g.tolist())
    again = find_region_again(X, inside - outside)
    if again is None:
        return one
    at = again.at(X)[:, None]
    return one._replace(place=again, K=covariance(one.kernel, one.variance, at, at))
