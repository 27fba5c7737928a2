"""The candidates of a learner as a header and arrays; a frame keeps its kind.

Columns of numbers and booleans without a gap are arrays. Text, categories, dates and columns
with gaps are lists of cells in the header:

    {"kind": "Categorical", "cells": ["oil", null], "levels": ["oil", "water"]}

A cell is text, a number, a boolean, null, {"day": ...} or {"time": ...} in ISO format. Lists,
bytes and durations are not inputs and are not kept. The plan is kept, so that a loaded learner
reads frames as before. A function that computes costs cannot be kept: its numbers are.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

import numpy as np

from weal.core.arrays import Array
from weal.formats.codec import Arrays, Header, Json, id_from_json, id_to_json
from weal.learner.candidates import Candidates
from weal.learner.memory_candidates import MemoryCandidates, of_inputs
from weal.learner.sharded_candidates import ShardedCandidates, read_shards
from weal.shards.dataset import (
    dataset_from_json,
    dataset_to_json,
    encoder_from_json,
    encoder_to_json,
    open_pool,
)
from weal.tables.design_file import space_from_json, space_to_json
from weal.tables.frames import as_frame, plain_id
from weal.tables.inputs import Inputs, frame_ids, inputs_of
from weal.tables.plan import TablePlan

if TYPE_CHECKING:
    import narwhals as nw
    import pandas as pd

    from weal.tables.frames import Series

_PLAIN_DTYPES = (
    "String",
    "Object",
    "Categorical",
    "Enum",
    "Boolean",
    "Date",
    "Datetime",
    "Unknown",
)


CandidatesOfKind = Any  # those of one `file_tag`


class PackedColumn(TypedDict):
    """A column of cells in the header."""

    kind: str  # the type in narwhals
    cells: list[Json]
    levels: NotRequired[list[Json]]  # of a category
    unit: NotRequired[Literal["ns", "us", "ms", "s"]]  # of a datetime
    zone: NotRequired[str | None]


def pack_column(series: "Series") -> PackedColumn:
    """The column as JSON; ValueError if its type cannot be stored."""
    import narwhals as nw

    kind = type(series.dtype).__name__
    if not (series.dtype.is_numeric() or kind in _PLAIN_DTYPES):
        raise _unsupported_error(series)
    cells = [_pack_cell(cell, series) for cell in series.to_list()]
    kept: PackedColumn = {"kind": kind, "cells": cells}
    if kind in ("Categorical", "Enum") and (levels := _levels(series)):
        kept["levels"] = [_pack_cell(one, series) for one in levels]
    if isinstance(series.dtype, nw.Datetime):
        kept |= {"unit": series.dtype.time_unit, "zone": series.dtype.time_zone}
    return kept


def unpack_column(kept: PackedColumn) -> list[Json]:
    """The cells of a column as Python values."""
    return [_unpack_cell(cell) for cell in kept["cells"]]


def column_kind(kept: PackedColumn) -> "nw.dtypes.DType":
    """The narwhals type of the column."""
    import narwhals as nw

    if kept["kind"] == "Datetime":
        return nw.Datetime(kept["unit"], kept["zone"])
    if kept["kind"] == "Enum":
        return nw.Enum(kept["levels"])
    found: nw.dtypes.DType = getattr(nw, kept["kind"])()
    return found


def _levels(series: "Series") -> list[object]:
    """All levels of a categorical column in their order; empty if the type does not list them."""
    if series.implementation.is_pandas():
        return list(series.to_native().cat.categories.tolist())
    return list(getattr(series.dtype, "categories", ()))


def _pack_cell(cell: object, series: "Series") -> Json:
    cell = plain_id(cell)
    if cell is None or type(cell).__name__ in ("NAType", "NaTType") or cell != cell:
        return None
    if isinstance(cell, date):  # a datetime is one too
        return {"time" if isinstance(cell, datetime) else "day": cell.isoformat()}
    if isinstance(cell, str | bool | int | float):
        return cell
    raise _unsupported_error(series)


def _unpack_cell(cell: Json) -> Json:
    if not isinstance(cell, dict):
        return cell
    return (
        date.fromisoformat(cell["day"]) if "day" in cell else datetime.fromisoformat(cell["time"])
    )


def _unsupported_error(series: "Series") -> ValueError:
    return ValueError(
        f"the column {series.name!r} is {series.dtype}; a file keeps columns of text, categories, "
        "dates, numbers and booleans: cast or drop it first"
    )


def pack_candidates(pool: Candidates) -> tuple[Header, Arrays]:
    """Header and arrays of the candidates; for files, their description."""
    return _PACK[pool.file_tag](pool)


def _pack_memory(pool: MemoryCandidates) -> tuple[Header, Arrays]:
    arrays, texts = _arrays(pool)
    arrays["present"] = pool.present.astype(np.uint8)
    if pool.cost is not None:
        arrays["cost"] = pool.cost
    more = {
        "cells": texts,
        "inputs": None if pool.columns is None else [id_to_json(name) for name in pool.columns],
        "plan": None if pool.plan is None else pool.plan.to_json(),
        "target": pool.target,
        "targets": list(pool.targets),  # not in files of weal 0.2
        "cost_by": pool.cost_by if isinstance(pool.cost_by, str) else None,
    }
    box = {} if pool.box is None else {"box": space_to_json(pool.box)}
    return _header(pool) | more | box, arrays


def _pack_shards(pool: ShardedCandidates) -> tuple[Header, Arrays]:
    left: Header = {"closed": sorted(pool.closed)}
    arrays: Arrays = {"removed": pool.removed}
    if pool.dataset.in_memory:
        arrays["X"] = pool.dataset.memory_rows()
        names = [id_to_json(name) for name in pool.ids[:]]
        return {"shards": None, "ids": names, **left}, arrays
    plan = encoder_to_json(pool.encoder)
    return {"shards": dataset_to_json(pool.dataset), "plan": plan, **left}, arrays


_PACK: dict[str, Callable[[CandidatesOfKind], tuple[Header, Arrays]]] = {
    MemoryCandidates.file_tag: _pack_memory,
    ShardedCandidates.file_tag: _pack_shards,
}


def _unpack_shards(header: Header, arrays: Arrays) -> ShardedCandidates:
    if header["shards"] is None:
        own = [id_from_json(name) for name in header["ids"]]
        found = read_shards(open_pool(arrays["X"], ids=own), 0)
    else:
        shards = dataset_from_json(header["shards"])
        found = read_shards(shards, 0, encoder=encoder_from_json(header["plan"], shards))
    removed = arrays["removed"].astype(np.int64)
    return replace(found, removed=removed, closed=frozenset(map(int, header["closed"])))


def unpack_candidates(header: Header, arrays: Arrays) -> Candidates:
    """The candidates that `pack_candidates` encoded; older files have no plan."""
    if "shards" in header:
        return _unpack_shards(header, arrays)
    own = header["id_column"] is not None
    ids = None if own else [id_from_json(name) for name in header["ids"]]
    pool = of_inputs(_inputs(header, _table(header, arrays)), ids, header["id_column"])
    present, cost = arrays["present"].astype(bool), arrays.get("cost")
    if present.shape != (len(pool),):
        raise ValueError(f"its mask has {len(present)} entries for {len(pool)} candidates")
    if cost is not None and (cost.shape != present.shape or not (cost > 0.0).all()):
        raise ValueError("its costs are not one number above 0 for each candidate")
    first, by = header.get("target"), header.get("cost_by")
    targets = tuple(header.get("targets", [] if first is None else [first]))
    box = space_from_json(header["box"]) if "box" in header else None
    return replace(pool, present=present, targets=targets, cost=cost, cost_by=by, box=box)


def _inputs(header: Header, table: object) -> Inputs:
    frame, kept = as_frame(table), header.get("plan")
    plan = None if kept is None else TablePlan.from_json(kept)
    if frame is None:
        X = inputs_of(table, None, None)
        return Inputs(None, None, X, list(range(len(X))))
    names = header.get("inputs") or [n for n in header["columns"] if n != header["id_column"]]
    columns = tuple(id_from_json(name) for name in names)
    own = frame_ids(frame, header["id_column"])
    return Inputs(frame, columns, inputs_of(table, columns, plan), own, plan)


def _header(pool: MemoryCandidates) -> Header:
    ids = [id_to_json(name) for name in pool.ids]
    if pool.frame is None:
        return {"ids": ids, "id_column": None, "frame": None}
    import narwhals as nw

    frame, native = pool.frame, pool.frame.to_native()
    kind = str(frame.schema.get(pool.id_column or "", nw.String))
    if not (frame.implementation.is_pandas() or hasattr(nw, kind)):
        raise ValueError(
            f"the ids are {kind}, which a file cannot keep: turn the column into text first"
        )
    header = {
        "ids": ids,
        "id_column": pool.id_column,
        "frame": frame.implementation.value,
        "columns": [id_to_json(name) for name in frame.columns],
        "dtypes": [str(dtype) for dtype in frame.schema.values()],
    }
    if not frame.implementation.is_pandas():
        return header
    index = native.index
    names = [id_to_json(plain_id(name)) for name in index]
    kinds = getattr(index, "dtypes", [getattr(index, "dtype", None)])
    return header | {
        "dtypes": [str(dtype) for dtype in native.dtypes],
        "index": None if names == ids else names,
        "index_names": list(index.names),
        "index_dtypes": [str(kind) for kind in kinds],
    }


def _arrays(pool: MemoryCandidates) -> tuple[Arrays, dict[str, PackedColumn]]:
    """Columns as arrays, and columns that are lists of cells, by their number."""
    if pool.frame is None:
        return {"X": pool.X}, {}
    arrays: Arrays = {}
    texts: dict[str, PackedColumn] = {}
    for n, name in enumerate(pool.frame.columns):
        if name == pool.id_column:
            continue
        series = pool.frame.get_column(name)
        if (column := _numbers(series)) is None:
            texts[str(n)] = pack_column(series)
        else:
            arrays[f"column_{n}"] = column
    return arrays, texts


def _numbers(series: "Series") -> Array | None:
    """A column as a numeric array; None for other types, or for nulls that are not NaN."""
    import narwhals as nw

    plain = series.dtype.is_numeric() or series.dtype == nw.Boolean
    nan = series.dtype.is_float() and series.implementation.is_pandas()
    if not plain or (series.null_count() and not nan):
        return None
    column: Array = series.to_numpy()
    if column.dtype == np.float16:
        column = column.astype(np.float32)
    return column if column.dtype.kind in "biuf" else None


def _table(header: Header, arrays: Arrays) -> object:
    """The pool as the type of table that it came in."""
    if header["frame"] is None:
        return arrays["X"]
    ids = [id_from_json(name) for name in header["ids"]]
    names = [id_from_json(name) for name in header["columns"]]
    texts = {int(n): cells for n, cells in header.get("cells", {}).items()}
    columns = {
        name: ids if name == header["id_column"] else _column(n, texts, arrays)
        for n, name in enumerate(names)
    }
    if header["frame"] == "pandas":
        return _pandas(header, columns, ids)
    import narwhals as nw

    frame = nw.from_dict(columns, backend=header["frame"])
    kinds = [
        column_kind(texts[n]) if n in texts else getattr(nw, kind)
        for n, kind in enumerate(header["dtypes"])
    ]
    known = [(name, kind) for name, kind in zip(names, kinds, strict=True) if kind != nw.Unknown]
    return frame.with_columns(nw.col(name).cast(kind) for name, kind in known).to_native()


def _column(n: int, texts: dict[int, PackedColumn], arrays: Arrays) -> list[Json] | Array:
    return unpack_column(texts[n]) if n in texts else arrays[f"column_{n}"]


def _pandas(
    header: Header, columns: Mapping[Hashable, Sequence[Json] | Array], ids: Sequence[Hashable]
) -> "pd.DataFrame":
    import pandas as pd

    kept = header["index"]
    index = pd.Index(ids if kept is None else [id_from_json(name) for name in kept])
    kinds = header["index_dtypes"]
    if len(kinds) > 1:
        levels = [index.get_level_values(n).astype(kind) for n, kind in enumerate(kinds)]
        index = pd.MultiIndex.from_arrays(levels)
    else:
        index = index.astype(kinds[0])
    index.names = header["index_names"]
    known = {int(n): one.get("levels") for n, one in header.get("cells", {}).items()}
    series = [
        _series(values, index, kind, known.get(n))
        for n, (values, kind) in enumerate(zip(columns.values(), header["dtypes"], strict=True))
    ]
    return pd.concat(series, axis=1, keys=list(columns))


def _series(
    values: Sequence[Json] | Array, index: "pd.Index", kind: str, levels: list[Json] | None
) -> "pd.Series":
    """A pandas column; a categorical one with its levels."""
    import pandas as pd

    dtype = kind if levels is None else pd.CategoricalDtype(levels)
    return pd.Series(values, index=index, dtype=dtype)
