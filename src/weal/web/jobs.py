"""Jobs of the pages Watch and Explore: what the model makes of labels and candidates.

measured    every label beside what the others made of it, and what guessing the mean gives
explore     all candidates with cells and predictions, in a file of its own (`candidate_search`)
near        the measured rows nearest to one row, side by side with it
effect      what one input does; `map`: two together

What the worker can do: work that needs numerics, so that the server itself stays small and free.

A job is a function of the shelf, its arguments and a callback that says how far it is; its answer
is JSON. Jobs of `CACHED_JOBS` keep what they found for a campaign (`kept`), and answer nothing;
whoever looks at a page has asked for them, and none waits. `REQUESTED_JOBS` is what somebody waits
for.
"""

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from weal.campaign.campaign import Campaign
from weal.campaign.export import frame
from weal.campaign.ledger import Ledger
from weal.campaign.session import Session
from weal.campaign.suggestions import explain
from weal.core.arrays import Array, root_mean_square
from weal.core.constants import INTERVAL_LEVEL
from weal.diagnostics.effects import EffectInput, axis_of, effect, surface
from weal.diagnostics.explanation import neighbours, sample
from weal.diagnostics.leave_one_out import baseline
from weal.diagnostics.suspects import beside_others
from weal.progress import Progress
from weal.web import candidate_search, table_jobs
from weal.web.job_context import Arguments, JobContext
from weal.web.server_folder import plain_cells

MOST_POINTS = 1500  # labels that are drawn: beyond, some of them, evenly by time
EFFECT_OVER, EFFECT_VALUES = 200, 41  # candidates that an effect is the mean over, and its values
MAP_OVER, MAP_VALUES = 40, 21
_MAP_SAMPLE_KEY = 21  # part of the random key of these candidates


def predicted_against_measured(shelf: JobContext, given: Arguments, progress: Progress) -> None:
    """Labels beside what the others made of them; nothing before there is a model."""
    campaign = shelf.campaign(given["name"])
    session = campaign.session
    seq = session.ledger.seq
    if not session.state.fitted:
        nothing = {"points": [], "n": 0, "baseline": None, "explained": None}
        shelf.keep(campaign, "measured", seq, nothing)
        return
    model = session.model
    alone, right = beside_others(model, INTERVAL_LEVEL), model.fold.right
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


def explore(shelf: JobContext, given: Arguments, progress: Progress) -> None:
    """All candidates with cells and predictions, for a page that searches and sorts them."""
    campaign = shelf.campaign(given["name"])
    seq = campaign.ledger.seq
    progress("predicting the candidates", 0, 2)
    columns, rows = _candidate_rows(campaign)
    progress("predicting the candidates", 1, 2)
    path = shelf.kept.path(campaign.name, candidate_search.CANDIDATES_FILE)
    candidate_search.write(path, seq, columns, rows)


def _candidate_rows(campaign: Campaign) -> tuple[list[str], Any]:
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
    every = zip(ids, predicted, _prediction_cells(session, names), strict=True)
    return names, ((one, _mean_label(labels.get(one)), *p, *cells) for one, p, cells in every)


def _prediction_cells(session: Session, names: list[str]) -> Iterator[tuple[Any, ...]]:
    """The cells of each candidate, in the order of these names."""
    for part in session.pool.parts:
        gaps = [None] * len(part)
        yield from zip(
            *(part.cells(name) if name in part.columns else gaps for name in names), strict=True
        )


def _mean_label(several: Any) -> float | None:
    return sum(told.y for told in several) / len(several) if several else None


def neighbours_of(shelf: JobContext, given: Arguments, progress: Progress) -> list[dict[str, Any]]:
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


def effect_of(shelf: JobContext, given: Arguments, progress: Progress) -> dict[str, Any] | None:
    """What one input does to what is expected, with its band; None before there is a model."""
    session = shelf.campaign(given["name"]).session
    if not session.state.fitted:
        return None
    axis, over = _axis(session, given["input"], EFFECT_VALUES), _sample(session, EFFECT_OVER)
    mean, sd = effect(session.model, over, axis)
    return {**_axis_to_json(axis), "mean": mean.tolist(), "sd": sd.tolist(), "over": len(over)}


def map_of(shelf: JobContext, given: Arguments, progress: Progress) -> dict[str, Any] | None:
    """What is expected over two inputs, row by row of the second; None before there is a model."""
    session = shelf.campaign(given["name"]).session
    if not session.state.fitted:
        return None
    one, other = (_axis(session, given[which], MAP_VALUES) for which in ("x", "y"))
    over = _sample(session, MAP_OVER)
    mean, _ = surface(session.model, over, one, other)
    return {"x": _axis_to_json(one), "y": _axis_to_json(other), "mean": mean.tolist(),
            "over": len(over), "points": _labelled_points(session, one, other)}  # fmt: skip


def _axis(session: Session, name: str, most: int) -> EffectInput:
    plan = session.pool.plan
    _, X = session.state.candidates.sample(session.state.settings.seed)
    return axis_of(name, X, plan.names, plan, most)


def _sample(session: Session, most: int) -> Array:
    return sample(session.state, most, _MAP_SAMPLE_KEY)


def _axis_to_json(axis: EffectInput) -> dict[str, Any]:
    """An input as pictures need it."""
    origin = axis.origin.isoformat() if axis.origin else None
    levels = {"flag": ["no", "yes"]}.get(axis.kind, list(axis.names))
    return {"name": axis.name, "values": axis.values.tolist(), "origin": origin, "log": axis.log,
            "levels": levels[: len(axis.values)]}  # fmt: skip


def _labelled_points(session: Session, *axes: EffectInput) -> list[list[Any]]:
    """Where the measured rows lie on a map: id, both places, label."""
    labels, candidates = session.ledger.labels, session.state.candidates
    names = [name for name in labels if name in candidates.index][-MOST_POINTS:]
    X = candidates.inputs(names)
    scales = {column.name: column.scale for column in session.pool.plan.columns}
    where = [
        X[:, axis.at].argmax(axis=1) if axis.names else X[:, axis.at[0]] * scales[axis.name]
        for axis in axes
    ]
    return [[name, float(x), float(y), _mean_label(labels[name])]
            for name, x, y in zip(names, *where, strict=True)]  # fmt: skip


CACHED_MODEL_JOBS = {"measured": predicted_against_measured, "explore": explore}
MODEL_JOBS = {"near": neighbours_of, "effect": effect_of, "map": map_of}


def rows(shelf: JobContext, given: Arguments, progress: Progress) -> None:
    """The cells of all candidates; of many in files, of those that something happened to."""
    campaign = shelf.campaign(given["name"])
    session = campaign.session
    pool, ledger = session.pool, session.ledger
    found = _pool_cells(pool) if pool.fits_one_table else _rows_touched(pool, ledger)
    shelf.kept.keep_rows(campaign.name, ledger.seq, found)


def _rows_touched(pool: Any, ledger: Ledger) -> Iterator[tuple[str, str]]:
    """The cells of rows that are labelled, out or skipped."""
    met = dict.fromkeys([*ledger.leases, *ledger.skipped, *ledger.labels])
    for name, row in pool.cells(list(met)).items():
        yield name, json.dumps(plain_cells(row))


def _pool_cells(pool: Any) -> Iterator[tuple[str, str]]:
    ids = iter(pool.ids)
    for part in pool.parts:
        columns = {name: part.cells(name) for name in part.columns}
        for n in range(len(part)):
            row = {name: cells[n] for name, cells in columns.items()}
            yield next(ids), json.dumps(plain_cells(row))


def why(shelf: JobContext, given: Arguments, progress: Progress) -> None:
    """Why the rows that are out were asked, in sentences."""
    campaign = shelf.campaign(given["name"])
    session = campaign.session
    ledger = session.ledger
    asked = explain(session, ledger.open_leases(shelf.store.now()))
    found = {str(ledger.leases[one.id].seq): list(one.sentences) for one in asked}
    shelf.keep(campaign, "why", ledger.seq, found)


def status(shelf: JobContext, given: Arguments, progress: Progress) -> None:
    """How far the campaign is, as `weal status` has it."""
    campaign = shelf.campaign(given["name"])
    seq = campaign.ledger.seq
    found = campaign.status(progress=progress)
    shelf.keep(campaign, "status", seq, {**found.to_dict(), "lines": found.lines()})


def ask(shelf: JobContext, given: Arguments, progress: Progress) -> list[str]:
    """Rows to measure next: asked when this returns, whoever still looks."""
    campaign = shelf.campaign(given["name"], given["who"])
    how = {"check": given.get("check", False), "key": given.get("form")}
    ids: list[str] = campaign.ask(given["n"], **how)
    return ids


def take(shelf: JobContext, given: Arguments, progress: Progress) -> list[str]:
    """Ask for this very row."""
    ids: list[str] = shelf.campaign(given["name"], given["who"]).ask_for([given["id"]])
    return ids


def change(shelf: JobContext, given: Arguments, progress: Progress) -> None:
    """Change settings."""
    shelf.campaign(given["name"], given["who"]).change(**given["changes"])


def export(shelf: JobContext, given: Arguments, progress: Progress) -> dict[str, Any]:
    """Write a table of the campaign to a place of the server's; what it is to be called."""
    from weal.campaign.export import export

    campaign, path = shelf.campaign(given["name"]), Path(given["path"])
    rows = export(campaign, given["what"], path)
    return {"file": path.stem, "called": f"{given['name']}-{given['what']}{path.suffix}", "n": rows}


Job = Callable[[JobContext, Arguments, Progress], Any]
CACHED_JOBS: dict[str, Job] = {"rows": rows, "why": why, "status": status, **CACHED_MODEL_JOBS}
REQUESTED_JOBS: dict[str, Job] = {
    "ask": ask,
    "take": take,
    "change": change,
    "export": export,
    **MODEL_JOBS,
    **table_jobs.TABLE_JOBS,
    **table_jobs.WORKSHEET_JOBS,
}
JOBS: dict[str, Job] = {**CACHED_JOBS, **REQUESTED_JOBS}


def run(shelf: JobContext, kind: str, given: Arguments, progress: Progress) -> Any:
    """Do one job."""
    return JOBS[kind](shelf, given, progress)
