"""Hessian of the log evidence for many kernel parameters, all columns at once.

The curvature at a peak (`ard`) is found by differences of the gradient, one for each of P
parameters. With a thousand inputs and twenty labels these thousand gradients took most of the time
of a fit. A step of one lengthscale changes its own row of the distances alone, so that all steps
share the sums over the others:

    r2_i = r2 + (1 / l_i'^2 - 1 / l_i^2) D2_i             families of one distance
    f_i' = (1 + s k_i') / (1 + s),   G_i = G f_i' / f_i    anova

The covariances (P, t, t) of all steps are inverted together, and the gradients are one product of
(P, T) matrices, with T pairs of labels. The prior is a normal, whose curvature is known.
Differences and their step are those of `ard`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.extensions.integrated_evidence import log_evidence, magnitude_posterior
from weal.core.paper.kernels import FAMILIES, Kernel

NUMBERS = 2**22  # of the matrices (steps, T) and (steps, t, t) that are at hand at a time
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
