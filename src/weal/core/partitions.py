"""Regions of the inputs that divide labels much as a given group does.

A group of labels that differs from the rest may be one that was measured elsewhere: then a region
of the inputs explains the difference as well, and nothing can be said of the group. The regions:

    one input above a threshold    of the RIVAL_INPUTS that differ most between group and rest, the
                                   threshold that agrees best with the group; of STEP_INPUTS of
                                   them quantiles too, for the function may jump elsewhere
    a half-space                   by ridge regression of the group on all inputs
    the surroundings               labels most of whose NEAREST others are of the group
"""

from collections.abc import Iterator

import numpy as np

from weal.core.arrays import Array
from weal.core.distances import squared_distances
from weal.core.slab import Mask

RIVAL_INPUTS, STEP_INPUTS = 10, 3
QUANTILES = (0.2, 0.35, 0.5, 0.65, 0.8)
NEAREST = 3
RIDGE = 0.1  # of the ridge regression, in units of the variances of the inputs
FEWEST = 2  # labels of a region, and outside of it


def regions(X: Array, group: Mask) -> list[Mask]:
    """Regions of the inputs X (t, d) that are most like a group (t,); none is too small."""
    found = [region for region in _every(X, group) if FEWEST <= region.sum() <= len(X) - FEWEST]
    return list({region.tobytes(): region for region in found}.values())


def _every(X: Array, group: Mask) -> Iterator[Mask]:
    sd = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(sd > 0.0, sd, 1.0)
    centred = group - group.mean()
    alike = np.abs(centred @ Z)
    order = np.argsort(-alike, kind="stable").tolist()
    for j in order[:RIVAL_INPUTS]:
        yield _above(Z[:, j], group)
    for j in order[:STEP_INPUTS]:
        yield from (Z[:, j] > threshold for threshold in np.quantile(Z[:, j], QUANTILES).tolist())
    # Ridge regression by its dual form: t is small, d may be thousands.
    weights = np.linalg.solve(Z @ Z.T + RIDGE * len(Z) * np.eye(len(Z)), centred)
    yield _above(Z @ (Z.T @ weights), group)
    r2 = squared_distances(Z, Z)
    np.fill_diagonal(r2, np.inf)
    near = np.argsort(r2, axis=1, kind="stable")[:, :NEAREST]
    yield group[near].mean(axis=1) > 0.5


def _above(x: Array, group: Mask) -> Mask:
    """Where x (t,) is at least the threshold that agrees best with the group."""
    values = np.unique(x)
    if len(values) < 2:
        return np.zeros(len(x), dtype=np.bool_)
    inside = x >= values[1:, None]  # (thresholds, t)
    centred = group - group.mean()
    p = inside.mean(axis=1)
    alike = np.abs(inside @ centred) / np.sqrt(p * (1.0 - p))
    return np.asarray(inside[int(alike.argmax())])
