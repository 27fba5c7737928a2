"""`FeatureEncoder`: random features with secret frequencies, to learn without the inputs.

The owner keeps inputs, scaling and frequencies, and hands out phi(x) for every expert; a model with
approximation="encoded" learns from those rows alone, and predicts and asks exactly as one that saw
the inputs would, with the same hyperparameters.

What this does not protect. It is not encryption. Rows with equal inputs are equal, near inputs have
near rows (the inner product of two rows IS the kernel, so all distances can be read off), and who
knows the kernel, or some pairs of input and row, can estimate the frequencies and from them the
inputs, the better the more features there are. It hides the numbers from a glance, not from
somebody who wants them.
"""

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from weal.core.arrays import Array
from weal.core.paper import kernels, random_features
from weal.core.paper.kernels import Kernel
from weal.core.scaling import Scaling, from_data
from weal.errors import UnreadableFile
from weal.formats import archive
from weal.model.checks import check_dictionary, check_n_frequencies
from weal.model.scaled_data import check_distance

ENCODER_KIND = "FeatureEncoder"


class FeatureEncoder(TransformerMixin, BaseEstimator):
    """Encodes inputs (N, d) as random features (N, M F) with secret frequencies.

    Parameters
    ----------
    kernels : sequence of Kernel, or None
        One expert each; if None, the default dictionary of EnsembleGPRegressor.
    n_frequencies : int
        Frequencies of each expert, as in EnsembleGPRegressor.
    orthogonal : bool
        As in EnsembleGPRegressor.
    random_state : int, RandomState or None
        Decides the frequencies: the same one gives the same features. They are the secret: take one
        that nobody can guess, or None.

    Attributes
    ----------
    dictionary_ : tuple of M Kernels
        The kernels.
    scaling_ : Scaling
        Of the inputs.
    frequencies_ : array (M, D, d)
        The secret.

    Notes
    -----
    It is not encryption. Rows with equal inputs are equal, near inputs have near rows, and who
    knows the kernel, or some pairs of input and row, can estimate the frequencies and from them
    the inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from weal import EnsembleGPRegressor, FeatureEncoder
    >>> X = np.linspace(0, 6, 25)[:, None]
    >>> encoder = FeatureEncoder(n_frequencies=50, random_state=7).fit(X)   # the owner's
    >>> model = EnsembleGPRegressor(approximation="encoded", n_frequencies=50)
    >>> model = model.fit(encoder.transform(X), np.sin(X[:, 0]))            # sees no X
    >>> bool(abs(model.predict(encoder.transform([[2.2]]))[0] - np.sin(2.2)) < 0.1)
    True
    """

    def __init__(
        self,
        kernels: Sequence[Kernel] | None = None,
        *,
        n_frequencies: int = 200,
        orthogonal: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.kernels = kernels
        self.n_frequencies = n_frequencies
        self.orthogonal = orthogonal
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Fit the scaling to the inputs, and draw the frequencies.

        Parameters
        ----------
        X : array (N, d)
            All inputs that are known.
        y : None
            Not used; scikit-learn's pipelines give it.

        Returns
        -------
        FeatureEncoder
            Itself.

        Raises
        ------
        ValueError
            If X is not finite, or a parameter is wrong.
        """
        X = np.asarray(validate_data(self, X, dtype=np.float64))
        d = X.shape[1]
        check_n_frequencies(self.n_frequencies)
        given = self.kernels
        self.dictionary_ = (
            kernels.default_dictionary(d) if given is None else check_dictionary(given, d)
        )
        self.scaling_ = from_data(X, np.zeros(1))
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.frequencies_ = random_features.draw_frequencies(
            self.dictionary_, d, self.n_frequencies, seed, self.orthogonal
        )
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Features (N, M F) of all experts, side by side.

        Parameters
        ----------
        X : array (N, d)
            Inputs.

        Returns
        -------
        array (N, 2 M D)
            A row for each point, for a model with approximation="encoded".

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If X is not finite, or has other columns than `fit` saw.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import FeatureEncoder, Kernel
        >>> X = np.linspace(0, 6, 25)[:, None]
        >>> encoder = FeatureEncoder([Kernel("rbf", 1.0)], n_frequencies=50, random_state=7).fit(X)
        >>> encoder.transform(X).shape
        (25, 100)
        """
        check_is_fitted(self)
        table = np.asarray(validate_data(self, X, reset=False, dtype=np.float64))
        M, D, _ = self.frequencies_.shape
        Z = np.empty((len(table), M, 2 * D))
        for rows in random_features.blocks(len(table), 2 * 8 * M * 2 * D):
            scaled = check_distance("X", self.scaling_.inputs(table[rows]))
            # [1, claim:inputs], though it is no encryption
            Z[rows] = random_features.features(scaled, self.frequencies_).transpose(1, 0, 2)
        return Z.reshape(len(table), -1)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the encoder, with its secret frequencies, to a file without pickle.

        Parameters
        ----------
        path : path
            The file; one that is there is replaced, whole or not at all.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        """
        check_is_fitted(self)
        names = [str(name) for name in getattr(self, "feature_names_in_", [])]
        header = {
            "kernels": [_kernel_fields(kernel) for kernel in self.dictionary_],
            "orthogonal": bool(self.orthogonal),
            "input_names": names,
        }
        arrays = {
            "zeta": self.frequencies_,
            "x_mean": self.scaling_.x_mean,
            "x_sd": self.scaling_.x_sd,
        }
        archive.write(path, ENCODER_KIND, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The encoder that `save` wrote.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        FeatureEncoder
            It gives the features that the one that was saved would.

        Raises
        ------
        UnreadableFile
            If the file is none of an encoder, was damaged, or is of a newer weal.
        """
        header, arrays = archive.read(path, ENCODER_KIND)
        try:
            return cls._unpack(header, arrays)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise UnreadableFile(
                f"{path} is one of weal's, but not a whole encoder ({type(error).__name__}: "
                f"{error}); restore it from a copy, or save it again"
            ) from error

    @classmethod
    def _unpack(cls, header: dict[str, Any], arrays: dict[str, Array]) -> Self:
        zeta = arrays["zeta"]
        plain = [(f, tuple(s) if isinstance(s, list) else s, *a) for f, s, *a in header["kernels"]]
        dictionary = tuple(Kernel(*parts) for parts in plain)
        encoder = cls(dictionary, n_frequencies=zeta.shape[1], orthogonal=header["orthogonal"])
        encoder.dictionary_, encoder.frequencies_ = dictionary, zeta
        encoder.scaling_ = Scaling(arrays["x_mean"], arrays["x_sd"])
        encoder.n_features_in_ = zeta.shape[2]
        if header["input_names"]:
            encoder.feature_names_in_ = np.array(header["input_names"], dtype=object)
        return encoder


def _kernel_fields(kernel: Kernel) -> list[Any]:
    """The fields of a kernel in a file, with widths where there are some."""
    plain = [kernel.family, kernel.length_scale, kernel.alpha, kernel.offset]
    return [*plain, list(kernel.widths)] if kernel.widths else plain
