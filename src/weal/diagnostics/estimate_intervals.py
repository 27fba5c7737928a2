"""Intervals of error estimates and of shares of right predictions.

rms_interval      of a root mean square error. With normal errors n e^2 / sigma^2 is chi-square with
                  n degrees of freedom. Errors with heavy tails vary more: the degrees of freedom nu
                  are those of the observed spread of the squares (Satterthwaite), at most n. With
                  the standard error s of the rms r, Var(r^2) / r^4 = (2 s / r)^2 = 2 / nu.
share_interval    of a share of right predictions: Jeffreys' interval
rms_error         the standard error of a root mean square, from the spread of the squares

Both intervals have the level INTERVAL_LEVEL and depend only on the number of labels.

left_out_interval   of the error over all rows, where leave-one-out is the estimate. Labelled rows
                    are not a random sample: in 40 campaigns of 36 labels (four functions of three
                    inputs, 400 candidates, noise of a tenth of the spread) the true error was 0.38
                    to 1.42 times the left-out one (5 % to 95 %) with rows that the model chose, and
                    0.6 to 1.5 times with random rows; an interval by the number of labels alone
                    contained it in 40 % and 52 % of them. So its ends move out by LEFT_OUT_LOG_LOW
                    and LEFT_OUT_LOG_HIGH, in quadrature on a log scale. In 40 other campaigns of 30
                    labels (these functions and four more) it contained the true error in 37, for
                    either kind.
"""

import numpy as np
from scipy.special import betaincinv, gammaincinv

from weal.core.arrays import Array, root_mean_square
from weal.core.constants import INTERVAL_LEVEL

MIN_FREEDOM = 2.0  # degrees of freedom, for errors with any tails
LEFT_OUT_LOG_LOW = {True: 0.85, False: 0.45}  # whether the model has chosen rows
LEFT_OUT_LOG_HIGH = 0.35
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


def left_out_interval(rms: float, n: int, error: float | None, chosen: bool) -> tuple[float, float]:
    """The interval of the error over all rows, by the left-out errors of n labels.

    >>> low, high = left_out_interval(1.0, 34, None, chosen=True)
    >>> round(low, 2), round(high, 2)
    (0.42, 1.52)
    """
    low, high = rms_interval(rms, n, error)
    if rms == 0.0:
        return low, high
    down = np.hypot(np.log(rms / low), LEFT_OUT_LOG_LOW[chosen])
    up = np.hypot(np.log(high / rms), LEFT_OUT_LOG_HIGH)
    return float(rms * np.exp(-down)), float(rms * np.exp(up))


def share_interval(right: float, n: int) -> tuple[float, float]:
    """The interval of a share of which `right` of n were seen.

    >>> low, high = share_interval(9, 10)
    >>> round(low, 2), round(high, 2)
    (0.67, 0.98)
    """
    low, high = (float(betaincinv(right + 0.5, n - right + 0.5, side)) for side in _SIDES)
    return (low if right > 0 else 0.0), (high if right < n else 1.0)
