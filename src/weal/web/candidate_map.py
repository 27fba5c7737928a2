"""The job `candidate_map`: positions of candidates, labels and next rows on two axes.

    two inputs        their values; a log axis where values are spread so, levels side by side
    principal axes    the two directions in which the scaled inputs of the candidates vary most

Up to MAX_POINTS candidates without a label are points of their own. More are counted in the cells
of a grid, with the mean prediction of those in a cell, over at most MAX_PREDICTED candidates. Of a
large pool the sample that stands for it is counted (`learner.candidates`). Rows with a label, rows
whose run failed and rows that are out are always points of their own; of more than MAX_LABELS
labels the last ones are.

Positions depend on the candidates alone, so that a row stays in its place when labels come. Levels
are spread by a hash of the id.
"""

import zlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weal.campaign.ledger import Ledger
from weal.campaign.session import Session
from weal.core.arrays import Array
from weal.core.scaling import principal_axes
from weal.diagnostics.effects import columns_of, make_effect_input
from weal.diagnostics.explanation import sample_rows
from weal.learner.quantity_predictions import has_models
from weal.progress import Progress
from weal.quantities.protocol import Quantity
from weal.text import percent, shorten
from weal.web.job_context import Arguments, CandidateMapJson, JobContext, MapAxisJson

MAX_POINTS = 150  # candidates without a label that are drawn one by one
GRID = (36, 24)  # cells across and down
MAX_PREDICTED = 3000
MAX_LABELS = 1500
MAX_LEVELS_SPREAD = 0.32  # of the distance of two levels, to either side
MAX_LOADINGS = 3  # inputs that the name of a principal axis lists
_MAP_KEY = 31  # part of the random key of the candidates that are predicted
Ids = Sequence[Hashable]


@dataclass(frozen=True, slots=True, eq=False)
class MapAxis:
    """An axis: positions are (X - centre) @ weights, of a log or of levels if it is an input."""

    name: str
    weights: Array  # (d,)
    centre: Array  # (d,)
    levels: tuple[str, ...] = ()
    columns: tuple[int, ...] = ()  # inputs of the levels
    log: bool = False
    origin: str | None = None
    words: str = ""  # of a principal axis: its largest weights

    def positions(self, X: Array, ids: Ids) -> Array:  # (N, d) -> (N,)
        """Positions of rows."""
        if self.levels:
            hashes = np.array([zlib.crc32(str(one).encode("utf-8", "replace")) for one in ids])
            spread = MAX_LEVELS_SPREAD * (2.0 * (hashes % 9973) / 9973.0 - 1.0)
            return np.asarray(X[:, self.columns].argmax(axis=1) + spread)
        found = (X - self.centre) @ self.weights
        return np.log10(np.maximum(found, np.finfo(float).tiny)) if self.log else found

    def to_json(self, positions: Array) -> MapAxisJson:
        """The axis with the range of these positions (N,)."""
        good = positions[np.isfinite(positions)]
        low, high = (float(good.min()), float(good.max())) if len(good) else (0.0, 1.0)
        if self.levels:
            low, high = -0.5, len(self.levels) - 0.5
        return {"name": self.name, "low": low, "high": high, "log": self.log, "words": self.words,
                "origin": self.origin, "levels": list(self.levels)}  # fmt: skip


def candidate_map_of(
    context: JobContext, arguments: Arguments, progress: Progress
) -> CandidateMapJson:
    """The map of the candidates on two inputs; on the principal axes where none is named."""
    session = context.campaign(arguments["name"]).read_session()
    state, ledger = session.state, session.ledger
    at, X = state.candidates.sample(state.settings.seed)
    named = (arguments.get("x", ""), arguments.get("y", ""))
    known = columns_of(session.pool.plan.names, session.pool.plan)
    is_named = all(one in known for one in named)
    axes = [_input_axis(session, one, X) for one in named] if is_named else _principal(session, X)
    ids = [state.candidates.ids[n] for n in at.tolist()]
    x, y = (one.positions(X, ids) for one in axes)
    quantity = state.find_measured(arguments["quantity"])
    told = _told(ledger, quantity.name)
    failed = list(ledger.failures.labels)
    apart = {*told, *failed, *(lease.id for lease in ledger.open_leases(context.store.now()))}
    free = np.array([str(one) not in apart for one in ids], dtype=bool)
    found: CandidateMapJson = {
        "x": axes[0].to_json(x),
        "y": axes[1].to_json(y),
        "rows": ledger.rows,
        "over": len(at),
        "points": [],
        "cells": [],
        "grid": GRID,
        "labels": [(*one, *told[one[0]]) for one in _points(session, axes, [*told][-MAX_LABELS:])],
        "failed": _points(session, axes, failed[-MAX_LABELS:]),
        "next": _points(
            session,
            axes,
            [one for one in apart if one not in told and one not in ledger.failures.labels],
        ),
    }
    if free.sum() <= MAX_POINTS:
        rows = np.flatnonzero(free)
        mean = _predict(session, quantity, X[rows])
        found["points"] = [
            (str(ids[n]), float(x[n]), float(y[n]), value)
            for n, value in zip(rows.tolist(), mean, strict=True)
        ]
    else:
        rows = sample_rows(state, len(X), MAX_PREDICTED, _MAP_KEY)
        found["cells"] = _cells(x, y, found, rows, _predict(session, quantity, X[rows]))
    return found


def _told(ledger: Ledger, quantity: str) -> dict[str, tuple[float, int]]:
    """The mean label of each row and its last event, in the order of these events."""
    every = ledger.quantity(quantity).labels
    words = bool(ledger.quantity(quantity).quantity.words)
    found = {
        name: (
            several[-1].y if words else sum(one.y for one in several) / len(several),
            several[-1].seq,
        )
        for name, several in every.items()
    }
    return dict(sorted(found.items(), key=lambda pair: pair[1][1]))


def _points(
    session: Session, axes: Sequence[MapAxis], names: Sequence[str]
) -> list[tuple[str, float, float]]:
    """Positions of these rows."""
    candidates = session.state.candidates
    names = [one for one in names if one in candidates.index]
    if not names:
        return []
    X = candidates.inputs(names)
    x, y = (one.positions(X, names).tolist() for one in axes)
    return list(zip(names, x, y, strict=True))


def _input_axis(session: Session, name: str, X: Array) -> MapAxis:
    """The axis of a column."""
    plan = session.pool.plan
    found = make_effect_input(name, X, plan.names, plan)
    d, at = X.shape[1], found.positions
    if found.names or found.kind == "flag":
        levels = found.names or ("no", "yes")
        if not found.names:  # one input, 0 or 1
            return MapAxis(name, _unit(d, at[0], 1.0), np.zeros(d))
        return MapAxis(name, np.zeros(d), np.zeros(d), tuple(levels), tuple(at))
    scale = {column.name: column.scale for column in plan.columns}[name]
    origin = found.origin.isoformat() if found.origin else None
    return MapAxis(name, _unit(d, at[0], scale), np.zeros(d), log=found.log, origin=origin)


def _unit(d: int, at: int, value: float) -> Array:
    found = np.zeros(d)
    found[at] = value
    return found


def _principal(session: Session, X: Array) -> list[MapAxis]:
    """The first two principal axes; the inputs of a category count as one column."""
    weights = np.ones(X.shape[1])
    for at in columns_of(session.pool.plan.names, session.pool.plan).values():
        weights[at] = 1.0 / len(at)
    centre, unit, axes, shares = principal_axes(X, weights)
    found = []
    for k in (1, 2):
        if k > X.shape[1]:
            found.append(MapAxis("no second input", np.zeros(X.shape[1]), centre))
            continue
        vector = axes[:, k - 1]
        name = f"principal axis {k} ({percent(float(shares[k - 1]))} of the variance)"
        found.append(MapAxis(name, vector / unit, centre, words=_loadings(session, vector)))
    return found


def _loadings(session: Session, vector: Array) -> str:
    """The inputs with the largest weights."""
    names = session.pool.plan.names
    order = np.argsort(-np.abs(vector), kind="stable")[:MAX_LOADINGS].tolist()
    return ", ".join(f"{vector[n]:.2f} {shorten(names[n], 14)}" for n in order)


def _predict(session: Session, quantity: Quantity, X: Array) -> list[float | None]:
    """The predicted mean of each row, or the probability of a pass; None: classes, or no model."""
    view = session.view(quantity.parts()[0].name)
    is_one_number = quantity.parts()[0] == quantity
    if not len(X) or not is_one_number or not has_models(session.state, quantity):
        return [None] * len(X)
    if quantity.is_binary:
        return [float(one) for one in session.beliefs.pass_probability(view, X)]
    mean = np.asarray(session.beliefs.model(view).predict(X))
    return [float(one) if np.isfinite(one) else None for one in mean]


def _cells(
    x: Array,
    y: Array,
    found: CandidateMapJson,
    predicted: NDArray[np.intp],
    mean: list[float | None],
) -> list[tuple[int, int, int, float | None]]:
    """The cells of the grid that hold candidates, with the mean prediction of those predicted."""
    across = _cell_numbers(x, found["x"], GRID[0])
    down = _cell_numbers(y, found["y"], GRID[1])
    flat = across * GRID[1] + down
    size = GRID[0] * GRID[1]
    counts = np.bincount(flat, minlength=size)
    known = np.array([one is not None for one in mean], dtype=bool)
    values = np.array([0.0 if one is None else one for one in mean])
    at = flat[predicted]
    n = np.bincount(at[known], minlength=size)
    sums = np.bincount(at[known], weights=values[known], minlength=size)
    return [
        (k // GRID[1], k % GRID[1], int(counts[k]), float(sums[k] / n[k]) if n[k] else None)
        for k in np.flatnonzero(counts).tolist()
    ]


def _cell_numbers(positions: Array, axis: MapAxisJson, cells: int) -> NDArray[np.intp]:
    width = (axis["high"] - axis["low"]) or 1.0
    share = np.nan_to_num((positions - axis["low"]) / width)
    return np.clip((share * cells).astype(np.intp), 0, cells - 1)
