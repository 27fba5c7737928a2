"""Weights over K acquisition functions, adapted as labels come: Algorithm 2 of the paper.

Each function k pays a loss eps_k (`validation`), and its weight follows

    omega_k <- omega_k exp(-eta eps_k), normalised                        [1, eq:AF_weight]

The next point maximises the weighted sum of their scores [1, eq: EGPmultiacq], each first brought
to [0, 1] over the free candidates. The paper divides by the maximum, which turns the order around
where a score is negative, as the entropies are: we shift and scale by default.
"""

from collections.abc import Callable

import numpy as np

from weal.core.arrays import Array
from weal.core.ensemble import normalise


def shift_and_scale(scores: Array, low: Array, high: Array) -> Array:
    """Scores (K, N) to [0, 1], for their least and largest (K,); a constant score to 0."""
    low, span = low[:, None], (high - low)[:, None]
    return np.where(span > 0.0, (scores - low) / np.where(span > 0.0, span, 1.0), 0.0)


def divide_by_maximum(scores: Array, low: Array, high: Array) -> Array:
    """Scores (K, N) divided by their largest (K,), as the paper has it [1, set:maximum]."""
    return scores / np.where(high == 0.0, 1.0, high)[:, None]


SCALINGS: dict[str, Callable[[Array, Array, Array], Array]] = {
    "range": shift_and_scale,
    "maximum": divide_by_maximum,
}


def reweigh(log_omega: Array, errors: Array, eta: float) -> Array:
    """Log weights (K,) after losses (K,) [1, eq:AF_weight]."""
    return normalise(log_omega - eta * errors)
