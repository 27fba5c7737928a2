"""Explain why a candidate was asked: prediction, acquisition function, and labels nearby.

Prediction, scores and shares are those at the time of the question (`learner.events`). Neighbours
are the rows labelled now, by the distance of the present model (`effects`).
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from weal import text
from weal.core.arrays import Array
from weal.diagnostics import effects
from weal.learner.label_entry import told_labels
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.state import QuantityView, State
from weal.model.model import Model
from weal.quantities.protocol import Quantity

N_NEIGHBOURS = 3
USUAL_SAMPLE = 1000  # candidates for medians, at most
UNSURE_SD_RATIO = 1.25  # times the usual sd from which the model is unsure


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A labelled candidate nearby."""

    id: Hashable
    label: float  # mean of its labels, if there are several
    distance: float  # 1: the usual distance of a candidate from the nearest label
    words: str


def sentences(
    quantity: Quantity, how: str, mean: float | None, sd: float | None, shares: Mapping[str, float],
    near: Sequence[Neighbour], usual: float | None, because: str | None = None,
) -> list[str]:  # fmt: skip
    """Sentences that explain why a candidate was asked.

    `how` is "check" (drawn at random), "by hand" (asked for by name), "start" (before the first
    model), "repeat" or "doubted" (it has a label, and is measured again) or "chosen", by functions
    with these shares; mean and sd are the prediction at that time,
    `usual` the median sd of candidates; `because` is the reason of the goal, if it has one.
    """
    known = [] if mean is None or sd is None else [_expectation_sentence(quantity, mean, sd, usual)]
    around = [_around(quantity, near)] if near else []
    if how == "check":
        return [text.CHECK, *known, *around]
    if how == "by hand":
        return [text.BY_HAND, *known, *around]
    if how == "start":
        return [text.START, *around]
    return [*known, *around, f"Chosen because {because or text.reasons(shares)}."]


def brief(
    quantity: Quantity, how: str, near: Sequence[Neighbour], sd: float | None, usual: float | None,
    because: str | None = None,
) -> str:  # fmt: skip
    """One short sentence that explains why a candidate was asked; `because` as for `sentences`.

    >>> from weal.quantities.number import Number
    >>> brief(Number("hardness"), "chosen", [Neighbour("A-7", 302.0, 0.4, "close")], 30.0, 10.0)
    '3 times the usual uncertainty; closest measured: A-7 with 302 (close).'
    """
    if how == "check":
        first = text.CHECK.rstrip(".")
    elif because:
        first = because
    elif how == "start" or sd is None or not usual:
        first = text.START.rstrip(".")
    else:
        first = f"{text.times(sd / usual)} uncertainty"
    if not near:
        return f"{first[0].upper()}{first[1:]}."
    label = quantity.format(near[0].label)
    said = f"{first}; closest measured: {near[0].id} with {label} ({near[0].words})."
    return said[0].upper() + said[1:]


def _expectation_sentence(quantity: Quantity, mean: float, sd: float, usual: float | None) -> str:
    expected = quantity.format_prediction(mean, sd)
    if not usual:
        return f"Expected {expected}."
    ratio = sd / usual
    unsure = "The model is uncertain here: " if ratio >= UNSURE_SD_RATIO else "Expected "
    return f"{unsure}{expected}, {text.times(ratio)} uncertainty."


def _around(quantity: Quantity, near: Sequence[Neighbour]) -> str:
    first = near[0]
    label = quantity.format(first.label)
    if first.distance >= text.FAR_DISTANCE_RATIO:
        return f"No measured row is near (closest: {first.id} with {label}, {first.words})."
    near = [one for one in near[1:] if one.distance < text.FAR_DISTANCE_RATIO]
    more = "".join(f"; {one.id}, {quantity.format(one.label)}" for one in near)
    return f"Closest measured: {first.id}, {label} ({first.words}){more}."


def neighbours(
    view: QuantityView, model: Model | None, ids: Sequence[Hashable]
) -> list[tuple[Neighbour, ...]]:
    """The nearest labelled candidates of each of these ids."""
    labels = view.mean_labels()
    if not labels or not ids:
        return [() for _ in ids]
    names, (_, pool) = list(labels), view.candidates.sample(view.settings.seed)
    known, some = view.candidates.inputs(names), sample(view.state, USUAL_SAMPLE)
    usual = np.median(effects.distances(model, pool, some, known).min(axis=1))
    D = effects.distances(model, pool, view.candidates.inputs(ids), known) / (float(usual) or 1.0)
    return [_nearest(row, names, labels, own) for row, own in zip(D, ids, strict=True)]


def quantity_neighbours(
    state: State, beliefs: PosteriorCache, quantity: Quantity, ids: Sequence[Hashable]
) -> list[tuple[Neighbour, ...]]:
    """The nearest rows with a label of the quantity, for each of these ids."""
    view = state.view(quantity.parts()[0].name)
    found = neighbours(view, beliefs.model(view) if view.has_model else None, ids)
    if quantity.parts()[0] == quantity:
        return found
    told = told_labels(state, quantity).by_name
    return [tuple(replace(one, label=told[one.id][-1].y) for one in near) for near in found]


def _nearest(
    distances: Array, names: Sequence[Hashable], labels: Mapping[Hashable, float], own: Hashable
) -> tuple[Neighbour, ...]:
    order = [n for n in np.argsort(distances, kind="stable").tolist() if names[n] != own]
    found = [(names[n], float(distances[n])) for n in order[:N_NEIGHBOURS]]
    return tuple(
        Neighbour(name, labels[name], distance, text.nearness(distance)) for name, distance in found
    )


def usual_sd(view: QuantityView, beliefs: PosteriorCache) -> float:
    """The median sd of f over (a sample of) the candidates, for a view with a model.

    It is taken from the posterior on the candidates where that is cached.
    """
    at, X = view.candidates.sample(view.settings.seed)
    some = sample_rows(view.state, len(X), USUAL_SAMPLE)
    if beliefs.has_pool(view):
        _, sd = beliefs.moments(view, at[some])
    else:
        _, sd = beliefs.model(view).predict(X[some], return_std=True)
    return float(np.median(sd))


def sample(state: State, most: int, purpose: int = 0) -> Array:
    """Inputs of a random sample of the candidates, by the learner's seed; of all if they are few.

    Of a large pool they are drawn from the sample that stands for it (`learner.candidates`).
    """
    _, X = state.candidates.sample(state.settings.seed)
    return np.asarray(X[sample_rows(state, len(X), most, purpose)])


def sample_rows(state: State, n: int, most: int, purpose: int = 0) -> NDArray[np.intp]:
    """Positions, ascending, of at most `most` of n rows, drawn by the learner's seed."""
    if n <= most:
        return np.arange(n)
    rng = np.random.default_rng([state.settings.seed, n, purpose])
    return np.sort(rng.choice(n, most, replace=False))
