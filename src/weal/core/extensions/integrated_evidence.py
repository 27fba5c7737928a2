"""Log evidence of labels under kernels and noise ratios, with the magnitude integrated out.

With C = K + diag(ratio + noise_var / unit) and the prior sig2 ~ inverse gamma(A0, B0), t labels y
have

    log p(y) = log Gamma(a) - log Gamma(A0) + A0 log B0 - a log b - 1/2 log |C| - t/2 log 2 pi,
    a = A0 + t / 2        b = B0 + y'C^-1 y / 2

Model selection, ARD, outliers and contradictions all compare this number.

Its Hessian for many kernel parameters is computed for all columns at once. The curvature at a peak
(`ard`) is found by differences of the gradient, one for each of P parameters. With a thousand
inputs and twenty labels these thousand gradients took most of the time of a fit. A step of one
lengthscale changes its own row of the distances alone, so that all steps share the sums over the
others:

    r2_i = r2 + (1 / l_i'^2 - 1 / l_i^2) D2_i             families of one distance
    f_i' = (1 + s k_i') / (1 + s),   G_i = G f_i' / f_i    anova

The covariances (P, t, t) of all steps are inverted together, and the gradients are one product of
(P, T) matrices, with T pairs of labels. The prior is a normal, whose curvature is known.
Differences and their step are those of `ard`.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.special import gammaln

from weal.core.arrays import Array
from weal.core.constants import MAGNITUDE_PRIOR_A, MAGNITUDE_PRIOR_B
from weal.core.extensions import trend_kernel
from weal.core.extensions.label_noise import units
from weal.core.packed_factors import cholesky
from weal.core.paper.exact_gp import LEAST_RATIO
from weal.core.paper.fixed_magnitude import LOG_2_PI
from weal.core.paper.kernels import FAMILIES, Kernel, correlation

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
    """L^-1 Y and log |C| for a covariance C = L L'; LinAlgError if it is not positive."""
    L = cholesky(C)
    Z, _ = lapack.dtrtrs(L, Y, lower=1)
    return Z, 2.0 * float(np.log(L.diagonal()).sum())


NUMBERS = 2**22  # of the matrices (steps, T) and (steps, t, t) that are in memory at a time
Places = NDArray[np.intp]


class Steps(NamedTuple):
    """Correlations after finite-difference steps, and the factors of their derivatives."""

    k: Array  # (n, T)
    slopes: Callable[[Array], Array]  # w (n, T) -> (n, P)


def family_steps(kernel: Kernel, p: Array, D2: Array, which: Places, by: float) -> Steps:
    """Steps of the log lengthscales `which` (n,), from p (d,), for squared distances D2 (d, T)."""
    family, alpha = FAMILIES[kernel.family], kernel.alpha
    inverse = np.exp(-2.0 * p)
    moved = np.exp(-2.0 * (p[which] + by))
    r2 = np.maximum(inverse @ D2 + (moved - inverse[which])[:, None] * D2[which], 0.0)

    def slopes(w: Array) -> Array:
        found = -2.0 * inverse * ((w * family.slope(r2, alpha)) @ D2.T)
        rows = np.arange(len(which))
        found[rows, which] *= moved / inverse[which]
        return np.asarray(found)

    return Steps(family.correlation(r2, alpha), slopes)


def anova_steps(p: Array, D2: Array, which: Places, by: float) -> Steps:
    """Steps of the log lengthscales of an ANOVA kernel, for p (d + 1,)."""
    d, s = len(D2), float(np.exp(p[-1]))
    full = -np.expm1(-d * np.log1p(s))
    a = np.sqrt(5.0 * D2) * np.exp(-p[:-1])[:, None]  # (d, T)
    each, rises = _one(a)
    f = (1.0 + s * each) / (1.0 + s)
    moved, moved_rises = _one(a[which] * np.exp(-by))
    f_moved = (1.0 + s * moved) / (1.0 + s)
    G = np.exp(np.log(f).sum(axis=0) + np.log(f_moved) - np.log(f[which]))  # (n, T)
    k = (G - np.exp(-d * np.log1p(s))) / full
    ratios = (each / f).sum(axis=0) - each[which] / f[which] + moved / f_moved  # (n, T)

    def slopes(w: Array) -> Array:
        wG, rows = w * G, np.arange(len(which))
        lengths = wG @ (rises / f).T  # (n, d)
        lengths[rows, which] = np.einsum("nt,nt->n", wG, moved_rises / f_moved)
        strength = np.einsum("nt,nt->n", wG, ratios) - d * np.einsum("nt,nt->n", w, k)
        return np.asarray(s / (1.0 + s) / full * np.column_stack([lengths, strength]))

    return Steps(k, slopes)


def trend_steps(p: Array, D2: Array, which: Places, by: float) -> Steps:
    """Steps of the log lengthscales of a trend kernel, for p (d + 1,)."""
    tau, inverse = float(np.exp(p[-1])), np.exp(-2.0 * p[:-1])
    moved = np.exp(-2.0 * (p[which] + by))
    r2 = np.maximum(inverse @ D2 + (moved - inverse[which])[:, None] * D2[which], 0.0)

    def slopes(w: Array) -> Array:  # (n, T) -> (n, d + 1)
        lengths = -2.0 * inverse * ((w * trend_kernel.slope(r2, tau)) @ D2.T)
        lengths[np.arange(len(which)), which] *= moved / inverse[which]
        strength = np.einsum("nt,nt->n", w, trend_kernel.slope_by_strength(r2, tau))
        return np.column_stack([lengths, strength])

    return Steps(trend_kernel.correlation(r2, tau), slopes)


def _one(a: Array) -> tuple[Array, Array]:
    """Matern 5/2 of one input, and its slope by the log of its lengthscale."""
    decay = np.exp(-a)
    return (1.0 + a + a * a / 3.0) * decay, a * a * (1.0 + a) * decay / 3.0


def gradients(steps: Steps, pairs: tuple[Array, Array], y: Array, diagonal: Array, offset: float,
              lam: float) -> Array:  # fmt: skip
    """Gradients (n, P + 1) of the log evidence after the steps, by log lam at the end."""
    n, t = len(steps.k), len(y)
    C = np.empty((n, t, t))
    C[:, pairs[0], pairs[1]] = C[:, pairs[1], pairs[0]] = steps.k + offset
    C[:, np.arange(t), np.arange(t)] = diagonal
    inverse = np.linalg.inv(C)
    C_y = inverse @ y
    a, b = magnitude_posterior(t, C_y @ y)
    ratio = a / b
    W = ratio[:, None] * C_y[:, pairs[0]] * C_y[:, pairs[1]] - inverse[:, pairs[0], pairs[1]]
    trace = ratio * np.einsum("nt,nt->n", C_y, C_y) - np.trace(inverse, axis1=1, axis2=2)
    return np.column_stack([steps.slopes(W), 0.5 * lam * trace])


def heights(C: Array, y: Array) -> Array:  # (n,)
    """Log evidences of the labels y (t,) for covariances C (n, t, t), up to a constant."""
    square = np.linalg.solve(C, np.broadcast_to(y[:, None], (len(C), len(y), 1)))[..., 0] @ y
    log_det = np.linalg.slogdet(C)[1]
    return log_evidence(len(y), square, log_det, constant=0.0)
