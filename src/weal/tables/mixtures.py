"""Mixtures in a box: inputs with a fixed sum, of which at most k may be above 0.

    parts x_1 .. x_p    low_i <= x_i <= high_i,  sum x_i = total

If the bounds allow the whole simplex, a row is uniform on it: x = low + r E / sum E with
E_i = -log(u_i) exponential and r = total - sum low, which is Dirichlet(1, ..., 1) [1]. Tighter
bounds use hit-and-run [2] along pairs (x_i + t, x_j - t), whose stationary distribution is uniform
within them. With at most k parts, the parts above 0 are drawn first: how many, from 2 to k, then
which; a part with a lower bound above 0 is always present. Steps round to the nearest grid point of
the same sum.

[1] Devroye: Non-Uniform Random Variate Generation, 1986, chapter 11.
[2] Smith: Efficient Monte Carlo procedures for generating points uniformly distributed over bounded
regions, 1984.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weal.tables.design_inputs import STEP_ROUNDING, DesignInput, check_keys, is_real, is_whole
from weal.text import exact, some

Matrix = NDArray[np.float64]
SUM_ROUNDING = 1e-9  # share of the total by which a sum may differ from it
MOVES_PER_PART = 40  # hit-and-run moves before a row is used, times the number of parts
MAX_SUPPORT_ROUNDS = 1000  # draws of the parts above 0
MIXTURE_KEYS = ("parts", "sum", "at_most")


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """Parts with a fixed sum."""

    parts: tuple[str, ...]
    total: float
    at_most: int  # parts above 0
    low: Matrix  # (p,)
    high: Matrix  # (p,)
    step: float | None = None

    def draw(self, u: Matrix, rng: np.random.Generator) -> Matrix:  # (N, p) in [0, 1) -> (N, p)
        """Rows of the mixture, uniform within the bounds of the parts above 0."""
        there = self._present(len(u), rng)  # (N, p)
        E = np.where(there, -np.log1p(-u), 0.0)
        rest = self.total - self.low.sum()
        x = self.low + rest * E / E.sum(axis=1, keepdims=True)
        if (self.high < self.low + rest * (1.0 - SUM_ROUNDING)).any():
            x = self._hit_and_run(self._fill(there), there, rng)
        return self.rounded(x)

    def perturbed(self, x: Matrix, width: float, rng: np.random.Generator) -> Matrix:  # (N, p)
        """Rows near these, with the same parts above 0; a part may leave its bounds."""
        there = x > SUM_ROUNDING * self.total
        span = np.minimum(self.high, self.total) - self.low
        move = np.where(there, rng.uniform(-width, width, x.shape) * span, 0.0)
        count = np.maximum(there.sum(axis=1, keepdims=True), 1)
        return self.rounded(x + np.where(there, move - move.sum(axis=1, keepdims=True) / count, 0))

    def contains(self, x: Matrix) -> NDArray[np.bool_]:  # (N, p) -> (N,)
        """Whether rows have the sum, the bounds and the number of parts."""
        slack = SUM_ROUNDING * self.total
        inside = ((x >= self.low - slack) & (x <= self.high + slack)).all(axis=1)
        few = (x > slack).sum(axis=1) <= self.at_most
        found: NDArray[np.bool_] = inside & few & (np.abs(x.sum(axis=1) - self.total) <= slack)
        return found

    def rounded(self, x: Matrix) -> Matrix:  # (N, p)
        """The rows on the grid of the steps, largest remainders first; their sum stays."""
        if self.step is None:
            return np.asarray(np.clip(x, self.low, self.high))
        units = (x - self.low) / self.step
        whole = np.floor(units + STEP_ROUNDING)
        lacking = np.rint((self.total - self.low.sum()) / self.step - whole.sum(axis=1))
        place = np.argsort(np.argsort(whole - units, axis=1, kind="stable"), axis=1, kind="stable")
        at = self.low + (whole + (place < lacking[:, None])) * self.step
        return np.asarray(np.round(at, 12))

    def _present(self, n: int, rng: np.random.Generator) -> NDArray[np.bool_]:  # (n, p)
        """Which parts are above 0 in each row."""
        p, needed = len(self.parts), self.low > 0.0
        if self.at_most == p:
            return np.ones((n, p), dtype=bool)
        found = np.zeros((n, p), dtype=bool)
        at = np.arange(n)
        for _ in range(MAX_SUPPORT_ROUNDS):  # parts that cannot reach the sum are drawn again
            least = max(int(needed.sum()), min(2, self.at_most))
            sizes = rng.integers(least, self.at_most + 1, len(at))
            order = np.argsort(np.where(needed, -1.0, rng.random((len(at), p))), axis=1)
            rank = np.argsort(order, axis=1)
            found[at] = rank < sizes[:, None]
            reach = np.where(found[at], self.high, 0.0).sum(axis=1)
            at = at[reach < self.total * (1.0 - SUM_ROUNDING)]
            if not len(at):
                return found
        raise ValueError(
            f"almost no {self.at_most} parts of {some(self.parts)} reach the sum "
            f"{exact(self.total)}; raise at_most or their upper bounds"
        )

    def _fill(self, there: NDArray[np.bool_]) -> Matrix:
        """A row within the bounds: every part the same share of the way to its upper bound."""
        high = np.where(there, self.high, self.low)
        room = (high - self.low).sum(axis=1, keepdims=True)
        share = (self.total - self.low.sum()) / np.where(room > 0.0, room, 1.0)
        return np.asarray(self.low + share * (high - self.low))

    def _hit_and_run(
        self, x: Matrix, there: NDArray[np.bool_], rng: np.random.Generator
    ) -> Matrix:  # (N, p)
        """The rows after many moves along pairs of their parts."""
        at, p = np.arange(len(x)), len(self.parts)
        for _ in range(MOVES_PER_PART * p):
            keys = np.where(there, rng.random(x.shape), 2.0)
            i, j = np.argsort(keys, axis=1)[:, :2].T
            both = there[at, i] & there[at, j]
            least = np.maximum(self.low[i] - x[at, i], x[at, j] - self.high[j])
            most = np.minimum(self.high[i] - x[at, i], x[at, j] - self.low[j])
            t = np.where(both, least + rng.random(len(x)) * (most - least), 0.0)
            x[at, i] += t
            x[at, j] -= t
        return x

    def words(self) -> str:
        """The mixture in a line."""
        few = f", at most {self.at_most} above 0" if self.at_most < len(self.parts) else ""
        return f"mixture: {' + '.join(self.parts)} = {exact(self.total)}{few}"

    def to_json(self) -> dict[str, object]:
        """The mixture as a TOML file has it."""
        return {"parts": list(self.parts), "sum": self.total, "at_most": self.at_most}


def mixture_from_table(
    given: object, inputs: Mapping[str, DesignInput]
) -> tuple[Mixture, dict[str, DesignInput]]:
    """The mixture of a table, and its parts as inputs; ValueError with the correction."""
    if not isinstance(given, Mapping):
        raise ValueError(
            f'a mixture is {given!r}; write parts = ["water", "oil"] and sum = 1 below [mixture]'
        )
    check_keys(given, MIXTURE_KEYS, "the mixture")
    parts, total = _parts(given.get("parts")), _total(given.get("sum", 1))
    own = {name: inputs.get(name) or DesignInput(name, 0.0, total) for name in parts}
    for one in own.values():
        if one.log or (one.values and one.step is None):
            raise ValueError(
                f"the part {one.name!r} of a mixture has a log scale or a list of values; write "
                "low, high and perhaps step"
            )
    ends = [(one.values[0], one.values[-1]) if one.values else (one.low, one.high)
            for one in own.values()]  # fmt: skip
    bounds = np.array(ends, dtype=np.float64)
    low, high = bounds.T
    if low.min() < 0.0:
        raise ValueError(f"the part {parts[int(low.argmin())]!r} is below 0; write low = 0 or more")
    at_most = _at_most(given.get("at_most", len(parts)), len(parts))
    step = _common_step(list(own.values()), low, total)
    _check_reachable(parts, total, at_most, low, high)
    return Mixture(parts, total, at_most, low, high, step), own


def _parts(given: object) -> tuple[str, ...]:
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
        raise ValueError(f'parts of a mixture is {given!r}; write parts = ["water", "oil"]')
    if len(given) < 2 or len(set(given)) < len(given):
        raise ValueError(
            f"a mixture has the parts {some(map(repr, given)) or 'none'}; name two or more, each "
            "once"
        )
    return tuple(given)


def _total(given: object) -> float:
    if not is_real(given) or not 0.0 < given < math.inf:
        raise ValueError(f"sum of a mixture is {given!r}; write a number above 0, as sum = 1")
    return float(given)


def _at_most(given: object, p: int) -> int:
    if not is_whole(given) or not 1 <= given <= p:
        raise ValueError(f"at_most of a mixture is {given!r}; write a whole number from 1 to {p}")
    return int(given)


def _common_step(own: Sequence[DesignInput], low: Matrix, total: float) -> float | None:
    """The step of all parts; None if they have none."""
    steps = {one.step for one in own}
    if steps == {None}:
        return None
    if len(steps) > 1 or None in steps:
        raise ValueError(
            f"the parts {some(one.name for one in own)} have different steps; write the same step "
            "for each part, or none"
        )
    step = float(steps.pop() or 1.0)
    count = (total - low.sum()) / step
    if abs(count - round(count)) > STEP_ROUNDING * max(abs(count), 1.0):
        raise ValueError(
            f"steps of {exact(step)} do not reach the sum {exact(total)}; write a step that "
            "divides it"
        )
    return step


def _check_reachable(
    parts: Sequence[str], total: float, at_most: int, low: Matrix, high: Matrix
) -> None:
    """Raise ValueError if no row of the mixture has the sum."""
    slack = SUM_ROUNDING * total
    needed = low > 0.0
    if needed.sum() > at_most:
        names = some(name for name, one in zip(parts, needed, strict=True) if one)
        raise ValueError(
            f"{int(needed.sum())} parts have a lower bound above 0 ({names}), and at_most is "
            f"{at_most}; write low = 0 for the parts that may be absent"
        )
    if low.sum() > total + slack:
        raise ValueError(
            f"the lower bounds of {some(parts)} add up to {exact(float(low.sum()))}, more than the "
            f"sum {exact(total)}; lower them"
        )
    free = np.sort(high[~needed])[::-1][: at_most - int(needed.sum())]
    most = float(high[needed].sum() + free.sum())
    if most < total - slack:
        raise ValueError(
            f"{some(parts)} reach {exact(most)} at most, less than the sum {exact(total)}; raise "
            "their upper bounds or at_most"
        )
