"""Model selection: keep the experts with non-negligible posterior probability.

Candidates are a grid (family, one lengthscale, noise ratio) and kernels with one lengthscale for
each input, fitted to the labels (`ard`), in a family of the grid, in anova (`anova_kernel`) or in
trend (`trend_kernel`). The classes of candidates have prior probabilities:

    subsets of inputs      SUBSET_SHARE, from MIN_INPUTS inputs on (`relevant_inputs`); the others
                           divide the rest; its odds are limited (`max_subset_odds`)
    trend                  TREND_SHARE; the others divide the rest
    anova                  1 - (1 - ANOVA_SHARE)^(d - 1)   none with one input
    one for each input     FITTED_SHARE of the rest        evenly over the families
    grid                   the remainder, evenly over the kernels
    one for each level     LEVELS_SHARE of all             where there are categories, in at most
                                                           MAX_LEVEL_COLUMNS columns

All share one prior of the noise ratio (`ard.noise_prior`), or a class would gain or lose by the
noise of the labels. Evidence, Laplace's for fitted kernels, gives posterior probabilities;
posterior points represent each peak (`posterior_points`).

Experts with a posterior of MIN_MODEL_POSTERIOR or more are selected, MAX_EXPERTS at most, and
always the best expert of every class with that posterior. They get the posterior of dropped experts
of their class, since the grid spreads its mass over many. Their log prior makes their weights,
after all labels, equal to these posteriors. The result is a function of the set of labels alone.

Many labels. A fit of one lengthscale for each input factorises some forty t x t matrices, so
selection uses a sample of the labels. Then the best expert of each selected family, and of the
other family of the grid, is fitted again to more labels, and experts are compared by log prior plus
log evidence, with Laplace's penalty log Z - log evidence as the log prior of a fitted one. A
function that varies too fast may interpolate few labels, and a fit that starts there stays there.
So a fit starts from the most probable of several longer lengthscales and larger noises.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array, logsumexp
from weal.core.constants import (
    ANOVA_RATIO,
    ANOVA_SHARE,
    ANOVA_START,
    FIT_ROUNDS,
    FITTED_SHARE,
    FORWARD_RATIO,
    GRID_FAMILIES,
    GRID_LENGTHS,
    IRRELEVANT,
    LEVELS_SHARE,
    MANY_INPUTS,
    MAX_EXPERTS,
    MIN_LABELS_FOR_ARD,
    MIN_MODEL_POSTERIOR,
    OFFSET_VARIANCE,
    TREND_SHARE,
    TREND_STRENGTH,
)
from weal.core.extensions.anova_kernel import ANOVA
from weal.core.extensions.ard import EvidencePeak, fit, forward, noise_prior, start_loss
from weal.core.extensions.integrated_evidence import evidence_constant, log_evidence_grid
from weal.core.extensions.label_noise import prior_height, units
from weal.core.extensions.level_lengths import (
    MAX_LEVEL_COLUMNS,
    level_candidates,
    level_parameters,
)
from weal.core.extensions.posterior_points import (
    CandidateModel,
    CandidateModels,
    concat_candidates,
    point_candidates,
    prior_correction,
)
from weal.core.extensions.relevant_inputs import (
    MIN_INPUTS,
    SUBSET_SHARE,
    fit_relevant,
    max_subset_odds,
    subset_candidates,
)
from weal.core.extensions.trend_kernel import TREND, log_visible_share
from weal.core.one_hot import Widths
from weal.core.paper.ensemble import normalise
from weal.core.paper.kernels import Kernel, dictionary

MAX_TREND_LOSS_NATS = 6.0  # that a trend may cost before its parameters are fitted


@dataclass(frozen=True, slots=True, eq=False)
class ModelSelection:
    """The selected experts."""

    kernels: tuple[Kernel, ...]  # H
    noise: Array  # (H,)  lam
    unit: Array  # (H,)  of stated noise variances
    log_prior: Array  # (H,)  their log weights before the first label, not normalised
    fitted: float  # posterior of the classes with one lengthscale for each input


def candidate_grid(d: int, widths: Widths = ()) -> tuple[Kernel, ...]:
    """The kernels of the grid for d columns, which are inputs of these widths (`core.one_hot`)."""
    G = len(widths) or d
    plain = dictionary(GRID_FAMILIES, [length * G**0.5 for length in GRID_LENGTHS])
    return tuple(Kernel(k.family, k.length_scale, k.alpha, OFFSET_VARIANCE, widths) for k in plain)


def select_models(
    kernels: Sequence[Kernel], ratios: Sequence[float], X: Array, y: Array, noise_var: Array,
    relevance: bool = True, temper: float = 1.0, additive: bool = True, trend: bool = True,
    subsets: bool = True,
) -> ModelSelection:  # fmt: skip
    """The selected experts for labels y (t,) at X (t, d) with noise variances noise_var (t,).

    Where evidences are raised to the power `temper` (`ensemble`), posteriors are too.
    Without `additive` anova is left out, for experts that are not exact; without `trend` and
    `subsets` (`relevant_inputs`) the classes of these names. Labels whose noise has no bound carry
    no information, and have to be removed.
    """
    if not np.isfinite(noise_var).all():
        raise ValueError("a noise variance is not finite; remove labels with infinite noise")
    evidence, unit = log_evidence_grid(kernels, ratios, X, y, noise_var)  # (kernels, ratios)
    on_grid = evidence - prior_correction(unit, noise_var) + _noise_shares(ratios, noise_var)
    models = [(kernel, ratio) for kernel in kernels for ratio in ratios]
    parts = [CandidateModels(models, evidence.ravel(), unit.ravel(), on_grid.ravel())]
    shares, found = [1.0 / len(kernels)], None
    if relevance and len(y) >= MIN_LABELS_FOR_ARD:
        d, widths = kernels[0].n_inputs(X.shape[1]), kernels[0].widths
        anova_share = 1.0 - (1.0 - ANOVA_SHARE) ** (d - 1) if additive else 0.0
        peaks = _peaks(kernels, ratios, on_grid, X, y, noise_var)
        shares = [(1.0 - anova_share) * (1.0 - FITTED_SHARE) / len(kernels)]
        shares.append((1.0 - anova_share) * FITTED_SHARE / len(peaks))
        parts.append(concat_candidates([point_candidates(peak, X, y, noise_var) for peak in peaks]))
        if anova_share:
            anova = Kernel(ANOVA, ANOVA_START, d**-0.5, OFFSET_VARIANCE, widths)
            start = (anova, ANOVA_RATIO)
            parts.append(point_candidates(_fit_peak(start, X, y, noise_var), X, y, noise_var))
            shares.append(anova_share)
        if widths and X.shape[1] <= MAX_LEVEL_COLUMNS:
            parts.append(level_candidates(peaks, X, y, noise_var))
            shares = [(1.0 - LEVELS_SHARE) * share for share in shares]
            shares.append(LEVELS_SHARE / len(peaks))
        if trend:
            _add_class(parts, shares, _trend_models(peaks, X, y, noise_var), TREND_SHARE)
        if subsets and d >= MIN_INPUTS:
            best = max(
                float(part.log_post.max()) + np.log(share)
                for part, share in zip(parts, shares, strict=True)
            ) + np.log((1.0 - SUBSET_SHARE) / SUBSET_SHARE)
            found = subset_candidates(peaks, float(best), X, y, noise_var)
            _add_class(parts, shares, found, SUBSET_SHARE)
    kind = np.repeat(np.arange(len(parts)), [len(part.models) for part in parts])
    every, of_subsets = concat_candidates(parts), -1 if found is None else len(parts) - 1
    most = float(np.log(max_subset_odds(len(y))))
    return _best(every, every.log_post + np.log(shares)[kind], kind, temper, of_subsets, most)


def _add_class(
    parts: list[CandidateModels], shares: list[float], found: CandidateModels | None, share: float
) -> None:
    """Add a class with a prior share; None if it has no candidate worth the time."""
    if found is not None:
        parts.append(found)
        shares[:] = [*((1.0 - share) * other for other in shares), share]


def _best(
    every: CandidateModels, log_post: Array, kind: NDArray[np.intp], temper: float,
    of_subsets: int, max_log_odds: float,
) -> ModelSelection:  # fmt: skip
    """The candidates with the largest posteriors, for log posteriors (n,) and classes (n,).

    The log odds of the class `of_subsets` are limited to `max_log_odds`; -1: there is none.
    """
    log_prior = log_post - every.evidence
    log_post = normalise(log_prior + temper * every.evidence)
    too_much = _excess(log_post, kind == of_subsets, max_log_odds)
    log_prior = log_prior - too_much
    log_post = normalise(log_post - too_much)
    best = _select_experts(log_post, kind)
    chosen = [every.models[n] for n in best.tolist()]
    return ModelSelection(
        tuple(kernel for kernel, _ in chosen),
        np.array([ratio for _, ratio in chosen]),
        every.unit[best],
        log_prior[best] + _redistributed_log_weight(log_post, best, kind),
        float(np.exp(log_post[kind > 0]).sum()),
    )


def _excess(log_post: Array, of_subsets: NDArray[np.bool_], max_log_odds: float) -> Array:  # (n,)
    """Log posterior that a class has beyond its largest odds, for its candidates; 0 for others.

    A chain of nested subsets has few of all subsets, and Laplace's evidence of a smooth function on
    few labels overstates their probability. Experts of all inputs widen intervals where they
    disagree, and cost little where they agree.
    """
    if not of_subsets.any():
        return np.zeros(len(log_post))
    odds = logsumexp(log_post[of_subsets]) - logsumexp(log_post[~of_subsets])
    return np.where(of_subsets, max(float(odds) - max_log_odds, 0.0), 0.0)


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

    With MANY_INPUTS inputs or more, also from the kernel of `forward`: where few inputs matter, a
    kernel with one lengthscale for all may explain labels by noise alone, and so would a fit from
    it.
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


def _trend_models(
    peaks: Sequence[EvidencePeak], X: Array, y: Array, noise_var: Array
) -> CandidateModels | None:
    """The class with a linear trend, fitted from the most probable peak without one.

    None if a trend at that peak makes the labels less likely by MAX_TREND_LOSS_NATS: for example
    labels of a smooth function without noise, which a Matern kernel of deviations fits worse.
    """
    best = max(peaks, key=lambda peak: peak.log_z)
    kernel = replace(best.kernel, family=TREND, alpha=TREND_STRENGTH)
    noise = best.noise * float(np.exp(log_visible_share(np.log(TREND_STRENGTH))[0]))
    if -start_loss(kernel, noise, X, y, noise_var / best.unit) < best.height - MAX_TREND_LOSS_NATS:
        return None
    return point_candidates(_fit_peak((kernel, noise), X, y, noise_var), X, y, noise_var)


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


LENGTH_SCALE_FACTORS, NOISE_RATIO_STARTS = (
    (1.0, 2.0),
    (1e-4, 1e-3, 1e-2, 1e-1),
)  # lengthscales by factors, and noise ratios


def refit_selection(
    found: ModelSelection, X: Array, y: Array, noise_var: Array, most: int, temper: float = 1.0,
    widths: Widths = (),
) -> ModelSelection:  # fmt: skip
    """A selection of `most` experts, with lengthscales and noise refitted to labels y (t,) at X.

    `widths` are the columns of each input; an expert without them has one for each level.
    """
    stated = bool(noise_var.any())
    models = list(zip(found.kernels, found.noise.tolist(), strict=True))
    log_z: list[float] = []
    for known in _starts(found):
        kernel, noise = _likeliest(*known, X, y, noise_var)
        unit = float(units([kernel], [noise], X, y, noise_var)[0, 0]) if stated else 1.0
        prior = level_parameters(kernel, widths) if widths and not kernel.widths else None
        kernel, noise, height = fit_relevant(kernel, noise, X, y, noise_var / unit, prior)
        models.append((kernel, noise))
        log_z.append(height + evidence_constant(len(y)))
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
    """The most probable start of a fit: a selected kernel or a longer one, with its noise or
    more.
    """
    ell = np.asarray(kernel.length_scale)
    longer = [
        replace(kernel, length_scale=np.where(ell < IRRELEVANT, factor * ell, ell).tolist())
        for factor in LENGTH_SCALE_FACTORS
    ]
    ratios = [noise, *(ratio for ratio in NOISE_RATIO_STARTS if ratio > noise)]
    evidence, _ = log_evidence_grid(longer, ratios, X, y, noise_var)
    n, r = np.unravel_index(int(np.argmax(evidence)), evidence.shape)
    return longer[int(n)], ratios[int(r)]


def _starts(found: ModelSelection) -> list[tuple[Kernel, float]]:
    """The first expert of each selected family, and of both families of the grid.

    With exchangeable levels and with a lengthscale for each level, a family counts as two.
    """
    first, noise = found.kernels[0], float(found.noise[0])
    starts: dict[tuple[str, Widths], tuple[Kernel, float]] = {}
    for kernel, lam in zip(found.kernels, found.noise.tolist(), strict=True):
        starts.setdefault((kernel.family, kernel.widths), (kernel, lam))
    for family in GRID_FAMILIES if first.family in GRID_FAMILIES else ():
        other = replace(first, family=family)
        starts.setdefault((family, other.widths), (other, noise))
    return list(starts.values())
