"""Labels that were exchanged: how much likelier all labels are with two of them put back.

With A = C^-1 over the labels believed (`outliers.Stand`), exchanging labels i and j, d = y_j - y_i,
changes the square that an expert has of them, in closed form,

    y'A y  +=  2 d ((A y)_i - (A y)_j) + d^2 (A_ii + A_jj - 2 A_ij)

and so its evidence, magnitude integrated out; the mean over experts, by their posterior, is how
much likelier the two labels are exchanged than as told, given all others. Of labels that are
doubted, both stories are told in full: they were exchanged, or they tell nothing (`Slab`).
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from weal.core.arrays import Array
from weal.core.magnitude import LEAST_LEFT
from weal.core.outlier_search import Stand

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
