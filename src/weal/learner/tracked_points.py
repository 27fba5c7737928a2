"""Points that are tracked besides the candidates: targets of `mvr`, and validation labels.

The targets are the N_TARGET_POINTS present candidates with the least hash of (seed, id), labelled
or not: the order of the pool does not matter, and a candidate that comes or goes changes one target
at most. With a user's reference, the targets are as many of its points, by the hash of their
number.

Validation labels evaluate pseudo labels (`core.paper.adaptive_acquisition`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.constants import N_TARGET_POINTS
from weal.core.hashing import least_hashes
from weal.core.paper.adaptive_acquisition import ValidationLabels
from weal.core.tie_breaking import by_hash
from weal.learner.candidates import Candidates
from weal.learner.state import State
from weal.model.model import Model
from weal.model.scaled_data import check_distance


@dataclass(frozen=True, slots=True, eq=False)
class TargetPoints:
    """The targets of a state, and its candidates by hash."""

    candidates: Candidates
    reference: Array | None
    order: NDArray[np.intp] | None  # (U,)  positions of candidates by the hash of (seed, id)
    X: Array  # (R, d)  in the user's units

    def serves(self, state: State) -> bool:
        """Whether these are the targets of that state."""
        return self.candidates is state.candidates and self.reference is state.reference


def target_points(state: State, last: TargetPoints | None = None) -> TargetPoints:
    """The targets of a state; `last` are those of an earlier one."""
    candidates, reference, seed = state.candidates, state.reference, state.settings.seed
    if reference is None or candidates.starts_with(reference):
        X = candidates.target_inputs(seed, N_TARGET_POINTS)
    else:
        X = reference[by_hash(seed, range(len(reference)))[:N_TARGET_POINTS]]
    if last is not None and np.array_equal(X, last.X):
        X = last.X  # the covariances that are cached for them stay valid
    return TargetPoints(candidates, reference, candidates.hash_order(seed), X)


# labels by which pseudo labels are evaluated; more cost t^2 each, with the same result
MAX_VALIDATION_LABELS = 500


def sample_labels(X: Array, y: Array, noise_var: Array) -> tuple[Array, Array, Array]:
    """The labels, or some of many; which ones does not depend on their order."""
    if len(y) <= MAX_VALIDATION_LABELS:
        return X, y, noise_var
    rows = least_hashes(np.column_stack([X, y, noise_var]), MAX_VALIDATION_LABELS)
    return X[rows], y[rows], noise_var[rows]


def validation_labels(model: Model, X: Array, y: Array, noise_var: Array) -> ValidationLabels:
    """Points X (V, d) with labels y (V,), and the belief on them.

    Their noise ratios are those of the experts and of the stated noise, with remainders added.
    """
    ens, scale, warp = model.ensemble_, model.scaling, model.trained.warp
    points = model.points(X)
    mu, v = ens.experts.predict(points)
    scaled = check_distance("y of validation", scale.labels(y))
    r = ens.experts.remainders(points)  # counts as noise of the labels
    known = ens.known_noise(scale.inputs(X), warp.variances(noise_var, scaled))
    lam = ens.ratios(known)
    return ValidationLabels(points, mu, v - r, warp.labels(scaled), lam + r)
