"""Outlier log odds of labels outside the search: labels that came later, or beyond its size."""

from dataclasses import replace

import numpy as np
from scipy.special import expit

from weal.core.arrays import Array, logsumexp
from weal.core.extensions.outliers import slips_and_swaps
from weal.core.extensions.outliers.decision import LabelSet, OutlierDecision
from weal.core.extensions.outliers.inclusion import MixturePrediction
from weal.core.extensions.outliers.prior import Mask, OutlierPrior, OutlierReport
from weal.core.paper.ensemble import Ensemble, normalise
from weal.core.paper.exact_gp import LEAST_RATIO
from weal.core.paper.fixed_magnitude import innovation
from weal.core.paper.kernels import correlation


def new_label_log_odds(
    found: OutlierDecision, rows: tuple[Array, Array, Array], every: tuple[Array, Array, Array],
    which: Mask, label_zero: float = np.nan,
) -> Array:  # fmt: skip
    """Outlier log odds (N,) of labels that were not part of the search.

    `rows` and `every` are inputs, labels and noise variances, in the search and of all labels;
    `label_zero` is the value of 0 in these units.
    """
    (X, y, noise_var), (others, labels, noise) = rows, (part[which] for part in every)
    root, selection = float(np.sqrt(found.variance)), found.selection
    kept = ~found.outliers.wrong
    none, prior = np.zeros(int(kept.sum())), found.outliers.prior
    case = LabelSet(X[kept], y[kept], noise_var[kept], none, prior)
    now = case.include(selection, found.variance, np.zeros(int(kept.sum()), dtype=np.bool_))
    log_z, scale, Ay = now.weigh()
    e, s = np.empty((2, len(log_z), len(labels)))
    for m, kernel in enumerate(selection.kernels):
        k = correlation(kernel, case.X, others)  # (t, N)
        own = selection.noise[m] + noise / found.variance / selection.unit[m]
        s[m] = np.maximum(kernel.variance - np.einsum("tn,tn->n", k, now.A[m] @ k), 0.0) + own
        e[m] = labels / root - Ay[m] @ k
    log_w = np.broadcast_to(normalise(log_z)[:, None], e.shape)
    expected = MixturePrediction(log_w, scale, e, np.maximum(s, LEAST_RATIO))
    log_p = expected.log_density(np.zeros(len(labels))) - np.log(root)
    known = label_zero / root if prior.s > 0.0 else np.nan
    slipped = slips_and_swaps.log_prior(expected, labels / root, known) - np.log(root)
    wrong = np.logaddexp(prior.log_prior(labels), slipped)
    return np.asarray(wrong - prior.penalty(labels) - log_p)


def condition_on(
    outliers: OutlierReport, rows: Array, odds: Array, elsewhere: Mask, sure: Array
) -> OutlierReport:
    """The report on all labels, from the report on some and the log odds of the others."""
    probability = np.zeros(len(elsewhere))
    probability[rows], probability[elsewhere] = outliers.probability, expit(odds)
    wrong = np.zeros(len(elsewhere), dtype=np.bool_)
    wrong[rows], wrong[elsewhere] = outliers.wrong, odds > 0.0
    free = sure == 0.0
    return replace(outliers, probability=probability * free, wrong=wrong & free)


def log_odds_threshold(
    ens: Ensemble, prior: OutlierPrior, mu: Array, v: Array, z: Array, noise_var: Array
) -> tuple[Array, Array]:
    """Outlier log odds (N,) of labels z (N,) given mu, v (M, N), and their residuals.

    Noise variances are (N,), or (M, N), those of each expert (`Ensemble.known_noise`).

    v is in units of the magnitude; a residual is the label minus the mean of the mixture.
    """
    e, s = innovation(z, mu, v, np.maximum(ens.ratios(noise_var), LEAST_RATIO))
    log_p = logsumexp(ens.log_w[:, None] + ens.scale.log_density(e, s), axis=0)
    return prior.log_prior(z) - prior.penalty(z) - log_p, z - ens.w @ mu
