"""The magnitude sig2 of an expert, integrated out with an inverse-gamma prior.

    sig2 ~ inverse gamma(a, b); a label adds a += 1/2, b += e^2 / (2 s)
    e ~ Student-t with 2 a degrees of freedom and squared scale (b / a) s

Conjugate experts need no optimiser and adapt their scale with every label; the product of their
predictive densities is the exact evidence, with sig2 integrated out. Their variance is that of the
Student-t, b / (a - 1) times v: scores and mixtures use it as if it were normal, densities and
intervals use the Student-t itself. The prior is worth 2 A0 = 1 label of variance B0 / A0 = 1 in
scaled-label units, or of another variance where the labels vary by another amount. Up to the second
label the Student-t has no variance: b / LEAST_SHAPE is used instead, which is 1 before the first
label.

Where experts were selected by the labels, a label is predicted with a larger variance:

    (b / a) s (1 + kappa / (2 a))

kappa is `fitted_freedom`, the number of labels that the fit of kernel parameters has spent: the
larger, the noisier labels are to an expert. A dozen experts represent the uncertainty of these
parameters only in part. Evidence and weights are not affected.

A noise variance that is stated in label units becomes a ratio by division by `unit`: the magnitude
expected when the experts were selected (`label_noise`). No label changes the unit, or else the
order of labels would matter.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import gammaln, stdtr, stdtrit

from weal.core.arrays import Array, Index
from weal.core.constants import MAGNITUDE_PRIOR_A, MAGNITUDE_PRIOR_B
from weal.core.paper.fixed_magnitude import LOG_2_PI, Z_MAX, along_experts, half_square

# Least share of b that remains when a label is removed; less would be rounding.
LEAST_LEFT = 4 * float(np.finfo(np.float64).eps)


# Lower bound of a - 1.
LEAST_SHAPE = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class ConjugateMagnitude:
    """A magnitude with an inverse-gamma belief."""

    a: Array  # (M,)
    b: Array  # (M,), or (M, ...) where `with_innovation` and `without` were called for many at once
    unit: Array  # (M,)  divisor of noise variances in label units
    fitted_freedom: Array | None = None  # (M,)  kappa; None: 0, for given kernels

    @classmethod
    def prior(
        cls, M: int, variance: float = 1.0, unit: Array | None = None,
        fitted_freedom: Array | None = None,
    ) -> Self:  # fmt: skip
        """The prior for labels of this variance; `unit` defaults to b / a."""
        a, b = np.full(M, MAGNITUDE_PRIOR_A), np.full(M, variance * MAGNITUDE_PRIOR_B)
        return cls(a, b, b / MAGNITUDE_PRIOR_A if unit is None else unit, fitted_freedom)

    @property
    def freedom(self) -> Array:  # (M,)
        """Degrees of freedom, 2 a."""
        return 2.0 * self.a

    def width(self, s: Array) -> Array:
        """The scale of the Student-t of a label to come."""
        a, b = along_experts(self.a, s), along_experts(self.b, s)
        return np.asarray(np.sqrt(b / a) * np.sqrt(self._widened(s)))

    def _widened(self, s: Array) -> Array:
        """S of labels to come: (1 + kappa / (2 a)) s."""
        if self.fitted_freedom is None:
            return s
        a, kappa = along_experts(self.a, s), along_experts(self.fitted_freedom, s)
        return np.asarray((1.0 + 0.5 * kappa / a) * s)

    @property
    def variance(self) -> Array:  # (M,)
        """b / (a - 1), from the second label on."""
        return np.asarray(self.b / np.maximum(along_experts(self.a, self.b) - 1.0, LEAST_SHAPE))

    def log_density(self, e: Array, s: Array) -> Array:
        """Log density of a Student-t with 2 a degrees of freedom and squared scale (b / a) s."""
        a, b = along_experts(self.a, e), along_experts(self.b, e)
        with np.errstate(over="ignore"):
            z = np.clip(e / (np.sqrt(2.0 * b) * np.sqrt(s)), -Z_MAX, Z_MAX)
        norm = gammaln(a + 0.5) - gammaln(a) - 0.5 * (LOG_2_PI + np.log(b) + np.log(s))
        return np.asarray(norm - (a + 0.5) * np.log1p(z * z))

    def log_predictive(self, e: Array, s: Array) -> Array:
        """Log density of a label to come."""
        return self.log_density(e, self._widened(s))

    def cdf(self, e: Array, s: Array) -> Array:
        """Distribution function of a label to come."""
        return np.asarray(stdtr(2.0 * along_experts(self.a, e), e / self.width(s)))

    def quantile(self, level: float, s: Array) -> Array:
        """Quantile of a label to come."""
        return np.asarray(stdtrit(2.0 * along_experts(self.a, s), level) * self.width(s))

    def after(self, e: Array, s: Array) -> tuple[Array, Self]:
        """Evidence of N labels in closed form, and the magnitude after them."""
        N = e.shape[1]
        with np.errstate(over="ignore"):
            z = np.clip(e / np.sqrt(s), -Z_MAX, Z_MAX)
        b = self.b + 0.5 * np.einsum("mn,mn->m", z, z)
        later = type(self)(self.a + 0.5 * N, b, self.unit, self.fitted_freedom)
        log_p = later.log_norm() - self.log_norm()
        return log_p - 0.5 * (N * LOG_2_PI + np.log(s).sum(axis=1)), later

    def with_innovation(self, e: Array, s: Array) -> Self:
        """The magnitudes after one more innovation: b + e^2 / (2 s), a + 1/2."""
        b = along_experts(self.b, e) + half_square(e, s)
        return type(self)(self.a + 0.5, b, self.unit, self.fitted_freedom)

    def without(self, e: Array, s: Array) -> Self:
        """The magnitudes without one innovation: b - e^2 / (2 s) > 0, a - 1/2."""
        b = along_experts(self.b, e)
        left = np.maximum(b - half_square(e, s), LEAST_LEFT * b)
        return type(self)(self.a - 0.5, left, self.unit, self.fitted_freedom)

    def log_norm(self) -> Array:
        """log Gamma(a) - a log b (M,): log of the integral over sig2, up to a constant."""
        return np.asarray(gammaln(self.a) - self.a * np.log(self.b))

    def take(self, which: Index) -> Self:
        """The magnitudes of some of the experts."""
        spent = None if self.fitted_freedom is None else self.fitted_freedom[which]
        return type(self)(self.a[which], self.b[which], self.unit[which], spent)
