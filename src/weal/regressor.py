"""The ensemble as a scikit-learn regressor: scaling, hyperparameters, then the fold of the labels.

    fit           scale; magnitude and noise of every expert from these labels; prior; fold
    partial_fit   fold more labels; nothing else moves
    predict       mixture mean and sd, in the user's units

The formulas are in `weal.core`; `fit` and `partial_fit` are the same fold, so that
fit(X, y) equals fit(X[:k], y[:k]) and partial_fit of the rest, hyperparameters and scaling given.
"""

import os
from collections.abc import Iterator, Sequence
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from weal import files, model_file
from weal.checks import (
    check_approximation,
    check_bounds,
    check_dictionary,
    check_fixed,
    check_n_frequencies,
    check_prior_weights,
    check_sample_noise,
)
from weal.core import ensemble, evidence, features, kernels, scaling
from weal.core.arrays import Array
from weal.core.ensemble import Ensemble
from weal.core.experts import ExactExperts, Experts, FeatureExperts, Points
from weal.core.kernels import Kernel
from weal.core.scaling import Scaling

Bounds = tuple[float, float]

# Labels that the marginal likelihood looks at; more cost t^3 and change next to nothing.
EVIDENCE_LABELS = 500
# Inputs and labels this many sds away overflow when squared; such data is in the wrong unit.
FARTHEST = 1e100
LENGTH_BOUNDS = (1e-5, 1e5)  # of a fitted lengthscale, scikit-learn's default


class EnsembleGPRegressor(RegressorMixin, BaseEstimator):
    """Regression with an ensemble of Gaussian processes that the labels weigh.

    Parameters
    ----------
    kernels : sequence of Kernel, or None
        The dictionary: one expert each. None takes RBF and Matern 5/2 at lengthscales from a
        tenth to ten times sqrt(d), in half decades.
    approximation : "features" or "exact"
        Random features: a label costs the same however many came before. Exact: no error of
        approximation, for up to a few thousand labels.
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
        """
        X, y = self._labelled(X, y, reset=True)
        sd = check_sample_noise(sample_noise, len(y))
        known = X if X_unlabelled is None else np.concatenate([X, self._table(X_unlabelled)])
        self.scaling_ = scaling.from_data(known, y) if self.scaling is None else self.scaling
        self.seed_ = int(check_random_state(self.random_state).randint(2**31 - 1))
        X, y, extra = self._inputs(X), self._labels(y), (sd / self.scaling_.y_sd) ** 2
        self.dictionary_ = self._dictionary(X, y)
        self.magnitude_, self.noise_ = self._hyperparameters(X, y, extra)
        self.ensemble_ = self._prior()
        self.n_labels_ = 0
        return self._fold(X, y, extra)

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_noise: ArrayLike | None = None
    ) -> Self:
        """Learn from more labels; one point (d,) with one label is welcome too.

        Scaling, dictionary, magnitude and noise stay as the first fit left them.
        """
        if np.ndim(y) == 0:
            X, y = np.atleast_2d(np.asarray(X)), np.atleast_1d(np.asarray(y))
        if not hasattr(self, "ensemble_"):
            return self.fit(X, y, sample_noise=sample_noise)
        X, y = self._labelled(X, y)
        extra = (check_sample_noise(sample_noise, len(y)) / self.scaling_.y_sd) ** 2
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
        return self._points(self._inputs(X))

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
        table: Array = validate_data(self, X, reset=False, dtype=np.float64)
        return table

    def _labelled(self, X: ArrayLike, y: ArrayLike, reset: bool = False) -> tuple[Array, Array]:
        X, y = validate_data(self, X, y, reset=reset, dtype=np.float64, y_numeric=True)
        return np.asarray(X), np.asarray(y, dtype=np.float64)

    def _inputs(self, X: Array) -> Array:
        scaled = self.scaling_.inputs(X)
        if np.abs(scaled).max(initial=0.0) > FARTHEST:
            raise ValueError(
                f"X has a value more than {FARTHEST:g} standard deviations from the mean of its "
                "column in the first fit; check its unit, or fit again with such rows"
            )
        return scaled

    def _labels(self, y: Array) -> Array:
        scaled = self.scaling_.labels(y)
        if np.abs(scaled).max(initial=0.0) > FARTHEST:
            raise ValueError(
                f"y has a label more than {FARTHEST:g} standard deviations from the mean of the "
                "first fit's; check its unit, or fit again with such labels"
            )
        return scaled

    def _dictionary(self, X: Array, y: Array) -> tuple[Kernel, ...]:
        if self.kernels is None:
            found = kernels.default_dictionary(X.shape[1])
        else:
            found = tuple(self.kernels)
        check_dictionary(found, X.shape[1])
        if not self.fit_length_scale:
            return found
        rows = self._evidence_rows(len(y))
        bounds = (*self._bounds(), LENGTH_BOUNDS)
        return tuple(evidence.fit_length_scale(k, X[rows], y[rows], *bounds) for k in found)

    def _bounds(self) -> tuple[Bounds, Bounds]:
        return (
            check_bounds("magnitude_bounds", self.magnitude_bounds),
            check_bounds("noise_bounds", self.noise_bounds),
        )

    def _hyperparameters(self, X: Array, y: Array, extra: Array) -> tuple[Array, Array]:
        M, rows = len(self.dictionary_), self._evidence_rows(len(y))
        magnitude = check_fixed("magnitude", self.magnitude, M)
        noise = check_fixed("noise", self.noise, M)
        if magnitude is not None and noise is not None:
            return magnitude, noise
        K = np.stack([kernels.correlation(k, X[rows], X[rows]) for k in self.dictionary_])
        fitted = evidence.fit_hyperparameters(
            K, y[rows], extra[rows], *self._bounds(), magnitude, noise
        )
        return fitted.magnitude, fitted.noise

    def _evidence_rows(self, t: int) -> Any:
        if t <= EVIDENCE_LABELS:
            return slice(None)
        rng = np.random.default_rng([self.seed_, t])
        return np.sort(rng.choice(t, EVIDENCE_LABELS, replace=False))

    def _prior(self) -> Ensemble:
        M, d = len(self.dictionary_), self.n_features_in_
        log_w = check_prior_weights(self.prior_weights, M)
        experts: Experts
        if check_approximation(self.approximation) == "exact":
            self.frequencies_: Array | None = None
            experts = ExactExperts.prior(self.dictionary_, d)
        else:
            D = check_n_frequencies(self.n_frequencies)
            self.frequencies_ = features.draw_frequencies(
                self.dictionary_, d, D, self.seed_, self.orthogonal
            )
            experts = FeatureExperts.prior(M, 2 * D)
        return Ensemble(experts, log_w, self.magnitude_, self.noise_ / self.magnitude_)

    def _points(self, X: Array) -> Points:
        """Scaled inputs (N, d) in the form that the experts work on."""
        if self.frequencies_ is not None:
            return features.features(X, self.frequencies_)
        return cast(ExactExperts, self.ensemble_.experts).near(X)

    def _blocks(self, N: int) -> Any:
        M, t = len(self.dictionary_), self.n_labels_
        width = t if self.frequencies_ is None else 2 * self.frequencies_.shape[1]
        return features.blocks(N, 2 * 8 * M * width)

    def _beliefs(self, X: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Means and variances (M, n) of f under each expert, one block of points at a time."""
        for rows in self._blocks(len(X)):
            yield rows, *ensemble.predict(self.ensemble_, self.embed(X[rows]))

    def _fold(self, X: Array, y: Array, extra: Array) -> Self:
        for rows in self._blocks(len(X)):
            points = self._points(X[rows])
            self.ensemble_ = ensemble.fold(self.ensemble_, points, y[rows], extra[rows])
        self.n_labels_ += len(y)
        return self
