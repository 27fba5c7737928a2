"""A pool in shards: experts are kept in memory, rows are read and scored in each pass.

A label changes only the experts: the next pass scores every candidate with the experts of that
time. Summaries of the last passes, and the scores of the last one (`shard_pass`), are cached under
the key of the state that they belong to.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import fields, is_dataclass, replace
from functools import partial, reduce
from hashlib import blake2b
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array, GrowingRows
from weal.core.constants import SHORTLIST_CANDIDATES as LISTED
from weal.core.extensions.acquisition_registry import is_pointwise, needs_targets
from weal.core.extensions.expert_pruning import (
    reachable_moments,
    select_experts_to_keep,
)
from weal.core.packed_factors import PackedFactors
from weal.core.paper.ensemble import Ensemble
from weal.core.protocols import Embedding, ExpertsOfKind, Points, Reference, StepOfKind
from weal.core.scaling import Scaling
from weal.learner.pools.combined_scores import ShardContext, ShardedScores, TargetScores
from weal.learner.pools.protocol import PoolScores, PoolSnapshot, ScorePass
from weal.learner.pools.score_pass import belief_of, score
from weal.learner.pools.shard_pass import (
    BATCH_SHORTLIST,
    PassSummary,
    Positions,
    ShardScoring,
    merge_summaries,
)

PRUNING_SAMPLE = 256  # candidates that decide which experts are kept
PROGRESS_TEXT = "scoring"
MAX_CACHED_PASSES = 4  # summaries of passes that are kept


class ShardedPool:
    """The posterior on candidates in shards, computed from their rows on demand."""

    def __init__(
        self,
        ens: Ensemble,
        embedding: Embedding,
        scaling: Scaling,
        context: ShardContext,
        reference: Array | None = None,
    ) -> None:
        self.ens, self.embedding, self.scaling, self.context = ens, embedding, scaling, context
        self.reference_points = reference

    def inputs_at(self, at: Sequence[int] | NDArray[np.integer[Any]]) -> Array:
        """The scaled inputs (n, d) of the candidates `at`."""
        return self.scaling.inputs(self.context.candidates.reader[np.asarray(at)])

    def follow(self, before: Ensemble, step: StepOfKind, after: Ensemble) -> None:
        """Replace the experts by those after the label."""
        self.ens = after

    def fork(self) -> Self:
        """A copy that is updated independently."""
        return copy(self)

    def recompute(self, ens: Ensemble) -> "ShardedPool":
        """The pool of other experts."""
        twin = copy(self)
        twin.ens = ens
        return twin

    def snapshot(self, n: int) -> PoolSnapshot | None:
        """None if there is nothing to restart from."""
        return None

    def predict(self, ens: Ensemble, at: Sequence[int]) -> tuple[Array, Array]:
        """Means and variances (M, n) of all experts for the candidates `at`."""
        experts: ExpertsOfKind = ens.experts
        mu, v = experts.predict(self.embedding.points(experts, self.inputs_at(at)))
        return mu, v

    def predict_kept(
        self, at: Sequence[int] | NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], Array, Array]:
        """The kept experts, and their means and variances (H, n) for the candidates `at`."""
        members = self._experts_to_keep(self.ens, self._reference(self.ens))
        experts: ExpertsOfKind = self.ens.experts.take(members)
        X = self.inputs_at(at)
        mu, v = experts.predict(self.embedding.take(members).points(experts, X))
        return members, mu, v

    def score(self, asked: ScorePass) -> PoolScores:
        """Every function on every free candidate, in one pass, or from the cache."""
        _refuse_whole(asked)
        candidates = self.context.candidates
        parts = candidates.parts
        reference = self._reference(asked.ens)
        members = self._experts_to_keep(asked.ens, reference)
        scoring = self._scoring(asked, members, reference)
        score_cache = self.context.score_cache
        if scoring.key not in score_cache:
            executor, progress = self.context.executor, self.context.progress
            merge = partial(merge_summaries, most=scoring.shortlist)
            each = executor.each(scoring, parts, PROGRESS_TEXT, progress, merge)
            found = reduce(merge, (one for _, one in each))
            target_scores = self._score_targets(asked, members, found, reference)
            while len(score_cache) >= MAX_CACHED_PASSES:
                score_cache.pop(next(iter(score_cache)))
            score_cache[scoring.key] = ShardedScores(
                self.context, scoring, found, parts, target_scores, {}
            )
        return score_cache[scoring.key]

    def _score_targets(
        self,
        asked: ScorePass,
        members: NDArray[np.intp],
        found: PassSummary,
        reference: Reference | None,
    ) -> TargetScores:
        """The scores of functions with targets, on the shortlist."""
        functions = [(k, *pair) for k, pair in enumerate(asked.functions.items())]
        target_scores = [(k, name, f) for k, name, f in functions if needs_targets(f)]
        if not target_scores or found.largest_variances is None:
            return TargetScores((), np.zeros(0, np.int64), np.zeros((0, 0)))
        candidates, largest_variances = self.context.candidates, found.largest_variances
        candidates.reader.remember(largest_variances.at.tolist(), largest_variances.X)
        taken = np.flatnonzero(~asked.free)
        near = candidates.least(self.context.seed, LISTED // 2, taken)
        at = np.unique(np.concatenate([largest_variances.at, near]))
        if found.free <= LISTED:  # then all are scored
            at = np.flatnonzero(asked.free)
        own = {name: f for _, name, f in target_scores}
        few = replace(asked, functions=own, free=np.ones(len(at), bool), ids=candidates.ids.at(at))
        X, experts = self.inputs_at(at), asked.ens.experts.take(members)
        points = self.embedding.take(members).points(experts, X)
        mu, v = experts.predict(points)
        q = None if reference is None else reference.take(members).relevance(experts, points)
        belief = belief_of(few, members, mu, v, q, X)
        scores = score(few, members, belief, partial(self._points_of, few.ens, X)).scores
        return TargetScores(tuple(k for k, *_ in target_scores), at, scores)

    def _points_of(
        self, ens: Ensemble, X: Array, members: NDArray[np.intp], at: NDArray[np.intp]
    ) -> Points:
        """The rows X[at] in the form of some of the experts."""
        experts: ExpertsOfKind = ens.experts.take(members)
        return self.embedding.take(members).pool_points(experts, X[at])

    def _scoring(
        self, asked: ScorePass, members: NDArray[np.intp], reference: Reference | None
    ) -> ShardScoring:
        ens = asked.ens.take(members)
        taken = np.flatnonzero(~asked.free).astype(np.int64)
        functions = {name: f for name, f in asked.functions.items() if not needs_targets(f)}
        few = replace(
            asked, ens=ens, functions=functions, free=np.zeros(0, bool), ids=(), targets=None,
            order=None,
        )  # fmt: skip
        context, embedding = self.context, self.embedding.take(members)
        return ShardScoring(
            key=self._key(asked, few, taken),
            asked=few,
            lists=len(functions) < len(asked.functions),
            keeps=len(asked.functions) > 1,
            embedding=embedding,
            reference=None if reference is None else reference.take(members),
            scaling=self.scaling,
            encoder=context.candidates.encoder,
            taken=taken,
            width=embedding.width(ens.experts),
            shortlist=BATCH_SHORTLIST,
        )

    def _key(self, whole: ScorePass, asked: ScorePass, taken: Positions) -> str:
        """The cache key: number of labels, and a hash of all that scores depend on."""
        found = blake2b(self.context.candidates.dataset.content.encode(), digest_size=16)
        names = [(name, id(function)) for name, function in whole.functions.items()]
        closed = sorted(self.context.candidates.closed)
        found.update(repr((names, asked.key, closed, self.reference_points is None)).encode())
        for part in (asked.ens, asked.X, asked.y, taken, self.scaling, whole.targets):
            _hash(found, part)
        return f"{len(asked.y)} {found.hexdigest()}"

    def _experts_to_keep(self, ens: Ensemble, reference: Reference | None) -> NDArray[np.intp]:
        """The experts to keep (`core.extensions.expert_pruning`), by moments of some candidates."""
        candidates = self.context.candidates
        at = candidates.sample_positions(self.context.seed)
        at = at[
            np.unique(np.linspace(0, len(at) - 1, min(len(at), PRUNING_SAMPLE)).astype(np.intp))
        ]
        X = self.inputs_at(at)
        sig2, lam = ens.magnitude[:, None], ens.noise_at(X)

        def moments(which: NDArray[np.intp]) -> tuple[Array, Array, Array | None]:
            experts: ExpertsOfKind = ens.experts.take(which)
            points = self.embedding.take(which).points(experts, X)
            mu, v = experts.predict(points)
            if reference is None:
                return mu, sig2[which] * v, None
            q = reference.take(which).relevance(experts, points)
            return mu, sig2[which] * v, sig2[which] * q / (v + lam[which])

        prior = self.embedding.largest_prior_variance(ens.experts, X)
        return select_experts_to_keep(ens.w, reachable_moments(ens, prior), moments)

    def _reference(self, ens: Ensemble) -> Reference | None:
        """The reference points for these experts."""
        R = self.reference_points
        return None if R is None else self.embedding.reference(ens.experts, R)


def _hash(found: Any, value: Any) -> None:
    """Add a value to a hash: arrays by their bytes, dataclasses field by field."""
    if isinstance(value, GrowingRows):
        _hash(found, value.array)
    elif isinstance(value, PackedFactors):
        _hash(found, value.packed)
    elif isinstance(value, np.ndarray):
        found.update(repr((value.shape, value.dtype.str)).encode())
        found.update(np.ascontiguousarray(value).tobytes())
    elif is_dataclass(value):
        found.update(type(value).__name__.encode())
        for one in fields(value):
            _hash(found, getattr(value, one.name))
    elif isinstance(value, tuple):
        for one in value:
            _hash(found, one)
    else:
        found.update(repr(value).encode())


def _refuse_whole(asked: ScorePass) -> None:
    """Refuse functions that must see all candidates at once."""
    for name, function in asked.functions.items():
        if not (is_pointwise(function) or getattr(function, "by_key", False)):
            raise ValueError(
                f"the acquisition function {name!r} looks at all candidates at once, which a pool "
                "in shards does not allow; if it scores each separately, set f.pointwise = True"
            )
