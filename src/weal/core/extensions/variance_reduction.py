"""Expected reduction of the mixture's variance by a label: the MV of `mvr`.

A label y of x changes the experts and their weights, and so the mean of the mixture at every target
r. By the law of total variance the variance of the mixture falls, in expectation, by the variance
of that mean. With H experts, d_m(r) = mu_m(r) - mean(r), C_m(x, r) the posterior covariance and
s_m(x) = var_m(x) + noise_m:

    W_m(y) ~ w_m N(y; mu_m, s_m)              weights after the label
    mean'(r) - mean(r) = a'[d(r); C(x, r)]    a = [W_m ; W_m (y - mu_m) / s_m]   (2H)
    G(x) = E a a'                             over y ~ p = sum_j w_j N(mu_j, s_j)
    MV(x) = mean over r of d'G_11 d + 2 d'G_12 C + C'G_22 C

For one expert it equals `ivr`, mean_r C^2 / s. Student-t components count as Gaussians of the same
variance.

G is an integral over y alone. Every expert has a few nodes, spaced evenly within a few of its sds,
and all nodes together are one grid for the trapezoidal rule: it is fine enough wherever the density
of an expert is large. Gauss-Hermite nodes around each expert hit or miss the densities of narrower
ones by chance: with 24 of them, and sds that differ by factors of up to 10, MV was off by up to 13
%, here by 4 %. The weights of the rule are positive, so that MV is a sum of squares.

The targets are R points of the pool. `FeatureTargets` and `ExactTargets` give the posterior
covariance C(x, r) of any block of candidates with them, a function of the block and of numbers that
are kept for the targets alone and updated by one column a label:

    features   C = Phi(x) Sigma Phi(r)'                    Phi(r) is kept, and stays
    exact      C = k(x, r) - k(x, X) B    B = (K + lam I)^-1 k(X, r), which a label of x* with
               a = L^-T V(x*) takes to [B - a c(r)'/s ; c(r)'/s]

Means at the targets are moved as those of any points (`experts.moved`).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from weal.core.arrays import Array, Index
from weal.core.constants import MAX_EXPERTS_IN_REDUCTION, MIN_EXPERT_WEIGHT
from weal.core.paper.exact_gp import CorrelatedPoints, ExactExperts, all_correlations
from weal.core.paper.feature_gp import FeatureExperts
from weal.core.paper.kernels import Kernel

# Largest number of experts, nodes of each expert, and their reach in sds: MV is right to 5 % for
# sds that differ by factors of up to 40.
NODES_BY_EXPERTS = ((3, 12, 3.8), (5, 10, 3.5), (MAX_EXPERTS_IN_REDUCTION, 9, 3.5))
BLOCK_DENSITIES = (
    1 << 15
)  # densities that are computed together: they stay in the processor's cache
_NEGLIGIBLE_DENSITY_SDS = (
    1e2  # standardised distance of a density of exp(-5e3) = 0, beyond which distances are clipped
)


def experts_in_reduction(w: Array) -> NDArray[np.intp]:
    """Positions, ascending, of the experts that MV uses, for weights w (M,)."""
    few = np.argsort(-w, kind="stable")[:MAX_EXPERTS_IN_REDUCTION]
    return np.sort(few[w[few] >= min(MIN_EXPERT_WEIGHT, float(w.max()))])


@dataclass(frozen=True, slots=True, eq=False)
class TargetBelief:
    """Posterior of H experts at R targets, and its covariances with N candidates."""

    which: Any  # (H,)  positions of the experts, in the belief that this is part of
    mu: Array  # (H, R)  means of f at the targets
    cov: Array  # (H, N, R)  posterior covariances of candidates and targets
    var: Array | None = None  # (H, R)  variances of f at the targets

    def at(self, rows: Any) -> "TargetBelief":
        """The belief with only some of the candidates."""
        return replace(self, cov=self.cov[:, rows])


def expected_variance_reduction(
    w: Array, mu: Array, s: Array, target_belief: TargetBelief
) -> Array:  # (N,)
    """MV of N candidates for experts of weights w (H,), means mu and label variances s (H, N)."""
    H, N, R = target_belief.cov.shape
    if H == 1:
        return np.asarray(
            np.einsum("nr,nr->n", target_belief.cov[0], target_belief.cov[0]) / (R * s[0])
        )
    d = target_belief.mu - w @ target_belief.mu  # (H, R)
    apart = d @ d.T / R  # (H, H)
    z = _nodes(H)
    size = max(1, BLOCK_DENSITIES // (H * H * len(z)))
    out = np.empty(N)
    for start in range(0, N, size):
        rows = slice(start, start + size)
        C = target_belief.cov[:, rows].transpose(1, 0, 2)  # (n, H, R)
        both = np.matmul(C, C.transpose(0, 2, 1)) / R  # (n, H, H)
        across = np.matmul(C, d.T) / R  # (n, H, H)  C first
        G = _moments(w, mu[:, rows].T, np.sqrt(s[:, rows]).T, z)  # (n, 2H, 2H)
        out[rows] = (
            np.einsum("nab,ab->n", G[:, :H, :H], apart)
            + 2.0 * np.einsum("nab,nab->n", G[:, H:, :H], across)
            + np.einsum("nab,nab->n", G[:, H:, H:], both)
        )
    return np.maximum(out, 0.0)  # rounding may not take it below


def _nodes(H: int) -> Array:  # (Q,)
    """Quadrature nodes for one of H experts, in sds."""
    _, Q, reach = next(row for row in NODES_BY_EXPERTS if row[0] >= H)
    return np.linspace(-reach, reach, Q)


def _moments(w: Array, mu: Array, sd: Array, z: Array) -> Array:  # (n, 2H, 2H)
    """E a a' for means mu and sds sd (n, H) of a label, with nodes z (Q,) of each expert."""
    mu = mu - (mu @ w)[:, None]  # means may be large beside their differences
    y = (mu[:, :, None] + sd[:, :, None] * z).reshape(len(mu), -1)  # (n, HQ)
    y.sort(axis=1)
    u = (y[:, None, :] - mu[:, :, None]) / sd[:, :, None]  # (n, H, HQ)
    np.clip(u, -_NEGLIGIBLE_DENSITY_SDS, _NEGLIGIBLE_DENSITY_SDS, out=u)
    W = u * u
    W *= -0.5
    np.exp(W, out=W)
    W *= (w / sd)[:, :, None]
    p = W.sum(axis=1)  # (n, HQ)  up to 1 / sqrt(2 pi)
    W /= p[:, None, :]
    u *= W
    u /= sd[:, :, None]
    p *= _widths(y)
    p /= p.sum(axis=1, keepdims=True)
    a = np.concatenate([W, u], axis=1)  # (n, 2H, HQ)
    return np.asarray(np.matmul(a * p[:, None, :], a.transpose(0, 2, 1)))


def _widths(y: Array) -> Array:
    """Twice the weights of sorted nodes (n, K) in the trapezoidal rule."""
    out = np.empty_like(y)
    out[:, 1:-1] = y[:, 2:] - y[:, :-2]
    out[:, 0], out[:, -1] = y[:, 1] - y[:, 0], y[:, -1] - y[:, -2]
    return out


@dataclass(frozen=True, slots=True, eq=False)
class FeatureTargets:
    """The targets of experts on features."""

    points: Array  # (M, R, F)

    def posterior(self, experts: FeatureExperts, which: Index) -> "FeatureTargetPosterior":
        """The posterior at the targets, under some of the experts."""
        return FeatureTargetPosterior(experts.take(which), self.points[which])


@dataclass(frozen=True, slots=True, eq=False)
class FeatureTargetPosterior:
    """The posterior of H experts on features at R targets."""

    experts: FeatureExperts  # H
    points: Array  # (H, R, F)

    @property
    def means(self) -> Array:  # (H, R)
        """Means of f at the targets."""
        mu: Array = np.matmul(self.points, self.experts.theta[:, :, None])[..., 0]
        return mu

    @property
    def variances(self) -> Array:  # (H, R)
        """Variances of f at the targets, in units of the magnitude."""
        return self.experts.predict(self.points)[1]

    def covariance(self, points: Array) -> Array:
        """Covariances (H, N, R), in units of the magnitude, for features (H, N, F)."""
        return self.experts.covariance(points, self.points)


@dataclass(frozen=True, slots=True, eq=False)
class ExactTargets:
    """The targets of exact experts."""

    X: Array  # (R, d)

    def posterior(self, experts: ExactExperts, which: Index) -> "ExactTargetPosterior":
        """The posterior at the targets, under some of the experts."""
        some = experts.take(which)
        near = some.solved_points(self.X)
        B = near.V
        if len(some.X):
            B = np.stack([_back(L, V) for L, V in zip(some.L, near.V, strict=True)])
        return ExactTargetPosterior(some.kernels, self.X, B, *some.predict(near))


@dataclass(frozen=True, slots=True, eq=False)
class ExactTargetPosterior:
    """The posterior of H exact experts at R targets."""

    kernels: tuple[Kernel, ...]  # H
    X: Array  # (R, d)
    B: Array  # (H, t, R)  (K + lam I)^-1 k(labelled, targets)
    means: Array  # (H, R)
    variances: Array  # (H, R)  in units of the magnitude

    def covariance(self, points: CorrelatedPoints) -> Array:
        """Covariances (H, N, R), in units of the magnitude, for points of these experts."""
        out = all_correlations(self.kernels, points.X, self.X)
        for h, K in enumerate(points.K):
            out[h] -= K.T @ self.B[h]
        return out


def _back(L: Array, V: Array) -> Array:
    """Solve L' B = V for B."""
    return np.asarray(solve_triangular(L, V, lower=True, trans=1, check_finite=False))
