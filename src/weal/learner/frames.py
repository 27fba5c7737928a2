"""A learner as tables and text: labels, predictions, candidates and history as frames.

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
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.errors import UnknownId
from weal.learner.candidates import MAX_CANDIDATES_WITHOUT_SAMPLE, Candidates
from weal.learner.history import History
from weal.learner.label_entry import told_labels
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.quantity_predictions import predict_inputs
from weal.learner.state import State
from weal.quantities.protocol import Quantity
from weal.tables.frame_kinds import FrameKind, check_kind, installed_kind, make_frame
from weal.tables.frames import as_frame, plain_id
from weal.text import facts_html

Columns = dict[str, Any]  # of a table, by name
IdCells = list[Hashable] | NDArray[np.object_]  # the ids of a table
LEARNER_TABLES = ("labels", "predictions", "candidates", "history")
INTERVAL_LEVEL = 0.9  # of the intervals
PREDICTION_BLOCK_ROWS = 20_000  # candidates that are predicted at a time


def frame(
    state: State, beliefs: PosteriorCache, what: str = "labels", kind: str | None = None
) -> Any:
    """One of LEARNER_TABLES as a frame of this kind, or of that of the pool."""
    found = check_kind(kind) or state.candidates.frame_kind
    if what not in LEARNER_TABLES:
        raise ValueError(f"there is no table of {what!r}; there are {', '.join(LEARNER_TABLES)}")
    if what in ("predictions", "candidates"):
        _refuse_many(state, what)
    if what == "history":
        rows = History(state.history)
        rows.kind = found
        return rows.to_frame()
    if what == "candidates":
        return _candidates(state, found)
    made = _labels(state) if what == "labels" else _predictions(state, beliefs)
    return make_frame(made, found)


def _refuse_many(state: State, what: str) -> None:
    """Refuse one table of many candidates in shards."""
    pool = state.candidates
    if pool.in_shards and len(pool) > MAX_CANDIDATES_WITHOUT_SAMPLE:
        raise ValueError(
            f"{len(pool):,} {what} are too many for one table; learner.predict_pool(folder) writes "
            "predictions shard by shard"
        )


def _labels(state: State) -> Columns:
    """The labels; of several quantities or words, with the quantity and the label as told."""
    if len(state.measured) == 1 and not state.measured[0].words:
        labels = told_labels(state, state.measured[0])
        return {
            "id": object_cells([label.name for label in labels]),
            "label": np.array([label.y for label in labels]),
            "noise": np.array([label.noise for label in labels]),
        }
    rows = [(one, label) for one in state.measured for label in told_labels(state, one)]
    shown = [_shown_label(quantity, label.y) for quantity, label in rows]
    return {
        "id": object_cells([label.name for _, label in rows]),
        "quantity": [quantity.name for quantity, _ in rows],
        "label": np.array(shown, dtype=object),
        "noise": np.array([label.noise for _, label in rows]),
    }


def _shown_label(quantity: Quantity, label: float) -> object:
    """A label as users tell it: a number, or a word."""
    return quantity.format(label) if quantity.words else label


def _predictions(state: State, beliefs: PosteriorCache) -> Columns:
    """The predictions of all quantities; the columns of several begin with the quantity."""
    pool = state.candidates
    at = np.flatnonzero(pool.present)
    ids = [pool.ids[n] for n in at.tolist()]
    table: Columns = {"id": object_cells(ids)}
    for one in state.measured:
        found = _quantity_columns(state, beliefs, one, at)
        known = _mean_labels(state, one)
        found["labelled"] = np.array([name in known for name in ids], dtype=bool)
        missing = None if one.words else np.nan
        found["label"] = np.array(
            [known.get(name, missing) for name in ids], dtype=object if one.words else np.float64
        )
        start = f"{one.name} " if len(state.measured) > 1 else ""
        table |= {f"{start}{name}": cells for name, cells in found.items()}
    return table


def _mean_labels(state: State, quantity: Quantity) -> dict[Hashable, object]:
    """The mean of the labels of each row; of words, the last one."""
    rows = told_labels(state, quantity).by_name.items()
    if quantity.words:
        return {name: quantity.format(several[-1].y) for name, several in rows}
    return {name: float(np.mean([one.y for one in several])) for name, several in rows}


def _quantity_columns(
    state: State, beliefs: PosteriorCache, quantity: Quantity, at: NDArray[np.intp]
) -> Columns:
    """Predictions of a quantity for the candidates `at`, in columns."""
    if not state.view(quantity.parts()[0].name).has_model and len(state.measured) > 1:
        return {}  # not measured enough yet
    pool, model_rows = state.candidates, len(at)
    parts = [
        predict_inputs(state, beliefs, quantity, X, INTERVAL_LEVEL, model_rows)
        for X in (
            pool.inputs_at(at[n : n + PREDICTION_BLOCK_ROWS])
            for n in range(0, max(model_rows, 1), PREDICTION_BLOCK_ROWS)
        )
    ]
    columns: Columns = {}
    for name in ("mean", "sd", "low", "high"):
        cells = [getattr(part, name) for part in parts]
        if all(one is not None for one in cells):
            columns[name] = np.concatenate(cells)
    for k, word in enumerate(quantity.words):
        each = [part.probabilities[:, k] for part in parts if part.probabilities is not None]
        columns[f"P({word})"] = np.concatenate(each)
    return columns


def _candidates(state: State, kind: FrameKind | None) -> Any:
    pool = state.candidates
    ids = [name for name, there in zip(pool.ids, pool.present, strict=True) if there]
    if (frame := pool.frame_rows(ids)) is not None:
        return frame.to_native() if kind == pool.frame_kind else _converted(frame, kind)
    X, names = np.asarray(pool.rows(ids)), pool.input_names
    if installed_kind(kind) != "pandas":
        return make_frame({"id": ids, **dict(zip(names, X.T, strict=True))}, kind)
    library = import_module("pandas")
    index = library.Index(ids, name="id", tupleize_cols=False)
    return library.DataFrame(X, index=index, columns=names)


def _converted(frame: Any, kind: FrameKind | None) -> Any:
    """A narwhals frame as a native frame of another kind."""
    if kind == "pandas":
        return frame.to_pandas()
    return frame.to_polars() if kind == "polars" else frame.to_arrow()


def object_cells(ids: list[Hashable]) -> IdCells:
    """Ids as a column; tuples stay tuples."""
    if not any(isinstance(name, tuple) or name is None for name in ids):
        return ids
    cells = np.empty(len(ids), dtype=object)
    cells[:] = ids
    return cells


_MAX_NAME_LETTERS = 60  # letters of the names that are shown


def line(state: State) -> str:
    """The learner in one line.

    >>> from weal import ActiveLearner
    >>> ActiveLearner([[1.0, 2.0], [3.0, 4.0]], target="yield [%]")
    <ActiveLearner: 2 candidates, 2 inputs, 0 labels of yield [%], no model before 5>
    """
    found = facts(state)
    parts = [f"{found['candidates']} candidates", str(found["inputs"])]
    for one in state.measured:
        n = len(state.quantities[one.parts()[0].name].labels)
        labels = "1 label" if n == 1 else f"{n} labels"
        parts.append(labels + (f" of {one.column}" if one.column else ""))
    parts += [f"{found[name]} {name}" for name in ("failed", "asked", "skipped") if found[name]]
    if not _has_model(state):
        parts.append(f"no model before {state.settings.n_start}")
    return f"<ActiveLearner: {', '.join(parts)}>"


def page(state: State) -> str:
    """The learner as HTML."""
    target = ", ".join(one.column for one in state.measured if one.column)
    title = "ActiveLearner" + (f": {target}" if target else "")
    return facts_html(title, {name: one for name, one in facts(state).items() if one != 0})


def _has_model(state: State) -> bool:
    return any(one.selection is not None for one in state.parts.values())


def facts(state: State) -> dict[str, str | int]:
    """The facts of a learner, by name."""
    pool, settings = state.candidates, state.settings
    shown = ", ".join(pool.input_names[:20])
    inputs = pool.plan.describe() if pool.plan else _input_count(pool.n_inputs)
    labels = f"{state.n_labels}"
    if not _has_model(state):
        labels += f" of {settings.n_start} before there is a model"
    return {
        "candidates": int(pool.present.sum()),
        "inputs": inputs,
        "named": "" if pool.columns is None else _short(shown),
        "labels": labels,
        "failed": len([name for name in state.labelled if state.has_failed(name)]),
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
