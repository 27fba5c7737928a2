"""Embeddings: map scaled inputs to the points that a kind of expert works on.

    RandomFeatures     random Fourier features with given frequencies (tag Spectral)
    RawInputs          the inputs of exact experts, with V = L^-1 k(labelled, x) (tag Exact)
    EncodedFeatures    inputs that are random features already: rows of M F numbers from a
                       `weal.FeatureEncoder`, whose owner keeps the frequencies (tag Encoded)
    InducingFeatures   phi(x) = L^-1 k(Z, x) for inducing points Z (`inducing_gp`, tag Inducing)

An embedding provides the objects of its kind of expert: the experts without a label, the form that
a pool keeps, the targets of `mvr` and the reference points of `ivr`. Tags are written into files.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import DTypeLike

from weal.core.arrays import Array, Index
from weal.core.extensions.reference_variance import (
    N_REFERENCE_POINTS,
    ExactReference,
    FeatureReference,
)
from weal.core.extensions.variance_reduction import ExactTargets, FeatureTargets
from weal.core.paper.exact_gp import CorrelatedPoints, ExactExperts, SolvedPoints
from weal.core.paper.feature_gp import FeatureExperts
from weal.core.paper.kernels import Kernel
from weal.core.paper.random_features import blocks, features
from weal.core.protocols import ExpertsOfKind


class FeatureEmbedding(ABC):
    """Embeddings with features (M, N, F) as points; labels do not change them."""

    __slots__ = ()
    points_grow: ClassVar[bool] = False

    @abstractmethod
    def points(self, experts: ExpertsOfKind, X: Array, dtype: DTypeLike = np.float64) -> Array:
        """Features (M, N, F)."""

    @abstractmethod
    def width(self, experts: ExpertsOfKind) -> int:
        """Number of features F."""

    def pool_points(self, experts: ExpertsOfKind, X: Array, dtype: DTypeLike = np.float64) -> Array:
        """The same features."""
        return self.points(experts, X, dtype)

    def update_points(self, experts: ExpertsOfKind, points: Array) -> Array:
        """The same features."""
        return points

    def predict(self, experts: ExpertsOfKind, X: Array) -> tuple[Array, Array]:
        """Means and variances (M, N)."""
        mu, v = experts.predict(self.points(experts, X))
        return mu, v

    def targets(self, experts: ExpertsOfKind, X: Array) -> FeatureTargets:
        """Features of the targets X (R, d)."""
        return FeatureTargets(self.points(experts, X))

    def reference(self, experts: ExpertsOfKind, X: Array) -> FeatureReference:
        """The Gram matrix of all reference points X (R, d), a block at a time."""
        M, F = experts.theta.shape
        parts = (self.points(experts, X[rows]) for rows in blocks(len(X), 2 * 8 * M * F))
        return FeatureReference.of(parts, len(X))


@dataclass(frozen=True, slots=True, eq=False)
class RandomFeatures(FeatureEmbedding):
    """Random Fourier features, with a constant feature for an offset."""

    tag: ClassVar[str] = "Spectral"

    zeta: Array  # (M, D, d)
    offset: Array | None = None  # (M,)  variance of the offset

    def prior_experts(self, kernels: tuple[Kernel, ...], d: int, M: int) -> FeatureExperts:
        """Experts without labels, on these features."""
        return FeatureExperts.prior(M, self.width(None))

    def points(self, experts: ExpertsOfKind, X: Array, dtype: DTypeLike = np.float64) -> Array:
        """Features (M, N, F)."""
        Phi = features(X, self.zeta, dtype)
        if self.offset is None:
            return Phi
        constant = np.sqrt(self.offset).astype(dtype)[:, None, None]
        return np.concatenate([Phi, np.broadcast_to(constant, (*Phi.shape[:2], 1))], axis=2)

    def width(self, experts: ExpertsOfKind) -> int:
        """Number of features F."""
        return 2 * int(self.zeta.shape[1]) + (self.offset is not None)

    def largest_prior_variance(self, experts: ExpertsOfKind, X: Array) -> Array:  # (M,)
        """Prior variance: |phi|^2 = 1, plus the offset."""
        M = len(self.zeta)
        return np.ones(M) + (np.zeros(M) if self.offset is None else self.offset)

    def take(self, which: Index) -> Self:
        """The embedding for some of the experts."""
        offset = None if self.offset is None else self.offset[which]
        return type(self)(self.zeta[which], offset)


@dataclass(frozen=True, slots=True)
class RawInputs:
    """The inputs themselves, for exact experts."""

    tag: ClassVar[str] = "Exact"
    points_grow: ClassVar[bool] = True

    def prior_experts(self, kernels: tuple[Kernel, ...], d: int, M: int) -> ExactExperts:
        """Exact experts without a label."""
        return ExactExperts.prior(kernels, d)

    def points(
        self, experts: ExactExperts, X: Array, dtype: DTypeLike = np.float64
    ) -> SolvedPoints:
        """The inputs with V = L^-1 k."""
        return experts.solved_points(X)

    def pool_points(
        self, experts: ExactExperts, X: Array, dtype: DTypeLike = np.float64
    ) -> CorrelatedPoints:
        """The inputs with k(labelled, x), whose entries depend on one pair of points each."""
        return experts.correlated_points(X)

    def update_points(self, experts: ExactExperts, points: SolvedPoints) -> SolvedPoints:
        """The points with the rows of V that labels have added."""
        return experts.extend_solved(points)

    def predict(self, experts: ExactExperts, X: Array) -> tuple[Array, Array]:
        """Means and variances (M, N); V overwrites k in memory."""
        return experts.predict_in_place(experts.correlated_points(X))

    def width(self, experts: ExactExperts) -> int:
        """Numbers of a point: one for each label, and one spare."""
        return len(experts.X) + 1

    def largest_prior_variance(self, experts: ExactExperts, X: Array) -> Array:  # (M,)
        """The kernels' variances."""
        return np.array([kernel.variance for kernel in experts.kernels])

    def targets(self, experts: ExactExperts, X: Array) -> ExactTargets:
        """The targets X (R, d)."""
        return ExactTargets(X)

    def reference(self, experts: ExactExperts, X: Array) -> ExactReference:
        """A sample of the reference points X (R, d)."""
        some = np.random.default_rng(len(X)).permutation(len(X))[:N_REFERENCE_POINTS]
        return ExactReference(experts.solved_points(X[np.sort(some)]))

    def take(self, which: Index) -> Self:
        """The same embedding: it does not depend on the experts."""
        return self


@dataclass(frozen=True, slots=True, eq=False)
class EncodedFeatures(FeatureEmbedding):
    """Features that a `weal.FeatureEncoder` computed."""

    tag: ClassVar[str] = "Encoded"

    M: int  # kernels whose features a row holds
    experts: Index = ...  # the kernel of each expert; an index, or all

    @classmethod
    def of(cls, M: int, n_experts: int) -> Self:
        """The embedding for n experts, an equal number on each of the M feature blocks."""
        return cls(M) if n_experts == M else cls(M, np.repeat(np.arange(M), n_experts // M))

    def prior_experts(self, kernels: tuple[Kernel, ...], d: int, M: int) -> FeatureExperts:
        """Experts without labels, on these features."""
        return FeatureExperts.prior(M, d // self.M)

    def points(self, experts: ExpertsOfKind, X: Array, dtype: DTypeLike = np.float64) -> Array:
        """Features (M, N, F) from rows of M F numbers."""
        Phi = X.reshape(len(X), self.M, X.shape[1] // self.M).transpose(1, 0, 2)[self.experts]
        return np.ascontiguousarray(Phi, dtype)

    def width(self, experts: ExpertsOfKind) -> int:
        """Number of features F."""
        return int(experts.theta.shape[1])

    def largest_prior_variance(self, experts: ExpertsOfKind, X: Array) -> Array:  # (M,)
        """The largest squared norm of the rows."""
        squares = (X * X).reshape(len(X), self.M, -1).sum(axis=2).max(axis=0)  # (M,)
        return np.asarray(squares[self.experts])

    def take(self, which: Index) -> Self:
        """The embedding for some of the experts."""
        return type(self)(self.M, np.arange(self.M)[self.experts][which])
