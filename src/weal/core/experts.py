"""M Gaussian processes conditioned on labels: on random features (the paper) or exactly.

Both kinds obey one rule. With c(x) the posterior covariance of f(x) and f(x*), a label y of x*
with noise ratio lam moves the belief on any set of points:

    s = v(x*) + lam      e = y - mu(x*)      mu(x) += c(x) e / s      v(x) -= c(x)^2 / s

Only the column c differs, and with it what an expert keeps:

    features   f = phi'theta;  c(x) = phi(x)' Sigma phi(x*)          theta, a root of Sigma
    exact      c(x) = k(x, x*) - V(x)'V(x*),  V(x) = L^-1 k(X, x)    L, z = L^-1 y

Features. Sigma = S S' is kept as its root S, updated by Potter's rule

    u = S'phi    g = S u = Sigma phi    S -= g u' / (s + sqrt(lam s))

which equals the downdate Sigma -= g g' / s of [1, eq:posterior_update_1] in exact arithmetic and
costs the same, but a Sigma kept this way is symmetric and positive by construction, and a variance
|S'phi|^2 has relative error eps / sqrt(lam) instead of eps / lam.
[2] Bierman: Factorization methods for discrete sequential estimation, 1977, ch. II.

Exact. L is the Cholesky factor of K + lam I; a label adds the row [V(x*)', sqrt(s)] to L and the
entry e / sqrt(s) to z: the rows of V are the earlier columns c / sqrt(s).

Points are given in the form that the kind works on: features Phi (M, N, F), or `Near` below.
"""

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from scipy.linalg import solve_triangular

from weal.core.arrays import Array
from weal.core.kernels import Kernel, correlation

Points = Any  # Phi (M, N, F) for experts on features, Near for exact ones


class Step(Protocol):
    """What one label tells every expert."""

    @property
    def e(self) -> Array:
        """Innovation (M,)."""

    @property
    def s(self) -> Array:
        """Its variance in units of the magnitude (M,)."""


class Experts(Protocol):
    """The seam between the two kinds of expert."""

    def predict(self, points: Points) -> tuple[Array, Array]:
        """Means mu and variances v (M, N), v in units of the magnitude."""

    def step(self, point: Points, y: float, lam: Array) -> Any:
        """What the label y of one point (N = 1) tells, at noise ratios lam (M,)."""

    def condition(self, step: Any) -> Self:
        """The experts after that label."""

    def absorb(self, points: Points, y: Array, lam: Array) -> tuple[Self, Array, Array]:
        """The experts after the labels y (N,) of N points in turn, with the e and s (M, N) met."""

    def column(self, points: Points, step: Any) -> Array:
        """Covariances c (M, N) of the points with the point of the step, before its label."""

    def extend(self, points: Points, column: Array, step: Any) -> Points:
        """The points in the form that the experts after the label work on."""


@dataclass(frozen=True, slots=True, eq=False)
class FeatureStep:
    """A label seen by experts on features."""

    e: Array  # (M,)
    s: Array  # (M,)
    lam: Array  # (M,)
    u: Array  # (M, F)  S'phi
    g: Array  # (M, F)  Sigma phi


@dataclass(frozen=True, slots=True, eq=False)
class FeatureExperts:
    """Posterior of the feature weights of M experts."""

    theta: Array  # (M, F)     mean
    root: Array  # (M, F, F)  S with S S' = Sigma, in units of the magnitude

    @classmethod
    def prior(cls, M: int, F: int) -> Self:
        """Experts that have seen no label: theta = 0, Sigma = I."""
        return cls(np.zeros((M, F)), np.broadcast_to(np.eye(F), (M, F, F)).copy())

    @property
    def Sigma(self) -> Array:  # (M, F, F)
        """Posterior covariance of the weights, in units of the magnitude."""
        return self.root @ self.root.transpose(0, 2, 1)

    def predict(self, points: Array) -> tuple[Array, Array]:
        """[1, eq:mu_check, eq:sigma_check]; points are features Phi (M, N, F)."""
        mu = np.matmul(points, self.theta[:, :, None])[..., 0]
        U = np.matmul(points, self.root)  # (M, N, F)
        return mu, np.einsum("mnf,mnf->mn", U, U)

    def step(self, point: Array, y: float, lam: Array) -> FeatureStep:
        """[1, eq:pred_y] with the vectors that the update needs."""
        phi = point[:, 0, :]  # (M, F)
        u = np.matmul(phi[:, None, :], self.root)[:, 0]
        g = np.matmul(self.root, u[:, :, None])[..., 0]
        s = np.einsum("mf,mf->m", u, u) + lam
        e = y - np.einsum("mf,mf->m", phi, self.theta)
        return FeatureStep(e, s, lam, u, g)

    def condition(self, step: FeatureStep) -> "FeatureExperts":
        """[1, eq:posterior_update_1], Sigma by Potter's rule."""
        shrink = 1.0 / (step.s + np.sqrt(step.lam * step.s))  # (M,)
        root = np.matmul((step.g * -shrink[:, None])[:, :, None], step.u[:, None, :])
        root += self.root
        return FeatureExperts(self.theta + step.g * (step.e / step.s)[:, None], root)

    def absorb(self, points: Array, y: Array, lam: Array) -> tuple["FeatureExperts", Array, Array]:
        """One rank-one update for each label."""
        experts, steps = self, []
        for n, label in enumerate(y):
            told = experts.step(points[:, n : n + 1], label, lam[:, n])
            experts = experts.condition(told)
            steps.append((told.e, told.s))
        e, s = np.array(steps).reshape(len(y), 2, -1).transpose(1, 2, 0)
        return experts, e, s

    def column(self, points: Array, step: FeatureStep) -> Array:
        """C = Phi Sigma phi(x*)."""
        g = step.g.astype(points.dtype, copy=False)
        c: Array = np.matmul(points, g[:, :, None])[..., 0]
        return c

    def extend(self, points: Array, column: Array, step: FeatureStep) -> Array:
        """Features do not change with labels."""
        return points


@dataclass(frozen=True, slots=True, eq=False)
class Near:
    """Points as exact experts see them: the inputs, and V = L^-1 k(labelled, points)."""

    X: Array  # (N, d)
    V: Array  # (M, t, N)


@dataclass(frozen=True, slots=True, eq=False)
class ExactStep:
    """A label seen by exact experts."""

    e: Array  # (M,)
    s: Array  # (M,)
    x: Array  # (1, d)
    V: Array  # (M, t)  V(x*)


@dataclass(frozen=True, slots=True, eq=False)
class ExactExperts:
    """Exact posterior of M Gaussian processes, in the coordinates of the Cholesky factor."""

    kernels: tuple[Kernel, ...]  # M
    X: Array  # (t, d)     labelled inputs
    L: Array  # (M, t, t)  L L' = K + lam I
    z: Array  # (M, t)     L^-1 y

    @classmethod
    def prior(cls, kernels: tuple[Kernel, ...], d: int) -> Self:
        """Experts that have seen no label."""
        M = len(kernels)
        return cls(kernels, np.zeros((0, d)), np.zeros((M, 0, 0)), np.zeros((M, 0)))

    def near(self, X: Array) -> Near:
        """The points X (N, d) in the form that these experts work on."""
        if not len(self.X):
            return Near(X, np.zeros((len(self.kernels), 0, len(X))))
        V = [
            solve_triangular(L, correlation(kernel, self.X, X), lower=True, check_finite=False)
            for kernel, L in zip(self.kernels, self.L, strict=True)
        ]
        return Near(X, np.stack(V))

    def predict(self, points: Near) -> tuple[Array, Array]:
        """Mu = V'z, v = 1 - V'V; rounding may not take v below 0."""
        mu = np.matmul(self.z[:, None, :], points.V)[:, 0]
        return mu, np.maximum(1.0 - np.einsum("mtn,mtn->mn", points.V, points.V), 0.0)

    def step(self, point: Near, y: float, lam: Array) -> ExactStep:
        """The next row [V', sqrt(s)] of L and the next entry e / sqrt(s) of z."""
        mu, v = self.predict(point)
        return ExactStep(y - mu[:, 0], v[:, 0] + lam, point.X, point.V[:, :, 0])

    def condition(self, step: ExactStep) -> "ExactExperts":
        """The factor with one more row."""
        M, t = self.z.shape
        root_s = np.sqrt(step.s)
        L = np.zeros((M, t + 1, t + 1))
        L[:, :t, :t] = self.L
        L[:, t, :t] = step.V
        L[:, t, t] = root_s
        z = np.concatenate([self.z, (step.e / root_s)[:, None]], axis=1)
        return ExactExperts(self.kernels, np.concatenate([self.X, step.x]), L, z)

    def absorb(self, points: Near, y: Array, lam: Array) -> tuple["ExactExperts", Array, Array]:
        """The rows that the labels would add one after the other, in blocks: with B the
        posterior covariance of the points, B + diag(lam) = C C' gives s = diag(C)^2.
        """
        K = np.stack([correlation(kernel, points.X, points.X) for kernel in self.kernels])
        V = points.V  # (M, t, N)
        B = K - np.matmul(V.transpose(0, 2, 1), V)
        mu, _ = self.predict(points)
        C, z = zip(*[_factor(B[m], lam[m], y - mu[m]) for m in range(len(K))], strict=True)
        root_s = np.stack([np.diag(c) for c in C])  # (M, N)
        M, t, N = V.shape
        L = np.zeros((M, t + N, t + N))
        L[:, :t, :t] = self.L
        L[:, t:, :t] = V.transpose(0, 2, 1)
        L[:, t:, t:] = C
        X = np.concatenate([self.X, points.X])
        after = ExactExperts(self.kernels, X, L, np.concatenate([self.z, np.stack(z)], axis=1))
        return after, np.stack(z) * root_s, root_s**2

    def column(self, points: Near, step: ExactStep) -> Array:
        """C = k(x, x*) - V(x)'V(x*)."""
        k = np.stack([correlation(kernel, step.x, points.X)[0] for kernel in self.kernels])
        explained: Array = np.matmul(step.V[:, None, :], points.V)[:, 0]
        return k - explained

    def extend(self, points: Near, column: Array, step: ExactStep) -> Near:
        """V with one more row, c / sqrt(s)."""
        row = column / np.sqrt(step.s)[:, None]
        return Near(points.X, np.concatenate([points.V, row[:, None, :]], axis=1))


def _factor(B: Array, lam: Array, e: Array) -> tuple[Array, Array]:
    """C with C C' = B + diag(lam), and C^-1 e.

    Rounding can leave B with eigenvalues of -1e-14. The factor is then built row by row with
    each pivot at least lam, which is what one label after the other comes to.
    """
    try:
        C: Array = np.linalg.cholesky(B + np.diag(lam)).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        C = np.zeros_like(B)
        for n in range(len(B)):
            row = solve_triangular(C[:n, :n], B[n, :n], lower=True) if n else B[n, :0]
            C[n, :n] = row
            C[n, n] = np.sqrt(max(B[n, n] - row @ row, 0.0) + lam[n])
    return C, solve_triangular(C, e, lower=True, check_finite=False)
