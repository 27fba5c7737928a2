"""Scores of a pass over shards, and the best candidate by a weighted sum of functions.

The weights of a sum need the range of every score, which a pass has only at its end. The pass keeps
its scores in float32 (`shard_pass`), and `CombinedScoring` reads them again: it keeps every
candidate that could be best within float32 rounding. `ExactRescoring` scores these in float64.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from weal.core.arrays import Array
from weal.core.paper.acquisition import random
from weal.core.tie_breaking import TIE_RTOL, BestCandidates, best_candidates, merge
from weal.learner.pools import shard_pass
from weal.learner.pools.protocol import Combine, PoolScores, SingleScore
from weal.learner.pools.shard_pass import (
    MAX_SCORED_BLOCK_ROWS,
    PassSummary,
    Positions,
    ShardScoring,
    TopScores,
    merge_top,
    random_scores,
    shift_positions,
    top_rows,
)
from weal.progress import Progress
from weal.shards.encoding import Later
from weal.shards.executors import Executor
from weal.shards.shard import Shard

if TYPE_CHECKING:
    from weal.learner.sharded_candidates import ShardedCandidates

FLOAT32_HALF_ULP = 2.0**-24  # largest relative error of rounding to float32


@dataclass(frozen=True, slots=True, eq=False)
class TargetScores:
    """Scores of functions with targets on a shortlist; other candidates get the least score."""

    which: tuple[int, ...]  # places of these functions among all K
    at: Positions  # (n,)  ascending
    scores: Array  # (functions, n)

    def add_to(self, plain: Array, at: Positions) -> Array:  # (K, N)
        """Scores of all functions at ascending positions; `plain` are those without targets."""
        if not self.which:
            return plain
        every = np.zeros((len(plain) + len(self.which), plain.shape[1]))
        every[[k for k in range(len(every)) if k not in self.which]] = plain
        every[list(self.which)] = self.scores.min(axis=1)[:, None]
        here = np.flatnonzero(np.isin(at, self.at))
        every[np.array(self.which)[:, None], here] = self.scores[:, np.isin(self.at, at)]
        return every


@dataclass(frozen=True, slots=True, eq=False)
class CombinedScoring:
    """The best of a shard by combined scores; `floor` is a score that some candidate reaches."""

    scoring: ShardScoring
    combine: Combine
    target_scores: TargetScores
    shortlist: int
    floor: float = -np.inf

    def __call__(self, shard: Shard) -> tuple[TopScores, float]:
        """The best by cached scores, and a lower bound of the best score."""
        scores = shard_pass.find(self.scoring.key, shard.start)
        if scores is None:  # on another worker, or lost with it: computed again
            parts, K = list(self.scoring.blocks(shard, Later())), len(self.scoring.asked.functions)
            scores = np.concatenate([part for _, part in parts], axis=1)[:K].astype(np.float32)
            shard_pass.keep(self.scoring.key, shard.start, scores)
        free = self.scoring.free(shard)
        at = np.arange(shard.start, shard.start + shard.rows)
        combined, error = self._combine_scores(
            self.target_scores.add_to(scores.astype(np.float64), at)
        )
        sure, could = combined - error, np.where(free, combined + error, -np.inf)
        floor = max(self.floor, float(sure.max(where=free, initial=-np.inf)))
        many = max(self.shortlist, int((could >= slack(floor)).sum()))
        return top_rows(shard.start, np.zeros((len(free), 0)), could, free, many), floor

    def _combine_scores(self, scores: Array) -> tuple[Array, Array]:
        """Combined scores, and a bound of their float32 rounding error."""
        combined, error = self.combine(scores), np.zeros(scores.shape[1])
        for k, row in enumerate(scores):
            other = scores.copy()
            other[k] = row + 1.01 * FLOAT32_HALF_ULP * np.abs(row)
            error += np.abs(self.combine(other) - combined)
        return combined, error


def slack(floor: float) -> float:
    """The least score that may still tie with the score `floor`."""
    return floor - 2.0 * TIE_RTOL * abs(floor)


@dataclass(frozen=True, slots=True, eq=False)
class ExactRescoring:
    """The best of a shard by `combine`, among some positions, in float64."""

    scoring: ShardScoring
    combine: Combine
    target_scores: TargetScores
    at: Mapping[int, Positions]  # by the start of the shard

    def __call__(self, shard: Shard) -> tuple[BestCandidates, Mapping[int, Array]]:
        """The candidates that tie for the best, and their rows."""
        at = self.at[shard.start]
        X = shard.take(self.scoring.encoder, at - shard.start)
        scores = self.combine(self.target_scores.add_to(_one_by_one(self.scoring, X, at), at))
        ids = shard.ids(at - shard.start)
        found = best_candidates(scores, np.ones(len(at), dtype=bool), self.scoring.asked.seed, ids)
        best = shift_positions(found, at)
        here = {int(n): row for n, row in zip(at, X, strict=True)}
        return best, {entry.position: here[entry.position] for entry in best.entries}


def _one_by_one(scoring: ShardScoring, X: Array, at: Positions) -> Array:  # (K, n)
    """Scores of rows at any positions."""
    parts = [
        scoring.scores(X[n : n + MAX_SCORED_BLOCK_ROWS], int(at[n]))
        for n in range(0, len(X), MAX_SCORED_BLOCK_ROWS)
    ]
    scores = np.concatenate(parts, axis=1)[: len(scoring.asked.functions)]
    for k, function in enumerate(scoring.asked.functions.values()):
        if function is random:
            scores[k] = [random_scores(scoring.asked.key, n, 1)[0] for n in at.tolist()]
    return scores


def scores_at(scoring: ShardScoring, X: Array, at: int) -> Array:  # (K,)
    """The scores of one row X (d,) at this position."""
    return np.asarray(_one_by_one(scoring, X[None, :], np.array([at]))[:, 0])


@dataclass(frozen=True, slots=True, eq=False)
class ShardContext:
    """The rows of a pool, their executor, and the cached scores."""

    candidates: "ShardedCandidates"
    executor: Executor
    seed: int
    progress: Progress | None
    score_cache: dict[str, PoolScores]


@dataclass(frozen=True, slots=True, eq=False)
class ShardedScores:
    """The scores of a pass over shards."""

    context: ShardContext
    scoring: ShardScoring
    found: PassSummary
    parts: tuple[Shard, ...]
    target_scores: TargetScores
    weighed: dict[str, TopScores]  # the best by the last sum of scores

    @property
    def low(self) -> Array:  # (K,)
        """The least score of each function."""
        return self._both(self.found.low, self.target_scores.scores.min(axis=1, initial=np.inf))

    @property
    def high(self) -> Array:  # (K,)
        """The largest score of each function."""
        return self._both(self.found.high, self.target_scores.scores.max(axis=1, initial=-np.inf))

    def _both(self, plain: Array, target_scores: Array) -> Array:
        """One number for each function, in their order."""
        every = np.empty(len(plain) + len(target_scores))
        which = list(self.target_scores.which)
        every[which] = target_scores
        every[[k for k in range(len(every)) if k not in which]] = plain
        return every

    def best(self, combine: Combine) -> BestCandidates:
        """The best of the free candidates by their combined scores."""
        if not isinstance(combine, SingleScore):
            return self._best(combine)
        if combine.k in self.target_scores.which:
            return self._best_listed(self.target_scores.which.index(combine.k))
        self.context.candidates.reader.remember(list(self.found.rows), _stack_rows(self.found.rows))
        plain = [k for k in range(len(self.low)) if k not in self.target_scores.which]
        return self.found.best[plain.index(combine.k)]

    def _best_listed(self, k: int) -> BestCandidates:
        at, scores = self.target_scores.at, self.target_scores.scores[k]
        ids = self.context.candidates.ids.at(at)
        found = best_candidates(scores, np.ones(len(at), dtype=bool), self.scoring.asked.seed, ids)
        return shift_positions(found, at)

    def _best(self, combine: Combine) -> BestCandidates:
        context, many = self.context, self.scoring.shortlist
        top, floor = None, -np.inf
        weighing = CombinedScoring(self.scoring, combine, self.target_scores, many)
        for _, (other, sure) in context.executor.each(weighing, self.parts):
            floor = max(floor, sure)
            top = other if top is None else _merge_best(top, other, many, slack(floor))
        assert top is not None
        self.weighed["top"] = TopScores(top.scores[:many], top.at[:many], top.X[:many])
        could = top.at[top.scores >= slack(floor)]
        starts = np.array([part.start for part in self.parts])
        which = np.searchsorted(starts, could, side="right") - 1
        parts = [self.parts[n] for n in np.unique(which).tolist()]
        at = {part.start: np.sort(could[starts[which] == part.start]) for part in parts}
        best = BestCandidates()
        rescoring = ExactRescoring(self.scoring, combine, self.target_scores, at)
        for _, (one, rows) in context.executor.each(rescoring, parts):
            context.candidates.reader.remember(list(rows), _stack_rows(rows))
            best = merge(best, one)
        return best

    def at(self, n: int) -> Array:  # (K,)
        """The scores of candidate n."""
        plain = scores_at(self.scoring, self.context.candidates.reader[n], n)
        return np.asarray(self.target_scores.add_to(plain[:, None], np.array([n]))[:, 0])

    @property
    def new_values(self) -> Mapping[str, int]:
        """Values that the plan did not know, with the number of their rows."""
        return self.found.later

    def shortlist(self, combine: Combine | None) -> Positions:
        """Positions of the best by each function and by `combine`; their rows are cached."""
        if combine is not None and not self.weighed:
            self.best(combine)
        for top in self.found.top:
            self.context.candidates.reader.remember(top.at.tolist(), top.X)
        tops = [*self.found.top, *self.weighed.values()]
        return np.unique(np.concatenate([self.target_scores.at, *(top.at for top in tops)]))


def _merge_best(a: TopScores, b: TopScores, many: int, least: float) -> TopScores:
    """The best `many` of both, and all from the score `least` on."""
    both = merge_top(a, b, len(a.at) + len(b.at))
    most = max(many, int((both.scores >= least).sum()))
    return TopScores(both.scores[:most], both.at[:most], both.X[:most])


def _stack_rows(rows: Any) -> Array:
    return np.array(list(rows.values()))
