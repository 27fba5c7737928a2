"""The pool protocol: the posterior on all candidates, and their scores.

A pool follows labels, scores all candidates in one pass, and predicts a few rows. A pass goes block
by block and gives the range and the best few of each score (`core.tie_breaking`: `best_candidates`
for a block, an associative `merge` for two results). So an array in memory, shards on disk and a
cluster run the same code, and the blocks do not change the result.

`memory` keeps a pool in memory, `sharded` reads one from shards. A pool is a cache of a state
(`learner.posterior_cache`), so it may be updated in place.

A batch is chosen by `PendingPosterior`: the posterior as if every pending candidate had been
labelled with its predicted mean (kriging believer), with fixed expert weights.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.paper import ensemble
from weal.core.paper.acquisition import Acquisition, LabelUnits
from weal.core.paper.ensemble import Ensemble
from weal.core.protocols import Embedding, Points, StepOfKind, Targets
from weal.core.tie_breaking import BestCandidates
from weal.progress import Progress
from weal.shards.executors import Executor

Combine = Callable[[Array], Array]  # scores (K, n) -> (n,)


@dataclass(frozen=True, slots=True)
class SingleScore:
    """The scores of one of all functions."""

    k: int

    def __call__(self, scores: Array) -> Array:
        """The scores (n,) of function k, of all (K, n)."""
        return np.asarray(scores[self.k])


@dataclass(frozen=True, slots=True, eq=False)
class ScorePass:
    """The inputs of one scoring pass, besides the pool."""

    ens: Ensemble
    functions: Mapping[str, Acquisition]  # K
    X: Array  # (t, d)  labelled points, scaled
    y: Array  # (t,)    their labels, as experts see them
    key: tuple[int, int]  # (seed, step)
    free: NDArray[np.bool_]  # (U,)  which may be asked
    ids: Sequence[Hashable]  # U
    cost: Array | None = None  # (U,)  that scores are divided by; None: by nothing
    targets: Targets | None = None  # of `mvr`, where a function uses them
    order: NDArray[np.intp] | None = None  # (U,)  positions by the hash of (seed, id), with targets
    units: tuple[LabelUnits, ...] = ()  # from the user's labels to y
    present: NDArray[np.bool_] | None = None  # (U,)  rows of the pool, for scores of all; None: all

    @property
    def seed(self) -> int:
        """The seed that breaks ties."""
        return self.key[0]


@dataclass(frozen=True, slots=True, eq=False)
class PoolSnapshot:
    """The posterior of a pool after the first n labels."""

    n: int
    members: NDArray[np.intp]  # (H,)  kept experts
    mu: Array  # (H, U)
    v: Array  # (H, U)


class PoolScores(Protocol):
    """The scores of a pass."""

    @property
    def low(self) -> Array:
        """The least score (K,) of each function over the free candidates."""

    @property
    def high(self) -> Array:
        """The largest score (K,) of each function over the free candidates."""

    def best(self, combine: Combine) -> BestCandidates:
        """The best of the free candidates by their combined scores."""

    def at(self, n: int) -> Array:
        """The scores (K,) of candidate n."""

    def shortlist(self, combine: Combine | None) -> NDArray[np.integer[Any]]:
        """Positions, ascending, that hold the best by each function and by `combine`."""

    @property
    def new_values(self) -> Mapping[str, int]:
        """Values that the plan did not know, with the number of their rows."""


@dataclass(frozen=True, slots=True, eq=False)
class PoolContext:
    """Resources and caches for the pool of a learner."""

    memory: int  # bytes for candidates in the form of the experts
    executor: Executor  # reads shards
    progress: Progress | None
    seed: int
    score_cache: dict[str, PoolScores]  # scores of the last passes, by the state they belong to
    snapshot: PoolSnapshot | None = None  # a pool in memory starts from it
    eager: int | None = None  # bytes of entries kept before they are needed often; None: all


class Pool(Protocol):
    """The posterior of the experts on U candidates."""

    def inputs_at(self, at: Sequence[int]) -> Array:
        """The scaled inputs (n, d) of the candidates `at`."""

    def follow(self, before: Ensemble, step: StepOfKind, after: Ensemble) -> None:
        """Update by the step of a label (`core.protocols.Step`), from one ensemble to the next."""

    def fork(self) -> Self:
        """A copy that is updated independently."""

    def recompute(self, ens: Ensemble) -> "Pool":
        """A pool for the same experts after other labels, computed from scratch."""

    def snapshot(self, n: int) -> PoolSnapshot | None:
        """The posterior after n labels, to restart from; None if it is cheap to compute."""

    def score(self, asked: ScorePass) -> PoolScores:
        """Every function on every free candidate, in one pass."""

    def predict(self, ens: Ensemble, at: Sequence[int]) -> tuple[Array, Array]:
        """Means and variances (M, n) of all experts for the candidates `at`."""

    def predict_kept(
        self, at: Sequence[int] | NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], Array, Array]:
        """The kept experts (H,), and their means and variances (H, n) for the candidates `at`."""


MIN_PENDING_FOR_JOINT_UPDATE = 16  # pending candidates from which one joint update is faster


@dataclass(frozen=True, slots=True, eq=False)
class PendingPosterior:
    """Ensemble and pool, as if pending candidates had been labelled with their predicted mean."""

    ens: Ensemble
    embedding: Embedding
    pool: Pool
    X: Array  # (t, d)  labelled points, scaled
    y: Array  # (t,)    their labels, as experts see them
    targets: Targets | None = None  # of `mvr`, where a function uses them
    order: NDArray[np.intp] | None = None  # candidates by the hash of (seed, id), with targets
    units: tuple[LabelUnits, ...] = ()  # from the user's labels to y

    def points(self, at: Sequence[int]) -> Points:
        """The candidates `at`, in the form that the experts take."""
        return self.embedding.points(self.ens.experts, self.pool.inputs_at(at))

    def means(self, at: Sequence[int]) -> Array:  # (n,)
        """Predicted means of the candidates `at`, as experts see labels."""
        kept, mu, _ = self.pool.predict_kept(at)
        w, each = self.ens.w[kept], np.ascontiguousarray(mu.T)
        return np.array([w @ row for row in each])  # in turn: the same bits for one and for many


def with_pseudo_labels(
    posterior: PendingPosterior, at: Sequence[int], y: Array, noise: float = 0.0
) -> PendingPosterior:
    """The posterior after the pseudo labels y (K,) of the candidates `at`, as experts see them.

    `noise` is the sd of the noise that every label of the quantity has in any case. The pool of the
    given posterior is updated in place: do not use it again.
    """
    ens, pool = posterior.ens, posterior.pool
    if len(at) >= MIN_PENDING_FOR_JOINT_UPDATE:
        known = ens.known_noise(pool.inputs_at(at), np.full(len(y), noise**2))
        points, lam = posterior.points(at), ens.ratios(known)
        ens = replace(ens, experts=ens.experts.absorb(points, y, lam)[0])
        posterior = replace(posterior, ens=ens, pool=pool.recompute(ens))
    else:
        for n, label in zip(at, y.tolist(), strict=True):
            known = ens.known_noise(pool.inputs_at([n]), np.array([noise**2]))
            told = ensemble.step(ens, posterior.points([n]), label, known)
            after = replace(ens, experts=ens.experts.condition(told))
            pool.follow(ens, told, after)
            ens = after
            posterior = replace(posterior, ens=ens)
    X = np.concatenate([posterior.X, pool.inputs_at(at)])
    return replace(posterior, X=X, y=np.append(posterior.y, y))
