"""The ensemble as a scikit-learn regressor: a thin shell over `Model`.

    fit           scale; settle the experts by these labels; fold
    partial_fit   fold more labels; now and then settle anew experts that follow the labels (`fold`)
    predict       mixture mean and sd, in the user's units

The formulas are in `weal.core`; `fit` and `partial_fit` are the same fold, so that
fit(X, y) equals fit(X[:k], y[:k]) and partial_fit of the rest, kernels, hyperparameters and scaling
given.
"""

import os
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from weal.core import kernels
from weal.core.arrays import Array
from weal.core.ensemble import Ensemble
from weal.core.kernels import Kernel
from weal.core.scaling import Scaling
from weal.core.tuned import RATIOS
from weal.model import archive, model_file, units
from weal.model.checks import check_no_gaps, check_sure
from weal.model.fold import begin, learn
from weal.model.model import Model
from weal.model.parameters import Parameters, parameters_of
from weal.model.setting import MAGNITUDE_BOUNDS, NOISE_BOUNDS

Bounds = tuple[float, float]


class EnsembleGPRegressor(RegressorMixin, BaseEstimator):
    """Regression with an ensemble of Gaussian processes that the labels weigh.

    Parameters
    ----------
    kernels : sequence of Kernel, or None
        The dictionary: one expert each (and for each of noise_ratios). None: the experts follow
        the labels, lengthscales of single inputs included.
    approximation : "auto", "exact", "inducing", "features" or "encoded"
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
        inverse-gamma prior and adapts with every label. None: what makes the labels of the first
        fit likeliest, as in the paper.
    noise_ratios : sequence of floats
        With an integrated magnitude: ratios of noise variance to magnitude, an expert for each.
    noise : float, array of M floats, or None
        Otherwise: sd of the noise, in the same units, given or (None) fitted with the magnitude.
    fit_length_scale : bool
        Fit one lengthscale for each kernel too (the single-GP baseline).
    magnitude_bounds, noise_bounds : pair of floats
        Bounds of what is fitted: of the magnitude, and of the sd of the noise.
    prior_weights : array of M floats, or None
        Weights before the first label; None: equal.
    temper : float
        Power, up to 1, of the densities that the weights are multiplied by; less than 1 keeps
        the weights from settling on one expert.
    condition : bool
        Bend input columns with heavy tails (`weal.core.scaling`).
    warp : None, "asinh" or "auto"
        Bend labels too, for those with a long tail: y -> asinh((y - median) / spread), and all that
        is predicted back. Auto: while 30 labels or more are far likelier so, where experts follow
        the labels; with given kernels it bends nothing.
    outliers : bool
        Labels may be wrong (a typo, another unit): where experts follow the labels, those that the
        evidence speaks against are set aside, and come back should it change. False: every label
        is believed.
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
    n_labels_ : number of labels told
    outlier_probability_ : (n_labels_,) of each label, in the order told, of being wrong
    model_ : Model, the same as a value that does not need scikit-learn

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
        noise_ratios: Sequence[float] = RATIOS,
        fit_length_scale: bool = False,
        magnitude_bounds: Bounds = MAGNITUDE_BOUNDS,
        noise_bounds: Bounds = NOISE_BOUNDS,
        prior_weights: ArrayLike | None = None,
        temper: float = 1.0,
        condition: bool = True,
        warp: str | None = None,
        outliers: bool = True,
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
        """Forget everything and learn from the labels y (N,) of the points X (N, d).

        `X_unlabelled` (rows without labels, such as the pool) helps to scale the inputs.
        `sample_noise` is the sd (N,) of what is known of each label's noise, such as the spread
        of replicates over the root of their number, in units of y; fitted noise comes on top.
        `sure` (N,) are labels that are never taken for outliers.
        A fit that is refused leaves the model as it was.
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
        X, y = self._labelled(X, y, reset=True)
        known = X if X_unlabelled is None else np.concatenate([X, self._table(X_unlabelled)])
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        parameters = self.parameters(X.shape[1])
        checked = check_sure(sure, len(y))
        scaling = parameters.scaling_of(known, y, checked)
        scaled = units.scaled(scaling, X, y, sample_noise)
        fold = begin(parameters.setting, *scaled, seed, checked)
        self.model_ = Model(fold, scaling, self._columns())

    def parameters(self, d: int, seed: int = 0) -> Parameters:
        """The parameters as a value, checked for d inputs.

        `seed` stands where there is no random_state; of a generator one number is drawn.
        """
        state: Any = self.random_state
        if isinstance(state, np.random.RandomState):
            state = int(state.randint(2**31 - 1))
        elif state is None or state is np.random:
            state = seed
        else:
            check_random_state(state)
        return parameters_of({**self.get_params(deep=False), "random_state": state}, d)

    @classmethod
    def of(cls, model: Model) -> Self:
        """An estimator that holds this model, such as that of an `ActiveLearner`."""
        params = Parameters(model.fold.setting).to_dict()
        estimator = cls(**{**params, "random_state": None})
        estimator._hold(model)
        return estimator

    def _hold(self, model: Model) -> None:
        self.model_, self.n_features_in_ = model, model.n_features_in_
        if model.columns is not None:
            self.feature_names_in_ = np.array(model.columns, dtype=object)

    def _columns(self) -> tuple[str, ...] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(str(name) for name in names)

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_noise: ArrayLike | None = None,
        sure: ArrayLike | None = None,
    ) -> Self:
        """Learn from more labels; one point (d,) with one label is welcome too.

        Scaling stays as the first fit left it, and with given kernels dictionary and noise too;
        without, the experts are settled anew after every seventh or so of the labels.
        """
        if np.ndim(y) == 0:
            X, y = np.atleast_2d(X) if np.ndim(X) < 2 else X, np.atleast_1d(y)
        if not hasattr(self, "model_"):
            return self.fit(X, y, sample_noise=sample_noise, sure=sure)
        X, y = self._labelled(X, y)
        scaled = units.scaled(self.scaling_, X, y, sample_noise)
        fold = learn(self.model_.fold, *scaled, check_sure(sure, len(y)))
        self.model_ = replace(self.model_, fold=fold)
        return self

    def predict(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Mean (N,) of f at X, and with `return_std` the sd (N,) of f (not of a noisy label)."""
        check_is_fitted(self)
        return self.model_.predict(self._table(X), return_std)

    def predict_interval(self, X: ArrayLike, level: float = 0.9) -> tuple[Array, Array]:
        """Ends (N,), (N,) of intervals that hold a label at X with that probability."""
        check_is_fitted(self)
        return self.model_.predict_interval(self._table(X), level)

    def predict_quantiles(self, X: ArrayLike, levels: ArrayLike) -> Array:
        """Quantiles (levels, N) of a label at X (N, d), noise included, in units of y."""
        check_is_fitted(self)
        return self.model_.predict_quantiles(self._table(X), levels)

    def log_predictive_density(self, X: ArrayLike, y: ArrayLike) -> Array:
        """Log density (N,) of the labels y (N,) at X (N, d), noise included, in units of y."""
        check_is_fitted(self)
        return self.model_.log_predictive_density(*self._labelled(X, y))

    @property
    def ensemble_(self) -> Ensemble:
        """The state of the core."""
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
        """Number of labels folded in."""
        return self.model_.n_labels_

    @property
    def weights_(self) -> Array:  # (M,)
        """Probability of each expert given the labels."""
        return self.model_.weights_

    @property
    def outlier_probability_(self) -> Array:  # (n_labels_,)
        """The probability of each label, in the order told, of being wrong."""
        return self.model_.outlier_probability_

    @property
    def magnitude_(self) -> Array:  # (M,)
        """Magnitude of each expert, in units of the scaled labels; its mean where integrated."""
        return self.model_.magnitude_

    @property
    def noise_(self) -> Array:  # (M,)
        """Noise sd of each expert, in units of the scaled labels."""
        return self.model_.noise_

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, without pickle; `load` reads it."""
        check_is_fitted(self)
        params = model_file.pack_params(self.get_params(deep=False))
        header, arrays = model_file.pack(self.model_)
        archive.write(path, model_file.KIND, {"params": params, **header}, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The model that `save` wrote; UnreadableFile when the file is anything else."""
        header, arrays = archive.read(path, model_file.KIND)
        params, model = model_file.unpack_with_params(header, arrays)
        estimator = cls(**params)
        estimator._hold(model)
        return estimator

    def _table(self, X: ArrayLike) -> Array:
        table: Array = validate_data(self, X, reset=False, dtype=np.float64, order="C")
        return table

    def _labelled(self, X: ArrayLike, y: ArrayLike, reset: bool = False) -> tuple[Array, Array]:
        form = {"dtype": np.float64, "order": "C"}  # sums, to the last bit, depend on the order
        X, y = validate_data(self, X, y, reset=reset, y_numeric=True, **form)
        return np.asarray(X), check_no_gaps(y)
