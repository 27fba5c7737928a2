"""Cost of a pass for each kept expert, and the choices with fewer experts.

The default looks at the variance of the mixture on all candidates to find the few hundred that it
scores. Here that pass is by the weightiest k of the experts held; all else is by all of them. Asked
in states of campaigns on 10^4 rows, whose labels were chosen by the full pass.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks import pool_batches
from threadpoolctl import threadpool_limits

import weal
from weal.learner.choosing import scores_of
from weal.learner.pools.sharded import ShardedPool

ROWS, BATCH, BATCHES = 10_000, 16, 4
FEW = (1, 2, 4)


@dataclass(frozen=True)
class Line:
    """A line of the table."""

    what: str
    measured: str


def costs(learner: weal.ActiveLearner) -> Iterator[tuple[int, float]]:
    """For 1, 4, ... of the experts held, how many there are and the microseconds of CPU a row."""
    state = learner.state
    held = len(learner._beliefs._pool(state.view()).predict_kept([0])[0])
    with threadpool_limits(1):
        for k in sorted({min(1, held), min(4, held), held}):
            with by(k):
                learner._beliefs.score_cache.clear()
                scoring = scores_of(state, learner._beliefs).scoring  # type: ignore[attr-defined]
            shards = learner.candidates.dataset.parts  # type: ignore[attr-defined]
            start = time.process_time()
            for shard in shards:
                scoring(shard)
            yield k, (time.process_time() - start) / len(learner.candidates) * 1e6
    learner._beliefs.score_cache.clear()


@contextmanager
def by(k: int) -> Iterator[None]:
    """Passes by the weightiest k of the experts held, meanwhile."""
    whole = ShardedPool._scoring

    def few(self: Any, asked: Any, members: Any, reference: Any) -> Any:
        first = np.argsort(-asked.ens.w[members], kind="stable")[:k]
        return whole(self, asked, np.sort(members[first]), reference)

    ShardedPool._scoring = few  # type: ignore[method-assign]
    try:
        yield
    finally:
        ShardedPool._scoring = whole  # type: ignore[method-assign]


def fewer(seeds: int) -> Iterator[Line]:
    """How often a pass by fewer gives the same first pick, and how much of a batch."""
    same: dict[int, list[bool]] = {k: [] for k in FEW}
    common: dict[int, list[int]] = {k: [] for k in FEW}
    held = []
    for seed in range(seeds):
        for task in pool_batches.TASKS_USED:
            given = pool_batches.split(task, ROWS, seed)
            learner = weal.ActiveLearner(weal.open_pool(given.X), seed=seed, threads=1)
            for n in range(BATCHES):
                state = learner.state
                names = learner.ask(BATCH)
                if n:  # the first is chosen before there is a model
                    held.append(len(learner._beliefs._pool(state.view()).predict_kept([0])[0]))
                    for k in FEW:
                        with by(k):
                            other = weal.ActiveLearner.of(state, learner._beliefs)
                            learner._beliefs.score_cache.clear()
                            found = other.ask(BATCH)
                        same[k].append(found[0] == names[0])
                        common[k].append(len({*found} & {*names}))
                    learner._beliefs.score_cache.clear()
                learner.tell(names, given.y[names])
    yield Line("experts held in those states", f"{np.mean(held):.1f} ({min(held)} to {max(held)})")
    for k in FEW:
        yield Line(
            f"pass by the weightiest {k}: same first pick; of {BATCH} the same",
            f"{sum(same[k])} of {len(same[k])}; {np.mean(common[k]):.1f}",
        )
