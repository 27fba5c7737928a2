"""New candidates near the best ones, so that a pool covers a continuous domain (`refine`).

The N_PARENTS candidates that the learner would ask next, as one batch, get neighbours. A numeric
input moves in its ranks among the candidates: it stays within their range, moves on a log scale
where they lie on one, and takes only its own values where it has few of them (integers, steps).
Text, categories, dates, booleans and missing values are copied. The step is MAX_GRID_STEPS times
that of a grid with as many points as there are candidates: U^(-1/k) of the ranks for k moving
inputs.

Candidates of a box (`weal.box`) move within it instead: in the same ranks, parts of a
mixture with their sum, within its bounds and constraints, and never onto a candidate that is there.

All random numbers come from the seed and the number of candidates.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weal.conditions import parse_condition
from weal.core.arrays import Array
from weal.learner.batch_limits import BatchLimits
from weal.learner.batch_options import BatchOptions
from weal.learner.candidate_sample import with_compared_candidates
from weal.learner.choosing import next_query
from weal.learner.events import Added
from weal.learner.joint_scores import scored_views
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.shared_candidates import lacks_shared_rows, shared_rows
from weal.learner.state import State
from weal.learner.transitions import apply
from weal.tables.design_file import ConstraintArgument, split_constraint
from weal.tables.design_space import MIN_SATISFIED_SHARE, DesignSpace, Row, satisfies

N_PARENTS = 8
MAX_GRID_STEPS = 1.5  # steps of the grid
MAX_DISCRETE_VALUES = 20  # values: an input that has no more keeps to them
MAX_CONSTRAINT_ROUNDS = 200  # rounds of rows that a constraint may refuse
_LOCAL_CANDIDATES_KEY = 71  # part of the random key


@dataclass(frozen=True, slots=True, eq=False)
class NewCandidates:
    """New candidates."""

    rows: Any  # as the kind of table that the pool is
    ids: tuple[Hashable, ...]


def local_candidates(
    state: State, beliefs: PosteriorCache, n: int, constraint: ConstraintArgument
) -> NewCandidates:
    """n candidates near the best ones; ValueError if hardly any satisfies `constraint`."""
    pool, (texts, function) = state.candidates, split_constraint(constraint)
    names = pool.columns
    conditions = [parse_condition(one, names, "the constraint") for one in texts]
    if conditions and names is None:
        raise ValueError("the pool is an array without names; give the constraint as a function")
    if pool.in_shards:
        raise ValueError("refine adds rows to a pool in memory; add shards to one in files")

    def allowed(row: Any) -> bool:
        return all(one.holds(row) for one in conditions) and (
            function is None or satisfies(function, row)
        )

    if pool.box is not None:
        rows = [pool.row(name) for name in pool.ids]
        found = box_neighbours(state, beliefs, pool.box, rows, n, allowed)
    else:
        found = _neighbours(state, beliefs, n, allowed)
    return NewCandidates(_table(state, found), _ids(state, n))


def with_shared_rows(state: State, options: BatchOptions, limits: BatchLimits, n: int) -> State:
    """The state with rows of its box that share a value, where an ask needs them."""
    pool, box = state.candidates, state.candidates.box
    if box is None or not lacks_shared_rows(state, box, options, limits, n):
        return state
    rows = [pool.row(name) for name in pool.ids]
    found = shared_rows(box, rows, options, n, state.settings.seed)
    ids = _ids(state, len(found))
    return apply(state, Added(pool.with_more(_table(state, found), ids)))


def box_neighbours(
    state: State, beliefs: PosteriorCache, box: DesignSpace,
    rows: Sequence[Row], n: int, allowed: Callable[[Any], bool] | None = None,
) -> list[Row]:  # fmt: skip
    """n new rows of the box near the best candidates, whose cells are `rows`."""
    _check_model(state)
    parents = [rows[k] for k in _parents(state, beliefs, min(n, N_PARENTS))]
    width = MAX_GRID_STEPS * len(rows) ** (-1.0 / max(box.n_moving, 1))
    return box.neighbours(parents, n, min(width, 1.0), _generator(state), rows, allowed)


def _neighbours(
    state: State, beliefs: PosteriorCache, n: int, allowed: Callable[[Any], bool]
) -> list[Any]:
    """n rows near the best candidates, within the ranges of the pool."""
    _check_model(state)
    parents = _parents(state, beliefs, min(n, N_PARENTS))
    moving = _variable_columns(state)
    if not moving:
        raise ValueError("no numeric input can move: there is nothing to refine")
    rng = _generator(state)
    found, tried = list[Any](), 0
    for _ in range(MAX_CONSTRAINT_ROUNDS):
        rows = _children(state, parents, moving, n, rng)
        tried += n
        found += [row for row in rows if allowed(row)]
        if len(found) >= n or (len(found) < MIN_SATISFIED_SHARE * tried and tried >= 100 * n):
            break
    if len(found) < n:
        raise ValueError(
            f"{len(found)} of {tried} rows near the best candidates satisfy the constraint, but "
            f"{n} "
            "are needed; check that the candidates of the pool satisfy it"
        )
    return found[:n]


def _check_model(state: State) -> None:
    if not scored_views(state):
        raise RuntimeError(
            f"refine needs a model: {state.n_labels} of {state.settings.n_start} labels are there"
        )


def _generator(state: State) -> np.random.Generator:
    key = (state.settings.seed, len(state.candidates), _LOCAL_CANDIDATES_KEY)
    return np.random.default_rng(key)


def _parents(state: State, beliefs: PosteriorCache, k: int) -> list[int]:
    """Positions of the candidates that would be asked next."""
    chosen, index = [], state.candidates.index
    state = with_compared_candidates(state, beliefs, k)
    for _ in range(min(k, int(state.free(1).sum()))):
        event = next_query(state, beliefs, opens=False)
        chosen.append(index[event.id])
        state = apply(state, event)
    return chosen


def _variable_columns(state: State) -> dict[Any, Array]:
    """Columns that vary, with their values (U,) in the pool, NaN if missing."""
    pool = state.candidates
    if pool.frame is None:
        every: dict[Any, Array] = dict(enumerate(pool.inputs_at(slice(None)).T))
    else:
        kinds = {column.name: column.kind for column in pool.plan.columns} if pool.plan else {}
        schema = pool.frame.schema
        numbers = [
            name
            for name in pool.columns or ()
            if schema[name].is_numeric() and kinds.get(str(name), "number") == "number"
        ]
        every = {
            name: np.array(pool.frame.get_column(name).to_list(), dtype=np.float64)
            for name in numbers
        }
    return {name: x for name, x in every.items() if np.nanmin(x) < np.nanmax(x)}


def _children(
    state: State, parents: list[int], moving: dict[Any, Array], n: int, rng: np.random.Generator
) -> list[Any]:
    """n copies of parent rows with perturbed numbers."""
    pool = state.candidates
    at = [parents[k % len(parents)] for k in range(n)]
    step = MAX_GRID_STEPS * len(pool) ** (-1.0 / len(moving))
    rows = [pool.row(pool.ids[k]) for k in at]
    for name, x in moving.items():
        new = _perturb(x, x[at], step, rng)
        whole = pool.frame is not None and pool.frame.schema[name].is_integer()
        for row, value in zip(rows, new.tolist(), strict=True):
            if value == value:  # a missing value stays missing
                row[name] = round(value) if whole else value
    return rows


def _perturb(x: Array, of: Array, step: float, rng: np.random.Generator) -> Array:
    """Values (n,) moved by about a step in the ranks of x (U,)."""
    values = np.unique(x[~np.isnan(x)])
    jump = rng.uniform(-step, step, len(of))
    if len(values) <= MAX_DISCRETE_VALUES:
        here = np.searchsorted(values, of)
        width = max(step * len(values), 1.0)  # the next value is in reach
        to = np.rint(here + jump / step * width).astype(np.intp)
        return np.where(np.isnan(of), np.nan, values[np.clip(to, 0, len(values) - 1)])
    ranks = np.linspace(0.0, 1.0, len(values))
    u = np.interp(of, values, ranks) + jump
    u = np.abs(u)  # values beyond the range are reflected into it
    u = np.where(u > 1.0, np.maximum(2.0 - u, 0.0), u)
    return np.where(np.isnan(of), np.nan, np.interp(u, ranks, values))


def _ids(state: State, n: int) -> tuple[Hashable, ...]:
    """New ids: the next numbers, or refined-1, refined-2, ..."""
    ids, index = state.candidates.ids, state.candidates.index
    if all(isinstance(name, int) and not isinstance(name, bool) for name in ids):
        first = 1 + max(name for name in ids if isinstance(name, int))
        return tuple(range(first, first + n))
    numbers = (k for k in range(1, len(ids) + n + 1) if f"refined-{k}" not in index)
    return tuple(f"refined-{next(numbers)}" for _ in range(n))


def _table(state: State, rows: list[Any]) -> Any:
    """The rows as the kind of table that the pool is."""
    pool = state.candidates
    if pool.frame is None:
        return np.array(rows)
    import narwhals as nw

    empty = pool.targets
    columns = {
        name: [None if name in empty else row[name] for row in rows] for name in pool.frame.columns
    }
    ids = _ids(state, len(rows))
    if pool.id_column is not None:
        columns[pool.id_column] = list(ids)
    series = [
        nw.new_series(name, cells, pool.frame.schema[name], backend=pool.frame.implementation)
        for name, cells in columns.items()
    ]
    made = nw.from_dict(dict(zip(columns, series, strict=True)))
    native = made.to_native()
    if pool.frame.implementation.is_pandas():
        native.index = _index(pool.frame.to_native().index, ids)
        native = native.astype(dict(pool.frame.to_native().dtypes), errors="ignore")
    return native


def _index(like: Any, ids: tuple[Hashable, ...]) -> Any:
    """The ids as an index like the pool's."""
    made = type(like)(ids) if type(like).__name__ == "MultiIndex" else None
    if made is None:
        from pandas import Index

        made = Index(list(ids), tupleize_cols=False)
    return made.rename(like.names if made.nlevels > 1 else like.name)
