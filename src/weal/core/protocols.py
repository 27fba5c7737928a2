"""Protocols of the core: the methods that every kind of expert, magnitude and embedding has.

    Experts     M Gaussian processes conditioned on labels: on random features (`paper.feature_gp`),
                exact (`paper.exact_gp`), on inducing points (`extensions.inducing_gp`)
    Step        the change of the experts by one label; its column c gives that of any set of points
    Magnitude   the scale sig2 of an expert: fixed (`paper.fixed_magnitude`), or integrated out
                (`extensions.conjugate_magnitude`)
    Embedding   maps scaled inputs to the points of a kind of expert (`extensions.embeddings`)
    Targets     points whose covariance with candidates `mvr` needs (`extensions.target_covariance`)
    Reference   points whose mean variance `ivr` reduces (`extensions.reference_variance`)

Code outside of the kinds asks these methods, and never for the class of an expert.
"""

from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import DTypeLike

from weal.core.arrays import Array, Index

if TYPE_CHECKING:
    from weal.core.paper.kernels import Kernel

# Phi (M, N, F) for experts on features and inducing points; SolvedPoints for exact ones, or
# CorrelatedPoints in a pool.
Points = Any
ExpertsOfKind = Any  # the Experts that an embedding, its targets and its reference points belong to
StepOfKind = Any  # a Step of those experts


class Step(Protocol):
    """The change of every expert by one label."""

    @property
    def e(self) -> Array:
        """Innovation (M,)."""

    @property
    def s(self) -> Array:
        """Its variance in units of the magnitude (M,)."""

    def column(self, points: Points) -> Array:
        """Covariances c (M, N) of the points with the labelled one, before the label."""

    def extend(self, points: Points, column: Array) -> Points:
        """The points in the form that the experts after the label work on."""

    def take(self, which: Index) -> Self:
        """The step of some of the experts alone."""


class Experts(Protocol):
    """M Gaussian processes of one kind, conditioned on labels."""

    def predict(self, points: Points) -> tuple[Array, Array]:
        """Means mu and variances v (M, N), v in units of the magnitude."""

    def step(self, point: Points, y: float, lam: Array) -> StepOfKind:
        """The step of the label y of one point (N = 1), at noise ratios lam (M,)."""

    def condition(self, step: StepOfKind) -> Self:
        """The experts after that label."""

    def absorb(self, points: Points, y: Array, lam: Array) -> tuple[Self, Array, Array]:
        """The experts after the labels y (N,) of N points in turn, with the e and s (M, N) met."""

    def prior_covariance(self, a: Points, b: Points) -> Array:
        """Covariances (M, N, K) before the first label."""

    def covariance(self, a: Points, b: Points) -> Array:
        """Posterior covariances (M, N, K)."""

    def remainders(self, points: Points) -> Array:
        """Variances (M, N) of f that covariances leave out, for no other point shares them."""

    @property
    def coefficients(self) -> Array:
        """Coefficients (M, ...) of the posterior mean in an orthonormal basis of the kind.

        |mu(x)| is at most their norm times the root of the prior variance at x.
        """

    def label_factor(self, m: int) -> Array | None:
        """Cholesky factor (t, t) of K + diag(lam) of expert m; None where the kind keeps none."""

    def covariance_root(self, points: Points) -> Array | None:
        """A (M, N, F) with A A' the posterior covariance, remainders left out.

        None where the kind has no root with fewer columns than points.
        """

    def take(self, which: Index) -> Self:
        """Some of the experts."""


class Magnitude(Protocol):
    """The scale sig2 of M experts; arrays e, s are (M, ...)."""

    @property
    def variance(self) -> Array:
        """Expected sig2 (M,): the variance of f is this times v."""

    @property
    def unit(self) -> Array:
        """What turns a noise variance in label units into a ratio (M,); no label changes it."""

    @property
    def freedom(self) -> Array:
        """Degrees of freedom (M,) of the Student-t of an innovation; inf of a normal."""

    def width(self, s: Array) -> Array:
        """The scale of that distribution, elementwise."""

    def log_density(self, e: Array, s: Array) -> Array:
        """Log density of an innovation e whose variance is sig2 s, elementwise."""

    def cdf(self, e: Array, s: Array) -> Array:
        """Probability of an innovation below e, elementwise."""

    def quantile(self, level: float, s: Array) -> Array:
        """The value that an innovation stays below with that probability, elementwise."""

    def after(self, e: Array, s: Array) -> tuple[Array, Self]:
        """Log density (M,) of innovations e (M, N) met in turn, and what is known after them."""

    def with_innovation(self, e: Array, s: Array) -> Self:
        """What is known after one more innovation, elementwise: for each of e (M, ...) alone."""

    def without(self, e: Array, s: Array) -> Self:
        """The magnitudes without one innovation, elementwise: the inverse of `with_innovation`."""

    def take(self, which: Index) -> Self:
        """The magnitudes of some of the experts."""


class Targets(Protocol):
    """Target points, and their covariances with candidates."""

    def after(self, step: StepOfKind) -> Self:
        """The targets after a label."""

    def means(self, experts: ExpertsOfKind, which: Index) -> Array:
        """Means (H, R) of f at the targets, under some of the experts."""

    def covariance(self, experts: ExpertsOfKind, which: Index, points: Points) -> Array:
        """Covariances (H, N, R) with pool points of those experts, in units of the magnitude."""

    def recompute(self, experts: ExpertsOfKind) -> Self:
        """The targets of the same experts after other labels."""


class Reference(Protocol):
    """Reference points, and the mean squared covariance q of any point with them."""

    def relevance(self, experts: ExpertsOfKind, points: Points) -> Array:
        """q (M, N)."""

    def columns(
        self, experts: ExpertsOfKind, step: StepOfKind, points: Points
    ) -> tuple[Array, Array]:
        """h (M, N) and p (M,) of a label, under the experts before it."""

    def after(self, step: StepOfKind) -> Self:
        """The reference points after a label."""

    def take(self, which: Index) -> Self:
        """The reference points for some of the experts."""

    def recompute(self, experts: ExpertsOfKind) -> Self:
        """The reference points of the same experts after other labels."""


class Embedding(Protocol):
    """Maps scaled inputs to the points that a kind of expert works on."""

    tag: ClassVar[str]  # the name of the kind in files
    points_grow: ClassVar[bool]  # whether every label adds a coordinate to every point

    def prior_experts(self, kernels: "tuple[Kernel, ...]", d: int, M: int) -> Experts:
        """M experts that have seen no label, for d inputs."""

    def points(self, experts: ExpertsOfKind, X: Array, dtype: DTypeLike = np.float64) -> Points:
        """Points of the rows of X (N, d) for these experts."""

    def pool_points(
        self, experts: ExpertsOfKind, X: Array, dtype: DTypeLike = np.float64
    ) -> Points:
        """Points of the rows of X (N, d) in the form that a pool keeps."""

    def predict(self, experts: ExpertsOfKind, X: Array) -> tuple[Array, Array]:
        """Means and variances (M, N) of the rows of X (N, d), whose points nobody needs again."""

    def width(self, experts: ExpertsOfKind) -> int:
        """Numbers that a point takes for each expert."""

    def largest_prior_variance(self, experts: ExpertsOfKind, X: Array) -> Array:
        """The largest prior variance (M,) over X (N, d), in units of the magnitude."""

    def targets(self, experts: ExpertsOfKind, X: Array) -> Targets:
        """The target points X (R, d)."""

    def reference(self, experts: ExpertsOfKind, X: Array) -> Reference:
        """The reference points X (R, d)."""

    def take(self, which: Index) -> Self:
        """The embedding for some of the experts."""
