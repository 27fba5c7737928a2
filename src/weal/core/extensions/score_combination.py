"""Scores of several models as one: sums over quantities, and runs that may fail.

Scores of one function for Q quantities have different units. Each is scaled to the range 0 to 1
over the free candidates, and

    S(x) = sum_q  a_q u_q  scaled score of q at x

    a_q    a weight
    u_q    mean posterior sd of f_q over the pool, in units of the noise of a label
           (`uncertainty_in_noise`): what is left to learn of q. The noise counts as MIN_NOISE_SD
           label sds at least

so that a quantity that is known well enough has little weight.

A run works with probability P. Its expected score (`weigh_by_probability`):

    score is the log of an amount     score + log P
    another score                     (score - least) P, least the smallest score if it is below 0:
                                      a negative score times P would favour the rows that fail
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.paper.acquisition import Belief, gpm_var
from weal.core.paper.adaptive_acquisition import SCALINGS

MIN_NOISE_SD = 0.05  # label sds
LEAST_PROBABILITY = 1e-12  # in logs
_scale_to_range = SCALINGS["range"]


def add_scaled(shares: Sequence[float], scores: Sequence[Array], free: NDArray[np.bool_]) -> Array:
    """The sum (K, N) of the scores (K, N) of each quantity, scaled and times its share a_q u_q."""
    total = np.zeros_like(scores[0])
    for share, one in zip(shares, scores, strict=True):
        low = one.min(axis=1, where=free, initial=np.inf)
        high = one.max(axis=1, where=free, initial=-np.inf)
        total += share * _scale_to_range(one, low, high)
    return total


def uncertainty_in_noise(belief: Belief, label_noise: float = 0.0) -> float:
    """The mean sd of f over the candidates, in units of the noise of a label.

    `label_noise` is the sd of noise that every label states, in the units of `belief.mu`.
    """
    noise = float((belief.w @ belief.label_noise).mean() / belief.w.sum())
    noise_var = noise + label_noise**2
    return float(np.sqrt(gpm_var(belief)).mean() / np.sqrt(noise_var + MIN_NOISE_SD**2))


def weigh_by_probability(
    scores: Array, p: Array, free: NDArray[np.bool_], are_logs: Sequence[bool]
) -> Array:  # (K, N) -> (K, N)
    """Scores of runs that work with probabilities p (N,); `are_logs`: logs of amounts, K of them.

    >>> free = np.ones(2, dtype=bool)
    >>> weigh_by_probability(np.array([[-1.0, -1.0]]), np.array([0.2, 0.9]), free, [True]).round(1)
    array([[-2.6, -1.1]])
    """
    found = np.empty_like(scores)
    for row, given, is_log in zip(found, scores, are_logs, strict=True):
        if is_log:
            row[:] = given + np.log(np.maximum(p, LEAST_PROBABILITY))
        else:
            least = float(given.min(where=free & np.isfinite(given), initial=0.0))
            row[:] = (given - least) * p
    return found
