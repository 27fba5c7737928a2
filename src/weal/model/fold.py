"""The fold of the labels, as a value: what has been settled, and the belief after all of them.

    begin     settle the experts by the first labels, and fold these
    learn     fold more; where the experts follow the labels, settle them anew now and then
    advance   the same for a label whose step the core has computed already
    refold    other labels in place of those seen

All in scaled units; experts see the labels through a bend (`warping`). Experts that follow the
labels are settled anew after SHARE of the labels have come on top, LEAST at the least. A refresh
depends on the set of labels alone; when it comes depends on their number, so that the same labels
told in the same order give the same belief, one by one or together.
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
from weal.model.blas import one_thread
from weal.model.settling import Setting, Settled, line_up, prior_experts, settle

SHARE, LEAST = 0.15, 5
NO_EXPERTS: Any = None  # of the prior, weights, scale and noise are kept and its experts made anew


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
    next_refresh: int  # number of labels at which the experts are settled anew
    bend: Bend  # of the labels, as experts see them; settled with the experts

    @property
    def due(self) -> bool:
        """Whether the experts had better be settled anew."""
        return self.setting.adaptive and len(self.y) >= self.next_refresh

    def blocks(self, N: int) -> Iterator[slice]:
        """N points in blocks whose points fit the memory for one."""
        width = self.embedding.width(self.ensemble.experts)
        return features.blocks(N, 2 * 8 * len(self.ensemble.log_w) * width)

    def beliefs(self, X: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Means and variances (M, n) of f under each expert, one block of X (N, d) at a time."""
        for rows in self.blocks(len(X)):
            points = self.embedding.points(self.ensemble.experts, X[rows])
            yield rows, *ensemble.predict(self.ensemble, points)


def begin(
    setting: Setting, X: Array, y: Array, extra: Array, seed: int, picked: Settled | None = None
) -> Fold:
    """The fold of the labels y (t,) at X (t, d); `picked` are the experts, where they are known."""
    if picked is None:
        with one_thread():
            prior = settle(setting, X, y, extra, seed)
    else:
        prior = line_up(setting, picked, X, seed)
    bare = replace(prior.ensemble, experts=NO_EXPERTS)
    nothing = (X[:0], y[:0], extra[:0])
    start = Fold(
        setting, seed, *nothing, prior.dictionary, prior.embedding, bare, prior.ensemble,
        refresh_after(len(y)), prior.bend,
    )  # fmt: skip
    return _with(start, X, y, extra)


def refresh_after(t: int) -> int:
    """Number of labels at which experts settled by t labels are settled anew."""
    return t + max(LEAST, int(SHARE * t))


def learn(fold: Fold, X: Array, y: Array, extra: Array) -> Fold:
    """The fold after more labels, as if they had come one by one."""
    t, last = len(fold.y), None
    due = max(fold.next_refresh, t)
    while fold.setting.adaptive and due <= t + len(y):
        last, due = due, refresh_after(due)
    if last is None:
        return _with(fold, X, y, extra)
    new = last - t  # only the last refresh leaves a trace
    until = _joined(fold, X[:new], y[:new], extra[:new])
    return _with(begin(fold.setting, *until, fold.seed), X[new:], y[new:], extra[new:])


def advance(fold: Fold, told: Any, x: Array, y: float, extra: float) -> Fold:
    """The fold after the label y of x (d,), which told that step; not yet settled anew."""
    X, labels, noise = _joined(fold, x[None], y, extra)
    after = ensemble.advance(fold.ensemble, told)
    return replace(fold, X=X, y=labels, extra=noise, ensemble=after)


def refresh(fold: Fold) -> Fold:
    """The fold with its experts settled anew by all labels seen."""
    return begin(fold.setting, fold.X, fold.y, fold.extra, fold.seed)


def refold(fold: Fold, X: Array, y: Array, extra: Array, picked: Settled | None = None) -> Fold:
    """The fold of other labels; experts that do not follow the labels stay what they are.

    `picked` are those that do follow them, where it is known already what they will be.
    """
    if fold.setting.adaptive and len(y):
        return begin(fold.setting, X, y, extra, fold.seed, picked)
    M, d = len(fold.prior.log_w), X.shape[1]
    experts = prior_experts(fold.embedding, fold.dictionary, d, M)
    start = replace(
        fold,
        X=fold.X[:0],
        y=fold.y[:0],
        extra=fold.extra[:0],
        ensemble=replace(fold.prior, experts=experts),
        next_refresh=refresh_after(0),
    )
    return _with(start, X, y, extra)


def picked_by(fold: Fold) -> Settled:
    """The experts of the fold as they were picked; for those whose magnitude is integrated out."""
    prior = fold.prior
    unit = float(prior.scale.unit[0])
    return Settled(fold.dictionary, prior.noise, prior.log_w, unit, fold.bend)


def _with(fold: Fold, X: Array, y: Array, extra: Array) -> Fold:
    """The fold after labels, the experts being what they are."""
    state, z, noise = fold.ensemble, fold.bend.labels(y), fold.bend.variances(extra, y)
    for rows in fold.blocks(len(X)):
        points = fold.embedding.points(state.experts, X[rows])
        state = ensemble.fold(state, points, z[rows], noise[rows])
    X, y, extra = _joined(fold, X, y, extra)
    return replace(fold, X=X, y=y, extra=extra, ensemble=state)


def _joined(fold: Fold, X: Array, y: ArrayLike, extra: ArrayLike) -> tuple[Array, Array, Array]:
    """The labels of the fold, and more."""
    return np.concatenate([fold.X, X]), np.append(fold.y, y), np.append(fold.extra, extra)
