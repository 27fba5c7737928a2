"""A campaign as tables: labels, predictions, candidates and events, in memory or in a file.

    labels        id, label, noise, by, time, note, event      one row a label, in order
    predictions   id, mean, sd, low, high, labelled, label     one row a candidate
    candidates    the columns that came, cells as they were
    events        number, kind, id, by, time, body (JSON), key, hash

Files end in .csv .tsv .parquet .json .jsonl or .xlsx; "-" is CSV on stdout (`writing`). Predictions
for candidates in many files go to a folder, shard by shard.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from weal.campaign.ledger import Told
from weal.campaign.predicting import check_model, frame_of
from weal.campaign.session import Session
from weal.campaign.shard_pool import ShardPool
from weal.campaign.writing import check_place, write
from weal.core.arrays import Array
from weal.diagnostics.coverage import LEVEL
from weal.learner.sharded.candidates import ShardedCandidates
from weal.learner.sharded.predicting import check_folder, predictions, write_predictions
from weal.shards.files import pyarrow

if TYPE_CHECKING:
    from weal.campaign.view import CampaignView

WHAT = ("labels", "predictions", "candidates", "events")
PREDICTED_AT_A_TIME = 20_000  # candidates that are predicted at a time
__all__ = ["WHAT", "export", "frame"]


def frame(campaign: "CampaignView", what: str = "labels") -> Any:
    """A pandas frame of labels, predictions, candidates or events."""
    if what not in _FRAMES:
        raise ValueError(f"there is no table of {what!r}; there are {', '.join(WHAT)}")
    return frame_of(_FRAMES[what](campaign))


def export(
    campaign: "CampaignView", what: str, path: str | os.PathLike[str], *, force: bool = False
) -> int:
    """Write such a table to a file, whole or not at all; returns its number of rows.

    A file that is there already stays, unless `force` says that it is to be replaced.
    """
    if what == "predictions" and _is_folder(path):
        return _streamed(campaign, path, force)
    place = check_place(path, force)
    if what == "predictions":
        check_model(campaign.session.state)
    table = frame(campaign, what)
    write(table, place, force)
    return len(table)


def _is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a folder is meant: it ends in a slash, is there, or has no ending of a file."""
    text = os.fspath(path)
    return text != "-" and (text.endswith(("/", os.sep)) or Path(text).is_dir())


def _streamed(campaign: "CampaignView", path: str | os.PathLike[str], force: bool) -> int:
    """Predictions as a folder of Parquet files, a shard at a time."""
    session, told = campaign.session, campaign.ledger.labels
    state, known = session.state, {name: _known(told[name]) for name in told}
    if not isinstance(state.candidates, ShardedCandidates):
        raise ValueError(f"{path} is a folder, for candidates in many files; name a file")
    if not state.fitted:
        raise ValueError("there is no model yet: too few labels were told for predictions")
    check_folder(path, force)

    def more(columns: Mapping[str, Any]) -> dict[str, Any]:
        labels = [known.get(name) for name in columns["id"]]
        kind = float_column(labels)
        return {"labelled": [label is not None for label in labels], "label": kind}

    found = predictions(state.candidates, session.model, LEVEL, session.crew, session.progress)
    return write_predictions(path, found, more=more, force=force)


def float_column(values: Sequence[float | None]) -> Any:
    """Numbers, or None, as a column of arrow."""
    arrow, _ = pyarrow()
    return arrow.array(values, type=arrow.float64())


def _known(labels: Sequence[Told]) -> float:
    return float(np.mean([told.y for told in labels]))


def _refuse_many(session: Session, what: str) -> None:
    """Refuse to make one table of candidates that are in files."""
    if not isinstance(session.pool, ShardPool):
        return
    if what == "predictions":
        where = "write them to a folder: --what predictions --to predictions/"
        session.pool.refuse_many(what, where)
    session.pool.refuse_many(what)


def _labels(campaign: "CampaignView") -> dict[str, Any]:
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


def _predictions(campaign: "CampaignView") -> dict[str, Any]:
    session, labels = campaign.session, campaign.ledger.labels
    _refuse_many(session, "predictions")
    known = {name: _known(labels[name]) for name in labels}
    mean, sd, low, high = _predicted(session)
    ids = list(session.pool.ids[:])
    return {
        "id": ids,
        "mean": mean,
        "sd": sd,
        "low": low,
        "high": high,
        "labelled": [name in known for name in ids],
        "label": [known.get(str(name), np.nan) for name in ids],
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
    return np.concatenate([model.summary(block, LEVEL, len(X)) for block in blocks], axis=1)


def _candidates(campaign: "CampaignView") -> dict[str, Any]:
    pool = campaign.session.pool
    if isinstance(pool, ShardPool):
        _refuse_many(campaign.session, "candidates")
        return dict(pool.candidates.cells(np.arange(pool.rows)).to_pydict())
    names = list(dict.fromkeys(name for part in pool.parts for name in part.columns))
    return {
        name: [
            cell
            for part in pool.parts
            for cell in (part.cells(name) if name in part.columns else [None] * len(part))
        ]
        for name in names
    }


def _events(campaign: "CampaignView") -> dict[str, Any]:
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


_FRAMES: dict[str, Callable[["CampaignView"], dict[str, Any]]] = {
    "labels": _labels,
    "predictions": _predictions,
    "candidates": _candidates,
    "events": _events,
}
