r"""Noise whose variance depends on the inputs: a Gaussian process for its logarithm.

Residuals e_i at points x_i are believed to be

    e_i ~ (1 - eps) N(0, u_i + n(x_i)) + eps q_i        n(x) = exp(o(x) + g(x))

with u_i a known variance, o a known offset, q_i the density of wrong labels, and g a Gaussian
process: an unknown constant of variance LEVEL_VARIANCE plus tau^2 k. With r_i the probability that
residual i is right, its log density has the slope and Fisher's information

    1/2 r_i rho_i (e_i^2 / s_i - 1)      1/2 r_i rho_i^2      s_i = u_i + n_i,  rho_i = n_i / s_i

Fisher scoring finds the mode of g, Laplace's approximation there its evidence and its variance,

    g(x) = k(x, X) beta      var g(x) = k(x, x) - k(x, X) R B^-1 R k(X, x)      B = I + R K R

with R the root of the information. A bounded density of wrong labels bounds the influence of each:
one gross error costs log q, whatever its size, and does not become a noisy region.
[1] Goldberg, Williams, Bishop: Regression with input-dependent noise, 1997. [2] Rasmussen,
Williams: Gaussian processes for machine learning, 2006, section 3.4.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from weal.core.arrays import Array
from weal.core.extensions.noise_regions import NoiseRegion
from weal.core.packed_factors import cholesky
from weal.core.paper.kernels import Kernel, correlation

LEVEL_VARIANCE = 25.0  # of the unknown constant of log n: five nats either way
MODE_ROUNDS, MODE_TOLERANCE = 100, 1e-12  # of Fisher scoring, and nats of a round that is the last
LEAST_INFORMATION = 1e-8  # of a residual: B stays well conditioned
MAX_LOG_RATIO = 40.0  # of log n around its offset
LEAST_STEP = 1e-4
MAX_OWN_SHARE = 0.99  # of g at a residual, given that residual alone


class Residuals(NamedTuple):
    """Residuals of labels, and the known part of their variances."""

    square: Array  # (t,)  e^2
    known: Array  # (t,)  u
    offset: Array  # (t,)  o, log of a variance
    log_wrong: Array  # (t,)  log density of a wrong label, times its odds; -inf: none is wrong

    def log_density(self, g: Array) -> tuple[Array, Array, Array]:
        """Log densities (t,) given g, the share rho of varying noise, and P(right) r."""
        n = np.exp(self.offset + np.clip(g, -MAX_LOG_RATIO, MAX_LOG_RATIO))
        s = self.known + n
        right = -0.5 * (np.log(2.0 * np.pi * s) + self.square / s)
        both = np.logaddexp(right, self.log_wrong)
        return both, n / s, np.exp(right - both)

    def slopes(self, g: Array) -> tuple[Array, Array]:
        """Slope and Fisher's information (t,) of the log densities by g."""
        _, rho, right = self.log_density(g)
        s = np.exp(self.offset + np.clip(g, -MAX_LOG_RATIO, MAX_LOG_RATIO)) / rho
        slope = 0.5 * right * rho * (self.square / s - 1.0)
        return slope, np.maximum(0.5 * right * rho**2, LEAST_INFORMATION)


class Mode(NamedTuple):
    """Laplace's approximation of g at the residuals."""

    g: Array  # (t,)
    beta: Array  # (t,)  K^-1 g
    root: Array  # (t,)  R
    log_z: float  # log evidence
    log_density: float  # of the residuals, at the mode
    right: Array  # (t,)  probabilities that labels are right


def mode(K: Array, residuals: Residuals) -> Mode:
    """The mode of g ~ N(0, K) (t, t) given residuals, by Fisher scoring with halved steps."""
    t = len(K)
    g, beta, height = np.zeros(t), np.zeros(t), float(residuals.log_density(np.zeros(t))[0].sum())
    for _ in range(MODE_ROUNDS):
        slope, information = residuals.slopes(g)
        root = np.sqrt(information)
        target = information * g + slope
        solved, _ = lapack.dpotrs(_root_of_b(K, root), root * (K @ target), lower=1)
        whole = target - root * solved - beta
        step, before = 1.0, height
        while step >= LEAST_STEP:
            moved = beta + step * whole
            there = K @ moved
            height = float(residuals.log_density(there)[0].sum() - 0.5 * moved @ there)
            if height >= before:
                g, beta = there, moved
                break
            step, height = 0.5 * step, before
        if height - before <= MODE_TOLERANCE:
            break
    return _laplace(K, residuals, g, beta, height)


def _root_of_b(K: Array, root: Array) -> Array:
    """The Cholesky factor (t, t) of B; its upper triangle is undefined."""
    B = root[:, None] * K * root
    B.flat[:: len(K) + 1] += 1.0
    return cholesky(B)


def _laplace(K: Array, residuals: Residuals, g: Array, beta: Array, height: float) -> Mode:
    root = np.sqrt(residuals.slopes(g)[1])
    L = _root_of_b(K, root)
    log_p, _, right = residuals.log_density(g)
    log_z = height - float(np.log(np.diag(L)).sum())
    return Mode(g, beta, root, log_z, float(log_p.sum()), right)


def cavity(K: Array, residuals: Residuals, found: Mode) -> tuple[Array, Array]:
    """Mean and variance (t,) of g at each residual, given all others.

    The residual is a normal observation of g there, with the slope and the information at the mode.
    """
    V, _ = lapack.dtrtrs(_root_of_b(K, found.root), found.root[:, None] * K, lower=1)
    spread = np.maximum(np.diag(K) - np.einsum("ij,ij->j", V, V), LEAST_INFORMATION)
    slope, information = residuals.slopes(found.g)
    share = np.minimum(information * spread, MAX_OWN_SHARE)  # that the residual has in g
    others = spread / (1.0 - share)
    return found.g - others * slope, others


@dataclass(frozen=True, slots=True, eq=False)
class LevelFunction:
    """A mean function k(x, X) alpha, standardised: the level that noise may depend on."""

    kernel: Kernel
    alpha: Array  # (c,)
    mean: float
    sd: float

    def at(self, X: Array, centres: Array) -> Array:  # (N, d), (c, d) -> (N,)
        """Levels at the rows of X; beyond FARTHEST_LEVEL sds they count as this far."""
        level = (correlation(self.kernel, X, centres) @ self.alpha - self.mean) / self.sd
        return np.asarray(np.clip(level, -FARTHEST_LEVEL, FARTHEST_LEVEL))


@dataclass(frozen=True, slots=True, eq=False)
class NoiseField:
    """Variances n(x) of the noise of labels, in squared units of the labels that experts see."""

    X: Array  # (c, d)  centres, scaled inputs
    beta: Array  # (c,)
    root: Array  # (c,)  R
    kernel: Kernel  # of the inputs, of the level, or of the membership of a region
    variance: float  # tau^2
    log_level: float  # o
    place: LevelFunction | NoiseRegion | None = None  # None: g is a function of the inputs

    def variances(self, X: Array) -> Array:  # (N, d) -> (N,)
        """n = exp(o + g + VARIANCE_SHARE var g) for labels whose g is known."""
        return self._variances(self._places(X))

    def expected_variances(self, X: Array) -> Array:  # (N, d) -> (N,)
        """The mean of n for new labels, which may lie inside of a region or outside."""
        if isinstance(self.place, NoiseRegion):
            return self.place.mean(X, *self._variances(np.array([[1.0], [0.0]])).tolist())
        return self.variances(X)

    def _variances(self, places: Array) -> Array:  # (N, d) or (N, 1) -> (N,)
        """n at inputs, levels or memberships."""
        centres = self._places(self.X)
        k = covariance(self.kernel, self.variance, centres, places)  # (c, N)
        K = covariance(self.kernel, self.variance, centres, centres)
        V, _ = lapack.dtrtrs(_root_of_b(K, self.root), self.root[:, None] * k, lower=1)
        spread = np.maximum(self.variance + LEVEL_VARIANCE - np.einsum("cn,cn->n", V, V), 0.0)
        return self.noise(self.beta @ k, spread)

    def noise(self, g: Array, spread: Array) -> Array:
        """n for a mean and a variance of g, elementwise."""
        log_n = np.clip(g + VARIANCE_SHARE * spread, -MAX_LOG_RATIO, MAX_LOG_RATIO)
        return np.asarray(np.exp(self.log_level + log_n))

    def scaled(self, factor: float) -> "NoiseField":
        """The field with all variances multiplied by a factor."""
        return replace(self, log_level=self.log_level + float(np.log(factor)))

    def _places(self, X: Array) -> Array:
        """Inputs (N, d), or levels or memberships (N, 1)."""
        return X if self.place is None else self.place.at(X, self.X)[:, None]


FARTHEST_LEVEL = 3.0
VARIANCE_SHARE = 0.5  # E n = exp(g + var g / 2)


def covariance(kernel: Kernel, variance: float, X: Array, Y: Array) -> Array:
    """Prior covariance of g: tau^2 k plus that of its constant."""
    return variance * correlation(kernel, X, Y) + LEVEL_VARIANCE
