"""Labels whose decimal point slipped: right but for a factor of 10, 100 or 1000.

With the zero of the labels at o, what was meant by label y_i would have been

    v_k = o + (y_i - o) / 10^k        k = -3, -2, -1, 1, 2, 3

and where all others expect that, they tell so: density 10^-k p(v_k | others), evenly over k. That
says far more than that the label may be anything (`slab`): in the middle of the labels it finds a
label that is off by an sd, and a far one it tells from the tail of skewed labels.

Where the others expect what is close to zero, any label can be made small enough: a peak above a
plain of zeros is no slip. So zero itself has to be out of the question: what counts is

    10^-k (p(v_k | others) - e^ZERO_OUT p(o | others)),  or nothing where that is below 0
"""

import numpy as np
from scipy.special import logit, logsumexp

from weal.core.arrays import Array
from weal.core.outlier_search import Prediction
from weal.core.tuned import PRIOR_SLIPPED, SLIPS, ZERO_OUT

LOG_10, LOG_SLIPPED = float(np.log(10.0)), float(logit(PRIOR_SLIPPED))


def log_prior(expected: Prediction, y: Array, zero: float) -> Array:  # (N,)
    """Log density of labels y (N,) whose decimal points slipped, by what others expect, times the
    odds of having done so.

    `zero` is where the zero of the labels is; nan: nobody knows, and none has slipped.
    """
    if not np.isfinite(zero):
        return np.full(len(y), -np.inf)
    size, found = y - zero, []
    nothing = expected.log_density(-size) + ZERO_OUT
    for k in SLIPS:
        log_p = expected.log_density(size * (10.0**-k - 1.0))
        with np.errstate(divide="ignore"):
            more = np.log(-np.expm1(np.minimum(nothing - log_p, 0.0)))
        found.append(log_p + more - k * LOG_10)
    return np.asarray(logsumexp(found, axis=0) + LOG_SLIPPED - np.log(len(SLIPS)))
