"""The ensemble as a scikit-learn regressor: scaling, hyperparameters, then the fold of the labels.

    fit           scale; magnitude and noise of every expert from these labels; prior; fold
    partial_fit   fold more labels; nothing else moves
    predict       mixture mean and sd, in the user's units

The formulas are in `weal.core`; `fit` and `partial_fit` are the same fold, so that
fit(X, y) equals fit(X[:k], y[:k]) and partial_fit of the rest, hyperparameters and scaling given.
"""

import os
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from weal import files, model_file
from weal.checks import check_distance, check_no_gaps, check_sample_noise, check_scaling
from weal.core import ensemble, features, kernels, scaling
from weal.core.arrays import Array
from weal.core.experts import Points
from weal.core.kernels import Kernel
from weal.core.scaling import Scaling
from weal.priors import Setting, check, prior_again, settle

Bounds = tuple[float, float]


class EnsembleGPRegressor(RegressorMixin, BaseEstimator):
    """Regression with an ensemble of Gaussian processes that the labels weigh.

    Parameters
    ----------
    kernels : sequence of Kernel, or None
        The dictionary: one expert each. None takes RBF and Matern 5/2 at lengthscales from a
        tenth to ten times sqrt(d), in half decades.
    approximation : "features", "exact" or "encoded"
        Random features: a label costs the same however many came before. Exact: no error of
        approximation, for up to a few thousand labels. Encoded: X holds random features that a
        `FeatureEncoder` made; the model sees neither inputs nor kernels.
    n_frequencies : int
        Frequencies D of an expert on features; it has 2 D features.
    orthogonal : bool
        Orthogonal frequencies instead of independent ones: a better kernel at the same D.
    magnitude, noise : float, array of M floats, or None
        Magnitude and noise variance of the experts, in units of the scaled labels (sd 1).
        None: what makes the labels of the first fit likeliest.
    fit_length_scale : bool
        Fit one lengthscale for each kernel too (the single-GP baseline).
    magnitude_bounds, noise_bounds : pair of floats
        Bounds of what is fitted.
    prior_weights : array of M floats, or None
        Weights before the first label; None: equal.
    scaling : Scaling or None
        Fixed locations and scales; None: from the data of the first fit.
    random_state : int, RandomState or None
        Seed of the random features.

    Attributes
    ----------
    weights_ : (M,) probability of each expert given the labels
    dictionary_ : tuple of the M kernels
    magnitude_, noise_ : (M,) as above
    scaling_ : Scaling in use
    n_labels_ : number of labels folded in

    Examples
    --------
    >>> import numpy as np
    >>> from weal import EnsembleGPRegressor
    >>> X = np.linspace(0, 6, 13)[:, None]
    >>> model = EnsembleGPRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> mean, std = model.predict([[2.2]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(2.2)) < 0.05)
    True
    """

    def __init__(
        self,
        kernels: Sequence[Kernel] | None = None,
        *,
        approximation: str = "features",
        n_frequencies: int = 100,
        orthogonal: bool = False,
        magnitude: ArrayLike | None = None,
        noise: ArrayLike | None = None,
        fit_length_scale: bool = False,
        magnitude_bounds: Bounds = (1e-5, 1e5),
        noise_bounds: Bounds = (1e-8, 1e5),
        prior_weights: ArrayLike | None = None,
        scaling: Scaling | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.kernels = kernels
        self.approximation = approximation
        self.n_frequencies = n_frequencies
        self.orthogonal = orthogonal
        self.magnitude = magnitude
        self.noise = noise
        self.fit_length_scale = fit_length_scale
        self.magnitude_bounds = magnitude_bounds
        self.noise_bounds = noise_bounds
        self.prior_weights = prior_weights
        self.scaling = scaling
        self.random_state = random_state

    @classmethod
    def paper(cls, *, squared_grid: bool = False, **changes: Any) -> Self:
        """The setting of the paper: 11 RBFs, lengthscales 10^-4 .. 10^6, 50 frequencies each.

        Magnitude and noise come from the first fit, within scikit-learn's default bounds, and
        stay; the first labels go through the same weight update as all others. `squared_grid`
        reads the grid as squared lengthscales; `changes` replaces any other parameter.
        """
        setting: dict[str, Any] = {
            "kernels": kernels.paper_dictionary(squared_grid),
            "n_frequencies": 50,
            "noise_bounds": (1e-5, 1e5),
        }
        return cls(**{**setting, **changes})

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        X_unlabelled: ArrayLike | None = None,
        sample_noise: ArrayLike | None = None,
    ) -> Self:
        """Forget everything and learn from the labels y (N,) of the points X (N, d).

        `X_unlabelled` (rows without labels, such as the pool) helps to scale the inputs.
        `sample_noise` is the sd (N,) of what is known of each label's noise, such as the spread
        of replicates over the root of their number, in units of y; fitted noise comes on top.
        A fit that is refused leaves the model as it was.
        """
        draft = copy(self)
        draft._learn(X, y, X_unlabelled, sample_noise)
        self.__dict__ = draft.__dict__
        return self

    def _learn(
        self,
        X: ArrayLike,
        y: ArrayLike,
        X_unlabelled: ArrayLike | None,
        sample_noise: ArrayLike | None,
    ) -> None:
        X, y = self._labelled(X, y, reset=True)
        known = X if X_unlabelled is None else np.concatenate([X, self._table(X_unlabelled)])
        self.scaling_ = self._scaling(known, y)
        self.seed_ = int(check_random_state(self.random_state).randint(2**31 - 1))
        extra = self._extra(sample_noise, len(y))
        X, y = self._inputs(X), self._labels(y)
        prior = settle(self._setting(), X, y, extra, self.seed_)
        self.dictionary_, self.embedding_ = prior.dictionary, prior.embedding
        self.magnitude_, self.noise_ = prior.magnitude, prior.noise
        self.ensemble_, self.n_labels_ = prior.ensemble, 0
        self._fold(X, y, extra)

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_noise: ArrayLike | None = None
    ) -> Self:
        """Learn from more labels; one point (d,) with one label is welcome too.

        Scaling, dictionary, magnitude and noise stay as the first fit left them.
        """
        if np.ndim(y) == 0:
            X, y = np.atleast_2d(X) if np.ndim(X) < 2 else X, np.atleast_1d(y)
        if not hasattr(self, "ensemble_"):
            return self.fit(X, y, sample_noise=sample_noise)
        X, y = self._labelled(X, y)
        extra = self._extra(sample_noise, len(y))
        return self._fold(self._inputs(X), self._labels(y), extra)

    def predict(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Mean (N,) of f at X, and with `return_std` the sd (N,) of f (not of a noisy label)."""
        check_is_fitted(self)
        w = self.ensemble_.w
        parts = [ensemble.mixture(w, mu, var) for _, mu, var in self._beliefs(self._table(X))]
        mean, var = np.concatenate(parts, axis=1)
        if not return_std:
            return self.scaling_.means(mean)
        return self.scaling_.means(mean), self.scaling_.y_sd * np.sqrt(var)

    def log_predictive_density(self, X: ArrayLike, y: ArrayLike) -> Array:
        """Log density (N,) of the labels y (N,) at X (N, d), noise included, in units of y."""
        check_is_fitted(self)
        X, y = self._labelled(X, y)
        y = self._labels(y)
        parts = [
            ensemble.log_density(self.ensemble_, mu, var, y[rows])
            for rows, mu, var in self._beliefs(X)
        ]
        log_p: Array = np.concatenate(parts) - np.log(self.scaling_.y_sd)
        return log_p

    def embed(self, X: Array) -> Points:
        """Rows of X (N, d) in the form that the experts of the core work on."""
        return self.embedding_.points(self.ensemble_.experts, self._inputs(X))

    def advance(self, told: Any) -> None:
        """Take a step of the core that the label of one point told (`ensemble.step`)."""
        self.ensemble_ = ensemble.advance(self.ensemble_, told)
        self.n_labels_ += 1

    def check_labels(self, X: Array | None, y: Array, sample_noise: Array) -> None:
        """Refuse labels, and points X where given, that `partial_fit` would refuse."""
        self._labels(y)
        self._extra(sample_noise, len(y))
        if X is not None:
            self._inputs(X)

    def check_parameters(self, d: int) -> None:
        """Refuse parameters that `fit` would refuse for d inputs."""
        check(self._setting(), d)
        check_scaling(self.scaling, d)
        check_random_state(self.random_state)

    def refold(self, X: Array, y: Array, sample_noise: Array) -> None:
        """Forget all labels and learn these, with scaling, dictionary and prior as they are."""
        X, y, extra = self._inputs(X), self._labels(y), self._extra(sample_noise, len(y))
        self.ensemble_ = prior_again(
            self._setting(), self.dictionary_, X.shape[1], self.magnitude_, self.noise_
        )
        self.n_labels_ = 0
        self._fold(X, y, extra)

    @property
    def weights_(self) -> Array:  # (M,)
        """Probability of each expert given the labels."""
        return self.ensemble_.w

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, without pickle; `load` reads it."""
        check_is_fitted(self)
        files.write(path, model_file.KIND, *model_file.pack(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The model that `save` wrote; UnreadableFile when the file is anything else."""
        model: Self = model_file.unpack(cls, *files.read(path, model_file.KIND))
        return model

    def _table(self, X: ArrayLike) -> Array:
        table: Array = validate_data(self, X, reset=False, dtype=np.float64, order="C")
        return table

    def _labelled(self, X: ArrayLike, y: ArrayLike, reset: bool = False) -> tuple[Array, Array]:
        form = {"dtype": np.float64, "order": "C"}  # sums, to the last bit, depend on the order
        X, y = validate_data(self, X, y, reset=reset, y_numeric=True, **form)
        return np.asarray(X), check_no_gaps(y)

    def _setting(self) -> Setting:
        names = Setting.__dataclass_fields__
        return Setting(**{name: getattr(self, name) for name in names})

    def _scaling(self, X: Array, y: Array) -> Scaling:
        given = check_scaling(self.scaling, X.shape[1])
        if given is not None:
            return given
        found = scaling.from_data(X, y)
        if self.approximation != "encoded":
            return found
        return replace(found, x_mean=np.zeros(X.shape[1]), x_sd=np.ones(X.shape[1]))

    def _inputs(self, X: Array) -> Array:
        return check_distance("X", self.scaling_.inputs(X))

    def _labels(self, y: Array) -> Array:
        return check_distance("y", self.scaling_.labels(y))

    def _extra(self, sample_noise: ArrayLike | None, t: int) -> Array:
        sd = check_sample_noise(sample_noise, t)
        return check_distance("sample_noise", sd / self.scaling_.y_sd) ** 2

    def _blocks(self, N: int) -> Iterator[slice]:
        width = self.embedding_.width(self.ensemble_.experts)
        return features.blocks(N, 2 * 8 * len(self.magnitude_) * width)

    def _beliefs(self, X: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Means and variances (M, n) of f under each expert, one block of points at a time."""
        for rows in self._blocks(len(X)):
            yield rows, *ensemble.predict(self.ensemble_, self.embed(X[rows]))

    def _fold(self, X: Array, y: Array, extra: Array) -> Self:
        state = self.ensemble_
        for rows in self._blocks(len(X)):
            points = self.embedding_.points(state.experts, X[rows])
            state = ensemble.fold(state, points, y[rows], extra[rows])
        self.ensemble_, self.n_labels_ = state, self.n_labels_ + len(y)
        return self
