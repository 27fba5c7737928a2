"""Decide which labels are outliers: a typo, another unit, another sample.

A label is right, with the noise that experts know, or, with prior probability p, wrong: it then
carries no information on f and comes from a wide Cauchy around the median of the labels,

    prior_i = log Cauchy(y_i; median, WIDTH s) + log(p / (1 - p)),     s = 1.4826 MAD

or its decimal point has slipped, and the intended value is what the others predict
(`slips_and_swaps`): prior_i is the log of the sum of both.

Evidence decides, as a function of the set of labels. With C = K + lam, A = C^-1 over the included
labels and log Z = sum over experts of prior and evidence (`integrated_evidence`), every label has a
density given all other included labels, in closed form:

    included    e_i = (A y)_i / A_ii     s_i = 1 / A_ii               b without e_i^2 / (2 s_i)
    excluded    e_j = y_j - k_j'A y      s_j = C_jj - k_j'A k_j

and the log odds of a wrong label are prior_i - penalty_i - log p(y_i | others). Excluding i and
including j are rank-one steps of A (`InclusionState`):

    A -= A_i A_i' / A_ii           A += u u' / s_j,    u = A k_j - e_j

`find_outliers` first computes the odds under the experts that all labels select. Where no label is
surprising or isolated, it stops. Otherwise it searches forward and backward from gross outliers:
over a coarse grid of experts, then with experts selected by the included labels, and again without
labels whose decimal point has likely slipped, since experts conditioned on a wrong label treat it
as noise. The result is compared with "no label is wrong" by the evidence of all selected experts,
with and without a warp (`label_warp`): a skewed function is not an error. Each excluded label is
penalised, since no model is true: by OUTLIER_PENALTY_NATS, or FAR_OUTLIER_PENALTY_NATS where a
label lies beyond all others by more than their range. Such a label is excluded also where the
evidence is undecided: one wrong label in ten does more harm than one missing label. Two labels that
are likely swapped (`slips_and_swaps`) stay included, with a probability below one half.

[2] Box, Tiao: A Bayesian approach to some outlier problems, 1968.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit

from weal.core.arrays import Array, logsumexp
from weal.core.constants import (
    EXTREME_LABEL_LOG_ODDS,
    MAX_OUTLIER_SHARE,
    MIN_LABELS_FOR_OUTLIERS,
    NOISE_RATIO_GRID,
    OUTLIER_PENALTY_NATS,
    SEARCH_LOG_ODDS,
    SKEWED_OUTLIER_PENALTY_NATS,
)
from weal.core.extensions.integrated_evidence import log_evidence_grid
from weal.core.extensions.label_warp import IDENTITY_WARP, LabelWarp, fit_warp
from weal.core.extensions.model_selection import ModelSelection, candidate_grid
from weal.core.extensions.outliers import slips_and_swaps
from weal.core.extensions.outliers.inclusion import (
    InclusionState,
    LogOutlierPrior,
    include_all,
    search,
)
from weal.core.extensions.outliers.prior import (
    Mask,
    OutlierPrior,
    OutlierReport,
    beyond_all_others,
    gross_outliers,
    spread,
)
from weal.core.one_hot import Widths

# nats by which the grid may contradict outliers that fitted experts decide on
MAX_GRID_DEFICIT_NATS = 4.0
# probability of being wrong of a label that was probably swapped
MAX_SWAP_PROBABILITY = 0.45
MIN_WARPED_LABELS = 1e-15  # spread over sd down to which labels may be skewed
# nats, and twice the gain of fitted experts, within which a coarse grid does not decide
UNDECIDED_MARGIN_NATS = 10.0


@dataclass(frozen=True, slots=True, eq=False)
class OutlierDecision:
    """Outliers, and the experts selected by the other labels."""

    outliers: OutlierReport
    selection: ModelSelection
    variance: float  # of the included labels


# Labels to include (t,), and their warp -> the selected experts, and the variance of the labels.
SelectModels = Callable[[Mask, LabelWarp], tuple[ModelSelection, float]]


def find_outliers(
    X: Array,
    y: Array,
    noise_var: Array,
    sure: Array,
    select: SelectModels,
    label_zero: float = np.nan,
    widths: Widths = (),
) -> OutlierDecision:
    """Find the outliers among labels y (t,) at X (t, d), and select experts with the others.

    `noise_var` (t,) has known noise variances; labels that are `sure` (t,) are never outliers.
    `label_zero` is the zero of the labels as they were told, if it is known (`slips_and_swaps`).
    `widths` are the columns of each input (`core.one_hot`).
    """
    t = len(y)
    everyone = np.zeros(t, dtype=np.bool_)
    selection, variance = select(~everyone, IDENTITY_WARP)
    median, s = spread(y)
    if s == 0.0 or t < MIN_LABELS_FOR_OUTLIERS:
        return OutlierDecision(OutlierReport(np.zeros(t), everyone), selection, variance)
    far = gross_outliers(y, sure)
    alone = beyond_all_others(y, sure) & ~far.any()
    far |= alone
    anything = OutlierPrior(median, s, *_range(y[~far]))
    case = LabelSet(X, y, noise_var, sure, anything, label_zero, widths)
    none = case.include(selection, variance, everyone)
    odds = np.where(sure > 0, -np.inf, case.odds(none, variance))
    no_outliers = OutlierDecision(
        OutlierReport(expit(odds), everyone, case.prior), selection, variance
    )
    if not (alone | (odds + case.penalties > SEARCH_LOG_ODDS)).any():
        return _with_swap_probability(no_outliers, none, sure)
    found = case.search_outliers(no_outliers, far, none, select)
    if found.outliers.wrong.any():
        none = case.include(found.selection, found.variance, found.outliers.wrong)
    return _with_swap_probability(found, none, sure)


def _range(y: Array) -> tuple[float, float]:
    return float(y.min()), float(y.max())


@dataclass(frozen=True, slots=True, eq=False)
class LabelSet:
    """The labels in which outliers are searched."""

    X: Array  # (t, d)
    y: Array  # (t,)
    noise_var: Array  # (t,)
    sure: Array  # (t,)
    prior: OutlierPrior
    label_zero: float = np.nan  # of the labels as they were told
    widths: Widths = ()  # of the inputs

    @property
    def penalties(self) -> Array:  # (t,)
        return self.prior.penalty(self.y)

    def include(self, selection: ModelSelection, variance: float, wrong: Mask) -> InclusionState:
        """The inclusion state under experts selected by labels of that variance."""
        models = list(
            zip(selection.kernels, selection.noise.tolist(), selection.unit.tolist(), strict=True)
        )
        y, noise_var = self.y / np.sqrt(variance), self.noise_var / variance
        return include_all(models, selection.log_prior, self.X, y, noise_var, wrong)

    def log_outlier_prior(self, now: InclusionState, variance: float) -> Array:  # (t,)
        """Log outlier prior of each label, in units of labels of that variance."""
        anything = self.prior.log_prior(self.y) + 0.5 * float(np.log(variance))
        return np.asarray(np.logaddexp(anything, self.log_slip_prior(now, variance)))

    def log_slip_prior(self, now: InclusionState, variance: float) -> Array:  # (t,)
        """Log prior of a slipped decimal point for each label."""
        return slips_and_swaps.log_prior(
            now.others(), now.y, self.label_zero / float(np.sqrt(variance))
        )

    def odds(self, now: InclusionState, variance: float) -> Array:  # (t,)
        """Log odds of each label being wrong, penalties included."""
        return self.log_outlier_prior(now, variance) - self.penalties - now.log_density()

    def penalised_prior(self, variance: float) -> LogOutlierPrior:
        """The outlier prior less penalties, as a function of the inclusion state."""
        return lambda now: self.log_outlier_prior(now, variance) - self.penalties

    def on_grid(self, far: Mask) -> Mask:
        """Labels to exclude by a coarse grid of experts, searched without penalties.

        None if the penalised evidence is far below the evidence of all labels.
        """
        variance = float(np.var(self.y[~far])) or 1.0
        kernels = candidate_grid(self.X.shape[1], self.widths)[::2]
        ratios = NOISE_RATIO_GRID[3:]
        models = [(kernel, ratio, 1.0) for kernel in kernels for ratio in ratios]
        y, noise_var = self.y / np.sqrt(variance), self.noise_var / variance
        even = np.full(len(models), -np.log(len(models)))
        start = include_all(models, even, self.X, y, noise_var, far)
        found = search(start, lambda now: self.log_outlier_prior(now, variance), self.sure, self.X)
        no_outliers = np.zeros_like(far)
        outlier_log_prior = (self.log_outlier_prior(found, variance) - self.penalties)[
            found.wrong
        ].sum()
        everyone = (
            InclusionState.of(start.C, start.lam, y, even, no_outliers) if far.any() else start
        )
        return (
            found.wrong
            if found.log_z() + outlier_log_prior > everyone.log_z() - MAX_GRID_DEFICIT_NATS
            else no_outliers
        )

    def search_outliers(
        self, no_outliers: OutlierDecision, far: Mask, none: InclusionState, select: SelectModels
    ) -> OutlierDecision:
        """Search outliers from `none`, the state that includes all labels.

        Experts selected with a wrong label have adapted to it: if its decimal point has probably
        slipped, penalties aside, experts are selected without it as well.
        """
        order = np.lexsort((*self.X.T, self.y))  # decisions do not depend on rounding
        back = np.argsort(order)
        X, y, noise_var, sure = (
            part[order] for part in (self.X, self.y, self.noise_var, self.sure)
        )
        sorted_case = LabelSet(X, y, noise_var, sure, self.prior, self.label_zero, self.widths)
        wrong = sorted_case.on_grid(far[order])[back]
        best = self.alternative(wrong, select) if wrong.any() else None
        now, variance = (none, no_outliers.variance) if best is None else (best.now, best.variance)
        close = (self.log_slip_prior(now, variance) > now.log_density()) & (self.sure == 0.0)
        wider = now.wrong | close
        if (wider != now.wrong).any() and wider.sum() <= MAX_OUTLIER_SHARE * len(wider):
            other = self.alternative(wider, select)
            if best is None or (other is not None and other.log_z > best.log_z):
                best = other
        if best is None:
            return _without_outliers(no_outliers)
        return best.case.decide(no_outliers, best, select)

    def alternative(self, wrong: Mask, select: SelectModels) -> "_Alternative | None":
        """The outliers under experts selected without some of the labels; None without outliers."""
        case, selection, variance = self.select_models(wrong, select)
        now = case.include(selection, variance, wrong)
        after = search(now, case.penalised_prior(variance), self.sure, self.X).wrong
        if not after.any():
            return None
        if (after != wrong).any():
            case, selection, variance = self.select_models(after, select)
            now = case.include(selection, variance, after)
        return _Alternative(case, now, selection, variance)

    def select_models(
        self, wrong: Mask, select: SelectModels
    ) -> tuple["LabelSet", ModelSelection, float]:
        """Select experts with the other labels, and set the prior by their range."""
        ends = dict(zip(("low", "high"), _range(self.y[~wrong]), strict=True))
        return replace(self, prior=replace(self.prior, **ends)), *select(~wrong, IDENTITY_WARP)

    def decide(
        self, no_outliers: OutlierDecision, alternative: "_Alternative", select: SelectModels
    ) -> OutlierDecision:
        """Decide between this set of outliers and none.

        Labels beyond all others are set aside where the evidence is undecided: a wrong one costs
        more than a missing one.
        """
        wrong, right = alternative.now.wrong, ~alternative.now.wrong
        everyone = np.ones_like(wrong)
        gain = alternative.log_z - self.log_z(everyone, no_outliers.selection, no_outliers.variance)
        least = (
            EXTREME_LABEL_LOG_ODDS if (self.penalties[wrong] < OUTLIER_PENALTY_NATS).all() else 0.0
        )
        if gain > least:
            gain = min(
                gain,
                self.against_skew(alternative.log_z, alternative.outlier_log_prior, right, select),
            )
        odds = np.where(self.sure > 0, -np.inf, self.odds(alternative.now, alternative.variance))
        probability = expit(np.minimum(np.where(wrong, gain, np.inf), odds))
        if gain > least:
            return OutlierDecision(
                OutlierReport(probability, wrong, self.prior),
                alternative.selection,
                alternative.variance,
            )
        log_odds = np.minimum(logit(no_outliers.outliers.probability), gain)
        kept = expit(np.where(wrong, gain, log_odds))
        return replace(no_outliers, outliers=replace(no_outliers.outliers, probability=kept))

    def against_skew(
        self, log_z: float, outlier_log_prior: float, right: Mask, select: SelectModels
    ) -> float:
        """Log evidence ratio of some outliers against a skewed distribution, in nats.

        `log_z` is the log evidence of all labels with these wrong. Experts are selected by warped
        labels only where a coarse grid does not decide.
        """
        everyone = np.ones_like(right)
        none = self.coarse(everyone, warped=True) - SKEWED_OUTLIER_PENALTY_NATS
        some = self.coarse(right, warped=True) - SKEWED_OUTLIER_PENALTY_NATS + outlier_log_prior
        if none > max(log_z, some):
            return max(log_z, some) - none
        fitted = max(log_z - outlier_log_prior - self.coarse(right, warped=False), 0.0)
        if (room := log_z - none - 2.0 * fitted) > UNDECIDED_MARGIN_NATS:
            return room
        some = self.log_evidence_warped(right, select) + outlier_log_prior
        return max(log_z, some) - self.log_evidence_warped(everyone, select)

    def coarse(self, kept: Mask, warped: bool) -> float:
        """Log evidence of some of the labels under a coarse grid of experts, in units of y."""
        y, noise_var, X = self.y[kept], self.noise_var[kept], self.X[kept]
        warp = fit_warp(y, MIN_WARPED_LABELS) if warped else IDENTITY_WARP
        if warped and not warp.spread:
            return -np.inf
        z, noise = warp.labels(y), warp.variances(noise_var, y)
        unit = float(np.var(z)) or 1.0
        kernels = candidate_grid(X.shape[1], self.widths)[::2]
        ratios = NOISE_RATIO_GRID[::2]
        log_p = log_evidence_grid(kernels, ratios, X, z / unit**0.5, noise / unit)[0]
        slope = float(warp.log_slope(y).sum()) - 0.5 * len(y) * float(np.log(unit))
        return float(logsumexp(log_p)) - float(np.log(log_p.size)) + slope

    def log_evidence_warped(self, kept: Mask, select: SelectModels) -> float:
        """Log evidence of some of the labels with a warp, and its penalty."""
        warp = fit_warp(self.y[kept], MIN_WARPED_LABELS)
        if not warp.spread:
            return -np.inf
        return self.log_z(kept, *select(kept, warp), warp) - SKEWED_OUTLIER_PENALTY_NATS

    def log_z(
        self,
        kept: Mask,
        selection: ModelSelection,
        variance: float,
        warp: LabelWarp = IDENTITY_WARP,
    ) -> float:
        """Log evidence of some of the labels under the selected experts, in units of y."""
        y, right = self.y[kept], np.zeros(int(kept.sum()), dtype=np.bool_)
        noise = warp.variances(self.noise_var[kept], y)
        seen = replace(
            self,
            X=self.X[kept],
            y=warp.labels(y),
            noise_var=noise,
            sure=self.sure[kept],
            label_zero=np.nan,
        )
        slope = float(warp.log_slope(y).sum()) - 0.5 * len(y) * float(np.log(variance))
        return seen.include(selection, variance, right).log_z() + slope


@dataclass(frozen=True, slots=True, eq=False)
class _Alternative:
    """A possible set of outliers, and the experts that the other labels select."""

    case: LabelSet  # with the range of the other labels
    now: InclusionState
    selection: ModelSelection
    variance: float

    @property
    def outlier_log_prior(self) -> float:
        """Log outlier prior of the excluded labels less their penalties, in units of y."""
        unit = 0.5 * float(np.log(self.variance))
        each = self.case.log_outlier_prior(self.now, self.variance) - unit - self.case.penalties
        return float(each[self.now.wrong].sum())

    @property
    def log_z(self) -> float:
        """Log evidence of all labels, in units of y."""
        return (
            self.case.log_z(~self.now.wrong, self.selection, self.variance) + self.outlier_log_prior
        )


def _with_swap_probability(
    found: OutlierDecision, now: InclusionState, sure: Array
) -> OutlierDecision:
    """The decision, with probabilities raised for labels that were probably swapped.

    No label is excluded for that: the person who entered them can decide which is right.
    """
    exchanged = np.minimum(expit(slips_and_swaps.log_odds(now, sure)), MAX_SWAP_PROBABILITY)
    probability = np.maximum(found.outliers.probability, exchanged)
    return replace(found, outliers=replace(found.outliers, probability=probability))


def _without_outliers(decision: OutlierDecision) -> OutlierDecision:
    """The decision without outliers: no probability is above one half."""
    most = np.minimum(decision.outliers.probability, 0.5)
    return replace(decision, outliers=replace(decision.outliers, probability=most))
