"""A pool in memory: means and variances of the kept experts, updated by one column for each label.

Means and variances (M, U) are float64, for the experts that matter: the others change no score by
more than `core.extensions.expert_pruning` says. An expert that no longer matters is dropped, and
computed again if it matters later. A label costs one covariance column c for each kept expert: U F
multiplications for features, U t for exact experts.

Candidates in the form of the experts (features, or correlations of exact ones) are kept where they
fit `memory` bytes, and recomputed in blocks otherwise. From MIN_FLOAT32_CANDIDATES on, features are
float32: columns are right to 3e-7, and means and variances too, which are float64 sums of few
columns (means: times the largest e / sqrt(s)). With a reference they stay float64: reductions fall
as the square of the variances, and at a noise ratio of 1e-3 `ivr` would choose by rounding.

Correlations of exact experts are kept from the start up to `eager` bytes: all that `memory` allows,
unless a process asks once and ends. Beyond that, candidates follow labels when they are needed
(`deferred_steps`), until as many have done so as there are candidates.

A small pool is one group of experts, so that one product serves all; a large one has a group for
each expert, updated in blocks that stay in the processor's cache.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Self, cast

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array, GrowingRows, Index
from weal.core.constants import SHORTLIST_CANDIDATES
from weal.core.extensions.acquisition_registry import needs_targets
from weal.core.extensions.expert_pruning import (
    reachable_moments,
    select_experts_to_keep,
)
from weal.core.extensions.reference_variance import moved_relevance
from weal.core.paper import random_features
from weal.core.paper.acquisition import gpm_var
from weal.core.paper.ensemble import Ensemble
from weal.core.paper.exact_gp import CorrelatedPoints
from weal.core.paper.feature_gp import apply_step
from weal.core.protocols import Embedding, ExpertsOfKind, Points, Reference, StepOfKind
from weal.learner.pools.deferred_steps import DeferredSteps, find_largest
from weal.learner.pools.protocol import PoolSnapshot, ScorePass
from weal.learner.pools.score_pass import MemoryScores, belief_of, hashed_half, score


@dataclass(frozen=True, slots=True, eq=False)
class ExpertGroup:
    """Experts that are updated together, with the candidates in their form where cached."""

    members: NDArray[np.intp]  # positions of the experts
    which: Index  # the same as an index: a slice where possible
    embedding: Embedding
    points: Points | None
    reference: Reference | None


def index_of(members: NDArray[np.intp]) -> Index:
    """The members as a slice where they follow one another: a view instead of a copy."""
    first, last = int(members[0]), int(members[-1])
    return slice(first, last + 1) if last - first == len(members) - 1 else members


def points_of(
    groups: Sequence[ExpertGroup], members: NDArray[np.intp], at: NDArray[np.intp]
) -> Points:
    """The candidates `at` in the form of some of the experts, from the groups' cache."""
    places = {m: (group, n) for group in groups for n, m in enumerate(group.members.tolist())}
    found = [places[m] for m in members.tolist()]
    if isinstance(groups[0].points, CorrelatedPoints):
        K = [cast(CorrelatedPoints, group.points).of_expert(n, at) for group, n in found]
        return CorrelatedPoints(groups[0].points.X[at], GrowingRows(np.array(K)))
    return np.stack([cast(Array, group.points)[n, at] for group, n in found])


# candidates that decide which experts are kept: the largest score of some is below that of all
PRUNING_SAMPLE = 256
MIN_FLOAT32_CANDIDATES = 20_000  # candidates from which features are float32
MIN_CANDIDATES_FOR_OWN_GROUP = 4_000  # candidates from which each expert is a group of its own
BLOCK_CANDIDATES = 16_384  # candidates of a block: their columns stay in the processor's cache
BLOCK_CORRELATIONS = 1 << 17  # of a block and an expert, for the same reason
POOL_BYTES = 4 * 2**30  # bytes for the pool in the form of the experts, unless told otherwise
MAX_LATE_SHARE = 1.0  # of the candidates that follow labels late before correlations are kept


class MemoryPool:
    """Means, variances and, for reference points, variance reductions of the kept experts at U
    points.
    """

    def __init__(
        self,
        ens: Ensemble,
        embedding: Embedding,
        X: Array,
        *,
        reference: Array | None = None,
        memory: int = POOL_BYTES,
        eager: int | None = None,
        everyone: bool = False,
        known: PoolSnapshot | None = None,
    ) -> None:
        M, U = len(ens.log_w), len(X)
        self.X, self.embedding, self.memory = X, embedding, memory
        # bytes up to which correlations are kept before they are needed often
        self.eager = memory if eager is None else min(eager, memory)
        self.everyone, self.prior = everyone, embedding.largest_prior_variance(ens.experts, X)
        self.some = np.unique(np.linspace(0, U - 1, min(U, PRUNING_SAMPLE)).astype(np.intp))
        self.mu, self.v = np.zeros((M, U)), np.ones((M, U))
        self.q = None if reference is None else np.zeros((M, U))
        self.exact = embedding.points_grow
        single = U >= MIN_FLOAT32_CANDIDATES and reference is None and not self.exact
        self.dtype = np.float32 if single else np.float64
        self.reference = None if reference is None else embedding.reference(ens.experts, reference)
        self.varying_noise: Array | None = None
        self.groups: list[ExpertGroup] = []
        self.cached = True
        self.deferred = DeferredSteps(U)  # labels that some candidates have not followed yet
        self.late_rows = [0]  # candidates that followed labels late, here or in a fork
        if known is None:
            self.keep_experts(ens)
        else:
            self.mu[known.members], self.v[known.members] = known.mu, known.v
            self._set_kept(ens, known.members, computed=True)

    def inputs_at(self, at: Sequence[int]) -> Array:
        """The scaled inputs (n, d) of the candidates `at`."""
        return np.asarray(self.X[list(at)])

    @property
    def members(self) -> NDArray[np.intp]:  # (H,)
        """Indices of the kept experts."""
        if not self.groups:
            return np.zeros(0, dtype=np.intp)
        return np.concatenate([group.members for group in self.groups])

    def keep_experts(self, ens: Ensemble) -> None:
        """Keep the experts that matter now, and compute the missing ones."""
        self._set_kept(
            ens, np.arange(len(ens.log_w)) if self.everyone else self._experts_to_keep(ens)
        )

    def _set_kept(self, ens: Ensemble, wanted: NDArray[np.intp], computed: bool = False) -> None:
        there = self.members
        same = np.array_equal(wanted, there)
        if not same and not np.isin(wanted, there).all():  # new ones are computed after all labels
            self._catch_up()
        self.cached = self.cached and self._fits(ens, len(wanted))
        if not self.cached:
            self.groups = [replace(group, points=None) for group in self.groups]
        if same:
            return
        if len(self.X) >= MIN_CANDIDATES_FOR_OWN_GROUP:
            kept = {int(group.members[0]): group for group in self.groups}
            self.groups = [
                kept[m] if m in kept else self._make_group(ens, np.array([m]), computed)
                for m in wanted.tolist()
            ]
        elif len(there) and np.isin(wanted, there).all():
            self.groups = [self._shrunk(self.groups[0], np.searchsorted(there, wanted))]
        else:
            self.groups = [self._make_group(ens, wanted, computed)]

    def _experts_to_keep(self, ens: Ensemble) -> NDArray[np.intp]:
        """The experts to keep (`core.extensions.expert_pruning`), by moments of some candidates."""
        sig2, some = ens.magnitude[:, None], self.some
        lam = ens.noise_at(self.X[some])
        mu, v = self.mu[:, some], self.v[:, some]
        q = None if self.q is None else self.q[:, some]
        known = np.isin(np.arange(len(ens.log_w)), self.members)

        def moments(which: NDArray[np.intp]) -> tuple[Array, Array, Array | None]:
            if self._catch_up(some):
                mu[known], v[known] = self.mu[known][:, some], self.v[known][:, some]
            new = which[~known[which]]
            if len(new):
                experts: ExpertsOfKind = ens.experts.take(new)
                points = self.embedding.take(new).points(experts, self.X[some])
                mu[new], v[new] = experts.predict(points)
                if q is not None and self.reference is not None:
                    q[new] = self.reference.take(new).relevance(experts, points)
                known[new] = True
            fall = None if q is None else (sig2 * q / (v + lam))[which]
            return mu[which], (sig2 * v)[which], fall

        return select_experts_to_keep(ens.w, reachable_moments(ens, self.prior), moments)

    def _fits(self, ens: Ensemble, H: int) -> bool:
        """Whether the pool in the form of H experts fits the memory, with room to grow."""
        width = self.embedding.width(ens.experts) * (2 if self.exact else 1)
        most = self.eager if self._may_defer else self.memory
        return H * len(self.X) * width * np.dtype(self.dtype).itemsize <= most

    @property
    def _often_late(self) -> bool:
        """Whether as much was computed late as keeping the correlations would have taken."""
        return self.late_rows[0] >= MAX_LATE_SHARE * len(self.X)

    @property
    def _may_defer(self) -> bool:
        """Whether candidates may follow labels later: those of exact experts that score few."""
        return self.exact and self.q is None and not self.everyone and not self._often_late

    def follow(self, before: Ensemble, step: StepOfKind, after: Ensemble) -> None:
        """Update the posterior by a label, and keep the experts that matter then."""
        if self._may_defer and not self.cached:
            experts: ExpertsOfKind = before.experts
            self.deferred.append(step, experts.X)
            self.keep_experts(after)
            return
        self._catch_up()
        if not self.cached and self._often_late and self._fits(before, len(self.members)):
            self._keep_correlations(before)
        self.groups = [self._follow(group, before, step) for group in self.groups]
        if self.reference is not None:
            self.reference = self.reference.after(step)
        self.keep_experts(after)

    def _catch_up(self, at: NDArray[np.intp] | None = None) -> bool:
        """Let some candidates (None: all) follow their missing labels; whether any had some."""
        if not self.deferred.steps:
            return False
        late = self.deferred.behind if at is None else self.deferred.behind[at]
        if not late.any():
            return False
        every = np.arange(len(self.X)) if at is None else at
        self.late_rows[0] += int(late.sum())
        self.deferred.catch_up(every, self.X, self.members, self.mu, self.v)
        return True

    @property
    def whole(self) -> bool:
        """Whether all experts are kept in full precision, in one group."""
        return self.dtype == np.float64 and len(self.groups[0].members) == len(self.mu)

    def predict(self, ens: Ensemble, at: Sequence[int]) -> tuple[Array, Array]:
        """Means and variances (M, n) of all experts for the candidates `at`."""
        if self.whole:
            self._catch_up(np.asarray(at, dtype=np.intp))
            return self.mu[:, at], self.v[:, at]
        points = self.embedding.points(ens.experts, self.X[at])
        mu, v = ens.experts.predict(points)
        return mu, v

    def predict_kept(
        self, at: Sequence[int] | NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], Array, Array]:
        """The kept experts, and their means and variances (H, n) for the candidates `at`."""
        rows, at = self.members, np.asarray(at, dtype=np.intp)
        self._catch_up(at)
        return rows, self.mu[rows[:, None], at], self.v[rows[:, None], at]

    def snapshot(self, n: int) -> PoolSnapshot | None:
        """The posterior after n labels, to restart from; None with reference points."""
        self._catch_up()
        rows = self.members
        return None if self.q is not None else PoolSnapshot(n, rows, self.mu[rows], self.v[rows])

    def score(self, asked: ScorePass) -> MemoryScores:
        """Every function on every candidate."""
        current = self._candidates_to_score(asked)
        kept = self.members
        which: Index = slice(None) if len(kept) == len(self.mu) else kept
        q = None if self.q is None else self.q[which]
        moments = (self.mu[which], self.v[which], q)
        belief = belief_of(asked, which, *moments, self.X, self._varying_noise(asked.ens))
        return score(asked, kept, belief, partial(self._points_of, asked.ens), current)

    def _candidates_to_score(self, asked: ScorePass) -> NDArray[np.bool_] | None:
        """Which candidates have followed all labels: all that the pass scores; None: all."""
        if not self.deferred.steps:
            return None
        few = all(needs_targets(function) for function in asked.functions.values())
        if not few or asked.free.sum() <= SHORTLIST_CANDIDATES:
            self._catch_up()
        if not self.deferred.behind.any():
            return None
        self._catch_up(hashed_half(asked))
        cost = 1.0 if asked.cost is None else asked.cost
        bounds = self.deferred.largest_variances(asked.ens, self.members, self.mu, self.v) / cost

        def exact(at: NDArray[np.intp]) -> Array:
            kept, mu, v = self.predict_kept(at)
            noise = self._varying_noise(asked.ens)
            noise = None if noise is None else noise[at]
            found = gpm_var(belief_of(asked, kept, mu, v, None, self.X[at], noise))
            return found if asked.cost is None else found / asked.cost[at]

        find_largest(bounds, asked.free, SHORTLIST_CANDIDATES // 2, exact)
        return ~self.deferred.behind

    def _points_of(self, ens: Ensemble, members: NDArray[np.intp], at: NDArray[np.intp]) -> Points:
        """Candidates in the form of some of the kept experts, in float64, cached or recomputed."""
        if not self.cached or self.dtype != np.float64:
            experts: ExpertsOfKind = ens.experts.take(members)
            return self.embedding.take(members).pool_points(experts, self.X[at])
        return points_of(self.groups, members, at)

    def _varying_noise(self, ens: Ensemble) -> Array | None:  # (U,)
        """Noise variances of the field at all candidates, computed once."""
        if ens.field is not None and self.varying_noise is None:
            self.varying_noise = ens.field.expected_variances(self.X)
        return self.varying_noise

    def recompute(self, ens: Ensemble) -> "MemoryPool":
        """The pool of the same experts after other labels, computed from scratch."""
        twin = copy(self)
        twin.mu, twin.v = np.zeros_like(self.mu), np.ones_like(self.v)
        twin.q = None if self.q is None else np.zeros_like(self.q)
        twin.reference = None if self.reference is None else self.reference.recompute(ens.experts)
        twin.groups, twin.cached, twin.deferred = [], True, DeferredSteps(len(self.X))
        twin.keep_experts(ens)
        return twin

    def fork(self) -> Self:
        """A copy that is updated independently."""
        twin = copy(self)
        twin.mu, twin.v, twin.deferred = self.mu.copy(), self.v.copy(), self.deferred.fork()
        twin.q = None if self.q is None else self.q.copy()
        if self.exact and self.cached:
            twin.groups = [
                replace(group, points=cast(CorrelatedPoints, group.points).fork())
                for group in self.groups
            ]
        return twin

    def _follow(self, group: ExpertGroup, before: Ensemble, told: StepOfKind) -> ExpertGroup:
        all_of_them = len(group.members) == len(self.mu)
        step = told if all_of_them else told.take(group.which)
        experts = before.experts if all_of_them else before.experts.take(group.which)
        w, extended = group.which, group.points
        for rows, points in self._blocks(group, experts):
            c = step.column(points)
            if self.q is not None and group.reference is not None:
                h, p = group.reference.columns(experts, step, points)
                self.q[w, rows] = moved_relevance(self.q[w, rows], c, h, p, step.s)
            self.mu[w, rows], self.v[w, rows] = apply_step(
                self.mu[w, rows], self.v[w, rows], c, step
            )
        if not self.exact:
            return group
        if self.cached:  # then the one block is the whole pool
            extended = step.extend(group.points, c)
        reference = None if group.reference is None else group.reference.after(step)
        return replace(group, points=extended, reference=reference)

    def _blocks(self, group: ExpertGroup, experts: ExpertsOfKind) -> Iterator[tuple[slice, Points]]:
        """Blocks of the candidates in the form of the group's experts."""
        U = len(self.X)
        if self.cached and (self.exact or U <= BLOCK_CANDIDATES):
            yield slice(None), group.points
        elif self.cached:
            for start in range(0, U, BLOCK_CANDIDATES):
                rows = slice(start, start + BLOCK_CANDIDATES)
                yield rows, cast(Array, group.points)[:, rows]
        else:
            for rows in self._slices(group, experts):
                yield rows, group.embedding.pool_points(experts, self.X[rows], self.dtype)

    def _slices(self, group: ExpertGroup, experts: ExpertsOfKind) -> Iterator[slice]:
        """Slices whose points fit the memory of a block; correlations stay cached."""
        width = self.embedding.width(experts)
        taken = 2 * 8 * len(group.members) * width
        if self.exact:
            taken = max(taken, random_features.FEATURE_BLOCK_BYTES * width // BLOCK_CORRELATIONS)
        return random_features.blocks(len(self.X), taken)

    def _make_group(self, ens: Ensemble, members: NDArray[np.intp], computed: bool) -> ExpertGroup:
        which = index_of(members)
        experts: ExpertsOfKind = ens.experts.take(which)
        embedding = self.embedding.take(which)
        reference = None if self.reference is None else self.reference.take(which)
        points = self._embed(experts, embedding, len(members)) if self.cached else None
        group = ExpertGroup(members, which, embedding, points, reference)
        if self.exact:
            self._correlate(group, experts, computed)
            return group
        for rows, part in () if computed else self._blocks(group, experts):
            self.mu[which, rows], self.v[which, rows] = experts.predict(part)
            if self.q is not None and reference is not None:
                self.q[which, rows] = reference.relevance(experts, part)
        return group

    def _embed(self, experts: ExpertsOfKind, embedding: Embedding, H: int) -> Points:
        """All candidates in the form of these experts; for exact ones, uninitialised rows."""
        U, F = len(self.X), embedding.width(experts)
        if self.exact:
            return CorrelatedPoints(self.X, GrowingRows.empty(H, len(experts.X), U))
        Phi = np.empty((H, U, F), self.dtype)
        for rows in random_features.blocks(U, 2 * 8 * H * F):
            Phi[:, rows] = embedding.points(experts, self.X[rows], self.dtype)
        return Phi

    def _correlate(self, group: ExpertGroup, experts: ExpertsOfKind, computed: bool) -> None:
        """Compute the moments of exact experts, and fill their cache of correlations, if any."""
        w, kept = group.which, cast(CorrelatedPoints | None, group.points)
        for rows in () if computed and kept is None else self._slices(group, experts):
            part = experts.correlated_points(self.X[rows])
            if kept is not None:
                kept.K[:, :, rows] = part.K
            if not computed and self.q is not None and group.reference is not None:
                near = experts.solve(part)
                self.mu[w, rows], self.v[w, rows] = experts.predict(near)
                self.q[w, rows] = group.reference.relevance(experts, near)
            elif not computed:
                self.mu[w, rows], self.v[w, rows] = experts.predict_in_place(part)

    def _keep_correlations(self, ens: Ensemble) -> None:
        """Keep the correlations of the candidates from now on: all of them are needed often."""
        self.cached, groups = True, []
        for group in self.groups:
            experts: ExpertsOfKind = ens.experts.take(group.which)
            points = self._embed(experts, group.embedding, len(group.members))
            groups.append(replace(group, points=points))
            self._correlate(groups[-1], experts, computed=True)
        self.groups = groups

    def _shrunk(self, group: ExpertGroup, kept: NDArray[np.intp]) -> ExpertGroup:
        """The group without the experts that no longer matter."""
        points = group.points
        if points is not None:
            points = points.take(kept) if self.exact else points[kept]
        members = group.members[kept]
        reference = None if group.reference is None else group.reference.take(kept)
        return ExpertGroup(
            members, index_of(members), group.embedding.take(kept), points, reference
        )
