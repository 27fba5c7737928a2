"""The subject of a run: a learner, or a campaign (`weal.campaign.run`), behind one protocol."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from weal.active_learner import ActiveLearner


class RunSubject(Protocol):
    """A learner or a campaign, as a run sees it."""

    @property
    def owner(self) -> object:
        """The first argument of a callback."""

    def learner(self) -> "ActiveLearner":
        """The learner after all labels."""

    def ask(self, n: int, more: bool) -> list[Hashable]:
        """At most n ids to measure next; Exhausted if none is left.

        With `more`, the candidates that were asked and have no label yet are not among them.
        """

    def row(self, name: Hashable) -> object:
        """The row of an id."""

    def tell(self, name: Hashable, label: object) -> None:
        """Tell a label."""

    def fail(self, name: Hashable, why: str, how: str) -> None:
        """Skip a point that could not be measured, or say that it failed (`how`)."""

    def release(self, names: Sequence[Hashable]) -> None:
        """Allow points that were asked and not measured to be asked again."""


@dataclass(frozen=True, slots=True)
class LearnerSubject:
    """A run of a learner."""

    owner: "ActiveLearner"

    def learner(self) -> "ActiveLearner":
        """The learner itself."""
        return self.owner

    def ask(self, n: int, more: bool) -> list[Hashable]:
        """At most n ids; see `RunSubject`."""
        state = self.owner.state
        there = (0 if more else len(state.batch)) + int(state.free().sum())
        return list(self.owner.ask(max(min(n, there), 1), more=more))

    def row(self, name: Hashable) -> object:
        """The row of an id."""
        return self.owner.candidates.row(name)

    def tell(self, name: Hashable, label: Any) -> None:
        """Tell a label."""
        self.owner.tell(name, label)

    def fail(self, name: Hashable, why: str, how: str) -> None:
        """Skip a point, or say that it failed."""
        self.owner.fail(name, accident=how == "skip")

    def release(self, names: Sequence[Hashable]) -> None:
        """Allow points to be asked again."""
        self.owner.release(names)


def lead_quantity(learner: "ActiveLearner") -> str:
    """The quantity that the goal looks at first: its labels and error say when a run ends."""
    return learner.goal.scored([one.name for one in learner.state.measured])[0]


def lead_error(learner: "ActiveLearner") -> float:
    """The predicted error of that quantity."""
    return learner.predicted_error(lead_quantity(learner))


def cost_of(learner: "ActiveLearner", name: Hashable) -> float:
    """The cost of a label; 1 where the pool has no costs."""
    pool = learner.candidates
    return 1.0 if pool.cost is None else float(pool.cost[pool.index[name]])
