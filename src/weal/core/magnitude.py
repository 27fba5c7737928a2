"""The magnitude sig2 of an expert: held at a value, or integrated out.

An innovation e has variance sig2 s, with s = v + lam known. What is known of sig2 decides how
likely e is, and what multiplies v:

    Fixed       sig2 given (the paper: its marginal-likelihood value on the first labels)
                e ~ N(0, sig2 s)
    Conjugate   sig2 ~ inverse gamma(a, b); a label adds a += 1/2, b += e^2 / (2 s)
                e ~ Student-t with 2 a degrees of freedom and squared scale (b / a) s

Conjugate experts need no optimiser and adapt their scale with every label; the product of their
predictive densities is the exact evidence, with sig2 integrated out. Their variance is that of
the Student-t, b / (a - 1) times v: scores and mixtures use it as if it were normal, densities and
intervals use the Student-t itself. The prior is worth 2 A0 = 1 label of variance B0 / A0 = 1 in
scaled-label units, or of another variance where the labels have turned out to vary otherwise. Up to
the second label that Student-t has no variance: what counts as such is b / LEAST_SHAPE, which is 1
before the first.

Noise that is known in label units becomes a ratio by division by `unit`: sig2 where it is held,
what it was thought to be when the experts were settled where it is not (`stated_noise`). No label
changes the unit, for then their order would matter.
"""

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from scipy.special import gammaln, ndtr, ndtri, stdtr, stdtrit

from weal.core.arrays import Array, Index
from weal.core.tuned import A0, B0

# Standardised surprises beyond this would overflow when squared; every expert is as wrong there.
Z_MAX = 1e150
LOG_2_PI = float(np.log(2.0 * np.pi))
# Share of b that is left, at the least, when a label is taken away; less would be rounding.
LEAST_LEFT = 4 * float(np.finfo(np.float64).eps)


# What a - 1 counts as at the least.
LEAST_SHAPE = 0.5


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


def log_normal(e: Array, var: Array) -> Array:
    """Log density of N(0, var) at e, elementwise; finite for every finite e and var > 0."""
    with np.errstate(over="ignore"):  # to inf, and then to Z_MAX
        z = np.clip(e / np.sqrt(var), -Z_MAX, Z_MAX)
    return -0.5 * (LOG_2_PI + np.log(var) + z * z)


def _along(parameter: Array, e: Array) -> Array:
    """A parameter (M,), or (M, ...) already, shaped to go with e (M, ...)."""
    return parameter.reshape(*parameter.shape, *[1] * (e.ndim - parameter.ndim))


def _half_square(e: Array, s: Array) -> Array:
    """e^2 / (2 s), elementwise; finite."""
    with np.errstate(over="ignore"):
        z = np.clip(e / np.sqrt(s), -Z_MAX, Z_MAX)
    return np.asarray(0.5 * z * z)


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    """A magnitude held at its value."""

    variance: Array  # (M,)  sig2

    @property
    def unit(self) -> Array:  # (M,)
        """Sig2."""
        return self.variance

    @property
    def freedom(self) -> Array:  # (M,)
        """A normal."""
        return np.full(len(self.variance), np.inf)

    def width(self, s: Array) -> Array:
        """Sd of an innovation."""
        return np.asarray(np.sqrt(_along(self.variance, s) * s))

    def log_density(self, e: Array, s: Array) -> Array:
        """N(0, sig2 s)."""
        return log_normal(e, _along(self.variance, e) * s)

    def cdf(self, e: Array, s: Array) -> Array:
        """N(0, sig2 s)."""
        return np.asarray(ndtr(e / np.sqrt(_along(self.variance, e) * s)))

    def quantile(self, level: float, s: Array) -> Array:
        """N(0, sig2 s)."""
        return np.asarray(ndtri(level) * np.sqrt(_along(self.variance, s) * s))

    def after(self, e: Array, s: Array) -> tuple[Array, Self]:
        """Nothing is learnt."""
        return self.log_density(e, s).sum(axis=1), self

    def having(self, e: Array, s: Array) -> Self:
        """Nothing is learnt."""
        return self

    def without(self, e: Array, s: Array) -> Self:
        """Nothing was learnt."""
        return self

    def take(self, which: Index) -> Self:
        """The magnitudes of some of the experts."""
        return type(self)(self.variance[which])


@dataclass(frozen=True, slots=True, eq=False)
class Conjugate:
    """A magnitude with an inverse-gamma belief."""

    a: Array  # (M,)
    b: Array  # (M,), or (M, ...) where `having` and `without` were asked of many at once
    unit: Array  # (M,)  what noise that is known in label units is divided by

    @classmethod
    def prior(cls, M: int, variance: float = 1.0, unit: Array | None = None) -> Self:
        """Before the first label, for labels of that variance; the unit is that unless told."""
        b = np.full(M, variance * B0)
        return cls(np.full(M, A0), b, b / A0 if unit is None else unit)

    @property
    def freedom(self) -> Array:  # (M,)
        """2 a."""
        return 2.0 * self.a

    def width(self, s: Array) -> Array:
        """The scale of the Student-t of an innovation."""
        a, b = _along(self.a, s), _along(self.b, s)
        return np.asarray(np.sqrt(b / a) * np.sqrt(s))

    @property
    def variance(self) -> Array:  # (M,)
        """b / (a - 1), from the second label on."""
        return np.asarray(self.b / np.maximum(_along(self.a, self.b) - 1.0, LEAST_SHAPE))

    def log_density(self, e: Array, s: Array) -> Array:
        """Student-t with 2 a degrees of freedom and squared scale (b / a) s."""
        a, b = _along(self.a, e), _along(self.b, e)
        with np.errstate(over="ignore"):
            z = np.clip(e / (np.sqrt(2.0 * b) * np.sqrt(s)), -Z_MAX, Z_MAX)
        norm = gammaln(a + 0.5) - gammaln(a) - 0.5 * (LOG_2_PI + np.log(b) + np.log(s))
        return np.asarray(norm - (a + 0.5) * np.log1p(z * z))

    def cdf(self, e: Array, s: Array) -> Array:
        """The same Student-t."""
        a, b = _along(self.a, e), _along(self.b, e)
        return np.asarray(stdtr(2.0 * a, e / (np.sqrt(b / a) * np.sqrt(s))))

    def quantile(self, level: float, s: Array) -> Array:
        """The same Student-t."""
        a, b = _along(self.a, s), _along(self.b, s)
        return np.asarray(stdtrit(2.0 * a, level) * (np.sqrt(b / a) * np.sqrt(s)))

    def after(self, e: Array, s: Array) -> tuple[Array, Self]:
        """All at once: evidence of N labels in closed form."""
        N = e.shape[1]
        with np.errstate(over="ignore"):
            z = np.clip(e / np.sqrt(s), -Z_MAX, Z_MAX)
        b = self.b + 0.5 * np.einsum("mn,mn->m", z, z)
        later = type(self)(self.a + 0.5 * N, b, self.unit)
        log_p = later.log_norm() - self.log_norm()
        return log_p - 0.5 * (N * LOG_2_PI + np.log(s).sum(axis=1)), later

    def having(self, e: Array, s: Array) -> Self:
        """b with e^2 / (2 s), a with 1/2."""
        return type(self)(self.a + 0.5, _along(self.b, e) + _half_square(e, s), self.unit)

    def without(self, e: Array, s: Array) -> Self:
        """b without e^2 / (2 s), a without 1/2; rounding may not take all of b."""
        b = _along(self.b, e)
        left = np.maximum(b - _half_square(e, s), LEAST_LEFT * b)
        return type(self)(self.a - 0.5, left, self.unit)

    def log_norm(self) -> Array:
        """log Gamma(a) - a log b (M,): what the integral over sig2 leaves."""
        return np.asarray(gammaln(self.a) - self.a * np.log(self.b))

    def take(self, which: Index) -> Self:
        """The magnitudes of some of the experts."""
        return type(self)(self.a[which], self.b[which], self.unit[which])
