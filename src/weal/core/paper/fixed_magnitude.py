"""The Gaussian likelihood of labels, y = f + noise [1, eq:pred_y], and a fixed magnitude sig2.

An expert predicts f at a point with mean mu and variance v, v in units of its magnitude sig2. The
noise of a label y has the ratio lam to the magnitude. The innovation and its variance are

    e = y - mu        s = v + lam        e ~ N(0, sig2 s)

and everything else follows from them: the predictions move by c e / s and c^2 / s (`feature_gp`),
the magnitude learns e^2 / s, and the weight is multiplied by the density of e, which the magnitude
gives. Labels in turn are a Cholesky factor: with B the prior covariance of f at their points,
C C' = B + diag(lam) and z = C^-1 (y - mu), s = diag(C)^2 and e = z diag(C), each given the labels
before it.

The paper fixes sig2 at its marginal-likelihood value on the first labels;
`extensions.conjugate_magnitude` integrates it out instead. A noise variance that is stated in label
units is divided by sig2, which is the `unit` of a fixed magnitude.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import ndtr, ndtri

from weal.core.arrays import Array, Index

# Standardised surprises beyond this would overflow when squared; every expert is as wrong there.
Z_MAX = 1e150
LOG_2_PI = float(np.log(2.0 * np.pi))


def log_normal(e: Array, var: Array) -> Array:
    """Log density of N(0, var) at e, elementwise; finite for every finite e and var > 0."""
    with np.errstate(over="ignore"):  # to inf, and then to Z_MAX
        z = np.clip(e / np.sqrt(var), -Z_MAX, Z_MAX)
    return -0.5 * (LOG_2_PI + np.log(var) + z * z)


def along_experts(parameter: Array, e: Array) -> Array:
    """A parameter (M,) or (M, ...), reshaped to broadcast with e (M, ...)."""
    return parameter.reshape(*parameter.shape, *[1] * (e.ndim - parameter.ndim))


def half_square(e: Array, s: Array) -> Array:
    """e^2 / (2 s), elementwise; finite."""
    with np.errstate(over="ignore"):
        z = np.clip(e / np.sqrt(s), -Z_MAX, Z_MAX)
    return np.asarray(0.5 * z * z)


@dataclass(frozen=True, slots=True, eq=False)
class FixedMagnitude:
    """A fixed magnitude."""

    variance: Array  # (M,)  sig2

    @property
    def unit(self) -> Array:  # (M,)
        """The unit of noise variances: sig2."""
        return self.variance

    @property
    def freedom(self) -> Array:  # (M,)
        """Infinite: innovations are normal."""
        return np.full(len(self.variance), np.inf)

    def width(self, s: Array) -> Array:
        """Standard deviation of an innovation."""
        return np.asarray(np.sqrt(along_experts(self.variance, s) * s))

    def log_density(self, e: Array, s: Array) -> Array:
        """Log density of N(0, sig2 s)."""
        return log_normal(e, along_experts(self.variance, e) * s)

    def log_predictive(self, e: Array, s: Array) -> Array:
        """The same: nothing about the magnitude is open."""
        return self.log_density(e, s)

    def cdf(self, e: Array, s: Array) -> Array:
        """Distribution function of N(0, sig2 s)."""
        return np.asarray(ndtr(e / np.sqrt(along_experts(self.variance, e) * s)))

    def quantile(self, level: float, s: Array) -> Array:
        """Quantile of N(0, sig2 s)."""
        return np.asarray(ndtri(level) * np.sqrt(along_experts(self.variance, s) * s))

    def after(self, e: Array, s: Array) -> tuple[Array, Self]:
        """Log density of the innovations; the magnitude does not change."""
        return self.log_density(e, s).sum(axis=1), self

    def with_innovation(self, e: Array, s: Array) -> Self:
        """The same magnitude: it does not depend on innovations."""
        return self

    def without(self, e: Array, s: Array) -> Self:
        """The same magnitude: it does not depend on innovations."""
        return self

    def take(self, which: Index) -> Self:
        """The magnitudes of some of the experts."""
        return type(self)(self.variance[which])


def innovation(y: Array | float, mu: Array, v: Array, lam: Array) -> tuple[Array, Array]:
    """The innovation e = y - mu of labels y and its variance s = v + lam, elementwise."""
    return y - mu, v + lam  # [1, eq:pred_y]


def cholesky_innovations(y: Array, mu: Array, B: Array, lam: Array) -> tuple[Array, Array]:
    """C (N, N) and z (N,) of labels y (N,) in turn, for B (N, N) and noise ratios lam (N,)."""
    noisy = B.copy()
    noisy[np.diag_indices(len(y))] += lam  # [1, eq:joint_pdf]
    C: Array = np.linalg.cholesky(noisy).astype(np.float64, copy=False)
    return C, solve_triangular(C, y - mu, lower=True, check_finite=False)
