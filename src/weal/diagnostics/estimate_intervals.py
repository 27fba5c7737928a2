"""Intervals of error estimates and of shares of right predictions.

rms_interval      of a root mean square error. With normal errors n e^2 / sigma^2 is chi-square with
                  n degrees of freedom. Errors with heavy tails vary more: the degrees of freedom nu
                  are those of the observed spread of the squares (Satterthwaite), at most n. With
                  the standard error s of the rms r, Var(r^2) / r^4 = (2 s / r)^2 = 2 / nu.
share_interval    of a share of right predictions: Jeffreys' interval
rms_error         the standard error of a root mean square, from the spread of the squares

Both hold INTERVAL_LEVEL. They know of the number of labels and of nothing else: labels whose rows
were chosen for being uncertain are not a sample of all rows.
"""

import numpy as np
from scipy.special import betaincinv, gammaincinv

from weal.core.arrays import Array, root_mean_square
from weal.core.constants import INTERVAL_LEVEL

MIN_FREEDOM = 2.0  # degrees of freedom, of however heavy tails
_SIDES = (0.5 - 0.5 * INTERVAL_LEVEL, 0.5 + 0.5 * INTERVAL_LEVEL)


def rms_error(errors: Array) -> float | None:
    """The standard error of the root mean square of errors (n,); None for fewer than two, or 0.

    >>> round(rms_error(np.array([1.0, -1.0, 2.0, 0.0])), 2)
    0.35
    """
    found, n = root_mean_square(errors), len(errors)
    if n < 2 or found == 0.0:
        return None
    ratios = (errors / found) ** 2  # squares of labels of 1e300 would overflow
    return float(found * ratios.std(ddof=1) / np.sqrt(n) / 2.0)


def rms_interval(rms: float, n: int, error: float | None = None) -> tuple[float, float]:
    """The interval of a root mean square of n errors, with its standard error where it is known.

    >>> low, high = rms_interval(1.0, 34)
    >>> round(low, 2), round(high, 2)
    (0.84, 1.25)
    >>> rms_interval(0.0, 34)
    (0.0, 0.0)
    """
    if rms == 0.0 or n < 1:
        return rms, rms
    freedom = float(n)
    if error:
        freedom = min(freedom, 0.5 * (rms / error) ** 2)
    freedom = max(freedom, min(MIN_FREEDOM, float(n)))
    low, high = (2.0 * gammaincinv(0.5 * freedom, side) for side in reversed(_SIDES))
    return float(rms * np.sqrt(freedom / low)), float(rms * np.sqrt(freedom / high))


def share_interval(right: float, n: int) -> tuple[float, float]:
    """The interval of a share of which `right` of n were seen.

    >>> low, high = share_interval(9, 10)
    >>> round(low, 2), round(high, 2)
    (0.67, 0.98)
    """
    low, high = (float(betaincinv(right + 0.5, n - right + 0.5, side)) for side in _SIDES)
    return (low if right > 0 else 0.0), (high if right < n else 1.0)
