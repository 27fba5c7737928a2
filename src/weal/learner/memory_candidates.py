"""Candidates in memory: an array, or a pandas, polars or pyarrow frame, with ids and costs.

A frame may hold numbers, text, categories, dates and missing values; a plan encodes them as inputs
(`weal.tables.inputs`). The ids are the column `id_column`, else the index of a pandas frame, else
0, 1, 2, ...

The cost of a label comes from a column, a function of the row, or one number for each candidate.
It divides scores that are amounts (`acquisition_registry.takes_cost`), so only ratios of costs
matter.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.hashing import hash_ids, least, mix_with_seed
from weal.core.tie_breaking import by_hash
from weal.learner.candidates import (
    MAX_CANDIDATES_WITHOUT_SAMPLE,
    SAMPLE_CANDIDATES,
    Cost,
    CostArgument,
    Positions,
    Sample,
    read_costs,
    unknown_id,
)
from weal.learner.pools.memory import MemoryPool
from weal.learner.pools.protocol import PoolContext
from weal.model.model import Model
from weal.model.scaled_data import check_distance
from weal.quantities.declarations import declared_quantity, guess_quantity
from weal.quantities.kinds import check_distinct, quantity_of_column
from weal.quantities.protocol import Quantity
from weal.tables.cells import MISSING_MARKERS
from weal.tables.frame_kinds import FrameKind, frame_kind
from weal.tables.frames import as_frame, plain_id
from weal.tables.inputs import Inputs, frame_ids, frame_labels, inputs_of, read_inputs
from weal.tables.plan import TablePlan
from weal.tables.table import Table, read_table
from weal.tables.table_options import Same

if TYPE_CHECKING:
    from weal.tables.design_space import DesignSpace
    from weal.tables.frames import Frame


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class MemoryCandidates:
    """Ids, rows and inputs of a pool in memory."""

    ids: tuple[Hashable, ...]  # U
    X: Array  # (U, d)
    index: Mapping[Hashable, int]  # position of an id
    present: NDArray[np.bool_]  # (U,)  False: removed
    columns: tuple[str, ...] | None = None  # input columns of a frame
    frame: "Frame | None" = None  # the narwhals frame that the candidates came in
    id_column: str | None = None
    plan: TablePlan | None = None  # encodes a frame as inputs; None if numbers as they are
    targets: tuple[str, ...] = ()  # names of the measured columns
    cost: Array | None = None  # (U,)  cost of a label; None if all cost the same
    cost_by: Cost = None  # how the costs of added candidates are found
    box: "DesignSpace | None" = None  # the box that the candidates were drawn in
    samples: dict[int, Sample] = field(default_factory=dict)  # cache, by seed
    orders: dict[int, Positions] = field(default_factory=dict)  # cache of hash orders, by seed
    file_tag: ClassVar[str] = "memory"
    in_shards: ClassVar[bool] = False

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def frame_kind(self) -> FrameKind | None:
        """The kind of frame that the candidates came in; None: an array."""
        return frame_kind(self.frame)

    @property
    def target(self) -> str | None:
        """The name of the first measured column."""
        return self.targets[0] if self.targets else None

    @property
    def n_inputs(self) -> int:
        """The number of inputs d."""
        return int(self.X.shape[1])

    @property
    def row_identity(self) -> object:
        """The array of inputs: it is replaced when rows are added."""
        return self.X

    @property
    def input_names(self) -> list[str]:
        """Names of the d inputs."""
        if self.plan is not None:
            return self.plan.names
        if self.columns is None:
            return [f"input {n}" for n in range(self.X.shape[1])]
        return [str(name) for name in self.columns]

    def position(self, name: Hashable) -> int:
        """The position of an id; UnknownId if there is no such candidate."""
        try:
            return self.index[plain_id(name)]
        except (KeyError, TypeError):
            raise unknown_id(name, self.ids[:5]) from None

    def name(self, given: Hashable) -> Hashable:
        """The id as it is stored, for one that equals it."""
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
        return self.frame[[self.position(name) for name in names]].to_native()

    def frame_rows(self, names: Sequence[Hashable]) -> "Frame | None":
        """The same rows as a narwhals frame; None if the pool is not a frame."""
        return None if self.frame is None else self.frame[[self.position(name) for name in names]]

    @property
    def table_columns(self) -> Sequence[str]:
        """Names of the columns of the frame, or of the inputs of an array."""
        return self.input_names if self.frame is None else list(self.frame.columns)

    def tables(self, columns: Sequence[str]) -> Sequence[Table]:
        """The frame, or the array, as one table."""
        if self.frame is not None:
            return [read_table(self.frame.select(columns).to_native())]
        names = self.input_names
        return [Table({name: self.X[:, names.index(name)] for name in columns}, len(self))]

    def inputs(self, names: Sequence[Hashable]) -> Array:  # (n, d)
        """The inputs of these ids."""
        return self.X[[self.position(name) for name in names]]

    def inputs_at(self, at: Positions | Sequence[int] | slice) -> Array:  # (n, d)
        """The inputs at these positions; a view for a slice."""
        return np.asarray(self.X[at])

    def ids_at(self, at: Positions) -> Sequence[Hashable]:
        """The ids at these positions."""
        return self.ids if len(at) == len(self) else [self.ids[n] for n in at.tolist()]

    def sample(self, seed: int) -> Sample:
        """All candidates, or a sample of many; the same arrays until rows are added."""
        if len(self) <= MAX_CANDIDATES_WITHOUT_SAMPLE:
            return np.arange(len(self)), self.X
        if seed not in self.samples:
            at = least(mix_with_seed(hash_ids(self.ids), seed), SAMPLE_CANDIDATES)
            self.samples[seed] = at, self.X[at]
        return self.samples[seed]

    def summary_positions(self, seed: int) -> Positions:
        """All candidates that are present."""
        return np.flatnonzero(self.present)

    def first_by_hash(self, seed: int, n: int) -> Positions:
        """At most n positions, by the hash of (seed, id)."""
        return self.hash_order(seed)[:n]

    def hash_order(self, seed: int) -> Positions:
        """All positions by the hash of (seed, id)."""
        if seed not in self.orders:
            self.orders[seed] = by_hash(seed, self.ids)
        return self.orders[seed]

    def target_inputs(self, seed: int, n: int) -> Array:
        """Inputs of the n present candidates with the least hash of (seed, id)."""
        order = self.hash_order(seed)
        return np.asarray(self.X[order[self.present[order]][:n]])

    def starts_with(self, X: Array) -> bool:
        """Whether X are the inputs of the first candidates."""
        return len(self) >= len(X) and np.array_equal(X, self.X[: len(X)])

    def new_inputs(self, start: int) -> Array | None:
        """Inputs from a position on."""
        return np.asarray(self.X[start:])

    def predict_shards(self, *_: object) -> Iterator[tuple[int, dict[str, Any]]]:
        """ValueError: there are no shards."""
        raise ValueError("the pool is in memory: learner.model.predict(X) gives an array")

    def make_pool(self, model: Model, reference: Array | None, context: PoolContext) -> MemoryPool:
        """The posterior of the model on the candidates, kept in memory."""
        X = check_distance("the pool", model.scaling.inputs(self.X))
        return MemoryPool(
            model.ensemble_, model.embedding_, X,
            reference=reference, memory=context.memory, eager=context.eager, known=context.snapshot,
        )  # fmt: skip

    def like(self, points: object) -> Array:  # (N, d)
        """Inputs of other points, checked like the pool's; columns of a frame by name."""
        X = inputs_of(points, self.columns, self.plan)
        if X.shape[1] != self.X.shape[1]:
            raise ValueError(f"the pool has {self.X.shape[1]} inputs; got {X.shape[1]}")
        _check_inputs(X, range(len(X)))
        return X

    def with_more(
        self, pool: object, ids: Iterable[Hashable] | None = None, cost: CostArgument = None
    ) -> "MemoryCandidates":
        """The candidates with those of another table below."""
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
            samples={},
            orders={},
        )

    def _more(self, pool: object) -> Inputs:
        """Other rows, encoded like the pool."""
        frame = as_frame(pool)
        _refuse_other_kind(self.frame, frame)
        X = inputs_of(pool, self.columns, self.plan)
        if X.shape[1] != self.X.shape[1]:
            raise ValueError(f"the pool has {self.X.shape[1]} inputs; got {X.shape[1]}")
        own: list[Hashable] = list(range(len(X)))
        own = own if frame is None else frame_ids(frame, self.id_column)
        return Inputs(frame, self.columns, X, own, self.plan)

    def _costs(self, read: Inputs, names: Sequence[Hashable], given: CostArgument) -> Array | None:
        """The costs of all candidates, the new ones last."""
        if self.cost is None:
            if given is not None:
                raise ValueError("cost is given for some candidates: the others have none")
            return None
        if self.cost_by is None and given is None:
            raise ValueError(
                "the pool has costs, and the new rows have none: give cost=[...], one "
                "number for each (a learner that was loaded takes its function: load(..., cost=f))"
            )
        by = self.cost_by if given is None else given
        return np.concatenate([self.cost, _read_costs(by, read, names)])

    def labels_in_table(
        self, quantities: Sequence[Quantity], start: int = 0
    ) -> list[tuple[str, dict[Hashable, object]]]:
        """Labels in the columns of quantities, from a position on: (quantity, label by id)."""
        found: list[tuple[str, dict[Hashable, object]]] = []
        for one in quantities:
            if self.frame is None or one.column is None or one.column not in self.frame.columns:
                continue
            cells = _label_cells(self.frame[start:], one)
            known = zip(self.ids[start:], cells, strict=True)
            found.append((one.name, {name: cell for name, cell in known if cell is not None}))
        return [(name, labels) for name, labels in found if labels]

    def without(self, names: Iterable[Hashable], shards: Iterable[str] = ()) -> "MemoryCandidates":
        """The candidates with these ids marked as removed."""
        self.ids_in_shards(shards, ())
        present = self.present.copy()
        present[[self.index[name] for name in names]] = False
        return replace(self, present=present)

    def ids_in_shards(self, shards: Iterable[str], names: Iterable[Hashable]) -> list[Hashable]:
        """None of the ids; ValueError if a shard is named."""
        if any(True for _ in shards):
            raise ValueError("the pool is in memory: it has no shards to remove")
        return []

    def with_cost_function(self, cost: Cost) -> "MemoryCandidates":
        """The candidates with a way to find the costs of added candidates."""
        return replace(self, cost_by=cost)

    def subset(self, at: Positions) -> "MemoryCandidates":
        """The candidates at these positions, without the frame that they came in."""
        ids = tuple(self.ids[n] for n in at.tolist())
        return replace(
            self,
            ids=ids,
            X=self.X[at],
            index={name: n for n, name in enumerate(ids)},
            present=self.present[at],
            frame=None,
            cost=None if self.cost is None else self.cost[at],
            samples={},
            orders={},
        )


def read_candidates(
    pool: object,
    ids: Iterable[Hashable] | None = None,
    id_column: str | None = None,
    *,
    targets: Sequence[str] = (),
    features: str | Sequence[str] = "auto",
    types: Mapping[str, str] | None = None,
    same: Same | None = None,
    units: Mapping[str, str] | None = None,
    cost: CostArgument = None,
) -> MemoryCandidates:
    """The candidates of a table, checked; `weal.ActiveLearner` documents the arguments."""
    if pool is None:
        raise ValueError("ActiveLearner needs a pool: one row for each candidate")
    aside = [name for name in (*targets, cost) if isinstance(name, str)]
    by = cost if isinstance(cost, str) or callable(cost) else None
    read = read_inputs(
        pool, id_column, aside=aside, features=features, types=types, same=same, units=units,
        leave_out=ids is None and (cost is None or by is not None),  # else one for each row
    )  # fmt: skip
    made = of_inputs(read, ids, id_column)
    costs = None if cost is None else _read_costs(cost, read, made.ids)
    from weal.tables.design_file import box_of_frame  # TOML: where a frame may have a box

    box = None if read.frame is None else box_of_frame(pool, read.columns or ())
    return replace(made, targets=tuple(targets), cost=costs, cost_by=by, box=box)


def measured_quantities(
    frame: "Frame | None", targets: Sequence[str], types: Mapping[str, str]
) -> list[Quantity]:
    """The quantities in target columns: of the declared types, or by the labels in the pool."""
    found = []
    for target in targets:
        cells = _target_cells(frame, target)
        declared = types.get(target)
        found.append(
            guess_quantity(target, cells) if declared is None
            else declared_quantity(target, declared, cells)
        )  # fmt: skip
    return check_distinct(found or [quantity_of_column(None)])


def _target_cells(frame: "Frame | None", target: str) -> list[object]:
    if frame is None or target not in frame.columns:
        return []
    return [None if cell != cell else cell for cell in frame.get_column(target).to_list()]


def _is_empty(cell: object) -> bool:
    return cell is None or (isinstance(cell, str) and cell.strip() in MISSING_MARKERS)


def _label_cells(frame: "Frame", quantity: Quantity) -> list[object]:
    """The labels of a quantity in a frame; None if there is none."""
    column = str(quantity.column)
    if quantity.words:
        return [None if _is_empty(cell) else cell for cell in _target_cells(frame, column)]
    y = frame_labels(frame, column).tolist()
    return [None if label != label else label for label in y]


def of_inputs(
    read: Inputs, ids: Iterable[Hashable] | None = None, id_column: str | None = None
) -> MemoryCandidates:
    """The candidates of encoded inputs, checked."""
    names = _check_ids(read.ids if ids is None else list(ids), len(read.X))
    _check_inputs(read.X, names)
    index = {name: n for n, name in enumerate(names)}
    present = np.ones(len(names), dtype=bool)
    kept = (read.columns, read.frame, id_column, read.plan)
    return MemoryCandidates(tuple(names), read.X, index, present, *kept)


def _read_costs(cost: CostArgument, read: Inputs, names: Sequence[Hashable]) -> Array:
    rows = read.X.copy() if read.frame is None else read.frame.iter_rows(named=True)
    found = read_costs(cost, read.frame, rows, names)
    assert found is not None
    return found


def _check_ids(ids: Sequence[object], U: int) -> list[Hashable]:
    if len(ids) != U:
        raise ValueError(f"got {len(ids)} ids for {U} candidates; it needs one for each")
    names = [plain_id(name) for name in ids]
    for name in names:
        if not _is_id(name):
            raise ValueError(f"{name!r} cannot be an id: ids are hashable, not None and not NaN")
    _refuse_duplicates(names)
    return names


def _is_id(name: object) -> bool:
    try:
        return name is not None and isinstance(hash(name), int) and bool(name == name)
    except TypeError:  # not hashable, or pandas' NA, which is not even equal to itself
        return False


def _below(pool: "Frame | None", more: "Frame | None") -> "Frame | None":
    """A frame with another below it; None for arrays."""
    if pool is None or more is None:
        return None
    import narwhals as nw

    return nw.concat([pool, more], how="vertical")


def _refuse_other_kind(pool: "Frame | None", more: "Frame | None") -> None:
    """Refuse a frame (or None, for an array) that cannot be put below the pool's."""
    if pool is None and more is None:
        return
    if pool is None or more is None:
        raise ValueError(
            "the pool and the added rows are an array and a frame with columns: add the same kind "
            "of table"
        )
    if pool.implementation != more.implementation or pool.columns != more.columns:
        raise ValueError(
            f"the pool has the columns {pool.columns}, and the new rows {more.columns}; "
            "add the same kind of table with the same columns in the same order"
        )
    others = {name: kind for name, kind in more.schema.items() if kind != pool.schema[name]}
    if others and not pool.implementation.is_pandas_like():
        raise ValueError(
            f"the new rows have the types {others}, and the pool "
            f"{ {name: pool.schema[name] for name in others} }; cast them to the pool's"
        )


def _refuse_duplicates(names: Sequence[Hashable]) -> None:
    if len(set(names)) == len(names):
        return
    seen: set[Hashable] = set()
    twice = [name for name in names if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
    raise ValueError(f"{len(twice)} ids are duplicates, such as {twice[:5]}; ids are unique")


def _check_inputs(X: Array, ids: Sequence[Hashable]) -> None:
    if not len(X):
        raise ValueError("the pool is empty; it needs one candidate at least")
    if not X.shape[1]:
        raise ValueError("the pool has no inputs: it has no column besides the ids")
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if len(bad):
        some = [ids[n] for n in bad[:5].tolist()]
        raise ValueError(f"{len(bad)} candidates have NaN or infinite inputs, such as {some}")
