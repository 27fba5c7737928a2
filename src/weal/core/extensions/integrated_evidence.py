"""Log evidence of labels under kernels and noise ratios, with the magnitude integrated out.

With C = K + diag(ratio + extra / unit) and the prior sig2 ~ inverse gamma(A0, B0), t labels y have

    log p(y) = log Gamma(a) - log Gamma(A0) + A0 log B0 - a log b - 1/2 log |C| - t/2 log 2 pi,
    a = A0 + t / 2        b = B0 + y'C^-1 y / 2
"""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import lapack
from scipy.special import gammaln

from weal.core.arrays import Array
from weal.core.constants import MAGNITUDE_PRIOR_A, MAGNITUDE_PRIOR_B
from weal.core.extensions.label_noise import units
from weal.core.paper.exact_gp import LEAST_RATIO
from weal.core.paper.fixed_magnitude import LOG_2_PI
from weal.core.paper.kernels import Kernel, correlation


def log_evidence_grid(
    kernels: Sequence[Kernel], ratios: Sequence[float], X: Array, y: Array, extra: Array
) -> tuple[Array, Array]:
    """Log evidence (kernels, ratios) of the labels, magnitude integrated out, and units of extra.

    Without extra the unit of an expert is where what it believes of its log magnitude peaks.
    """
    stated = bool(extra.any())
    unit = units(kernels, ratios, X, y, extra) if stated else np.ones((len(kernels), len(ratios)))
    square, log_det = np.empty_like(unit), np.empty_like(unit)
    for n, kernel in enumerate(kernels):
        K = correlation(kernel, X, X)
        diagonal = np.diag(K).copy()
        for r, ratio in enumerate(ratios):
            np.fill_diagonal(K, diagonal + np.maximum(ratio + extra / unit[n, r], LEAST_RATIO))
            square[n, r], log_det[n, r] = _quadratic_and_log_det(K, y)
    a, b = MAGNITUDE_PRIOR_A + 0.5 * len(y), MAGNITUDE_PRIOR_B + 0.5 * square
    evidence = evidence_constant(len(y)) - a * np.log(b) - 0.5 * log_det
    return evidence, unit if stated else b / a


def _quadratic_and_log_det(C: Array, y: Array) -> tuple[float, float]:
    """y'C^-1 y and log |C|."""
    L, failed = lapack.dpotrf(C.T, lower=1, clean=0)  # symmetric: its transpose needs no copy
    if failed:
        raise np.linalg.LinAlgError("correlations are not positive definite")
    z, _ = lapack.dtrtrs(L, y, lower=1)
    return float(z @ z), 2.0 * float(np.log(np.diag(L)).sum())


def log_evidences(
    kernels: Sequence[Kernel], ratios: Sequence[float], X: Array, y: Array, extra: Array
) -> Array:
    """Log evidence (kernels, ratios) of the labels, magnitude integrated out."""
    return log_evidence_grid(kernels, ratios, X, y, extra)[0]


def evidence_constant(t: int) -> float:
    """What the evidence of t labels has in common for all experts."""
    return float(
        gammaln(MAGNITUDE_PRIOR_A + 0.5 * t)
        - gammaln(MAGNITUDE_PRIOR_A)
        + MAGNITUDE_PRIOR_A * np.log(MAGNITUDE_PRIOR_B)
        - 0.5 * t * LOG_2_PI
    )
