"""The joint value of a batch: the expected gain of all its labels.

    goal learn        the share of the posterior variance over the pool that the batch removes:
                      1 - V(after) / V(before), with V the mean over N_VALUE_POINTS candidates of
                      sum_m w_m var_m, after the labels of the batch and before them; it does not
                      depend on what the labels are. Of several quantities, the mean by the weights
                      of the goal
    any other goal    the sum of the scores by which the rows are chosen, each at its turn, as if
                      those before it had their predicted labels; a score that is a log counts as
                      its amount
    no model yet      minus the mean distance of the pool from the nearest row that is labelled or
                      asked

Costs divide the value of a batch by their sum. Where runs may fail, the value of goal learn is
multiplied by the mean of P(works) over the batch; other scores include it.

A batch is chosen greedily (`choosing.next_query`). Values are compared between batches of one size
in one state.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.distances import squared_distances
from weal.core.extensions.acquisition_registry import is_log_amount, is_pointwise
from weal.core.paper.adaptive_acquisition import SCALINGS
from weal.core.scaling import Scaling, location_scale
from weal.goals.learn import Learn
from weal.learner.choosing import next_query, reference_of, scores_of
from weal.learner.joint_scores import choice_parts, outcome_view, scored_views
from weal.learner.pools.score_pass import MemoryScores
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.state import QuantityView, State
from weal.learner.transitions import apply
from weal.model.scaled_data import check_distance

N_VALUE_POINTS = 512  # candidates, by hash, over which variances are averaged
TINY = 1e-300  # lower bound of a variance that is a divisor
Mask = NDArray[np.bool_]
Positions = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class ChosenBatch:
    """A greedy batch: the state after it, its ids, and the sum of the amounts of their scores."""

    after: State
    batch: list[Hashable]
    amount: float


@dataclass(frozen=True, slots=True, eq=False)
class BatchValues:
    """Batches of one state, and their values.

    A batch of some rows is chosen in the part of the pool that they are, at the cost of these rows
    alone, where the functions score each row independently.
    """

    state: State  # with the selected experts, conditioned on all labels at once
    points: Array  # (N, d)  over which variances are averaged
    reference: Array  # (N, d)  that scores look at
    scores: MemoryScores | None  # of all rows that may be asked; None if there is no model
    own: PosteriorCache

    @property
    def is_pointwise(self) -> bool:
        """Whether rows of a part of the pool have the scores that they have in the pool."""
        settings = self.state.settings
        if (settings.by_goal and settings.goal.is_joint) or len(scored_views(self.state)) > 1:
            return False
        return all(map(is_pointwise, settings.functions.values()))

    def part(self, at: Positions) -> tuple[State, Positions]:
        """The state in which a batch of the rows `at` is chosen, and positions of its rows."""
        pool = self.state.candidates
        if not self.is_pointwise:
            return self.state, np.arange(len(pool))
        taken = np.array([pool.index[name] for name in self.state.taken], dtype=np.intp)
        here = np.union1d(at, taken).astype(np.intp)
        return replace(self.state.subset(here), reference=self.reference), here

    def choose(
        self, part: State, wanted: int, open_rows: Callable[[Sequence[Hashable]], Mask]
    ) -> ChosenBatch | None:
        """The greedy batch of a part; None if it has too few rows.

        `open_rows` are the rows of the part that may follow the rows chosen so far.
        """
        batch, total, now = list[Hashable](), 0.0, part
        while len(batch) < wanted:
            now = replace(now, allowed=open_rows(batch))
            if not now.free().any():
                return None
            event = next_query(now, self.own, opens=False)
            scores = np.array(list(event.reason.scores.values()))
            if len(scores):
                total += float(self.amounts(scores[:, None])[0])
            batch.append(event.id)
            now = apply(now, event)
        return ChosenBatch(now, batch, total)

    def amounts(self, scores: Array) -> Array:  # (K, n) -> (n,)
        """The amounts of rows with these scores, none below 0."""
        assert self.scores is not None
        settings, low, high = self.state.settings, self.scores.low, self.scores.high
        if len(scores) > 1:
            scale = SCALINGS[settings.score_scaling]
            omega = np.exp(self.state.log_omega)[:, None]
            return np.asarray(np.maximum((omega * scale(scores, low, high)).sum(axis=0), 0.0))
        [function] = settings.functions.values()
        if is_log_amount(function) or (settings.by_goal and settings.goal.is_joint):
            return np.asarray(np.exp(np.minimum(scores[0] - high[0], 0.0)))
        return np.asarray(np.maximum(scores[0] - min(low[0], 0.0), 0.0))

    def row_amounts(self) -> Array:  # (U,)
        """The weight of each row alone."""
        assert self.scores is not None
        return self.amounts(self.scores.scores)

    @property
    def is_by_variance(self) -> bool:
        """Whether the value of a batch is the share of the variance that it removes."""
        return isinstance(self.state.settings.goal, Learn)

    def joint_value(self, found: ChosenBatch) -> float:
        """The joint value of a batch."""
        after, pool = found.after, found.after.candidates
        if self.scores is None:
            rows = [after.candidates.x(name) for name in after.asked]
            return -self.distance_from(np.array(rows))
        at = np.array([pool.index[name] for name in found.batch], dtype=np.intp)
        value = found.amount
        if self.is_by_variance:
            value = self._removed_variance(after)
            if (outcomes := outcome_view(after)) is not None:
                value *= float(self.own.pass_probability_at(outcomes, at).mean())
        return value if pool.cost is None else value / float(pool.cost[at].sum())

    def _removed_variance(self, after: State) -> float:
        """The share of the variance that pending rows remove, of all quantities."""
        views = scored_views(after)
        weights = np.array([quantity_weight(view) for view in views])
        left = [
            self._variance(view, pending=True) / max(self._variance(view, pending=False), TINY)
            for view in views
        ]
        return float(1.0 - weights @ np.array(left) / weights.sum())

    def _variance(self, view: QuantityView, pending: bool) -> float:
        """The mean variance of the experts over the points, by their weights."""
        own = self.own
        posterior = own.pending_posterior(view) if pending else own.posterior(view)
        ens = posterior.ens
        X = check_distance("the pool", own.model(view).scaling.inputs(self.points))
        _, v = ens.experts.predict(posterior.embedding.points(ens.experts, X))
        return float(ens.w @ (ens.magnitude[:, None] * v).mean(axis=1))

    def distance_from(self, X: Array) -> float:
        """The mean distance of the points from the nearest labelled row or row of X (n, d)."""
        mean, sd = location_scale(self.points)
        scale = Scaling(mean, np.where(sd == 0.0, 1.0, sd))
        told = [label.x for one in self.state.quantities.values() for label in one.labels]
        rows = np.array([*told, *(self.state.candidates.x(name) for name in self.state.asked), *X])
        found = squared_distances(scale.inputs(self.points), scale.inputs(rows))
        return float(np.sqrt(found.min(axis=1)).mean())


def batch_values(state: State, beliefs: PosteriorCache) -> BatchValues:
    """Batches of a state whose candidates are in memory."""
    points = state.candidates.target_inputs(state.settings.seed, N_VALUE_POINTS)
    scores = scores_of(state, beliefs) if scored_views(state) else None
    assert scores is None or isinstance(scores, MemoryScores)
    about = (points, reference_of(state), scores)
    return BatchValues(_jointly(state, beliefs), *about, PosteriorCache(beliefs.memory))


def _jointly(state: State, beliefs: PosteriorCache) -> State:
    """The state with its selected experts, conditioned on all labels at once.

    The posterior of a part of the pool then takes no step for each label.
    """
    for name in state.quantities:
        view = state.view(name)
        if view.selection is None:
            continue
        experts = beliefs.selected_experts(view)
        joint = replace(view.selection, experts=experts, n_joint=len(view.labels))
        state = replace(state, quantities=view.after(view.labels, joint))
    return state


def quantity_weight(view: QuantityView) -> float:
    """The weight of the quantity of a part, divided by the number of its parts."""
    for one in view.state.measured:
        parts = choice_parts(one)
        if any(part.name == view.quantity.name for part in parts):
            return view.state.settings.goal.weight(one.name) / len(parts)
    return 1.0
