"""Labels that were exchanged: how much likelier all labels are with two of them put back.

With A = C^-1 over the labels believed (`outliers.Stand`), exchanging labels i and j, d = y_j - y_i,
changes the square that an expert has of them, in closed form,

    y'A y  +=  2 d ((A y)_i - (A y)_j) + d^2 (A_ii + A_jj - 2 A_ij)

and so its evidence, magnitude integrated out; the mean over experts, by their posterior, is how
much likelier the two labels are exchanged than as told, given all others. Of labels that are
doubted, both stories are told in full: they were exchanged, or they tell nothing (`Slab`).

A label is as likely exchanged as wrong before anything is known of it, with any other label alike:
the log odds of a pair are the gain, with log(p / (1 - p)) - log(t - 1).
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from weal.core.arrays import Array
from weal.core.magnitude import LEAST_LEFT
from weal.core.outlier_search import Stand
from weal.core.tuned import PRIOR_WRONG

Pairs = NDArray[np.intp]  # (P, 2)


def gains(now: Stand, slab: Array, pairs: Pairs) -> Array:  # (P,)
    """Nats by which labels are likelier with each of the pairs exchanged than as they stand.

    `slab` (t,) is what a label counts as while it is doubted.
    """
    found, whole = np.empty(len(pairs)), now.log_z()
    off = [tuple(one for one in pair if now.wrong[one]) for pair in pairs.tolist()]
    for doubted in dict.fromkeys(off):
        believed = now
        for i in doubted:
            believed = believed.turned(i)
        mine = np.array([one == doubted for one in off])
        more = believed.log_z() - whole - float(slab[list(doubted)].sum()) if doubted else 0.0
        found[mine] = exchanged(believed, pairs[mine]) + more
    return found


def exchanged(now: Stand, pairs: Pairs) -> Array:  # (P,)
    """The same for pairs that are believed."""
    log_z, scale, Ay = now.weighed()
    i, j = pairs.T
    d = now.y[j] - now.y[i]
    A_ii = np.einsum("mtt->mt", now.A)
    more = 2.0 * d * (Ay[:, i] - Ay[:, j]) + d**2 * (A_ii[:, i] + A_ii[:, j] - 2.0 * now.A[:, i, j])
    b = scale.b[:, None]
    log_ratio = np.log(np.maximum(1.0 + 0.5 * more / b, LEAST_LEFT))
    return np.asarray(
        logsumexp(log_z[:, None] - scale.a[:, None] * log_ratio, axis=0) - logsumexp(log_z)
    )


def log_odds(now: Stand, sure: Array) -> Array:  # (t,)
    """Log odds of each label being exchanged with the likeliest other; of those believed, that are
    not sure (t,).
    """
    t, free = len(now.y), np.flatnonzero(~now.wrong & (sure == 0.0))
    found = np.full(t, -np.inf)
    if len(free) < 2:
        return found
    i, j = (free[n] for n in np.triu_indices(len(free), 1))
    gain = exchanged(now, np.column_stack([i, j]))
    np.maximum.at(found, i, gain)
    np.maximum.at(found, j, gain)
    return np.asarray(found + np.log(PRIOR_WRONG / (1.0 - PRIOR_WRONG)) - np.log(t - 1.0))
