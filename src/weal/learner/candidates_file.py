"""The candidates of a learner as a header and arrays, a frame as the kind of table that it was."""

from collections.abc import Hashable
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from weal.core.arrays import Array
from weal.learner.candidates import Candidates, read_candidates
from weal.learner.sharded.candidates import Pooled, ShardedCandidates, read_shards
from weal.shards.description import describe, described, encoder_from_json, encoder_to_json
from weal.shards.pool import open_pool
from weal.shards.shard import ArrayShard
from weal.table.matrix import plain_id


def pack(pool: Pooled) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of the candidates; of those in files, what they are known by."""
    if isinstance(pool, ShardedCandidates):
        return _pack_shards(pool)
    return _header(pool), _arrays(pool) | {"present": pool.present.astype(np.uint8)}


def _pack_shards(pool: ShardedCandidates) -> tuple[dict[str, Any], dict[str, Array]]:
    left: dict[str, Any] = {"closed": sorted(pool.closed)}
    arrays: dict[str, Any] = {"removed": pool.removed}
    if pool.pool.in_memory:
        parts = [part for part in pool.pool.parts if isinstance(part, ArrayShard)]
        arrays["X"] = np.concatenate([part.X for part in parts])
        names = [pack_id(name) for name in pool.ids[:]]
        return {"shards": None, "ids": names, **left}, arrays
    own = encoder_to_json(pool.encoder)
    return {"shards": describe(pool.pool), **own, **left}, arrays


def _unpack_shards(header: dict[str, Any], arrays: dict[str, Array]) -> ShardedCandidates:
    if header["shards"] is None:
        own = [unpack_id(name) for name in header["ids"]]
        found = read_shards(open_pool(arrays["X"], ids=own), 0)
    else:
        shards = described(header["shards"])
        found = read_shards(shards, 0, encoder=encoder_from_json(header, shards))
    removed = arrays["removed"].astype(np.int64)
    return replace(found, removed=removed, closed=frozenset(map(int, header["closed"])))


def unpack(header: dict[str, Any], arrays: dict[str, Array]) -> Pooled:
    """The candidates that `pack` took apart."""
    if "shards" in header:
        return _unpack_shards(header, arrays)
    own = header["id_column"] is not None
    ids = None if own else [unpack_id(name) for name in header["ids"]]
    pool = read_candidates(_table(header, arrays), ids, header["id_column"])
    present = arrays["present"].astype(bool)
    if present.shape != (len(pool),):
        raise ValueError(f"it says of {len(present)} candidates, not {len(pool)}, who is left")
    return replace(pool, present=present)


def _header(pool: Candidates) -> dict[str, Any]:
    ids = [pack_id(name) for name in pool.ids]
    if pool.frame is None:
        return {"ids": ids, "id_column": None, "frame": None}
    import narwhals as nw

    frame, native = pool.frame, pool.frame.to_native()
    kind = str(frame.schema.get(pool.id_column, nw.String))
    if not (frame.implementation.is_pandas() or hasattr(nw, kind)):
        raise ValueError(
            f"the ids are {kind}, which a file cannot keep: turn the column into text first"
        )
    header = {
        "ids": ids,
        "id_column": pool.id_column,
        "frame": frame.implementation.value,
        "columns": [pack_id(name) for name in frame.columns],
        "dtypes": [str(dtype) for dtype in frame.schema.values()],
    }
    if not frame.implementation.is_pandas():
        return header
    index = native.index
    names = [pack_id(plain_id(name)) for name in index]
    kinds = getattr(index, "dtypes", [getattr(index, "dtype", None)])
    return header | {
        "dtypes": [str(dtype) for dtype in native.dtypes],
        "index": None if names == ids else names,
        "index_names": list(index.names),
        "index_dtypes": [str(kind) for kind in kinds],
    }


def _arrays(pool: Candidates) -> dict[str, Array]:
    if pool.frame is None:
        return {"X": pool.X}
    arrays: dict[str, Any] = {}
    for n, name in enumerate(pool.frame.columns):
        if name == pool.id_column:
            continue
        column = pool.frame.get_column(name).to_numpy()
        if column.dtype == np.float16:
            column = column.astype(np.float32)
        if column.dtype.kind not in "biuf":
            raise ValueError(
                f"the column {name!r} is {pool.frame.schema[name]}; a file keeps columns of "
                "floats, whole numbers and truth values: cast it first"
            )
        arrays[f"column_{n}"] = column
    return arrays


def _table(header: dict[str, Any], arrays: dict[str, Array]) -> Any:
    """The pool as the kind of table that it was."""
    if header["frame"] is None:
        return arrays["X"]
    ids = [unpack_id(name) for name in header["ids"]]
    names = [unpack_id(name) for name in header["columns"]]
    columns = {
        name: ids if name == header["id_column"] else arrays[f"column_{n}"]
        for n, name in enumerate(names)
    }
    if header["frame"] == "pandas":
        return _pandas(header, columns, ids)
    import narwhals as nw

    frame = nw.from_dict(columns, backend=header["frame"])
    kinds = zip(names, header["dtypes"], strict=True)
    cast = (nw.col(name).cast(getattr(nw, kind)) for name, kind in kinds)
    return frame.with_columns(cast).to_native()


def _pandas(header: dict[str, Any], columns: dict[Any, Any], ids: list[Any]) -> Any:
    pandas = import_module("pandas")
    kept = header["index"]
    index = pandas.Index(ids if kept is None else [unpack_id(name) for name in kept])
    kinds = header["index_dtypes"]
    if len(kinds) > 1:
        levels = [index.get_level_values(n).astype(kind) for n, kind in enumerate(kinds)]
        index = pandas.MultiIndex.from_arrays(levels)
    else:
        index = index.astype(kinds[0])
    index.names = header["index_names"]
    series = [
        pandas.Series(values, index=index, dtype=kind)
        for values, kind in zip(columns.values(), header["dtypes"], strict=True)
    ]
    return pandas.concat(series, axis=1, keys=list(columns))


def pack_id(name: Hashable) -> Any:
    """An id as JSON; a tuple as a list."""
    if name is None or isinstance(name, str | bool | int | float):
        return name
    if isinstance(name, tuple):
        return [pack_id(part) for part in name]
    raise ValueError(
        f"the id {name!r} is a {type(name).__name__}; a file keeps ids that are text, numbers or "
        "tuples of them: turn the ids into text first"
    )


def unpack_id(name: Any) -> Any:
    """An id that `pack_id` took apart."""
    return tuple(unpack_id(part) for part in name) if isinstance(name, list) else name
