"""The ensemble as a scikit-learn classifier.

    fit a one-vs-rest model for each class (one model for two classes): labels +1 and -1
    predict_proba   probabilities of the classes
    leave_one_out   each label predicted from all others: log loss, accuracy, calibration

The formulas are in `weal.core.extensions.pass_fail`, the models in `weal.model.class_model`.
"""

import os
from collections.abc import Sequence
from copy import copy
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from weal.core.arrays import Array
from weal.core.constants import NOISE_RATIO_GRID
from weal.core.extensions.class_scores import ClassScores, Codes, class_scores
from weal.core.paper.kernels import Kernel
from weal.formats import class_file
from weal.formats.class_file import ClassifierParts
from weal.model import class_model
from weal.model.class_model import LABEL_NOISE_SD
from weal.model.model import Model
from weal.model.parameters import Parameters, parameters_of
from weal.regressor import advice_on_text, check_inputs, input_names, integer_state

Classes = NDArray[np.generic]  # whatever the user's labels are: text, whole numbers, booleans


class EnsembleGPClassifier(ClassifierMixin, BaseEstimator):
    """Gaussian process classification with ensembles of kernels, weighted by their evidence.

    It is designed for few labels. On 14 tables with pass/fail results and 10 to 80 labels, its log
    loss equalled that of random forests, and was lower at 80 labels. It was lower than that of
    scikit-learn's Gaussian process classifier on all 14 tables and than that of logistic regression
    on 11. On linearly separable classes, such as wine and digits, logistic regression was better
    (`benchmarks/results_of_runs.py`).

    Parameters
    ----------
    kernels : sequence of Kernel, or None
        As in `EnsembleGPRegressor`. If None, the experts are selected from the labels.
    approximation : {"auto", "exact", "inducing", "features"}
        As in `EnsembleGPRegressor`.
    n_frequencies : int
        Number of frequencies of an expert with random features.
    noise_ratios : sequence of floats
        Ratios of additional noise variance to magnitude, one expert for each, on top of the fixed
        noise of class labels.
    condition : bool
        Whether to transform input columns with heavy tails.
    classes : sequence, or None
        All classes, if some may have no labels yet: 12 passes and no fail then give a pass a
        probability of about 0.96. If None, the classes in the labels.
    random_state : int, RandomState or None
        Seed of the random features.

    Attributes
    ----------
    classes_ : array (K,)
        The classes, sorted.
    models_ : tuple of Model
        The one-vs-rest model of each class; for two classes only that of the second.
    slopes_ : array
        The slope of the probabilities of each model (`weal.core.extensions.pass_fail`).
    n_labels_ : int
        Number of labels.

    See Also
    --------
    EnsembleGPRegressor : The same for numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from weal import EnsembleGPClassifier
    >>> X = np.linspace(0, 6, 13)[:, None]
    >>> crystallised = np.where(X[:, 0] < 3.2, "no", "yes")
    >>> model = EnsembleGPClassifier().fit(X, crystallised)
    >>> model.predict([[1.0], [5.0]]).tolist()
    ['no', 'yes']
    >>> bool(model.predict_proba([[5.0]])[0, 1] > 0.9)
    True
    """

    models_: tuple[Model, ...]
    slopes_: Array
    classes_: Classes

    def __init__(
        self,
        kernels: Sequence[Kernel] | None = None,
        *,
        approximation: str = "auto",
        n_frequencies: int = 200,
        noise_ratios: Sequence[float] = NOISE_RATIO_GRID,
        condition: bool = True,
        classes: Sequence[object] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.kernels = kernels
        self.approximation = approximation
        self.n_frequencies = n_frequencies
        self.noise_ratios = noise_ratios
        self.condition = condition
        self.classes = classes
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, X_unlabelled: ArrayLike | None = None) -> Self:
        """Fit the models to labels.

        Parameters
        ----------
        X : array (N, d)
            Points, in the user's units.
        y : array (N,)
            Their classes: text, integers or booleans.
        X_unlabelled : array (U, d) or None
            Rows without labels, such as the pool; they are used for the scaling of the inputs.

        Returns
        -------
        EnsembleGPClassifier
            The estimator.

        Raises
        ------
        ValueError
            If X is not finite, y contains non-integer numbers, or a class that is not in `classes`.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import EnsembleGPClassifier
        >>> X = np.linspace(0, 6, 12)[:, None]
        >>> model = EnsembleGPClassifier(classes=["fail", "pass"]).fit(X, ["pass"] * 12)
        >>> model.predict_proba([[3.0]]).round(2).tolist()
        [[0.04, 0.96]]
        """
        draft = copy(self)
        draft._learn(X, y, X_unlabelled)
        self.__dict__ = draft.__dict__
        return self

    def _learn(self, X: ArrayLike, y: ArrayLike, X_unlabelled: ArrayLike | None) -> None:
        with advice_on_text(self):
            X, y = validate_data(self, X, y, dtype=np.float64, order="C")
        check_classification_targets(y)
        table = np.asarray(X)
        more = table[:0] if X_unlabelled is None else check_inputs(self, X_unlabelled)
        parameters = class_model.pass_fail_parameters(self._parameters(table.shape[1]))
        self.classes_, self._codes = _codes(np.asarray(y), self.classes)
        modelled = range(1, 2) if len(self.classes_) == 2 else range(len(self.classes_))
        labels = [np.where(self._codes == k, 1.0, -1.0) for k in modelled]
        known, sd = np.concatenate([table, more]), LABEL_NOISE_SD
        self.models_ = tuple(class_model.fit(parameters, table, one, sd, known) for one in labels)
        self.slopes_ = np.array([class_model.slope_of(model.trained) for model in self.models_])

    def _parameters(self, d: int) -> Parameters:
        given = self.get_params(deep=False)
        del given["classes"]
        return parameters_of({**given, "random_state": integer_state(self.random_state)}, d)

    def predict_proba(self, X: ArrayLike) -> Array:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array (N, d)
            Points, in the user's units.

        Returns
        -------
        array (N, K)
            In the order of `classes_`; each row sums to 1.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before the first fit.
        ValueError
            If X is not finite, or has other columns than in `fit`.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import EnsembleGPClassifier
        >>> X = np.linspace(0, 6, 13)[:, None]
        >>> model = EnsembleGPClassifier().fit(X, X[:, 0] > 3.2)
        >>> model.predict_proba([[1.0], [3.2], [5.0]]).shape
        (3, 2)
        """
        check_is_fitted(self)
        table = check_inputs(self, X)
        pairs = zip(self.models_, self.slopes_.tolist(), strict=True)
        each = [class_model.pass_probability(model, table, k) for model, k in pairs]
        return self._probabilities(each)

    def _probabilities(self, each: Sequence[Array]) -> Array:  # (N, K)
        """Probabilities of all classes, given those of the classes that have a model."""
        if len(self.classes_) == 2:
            return np.stack([1.0 - each[0], each[0]], axis=1)
        return class_model.normalised(np.stack(each, axis=1))

    def predict(self, X: ArrayLike) -> Classes:
        """Predict the most probable class.

        Parameters
        ----------
        X : array (N, d)
            Points, in the user's units.

        Returns
        -------
        array (N,)
            Classes, of the type of `y`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before the first fit.
        ValueError
            If X is not finite, or has other columns than in `fit`.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import EnsembleGPClassifier
        >>> X = np.linspace(0, 6, 13)[:, None]
        >>> EnsembleGPClassifier().fit(X, np.round(X[:, 0] / 3)).predict([[0.1], [5.9]]).tolist()
        [0.0, 2.0]
        """
        p = self.predict_proba(X)
        return np.asarray(self.classes_[p.argmax(axis=1)])

    def leave_one_out_proba(self) -> Array:
        """Leave-one-out probabilities: the classes of each label, predicted from all other labels.

        Experts and slopes are not fitted again without the label, which is slightly optimistic.

        Returns
        -------
        array (N, K)
            Rows in the order of the labels in `fit`, columns in the order of `classes_`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before the first fit.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import EnsembleGPClassifier
        >>> X = np.linspace(0, 6, 13)[:, None]
        >>> EnsembleGPClassifier().fit(X, X[:, 0] > 3.2).leave_one_out_proba().shape
        (13, 2)
        """
        check_is_fitted(self)
        pairs = zip(self.models_, self.slopes_.tolist(), strict=True)
        each = [class_model.left_out_pass_probability(model, k) for model, k in pairs]
        return self._probabilities(each)

    def leave_one_out(self) -> ClassScores:
        """Leave-one-out log loss, accuracy and calibration.

        Returns
        -------
        ClassScores
            With `log_loss`, `accuracy`, `baseline_log_loss` (of the class frequencies),
            `calibration` (bins: predicted probability, observed frequency, count) and
            `calibration_error`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before the first fit.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import EnsembleGPClassifier
        >>> X = np.linspace(0, 6, 13)[:, None]
        >>> scores = EnsembleGPClassifier().fit(X, X[:, 0] > 3.2).leave_one_out()
        >>> bool(scores.log_loss < scores.baseline_log_loss)
        True
        """
        return class_scores(self.leave_one_out_proba(), self._codes)

    @property
    def n_labels_(self) -> int:
        """Number of labels."""
        return len(self._codes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted models to one file, without pickle; `load` reads it.

        Parameters
        ----------
        path : path
            The file. An existing file is replaced atomically.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before the first fit.
        ValueError
            If classes are neither text, numbers nor booleans.
        """
        check_is_fitted(self)
        known = (self.models_, self.slopes_, self.classes_, self._codes, self.n_features_in_)
        names = input_names(self) or ()
        class_file.write(path, ClassifierParts(self.get_params(deep=False), *known, names))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a classifier that `save` wrote.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        EnsembleGPClassifier
            It gives the same predictions as the saved classifier.

        Raises
        ------
        UnreadableFile
            If the file is not a classifier, is damaged, or was written by a newer version of weal.

        Examples
        --------
        >>> import os, tempfile
        >>> import numpy as np
        >>> from weal import EnsembleGPClassifier
        >>> X = np.linspace(0, 6, 13)[:, None]
        >>> model = EnsembleGPClassifier().fit(X, X[:, 0] > 3.2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(os.path.join(folder, "c.weal"))
        ...     again = EnsembleGPClassifier.load(os.path.join(folder, "c.weal"))
        >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
        True
        """
        found = class_file.read(path)
        known = {name: one for name, one in found.params.items() if name != "model_version"}
        estimator = cls(**known)
        estimator.models_, estimator.slopes_ = found.models, found.slopes
        estimator.classes_, estimator._codes = found.classes, found.codes
        estimator.n_features_in_ = found.n_inputs
        if found.input_names:
            estimator.feature_names_in_ = np.array(found.input_names, dtype=object)
        return estimator


def _codes(y: Classes, given: Sequence[object] | None) -> tuple[Classes, Codes]:
    """The classes, sorted, and the positions of labels y (N,) among them."""
    if given is None:
        classes, codes = np.unique(y, return_inverse=True)
        return classes, codes.astype(np.intp)
    classes = np.unique(np.asarray(given))
    codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1).astype(np.intp)
    if (wrong := classes[codes] != y).any():
        raise ValueError(
            f"y has the class {y[wrong].tolist()[0]!r}, and the classes are {classes.tolist()!r}; "
            "list all classes in `classes`, or omit it"
        )
    return classes, codes
