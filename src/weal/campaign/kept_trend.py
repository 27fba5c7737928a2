"""The course of the error estimates of a campaign, kept in its store: advice that spares seconds.

What is kept carries the fingerprint of all that it depends on (`diagnostics.trend`), and the number
and hash of the event that it was computed after. Where one of them is not that of the campaign, or
the bytes cannot be read, it is thrown away.
"""

import json
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from weal.campaign.session import Session
from weal.core.arrays import Array
from weal.diagnostics.progress import Progress
from weal.diagnostics.trend import Mark, Surprise, Trend, course, expected_over, fingerprint
from weal.errors import WealError

# Of the snapshot; 1: weal 0.1, settled as often whatever the labels; 2: errors of all labels.
KIND, VERSION = "trend", 3


def trend(session: Session, progress: Progress | None = None) -> Trend | None:
    """The course of the estimates; None while there is no model, or no label."""
    state, ledger = session.state, session.ledger
    t = len(state.labels)
    if not state.fitted or not t:
        return None
    model, X = session.model, expected_over(state)
    known = _kept(session, X)
    if known is not None and known.now.labels == t:
        return known
    found = course(model, state.settings.n_start, X, known, progress)
    data = {"v": VERSION, "of": fingerprint(model, X, t), **asdict(found)}
    with suppress(WealError):  # advice only: a store that cannot keep it still has a trend
        text = json.dumps(data).encode()
        session.store.keep_snapshot(ledger.name, KIND, ledger.seq, ledger.hash, text)
    return found


def _kept(session: Session, X: Array) -> Trend | None:
    """The course that was kept, if it belongs to this campaign and its labels have not changed."""
    kept = session.store.snapshot(session.ledger.name, KIND)
    if kept is None or not _on_chain(session, *kept[:2]):
        return None
    try:
        data = json.loads(kept[2])
        if data["v"] != VERSION:
            return None
        found = _from_json(data)
    except (ValueError, KeyError, TypeError):  # of another version, or damaged
        return None
    t, model = found.now.labels, session.model
    same = t <= len(model.fold.y) and data["of"] == fingerprint(model, X, t)
    return found if same else None


def _on_chain(session: Session, seq: int, hash: str) -> bool:
    events = session.store.read(session.ledger.name, seq - 1)
    return bool(events) and (events[0].seq, events[0].hash) == (seq, hash)


def _from_json(data: dict[str, Any]) -> Trend:
    marks = tuple(Mark(**one) for one in data["marks"])
    return Trend(marks, tuple(Surprise(**one) for one in data["surprises"]), data["candidates"])
