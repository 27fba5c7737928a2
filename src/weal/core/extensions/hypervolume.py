"""Two objectives: Pareto rows, hypervolume, and its expected improvement in closed form.

Both objectives are maximised (an objective to minimise has its sign changed before). A row
dominates another one if it is at least as high in both objectives and higher in one; the rows that
none dominates are the Pareto front. The hypervolume is the area that the front dominates above a
reference point r. With the front (a_1, b_1), ..., (a_n, b_n), a ascending and b descending, the
strip from x_i to x_(i+1) has the height h_i:

    x_0 = r_1, x_i = a_i, x_(n+1) = inf        h_i = b_(i+1), h_n = r_2

A new row adds sum_i [(f_1 - x_i)+ - (f_1 - x_(i+1))+] (f_2 - h_i)+. The models of the two are
independent given the labels, so that with psi(c) = E(f - c)+ of each mixture

    EHVI = sum_i [psi_1(x_i) - psi_1(x_(i+1))] psi_2(h_i)

It is exact, also for mixtures of Student-t, and is computed in logs: rows far below the front still
differ.
    [1] Emmerich, Deutz, Klinkenberg: Hypervolume-based expected improvement, 2011

Areas are in the units that the experts see: standardised, and warped where labels have long tails.
A monotone warp leaves the front as it is, and weighs the gaps in it differently.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.extensions.goal_acquisitions import log_expected_improvement
from weal.core.extensions.level_probability import (
    log_probability_above,
    log_probability_between,
    negated,
)
from weal.core.paper.acquisition import Belief

REFERENCE_MARGIN = 0.1  # of the range of the labels, below the lowest


def pareto_rows(Y: Array) -> NDArray[np.intp]:  # (n, 2) -> (p,)
    """The rows that no other dominates, by the first objective ascending; of equal rows the first.

    Rows with NaN do not count.

    >>> pareto_rows(np.array([[1.0, 3.0], [2.0, 2.0], [1.5, 1.5], [2.0, 2.0]])).tolist()
    [0, 1]
    """
    known = np.flatnonzero(~np.isnan(Y).any(axis=1))
    order = known[np.lexsort((known, -Y[known, 1], -Y[known, 0]))]  # the first objective first
    second = Y[order, 1]
    before = np.concatenate([[-np.inf], np.maximum.accumulate(second)[:-1]])
    return np.asarray(order[second > before][::-1], dtype=np.intp)


def reference_point(Y: Array) -> Array:  # (n, 2) -> (2,)
    """A point below all labels Y by REFERENCE_MARGIN of their range; NaN counts for nothing."""
    low, high = np.nanmin(Y, axis=0), np.nanmax(Y, axis=0)
    width = np.where(high > low, high - low, 1.0)
    return np.asarray(low - REFERENCE_MARGIN * width)


def hypervolume(Y: Array, reference: Array) -> float:
    """The area that rows Y (n, 2) dominate above the reference point (2,).

    >>> hypervolume(np.array([[1.0, 3.0], [2.0, 2.0]]), np.zeros(2))
    5.0
    """
    x, h = _strips(Y, reference)
    return float(np.diff(x) @ (h[:-1] - reference[1]))


def _strips(Y: Array, reference: Array) -> tuple[Array, Array]:  # (p + 1,), (p + 1,)
    """Left ends x_i and heights h_i of the strips above the reference point."""
    above = Y[(reference < Y).all(axis=1)]
    front = above[pareto_rows(above)]
    return np.append(reference[0], front[:, 0]), np.append(front[:, 1], reference[1])


def signed(belief: Belief, lowest: bool) -> Belief:
    """The belief about an objective to maximise."""
    return negated(belief) if lowest else belief


def signed_labels(Y: Array, lowest: Sequence[bool]) -> Array:  # (n, 2) -> (n, 2)
    """Labels of two objectives, both to maximise; `lowest`: which of them to minimise."""
    return Y * np.where(lowest, -1.0, 1.0)


def log_hypervolume_improvement(
    first: Belief, second: Belief, Y: Array, reference: Array
) -> Array:  # (N,)
    """log EHVI of each row over the front of the rows Y (n, 2), in units of the beliefs."""
    x, h = _strips(Y, reference)
    total = np.full(first.mu.shape[1], -np.inf)
    log_psi = log_expected_improvement(first, float(x[0]))
    for i in range(len(x)):
        right = log_expected_improvement(first, float(x[i + 1])) if i + 1 < len(x) else None
        width = log_psi if right is None else log_psi + _log_rest(right - log_psi)
        total = np.logaddexp(total, width + log_expected_improvement(second, float(h[i])))
        log_psi = log_psi if right is None else right
    return total


def log_beyond_front(first: Belief, second: Belief, Y: Array) -> Array:  # (N,)
    """log P(no row of Y (n, 2) is at least as high in both objectives), in units of the beliefs."""
    x, h = _strips(Y, np.full(2, -np.inf))
    total = np.full(first.mu.shape[1], -np.inf)
    for left, right, height in zip(x, np.append(x[1:], np.inf), h, strict=True):
        inside = log_probability_between(first, float(left), float(right))
        total = np.logaddexp(total, inside + log_probability_above(second, float(height)))
    return np.asarray(np.minimum(total, 0.0))


def _log_rest(log_ratio: Array) -> Array:
    """log(1 - ratio), for log ratios of at most 0 up to rounding."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(-np.expm1(np.minimum(log_ratio, 0.0))))
