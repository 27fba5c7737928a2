"""Quick values of sets of rows: the possible gain of a batch, without choosing the batch.

    goal learn        the share of the variance that a greedy batch of N_QUICK_ROWS of the rows
                      removes, in closed form (`core.extensions.batch_reduction`), with the experts
                      of larger weight, over N_QUICK_POINTS candidates
    any other goal    the sum of the n largest amounts of the scores of the rows
    no model yet      minus the mean distance of the pool from the nearest of the rows

Quick values rank levels and sets of levels; the first few are then compared by batches
(`batch_levels`). Costs divide them, and P(works) multiplies that of goal learn.
"""

from dataclasses import dataclass

import numpy as np

from weal.core.arrays import Array
from weal.core.extensions.batch_reduction import greedy_reduction
from weal.core.extensions.variance_reduction import experts_in_reduction
from weal.core.hashing import Hashes, hash_ids, mix_with_seed
from weal.core.protocols import ExpertsOfKind, TargetPosterior
from weal.core.scaling import Scaling
from weal.learner.batch_value import BatchValues, Mask, Positions, quantity_weight
from weal.learner.joint_scores import outcome_view, scored_views
from weal.learner.pools.protocol import PendingPosterior
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.state import QuantityView, State
from weal.model.scaled_data import check_distance

N_QUICK_ROWS = 48  # rows of a set that the closed form uses
N_QUICK_LABELS = 16  # rows of a batch that it chooses
N_QUICK_POINTS = 96


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """The posterior of one quantity, for the closed form."""

    posterior: PendingPosterior
    scaling: Scaling
    members: Positions  # (H,)  experts
    w: Array  # (H,)
    magnitude: Array  # (H,)
    noise: Array  # (H,)  of a label
    points: TargetPosterior
    share: float  # of the quantity, by its variance

    def value(self, X: Array, k: int) -> float:
        """The share of the variance that a batch of k of the rows X (n, d) removes."""
        X = check_distance("the pool", self.scaling.inputs(X))
        experts: ExpertsOfKind = self.posterior.ens.experts
        few: ExpertsOfKind = experts.take(self.members)
        points = self.posterior.embedding.take(self.members).pool_points(few, X)
        rows = self.posterior.embedding.targets(experts, X).posterior(experts, self.members)
        scale = self.magnitude[:, None, None]
        cov = scale * rows.covariance(points)
        with_points = scale * self.points.covariance(points)
        _, gains = greedy_reduction(self.w, cov, with_points, self.noise, k)
        return self.share * float(gains.sum())


@dataclass(frozen=True, slots=True, eq=False)
class QuickValues:
    """Quick values of sets of rows of one state."""

    values: BatchValues
    parts: tuple[_Part, ...]  # of goal learn
    amounts: Array  # (U,)  of single rows
    works: Array | None  # (U,)
    hashes: Hashes  # (U,)  that choose the rows that are looked at
    wanted: int

    def of_rows(self, rows: Mask) -> float:
        """The quick value of a set of rows; there is at least one."""
        at = np.flatnonzero(rows)
        pool, few = self.values.state.candidates, self._some(at)
        if self.values.scores is None:
            return -self.values.distance_from(pool.inputs_at(few))
        if not self.parts:
            top = np.sort(self.amounts[at])[::-1]
            return float(top[: self.wanted].sum())
        k = min(self.wanted, N_QUICK_LABELS, len(few))
        found = sum([part.value(pool.inputs_at(few), k) for part in self.parts])
        if self.works is not None:
            found *= float(self.works[few].mean())
        return found if pool.cost is None else found / float(pool.cost[few].mean())

    def _some(self, at: Positions) -> Positions:
        """The rows with the least hashes, ascending by hash: the order of rows does not matter."""
        return at[np.argsort(self.hashes[at], kind="stable")[:N_QUICK_ROWS]]


def quick_values(
    values: BatchValues, state: State, beliefs: PosteriorCache, wanted: int
) -> QuickValues:
    """Quick values of the rows of a state whose candidates are in memory."""
    pool = state.candidates
    ids = list(pool.ids_at(np.arange(len(pool))))
    hashes = mix_with_seed(hash_ids(ids), state.settings.seed)
    parts: tuple[_Part, ...] = ()
    if values.is_by_variance and values.scores is not None:
        parts = tuple(_part(values, view, beliefs) for view in scored_views(state))
    amounts = np.zeros(len(pool)) if values.scores is None else values.row_amounts()
    outcomes = outcome_view(state)
    works = None if outcomes is None else beliefs.pool_pass_probability(outcomes, pending=False)
    return QuickValues(values, parts, amounts, works, hashes, wanted)


def _part(values: BatchValues, view: QuantityView, beliefs: PosteriorCache) -> _Part:
    """The posterior of a quantity as if pending rows had their labels."""
    posterior, scaling = beliefs.pending_posterior(view), beliefs.model(view).scaling
    ens, X = posterior.ens, values.points[:N_QUICK_POINTS]
    scaled = check_distance("the pool", scaling.inputs(X))
    members = experts_in_reduction(ens.w)
    w = ens.w[members] / ens.w[members].sum()
    magnitude = ens.magnitude[members]
    noise_ratio = ens.ratios(np.array([view.quantity.label_noise**2]))[members, 0]
    noise = magnitude * noise_ratio
    points = posterior.embedding.targets(ens.experts, scaled).posterior(ens.experts, members)
    _, v = ens.experts.predict(posterior.embedding.points(ens.experts, scaled))
    total = float(w @ (magnitude[:, None] * v[members]).mean(axis=1))
    share = quantity_weight(view) / max(total, 1e-300)
    return _Part(posterior, scaling, members, w, magnitude, noise, points, share)
