"""The labels of several quantities, row by row, and the front of two objectives among them.

    joint_labels        one row for each labelled candidate, in the order of their first labels
    hypervolume_series  the hypervolume of the rows so far, after each of them

Labels are in the user's units, words by their code; repeats count by their mean.
"""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from weal.core.arrays import Array
from weal.core.extensions.hypervolume import hypervolume, reference_point
from weal.learner.state import State


@dataclass(frozen=True, slots=True, eq=False)
class JointLabels:
    """The labels of n rows by quantity."""

    ids: list[Hashable]
    labels: dict[str, Array]  # (n,) each; NaN: none

    def column(self, quantity: str) -> Array:  # (n,)
        """The labels of a quantity; NaN throughout for one that nobody measured."""
        return self.labels.get(quantity, np.full(len(self.ids), np.nan))


def joint_labels(state: State) -> JointLabels:
    """The labels of a state; points outside the pool are not in it."""
    ids = state.labelled
    columns = {}
    for name in state.quantities:
        known = state.view(name).mean_labels()
        columns[name] = np.array([known.get(id, np.nan) for id in ids], dtype=np.float64)
    return JointLabels(ids, columns)


def hypervolume_series(Y: Array) -> Array:  # (n, 2) -> (n,)
    """The hypervolume after each of the rows Y, both to be high, as a share of the last one."""
    if np.isnan(Y).all(axis=0).any():
        return np.zeros(len(Y))
    reference = reference_point(Y)
    values = np.array([hypervolume(Y[: n + 1], reference) for n in range(len(Y))])
    return values / values[-1] if len(values) and values[-1] > 0.0 else values
