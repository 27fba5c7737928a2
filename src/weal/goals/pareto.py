"""Two objectives: find the Pareto rows, of which none is worse in both than another row.

The score is the log of the expected hypervolume improvement over the front of the measured rows, in
the units that the experts see (`core.extensions.hypervolume`), times P(feasible) under constraints;
the front is that of the feasible rows, and P(feasible) alone is the score while none is known. The
probability of a row is that of lying beyond the front of the measured rows: no measured row is at
least as good in both objectives.

Three or more objectives are refused: make some of them constraints.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from weal.goals.best import Best
from weal.goals.feasible import constraint_lines, constraints_text, log_feasible
from weal.goals.learn import too_early
from weal.goals.protocol import (
    NOT_AT_RANDOM,
    CurveKind,
    GoalProgress,
    JointBelief,
    Loss,
    SetProgress,
)
from weal.goals.requirements import Requirement, all_hold, all_meet
from weal.text import number, percent, with_probability

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from weal.core.arrays import Array
    from weal.core.paper.acquisition import Belief
    from weal.diagnostics.random_baseline import RandomComparison
    from weal.quantities.protocol import Quantity

LITTLE_GAIN = 0.001  # of the hypervolume
MAX_FRONT_SHOWN = 5  # rows of the front in `weal status`


@dataclass(frozen=True, slots=True, repr=False)
class Pareto:
    """Find the rows that trade one objective for another.

    >>> from weal.goals.best import Maximise, Minimise
    >>> Pareto((Maximise("yield"), Minimise("cost"))).text
    'maximise yield and minimise cost'
    """

    objectives: tuple[Best, Best]
    requirements: tuple[Requirement, ...] = ()

    def __post_init__(self) -> None:
        first, second = self.objectives
        if not (first.extreme and second.extreme):
            raise ValueError(
                f"the goals are {first.text!r} and {second.text!r}; two objectives are maximised "
                "or minimised: write 'maximise yield' and 'minimise cost'"
            )
        if first.quantity is None or second.quantity is None:
            raise ValueError(
                f"the goals are {first.text!r} and {second.text!r}; each of two objectives names "
                "its quantity, as in 'maximise yield'"
            )
        if first.quantity == second.quantity:
            if first.lowest == second.lowest:
                raise ValueError(f"the goal {first.text!r} is given twice; leave one of them out")
            raise ValueError(
                f"the goals {first.text!r} and {second.text!r} contradict each other: leave one of "
                "them out"
            )

    def __repr__(self) -> str:
        return f"parse_goal({self.text!r})"

    @property
    def names(self) -> tuple[str, str]:
        """The quantities of the objectives."""
        return str(self.objectives[0].quantity), str(self.objectives[1].quantity)

    @property
    def directions(self) -> tuple[tuple[str | None, bool], ...]:
        """Both objectives."""
        return tuple((one.quantity, one.lowest) for one in self.objectives)

    @property
    def text(self) -> str:
        """The canonical text, which `grammar.parse_goal` reads."""
        both = " and ".join(one.text for one in self.objectives)
        under = constraints_text(self.requirements)
        return f"{both} subject to {under}" if under else both

    def to_dict(self) -> dict[str, object]:
        """The goal as JSON."""
        under = [one.text for one in self.requirements]
        objectives = [one.to_dict() for one in self.objectives]
        own = {"subject_to": under} if under else {}
        return {"kind": "pareto", "text": self.text, "objectives": objectives, **own}

    def scored(self, quantities: Sequence[str]) -> Sequence[str]:
        """The objectives, then the quantities of the constraints."""
        return list(dict.fromkeys([*self.names, *(one.quantity for one in self.requirements)]))

    def weight(self, quantity: str) -> float:
        """1: the score is an area."""
        return 1.0

    @property
    def is_joint(self) -> bool:
        """Both objectives are scored together."""
        return True

    def bind(self, quantities: "Mapping[str, Quantity]", inputs: Sequence[str] = ()) -> "Pareto":
        """The goal with the names of its quantities, and with the words of its constraints."""
        first, second = (one.bind(quantities, inputs) for one in self.objectives)
        bound = tuple(one.bind(quantities, inputs) for one in self.requirements)
        return replace(self, objectives=(first, second), requirements=bound)

    def _signed(self, joint: JointBelief) -> "tuple[list[Belief], Array, Array] | None":
        """Beliefs, labels (n, 2) and reference point, both to be high; None without a front."""
        import numpy as np

        from weal.core.extensions.feasibility import labels_in_model_units
        from weal.core.extensions.hypervolume import reference_point, signed, signed_labels

        if not all(name in joint.numbers for name in self.names):
            return None
        beliefs = [joint.numbers[name] for name in self.names]
        each = [
            labels_in_model_units(one, joint.labels(name))
            for one, name in zip(beliefs, self.names, strict=True)
        ]
        every = signed_labels(np.column_stack(each), [one.lowest for one in self.objectives])
        if np.isnan(every).all(axis=0).any():
            return None
        Y = every[all_hold(self.requirements, joint) & ~np.isnan(every).any(axis=1)]
        if self.requirements and not len(Y):
            return None
        high = [
            signed(one, objective.lowest)
            for one, objective in zip(beliefs, self.objectives, strict=True)
        ]
        return high, Y, reference_point(every)

    def joint_scores(self, joint: JointBelief) -> "Array":  # (N,)
        """log of the expected hypervolume improvement times P(feasible)."""
        from weal.core.extensions.hypervolume import log_hypervolume_improvement

        log_p, known = log_feasible(self.requirements, joint), self._signed(joint)
        if known is None:
            return log_p
        (first, second), Y, reference = known
        return log_hypervolume_improvement(first, second, Y, reference) + log_p

    def joint_membership(self, joint: JointBelief) -> "Array":  # (N,)
        """The probability of each row of being feasible and beyond the front."""
        import numpy as np

        from weal.core.extensions.hypervolume import log_beyond_front

        log_p, known = log_feasible(self.requirements, joint), self._signed(joint)
        if known is None:
            return np.exp(log_p)
        (first, second), Y, _ = known
        return np.exp(log_beyond_front(first, second, Y) + log_p)

    def joint_gains(self, joint: JointBelief) -> "Array | None":  # (N,)
        """What each row is expected to add, as a share of the hypervolume of the front."""
        import numpy as np

        from weal.core.extensions.hypervolume import hypervolume

        known = self._signed(joint)
        area = 0.0 if known is None else hypervolume(known[1], known[2])
        return np.exp(self.joint_scores(joint)) / area if area > 0.0 else None

    def log_feasible(self, joint: JointBelief) -> "Array | None":  # (N,)
        """log P(feasible) of each row; None if there are no constraints."""
        return log_feasible(self.requirements, joint) if self.requirements else None

    def meets(self, labels: "Mapping[str, Array]") -> "NDArray[np.bool_]":  # (n,)
        """Whether rows meet the constraints by their labels."""
        return all_meet(self.requirements, labels)

    def acquisition(self, in_shards: bool) -> str:
        """The function that ranks rows by the first objective alone."""
        return self.objectives[0].acquisition(in_shards)

    def membership(self, belief: "Belief") -> "Array":  # (N,)
        """The probability of each row of being among the best by the first objective."""
        return self.objectives[0].membership(belief)

    @property
    def pointwise(self) -> bool:
        """The front is that of the measured rows."""
        return False

    def worth(self, p: float, gain: float) -> float:
        """A label of a new row is beyond the front with probability p."""
        return p

    def true_members(self, y: "Array") -> "NDArray[np.bool_]":  # (N,)
        """Whether rows are among the best by the first objective."""
        return self.objectives[0].true_members(y)

    def check_rows(self, n: int) -> None:
        """Any pool will do."""

    @property
    def loss(self) -> Loss | None:
        """No replay: it would need draws of both quantities."""
        return None

    @property
    def set_text(self) -> str:
        """The goal's set behind "it is"."""
        return "beyond the measured Pareto rows"

    @property
    def lowest(self) -> bool:
        """Whether low labels of the first objective are the good ones."""
        return self.objectives[0].lowest

    @property
    def curve(self) -> CurveKind:
        """The hypervolume of the measured rows."""
        return "hypervolume"

    def curve_label(self, target: str | None) -> str:
        """The label of the axis of the learning curve."""
        return "hypervolume of the measured rows, as a share of the present one"

    @property
    def error_bias(self) -> str:
        """Good rows may be easier or harder to predict than others."""
        return NOT_AT_RANDOM

    def advice(self, progress: GoalProgress) -> str:
        """Sentences: keep going, or stop, and why."""
        members = progress.members
        if progress.missing or members is None:
            return too_early(max(progress.missing, 1))
        if not members.front:
            return "Keep going: no measured row has both labels and meets the constraints yet."
        if members.gain is None:
            return "All candidates are labelled or left out: there is nothing left to ask."
        more = f"one more row is expected to add {percent(members.gain)} to the hypervolume"
        if members.gain >= LITTLE_GAIN:
            return f"Keep going: {more}, at most."
        return (
            f"More rows gain little: {more}, at most. The models may be wrong in a region far from "
            "all labels; random rows (--check) would reveal one."
        )

    def lines(self, members: SetProgress) -> list[str]:
        """The goal's section in `weal status`, its heading first."""
        found = [f"Goal: {' and '.join(one.text for one in self.objectives)}"]
        found += constraint_lines(self.requirements, members)
        n = len(members.front)
        rows = f"{n} measured row{'' if n == 1 else 's'}"
        found.append(f"Pareto rows    {rows}: no other row is better in both")
        first, second = self.names
        for id, a, b in _spread(members.front):
            found.append(f"               {id}   {first} {number(a)}   {second} {number(b)}")
        if members.gain is not None:
            gain = percent(members.gain)
            found.append(f"to be gained   {gain} of the hypervolume by one more row, at most")
        return found

    def random_lines(self, found: "RandomComparison | None", progress: GoalProgress) -> list[str]:
        """No comparison with random choice."""
        return []

    def reach_text(self, reach: str) -> str:
        """There is no level."""
        return ""

    def reason(self, probability: float | None) -> str | None:
        """The reason for a chosen row, after "because"."""
        if probability is None:
            return None
        return f"it is {self.set_text} {with_probability(probability)}"


def _spread(
    front: Sequence[tuple[Hashable, float, float]],
) -> Sequence[tuple[Hashable, float, float]]:
    """At most MAX_FRONT_SHOWN rows of a front, both ends among them."""
    if len(front) <= MAX_FRONT_SHOWN:
        return front
    step = (len(front) - 1) / (MAX_FRONT_SHOWN - 1)
    return [front[round(step * n)] for n in range(MAX_FRONT_SHOWN)]
