"""The trend correlation: a linear trend, and deviations from it.

With b a Matern 5/2 and g an RBF of lengthscales TREND_REACH = c times as long,

    k(r2) = (1 - h) b(r2) + h g(r2 / c^2)        h = c^2 tau / (1 + c^2 tau)

tau is the strength of the trend. Over distances that are short for g, g = 1 - r2 / (2 c^2): that is
the covariance of a constant and of a linear function whose slope in input i has tau / l_i^2 times
the variance of the deviations, up to terms that a constant of large variance absorbs. So labels
with a linear trend are extrapolated by it, where a single correlation would return to the mean, and
deviations may vary fast. An input that matters little has a small slope too, since slopes and
deviations share the lengthscales l_i.

k is a function of one distance, and 1 at r2 = 0. It is a mixture of RBFs over their scale, as its
two parts are, and has random features.

Most of the magnitude belongs to g and is not visible in labels. `log_visible_share` is the log of
the share of it that varies over a lengthscale: noise ratios and the prior of the magnitude are
relative to that (`ard`), and mean the same as in other families.
"""

from collections.abc import Callable

import numpy as np

from weal.core.arrays import Array
from weal.core.constants import TREND_REACH
from weal.core.paper.kernels import FAMILIES, Family, register_stationary

TREND = "trend"  # the name of the family
DEVIATION = FAMILIES["matern52"]
DECAY = 0.5 / TREND_REACH**2  # g is exp(-DECAY r2)


def long_share(tau: float) -> float:
    """The share h of the long RBF."""
    s = TREND_REACH**2 * tau
    return s / (1.0 + s)


def correlation(r2: Array, tau: float) -> Array:
    """Correlations k, elementwise."""
    h = long_share(tau)
    return np.asarray((1.0 - h) * DEVIATION.correlation(r2, 1.0) + h * np.exp(-DECAY * r2))


def slope(r2: Array, tau: float) -> Array:
    """Slopes dk / dr2, elementwise."""
    h = long_share(tau)
    return np.asarray((1.0 - h) * DEVIATION.slope(r2, 1.0) - h * DECAY * np.exp(-DECAY * r2))


def slope_by_strength(r2: Array, tau: float) -> Array:
    """Slopes dk / dlog tau = h (1 - h) (g - b), elementwise."""
    h = long_share(tau)
    return np.asarray(h * (1.0 - h) * (np.exp(-DECAY * r2) - DEVIATION.correlation(r2, 1.0)))


def spectral_scale(rng: np.random.Generator, D: int, tau: float) -> Array:
    """Spectral scales (D,) of random features: those of g, or of the Matern."""
    of_trend = rng.random(D) < long_share(tau)
    return np.where(of_trend, TREND_REACH**-2, DEVIATION.mixing(rng, D, 1.0))


def with_slopes(p: Array, D2: Array) -> tuple[Array, Callable[[Array], Array]]:
    """K (T,) at p = (log l_1 .. log l_d, log tau), for squared distances D2 (d, T) by input.

    The second value maps w (T,) to w'dk/dp (d + 1,), by `slope` and `slope_by_strength`.
    """
    h, inverse = long_share(float(np.exp(p[-1]))), np.exp(-2.0 * p[:-1])
    r2 = inverse @ D2
    b, g = DEVIATION.correlation(r2, 1.0), np.exp(-DECAY * r2)

    def slopes(w: Array) -> Array:
        by_r2 = (1.0 - h) * DEVIATION.slope(r2, 1.0) - h * DECAY * g
        lengths = -2.0 * inverse * (D2 @ (w * by_r2))
        return np.append(lengths, h * (1.0 - h) * float(w @ (g - b)))

    return (1.0 - h) * b + h * g, slopes


def log_visible_share(log_tau: float) -> tuple[float, float]:
    """Log of (1 + tau) / (1 + c^2 tau), and its slope by log tau."""
    tau = float(np.exp(log_tau))
    s = TREND_REACH**2 * tau
    return float(np.log1p(tau) - np.log1p(s)), tau / (1.0 + tau) - s / (1.0 + s)


register_stationary(TREND, Family(correlation, slope, spectral_scale, has_alpha=True))
