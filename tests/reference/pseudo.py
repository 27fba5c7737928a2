"""Algorithm 2 the slow way: every pseudo label is really learnt, in batch and with 50 digits.

Labels y (t,) come at X with noise ratios lam (M, t), pseudo labels at the picks. The magnitude of
an expert is given, or integrated out with the prior inverse gamma(A0, B0).
"""

import math

import numpy as np

from reference.decimals import PI, exact, rounded, solve
from reference.gaussian import log_probabilities
from weal.core.constants import MAGNITUDE_PRIOR_A, MAGNITUDE_PRIOR_B
from weal.core.paper.fixed_magnitude import FixedMagnitude


class Batch:
    """Experts that know all their points beforehand, and learn labels of any of them."""

    def __init__(self, who, points, ens, prior):
        grams = [who.correlations(m, points, points) for m in range(len(prior))]
        self.grams = [K if K.dtype == object else exact(K) for K in grams]
        self.magnitude = exact(ens.magnitude) if isinstance(ens.scale, FixedMagnitude) else None
        self.prior = prior

    def mixture_mean(self, seen, y, lam, at):
        """Means (N,) of the mixture at the points `at` after labels y of the points `seen`."""
        parts = [self._learn(m, seen, exact(y), exact(lam[m]), at) for m in range(len(lam))]
        means, evidence = zip(*parts, strict=True)
        return np.exp(log_probabilities(self.prior, evidence)) @ np.array(means)

    def _learn(self, m, seen, y, lam, at):
        """Means (N,) of expert m, and its evidence [1, eq:mean, eq:w_update]."""
        K, t = self.grams[m], len(seen)
        solved, log_det = solve(K[np.ix_(seen, seen)] + np.diag(lam), y[:, None].copy())
        square = y @ solved[:, 0]
        half = (log_det + t * (2 * PI).ln()) / 2
        if self.magnitude is None:
            a, b = MAGNITUDE_PRIOR_A + t / 2, MAGNITUDE_PRIOR_B + float(square) / 2
            integral = (
                math.lgamma(a)
                - math.lgamma(MAGNITUDE_PRIOR_A)
                + MAGNITUDE_PRIOR_A * math.log(MAGNITUDE_PRIOR_B)
                - a * math.log(b)
            )
        else:
            s2 = self.magnitude[m]
            integral = float(-(square / s2 + t * s2.ln()) / 2)
        return rounded(K[np.ix_(at, seen)] @ solved[:, 0]), integral - float(half)


def held_out(who, ens, prior, X, y, lam, picks, X_judge, y_judge):
    """[1, eq:EGP_parameter_k, eq:error_k]: errors (K,) on labels kept apart."""
    t, K, V = len(y), len(picks), len(y_judge)
    batch = Batch(who, np.concatenate([X, picks, X_judge]), ens, prior)
    ratios = np.concatenate([lam, ens.noise[:, None]], axis=1)
    errors = []
    for pick in range(t, t + K):
        pseudo = batch.mixture_mean([*range(t)], y, lam, [pick])  # [1, eq:pseudo_k]
        judged = [*range(t + K, t + K + V)]
        y_hat = batch.mixture_mean([*range(t), pick], np.append(y, pseudo), ratios, judged)
        errors.append(np.mean((y_judge - y_hat) ** 2))
    return np.array(errors)


def left_out(who, ens, prior, X, y, lam, picks):
    """Errors (K,) on the labels, each predicted by experts that never saw it."""
    t = len(y)
    batch = Batch(who, np.concatenate([X, picks]), ens, prior)
    errors = []
    for pick in range(t, t + len(picks)):
        pseudo = batch.mixture_mean([*range(t)], y, lam, [pick])
        squares = []
        for i in range(t):
            seen = [*(n for n in range(t) if n != i), pick]
            told = np.append(np.delete(y, i), pseudo)
            ratios = np.concatenate([np.delete(lam, i, axis=1), ens.noise[:, None]], axis=1)
            squares.append((y[i] - batch.mixture_mean(seen, told, ratios, [i])[0]) ** 2)
        errors.append(np.mean(squares))
    return np.array(errors)
