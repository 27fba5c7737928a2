"""A goal of one quantity under constraints on others: maximise yield subject to purity >= 95.

A row is feasible if it meets all constraints. The set of the goal is that of its objective among
the feasible rows: the k best of them, or those above a level. Scores, as logs of amounts:

    maximise, minimise     expected improvement on the best feasible row times P(feasible)
    best k, lowest k       P(among the k best feasible rows)
    above, below, between  (straddle - its least value) times P(feasible)

and P(feasible) alone while no feasible row is known (`core.extensions.feasibility`). A row is known
to be feasible by its labels. A constraint on a quantity that has no model yet counts for nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from weal.goals.best import LITTLE_GAIN, STOP_RISK, Best
from weal.goals.learn import too_early
from weal.goals.protocol import CurveKind, GoalProgress, JointBelief, Loss, SetProgress
from weal.goals.requirements import Requirement, all_hold, all_meet
from weal.goals.threshold import Threshold
from weal.text import about, number, with_probability

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from weal.core.arrays import Array
    from weal.core.paper.acquisition import Belief
    from weal.diagnostics.random_baseline import RandomComparison
    from weal.quantities.protocol import Quantity

LEAST_AMOUNT = 1e-300  # of a score, whose log is finite


@dataclass(frozen=True, slots=True, repr=False)
class Feasible:
    """Find the rows of a goal of one quantity that meet constraints.

    >>> from weal.goals.requirements import read_requirements
    >>> Feasible(Best(extreme=True, quantity="yield"), read_requirements(["purity >= 95"])).text
    'maximise yield subject to purity >= 95'
    """

    objective: Best | Threshold
    requirements: tuple[Requirement, ...]

    def __post_init__(self) -> None:
        if not self.requirements:
            raise ValueError(
                f"the goal {self.objective.text!r} is subject to nothing: name a bound"
            )
        check_objective(self.objective, self.requirements)

    def __repr__(self) -> str:
        return f"parse_goal({self.text!r})"

    @property
    def text(self) -> str:
        """The canonical text, which `grammar.parse_goal` reads."""
        return f"{self.objective.text} subject to {constraints_text(self.requirements)}"

    def to_dict(self) -> dict[str, object]:
        """The goal as JSON."""
        own = {"text": self.text, "subject_to": [one.text for one in self.requirements]}
        return {**self.objective.to_dict(), **own}

    def scored(self, quantities: Sequence[str]) -> Sequence[str]:
        """The objective, then the quantities of the constraints."""
        names = [*self.objective.scored(quantities), *(one.quantity for one in self.requirements)]
        return list(dict.fromkeys(names))

    def weight(self, quantity: str) -> float:
        """1: the score is a product."""
        return 1.0

    @property
    def is_joint(self) -> bool:
        """Objective and constraints are scored together."""
        return True

    @property
    def directions(self) -> tuple[tuple[str | None, bool], ...]:
        """As of the objective."""
        return self.objective.directions

    def bind(self, quantities: "Mapping[str, Quantity]", inputs: Sequence[str] = ()) -> "Feasible":
        """The goal with its quantity, and with the words of its constraints."""
        objective = self.objective.bind(quantities, inputs)
        bound = tuple(one.bind(quantities, inputs) for one in self.requirements)
        name = objective.scored(list(quantities))
        check_objective(replace(objective, quantity=name[0]) if name else objective, bound)
        return replace(self, objective=objective, requirements=bound)

    def _own(self, joint: JointBelief) -> str:
        """The name of the quantity of the objective."""
        return self.objective.quantity or next(iter(joint.numbers), "")

    def log_feasible(self, joint: JointBelief) -> "Array":  # (N,)
        """log P(feasible) of each row."""
        return log_feasible(self.requirements, joint)

    def joint_scores(self, joint: JointBelief) -> "Array":  # (N,)
        """Logs of the amounts that the module describes."""
        import numpy as np

        from weal.core.extensions.feasibility import (
            best_feasible,
            log_best_feasible,
            log_feasible_improvement,
        )

        log_p, objective = self.log_feasible(joint), self.objective
        belief, y = joint.numbers.get(self._own(joint)), joint.labels(self._own(joint))
        known = best_feasible(y, all_hold(self.requirements, joint), objective.lowest)
        if belief is None or known is None:
            return log_p
        if isinstance(objective, Threshold):
            from weal.core.extensions.goal_acquisitions import straddle

            amount = straddle(*objective.levels)(belief)
            return np.asarray(np.log(np.maximum(amount - amount.min(), LEAST_AMOUNT)) + log_p)
        if not objective.extreme:
            return log_best_feasible(belief, objective.k, objective.lowest, log_p)
        best = belief.scaled(float(y[known]))
        return log_feasible_improvement(belief, best, objective.lowest, log_p)

    def joint_gains(self, joint: JointBelief) -> "Array | None":  # (N,)
        """Expected improvement on the best feasible label times P(feasible)."""
        import numpy as np

        own = self._own(joint)
        y = joint.labels(own)[all_hold(self.requirements, joint)]
        if isinstance(self.objective, Threshold) or np.isnan(y).all() or own not in joint.numbers:
            return None
        first = replace(self, objective=replace(self.objective, extreme=True))
        return np.exp(first.joint_scores(joint))

    def meets(self, labels: "Mapping[str, Array]") -> "NDArray[np.bool_]":  # (n,)
        """Whether rows meet the constraints by their labels."""
        return all_meet(self.requirements, labels)

    def joint_membership(self, joint: JointBelief) -> "Array":  # (N,)
        """The probability of each row of being feasible and in the set of the objective."""
        import numpy as np

        from weal.core.extensions.feasibility import log_best_feasible

        log_p, objective = self.log_feasible(joint), self.objective
        belief = joint.numbers.get(self._own(joint))
        if belief is None:
            return np.exp(log_p)
        if isinstance(objective, Threshold):
            return objective.membership(belief) * np.exp(log_p)
        return np.exp(log_best_feasible(belief, objective.k, objective.lowest, log_p))

    def acquisition(self, in_shards: bool) -> str:
        """The function that ranks rows by the objective alone."""
        return self.objective.acquisition(in_shards)

    def membership(self, belief: "Belief") -> "Array":  # (N,)
        """The probability of each row of being in the set of the objective, feasible or not."""
        return self.objective.membership(belief)

    @property
    def pointwise(self) -> bool:
        """As of the objective."""
        return self.objective.pointwise

    def worth(self, p: float, gain: float) -> float:
        """As of the objective."""
        return self.objective.worth(p, gain)

    def true_members(self, y: "Array") -> "NDArray[np.bool_]":  # (N,)
        """Whether rows are in the set of the objective, feasible or not."""
        return self.objective.true_members(y)

    def check_rows(self, n: int) -> None:
        """As of the objective."""
        self.objective.check_rows(n)

    @property
    def loss(self) -> Loss | None:
        """No replay: it would need draws of all quantities."""
        return None

    @property
    def set_text(self) -> str:
        """The goal's set behind "it is"."""
        if isinstance(self.objective, Threshold):
            return f"{self.objective.level_text} and feasible"
        return f"{self.objective.set_text} feasible rows"

    @property
    def lowest(self) -> bool:
        """Whether low labels are the good ones."""
        return self.objective.lowest

    @property
    def curve(self) -> CurveKind:
        """As of the objective; the best label is that of a feasible row."""
        return self.objective.curve

    def curve_label(self, target: str | None) -> str:
        """The label of the axis of the learning curve."""
        if isinstance(self.objective, Threshold):
            return f"expected F1 of the rows {self.set_text}"
        return f"{self.objective.curve_label(target)}, of feasible rows"

    @property
    def error_bias(self) -> str:
        """As of the objective."""
        return self.objective.error_bias

    def advice(self, progress: GoalProgress) -> str:
        """Sentences: keep going, or stop, and why."""
        members = progress.members
        if progress.missing or members is None:
            return too_early(max(progress.missing, 1))
        if members.reach == "none":
            return self.reach_text("none")
        if members.feasible:
            return self._advice(progress, members)
        expected = members.expected_feasible or 0.0
        return (
            f"Keep going: no measured row meets all constraints yet; {about(expected)} of all rows "
            "are expected to."
        )

    def _advice(self, progress: GoalProgress, members: SetProgress) -> str:
        """The advice once a feasible row is known."""
        if isinstance(self.objective, Threshold) or members.label_sd == 0.0:
            return self.objective.advice(progress)
        if members.gain is None:
            return "All candidates are labelled or left out: there is nothing left to ask."
        more = f"one more row is expected to gain {number(members.gain, 2)} at most"
        if members.gain >= LITTLE_GAIN * members.label_sd:
            return f"Keep going: {more}, weighted by the probability of being feasible."
        return (
            f"Stop, probably: {more}, less than 1 % of the labels' standard deviation. {STOP_RISK}"
        )

    def lines(self, members: SetProgress) -> list[str]:
        """The goal's section in `weal status`, its heading first."""
        found = self.objective.lines(members)
        return [found[0], *constraint_lines(self.requirements, members), *found[1:]]

    def random_lines(self, found: "RandomComparison | None", progress: GoalProgress) -> list[str]:
        """The rows of the set that random choice would have found."""
        members = progress.members
        if members is None or isinstance(self.objective, Threshold):
            return []
        return [
            f"{members.measured_rows} rows chosen at random would contain "
            f"{about(members.by_chance)} "
            f"of {self.set_text.removeprefix('among ')}, the measured ones "
            f"{about(members.measured)}"
        ]

    def reach_text(self, reach: str) -> str:
        """The sentence for constraints that no row can meet, or a level that all reach."""
        if reach != "none":
            return self.objective.reach_text(reach)
        return (
            f"No row is likely to be {self.set_text} (each has a probability below 2 %). Check the "
            "numbers and their units; change them with `weal settings NAME --subject-to`."
        )

    def reason(self, probability: float | None) -> str | None:
        """The reason for a chosen row, after "because"."""
        if probability is None:
            return None
        return f"it is {self.set_text} {with_probability(probability)}"


def constraints_text(requirements: Sequence[Requirement]) -> str:
    """Constraints as one condition."""
    return " and ".join(one.text for one in requirements)


def constraint_lines(requirements: Sequence[Requirement], members: SetProgress) -> list[str]:
    """The constraints, and how many rows meet them, in lines for `weal status`."""
    if not requirements:
        return []
    n, expected = members.feasible or 0, about(members.expected_feasible or 0.0)
    rows = "1 measured row meets" if n == 1 else f"{n} measured rows meet"
    subject = [f"subject to     {one.text}" for one in requirements]
    return [*subject, f"feasible       {rows} all constraints; {expected} of all are expected to"]


def log_feasible(requirements: Sequence[Requirement], joint: JointBelief) -> "Array":  # (N,)
    """log P(feasible) of each row."""
    from weal.core.extensions.feasibility import log_all_hold

    return log_all_hold([one.log_probability(joint) for one in requirements], joint.N)


def check_objective(objective: Best | Threshold, requirements: Sequence[Requirement]) -> None:
    """ValueError if a constraint on the quantity of a level leaves no row."""
    if isinstance(objective, Best) or objective.quantity is None:
        return
    for one in requirements:
        own = one.quantity == objective.quantity and not one.words
        if own and max(objective.low, one.low) >= min(objective.high, one.high):
            raise ValueError(
                f"the goal {objective.text!r} and subject-to {one.text!r} contradict each other: "
                "no row meets both; leave one of them out"
            )
