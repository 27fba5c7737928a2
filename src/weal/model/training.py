"""Train an ensemble on labels: select its experts, condition them, and search outliers.

    select_experts   the experts for some labels, before the first label
    add_labels       condition the same experts on labels
    advance          the same for one label whose step is computed already
    train            add labels, and select experts again when that is due

All in scaled units; experts see warped labels (`core.extensions.label_warp`).

This module alone decides when experts are selected again. Experts that follow the labels are
selected by the first ones, and again each time that REFRESH_SHARE of the labels, REFRESH_LEAST at
least, have been added (`refresh_after`, `last_selection`). Selection depends on the set of labels
alone, its time on their number: the same labels in the same order give the same posterior, one by
one or together.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from weal.core.arrays import Array
from weal.core.extensions.label_warp import LabelWarp
from weal.core.extensions.outliers import new_labels
from weal.core.extensions.outliers.prior import NO_OUTLIERS, OutlierReport
from weal.core.paper import ensemble, random_features
from weal.core.paper.ensemble import Ensemble
from weal.core.paper.kernels import Kernel
from weal.core.protocols import Embedding, StepOfKind
from weal.model import expert_selection
from weal.model.blas import one_thread, reuse_memory
from weal.model.expert_selection import ExpertSelection, select_models
from weal.model.parameters import ModelParameters

REFRESH_SHARE, REFRESH_LEAST = 0.15, 5
NO_EXPERTS: Any = None  # of the prior, weights, scale and noise are kept and its experts made again


def refresh_after(t: int) -> int:
    """Number of labels at which the experts selected with t labels are due for reselection."""
    return t + max(REFRESH_LEAST, int(REFRESH_SHARE * t))


def last_selection(n: int, t: int) -> int:
    """Number of labels at the last selection that is due by t labels, after one with n labels."""
    while (later := refresh_after(n)) <= t:
        n = later
    return n


@dataclass(frozen=True, slots=True, eq=False)
class TrainingLabels:
    """All labels, in the order they were told."""

    X: Array  # (n, d)
    y: Array  # (n,)
    noise_var: Array  # (n,)  variances of what is known of their noise
    sure: Array  # (n,)  whether they are called sure, as 1 and 0

    def __len__(self) -> int:
        return len(self.y)

    @property
    def parts(self) -> tuple[Array, Array, Array]:
        """Inputs, labels and noise variances."""
        return self.X, self.y, self.noise_var

    def append(
        self, X: Array, y: Array, noise_var: Array, sure: Array | None = None
    ) -> "TrainingLabels":
        """The labels with more appended."""
        more = np.zeros(len(y)) if sure is None else sure
        return TrainingLabels(
            np.concatenate([self.X, X]),
            np.append(self.y, y),
            np.append(self.noise_var, noise_var),
            np.append(self.sure, more),
        )


@dataclass(frozen=True, slots=True, eq=False)
class TrainedEnsemble:
    """Labels, selected experts, and their posterior."""

    setting: ModelParameters
    seed: int
    X: Array  # (t, d)  inputs folded in
    y: Array  # (t,)    their labels
    noise_var: Array  # (t,)    variances of what is known of their noise
    dictionary: tuple[Kernel, ...]  # M
    embedding: Embedding
    prior: Ensemble  # before the first label, without its experts
    ensemble: Ensemble
    n_selection_labels: int  # number of labels that selected the experts
    warp: LabelWarp  # of the labels, as experts see them; selected with the experts
    all_labels: TrainingLabels  # all labels, labels treated as wrong included
    outliers: OutlierReport = NO_OUTLIERS  # of the first of them, which selected the experts
    base: Ensemble | None = None  # after those; None if no others were folded in

    @property
    def included(self) -> NDArray[np.bool_]:  # (n,)
        """Mask of the labels that the ensemble is trained on: all but the outliers."""
        found = np.ones(len(self.all_labels), dtype=np.bool_)
        wrong = self.outliers.wrong[: len(found)]
        found[: len(wrong)] = ~wrong
        return found

    def blocks(self, N: int) -> Iterator[slice]:
        """Slices of N points that fit the memory of a block."""
        width = self.embedding.width(self.ensemble.experts)
        return random_features.blocks(N, 2 * 8 * len(self.ensemble.log_w) * width)

    def noise_at(self, X: Array) -> Array | None:  # (N, d) -> (M, N)
        """Noise ratios of labels at X, where noise varies; None: noise is even."""
        return None if self.ensemble.field is None else self.ensemble.noise_at(X)

    def beliefs(self, X: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Means and variances (M, n) of f under each expert, one block of X (N, d) at a time."""
        for rows in self.blocks(len(X)):
            points = self.embedding.points(self.ensemble.experts, X[rows])
            yield rows, *ensemble.predict(self.ensemble, points)


def select_experts(
    setting: ModelParameters, X: Array, y: Array, noise_var: Array, seed: int,
    selection: ExpertSelection | None = None, sure: Array | None = None, label_zero: float = np.nan,
) -> TrainedEnsemble:  # fmt: skip
    """An untrained ensemble with experts selected for labels y (t,) at X (t, d).

    `picked` are the experts, where it is known already which they will be; `sure` (t,) are labels
    that are trusted, as 1 and 0; `label_zero` is where the zero of the labels is, in the user's
    units, if that is known.
    """
    if selection is None:
        reuse_memory()
        with one_thread():
            prior = expert_selection.make_prior(setting, X, y, noise_var, seed, sure, label_zero)
    else:
        prior = select_models(setting, selection, X, seed)
    bare = replace(prior.ensemble, experts=NO_EXPERTS)
    nothing = (X[:0], y[:0], noise_var[:0])
    known = (prior.dictionary, prior.embedding)
    all_labels, both = TrainingLabels(*nothing, np.zeros(0)), (bare, prior.ensemble)
    trained = TrainedEnsemble(
        setting, seed, *nothing, *known, *both, len(y), prior.warp, all_labels
    )
    return replace(trained, outliers=prior.outliers)


def add_labels(
    trained: TrainedEnsemble, X: Array, y: Array, noise_var: Array, sure: Array | None = None
) -> TrainedEnsemble:
    """The ensemble with the same experts, trained on more labels y (N,) at X (N, d).

    Outliers are left out; a label since the selection that is very surprising has more noise
    (`inflated_noise`).
    """
    all_labels, start, n = (
        trained.all_labels.append(X, y, noise_var, sure),
        len(trained.all_labels),
        len(trained.outliers),
    )
    if start < n:
        now = ~trained.outliers.wrong[start : start + len(y)]
        first = _add_labels(trained, *(part[: n - start][now] for part in (X, y, noise_var)))
        if start + len(y) <= n:
            return replace(first, all_labels=all_labels)
        X, y, noise_var = (part[n - start :] for part in (X, y, noise_var))
        sure, trained = None if sure is None else sure[n - start :], first
    if not n:
        return replace(_add_labels(trained, X, y, noise_var), all_labels=all_labels)
    base = trained.ensemble if trained.base is None else trained.base
    noise = inflated_noise(replace(trained, base=base), X, y, noise_var, sure)
    return replace(_add_labels(trained, X, y, noise), all_labels=all_labels, base=base)


def _add_labels(trained: TrainedEnsemble, X: Array, y: Array, noise_var: Array) -> TrainedEnsemble:
    """The ensemble with the same experts, trained on all of these labels."""
    state, z, noise = (
        trained.ensemble,
        trained.warp.labels(y),
        trained.warp.variances(noise_var, y),
    )
    for rows in trained.blocks(len(X)):
        points = trained.embedding.points(state.experts, X[rows])
        known = state.known_noise(X[rows], noise[rows])
        state = ensemble.update_many(state, points, z[rows], known)
    X, y, noise_var = _concat_labels(trained, X, y, noise_var)
    return replace(trained, X=X, y=y, noise_var=noise_var, ensemble=state)


def outlier_log_odds_since_selection(
    trained: TrainedEnsemble, X: Array, y: Array, noise_var: Array
) -> tuple[Array, Array]:
    """Outlier log odds (N,) of labels since the last selection, and their residuals.

    Both are under the posterior at that selection, in units of warped labels.
    """
    base = trained.ensemble if trained.base is None else trained.base
    mu, v = base.experts.predict(trained.embedding.points(base.experts, X))
    z, noise = trained.warp.labels(y), trained.warp.variances(noise_var, y)
    known = base.known_noise(X, noise)
    return new_labels.log_odds_threshold(base, trained.outliers.prior, mu, v, z, known)


def inflated_noise(
    trained: TrainedEnsemble, X: Array, y: Array, noise_var: Array, sure: Array | None = None
) -> Array:
    """Noise variances (N,) of labels that came since the selection of experts.

    One that is more likely wrong than right has, until it is judged with the others, noise as
    large as its surprise. That depends on the selection and on the label alone, so that order does
    not matter.
    """
    if not len(trained.outliers) or trained.outliers.prior.s == 0.0:
        return noise_var
    odds, e = outlier_log_odds_since_selection(trained, X, y, noise_var)
    light = odds > 0.0
    light &= np.zeros(len(y)) == (0.0 if sure is None else sure)
    if not light.any():
        return noise_var
    slope = np.exp(2.0 * trained.warp.log_slope(y))
    return np.where(light, noise_var + e * e / slope, noise_var)


def probabilities(trained: TrainedEnsemble) -> Array:  # (n,)
    """Outlier probability of each label, in the order they were told."""
    n, all_labels = len(trained.outliers), trained.all_labels
    found = np.zeros(len(all_labels))
    found[:n] = trained.outliers.probability[: len(all_labels)]
    if 0 < n < len(all_labels) and trained.outliers.prior.s > 0.0:
        odds, _ = outlier_log_odds_since_selection(
            trained, all_labels.X[n:], all_labels.y[n:], all_labels.noise_var[n:]
        )
        found[n:] = expit(odds)
    return np.where(all_labels.sure > 0.0, 0.0, found)


def begin(
    setting: ModelParameters, X: Array, y: Array, noise_var: Array, seed: int,
    sure: Array | None = None, label_zero: float = np.nan,
) -> TrainedEnsemble:  # fmt: skip
    """The ensemble trained on labels y (t,) at X (t, d), which also select its experts."""
    before = select_experts(setting, X, y, noise_var, seed, sure=sure, label_zero=label_zero)
    return add_labels(before, X, y, noise_var, sure)


def step(trained: TrainedEnsemble, x: Array, y: float, noise_var: float) -> StepOfKind:
    """The update of the experts by the label y of x (d,) (`core.protocols.Step`)."""
    point = trained.embedding.points(trained.ensemble.experts, x[None])
    label, noise = trained.warp.one(y, noise_var)
    known = trained.ensemble.known_noise(x[None], np.array([noise]))
    return ensemble.step(trained.ensemble, point, label, known)


def advance(
    trained: TrainedEnsemble, told: StepOfKind, x: Array, y: float, noise_var: float,
    stated: float | None = None, sure: bool = False,
) -> TrainedEnsemble:  # fmt: skip
    """The ensemble after the label y of x (d,), whose update is `told`.

    `stated` is what is known of its noise, where it was `inflated_noise` with more.
    """
    X, labels, noise = _concat_labels(trained, x[None], y, noise_var)
    after = ensemble.advance(trained.ensemble, told)
    known = np.array([noise_var if stated is None else stated])
    all_labels = trained.all_labels.append(x[None], np.array([y]), known, np.array([float(sure)]))
    base = trained.base or (trained.ensemble if len(trained.outliers) else None)
    return replace(
        trained, X=X, y=labels, noise_var=noise, ensemble=after, all_labels=all_labels, base=base
    )


def train(
    trained: TrainedEnsemble,
    X: Array,
    y: Array,
    noise_var: Array,
    sure: Array | None = None,
    label_zero: float = np.nan,
) -> TrainedEnsemble:
    """The ensemble trained on more labels, as if one by one; experts are reselected when due."""
    t, sure = len(trained.all_labels), np.zeros(len(y)) if sure is None else sure
    before = trained.n_selection_labels
    due = last_selection(before, t + len(y)) if trained.setting.adaptive else before
    if due == before:
        return add_labels(trained, X, y, noise_var, sure)
    new = max(due - t, 0)  # only the last selection leaves a trace
    until = trained.all_labels.append(X[:new], y[:new], noise_var[:new], sure[:new])
    begun = begin(trained.setting, *until.parts, trained.seed, until.sure, label_zero)
    return add_labels(begun, X[new:], y[new:], noise_var[new:], sure[new:])


def without_labels(trained: TrainedEnsemble) -> TrainedEnsemble:
    """The ensemble with the same experts, without labels."""
    M, d = len(trained.prior.log_w), trained.X.shape[1]
    experts = trained.embedding.prior_experts(trained.dictionary, d, M)
    before = replace(trained.prior, experts=experts)
    nothing = (trained.X[:0], trained.y[:0], trained.noise_var[:0])
    X, y, noise_var = nothing
    all_labels = TrainingLabels(*nothing, np.zeros(0))
    return replace(
        trained, X=X, y=y, noise_var=noise_var, ensemble=before, all_labels=all_labels, base=None
    )


def selection_labels(trained: TrainedEnsemble) -> ExpertSelection:
    """The selection of experts of an ensemble with integrated magnitude."""
    prior, scale = trained.prior, trained.prior.scale
    variance = float(scale.variance[0])
    return ExpertSelection(
        trained.dictionary, prior.noise, prior.log_w, variance, trained.warp, scale.unit,
        field=prior.field, varies=prior.varies,
    )  # fmt: skip


def _concat_labels(
    trained: TrainedEnsemble, X: Array, y: ArrayLike, noise_var: ArrayLike
) -> tuple[Array, Array, Array]:
    """Training inputs, labels and noise variances with more appended."""
    return (
        np.concatenate([trained.X, X]),
        np.append(trained.y, y),
        np.append(trained.noise_var, noise_var),
    )
