"""Targets of `mvr`, and their posterior covariances with candidates.

A label of x is worth what it teaches about the targets, R points of the pool. What it takes is the
posterior covariance C(x, r) of any block of candidates with them, a function of the block and of
what is kept here for the targets alone, moved by one column a label:

    features   C = Phi(x) Sigma Phi(r)'                    Phi(r) is kept, and stays
    exact      C = k(x, r) - k(x, X) B    B = (K + lam I)^-1 k(X, r), which a label of x* with
               a = L^-T V(x*) takes to [B - a c(r)'/s ; c(r)'/s]

Means at the targets are moved as those of any points (`experts.moved`).
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import solve_triangular

from weal.core.arrays import Array, Index
from weal.core.paper.exact_gp import CorrelatedPoints, ExactExperts, ExactStep
from weal.core.paper.feature_gp import FeatureExperts, FeatureStep
from weal.core.paper.kernels import Kernel, correlation


@dataclass(frozen=True, slots=True, eq=False)
class FeatureTargets:
    """The targets of experts on features."""

    points: Array  # (M, R, F)

    def after(self, step: FeatureStep) -> Self:
        """Features do not change with labels."""
        return self

    def means(self, experts: FeatureExperts, which: Index) -> Array:  # (H, R)
        """Means of f at the targets, of some of the experts."""
        mu: Array = np.matmul(self.points[which], experts.theta[which][:, :, None])[..., 0]
        return mu

    def covariance(self, experts: FeatureExperts, which: Index, points: Array) -> Array:
        """Covariances (H, N, R), in units of the magnitude, for features (H, N, F)."""
        return experts.take(which).covariance(points, self.points[which])

    def recompute(self, experts: FeatureExperts) -> Self:
        """The targets of the same experts after other labels."""
        return self


@dataclass(frozen=True, slots=True, eq=False)
class ExactTargets:
    """The targets of exact experts."""

    kernels: tuple[Kernel, ...]  # M
    points: CorrelatedPoints  # k(labelled, targets) (M, t, R)
    B: Array  # (M, t, R)
    mu: Array  # (M, R)

    @classmethod
    def of(cls, experts: ExactExperts, X: Array) -> Self:
        """The targets X (R, d) for experts after some labels."""
        points = experts.correlated_points(X)
        near = experts.solve(points)
        mu, _ = experts.predict(near)
        B = near.V
        if len(experts.X):
            solve = zip(experts.L, near.V, strict=True)
            B = np.stack([_back(L, V) for L, V in solve])
        return cls(experts.kernels, points, B, mu)

    def after(self, step: ExactStep) -> Self:
        """The targets after the label."""
        c = step.column(self.points)  # (M, R)
        gain = (c / step.s[:, None])[:, None, :]
        B = np.concatenate([self.B - step.a[:, :, None] * gain, gain], axis=1)
        mu = self.mu + c * (step.e / step.s)[:, None]
        return type(self)(self.kernels, step.extend(self.points, c), B, mu)

    def means(self, experts: ExactExperts, which: Index) -> Array:  # (H, R)
        """Means of f at the targets, of some of the experts."""
        return np.asarray(self.mu[which])

    def covariance(self, experts: ExactExperts, which: Index, points: CorrelatedPoints) -> Array:
        """Covariances (H, N, R), in units of the magnitude, for points of these experts."""
        members = np.arange(len(self.kernels))[which].tolist()
        out = np.empty((len(members), len(points.X), len(self.points.X)))
        prior: dict[Kernel, Array] = {}  # some differ in their noise alone
        for h, m in enumerate(members):
            kernel = self.kernels[m]
            if kernel not in prior:
                prior[kernel] = correlation(kernel, points.X, self.points.X)
            np.matmul(points.K[h].T, self.B[m], out=out[h])
            np.subtract(prior[kernel], out[h], out=out[h])
        return out

    def recompute(self, experts: ExactExperts) -> Self:
        """The targets of the same experts after other labels."""
        return type(self).of(experts, self.points.X)


def _back(L: Array, V: Array) -> Array:
    """Solve L' B = V for B."""
    return np.asarray(solve_triangular(L, V, lower=True, trans=1, check_finite=False))
