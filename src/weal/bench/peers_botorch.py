"""BoTorch's SingleTaskGP as a rival: ARD RBF, its own priors, its own fit, nothing of ours.

It standardises the labels once more at each fit (its default), fits by maximum a posteriori from
its own start values, and keeps the noise above 1e-4 of the labels' variance.

The integrated posterior variance that is left after a label at x, over the candidates c, is

    mean_c [ v(c) - k(c, x)^2 / (v(x) + noise) ]        k, v posterior covariance and variance

which is what qNegIntegratedPosteriorVariance computes, one fantasy model for each x, in about 4 s
a query at 500 candidates; it is taken here from BoTorch's joint posterior of all candidates, and a
test holds the two together. torch takes seconds to import: only functions that need it import it.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from weal.bench.peers_loop import Known
from weal.core.arrays import Array


@dataclass(frozen=True, slots=True, eq=False)
class BotorchModel:
    """A fitted SingleTaskGP."""

    gp: Any

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Mean and variance of a label."""
        with _alone():
            posterior = self.gp.posterior(_tensor(X), observation_noise=True)
            return _numpy(posterior.mean[:, 0]), _numpy(posterior.variance[:, 0])

    def covariance(self, X: Array) -> Array:  # (N, N)
        """Posterior covariance of f at the rows of X."""
        with _alone():
            return _numpy(self.gp.posterior(_tensor(X)).distribution.covariance_matrix)

    def told(self, X: Array, y: Array) -> Self:
        """The same hyperparameters with all the labels so far."""
        had = len(self.gp.train_targets)
        with _alone():
            new = _tensor(X[had:]), _tensor(y[had:, None])
            return type(self)(self.gp.condition_on_observations(*new))


def fit(X: Array, y: Array, rng: np.random.Generator) -> BotorchModel:
    """SingleTaskGP fitted as BoTorch fits it."""
    with _alone(int(rng.integers(2**31 - 1)), grad=True):
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from gpytorch.mlls import ExactMarginalLogLikelihood

        gp = SingleTaskGP(_tensor(X), _tensor(y[:, None]))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(gp.likelihood, gp))
        return BotorchModel(gp)


def ivr(model: BotorchModel, known: Known) -> Array:  # (U,)
    """Minus the mean variance that a label of each candidate leaves on the candidates."""
    K = model.covariance(known.C)  # (U, U)
    _, s = model.predict(known.C)  # (U,)  noise included
    left = np.diag(K) - K**2 / s[:, None]  # (U, U)  at each candidate, after each label
    return np.asarray(-left.mean(axis=1))


@contextmanager
def _alone(seed: int = 0, *, grad: bool = False) -> Iterator[None]:
    """One thread, chance by this key, warnings that cannot be helped off; then all as it was."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*torch.jit", DeprecationWarning)  # at import
        import torch
        from botorch.exceptions.warnings import InputDataWarning
        from linear_operator.utils.warnings import NumericalWarning

        warnings.simplefilter("ignore", InputDataWarning)  # inputs beyond the unit cube
        warnings.simplefilter("ignore", NumericalWarning)  # jitter on a covariance matrix
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with torch.random.fork_rng(devices=[]), torch.set_grad_enabled(grad):
                torch.manual_seed(seed)
                yield
        finally:
            torch.set_num_threads(threads)


def _tensor(A: Array) -> Any:
    import torch

    return torch.tensor(A, dtype=torch.float64)


def _numpy(A: Any) -> Array:
    return np.asarray(A.numpy(), dtype=np.float64)
