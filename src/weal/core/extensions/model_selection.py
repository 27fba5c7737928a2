"""Model selection: keep the experts with non-negligible posterior probability.

Candidates are a grid (family, one lengthscale, noise ratio) and kernels with one lengthscale for
each input, fitted to the labels (`ard`), in a family of the grid or in anova (`anova_kernel`). The
classes of candidates have prior probabilities:

    anova                  1 - (1 - ANOVA_SHARE)^(d - 1)   none with one input
    one for each input     FITTED_SHARE of the rest        evenly over the families
    grid                   the remainder, evenly over the kernels

All share one prior of the noise ratio (`ard.noise_prior`), or a class would gain or lose by the
noise of the labels. Evidence, Laplace's for fitted kernels, gives posterior probabilities.

Posterior points. Labels leave lengthscales and noise uncertain, and one expert at the peak would
have too narrow intervals. Laplace's approximation N(p*, H^-1), H = R R' (`ard`), is represented by
pairs of points,

    p* +- sqrt(P) R^-T q_j        q_j orthonormal, the same for every set of labels

with the mean and, with all P pairs, the covariance of the approximation (spherical cubature rule);
with fewer pairs, POSTERIOR_POINT_PAIRS at most, each point is a typical draw.
[2] Arasaratnam, Haykin: Cubature Kalman filters, 2009. The weight of a point is exp(L + log prior)
over the density of the normal, limited to MAX_LOG_OVERWEIGHT. Parameters on a bound stay there.

Selected are experts with a posterior of MIN_MODEL_POSTERIOR or more, MAX_EXPERTS at most, and
always the best of every class with that much. They get the posterior of dropped experts of their
class, since the grid spreads its mass over many. Their log prior makes their weights, after all
labels, equal to these posteriors. The result is a function of the set of labels alone.

Many labels. A fit of one lengthscale for each input factorises some forty t x t matrices, so
selection uses a sample of the labels. Then the best expert of each selected family, and of the
other family of the grid, is fitted again to more labels, and experts are compared by log prior plus
log evidence, with Laplace's penalty log Z - log evidence as the log prior of a fitted one. Few
labels may be interpolated by a function that varies too fast, and a fit from there stays there: a
fit starts from the likeliest of several longer lengthscales and larger noises.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from weal.core.arrays import Array
from weal.core.constants import (
    ANOVA_RATIO,
    ANOVA_SHARE,
    ANOVA_START,
    FIT_ROUNDS,
    FITTED_SHARE,
    FORWARD_RATIO,
    GRID_FAMILIES,
    GRID_LENGTHS,
    MANY_INPUTS,
    MAX_EXPERTS,
    MIN_LABELS_FOR_ARD,
    MIN_MODEL_POSTERIOR,
    OFFSET_VARIANCE,
    POSTERIOR_POINT_PAIRS,
    SOUGHT_RATIOS,
)
from weal.core.extensions.anova_kernel import ANOVA
from weal.core.extensions.ard import LEAST_CURVATURE, EvidencePeak, fit, forward, noise_prior
from weal.core.extensions.integrated_evidence import (
    evidence_constant,
    log_evidence_grid,
    magnitude_posterior,
)
from weal.core.extensions.label_noise import prior_height, units
from weal.core.one_hot import Widths
from weal.core.paper.ensemble import normalise
from weal.core.paper.kernels import Kernel, dictionary

MAX_LOG_OVERWEIGHT = 2.0  # log of what a point may count more than the approximation says
MAX_LOG_UNDERWEIGHT = 700.0  # log of what it may count less, that none is left without any
LOG_ENDS = tuple(np.log(SOUGHT_RATIOS))


def posterior_points(peak: EvidencePeak) -> tuple[Array, Array, Array, Array]:
    """Quadrature points (n, P) of a peak, their log weights (n,), and L and b (n,) there."""
    free = peak.slope == 0.0
    away = np.zeros((1, len(peak.p)))  # of the peak
    z = np.zeros((1, int(free.sum())))
    if free.any():
        z = directions(int(free.sum()))
        away = np.zeros((len(z), len(peak.p)))
        away[:, free] = np.linalg.solve(_root(peak.H[np.ix_(free, free)]).T, z.T).T
    problem, shape = peak.fit, peak.fit.shape
    points = peak.p + away
    points[:, :-1] = np.clip(points[:, :-1], shape.low, shape.high)
    points[:, -1] = np.clip(points[:, -1], *LOG_ENDS)
    L, b = np.transpose([problem.evidence(p) for p in points])
    prior = np.array([problem.log_prior(p)[0] for p in points])
    ratio = L + prior - peak.height + 0.5 * (z * z).sum(axis=1)
    return points, normalise(np.clip(ratio, -MAX_LOG_UNDERWEIGHT, MAX_LOG_OVERWEIGHT)), L, b


@lru_cache(maxsize=8)
def directions(P: int) -> Array:
    """Antithetic points (n, P) around 0 at distance sqrt(P); the same in every run."""
    Q = np.linalg.qr(np.random.default_rng(P).standard_normal((P, P))).Q
    half = P**0.5 * Q[: min(P, POSTERIOR_POINT_PAIRS)]
    found = np.concatenate([half, -half])
    found.flags.writeable = False
    return found


def _root(H: Array) -> Array:
    """Root R of H, R R' = H; no direction is wider than the prior of log lam."""
    curvature, Q = np.linalg.eigh(H)
    return np.linalg.cholesky((Q * np.maximum(curvature, LEAST_CURVATURE)) @ Q.T)


CandidateModel = tuple[Kernel, float]  # a candidate expert: kernel and noise ratio


@dataclass(frozen=True, slots=True, eq=False)
class ModelSelection:
    """The selected experts."""

    kernels: tuple[Kernel, ...]  # H
    noise: Array  # (H,)  lam
    unit: Array  # (H,)  of the noise that labels bring along
    log_prior: Array  # (H,)  their log weights before the first label, not normalised
    fitted: float  # posterior of the classes with one lengthscale for each input


def candidate_grid(d: int, widths: Widths = ()) -> tuple[Kernel, ...]:
    """The kernels of the grid for d columns, which are inputs of these widths (`core.one_hot`)."""
    G = len(widths) or d
    plain = dictionary(GRID_FAMILIES, [length * G**0.5 for length in GRID_LENGTHS])
    return tuple(Kernel(k.family, k.length_scale, k.alpha, OFFSET_VARIANCE, widths) for k in plain)


def select_models(
    kernels: Sequence[Kernel], ratios: Sequence[float], X: Array, y: Array, noise_var: Array,
    relevance: bool = True, temper: float = 1.0, additive: bool = True,
) -> ModelSelection:  # fmt: skip
    """The selected experts for labels y (t,) at X (t, d) with noise variances noise_var (t,).

    Where evidences are raised to the power `temper` (`ensemble`), posteriors are too.
    Without `additive` anova is left out, for experts that are not exact. Labels whose noise has no
    bound carry no information, and have to be removed.
    """
    if not np.isfinite(noise_var).all():
        raise ValueError("a noise variance is not finite; remove labels with infinite noise")
    evidence, unit = log_evidence_grid(kernels, ratios, X, y, noise_var)  # (kernels, ratios)
    on_grid = evidence - _prior_correction(unit, noise_var) + _noise_shares(ratios, noise_var)
    models = [(kernel, ratio) for kernel in kernels for ratio in ratios]
    parts = [CandidateModels(models, evidence.ravel(), unit.ravel(), on_grid.ravel())]
    shares = [1.0 / len(kernels)]
    if relevance and len(y) >= MIN_LABELS_FOR_ARD:
        d, widths = kernels[0].n_inputs(X.shape[1]), kernels[0].widths
        anova_share = 1.0 - (1.0 - ANOVA_SHARE) ** (d - 1) if additive else 0.0
        peaks = _peaks(kernels, ratios, on_grid, X, y, noise_var)
        shares = [(1.0 - anova_share) * (1.0 - FITTED_SHARE) / len(kernels)]
        shares.append((1.0 - anova_share) * FITTED_SHARE / len(peaks))
        parts.append(_concat_candidates([_entries(peak, X, y, noise_var) for peak in peaks]))
        if anova_share:
            anova = Kernel(ANOVA, ANOVA_START, d**-0.5, OFFSET_VARIANCE, widths)
            start = (anova, ANOVA_RATIO)
            parts.append(_entries(_fit_peak(start, X, y, noise_var), X, y, noise_var))
            shares.append(anova_share)
    kind = np.repeat(np.arange(len(parts)), [len(part.models) for part in parts])
    every = _concat_candidates(parts)
    return _best(every, every.log_post + np.log(shares)[kind], kind, temper)


class CandidateModels(NamedTuple):
    """Candidate experts."""

    models: list[CandidateModel]  # n
    evidence: Array  # (n,)
    unit: Array  # (n,)
    log_post: Array  # (n,)  without the share of their class


def _concat_candidates(parts: Sequence[CandidateModels]) -> CandidateModels:
    """The candidates of all lists, concatenated."""
    models = [model for part in parts for model in part.models]
    evidence, unit, log_post = (np.concatenate([part[n] for part in parts]) for n in (1, 2, 3))
    return CandidateModels(models, evidence, unit, log_post)


def _best(
    every: CandidateModels, log_post: Array, kind: NDArray[np.intp], temper: float
) -> ModelSelection:
    """The candidates with the largest posteriors, for log posteriors (n,) and classes (n,)."""
    log_prior = log_post - every.evidence
    log_post = normalise(log_prior + temper * every.evidence)
    best = _select_experts(log_post, kind)
    chosen = [every.models[n] for n in best.tolist()]
    return ModelSelection(
        tuple(kernel for kernel, _ in chosen),
        np.array([ratio for _, ratio in chosen]),
        every.unit[best],
        log_prior[best] + _redistributed_log_weight(log_post, best, kind),
        float(np.exp(log_post[kind > 0]).sum()),
    )


def _select_experts(log_post: Array, kind: NDArray[np.intp]) -> NDArray[np.intp]:
    """Positions of the selected experts, best first; the best of each class precede all others."""
    order = np.argsort(-log_post, kind="stable")
    leads = np.zeros(len(order), dtype=bool)
    for one in np.unique(kind):
        if logsumexp(log_post[kind == one]) >= np.log(MIN_MODEL_POSTERIOR):
            leads[np.flatnonzero(kind[order] == one)[0]] = True
    rest = ~leads & (log_post[order] >= np.log(MIN_MODEL_POSTERIOR))
    rest &= np.cumsum(rest) <= MAX_EXPERTS - leads.sum()
    return np.asarray(order[leads | rest])


def _redistributed_log_weight(
    log_post: Array, best: NDArray[np.intp], kind: NDArray[np.intp]
) -> Array:
    """Log posterior that the selected experts of each class take over from the dropped ones."""
    more = np.zeros(len(best))
    for one in np.unique(kind[best]):
        playing = kind[best] == one
        more[playing] = logsumexp(log_post[kind == one]) - logsumexp(log_post[best[playing]])
    return more


def _peaks(
    kernels: Sequence[Kernel], ratios: Sequence[float], on_grid: Array, X: Array, y: Array,
    noise_var: Array,
) -> list[EvidencePeak]:  # fmt: skip
    """The peak of each family, from the best of its kernels on the grid.

    With MANY_INPUTS or more, of which few may matter, also from where `forward` leads: one
    lengthscale for all may see nothing but noise there, and so would what is fitted from it.
    """
    peaks = []
    for family in dict.fromkeys(kernel.family for kernel in kernels):
        rows = [n for n, kernel in enumerate(kernels) if kernel.family == family]
        n, r = np.unravel_index(int(np.argmax(on_grid[rows])), on_grid[rows].shape)
        starts = [(kernels[rows[int(n)]], float(ratios[int(r)]))]
        if kernels[0].n_inputs(X.shape[1]) >= MANY_INPUTS:
            starts.append((forward(kernels[rows[0]], X, y, noise_var), FORWARD_RATIO))
        found = [_fit_peak(start, X, y, noise_var) for start in starts]
        peaks.append(max(found, key=lambda peak: peak.log_z))
    return peaks


def _fit_peak(start: CandidateModel, X: Array, y: Array, noise_var: Array) -> EvidencePeak:
    """The maximum found from a start; known noise is in the unit of the start, then of the peak."""
    if not noise_var.any():
        return fit(*start, X, y, noise_var)
    for _ in range(FIT_ROUNDS):
        unit = float(units([start[0]], [start[1]], X, y, noise_var)[0, 0])
        peak = replace(fit(*start, X, y, noise_var / unit), unit=unit)
        start = (peak.kernel, peak.noise)
    return peak


def _noise_shares(ratios: Sequence[float], noise_var: Array) -> Array:
    """Log prior (ratios,) of the noise ratios of the grid, as for fitted ratios."""
    untold = float(np.mean(noise_var == 0.0))
    return normalise(np.array([noise_prior(float(np.log(ratio)), untold)[0] for ratio in ratios]))


def _prior_correction(unit: Array, noise_var: Array) -> Array:
    """Correction of the log evidence for the prior of the magnitude, if noise is stated."""
    return prior_height(unit) if noise_var.any() else np.zeros_like(unit)


def _entries(peak: EvidencePeak, X: Array, y: Array, noise_var: Array) -> CandidateModels:
    """The posterior points of a peak as experts, and their log posteriors within its class."""
    points, log_share, L, b = posterior_points(peak)
    constant, shape = evidence_constant(len(y)), peak.fit.shape
    models = [(shape.kernel(p[:-1]), float(np.exp(p[-1]))) for p in points]
    log_post = peak.log_z + constant + log_share
    if not noise_var.any():
        return CandidateModels(
            models, L + constant, b / magnitude_posterior(len(y), 0.0)[0], log_post
        )
    each = [log_evidence_grid([kernel], [ratio], X, y, noise_var) for kernel, ratio in models]
    evidence, unit = (np.array([pair[n][0, 0] for pair in each]) for n in (0, 1))
    return CandidateModels(
        models, evidence, unit, log_post - _prior_correction(np.array(peak.unit), noise_var)
    )


LENGTH_SCALE_FACTORS, NOISE_RATIO_STARTS = (
    (1.0, 2.0),
    (1e-4, 1e-3, 1e-2, 1e-1),
)  # lengthscales by factors, and noise ratios


def refit_selection(
    found: ModelSelection, X: Array, y: Array, noise_var: Array, most: int, temper: float = 1.0
) -> ModelSelection:
    """A selection of `most` experts, with lengthscales and noise refitted to labels y (t,) at X."""
    stated = bool(noise_var.any())
    models = list(zip(found.kernels, found.noise.tolist(), strict=True))
    log_z: list[float] = []
    for known in _starts(found):
        kernel, noise = _likeliest(*known, X, y, noise_var)
        unit = float(units([kernel], [noise], X, y, noise_var)[0, 0]) if stated else 1.0
        peak = fit(kernel, noise, X, y, noise_var / unit)
        models.append((peak.kernel, peak.noise))
        log_z.append(peak.log_z + evidence_constant(len(y)))
    each = [log_evidence_grid([kernel], [noise], X, y, noise_var) for kernel, noise in models]
    evidence, unit_of = (np.array([part[n][0, 0] for part in each]) for n in (0, 1))
    again = slice(len(found.kernels), None)
    taken = prior_height(unit_of[again]) if stated else 0.0
    log_prior = np.append(found.log_prior, np.array(log_z) - evidence[again] - taken)
    log_post = normalise(log_prior + temper * evidence)
    best = np.argsort(-log_post, kind="stable")[:most]
    best = best[log_post[best] >= np.log(MIN_MODEL_POSTERIOR)]
    chosen = [models[n] for n in best.tolist()]
    kernels, noises = tuple(kernel for kernel, _ in chosen), np.array([lam for _, lam in chosen])
    return ModelSelection(kernels, noises, unit_of[best], log_prior[best], found.fitted)


def _likeliest(
    kernel: Kernel, noise: float, X: Array, y: Array, noise_var: Array
) -> tuple[Kernel, float]:
    """The likeliest start of a fit: a selected kernel or a longer one, with its noise or more."""
    ell = np.asarray(kernel.length_scale)
    longer = [
        replace(kernel, length_scale=(factor * ell).tolist()) for factor in LENGTH_SCALE_FACTORS
    ]
    ratios = [noise, *(ratio for ratio in NOISE_RATIO_STARTS if ratio > noise)]
    evidence, _ = log_evidence_grid(longer, ratios, X, y, noise_var)
    n, r = np.unravel_index(int(np.argmax(evidence)), evidence.shape)
    return longer[int(n)], ratios[int(r)]


def _starts(found: ModelSelection) -> list[tuple[Kernel, float]]:
    """The first expert of each selected family, and of both families of the grid."""
    first, noise = found.kernels[0], float(found.noise[0])
    starts: dict[str, tuple[Kernel, float]] = {}
    for kernel, lam in zip(found.kernels, found.noise.tolist(), strict=True):
        starts.setdefault(kernel.family, (kernel, lam))
    for family in GRID_FAMILIES if first.family in GRID_FAMILIES else ():
        other = replace(first, family=family)
        starts.setdefault(family, (other, noise))
    return list(starts.values())
