"""The inputs of a box: intervals, steps, whole numbers and lists of values.

    Python               TOML                                   values
    (20, 200)            { low = 20, high = 200 }, [20, 200]    numbers between the bounds
    (1, 60, "log")       { low = 1, high = 60, scale = "log" }  the same, uniform on a log scale
    (1, 10, 0.5)         { low = 1, high = 10, step = 0.5 }     1, 1.5, 2, ...
    range(1, 9)          { low = 1, high = 8, integer = true }  whole numbers
    ["A", "B"]           { values = ["A", "B"] }, ["A", "B"]    one of these, equally often

`DesignInput.to_json` writes the form of TOML, so a file and a campaign are read by the same code.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from numbers import Integral, Real
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from weal.text import exact, shorten, some

Value = str | int | float  # of a list of values
DesignRow = tuple[Value, ...]
MAX_STEPS = 10**7
STEP_ROUNDING = 1e-9  # share of a step by which the range may miss a multiple of it
INPUT_KEYS = ("low", "high", "step", "integer", "scale", "values")
_FORMS = "{ low = 0, high = 1 }, [0, 1] or a list of words"


@dataclass(frozen=True, slots=True)
class DesignInput:
    """One input: an interval, or a list of values."""

    name: str
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    values: DesignRow = ()  # empty: an interval
    step: float | None = None  # of values in equal steps

    @property
    def is_number(self) -> bool:
        """Whether every value is a number."""
        return all(is_real(value) for value in self.values)

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

    def perturbed(
        self, cells: Sequence[Value], width: float, rng: np.random.Generator,
        there: Sequence[Value] = (),
    ) -> list[Value]:  # fmt: skip
        """The cells moved by up to this share of the ranks of the existing values (`there`). Moves
        are shorter where values are dense. Words stay unchanged.
        """
        jump = rng.uniform(-width, width, len(cells))
        if not self.is_number:
            return list(cells)
        if self.values:
            levels = np.sort(np.array(self.values, dtype=np.float64))
            order = np.argsort(np.array(self.values, dtype=np.float64), kind="stable")
            here = np.searchsorted(levels, np.array(cells, dtype=np.float64))
            reach = max(width * len(levels), 1.0)  # at least the next value is reachable
            to = np.clip(np.rint(here + jump / width * reach), 0, len(levels) - 1)
            return [self.values[order[k]] for k in to.astype(np.intp).tolist()]
        known = np.array([self.low, self.high, *there], dtype=np.float64)
        known = np.clip(known, self.low, self.high)
        known = np.unique(known[~np.isnan(known)])
        scaled, x = (np.log(v) if self.log else v for v in (known, np.clip(
            np.array(cells, dtype=np.float64), self.low, self.high)))  # fmt: skip
        ranks = np.linspace(0.0, 1.0, len(known))
        u = np.abs(np.interp(x, scaled, ranks) + jump)  # reflected at the bounds
        x = np.interp(np.where(u > 1.0, np.maximum(2.0 - u, 0.0), u), ranks, scaled)
        return list(np.clip(np.exp(x) if self.log else x, self.low, self.high).tolist())

    def contains(self, cell: object) -> bool:
        """Whether the input can have this value."""
        if self.values:
            return cell in self.values
        return is_real(cell) and self.low <= cell <= self.high

    def to_json(self) -> dict[str, object]:
        """The input as a table of a TOML file has it."""
        if self.values and self.step is None:
            return {"values": list(self.values)}
        ends = (self.values[0], self.values[-1]) if self.values else (self.low, self.high)
        found: dict[str, object] = {"low": ends[0], "high": ends[1]}
        if self.step is not None:
            whole = all(is_whole(end) for end in ends)
            found |= {"step": int(self.step) if whole else self.step}
        return found | ({"scale": "log"} if self.log else {})


def check_name(name: object) -> str:
    """The name of an input; ValueError unless it is text on one line."""
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"the input {name!r} needs a name that is text")
    if name != name.strip() or not name.isprintable():
        raise ValueError(
            f"the input {name!r} has surrounding blanks or unprintable characters in its name; "
            "remove them"
        )
    return name


def input_from_python(name: object, given: object) -> DesignInput:
    """The input of a tuple, range, list or array; ValueError with the correction."""
    name = check_name(name)
    if isinstance(given, range):
        step = given.step if given.step > 0 and len(given) > 1 else None
        return replace(_listed(name, given), step=step)
    if isinstance(given, list | np.ndarray):
        return _listed(name, [plain(value) for value in given])
    if isinstance(given, Mapping):
        return input_from_table(name, given)
    if not isinstance(given, tuple) or not 2 <= len(given) <= 3:
        raise ValueError(
            f'{name!r} is {given!r}; it needs (low, high), (low, high, "log"), (low, high, step), '
            "range(...), or a list of values"
        )
    low, high = _bounds(name, given)
    if len(given) == 2:
        return DesignInput(name, low, high)
    if given[2] == "log":
        return _logarithmic(name, low, high, given)
    return _stepped(name, low, high, given)


def input_from_table(name: str, given: object) -> DesignInput:
    """The input of a TOML value: a table, two bounds, or a list of words."""
    check_name(name)
    if isinstance(given, list):
        return _input_from_list(name, given)
    if not isinstance(given, Mapping):
        raise ValueError(f"the input {name!r} is {given!r}; write {_FORMS}")
    check_keys(given, INPUT_KEYS, f"the input {name!r}")
    if "values" in given:
        if len(given) > 1:
            raise ValueError(f"the input {name!r} has values and {_others(given)}; keep one")
        if not isinstance(given["values"], list):
            raise ValueError(f"values of {name!r} is {given['values']!r}; write a list, [1, 2, 5]")
        return _listed(name, given["values"])
    if missing := [key for key in ("low", "high") if key not in given]:
        raise ValueError(f"the input {name!r} has no {missing[0]}; write {{ low = 0, high = 1 }}")
    return _interval(name, given)


def _input_from_list(name: str, given: list[object]) -> DesignInput:
    """Two bounds, or a list of words."""
    if len(given) == 2 and all(is_real(one) for one in given):
        return DesignInput(name, *_bounds(name, tuple(given), "[{1}, {0}]"))
    if any(is_real(one) for one in given):
        raise ValueError(
            f"the input {name!r} is {given}; write a list of numbers as "
            f"{{ values = {given} }}, and bounds as [low, high]"
        )
    return _listed(name, given)


def _interval(name: str, given: Mapping[str, object]) -> DesignInput:
    ends = (given["low"], given["high"])
    low, high = _bounds(name, ends, "low = {1}, high = {0}")
    integer, scale = given.get("integer", False), given.get("scale", "linear")
    if not isinstance(integer, bool):
        raise ValueError(f"integer of {name!r} is {integer!r}; write true or false")
    if scale not in ("linear", "log"):
        raise ValueError(f'scale of {name!r} is {scale!r}; write "log" or "linear"')
    if integer and not all(is_whole(one) for one in (*ends, given.get("step", 1))):
        raise ValueError(
            f"{name!r} is of whole numbers, with the bounds {low:g} and {high:g}; write them, and "
            "the step, as whole numbers"
        )
    if scale == "log" and ("step" in given or integer):
        raise ValueError(f"{name!r} has steps on a log scale; write values = [1, 2, 5, 10]")
    if integer or "step" in given:
        return _stepped(name, low, high, (*ends, given.get("step", 1)))
    return _logarithmic(name, low, high, ends) if scale == "log" else DesignInput(name, low, high)


def check_keys(given: Mapping[str, object], keys: Collection[str], what: str) -> None:
    """Raise ValueError for a key that is not one of these, with the most similar one."""
    for key in given:
        if key not in keys:
            near = get_close_matches(str(key), list(keys), 1)
            known = f"{near[0]} perhaps" if near else " or ".join(keys)
            raise ValueError(f"{what} has the unknown key {shorten(str(key), 40)!r}; write {known}")


def plain(value: object) -> object:
    """A Python value instead of one of numpy."""
    return value.item() if isinstance(value, np.generic) else value


def _others(given: Mapping[str, object]) -> str:
    return some(key for key in given if key != "values")


def _logarithmic(name: str, low: float, high: float, given: tuple[object, ...]) -> DesignInput:
    if low <= 0.0:
        raise ValueError(f"{name!r} is on a log scale, which needs bounds above 0; got {given}")
    return DesignInput(name, low, high, log=True)


def _bounds(
    name: str, given: tuple[object, ...], exchanged: str = "({1}, {0})"
) -> tuple[float, float]:
    numbers = [float(bound) for bound in map(plain, given[:2]) if is_real(bound)]
    if len(numbers) < 2 or not all(map(math.isfinite, numbers)):
        raise ValueError(f"{name!r} is {given}; write two finite numbers as its bounds")
    low, high = numbers
    if not math.isfinite(high - low):
        raise ValueError(f"{name!r} is {given}; its bounds are too far apart: use a larger unit")
    if low >= high:
        hint = f"; write {exchanged.format(*given)}" if low > high else ""
        raise ValueError(f"{name!r} is {given}; the lower bound comes first, below the upper{hint}")
    return low, high


def _stepped(name: str, low: float, high: float, given: tuple[object, ...]) -> DesignInput:
    step = plain(given[2])
    if not is_real(step) or not 0.0 < step <= high - low:
        raise ValueError(
            f'{name!r} is {given}; write "log" as the third, or a step above 0 and no longer '
            "than the interval"
        )
    steps = (high - low) / step
    if steps >= MAX_STEPS:
        raise ValueError(f"{name!r} is {given}, which are {steps:.0f} steps; leave the step out")
    if abs(steps - round(steps)) > STEP_ROUNDING * max(steps, 1.0):
        ends = [exact(float(f"{low + k * step:.12g}")) for k in (int(steps), int(steps) + 1)]
        raise ValueError(
            f"{name!r} has the step {exact(step)}, which does not divide {exact(low)} to "
            f"{exact(high)}; write high = {ends[0]} or {ends[1]}"
        )
    whole = all(is_whole(plain(one)) for one in given)
    values = [low + k * float(step) for k in range(round(steps) + 1)]
    cells = tuple(round(v) if whole else float(f"{v:.12g}") for v in values)
    return DesignInput(name, values=cells, step=step)


def _listed(name: str, values: Sequence[object]) -> DesignInput:
    if not values:
        raise ValueError(f"{name!r} has no values to choose from; name two or more")
    found = list[Value]()
    for value in values:
        if value != value or not (isinstance(value, str | bool) or is_real(value)):
            raise ValueError(f"{name!r} has the value {value!r}; write text or numbers")
        if isinstance(value, str) and not value.strip():
            raise ValueError(f"{name!r} has an empty text among its values; leave it out")
        found.append(value)
    if len(set(found)) < len(found):
        twice = next(value for n, value in enumerate(found) if value in found[:n])
        raise ValueError(f"{name!r} names the value {twice!r} twice; leave one out")
    return DesignInput(name, values=tuple(found))


def is_real(value: object) -> TypeGuard[float]:
    """Whether this is a number and not a boolean."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: object) -> TypeGuard[int]:
    """Whether this is a whole number and not a boolean."""
    return isinstance(value, Integral) and not isinstance(value, bool)
