"""Space-filling candidates within bounds, mixtures and constraints, for inputs chosen freely.

    {"temp": (20, 200), "catalyst": ["A", "B"]}     inputs (`design_inputs`)
    {"parts": ["water", "oil"], "sum": 1}           mixtures (`mixtures`)
    "temp + 2*time <= 300"                          constraints (`weal.conditions`)

Numbers are a scrambled Sobol sequence [1], which is more even than random points; each category and
each part of a mixture has its own axis. Rows that break a constraint are replaced by later
points of the sequence. If no input is continuous and there are few different rows, n of them are
drawn at random. `neighbours` moves rows a little, under the same constraints.

[1] Owen: Scrambling Sobol' and Niederreiter-Xing points, 1998.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from weal.conditions import Comparison, Condition, Membership
from weal.conditions.condition import ROUNDING, Sum
from weal.tables.design_inputs import DesignInput, DesignRow, Value, is_whole
from weal.tables.mixtures import Mixture
from weal.text import exact, number

R = TypeVar("R")
RowConstraint = Callable[[dict[str, Any]], bool]  # a function of the user
Row = Mapping[str, Any]  # cells of all columns
Block = list[list[Value]]  # a list of cells for each input
MIN_SATISFIED_SHARE = 0.001  # of the rows; with fewer, the search for rows ends
MIN_TRIED_ROWS = 2**13  # rows that are tried before that
MAX_DESIGN_ROWS = 2**16  # different rows that are enumerated
MAX_ROWS = 10**7
MAX_STALE_BLOCKS = 20  # blocks in a row that hold no new row
MAX_NEIGHBOUR_ROUNDS = 200  # rounds of rows that constraints may refuse


def satisfies(constraint: Callable[[R], bool], row: R) -> bool:
    """Whether a row satisfies the constraint; ValueError if it raises or returns no bool.

    >>> satisfies(lambda row: row["temp"] < 100, {"temp": 20.0})
    True
    """
    try:
        found = constraint(row)
    except Exception as error:
        raise ValueError(f"the constraint raised {error!r} for the row {row}") from error
    if not isinstance(found, bool | np.bool_):
        raise ValueError(
            f"the constraint returned {found!r} for the row {row}; it must return True or False"
        )
    return bool(found)


@dataclass(frozen=True, slots=True, eq=False)
class DesignSpace:
    """Inputs, mixtures of some of them, and constraints that every row satisfies."""

    inputs: tuple[DesignInput, ...]
    mixtures: tuple[Mixture, ...] = ()
    constraints: tuple[Condition, ...] = ()

    @property
    def names(self) -> list[str]:
        """The names of the inputs."""
        return [one.name for one in self.inputs]

    @property
    def mixed(self) -> set[str]:
        """The inputs that are parts of mixtures."""
        return {part for one in self.mixtures for part in one.parts}

    @property
    def n_moving(self) -> int:
        """The number of inputs that can move independently, in `neighbours`."""
        free = [one for one in self.inputs if one.name not in self.mixed]
        moving = sum(one.is_number and len(one.values) != 1 for one in free)
        return moving + sum(len(one.parts) - 1 for one in self.mixtures)

    def rows(self, n: int, seed: int, constraint: RowConstraint | None = None) -> list[DesignRow]:
        """n rows that satisfy all constraints; ValueError if almost none does."""
        check_count(n, seed)
        refuse_too_few(self, n)
        found, tried = list[DesignRow](), 0
        whole = bool(self.constraints) or constraint is not None
        for row, good in self._new_rows(n, whole, seed):
            tried += 1
            if good and self._may_be(row, constraint):
                found.append(row)
            hopeless = tried >= MIN_TRIED_ROWS and len(found) < MIN_SATISFIED_SHARE * tried
            if len(found) == n or hopeless:
                break
        if len(found) < n:
            raise self._too_few(n, len(found), tried, seed)
        return found

    def _new_rows(self, n: int, whole: bool, seed: int) -> Iterator[tuple[DesignRow, bool]]:
        """Rows that are not the same as earlier ones, and whether they satisfy the constraints."""
        repeats, stale = math.isfinite(self._row_count()) or bool(self.mixtures), 0
        seen = set[DesignRow]()
        for block in self._blocks(n, whole, seed):
            keep, before = np.all(self._masks(block), axis=0), len(seen)  # (N,)
            for row, good in zip(zip(*block, strict=True), keep, strict=True):
                if repeats and row in seen:  # continuous rows never repeat
                    continue
                if repeats:
                    seen.add(row)
                yield row, bool(good)
            stale = stale + 1 if repeats and len(seen) == before else 0
            if stale == MAX_STALE_BLOCKS:
                return

    def _may_be(self, row: DesignRow, constraint: RowConstraint | None) -> bool:
        """Whether a row satisfies a function of the user."""
        return constraint is None or satisfies(constraint, dict(zip(self.names, row, strict=True)))

    def neighbours(
        self, parents: Sequence[Row], n: int, width: float,
        rng: np.random.Generator, rows: Sequence[Row] = (),
        constraint: RowConstraint | None = None,
    ) -> list[Row]:  # fmt: skip
        """n new rows near these, each input moved by up to `width` of its range.

        Cells of other columns are those of the parent. `rows` are the existing rows: none of them
        is returned, and moves are shorter where they are dense.
        """
        if not self.n_moving:
            raise ValueError("no numeric input can move: there is nothing to refine")
        found, tried = list[Row](), 0
        there = {name: [row[name] for row in rows] for name in self.names}
        seen = set(zip(*there.values(), strict=True))
        at = [parents[k % len(parents)] for k in range(n)]
        for _ in range(MAX_NEIGHBOUR_ROUNDS):
            block = self._perturbed(at, width, rng, there)
            inside = self.contains(block)
            tried += n
            for k, row in enumerate(zip(*block, strict=True)):
                if inside[k] and row not in seen and self._may_be(row, constraint):
                    seen.add(row)
                    found.append({**at[k], **dict(zip(self.names, row, strict=True))})
            if len(found) >= n:
                return found[:n]
        raise ValueError(
            f"{len(found)} of {tried} rows near the best candidates satisfy the constraints and "
            "are "
            f"new, and {n} are needed; ask for fewer, or start again with a wider box"
        )

    def contains(self, block: Sequence[Sequence[object]]) -> NDArray[np.bool_]:
        """Whether each row of a block of columns has allowed values and satisfies all (N,)."""
        allowed = np.ones(len(block[0]), dtype=bool)
        for one, cells in zip(self.inputs, block, strict=True):
            if one.name not in self.mixed:
                allowed &= np.array([one.contains(cell) for cell in cells], dtype=bool)
        columns = dict(zip(self.names, block, strict=True))
        for mixture in self.mixtures:
            parts = [np.array(columns[name], dtype=np.float64) for name in mixture.parts]
            allowed &= mixture.contains(np.stack(parts, axis=1))
        found: NDArray[np.bool_] = allowed & self._masks(block).all(axis=0)
        return found

    def _masks(self, block: Sequence[Sequence[object]]) -> NDArray[np.bool_]:  # (C, N)
        columns = dict(zip(self.names, block, strict=True))
        found = np.ones((len(self.constraints), len(block[0])), dtype=bool)
        for n, condition in enumerate(self.constraints):
            found[n] = satisfied(condition, columns)
        return found

    def words(self) -> list[str]:
        """The mixtures and constraints, a line each."""
        mixed = [one.words() for one in self.mixtures]
        return [*mixed, *(f"constraint: {one.text}" for one in self.constraints)]

    def _row_count(self) -> float:
        """The number of different rows, without constraints."""
        return math.prod(len(one.values) or math.inf for one in self.inputs)

    def _blocks(self, n: int, whole: bool, seed: int) -> Iterator[Block]:
        """Blocks of rows: all rows if they are few, else points of a Sobol sequence, without end.

        Listed values come equally often in each block; `whole` keeps the first block whole.
        """
        if not self.mixtures and self._row_count() <= MAX_DESIGN_ROWS:
            every = list(product(*(one.values for one in self.inputs)))
            order = np.random.default_rng(seed).permutation(len(every)).tolist()
            yield [list(cells) for cells in zip(*(every[k] for k in order), strict=True)]
            return
        from scipy.stats import qmc

        rng = np.random.default_rng(seed)
        sequence = qmc.Sobol(len(self.inputs), scramble=True, seed=rng)
        size = 2 ** max(math.ceil(math.log2(n)), 1)
        u = sequence.random(size)[: None if whole or self.mixtures else n]
        while True:
            yield self._at(u, rng)
            u = sequence.random(size)

    def _at(self, u: NDArray[np.float64], rng: np.random.Generator) -> Block:  # (N, d)
        """The cells at these points of the unit cube."""
        columns = {
            one.name: one.cells(u[:, k])
            for k, one in enumerate(self.inputs)
            if one.name not in self.mixed
        }
        for mixture in self.mixtures:
            at = [self.names.index(part) for part in mixture.parts]
            columns |= dict(zip(mixture.parts, mixture.draw(u[:, at], rng).T.tolist(), strict=True))
        return [columns[name] for name in self.names]

    def _perturbed(
        self, rows: Sequence[Row], width: float, rng: np.random.Generator,
        there: Mapping[str, list[Value]],
    ) -> Block:  # fmt: skip
        columns = {
            one.name: one.perturbed([row[one.name] for row in rows], width, rng, there[one.name])
            for one in self.inputs
            if one.name not in self.mixed
        }
        for mixture in self.mixtures:
            x = np.array([[row[part] for part in mixture.parts] for row in rows], dtype=np.float64)
            moved = mixture.perturbed(x, width, rng).T.tolist()
            columns |= dict(zip(mixture.parts, moved, strict=True))
        return [columns[name] for name in self.names]

    def _too_few(self, n: int, found: int, tried: int, seed: int) -> ValueError:
        """The error where too few rows satisfy the constraints; it names a constraint that no row
        satisfies.
        """
        block = next(self._blocks(MIN_TRIED_ROWS, True, seed))
        columns = dict(zip(self.names, block, strict=True))
        for one, keep in zip(self.constraints, self._masks(block), strict=True):
            if not keep.any():
                return ValueError(
                    f"none of {len(block[0]):,} rows of the box satisfies {one.text!r}"
                    f"{_observed(one, columns)}; change the constraint or the bounds"
                )
        return ValueError(
            f"{found} of {tried} rows satisfy the constraint, and n is {n}; check the "
            "constraint, make the box narrower around the rows that do, or n smaller"
        )


def satisfied(
    condition: Condition, columns: Mapping[str, Sequence[object]]
) -> NDArray[np.bool_]:  # (N,)
    """Whether each row of columns satisfies the condition, as `Condition.holds` says.

    >>> from weal.conditions import parse_condition
    >>> satisfied(parse_condition("x < 2 and y is A"), {"x": [1, 3], "y": ["A", "A"]}).tolist()
    [True, False]
    """
    found = np.ones(len(next(iter(columns.values()))), dtype=bool)
    for part in condition.parts:
        found &= (
            _compared(part, columns) if isinstance(part, Comparison) else _worded(part, columns)
        )
    return found


def _compared(part: Comparison, columns: Mapping[str, Sequence[object]]) -> NDArray[np.bool_]:
    left, right = _terms(part.left, columns), _terms(part.right, columns)
    gap = left.sum(axis=0) - right.sum(axis=0)
    slack = ROUNDING * (np.abs(left).sum(axis=0) + np.abs(right).sum(axis=0))
    if part.relation == "=":
        return np.asarray(np.abs(gap) <= slack)
    gap = gap if part.relation[0] == "<" else -gap
    return np.asarray(gap <= slack if part.relation[-1] == "=" else gap < -slack)


def _terms(side: Sum, columns: Mapping[str, Sequence[object]]) -> NDArray[np.float64]:  # (T, N)
    n = len(next(iter(columns.values())))
    found = np.empty((len(side.terms), n))
    for k, term in enumerate(side.terms):
        found[k] = term.coefficient
        for name in term.names:
            found[k] *= np.asarray(columns[name], dtype=np.float64)
    return found


def _worded(part: Membership, columns: Mapping[str, Sequence[Any]]) -> NDArray[np.bool_]:
    cells = columns[part.name]
    allowed = {cell: part.holds({part.name: cell}) for cell in set(cells)}
    return np.array([allowed[cell] for cell in cells], dtype=bool)


def _observed(condition: Condition, columns: Mapping[str, Sequence[object]]) -> str:
    """The range of the left side over some rows, for a message."""
    part = condition.parts[0]
    if len(condition.parts) > 1 or not isinstance(part, Comparison):
        return ""
    part = part.flipped() if not part.left.names else part
    values = _terms(part.left, columns).sum(axis=0)
    seen = f", where {part.left.text} is {number(values.min())} to {number(values.max())}"
    if part.relation == "=" and part.right.constant is not None:
        parts = ", ".join(f'"{name}"' for name in part.names)
        hint = f"[mixture] with parts = [{parts}] and sum = {exact(part.right.constant)}"
        seen += f" (a fixed sum is a mixture: {hint})"
    return seen


def refuse_too_few(space: DesignSpace, n: int) -> None:
    """Raise ValueError if the box has fewer than n rows, or a value would never occur."""
    most = max(space.inputs, key=lambda one: 0 if one.is_number else len(one.values))
    if not most.is_number and len(most.values) > n:
        raise ValueError(
            f"{most.name!r} has {len(most.values)} values, and n is {n}: some would never be tried"
        )
    different = space._row_count()
    if different < n:
        raise ValueError(
            f"there are {different:.0f} different rows, and n is {n}; use n={different:.0f}"
        )


def check_count(n: object, seed: object) -> None:
    """Raise ValueError unless n and the seed are whole numbers."""
    if not is_whole(n) or not 1 <= n <= MAX_ROWS:
        raise ValueError(f"n is {n!r}; it needs a whole number from 1 to {MAX_ROWS}")
    if not is_whole(seed) or seed < 0:
        raise ValueError(f"seed is {seed!r}; it needs a whole number of at least 0")
