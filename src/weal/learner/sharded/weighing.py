"""Several functions weighed over shards: who is best by a sum of their scores.

That follows from the ranges of all scores, which a pass has only at its end. The scores were kept
in float32 (`kept`), and `Weighing` looks at them once more: it leaves whoever could be best, given
what float32 rounds away. These few are scored again in float64 (`Rescoring`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from weal.core.arrays import Array
from weal.core.paper.acquisition import random
from weal.core.tie_breaking import TIE, Best, best_of
from weal.learner.pool import Combine
from weal.learner.sharded import kept
from weal.learner.sharded.scoring import (
    MOST_BLOCK,
    Positions,
    Scoring,
    Top,
    moved,
    random_scores,
    top_rows,
)
from weal.shards.encoding import Later
from weal.shards.shard import Shard

HALF_UNIT = 2.0**-24  # what rounding to float32 takes at the most, relative


@dataclass(frozen=True, slots=True, eq=False)
class Aimed:
    """The scores of functions that look at targets, for those listed; all others have the least."""

    which: tuple[int, ...]  # places of these functions among all K
    at: Positions  # (n,)  ascending
    scores: Array  # (functions, n)

    def joined(self, plain: Array, at: Positions) -> Array:  # (K, N)
        """The scores of all functions at ascending positions, for those of the others."""
        if not self.which:
            return plain
        every = np.zeros((len(plain) + len(self.which), plain.shape[1]))
        every[[k for k in range(len(every)) if k not in self.which]] = plain
        every[list(self.which)] = self.scores.min(axis=1)[:, None]
        here = np.flatnonzero(np.isin(at, self.at))
        every[np.array(self.which)[:, None], here] = self.scores[:, np.isin(self.at, at)]
        return every


@dataclass(frozen=True, slots=True, eq=False)
class Weighing:
    """The best of a shard by what `combine` makes of its scores; `floor` is a score that is met."""

    scoring: Scoring
    combine: Combine
    aimed: Aimed
    shortlist: int
    floor: float = -np.inf

    def __call__(self, shard: Shard) -> tuple[Top, float]:
        """The best by the scores that are kept, and a score that one of them has for sure."""
        scores = kept.find(self.scoring.key, shard.start)
        if scores is None:  # on another worker, or gone with it: computed again
            parts, K = list(self.scoring.blocks(shard, Later())), len(self.scoring.asked.functions)
            scores = np.concatenate([part for _, part in parts], axis=1)[:K].astype(np.float32)
            kept.keep(self.scoring.key, shard.start, scores)
        free = self.scoring.free(shard)
        at = np.arange(shard.start, shard.start + shard.rows)
        combined, error = self._combined(self.aimed.joined(scores.astype(np.float64), at))
        sure, could = combined - error, np.where(free, combined + error, -np.inf)
        floor = max(self.floor, float(sure.max(where=free, initial=-np.inf)))
        many = max(self.shortlist, int((could >= slack(floor)).sum()))
        return top_rows(shard.start, np.zeros((len(free), 0)), could, free, many), floor

    def _combined(self, scores: Array) -> tuple[Array, Array]:
        """What `combine` makes of the scores, and by how much float32 may have moved it."""
        combined, error = self.combine(scores), np.zeros(scores.shape[1])
        for k, row in enumerate(scores):
            other = scores.copy()
            other[k] = row + 1.01 * HALF_UNIT * np.abs(row)
            error += np.abs(self.combine(other) - combined)
        return combined, error


def slack(floor: float) -> float:
    """The least score of whoever may still be taken where one has the score `floor`."""
    return floor - 2.0 * TIE * abs(floor)


@dataclass(frozen=True, slots=True, eq=False)
class Rescoring:
    """The best of a shard by `combine`, among some positions, in float64."""

    scoring: Scoring
    combine: Combine
    aimed: Aimed
    at: Mapping[int, Positions]  # by the start of the shard

    def __call__(self, shard: Shard) -> tuple[Best, Mapping[int, Array]]:
        """Who may be taken, and their rows."""
        at = self.at[shard.start]
        X = shard.take(self.scoring.encoder, at - shard.start)
        scores = self.combine(self.aimed.joined(_one_by_one(self.scoring, X, at), at))
        ids = shard.ids(at - shard.start)
        found = best_of(scores, np.ones(len(at), dtype=bool), self.scoring.asked.seed, ids)
        best = moved(found, at)
        here = {int(n): row for n, row in zip(at, X, strict=True)}
        return best, {entry.position: here[entry.position] for entry in best.entries}


def _one_by_one(scoring: Scoring, X: Array, at: Positions) -> Array:  # (K, n)
    """Scores of rows at any positions."""
    parts = [
        scoring.scores(X[n : n + MOST_BLOCK], int(at[n])) for n in range(0, len(X), MOST_BLOCK)
    ]
    scores = np.concatenate(parts, axis=1)[: len(scoring.asked.functions)]
    for k, function in enumerate(scoring.asked.functions.values()):
        if function is random:
            scores[k] = [random_scores(scoring.asked.key, n, 1)[0] for n in at.tolist()]
    return scores


def scores_at(scoring: Scoring, X: Array, at: int) -> Array:  # (K,)
    """The scores of one row X (d,) at this position."""
    return np.asarray(_one_by_one(scoring, X[None, :], np.array([at]))[:, 0])
