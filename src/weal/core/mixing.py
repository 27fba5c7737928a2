"""Weights over K acquisition functions, adapted as labels come: Algorithm 2 of the paper.

Each function k pays a loss eps_k (`validation`), and its weight follows

    omega_k <- omega_k exp(-eta eps_k), normalised                        [1, eq:AF_weight]

The next point maximises the weighted sum of their scores [1, eq: EGPmultiacq], each first brought
to [0, 1] over the candidates. The paper divides by the maximum, which turns the order around
where a score is negative, as the entropies are: we shift and scale by default.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.ensemble import normalise

Free = NDArray[np.bool_]


def shift_and_scale(scores: Array, free: Free) -> Array:
    """Scores (K, N) to [0, 1] over the free candidates; a constant score to 0."""
    inside = scores[:, free]
    low = inside.min(axis=1, keepdims=True)
    span = inside.max(axis=1, keepdims=True) - low
    return np.where(span > 0.0, (scores - low) / np.where(span > 0.0, span, 1.0), 0.0)


def divide_by_maximum(scores: Array, free: Free) -> Array:
    """Scores (K, N) divided by their maximum over the free candidates, as the paper has it."""
    top = scores[:, free].max(axis=1, keepdims=True)
    return scores / np.where(top == 0.0, 1.0, top)


SCALINGS: dict[str, Callable[[Array, Free], Array]] = {
    "range": shift_and_scale,
    "maximum": divide_by_maximum,
}


def reweigh(log_omega: Array, errors: Array, eta: float) -> Array:
    """Log weights (K,) after losses (K,) [1, eq:AF_weight]."""
    return normalise(log_omega - eta * errors)
