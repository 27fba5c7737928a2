"""Experts of a pool in memory that are moved together, and the candidates in their form."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array, Index, Rows
from weal.core.paper.exact_gp import Correlated
from weal.core.protocols import Embedding, Points


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Experts that are moved together, and the pool in their form where it is kept."""

    members: NDArray[np.intp]  # positions of the experts
    which: Index  # the same as an index: a slice where that will do
    embedding: Embedding
    points: Points | None
    reference: Any | None


def index_of(members: NDArray[np.intp]) -> Index:
    """The members as a slice where they follow one another: a view instead of a copy."""
    first, last = int(members[0]), int(members[-1])
    return slice(first, last + 1) if last - first == len(members) - 1 else members


def points_of(groups: Sequence[Group], members: NDArray[np.intp], at: NDArray[np.intp]) -> Points:
    """The candidates `at` in the form of some of the experts, out of what the groups keep."""
    places = {m: (group, n) for group in groups for n, m in enumerate(group.members.tolist())}
    found = [places[m] for m in members.tolist()]
    if isinstance(groups[0].points, Correlated):
        K = [cast(Correlated, group.points).K[n][:, at] for group, n in found]
        return Correlated(groups[0].points.X[at], Rows(np.stack(K)))
    return np.stack([cast(Array, group.points)[n, at] for group, n in found])
