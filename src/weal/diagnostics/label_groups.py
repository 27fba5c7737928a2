"""Labels that have something in common: told by one person, on one day, equal in a row."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from weal.core.arrays import Array
from weal.core.extensions.outliers.prior import Mask

FEWEST_OF_GROUP, FEWEST_EQUAL = 3, 3  # labels of a group, rows of a run
SORTED = 0.8  # steps up less steps down, over all: sorted labels may have a few added later
MOST_GROUPS, MOST_RUNS = 16, 8  # that are looked at, the largest first


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Some of the labels, and what they have in common."""

    names: tuple[str, ...]  # such as "told by ann"; several where these are the same labels
    which: Mask  # (t,)


def groups_of(groupings: Mapping[str, Sequence[Hashable | None]], t: int) -> list[Group]:
    """The groups of t labels that can be compared with the rest, the largest first.

    Of two that make up all labels the smaller is taken; labels that are in one group by several
    groupings are one group with several names.
    """
    found: dict[bytes, Group] = {}
    for name, values in groupings.items():
        for value in dict.fromkeys(one for one in values if one is not None):
            which = np.array([one == value for one in values], dtype=np.bool_)
            size, key, rest = int(which.sum()), which.tobytes(), (~which).tobytes()
            if not FEWEST_OF_GROUP <= size <= t - FEWEST_OF_GROUP:
                continue
            if rest in found and 2 * size >= t:
                continue
            found.pop(rest, None)
            before = found[key].names if key in found else ()
            found[key] = Group((*before, f"{name} {value}"), which)
    return sorted(found.values(), key=lambda one: -int(one.which.sum()))[:MOST_GROUPS]


def equal_runs(X: Array, y: Array, groups: Sequence[Group]) -> list[Group]:
    """Runs of equal labels y (t,) in a row, among all labels or within a group, the longest first.

    Rows that are measured again count once. Labels that are told sorted by their values, as from a
    table, have equal ones in a row whatever the instrument does, and no runs.
    """
    every = Group((), np.ones(len(y), dtype=np.bool_))
    found: dict[bytes, Group] = {}
    for one in (every, *groups):
        at = np.flatnonzero(one.which)
        if _sorted(y[at]):
            continue
        ends = np.flatnonzero(np.diff(y[at]) != 0.0) + 1
        for rows in np.split(at, ends):
            if len(rows) >= FEWEST_EQUAL and _distinct(X[rows]) >= FEWEST_EQUAL:
                which = np.zeros(len(y), dtype=np.bool_)
                which[rows] = True
                found.setdefault(which.tobytes(), replace(one, which=which))
    return sorted(found.values(), key=lambda one: -int(one.which.sum()))[:MOST_RUNS]


def _sorted(y: Array) -> bool:
    """Whether nearly all steps from one label to the next go the same way."""
    steps = np.sign(np.diff(y))
    steps = steps[steps != 0.0]
    return len(steps) > 0 and abs(float(steps.mean())) >= SORTED


def _distinct(X: Array) -> int:
    return len(np.unique(X, axis=0))
