"""The ensemble as a scikit-learn regressor.

    fit scale the data, select and train the experts
    partial_fit   add labels, and select experts again when that is due (`weal.model.training`)
    predict       mean, and sd or covariance, of the mixture, in the user's units
    sample_y      functions drawn from it

The formulas are in `weal.core`. With given kernels, hyperparameters and scaling, fit(X, y) equals
fit(X[:k], y[:k]) followed by partial_fit of the rest.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import Any, Literal, Self, cast, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from weal.core.arrays import Array
from weal.core.constants import NOISE_RATIO_GRID
from weal.core.paper import kernels
from weal.core.paper.ensemble import Ensemble
from weal.core.paper.kernels import Kernel
from weal.core.scaling import Scaling
from weal.formats import archive, model_file
from weal.model import scaled_data
from weal.model.checks import MODEL_VERSION, check_count, check_no_gaps, check_sure
from weal.model.model import Model
from weal.model.parameters import (
    MAGNITUDE_BOUNDS,
    NOISE_BOUNDS,
    Parameters,
    parameters_of,
    with_widths,
)
from weal.model.training import begin, train

Bounds = tuple[float, float]


class EnsembleGPRegressor(RegressorMixin, BaseEstimator):
    """Gaussian process regression with an ensemble of kernels, weighted by their evidence.

    Parameters
    ----------
    kernels : sequence of Kernel, or None
        The kernels, one expert for each (and for each of `noise_ratios`). If None, the experts are
        selected from the labels, with a lengthscale for each input where the evidence favours it.
    approximation : {"auto", "exact", "inducing", "features", "encoded"}
        "exact" has no approximation error and handles up to about ten thousand labels. "inducing"
        uses inducing points, chosen among the labelled points. "features" uses random Fourier
        features, as in the paper. With inducing points or features, the cost of a new label does
        not grow with the number of labels. "auto" is exact; beyond 2000 labels it uses inducing
        points where accuracy does not suffer, or where exact experts would need more than 1 GiB.
        "encoded" expects X to hold random features of a `FeatureEncoder`, so that the model sees
        neither inputs nor kernels.
    n_frequencies : int
        Number of frequencies D of an expert with random features; it has 2 D features.
    orthogonal : bool
        Whether frequencies are orthogonal instead of independent: a better approximation of the
        kernel at the same D.
    magnitude : "integrated", None, float or array of M floats
        Prior variance of the experts, in units of the scaled labels (sd 1). "integrated" integrates
        it out under an inverse-gamma prior, so that it adapts to every label. If None, it maximises
        the marginal likelihood of the first fit, as in the paper.
    noise : float, array of M floats, or None
        Noise sd in the same units, unless the magnitude is integrated. If None, it is fitted
        together with the magnitude.
    noise_ratios : sequence of floats
        Ratios of noise variance to magnitude, one expert for each, if the magnitude is integrated.
    fit_length_scale : bool
        Whether to fit the lengthscale of each kernel too (the single-GP baseline).
    magnitude_bounds : pair of floats
        Bounds of a fitted magnitude.
    noise_bounds : pair of floats
        Bounds of a fitted noise sd.
    prior_weights : array of M floats, or None
        Weights of the experts before the first label; if None, equal.
    temper : float
        Exponent, at most 1, of the likelihood in the weight update; below 1 the weights concentrate
        more slowly on one expert.
    condition : bool
        Whether to transform input columns with heavy tails (`weal.core.scaling`).
    warp : None, "asinh" or "auto"
        Whether to transform labels with a long tail, y -> asinh((y - median) / spread), and
        predictions back. "auto" does so if there are at least 30 labels and their evidence is much
        higher with the transformation; it has no effect with given kernels. If None, never.
    outliers : bool
        Whether labels may be wrong (a typo, another unit). Labels that the evidence marks as
        outliers are left out of the model, and are used again if the evidence changes. It has no
        effect with given kernels. If False, every label is used.
    model_version : {"0.3", "0.2"}
        The version whose model classes the experts are selected from. Files and campaigns that weal
        0.2 wrote keep "0.2" and so keep their predictions: no subsets of the inputs, no linear
        trend, one lengthscale for each level of a category, and constant noise.
    scaling : Scaling or None
        Fixed scaling of inputs and labels; if None, computed from the data of the first fit.
    random_state : int, RandomState or None
        Seed of the random features.

    Attributes
    ----------
    weights_ : array (M,)
        Probability of each expert given the labels.
    dictionary_ : tuple of M Kernels
        The kernels of the experts.
    magnitude_ : array (M,)
        Magnitude of each expert, in units of the scaled labels; the posterior mean if integrated.
    noise_ : array (M,)
        Noise sd of each expert, in the same units.
    scaling_ : Scaling
        The scaling of inputs and labels.
    n_labels_ : int
        Number of labels.
    outlier_probability_ : array (t,)
        The probability that each label is wrong, in the order the labels were added.
    model_ : Model
        The same model as a value that does not depend on scikit-learn.

    See Also
    --------
    ActiveLearner : Chooses the next row to label, with this model.
    FeatureEncoder : Hides the inputs from the model.

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

    model_: Model

    def __init__(
        self,
        kernels: Sequence[Kernel] | None = None,
        *,
        approximation: str = "auto",
        n_frequencies: int = 200,
        orthogonal: bool = False,
        magnitude: ArrayLike | str | None = "integrated",
        noise: ArrayLike | None = None,
        noise_ratios: Sequence[float] = NOISE_RATIO_GRID,
        fit_length_scale: bool = False,
        magnitude_bounds: Bounds = MAGNITUDE_BOUNDS,
        noise_bounds: Bounds = NOISE_BOUNDS,
        prior_weights: ArrayLike | None = None,
        temper: float = 1.0,
        condition: bool = True,
        warp: str | None = "auto",
        outliers: bool = True,
        model_version: str = MODEL_VERSION,
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
        self.warp = warp
        self.outliers = outliers
        self.model_version = model_version
        self.scaling = scaling
        self.random_state = random_state

    @classmethod
    def paper(cls, *, squared_grid: bool = False, **changes: Any) -> Self:
        """The estimator of the paper: 11 RBFs, lengthscales 10^-4 .. 10^6, 50 frequencies each.

        Magnitude and noise are fitted to the labels of the first fit, within scikit-learn's default
        bounds, and then stay fixed. The first labels update the weights like all others.

        Parameters
        ----------
        squared_grid : bool
            Whether the grid holds squared lengthscales.
        **changes
            Parameters that replace those of the paper.

        Returns
        -------
        EnsembleGPRegressor
            Not fitted yet.

        Examples
        --------
        >>> from weal import EnsembleGPRegressor
        >>> model = EnsembleGPRegressor.paper(random_state=3)
        >>> len(model.kernels), model.n_frequencies
        (11, 50)
        """
        setting: dict[str, Any] = {
            "kernels": kernels.paper_dictionary(squared_grid),
            "approximation": "features",
            "n_frequencies": 50,  # [1, set:frequencies]
            "magnitude": None,
            "noise_bounds": (1e-5**0.5, 1e5**0.5),  # scikit-learn bounds the variance
            "condition": False,
        }
        return cls(**{**setting, **changes})

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        X_unlabelled: ArrayLike | None = None,
        sample_noise: ArrayLike | None = None,
        sure: ArrayLike | None = None,
    ) -> Self:
        """Fit the ensemble to labels.

        If `fit` raises an error, the model stays as it was.

        Parameters
        ----------
        X : array (N, d)
            Points, in the user's units.
        y : array (N,)
            Their labels.
        X_unlabelled : array (U, d) or None
            Rows without labels, such as the pool; they are used for the scaling of the inputs.
        sample_noise : array (N,) or None
            Known noise sd of each label in units of y, such as the standard error of replicates.
            The fitted noise is added to it.
        sure : array (N,) of bools, or None
            Labels that are never treated as outliers.

        Returns
        -------
        EnsembleGPRegressor
            The estimator.

        Raises
        ------
        ValueError
            If X or y is not finite, their shapes differ, or a parameter is invalid.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import EnsembleGPRegressor
        >>> X = np.linspace(0, 6, 13)[:, None]
        >>> model = EnsembleGPRegressor().fit(X, np.sin(X[:, 0]), sample_noise=np.full(13, 0.01))
        >>> model.n_labels_
        13
        """
        draft = copy(self)
        draft._learn(X, y, X_unlabelled, sample_noise, sure)
        self.__dict__ = draft.__dict__
        return self

    def _learn(
        self,
        X: ArrayLike,
        y: ArrayLike,
        X_unlabelled: ArrayLike | None,
        sample_noise: ArrayLike | None,
        sure: ArrayLike | None,
    ) -> None:
        X, y = self._check_labels(X, y, reset=True)
        known = X if X_unlabelled is None else np.concatenate([X, self._table(X_unlabelled)])
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        parameters = self.parameters(X.shape[1])
        checked = check_sure(sure, len(y))
        scaling = parameters.scaling_of(known, y, checked)
        scaled = scaled_data.scale_data(scaling, X, y, sample_noise)
        setting = with_widths(parameters.setting, scaling)
        trained = begin(setting, *scaled, seed, checked, scaled_data.label_zero(scaling))
        self.model_ = Model(trained, scaling, input_names(self))

    def parameters(self, d: int, seed: int = 0) -> Parameters:
        """The checked parameters as a value.

        Parameters
        ----------
        d : int
            Number of inputs.
        seed : int
            Seed to use if random_state is None. From a generator one number is drawn.

        Returns
        -------
        weal.model.parameters.Parameters
            The parameters that `weal.ActiveLearner` takes from a model.

        Raises
        ------
        ValueError
            If a parameter is invalid.
        """
        state = integer_state(self.random_state, seed)
        return parameters_of({**self.get_params(deep=False), "random_state": state}, d)

    @classmethod
    def of(cls, model: Model) -> Self:
        """A fitted estimator with this model, such as that of an `ActiveLearner`.

        Parameters
        ----------
        model : Model
            A model, such as `ActiveLearner.model` or `Campaign.model`.

        Returns
        -------
        EnsembleGPRegressor
            Fitted, with the model's parameters.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import ActiveLearner, EnsembleGPRegressor
        >>> X = np.linspace(0, 6, 13)[:, None]
        >>> learner = ActiveLearner(X)
        >>> learner.tell(range(13), np.sin(X[:, 0]))
        >>> EnsembleGPRegressor.of(learner.model).n_labels_
        13
        """
        params = Parameters(model.trained.setting).to_dict()
        estimator = cls(**{**params, "random_state": None})
        estimator._hold(model)
        return estimator

    def _hold(self, model: Model) -> None:
        self.model_, self.n_features_in_ = model, model.n_features_in_
        if model.columns is not None:
            self.feature_names_in_ = np.array(model.columns, dtype=object)

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_noise: ArrayLike | None = None,
        sure: ArrayLike | None = None,
    ) -> Self:
        """Update the fit with more labels.

        The scaling stays as in the first fit. With given kernels, the kernels and the noise stay
        too; otherwise the experts are selected again whenever the number of labels has grown by
        about one seventh.

        Parameters
        ----------
        X : array (N, d), or one point (d,)
            Points, in the user's units.
        y : array (N,), or float
            Their labels.
        sample_noise : array (N,) or None
            As in `fit`.
        sure : array (N,) of bools, or None
            As in `fit`.

        Returns
        -------
        EnsembleGPRegressor
            The estimator.

        Raises
        ------
        ValueError
            As in `fit`.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import EnsembleGPRegressor
        >>> X = np.linspace(0, 6, 13)[:, None]
        >>> model = EnsembleGPRegressor().fit(X, np.sin(X[:, 0]))
        >>> model.partial_fit([2.2], np.sin(2.2)).n_labels_
        14
        """
        if np.ndim(y) == 0:
            X, y = np.atleast_2d(X) if np.ndim(X) < 2 else X, np.atleast_1d(y)
        if not hasattr(self, "model_"):
            return self.fit(X, y, sample_noise=sample_noise, sure=sure)
        X, y = self._check_labels(X, y)
        scaled = scaled_data.scale_data(self.scaling_, X, y, sample_noise)
        checked, zero = check_sure(sure, len(y)), scaled_data.label_zero(self.model_.scaling)
        trained = train(self.model_.trained, *scaled, checked, zero)
        self.model_ = replace(self.model_, trained=trained)
        return self

    @overload
    def predict(
        self, X: ArrayLike, return_std: Literal[False] = False, return_cov: Literal[False] = False
    ) -> Array: ...
    @overload
    def predict(
        self, X: ArrayLike, return_std: Literal[True], return_cov: Literal[False] = False
    ) -> tuple[Array, Array]: ...
    @overload
    def predict(
        self, X: ArrayLike, return_std: Literal[False] = False, *, return_cov: Literal[True]
    ) -> tuple[Array, Array]: ...
    @overload
    def predict(
        self, X: ArrayLike, return_std: bool = False, return_cov: bool = False
    ) -> Array | tuple[Array, Array]: ...
    def predict(
        self, X: ArrayLike, return_std: bool = False, return_cov: bool = False
    ) -> Array | tuple[Array, Array]:
        """Predict the mean of f, and optionally its sd or its covariance.

        Parameters
        ----------
        X : array (N, d)
            Points, in the user's units.
        return_std : bool
            Whether to return the sd of f too. It does not include the noise of a label.
        return_cov : bool
            Whether the covariance of f between the rows of X is wanted too; not with `return_std`.
            It is that of the mixture: its diagonal holds the squares of `return_std`.

        Returns
        -------
        array (N,), or a pair
            The mean; with `return_std` the pair (mean, sd (N,)), with `return_cov` the pair (mean,
            covariance (N, N)).

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before the first fit.
        RuntimeError
            If both `return_std` and `return_cov` are True.
        ValueError
            If X is not finite, has other columns than in `fit`, or the covariance of its rows
            does not fit into memory.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import EnsembleGPRegressor
        >>> X = np.linspace(0, 6, 13)[:, None]
        >>> model = EnsembleGPRegressor().fit(X, np.sin(X[:, 0]))
        >>> mean, std = model.predict([[2.2], [3.9]], return_std=True)
        >>> bool(np.abs(mean - np.sin([2.2, 3.9])).max() < 0.05), std.shape
        (True, (2,))
        >>> mean, cov = model.predict([[2.2], [3.9]], return_cov=True)
        >>> bool(np.allclose(np.diag(cov), std**2)), cov.shape
        (True, (2, 2))
        """
        if return_std and return_cov:
            raise RuntimeError("predict takes one of return_std and return_cov; leave one out")
        check_is_fitted(self)
        table = self._table(X)
        return (
            self.model_.predict_covariance(table)
            if return_cov
            else self.model_.predict(table, return_std)
        )

    def sample_y(
        self,
        X: ArrayLike,
        n_samples: int = 1,
        random_state: int | np.random.RandomState | None = 0,
    ) -> Array:
        """Draw functions from the posterior, as `GaussianProcessRegressor.sample_y` does.

        An expert is drawn by its weight, then the values of f at all rows from the joint normal of
        that expert. The draws are of f, without the noise of labels; their covariance is that of
        ``predict(X, return_cov=True)``. Of warped labels (`warp`) the mean of the draws is beyond
        that of `predict` where f is uncertain: `predict` limits the effect of the tail.

        Parameters
        ----------
        X : array (N, d)
            Points, in the user's units.
        n_samples : int
            Number of functions.
        random_state : int, RandomState or None
            Seed of the draws; None: other draws at each call.

        Returns
        -------
        array (N, n_samples)
            A function in each column, in units of y.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before the first fit.
        ValueError
            Where X is not finite, or has other columns than the labels came with, or its rows are
            too many for a covariance.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import EnsembleGPRegressor
        >>> X = np.linspace(0, 6, 13)[:, None]
        >>> model = EnsembleGPRegressor().fit(X, np.sin(X[:, 0]))
        >>> model.sample_y([[2.2], [3.9]], n_samples=5).shape
        (2, 5)
        """
        check_is_fitted(self)
        n, rng = check_count(n_samples), check_random_state(random_state)
        return self.model_.draw(self._table(X), n, rng)

    def predict_interval(self, X: ArrayLike, level: float = 0.9) -> tuple[Array, Array]:
        """Prediction intervals of a label, noise included.

        Parameters
        ----------
        X : array (N, d)
            Points, in the user's units.
        level : float
            The probability, between 0 and 1.

        Returns
        -------
        low : array (N,)
            Lower ends.
        high : array (N,)
            Upper ends.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before the first fit.
        ValueError
            If X is not finite, or has other columns than in `fit`.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import EnsembleGPRegressor
        >>> X = np.linspace(0, 6, 13)[:, None]
        >>> model = EnsembleGPRegressor().fit(X, np.sin(X[:, 0]))
        >>> low, high = model.predict_interval([[2.2]], level=0.95)
        >>> bool(low[0] < np.sin(2.2) < high[0])
        True
        """
        check_is_fitted(self)
        return self.model_.predict_interval(self._table(X), level)

    def predict_quantiles(self, X: ArrayLike, levels: ArrayLike) -> Array:
        """Quantiles of a label, noise included.

        Parameters
        ----------
        X : array (N, d)
            Points, in the user's units.
        levels : list of floats
            Probabilities, between 0 and 1.

        Returns
        -------
        array (levels, N)
            A row for each level, in units of y.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before the first fit.
        ValueError
            If X is not finite, or has other columns than in `fit`.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import EnsembleGPRegressor
        >>> X = np.linspace(0, 6, 13)[:, None]
        >>> model = EnsembleGPRegressor().fit(X, np.sin(X[:, 0]))
        >>> model.predict_quantiles([[2.2], [3.9]], [0.1, 0.5, 0.9]).shape
        (3, 2)
        """
        check_is_fitted(self)
        return self.model_.predict_quantiles(self._table(X), levels)

    def predict_noise(self, X: ArrayLike) -> Array:
        """Standard deviation of the noise of a label.

        It is constant unless the labels are noisier in some regions than in others.

        Parameters
        ----------
        X : array (N, d)
            Points, in the user's units.

        Returns
        -------
        array (N,)
            In units of y.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before the first fit.
        ValueError
            If X is not finite, or has other columns than in `fit`.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import EnsembleGPRegressor
        >>> X = np.linspace(0, 6, 13)[:, None]
        >>> model = EnsembleGPRegressor().fit(X, np.sin(X[:, 0]))
        >>> bool(model.predict_noise([[2.2]])[0] < 0.01)
        True
        """
        check_is_fitted(self)
        return self.model_.predict_noise(self._table(X))

    def log_predictive_density(self, X: ArrayLike, y: ArrayLike) -> Array:
        """Log predictive density of labels, noise included; higher is better.

        Parameters
        ----------
        X : array (N, d)
            Points, in the user's units.
        y : array (N,)
            Labels there.

        Returns
        -------
        array (N,)
            Per unit of y: rescaling y shifts it by a constant.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before the first fit.
        ValueError
            If X is not finite, or has other columns than in `fit`.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import EnsembleGPRegressor
        >>> X = np.linspace(0, 6, 13)[:, None]
        >>> model = EnsembleGPRegressor().fit(X, np.sin(X[:, 0]))
        >>> near, far = model.log_predictive_density([[2.2], [2.2]], [np.sin(2.2), 5.0])
        >>> bool(near > far)
        True
        """
        check_is_fitted(self)
        return self.model_.log_predictive_density(*self._check_labels(X, y))

    @property
    def ensemble_(self) -> Ensemble:
        """The trained ensemble (`weal.core`)."""
        return self.model_.ensemble_

    @property
    def scaling_(self) -> Scaling:
        """The scaling of inputs and labels."""
        return self.model_.scaling

    @property
    def dictionary_(self) -> tuple[Kernel, ...]:
        """The kernels of the M experts."""
        return self.model_.dictionary_

    @property
    def n_labels_(self) -> int:
        """Number of labels."""
        return self.model_.n_labels_

    @property
    def weights_(self) -> Array:  # (M,)
        """Probability of each expert given the labels."""
        return self.model_.weights_

    @property
    def outlier_probability_(self) -> Array:  # (n_labels_,)
        """Outlier probability of each label, in the order the labels were added."""
        return self.model_.outlier_probability_

    @property
    def magnitude_(self) -> Array:  # (M,)
        """Magnitude of each expert, for scaled labels; the posterior mean if integrated."""
        return self.model_.magnitude_

    @property
    def noise_(self) -> Array:  # (M,)
        """Noise sd of each expert, in units of the scaled labels."""
        return self.model_.noise_

    def input_importance(self) -> dict[str, float]:
        """The posterior probability that each input matters, largest first.

        Experts on all inputs and on subsets of them are weighted by evidence; the probability of an
        input is the total weight of the experts that use it. Every expert uses all inputs if
        kernels are given, if there are one or two inputs, or if there are too few labels.

        Returns
        -------
        dict
            Probabilities by column name of the frame in `fit`, or by "x0", "x1", ... The columns of
            a category have the same value.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import EnsembleGPRegressor
        >>> X = np.random.default_rng(0).uniform(-1, 1, (40, 4))
        >>> y = np.sin(3 * X[:, 1] + X[:, 2])
        >>> model = EnsembleGPRegressor().fit(X, y)
        >>> {name: round(p, 2) for name, p in model.input_importance().items()}
        {'x1': 1.0, 'x2': 1.0, 'x0': 0.0, 'x3': 0.0}
        """
        check_is_fitted(self)
        names = input_names(self) or [f"x{n}" for n in range(self.n_features_in_)]
        each = self.model_.input_importance_
        order = np.argsort(-each, kind="stable").tolist()
        return {names[n]: float(each[n]) for n in order}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, without pickle; `load` reads it.

        Parameters
        ----------
        path : path
            The file. An existing file is replaced atomically.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before the first fit.
        """
        check_is_fitted(self)
        params = model_file.pack_params(self.get_params(deep=False))
        header, arrays = model_file.pack(self.model_)
        archive.write(path, model_file.MODEL_KIND, {"params": params, **header}, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a model that `save` wrote.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        EnsembleGPRegressor
            It gives the same predictions as the saved model.

        Raises
        ------
        UnreadableFile
            If the file is not a model, is damaged, or was written by a newer version of weal.

        Examples
        --------
        >>> import os, tempfile
        >>> import numpy as np
        >>> from weal import EnsembleGPRegressor
        >>> X = np.linspace(0, 6, 13)[:, None]
        >>> model = EnsembleGPRegressor().fit(X, np.sin(X[:, 0]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(os.path.join(folder, "m.weal"))
        ...     again = EnsembleGPRegressor.load(os.path.join(folder, "m.weal"))
        >>> bool((again.predict(X) == model.predict(X)).all())
        True
        """
        header, arrays = archive.read(path, model_file.MODEL_KIND)
        params, model = model_file.unpack_with_params(header, arrays)
        estimator = cls(**params)
        estimator._hold(model)
        return estimator

    def _table(self, X: ArrayLike) -> Array:
        return check_inputs(self, X)

    def _check_labels(self, X: ArrayLike, y: ArrayLike, reset: bool = False) -> tuple[Array, Array]:
        form = {"dtype": np.float64, "order": "C"}  # sums, to the last bit, depend on the order
        with advice_on_text(self):
            X, y = validate_data(self, X, y, reset=reset, y_numeric=True, **form)
        return np.asarray(X), check_no_gaps(y)


def check_inputs(estimator: BaseEstimator, X: ArrayLike) -> Array:
    """Inputs (N, d) of a fitted estimator as numbers, checked."""
    with advice_on_text(estimator):
        table: Array = validate_data(estimator, X, reset=False, dtype=np.float64, order="C")
    return table


def input_names(estimator: BaseEstimator) -> tuple[str, ...] | None:
    """Names of the inputs of an estimator that was fitted to a frame."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(str(name) for name in names)


def integer_state(random_state: object, seed: int = 0) -> int:
    """A random_state of scikit-learn as an integer: `seed` for None, one draw from a generator."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if random_state is None or random_state is np.random:
        return seed
    check_random_state(random_state)
    return cast(int, random_state)


@contextmanager
def advice_on_text(estimator: BaseEstimator) -> Iterator[None]:
    """Replace numpy's error on text by one that says what to do."""
    try:
        yield
    except ValueError as error:
        if "could not convert string to float" not in str(error):
            raise
        cell = str(error).partition(": ")[2]
        raise ValueError(
            f"{type(estimator).__name__} needs numbers, but the data contain text such as {cell}. "
            "Encode the text first, for example with scikit-learn's OneHotEncoder, or use "
            "weal.ActiveLearner, which reads frames with text, categories and dates"
        ) from error
