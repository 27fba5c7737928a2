"""The fold of the labels, as a value: the experts that were settled, and what labels made of them.

    settle    the experts for some labels, before the first is folded in
    absorb    fold labels in, the experts being what they are
    advance   the same for one label whose step the core has computed already
    learn     fold more labels in and, where experts follow the labels, settle them when that is due

All in scaled units; experts see the labels through a bend (`warping`).

When experts are settled anew is decided here and nowhere else. Those that follow the labels are
settled by the first ones, and again each time that REFRESH_SHARE of the labels, REFRESH_LEAST at
the least, have come on top (`refresh_after`, `last_settled`). Settling depends on the set of labels
alone; when it comes depends on their number, so that the same labels told in the same order
give the same belief, one by one or together.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from weal.core import ensemble, features
from weal.core.arrays import Array
from weal.core.bend import Bend
from weal.core.embedding import Embedding
from weal.core.ensemble import Ensemble
from weal.core.kernels import Kernel
from weal.model import settling
from weal.model.blas import one_thread
from weal.model.settling import Setting, Settled, line_up, prior_experts

REFRESH_SHARE, REFRESH_LEAST = 0.15, 5
NO_EXPERTS: Any = None  # of the prior, weights, scale and noise are kept and its experts made anew


def refresh_after(t: int) -> int:
    """Number of labels at which experts settled by t labels are settled anew."""
    return t + max(REFRESH_LEAST, int(REFRESH_SHARE * t))


def last_settled(n: int, t: int) -> int:
    """Number of labels at which experts settled by n labels were settled last, once there are t."""
    while (later := refresh_after(n)) <= t:
        n = later
    return n


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """The labels seen, the experts that were settled, and what these believe."""

    setting: Setting
    seed: int
    X: Array  # (t, d)  inputs seen
    y: Array  # (t,)    their labels
    extra: Array  # (t,)    variances of what is known of their noise
    dictionary: tuple[Kernel, ...]  # M
    embedding: Embedding
    prior: Ensemble  # before the first label, without its experts
    ensemble: Ensemble
    settled: int  # number of labels by which the experts were settled
    bend: Bend  # of the labels, as experts see them; settled with the experts

    def blocks(self, N: int) -> Iterator[slice]:
        """N points in blocks whose points fit the memory for one."""
        width = self.embedding.width(self.ensemble.experts)
        return features.blocks(N, 2 * 8 * len(self.ensemble.log_w) * width)

    def beliefs(self, X: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Means and variances (M, n) of f under each expert, one block of X (N, d) at a time."""
        for rows in self.blocks(len(X)):
            points = self.embedding.points(self.ensemble.experts, X[rows])
            yield rows, *ensemble.predict(self.ensemble, points)


def settle(
    setting: Setting, X: Array, y: Array, extra: Array, seed: int, picked: Settled | None = None
) -> Fold:
    """Experts for the labels y (t,) at X (t, d), none of which is folded in yet.

    `picked` are the experts, where it is known already which they will be.
    """
    if picked is None:
        with one_thread():
            prior = settling.settle(setting, X, y, extra, seed)
    else:
        prior = line_up(setting, picked, X, seed)
    bare = replace(prior.ensemble, experts=NO_EXPERTS)
    nothing = (X[:0], y[:0], extra[:0])
    known = (prior.dictionary, prior.embedding)
    return Fold(setting, seed, *nothing, *known, bare, prior.ensemble, len(y), prior.bend)


def absorb(fold: Fold, X: Array, y: Array, extra: Array) -> Fold:
    """The fold after the labels y (N,) at X (N, d), the experts being what they are."""
    state, z, noise = fold.ensemble, fold.bend.labels(y), fold.bend.variances(extra, y)
    for rows in fold.blocks(len(X)):
        points = fold.embedding.points(state.experts, X[rows])
        state = ensemble.fold(state, points, z[rows], noise[rows])
    X, y, extra = _joined(fold, X, y, extra)
    return replace(fold, X=X, y=y, extra=extra, ensemble=state)


def begin(setting: Setting, X: Array, y: Array, extra: Array, seed: int) -> Fold:
    """The fold of the labels y (t,) at X (t, d), its experts settled by all of them."""
    return absorb(settle(setting, X, y, extra, seed), X, y, extra)


def step(fold: Fold, x: Array, y: float, extra: float) -> Any:
    """What the label y of x (d,) tells the experts (`core.experts.Step`)."""
    point = fold.embedding.points(fold.ensemble.experts, x[None])
    return ensemble.step(fold.ensemble, point, *fold.bend.one(y, extra))


def advance(fold: Fold, told: Any, x: Array, y: float, extra: float) -> Fold:
    """The fold after the label y of x (d,), which told that step."""
    X, labels, noise = _joined(fold, x[None], y, extra)
    after = ensemble.advance(fold.ensemble, told)
    return replace(fold, X=X, y=labels, extra=noise, ensemble=after)


def learn(fold: Fold, X: Array, y: Array, extra: Array) -> Fold:
    """The fold after more labels, as if they had come one by one; experts settled when due."""
    t = len(fold.y)
    due = last_settled(fold.settled, t + len(y)) if fold.setting.adaptive else fold.settled
    if due == fold.settled:
        return absorb(fold, X, y, extra)
    new = max(due - t, 0)  # only the last settling leaves a trace
    until = _joined(fold, X[:new], y[:new], extra[:new])
    return absorb(begin(fold.setting, *until, fold.seed), X[new:], y[new:], extra[new:])


def emptied(fold: Fold) -> Fold:
    """The same experts before the first label."""
    M, d = len(fold.prior.log_w), fold.X.shape[1]
    experts = prior_experts(fold.embedding, fold.dictionary, d, M)
    before = replace(fold.prior, experts=experts)
    return replace(fold, X=fold.X[:0], y=fold.y[:0], extra=fold.extra[:0], ensemble=before)


def picked_by(fold: Fold) -> Settled:
    """The experts of the fold as they were picked; for those whose magnitude is integrated out."""
    prior, scale = fold.prior, fold.prior.scale
    variance = float(scale.variance[0])
    return Settled(fold.dictionary, prior.noise, prior.log_w, variance, fold.bend, scale.unit)


def _joined(fold: Fold, X: Array, y: ArrayLike, extra: ArrayLike) -> tuple[Array, Array, Array]:
    """The labels of the fold, and more."""
    return np.concatenate([fold.X, X]), np.append(fold.y, y), np.append(fold.extra, extra)
