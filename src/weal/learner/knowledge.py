"""The model and what is kept beside it: the belief on the pool and on the validation points.

`Knowledge` is the fold of the labels. It follows one label at a time, or folds all of them anew.
An interruption half-way leaves it marked as unsound: the next use follows the labels that the model
has not seen, and computes the beliefs anew. So it ends where it would have without.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from weal.core import ensemble
from weal.core.arrays import Array
from weal.core.experts import moved
from weal.core.validation import Judged
from weal.learner import following
from weal.learner.choosing import Outlook, judge
from weal.learner.history import NAN
from weal.learner.labels import Label, Labels
from weal.learner.pool import PoolBelief
from weal.model.checks import check_distance
from weal.model.prediction import in_units, log_density_in_units
from weal.model.regressor import EnsembleGPRegressor
from weal.model.settling import Settled

ORDINARY = 1e6  # sds within which a label cannot be too far away
IN_BULK = (
    64  # labels from which folding them together and starting the pool's belief anew is faster
)


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """What the model is used on; inputs in the user's units."""

    pool: Array  # (U, d)
    validation: tuple[Array, Array] | None  # (V, d), (V,)
    target: Array | None  # (N, d), for acquisition functions that look at one
    memory: int


class Watch:
    """Points that a learner keeps its belief on, such as a test set; all experts are held."""

    def __init__(
        self, knowledge: "Knowledge", X: Array, catch_up: Callable[[], None] = lambda: None
    ) -> None:
        self._knowledge, self.X, self._catch_up = knowledge, X, catch_up
        self.belief: PoolBelief | None = None

    def predict(self) -> tuple[Array, Array]:
        """Mean and sd (N,) of f, in the user's units."""
        mu, var = self._experts()
        model = self._knowledge.model
        return in_units(model.fold_, model.scaling_, mu, var)

    def log_predictive_density(self, y: Array) -> Array:
        """Log density (N,) of labels y (N,), noise included, in units of y."""
        mu, var = self._experts()
        model = self._knowledge.model
        return log_density_in_units(model.fold_, model.scaling_, mu, var, y)

    def _experts(self) -> tuple[Array, Array]:
        self._catch_up()
        if self.belief is None:
            raise RuntimeError("there is no model yet: fewer labels were told than n_start")
        return self.belief.mu, self._knowledge.model.ensemble_.magnitude[:, None] * self.belief.v


class Knowledge:
    """A model and the beliefs that follow it."""

    def __init__(self, model: EnsembleGPRegressor) -> None:
        self.model = model
        self.pool: PoolBelief | None = None
        self.judged: Judged | None = None
        self.watches: list[Watch] = []
        self.sound = True  # whether all that is here follows from the same labels
        self.torn = False  # whether labels that the model has seen were dropped

    @property
    def fitted(self) -> bool:
        """Whether there have been labels enough."""
        return hasattr(self.model, "ensemble_")

    @property
    def weights(self) -> Array | None:  # (M,)
        """Weights of the experts, once there is a model."""
        return self.model.weights_ if self.fitted else None

    def check(self, new: Sequence[Label]) -> None:
        """Refuse labels that the model would refuse, before anything is changed."""
        if len(new) == 1 and new[0].name is not None and self._near(new[0]):
            return
        if self.fitted and new:
            outside = [label.x for label in new if label.name is None]
            following.check_labels(
                self.model,
                np.array(outside).reshape(len(outside), -1) if outside else None,
                np.array([label.y for label in new]),
                np.array([label.noise for label in new]),
            )

    def _near(self, label: Label) -> bool:
        """Whether a label is so ordinary that nothing needs to be checked."""
        if not self.fitted:
            return False
        scale = self.model.scaling_
        return max(abs(label.y - scale.y_mean), label.noise) < ORDINARY * scale.y_sd

    def check_inputs(self, X: Array) -> None:
        """Refuse candidates (N, d) that are too far away for the model."""
        if self.fitted:
            check_distance("the pool", self.model.scaling_.inputs(X))

    def fit(self, labels: Labels, unlabelled: Array, columns: Sequence[str] | None) -> None:
        """Settle scaling and hyperparameters by these labels, and fold them.

        Columns of a frame become the model's feature names: it then predicts on such frames.
        """
        X, y, noise = labels.arrays()
        others = unlabelled if len(unlabelled) else None
        self.model.fit(X, y, X_unlabelled=others, sample_noise=noise)
        if columns is not None and all(isinstance(name, str) for name in columns):
            self.model.feature_names_in_ = np.array(columns, dtype=object)
        self._start_anew()

    def mend(self, labels: Labels) -> None:
        """Follow the labels that the model has not seen, or fold all anew; scaling stays."""
        if self.torn:
            self.refold(labels)
            return
        seen = self.model.n_labels_
        X, y, noise = labels.arrays()
        if len(labels) - seen >= IN_BULK:
            following.absorb(self.model, X[seen:], y[seen:], noise[seen:])
        else:
            self._drop_beliefs()
            following.refresh(self.model)
            for label in labels.told[seen:]:
                self._follow(label, None)
        self._start_anew()

    def refold(self, labels: Labels, picked: Settled | None = None) -> None:
        """Forget what was learnt and learn these; `picked` are the experts, where known."""
        X, y, noise = labels.arrays()
        X = X.reshape(len(y), self.model.n_features_in_)
        following.refold(self.model, X, y, noise, picked)
        self._start_anew()

    def _start_anew(self) -> None:
        self._drop_beliefs()
        self.sound, self.torn = True, False

    def _drop_beliefs(self) -> None:
        """What follows the model is computed anew: its experts are others now."""
        self.pool = self.judged = None
        for watch in self.watches:
            watch.belief = None

    def learn(self, new: Sequence[tuple[Label, int | None]]) -> None:
        """Follow new labels, told on top of all that is known; each with its place in the pool.

        Left unsound when interrupted, or when all labels had better be folded together.
        """
        self.sound = False
        if not self.fitted or len(new) >= IN_BULK:
            return
        for label, n in new:
            self._follow(label, n)
        self.sound = True

    def _follow(self, label: Label, n: int | None) -> None:
        ens, scale = self.model.ensemble_, self.model.scaling_
        if n is not None and self.pool is not None:
            point = self.pool.point(ens, n)
        else:
            point = self.model.embed(label.x[None])
        y, extra = (label.y - scale.y_mean) / scale.y_sd, (label.noise / scale.y_sd) ** 2
        told = ensemble.step(ens, point, *self.model.fold_.bend.one(y, extra))
        for belief in (self.pool, *(watch.belief for watch in self.watches)):
            if belief is not None:
                belief.follow(ens, told)
        if self.judged is not None:
            self.judged = _moved(self.judged, told)
        x = self.pool.X[n] if n is not None and self.pool is not None else scale.inputs(label.x)
        following.advance(self.model, told, x, y, extra)
        if following.refresh(self.model):
            self._drop_beliefs()
        elif self.pool is not None:
            self.pool.hold(self.model.ensemble_)

    def start(self, around: Surroundings) -> None:
        """Begin the beliefs on pool and validation points, where they are not kept yet."""
        model, ens = self.model, self.model.ensemble_
        if self.pool is None or len(self.pool.X) != len(around.pool):
            target = around.target
            if target is not None:
                target = check_distance("the target", model.scaling_.inputs(target))
            X = check_distance("the pool", model.scaling_.inputs(around.pool))
            self.pool = PoolBelief(ens, model.embedding_, X, target=target, memory=around.memory)
        for watch in self.watches:
            if watch.belief is None:
                X = check_distance("the watched points", model.scaling_.inputs(watch.X))
                watch.belief = PoolBelief(
                    ens, model.embedding_, X, memory=around.memory, everyone=True
                )
        if self.judged is None and around.validation is not None:
            X, y = around.validation
            self.judged = _judged(model, X, y, np.zeros(len(y)))

    def outlook(self, labels: Labels) -> Outlook:
        """Ensemble and pool as they are."""
        X, y, _ = labels.arrays()
        scale = self.model.scaling_
        X = scale.inputs(X.reshape(len(y), self.model.n_features_in_))
        y = self.model.fold_.bend.labels(scale.labels(y))
        return Outlook(self.model.ensemble_, self._pool(), X, y)

    def losses(self, labels: Labels, at: list[int]) -> Array:
        """Losses (K,) of pseudo labels of the candidates `at`, for Algorithm 2."""
        ens, pool = self.model.ensemble_, self._pool()
        if self.judged is not None:
            return judge(ens, pool, self.judged, True, at)
        if not len(labels):  # all forgotten: nothing to judge by
            return np.zeros(len(at))
        return judge(ens, pool, _judged(self.model, *labels.arrays()), False, at)

    def predicted(self, n: int) -> tuple[float, float]:
        """Mean and sd of f at candidate n, in the user's units."""
        mean, sd = self._believed(np.array([n]))
        return float(mean[0]), float(sd[0])

    def expected(self, n: int | None) -> tuple[float, float]:
        """As `predicted`, and NaN where there is no candidate or no model."""
        return (NAN, NAN) if n is None or self.pool is None else self.predicted(n)

    def predicted_error(self, present: NDArray[np.bool_]) -> float:
        """Root mean square of the sd of f over these candidates, in the user's units."""
        _, sd = self._believed(np.flatnonzero(present))
        return float(np.sqrt((sd**2).mean())) if len(sd) else 0.0

    def _believed(self, at: NDArray[np.intp]) -> tuple[Array, Array]:
        """Mean and sd (N,) of f at candidates, in the user's units."""
        model, pool = self.model, self._pool()
        rows = pool.held[:, None]
        var = model.magnitude_[rows] * pool.v[rows, at]
        return in_units(model.fold_, model.scaling_, pool.mu[rows, at], var, pool.held)

    def _pool(self) -> PoolBelief:
        if self.pool is None:
            raise RuntimeError("the belief on the pool was not started")
        return self.pool


def fresh_model(model: EnsembleGPRegressor | None, seed: int, d: int) -> EnsembleGPRegressor:
    """The user's parameters, checked for d inputs, in a model of our own.

    `seed` stands where it has no random_state; of a generator one number is drawn, which a file
    can keep.
    """
    if model is None:
        return EnsembleGPRegressor(random_state=seed)
    if not isinstance(model, EnsembleGPRegressor):
        raise TypeError(f"model is {model!r}; it needs an EnsembleGPRegressor, or None")
    ours: EnsembleGPRegressor = clone(model)
    state = ours.random_state
    if state is None:
        ours.set_params(random_state=seed)
    elif isinstance(state, np.random.RandomState):
        ours.set_params(random_state=int(state.randint(2**31 - 1)))
    following.check_parameters(ours, d)
    return ours


def _judged(model: EnsembleGPRegressor, X: Array, y: Array, noise: Array) -> Judged:
    ens, scale = model.ensemble_, model.scaling_
    points = model.embed(X)
    mu, v = ens.experts.predict(points)
    extra, bend = (noise / scale.y_sd) ** 2, model.fold_.bend
    y = check_distance("y of validation", scale.labels(y))
    return Judged(points, mu, v, bend.labels(y), ens.ratios(bend.variances(extra, y)))


def _moved(judged: Judged, told: Any) -> Judged:
    c = told.column(judged.points)
    mu, v = moved(judged.mu, judged.v, c, told)
    return replace(judged, points=told.extend(judged.points, c), mu=mu, v=v)
