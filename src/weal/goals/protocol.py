"""The seam of goals: what the labels are for, and everything that follows from it.

A goal chooses the acquisition function, says in words how far the campaign is, advises when to
stop, and says what a comparison with random choice compares. No other module assumes that labels
serve a small error everywhere. A goal is a frozen value, works on plain numbers, and reads no
store, model or pool.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from weal.diagnostics.random_baseline import RandomComparison
    from weal.diagnostics.stopping import Change, LabelsToGoal


@dataclass(frozen=True, slots=True)
class GoalProgress:
    """How far a campaign is, in the numbers that advice follows from."""

    missing: int  # labels to come before there is a model; 0: there is one
    change: "Change | None" = None  # by the last labels; None: the model is new
    needed: "LabelsToGoal | None" = None  # to reach the limit of the goal, if it has one
    error: float | None = None  # leave-one-out, in units of the label
    baseline: float | None = None  # the error of guessing the mean


class Goal(Protocol):
    """What the labels are for."""

    @property
    def name(self) -> str:
        """The word by which users give the goal."""

    @property
    def limit(self) -> float | None:
        """The value at which the campaign may stop, in units of the label; None: there is none."""

    @property
    def acquisition(self) -> str:
        """The acquisition function that "auto" stands for."""

    def advice(self, progress: GoalProgress) -> str:
        """One or two sentences: keep going, or stop, and why."""

    def needed_lines(self, needed: "LabelsToGoal") -> list[str]:
        """How many labels the limit probably needs, in lines for `weal status`."""

    def random_lines(self, found: "RandomComparison") -> list[str]:
        """What random choice would probably have given, in lines for `weal status`."""
