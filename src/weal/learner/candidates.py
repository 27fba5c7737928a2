"""The candidates: the user's ids, in the user's order, each with one row of inputs; a value.

A pool may be an array, or a pandas, polars or pyarrow frame (`weal.tables.inputs`): of numbers, or
of text, categories, dates and gaps, which a plan turns into inputs. Ids are the user's: a column
that `id_column` names, else the index of a pandas frame, else 0, 1, 2, ... A position, once given,
stays: candidates that leave are marked.

What a label of each candidate costs: by a column, a function of the row, or numbers given.

A cost divides the scores that are amounts of variance (`core.paper.acquisition.is_amount`): what is
gained for each unit spent. Only ratios of costs matter.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.errors import UnknownId
from weal.tables.frames import as_frame, plain_id
from weal.tables.inputs import Inputs, frame_ids, frame_labels, inputs_of, read_inputs
from weal.tables.plan import TablePlan

Cost = str | Callable[[Any], float] | None  # how costs are found; None: none, or given as numbers


def read_costs(
    cost: Any, frame: Any | None, rows: Iterable[Any], ids: Sequence[Hashable]
) -> Array | None:  # (N,)
    """The costs of candidates; `rows` are what a function of them gets."""
    if cost is None:
        return None
    if isinstance(cost, str):
        values = _column(cost, frame)
    elif callable(cost):
        values = [_call_cost(cost, row, name) for row, name in zip(rows, ids, strict=True)]
    else:
        values = list(cost)
    if len(values) != len(ids):
        raise ValueError(
            f"got {len(values)} costs for {len(ids)} candidates; it needs one for each"
        )
    return np.array([_positive(value, name) for value, name in zip(values, ids, strict=True)])


def _column(name: str, frame: Any | None) -> list[Any]:
    if frame is None:
        raise ValueError(
            f"cost is {name!r}, which names a column of a frame; for an array give a function of "
            "the row, or one number for each candidate"
        )
    if name not in frame.columns:
        raise ValueError(f"cost is {name!r}; the pool has the columns {list(frame.columns)}")
    return list(frame.get_column(name).to_list())


def _call_cost(cost: Callable[[Any], float], row: Any, name: Hashable) -> Any:
    try:
        return cost(row)
    except Exception as error:
        raise ValueError(f"cost raised {error!r} for {name!r}") from error


def _positive(value: Any, name: Hashable) -> float:
    plain = value.item() if isinstance(value, np.generic | np.ndarray) and not value.ndim else value
    real = isinstance(plain, Real) and not isinstance(plain, bool)
    if not (real and 0.0 < plain < np.inf):
        raise ValueError(f"the cost of {name!r} is {plain!r}; a cost is a number above 0")
    return float(plain)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Candidates:
    """Ids, rows and inputs of the pool."""

    ids: tuple[Hashable, ...]  # U
    X: Array  # (U, d)
    index: Mapping[Hashable, int]  # position of an id
    present: NDArray[np.bool_]  # (U,)  who has not been removed
    columns: tuple[str, ...] | None = None  # of a frame, those that hold inputs
    frame: Any | None = None  # as it came, of narwhals
    id_column: str | None = None
    plan: TablePlan | None = None  # that makes inputs of a frame; None: its numbers as they are
    target: str | None = None  # name of what is measured
    cost: Array | None = None  # (U,)  of a label of each; None: all cost the same
    cost_by: Cost = None  # how that is found for candidates that are added

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def input_names(self) -> list[str]:
        """Names of the d inputs."""
        if self.plan is not None:
            return self.plan.names
        if self.columns is None:
            return [f"input {n}" for n in range(self.X.shape[1])]
        return [str(name) for name in self.columns]

    def position(self, name: Hashable) -> int:
        """Position of an id; UnknownId where the pool has no such candidate."""
        try:
            return self.index[plain_id(name)]
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

    def rows(self, names: Sequence[Hashable]) -> Any:
        """The rows of these ids, in this order, as the kind of table that the pool was."""
        if self.frame is None:
            return self.X[[self.position(name) for name in names]].copy()
        return self.frame_rows(names).to_native()

    def frame_rows(self, names: Sequence[Hashable]) -> Any:
        """The same of a pool that is a frame, as narwhals has it."""
        return None if self.frame is None else self.frame[[self.position(name) for name in names]]

    def inputs(self, names: Sequence[Hashable]) -> Array:  # (n, d)
        """The inputs of these ids."""
        return self.X[[self.position(name) for name in names]]

    def like(self, points: Any) -> Array:  # (N, d)
        """Inputs of other points, checked as the pool's were; columns of a frame by name."""
        X = inputs_of(points, self.columns, self.plan)
        if X.shape[1] != self.X.shape[1]:
            raise ValueError(f"the pool has {self.X.shape[1]} inputs; got {X.shape[1]}")
        _check_inputs(X, range(len(X)))
        return X

    def with_more(
        self, pool: Any, ids: Iterable[Hashable] | None = None, cost: Any = None
    ) -> "Candidates":
        """The candidates with others below: rows like the pool's; `cost`, where it is numbers."""
        before = len(self)
        read = self._more(pool)
        own = read.ids
        if ids is None and own == list(range(len(own))):
            own = list(range(before, before + len(own)))
        names = _check_ids(own if ids is None else list(ids), len(read.X))
        _refuse_duplicates([*self.ids, *names])
        _check_inputs(read.X, names)
        return replace(
            self,
            ids=(*self.ids, *names),
            X=np.concatenate([self.X, read.X]),
            index={**self.index, **{name: before + n for n, name in enumerate(names)}},
            present=np.concatenate([self.present, np.ones(len(names), dtype=bool)]),
            frame=_below(self.frame, read.frame),
            cost=self._costs(read, names, cost),
        )

    def _more(self, pool: Any) -> Inputs:
        """Other rows, read as the pool was."""
        frame = as_frame(pool)
        _refuse_other_kind(self.frame, frame)
        X = inputs_of(pool, self.columns, self.plan)
        if X.shape[1] != self.X.shape[1]:
            raise ValueError(f"the pool has {self.X.shape[1]} inputs; got {X.shape[1]}")
        own: list[Hashable] = list(range(len(X)))
        own = own if frame is None else frame_ids(frame, self.id_column)
        return Inputs(frame, self.columns, X, own, self.plan)

    def _costs(self, read: Inputs, names: Sequence[Hashable], given: Any) -> Array | None:
        """The costs of all, once these have come."""
        if self.cost is None:
            if given is not None:
                raise ValueError("cost is given for some candidates: the others have none")
            return None
        if self.cost_by is None and given is None:
            raise ValueError(
                "the pool has costs, and what was to be added has none: give cost=[...], one "
                "number for each (a learner that was loaded takes its function: load(..., cost=f))"
            )
        by = self.cost_by if given is None else given
        return np.concatenate([self.cost, _read_costs(by, read, names)])

    def known_labels(self, start: int = 0) -> dict[Hashable, float]:
        """Labels that the frame has in its target column already, from a position on."""
        if self.frame is None or self.target is None or self.target not in self.frame.columns:
            return {}
        y = frame_labels(self.frame[start:], self.target).tolist()
        return {name: one for name, one in zip(self.ids[start:], y, strict=True) if one == one}

    def without(self, names: Iterable[Hashable]) -> "Candidates":
        """The candidates with these marked as removed."""
        present = self.present.copy()
        present[[self.index[name] for name in names]] = False
        return replace(self, present=present)


def read_candidates(
    pool: Any,
    ids: Iterable[Hashable] | None = None,
    id_column: str | None = None,
    *,
    target: str | None = None,
    features: str | Sequence[str] = "auto",
    types: Mapping[str, str] | None = None,
    cost: Any = None,
) -> Candidates:
    """The candidates that a table holds, checked; see `weal.ActiveLearner` for what each means."""
    if pool is None:
        raise ValueError("ActiveLearner needs a pool: one row for each candidate")
    aside = [name for name in (target, cost) if isinstance(name, str)]
    read = read_inputs(pool, id_column, aside=aside, features=features, types=types)
    made = of_inputs(read, ids, id_column)
    costs = None if cost is None else _read_costs(cost, read, made.ids)
    by = cost if isinstance(cost, str) or callable(cost) else None
    return replace(made, target=target, cost=costs, cost_by=by)


def of_inputs(
    read: Inputs, ids: Iterable[Hashable] | None = None, id_column: str | None = None
) -> Candidates:
    """The candidates of inputs that were read, checked."""
    names = _check_ids(read.ids if ids is None else list(ids), len(read.X))
    _check_inputs(read.X, names)
    index = {name: n for n, name in enumerate(names)}
    present = np.ones(len(names), dtype=bool)
    kept = (read.columns, read.frame, id_column, read.plan)
    return Candidates(tuple(names), read.X, index, present, *kept)


def _read_costs(cost: Any, read: Inputs, names: Sequence[Hashable]) -> Array:
    rows = read.X.copy() if read.frame is None else read.frame.iter_rows(named=True)
    found = read_costs(cost, read.frame, rows, names)
    assert found is not None
    return found


def _check_ids(ids: list[Any], U: int) -> list[Hashable]:
    if len(ids) != U:
        raise ValueError(f"got {len(ids)} ids for {U} candidates; it needs one for each")
    names = [plain_id(name) for name in ids]
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


def _below(pool: Any, more: Any) -> Any | None:
    """A frame with another below it; None for arrays."""
    if pool is None:
        return None
    import narwhals as nw

    return nw.concat([pool, more], how="vertical")


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


def _refuse_duplicates(names: Sequence[Hashable]) -> None:
    if len(set(names)) == len(names):
        return
    seen: set[Hashable] = set()
    twice = [name for name in names if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
    raise ValueError(f"{len(twice)} ids come more than once, such as {twice[:5]}; ids are unique")


def _check_inputs(X: Array, ids: Sequence[Hashable]) -> None:
    if not len(X):
        raise ValueError("the pool is empty; it needs one candidate at the least")
    if not X.shape[1]:
        raise ValueError("the pool has no inputs: not one column besides the ids")
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if len(bad):
        some = [ids[n] for n in bad[:5].tolist()]
        raise ValueError(f"{len(bad)} candidates have NaN or infinite inputs, such as {some}")
