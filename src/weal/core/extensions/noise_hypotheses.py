"""Experts with even and with varying noise in one mixture (`varying_noise` tells the steps).

Labels that were set aside as wrong take part in the test: a noisy region looks like a crowd of
wrong labels to experts with even noise. Where varying noise makes such a label more likely right
than wrong, it is included again, in the labels that both hypotheses are compared by.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from weal.core.arrays import Array, logsumexp
from weal.core.constants import MAX_EXPERTS, MIN_MODEL_POSTERIOR
from weal.core.extensions.integrated_evidence import log_evidence_grid
from weal.core.extensions.label_noise import prior_height
from weal.core.extensions.model_selection import ModelSelection
from weal.core.extensions.noise_field import LevelFunction, NoiseField, Residuals
from weal.core.extensions.outliers.prior import Mask
from weal.core.extensions.varying_noise import (
    LEAST_VARIANCE,
    MEDIAN_CHI2,
    FieldFit,
    LeftOut,
    fit_field,
    left_out_predictions,
    level_function,
    selected_ensemble,
    standardised_squares,
    test_field,
)
from weal.core.paper.ensemble import normalise
from weal.core.paper.kernels import Kernel

LOG_PRIOR_ODDS = float(np.log(0.2 / 0.8))  # of varying noise
MIN_HYPOTHESIS_POSTERIOR = 0.01  # of varying or even noise, from which its experts are kept
MIN_TESTED_WEIGHT = 0.02  # of experts whose residuals are tested
# Median share of the noise in the variance of a label that is left out, from which residuals can
# tell how noise varies. Below it they are what the experts do not know of the function: on Currin's
# function, which has no noise, they were treated as noise where it is steep (log10 NMSE +0.2), and
# with 0.15 the ten tasks lost 0.025 on average; with 0.5 0.002.
MIN_NOISE_SHARE = 0.5
# Below it the experts may have followed the noise of a noisy region. Varying noise is then believed
# only if it raises the log density of the left-out labels by MIN_DOUBTED_GAIN_NATS, and the median
# of their squared errors does not rise: a function treated as noise has larger errors at quiet
# labels, too. On five noisy corners the gain was 58 to 156; in 28 trials on the ten tasks and 19
# tables it was 35 or less, and of 16 fits that varying noise changed 13 had larger errors. It is
# not tried if the experts find next to no noise, or if half of the labels lie much closer to their
# predictions than expected: there the function is steep in one place and flat elsewhere.
MIN_DOUBTED_GAIN_NATS = 45.0
MIN_TRIED_NOISE_SHARE, MIN_TYPICAL_SQUARE = 0.02, 0.1
# Log evidence of a field below that share, from which experts are selected again: 13 and more on
# the four noisy corners of 31 where the experts had followed the noise.
MIN_TRIED_NATS = 10.0
MIN_TEST_NATS = 2.0  # log posterior odds of the test, from which experts are selected again


class Labels(NamedTuple):
    """Labels in units of their variance, with stated noise variances."""

    X: Array  # (t, d)
    y: Array  # (t,)
    noise_var: Array  # (t,)

    def at(self, rows: Any) -> "Labels":
        """Some of the labels."""
        return Labels(self.X[rows], self.y[rows], self.noise_var[rows])

    def with_noise(self, field: NoiseField) -> "Labels":
        """The labels with the noise of a field stated, too."""
        return self._replace(noise_var=self.noise_var + field.variances(self.X))


@dataclass(frozen=True, slots=True, eq=False)
class NoiseHypotheses:
    """Selected experts, of which some have varying noise."""

    kernels: tuple[Kernel, ...]  # H
    noise: Array  # (H,)
    unit: Array  # (H,)
    log_prior: Array  # (H,)
    varies: Array  # (H,)  1 where the noise of the field comes on top, else 0
    field: NoiseField
    right: Array  # (n,)  probabilities that the labels tested are right


# Experts for labels with the noise of a field, and the labels that both hypotheses are compared by,
# without that noise; given the probabilities (n,) that the labels tested are right.
SelectAgain = Callable[[NoiseField, Array], tuple[ModelSelection, Labels]]


def weigh_noise(
    even: ModelSelection, labels: Labels, included: Mask, log_wrong: Array,
    select_again: SelectAgain, temper: float = 1.0, most: int = MAX_EXPERTS,
) -> NoiseHypotheses | None:  # fmt: skip
    """The mixture of both hypotheses; None if noise is even.

    `labels` (n) are tested; `included` (n,) masks the labels that selected the experts, `log_wrong`
    (n,) is the log density of wrong labels times their odds.
    """
    first = _first_field(even, labels, included, log_wrong)
    if first is None:
        return None
    found, in_doubt = first
    varying, compared = select_again(found.field, found.right)
    included = included | (found.right > 0.5)
    by_even = _left_out(even, labels, labels, included)
    predicted = _predicted(varying, labels, labels.with_noise(found.field), included)
    refined, varying, evidence = _refine(varying, predicted, labels, log_wrong, compared)
    by_varying = _left_out(varying, labels, labels.with_noise(refined.field), included)
    even_p = by_even.log_density(labels.y, labels.noise_var)
    varying_p = by_varying.log_density(labels.y, labels.noise_var + refined.others)
    log_p = [np.logaddexp(part, log_wrong) for part in (even_p, varying_p)]
    gains = log_p[1] - log_p[0]
    if in_doubt and (
        gains.sum() < MIN_DOUBTED_GAIN_NATS or not _lowers_errors(by_even, by_varying, labels.y)
    ):
        return None
    probability = hypothesis_probability(gains)
    if probability < MIN_HYPOTHESIS_POSTERIOR:
        return None
    both = evidences(even, compared)[0], evidence
    return _merge((even, varying), both, refined, probability, temper, most)


def _lowers_errors(even: LeftOut, varying: LeftOut, y: Array) -> bool:
    """Whether varying noise lowers the median of squared residuals."""
    before, after = (float(np.median((y - one.moments[0]) ** 2)) for one in (even, varying))
    return after < before


def hypothesis_probability(gains: Array) -> float:
    """Probability of varying noise, given gains (t,) of leave-one-out log density.

    The sum of the gains is uncertain, as is what further labels would add: with its sd s it is a
    normal, and the mean of the logistic function over that is expit(sum / sqrt(1 + pi s^2 / 8)).
    """
    total, variance = float(gains.sum()) + LOG_PRIOR_ODDS, len(gains) * float(gains.var())
    return float(expit(total / np.sqrt(1.0 + np.pi * variance / 8.0)))


def _first_field(
    even: ModelSelection, labels: Labels, included: Mask, log_wrong: Array
) -> tuple[FieldFit, bool] | None:
    """The field by residuals of experts with even noise, and whether it is in doubt.

    None if these residuals do not favour a field. It is in doubt if the noise has less than
    MIN_NOISE_SHARE.
    """
    found, level = _predicted(even, labels, labels, included)
    (mean, v), noise = found.moments, found.even_noise
    e, s = labels.y - mean, np.maximum(v + noise + labels.noise_var, LEAST_VARIANCE)
    noise_share, typical = float(np.median(noise / s)), float(np.median(e * e / s)) / MEDIAN_CHI2
    in_doubt = noise_share < MIN_NOISE_SHARE
    if in_doubt and (noise_share < MIN_TRIED_NOISE_SHARE or typical < MIN_TYPICAL_SQUARE):
        return None
    test = test_field(labels.X, standardised_squares(e, s), level)
    if test.log_odds + LOG_PRIOR_ODDS <= MIN_TEST_NATS:
        return None
    residuals = Residuals(e * e, np.zeros(len(e)), np.log(s), log_wrong)
    log_level = float(np.log(max(float(noise.mean()), LEAST_VARIANCE)))
    fit = fit_field(labels.X, residuals, log_level, test.likeliest)
    return None if in_doubt and fit.log_odds < MIN_TRIED_NATS else (fit, in_doubt)


def _refine(
    varying: ModelSelection, predicted: tuple[LeftOut, LevelFunction | None], labels: Labels,
    log_wrong: Array, compared: Labels,
) -> tuple[FieldFit, ModelSelection, Array]:  # fmt: skip
    """The field by residuals of experts with varying noise; these experts with its units, and
    their log evidences.
    """
    found, level = predicted
    mean, v = found.moments
    e, known = labels.y - mean, v + labels.noise_var
    usual = max(float(np.median(e * e)) / MEDIAN_CHI2, LEAST_VARIANCE)
    test = test_field(labels.X, standardised_squares(e, known + usual), level)
    log_level = float(np.log(usual))
    residuals = Residuals(e * e, known, np.full(len(e), log_level), log_wrong)
    fit = fit_field(labels.X, residuals, log_level, test.likeliest)
    evidence, unit = evidences(varying, compared.with_noise(fit.field))
    log_prior = varying.log_prior + prior_height(varying.unit) - prior_height(unit)
    return fit, replace(varying, unit=unit, log_prior=log_prior), evidence


def _predicted(
    selection: ModelSelection, labels: Labels, noisy: Labels, included: Mask
) -> tuple[LeftOut, LevelFunction | None]:
    """Leave-one-out predictions in the order of the labels, and the level of the experts."""
    kept, others = np.flatnonzero(included), np.flatnonzero(~included)
    train = noisy.at(kept)
    ens = selected_ensemble(selection, *train)
    weighty = np.flatnonzero(ens.w >= min(MIN_TESTED_WEIGHT, float(ens.w.max())))
    ens = ens.take(weighty)
    ens = replace(ens, log_w=normalise(ens.log_w))
    found = left_out_predictions(ens, train, noisy.X[others])
    level = level_function(ens, train.X)
    if len(others):
        found = found.take(np.argsort(np.append(kept, others), kind="stable"))
        if level is not None:
            alpha = np.zeros(len(labels.y))
            alpha[kept] = level.alpha
            level = replace(level, alpha=alpha)
    return found, level


def _left_out(selection: ModelSelection, labels: Labels, noisy: Labels, included: Mask) -> LeftOut:
    """Leave-one-out predictions in the order of the labels."""
    return _predicted(selection, labels, noisy, included)[0]


def _merge(
    experts: tuple[ModelSelection, ModelSelection], log_evidence: tuple[Array, Array],
    fit: FieldFit, probability: float, temper: float, most: int,
) -> NoiseHypotheses:  # fmt: skip
    """The experts of even and of varying noise, with log priors that give the hypotheses these
    probabilities.
    """
    even, varying = experts
    kind = np.repeat([0, 1], [len(part) for part in log_evidence])
    evidence = temper * np.concatenate(log_evidence)
    shares = np.array([1.0 - probability, probability])
    shares[shares < MIN_HYPOTHESIS_POSTERIOR] = 0.0
    log_prior = np.append(even.log_prior, varying.log_prior)
    log_post = log_prior + evidence
    with np.errstate(divide="ignore"):
        log_post += (np.log(shares) - [logsumexp(log_post[kind == one]) for one in (0, 1)])[kind]
    kernels = (*even.kernels, *varying.kernels)
    best = _best(kernels, kind, log_post, most)
    for one in (0, 1):  # those kept take over what the dropped ones of their hypothesis had
        some = best[kind[best] == one]
        if len(some):
            log_post[some] += np.log(shares[one]) - logsumexp(log_post[some])
    return NoiseHypotheses(
        tuple(kernels[n] for n in best.tolist()),
        np.append(even.noise, varying.noise)[best],
        np.append(even.unit, varying.unit)[best],
        (log_post - evidence)[best],
        kind[best].astype(np.float64),
        fit.field,
        fit.right,
    )


def _best(
    kernels: Sequence[Kernel], kind: NDArray[np.int_], log_post: Array, most: int
) -> NDArray[np.intp]:
    """Experts that are kept: the best of each class of kernels and hypothesis, then the others.

    The best of a class is a safeguard: without the only expert with much noise, say, the others
    may be certain of what is wrong.
    """
    order = np.argsort(-log_post, kind="stable")
    order = order[log_post[order] >= np.log(MIN_MODEL_POSTERIOR)]
    classes = [
        (kind[n], kernels[n].family, isinstance(kernels[n].length_scale, tuple))
        for n in order.tolist()
    ]
    first = np.array([one not in classes[:n] for n, one in enumerate(classes)])
    leads = order[first]
    rest = order[~first][: max(most - len(leads), 0)]
    return np.concatenate([leads, rest])


def evidences(found: ModelSelection, labels: Labels) -> tuple[Array, Array]:
    """Log evidences of labels under each expert, and the units of their noise."""
    experts = zip(found.kernels, found.noise.tolist(), strict=True)
    each = [log_evidence_grid([kernel], [noise], *labels) for kernel, noise in experts]
    return np.array([part[0][0, 0] for part in each]), np.array([part[1][0, 0] for part in each])
