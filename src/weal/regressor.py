"""The ensemble as a scikit-learn regressor: scaling, hyperparameters, then the fold of the labels.

    fit           scale; settle the experts by these labels; fold
    partial_fit   fold more labels; now and then settle anew experts that follow the labels (`fold`)
    predict       mixture mean and sd, in the user's units

The formulas are in `weal.core`; `fit` and `partial_fit` are the same fold, so that
fit(X, y) equals fit(X[:k], y[:k]) and partial_fit of the rest, kernels, hyperparameters and scaling
given.
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
from weal.checks import (
    check_distance,
    check_levels,
    check_no_gaps,
    check_sample_noise,
    check_scaling,
)
from weal.core import ensemble, kernels, lineup, scaling
from weal.core.arrays import Array
from weal.core.embedding import Embedding
from weal.core.ensemble import Ensemble
from weal.core.experts import Points
from weal.core.kernels import Kernel
from weal.core.scaling import Scaling
from weal.fold import Fold, advance, begin, learn, refold, refresh
from weal.priors import Setting, check, setting_of

Bounds = tuple[float, float]


class EnsembleGPRegressor(RegressorMixin, BaseEstimator):
    """Regression with an ensemble of Gaussian processes that the labels weigh.

    Parameters
    ----------
    kernels : sequence of Kernel, or None
        The dictionary: one expert each (and for each of noise_ratios). None: the experts follow
        the labels, lengthscales of single inputs included.
    approximation : "auto", "exact", "features" or "encoded"
        Exact: no error of approximation, for up to a few thousand labels. Random features: a
        label costs the same however many came before. Auto: exact up to 1500 labels at a fit or
        refresh, features beyond. Encoded: X holds random features that a `FeatureEncoder` made;
        the model sees neither inputs nor kernels.
    n_frequencies : int
        Frequencies D of an expert on features; it has 2 D features.
    orthogonal : bool
        Orthogonal frequencies instead of independent ones: a better kernel at the same D.
    magnitude : "integrated", None, float or array of M floats
        Magnitude of the experts, in units of the scaled labels (sd 1). Integrated: it has an
        inverse-gamma prior and adapts with every label. None: what makes the labels of the first
        fit likeliest, as in the paper.
    noise_ratios : sequence of floats
        With an integrated magnitude: ratios of noise variance to magnitude, an expert for each.
    noise : float, array of M floats, or None
        Otherwise: noise variance, given or (None) fitted with the magnitude.
    fit_length_scale : bool
        Fit one lengthscale for each kernel too (the single-GP baseline).
    magnitude_bounds, noise_bounds : pair of floats
        Bounds of what is fitted.
    prior_weights : array of M floats, or None
        Weights before the first label; None: equal.
    temper : float
        Power, up to 1, of the densities that the weights are multiplied by; less than 1 keeps
        the weights from settling on one expert.
    condition : bool
        Bend input columns with heavy tails (`weal.core.scaling`).
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

    fold_: Fold
    scaling_: Scaling

    def __init__(
        self,
        kernels: Sequence[Kernel] | None = None,
        *,
        approximation: str = "auto",
        n_frequencies: int = 200,
        orthogonal: bool = False,
        magnitude: ArrayLike | str | None = "integrated",
        noise: ArrayLike | None = None,
        noise_ratios: Sequence[float] = lineup.RATIOS,
        fit_length_scale: bool = False,
        magnitude_bounds: Bounds = (1e-5, 1e5),
        noise_bounds: Bounds = (1e-8, 1e5),
        prior_weights: ArrayLike | None = None,
        temper: float = 1.0,
        condition: bool = True,
        scaling: Scaling | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.kernels = kernels
        self.approximation = approximation
        self.n_frequencies = n_frequencies
        self.orthogonal = orthogonal
        self.magnitude = magnitude
        self.noise = noise
        self.noise_ratios = noise_ratios
        self.fit_length_scale = fit_length_scale
        self.magnitude_bounds = magnitude_bounds
        self.noise_bounds = noise_bounds
        self.prior_weights = prior_weights
        self.temper = temper
        self.condition = condition
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
            "approximation": "features",
            "n_frequencies": 50,
            "magnitude": None,
            "noise_bounds": (1e-5, 1e5),
            "condition": False,
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
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        extra = self._extra(sample_noise, len(y))
        self.fold_ = begin(self._setting(), self._inputs(X), self._labels(y), extra, seed)

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_noise: ArrayLike | None = None
    ) -> Self:
        """Learn from more labels; one point (d,) with one label is welcome too.

        Scaling stays as the first fit left it, and with given kernels dictionary and noise too;
        without, the experts are settled anew after every seventh or so of the labels.
        """
        if np.ndim(y) == 0:
            X, y = np.atleast_2d(X) if np.ndim(X) < 2 else X, np.atleast_1d(y)
        if not hasattr(self, "fold_"):
            return self.fit(X, y, sample_noise=sample_noise)
        X, y = self._labelled(X, y)
        extra = self._extra(sample_noise, len(y))
        self.fold_ = learn(self.fold_, self._inputs(X), self._labels(y), extra)
        return self

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

    def predict_interval(self, X: ArrayLike, level: float = 0.9) -> tuple[Array, Array]:
        """Ends (N,), (N,) of intervals that hold a label at X with that probability."""
        if not 0.0 < level < 1.0:
            raise ValueError(f"level is {level!r}; it must be a probability between 0 and 1")
        low, high = self.predict_quantiles(X, [0.5 - 0.5 * level, 0.5 + 0.5 * level])
        return low, high

    def predict_quantiles(self, X: ArrayLike, levels: ArrayLike) -> Array:
        """Quantiles (levels, N) of a label at X (N, d), noise included, in units of y."""
        check_is_fitted(self)
        levels = check_levels(levels)
        parts = [
            [ensemble.quantile(self.ensemble_, mu, var, level) for level in levels]
            for _, mu, var in self._beliefs(self._table(X))
        ]
        return self.scaling_.means(np.concatenate(parts, axis=1))

    def advance(self, told: Any, x: Array, y: float, extra: float) -> None:
        """Take a step of the core that a label told (`ensemble.step`), all in scaled units."""
        self.fold_ = advance(self.fold_, told, x, y, extra)

    def refresh(self) -> bool:
        """Settle the experts anew, if that is due; whether it was."""
        if not self.fold_.due:
            return False
        self.fold_ = refresh(self.fold_)
        return True

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
        extra = self._extra(sample_noise, len(y))
        self.fold_ = refold(self.fold_, self._inputs(X), self._labels(y), extra)

    @property
    def ensemble_(self) -> Ensemble:
        """The state of the core."""
        return self.fold_.ensemble

    @property
    def embedding_(self) -> Embedding:
        """How scaled inputs become points of the core."""
        return self.fold_.embedding

    @property
    def dictionary_(self) -> tuple[Kernel, ...]:
        """The kernels of the M experts."""
        return self.fold_.dictionary

    @property
    def n_labels_(self) -> int:
        """Number of labels folded in."""
        return len(self.fold_.y)

    @property
    def weights_(self) -> Array:  # (M,)
        """Probability of each expert given the labels."""
        return self.ensemble_.w

    @property
    def magnitude_(self) -> Array:  # (M,)
        """Magnitude of each expert, in units of the scaled labels; its mean where integrated."""
        return self.ensemble_.magnitude

    @property
    def noise_(self) -> Array:  # (M,)
        """Noise variance of each expert, in the same units."""
        return self.ensemble_.magnitude * self.ensemble_.noise

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
        return setting_of(self)

    def _scaling(self, X: Array, y: Array) -> Scaling:
        given = check_scaling(self.scaling, X.shape[1])
        if given is not None:
            return given
        encoded = self.approximation == "encoded"
        found = scaling.from_data(X, y, self.condition and not encoded)
        if not encoded:
            return found
        return replace(found, x_mean=np.zeros(X.shape[1]), x_sd=np.ones(X.shape[1]))

    def _inputs(self, X: Array) -> Array:
        return check_distance("X", self.scaling_.inputs(X))

    def _labels(self, y: Array) -> Array:
        return check_distance("y", self.scaling_.labels(y))

    def _extra(self, sample_noise: ArrayLike | None, t: int) -> Array:
        sd = check_sample_noise(sample_noise, t)
        return check_distance("sample_noise", sd / self.scaling_.y_sd) ** 2

    def _beliefs(self, X: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Means and variances (M, n) of f under each expert, one block of points at a time."""
        return self.fold_.beliefs(self._inputs(X))
