"""A learner as a header and arrays, for `weal.model.archive`.

Labels, ids and the state of the model are kept as they are; of the beliefs on pool and validation
points the means, variances and relevances too, so that a learner that was reopened asks what the
unbroken one would have asked. A function of the user's own cannot be kept: it is given again.
"""

import math
import os
from collections.abc import Hashable
from dataclasses import replace
from importlib import import_module
from typing import Any

import narwhals as nw
import numpy as np

from weal.core.arrays import Array
from weal.errors import UnreadableFile
from weal.learner.candidates import Candidates, plain
from weal.learner.choosing import is_ours, resolve
from weal.learner.history import History
from weal.learner.knowledge import Knowledge
from weal.learner.labels import Label
from weal.model import archive, model_file
from weal.model.regressor import EnsembleGPRegressor

KIND = "ActiveLearner"
_MODEL = "model_"  # prefix of the model's arrays


def save(learner: Any, path: str | os.PathLike[str]) -> None:
    """Write the learner."""
    model, queries = learner._knowledge.model, learner._queries
    fitted, state = model_file.pack(model) if learner._knowledge.fitted else (None, {})
    header = {
        "pool": _pool_header(learner.candidates),
        "acquisition": list(learner.chooser.functions),
        "own": [name for name, f in learner.chooser.functions.items() if not is_ours(name, f)],
        "eta": learner.chooser.eta,
        "score_scaling": learner.chooser.scaling,
        "n_start": learner.n_start,
        "seed": learner.seed,
        "memory": learner.memory,
        "label_ids": [_id(label.name) for label in learner.labels],
        "pending": [[_id(name), row] for name, row in learner.pending.items()],
        "skipped": [_id(name) for name in learner.skipped],
        "batch": [_id(name) for name in queries.batch],
        "news": [queries.news, queries.adapted],
        "history": [_finite({**row, "id": _id(row["id"])}) for row in learner.history],
        "params": model_file.pack_params(model),
        "model": fitted,
    }
    arrays = _pool_arrays(learner.candidates) | _learner_arrays(learner)
    archive.write(path, KIND, header, arrays | {_MODEL + name: a for name, a in state.items()})


def load(cls: Any, path: str | os.PathLike[str], acquisition: Any = None) -> Any:
    """The learner of class `cls` that `save` wrote."""
    header, arrays = archive.read(path, KIND)
    chosen = _chosen(header.get("acquisition"), header.get("own"), acquisition)
    try:
        return _load(cls, header, arrays, chosen)
    except UnreadableFile:
        raise
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        raise UnreadableFile(
            f"{path} is one of weal's, but not a whole learner ({type(error).__name__}: {error}); "
            "restore it from a copy, or save it again"
        ) from error


def _chosen(names: Any, own: Any, acquisition: Any) -> Any:
    """The acquisition functions of a file, or those that were given again."""
    if acquisition is None and own:
        raise ValueError(
            f"the learner asks by functions of your own ({', '.join(own)}), which no file keeps; "
            "give them again: load(path, acquisition=...)"
        )
    if acquisition is not None and list(resolve(acquisition)) != names:
        raise ValueError(
            f"the learner asks by {names}, and {list(resolve(acquisition))} was given; give the "
            "same functions in the same order, since their weights are in the file"
        )
    return names if acquisition is None else acquisition


def _load(cls: Any, header: dict[str, Any], arrays: dict[str, Array], acquisition: Any) -> Any:
    pool = header["pool"]
    learner = cls(
        EnsembleGPRegressor(**model_file.unpack_params(header["params"])),
        _pool(pool, arrays),
        acquisition,
        ids=[_unid(name) for name in pool["ids"]] if pool["id_column"] is None else None,
        id_column=pool["id_column"],
        validation=(arrays["validation_x"], arrays["validation_y"])
        if "validation_x" in arrays
        else None,
        target=arrays.get("target"),
        **{name: header[name] for name in ("eta", "score_scaling", "n_start", "seed", "memory")},
    )
    learner.candidates.present[:] = arrays["present"].astype(bool)
    learner.chooser.log_omega = arrays["log_omega"]
    rows = zip(
        header["label_ids"],
        arrays["label_x"],
        arrays["label_y"],
        arrays["label_noise"],
        strict=True,
    )
    for name, x, y, noise in rows:
        learner.labels.add(Label(_unid(name), x, float(y), float(noise)))
    queries = learner._queries
    queries.pending = {_unid(name): row for name, row in header["pending"]}
    queries.skipped = {_unid(name) for name in header["skipped"]}
    queries.batch = [_unid(name) for name in header["batch"]]
    queries.news, queries.adapted = header["news"]
    queries.history = History(_unfinite(row) for row in header["history"])
    if header["model"] is not None:
        state = {n.removeprefix(_MODEL): a for n, a in arrays.items() if n.startswith(_MODEL)}
        learner._knowledge = Knowledge(
            model_file.unpack(EnsembleGPRegressor, header["model"], state)
        )
        learner._catch_up()
        _restore_beliefs(learner._knowledge, arrays)
    return learner


def _learner_arrays(learner: Any) -> dict[str, Array]:
    X, y, noise = learner.labels.arrays()
    arrays: dict[str, Any] = {
        "label_x": X.reshape(len(y), learner.candidates.X.shape[1]),
        "label_y": y,
        "label_noise": noise,
        "log_omega": learner.chooser.log_omega,
    }
    if learner.target is not None:
        arrays["target"] = learner.target
    if learner.validation is not None:
        arrays["validation_x"], arrays["validation_y"] = learner.validation
    known = learner._knowledge
    if known.pool is not None:
        arrays |= {"pool_mu": known.pool.mu, "pool_v": known.pool.v}
        if known.pool.q is not None:
            arrays["pool_q"] = known.pool.q
    if known.judged is not None:
        arrays |= {"judged_mu": known.judged.mu, "judged_v": known.judged.v}
    return arrays


def _restore_beliefs(known: Knowledge, arrays: dict[str, Array]) -> None:
    pool = known.pool
    if pool is not None and "pool_mu" in arrays:
        pool.mu[...], pool.v[...] = arrays["pool_mu"], arrays["pool_v"]
        if pool.q is not None and "pool_q" in arrays:
            pool.q[...] = arrays["pool_q"]
    if known.judged is not None and "judged_mu" in arrays:
        known.judged = replace(known.judged, mu=arrays["judged_mu"], v=arrays["judged_v"])


def _pool_header(pool: Candidates) -> dict[str, Any]:
    ids = [_id(name) for name in pool.ids]
    if pool.frame is None:
        return {"ids": ids, "id_column": None, "frame": None}
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
        "columns": [_id(name) for name in frame.columns],
        "dtypes": [str(dtype) for dtype in frame.schema.values()],
    }
    if not frame.implementation.is_pandas():
        return header
    index = native.index
    names = [_id(plain(name)) for name in index]
    kinds = getattr(index, "dtypes", [getattr(index, "dtype", None)])
    return header | {
        "dtypes": [str(dtype) for dtype in native.dtypes],
        "index": None if names == ids else names,
        "index_names": list(index.names),
        "index_dtypes": [str(kind) for kind in kinds],
    }


def _pool_arrays(pool: Candidates) -> dict[str, Array]:
    arrays: dict[str, Any] = {"present": pool.present.astype(np.uint8)}
    if pool.frame is None:
        return arrays | {"X": pool.X}
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


def _pool(header: dict[str, Any], arrays: dict[str, Array]) -> Any:
    """The pool as the kind of table that it was."""
    if header["frame"] is None:
        return arrays["X"]
    ids = [_unid(name) for name in header["ids"]]
    names = [_unid(name) for name in header["columns"]]
    columns = {
        name: ids if name == header["id_column"] else arrays[f"column_{n}"]
        for n, name in enumerate(names)
    }
    if header["frame"] == "pandas":
        return _pandas(header, columns, ids)
    frame = nw.from_dict(columns, backend=header["frame"])
    kinds = zip(names, header["dtypes"], strict=True)
    cast = (nw.col(name).cast(getattr(nw, kind)) for name, kind in kinds)
    return frame.with_columns(cast).to_native()


def _pandas(header: dict[str, Any], columns: dict[Any, Any], ids: list[Any]) -> Any:
    pandas = import_module("pandas")
    kept = header["index"]
    index = pandas.Index(ids if kept is None else [_unid(name) for name in kept])
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


def _id(name: Hashable) -> Any:
    """An id as JSON; a tuple as a list."""
    if name is None or isinstance(name, str | bool | int | float):
        return name
    if isinstance(name, tuple):
        return [_id(part) for part in name]
    raise ValueError(
        f"the id {name!r} is a {type(name).__name__}; a file keeps ids that are text, numbers or "
        "tuples of them: turn the ids into text first"
    )


def _unid(name: Any) -> Any:
    return tuple(_unid(part) for part in name) if isinstance(name, list) else name


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    """JSON has no NaN: it is kept as "nan"."""
    return {name: "nan" if value != value else value for name, value in row.items()}


def _unfinite(row: dict[str, Any]) -> dict[str, Any]:
    numbers = {name: math.nan for name in ("score", "mean", "std") if row[name] == "nan"}
    return {**row, "id": _unid(row["id"])} | numbers
