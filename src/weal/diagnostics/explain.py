"""Why a row was asked: what was expected of it, whose choice it was, and what is known nearby.

Expectations, scores and shares are those kept in the event of the ask: what was true then. The
neighbours are those labelled now, by the distance that the model of today sees (`inputs`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from weal.campaign.ledger import Lease, Ledger
from weal.campaign.mind import Mind
from weal.core.arrays import Array
from weal.diagnostics import input_importance, wording

NEIGHBOURS = 3
SAMPLE = 1000  # candidates, at most, that say what is usual


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A labelled row nearby."""

    id: str
    label: float  # mean of its labels, where there are several
    distance: float  # 1: as far as candidates usually are from what is labelled
    words: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A row that is out, and why it was chosen."""

    id: str
    row: dict[str, Any]  # its original cells
    who: str
    since: datetime
    until: datetime
    check: bool
    mean: float | None  # what was expected when it was asked; None: there was no model
    sd: float | None
    low: float | None
    high: float | None
    shares: dict[str, float]  # of each acquisition function in the choice
    scores: dict[str, float]
    near: tuple[Neighbour, ...]
    sentences: tuple[str, ...]

    @property
    def why(self) -> str:
        """All that is to say, in one line."""
        return " ".join(self.sentences)


def explain(mind: Mind, ledger: Ledger, leases: Sequence[Lease]) -> list[Asked]:
    """What is known of these rows, and why each was asked."""
    near = _neighbours(mind, ledger, [lease.id for lease in leases])
    usual = _usual_sd(mind) if leases else None
    return [
        _asked(mind, lease, neighbours, usual)
        for lease, neighbours in zip(leases, near, strict=True)
    ]


def _asked(mind: Mind, lease: Lease, near: tuple[Neighbour, ...], usual: float | None) -> Asked:
    body, why = lease.body, lease.body["why"]
    expected = {name: body[name] for name in ("mean", "sd", "low", "high")}
    return Asked(
        id=lease.id,
        row=mind.pool.row(mind.learner.candidates.index[lease.id]),
        who=lease.who,
        since=lease.since,
        until=lease.until,
        check=body["check"],
        **expected,
        shares=dict(why.get("shares", {})),
        scores=dict(why.get("scores", {})),
        near=near,
        sentences=tuple(_sentences(body, why, near, usual)),
    )


def _sentences(
    body: Mapping[str, Any], why: Mapping[str, Any], near: Sequence[Neighbour], usual: float | None
) -> list[str]:
    known = [] if body["mean"] is None else [_expected(body["mean"], body["sd"], usual)]
    around = [_around(near)] if near else []
    if why["how"] == "check":
        return [wording.CHECK, *known, *around]
    if why["how"] == "start":
        return [wording.START, *around]
    return [*known, *around, f"Chosen because {wording.reasons(why['shares'])}."]


def _expected(mean: float, sd: float, usual: float | None) -> str:
    expected = wording.plus_minus(mean, sd)
    if not usual:
        return f"Expected {expected}."
    ratio = sd / usual
    unsure = "The model is unsure here: " if ratio >= 1.25 else "Expected "
    return f"{unsure}{expected}, {wording.times(ratio)} uncertainty."


def _around(near: Sequence[Neighbour]) -> str:
    first = near[0]
    label = wording.number(first.label)
    if first.distance >= wording.FARTHER:
        return f"Nothing measured nearby (closest: {first.id}, {label}, {first.words})."
    near = [one for one in near[1:] if one.distance < wording.FARTHER]
    more = "".join(f"; {one.id}, {wording.number(one.label)}" for one in near)
    return f"Closest measured: {first.id}, {label} ({first.words}){more}."


def _neighbours(mind: Mind, ledger: Ledger, ids: Sequence[str]) -> list[tuple[Neighbour, ...]]:
    """The nearest labelled rows of each."""
    learner = mind.learner
    labels = {
        name: float(np.mean([told.y for told in several]))
        for name, several in ledger.labels.items()
        if name in learner.candidates.index and name not in mind.aside
    }
    if not labels or not ids:
        return [() for _ in ids]
    names = list(labels)
    known = _rows(mind, names)
    usual = float(
        np.median(input_importance.distances(learner, sample(mind, SAMPLE), known).min(axis=1))
    )
    D = input_importance.distances(learner, _rows(mind, ids), known) / (usual or 1.0)
    return [_nearest(row, names, labels, own) for row, own in zip(D, ids, strict=True)]


def _nearest(
    distances: Array, names: Sequence[str], labels: Mapping[str, float], own: str
) -> tuple[Neighbour, ...]:
    order = [n for n in np.argsort(distances, kind="stable").tolist() if names[n] != own]
    found = [(names[n], float(distances[n])) for n in order[:NEIGHBOURS]]
    return tuple(
        Neighbour(name, labels[name], distance, wording.nearness(distance))
        for name, distance in found
    )


def _rows(mind: Mind, ids: Sequence[str]) -> Array:
    at = [mind.learner.candidates.index[name] for name in ids]
    return mind.pool.X[at]


def _usual_sd(mind: Mind) -> float | None:
    """The median sd of f over (some of) the candidates; None while there is no model."""
    learner = mind.learner
    if not learner.fitted:
        return None
    _, sd = learner.model.predict(sample(mind, SAMPLE), return_std=True)
    return float(np.median(sd))


def sample(mind: Mind, most: int, purpose: int = 0) -> Array:
    """Inputs of some of the candidates, drawn by the campaign's seed; of all where that will do."""
    X = mind.learner.candidates.X
    if len(X) <= most:
        return X
    rng = np.random.default_rng([mind.settings["seed"], len(X), purpose])
    return X[np.sort(rng.choice(len(X), most, replace=False))]
