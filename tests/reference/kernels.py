"""Correlations by their textbook definition, one pair of points at a time.

Matern by the Bessel function and the rational quadratic as a power, so that nothing is shared
with the closed forms of the package.
"""

import itertools
import math

import numpy as np
from scipy.special import gamma, kv

NU = {"matern12": 0.5, "matern32": 1.5, "matern52": 2.5}


def correlation(family, x, z, length_scale, alpha=1.0):
    """k(x, z) of one pair of points."""
    scales = [length_scale] * len(x) if np.ndim(length_scale) == 0 else length_scale
    if family == "anova":
        each = [
            profile("matern52", abs(a - b) / ell) for a, b, ell in zip(x, z, scales, strict=True)
        ]
        return anova(each, alpha)
    r2 = sum(((a - b) / ell) ** 2 for a, b, ell in zip(x, z, scales, strict=True))
    return profile(family, math.sqrt(r2), alpha)


def anova(each, s):
    """Over all sets of inputs, products of their correlations weighed by s to their number."""
    sets = [c for n in range(1, len(each) + 1) for c in itertools.combinations(each, n)]
    return sum(s ** len(c) * math.prod(c) for c in sets) / sum(s ** len(c) for c in sets)


def profile(family, r, alpha=1.0):
    """The correlation at distance r in lengthscales."""
    if r == 0.0:
        return 1.0
    if family == "rbf":
        return math.exp(-r * r / 2)
    if family == "rq":
        return (1 + r * r / (2 * alpha)) ** -alpha
    if family == "trend":
        long, deviation = profile("rbf", r / 10), profile("matern52", r)
        return (deviation + 100 * alpha * long) / (1 + 100 * alpha)
    nu = NU[family]
    a = math.sqrt(2 * nu) * r
    return 2 ** (1 - nu) / gamma(nu) * a**nu * kv(nu, a) if a < 600 else 0.0


def matrix(kernel, X, Z):
    """Correlations (N, N') of a weal Kernel, one by one."""
    rows = [
        [correlation(kernel.family, x, z, kernel.length_scale, kernel.alpha) for z in Z] for x in X
    ]
    return np.array(rows).reshape(len(X), len(Z))
