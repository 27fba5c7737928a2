"""The goal protocol: the purpose of the labels, and the texts and scores that depend on it.

A goal chooses the acquisition function, says in words how far the campaign is, advises when to
stop, explains why a row was chosen, names the series of the learning curve, and says what a
comparison with random choice compares. No other module assumes that labels serve a small error
everywhere. A goal is a frozen value, works on plain numbers, and reads no store, model or pool.
When to stop is apart from it (`until`).

A goal of one quantity scores rows by its acquisition function. A joint goal (constraints, or two
objectives) scores them by the beliefs in several quantities at once (`joint_scores`). Goals are
read without the quantities of a campaign; `bind` checks their names and words against these.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, Self

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from weal.core.arrays import Array
    from weal.core.paper.acquisition import Belief
    from weal.diagnostics.random_baseline import RandomComparison
    from weal.diagnostics.stopping import LabelsToGoal, RecentChange
    from weal.quantities.protocol import Quantity

NOT_AT_RANDOM = (
    "Rows were not chosen at random: for other rows, the leave-one-out and prequential errors may "
    "be too low or too high."
)
# Of predictions (N,) and true values (N,), both in units of the label.
Loss = Callable[["Array", "Array"], float]
CurveKind = Literal["errors", "best", "f1", "hypervolume"]


@dataclass(frozen=True, slots=True, eq=False)
class JointBelief:
    """Predictions of the models for N rows, by the name of the quantity, and the labels so far.

    A quantity without a model is in neither `numbers` nor `probabilities`. Labels are in the
    user's units, words by their code, repeats by their mean; a label that is treated as wrong is
    NaN. All arrays of `measured` are of the same n rows.
    """

    N: int  # rows that are scored
    numbers: "Mapping[str, Belief]"  # of numbers, and of grades
    probabilities: "Mapping[str, Array]" = field(default_factory=dict)  # (N, K) by code of the word
    measured: "Mapping[str, Array]" = field(default_factory=dict)  # (n,)  NaN: none

    def labels(self, quantity: str) -> "Array":  # (n,)
        """The labels of a quantity, NaN for a row without one."""
        import numpy as np

        n = max([len(y) for y in self.measured.values()], default=0)
        return self.measured.get(quantity, np.full(n, np.nan))


@dataclass(frozen=True, slots=True)
class SetProgress:
    """Predictions for the rows of a goal's set, as plain numbers."""

    rows: int  # candidates, all of them
    measured_rows: int
    measured: float  # expected number of measured rows in the set, and
    unmeasured: float  # of the others
    wrong: float  # expected number of rows on the wrong side, if each goes to the more probable one
    f1: float  # expected, of the rows that probably are in the set
    label_sd: float  # of the labels
    best_id: Hashable | None = None  # the measured row that comes first, and
    best: float | None = None  # its label
    gain: float | None = None  # largest expected improvement on it by one more label, and
    gain_before: float | None = None  # the same before the last label
    doubted: tuple[Hashable, ...] = ()  # ids of labels treated as wrong that would change the set
    reach: Literal["none", "all"] | None = None  # no row can be in the set, or all must
    feasible: int | None = None  # measured rows that meet all constraints, or None
    expected_feasible: float | None = None  # rows of all that are expected to meet them
    front: tuple[
        tuple[Hashable, float, float], ...
    ] = ()  # measured Pareto rows: id and both labels

    @property
    def by_chance(self) -> float:
        """Expected number of rows of the set among as many measured rows drawn at random."""
        return (self.measured + self.unmeasured) * self.measured_rows / max(self.rows, 1)


@dataclass(frozen=True, slots=True)
class GoalProgress:
    """The numbers that advice on stopping is based on."""

    missing: int  # labels to come before there is a model; 0: there is one
    change: "RecentChange | None" = None  # by the last labels; None if the model is new
    needed: "LabelsToGoal | None" = None  # to reach an error at which to stop, if there is one
    error: float | None = None  # leave-one-out, in units of the label
    baseline: float | None = None  # the error of guessing the mean
    labels: int = 0
    lowest: float | None = None  # of the labels that count, and
    highest: float | None = None
    members: SetProgress | None = None  # None for a goal without a set, or without a model


class Goal(Protocol):
    """The purpose of the labels of a campaign."""

    @property
    def text(self) -> str:
        """The canonical text, which `grammar.parse_goal` reads."""

    def __hash__(self) -> int: ...

    def to_dict(self) -> dict[str, object]:
        """The goal as JSON: kind, text, and its numbers."""

    def scored(self, quantities: Sequence[str]) -> Sequence[str]:
        """The measured quantities, of these, that rows are scored for; the first one leads."""

    def weight(self, quantity: str) -> float:
        """The weight of a quantity in the sum of the scores of several."""

    @property
    def is_joint(self) -> bool:
        """Whether rows are scored by several quantities at once: `joint_scores` is not None."""

    @property
    def directions(self) -> tuple[tuple[str | None, bool], ...]:
        """Its objectives: the quantity to maximise or, where True, to minimise; one or two or none.

        None instead of a name is the only quantity.
        """

    def bind(self, quantities: "Mapping[str, Quantity]", inputs: Sequence[str] = ()) -> Self:
        """The goal for these quantities, the first one its own where it names none.

        ValueError, with the way out, for a name that is none of them, a word that its quantity does
        not have, and a level or bound of words. `inputs` are names that the error explains.
        """

    def joint_scores(self, joint: JointBelief) -> "Array | None":  # (N,)
        """Logs of amounts, to which log P(works) may be added and log cost subtracted.

        None for a goal that is not joint: the acquisition functions score its rows.
        """

    def joint_membership(self, joint: JointBelief) -> "Array | None":  # (N,)
        """The probability of each row of belonging to the set of a joint goal."""

    def joint_gains(self, joint: JointBelief) -> "Array | None":  # (N,)
        """What each row is expected to gain: labels in the units of the experts, or a share.

        Of two objectives it is a share of the hypervolume. None while no row to improve on is
        known, and for a goal that is not joint or has no objective.
        """

    def log_feasible(self, joint: JointBelief) -> "Array | None":  # (N,)
        """log P(feasible) of each row; None if there are no constraints."""

    def meets(self, labels: "Mapping[str, Array]") -> "NDArray[np.bool_]":  # (n,)
        """Whether rows with these labels (n,) by quantity are feasible; NaN is not a label."""

    def acquisition(self, in_shards: bool) -> str:
        """The acquisition function that "auto" stands for.

        That of a joint goal scores its first objective alone, to shortlist rows of a pool in files.
        """

    def membership(self, belief: "Belief") -> "Array | None":  # (N,)
        """The probability of each row of belonging to the goal's set; None if there is no set."""

    def true_members(self, y: "Array") -> "NDArray[np.bool_]":  # (N,)
        """Whether rows with these true values (N,) belong to the set; all do without a set."""

    def check_rows(self, n: int) -> None:
        """ValueError if the goal cannot be one of a pool of n rows."""

    @property
    def loss(self) -> "Loss | None":
        """The loss of predictions, to compare with random choice; None if no replay needed."""

    @property
    def set_text(self) -> str | None:
        """The goal's set behind "it is", such as "among the 10 best"; None if there is no set."""

    @property
    def pointwise(self) -> bool:
        """Whether the probability of a row depends on no other row."""

    def worth(self, p: float, gain: float) -> float:
        """What a label of a new row is worth, in rows of the set.

        Its probability of belonging to the set is p; the label is expected to put `gain` rows on
        the right side (`learner.repeats`).
        """

    @property
    def lowest(self) -> bool:
        """Whether low labels are the good ones."""

    @property
    def curve(self) -> CurveKind:
        """The series of the learning curve."""

    def curve_label(self, target: str | None) -> str:
        """The label of its axis."""

    @property
    def error_bias(self) -> str:
        """The sentence on error estimates from labels whose rows were chosen."""

    def advice(self, progress: GoalProgress) -> str:
        """One to three sentences: keep going, or stop, and why."""

    def lines(self, members: SetProgress) -> list[str]:
        """The goal's section in `weal status`, its heading first; empty for a goal without one."""

    def random_lines(self, found: "RandomComparison | None", progress: GoalProgress) -> list[str]:
        """The probable result of random choice, in lines for `weal status`."""

    def reach_text(self, reach: str) -> str:
        """The sentence for a level that no row ("none") can reach, or that all do."""

    def reason(self, probability: float | None) -> str | None:
        """The reason for a chosen row, after "because"; None: that of the acquisition function."""
