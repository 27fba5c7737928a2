"""Acquisition functions in loops over candidates and experts; entropies by integration.

Each takes weights w (M,), means mu and variances var (M, N), and gives scores (N,). Nothing is
computed in logs that the paper does not write in logs, except where exp(-huge) would vanish.
"""

import math

import numpy as np

FLOOR = 1e-300  # the least variance that the package sees: certainty has no logarithm


def _each(score):
    def scores(w, mu, var):
        columns = range(mu.shape[1])
        return np.array([score(w.tolist(), mu[:, n].tolist(), var[:, n].tolist()) for n in columns])

    return scores


def _mean(w, mu):
    return math.fsum(a * b for a, b in zip(w, mu, strict=True))


@_each
def weighted_variance(w, mu, var):
    """[1, eq:w_var]."""
    return math.fsum(a * v for a, v in zip(w, var, strict=True))


@_each
def weighted_entropy(w, mu, var):
    """[1, eq:w_entropy]."""
    parts = zip(w, var, strict=True)
    return 0.5 * math.fsum(a * math.log(2 * math.pi * max(v, FLOOR)) for a, v in parts)


@_each
def committee(w, mu, var):
    """[1, eq:QBC, eq:QBC_mean]."""
    mean = _mean(w, mu)
    return math.fsum(a * (b - mean) ** 2 for a, b in zip(w, mu, strict=True))


@_each
def mixture_variance(w, mu, var):
    """[1, eq:var-GPM]."""
    mean = _mean(w, mu)
    return math.fsum(a * (v + (b - mean) ** 2) for a, b, v in zip(w, mu, var, strict=True))


@_each
def mixture_entropy_bound(w, mu, var):
    """[1, eq:mix.ent.], no expert left out but those of weight 0."""
    total = []
    for a, b, v in zip(w, mu, var, strict=True):
        if a == 0.0:
            continue
        logs = []
        for a2, b2, v2 in zip(w, mu, var, strict=True):
            if a2 == 0.0:
                continue
            both = max(v, FLOOR) + max(v2, FLOOR)
            z = (b - b2) / math.sqrt(both)
            logs.append(math.log(a2) - 0.5 * (math.log(2 * math.pi * both) + z * z))
        top = max(logs)
        total.append(-a * (top + math.log(math.fsum(math.exp(p - top) for p in logs))))
    return math.fsum(total)


def mixture_entropy(w, mu, sd):
    """Entropy of one mixture of normals, by Gauss-Legendre between cuts half an sd apart."""
    heavy = w > 0.0
    w, mu, sd = w[heavy, None, None], mu[heavy, None, None], sd[heavy, None, None]
    cuts = np.unique(mu + sd * np.arange(-14.0, 14.5, 0.5))
    x, g = np.polynomial.legendre.leggauss(20)
    half = np.diff(cuts)[:, None] / 2.0
    y = cuts[:-1, None] + half * (1.0 + x)  # (pieces, nodes)
    p = (w * np.exp(-0.5 * ((y - mu) / sd) ** 2) / (math.sqrt(2 * math.pi) * sd)).sum(axis=0)
    inside = np.where(p > 0.0, -p * np.log(np.maximum(p, 1e-300)), 0.0)
    return float((half * g * inside).sum())


def information(w, mu, var, noise):
    """Entropy of the label minus the expected entropy of its noise (N,)."""
    of_noise = math.fsum(
        a * 0.5 * math.log(2 * math.pi * math.e * s) for a, s in zip(w, noise, strict=True) if a
    )
    sd = np.sqrt(var + noise[:, None])
    return np.array([mixture_entropy(w, mu[:, n], sd[:, n]) for n in range(mu.shape[1])]) - of_noise


def greedy_distance(X, mean, X_labelled, y_labelled):
    """min_i |x - x_i| |mean(x) - y_i|."""
    return np.array(
        [
            min(math.dist(x, z) * abs(m - y) for z, y in zip(X_labelled, y_labelled, strict=True))
            for x, m in zip(X, mean, strict=True)
        ]
    )
