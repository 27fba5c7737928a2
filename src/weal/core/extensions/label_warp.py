"""Warp of labels with long tails: y -> asinh((y - median) / spread), before experts see them.

Nearly the identity in the middle, a log in the tails; then to mean 0 and sd 1:

    u = asinh((y - median) / spread)        z = (u - mean) / sd

Beliefs in z are mapped back. Quantiles map as they are; a density of y is that of z times dz/dy;
the known noise sd of a label is multiplied by dz/dy there. For the moments: if u is N(a, b^2), and
a label has noise of variance n^2 in u, then the expected label, given f, is g = median + spread
exp(n^2 / 2) sinh(u), which has in closed form

    mean   median + spread exp((b^2 + n^2) / 2) sinh a
    var    spread^2 exp(n^2) / 2 (exp(b^2) - 1) (exp(b^2) cosh 2a + 1)

but in the formula of the mean b^2 + n^2 is limited to MAX_WARPED_MEAN_VARIANCE: far from labels the
tail of the normal, of which nothing is known, would raise it.
"""

from dataclasses import dataclass

import numpy as np

from weal.core.arrays import Array, Index
from weal.core.constants import MAX_WARPED_MEAN_VARIANCE
from weal.core.paper.ensemble import Ensemble, mixture
from weal.core.scaling import NORMAL_RANGE, location_scale

# For a Student-t u, sinh(u) has no mean: the variance of the normal approximation of u is limited
# to the first number. |u| is limited to the second one, so that squares do not overflow.
MAX_WARP_SPREAD, FARTHEST_WARPED = 4.0, 150.0
LEAST_SPREAD = 1e-6  # of the sd; below it, half of the labels are equal


@dataclass(frozen=True, slots=True)
class LabelWarp:
    """An asinh warp of labels; the defaults are the identity."""

    median: float = 0.0
    spread: float = 0.0  # 0: z is y
    mean: float = 0.0
    sd: float = 1.0

    def labels(self, y: Array) -> Array:  # (N,) -> (N,)
        """Warped labels z of labels y."""
        return (self._u(y) - self.mean) / self.sd if self.spread else y

    def variances(self, noise_var: Array, y: Array) -> Array:  # (N,), (N,) -> (N,)
        """Noise variances of warped labels, for labels y."""
        return noise_var * np.exp(2.0 * self.log_slope(y)) if self.spread else noise_var

    def one(self, y: float, noise_var: float) -> tuple[float, float]:
        """A warped label and its noise variance."""
        if not self.spread:
            return y, noise_var
        label = np.array([y])
        return float(self.labels(label)[0]), float(self.variances(np.array([noise_var]), label)[0])

    def log_slope(self, y: Array) -> Array:  # (N,) -> (N,)
        """Log of dz/dy."""
        if not self.spread:
            return np.zeros(np.shape(y))
        u = self._u(y)
        log_cosh = np.logaddexp(u, -u) - np.log(2.0)
        return np.asarray(-np.log(self.sd) - np.log(self.spread) - log_cosh)

    def unwarp(self, z: Array) -> Array:  # (...) -> (...)
        """Labels y of warped labels z."""
        if not self.spread:
            return z
        u = np.clip(self.mean + self.sd * z, -FARTHEST_WARPED, FARTHEST_WARPED)
        return np.asarray(self.median + self.spread * np.sinh(u))

    def moments(self, mu: Array, var: Array, noise: Array) -> tuple[Array, Array]:
        """Means and variances (...) of unwarped f, from moments of f and noise variances in z.

        Where z is uncertain the mean is nearer to the median than that of a normal z would be.
        """
        if not self.spread:
            return mu, var
        a = np.clip(self.mean + self.sd * mu, -FARTHEST_WARPED, FARTHEST_WARPED)
        b2, n2 = (np.minimum(self.sd**2 * part, MAX_WARP_SPREAD) for part in (var, noise))
        mean = self.median + self.spread * np.exp(
            0.5 * np.minimum(b2 + n2, MAX_WARPED_MEAN_VARIANCE)
        ) * np.sinh(a)
        cosh = np.exp(b2) * np.cosh(2.0 * a) + 1.0
        return mean, 0.5 * self.spread**2 * np.exp(n2) * np.expm1(b2) * cosh

    def joint_moments(self, mu: Array, C: Array, noise: Array) -> tuple[Array, Array]:
        """Mean (N,) and covariance (N, N) of unwarped f, where f is jointly normal in z.

        With c the covariance of u at two points, and a, b^2, n^2 those of `moments` at each,

            cov   spread^2 / 2 exp((b^2 + b'^2 + n^2 + n'^2) / 2)
                  ((exp(c) - 1) cosh(a + a') + (1 - exp(-c)) cosh(a - a'))

        whose diagonal is the variance of `moments`.
        """
        if not self.spread:
            return mu, C
        var = np.diag(C)
        mean, _ = self.moments(mu, var, noise)
        a = np.clip(self.mean + self.sd * mu, -FARTHEST_WARPED, FARTHEST_WARPED)
        b2, n2 = (np.minimum(self.sd**2 * part, MAX_WARP_SPREAD) for part in (var, noise))
        shrink = np.sqrt(np.divide(b2, var, out=np.zeros_like(b2), where=var > 0.0))
        c = shrink[:, None] * C * shrink  # of u, its variance limited as in `moments`
        size = self.spread * np.exp(0.5 * (b2 + n2))
        up = np.expm1(c) * np.cosh(a[:, None] + a)
        down = np.expm1(-c) * np.cosh(a[:, None] - a)
        return mean, 0.5 * size[:, None] * size * (up - down)

    def expected_labels(self, z: Array, noise: Array) -> Array:  # (...) -> (...)
        """The expected label of values z of f, with noise variances in z."""
        if not self.spread:
            return z
        n2 = np.minimum(self.sd**2 * noise, MAX_WARP_SPREAD)
        return np.asarray(self.median + np.exp(0.5 * n2) * (self.unwarp(z) - self.median))

    def _u(self, y: Array) -> Array:
        return np.asarray(np.arcsinh((y - self.median) / self.spread))


IDENTITY_WARP = LabelWarp()


def fit_warp(y: Array, least: float = LEAST_SPREAD) -> LabelWarp:
    """The warp fitted to labels y (t,); the identity where half of them are equal."""
    low, median, high = np.percentile(y, [25, 50, 75]).tolist()
    _, (whole,) = location_scale(y[:, None])
    spread = (high - low) / NORMAL_RANGE
    if spread <= least * whole:
        return IDENTITY_WARP
    (mean,), (sd,) = location_scale(LabelWarp(median, spread)._u(y)[:, None])
    return LabelWarp(median, spread, float(mean), float(sd))


def moments(
    ens: Ensemble,
    warp: LabelWarp,
    mu: Array,
    var: Array,
    kept: Index = slice(None),
    lam: Array | None = None,
) -> tuple[Array, Array]:
    """Mean and variance (N,) of unwarped f, from means and variances (H, N) of the kept experts.

    `lam` are noise ratios (M, N) of labels there, where noise varies (`Ensemble.noise_at`).
    """
    ratios = ens.noise[:, None] if lam is None else lam
    noise = (ens.magnitude[:, None] * ratios)[kept]
    return mixture(ens.w[kept], *warp.moments(mu, var, noise))
