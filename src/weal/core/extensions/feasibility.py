"""Search under constraints: the probability that a row is feasible, and expected improvement.

A row is feasible where every constraint holds. The models of the quantities are independent given
the labels, so that

    log P(feasible_i) = sum_c log P(constraint c holds in row i)

A bound low < q < high of a number has the probability of the mixture of q, each expert with its
normal or Student-t (`level_probability`); the bound goes through the scaling and the warp of the
labels, which changes no probability. The probability that a pass/fail quantity passes, or that a
class is one of some, is given. With y* the best label of the feasible rows that are known,

    score_i = log E(f_i - y*)+ + log P(feasible_i)        where a feasible row is known
    score_i = log P(feasible_i)                           where none is

    [1] Schonlau, Welch, Jones: Global versus local search in constrained optimization of computer
        models, 1998
    [2] Gardner et al.: Bayesian optimization with inequality constraints, 2014

The k best feasible rows: row i is one of them with the probability P(feasible_i) P(f_i > tau_k),
and tau_k is the level where these sum to k. Where P(feasible_i) sums to less than k, all feasible
rows are.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.extensions.goal_acquisitions import log_expected_improvement
from weal.core.extensions.level_probability import (
    best_level,
    log_probability_above,
    log_probability_between,
    negated,
)
from weal.core.paper.acquisition import Belief


def labels_in_model_units(belief: Belief, y: Array) -> Array:  # (n,) -> (n,)
    """Labels in the user's units, converted to those of `belief.mu`."""
    for unit in belief.units:
        y = unit.labels(y)
    return y


def log_within(belief: Belief, low: float, high: float) -> Array:  # (N,)
    """log P(low < f_i < high), for bounds in the user's units, either of which may be infinite."""
    ends = [end if np.isinf(end) else belief.scaled(end) for end in (low, high)]
    if ends[0] == -np.inf and ends[1] == np.inf:
        return np.zeros(belief.mu.shape[1])
    if ends[1] == np.inf:
        return log_probability_above(belief, ends[0])
    if ends[0] == -np.inf:
        return log_probability_above(negated(belief), -ends[1])
    return log_probability_between(belief, ends[0], ends[1])


def log_all_hold(log_p: Iterable[Array], N: int) -> Array:  # (N,)
    """log P(feasible_i), for the log probabilities (N,) of the constraints."""
    return np.asarray(sum(log_p, start=np.zeros(N)))


def best_feasible(y: Array, feasible: NDArray[np.bool_], lowest: bool) -> int | None:
    """The feasible row with the best label, of labels y (n,); NaN: not measured. None: no row."""
    can = feasible & ~np.isnan(y)
    if not can.any():
        return None
    return int(np.argmax(np.where(can, -y if lowest else y, -np.inf)))


def log_feasible_improvement(
    belief: Belief, best: float | None, lowest: bool, log_feasible: Array
) -> Array:  # (N,)
    """The score of the rows; `best` is the best feasible label in the units of `belief.mu`."""
    if best is None:
        return log_feasible
    if lowest:
        return log_expected_improvement(negated(belief), -best) + log_feasible
    return log_expected_improvement(belief, best) + log_feasible


def log_best_feasible(belief: Belief, k: float, lowest: bool, log_feasible: Array) -> Array:  # (N,)
    """The log probability of each row of being among the k best feasible rows."""
    signed = negated(belief) if lowest else belief
    return best_level(signed, k, np.exp(log_feasible)).log_p + log_feasible
