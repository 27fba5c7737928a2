"""scikit-learn's GP as a rival, and scikit-activeml's greedy sampling on the same GP.

    k(x, x') = c exp(-1/2 sum_j (x_j - x'_j)^2 / l_j^2) + noise [x = x']

with c, the lengthscales l and the noise at the maximum of the marginal likelihood: one search from
scikit-learn's own start values, all 1, and three from random ones, as a careful user would do
(starting the noise at 1e-2 or 1e-5 made no consistent difference: six tasks, 3 realisations).
A prediction has the WhiteKernel's noise in it.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from weal.bench.peers_loop import Known
from weal.core.arrays import Array

RESTARTS = 3
CONSTANT_BOUNDS = (1e-3, 1e3)
PEER_LENGTHS = (1e-2, 1e3)
PEER_NOISES = (1e-8, 1e1)


@dataclass(frozen=True, slots=True, eq=False)
class SklearnModel:
    """A fitted GaussianProcessRegressor."""

    gp: Any

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Mean and variance of a label; rounding takes no variance below that of the noise."""
        with _quiet():
            mean, sd = self.gp.predict(X, return_std=True)
        return mean, np.maximum(sd**2, self.gp.kernel_.k2.noise_level)

    def told(self, X: Array, y: Array) -> Self:
        """The same kernel with all the labels so far."""
        return type(self)(with_kernel(self.gp.kernel_).fit(X, y))


def fit(X: Array, y: Array, rng: np.random.Generator) -> SklearnModel:
    """The GP whose hyperparameters have the largest marginal likelihood found."""
    gp = GaussianProcessRegressor(
        _kernel(X.shape[1]),
        n_restarts_optimizer=RESTARTS,
        random_state=int(rng.integers(2**31 - 1)),
    )
    with _quiet():
        return SklearnModel(gp.fit(X, y))


def with_kernel(kernel: Any) -> Any:
    """An unfitted GP that keeps to this kernel."""
    return GaussianProcessRegressor(kernel, optimizer=None)


def skactiveml_igs(model: SklearnModel, known: Known) -> Array:  # (U,)
    """Utilities of scikit-activeml's GreedySamplingTarget (its GSi is what is known as iGS)."""
    from skactiveml.pool import GreedySamplingTarget
    from skactiveml.regressor import SklearnRegressor

    reg = SklearnRegressor(with_kernel(model.gp.kernel_)).fit(known.X, known.y)
    _, utilities = GreedySamplingTarget(method="GSi").query(
        known.X, known.y, reg, fit_reg=False, candidates=known.C, return_utilities=True
    )
    return np.asarray(utilities[0], dtype=np.float64)


def _kernel(d: int) -> Any:
    smooth = ConstantKernel(1.0, CONSTANT_BOUNDS) * RBF(np.ones(d), PEER_LENGTHS)
    return smooth + WhiteKernel(1.0, PEER_NOISES)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the complaints that cannot be helped: searches that end on a bound, rounding."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "Predicted variances smaller than 0", UserWarning)
        yield
