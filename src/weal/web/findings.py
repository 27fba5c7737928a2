"""Jobs of the pages Watch and Explore: what the model makes of labels and candidates.

measured    every label beside what the others made of it, and what guessing the mean gives
explore     all candidates with cells and predictions, in a file of its own (`catalogue`)
near        the measured rows nearest to one row, side by side with it
effect      what one input does; `map`: two together
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from weal.campaign.campaign import Campaign
from weal.campaign.exporting import frame
from weal.campaign.session import Session
from weal.core.arrays import Array, root_mean_square
from weal.diagnostics.coverage import LEVEL
from weal.diagnostics.effects import Axis, axis_of, effect, surface
from weal.diagnostics.explain import neighbours, sample
from weal.diagnostics.leave_one_out import baseline
from weal.diagnostics.outliers import beside_others
from weal.learner.sampling import standing_for
from weal.progress import Progress
from weal.web import catalogue
from weal.web.kept import plain_cells
from weal.web.shelf import Arguments, Shelf

MOST_POINTS = 1500  # labels that are drawn: beyond, some of them, evenly by time
EFFECT_OVER, EFFECT_VALUES = 200, 41  # candidates that an effect is the mean over, and its values
MAP_OVER, MAP_VALUES = 40, 21
_DRAWN = 21  # part of the random key of these candidates


def measured(shelf: Shelf, given: Arguments, progress: Progress) -> None:
    """Labels beside what the others made of them; nothing before there is a model."""
    campaign = shelf.campaign(given["name"])
    session = campaign.session
    seq = session.ledger.seq
    if not session.state.fitted:
        nothing = {"points": [], "n": 0, "baseline": None, "explained": None}
        shelf.keep(campaign, "measured", seq, nothing)
        return
    model = session.model
    alone, right = beside_others(model, LEVEL), model.fold.right
    y = model.scaling.means(model.fold.seen.y)
    names = [label.name for label in session.state.labels.told]
    rows = np.unique(np.linspace(0, len(y) - 1, min(len(y), MOST_POINTS)).astype(int)).tolist()
    points = [
        {"id": str(names[n]), "y": y[n], "mean": alone.mean[n], "low": alone.low[n],
         "high": alone.high[n]}
        for n in rows
    ]  # fmt: skip
    worth = _worth(y[right], alone.mean[right])  # of the labels that are believed, as in status
    found = {"points": [_finite(point) for point in points], "n": len(y), **worth}
    shelf.keep(campaign, "measured", seq, found)


def _worth(y: Any, mean: Any) -> dict[str, float | None]:
    """What guessing the mean of the other labels gives, and the share that the model explains."""
    t = len(y)
    if t < 2 or not float(np.ptp(y)):
        return {"baseline": None, "explained": None}
    guess = baseline(y)
    explained = 1.0 - (root_mean_square(y - mean) / guess) ** 2
    return {"baseline": guess, "explained": max(explained, 0.0)}


def _finite(point: dict[str, Any]) -> dict[str, Any]:
    """The same as JSON can say it."""
    return {
        name: (float(one) if math.isfinite(one) else None) if name != "id" else one
        for name, one in point.items()
    }


def explore(shelf: Shelf, given: Arguments, progress: Progress) -> None:
    """All candidates with cells and predictions, for a page that searches and sorts them."""
    campaign = shelf.campaign(given["name"])
    seq = campaign.ledger.seq
    progress("predicting the candidates", 0, 2)
    columns, rows = _catalogued(campaign)
    progress("predicting the candidates", 1, 2)
    path = shelf.kept.path(campaign.name, catalogue.FILE)
    catalogue.write(path, seq, columns, rows)


def _catalogued(campaign: Campaign) -> tuple[list[str], Any]:
    """Names of the columns as they came, and a row for each candidate."""
    session = campaign.session
    found = frame(campaign, "predictions") if session.state.fitted else None
    names = list(dict.fromkeys(name for part in session.pool.parts for name in part.columns))
    apart = (session.pool.plan.id_column, session.pool.plan.target)
    names = [name for name in names if name not in apart]
    labels, ids = campaign.ledger.labels, [str(one) for one in session.pool.ids]
    nothing = np.full((4, len(ids)), np.nan)
    known = nothing if found is None else found[["mean", "sd", "low", "high"]].to_numpy().T
    predicted = zip(*known.tolist(), strict=True)
    every = zip(ids, predicted, _cells(session, names), strict=True)
    return names, ((one, _mean_label(labels.get(one)), *p, *cells) for one, p, cells in every)


def _cells(session: Session, names: list[str]) -> Iterator[tuple[Any, ...]]:
    """The cells of each candidate, in the order of these names."""
    for part in session.pool.parts:
        gaps = [None] * len(part)
        yield from zip(
            *(part.cells(name) if name in part.columns else gaps for name in names), strict=True
        )


def _mean_label(several: Any) -> float | None:
    return sum(told.y for told in several) / len(several) if several else None


def near(shelf: Shelf, given: Arguments, progress: Progress) -> list[dict[str, Any]]:
    """The measured rows nearest to this one, with their cells."""
    session = shelf.campaign(given["name"]).session
    state = session.state
    if given["id"] not in state.candidates.index:
        return []
    model = session.model if state.fitted else None
    (found,) = neighbours(state, model, [given["id"]])
    return [
        {"id": str(one.id), "label": one.label, "words": one.words,
         "cells": _inputs(session, one.id)}
        for one in found
    ]  # fmt: skip


def _inputs(session: Session, id_: Any) -> dict[str, Any]:
    """A row's cells but id and target, as JSON can say them."""
    plan, row = session.pool.plan, session.pool.row(session.state.candidates.index[id_])
    apart = (plan.id_column, plan.target)
    return plain_cells({name: cell for name, cell in row.items() if name not in apart})


def effect_of(shelf: Shelf, given: Arguments, progress: Progress) -> dict[str, Any] | None:
    """What one input does to what is expected, with its band; None before there is a model."""
    session = shelf.campaign(given["name"]).session
    if not session.state.fitted:
        return None
    axis, over = _axis(session, given["input"], EFFECT_VALUES), _sample(session, EFFECT_OVER)
    mean, sd = effect(session.model, over, axis)
    return {**_shown(axis), "mean": mean.tolist(), "sd": sd.tolist(), "over": len(over)}


def map_of(shelf: Shelf, given: Arguments, progress: Progress) -> dict[str, Any] | None:
    """What is expected over two inputs, row by row of the second; None before there is a model."""
    session = shelf.campaign(given["name"]).session
    if not session.state.fitted:
        return None
    one, other = (_axis(session, given[which], MAP_VALUES) for which in ("x", "y"))
    over = _sample(session, MAP_OVER)
    mean, _ = surface(session.model, over, one, other)
    return {"x": _shown(one), "y": _shown(other), "mean": mean.tolist(), "over": len(over),
            "points": _labelled(session, one, other)}  # fmt: skip


def _axis(session: Session, name: str, most: int) -> Axis:
    plan = session.pool.plan
    _, X = standing_for(session.state.candidates, session.state.settings.seed)
    return axis_of(name, X, plan.names, plan, most)


def _sample(session: Session, most: int) -> Array:
    return sample(session.state, most, _DRAWN)


def _shown(axis: Axis) -> dict[str, Any]:
    """An input as pictures need it."""
    origin = axis.origin.isoformat() if axis.origin else None
    levels = {"flag": ["no", "yes"]}.get(axis.kind, list(axis.names))
    return {"name": axis.name, "values": axis.values.tolist(), "origin": origin, "log": axis.log,
            "levels": levels[: len(axis.values)]}  # fmt: skip


def _labelled(session: Session, *axes: Axis) -> list[list[Any]]:
    """Where the measured rows lie on a map: id, both places, label."""
    labels, candidates = session.ledger.labels, session.state.candidates
    names = [name for name in labels if name in candidates.index][-MOST_POINTS:]
    X = candidates.X[[candidates.index[name] for name in names]]
    scales = {column.name: column.scale for column in session.pool.plan.columns}
    where = [
        X[:, axis.at].argmax(axis=1) if axis.names else X[:, axis.at[0]] * scales[axis.name]
        for axis in axes
    ]
    return [[name, float(x), float(y), _mean_label(labels[name])]
            for name, x, y in zip(names, *where, strict=True)]  # fmt: skip


FINDING = {"measured": measured, "explore": explore}
DOING = {"near": near, "effect": effect_of, "map": map_of}
