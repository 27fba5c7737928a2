r"""Quantiles of a mixture of Student-t or normal distributions, for many points at once.

The label of a point has the distribution function sum_m w_m T_nu((y - mu_m) / c_m), with nu degrees
of freedom (`conjugate_magnitude`). `ensemble.quantile` solves for y by evaluating each T_nu, a
continued fraction. Here T_nu is read from a table. With

    x = t / sqrt(1 + t^2 / nu)        f(x) = dT_nu / dx ~ (1 - x^2 / nu)^(nu / 2 - 1)

x is t itself for a normal, the density f falls as exp(-x^2 / 2), and T_nu is smooth up to the ends
x = +- sqrt(nu). The table has T_nu and its first three derivatives by x at steps of STEP up to
FARTHEST, so that its Taylor series is right to 2e-12 everywhere. Each quantile lies between those
of the components. It is found by Newton's steps, halved intervals where these would leave it, each
row separately: neither the order of rows nor the blocks they come in matter. A row is done with a
step of LAST_STEP of the component's width or less; the next one would be its square.

    error    quantiles are those of `ensemble.quantile` to 1e-8 of the sd of a label
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, ndtr, stdtr

from weal.core.arrays import Array
from weal.core.paper.ensemble import Ensemble, label_spread, quantile

GRID_STEP, FARTHEST = 2.0**-8, 9.0
LAST_STEP = 1e-6
MOST_STEPS = 200
FEWEST_FREEDOM = 8.0  # degrees: with fewer, higher derivatives of T_nu have no bound at its ends
QUANTILE_BLOCK_ROWS = 4096


@dataclass(frozen=True, slots=True, eq=False)
class QuantileTable:
    """Taylor coefficients of the Student-t distribution function T_nu on a grid of x."""

    nu: float  # degrees of freedom; inf is the normal
    last: float  # of x
    series: Array  # (G, 4)

    def cdf(self, t: Array) -> tuple[Array, Array]:
        """T_nu and its density by t, elementwise."""
        with np.errstate(over="ignore"):
            slope = 1.0 / np.sqrt(1.0 + t * t / self.nu)  # dx/dt is its cube
        x = np.clip(t * slope, -self.last, self.last)
        at = np.rint(x / GRID_STEP)
        x -= at * GRID_STEP
        a, b, c, d = np.moveaxis(self.series[at.astype(np.intp) + len(self.series) // 2], -1, 0)
        density = (b + x * (2.0 * c + x * (3.0 * d))) * slope**3
        return a + x * (b + x * (c + x * d)), density


def table(nu: float) -> QuantileTable:
    """The Taylor coefficients for nu degrees of freedom."""
    last = (
        FARTHEST
        if nu == np.inf
        else min(FARTHEST, GRID_STEP * (np.ceil(nu**0.5 / GRID_STEP) - 1.0))
    )
    x = GRID_STEP * np.arange(-round(last / GRID_STEP), round(last / GRID_STEP) + 1)
    inside = 1.0 - x * x / nu
    t = x / np.sqrt(inside)
    cdf = ndtr(t) if nu == np.inf else stdtr(nu, t)
    f = _height(nu) * (np.exp(-0.5 * x * x) if nu == np.inf else inside ** (0.5 * nu - 1.0))
    k = 1.0 - 2.0 / nu  # f' = -k x f / inside
    first = -k * x * f / inside
    second = -k * (f + x * first) / inside - 2.0 * k * x * x * f / (nu * inside**2)
    return QuantileTable(nu, last, np.stack([cdf, f, first / 2.0, second / 6.0], axis=1))


def _height(nu: float) -> float:
    """Density of the Student-t at 0."""
    if nu == np.inf:
        return float((2.0 * np.pi) ** -0.5)
    log = gammaln(0.5 * (nu + 1.0)) - gammaln(0.5 * nu) - 0.5 * np.log(nu * np.pi)
    return float(np.exp(log))


def quantiles(
    ens: Ensemble, mu: Array, var: Array, levels: Array, lam: Array | None = None
) -> Array:  # (levels, N)
    """Quantiles (levels, N) of labels, given means and variances (M, N) of `predict`.

    `lam` are noise ratios (M, N) of labels there, where noise varies (`Ensemble.noise_at`).
    """
    nu = np.unique(ens.scale.freedom)
    if len(nu) > 1 or nu[0] < FEWEST_FREEDOM:
        return np.stack([quantile(ens, mu, var, level, lam) for level in levels.tolist()])
    spread = label_spread(ens, var, lam)
    known, width = table(float(nu[0])), ens.scale.width(spread)
    found = np.empty((len(levels), mu.shape[1]))
    for n, level in enumerate(levels.tolist()):
        ends = mu + ens.scale.quantile(level, spread)
        if len(ends) == 1:
            found[n] = ends[0]
            continue
        for start in range(0, mu.shape[1], QUANTILE_BLOCK_ROWS):
            rows = slice(start, start + QUANTILE_BLOCK_ROWS)
            part = (ends[:, rows], mu[:, rows], width[:, rows])
            found[n, rows] = _solve(ens.w, known, *part, level)
    return found


def _solve(
    w: Array, known: QuantileTable, ends: Array, mu: Array, width: Array, level: float
) -> Array:
    """The quantile (N,) of mixtures of components (M, N), whose own quantiles are `ends`."""
    low, high, found = ends.min(axis=0), ends.max(axis=0), _mean(w, ends)
    close, left = LAST_STEP * width.min(axis=0), np.arange(mu.shape[1])
    for turn in range(MOST_STEPS):
        y = found[left]
        cdf, density = known.cdf((y - mu) / width)
        above, slope = _mean(w, cdf) - level, _mean(w, density / width)
        low, high = np.where(above < 0.0, y, low), np.where(above < 0.0, high, y)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # halved instead
            newton = y - above / slope
        inside = (newton >= low) & (newton <= high)
        halve = ~inside | (turn % 4 == 3)
        found[left] = np.where(halve, 0.5 * (low + high), newton)
        going = ~((inside & (np.abs(newton - y) <= close)) | (high - low <= close))
        found[left[~going & inside]] = newton[~going & inside]
        if not going.any():
            break
        if not going.all():
            left, low, high, close = left[going], low[going], high[going], close[going]
            mu, width = mu[:, going], width[:, going]
    return found


def _mean(w: Array, each: Array) -> Array:  # (M,), (M, N) -> (N,)
    """Weighted mean over experts, without BLAS: its last bits depend on the number of rows."""
    return np.asarray((w[:, None] * each).sum(axis=0))
