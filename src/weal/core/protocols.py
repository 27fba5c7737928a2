"""Protocols of the core: what every kind of expert, magnitude and embedding can do.

Experts     M Gaussian processes conditioned on labels; random features (`paper.feature_gp`),
exact (`paper.exact_gp`) and inducing points (`extensions.inducing_gp`)
Step        what one label changes in them, and through its column c in any set of points
Magnitude   the scale sig2 of an expert: fixed (`paper.fixed_magnitude`), or integrated out
(`extensions.conjugate_magnitude`)
Embedding   scaled inputs in the form that a kind of expert works on (`extensions.embeddings`)
"""

from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import DTypeLike

from weal.core.arrays import Array, Index

Points = Any  # Phi (M, N, F) for experts on features and inducing points, Near for exact ones


class Step(Protocol):
    """What one label tells every expert, and through c every other point."""

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
    """The seam between the kinds of expert."""

    def predict(self, points: Points) -> tuple[Array, Array]:
        """Means mu and variances v (M, N), v in units of the magnitude."""

    def step(self, point: Points, y: float, lam: Array) -> Any:
        """What the label y of one point (N = 1) tells, at noise ratios lam (M,)."""

    def condition(self, step: Any) -> Self:
        """The experts after that label."""

    def absorb(self, points: Points, y: Array, lam: Array) -> tuple[Self, Array, Array]:
        """The experts after the labels y (N,) of N points in turn, with the e and s (M, N) met."""

    def prior_covariance(self, a: Points, b: Points) -> Array:
        """Covariances (M, N, K) before the first label."""

    def covariance(self, a: Points, b: Points) -> Array:
        """Posterior covariances (M, N, K)."""

    def remainders(self, points: Points) -> Array:
        """Variances (M, N) of f that covariances leave out, for no other point shares them."""

    def take(self, which: Index) -> Self:
        """Some of the experts."""


class Magnitude(Protocol):
    """The seam between the two; arrays e, s are (M, ...)."""

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

    def having(self, e: Array, s: Array) -> Self:
        """What is known after one more innovation, elementwise: for each of e (M, ...) alone."""

    def without(self, e: Array, s: Array) -> Self:
        """What would be known had one innovation not been met, elementwise: `having` undone."""

    def take(self, which: Index) -> Self:
        """The magnitudes of some of the experts."""


class Embedding(Protocol):
    """The seam between the ways."""

    def points(self, experts: Any, X: Array, dtype: DTypeLike = np.float64) -> Points:
        """Points of the rows of X (N, d) for these experts."""

    def width(self, experts: Any) -> int:
        """Numbers that a point takes for each expert."""

    def take(self, which: Index) -> Self:
        """The embedding for some of the experts."""
