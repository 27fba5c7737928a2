"""Goals that search for the highest or lowest rows: maximise, minimise, best k, lowest k.

The set of the goal is the k highest rows of the pool, in the truth. A row belongs to it with the
probability p_i of lying above the level tau_k that k rows are expected to exceed
(`core.extensions.level_probability`); p_i sums to k. `maximise` looks for the highest row, and its
set is the MAXIMISE_ROWS highest ones: rows that are nearly as good are found on the way, and the
highest is found no later than with k = 1.

The default score is log p_i; for a pool in files, whose rows are scored one by one, mean + 2 sd.
Numerics are imported by the functions that compute: commands that only read a goal start at once.

The advice is to stop once the largest expected improvement was below LITTLE_GAIN sds of the labels
twice in a row; `weal status` takes the earlier value over a sample of all rows, measured ones too.
In 96 searches (`benchmarks/stopping.py`: 12 results of laboratory tables, 8 starts from 10 random
labels, up to 60 labels) this advice came 87 times, after 34 labels (median). The best label was
then short of the best row by 3.6 % of the range of the results (mean; median 0.5 %, worst 30 %;
mean after 60 labels 0.4 %), and by more than 2 % in 30 of the 87. Of 15 other rules (below 0.01,
0.003 or 0.001 sds, 2 to 10 times running, over unmeasured rows), thresholds that stop half of the
searches are short by more than 2 % in 18 to 33 % of them. No calibrated probability that a better
row is left is known, so none is shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING

from weal.goals.learn import too_early
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
from weal.text import about, number, some, with_probability

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from weal.core.arrays import Array
    from weal.core.paper.acquisition import Belief
    from weal.diagnostics.random_baseline import RandomComparison
    from weal.quantities.protocol import Quantity

MAXIMISE_ROWS = 10
CONFIDENCE_BOUND = 2  # sds, of the score for pools in files
LITTLE_GAIN = 0.01  # sds of the labels
STOP_RISK = (
    "There may be a better region far from all labels; its probability cannot be estimated. On "
    "laboratory tables one in three searches that stopped here missed a row that was better by "
    "over 2 % of the range. A few labels with the goal learn, or of random rows (--check), would "
    "reveal such a region."
)


@dataclass(frozen=True, slots=True, repr=False)
class Best:
    """Find the k highest rows, or (`lowest`) the k lowest; `extreme`: above all the first of them.

    >>> Best(10).text, Best(3, lowest=True).acquisition(in_shards=False)
    ('best 10', 'lowest(3)')
    """

    k: int = MAXIMISE_ROWS
    lowest: bool = False
    extreme: bool = False  # maximise, minimise: k is ours, and gives way to a smaller pool
    quantity: str | None = None  # the name of the quantity; None: the only one, or the first

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, Integral) or self.k < 1:
            raise ValueError(
                f"the goal is the best {self.k!r} rows; it needs a whole number of 1 or more, as "
                "in 'best 10'"
            )
        object.__setattr__(self, "k", int(self.k))

    def __repr__(self) -> str:
        name = f"quantity={self.quantity!r}" if self.quantity else ""
        if self.extreme:
            return f"{self.kind.capitalize()}({name.removeprefix('quantity=')})"
        own = [f"{self.k}", "lowest=True" if self.lowest else "", name]
        return f"Best({', '.join(filter(None, own))})"

    @property
    def kind(self) -> str:
        """Maximise, minimise, best or lowest."""
        if self.extreme:
            return "minimise" if self.lowest else "maximise"
        return "lowest" if self.lowest else "best"

    @property
    def text(self) -> str:
        """The goal as users write it."""
        return named(self.kind if self.extreme else f"{self.kind} {self.k}", self.quantity)

    def to_dict(self) -> dict[str, object]:
        """The goal as JSON."""
        own: dict[str, object] = {} if self.extreme else {"k": self.k}
        of = {"quantity": self.quantity} if self.quantity else {}
        return {"kind": self.kind, "text": self.text, **own, **of}

    def scored(self, quantities: Sequence[str]) -> Sequence[str]:
        """The named quantity, or the first."""
        return [self.quantity] if self.quantity else quantities[:1]

    @property
    def is_joint(self) -> bool:
        """One quantity."""
        return False

    @property
    def directions(self) -> tuple[tuple[str | None, bool], ...]:
        """One objective."""
        return ((self.quantity, self.lowest),)

    def bind(self, quantities: "Mapping[str, Quantity]", inputs: Sequence[str] = ()) -> "Best":
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
        if in_shards:
            return f"{'lcb' if self.lowest else 'ucb'}({CONFIDENCE_BOUND})"
        return f"{'lowest' if self.lowest else 'best'}({self.k})"

    def membership(self, belief: "Belief") -> "Array":  # (N,)
        """The probability of each row of being among the k best; they sum to k."""
        from weal.core.extensions.level_probability import best_level, negated

        return best_level(negated(belief) if self.lowest else belief, self.k).p

    @property
    def pointwise(self) -> bool:
        """The best k are found among all rows."""
        return False

    def worth(self, p: float, gain: float) -> float:
        """A label of a new row finds one of the set with probability p."""
        return p

    def true_members(self, y: "Array") -> "NDArray[np.bool_]":  # (N,)
        """Whether rows with these true values (N,) are among the k best; more where they tie."""
        import numpy as np

        values = -y if self.lowest else y
        return np.asarray(values >= np.sort(values)[-min(self.k, len(y))])

    def check_rows(self, n: int) -> None:
        """ValueError if a pool of n rows has no k best."""
        if self.k >= n and not self.extreme:
            raise ValueError(
                f"the goal {self.text!r} needs a pool of more than {self.k} rows, and there are "
                f"{n}: choose a smaller number, or the goal "
                f"{'minimise' if self.lowest else 'maximise'!r}"
            )

    @property
    def set_text(self) -> str:
        """The goal's set behind "it is"."""
        return f"among the {self.k} {'lowest' if self.lowest else 'best'}"

    @property
    def curve(self) -> CurveKind:
        """The best label so far."""
        return "best"

    def curve_label(self, target: str | None) -> str:
        """The label of the axis of the learning curve."""
        which = self.quantity or target or "label"
        return f"{'lowest' if self.lowest else 'highest'} {which} so far"

    @property
    def loss(self) -> Loss | None:
        """No replay: chance finds its share of the set."""
        return None

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
        if members.label_sd == 0.0:
            return "Keep going: all labels are equal so far, and no row is better than the others."
        if members.gain is None:
            return "All candidates are labelled or left out: there is nothing left to ask."
        gain, little = number(members.gain, 2), LITTLE_GAIN * members.label_sd
        if members.gain >= little or members.gain_before is None:
            return f"Keep going: one more label is expected to gain {gain} at most."
        if members.gain_before >= little:
            return (
                f"Keep going for now: one more label is expected to gain only {gain}; if the next "
                "one changes nothing, stop."
            )
        return (
            f"Stop, probably: one more label is expected to gain {gain} at most, less than "
            f"1 % of the labels' standard deviation, for the second time in a row. {STOP_RISK}"
        )

    def lines(self, members: SetProgress) -> list[str]:
        """The goal's section in `weal status`, its heading first."""
        first = "none yet" if members.best is None else number(members.best)
        row = f"   row {members.best_id}" if members.best_id is not None else ""
        found = [f"Goal: {self.text}", f"best so far    {first}{row}"]
        if members.gain is not None:
            found.append(
                f"to be gained   {number(members.gain, 2)} by one more label, at most "
                "(largest expected improvement)"
            )
        left = about(members.unmeasured)
        which = "lowest" if self.lowest else "top"
        found.append(f"{f'{which} {self.k}':<14} {left} of them still unmeasured")
        return [*found, *doubted_lines(members)]

    def random_lines(self, found: "RandomComparison | None", progress: GoalProgress) -> list[str]:
        """The rows of the set that random choice would have found."""
        members = progress.members
        if members is None:
            return []
        return [
            f"{members.measured_rows} rows chosen at random would contain "
            f"{about(members.by_chance)} "
            f"of the {self.set_text.removeprefix('among the ')}, the measured ones "
            f"{about(members.measured)}"
        ]

    def reach_text(self, reach: str) -> str:
        """There is no level."""
        return ""

    def reason(self, probability: float | None) -> str | None:
        """The reason for a chosen row, after "because"."""
        if probability is None:
            return None
        return f"it is {self.set_text} {with_probability(probability)}"


def repeat_first(members: SetProgress, set_text: str) -> str:
    """The advice while a label that is treated as wrong would change the set."""
    rows = some(map(str, members.doubted), 3)
    one = len(members.doubted) == 1
    return (
        f"Measure {rows} again first (--repeat): {'its label is' if one else 'their labels are'} "
        f"treated as wrong, and may show which rows are {set_text}."
    )


def doubted_lines(members: SetProgress) -> list[str]:
    """The rows whose doubted labels would change the set, as a line of `weal status`."""
    if not members.doubted:
        return []
    rows = some(map(str, members.doubted), 3)
    return [f"measure again  {rows}: treated as wrong, and may be in the set"]


def Maximise(quantity: str | None = None) -> Best:
    """Find the highest row.

    >>> Maximise().text, Maximise("yield").text
    ('maximise', 'maximise yield')
    """
    return Best(extreme=True, quantity=quantity)


def Minimise(quantity: str | None = None) -> Best:
    """Find the lowest row.

    >>> Minimise().acquisition(in_shards=True)
    'lcb(2)'
    """
    return Best(lowest=True, extreme=True, quantity=quantity)
