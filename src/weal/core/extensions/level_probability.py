"""The probability that a row lies above a level, and the level that k rows are expected to exceed.

    log p_i(tau) = log sum_m w_m P_m(f_i > tau)
    tau_k        the level with sum_i p_i(tau_k) = k over all rows of the pool

P_m is the predictive distribution of f under expert m: a normal, or where the magnitude is
integrated out the Student-t with nu = 2 a degrees of freedom. `Belief.var` is var = b v / (a - 1)
(with a - 1 at least LEAST_SHAPE), so its squared scale is b v / a = var max(nu - 2, 1) / nu
(`conjugate_magnitude`). A monotone warp of the labels maps tau and changes no p_i.

With u = s asinh(t / s), s^2 = nu, the Student-t has the density C cosh(u / s)^-nu. Its log cdf is
interpolated between knots TABLE_STEP apart (cubic, right to 1e-9). Beyond the last knot it follows
from the first terms of the expansion of a tail integral, with phi the log density,

    log int exp(phi) = phi - log phi' + log(1 + phi'' / phi'^2 + (3 phi''^2 - phi' phi''') / phi'^4)

so rows have different scores however improbable they are. A row known without noise is a step.

tau_k is found by secant steps on log sum_i p_i in a bracket, which is halved where they fail. Where
the sum jumps over k (rows known without noise, equal labels), p is interpolated between the two
sides of the jump, so that it always sums to k.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, log_ndtr, ndtr

from weal.core.arrays import Array
from weal.core.extensions.conjugate_magnitude import LEAST_SHAPE
from weal.core.paper.acquisition import (
    NEGLIGIBLE_WEIGHT,
    VAR_FLOOR,
    Belief,
    gpm_var,
    non_negligible,
)

TABLE_STEP = 2.0**-5  # of u
TABLE_END = 32.0  # |u|: a normal density there is 1e-223, and the expansion is right to 1e-8
MAX_DISTANCE = 1e140  # standardised: beyond it squares overflow
COUNT_RTOL = 1e-7  # of sum_i p_i
LEVEL_RTOL = 1e-10  # of a level: a sum that is on both sides of k within it jumps there
LEAST_SLOPE = 1e-3  # of log sum_i p_i, by a level in spreads: between two rows it may be nearly 0
MAX_STEPS = 200
LIKELY_ROWS = 1024  # of a large pool, that a query compares
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(4)


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """A level, and the probabilities of the rows to exceed it."""

    tau: float  # in the units of `Belief.mu`
    log_p: Array  # (N,)  log P(f_i > tau)

    @property
    def p(self) -> Array:  # (N,)
        """The probabilities P(f_i > tau)."""
        return np.exp(self.log_p)


def log_probability_above(belief: Belief, tau: float) -> Array:  # (N,)
    """log sum_m w_m P_m(f_i > tau), for a level in the units of `belief.mu`."""
    return _Tails.of(belief).log_above(tau)


def log_probability_between(belief: Belief, low: float, high: float) -> Array:  # (N,)
    """log sum_m w_m P_m(low < f_i < high), for levels in the units of `belief.mu`."""
    return _Tails.of(belief).log_between(low, high)


def negated(belief: Belief) -> Belief:
    """The belief in -f, whose highest rows are the lowest."""
    return replace(belief, mu=-belief.mu, units=())


def best_level(belief: Belief, k: float, shares: Array | None = None) -> Level:
    """The level that k rows are expected to exceed; -inf where there are k rows or fewer.

    Rows that are not `present` have a probability, and do not count. `shares` (N,) are the
    probabilities with which rows count; None if all do.
    """
    N, present = belief.mu.shape[1], belief.present
    counts = np.ones(N) if shares is None else shares
    counts = counts if present is None else counts * present
    if k >= counts.sum():
        return Level(-np.inf, np.zeros(N))
    return _level(belief, counts, float(k))


def likely_best_level(belief: Belief, k: float) -> Level:
    """The level of k rows for a large pool, at a cost that hardly depends on its size.

    The LIKELY_ROWS rows with the largest (mean - tau) / sd are computed, for a first level tau by
    normals, and every n-th of the others stands for n of them, which gives sum_i p_i to a few
    percent. The others get the least log p of the likely rows. Small pools are left to
    `best_level`.
    """
    N = belief.mu.shape[1]
    if N <= 4 * LIKELY_ROWS or k > LIKELY_ROWS // 4:
        return best_level(belief, k)
    mean, sd = belief.mean, np.sqrt(np.maximum(gpm_var(belief), VAR_FLOOR))
    rows, counts = _likely_rows(mean + 3.0 * sd, belief.present)
    tau, _ = _level_of_moments(mean[rows], sd[rows], counts, k)
    with np.errstate(over="ignore"):
        rows, counts = _likely_rows((mean - tau) / sd, belief.present)
    found = _level(replace(belief, mu=belief.mu[:, rows], var=belief.var[:, rows]), counts, k)
    log_p = np.full(N, found.log_p[:LIKELY_ROWS].min())
    log_p[rows[:LIKELY_ROWS]] = found.log_p[:LIKELY_ROWS]
    return Level(found.tau, log_p)


def _likely_rows(rank: Array, present: NDArray[np.bool_] | None) -> tuple[NDArray[np.intp], Array]:
    """The first LIKELY_ROWS rows by a rank, some of the others, and how many each stands for."""
    rank = rank if present is None else np.where(present, rank, -np.inf)
    split = len(rank) - LIKELY_ROWS
    likely = np.sort(np.argpartition(rank, split)[split:])
    is_other = np.ones(len(rank), np.bool_) if present is None else present.copy()
    is_other[likely] = False
    others = np.flatnonzero(is_other)
    some = others[:: max(1, len(others) // LIKELY_ROWS)]
    counts = np.full(LIKELY_ROWS + len(some), 1.0)
    counts[LIKELY_ROWS:] = len(others) / max(1, len(some))
    return np.concatenate([likely, some]), counts


def _level(belief: Belief, counts: Array, k: float) -> Level:
    """The level with sum_i counts_i p_i = k."""
    tails = _Tails.of(belief)

    def surplus(tau: float) -> float:
        """log sum_i counts_i p_i(tau) - log k."""
        with np.errstate(divide="ignore"):
            return float(np.log(counts @ tails.above(tau)) - np.log(k))

    sd = np.sqrt(np.maximum(gpm_var(belief), 0.0))
    start, slope = _level_of_moments(belief.mean, sd, counts, k)
    low, high = _root(surplus, start, slope)
    if low == high:
        return Level(low, tails.log_above(low))
    share = (k - k * np.exp(surplus(high))) / (k * (np.exp(surplus(low)) - np.exp(surplus(high))))
    with np.errstate(divide="ignore"):
        logs = np.log(np.clip([share, 1.0 - share], 0.0, 1.0))
    both = np.logaddexp(logs[0] + tails.log_above(low), logs[1] + tails.log_above(high))
    return Level(0.5 * (low + high), np.minimum(both, 0.0))


@dataclass(frozen=True, slots=True, eq=False)
class _Tails:
    """The predictive distributions of N rows under the experts that are not negligible."""

    w: Array  # (H,)  normalised
    mu: Array  # (H, N)
    scale: Array  # (H, N)
    nu: Array  # (H,)  degrees of freedom

    @classmethod
    def of(cls, belief: Belief) -> Self:
        """The distributions of a belief."""
        w, mu, var = non_negligible(belief)
        dof = np.full(len(belief.w), np.inf) if belief.dof is None else belief.dof
        nu = dof[belief.w >= NEGLIGIBLE_WEIGHT]
        shape = np.maximum(0.5 * nu - 1.0, LEAST_SHAPE)  # a - 1
        shrink = np.where(nu == np.inf, 1.0, shape / np.where(nu == np.inf, 1.0, 0.5 * nu))
        return cls(w / w.sum(), mu, np.sqrt(shrink[:, None] * var), nu)

    def _distance(self, tau: float) -> Array:  # (H, N)
        with np.errstate(over="ignore"):
            return np.clip((self.mu - tau) / self.scale, -MAX_DISTANCE, MAX_DISTANCE)

    def above(self, tau: float) -> Array:  # (N,)
        """P(f_i > tau)."""
        t = self._distance(tau)
        lower = np.exp(self._log_lower(np.abs(t)))
        return np.asarray(self.w @ np.where(t < 0.0, lower, 1.0 - lower))

    def log_above(self, tau: float) -> Array:  # (N,)
        """log P(f_i > tau)."""
        t = self._distance(tau)
        lower = self._log_lower(np.abs(t))
        each = np.where(t < 0.0, lower, np.log1p(-np.exp(lower)))
        top = each.max(axis=0)
        return np.asarray(np.minimum(top + np.log(self.w @ np.exp(each - top)), 0.0))

    def log_between(self, low: float, high: float) -> Array:  # (N,)
        """log P(low < f_i < high), by the differences of tails that do not cancel."""
        if not low < high:
            return np.full(self.mu.shape[1], -np.inf)
        a, b = self._distance(low), self._distance(high)  # a >= b
        near = self._log_lower(np.maximum(np.maximum(-a, b), 0.0))  # of the nearer end, outside
        far = self._log_lower(np.where(b > 0.0, a, np.maximum(-b, 0.0)))
        ends = np.exp(self._log_lower(np.maximum(a, 0.0))), np.exp(far)
        with np.errstate(divide="ignore"):
            inside = np.log1p(-np.minimum(ends[0] + ends[1], 1.0))
            beside = near + np.log(-np.expm1(np.minimum(far - near, 0.0)))
            each = np.where((a >= 0.0) & (b <= 0.0), inside, beside)
            top = np.maximum(each.max(axis=0), -MAX_DISTANCE)
            return np.asarray(np.minimum(top + np.log(self.w @ np.exp(each - top)), 0.0))

    def _log_lower(self, t: Array) -> Array:  # (H, N) -> (H, N)
        """Logs of the lower tails at distances t >= 0."""
        if (self.nu == self.nu[0]).all():
            return log_lower_tail(t, float(self.nu[0]))
        return np.stack([log_lower_tail(row, nu) for row, nu in zip(t, self.nu, strict=True)])


def log_lower_tail(t: Array, nu: float) -> Array:
    """log P(T < -t), elementwise, for t >= 0 and a Student-t of nu degrees of freedom."""
    if nu == np.inf:
        return np.asarray(log_ndtr(-t))
    s, table = np.sqrt(nu), _log_cdf_table(nu)
    u = s * np.arcsinh(t / s)
    x = np.minimum(u, TABLE_END - 0.5 * TABLE_STEP) * (1.0 / TABLE_STEP)
    at = x.astype(np.intp)
    x -= at
    a, b, c, d = (part[at] for part in table)
    found = a + x * (b + x * (c + x * d))
    far = u >= TABLE_END - 0.5 * TABLE_STEP
    if far.any():
        found[far] = _far_tail(u[far], nu)
    return np.asarray(found)


def _log_density(u: Array, nu: float) -> Array:
    """phi(u), the log density of u = s asinh(t / s)."""
    s = np.sqrt(nu)
    height = gammaln(0.5 * (nu + 1.0)) - gammaln(0.5 * nu) - 0.5 * np.log(nu * np.pi)
    z = np.abs(u) / s
    return np.asarray(height - nu * (z + np.log1p(np.exp(-2.0 * z)) - np.log(2.0)))


def _far_tail(u: Array, nu: float) -> Array:
    """log P(U < -u) for large u, by the expansion of the tail integral."""
    s = np.sqrt(nu)
    q = np.tanh(u / s)
    first, second = s * q, -(1.0 - q * q)  # phi' and phi''
    third = 2.0 * second * q / s
    terms = second / first**2 + (3.0 * second**2 - first * third) / first**4
    return np.asarray(_log_density(u, nu) - np.log(first) + np.log1p(terms))


@lru_cache(maxsize=8)
def _log_cdf_table(nu: float) -> Array:  # (4, G)
    """Coefficients of log P(U < -u) on each interval of u, by the place x in [0, 1) in it."""
    u: Array = TABLE_STEP * np.arange(round(TABLE_END / TABLE_STEP) + 1, dtype=np.float64)
    nodes = u[:-1, None] + 0.5 * TABLE_STEP * (1.0 + _NODES)
    parts = 0.5 * TABLE_STEP * np.exp(_log_density(nodes, nu)) @ _NODE_WEIGHTS
    end = np.exp(_far_tail(u[-1:], nu))
    cdf = np.cumsum(np.concatenate([end, parts[::-1]]))[::-1]  # (G + 1,)  from the far end
    value, slope = np.log(cdf), -TABLE_STEP * np.exp(_log_density(u, nu) - np.log(cdf))
    rise = np.diff(value)
    return np.stack(
        [
            value[:-1],
            slope[:-1],
            3.0 * rise - 2.0 * slope[:-1] - slope[1:],
            slope[:-1] + slope[1:] - 2.0 * rise,
        ]
    )


def _level_of_moments(mean: Array, sd: Array, counts: Array, k: float) -> tuple[float, float]:
    """The level for normals of means and sds (N,), and the slope of log sum p there.

    A start for `best_level`: a few steps of Newton, not to a tolerance.
    """
    mean, sd, counts = mean[counts > 0.0], sd[counts > 0.0], counts[counts > 0.0]
    N = len(mean)
    place = N - min(N - 1, max(1, round(k)))
    tau = float(np.partition(mean, place - 1)[place - 1])
    spread = float(np.sqrt(mean.var() + (sd**2).mean())) or 1.0
    sd = np.maximum(sd, 1e-3 * spread)  # steps are smoothed: it is a start
    slope = -1.0 / spread
    for _ in range(6):
        z = (mean - tau) / sd
        count = float(counts @ ndtr(z))
        density = float(counts @ (np.exp(-0.5 * z * z) / sd)) / np.sqrt(2.0 * np.pi)
        if not (count > 0.0 and density > 0.0):
            break
        slope = -max(density / count, LEAST_SLOPE / spread)
        move = float(np.clip(-np.log(count / k) / slope, -spread, spread))
        tau += move
        if abs(move) < 1e-3 * spread:
            break
    return tau, slope


def _root(surplus: Callable[[float], float], x: float, slope: float) -> tuple[float, float]:
    """A root of a falling function, twice; or the ends of a bracket in which it jumps over 0."""
    low, high, width = -np.inf, np.inf, abs(1.0 / slope)
    before: tuple[float, float] | None = None
    for turn in range(MAX_STEPS):
        f = surplus(x)
        if abs(f) <= COUNT_RTOL:
            return x, x
        low, high = (x, high) if f > 0.0 else (low, x)
        if np.isfinite(high - low) and high - low <= LEVEL_RTOL * max(abs(low), abs(high), width):
            break
        if before is not None and np.isfinite(f) and np.isfinite(before[1]) and x != before[0]:
            slope = (f - before[1]) / (x - before[0])
        before = (x, f)
        x = x - f / slope if slope < 0.0 and np.isfinite(f) else np.nan
        if not low < x < high or turn % 4 == 3:
            x = _between(low, high, before[0], width * 2.0**turn)
    return low, high


def _between(low: float, high: float, x: float, width: float) -> float:
    """The middle of a bracket, or a step in the direction in which it is open."""
    if low == -np.inf:
        return x - width
    return x + width if high == np.inf else 0.5 * (low + high)
