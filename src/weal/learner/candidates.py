"""The candidates: the user's ids, in the user's order, each with one row of inputs.

A pool may be an array, or a pandas, polars or pyarrow frame (through narwhals, so that weal
depends on none of them). Ids are the user's: a column that `id_column` names, else the index of a
pandas frame, else 0, 1, 2, ... A position, once given, stays: candidates that leave are marked.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from weal.core.arrays import Array
from weal.errors import UnknownId


class Candidates:
    """Ids, rows and inputs of the pool; `present` (U,) tells who has not been removed."""

    def __init__(
        self, pool: Any, ids: Iterable[Hashable] | None = None, id_column: str | None = None
    ):
        self.frame, self.columns, self.X, own = _read(pool, id_column)
        self.id_column = id_column
        self.ids = _check_ids(own if ids is None else list(ids), len(self.X))
        self.index = {name: n for n, name in enumerate(self.ids)}
        self.present: NDArray[np.bool_] = np.ones(len(self.X), dtype=bool)
        _check_inputs(self.X, self.ids)

    def __len__(self) -> int:
        return len(self.ids)

    def position(self, name: Hashable) -> int:
        """Position of an id; UnknownId where the pool has no such candidate."""
        try:
            return self.index[plain(name)]
        except (KeyError, TypeError):
            some = ", ".join(map(repr, self.ids[:5]))
            raise UnknownId(
                f"no candidate has the id {name!r}; the pool's ids are like {some}. For a point "
                "outside the pool call tell_points(X, y)"
            ) from None

    def name(self, given: Hashable) -> Hashable:
        """The id as we keep it."""
        return self.ids[self.position(given)]

    def x(self, given: Hashable) -> Array:  # (d,)
        """The inputs of an id."""
        x: Array = self.X[self.position(given)]
        return x

    def row(self, given: Hashable) -> Any:
        """The row of an id: inputs (d,) for an array, a dict by column for a frame."""
        if self.frame is None:
            return self.x(given).copy()
        return self.frame[[self.position(given)]].rows(named=True)[0]

    def like(self, points: Any) -> Array:  # (N, d)
        """Inputs of other points, checked as the pool's were; columns of a frame by name."""
        frame = nw.from_native(points, eager_only=True, pass_through=True)
        if self.columns is not None and isinstance(frame, nw.DataFrame):
            missing = [name for name in self.columns if name not in frame.columns]
            if missing:
                raise ValueError(f"the points have no columns {missing}, which the pool has")
            points = frame.select(*map(nw.col, self.columns)).to_native()
        _, _, X, _ = _read(points, None)
        if X.shape[1] != self.X.shape[1]:
            raise ValueError(f"the pool has {self.X.shape[1]} inputs; got {X.shape[1]}")
        _check_inputs(X, list(range(len(X))))
        return X

    def rows(self, names: Sequence[Hashable]) -> Any:
        """The rows of these ids, in this order, as the kind of table that the pool was."""
        at = [self.position(name) for name in names]
        return self.X[at].copy() if self.frame is None else self.frame[at].to_native()

    def add(
        self,
        pool: Any,
        ids: Iterable[Hashable] | None = None,
        check: Callable[[Array], object] | None = None,
    ) -> int:
        """Add candidates that pass `check` of their inputs; returns how many there were before."""
        before = len(self)
        frame, _, X, own = _read(pool, self.id_column)
        _refuse_other_kind(self.frame, frame)
        if X.shape[1] != self.X.shape[1]:
            raise ValueError(f"the pool has {self.X.shape[1]} inputs; got {X.shape[1]}")
        if ids is None and own == list(range(len(X))):
            own = list(range(before, before + len(X)))
        names = _check_ids(own if ids is None else list(ids), len(X))
        _refuse_duplicates([*self.ids, *names])
        _check_inputs(X, names)
        if check is not None:
            check(X)
        both = nw.concat([self.frame, frame], how="vertical") if self.frame is not None else None
        X = np.concatenate([self.X, X])
        present = np.concatenate([self.present, np.ones(len(names), dtype=bool)])
        index = self.index | {name: before + n for n, name in enumerate(names)}
        self.frame, self.X, self.present = both, X, present
        self.ids, self.index = [*self.ids, *names], index
        return before


def plain(name: Any) -> Any:
    """An id as Python's own type: numpy's 3 is 3, in a tuple too."""
    if type(name) is tuple:
        return tuple(map(plain, name))
    single = isinstance(name, np.generic) or (isinstance(name, np.ndarray) and not name.ndim)
    return name.item() if single else name


def _read(pool: Any, id_column: str | None) -> tuple[Any, list[str] | None, Array, list[Hashable]]:
    """Frame (or None), columns (or None), inputs (U, d) and the pool's own ids."""
    frame = nw.from_native(pool, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        if id_column is not None:
            raise ValueError("id_column needs a frame; for an array give ids=[...]")
        X = _table(pool)
        return None, None, X, list(range(len(X)))
    inputs = frame
    if id_column is not None:
        if id_column not in frame.columns:
            raise ValueError(f"no column {id_column!r}; the pool has {list(frame.columns)}")
        ids = [plain(name) for name in frame.get_column(id_column).to_list()]
        inputs = frame.drop(id_column)
    else:
        index = nw.maybe_get_index(frame)
        ids = list(range(len(frame))) if index is None else [plain(name) for name in index]
    text = [
        name
        for name, kind in inputs.schema.items()
        if not (kind.is_numeric() or kind == nw.Boolean)
    ]
    if text:
        raise ValueError(
            f"the columns {', '.join(map(repr, text))} do not hold numbers; encode or drop them, "
            "or name the one that holds the ids with id_column"
        )
    return frame, list(inputs.columns), _table(inputs.to_numpy()), ids


def _table(pool: ArrayLike) -> Array:
    X = np.asarray(pool)
    if X.ndim != 2:
        raise ValueError(
            f"a pool is a table with one row for each candidate; got shape {X.shape}. "
            "For one input use X.reshape(-1, 1)"
        )
    text = [value for value in X.flat if isinstance(value, str)] if X.dtype.kind == "O" else []
    if text or X.dtype.kind not in "biufO":
        what = f"text, such as {text[0]!r}" if text else f"values of type {X.dtype}"
        raise ValueError(f"the pool holds {what}; it needs numbers: encode or drop the rest")
    try:
        return np.array(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the pool holds something that is not a number ({error})") from error


def _check_ids(ids: list[Any], U: int) -> list[Hashable]:
    if len(ids) != U:
        raise ValueError(f"got {len(ids)} ids for {U} candidates; it needs one for each")
    names = [plain(name) for name in ids]
    for name in names:
        if not _is_id(name):
            raise ValueError(f"{name!r} cannot be an id: ids are hashable, not None and not NaN")
    _refuse_duplicates(names)
    return names


def _is_id(name: Any) -> bool:
    try:
        return name is not None and isinstance(hash(name), int) and bool(name == name)
    except TypeError:  # not hashable, or pandas' NA, which is not even equal to itself
        return False


def _refuse_other_kind(pool: Any, more: Any) -> None:
    """Refuse a frame (or None, for an array) that cannot be put below the pool's."""
    if pool is None and more is None:
        return
    kinds = [None if frame is None else frame.implementation for frame in (pool, more)]
    names = [None if frame is None else list(frame.columns) for frame in (pool, more)]
    if kinds[0] != kinds[1] or names[0] != names[1]:
        raise ValueError(
            f"the pool has the columns {names[0]}, and what was to be added {names[1]}; "
            "add the same kind of table with the same columns in the same order"
        )
    others = {name: kind for name, kind in more.schema.items() if kind != pool.schema[name]}
    if others and not pool.implementation.is_pandas_like():
        raise ValueError(
            f"what was to be added has the types {others}, and the pool "
            f"{ {name: pool.schema[name] for name in others} }; cast them to the pool's"
        )


def _refuse_duplicates(names: list[Hashable]) -> None:
    if len(set(names)) == len(names):
        return
    seen: set[Hashable] = set()
    twice = [name for name in names if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
    raise ValueError(f"{len(twice)} ids come more than once, such as {twice[:5]}; ids are unique")


def _check_inputs(X: Array, ids: list[Hashable]) -> None:
    if not len(X):
        raise ValueError("the pool is empty; it needs one candidate at the least")
    if not X.shape[1]:
        raise ValueError("the pool has no inputs: not one column besides the ids")
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if len(bad):
        some = [ids[n] for n in bad[:5].tolist()]
        raise ValueError(f"{len(bad)} candidates have NaN or infinite inputs, such as {some}")
