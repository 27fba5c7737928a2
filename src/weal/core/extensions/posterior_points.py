"""A peak as several experts: points that stand for the posterior around it.

Labels leave lengthscales and noise open, and one expert at the peak says nothing of that: its
intervals are too narrow, and its noise is that of the peak. Laplace's approximation of what labels
leave of p is N(p*, H^-1), H = R R' (`ard`). It is stood for by points in pairs,

    p* +- sqrt(P) R^-T q_j        q_j orthonormal, the same for every set of labels

whose mean and, with all P pairs, covariance are those of the approximation (the spherical cubature
rule); with fewer pairs, N_PAIRS at the most, each is a typical draw: every parameter off by about
one sd. [2] Arasaratnam, Haykin: Cubature Kalman filters, 2009. A point counts by how far the truth
is from the approximation there, exp(L + log prior) over what the normal says, though by no more
than HEAVIEST. Parameters on a bound stay there.
"""

from functools import lru_cache

import numpy as np

from weal.core.arrays import Array
from weal.core.constants import N_PAIRS, SOUGHT_RATIOS
from weal.core.extensions.ard import LEAST_CURVATURE, Peak
from weal.core.paper.ensemble import normalise

HEAVIEST = 2.0  # log of what a point may count more than the approximation says
LIGHTEST = 700.0  # log of what it may count less, that none is left without any
LOG_ENDS = tuple(np.log(SOUGHT_RATIOS))


def draws(peak: Peak) -> tuple[Array, Array, Array, Array]:
    """Points (n, P) for a peak, their log shares (n,) of its mass, and L and b (n,) there."""
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
    return points, normalise(np.clip(ratio, -LIGHTEST, HEAVIEST)), L, b


@lru_cache(maxsize=8)
def directions(P: int) -> Array:
    """Points (n, P) around 0 in pairs, sqrt(P) away; the same in every run."""
    Q = np.linalg.qr(np.random.default_rng(P).standard_normal((P, P))).Q
    half = P**0.5 * Q[: min(P, N_PAIRS)]
    found = np.concatenate([half, -half])
    found.flags.writeable = False
    return found


def _root(H: Array) -> Array:
    """R, R R' = H; no direction is wider than the prior of log lam."""
    curvature, Q = np.linalg.eigh(H)
    return np.linalg.cholesky((Q * np.maximum(curvature, LEAST_CURVATURE)) @ Q.T)
