"""The scores of a pass over shards, as `learner.pool.Scores` wants them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from weal.core.arrays import Array
from weal.core.tie_breaking import Best, best_of, merge
from weal.learner.pool import Combine, Only
from weal.learner.sharded.candidates import ShardedCandidates
from weal.learner.sharded.scoring import Positions, Scoring, Summary, Top, merged_top, moved
from weal.learner.sharded.weighing import Aimed, Rescoring, Weighing, scores_at, slack
from weal.progress import Progress
from weal.shards.crew import Crew
from weal.shards.shard import Shard


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Where the rows of a pool are, who reads them, and what was found."""

    candidates: ShardedCandidates
    crew: Crew
    seed: int
    progress: Progress | None
    memo: dict[str, "ShardedScores"]


@dataclass(frozen=True, slots=True, eq=False)
class ShardedScores:
    """The scores of a pass over shards."""

    place: Place
    scoring: Scoring
    found: Summary
    parts: tuple[Shard, ...]
    aimed: Aimed
    weighed: dict[str, Top]  # the best by the last sum of scores

    @property
    def low(self) -> Array:  # (K,)
        """The least score of each function."""
        return self._both(self.found.low, self.aimed.scores.min(axis=1, initial=np.inf))

    @property
    def high(self) -> Array:  # (K,)
        """The largest score of each function."""
        return self._both(self.found.high, self.aimed.scores.max(axis=1, initial=-np.inf))

    def _both(self, plain: Array, aimed: Array) -> Array:
        """A number of each function, in their order."""
        every = np.empty(len(plain) + len(aimed))
        which = list(self.aimed.which)
        every[which] = aimed
        every[[k for k in range(len(every)) if k not in which]] = plain
        return every

    def best(self, combine: Combine) -> Best:
        """The best of the free candidates by what `combine` makes of their scores."""
        if not isinstance(combine, Only):
            return self._best(combine)
        if combine.k in self.aimed.which:
            return self._best_listed(self.aimed.which.index(combine.k))
        self.place.candidates.X.remember(list(self.found.rows), _stacked(self.found.rows))
        plain = [k for k in range(len(self.low)) if k not in self.aimed.which]
        return self.found.best[plain.index(combine.k)]

    def _best_listed(self, k: int) -> Best:
        at, scores = self.aimed.at, self.aimed.scores[k]
        ids = self.place.candidates.ids.at(at)
        found = best_of(scores, np.ones(len(at), dtype=bool), self.scoring.asked.seed, ids)
        return moved(found, at)

    def _best(self, combine: Combine) -> Best:
        place, many = self.place, self.scoring.shortlist
        top, floor = None, -np.inf
        weighing = Weighing(self.scoring, combine, self.aimed, many)
        for _, (other, sure) in place.crew.each(weighing, self.parts):
            floor = max(floor, sure)
            top = other if top is None else _joined(top, other, many, slack(floor))
        assert top is not None
        self.weighed["top"] = Top(top.scores[:many], top.at[:many], top.X[:many])
        could = top.at[top.scores >= slack(floor)]
        starts = np.array([part.start for part in self.parts])
        which = np.searchsorted(starts, could, side="right") - 1
        parts = [self.parts[n] for n in np.unique(which).tolist()]
        at = {part.start: np.sort(could[starts[which] == part.start]) for part in parts}
        best = Best()
        rescoring = Rescoring(self.scoring, combine, self.aimed, at)
        for _, (one, rows) in place.crew.each(rescoring, parts):
            place.candidates.X.remember(list(rows), _stacked(rows))
            best = merge(best, one)
        return best

    def at(self, n: int) -> Array:  # (K,)
        """The scores of candidate n."""
        plain = scores_at(self.scoring, self.place.candidates.X[n], n)
        return np.asarray(self.aimed.joined(plain[:, None], np.array([n]))[:, 0])

    @property
    def shortlist(self) -> Positions:
        """Positions of the best of every function, and of their weighted sum."""
        tops = [*self.found.top, *self.weighed.values()]
        return np.unique(np.concatenate([self.aimed.at, *(top.at for top in tops)]))


def _joined(a: Top, b: Top, many: int, least: float) -> Top:
    """The best `many` of both, and all from the score `least` on."""
    both = merged_top(a, b, len(a.at) + len(b.at))
    most = max(many, int((both.scores >= least).sum()))
    return Top(both.scores[:most], both.at[:most], both.X[:most])


def _stacked(rows: Any) -> Array:
    return np.array(list(rows.values()))
