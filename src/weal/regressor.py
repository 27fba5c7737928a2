"""The ensemble as a scikit-learn regressor.

    fit           scale the data, select the experts for these labels, train them
    partial_fit   add labels, and select experts again when that is due (`weal.model.training`)
    predict       mean, and sd or covariance, of the mixture, in the user's units
    sample_y      functions drawn from it

The formulas are in `weal.core`. fit(X, y) equals fit(X[:k], y[:k]) and partial_fit of the rest
where kernels, hyperparameters and scaling are given.
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
    """Regression with an ensemble of Gaussian processes, weighted by their evidence.

    Parameters
    ----------
    kernels : sequence of Kernel, or None
        The dictionary: one expert each (and for each of noise_ratios). If None, the experts follow
        the labels, lengthscales of single inputs included.
    approximation : {"auto", "exact", "inducing", "features", "encoded"}
        Exact: no error of approximation, for up to some ten thousand labels. Inducing: some of the
        points labelled at a fit or refresh stand for all. Random features: those of the paper. With
        these two a label costs the same however many came before. Auto: exact, and beyond 2000
        labels inducing where that loses nothing, or where exact experts take more than 1 GiB.
        Encoded: X holds random features that a `FeatureEncoder` made; the model sees neither inputs
        nor kernels.
    n_frequencies : int
        Frequencies D of an expert on features; it has 2 D features.
    orthogonal : bool
        Orthogonal frequencies instead of independent ones: a better kernel at the same D.
    magnitude : "integrated", None, float or array of M floats
        Magnitude of the experts, in units of the scaled labels (sd 1). Integrated: it has an
        inverse-gamma prior and adapts with every label. If None, what makes the labels of the first
        fit likeliest, as in the paper.
    noise : float, array of M floats, or None
        With another magnitude than an integrated one: sd of the noise, in the same units, given or
        (None) fitted with the magnitude.
    noise_ratios : sequence of floats
        With an integrated magnitude: ratios of noise variance to magnitude, an expert for each.
    fit_length_scale : bool
        Fit one lengthscale for each kernel too (the single-GP baseline).
    magnitude_bounds : pair of floats
        Bounds of a magnitude that is fitted.
    noise_bounds : pair of floats
        Bounds of the sd of the noise, where it is fitted.
    prior_weights : array of M floats, or None
        Weights before the first label; if None, equal.
    temper : float
        Power, up to 1, of the densities that the weights are multiplied by; less than 1 keeps
        the weights from settling on one expert.
    condition : bool
        Transform input columns with heavy tails (`weal.core.scaling`).
    warp : None, "asinh" or "auto"
        Transform labels too, those with a long tail: y -> asinh((y - median) / spread), and all
        that is predicted back. Auto: while 30 labels or more are far likelier so, where experts
        follow the labels; with given kernels it transforms nothing. If None, never.
    outliers : bool
        Labels may be wrong (a typo, another unit): where experts follow the labels, those that the
        evidence speaks against are set aside, and come back should it change. False: every label
        is believed.
    model_version : {"0.3", "0.2"}
        Which version's classes of models experts are selected from. Files and campaigns that weal
        0.2 wrote keep "0.2", so that they predict what they predicted: no subsets of the inputs,
        no linear trend, one lengthscale for each level of a category, and even noise.
    scaling : Scaling or None
        Fixed locations and scales; if None, from the data of the first fit.
    random_state : int, RandomState or None
        Seed of the random features.

    Attributes
    ----------
    weights_ : array (M,)
        Probability of each expert given the labels.
    dictionary_ : tuple of M Kernels
        The kernels of the experts.
    magnitude_ : array (M,)
        Magnitude of each expert, in units of the scaled labels; its mean where integrated.
    noise_ : array (M,)
        Noise sd of each expert, in the same units.
    scaling_ : Scaling
        The scaling in use.
    n_labels_ : int
        Number of labels told.
    outlier_probability_ : array (t,)
        The probability of each label, in the order told, of being wrong.
    model_ : Model
        The same as a value that does not need scikit-learn.

    See Also
    --------
    ActiveLearner : Chooses whose label is worth most, with this model.
    FeatureEncoder : Inputs that the model does not see.

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

        Magnitude and noise come from the first fit, within scikit-learn's default bounds, and
        stay; the first labels go through the same weight update as all others.

        Parameters
        ----------
        squared_grid : bool
            Whether the grid is read as squared lengthscales.
        **changes
            Any other parameter, in place of the paper's.

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

        A fit that is refused leaves the model as it was.

        Parameters
        ----------
        X : array (N, d)
            Points, in the user's units.
        y : array (N,)
            Their labels.
        X_unlabelled : array (U, d) or None
            Rows without labels, such as the pool: they help to scale the inputs.
        sample_noise : array (N,) or None
            Sd of what is known of each label's noise, such as the spread of replicates over the
            root of their number, in units of y; fitted noise comes on top.
        sure : array (N,) of bools, or None
            Labels that are never taken for outliers.

        Returns
        -------
        EnsembleGPRegressor
            Itself.

        Raises
        ------
        ValueError
            If X or y is not finite, shapes differ, or a parameter is wrong.

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
        """The parameters as a value, checked.

        Parameters
        ----------
        d : int
            Number of inputs.
        seed : int
            Stands where there is no random_state; of a generator one number is drawn.

        Returns
        -------
        weal.model.parameters.Parameters
            What `weal.ActiveLearner` takes of a model.

        Raises
        ------
        ValueError
            If a parameter is wrong.
        """
        state = integer_state(self.random_state, seed)
        return parameters_of({**self.get_params(deep=False), "random_state": state}, d)

    @classmethod
    def of(cls, model: Model) -> Self:
        """A fitted estimator with this model, such as that of an `ActiveLearner`.

        Parameters
        ----------
        model : Model
            As `ActiveLearner.model` and `Campaign.model` give it.

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

        Scaling stays as the first fit left it, and with given kernels dictionary and noise too;
        without, the experts are refitted after every seventh or so of the labels.

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
            Itself.

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
            Whether the sd of f is wanted too. It is that of f, not of a noisy label.
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
            If X is not finite, or has other columns than the labels came with.

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
            If X is not finite, or has other columns than the labels came with.

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

        It is the same everywhere, unless labels scatter more in some places than in others.

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
            If X is not finite, or has other columns than the labels came with.

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
            In units of y: it changes by a constant where y is rescaled.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before the first fit.
        ValueError
            If X is not finite, or has other columns than the labels came with.

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
        """The trained ensemble of the core."""
        return self.model_.ensemble_

    @property
    def scaling_(self) -> Scaling:
        """The scaling in use."""
        return self.model_.scaling

    @property
    def dictionary_(self) -> tuple[Kernel, ...]:
        """The kernels of the M experts."""
        return self.model_.dictionary_

    @property
    def n_labels_(self) -> int:
        """Number of labels told."""
        return self.model_.n_labels_

    @property
    def weights_(self) -> Array:  # (M,)
        """Probability of each expert given the labels."""
        return self.model_.weights_

    @property
    def outlier_probability_(self) -> Array:  # (n_labels_,)
        """Outlier probability of each label, in the order told."""
        return self.model_.outlier_probability_

    @property
    def magnitude_(self) -> Array:  # (M,)
        """Magnitude of each expert, in units of the scaled labels; its mean where integrated."""
        return self.model_.magnitude_

    @property
    def noise_(self) -> Array:  # (M,)
        """Noise sd of each expert, in units of the scaled labels."""
        return self.model_.noise_

    def input_importance(self) -> dict[str, float]:
        """The posterior probability that each input matters, the largest first.

        Experts on all inputs and on subsets of them are weighed by evidence; the probability of an
        input is the weight of the experts to which it matters. All inputs matter to every expert
        where kernels are given, with one or two inputs, and before there are labels enough.

        Returns
        -------
        dict
            By the name of a column of the frame that the model was fitted to, or "x0", "x1", ...
            The columns of a category have the same one.

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
            The file; one that is there is replaced, whole or not at all.

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
        """The model that `save` wrote.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        EnsembleGPRegressor
            It predicts what the one that was saved would.

        Raises
        ------
        UnreadableFile
            If the file is none of a model, was damaged, or is of a newer weal.

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
    """A random_state of scikit-learn as a number: `seed` for none, a draw of a generator."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if random_state is None or random_state is np.random:
        return seed
    check_random_state(random_state)
    return cast(int, random_state)


@contextmanager
def advice_on_text(estimator: BaseEstimator) -> Iterator[None]:
    """Replace numpy's error on text by one that names the way out."""
    try:
        yield
    except ValueError as error:
        if "could not convert string to float" not in str(error):
            raise
        cell = str(error).partition(": ")[2]
        raise ValueError(
            f"{type(estimator).__name__} takes numbers, and the data hold text, such as {cell}: "
            "weal.ActiveLearner reads frames with text, categories and dates; or encode them "
            "before, with weal.FeatureEncoder or an encoder of scikit-learn"
        ) from error
