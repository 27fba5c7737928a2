"""The goal `learn`: a small prediction error over all candidates.

Advice follows from what the last labels changed. More labels gain little once the last of them
neither moved predictions (by LITTLE_MOVED of their uncertainty) nor cut the expected error (by
LITTLE_GAINED of it).

Of several quantities all are learnt: the score of a row is the sum of its scores for each, in units
of their noise, times weights. A quantity of weight 0 is measured, and rows are not chosen for it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from weal.conditions.condition import quote
from weal.goals.named import find_named
from weal.goals.protocol import CurveKind, GoalProgress, JointBelief, Loss, SetProgress
from weal.goals.requirements import all_meet
from weal.text import exact, number, percent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from weal.core.arrays import Array
    from weal.core.paper.acquisition import Belief
    from weal.diagnostics.random_baseline import RandomComparison
    from weal.diagnostics.stopping import RecentChange
    from weal.quantities.protocol import Quantity

DEFAULT_ACQUISITION = "mvr-var-igs"
MAX_WEIGHT = 1e6  # of a quantity
LITTLE_MOVED = 0.25  # of the predictions' sds, by the last labels
LITTLE_GAINED = 0.05  # of the expected error, by the last labels
MIN_ERROR_SHARE = 1e-9  # of the spread of a function: an error below it counts as this
# Times the error of guessing the mean: above it, hardly anything was learnt.
LEARNT_NOTHING_RATIO = 0.9
NOTHING_LEARNT = (
    "The model is hardly better than guessing the mean, and the last labels changed little. Labels "
    "may be mostly noise (measure a few rows again, with --repeat), some may be wrong (see the "
    "labels to check), or these inputs may not determine the result (add others)."
)


@dataclass(frozen=True, slots=True)
class Learn:
    """Predict well everywhere.

    >>> Learn().text, Learn((("purity", 2.0),)).text
    ('learn', 'learn weights purity=2')
    """

    weights: tuple[tuple[str, float], ...] = ()  # of some quantities; that of the others is 1

    def __post_init__(self) -> None:
        for name, weight in self.weights:
            if not (math.isfinite(weight) and 0.0 <= weight <= MAX_WEIGHT):
                raise ValueError(
                    f"the weight of {name} is {weight!r}; it needs a number from 0 to "
                    f"{MAX_WEIGHT:g}, as in 'purity=2'"
                )
        if len({name for name, _ in self.weights}) < len(self.weights):
            names = ", ".join(name for name, _ in self.weights)
            raise ValueError(f"weights of {names}: one has two; leave one of them out")

    @property
    def text(self) -> str:
        """The canonical text, which `grammar.parse_goal` reads."""
        weights = " ".join(f"{quote(name)}={exact(weight)}" for name, weight in self.weights)
        return f"learn weights {weights}" if weights else "learn"

    def to_dict(self) -> dict[str, object]:
        """The goal as JSON: kind, text, and its numbers."""
        own = {"weights": dict(self.weights)} if self.weights else {}
        return {"kind": "learn", "text": self.text, **own}

    def scored(self, quantities: Sequence[str]) -> Sequence[str]:
        """All of them that have a weight above 0."""
        return [name for name in quantities if self.weight(name) > 0.0]

    def weight(self, quantity: str) -> float:
        """The weight that was given, or 1."""
        return dict(self.weights).get(quantity, 1.0)

    @property
    def is_joint(self) -> bool:
        """The scores of the quantities are added up."""
        return False

    @property
    def directions(self) -> tuple[tuple[str | None, bool], ...]:
        """No objective."""
        return ()

    def bind(self, quantities: "Mapping[str, Quantity]", inputs: Sequence[str] = ()) -> "Learn":
        """The goal with the names of the quantities that have weights."""
        where = f"weight of {self.text.removeprefix('learn weights ')!r}"
        names = [(find_named(quantities, n, where, inputs).name, w) for n, w in self.weights]
        found = replace(self, weights=tuple(names))
        if quantities and not found.scored(list(quantities)):
            raise ValueError(f"{where}: all quantities have weight 0; give one of them a weight")
        return found

    def joint_scores(self, joint: JointBelief) -> None:
        """None if the acquisition function scores the rows."""

    def joint_membership(self, joint: JointBelief) -> None:
        """None if there is no set."""

    def joint_gains(self, joint: JointBelief) -> None:
        """None if it is not joint."""

    def log_feasible(self, joint: JointBelief) -> None:
        """None if there are no constraints."""

    def meets(self, labels: "Mapping[str, Array]") -> "NDArray[np.bool_]":  # (n,)
        """All do."""
        return all_meet((), labels)

    def acquisition(self, in_shards: bool) -> str:
        """The acquisition function that "auto" stands for."""
        return DEFAULT_ACQUISITION

    def membership(self, belief: "Belief") -> "Array | None":
        """No set: all rows count alike."""
        return None

    @property
    def pointwise(self) -> bool:
        """There is no set."""
        return True

    def worth(self, p: float, gain: float) -> float:
        """There is no set: what the label puts right."""
        return gain

    def true_members(self, y: "Array") -> "NDArray[np.bool_]":  # (N,)
        """All rows count."""
        import numpy as np

        return np.ones(len(y), dtype=bool)

    def check_rows(self, n: int) -> None:
        """Any pool will do."""

    @property
    def loss(self) -> Loss | None:
        """The root mean square error."""
        return _root_mean_square_error

    @property
    def set_text(self) -> str | None:
        """No set: all rows count alike."""
        return None

    @property
    def lowest(self) -> bool:
        """No label is better than another."""
        return False

    @property
    def curve(self) -> CurveKind:
        """The error estimates."""
        return "errors"

    def curve_label(self, target: str | None) -> str:
        """The label of the axis of the learning curve."""
        return f"error, in units of {target or 'the label'}"

    @property
    def error_bias(self) -> str:
        """Uncertain rows are harder to predict than most."""
        return (
            "Rows were chosen because they were uncertain: the leave-one-out error may be too low "
            "or too high, and the prequential error is probably too high."
        )

    def advice(self, progress: GoalProgress) -> str:
        """One or two sentences: keep going, or stop, and why."""
        change = progress.change
        if progress.missing:
            return too_early(progress.missing)
        if change is None:
            return "Too early to say: the model is new, and its error estimate is still uncertain."
        if change.moved >= LITTLE_MOVED or change.gained >= LITTLE_GAINED:
            return f"Keep going: {_effect(change)}."
        error, baseline = progress.error, progress.baseline
        if error is not None and baseline is not None and error > LEARNT_NOTHING_RATIO * baseline:
            return NOTHING_LEARNT
        return f"More labels gain little: {_effect(change)}."

    def lines(self, members: SetProgress) -> list[str]:
        """No lines: the error estimates have their own section."""
        return []

    def random_lines(self, found: "RandomComparison | None", progress: GoalProgress) -> list[str]:
        """The error that random choice would probably have given."""
        return replay_lines(found, "have given {} times the error")

    def reach_text(self, reach: str) -> str:
        """There is no level."""
        return ""

    def reason(self, probability: float | None) -> str | None:
        """None if the reason is that of the acquisition function."""
        return None


def _root_mean_square_error(mean: "Array", truth: "Array") -> float:
    """The error; one of nearly 0 counts as MIN_ERROR_SHARE of the spread of the true values."""
    from weal.core.arrays import root_mean_square

    spread = float(truth.max() - truth.min())
    return float(max(root_mean_square(mean - truth), MIN_ERROR_SHARE * (spread or 1.0)))


def replay_lines(found: "RandomComparison | None", worse: str) -> list[str]:
    """The comparison with random choice, in lines for `weal status`; {} in `worse`: the ratio."""
    if found is None:
        return []
    ends, ratio = f"80 %: {number(found.low, 2)} to {number(found.high, 2)}", number(found.ratio, 2)
    did = "have done as well" if ratio == "1" else worse.format(ratio)
    return [
        f"{found.labels} rows chosen at random would probably {did} ({ends})",
        f"(both replayed on {found.draws} functions drawn from the model)",
    ]


def too_early(missing: int) -> str:
    """The advice before there is a model."""
    return f"Too early to say: {more_labels(missing)} needed before there is a model."


def more_labels(missing: int) -> str:
    """The number of missing labels, as the beginning of a sentence.

    >>> more_labels(1), more_labels(2)
    ('1 more label is', '2 more labels are')
    """
    return "1 more label is" if missing == 1 else f"{missing} more labels are"


def _effect(change: "RecentChange") -> str:
    """The effect of the last labels, in words."""
    last = f"the last {change.labels} labels"
    if change.gained < LITTLE_GAINED and change.moved >= LITTLE_MOVED:
        return f"{last} moved predictions by {number(change.moved, 2)} of their uncertainty"
    if round(100 * change.gained) == 0:
        return f"{last} left the expected error as it was"
    did = "cut" if change.gained > 0.0 else "raised"
    return f"{last} {did} the expected error by {percent(abs(change.gained))}"
