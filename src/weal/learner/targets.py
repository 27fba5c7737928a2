"""Which points `mvr` wants to be sure of: some of the pool, or of the reference that was given.

Of the pool it is the TARGETS candidates with the least hash of (seed, id), labelled or not, so that
the order of the pool decides nothing, and a candidate that comes or goes changes one target at the
most. What was added to the pool counts like the rest. Of a reference of the user's own it is as
many by the hash of their number.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.constants import TARGETS
from weal.core.tie_breaking import by_hash
from weal.learner.candidates import Candidates
from weal.learner.sharded.candidates import Pooled, ShardedCandidates
from weal.learner.state import State


@dataclass(frozen=True, slots=True, eq=False)
class Aim:
    """The targets of a state, and its candidates by hash."""

    candidates: Pooled
    reference: Array | None
    order: NDArray[np.intp] | None  # (U,)  positions of candidates by the hash of (seed, id)
    X: Array  # (R, d)  in the user's units

    def serves(self, state: State) -> bool:
        """Whether these are the targets of that state."""
        return self.candidates is state.candidates and self.reference is state.reference


def aim_of(state: State, last: Aim | None = None) -> Aim:
    """The targets of a state; `last` are those of an earlier one."""
    candidates, reference, seed = state.candidates, state.reference, state.settings.seed
    if isinstance(candidates, ShardedCandidates):
        X = _of_shards(candidates, reference, seed)
        if last is not None and np.array_equal(X, last.X):
            X = last.X
        return Aim(candidates, reference, None, X)
    same = last is not None and last.candidates.ids is candidates.ids
    order = last.order if last is not None and same else None
    order = by_hash(seed, candidates.ids) if order is None else order
    if reference is None or _is_pool(reference, candidates):
        X = candidates.X[order[candidates.present[order]][:TARGETS]]
    else:
        X = reference[by_hash(seed, range(len(reference)))[:TARGETS]]
    if last is not None and np.array_equal(X, last.X):
        X = last.X  # what is kept for them serves on
    return Aim(candidates, reference, order, X)


def _of_shards(candidates: ShardedCandidates, reference: Array | None, seed: int) -> Array:
    if reference is not None:
        return reference[by_hash(seed, range(len(reference)))[:TARGETS]]
    return candidates.X[candidates.least(seed, TARGETS, candidates.gone)]


def _is_pool(reference: Array, candidates: Candidates) -> bool:
    """Whether the reference is what the pool was before candidates were added."""
    N = len(reference)
    return len(candidates) >= N and np.array_equal(reference, candidates.X[:N])
