"""The belief kept on every candidate of a pool, moved by one covariance column for each label.

Means and variances (M, U) are kept in float64 for the experts that matter: those left out change no
score by more than `core.held` says. One that no longer matters is dropped, and computed anew should
it come back. A label costs one column c for each expert held: U F multiplications for features, U t
for exact experts.

Features are cached when all of them fit `memory` bytes, and recomputed in blocks otherwise. From
LARGE candidates on they are float32: the columns are then right to 3e-7, and means and variances,
being sums of few such columns in float64, to about as much (means: times the largest e / sqrt(s)
met). With a target they stay float64: relevances fall as the square of the variances, soon far
below what float32 leaves, and at a noise ratio of 1e-3 `ivr` would choose by rounding.

A small pool is one group of experts, so that one product serves all; a large one is a group for
each expert, walked in blocks that stay in the processor's cache.
"""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from weal.core import features, held
from weal.core.arrays import Array, Index
from weal.core.embedding import Embedding, Exact
from weal.core.ensemble import Ensemble
from weal.core.exact import Near
from weal.core.experts import Points, moved
from weal.core.target import REFERENCE, ExactTarget, FeatureTarget, moved_relevance

SOME = 256  # candidates that decide who is held: the largest score of some is below that of all
LARGE = 20_000  # candidates from which features are float32
APART = 4_000  # candidates from which each expert is a group of its own
BLOCK = 16_384  # candidates of a block: their columns stay in the processor's cache
MEMORY = 4 * 2**30  # bytes for cached features, unless told otherwise


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Experts that are moved together, and the pool in their form where it is cached."""

    members: NDArray[np.intp]  # positions of the experts
    which: Index  # the same as an index: a slice where that will do
    embedding: Embedding
    points: Points | None
    target: Any | None


class PoolBelief:
    """Means, variances and (for a target) relevances of the experts that matter on U points."""

    def __init__(
        self,
        ens: Ensemble,
        embedding: Embedding,
        X: Array,
        *,
        target: Array | None = None,
        memory: int = MEMORY,
        everyone: bool = False,
    ) -> None:
        M, U = len(ens.log_w), len(X)
        self.X, self.embedding = X, embedding
        self.everyone = everyone
        self.prior = held.largest_prior(embedding, ens.experts, X)
        self.some = np.unique(np.linspace(0, U - 1, min(U, SOME)).astype(np.intp))
        self.mu, self.v = np.zeros((M, U)), np.ones((M, U))
        self.q = None if target is None else np.zeros((M, U))
        self.exact = isinstance(embedding, Exact)
        single = U >= LARGE and target is None and not self.exact
        self.dtype = np.float32 if single else np.float64
        size = M * U * embedding.width(ens.experts) * np.dtype(self.dtype).itemsize
        self.cached = self.exact or size <= memory
        self.target = None if target is None else self._make_target(ens, target)
        self.groups: list[Group] = []
        self.hold(ens)

    @property
    def held(self) -> NDArray[np.intp]:  # (H,)
        """Positions of the experts held."""
        if not self.groups:
            return np.zeros(0, dtype=np.intp)
        return np.concatenate([group.members for group in self.groups])

    def hold(self, ens: Ensemble) -> None:
        """Hold the experts that matter now, computing those that were not held."""
        M, there = len(ens.log_w), self.held
        wanted = np.arange(M) if self.everyone else self._wanted(ens)
        if np.array_equal(wanted, there):
            return
        if len(self.X) >= APART:
            kept = {int(group.members[0]): group for group in self.groups}
            self.groups = [
                kept[m] if m in kept else self._make_group(ens, np.array([m]))
                for m in wanted.tolist()
            ]
        elif len(there) and np.isin(wanted, there).all():
            self.groups = [self._shrunk(self.groups[0], np.searchsorted(there, wanted))]
        else:
            self.groups = [self._make_group(ens, wanted)]

    def _wanted(self, ens: Ensemble) -> NDArray[np.intp]:
        """The experts to hold (`core.held`), by what is believed of some of the candidates."""
        sig2, lam, some = ens.magnitude[:, None], ens.noise[:, None], self.some
        mu, v = self.mu[:, some], self.v[:, some]
        q = None if self.q is None else self.q[:, some]
        known = np.isin(np.arange(len(ens.log_w)), self.held)

        def believed(which: NDArray[np.intp]) -> tuple[Array, Array, Array | None]:
            new = which[~known[which]]
            if len(new):
                experts: Any = ens.experts.take(new)
                points = self.embedding.take(new).points(experts, self.X[some])
                mu[new], v[new] = experts.predict(points)
                if q is not None and self.target is not None:
                    q[new] = self.target.take(new).relevance(experts, points)
                known[new] = True
            fall = None if q is None else (sig2 * q / (v + lam))[which]
            return mu[which], (sig2 * v)[which], fall

        return held.held(ens.w, held.reach(ens, self.prior), believed)

    def follow(self, ens: Ensemble, told: Any) -> None:
        """Move the belief by a step of the ensemble `ens`, as it was before the label."""
        self.groups = [self._follow(group, ens, told) for group in self.groups]
        if self.target is not None:
            self.target = self.target.after(told)

    @property
    def whole(self) -> bool:
        """Whether all experts are at hand in full precision, in one group."""
        in_full = self.cached and self.dtype == np.float64
        return in_full and len(self.groups[0].members) == len(self.mu)

    def point(self, ens: Ensemble, n: int) -> Points:
        """Candidate n alone, in float64, for all experts."""
        return self.points(ens, slice(n, n + 1))

    def points(self, ens: Ensemble, at: Any) -> Points:
        """The candidates `at`, in float64, for all experts."""
        if not self.whole:
            return self.embedding.points(ens.experts, self.X[at])
        points = self.groups[0].points
        return cast(Near, points).at(at) if self.exact else cast(Array, points)[:, at]

    def predict(self, ens: Ensemble, points: Points, at: Any) -> tuple[Array, Array]:
        """Means and variances (M, K) of all experts there: those kept, if all are."""
        if self.whole:
            return self.mu[:, at], self.v[:, at]
        return ens.experts.predict(points)

    def renewed(self, ens: Ensemble) -> "PoolBelief":
        """The belief of another ensemble of the same experts on the same points, from scratch."""
        twin = copy(self)
        twin.mu, twin.v = np.zeros_like(self.mu), np.ones_like(self.v)
        twin.q = None if self.q is None else np.zeros_like(self.q)
        if isinstance(self.target, ExactTarget):
            near = self.embedding.points(ens.experts, self.target.near.X)
            twin.target = ExactTarget(cast(Near, near))
        twin.groups = []
        twin.hold(ens)
        return twin

    def fork(self) -> Self:
        """A belief of its own that starts from this one."""
        twin = copy(self)
        twin.mu, twin.v = self.mu.copy(), self.v.copy()
        twin.q = None if self.q is None else self.q.copy()
        if self.exact:
            twin.groups = [
                replace(group, points=cast(Near, group.points).apart()) for group in self.groups
            ]
        return twin

    def _follow(self, group: Group, ens: Ensemble, told: Any) -> Group:
        step = told if len(group.members) == len(self.mu) else told.take(group.which)
        experts = ens.experts if self.q is not None else None
        if experts is not None and len(group.members) != len(self.mu):
            experts = experts.take(group.which)
        w = group.which
        for rows, points in self._blocks(group, ens):
            c = step.column(points)
            if self.q is not None and group.target is not None:
                h, p = group.target.columns(experts, step, points)
                self.q[w, rows] = moved_relevance(self.q[w, rows], c, h, p, step.s)
            self.mu[w, rows], self.v[w, rows] = moved(self.mu[w, rows], self.v[w, rows], c, step)
        if not self.exact:
            return group
        target = None if group.target is None else group.target.after(step)
        return replace(group, points=step.extend(group.points, c), target=target)

    def _blocks(self, group: Group, ens: Ensemble) -> Iterator[tuple[slice, Points]]:
        U = len(self.X)
        if self.exact or (self.cached and U <= BLOCK):
            yield slice(None), group.points
        elif self.cached:
            for start in range(0, U, BLOCK):
                rows = slice(start, start + BLOCK)
                yield rows, cast(Array, group.points)[:, rows]
        else:
            width = len(group.members) * self.embedding.width(ens.experts)
            for rows in features.blocks(U, 2 * 8 * width):
                yield rows, group.embedding.points(None, self.X[rows], self.dtype)

    def _make_group(self, ens: Ensemble, members: NDArray[np.intp]) -> Group:
        which = _index(members)
        experts: Any = ens.experts.take(which)
        embedding = self.embedding.take(which)
        target = None if self.target is None else self.target.take(which)
        points = self._embed(experts, embedding, len(members)) if self.cached else None
        group = Group(members, which, embedding, points, target)
        for rows, part in self._blocks(group, ens):
            self.mu[which, rows], self.v[which, rows] = experts.predict(part)
            if self.q is not None and target is not None:
                self.q[which, rows] = target.relevance(experts, part)
        return group

    def _embed(self, experts: Any, embedding: Embedding, H: int) -> Points:
        """All candidates in the form of these experts, made in blocks."""
        if self.exact:
            return embedding.points(experts, self.X)
        U, F = len(self.X), embedding.width(experts)
        Phi = np.empty((H, U, F), self.dtype)
        for rows in features.blocks(U, 2 * 8 * H * F):
            Phi[:, rows] = embedding.points(experts, self.X[rows], self.dtype)
        return Phi

    def _shrunk(self, group: Group, kept: NDArray[np.intp]) -> Group:
        """The group without the experts that no longer matter."""
        points = group.points
        if points is not None:
            points = points.take(kept) if self.exact else points[kept]
        members = group.members[kept]
        target = None if group.target is None else group.target.take(kept)
        return Group(members, _index(members), group.embedding.take(kept), points, target)

    def _make_target(self, ens: Ensemble, T: Array) -> FeatureTarget | ExactTarget:
        if self.exact:
            some = np.random.default_rng(len(T)).permutation(len(T))[:REFERENCE]
            return ExactTarget(self.embedding.points(ens.experts, T[np.sort(some)]))
        width = len(ens.log_w) * self.embedding.width(ens.experts)
        parts = features.blocks(len(T), 2 * 8 * width)
        return FeatureTarget.of(
            (self.embedding.points(ens.experts, T[rows]) for rows in parts), len(T)
        )


def _index(members: NDArray[np.intp]) -> Index:
    """The members as a slice where they follow one another: a view instead of a copy."""
    first, last = int(members[0]), int(members[-1])
    return slice(first, last + 1) if last - first == len(members) - 1 else members
