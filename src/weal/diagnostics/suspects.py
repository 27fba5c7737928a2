"""Labels to look at again: those that the model takes to be wrong rather than right, and why.

Whether a label is likelier wrong than right is the model's own judgement, made when its experts are
settled (`model.outlier_probability_`): what is set aside there is what is named here. Each comes
with what the others make of it, the nearest labelled rows, and what would explain it:

    a factor    label times or over 10, 100 or 1000 is within FITS sds of what the others expect
    a swap      another label of the same batch fits here, and this one there
    a unit      most labels of one call are off by about the same factor, whatever that is

The sd is that of a label: half the width of its 90 % interval over that of a normal.
"""

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from weal.core.arrays import Array
from weal.diagnostics.coverage import LEVEL
from weal.diagnostics.explain import Neighbour, neighbours
from weal.diagnostics.leave_one_out import left_out
from weal.diagnostics.wording import number, percent, plus_minus
from weal.learner.state import State
from weal.model.model import Model

DOUBTED = 0.5  # probability of being wrong from which a label is named
FACTORS = (10.0, 100.0, 1000.0)
FITS = 2.5  # sds within which a label is as the others expect it
OFF = 3.0  # sds beyond which it is not
FEWEST, MOST_OF = 3, 0.6  # labels of one call that are off by the same factor, and their share
SAME_FACTOR = 0.15  # spread of the logarithms of their factors
_NORMAL = 1.6449  # half width of the interval at LEVEL, in sds of a normal


@dataclass(frozen=True, slots=True)
class Suspect:
    """A label that is likelier wrong than right."""

    id: Hashable
    label: float
    expected: float  # by the others
    sd: float  # of a label there
    probability: float  # of being wrong
    near: tuple[Neighbour, ...]
    factor: float | None = None  # the label over what it would have to be: 10, 0.01, ..
    swap: Hashable | None = None  # the row whose label this may be

    @property
    def surprise(self) -> float:
        """How far it is from what the others expect, in sds."""
        return abs(self.label - self.expected) / self.sd if self.sd > 0.0 else np.inf

    @property
    def words(self) -> str:
        """All of it in one line."""
        made = plus_minus(self.expected, self.sd)
        said = f"{self.id}: {number(self.label, 6)}, but the others make it {made}"
        near = [f"{one.id} {number(one.label)}" for one in self.near]
        said += f"; nearest: {', '.join(near)}" if near else ""
        if self.swap is not None:
            return f"{said}; swapped with {self.swap}?"
        if self.factor is not None:
            large = self.factor > 1.0
            times = number(self.factor if large else 1.0 / self.factor)
            return f"{said}; {times} times too {'large' if large else 'small'}?"
        return f"{said}; wrong with {percent(self.probability)} probability"


@dataclass(frozen=True, slots=True)
class OtherUnit:
    """Labels of one call that look as if they were in another unit."""

    batch: Hashable
    ids: tuple[Hashable, ...]
    factor: float  # labels over what was expected

    @property
    def words(self) -> str:
        """All of it in one line."""
        large = self.factor > 1.0
        times = number(self.factor if large else 1.0 / self.factor, 2)
        way = "large" if large else "small"
        told = re.sub(r"\.[0-9]+", "", str(self.batch))  # of its time, the seconds will do
        return f"{len(self.ids)} labels told {told} are about {times} times too {way}: a unit?"


def suspects(
    state: State, model: Model, batches: Mapping[Hashable, Hashable] | None = None
) -> list[Suspect]:
    """The labels that the model takes to be wrong, the most surprising first.

    `batches` says for each id with which others it came.
    """
    p = model.outlier_probability_
    doubted = np.flatnonzero(p >= DOUBTED).tolist()
    if not doubted:
        return []
    told = list(state.labels)
    mean, sd = _expected(state, model, p)
    names = [told[n].name for n in doubted]
    near = neighbours(state, model, [name for name in names if name is not None])
    known = dict(zip([name for name in names if name is not None], near, strict=True))
    found = [
        Suspect(name, told[n].y, float(mean[n]), float(sd[n]), float(p[n]), known.get(name, ()))
        for n, name in zip(doubted, names, strict=True)
    ]
    y = np.array([label.y for label in told])
    every = [label.name for label in told]
    whose = [(batches or {}).get(name) for name in every]
    swaps = [_swap(n, y, mean, sd, whose) for n in doubted]
    explained = [
        replace(one, factor=_factor(one), swap=None if other is None else every[other])
        for one, other in zip(found, swaps, strict=True)
    ]
    return sorted(explained, key=lambda one: -one.surprise)


def other_units(found: Sequence[Suspect], calls: Mapping[Hashable, Hashable]) -> list[OtherUnit]:
    """Calls of `tell` most of whose labels are off by one factor; `calls` by id."""
    units = []
    for call in dict.fromkeys(calls.get(one.id) for one in found):
        off = [one for one in found if calls.get(one.id) == call and one.expected * one.label > 0.0]
        of = sum(other == call for other in calls.values())
        if call is None or len(off) < max(FEWEST, MOST_OF * of):
            continue
        logs = np.log([one.label / one.expected for one in off])
        middle = float(np.median(logs))
        if np.median(np.abs(logs - middle)) <= SAME_FACTOR * max(abs(middle), 1.0):
            units.append(OtherUnit(call, tuple(one.id for one in off), float(np.exp(middle))))
    return units


def _expected(state: State, model: Model, p: Array) -> tuple[Array, Array]:
    """What the others expect of each label (n,), and the sd of a label there."""
    fold, scale, right = model.fold, model.scaling, model.fold.right
    alone = left_out(fold, scale, LEVEL)
    mean, half = np.empty(len(p)), np.empty(len(p))
    mean[right], half[right] = alone.mean, 0.5 * (alone.high - alone.low)
    aside = (p >= DOUBTED) | ~right
    X = state.labels.arrays()[0][aside]
    low, high = model.predict_interval(X, LEVEL)
    mean[aside], half[aside] = model.predict(X), 0.5 * (high - low)
    return mean, half / _NORMAL


def _factor(one: Suspect) -> float | None:
    """The factor that would explain the label best, if one does."""
    ways = [way for factor in FACTORS for way in (factor, 1.0 / factor)]
    off = {way: abs(one.label / way - one.expected) / one.sd for way in ways if one.sd > 0.0}
    best = min(off, key=lambda way: off[way], default=None)
    return best if best is not None and off[best] <= FITS else None


def _swap(n: int, y: Array, mean: Array, sd: Array, whose: Sequence[Hashable | None]) -> int | None:
    """The label of the same batch that fits here while this one fits there."""
    with np.errstate(divide="ignore", invalid="ignore"):
        here, there = np.abs(y - mean[n]) / sd[n], np.abs(y[n] - mean) / sd
        off = np.abs(y - mean) / sd > OFF
    same = np.array([one is not None and one == whose[n] for one in whose])
    fits = same & (here <= FITS) & (there <= FITS) & off
    fits[n] = False
    return int(np.argmin(np.where(fits, here + there, np.inf))) if fits.any() else None
