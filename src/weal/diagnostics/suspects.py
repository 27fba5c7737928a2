"""Labels to look at again: those that the model takes to be wrong rather than right, and why.

Whether a label is likelier wrong than right is the model's own judgement, made when its experts are
settled (`model.outlier_probability_`), and what was expected of it comes with that (`outliers`):
what is set aside there is named here. So are two labels of one batch that fit much better the other
way round (`swaps`); these still count, unless they are set aside. Each comes with what the others
make of it, the nearest labelled rows, and what would explain it:

    a factor    label times or over 10, 100 or 1000 is within FITS sds of what the others expect
    a swap      the labels are much likelier with it and another of its batch exchanged
    a unit      most labels of one call are off by about the same factor, whatever that is
"""

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from weal.diagnostics.explain import Neighbour, neighbours
from weal.diagnostics.outliers import judged
from weal.diagnostics.swaps import swapped
from weal.diagnostics.wording import number, percent, plus_minus
from weal.learner.state import State
from weal.model.model import Model

DOUBTED = 0.5  # probability of being wrong from which a label is named
FACTORS = (10.0, 100.0, 1000.0)
FITS = 2.5  # sds within which a label is as the others expect it
FEWEST, MOST_OF = 3, 0.6  # labels of one call that are off by the same factor, and their share
SAME_FACTOR = 0.15  # spread of the logarithms of their factors


@dataclass(frozen=True, slots=True)
class Suspect:
    """A label that is likely wrong and left aside, or likely in the wrong place."""

    id: Hashable
    label: float
    expected: float  # by the others
    sd: float  # of a label there
    probability: float  # of being wrong
    near: tuple[Neighbour, ...]
    factor: float | None = None  # the label over what it would have to be: 10, 0.01, ..
    swap: Hashable | None = None  # the row whose label this may be
    counted: bool = False  # in error estimates: until experts are settled anew, or where it is kept
    aside: bool = True  # likelier wrong than right, or left out meanwhile; a pair may still count

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
    """The labels that are taken to be wrong or exchanged, the most surprising first.

    `batches` says for each id with which others it came.
    """
    told = list(state.labels)
    names = [label.name for label in told]
    swaps = swapped(model, [(batches or {}).get(name) for name in names])
    p = model.outlier_probability_
    aside = ~model.fold.right | (p >= DOUBTED)
    named = sorted({*np.flatnonzero(aside).tolist(), *swaps})
    if not named:
        return []
    known = [names[n] for n in named if names[n] is not None]
    near, others = dict(zip(known, neighbours(state, model, known), strict=True)), judged(model)
    found = []
    for n in named:
        seen = (told[n].y, float(others.expected[n]), float(others.sd[n]), float(p[n]))
        one = Suspect(names[n], *seen, near.get(names[n], ()))
        swap = names[swaps[n]] if n in swaps else None
        counted = bool(model.fold.right[n])
        one = replace(one, swap=swap, counted=counted, aside=bool(aside[n]))
        found.append(replace(one, factor=_factor(one)))
    return sorted(found, key=lambda one: -one.surprise)


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


def _factor(one: Suspect) -> float | None:
    """The factor that would explain the label best, if one does."""
    ways = [way for factor in FACTORS for way in (factor, 1.0 / factor)]
    off = {way: abs(one.label / way - one.expected) / one.sd for way in ways if one.sd > 0.0}
    best = min(off, key=lambda way: off[way], default=None)
    return best if best is not None and off[best] <= FITS else None
