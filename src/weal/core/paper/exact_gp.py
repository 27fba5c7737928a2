"""Exact GP experts: posterior by a Cholesky factor that grows by one row per label.

With L L' = K + diag(lam) over the t labelled points, z = L^-1 y and V(x) = L^-1 k(X, x),

    mu(x) = V(x)'z      v(x) = k(x, x) - V(x)'V(x)      c(x) = k(x, x*) - V(x)'V(x*)

A label adds the row [V(x*)', sqrt(s)] to L and the entry e / sqrt(s) to z, and on any other point
the row c / sqrt(s) to V: the rows of V are the earlier columns. A column over N points costs N t,
against N F for features, and there is no error of approximation. But v is a difference: with a
= (K + lam I)^-1 k the coefficients of the labels, its absolute error is eps (1 + |a|_1)^2 at most,
about 1e-15 at a labelled point.

V depends on the way it came about, to the last bit. A pool is therefore kept as what depends on two
points alone, its correlations k with the labelled ones (`CorrelatedPoints`): with a = L^-T V(x*)
the coefficients of x*, the same column is c(x) = k(x, x*) - k(x, X) a, at the same cost.
"""

from dataclasses import dataclass
from typing import Self, TypeVar

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dtrsm

from weal.core.arrays import Array, GrowingRows, Index, LazyArray
from weal.core.packed_factors import PackedFactors, pack, packed_size
from weal.core.paper.fixed_magnitude import cholesky_innovations, innovation
from weal.core.paper.kernels import Kernel, correlation

# A noise ratio below it counts as this much: K of a smooth kernel has eigenvalues of 0, which come
# out as +- 1e-16 t, and from a factor with pivots as small as its rounding every further row is
# larger than the last. At 1500 labels 1e-13 fails; this leaves room for some ten thousand.
LEAST_RATIO = 1e-11
# Correlations that are taken together, and columns of them: they stay in the processor's cache.
BLOCK_CORRELATIONS, WIDE_BLOCK = 1 << 17, 1 << 10


@dataclass(frozen=True, slots=True, eq=False)
class SolvedPoints:
    """Points of exact experts: the inputs, and V = L^-1 k(labelled, points)."""

    X: Array  # (N, d)
    rows: GrowingRows  # (M, t, N)  V

    @property
    def V(self) -> Array:  # (M, t, N)
        """L^-1 k(labelled, points)."""
        return self.rows.array

    def copy(self) -> Self:
        """The same points in a buffer of their own."""
        return type(self)(self.X, self.rows.copy())

    def take(self, which: Index) -> Self:
        """The points of some of the experts."""
        return type(self)(self.X, GrowingRows(self.V[which].copy()))

    def at(self, rows: Index) -> Self:
        """Some of the points."""
        return type(self)(self.X[rows], GrowingRows(self.V[:, :, rows].copy()))


@dataclass(frozen=True, slots=True, eq=False)
class CorrelatedPoints:
    """Points of a pool: the inputs, and their correlations with the labelled points."""

    X: Array  # (N, d)
    rows: GrowingRows  # (M, t0, N)  k(labelled, points)
    tail: GrowingRows | None = None  # (M, t - t0, N)  of labels since a fork; None: not forked

    @property
    def K(self) -> Array:  # (M, t, N)
        """k(labelled, points)."""
        if self.tail is None:
            return self.rows.array
        return np.concatenate([self.rows.array, self.tail.array], axis=1)

    def fork(self) -> Self:
        """The same points, which share the rows so far; new rows are in a buffer of their own."""
        M, _, N = self.rows.array.shape
        tail = GrowingRows.empty(M, 0, N) if self.tail is None else self.tail.copy()
        return type(self)(self.X, self.rows, tail)

    def append(self, row: Array) -> Self:
        """The points with the correlations (M, N) of one more labelled point."""
        if self.tail is None:
            return type(self)(self.X, self.rows.append(row))
        return type(self)(self.X, self.rows, self.tail.append(row))

    def explained(self, a: Array) -> Array:  # (M, N)
        """K'a for the coefficients a (M, t) of labels."""
        found, part = np.zeros((2, len(a), len(self.X)))
        parts = [self.rows.array] if self.tail is None else [self.rows.array, self.tail.array]
        each = (K[:, n] for K in parts for n in range(K.shape[1]))
        for row, coefficient in zip(each, a.T, strict=True):  # row by row, as `explained` sums
            found += np.multiply(row, coefficient[:, None], out=part)
        return found

    def take(self, which: Index) -> Self:
        """The points of some of the experts."""
        return type(self)(self.X, GrowingRows(self.K[which].copy()))

    def of_expert(self, m: int, at: Index) -> Array:  # (t, n)
        """K of one expert and some of the points."""
        rows = self.rows.array[m][:, at]
        return rows if self.tail is None else np.concatenate([rows, self.tail.array[m][:, at]])


Form = TypeVar("Form", SolvedPoints, CorrelatedPoints)


@dataclass(frozen=True, slots=True, eq=False)
class ExactStep:
    """The update of exact experts by one label."""

    e: Array  # (M,)
    s: Array  # (M,)
    x: Array  # (1, d)
    V: Array  # (M, t)  V(x*)
    coefficients: LazyArray  # (M, t)  a
    kernels: tuple[Kernel, ...]  # M

    @property
    def a(self) -> Array:  # (M, t)
        """L^-T V(x*), which pools alone need."""
        return self.coefficients.array

    def column(self, points: SolvedPoints | CorrelatedPoints) -> Array:
        """c = k(x, x*) - V(x)'V(x*)."""
        explained = product(points, self.V, self.a)
        return self._correlation(points.X) - explained

    def extend(self, points: Form, column: Array) -> Form:
        """V with one more row, c / sqrt(s); or k with one more row."""
        if isinstance(points, SolvedPoints):
            row = column / np.sqrt(self.s)[:, None]
            return type(points)(points.X, points.rows.append(row))
        return points.append(self._correlation(points.X))

    def _correlation(self, X: Array) -> Array:  # (M, N)
        return all_correlations(self.kernels, self.x, X)[:, 0]

    def take(self, which: Index) -> Self:
        """The step of some of the experts alone."""
        kernels = take_kernels(self.kernels, which)
        arrays = (self.e[which], self.s[which], self.x, self.V[which])
        return type(self)(*arrays, LazyArray(lambda: self.a[which]), kernels)


def product(points: SolvedPoints | CorrelatedPoints, w: Array, back: Array) -> Array:
    """V(x)'w (M, N) for vectors w (M, t); `back` is L^-T w."""
    if isinstance(points, SolvedPoints):
        c: Array = np.matmul(w[:, None, :], points.V)[:, 0]
    else:
        c = points.explained(back)
    return c


def explained(K: Array, a: Array) -> Array:  # (..., N)
    """K'a for correlations K (..., t, N) and coefficients a (..., t), summed in the order of a.

    Unlike a product of matrices, it has the same bits whichever points are computed together.
    """
    if K.shape[-1] == 1:  # alone, numpy would sum in another order
        return explained(np.repeat(K, 2, axis=-1), a)[..., :1]
    return np.asarray(np.add.reduce(np.multiply(K, a[..., None], order="C"), axis=-2))


def correlations(kernel: Kernel, X: Array, Y: Array, out: Array | None = None) -> Array:
    """Correlations (N, N') of the rows of X (N, d) and Y (N', d), in blocks that fit the cache."""
    K = np.empty((len(X), len(Y))) if out is None else out
    size = max(1, BLOCK_CORRELATIONS // max(1, min(len(Y), WIDE_BLOCK)))
    for first in range(0, len(Y), WIDE_BLOCK):
        there = Y[first : first + WIDE_BLOCK]
        for start in range(0, len(X), size):
            found = correlation(kernel, X[start : start + size], there)
            K[start : start + size, first : first + WIDE_BLOCK] = found
    return K


def all_correlations(kernels: tuple[Kernel, ...], X: Array, Y: Array) -> Array:  # (M, N, N')
    """Correlations of the rows of X (N, d) and Y (N', d) under M kernels."""
    K = np.empty((len(kernels), len(X), len(Y)))
    for m, kernel in enumerate(kernels):
        first = kernels.index(kernel)
        if first < m:  # they differ in their noise alone
            K[m] = K[first]
        else:
            correlations(kernel, X, Y, K[m])
    return K


def _solve(L: Array, B: Array) -> Array:
    """L^-1 B (t, N) for a lower triangle L (t, t)."""
    return np.asarray(solve_triangular(L, B, lower=True, check_finite=False))


def take_kernels(kernels: tuple[Kernel, ...], which: Index) -> tuple[Kernel, ...]:
    """Some of the kernels."""
    return tuple(kernels[m] for m in np.arange(len(kernels))[which].tolist())


@dataclass(frozen=True, slots=True, eq=False)
class ExactExperts:
    """Exact posterior of M Gaussian processes, in the coordinates of the Cholesky factor."""

    kernels: tuple[Kernel, ...]  # M
    X: Array  # (t, d)     labelled inputs
    factors: PackedFactors  # (M, t, t)  L, L L' = K + lam I
    z: Array  # (M, t)     L^-1 y

    @property
    def L(self) -> Array:  # (M, t, t)
        """Cholesky factor of K + lam I, as a copy."""
        return self.factors.squares()

    @classmethod
    def prior(cls, kernels: tuple[Kernel, ...], d: int) -> Self:
        """Experts without labels."""
        M = len(kernels)
        return cls(kernels, np.zeros((0, d)), PackedFactors(np.zeros((M, 0)), 0), np.zeros((M, 0)))

    def solved_points(self, X: Array) -> SolvedPoints:
        """The points X (N, d) in the form that these experts take."""
        return self.solve(self.correlated_points(X))

    def correlated_points(self, X: Array) -> CorrelatedPoints:
        """The points X (N, d) in the form that a pool of these experts keeps."""
        return CorrelatedPoints(X, GrowingRows(all_correlations(self.kernels, self.X, X)))

    def solve(self, points: CorrelatedPoints) -> SolvedPoints:
        """The points with V = L^-1 k."""
        if not len(self.X):
            return SolvedPoints(points.X, points.rows)
        if len(points.X) == 1:
            V = self.factors.solve(points.K[:, :, 0])[:, :, None]
        else:
            each = enumerate(points.K)
            V = np.stack([_solve(self.factors.square(m), K) for m, K in each])
        return SolvedPoints(points.X, GrowingRows(V))

    def extend_solved(self, points: SolvedPoints) -> SolvedPoints:
        """Points that were solved after the first of the labels, after all of them.

        The first rows of V stay, and V_2 = L_22^-1 (k_2 - L_21 V_1).
        """
        t = points.V.shape[1]
        if t == len(self.X):
            return points
        K, L = all_correlations(self.kernels, self.X[t:], points.X), self.L
        K -= np.matmul(L[:, t:, :t], points.V)
        rows = [_solve(own, k) for own, k in zip(L[:, t:, t:], K, strict=True)]
        return SolvedPoints(points.X, GrowingRows(np.concatenate([points.V, rows], axis=1)))

    def back(self, w: Array) -> Array:
        """L^-T w (M, t) for vectors w (M, t)."""
        return self.factors.solve_transposed(w) if len(self.X) else w

    def predict(self, points: SolvedPoints) -> tuple[Array, Array]:
        """mu = V'z, v = k(x, x) - V'V [1, eq:posterior]; rounding may not take v below 0."""
        mu = np.matmul(self.z[:, None, :], points.V)[:, 0]  # [1, eq:mean]
        prior = np.array([[kernel.variance] for kernel in self.kernels])  # (M, 1)
        # [1, eq:variance]
        return mu, np.maximum(prior - np.einsum("mtn,mtn->mn", points.V, points.V), 0.0)

    def predict_in_place(self, points: CorrelatedPoints) -> tuple[Array, Array]:
        """`predict` for points that are used once: V overwrites k.

        As columns of BLAS, V' L' = k': nothing is copied or turned over.
        """
        K = points.K
        mu, v = np.empty((len(K), K.shape[2])), np.empty((len(K), K.shape[2]))
        for m, kernel in enumerate(self.kernels):
            V = K[m]
            if len(V):
                V = dtrsm(1.0, self.factors.square(m).T, V.T, side=1, lower=0, overwrite_b=1).T
            mu[m] = self.z[m] @ V
            np.einsum("tn,tn->n", V, V, out=v[m])
            np.subtract(kernel.variance, v[m], out=v[m])
        return mu, np.maximum(v, 0.0, out=v)

    def step(self, point: SolvedPoints, y: float, lam: Array) -> ExactStep:
        """The next row [V', sqrt(s)] of L and the next entry e / sqrt(s) of z."""
        mu, v = self.predict(point)
        e, s = innovation(y, mu[:, 0], v[:, 0], np.maximum(lam, LEAST_RATIO))
        V = point.V[:, :, 0]
        return ExactStep(e, s, point.X, V, LazyArray(lambda: self.back(V)), self.kernels)

    def condition(self, step: ExactStep) -> "ExactExperts":
        """The factor with one more row."""
        root_s = np.sqrt(step.s)[:, None]
        factors = self.factors.append(np.concatenate([step.V, root_s], axis=1))
        z = np.concatenate([self.z, step.e[:, None] / root_s], axis=1)
        return ExactExperts(self.kernels, np.concatenate([self.X, step.x]), factors, z)

    def absorb(
        self, points: SolvedPoints, y: Array, lam: Array
    ) -> tuple["ExactExperts", Array, Array]:
        """The experts after all labels, and their innovations, in blocks of rows of L."""
        M, t, N = points.V.shape
        mu = np.matmul(self.z[:, None, :], points.V)[:, 0]
        lam = np.maximum(lam, LEAST_RATIO)
        packed, z, root_s = np.empty((M, packed_size(t + N))), np.empty((M, N)), np.empty((M, N))
        for m, kernel in enumerate(self.kernels):  # in turn: with many labels each takes its room
            B = correlations(kernel, points.X, points.X)
            if t:
                B -= points.V[m].T @ points.V[m]
            rows, z[m] = cholesky_innovations(y, mu[m], B, lam[m])
            packed[m], root_s[m] = pack(self._with_rows(m, points.V[m], rows)), np.diag(rows)
        X = np.concatenate([self.X, points.X])
        z_all = np.concatenate([self.z, z], axis=1)
        after = ExactExperts(self.kernels, X, PackedFactors(packed, t + N), z_all)
        return after, z * root_s, root_s**2

    def _with_rows(self, m: int, V: Array, rows: Array) -> Array:
        """L (t + N, t + N) of expert m with rows [V', rows] added: V (t, N), rows (N, N)."""
        t, N = V.shape
        if not t:
            return rows
        L = np.zeros((t + N, t + N))
        L[:t, :t], L[t:, :t], L[t:, t:] = self.factors.square(m), V.T, rows
        return L

    def prior_covariance(self, a: SolvedPoints | CorrelatedPoints, b: SolvedPoints) -> Array:
        """K [1, eq:gp_prior]."""
        return all_correlations(self.kernels, a.X, b.X)

    def covariance(self, a: SolvedPoints, b: SolvedPoints) -> Array:
        """K - V'V."""
        explained: Array = np.matmul(a.V.transpose(0, 2, 1), b.V)
        return self.prior_covariance(a, b) - explained

    def remainders(self, points: SolvedPoints) -> Array:
        """None: covariances are exact."""
        return np.zeros((len(self.kernels), len(points.X)))

    @property
    def coefficients(self) -> Array:  # (M, t)
        """z."""
        return self.z

    def label_factor(self, m: int) -> Array:
        """L of expert m."""
        return self.factors.square(m)

    def covariance_root(self, points: SolvedPoints) -> None:
        """None: a root has as many columns as points."""

    def after_first(self, n: int) -> Self:
        """The experts after the first n labels only."""
        return type(self)(self.kernels, self.X[:n], self.factors.first(n), self.z[:, :n])

    def take(self, which: Index) -> Self:
        """Some of the experts."""
        kernels = take_kernels(self.kernels, which)
        return type(self)(kernels, self.X, self.factors.take(which), self.z[which])
