"""Candidates for those who can choose their inputs freely: a space-filling table within bounds.

    {"temp": (20, 200),            a number between the bounds
     "time": (1, 60, "log"),       the same, even on a log scale
     "pressure": (1, 10, 0.5),     in steps: 1, 1.5, 2, ...
     "cycles": range(1, 9),        whole numbers
     "catalyst": ["A", "B"]}       one of these, each as often as the others

Numbers are a scrambled Sobol sequence [1], whose points are spread more evenly than random ones,
and each category goes through an axis of its own. Rows that break a constraint are left out: the
sequence goes on until there are n others. Where nothing is continuous and there are few different
rows, they are n of these, drawn at random.

[1] Owen: Scrambling Sobol' and Niederreiter-Xing points, 1998.

Constraints: functions of a row that say whether it may be tried.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST_SHARE = 0.001  # of the rows that satisfy a constraint; with fewer, looking on is hopeless


def satisfies(constraint: Callable[[Any], bool], row: Any) -> bool:
    """What the constraint says of a row; ValueError where it raises or says neither yes nor no.

    >>> satisfies(lambda row: row["temp"] < 100, {"temp": 20.0})
    True
    """
    try:
        found = constraint(row)
    except Exception as error:
        raise ValueError(f"the constraint raised {error!r} for the row {row}") from error
    if not isinstance(found, bool | np.bool_):
        raise ValueError(
            f"the constraint returned {found!r} for the row {row}; it says True or False"
        )
    return bool(found)


MIN_TRIED_ROWS = 2**13  # rows that are looked at before it is said that next to none is good
MAX_DESIGN_ROWS = 2**16  # different rows, all steps and categories: they are listed
MAX_ROWS = 10**7  # rows that are wanted
Cells = NDArray[Any] | list[Any]


@dataclass(frozen=True, slots=True)
class DesignInput:
    """One input: an interval, or some values."""

    name: str
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    values: tuple[Any, ...] = ()  # empty: an interval

    def cells(self, u: NDArray[np.float64]) -> list[Any]:  # (N,) in [0, 1)
        """What numbers from 0 to 1 stand for; values come equally often."""
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
    inputs: Mapping[str, Any],
    n: int = 2000,
    *,
    constraint: Callable[[dict[str, Any]], bool] | None = None,
    seed: int = 0,
) -> Any:
    """A table of candidates that fill a box of inputs evenly.

    For those who can choose their inputs freely, as with a simulator. Numbers are a scrambled Sobol
    sequence, whose points are spread more evenly than random ones; values of a list come equally
    often. The same seed gives the same rows.

    Parameters
    ----------
    inputs : dict of name to range or values
        (20, 200) is a number between the bounds; (1, 60, "log") the same, even on a log scale;
        (1, 10, 0.5) in steps; range(1, 9) whole numbers; ["A", "B"] one of these values.
    n : int
        How many candidates.
    constraint : function or None
        Gets a row as a dict, and says whether it can be tried; others take the place of those that
        cannot.
    seed : int
        Decides which rows.

    Returns
    -------
    pandas.DataFrame
        n rows, a column for each input.

    Raises
    ------
    ValueError
        Where an input is not written as above, there are fewer than n different rows, or next to no
        row satisfies the constraint.

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
    few, whole = _different(axes) <= MAX_DESIGN_ROWS, constraint is not None
    rows = _enumerate_rows(axes, seed) if few else _sobol_rows(axes, n, whole, seed)
    good = list(islice(rows, n)) if constraint is None else _good(axes, rows, n, constraint)
    return _frame(axes, good)


def _check_arguments(inputs: Any, n: Any, seed: Any) -> Mapping[str, Any]:
    if not isinstance(inputs, Mapping) or not inputs:
        raise ValueError(f'a box is inputs by name, such as {{"temp": (20, 200)}}; got {inputs!r}')
    if not _is_whole(n) or not 1 <= n <= MAX_ROWS:
        raise ValueError(f"n is {n!r}; it needs a whole number from 1 to {MAX_ROWS}")
    if not _is_whole(seed) or seed < 0:
        raise ValueError(f"seed is {seed!r}; it needs a whole number of at least 0")
    return inputs


def _axis(name: Any, given: Any) -> DesignInput:
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"the input {name!r} needs a name that is text")
    if isinstance(given, range):
        return DesignInput(name, values=_distinct(name, list(given)))
    if isinstance(given, list | np.ndarray):
        return DesignInput(name, values=_distinct(name, [_plain(value) for value in given]))
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


def _bounds(name: str, given: tuple[Any, ...]) -> tuple[float, float]:
    numbers = [_plain(bound) for bound in given[:2]]
    for bound in numbers:
        if not _is_real(bound) or not math.isfinite(bound):
            raise ValueError(f"{name!r} is {given}; its bounds are numbers")
    low, high = float(numbers[0]), float(numbers[1])
    if not math.isfinite(high - low):
        raise ValueError(f"{name!r} is {given}; its bounds are too far apart")
    if low >= high:
        hint = f"; write ({given[1]}, {given[0]})" if low > high else ""
        raise ValueError(f"{name!r} is {given}; the lower bound comes first, below the upper{hint}")
    return low, high


def _steps(name: str, low: float, high: float, given: tuple[Any, ...]) -> tuple[Any, ...]:
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


def _distinct(name: str, values: list[Any]) -> tuple[Any, ...]:
    if not values:
        raise ValueError(f"{name!r} has no values to choose from")
    for value in values:
        if value is None or value != value or not isinstance(value, str | Real):
            raise ValueError(f"{name!r} has the value {value!r}; values are text or numbers")
    if len(set(values)) < len(values):
        raise ValueError(f"{name!r} names a value twice: {values}")
    return tuple(values)


def _refuse_too_few(axes: Sequence[DesignInput], n: int) -> None:
    most = max(axes, key=lambda axis: len(axis.values) if _is_category(axis) else 0)
    if _is_category(most) and len(most.values) > n:
        raise ValueError(
            f"{most.name!r} has {len(most.values)} values, and n is {n}: some would never be tried"
        )
    different = _different(axes)
    if different < n:
        raise ValueError(
            f"there are {different:.0f} different rows, and n is {n}; say n={different:.0f}"
        )


def _is_category(axis: DesignInput) -> bool:
    return any(isinstance(value, str) for value in axis.values)


def _different(axes: Sequence[DesignInput]) -> float:
    """How many different rows there are."""
    return math.prod(len(axis.values) or math.inf for axis in axes)


def _enumerate_rows(axes: Sequence[DesignInput], seed: int) -> Iterator[tuple[Any, ...]]:
    every = list(product(*(axis.values for axis in axes)))
    for k in np.random.default_rng(seed).permutation(len(every)).tolist():
        yield every[k]


def _sobol_rows(
    axes: Sequence[DesignInput], n: int, whole: bool, seed: int
) -> Iterator[tuple[Any, ...]]:
    """Rows of a scrambled Sobol sequence, without end; `whole`: of its blocks, not n of the first.

    Values come equally often in each block, so that of the n rows of one they all do.
    """
    from scipy.stats import qmc

    sequence = qmc.Sobol(len(axes), scramble=True, seed=np.random.default_rng(seed))
    size, finite = 2 ** max(math.ceil(math.log2(n)), 1), math.isfinite(_different(axes))
    u, seen = sequence.random(size)[: None if whole else n], set[tuple[Any, ...]]()
    while True:
        columns = [axis.cells(u[:, k]) for k, axis in enumerate(axes)]
        for row in zip(*columns, strict=True):
            if row in seen:
                continue
            if finite:  # others do not come twice
                seen.add(row)
            yield row
        u = sequence.random(size)


def _good(
    axes: Sequence[DesignInput], rows: Iterator[tuple[Any, ...]], n: int,
    constraint: Callable[[dict[str, Any]], bool],
) -> list[tuple[Any, ...]]:  # fmt: skip
    """The first n rows that satisfy the constraint."""
    names, found, looked = [axis.name for axis in axes], list[tuple[Any, ...]](), 0
    for row in rows:
        looked += 1
        if satisfies(constraint, dict(zip(names, row, strict=True))):
            found.append(row)
        hopeless = looked >= MIN_TRIED_ROWS and len(found) < LEAST_SHARE * looked
        if len(found) == n or hopeless:
            break
    if len(found) < n:
        raise ValueError(
            f"{len(found)} of {looked} rows satisfy the constraint, and n is {n}; is it what you "
            "mean? Otherwise make the box narrower, around the rows that do, or n smaller"
        )
    return found


def _frame(axes: Sequence[DesignInput], rows: Sequence[tuple[Any, ...]]) -> Any:
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise ValueError('a box is a pandas frame: pip install "weal[frames]"') from error
    columns = list(zip(*rows, strict=True))
    return pandas.DataFrame({axis.name: list(columns[k]) for k, axis in enumerate(axes)})


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
