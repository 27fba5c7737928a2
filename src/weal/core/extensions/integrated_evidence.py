"""Log evidence of labels under kernels and noise ratios, with the magnitude integrated out.

With C = K + diag(ratio + noise_var / unit) and the prior sig2 ~ inverse gamma(A0, B0), t labels y
have

    log p(y) = log Gamma(a) - log Gamma(A0) + A0 log B0 - a log b - 1/2 log |C| - t/2 log 2 pi,
    a = A0 + t / 2        b = B0 + y'C^-1 y / 2

Model selection, ARD, outliers and contradictions all compare this number.
"""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from scipy.linalg import lapack
from scipy.special import gammaln

from weal.core.arrays import Array
from weal.core.constants import MAGNITUDE_PRIOR_A, MAGNITUDE_PRIOR_B
from weal.core.extensions.label_noise import units
from weal.core.paper.exact_gp import LEAST_RATIO
from weal.core.paper.fixed_magnitude import LOG_2_PI
from weal.core.paper.kernels import Kernel, correlation

Square = TypeVar("Square", float, Array)


def magnitude_posterior(t: int, square: Square) -> tuple[float, Square]:
    """a, and b elementwise, after t labels with y'C^-1 y = square."""
    return MAGNITUDE_PRIOR_A + 0.5 * t, MAGNITUDE_PRIOR_B + 0.5 * square


def log_evidence(
    t: int, square: Array | float, log_det: Array | float, constant: Array | float | None = None
) -> Array:
    """Log p(y), elementwise, of t labels with y'C^-1 y = square and log |C| = log_det.

    `constant` replaces the term that all experts have in common: 0 where experts are compared.
    """
    a, b = magnitude_posterior(t, np.asarray(square))
    first = evidence_constant(t) if constant is None else constant
    return np.asarray(first - a * np.log(b) - 0.5 * log_det)


def evidence_constant(t: int) -> float:
    """The term of the log evidence of t labels that is the same for all experts."""
    return float(
        gammaln(MAGNITUDE_PRIOR_A + 0.5 * t)
        - gammaln(MAGNITUDE_PRIOR_A)
        + MAGNITUDE_PRIOR_A * np.log(MAGNITUDE_PRIOR_B)
        - 0.5 * t * LOG_2_PI
    )


def log_evidence_grid(
    kernels: Sequence[Kernel], ratios: Sequence[float], X: Array, y: Array, noise_var: Array
) -> tuple[Array, Array]:
    """Log evidence (kernels, ratios) of the labels, and the units of their noise variances.

    Without noise variances the unit of an expert is the mode of its belief in log sig2, b / a.
    """
    stated = bool(noise_var.any())
    shape = len(kernels), len(ratios)
    unit = units(kernels, ratios, X, y, noise_var) if stated else np.ones(shape)
    square, log_det = np.empty_like(unit), np.empty_like(unit)
    for n, kernel in enumerate(kernels):
        K = correlation(kernel, X, X)
        diagonal = np.diag(K).copy()
        for r, ratio in enumerate(ratios):
            np.fill_diagonal(K, diagonal + np.maximum(ratio + noise_var / unit[n, r], LEAST_RATIO))
            z, log_det[n, r] = whiten(K, y)
            square[n, r] = z @ z
    a, b = magnitude_posterior(len(y), square)
    return log_evidence(len(y), square, log_det), unit if stated else b / a


def whiten(C: Array, Y: Array) -> tuple[Array, float]:
    """L^-1 Y and log |C| for a covariance C = L L'; LinAlgError where it is not positive."""
    L, failed = lapack.dpotrf(C.T, lower=1, clean=0)  # symmetric: its transpose needs no copy
    if failed:
        raise np.linalg.LinAlgError("a covariance is not positive definite")
    Z, _ = lapack.dtrtrs(L, Y, lower=1)
    return Z, 2.0 * float(np.log(np.diag(L)).sum())
