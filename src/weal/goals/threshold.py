"""Goals that search for all rows beyond a level: above h, below h, between two levels.

The set of the goal is the rows whose true value lies above h (below it, between both), with h in
the units of the labels. A row belongs to it with the probability of the mixture
(`core.extensions.level_probability`), for the level h through the scaling and the warp of the
labels. The default score is straddle: it asks for rows that may lie on either side.

The expected number of rows on the wrong side is right on average; in a single campaign 0.5 to 2.6
times as many were found, and it is shown with that range.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Literal

from weal.goals.best import doubted_lines, repeat_first
from weal.goals.learn import replay_lines, too_early
from weal.goals.named import bind_level, named
from weal.goals.protocol import (
    NOT_AT_RANDOM,
    CurveKind,
    GoalProgress,
    JointBelief,
    Loss,
    SetProgress,
)
from weal.goals.requirements import all_meet
from weal.text import about, number, with_probability

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from weal.core.arrays import Array
    from weal.core.paper.acquisition import Belief
    from weal.diagnostics.random_baseline import RandomComparison
    from weal.quantities.protocol import Quantity

WRONG_RANGE = 0.5, 2.6  # times the expected number of wrong rows that single campaigns had
FEW_WRONG = 0.02  # of the rows of the set: fewer on the wrong side are good enough
OUT_OF_REACH = 0.02  # the least probability of a row that counts: below it ours are too small


@dataclass(frozen=True, slots=True, repr=False)
class Threshold:
    """Find all rows above a level, below one, or between two; made by Above, Below and Between."""

    low: float = -math.inf
    high: float = math.inf
    quantity: str | None = None  # the name of the quantity; None: the only one, or the first

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
        name = [repr(self.quantity)] if self.quantity else []
        return f"{self.kind.capitalize()}({', '.join([*map(_exact, self.levels), *name])})"

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
        return named(self.level_text, self.quantity)

    @property
    def level_text(self) -> str:
        """The goal without the name of its quantity."""
        return f"{self.kind} {' and '.join(map(_exact, self.levels))}"

    def to_dict(self) -> dict[str, object]:
        """The goal as JSON."""
        ends = {"low": self.low, "high": self.high}
        found = {name: value for name, value in ends.items() if math.isfinite(value)}
        of = {"quantity": self.quantity} if self.quantity else {}
        return {"kind": self.kind, "text": self.text, **found, **of}

    def scored(self, quantities: Sequence[str]) -> Sequence[str]:
        """The named quantity, or the first."""
        return [self.quantity] if self.quantity else quantities[:1]

    @property
    def is_joint(self) -> bool:
        """One quantity."""
        return False

    @property
    def directions(self) -> tuple[tuple[str | None, bool], ...]:
        """A level, and no objective."""
        return ()

    def bind(self, quantities: "Mapping[str, Quantity]", inputs: Sequence[str] = ()) -> "Threshold":
        """The goal with its quantity, if there are several."""
        return replace(self, quantity=bind_level(self, quantities, inputs))

    def joint_scores(self, joint: JointBelief) -> None:
        """None if the acquisition function scores the rows."""

    def joint_membership(self, joint: JointBelief) -> None:
        """None if it is not joint."""

    def joint_gains(self, joint: JointBelief) -> None:
        """None if it is not joint."""

    def log_feasible(self, joint: JointBelief) -> None:
        """None if there are no constraints."""

    def meets(self, labels: "Mapping[str, Array]") -> "NDArray[np.bool_]":  # (n,)
        """All do."""
        return all_meet((), labels)

    def weight(self, quantity: str) -> float:
        """1: all count the same."""
        return 1.0

    def acquisition(self, in_shards: bool) -> str:
        """The acquisition function that "auto" stands for."""
        return f"straddle({', '.join(map(_exact, self.levels))})"

    def membership(self, belief: "Belief") -> "Array":  # (N,)
        """The probability of each row of belonging to the set."""
        import numpy as np

        from weal.core.extensions.level_probability import log_probability_above, negated

        if self.kind == "below":
            return np.exp(log_probability_above(negated(belief), -belief.scaled(self.high)))
        above = [np.exp(log_probability_above(belief, belief.scaled(h))) for h in self.levels]
        return above[0] if self.kind == "above" else np.maximum(above[0] - above[1], 0.0)

    @property
    def pointwise(self) -> bool:
        """The probability of a row depends on no other row."""
        return True

    def worth(self, p: float, gain: float) -> float:
        """A label of a new row puts `gain` rows on the right side."""
        return gain

    def true_members(self, y: "Array") -> "NDArray[np.bool_]":  # (N,)
        """Whether rows with these true values (N,) lie beyond the level, or between both."""
        found: NDArray[np.bool_] = (self.low < y) & (y < self.high)
        return found

    def check_rows(self, n: int) -> None:
        """Any pool will do."""

    @property
    def loss(self) -> Loss | None:
        """The share of rows on the wrong side."""
        return self._share_wrong

    def _share_wrong(self, mean: "Array", truth: "Array") -> float:
        """The share of rows on the wrong side; half a row is added so that it is never 0."""
        wrong = self.true_members(mean) != self.true_members(truth)
        return float((wrong.sum() + 0.5) / len(wrong))

    @property
    def set_text(self) -> str:
        """The goal's set behind "it is"."""
        return self.level_text

    @property
    def lowest(self) -> bool:
        """Whether low labels are in the set."""
        return self.kind == "below"

    @property
    def curve(self) -> CurveKind:
        """The expected F1."""
        return "f1"

    def curve_label(self, target: str | None) -> str:
        """The label of the axis of the learning curve."""
        return f"expected F1 of the rows {self.text}"

    @property
    def error_bias(self) -> str:
        """Rows of the set may be easier or harder to predict than others."""
        return NOT_AT_RANDOM

    def advice(self, progress: GoalProgress) -> str:
        """Sentences: keep going, or stop, and why."""
        members = progress.members
        if progress.missing or members is None:
            return too_early(max(progress.missing, 1))
        if members.doubted:
            return repeat_first(members, self.set_text)
        if members.reach:
            return self.reach_text(members.reach)
        wrong, size = members.wrong, members.measured + members.unmeasured
        if WRONG_RANGE[1] * wrong >= max(1.0, FEW_WRONG * size):
            return f"Keep going: {wrong_rows(wrong)}."
        return (
            f"Stop, probably: {wrong_rows(wrong)}. The model may be wrong in a region far from all "
            "labels; random rows (--check) would reveal one."
        )

    def reach_text(self, reach: str) -> str:
        """The sentence for a level that no row can reach, or that all do."""
        which = "No row is" if reach == "none" else "All rows are"
        bound = "below 2 %" if reach == "none" else "above 98 %"
        return (
            f"{which} likely to be {self.level_text} (each has a probability {bound}). Check the "
            "level and its unit; change it with `weal settings NAME --goal`."
        )

    def lines(self, members: SetProgress) -> list[str]:
        """The goal's section in `weal status`, its heading first."""
        found = [
            f"Goal: {self.text}",
            f"in the set     {about(members.measured + members.unmeasured)} rows, "
            f"{about(members.unmeasured)} of them unmeasured",
            f"wrong side     {wrong_rows(members.wrong)}",
            f"expected F1    {members.f1:.2f}",
        ]
        if members.reach:
            which = "no row reaches" if members.reach == "none" else "every row reaches"
            found.append(f"level          {which} it: check the number and its unit")
        return [*found, *doubted_lines(members)]

    def random_lines(self, found: "RandomComparison | None", progress: GoalProgress) -> list[str]:
        """The rows on the wrong side that random choice would have left."""
        return replay_lines(found, "have left {} times as many wrong")

    def reason(self, probability: float | None) -> str | None:
        """The reason for a chosen row, after "because"."""
        if probability is None:
            return None
        side = f"it is {self.level_text} {with_probability(probability)}"
        return f"its label would tell on which side of the level it lies: {side}"


def wrong_rows(wrong: float) -> str:
    """The expected number of rows on the wrong side, with the range of single campaigns.

    >>> wrong_rows(12.0)
    'about 12 rows are on the wrong side (6 to 31 in a single campaign)'
    """
    low, high = (number(times * wrong, 2) for times in WRONG_RANGE)
    if wrong < 0.05:
        return "hardly any row is on the wrong side"
    many = f"about {number(wrong, 2)} rows are on the wrong side"
    return f"{many} ({low} to {high} in a single campaign)"


def reach(membership: "Array") -> Literal["none", "all"] | None:
    """Whether no row can belong to the set, or all must: P below 0.02, or above 0.98, for each.

    >>> import numpy as np
    >>> reach(np.array([0.001, 0.01])), reach(np.array([0.01, 0.5]))
    ('none', None)
    """
    if not len(membership):
        return None
    if membership.max() < OUT_OF_REACH:
        return "none"
    return "all" if membership.min() > 1.0 - OUT_OF_REACH else None


def Above(level: float, quantity: str | None = None) -> Threshold:
    """Find all rows above a level, in units of the label.

    >>> Above(7.5), Above(7.5).acquisition(in_shards=False)
    (Above(7.5), 'straddle(7.5)')
    """
    return Threshold(low=_level("above", level), quantity=quantity)


def Below(level: float, quantity: str | None = None) -> Threshold:
    """Find all rows below a level, in units of the label."""
    return Threshold(high=_level("below", level), quantity=quantity)


def Between(low: float, high: float, quantity: str | None = None) -> Threshold:
    """Find all rows between two levels, in units of the label.

    >>> Between(40, 60).text
    'between 40 and 60'
    """
    return Threshold(_level("between", low), _level("between", high), quantity)


def _level(kind: str, level: float) -> float:
    """A level as a number; ValueError with an example where it is none."""
    example = "between 40 and 60" if kind == "between" else f"{kind} 7.5"
    if isinstance(level, bool) or not isinstance(level, Real) or not math.isfinite(level):
        raise ValueError(
            f"the goal {kind!r} has the level {level!r}; it needs a number in units of the label, "
            f"as in {example!r}"
        )
    return float(level)


def _exact(number: float) -> str:
    """The number in few characters, none of which is lost."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number)
