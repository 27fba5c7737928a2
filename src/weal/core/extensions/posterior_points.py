"""Posterior points: experts that represent a peak of the evidence.

Labels leave lengthscales and noise uncertain, and one expert at the peak would have too narrow
intervals. Laplace's approximation N(p*, H^-1), H = R R' (`ard`), is represented by pairs of points,

    p* +- sqrt(P) R^-T q_j        q_j orthonormal, the same for every set of labels

with the mean and, with all P pairs, the covariance of the approximation (spherical cubature rule);
with fewer pairs, POSTERIOR_POINT_PAIRS at most, each point is a typical draw, and without any pair
the peak is the only point. The weight of a point is exp(L + log prior) over the density of the
normal, limited to MAX_LOG_OVERWEIGHT. Parameters on a bound stay there.
[2] Arasaratnam, Haykin: Cubature Kalman filters, 2009.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from weal.core.arrays import Array
from weal.core.constants import POSTERIOR_POINT_PAIRS
from weal.core.extensions.ard import LEAST_CURVATURE, LOG_ENDS, EvidencePeak
from weal.core.extensions.integrated_evidence import (
    evidence_constant,
    log_evidence_grid,
    magnitude_posterior,
)
from weal.core.extensions.label_noise import prior_height
from weal.core.paper.ensemble import normalise
from weal.core.paper.kernels import Kernel

MAX_LOG_OVERWEIGHT = 2.0  # log of the largest ratio of a weight to that of the approximation
MAX_LOG_UNDERWEIGHT = 700.0  # log of the largest inverse ratio, so that no weight is 0


def posterior_points(
    peak: EvidencePeak, pairs: int = POSTERIOR_POINT_PAIRS
) -> tuple[Array, Array, Array, Array]:
    """Quadrature points (n, P) of a peak, their log weights (n,), and L and b (n,) there."""
    free = peak.slope == 0.0
    away = np.zeros((1, len(peak.p)))  # of the peak
    z = np.zeros((1, int(free.sum())))
    if free.any() and pairs:
        z = directions(int(free.sum()), pairs)
        away = np.zeros((len(z), len(peak.p)))
        away[:, free] = np.linalg.solve(_root(peak.H[np.ix_(free, free)]).T, z.T).T
    problem, shape = peak.fit, peak.fit.shape
    points = peak.p + away
    points[:, :-1] = np.clip(points[:, :-1], shape.low, shape.high)
    points[:, -1] = np.clip(points[:, -1], *LOG_ENDS)
    L, b = np.transpose([problem.evidence(p) for p in points])
    prior = np.array([problem.log_prior(p)[0] for p in points])
    ratio = L + prior - peak.height + 0.5 * (z * z).sum(axis=1)
    return points, normalise(np.clip(ratio, -MAX_LOG_UNDERWEIGHT, MAX_LOG_OVERWEIGHT)), L, b


@lru_cache(maxsize=64)
def directions(P: int, pairs: int = POSTERIOR_POINT_PAIRS) -> Array:
    """Antithetic points (n, P) around 0 at distance sqrt(P); the same in every run."""
    Q = np.linalg.qr(np.random.default_rng(P).standard_normal((P, P))).Q
    half = P**0.5 * Q[: min(P, pairs)]
    found = np.concatenate([half, -half])
    found.flags.writeable = False
    return found


def _root(H: Array) -> Array:
    """Root R of H, R R' = H; no direction is wider than the prior of log lam."""
    curvature, Q = np.linalg.eigh(H)
    return np.linalg.cholesky((Q * np.maximum(curvature, LEAST_CURVATURE)) @ Q.T)


CandidateModel = tuple[Kernel, float]  # a candidate expert: kernel and noise ratio


class CandidateModels(NamedTuple):
    """Candidate experts."""

    models: list[CandidateModel]  # n
    evidence: Array  # (n,)
    unit: Array  # (n,)
    log_post: Array  # (n,)  without the share of their class


def concat_candidates(parts: Sequence[CandidateModels]) -> CandidateModels:
    """The candidates of all lists, concatenated."""
    models = [model for part in parts for model in part.models]
    evidence, unit, log_post = (np.concatenate([part[n] for part in parts]) for n in (1, 2, 3))
    return CandidateModels(models, evidence, unit, log_post)


def prior_correction(unit: Array, noise_var: Array) -> Array:
    """Correction of the log evidence for the prior of the magnitude, if noise is stated."""
    return prior_height(unit) if noise_var.any() else np.zeros_like(unit)


def point_candidates(
    peak: EvidencePeak, X: Array, y: Array, noise_var: Array,
    pairs: int = POSTERIOR_POINT_PAIRS, on_all: Callable[[Kernel], Kernel] | None = None,
) -> CandidateModels:  # fmt: skip
    """The posterior points of a peak as experts, and their log posteriors within its class.

    `on_all` converts the kernels of a peak on some inputs to kernels on all inputs.
    """
    points, log_share, L, b = posterior_points(peak, pairs)
    constant, shape = evidence_constant(len(y)), peak.fit.shape
    kernels = [shape.kernel(p[:-1]) for p in points]
    if on_all is not None:
        kernels = [on_all(kernel) for kernel in kernels]
    models = list(zip(kernels, np.exp(points[:, -1]).tolist(), strict=True))
    log_post = peak.log_z + constant + log_share
    if not noise_var.any():
        return CandidateModels(
            models, L + constant, b / magnitude_posterior(len(y), 0.0)[0], log_post
        )
    each = [log_evidence_grid([kernel], [ratio], X, y, noise_var) for kernel, ratio in models]
    evidence, unit = (np.array([pair[n][0, 0] for pair in each]) for n in (0, 1))
    return CandidateModels(
        models, evidence, unit, log_post - prior_correction(np.array(peak.unit), noise_var)
    )
