"""The goals that look for all rows beyond a level: above h, below h, between two levels.

The set of the goal is the rows whose true value lies above h (below it, between both), with h in
the units of the labels. A row belongs to it with the probability of the mixture
(`core.extensions.level_probability`), for the level h through the scaling and the warp of the
labels. The default score is straddle: it asks for rows that may lie on either side.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from weal.core.extensions.level_probability import log_probability_above, negated

if TYPE_CHECKING:
    from weal.core.arrays import Array
    from weal.core.paper.acquisition import Belief

OUT_OF_REACH = 0.02  # the least probability of a row that counts: below it ours are too small


@dataclass(frozen=True, slots=True, repr=False)
class Threshold:
    """Find all rows above a level, below one, or between two; made by Above, Below and Between."""

    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        if not self.levels:
            raise ValueError("the goal has no level: write it as in 'above 7.5'")
        if not self.low < self.high:
            low, high = _exact(self.high), _exact(self.low)
            raise ValueError(
                f"the goal is between {high} and {low}: the lower level comes first, as in "
                f"'between {low} and {high}'"
            )

    def __repr__(self) -> str:
        return f"{self.kind.capitalize()}({', '.join(map(_exact, self.levels))})"

    @property
    def levels(self) -> tuple[float, ...]:
        """The levels, one or two, in units of the labels."""
        return tuple(level for level in (self.low, self.high) if math.isfinite(level))

    @property
    def kind(self) -> str:
        """Above, below or between."""
        if len(self.levels) == 2:
            return "between"
        return "above" if math.isfinite(self.low) else "below"

    @property
    def text(self) -> str:
        """The goal as users write it."""
        return f"{self.kind} {' and '.join(map(_exact, self.levels))}"

    def to_dict(self) -> dict[str, object]:
        """The goal as JSON."""
        ends = {"low": self.low, "high": self.high}
        found = {name: value for name, value in ends.items() if math.isfinite(value)}
        return {"kind": self.kind, "text": self.text, **found}

    def acquisition(self, in_shards: bool) -> str:
        """The acquisition function that "auto" stands for."""
        return f"straddle({', '.join(map(_exact, self.levels))})"

    def membership(self, belief: "Belief") -> "Array":  # (N,)
        """The probability of each row of belonging to the set."""
        if self.kind == "below":
            return np.exp(log_probability_above(negated(belief), -belief.scaled(self.high)))
        above = [np.exp(log_probability_above(belief, belief.scaled(h))) for h in self.levels]
        return above[0] if self.kind == "above" else np.maximum(above[0] - above[1], 0.0)

    def check_rows(self, n: int) -> None:
        """Any pool will do."""


def reach(membership: "Array") -> Literal["none", "all"] | None:
    """Whether no row can belong to the set, or all must: P below 0.02, or above 0.98, for each.

    >>> reach(np.array([0.001, 0.01])), reach(np.array([0.01, 0.5]))
    ('none', None)
    """
    if not len(membership):
        return None
    if membership.max() < OUT_OF_REACH:
        return "none"
    return "all" if membership.min() > 1.0 - OUT_OF_REACH else None


def Above(level: float) -> Threshold:
    """Find all rows above a level, in units of the label.

    >>> Above(7.5), Above(7.5).acquisition(in_shards=False)
    (Above(7.5), 'straddle(7.5)')
    """
    return Threshold(low=_level("above", level))


def Below(level: float) -> Threshold:
    """Find all rows below a level, in units of the label."""
    return Threshold(high=_level("below", level))


def Between(low: float, high: float) -> Threshold:
    """Find all rows between two levels, in units of the label.

    >>> Between(40, 60).text
    'between 40 and 60'
    """
    return Threshold(_level("between", low), _level("between", high))


def _level(kind: str, level: float) -> float:
    """A level as a number; ValueError with an example where it is none."""
    example = "between 40 and 60" if kind == "between" else f"{kind} 7.5"
    is_number = isinstance(level, int | float | np.integer | np.floating)
    if isinstance(level, bool) or not is_number or not math.isfinite(level):
        raise ValueError(
            f"the goal {kind!r} has the level {level!r}; it needs a number in units of the label, "
            f"as in {example!r}"
        )
    return float(level)


def _exact(number: float) -> str:
    """The number in few characters, none of which is lost."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number)
