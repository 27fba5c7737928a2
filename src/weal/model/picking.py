"""Which experts play for these labels, which labels are wrong, and how labels are bent.

A function of the set of labels: neither their order nor experts that were picked before decide.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weal.core.arrays import Array
from weal.core.extensions import model_selection
from weal.core.extensions.embeddings import Encoded
from weal.core.extensions.label_noise import expected_units, varying
from weal.core.extensions.label_warp import STRAIGHT, Bend
from weal.core.extensions.model_selection import Lineup
from weal.core.extensions.outliers import decision, new_labels, prior
from weal.core.extensions.outliers.prior import NO_DOUBT, Doubt
from weal.core.paper.ensemble import normalise
from weal.core.paper.kernels import Kernel
from weal.core.scaling import location_scale
from weal.model import approximation, warping
from weal.model.approximation import least_hashes
from weal.model.checks import check_prior_weights
from weal.model.setting import Setting, encoded_experts, kernels_of

# Labels that the marginal likelihood looks at; what it finds is fitted again to half of the labels,
# this many at the most. At 1,500 labels, noise 10 %, NMSE was lower by 8 % (se 2) with 600 and by
# 12 % (2) with 1,000 than with 300, for 2.4, 6.5 and 0.7 s; three functions, two seeds.
EVIDENCE_LABELS, REFINED_LABELS = 300, 1000


@dataclass(frozen=True, slots=True, eq=False)
class Settled:
    """Experts with their magnitude integrated out, before the first label."""

    dictionary: tuple[Kernel, ...]  # M
    noise: Array  # (M,)  lam
    log_w: Array  # (M,)
    variance: float  # of labels that the priors of their magnitudes are measured by
    bend: Bend  # of the labels that they see
    unit: Array  # (M,)  that the noise of labels is measured by (`core.extensions.label_noise`)
    doubt: Doubt = NO_DOUBT  # of the labels that they were picked for


def pick(
    setting: Setting, X: Array, y: Array, extra: Array, sure: Array | None = None,
    zero: float = np.nan,
) -> Settled:  # fmt: skip
    """The experts that play: all of the user's, or the best of ours for these labels."""
    if setting.doubting:
        return doubting(setting, X, y, extra, np.zeros(len(y)) if sure is None else sure, zero)
    found, ratios = kernels_of(setting, X.shape[1]), tuple(setting.noise_ratios)
    bend = bend_of(setting, X, y, extra)
    if not setting.adaptive:
        dictionary = tuple(kernel for kernel in found for _ in ratios)
        unit = _units_before(setting, found, X).ravel()
        log_w = check_prior_weights(setting.prior_weights, len(unit))
        noise = np.tile(ratios, len(unit) // len(ratios))
        return Settled(dictionary, noise, log_w, 1.0, bend, unit)
    rows, z, noise = evidence_rows(X, y, extra), bend.labels(y), bend.variances(extra, y)
    variance = _variance(z)
    best = _chosen(setting, X[rows], z[rows], noise[rows], variance)
    best = _refined(setting, best, X, z, noise, variance)
    return _settled(best, variance, bend, NO_DOUBT)


def _units_before(setting: Setting, found: tuple[Kernel, ...], X: Array) -> Array:
    """Units (experts, ratios) before any label, of kernels or of the features that X holds."""
    if found:
        varied = [varying(kernel, X.shape[1]) for kernel in found]
    else:
        Phi = Encoded(encoded_experts(setting, X.shape[1])).points(None, X)  # (M, t, F)
        varied = np.where(len(X) > 1, Phi.var(axis=1).sum(axis=1), 1.0).tolist()
    return expected_units(varied, setting.noise_ratios)


def doubting(
    setting: Setting, X: Array, y: Array, extra: Array, sure: Array, zero: float = np.nan
) -> Settled:
    """The same where labels may be wrong: those that are have no say in anything here.

    Whether labels are bent is asked of those believed as they are, or a few wrong ones would pass
    for a long tail; bent ones of which none was wrong are judged once more.
    """
    labels, far = (X, y, extra), prior.gross(y, sure)
    auto = setting.warp == "auto"
    bend = STRAIGHT if auto else bend_of(setting, *(part[~far] for part in labels))
    doubt, best, variance = _judged(setting, bend, labels, sure, zero)
    after = bend_of(setting, *(part[~doubt.wrong] for part in labels))
    if auto and after != bend and not doubt.wrong.any():
        bend = after
        doubt, best, variance = _judged(setting, bend, labels, sure)
        after = bend_of(setting, *(part[~doubt.wrong] for part in labels))
    kept, z, noise = ~doubt.wrong, after.labels(y), after.variances(extra, y)
    if after != bend:
        rows, variance = evidence_rows(X, y, extra), _variance(z[kept])
        seen = kept[rows]
        best = _chosen(setting, X[rows][seen], z[rows][seen], noise[rows][seen], variance)
        doubt = replace(doubt, slab=prior.around(z[kept])) if doubt.slab.s else doubt
    best = _refined(setting, best, X[kept], z[kept], noise[kept], variance)
    return _settled(best, variance, after, doubt)


def _judged(
    setting: Setting, bend: Bend, labels: tuple[Array, Array, Array], sure: Array,
    zero: float = np.nan,
) -> tuple[Doubt, Lineup, float]:  # fmt: skip
    """Which labels are wrong, seen through a bend, and the line-up of the others.

    Of more labels than evidence looks at, the others are judged by the experts that it settles.
    Powers of ten (`zero`) are none of bent labels.
    """
    X, y, extra = labels
    far, rows = prior.gross(y, sure), evidence_rows(*labels)
    z, noise = bend.labels(y), bend.variances(extra, y)
    x, z_rows, noise_rows = X[rows], z[rows], noise[rows]
    elsewhere = np.ones(len(y), dtype=np.bool_)
    elsewhere[rows] = False
    zero = zero if bend == STRAIGHT else np.nan

    def settle(kept: prior.Mask, bent: Bend) -> tuple[Lineup, float]:
        right = ~far
        right[rows] = kept
        variance = _variance(bent.labels(z[right]))
        seen, noise = bent.labels(z_rows[kept]), bent.variances(noise_rows[kept], z_rows[kept])
        return _chosen(setting, x[kept], seen, noise, variance), variance

    found = decision.judge(x, z_rows, noise_rows, sure[rows], settle, zero)
    doubt = found.doubt
    if elsewhere.any():
        known, every = (x, z_rows, noise_rows), (X, z, noise)
        others = new_labels.judge_others(found, known, every, elsewhere, zero)
        doubt = new_labels.put(doubt, rows, others, elsewhere, sure)
    return doubt, found.lineup, found.variance


def _refined(
    setting: Setting, best: Lineup, X: Array, z: Array, noise: Array, variance: float
) -> Lineup:
    """The line-up with lengthscales fitted to more of the labels, where there are many."""
    fitted_to = min(REFINED_LABELS, len(z) // 2)
    if fitted_to <= EVIDENCE_LABELS:
        return best
    more = evidence_rows(X, z, noise, most=fitted_to)
    known = (X[more], z[more] / np.sqrt(variance), noise[more] / variance)
    most = approximation.most_experts(len(z))
    return model_selection.refined(best, *known, most, setting.temper)


def _chosen(setting: Setting, X: Array, z: Array, noise: Array, variance: float) -> Lineup:
    found, ratios = kernels_of(setting, X.shape[1]), tuple(setting.noise_ratios)
    known = (X, z / np.sqrt(variance), noise / variance)
    additive = setting.approximation != "features"  # anova has none
    return model_selection.choose(found, ratios, *known, temper=setting.temper, additive=additive)


def _settled(best: Lineup, variance: float, bend: Bend, doubt: Doubt) -> Settled:
    log_w, unit = normalise(best.log_prior), variance * best.unit
    return Settled(best.kernels, best.noise, log_w, variance, bend, unit, doubt)


def bend_of(setting: Setting, X: Array, y: Array, extra: Array) -> Bend:
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


def evidence_rows(*parts: Array, most: int | None = None) -> Any:
    """The rows of inputs, labels, .. that evidence looks at: all, or those with the least hashes.

    A hash of what is in a row, so that they depend on the set of labels and not on their order.
    """
    t = len(parts[0])
    most = EVIDENCE_LABELS if most is None else most
    if t <= most:
        return slice(None)
    return least_hashes(np.column_stack(parts), most)
