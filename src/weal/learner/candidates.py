"""The candidate protocol: rows that could be measured, in memory or in shards.

`memory_candidates` keeps all rows as one array; `sharded_candidates` reads them from files when
they are needed. Code on the other side of this protocol never asks which of the two it has.

Positions do not change: removed candidates are marked, new ones come last. Positions and ids map to
each other through `ids` and `index`.

A large pool is summarised by a sample: beyond MAX_CANDIDATES_WITHOUT_SAMPLE candidates, the
SAMPLE_CANDIDATES ids with the least hash of (seed, id). Input scaling, label warping, the
space-filling start and the reference points of `ivr` use it. The sample depends neither on the
order of the rows nor on where they are stored.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.errors import UnknownId
from weal.learner.pools.protocol import Pool, PoolContext
from weal.model.model import Model
from weal.progress import Progress
from weal.quantities.protocol import Quantity
from weal.shards.executors import Executor
from weal.tables.frame_kinds import FrameKind
from weal.tables.plan import TablePlan
from weal.tables.table import Table

if TYPE_CHECKING:
    from weal.tables.design_space import DesignSpace
    from weal.tables.frames import Frame

MAX_CANDIDATES_WITHOUT_SAMPLE = 100_000  # candidates; larger pools are summarised by a sample
SAMPLE_CANDIDATES = 16_384  # candidates in the sample of a large pool

CostFunction = Callable[[Any], float]  # of a row: inputs (d,), or a dict by column
Cost = str | CostFunction | None  # how costs are found; None: none, or given as numbers
CostArgument = Cost | Iterable[object]  # as a user gives it
Positions = NDArray[np.intp]
Sample = tuple[Positions, Array]  # positions (S,), ascending, and inputs (S, d)


class Candidates(Protocol):
    """The rows that a learner chooses from."""

    @property
    def ids(self) -> Sequence[Hashable]:
        """The ids by position."""

    @property
    def index(self) -> Mapping[Hashable, int]:
        """The position of each id."""

    @property
    def present(self) -> NDArray[np.bool_]:  # (U,)
        """Mask of the candidates that have not been removed."""

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the input columns of a frame; None for arrays."""

    @property
    def frame_kind(self) -> FrameKind | None:
        """The kind of frame that the candidates came in; None: an array or files."""

    @property
    def plan(self) -> TablePlan | None:
        """The plan that encodes columns as inputs; None if numbers are used as they are."""

    @property
    def frame(self) -> "Frame | None":
        """The narwhals frame that the candidates came in, where they came in one."""

    @property
    def id_column(self) -> str | None:
        """Name of the id column, where there is one."""

    @property
    def target(self) -> str | None:
        """Name of the first measured column, where it is known."""

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of the measured columns, where they are known."""

    @property
    def cost(self) -> Array | None:  # (U,)
        """The cost of a label of each candidate; None if all cost the same."""

    @property
    def input_names(self) -> list[str]:
        """Names of the d inputs."""

    @property
    def n_inputs(self) -> int:
        """The number of inputs d."""

    @property
    def file_tag(self) -> str:
        """The tag of these candidates in a learner's file (`formats.candidates_file`)."""

    @property
    def box(self) -> "DesignSpace | None":
        """The box that the candidates were drawn in, if any."""

    @property
    def in_shards(self) -> bool:
        """Whether rows are read from shards, and scored by passes over them."""

    @property
    def row_identity(self) -> object:
        """An object that stays the same until rows are added."""

    def __len__(self) -> int: ...

    def position(self, name: Hashable) -> int:
        """The position of an id; UnknownId if there is no such candidate."""

    def name(self, given: Hashable) -> Hashable:
        """The id as it is stored, for one that equals it."""

    def x(self, given: Hashable) -> Array:  # (d,)
        """The inputs of an id."""

    def row(self, given: Hashable) -> Any:
        """The row of an id: inputs (d,) of an array, a dict by column of a frame or file."""

    def rows(self, names: Sequence[Hashable]) -> Any:
        """The rows of these ids, in this order, as the kind of table that the pool was."""

    def frame_rows(self, names: Sequence[Hashable]) -> "Frame | None":
        """The same rows as a narwhals frame; None if the pool is not a frame."""

    @property
    def table_columns(self) -> Sequence[str]:
        """Names of the columns of the table that the candidates came in; of arrays, the inputs."""

    def tables(self, columns: Sequence[str]) -> Sequence[Table]:
        """All candidates with these columns at least, as tables that follow each other."""

    def inputs(self, names: Sequence[Hashable]) -> Array:  # (n, d)
        """The inputs of these ids."""

    def inputs_at(self, at: Positions | Sequence[int] | slice) -> Array:  # (n, d)
        """The inputs at these positions."""

    def ids_at(self, at: Positions) -> Sequence[Hashable]:
        """The ids at these positions."""

    def like(self, points: object) -> Array:  # (N, d)
        """Inputs of other points, checked like the pool's; columns of a frame by name."""

    def sample(self, seed: int) -> Sample:
        """The sample that summarises the pool; the same arrays until rows are added."""

    def summary_positions(self, seed: int) -> Positions:
        """The candidates that stand for all: those present in memory, a sample of shards."""

    def first_by_hash(self, seed: int, n: int) -> Positions:
        """At most n positions, by the hash of (seed, id)."""

    def hash_order(self, seed: int) -> Positions | None:
        """All positions by the hash of (seed, id); None if scoring passes need no order."""

    def target_inputs(self, seed: int, n: int) -> Array:
        """Inputs of the n present candidates with the least hash of (seed, id)."""

    def starts_with(self, X: Array) -> bool:
        """Whether X are the inputs of the first candidates, in memory."""

    def new_inputs(self, start: int) -> Array | None:
        """Inputs from a position on; None if scoring passes check them."""

    def labels_in_table(
        self, quantities: Sequence[Quantity], start: int = 0
    ) -> list[tuple[str, dict[Hashable, object]]]:
        """Labels in the columns of quantities, from a position on: (quantity, label by id)."""

    def with_cost_function(self, cost: Cost) -> "Candidates":
        """The candidates with a way to find the costs of added candidates."""

    def subset(self, at: Positions) -> "Candidates":
        """The candidates at these positions, in memory."""

    def with_more(
        self, pool: object, ids: Iterable[Hashable] | None = None, cost: CostArgument = None
    ) -> "Candidates":
        """The candidates with those of another pool below."""

    def without(self, names: Iterable[Hashable], shards: Iterable[str] = ()) -> "Candidates":
        """The candidates with these ids, and those in these files, marked as removed."""

    def ids_in_shards(self, shards: Iterable[str], names: Iterable[Hashable]) -> list[Hashable]:
        """The ids among these that are in these files; ValueError if the pool has no shards."""

    def predict_shards(
        self, model: Model, level: float, executor: Executor, progress: Progress | None
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """Predictions for each shard, with its number; ValueError for candidates in memory."""

    def make_pool(self, model: Model, reference: Array | None, context: PoolContext) -> Pool:
        """The posterior of the model on the candidates."""


def unknown_id(name: Hashable, examples: Sequence[Hashable]) -> UnknownId:
    """The error for an id that no candidate has."""
    return UnknownId(
        f"no candidate has the id {name!r}; the pool's ids are like "
        f"{', '.join(map(repr, examples))}. For a point outside the pool call tell_points(X, y)"
    )


def read_costs(
    cost: CostArgument, frame: "Frame | None", rows: Iterable[object], ids: Sequence[Hashable]
) -> Array | None:  # (N,)
    """The cost of each candidate; a cost function gets each of `rows`."""
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


def _column(name: str, frame: "Frame | None") -> list[object]:
    if frame is None:
        raise ValueError(
            f"cost is {name!r}, which names a column of a frame; for an array give a function of "
            "the row, or one number for each candidate"
        )
    if name not in frame.columns:
        raise ValueError(f"cost is {name!r}; the pool has the columns {list(frame.columns)}")
    return list(frame.get_column(name).to_list())


def _call_cost(cost: CostFunction, row: object, name: Hashable) -> object:
    try:
        return cost(row)
    except Exception as error:
        raise ValueError(f"cost raised {error!r} for {name!r}") from error


def _positive(value: object, name: Hashable) -> float:
    plain = value.item() if isinstance(value, np.generic | np.ndarray) and not value.ndim else value
    if not isinstance(plain, Real) or isinstance(plain, bool) or not 0.0 < float(plain) < np.inf:
        raise ValueError(f"the cost of {name!r} is {plain!r}; write a number above 0")
    return float(plain)
