"""Ensemble and pool together: as they are, or as they would be were some candidates answered.

A batch is chosen by what would be believed if every candidate that is out had been given the label
that is expected of it, the weights of the experts being what they are (`choosing`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.extensions.target_covariance import Targets
from weal.core.paper import ensemble
from weal.core.paper.ensemble import Ensemble
from weal.core.protocols import Embedding, Points
from weal.learner.pool import Pool

TOGETHER_FROM = 16  # candidates out from which believing them together is faster


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """Ensemble and pool as they are, or as they would be were all candidates out answered."""

    ens: Ensemble
    embedding: Embedding
    pool: Pool
    X: Array  # (t, d)  labelled points, scaled
    y: Array  # (t,)    their labels, as experts see them
    targets: Targets | None = None  # of `mvr`, where a function looks at them
    order: NDArray[np.intp] | None = None  # candidates by the hash of (seed, id), with targets

    def points(self, at: Sequence[int]) -> Points:
        """The candidates `at`, in the form that the experts take."""
        return self.embedding.points(self.ens.experts, self.pool.X[list(at)])

    def means(self, at: Sequence[int]) -> Array:  # (n,)
        """What the ensemble expects of the candidates `at`, as experts see labels."""
        held, mu, _ = self.pool.held(at)
        w, each = self.ens.w[held], np.ascontiguousarray(mu.T)
        return np.array([w @ row for row in each])  # in turn: the same bits for one and for many


def believing(outlook: Outlook, at: Sequence[int], y: Array) -> Outlook:
    """The outlook were the candidates `at` given the labels y (K,), as experts see them.

    The pool of the outlook moves on, and is not to be used again.
    """
    ens, pool, targets = outlook.ens, outlook.pool, outlook.targets
    if len(at) >= TOGETHER_FROM:
        points, lam = outlook.points(at), ens.ratios(np.zeros(len(y)))
        ens = replace(ens, experts=ens.experts.absorb(points, y, lam)[0])
        targets = None if targets is None else targets.renewed(ens.experts)  # type: ignore[arg-type]
        outlook = replace(outlook, ens=ens, pool=pool.renewed(ens))
    else:
        for n, label in zip(at, y.tolist(), strict=True):
            told = ensemble.step(ens, outlook.points([n]), label)
            after = replace(ens, experts=ens.experts.condition(told))
            pool.follow(ens, told, after)
            targets = None if targets is None else targets.after(told)
            ens = after
            outlook = replace(outlook, ens=ens)
    X = np.concatenate([outlook.X, pool.X[list(at)]])
    return replace(outlook, X=X, y=np.append(outlook.y, y), targets=targets)
