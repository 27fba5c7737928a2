"""A learner as tables: labels, predictions, candidates and history, as pandas frames.

labels        id, label, noise                             one row a label, in order
predictions   id, mean, sd, low, high, labelled, label     one row a candidate in the pool
candidates    the pool as it came: an array with columns "input 0", ...; ids are the index
history       what was asked, why, and what came back (`history`)
"""

from typing import Any

import numpy as np

from weal.learner.beliefs import Beliefs
from weal.learner.history import History, pandas
from weal.learner.sampling import LARGE
from weal.learner.sharded.candidates import ShardedCandidates
from weal.learner.state import State

WHAT = ("labels", "predictions", "candidates", "history")
LEVEL = 0.9  # of the intervals
AT_A_TIME = 20_000  # candidates that are predicted at a time


def frame(state: State, beliefs: Beliefs, what: str = "labels") -> Any:
    """One of these tables."""
    if what not in WHAT:
        raise ValueError(f"there is no table of {what!r}; there are {', '.join(WHAT)}")
    if what in ("predictions", "candidates"):
        _refuse_many(state, what)
    if what == "history":
        return History(state.history).to_frame()
    if what == "candidates":
        return _candidates(state)
    made = _labels(state) if what == "labels" else _predictions(state, beliefs)
    return pandas().DataFrame(made)


def _refuse_many(state: State, what: str) -> None:
    """Refuse one table of candidates that are in shards, where they are many."""
    pool = state.candidates
    if isinstance(pool, ShardedCandidates) and len(pool) > LARGE:
        raise ValueError(
            f"{len(pool):,} {what} are too many for one table; learner.predict_pool(folder) writes "
            "predictions shard by shard"
        )


def _labels(state: State) -> dict[str, Any]:
    return {
        "id": _cells([label.name for label in state.labels]),
        "label": np.array([label.y for label in state.labels]),
        "noise": np.array([label.noise for label in state.labels]),
    }


def _predictions(state: State, beliefs: Beliefs) -> dict[str, Any]:
    pool, model = state.candidates, beliefs.model(state)
    at = np.flatnonzero(pool.present)
    parts = [
        model.summary(X, LEVEL, len(at))
        for X in (pool.X[at[n : n + AT_A_TIME]] for n in range(0, len(at), AT_A_TIME))
    ]
    mean, sd, low, high = np.concatenate([np.zeros((4, 0)), *parts], axis=1)
    ids = [pool.ids[n] for n in at.tolist()]
    known = {name: float(np.mean(state.labels.values(name))) for name in state.labels.by_name}
    return {
        "id": _cells(ids),
        "mean": mean,
        "sd": sd,
        "low": low,
        "high": high,
        "labelled": np.array([name in known for name in ids], dtype=bool),
        "label": np.array([known.get(name, np.nan) for name in ids]),
    }


def _candidates(state: State) -> Any:
    pool = state.candidates
    ids = [name for name, there in zip(pool.ids, pool.present, strict=True) if there]
    rows = pool.rows(ids)
    if pool.frame is not None:
        return rows if pool.frame.implementation.is_pandas() else pool.frame_rows(ids).to_pandas()
    index = pandas().Index(ids, name="id", tupleize_cols=False)
    return pandas().DataFrame(rows, index=index, columns=pool.input_names)


def _cells(ids: list[Any]) -> Any:
    """Ids as a column; tuples stay tuples."""
    if not any(isinstance(name, tuple) or name is None for name in ids):
        return ids
    cells = np.empty(len(ids), dtype=object)
    cells[:] = ids
    return cells
