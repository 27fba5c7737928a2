"""`FeatureEncoder`: random features with secret frequencies, to learn without the inputs.

The owner keeps inputs, scaling and frequencies, and shares phi(x) for every expert. A model with
approximation="encoded" is trained on these rows alone. Its predictions and queries are exactly
those of a model on the inputs with the same hyperparameters.

This is not encryption. Equal inputs give equal rows and near inputs give near rows: the inner
product of two rows is the kernel, which reveals all distances. Anybody who knows the kernel, or
some pairs of input and row, can estimate the frequencies and then the inputs, more accurately with
more features. The encoding protects against a casual reader, not against an attacker.
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
        The kernels, one expert for each; if None, the default kernels of EnsembleGPRegressor.
    n_frequencies : int
        Number of frequencies of each expert, as in EnsembleGPRegressor.
    orthogonal : bool
        As in EnsembleGPRegressor.
    random_state : int, RandomState or None
        Seed of the frequencies, which are the secret: choose a seed that nobody can guess, or None.
        The same seed gives the same features.

    Attributes
    ----------
    dictionary_ : tuple of M Kernels
        The kernels.
    scaling_ : Scaling
        The scaling of the inputs.
    frequencies_ : array (M, D, d)
        The secret frequencies.

    Notes
    -----
    This is not encryption. Equal inputs give equal rows, near inputs give near rows, and anybody
    who knows the kernel, or some pairs of input and row, can estimate the frequencies and then the
    inputs.

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
            All available inputs.
        y : None
            Ignored; present for scikit-learn pipelines.

        Returns
        -------
        FeatureEncoder
            The encoder.

        Raises
        ------
        ValueError
            If X is not finite, or a parameter is invalid.
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
            If X is not finite, or has other columns than in `fit`.

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
            # [1, claim:inputs]; this is not encryption
            Z[rows] = random_features.features(scaled, self.frequencies_).transpose(1, 0, 2)
        return Z.reshape(len(table), -1)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the encoder, with its secret frequencies, to a file without pickle.

        Parameters
        ----------
        path : path
            The file. An existing file is replaced atomically.

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
        """Load an encoder that `save` wrote.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        FeatureEncoder
            It gives the same features as the saved encoder.

        Raises
        ------
        UnreadableFile
            If the file is not an encoder, is damaged, or was written by a newer version of weal.
        """
        header, arrays = archive.read(path, ENCODER_KIND)
        try:
            return cls._unpack(header, arrays)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise UnreadableFile(
                f"{path} is a weal file, but not a complete encoder ({type(error).__name__}: "
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
