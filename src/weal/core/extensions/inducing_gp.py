"""Experts that know f through inducing points: the third kind, for labels by the thousand.

With Z inducing points of an expert (`pivoted_cholesky`), L L' = k(Z, Z) and phi(x) = L^-1 k(Z, x),
its prior is taken apart into what Z explains and what it does not,

    f(x) = phi(x)'theta + delta(x)        r(x) = var delta(x) = k(x, x) - |phi(x)|^2 >= 0

and delta is taken to be independent from point to point: FITC. [2] Snelson, Ghahramani: Sparse
Gaussian processes using pseudo-inputs, 2006. The prior variance of every point is the kernel's, and
so is the covariance with any point of Z; with all labelled points in Z the expert is the exact one.
What is off is the covariance of two remainders, which is sqrt(r(x) r(x')) at the most: where r is
small against the noise nothing is lost, and where it is not, a label counts for less.

So it is an expert on features (`feature_gp`), whose labels have the noise ratio lam + r, and whose
variances have r on top:

    v(x) = phi'Sigma phi + r(x)    s = phi'Sigma phi + r + lam    c(x) = phi(x)'Sigma phi(x*)

A point is phi(x) and, behind it, sqrt(r(x)): one feature more that has no weight, for no two points
share it. Many labels come in blocks, whose update of the root S of Sigma is Potter's with matrices.
With U = Phi S, noise ratios D = diag(lam + r) and C C' = U U' + D

    S -= S U'C^-T (C + D^1/2)^-1 U         theta += S U'C^-T z      z = C^-1 (y - mu)

[3] Andrews: A square root formulation of the Kalman covariance equations, 1968.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike
from scipy.linalg import solve_triangular

from weal.core.arrays import Array, Index
from weal.core.paper.exact_gp import LEAST_RATIO, correlations, take_kernels
from weal.core.paper.feature_gp import FeatureExperts, FeatureStep
from weal.core.paper.gaussian_likelihood import cholesky_innovations, innovation
from weal.core.paper.kernels import Kernel

TOGETHER = 256  # labels of a block
ROUNDING = 1e-13  # of the prior variance, where an offset makes it large


@dataclass(frozen=True, slots=True, eq=False)
class Inducing:
    """Inputs as experts with inducing points see them: an embedding (`embeddings`)."""

    kernels: tuple[Kernel, ...]  # M
    Z: tuple[Array, ...]  # M of (m, d), m for each its own
    L: tuple[Array, ...]  # M of (m, m)
    most: int  # the largest m; who has fewer has features of 0

    @classmethod
    def of(cls, kernels: Sequence[Kernel], Z: Sequence[Array]) -> Self:
        """The embedding with the inducing points Z, M of (m, d)."""
        each = zip(kernels, Z, strict=True)
        return cls(
            tuple(kernels),
            tuple(Z),
            tuple(_factor(kernel, points) for kernel, points in each),
            max(len(points) for points in Z),
        )

    def points(self, experts: Any, X: Array, dtype: DTypeLike = np.float64) -> Array:
        """Features (M, N, F): phi, and the root of the remainder."""
        Phi = np.zeros((len(self.kernels), len(X), self.most + 1), dtype)
        for out, kernel, Z, L in zip(Phi, self.kernels, self.Z, self.L, strict=True):
            phi = solve_triangular(L, correlations(kernel, Z, X), lower=True, check_finite=False)
            out[:, : len(Z)] = phi.T
            r = kernel.variance - np.einsum("fn,fn->n", phi, phi)
            out[:, -1] = np.sqrt(np.maximum(r, 0.0))
        return Phi

    def width(self, experts: Any) -> int:
        """F."""
        return self.most + 1

    def take(self, which: Index) -> Self:
        """The embedding for some of the experts."""
        rows = np.arange(len(self.kernels))[which].tolist()
        Z, L = (tuple(part[m] for m in rows) for part in (self.Z, self.L))
        return type(self)(take_kernels(self.kernels, which), Z, L, self.most)


def _factor(kernel: Kernel, Z: Array) -> Array:
    """L, with as much noise on the diagonal as rounding asks for."""
    K = correlations(kernel, Z, Z)
    K[np.diag_indices(len(Z))] += max(LEAST_RATIO, ROUNDING * kernel.variance)
    return np.linalg.cholesky(K).astype(np.float64, copy=False)


@dataclass(frozen=True, slots=True, eq=False)
class InducingExperts:
    """Posterior of the weights theta of M experts; what points have behind phi has none."""

    weights: FeatureExperts  # the last row and column of its roots are 0

    @classmethod
    def prior(cls, M: int, F: int) -> Self:
        """Experts that have seen no label."""
        root = np.zeros((M, F, F))
        root[:, np.arange(F - 1), np.arange(F - 1)] = 1.0
        return cls(FeatureExperts(np.zeros((M, F)), root))

    @property
    def theta(self) -> Array:  # (M, F)
        """Posterior mean of the weights."""
        return self.weights.theta

    @property
    def root(self) -> Array:  # (M, F, F)
        """S with S S' = Sigma."""
        return self.weights.root

    @property
    def Sigma(self) -> Array:  # (M, F, F)
        """Posterior covariance of the weights, in units of the magnitude."""
        return self.weights.Sigma

    def predict(self, points: Array) -> tuple[Array, Array]:
        """mu = phi'theta, v = phi'Sigma phi + r."""
        mu, v = self.weights.predict(points)
        return mu, v + self.remainders(points)

    def step(self, point: Array, y: float, lam: Array) -> FeatureStep:
        """What the label tells of f, and of theta with r as noise."""
        told, r = self.weights.step(point, y, lam), self.remainders(point)[:, 0]
        mu, v = (part[:, 0] for part in self.predict(point))
        noise = np.maximum(lam, LEAST_RATIO)
        return FeatureStep(*innovation(y, mu, v, noise), noise + r, told.u, told.g)

    def condition(self, step: FeatureStep) -> "InducingExperts":
        """The weights after that label."""
        return InducingExperts(self.weights.condition(step))

    def absorb(self, points: Array, y: Array, lam: Array) -> tuple["InducingExperts", Array, Array]:
        """One update for each block of labels."""
        theta, root = self.theta.copy(), self.root.copy()
        e, s = np.empty_like(lam), np.empty_like(lam)
        lam = np.maximum(lam, LEAST_RATIO)
        for start in range(0, len(y), TOGETHER):
            rows = slice(start, start + TOGETHER)
            for m in range(len(theta)):
                told = _block(theta[m], root[m], points[m, rows], y[rows], lam[m, rows])
                theta[m], root[m], e[m, rows], s[m, rows] = told
        return InducingExperts(FeatureExperts(theta, root)), e, s

    def prior_covariance(self, a: Array, b: Array) -> Array:
        """Phi Phi'."""
        k: Array = np.matmul(a[:, :, :-1], b[:, :, :-1].transpose(0, 2, 1))
        return k

    def covariance(self, a: Array, b: Array) -> Array:
        """Phi Sigma Phi'."""
        return self.weights.covariance(a, b)

    def remainders(self, points: Array) -> Array:
        """r."""
        return np.asarray(points[:, :, -1].astype(np.float64) ** 2)

    def take(self, which: Index) -> Self:
        """Some of the experts."""
        return type(self)(self.weights.take(which))


def _block(
    theta: Array, S: Array, Phi: Array, y: Array, lam: Array
) -> tuple[Array, Array, Array, Array]:
    """theta (F,) and S (F, F) of one expert after labels y (N,), with the e and s (N,) met."""
    r, U, mu = Phi[:, -1] ** 2, Phi @ S, Phi @ theta
    v = U @ U.T
    v[np.diag_indices(len(y))] += r
    C, z = cholesky_innovations(y, mu, v, lam)
    s = np.diag(C) ** 2
    noise = lam + r  # of theta
    back = S @ solve_triangular(C, U, lower=True, check_finite=False).T  # (F, N)  S U'C^-T
    inner = solve_triangular(C + np.diag(np.sqrt(noise)), U, lower=True, check_finite=False)
    return theta + back @ z, S - back @ inner, z * np.diag(C), s
