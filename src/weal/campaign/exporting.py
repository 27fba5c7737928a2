"""A campaign as tables: labels, predictions, candidates and events, in memory or in a file.

    labels        id, label, noise, by, time, note, event      one row a label, in order
    predictions   id, mean, sd, low, high, labelled, label     one row a candidate
    candidates    the columns that came, cells as they were
    events        number, kind, id, by, time, body (JSON), key, hash

Files end in .csv .tsv .parquet .json .jsonl or .xlsx; "-" is CSV on stdout (`writing`).
"""

import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from weal.campaign.session import Session
from weal.campaign.writing import check_place, encodable, whole, write
from weal.core.arrays import Array
from weal.diagnostics.coverage import LEVEL
from weal.errors import WealError

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign

WHAT = ("labels", "predictions", "candidates", "events")
PREDICTED_AT_A_TIME = 20_000  # candidates that are predicted at a time
__all__ = ["WHAT", "export", "frame", "whole"]


def frame(campaign: "Campaign", what: str = "labels") -> Any:
    """A pandas frame of labels, predictions, candidates or events."""
    if what not in _FRAMES:
        raise ValueError(f"there is no table of {what!r}; there are {', '.join(WHAT)}")
    pandas, columns = _pandas(), _FRAMES[what](campaign)
    for name, cells in columns.items():
        if not all(map(encodable, cells)):  # of an old store; pandas keeps such text as objects
            columns[name] = pandas.Series(cells, dtype=object)
    return pandas.DataFrame(columns)


def export(
    campaign: "Campaign", what: str, path: str | os.PathLike[str], *, force: bool = False
) -> int:
    """Write such a table to a file, whole or not at all; returns its number of rows.

    A file that is there already stays, unless `force` says that it is to be replaced.
    """
    place = check_place(path, force)
    state = campaign.session.state if what == "predictions" else None
    if state is not None and not state.fitted:
        more = max(state.settings.n_start - len(state.labels), 1)
        raise WealError(f"there are no predictions before there is a model: {more} more labels")
    table = frame(campaign, what)
    write(table, place, force)
    return len(table)


def _labels(campaign: "Campaign") -> dict[str, Any]:
    told = campaign.ledger.told()
    return {
        "id": [one.id for one in told],
        "label": [one.y for one in told],
        "noise": [one.noise for one in told],
        "by": [one.who for one in told],
        "time": [one.time.isoformat() for one in told],
        "note": [_note(one.note) for one in told],
        "event": [one.seq for one in told],
    }


def _note(note: Any) -> str | None:
    """A note as text; older stores may hold other things."""
    return note if note is None or isinstance(note, str) else json.dumps(note)


def _predictions(campaign: "Campaign") -> dict[str, Any]:
    session, labels = campaign.session, campaign.ledger.labels
    known = {name: float(np.mean([told.y for told in labels[name]])) for name in labels}
    mean, sd, low, high = _predicted(session)
    return {
        "id": session.pool.ids,
        "mean": mean,
        "sd": sd,
        "low": low,
        "high": high,
        "labelled": [name in known for name in session.pool.ids],
        "label": [known.get(name, np.nan) for name in session.pool.ids],
    }


def _predicted(session: Session) -> Array:
    """Mean, sd and the ends of intervals (4, U) of all candidates; NaN before there is a model."""
    X = session.pool.X
    if not session.state.fitted:
        return np.full((4, len(X)), np.nan)
    blocks = [
        X[start : start + PREDICTED_AT_A_TIME] for start in range(0, len(X), PREDICTED_AT_A_TIME)
    ]
    model = session.model
    parts = [
        np.stack([*model.predict(block, return_std=True), *model.predict_interval(block, LEVEL)])
        for block in blocks
    ]
    return np.concatenate(parts, axis=1)


def _candidates(campaign: "Campaign") -> dict[str, Any]:
    pool = campaign.session.pool
    names = list(dict.fromkeys(name for part in pool.parts for name in part.columns))
    return {
        name: [
            cell
            for part in pool.parts
            for cell in (part.cells(name) if name in part.columns else [None] * len(part))
        ]
        for name in names
    }


def _events(campaign: "Campaign") -> dict[str, Any]:
    events = campaign.events()
    return {
        "number": [event.seq for event in events],
        "kind": [event.kind for event in events],
        "id": [event.id for event in events],
        "by": [event.who for event in events],
        "time": [event.time.isoformat() for event in events],
        "body": [json.dumps(event.body, sort_keys=True) for event in events],
        "key": [event.key for event in events],
        "hash": [event.hash for event in events],
    }


_FRAMES: dict[str, Callable[["Campaign"], dict[str, Any]]] = {
    "labels": _labels,
    "predictions": _predictions,
    "candidates": _candidates,
    "events": _events,
}


def _pandas() -> Any:
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise ValueError('tables need pandas: pip install "weal[frames]"') from error
    return pandas
