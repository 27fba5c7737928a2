"""Pools of candidates for every kind of expert, kept label by label and computed from scratch."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from reference.cases import MAGNITUDE, Kind, frozen, kernels, of_kernels
from weal.core import ensemble
from weal.core.embedding import Encoded, Exact, Spectral
from weal.core.features import draw_frequencies, features
from weal.core.target import ExactTarget, FeatureTarget
from weal.learner.pool import PoolBelief

D_IN, D, M = 3, 12, 4


@dataclass(frozen=True)
class World:
    """A pool X (U, d) in the form that the kind takes, a target, and an ensemble before labels."""

    kind: Kind
    embedding: Any
    X: Any
    T: Any
    ens: Any

    def belief(self, ens=None, **settings):
        """The belief kept on the pool, from here on."""
        return PoolBelief(self.ens if ens is None else ens, self.embedding, self.X, **settings)

    def points(self, ens, X):
        return self.embedding.points(ens.experts, X)

    def scratch(self, ens):
        """Means, variances and relevances (M, U) computed anew, in float64."""
        points, there = self.points(ens, self.X), self.points(ens, self.T)
        if self.kind.name == "exact":
            target = ExactTarget(there)
        else:
            target = FeatureTarget.of([there], len(self.T))
        mu, v = ens.experts.predict(points)
        return mu, v, target.relevance(ens.experts, points)


def world(name, seed=0, U=40, ratio=1e-2):
    """A pool for experts on "features", "encoded" features, or "exact" ones."""
    rng = np.random.default_rng([seed, U])
    X, T = rng.standard_normal((U, D_IN)), rng.standard_normal((9, D_IN))
    zeta = frozen(draw_frequencies(kernels(D_IN), D_IN, D, seed))
    kind = of_kernels("exact" if name == "exact" else "features", kernels(D_IN), D_IN, seed, D)
    ens = kind.ensemble(ratio * np.array([1.0, 30.0, 1.7, 6.0]), MAGNITUDE, frozen([0.25] * M))
    if name == "encoded":
        X, T = (features(Z, zeta).transpose(1, 0, 2).reshape(len(Z), -1) for Z in (X, T))
        return World(kind, Encoded(M), frozen(X), frozen(T), ens)
    embedding = Exact() if name == "exact" else Spectral(zeta)
    return World(kind, embedding, frozen(X), frozen(T), ens)


@dataclass
class Told:
    """The labels told so far, to be folded anew in one batch."""

    world: World
    ens: Any
    X: list
    y: list
    extra: list
    surprise: Any = 0.0  # the largest |e| / sqrt(s) met (M,)

    @classmethod
    def none(cls, world):
        return cls(world, world.ens, [], [], [])

    def tell(self, belief, n, y, extra=0.0, keep=True):
        """One label: of candidate n of the belief's pool, or of a row of inputs."""
        inside = np.ndim(n) == 0
        x = belief.X[n] if inside else n
        point = belief.point(self.ens, n) if inside else self.world.points(self.ens, x[None])
        step = ensemble.step(self.ens, point, y, extra)
        belief.follow(self.ens, step)
        self.ens = ensemble.advance(self.ens, step)
        if keep:
            belief.hold(self.ens)
        self.surprise = np.maximum(self.surprise, np.abs(step.e) / np.sqrt(step.s))
        self.X, self.y, self.extra = [*self.X, x], [*self.y, y], [*self.extra, extra]

    def tell_many(self, belief, seed, t, **settings):
        """Labels of candidates, some twice, and of points outside; some with noise of their own."""
        rng = np.random.default_rng(seed)
        for number in range(t):
            outside = self.world.T[number % len(self.world.T)]
            place = outside if number % 5 == 4 else int(rng.integers(len(belief.X)))
            y = float(2.0 * rng.standard_normal())
            self.tell(belief, place, y, float(rng.random() < 0.3), **settings)

    def refolded(self):
        """The same labels in one batch."""
        start = self.world.ens
        points = self.world.points(start, np.array(self.X))
        return ensemble.fold(start, points, np.array(self.y), np.array(self.extra))
