"""GP experts on inducing points (FITC) for thousands of labels, and the choice of the points.

Pivoted Cholesky. With Z the chosen points and Q(x, x') = k(x, Z) k(Z, Z)^-1 k(Z, x'), a point has
the remainder r(x) = k(x, x) - Q(x, x) >= 0, its prior variance given f on Z. The next point is the
one with the largest remainder; with row_j the rows of the factor, r(x) = k(x, x) - sum row_j(x)^2.
The search ends when the mean remainder is small enough. [2] Harbrecht, Peters, Schneider: On the
low-rank approximation by the pivoted Cholesky decomposition, 2012. Points are chosen in rounds of
one matrix product each: those of the largest remainders that, given each other, still have
MIN_PIVOT_SHARE of the largest one. The choice depends on the kernel and the points alone.

Experts. With L L' = k(Z, Z) and phi(x) = L^-1 k(Z, x) the prior is split,

    f(x) = phi(x)'theta + delta(x)        r(x) = var delta(x) = k(x, x) - |phi(x)|^2 >= 0

with delta independent from point to point (FITC). [3] Snelson, Ghahramani: Sparse Gaussian
processes using pseudo-inputs, 2006. Prior variances, and covariances with points of Z, are the
kernel's; with all labelled points in Z the expert is the exact one. The error is in the covariance
of two remainders, at most sqrt(r(x) r(x')): nothing is lost where r is small against the noise.

This is an expert on features (`feature_gp`) whose labels have the noise ratio lam + r, and whose
variances are larger by r:

    v(x) = phi'Sigma phi + r(x)    s = phi'Sigma phi + r + lam    c(x) = phi(x)'Sigma phi(x*)

A point is phi(x) and sqrt(r(x)), a feature without a weight. Labels come in blocks: with U = Phi S,
noise ratios D = diag(lam + r) and C C' = U U' + D, Potter's rule for the root S of Sigma is

    S -= S U'C^-T (C + D^1/2)^-1 U         theta += S U'C^-T z      z = C^-1 (y - mu)

[4] Andrews: A square root formulation of the Kalman covariance equations, 1968.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.linalg import solve_triangular

from weal.core.arrays import Array, Index
from weal.core.extensions.embeddings import FeatureEmbedding
from weal.core.paper.exact_gp import LEAST_RATIO, correlations, take_kernels
from weal.core.paper.feature_gp import FeatureExperts, FeatureStep
from weal.core.paper.fixed_magnitude import cholesky_innovations, innovation
from weal.core.paper.kernels import Kernel, correlation
from weal.core.protocols import ExpertsOfKind

# largest number of points chosen in a round, and of candidates compared in it
PIVOTS_PER_ROUND, PIVOT_CANDIDATES_PER_ROUND = 128, 256
MIN_PIVOT_SHARE = 0.5
REMAINDER_DIGITS = 9  # to which remainders are compared, so that rounding does not decide
LEAST_PIVOT = 1e-11  # of the prior variance: a remainder below it is rounding


@dataclass(frozen=True, slots=True, eq=False)
class PivotSet:
    """Points chosen as inducing points."""

    rows: NDArray[np.intp]  # (m,)  positions, in the order in which they were taken
    left: float  # mean of the remainders of the others
    enough: bool  # whether that is small enough, or rounding


def pivoted_cholesky(kernel: Kernel, X: Array, most: int, enough: float) -> PivotSet:
    """Inducing points from X (n, d) by pivoted Cholesky, until the mean remainder is `enough`.

    Ties go to the first.
    """
    n = len(X)
    left, rounding = np.full(n, kernel.variance), LEAST_PIVOT * kernel.variance  # r
    rows = np.empty((min(most, n), n))
    chosen = np.zeros(0, dtype=np.intp)
    while (j := len(chosen)) < len(rows) and left.max() > rounding and _mean(left, j) > enough:
        looked_at = np.argsort(-np.round(left / left.max(), REMAINDER_DIGITS), kind="stable")[
            :PIVOT_CANDIDATES_PER_ROUND
        ]
        among = rows[:j, looked_at]
        R = correlation(kernel, X[looked_at], X[looked_at]) - among.T @ among
        new = looked_at[_greedy(R, min(PIVOTS_PER_ROUND, len(rows) - j), rounding)]
        C = correlation(kernel, X[new], X) - rows[:j, new].T @ rows[:j]  # (new, n)
        L = np.linalg.cholesky(C[:, new])
        rows[j : j + len(new)] = solve_triangular(L, C, lower=True, check_finite=False)
        left -= np.einsum("jn,jn->n", rows[j : j + len(new)], rows[j : j + len(new)])
        chosen = np.append(chosen, new)
        left[chosen] = 0.0
    mean = _mean(left, len(chosen))
    return PivotSet(chosen, mean, bool(mean <= enough or left.max() <= rounding))


def _mean(left: Array, m: int) -> float:
    """Mean of the remainders (n,) over the points that are not among the m chosen."""
    return float(left.sum() / max(len(left) - m, 1))


def _greedy(R: Array, most: int, rounding: float) -> NDArray[np.intp]:
    """Greedy pivots in R (n, n), a residual covariance: the largest diagonal each time.

    Stops below MIN_PIVOT_SHARE of the first pivot or at rounding; there is at least one.
    """
    left, rows = np.diag(R).copy(), np.empty((most, len(R)))
    top, taken = float(left.max()), list[int]()
    least = max(MIN_PIVOT_SHARE * top, rounding)
    while (
        len(taken) < most
        and left[i := int(np.argmax(np.round(left / top, REMAINDER_DIGITS)))] >= least
    ):
        j = len(taken)
        rows[j] = (R[i] - rows[:j, i] @ rows[:j]) / np.sqrt(left[i])
        left -= rows[j] ** 2
        left[[*taken, i]] = 0.0
        taken.append(i)
    return np.array(taken or [int(np.argmax(np.diag(R)))], dtype=np.intp)


BLOCK_LABELS = 256  # labels of a block
VARIANCE_RTOL = 1e-13  # of the prior variance, where an offset makes it large


@dataclass(frozen=True, slots=True, eq=False)
class InducingFeatures(FeatureEmbedding):
    """Embedding phi(x) = L^-1 k(Z, x) on inducing points Z, with the root of the remainder."""

    tag: ClassVar[str] = "Inducing"

    kernels: tuple[Kernel, ...]  # M
    Z: tuple[Array, ...]  # M of (m, d), m for each its own
    L: tuple[Array, ...]  # M of (m, m)
    most: int  # the largest m; experts with fewer have features of 0

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

    def points(self, experts: ExpertsOfKind, X: Array, dtype: DTypeLike = np.float64) -> Array:
        """Features (M, N, F): phi, and the root of the remainder."""
        Phi = np.zeros((len(self.kernels), len(X), self.most + 1), dtype)
        for out, kernel, Z, L in zip(Phi, self.kernels, self.Z, self.L, strict=True):
            phi = solve_triangular(L, correlations(kernel, Z, X), lower=True, check_finite=False)
            out[:, : len(Z)] = phi.T
            r = kernel.variance - np.einsum("fn,fn->n", phi, phi)
            out[:, -1] = np.sqrt(np.maximum(r, 0.0))
        return Phi

    def prior_experts(self, kernels: tuple[Kernel, ...], d: int, M: int) -> "InducingExperts":
        """Weights of the inducing points without a label."""
        return InducingExperts.prior(M, self.most + 1)

    def width(self, experts: ExpertsOfKind) -> int:
        """F."""
        return self.most + 1

    def largest_prior_variance(self, experts: ExpertsOfKind, X: Array) -> Array:  # (M,)
        """The kernels' variances."""
        return np.array([kernel.variance for kernel in self.kernels])

    def take(self, which: Index) -> Self:
        """The embedding for some of the experts."""
        rows = np.arange(len(self.kernels))[which].tolist()
        Z, L = (tuple(part[m] for m in rows) for part in (self.Z, self.L))
        return type(self)(take_kernels(self.kernels, which), Z, L, self.most)


def _factor(kernel: Kernel, Z: Array) -> Array:
    """Cholesky factor L, with the jitter that rounding needs."""
    K = correlations(kernel, Z, Z)
    K[np.diag_indices(len(Z))] += max(LEAST_RATIO, VARIANCE_RTOL * kernel.variance)
    return np.linalg.cholesky(K).astype(np.float64, copy=False)


@dataclass(frozen=True, slots=True, eq=False)
class InducingExperts:
    """Posterior of the weights theta of M experts; remainders have no posterior."""

    weights: FeatureExperts  # the last row and column of its roots are 0

    @classmethod
    def prior(cls, M: int, F: int) -> Self:
        """Experts without labels."""
        root = np.zeros((M, F, F))
        root[:, np.arange(F - 1), np.arange(F - 1)] = 1.0
        return cls(FeatureExperts(np.zeros((M, F)), root))

    @property
    def theta(self) -> Array:  # (M, F)
        """Posterior mean of the weights."""
        return self.weights.theta

    @property
    def root(self) -> Array:  # (M, F, F)
        """Root S of the posterior covariance, S S' = Sigma."""
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
        """The update by the label y: innovation of f, and of theta with the remainder as noise."""
        told, r = self.weights.step(point, y, lam), self.remainders(point)[:, 0]
        mu, v = (part[:, 0] for part in self.predict(point))
        noise = np.maximum(lam, LEAST_RATIO)
        return FeatureStep(*innovation(y, mu, v, noise), noise + r, told.u, told.g)

    def condition(self, step: FeatureStep) -> "InducingExperts":
        """The experts conditioned on the label of a step."""
        return InducingExperts(self.weights.condition(step))

    def absorb(self, points: Array, y: Array, lam: Array) -> tuple["InducingExperts", Array, Array]:
        """One update for each block of labels."""
        theta, root = self.theta.copy(), self.root.copy()
        e, s = np.empty_like(lam), np.empty_like(lam)
        lam = np.maximum(lam, LEAST_RATIO)
        for start in range(0, len(y), BLOCK_LABELS):
            rows = slice(start, start + BLOCK_LABELS)
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

    @property
    def coefficients(self) -> Array:  # (M, F)
        """theta."""
        return self.theta

    def label_factor(self, m: int) -> None:
        """None: labels are not kept."""

    def covariance_root(self, points: Array) -> Array:
        """Phi S (M, N, F)."""
        return self.weights.covariance_root(points)

    def take(self, which: Index) -> Self:
        """Some of the experts."""
        return type(self)(self.weights.take(which))


def _block(
    theta: Array, S: Array, Phi: Array, y: Array, lam: Array
) -> tuple[Array, Array, Array, Array]:
    """theta (F,) and S (F, F) of one expert after labels y (N,), and the innovations e, s (N,)."""
    r, U, mu = Phi[:, -1] ** 2, Phi @ S, Phi @ theta
    v = U @ U.T
    v[np.diag_indices(len(y))] += r
    C, z = cholesky_innovations(y, mu, v, lam)
    s = np.diag(C) ** 2
    noise = lam + r  # of theta
    back = S @ solve_triangular(C, U, lower=True, check_finite=False).T  # (F, N)  S U'C^-T
    inner = solve_triangular(C + np.diag(np.sqrt(noise)), U, lower=True, check_finite=False)
    return theta + back @ z, S - back @ inner, z * np.diag(C), s
