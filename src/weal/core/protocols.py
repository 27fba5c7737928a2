"""Protocols of the core: the methods that every kind of expert, magnitude and embedding has.

    Experts     M Gaussian processes conditioned on labels: on random features (`paper.feature_gp`),
                exact (`paper.exact_gp`), on inducing points (`extensions.inducing_gp`)
    Step        the change of the experts by one label; its column c gives that of any set of points
    Magnitude   the scale sig2 of an expert: fixed (`paper.fixed_magnitude`), or integrated out
                (`extensions.conjugate_magnitude`)
    Embedding   maps scaled inputs to the points of a kind of expert (`extensions.embeddings`)
    Targets     points whose covariance with candidates `mvr` needs
                (`extensions.variance_reduction`)
    Reference   points whose mean variance `ivr` reduces (`extensions.reference_variance`)

Code outside of the kinds calls these methods, and never checks the class of an expert.
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
EmbeddingOfKind = Any  # an Embedding of that kind


class Step(Protocol):
    """The update of every expert by one label."""

    @property
    def e(self) -> Array:
        """Innovation (M,)."""

    @property
    def s(self) -> Array:
        """Variance of the innovation (M,), in units of the magnitude."""

    def column(self, points: Points) -> Array:
        """Covariances c (M, N) of the points with the labelled one, before the label."""

    def extend(self, points: Points, column: Array) -> Points:
        """The points in the form that the experts take after the label."""

    def take(self, which: Index) -> Self:
        """The step of some of the experts alone."""


class Experts(Protocol):
    """M Gaussian processes of one kind, conditioned on labels."""

    def predict(self, points: Points) -> tuple[Array, Array]:
        """Means mu and variances v (M, N), v in units of the magnitude."""

    def step(self, point: Points, y: float, lam: Array) -> StepOfKind:
        """The update by the label y of one point (N = 1), with noise ratios lam (M,)."""

    def condition(self, step: StepOfKind) -> Self:
        """The experts conditioned on the label of a step."""

    def absorb(self, points: Points, y: Array, lam: Array) -> tuple[Self, Array, Array]:
        """The experts conditioned on labels y (N,) one by one, and the innovations e, s (M, N)."""

    def prior_covariance(self, a: Points, b: Points) -> Array:
        """Prior covariances (M, N, K)."""

    def covariance(self, a: Points, b: Points) -> Array:
        """Posterior covariances (M, N, K)."""

    def remainders(self, points: Points) -> Array:
        """Variances (M, N) of the part of f that is independent between points (FITC)."""

    @property
    def coefficients(self) -> Array:
        """Coefficients (M, ...) of the posterior mean in an orthonormal basis of the kind.

        |mu(x)| is at most their norm times the root of the prior variance at x.
        """

    def label_factor(self, m: int) -> Array | None:
        """Cholesky factor (t, t) of K + diag(lam) of expert m; None if the kind keeps none."""

    def covariance_root(self, points: Points) -> Array | None:
        """A (M, N, F) with A A' = posterior covariance without the remainders.

        None if the kind has no root with fewer columns than points.
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
        """Divisor (M,) that turns a noise variance in label units into a noise ratio; constant."""

    @property
    def freedom(self) -> Array:
        """Degrees of freedom (M,) of the Student-t of an innovation; inf for a normal."""

    def width(self, s: Array) -> Array:
        """Scale of the distribution of a label to come, elementwise."""

    def log_density(self, e: Array, s: Array) -> Array:
        """Log evidence of an innovation e whose variance is sig2 s, elementwise."""

    def log_predictive(self, e: Array, s: Array) -> Array:
        """Log density of a label to come with the innovation e, elementwise."""

    def cdf(self, e: Array, s: Array) -> Array:
        """Probability of a label to come with an innovation below e, elementwise."""

    def quantile(self, level: float, s: Array) -> Array:
        """Quantile of the innovation of a label to come, elementwise."""

    def after(self, e: Array, s: Array) -> tuple[Array, Self]:
        """Joint log density (M,) of innovations e (M, N), and the magnitude after them."""

    def with_innovation(self, e: Array, s: Array) -> Self:
        """The magnitudes after one more innovation, for each of e (M, ...) separately."""

    def without(self, e: Array, s: Array) -> Self:
        """The magnitudes without one innovation, elementwise: the inverse of `with_innovation`."""

    def take(self, which: Index) -> Self:
        """The magnitudes of some of the experts."""


class NoiseVariances(Protocol):
    """Noise of labels whose variance depends on their inputs (`extensions.noise_field`)."""

    def variances(self, X: Array) -> Array:
        """Noise variances (N,) that labels at scaled inputs X (N, d) are learnt with."""

    def expected_variances(self, X: Array) -> Array:
        """Variances (N,) that new labels are predicted with; both in squared label units.

        They differ near the border of a region. A residual tells on which side its label lies, so
        labels learnt with the mean variance would make quiet labels count as noisy ones.
        """


class Targets(Protocol):
    """Target points; they do not change with labels."""

    def posterior(self, experts: ExpertsOfKind, which: Index) -> "TargetPosterior":
        """The posterior at the targets, under some of the experts."""


class TargetPosterior(Protocol):
    """The posterior of H experts at R targets."""

    @property
    def means(self) -> Array:
        """Means (H, R) of f at the targets."""

    @property
    def variances(self) -> Array:
        """Variances (H, R) of f at the targets, in units of the magnitude."""

    def covariance(self, points: Points) -> Array:
        """Covariances (H, N, R) of pool points of these experts with the targets.

        They are in units of the magnitude.
        """


class Reference(Protocol):
    """Reference points, and the mean squared covariance q of any point with them."""

    def relevance(self, experts: ExpertsOfKind, points: Points) -> Array:
        """q (M, N)."""

    def columns(
        self, experts: ExpertsOfKind, step: StepOfKind, points: Points
    ) -> tuple[Array, Array]:
        """h (M, N) and p (M,) of a label, under the experts before that label."""

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
        """M experts without labels, for d inputs."""

    def points(self, experts: ExpertsOfKind, X: Array, dtype: DTypeLike = np.float64) -> Points:
        """Points of the rows of X (N, d) for these experts."""

    def pool_points(
        self, experts: ExpertsOfKind, X: Array, dtype: DTypeLike = np.float64
    ) -> Points:
        """Points of the rows of X (N, d) in the form that a pool keeps."""

    def update_points(self, experts: ExpertsOfKind, points: Points) -> Points:
        """Points of the same experts after fewer labels, in the form that they take now."""

    def predict(self, experts: ExpertsOfKind, X: Array) -> tuple[Array, Array]:
        """Means and variances (M, N) at the rows of X (N, d), without keeping their points."""

    def width(self, experts: ExpertsOfKind) -> int:
        """Size of a point: the count of its numbers for each expert."""

    def largest_prior_variance(self, experts: ExpertsOfKind, X: Array) -> Array:
        """The largest prior variance (M,) over X (N, d), in units of the magnitude."""

    def targets(self, experts: ExpertsOfKind, X: Array) -> Targets:
        """The target points X (R, d)."""

    def reference(self, experts: ExpertsOfKind, X: Array) -> Reference:
        """The reference points X (R, d)."""

    def take(self, which: Index) -> Self:
        """The embedding for some of the experts."""
