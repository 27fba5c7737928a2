"""Pools of candidates for every kind of expert, kept label by label and computed from scratch."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reference.cases import MAGNITUDE, Kind, frozen, kernels, of_kernels
from weal.core.extensions.embeddings import EncodedFeatures, RandomFeatures, RawInputs
from weal.core.extensions.reference_variance import ExactReference, FeatureReference
from weal.core.paper import ensemble, random_features
from weal.core.paper.random_features import draw_frequencies, features
from weal.learner.pools import memory, score_pass
from weal.learner.pools.memory import MemoryPool
from weal.learner.pools.protocol import PendingPosterior

D_IN, D, M = 3, 12, 4


def lower_limits(
    constants,
    own_group=memory.MIN_CANDIDATES_FOR_OWN_GROUP,
    block=memory.BLOCK_CANDIDATES,
    score_block=score_pass.SCORE_BLOCK_CANDIDATES,
    float32=memory.MIN_FLOAT32_CANDIDATES,
    feature_bytes=12_000,  # features of 40 candidates are recomputed in some ten blocks
    **settings,
):
    """Lower the limits of pools so that 40 candidates are many; the other settings come back."""
    constants(memory, MIN_CANDIDATES_FOR_OWN_GROUP=own_group, BLOCK_CANDIDATES=block)
    constants(memory, MIN_FLOAT32_CANDIDATES=float32)
    constants(score_pass, SCORE_BLOCK_CANDIDATES=score_block)
    constants(random_features, FEATURE_BLOCK_BYTES=feature_bytes)
    return settings


@dataclass(frozen=True)
class World:
    """A pool X (U, d) in the form that the kind takes, a reference, an ensemble before labels."""

    kind: Kind
    embedding: Any
    X: Any
    R: Any
    ens: Any

    def belief(self, ens=None, **settings):
        """The belief kept on the pool, from here on."""
        return MemoryPool(self.ens if ens is None else ens, self.embedding, self.X, **settings)

    def outlook(self, ens, pool):
        """Ensemble and pool together, as if nothing had been labelled."""
        return PendingPosterior(ens, self.embedding, pool, self.X[:0], np.zeros(0))

    def points(self, ens, X):
        return self.embedding.points(ens.experts, X)

    def scratch(self, ens):
        """Means, variances and relevances (M, U) computed anew, in float64."""
        points, there = self.points(ens, self.X), self.points(ens, self.R)
        if self.kind.name == "exact":
            target = ExactReference(there)
        else:
            target = FeatureReference.of([there], len(self.R))
        mu, v = ens.experts.predict(points)
        return mu, v, target.relevance(ens.experts, points)


def world(name, seed=0, U=40, ratio=1e-2):
    """A pool for experts on "features", "encoded" features, or "exact" ones."""
    rng = np.random.default_rng([seed, U])
    X, R = rng.standard_normal((U, D_IN)), rng.standard_normal((9, D_IN))
    zeta = frozen(draw_frequencies(kernels(D_IN), D_IN, D, seed))
    kind = of_kernels("exact" if name == "exact" else "features", kernels(D_IN), D_IN, seed, D)
    ens = kind.ensemble(ratio * np.array([1.0, 30.0, 1.7, 6.0]), MAGNITUDE, frozen([0.25] * M))
    if name == "encoded":
        X, R = (features(Z, zeta).transpose(1, 0, 2).reshape(len(Z), -1) for Z in (X, R))
        return World(kind, EncodedFeatures(M), frozen(X), frozen(R), ens)
    embedding = RawInputs() if name == "exact" else RandomFeatures(zeta)
    return World(kind, embedding, frozen(X), frozen(R), ens)


@dataclass
class Told:
    """The labels told so far, to be folded anew in one batch."""

    world: World
    ens: Any
    X: list
    y: list
    noise_var: list
    surprise: Any = 0.0  # the largest |e| / sqrt(s) met (M,)

    @classmethod
    def none(cls, world):
        return cls(world, world.ens, [], [], [])

    def tell(self, pool, n, y, noise_var=0.0, log_w=None):
        """One label: of candidate n, or of a row of inputs.

        `log_w` (M,) are the weights by which the pool holds experts, if not by those of the labels.
        """
        x = self.world.X[n] if np.ndim(n) == 0 else n
        step = ensemble.step(self.ens, self.world.points(self.ens, x[None]), y, noise_var)
        after = ensemble.advance(self.ens, step)
        pool.follow(self.ens, step, after if log_w is None else replace(after, log_w=log_w))
        self.ens = after
        self.surprise = np.maximum(self.surprise, np.abs(step.e) / np.sqrt(step.s))
        self.X, self.y, self.noise_var = [*self.X, x], [*self.y, y], [*self.noise_var, noise_var]

    def tell_many(self, pool, seed, t, **settings):
        """Labels of candidates, some twice, and of points outside; some with noise of their own."""
        rng = np.random.default_rng(seed)
        for number in range(t):
            outside = self.world.R[number % len(self.world.R)]
            place = outside if number % 5 == 4 else int(rng.integers(len(self.world.X)))
            y = float(2.0 * rng.standard_normal())
            self.tell(pool, place, y, float(rng.random() < 0.3), **settings)

    def refolded(self):
        """The same labels in one batch."""
        start = self.world.ens
        points = self.world.points(start, np.array(self.X))
        return ensemble.update_many(start, points, np.array(self.y), np.array(self.noise_var))
