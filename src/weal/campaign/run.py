"""Runs of a campaign: ask, measure with a callable oracle, tell, each as an event of the store.

The loop is that of a learner (`weal.learner.run`). Rows are leased to the person who runs it,
labels and failures are written by the thread that called `run`, and rows that were not measured are
released at the end, unless they were labelled or leased by someone else in the meantime.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from weal.campaign.budget import spending
from weal.campaign.row_rules import decide_release
from weal.campaign.suggestions import ask
from weal.errors import Exhausted
from weal.learner.oracle import Oracle
from weal.learner.run import Run, RunLimits, check_max_cost, goal_and_condition, run
from weal.learner.run_subject import lead_error
from weal.text import shorten

if TYPE_CHECKING:
    from weal.active_learner import ActiveLearner
    from weal.campaign.campaign import Campaign

MAX_REASON = 400  # characters of an error that are kept with a failure


@dataclass(frozen=True, slots=True)
class CampaignSubject:
    """A run of a campaign (`weal.learner.run_subject`)."""

    owner: "Campaign"
    who: str

    def learner(self) -> "ActiveLearner":
        """The learner after all labels of the store."""
        return self.owner.read_learner()

    def ask(self, n: int, more: bool) -> list[Hashable]:
        """At most n ids, leased; Exhausted if none is left."""
        found = list[Hashable]()
        while len(found) < n:
            try:
                found += ask(self.owner, self.owner.read_ledger(), 1, self.who, None, False)
            except Exhausted:
                if not found:
                    raise
                break
        return found

    def row(self, name: Hashable) -> object:
        """The cells of a row, by column."""
        return self.owner.read_session().pool.cells([str(name)])[str(name)]

    def tell(self, name: Hashable, label: Any) -> None:
        """Write a label."""
        self.owner.tell(name, label, by=self.who)

    def fail(self, name: Hashable, why: str, how: str) -> None:
        """Write a skip, or a failure, with the reason."""
        note = shorten(why, MAX_REASON)
        if how == "skip":
            self.owner.skip(name, by=self.who, note=note)
        else:
            self.owner.fail(name, by=self.who, note=note)

    def release(self, names: Sequence[Hashable]) -> None:
        """Release the rows that this person still has; no label is withdrawn."""
        ids = [str(name) for name in names]
        self.owner.transact(lambda tx: decide_release(tx, ids, self.who, "not measured"))


def run_campaign(
    campaign: "Campaign", oracle: Oracle, n: int, who: str, until: object,
    max_cost: float | None, callback: Callable[[Any, Hashable, float], object] | None,
    progress: bool | None,
) -> Run:  # fmt: skip
    """Measure up to n rows of a campaign; its budget and stop condition end the run too."""
    check_max_cost(max_cost)
    session = campaign.read_session()
    chosen = session.ledger.settings["until"] if until is None else until
    _, stop = goal_and_condition(None, chosen, None)
    costs = spending(session, campaign.store.now())
    if costs is not None:
        max_cost = min(costs.left, costs.left if max_cost is None else max_cost)
        if max_cost <= 0.0:
            return Run("cost", 0, lead_error(session.learner))
    limits = RunLimits(until=stop, max_cost=max_cost)
    return run(CampaignSubject(campaign, who), oracle, n, callback, limits, progress)
