"""What is fitted of a kernel: its parameters, how likely each is beforehand, and slopes by them.

A shape is a family with one lengthscale for each input, as a function of p = (log l_1 .. log l_d),
and for anova log s after these. Before any label the lengthscales have a level in common and each
its own deviation from it, so that ten labels cannot switch an input off by themselves, and an
input that few labels speak of is taken to be like the others:

    log l_i = level + own_i     level ~ N(mean, LEVEL_SPREAD^2)     own_i ~ N(0, LENGTH_SPREAD^2)
    log s ~ N(-log(d) / 2, STRENGTH_SPREAD^2)

Correlations are taken for pairs of points, from their squared distances by input.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from weal.core.arrays import Array
from weal.core.constants import (
    ANOVA_LENGTH,
    LENGTH_SPREAD,
    LEVEL_LENGTH,
    LEVEL_SPREAD,
    SOUGHT_LENGTHS,
    SOUGHT_STRENGTHS,
    STRENGTH_SPREAD,
)
from weal.core.extensions import anova_kernel
from weal.core.extensions.anova_kernel import ANOVA
from weal.core.paper.kernels import FAMILIES, Kernel

WIDE = 100  # inputs from which formulas for many are used; the last digits of others stay
Slopes = Callable[[Array], Array]  # w (T,) -> w'dk/dp (P,)


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """A family on d inputs, and the prior of its P parameters."""

    like: Kernel  # family, alpha and offset
    mean: Array  # (P,)
    precision: Array  # (P, P)  inverse of the covariance
    log_norm: float  # of the prior
    low: Array  # (P,)
    high: Array  # (P,)

    def log_prior(self, p: Array) -> tuple[float, Array]:
        """Log density at p (P,), and its gradient."""
        away = p - self.mean
        pull = self.precision @ away
        return self.log_norm - 0.5 * float(away @ pull), -pull

    def correlations(self, p: Array, D2: Array) -> tuple[Array, Slopes]:
        """Correlations (T,) at squared distances D2 (d, T) by input, and their slopes."""
        if self.like.family == ANOVA:
            return anova_kernel.with_slopes(p, D2)
        family, alpha = FAMILIES[self.like.family], self.like.alpha
        inverse = np.exp(-2.0 * p)  # 1 / l^2
        r2 = inverse @ D2
        return (
            family.correlation(r2, alpha),
            lambda w: -2.0 * inverse * (D2 @ (w * family.slope(r2, alpha))),
        )

    def kernel(self, p: Array) -> Kernel:
        """The kernel with these parameters."""
        family, offset = self.like.family, self.like.offset
        if family == ANOVA:
            return Kernel(family, tuple(np.exp(p[:-1]).tolist()), float(np.exp(p[-1])), offset)
        return Kernel(family, tuple(np.exp(p).tolist()), self.like.alpha, offset)

    def place(self, kernel: Kernel) -> Array:
        """The parameters (P,) of a kernel of this family, with one lengthscale or with each."""
        anova_s = [kernel.alpha] if self.like.family == ANOVA else []
        d = len(self.mean) - len(anova_s)
        ell = np.broadcast_to(np.asarray(kernel.length_scale, dtype=np.float64), (d,))
        return np.log([*ell, *anova_s])


def shape_of(like: Kernel, d: int) -> Shape:
    """The shape of a kernel's family on d inputs."""
    is_anova = like.family == ANOVA
    level = np.log(ANOVA_LENGTH) if is_anova else np.log(LEVEL_LENGTH) + 0.5 * np.log(d)
    precision, log_norm = _lengths_prior(d, is_anova) if d > WIDE else _prior(d, is_anova)
    mean, low, high = (
        np.full(d, value)
        for value in (level, np.log(SOUGHT_LENGTHS[0]), np.log(SOUGHT_LENGTHS[1] * d**0.5))
    )
    if is_anova:
        mean = np.append(mean, -0.5 * np.log(d))
        low, high = (
            np.append(ends, np.log(s))
            for ends, s in zip((low, high), SOUGHT_STRENGTHS, strict=True)
        )
    return Shape(like, mean, precision, log_norm, low, high)


def _prior(d: int, is_anova: bool) -> tuple[Array, float]:
    """The precision (P, P) of the prior, and the log of what its density is divided by."""
    covariance = LENGTH_SPREAD**2 * np.eye(d) + LEVEL_SPREAD**2
    if is_anova:
        covariance = np.pad(covariance, (0, 1))
        covariance[d, d] = STRENGTH_SPREAD**2
    log_norm = -0.5 * float(np.linalg.slogdet(2.0 * np.pi * covariance)[1])
    return np.asarray(np.linalg.inv(covariance), dtype=np.float64), log_norm


def _lengths_prior(d: int, is_anova: bool) -> tuple[Array, float]:
    """The same in closed form (Sherman and Morrison), for many inputs."""
    own, level = LENGTH_SPREAD**2, LEVEL_SPREAD**2
    precision = np.eye(d) / own - level / (own * (own + d * level))
    log_det = d * np.log(2.0 * np.pi) + (d - 1) * np.log(own) + np.log(own + d * level)
    if is_anova:
        precision = np.pad(precision, (0, 1))
        precision[d, d] = STRENGTH_SPREAD**-2
        log_det += np.log(2.0 * np.pi * STRENGTH_SPREAD**2)
    return precision, -0.5 * float(log_det)
