"""GP experts as Bayesian linear models on features, and the update rule of all experts.

All kinds obey one rule. With c(x) the posterior covariance of f(x) and f(x*), a label y of x*
with noise ratio lam tells the innovation e and its variance s (`fixed_magnitude`), and moves
the belief on any set of points:

    mu(x) += c(x) e / s      v(x) -= c(x)^2 / s

Only the column c differs, and with it what an expert keeps:

    features   f = phi'theta;  c(x) = phi(x)' Sigma phi(x*)          theta, a root of Sigma
    exact      c(x) = k(x, x*) - V(x)'V(x*),  V(x) = L^-1 k(X, x)    L, z = L^-1 y   (`exact_gp`)
    inducing   as on features, phi(x) = L^-1 k(Z, x)                 the same        (`inducing_gp`)

Features. Sigma = S S' is kept as its root S, updated by Potter's rule

    u = S'phi    g = S u = Sigma phi    S -= g u' / (s + sqrt(lam s))

which equals the downdate Sigma -= g g' / s of [1, eq:posterior_update_1] in exact arithmetic and
costs the same, but a Sigma kept this way is symmetric and positive by construction, and after t
labels a variance |S'phi|^2 has relative error 3 eps sqrt(t / lam) at most, not eps t / lam.
[2] Bierman: Factorization methods for discrete sequential estimation, 1977, ch. II.

Points are given in the form that the kind works on: features Phi (M, N, F), or
`exact_gp.CorrelatedPoints`.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg.blas import dger

from weal.core.arrays import Array, Index
from weal.core.paper.fixed_magnitude import innovation
from weal.core.protocols import Step


def apply_step(mu: Array, v: Array, c: Array, step: Step) -> tuple[Array, Array]:
    """Means and variances (M, N) after a step with covariance column c; v is clipped at 0."""
    e, s = step.e[:, None], step.s[:, None]
    return mu + c * (e / s), np.maximum(v - c * c / s, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class FeatureStep:
    """The update of experts on features by one label."""

    e: Array  # (M,)
    s: Array  # (M,)
    lam: Array  # (M,)
    u: Array  # (M, F)  S'phi
    g: Array  # (M, F)  Sigma phi

    def column(self, points: Array) -> Array:
        """c = Phi Sigma phi(x*)."""
        return project(points, self.g)

    def extend(self, points: Array, column: Array) -> Array:
        """Features do not change with labels."""
        return points

    def take(self, which: Index) -> Self:
        """The step of some of the experts alone."""
        parts = (self.e, self.s, self.lam, self.u, self.g)
        return type(self)(*(part[which] for part in parts))


def project(points: Array, vector: Array) -> Array:
    """Phi vector (M, N) for features Phi (M, N, F), in their precision, and vectors (M, F)."""
    c: Array = np.matmul(points, vector.astype(points.dtype, copy=False)[:, :, None])[..., 0]
    return c


def _less_outer(S: Array, a: Array, b: Array) -> Array:
    """S - a b' (M, F, F) for vectors (M, F): BLAS on a copy takes half the time of numpy."""
    out = S.copy()
    for m in range(len(out)):
        dger(-1.0, b[m], a[m], a=out[m].T, overwrite_a=True)  # BLAS counts by columns
    return out


@dataclass(frozen=True, slots=True, eq=False)
class FeatureExperts:
    """Posterior of the feature weights of M experts."""

    theta: Array  # (M, F)     mean
    root: Array  # (M, F, F)  S with S S' = Sigma, in units of the magnitude

    @classmethod
    def prior(cls, M: int, F: int) -> Self:
        """Experts without labels: theta = 0, Sigma = I [1, eq:f_check]."""
        return cls(np.zeros((M, F)), np.broadcast_to(np.eye(F), (M, F, F)).copy())

    @property
    def Sigma(self) -> Array:  # (M, F, F)
        """Posterior covariance of the weights, in units of the magnitude."""
        return self.root @ self.root.transpose(0, 2, 1)

    def predict(self, points: Array) -> tuple[Array, Array]:
        """Means and variances (M, N) at features Phi (M, N, F)."""
        mu = np.matmul(points, self.theta[:, :, None])[..., 0]  # [1, eq:mu_check]
        U = np.matmul(points, self.root)  # (M, N, F)
        return mu, np.einsum("mnf,mnf->mn", U, U)  # [1, eq:sigma_check]

    def step(self, point: Array, y: float, lam: Array) -> FeatureStep:
        """Innovation and variance of the label, and the vectors of the update."""
        phi = point[:, 0, :]  # (M, F)
        u = np.matmul(phi[:, None, :], self.root)[:, 0]
        g = np.matmul(self.root, u[:, :, None])[..., 0]
        mu, v = np.einsum("mf,mf->m", phi, self.theta), np.einsum("mf,mf->m", u, u)
        return FeatureStep(*innovation(y, mu, v, lam), lam, u, g)

    def condition(self, step: FeatureStep) -> "FeatureExperts":
        """The experts after the label [1, eq:posterior_update_1]; Sigma by Potter's rule."""
        shrink = 1.0 / (step.s + np.sqrt(step.lam) * np.sqrt(step.s))  # (M,)
        root = _less_outer(self.root, step.g * shrink[:, None], step.u)  # [1, eq:theta_Sigma]
        # g / s first: it is at most 1 / (2 sqrt(lam)), where e / s may leave the range of floats.
        gain = step.g / step.s[:, None]  # (M, F)
        return FeatureExperts(self.theta + gain * step.e[:, None], root)  # [1, eq:theta_Sigma]

    def absorb(self, points: Array, y: Array, lam: Array) -> tuple["FeatureExperts", Array, Array]:
        """One rank-one update for each label."""
        experts, steps = self, []
        for n, label in enumerate(y):
            told = experts.step(points[:, n : n + 1], label, lam[:, n])
            experts = experts.condition(told)
            steps.append((told.e, told.s))
        e, s = np.array(steps).reshape(len(y), 2, len(self.theta)).transpose(1, 2, 0)
        return experts, e, s

    def prior_covariance(self, a: Array, b: Array) -> Array:
        """Phi Phi'."""
        k: Array = np.matmul(a, b.transpose(0, 2, 1))  # [1, eq:kern_est]
        return k

    def covariance(self, a: Array, b: Array) -> Array:
        """Phi Sigma Phi'; faster if `b` has fewer points than `a`."""
        g = np.matmul(self.root, np.matmul(b, self.root).transpose(0, 2, 1))  # (M, F, K)
        c: Array = np.matmul(a, g.astype(a.dtype, copy=False))
        return c

    def remainders(self, points: Array) -> Array:
        """None: covariances are complete."""
        return np.zeros(points.shape[:2])

    @property
    def coefficients(self) -> Array:  # (M, F)
        """theta."""
        return self.theta

    def label_factor(self, m: int) -> None:
        """None: labels are not kept."""

    def covariance_root(self, points: Array) -> Array:
        """Phi S (M, N, F)."""
        A: Array = np.matmul(points, self.root)
        return A

    def take(self, which: Index) -> Self:
        """Some of the experts."""
        return type(self)(self.theta[which], self.root[which])
