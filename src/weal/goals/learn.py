"""The goal `learn`: a small prediction error over all candidates.

Advice follows from what the last labels changed. More labels gain little once the last of them
neither moved predictions (by LITTLE_MOVED of their uncertainty) nor cut the expected error (by
LITTLE_GAINED of it). A limit on the error, if there is one, is reached when the model says so with
a probability of at least one half.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weal.goals.protocol import GoalProgress
from weal.text import number, percent

if TYPE_CHECKING:
    from weal.diagnostics.random_baseline import RandomComparison
    from weal.diagnostics.stopping import Change, LabelsToGoal

DEFAULT_ACQUISITION = "mvr-var-igs"
LITTLE_MOVED = 0.25  # of the predictions' sds, by the last labels
LITTLE_GAINED = 0.05  # of the expected error, by the last labels
REACHED, PROBABLY_REACHED = 0.5, 0.8  # probabilities that the limit is reached
# Times the error of guessing the mean: above it, hardly anything was learnt.
LEARNT_NOTHING_RATIO = 0.9
NOTHING_LEARNT = (
    "The model is hardly better than guessing the mean, and the last labels changed little. Labels "
    "may be mostly noise (measure a few rows again, with --repeat), some may be wrong (see the "
    "labels to check), or these inputs may not determine the result (add others)."
)


@dataclass(frozen=True, slots=True)
class Learn:
    """Predict well everywhere; stop at an error of `limit`, in units of the label, if given."""

    limit: float | None = None

    def __post_init__(self) -> None:
        if self.limit is not None and not (math.isfinite(self.limit) and self.limit > 0.0):
            raise ValueError(
                f"goal is {self.limit!r}; it needs an error above 0, in units of the label"
            )

    @property
    def name(self) -> str:
        """The word by which users give the goal."""
        return "learn"

    @property
    def acquisition(self) -> str:
        """The acquisition function that "auto" stands for."""
        return DEFAULT_ACQUISITION

    def advice(self, progress: GoalProgress) -> str:
        """One or two sentences: keep going, or stop, and why."""
        change, needed = progress.change, progress.needed
        if progress.missing:
            return (
                f"Too early to say: {more_labels(progress.missing)} needed before there is a model."
            )
        if needed is not None and needed.reached >= REACHED:
            return _limit_reached(needed)
        if change is None:
            return "Too early to say: the model is new, and its error estimate is still uncertain."
        if change.moved >= LITTLE_MOVED or change.gained >= LITTLE_GAINED:
            return f"Keep going: {_effect(change)}."
        error, baseline = progress.error, progress.baseline
        if error is not None and baseline is not None and error > LEARNT_NOTHING_RATIO * baseline:
            return NOTHING_LEARNT
        return f"More labels gain little: {_effect(change)}."

    def needed_lines(self, needed: "LabelsToGoal") -> list[str]:
        """How many labels the limit probably needs; nothing once it is reached."""
        if needed.reached >= REACHED:
            return []
        found = [f"goal {number(needed.goal)}: {needed.text}"]
        if needed.low is not None or needed.median is not None:
            found.append("(the trend of the expected error, continued; not a promise)")
        return found

    def random_lines(self, found: "RandomComparison") -> list[str]:
        """The error that random choice would probably have given."""
        ends = f"80 %: {number(found.low, 2)} to {number(found.high, 2)}"
        ratio = number(found.ratio, 2)
        did = "have done as well" if ratio == "1" else f"have given {ratio} times the error"
        return [
            f"{found.labels} rows picked at random would probably {did} ({ends})",
            f"(both replayed on {found.draws} functions drawn from the model)",
        ]


def more_labels(missing: int) -> str:
    """So many labels are missing, as the beginning of a sentence.

    >>> more_labels(1), more_labels(2)
    ('1 more label is', '2 more labels are')
    """
    return "1 more label is" if missing == 1 else f"{missing} more labels are"


def _effect(change: "Change") -> str:
    """What the last labels did, in words."""
    last = f"the last {change.labels} labels"
    if change.gained < LITTLE_GAINED and change.moved >= LITTLE_MOVED:
        return f"{last} moved predictions by {number(change.moved, 2)} of their uncertainty"
    if round(100 * change.gained) == 0:
        return f"{last} left the expected error as it was"
    did = "cut" if change.gained > 0.0 else "raised"
    return f"{last} {did} the expected error by {percent(abs(change.gained))}"


def _limit_reached(needed: "LabelsToGoal") -> str:
    sure = "probably" if needed.reached >= PROBABLY_REACHED else "perhaps"
    return (
        f"The goal of {number(needed.goal)} is {sure} reached ({percent(needed.reached)} by the "
        "model's own estimate). Labels of rows drawn at random (--check) would confirm it."
    )
