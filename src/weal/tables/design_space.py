"""Space-filling candidates within bounds, for users who can choose their inputs freely.

    {"temp": (20, 200),            a number between the bounds
     "time": (1, 60, "log"),       the same, uniform on a log scale
     "pressure": (1, 10, 0.5),     in steps: 1, 1.5, 2, ...
     "cycles": range(1, 9),        whole numbers
     "catalyst": ["A", "B"]}       one of these, equally often

Numbers are a scrambled Sobol sequence [1], which is more even than random points; each category has
an axis of its own. Rows that break a constraint are replaced by later points of the sequence. If no
input is continuous and there are few different rows, n of them are drawn at random.

[1] Owen: Scrambling Sobol' and Niederreiter-Xing points, 1998.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas

Value = str | int | float  # of a list of values
DesignRow = tuple[Value, ...]
R = TypeVar("R")

MIN_SATISFIED_SHARE = 0.001  # of the rows; with fewer, the search for rows ends
MIN_TRIED_ROWS = 2**13  # rows that are tried before that
MAX_DESIGN_ROWS = 2**16  # different rows that are enumerated
MAX_ROWS = 10**7


def satisfies(constraint: Callable[[R], bool], row: R) -> bool:
    """Whether a row satisfies the constraint; ValueError where it raises or returns no bool.

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


@dataclass(frozen=True, slots=True)
class DesignInput:
    """One input: an interval, or a list of values."""

    name: str
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    values: DesignRow = ()  # empty: an interval

    def cells(self, u: NDArray[np.float64]) -> list[Value]:  # (N,) in [0, 1)
        """The inputs at these quantiles; listed values come equally often."""
        if self.values:
            rank = np.empty(len(u), dtype=np.intp)
            rank[np.argsort(u, kind="stable")] = np.arange(len(u))
            return [self.values[k] for k in (rank * len(self.values) // len(u)).tolist()]
        if not self.log:
            found = self.low + u * (self.high - self.low)
        else:
            found = np.exp(np.log(self.low) + u * (np.log(self.high) - np.log(self.low)))
        return list(np.clip(found, self.low, self.high).tolist())


def box(
    inputs: Mapping[str, tuple[object, ...] | range | list[Value] | NDArray[np.generic]],
    n: int = 2000,
    *,
    constraint: Callable[[dict[str, Any]], bool] | None = None,
    seed: int = 0,
) -> "pandas.DataFrame":
    """A table of candidates that fill a box of inputs evenly.

    For inputs that can be chosen freely, as with a simulator. Numbers are a scrambled Sobol
    sequence, which is more even than random points; values of a list come equally often. The same
    seed gives the same rows.

    Parameters
    ----------
    inputs : dict of name to range or values
        (20, 200) is a number between the bounds; (1, 60, "log") the same, uniform in logs;
        (1, 10, 0.5) in steps; range(1, 9) whole numbers; ["A", "B"] one of these values.
    n : int
        Number of candidates.
    constraint : function or None
        Takes a row as a dict and returns whether it can be tried; rows that cannot are replaced.
    seed : int
        Seed of the sequence.

    Returns
    -------
    pandas.DataFrame
        n rows, a column for each input.

    Raises
    ------
    ValueError
        Where an input has another form, there are fewer than n different rows, or almost no row
        satisfies the constraint.

    Examples
    --------
    >>> import weal
    >>> pool = weal.box({"temp": (20, 200), "time": (1, 60, "log"), "catalyst": ["A", "B"]}, n=100,
    ...                 constraint=lambda row: row["temp"] * row["time"] < 4000)
    >>> len(pool), list(pool.columns), bool((pool["temp"] * pool["time"] < 4000).all())
    (100, ['temp', 'time', 'catalyst'], True)
    """
    axes = [_axis(name, given) for name, given in _check_arguments(inputs, n, seed).items()]
    _refuse_too_few(axes, n)
    few, whole = _row_count(axes) <= MAX_DESIGN_ROWS, constraint is not None
    rows = _enumerate_rows(axes, seed) if few else _sobol_rows(axes, n, whole, seed)
    good = (
        list(islice(rows, n)) if constraint is None else _satisfying_rows(axes, rows, n, constraint)
    )
    return _frame(axes, good)


def _check_arguments(inputs: object, n: object, seed: object) -> Mapping[object, object]:
    if not isinstance(inputs, Mapping) or not inputs:
        raise ValueError(f'a box is inputs by name, such as {{"temp": (20, 200)}}; got {inputs!r}')
    if not _is_whole(n) or not 1 <= n <= MAX_ROWS:
        raise ValueError(f"n is {n!r}; it needs a whole number from 1 to {MAX_ROWS}")
    if not _is_whole(seed) or seed < 0:
        raise ValueError(f"seed is {seed!r}; it needs a whole number of at least 0")
    return inputs


def _axis(name: object, given: object) -> DesignInput:
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"the input {name!r} needs a name that is text")
    if isinstance(given, range):
        return DesignInput(name, values=_check_distinct(name, list(given)))
    if isinstance(given, list | np.ndarray):
        return DesignInput(name, values=_check_distinct(name, [_plain(value) for value in given]))
    if not isinstance(given, tuple) or not 2 <= len(given) <= 3:
        raise ValueError(
            f'{name!r} is {given!r}; it needs (low, high), (low, high, "log"), (low, high, step), '
            "range(...), or a list of values"
        )
    low, high = _bounds(name, given)
    if len(given) == 2:
        return DesignInput(name, low, high)
    if given[2] == "log":
        if low <= 0.0:
            raise ValueError(f"{name!r} is on a log scale, which needs bounds above 0; got {given}")
        return DesignInput(name, low, high, log=True)
    return DesignInput(name, values=_steps(name, low, high, given))


def _bounds(name: str, given: tuple[object, ...]) -> tuple[float, float]:
    numbers = [float(bound) for bound in map(_plain, given[:2]) if _is_real(bound)]
    if len(numbers) < 2 or not all(map(math.isfinite, numbers)):
        raise ValueError(f"{name!r} is {given}; its bounds are numbers")
    low, high = numbers
    if not math.isfinite(high - low):
        raise ValueError(f"{name!r} is {given}; its bounds are too far apart")
    if low >= high:
        hint = f"; write ({given[1]}, {given[0]})" if low > high else ""
        raise ValueError(f"{name!r} is {given}; the lower bound comes first, below the upper{hint}")
    return low, high


def _steps(name: str, low: float, high: float, given: tuple[object, ...]) -> DesignRow:
    step = _plain(given[2])
    if not _is_real(step) or not 0.0 < step <= high - low:
        raise ValueError(
            f'{name!r} is {given}; the third is "log", or a step above 0 and no longer than the '
            "interval"
        )
    count = math.floor((high - low) / step * (1 + 1e-12)) + 1
    if count > MAX_ROWS:
        raise ValueError(f"{name!r} is {given}, which are {count} steps; leave the step out")
    whole = all(_is_whole(_plain(one)) for one in given)
    values = [low + k * float(step) for k in range(count)]
    return tuple(round(v) if whole else float(f"{v:.12g}") for v in values)


def _check_distinct(name: str, values: Sequence[object]) -> DesignRow:
    if not values:
        raise ValueError(f"{name!r} has no values to choose from")
    found = list[Value]()
    for value in values:
        if value != value or not (isinstance(value, str | bool) or _is_real(value)):
            raise ValueError(f"{name!r} has the value {value!r}; values are text or numbers")
        found.append(value)
    if len(set(found)) < len(found):
        raise ValueError(f"{name!r} names a value twice: {values}")
    return tuple(found)


def _refuse_too_few(axes: Sequence[DesignInput], n: int) -> None:
    most = max(axes, key=lambda axis: len(axis.values) if _is_category(axis) else 0)
    if _is_category(most) and len(most.values) > n:
        raise ValueError(
            f"{most.name!r} has {len(most.values)} values, and n is {n}: some would never be tried"
        )
    different = _row_count(axes)
    if different < n:
        raise ValueError(
            f"there are {different:.0f} different rows, and n is {n}; say n={different:.0f}"
        )


def _is_category(axis: DesignInput) -> bool:
    return any(isinstance(value, str) for value in axis.values)


def _row_count(axes: Sequence[DesignInput]) -> float:
    """The number of different rows."""
    return math.prod(len(axis.values) or math.inf for axis in axes)


def _enumerate_rows(axes: Sequence[DesignInput], seed: int) -> Iterator[DesignRow]:
    every = list(product(*(axis.values for axis in axes)))
    for k in np.random.default_rng(seed).permutation(len(every)).tolist():
        yield every[k]


def _sobol_rows(axes: Sequence[DesignInput], n: int, whole: bool, seed: int) -> Iterator[DesignRow]:
    """Rows of a scrambled Sobol sequence, without end, in blocks of 2^k rows or (first) n rows.

    Listed values come equally often in each block; `whole` keeps the first block whole.
    """
    from scipy.stats import qmc

    sequence = qmc.Sobol(len(axes), scramble=True, seed=np.random.default_rng(seed))
    size, finite = 2 ** max(math.ceil(math.log2(n)), 1), math.isfinite(_row_count(axes))
    u, seen = sequence.random(size)[: None if whole else n], set[DesignRow]()
    while True:
        columns = [axis.cells(u[:, k]) for k, axis in enumerate(axes)]
        for row in zip(*columns, strict=True):
            if row in seen:
                continue
            if finite:  # continuous rows never repeat
                seen.add(row)
            yield row
        u = sequence.random(size)


def _satisfying_rows(
    axes: Sequence[DesignInput], rows: Iterator[DesignRow], n: int,
    constraint: Callable[[dict[str, Any]], bool],
) -> list[DesignRow]:  # fmt: skip
    """The first n rows that satisfy the constraint."""
    names, found, tried = [axis.name for axis in axes], list[DesignRow](), 0
    for row in rows:
        tried += 1
        if satisfies(constraint, dict(zip(names, row, strict=True))):
            found.append(row)
        hopeless = tried >= MIN_TRIED_ROWS and len(found) < MIN_SATISFIED_SHARE * tried
        if len(found) == n or hopeless:
            break
    if len(found) < n:
        raise ValueError(
            f"{len(found)} of {tried} rows satisfy the constraint, and n is {n}; check the "
            "constraint, make the box narrower around the rows that do, or n smaller"
        )
    return found


def _frame(axes: Sequence[DesignInput], rows: Sequence[DesignRow]) -> "pandas.DataFrame":
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise ValueError('a box is a pandas frame: pip install "weal[frames]"') from error
    columns = list(zip(*rows, strict=True))
    return pandas.DataFrame({axis.name: list(columns[k]) for k, axis in enumerate(axes)})


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value


def _is_real(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, Integral) and not isinstance(value, bool)
