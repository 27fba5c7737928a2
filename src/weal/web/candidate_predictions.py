"""All candidates with labels, predictions and cells, as columns: what the job `explore` writes.

Predictions are made in blocks of rows and stay arrays, and a table's column is copied as one list:
10^5 candidates take a few seconds, of which the model takes most.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from weal.campaign.events import LedgerLabel
from weal.campaign.session import Session
from weal.core.arrays import Array
from weal.core.constants import INTERVAL_LEVEL
from weal.learner.quantity_predictions import (
    QuantityPrediction,
    has_models,
    joined_columns,
    predict_inputs,
)
from weal.progress import Progress
from weal.quantities.protocol import Quantity
from weal.web import candidate_search
from weal.web.job_context import JobContext

BLOCK_ROWS = 10_000  # candidates that are predicted at a time
PREDICTING, WRITING = "predicting the candidates", "writing the table of candidates"
MOMENTS = ("mean", "sd", "low", "high")


def write_candidates(context: JobContext, session: Session, progress: Progress) -> None:
    """Write a file of all candidates for each quantity that is measured."""
    name, seq, rows = session.ledger.name, session.ledger.seq, session.pool.rows
    names = cell_columns(session)
    total = rows * len(session.state.measured)
    for n, quantity in enumerate(session.state.measured):
        report = partial(_report, progress, n * rows, total)
        moments = predict_candidates(session, quantity, report)
        progress(WRITING, (n + 1) * rows, total)
        columns: list[list[Any]] = [
            [str(one) for one in session.pool.ids],
            _mean_labels(session, quantity),
            *(moments[one] for one in MOMENTS),
            *_cells(session, names),
        ]
        path = context.results.path(name, candidate_search.candidates_file(n))
        candidate_search.write(path, seq, names, columns)


def _report(progress: Progress, before: int, total: int, done: int) -> None:
    progress(PREDICTING, before + done, total)


def cell_columns(session: Session) -> list[str]:
    """The columns of the table, but for ids and results."""
    every = dict.fromkeys(name for part in session.pool.parts for name in part.columns)
    apart = (session.pool.plan.id_column, *(one.column for one in session.state.measured))
    return [name for name in every if name not in apart]


def predict_candidates(
    session: Session, quantity: Quantity, report: "partial[None]"
) -> dict[str, list[float | None]]:
    """Mean, sd and interval of each candidate, as `Quantity.format_prediction` takes them."""
    rows = session.pool.rows
    report(0)
    if not rows or not has_models(session.state, quantity):
        return {name: [None] * rows for name in MOMENTS}
    blocks = list(_blocks(session, quantity, rows, report))
    return {name: _plain(cells) for name, cells in joined_columns(blocks).items()}


def _blocks(
    session: Session, quantity: Quantity, rows: int, report: "partial[None]"
) -> Iterator[dict[str, Array]]:
    candidates = session.state.candidates
    for start in range(0, rows, BLOCK_ROWS):
        X = candidates.inputs_at(slice(start, start + BLOCK_ROWS))
        found = predict_inputs(session.state, session.beliefs, quantity, X, INTERVAL_LEVEL, rows)
        yield _moments(found, len(X))
        report(start + len(X))


def _moments(found: QuantityPrediction, n: int) -> dict[str, Array]:
    """For classes, the code of the most probable one and the probability of the others."""
    mean, sd = found.mean, found.sd
    if mean is None and found.probabilities is not None:
        best = found.probabilities.argmax(axis=1)
        mean, sd = best.astype(float), 1.0 - found.probabilities.max(axis=1)
    moments = zip(MOMENTS, (mean, sd, found.low, found.high), strict=True)
    return {name: np.full(n, np.nan) if one is None else np.asarray(one) for name, one in moments}


def _plain(cells: Array) -> list[float | None]:
    """The numbers of an array; None where they are not finite."""
    values: list[float | None] = cells.tolist()
    for n in np.flatnonzero(~np.isfinite(cells)).tolist():
        values[n] = None
    return values


def _mean_labels(session: Session, quantity: Quantity) -> list[float | None]:
    labels = session.ledger.quantity(quantity.name).labels
    return [_mean(labels.get(str(one))) for one in session.pool.ids]


def _mean(labels: Sequence[LedgerLabel] | None) -> float | None:
    return sum(label.y for label in labels) / len(labels) if labels else None


def _cells(session: Session, names: Sequence[str]) -> Iterator[list[object]]:
    """The cells of each column, of all parts of the table."""
    for name in names:
        cells: list[object] = []
        for part in session.pool.parts:
            cells += part.cells(name) if name in part.columns else [None] * len(part)
        yield cells
