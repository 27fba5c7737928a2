"""A learner as tables and text: labels, predictions, candidates and history as pandas frames.

labels        id, label, noise                             one row for each label, in order
predictions   id, mean, sd, low, high, labelled, label     one row for each candidate
candidates    the pool as given; an array has columns "input 0", ... and ids as its index
history       queries, reasons and labels (`history`)

`predict` takes candidates by id, or rows like those of the pool:

"P-1"                    an id: one number comes back
["P-1", "P-2"]           ids, in anything of one dimension
frame, [[20.0, 3.0]]     rows: a frame, or anything of two dimensions
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.errors import UnknownId
from weal.learner.candidates import MAX_CANDIDATES_WITHOUT_SAMPLE, Candidates
from weal.learner.history import History, pandas
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.state import QuantityView, State
from weal.tables.frames import as_frame, plain_id
from weal.text import facts_html

if TYPE_CHECKING:
    import pandas as pd

IdCells = list[Hashable] | NDArray[np.object_]  # the ids of a table
LEARNER_TABLES = ("labels", "predictions", "candidates", "history")
INTERVAL_LEVEL = 0.9  # of the intervals
PREDICTION_BLOCK_ROWS = 20_000  # candidates that are predicted at a time


def frame(view: QuantityView, beliefs: PosteriorCache, what: str = "labels") -> "pd.DataFrame":
    """One of LEARNER_TABLES as a pandas frame."""
    state = view.state
    if what not in LEARNER_TABLES:
        raise ValueError(f"there is no table of {what!r}; there are {', '.join(LEARNER_TABLES)}")
    if what in ("predictions", "candidates"):
        _refuse_many(state, what)
    if what == "history":
        return History(state.history).to_frame()
    if what == "candidates":
        return _candidates(state)
    made = _labels(view) if what == "labels" else _predictions(view, beliefs)
    return pandas().DataFrame(made)


def _refuse_many(state: State, what: str) -> None:
    """Refuse one table of many candidates in shards."""
    pool = state.candidates
    if pool.in_shards and len(pool) > MAX_CANDIDATES_WITHOUT_SAMPLE:
        raise ValueError(
            f"{len(pool):,} {what} are too many for one table; learner.predict_pool(folder) writes "
            "predictions shard by shard"
        )


def _labels(view: QuantityView) -> dict[str, IdCells | Array]:
    labels, shown = view.labels, view.quantity.from_model
    return {
        "id": object_cells([label.name for label in labels]),
        "label": np.array([shown(label.y) for label in labels]),
        "noise": np.array([label.noise for label in labels]),
    }


def _predictions(
    view: QuantityView, beliefs: PosteriorCache
) -> dict[str, IdCells | Array | NDArray[np.bool_]]:
    pool, model = view.candidates, beliefs.model(view)
    at = np.flatnonzero(pool.present)
    parts = [
        model.summary(X, INTERVAL_LEVEL, len(at))
        for X in (
            pool.inputs_at(at[n : n + PREDICTION_BLOCK_ROWS])
            for n in range(0, len(at), PREDICTION_BLOCK_ROWS)
        )
    ]
    mean, sd, low, high = np.concatenate([np.zeros((4, 0)), *parts], axis=1)
    ids = [pool.ids[n] for n in at.tolist()]
    known = view.mean_labels()
    return {
        "id": object_cells(ids),
        "mean": mean,
        "sd": sd,
        "low": low,
        "high": high,
        "labelled": np.array([name in known for name in ids], dtype=bool),
        "label": np.array([known.get(name, np.nan) for name in ids]),
    }


def _candidates(state: State) -> "pd.DataFrame":
    pool = state.candidates
    ids = [name for name, there in zip(pool.ids, pool.present, strict=True) if there]
    if (frame := pool.frame_rows(ids)) is not None:
        return frame.to_pandas()
    index = pandas().Index(ids, name="id", tupleize_cols=False)
    return pandas().DataFrame(pool.rows(ids), index=index, columns=pool.input_names)


def object_cells(ids: list[Hashable]) -> IdCells:
    """Ids as a column; tuples stay tuples."""
    if not any(isinstance(name, tuple) or name is None for name in ids):
        return ids
    cells = np.empty(len(ids), dtype=object)
    cells[:] = ids
    return cells


_MAX_NAME_LETTERS = 60  # letters of the names that are shown


def line(view: QuantityView) -> str:
    """The learner in one line.

    >>> from weal import ActiveLearner
    >>> ActiveLearner([[1.0, 2.0], [3.0, 4.0]], target="yield [%]")
    <ActiveLearner: 2 candidates, 2 inputs, 0 labels of yield [%], no model before 5>
    """
    found, state = facts(view), view.state
    parts = [f"{found['candidates']} candidates", str(found["inputs"])]
    labels = "1 label" if len(view.labels) == 1 else f"{len(view.labels)} labels"
    parts.append(labels + (f" of {view.quantity.column}" if view.quantity.column else ""))
    parts += [f"{found[name]} {name}" for name in ("asked", "skipped") if found[name]]
    if not view.has_model:
        parts.append(f"no model before {state.settings.n_start}")
    return f"<ActiveLearner: {', '.join(parts)}>"


def page(view: QuantityView) -> str:
    """The learner as HTML."""
    target = view.quantity.column
    title = "ActiveLearner" + (f": {target}" if target else "")
    return facts_html(title, {name: one for name, one in facts(view).items() if one != 0})


def facts(view: QuantityView) -> dict[str, str | int]:
    """The facts of a learner, by name."""
    state, pool, settings = view.state, view.candidates, view.settings
    shown = ", ".join(pool.input_names[:20])
    inputs = pool.plan.describe() if pool.plan else _input_count(pool.n_inputs)
    labels = f"{len(view.labels)}"
    if not view.has_model:
        labels += f" of {settings.n_start} before there is a model"
    return {
        "candidates": int(pool.present.sum()),
        "inputs": inputs,
        "named": "" if pool.columns is None else _short(shown),
        "labels": labels,
        "asked": len(state.asked),
        "skipped": len(state.skipped),
        "chooses by": ", ".join(settings.functions),
    }


def _input_count(d: int) -> str:
    return "1 input" if d == 1 else f"{d} inputs"


def _short(names: str) -> str:
    return names if len(names) <= _MAX_NAME_LETTERS else f"{names[: _MAX_NAME_LETTERS - 3]}..."


def inputs_at(pool: Candidates, where: object) -> tuple[Array, bool]:
    """Inputs (N, d) of ids or rows, and whether it was the id of one candidate."""
    if isinstance(where, np.ndarray):
        return _of_array(pool, where)
    if _is_known(pool, where):
        return pool.x(where)[None], True
    if as_frame(where) is not None:
        return pool.like(where), False
    if isinstance(where, str | bytes) or not isinstance(where, Iterable):
        return pool.x(where)[None], True  # raises: it is not known
    every = list(where)
    if every and not any(_is_known(pool, one) for one in every) and all(map(_is_row, every)):
        return pool.like(np.array(every)), False
    return _of_ids(pool, every), False


def _of_array(pool: Candidates, where: NDArray[np.generic]) -> tuple[Array, bool]:
    if where.ndim == 0:
        return pool.x(where.item())[None], True
    if where.ndim == 1:
        return _of_ids(pool, where.tolist()), False
    return pool.like(where), False


def _of_ids(pool: Candidates, ids: Sequence[Hashable]) -> Array:
    try:
        return pool.inputs(ids)
    except UnknownId as error:
        raise UnknownId(
            f"{str(error).split('. For a point')[0]}. One-dimensional input is read as ids; rows "
            "are given in two, such as [[1.0, 2.0]], or as a frame"
        ) from None


def _is_known(pool: Candidates, name: object) -> bool:
    return isinstance(name, Hashable) and _in(pool, plain_id(name))


def _in(pool: Candidates, name: object) -> bool:
    try:
        return name in pool.index
    except TypeError:  # a tuple that holds a list
        return False


def _is_row(one: object) -> bool:
    return isinstance(one, list | tuple | np.ndarray) and np.ndim(one) == 1
