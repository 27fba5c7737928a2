"""Select the experts for a set of labels, the labels that are wrong, and the warp of the labels.

A function of the set of labels: neither their order nor an earlier selection matters. With given
kernels all of it follows from the labels of the first fit; without, the experts follow the labels
(`core.extensions.model_selection`) and are selected again now and then (`training`).

Warp (`core.extensions.label_warp`): never, always, or where it makes the labels more probable. With
z the warped labels, and the evidence p of experts with their magnitude integrated out,

    log p(y | warped) = log p(z) + sum_i log dz_i/dy_i        log p(y | identity) = log p(y)

Both are averaged over every second kernel and noise ratio of the grid. A warp has to be better by
MIN_WARP_EVIDENCE_NATS, with MIN_LABELS_FOR_WARP labels or more: fewer look skewed by chance, and
warping smooth functions costs decades of accuracy. Labels that are nearly all equal but for a few
(MAX_WARPED_RANGE) are not warped either. With given experts "auto" is never.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weal.core.arrays import Array, logsumexp
from weal.core.constants import (
    FEW_LABELS,
    FITTED_FREEDOM,
    FITTED_FREEDOM_NOISE,
    MAX_EXPERTS,
    NOISE_RATIO_GRID,
)
from weal.core.extensions import model_selection
from weal.core.extensions.conjugate_magnitude import ConjugateMagnitude
from weal.core.extensions.embeddings import EncodedFeatures
from weal.core.extensions.integrated_evidence import log_evidence_grid
from weal.core.extensions.label_noise import expected_units, prior_variance_of_difference
from weal.core.extensions.label_warp import IDENTITY_WARP, LabelWarp, fit_warp
from weal.core.extensions.model_selection import ModelSelection
from weal.core.extensions.noise_hypotheses import Labels
from weal.core.extensions.outliers import decision, new_labels, prior
from weal.core.extensions.outliers.prior import NO_OUTLIERS, OutlierReport
from weal.core.hashing import least_hashes
from weal.core.one_hot import Widths
from weal.core.paper import marginal_likelihood
from weal.core.paper.ensemble import Ensemble, normalise
from weal.core.paper.fixed_magnitude import FixedMagnitude
from weal.core.paper.kernels import Kernel
from weal.core.protocols import NoiseVariances
from weal.core.scaling import location_scale
from weal.model import expert_kind, noise_selection
from weal.model.checks import check_fixed, check_prior_weights
from weal.model.expert_kind import SelectedPrior, _correlations, _embedding
from weal.model.noise_selection import NoiseCase
from weal.model.parameters import (
    ModelParameters,
    columns_of_inputs,
    encoded_experts,
    given_magnitudes,
    kernels_of,
)

MIN_WARP_EVIDENCE_NATS = 10.0  # nats
MIN_LABELS_FOR_WARP = 30  # labels from which "auto" may warp

# Largest distance of a label from the median, in spreads of the warp, with which "auto" warps. The
# means of wider labels are exponential in a number that is uncertain. x exp(-x^2 - z^2) on
# [-2, 6]^2, 30 to 60 labels: 15 of 18 fits were warped, with 900 to 6 million spreads, and NMSE was
# larger by 1 to 11 decades in nine. Labels of 49 tables reach 55 spreads, those of one 300.
MAX_WARPED_RANGE = 300.0


def choose_warp(
    mode: str | None, X: Array, y: Array, noise_var: Array, widths: Widths = (),
    widest: float = MAX_WARPED_RANGE,
) -> LabelWarp:  # fmt: skip
    """The warp of scaled labels y (t,) at X (t, d) with noise variances noise_var (t,).

    "auto" does not warp labels farther than `widest` spreads from their median.
    """
    warp = (
        fit_warp(y)
        if mode == "asinh" or (mode == "auto" and len(y) >= MIN_LABELS_FOR_WARP)
        else IDENTITY_WARP
    )
    if mode == "asinh" or not warp.spread:
        return warp
    if float(np.abs(y - warp.median).max()) > widest * warp.spread:
        return IDENTITY_WARP
    known = (X, y, noise_var)
    gain = _log_evidence(warp, *known, widths) - _log_evidence(IDENTITY_WARP, *known, widths)
    return warp if gain > MIN_WARP_EVIDENCE_NATS else IDENTITY_WARP


def _log_evidence(warp: LabelWarp, X: Array, y: Array, noise_var: Array, widths: Widths) -> float:
    """Log density of labels y (t,), up to a constant that both warps share."""
    z, noise = warp.labels(y), warp.variances(noise_var, y)
    kernels = model_selection.candidate_grid(X.shape[1], widths)[::2]
    ratios = NOISE_RATIO_GRID[::2]
    unit = float(np.var(z)) or 1.0
    each = log_evidence_grid(kernels, ratios, X, z / unit**0.5, noise / unit)[0]
    slope = float(warp.log_slope(y).sum()) - 0.5 * len(y) * float(np.log(unit))
    return float(logsumexp(each)) + slope


# Labels that the marginal likelihood looks at; what it finds is fitted again to half of the labels,
# this many at most. At 1,500 labels, noise 10 %, NMSE was lower by 8 % (se 2) with 600 and by
# 12 % (2) with 1,000 than with 300, for 2.4, 6.5 and 0.7 s; three functions, two seeds.
EVIDENCE_LABELS, REFINED_LABELS = 300, 1000


@dataclass(frozen=True, slots=True, eq=False)
class ExpertSelection:
    """Selected experts with the magnitude integrated out, before the first label."""

    dictionary: tuple[Kernel, ...]  # M
    noise: Array  # (M,)  lam
    log_w: Array  # (M,)
    variance: float  # of labels that the priors of their magnitudes are measured by
    warp: LabelWarp  # of the labels that they see
    unit: Array  # (M,)  that the noise of labels is measured by (`core.extensions.label_noise`)
    outliers: OutlierReport = NO_OUTLIERS  # of the labels that they were picked for
    field: NoiseVariances | None = None  # varying noise; None: noise is even
    varies: Array | None = None  # (M,)  1 for experts with that noise, else 0


def select(
    setting: ModelParameters, X: Array, y: Array, noise_var: Array, sure: Array | None = None,
    label_zero: float = np.nan,
) -> ExpertSelection:  # fmt: skip
    """The experts: all kernels of the user, or a selection by these labels."""
    if setting.finds_outliers:
        return select_with_outliers(
            setting, X, y, noise_var, np.zeros(len(y)) if sure is None else sure, label_zero
        )
    found, ratios = kernels_of(setting, X.shape[1]), tuple(setting.noise_ratios)
    warp = select_warp(setting, X, y, noise_var)
    if not setting.adaptive:
        dictionary = tuple(kernel for kernel in found for _ in ratios)
        unit = _units_before(setting, found, X).ravel()
        log_w = check_prior_weights(setting.prior_weights, len(unit))
        noise = np.tile(ratios, len(unit) // len(ratios))
        return ExpertSelection(dictionary, noise, log_w, 1.0, warp, unit)
    rows = evidence_rows(X, y, noise_var)
    z, noise = warp.labels(y), warp.variances(noise_var, y)
    variance = _variance(z)
    best = _select_models(setting, X[rows], z[rows], noise[rows], variance, warp)
    best = _refit_selection(setting, best, X, z, noise, variance)
    selected = _to_selection(best, variance, warp, NO_OUTLIERS)
    none_wrong = OutlierReport(np.zeros(len(y)), np.zeros(len(y), dtype=np.bool_))
    labels = (X, z, noise)
    return _with_varying_noise(setting, selected, best, labels, np.ones(len(y)), none_wrong)


def _units_before(setting: ModelParameters, found: tuple[Kernel, ...], X: Array) -> Array:
    """Units (experts, ratios) before any label, of kernels or of encoded features X."""
    if found:
        varied = [prior_variance_of_difference(kernel, X.shape[1]) for kernel in found]
    else:
        Phi = EncodedFeatures(encoded_experts(setting, X.shape[1])).points(None, X)  # (M, t, F)
        varied = np.where(len(X) > 1, Phi.var(axis=1).sum(axis=1), 1.0).tolist()
    return expected_units(varied, setting.noise_ratios)


def select_with_outliers(
    setting: ModelParameters,
    X: Array,
    y: Array,
    noise_var: Array,
    sure: Array,
    label_zero: float = np.nan,
) -> ExpertSelection:
    """The selection by labels that may be wrong: outliers have no influence.

    The included labels decide on a warp, or a few wrong ones would pass for a long tail; where none
    is wrong, outliers are sought again among the warped labels.
    """
    labels, far = (X, y, noise_var), prior.gross_outliers(y, sure)
    auto = setting.warp == "auto"
    warp = IDENTITY_WARP if auto else select_warp(setting, *(part[~far] for part in labels))
    outliers, best, variance = _find_outliers(setting, warp, labels, sure, label_zero)
    after = select_warp(setting, *(part[~outliers.wrong] for part in labels))
    if auto and after != warp and not outliers.wrong.any():
        warp = after
        outliers, best, variance = _find_outliers(setting, warp, labels, sure)
        after = select_warp(setting, *(part[~outliers.wrong] for part in labels))
    kept, z, noise = ~outliers.wrong, after.labels(y), after.variances(noise_var, y)
    if after != warp:
        rows, variance = evidence_rows(X, y, noise_var), _variance(z[kept])
        right = kept[rows]
        seen = (X[rows][right], z[rows][right], noise[rows][right])
        best = _select_models(setting, *seen, variance, after)
        if outliers.prior.s:
            outliers = replace(outliers, prior=prior.outlier_prior(z[kept]))
    best = _refit_selection(setting, best, X[kept], z[kept], noise[kept], variance)
    found = _to_selection(best, variance, after, outliers)
    return _with_varying_noise(setting, found, best, (X, z, noise), sure, outliers)


def _find_outliers(
    setting: ModelParameters, warp: LabelWarp, labels: tuple[Array, Array, Array], sure: Array,
    label_zero: float = np.nan,
) -> tuple[OutlierReport, ModelSelection, float]:  # fmt: skip
    """The outliers among warped labels, and the experts that the others select.

    Of more than EVIDENCE_LABELS labels, the experts selected by a sample judge the others.
    Warped labels have no decimal slips (`label_zero`).
    """
    X, y, noise_var = labels
    far, rows = prior.gross_outliers(y, sure), evidence_rows(*labels)
    z, noise = warp.labels(y), warp.variances(noise_var, y)
    x, z_rows, noise_rows = X[rows], z[rows], noise[rows]
    elsewhere = np.ones(len(y), dtype=np.bool_)
    elsewhere[rows] = False
    label_zero = label_zero if warp == IDENTITY_WARP else np.nan

    def select_for(kept: prior.Mask, more: LabelWarp) -> tuple[ModelSelection, float]:
        right = ~far
        right[rows] = kept
        variance = _variance(more.labels(z[right]))
        seen, noise = more.labels(z_rows[kept]), more.variances(noise_rows[kept], z_rows[kept])
        both = warp if more == IDENTITY_WARP else more
        return _select_models(setting, x[kept], seen, noise, variance, both), variance

    widths = columns_of_inputs(setting, X.shape[1])
    found = decision.find_outliers(
        x, z_rows, noise_rows, sure[rows], select_for, label_zero, widths
    )
    outliers = found.outliers
    if elsewhere.any():
        known, every = (x, z_rows, noise_rows), (X, z, noise)
        others = new_labels.new_label_log_odds(found, known, every, elsewhere, label_zero)
        outliers = new_labels.condition_on(outliers, rows, others, elsewhere, sure)
    return outliers, found.selection, found.variance


def _refit_selection(
    setting: ModelParameters,
    best: ModelSelection,
    X: Array,
    z: Array,
    noise: Array,
    variance: float,
) -> ModelSelection:
    """The selection with lengthscales fitted to more of the labels, where there are many."""
    fitted_to = _refit_labels(len(z))
    if fitted_to <= EVIDENCE_LABELS:
        return best
    more = evidence_rows(X, z, noise, most=fitted_to)
    known = (X[more], z[more] / np.sqrt(variance), noise[more] / variance)
    most = expert_kind.most_experts(len(z))
    widths = columns_of_inputs(setting, X.shape[1])
    return model_selection.refit_selection(best, *known, most, setting.temper, widths)


def _refit_labels(t: int) -> int:
    """Number of labels that lengthscales are fitted to, of t: at least EVIDENCE_LABELS."""
    return max(EVIDENCE_LABELS, min(REFINED_LABELS, t // 2))


def _select_models(
    setting: ModelParameters, X: Array, z: Array, noise: Array, variance: float, warp: LabelWarp,
    coarse: bool = False,
) -> ModelSelection:  # fmt: skip
    """The selection of experts; a coarse one uses every second kernel and noise ratio.

    It has neither subsets of the inputs nor a trend: it is for labels whose noise varies, where
    they take a third of the time.

    Labels that are warped have no trend class: a line in warped labels is exponential in labels,
    and rows far from the data were predicted at seven times the largest label.
    """
    found, ratios = kernels_of(setting, X.shape[1]), tuple(setting.noise_ratios)
    if coarse:
        found, ratios = found[::2], ratios[::2]
    known = (X, z / np.sqrt(variance), noise / variance)
    additive = setting.approximation != "features"  # anova has none
    more = not (setting.is_of_0_2 or coarse)
    return model_selection.select_models(
        found,
        ratios,
        *known,
        temper=setting.temper,
        additive=additive,
        trend=more and warp == IDENTITY_WARP,
        subsets=more,
    )


def _to_selection(
    best: ModelSelection, variance: float, warp: LabelWarp, outliers: OutlierReport
) -> ExpertSelection:
    log_w, unit = normalise(best.log_prior), variance * best.unit
    return ExpertSelection(best.kernels, best.noise, log_w, variance, warp, unit, outliers)


def _with_varying_noise(
    setting: ModelParameters, found: ExpertSelection, best: ModelSelection,
    labels: tuple[Array, Array, Array], sure: Array, outliers: OutlierReport,
) -> ExpertSelection:  # fmt: skip
    """The selection, with experts of varying noise beside those of even noise if that is likely.

    `labels` are inputs, warped labels and their noise variances.
    """
    (X, z, noise), variance = labels, found.variance
    if setting.is_of_0_2 or not noise_selection.may_vary(z[~outliers.wrong]):
        return found
    in_units = Labels(X, z / np.sqrt(variance), noise / variance)

    def select_again(noisy: Labels) -> tuple[ModelSelection, Any]:
        rows, more = evidence_rows(*noisy), _refit_labels(len(noisy.y))
        again = _select_models(setting, *noisy.at(rows), 1.0, found.warp, coarse=True)
        if more <= EVIDENCE_LABELS:
            return again, rows
        return _refit_selection(setting, again, *noisy, 1.0), evidence_rows(*noisy, most=more)

    weighed = noise_selection.weigh(
        best, NoiseCase.of(in_units, outliers, variance, sure), select_again,
        lambda some, most: np.arange(len(some.y))[evidence_rows(*some, most=most)],
        setting.temper, min(MAX_EXPERTS, expert_kind.most_experts(len(z))),
    )  # fmt: skip
    if weighed is None:
        return found
    both, report = weighed
    return ExpertSelection(
        both.kernels, both.noise, normalise(both.log_prior), variance, found.warp,
        variance * both.unit, report if len(found.outliers) else NO_OUTLIERS,
        both.field.scaled(variance), both.varies,
    )  # fmt: skip


def select_warp(setting: ModelParameters, X: Array, y: Array, noise_var: Array) -> LabelWarp:
    """The warp of labels: by evidence if experts are selected, else as given."""
    mode = None if setting.warp == "auto" and not setting.adaptive else setting.warp
    rows = evidence_rows(X, y, noise_var)
    widths = columns_of_inputs(setting, X.shape[1])
    widest = np.inf if setting.is_of_0_2 else MAX_WARPED_RANGE
    return choose_warp(mode, X[rows], y[rows], noise_var[rows], widths, widest)


def _variance(y: Array) -> float:
    """Variance of labels, the unit of the prior of magnitudes; 1 if they are equal.

    Those of the first fit have 1, but may have been one label, or all the same by chance.
    """
    _, (sd,) = location_scale(y[:, None])
    return float(sd) ** 2 or 1.0


def evidence_rows(*parts: Array, most: int | None = None) -> Any:
    """The rows that evidence is computed on: all, or a sample by hash of their content.

    A hash of what is in a row, so that they depend on the set of labels and not on their order.
    """
    t = len(parts[0])
    most = EVIDENCE_LABELS if most is None else most
    if t <= most:
        return slice(None)
    return least_hashes(np.column_stack(parts), most)


LENGTH_BOUNDS = (1e-5, 1e5)  # of a fitted lengthscale, scikit-learn's default


def make_prior(
    setting: ModelParameters, X: Array, y: Array, noise_var: Array, seed: int,
    sure: Array | None = None, label_zero: float = np.nan,
) -> SelectedPrior:  # fmt: skip
    """The prior for labels y (t,) at scaled inputs X (t, d), with noise variances noise_var (t,).

    Labels that are `sure` (t,) are believed; others may turn out to be wrong.
    """
    if setting.integrates_magnitude:
        return select_models(setting, select(setting, X, y, noise_var, sure, label_zero), X, seed)
    rows, warp = evidence_rows(X, y, noise_var), select_warp(setting, X, y, noise_var)
    y, noise_var = warp.labels(y), warp.variances(noise_var, y)
    dictionary = kernels_of(setting, X.shape[1])
    M = len(dictionary) or encoded_experts(setting, X.shape[1])
    log_w = check_prior_weights(setting.prior_weights, M)
    magnitude = check_fixed("magnitude", given_magnitudes(setting), M)
    noise = _variances(check_fixed("noise", setting.noise, M))
    if setting.fit_length_scale:
        known = (X[rows], y[rows], noise_var[rows])
        dictionary = _with_fitted_lengths(setting, dictionary, magnitude, noise, *known)
    if magnitude is None or noise is None:
        K = _correlations(dictionary, X[rows], M)
        bounds = (setting.magnitude_bounds, setting.noise_variance_bounds)
        # [1, set:hyperparameters]
        fitted = marginal_likelihood.fit_hyperparameters(
            K, y[rows], noise_var[rows], *bounds, magnitude, noise
        )
        magnitude, noise = fitted.magnitude, fitted.noise
    ratio = noise / magnitude  # [1, eq:LF], a noise for each expert
    embedding = _embedding(setting, dictionary, ratio, X, seed)
    experts = embedding.prior_experts(dictionary, X.shape[1], M)
    # [1, eq:EGP_prior]
    ensemble = Ensemble(experts, log_w, FixedMagnitude(magnitude), ratio, setting.temper)
    return SelectedPrior(dictionary, embedding, ensemble, warp)


def select_models(
    setting: ModelParameters, selection: ExpertSelection, X: Array, seed: int
) -> SelectedPrior:
    """The prior of the selected experts, for labels at X (t, d)."""
    M, d = len(selection.noise), X.shape[1]
    embedding = _embedding(setting, selection.dictionary, selection.noise, X, seed)
    experts = embedding.prior_experts(selection.dictionary, d, M)
    spent = _fitted_freedom(selection, len(X)) if setting.groups_columns else None
    scale = ConjugateMagnitude.prior(M, selection.variance, selection.unit, spent)
    ensemble = Ensemble(
        experts, selection.log_w, scale, selection.noise, setting.temper, selection.field,
        selection.varies,
    )  # fmt: skip
    return SelectedPrior(
        selection.dictionary, embedding, ensemble, selection.warp, selection.outliers
    )


def _fitted_freedom(selection: ExpertSelection, t: int) -> Array:  # (M,)
    """Labels that the fit of kernel parameters to t labels has spent, by the noise of an expert."""
    share = selection.noise * selection.unit / selection.variance
    if selection.varies is not None:
        share = share + selection.varies
    spent = FITTED_FREEDOM * share / (share + FITTED_FREEDOM_NOISE)
    return np.maximum(spent, FITTED_FREEDOM * min(FEW_LABELS / t, 1.0))


def _variances(sd: Array | None) -> Array | None:
    """Standard deviations as variances."""
    return None if sd is None else sd**2


def _with_fitted_lengths(
    setting: ModelParameters, dictionary: tuple[Kernel, ...], magnitude: Array | None,
    noise: Array | None, X: Array, y: Array, noise_var: Array,
) -> tuple[Kernel, ...]:  # fmt: skip
    """The kernels, each with its maximum-likelihood lengthscale; given values are fixed."""
    fitted = []
    for m, kernel in enumerate(dictionary):
        magnitudes = setting.magnitude_bounds if magnitude is None else (magnitude[m],) * 2
        noises = setting.noise_variance_bounds if noise is None else (noise[m],) * 2
        bounds = (magnitudes, noises, LENGTH_BOUNDS)
        fitted.append(marginal_likelihood.fit_length_scale(kernel, X, y, *bounds, noise_var))
    return tuple(fitted)
