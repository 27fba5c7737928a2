"""The functions of the jobs: work that needs numerics, which the server itself does not import.

A job is a function of the context, its arguments and a progress callback; its answer is JSON. The
results of `CACHED_JOBS` are written for a campaign (`server_folder.JobResults`) and shown by pages,
which never wait for them; `REQUESTED_JOBS` are jobs that a person waits for.

    rows        cells of the candidates                    near     measured rows nearest to a row
    why         reasons for the suggestions                effect   partial dependence on one input
    status      the same as `weal status`                  map      the same on two inputs
    measured    labels against leave-one-out predictions   candidate_map, png   `candidate_map`
    explore     all candidates with predictions            ask, take, change, export
                                                           `table_jobs`: tables and worksheets
"""

import json
import math
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path

import numpy as np

from weal.campaign.candidates import CandidateTable
from weal.campaign.export import export as write_export
from weal.campaign.ledger import Ledger
from weal.campaign.session import Session
from weal.campaign.suggestions import explain
from weal.core.arrays import Array
from weal.core.constants import INTERVAL_LEVEL
from weal.diagnostics.effects import (
    EffectInput,
    grid_inputs,
    make_effect_input,
    partial_dependence,
    partial_dependence_of_two,
)
from weal.diagnostics.explanation import quantity_neighbours, sample
from weal.diagnostics.suspects import predictions_by_others
from weal.diagnostics.word_scores import left_out_words
from weal.learner.label_entry import told_labels
from weal.learner.state import QuantityView
from weal.progress import Progress
from weal.quantities.protocol import Quantity
from weal.web import api_jobs, candidate_map, picture_png, table_jobs
from weal.web.candidate_predictions import write_candidates
from weal.web.job_context import (
    Arguments,
    AxisJson,
    EffectJson,
    FileJson,
    JobContext,
    MapJson,
    MeasuredJson,
    MeasuredPoint,
    NeighbourJson,
)
from weal.web.server_folder import Cells, plain_cells

MAX_POINTS = 1500  # labels that are drawn; of more, a subset evenly spaced in time
EFFECT_CANDIDATES, EFFECT_VALUES = 200, 41  # candidates averaged over, and values of the input
BAND_SDS = 1.645  # half the width of a 90 % band of a normal distribution
MAP_CANDIDATES, MAP_VALUES = 40, 21
_MAP_SAMPLE_KEY = 21  # part of the random key of these candidates


def predicted_against_measured(
    context: JobContext, arguments: Arguments, progress: Progress
) -> None:
    """Write the labels with their leave-one-out predictions; none before there is a model."""
    campaign = context.campaign(arguments["name"])
    session = campaign.read_session()
    each = {
        one.name: _left_out_word_points(session, one)
        if one.words
        else _left_out_points(session, one.name)
        for one in session.state.measured
    }
    numbers = [each[one.name] for one in session.state.measured if not one.words]
    first: MeasuredJson = {"points": [], "n": 0}
    found: MeasuredJson = {**next(iter(numbers), first), "quantities": each}
    context.results.write_result(campaign.name, "measured", session.ledger.seq, found)


def _left_out_points(session: Session, name: str) -> MeasuredJson:
    """The labels of a number with their leave-one-out predictions."""
    view = session.view(name)
    if not view.has_model:
        return {"points": [], "n": 0}
    model = session.beliefs.model(view)
    alone = predictions_by_others(model, INTERVAL_LEVEL)
    y = model.scaling.means(model.trained.all_labels.y)
    names = [label.name for label in view.labels.told]
    rows = np.unique(np.linspace(0, len(y) - 1, min(len(y), MAX_POINTS)).astype(int)).tolist()
    points: list[MeasuredPoint] = [
        {"id": str(names[n]), "y": _finite(y[n]), "mean": _finite(alone.mean[n]),
         "low": _finite(alone.low[n]), "high": _finite(alone.high[n])}
        for n in rows
    ]  # fmt: skip
    return {"points": points, "n": len(y)}


def _left_out_word_points(session: Session, quantity: Quantity) -> MeasuredJson:
    """The labels of words with their leave-one-out probabilities, as the mean."""
    found = left_out_words(session.state, session.beliefs, quantity)
    if found is None:
        return {"points": [], "n": 0}
    names = [label.name for label in told_labels(session.state, quantity).told]
    p, codes = found
    rows = np.unique(np.linspace(0, len(p) - 1, min(len(p), MAX_POINTS)).astype(int)).tolist()
    points: list[MeasuredPoint] = [
        {"id": str(names[n]), "y": float(codes[n]), "mean": _finite(p[n, codes[n]]),
         "low": None, "high": None}
        for n in rows
    ]  # fmt: skip
    return {"points": points, "n": len(p)}


def _finite(value: float) -> float | None:
    """The number, or None where JSON has no such number."""
    return float(value) if math.isfinite(value) else None


def explore(context: JobContext, arguments: Arguments, progress: Progress) -> None:
    """Write all candidates with cells and predictions for the page that searches them."""
    progress("reading the candidates", 0, 100)
    session = context.campaign(arguments["name"]).read_session()
    session.pool.refuse_many("predictions")
    write_candidates(context, session, progress)


def neighbours_of(
    context: JobContext, arguments: Arguments, progress: Progress
) -> list[NeighbourJson]:
    """The measured rows nearest to this one, with their cells."""
    session = context.campaign(arguments["name"]).read_session()
    if arguments["id"] not in session.state.candidates.index:
        return []
    (found,) = quantity_neighbours(
        session.state, session.beliefs, _quantity(session, arguments), [arguments["id"]]
    )
    return [
        {"id": str(one.id), "label": one.label, "words": one.words,
         "cells": _inputs(session, one.id)}
        for one in found
    ]  # fmt: skip


def _inputs(session: Session, id_: Hashable) -> Cells:
    """The cells of a row without id and target, as JSON values."""
    plan, row = session.pool.plan, session.pool.row(session.state.candidates.index[id_])
    apart = (plan.id_column, *(one.column for one in session.state.measured))
    return plain_cells({name: cell for name, cell in row.items() if name not in apart})


def _quantity(session: Session, arguments: Arguments) -> Quantity:
    """The quantity that a picture is about; the first one where none is named."""
    name = arguments.get("quantity")
    return session.state.find_measured(name) if name else session.state.measured[0]


def _part(session: Session, arguments: Arguments) -> str:
    """The part that a picture is about: a level of classes, "worked", or a quantity itself."""
    name = arguments.get("quantity")
    if name in session.state.quantities:
        return str(name)
    return _quantity(session, arguments).parts()[0].name


def effect_of(context: JobContext, arguments: Arguments, progress: Progress) -> EffectJson | None:
    """Partial dependence on one input, with its band; None before there is a model."""
    session = context.campaign(arguments["name"]).read_session()
    view = session.view(_part(session, arguments))
    if not view.has_model:
        return None
    axis, over = (
        _axis(session, arguments["input"], EFFECT_VALUES),
        _sample(session, EFFECT_CANDIDATES),
    )
    if view.quantity.is_binary:
        p = [float(_pass(session, view, X).mean()) for X in grid_inputs(over, axis)]
        return {**_axis_to_json(axis), "mean": p, "low": p, "high": p, "over": len(over)}
    model = session.beliefs.model(view)
    mean, sd = partial_dependence(model, over, axis)
    low, high = (model.clip(mean + sign * BAND_SDS * sd).tolist() for sign in (-1.0, 1.0))
    return {**_axis_to_json(axis), "mean": mean.tolist(), "low": low, "high": high,
            "over": len(over)}  # fmt: skip


def _pass(session: Session, view: QuantityView, X: Array) -> Array:  # (N,)
    return session.beliefs.pass_probability(view, X)


def map_of(context: JobContext, arguments: Arguments, progress: Progress) -> MapJson | None:
    """Partial dependence on two inputs; None before there is a model."""
    session = context.campaign(arguments["name"]).read_session()
    view = session.view(_part(session, arguments))
    if not view.has_model:
        return None
    one, other = (_axis(session, name, MAP_VALUES) for name in (arguments["x"], arguments["y"]))
    over = _sample(session, MAP_CANDIDATES)
    if view.quantity.is_binary:
        mean = [
            [float(_pass(session, view, X).mean()) for X in grid_inputs(rows, one)]
            for rows in grid_inputs(over, other)
        ]
    else:
        mean = partial_dependence_of_two(session.beliefs.model(view), over, one, other)[0].tolist()
    return {"x": _axis_to_json(one), "y": _axis_to_json(other), "mean": mean,
            "over": len(over), "points": _labelled_points(session, view, one, other)}  # fmt: skip


def _axis(session: Session, name: str, values: int) -> EffectInput:
    plan = session.pool.plan
    _, X = session.state.candidates.sample(session.state.settings.seed)
    return make_effect_input(name, X, plan.names, plan, values)


def _sample(session: Session, size: int) -> Array:
    return sample(session.state, size, _MAP_SAMPLE_KEY)


def _axis_to_json(axis: EffectInput) -> AxisJson:
    origin = axis.origin.isoformat() if axis.origin else None
    levels = {"flag": ["no", "yes"]}.get(axis.kind, list(axis.names))
    return {"name": axis.name, "values": axis.values.tolist(), "origin": origin, "log": axis.log,
            "levels": levels[: len(axis.values)]}  # fmt: skip


def _labelled_points(
    session: Session, view: QuantityView, *axes: EffectInput
) -> list[tuple[str, float, float, float | None]]:
    """The measured rows on a map: id, x, y, label."""
    labels, candidates = view.mean_labels(), session.state.candidates
    names = [str(name) for name in labels if name in candidates.index][-MAX_POINTS:]
    X = candidates.inputs(names)
    scales = {column.name: column.scale for column in session.pool.plan.columns}
    where = [
        X[:, axis.positions].argmax(axis=1)
        if axis.names
        else X[:, axis.positions[0]] * scales[axis.name]
        for axis in axes
    ]
    return [(name, float(x), float(y), labels[name])
            for name, x, y in zip(names, *where, strict=True)]  # fmt: skip


def rows(context: JobContext, arguments: Arguments, progress: Progress) -> None:
    """Write the cells of all candidates; of a large pool in files, only of rows with events."""
    campaign = context.campaign(arguments["name"])
    session = campaign.read_session()
    pool, ledger = session.pool, session.ledger
    found = _pool_cells(pool) if pool.fits_one_table else _rows_touched(pool, ledger)
    context.results.write_rows(campaign.name, ledger.seq, found)


def _rows_touched(pool: CandidateTable, ledger: Ledger) -> Iterator[tuple[str, str]]:
    """The cells of rows that are labelled, leased or skipped."""
    names = dict.fromkeys([*ledger.leases, *ledger.skipped, *sorted(ledger.labelled())])
    for name, row in pool.cells(list(names)).items():
        yield name, json.dumps(plain_cells(row))


def _pool_cells(pool: CandidateTable) -> Iterator[tuple[str, str]]:
    ids = iter(pool.ids)
    for part in pool.parts:
        columns = {name: part.cells(name) for name in part.columns}
        for n in range(len(part)):
            row = {name: cells[n] for name, cells in columns.items()}
            yield str(next(ids)), json.dumps(plain_cells(row))


def why(context: JobContext, arguments: Arguments, progress: Progress) -> None:
    """Write the reasons for the leased rows, as sentences."""
    campaign = context.campaign(arguments["name"])
    session = campaign.read_session()
    ledger = session.ledger
    asked = explain(session, ledger.open_leases(context.store.now()))
    found = {str(ledger.leases[one.id].seq): list(one.sentences) for one in asked}
    context.results.write_result(campaign.name, "why", ledger.seq, found)


def status(context: JobContext, arguments: Arguments, progress: Progress) -> None:
    """Write the status of the campaign, as `weal status` shows it."""
    campaign = context.campaign(arguments["name"])
    seq = campaign.read_ledger().seq
    found = campaign.status(progress=progress)
    shown = {**found.to_dict(), "lines": found.lines()}
    context.results.write_result(campaign.name, "status", seq, shown)


def ask(context: JobContext, arguments: Arguments, progress: Progress) -> list[str]:
    """Lease the next rows to measure; their ids."""
    campaign = context.campaign(arguments["name"], arguments["who"])
    check, key = arguments.get("check", False), arguments.get("form")
    batch = arguments.get("batch", {})
    ids: list[str] = campaign.ask(arguments["n"], check=check, key=key, **batch)
    return ids


def take(context: JobContext, arguments: Arguments, progress: Progress) -> list[str]:
    """Lease this very row."""
    campaign = context.campaign(arguments["name"], arguments["who"])
    return campaign.ask_for([arguments["id"]])


def change(context: JobContext, arguments: Arguments, progress: Progress) -> None:
    """Change settings."""
    campaign = context.campaign(arguments["name"], arguments["who"])
    campaign.change(**arguments["changes"])


def copy(context: JobContext, arguments: Arguments, progress: Progress) -> dict[str, str]:
    """Copy a campaign; the name of the copy."""
    call = arguments["call"]
    campaign = context.campaign(arguments["name"], arguments["who"])
    campaign.copy(call["new"], labels=call["labels"], key=call["key"])
    return {"copied": call["new"]}


def export(context: JobContext, arguments: Arguments, progress: Progress) -> FileJson:
    """Write a table of the campaign to a file of the server."""
    name, what, path = arguments["name"], arguments["what"], Path(arguments["path"])
    write_export(context.campaign(name), what, path)
    return {"file": path.stem, "called": f"{name}-{what}{path.suffix}"}


JobFunction = Callable[[JobContext, Arguments, Progress], object]
CACHED_JOBS: dict[str, JobFunction] = {
    "rows": rows,
    "why": why,
    "status": status,
    "measured": predicted_against_measured,
    "explore": explore,
}
REQUESTED_JOBS: dict[str, JobFunction] = {
    "ask": ask,
    "take": take,
    "change": change,
    "copy": copy,
    "export": export,
    "near": neighbours_of,
    "effect": effect_of,
    "map": map_of,
    "candidate_map": candidate_map.candidate_map_of,
    "png": picture_png.draw_png,
    **table_jobs.TABLE_JOBS,
    **table_jobs.WORKSHEET_JOBS,
    **api_jobs.API_JOBS,
}
JOBS: dict[str, JobFunction] = {**CACHED_JOBS, **REQUESTED_JOBS}


def run(context: JobContext, kind: str, arguments: Arguments, progress: Progress) -> object:
    """The JSON answer of a job."""
    return JOBS[kind](context, arguments, progress)
