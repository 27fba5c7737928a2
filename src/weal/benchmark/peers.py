"""Methods of other packages: their GPs and acquisition functions, on the same splits.

    sklearn-std, sklearn-igs, sklearn-random        scikit-learn, refitted every 5 labels
    skactiveml-igs                                  scikit-activeml's greedy sampling on that GP
    botorch-var, botorch-ivr, botorch-random        BoTorch, refitted every 5 labels

They get L0 and no validation labels. scikit-activeml and BoTorch are an extra,
`pip install "weal[peers]"`; without them their methods are not in `methods()`, and
`unavailable()` has the reason.

Inputs are scaled by the mean and sd of L0 and the candidates, labels by those of L0, as in weal; a
density in raw units is one in scaled units divided by the sd. A method is two functions:

    fit(X, y, rng)         a model with its hyperparameters fitted to the labels so far
    score(model, known)    the score of each open candidate; the highest is asked next

Hyperparameters are fitted to the first labels and after every few more (`every`); in between, the
model is conditioned on the labels with fixed hyperparameters. Random numbers come from the key
(seed, t, purpose), so all methods that choose at random ask for the same points.

BoTorch is SingleTaskGP: ARD RBF with its own priors and its own fit (maximum a posteriori from its
own start values, labels standardised at each fit, noise above 1e-4 of the labels' variance). The
integrated posterior variance that is left after a label at x, over the candidates c, is

    mean_c [ v(c) - k(c, x)^2 / (v(x) + noise) ]        k, v posterior covariance and variance

qNegIntegratedPosteriorVariance computes the same with one fantasy model for each x, in about 4 s a
query at 500 candidates; here it comes from BoTorch's joint posterior of all candidates, and a test
compares the two. torch takes seconds to import: only functions that need it import it.

scikit-learn's GP, also under scikit-activeml's greedy sampling, is

    k(x, x') = c exp(-1/2 sum_j (x_j - x'_j)^2 / l_j^2) + noise [x = x']

with c, the lengthscales l and the noise at the maximum of the marginal likelihood: one search from
scikit-learn's own start values, all 1, and three from random ones, as a careful user would do
(starting the noise at 1e-2 or 1e-5 made no consistent difference: six tasks, 3 realisations).
A prediction includes the WhiteKernel's noise.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, WhiteKernel

from weal.benchmark.methods import Method, Reading
from weal.benchmark.tasks import Split
from weal.core.arrays import Array
from weal.core.scaling import Scaling, from_data

if TYPE_CHECKING:
    import torch

FIT_RNG_KEY, ASK_RNG_KEY = 0, 1  # purposes of a random key


class PeerModel(Protocol):
    """A GP of some package, conditioned on labels, in scaled units."""

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Mean (N,) and variance (N,) of a label at the rows of X, noise included."""

    def condition(self, X: Array, y: Array) -> Self:
        """The model conditioned on all labels so far, with the same hyperparameters."""


@dataclass(frozen=True, slots=True, eq=False)
class PeerData:
    """Labels and open candidates of an acquisition function, in scaled units."""

    X: Array  # (t, d)  labelled inputs
    y: Array  # (t,)    their labels
    C: Array  # (U, d)  open candidates
    rng: np.random.Generator


M = TypeVar("M", bound=PeerModel)
Fit = Callable[[Array, Array, np.random.Generator], M]
Score = Callable[[M, PeerData], Array]


def variance(model: PeerModel, known: PeerData) -> Array:  # (U,)
    """Predictive variance of each candidate."""
    return model.predict(known.C)[1]


def igs(model: PeerModel, known: PeerData) -> Array:  # (U,)
    """Greedy sampling on inputs and outputs: min over labels i of |x - x_i| |mean(x) - y_i|.

    D. Wu, C.-T. Lin and J. Huang, Active learning for regression using greedy sampling, 2019.
    """
    mean, _ = model.predict(known.C)
    apart = cdist(known.C, known.X) * np.abs(mean[:, None] - known.y)  # (U, t)
    return np.asarray(apart.min(axis=1))


def at_random(model: PeerModel, known: PeerData) -> Array:  # (U,)
    """A random number for each candidate."""
    return known.rng.random(len(known.C))


def run_peer(
    fit: Fit[M], score: Score[M], every: int, split: Split, eta: float, seed: int, T: int
) -> Iterator[Reading]:
    """Readings of a method whose hyperparameters are fitted after every `every` labels."""
    scaling = from_data(np.concatenate([split.X0, split.Xu]), split.y0)
    Xu, yu = scaling.inputs(split.Xu), scaling.labels(split.yu)
    X, y, left = scaling.inputs(split.X0), scaling.labels(split.y0), np.arange(len(yu))
    model = fit(X, y, np.random.default_rng([seed, 0, FIT_RNG_KEY]))
    yield _reading(model, scaling, split, len(y))
    for t in range(1, T + 1):
        known = PeerData(X, y, Xu[left], np.random.default_rng([seed, t, ASK_RNG_KEY]))
        best = int(np.argmax(score(model, known)))
        row = int(left[best])
        X, y, left = np.vstack([X, Xu[row]]), np.append(y, yu[row]), np.delete(left, best)
        if t % every == 0:
            model = fit(X, y, np.random.default_rng([seed, t, FIT_RNG_KEY]))
        else:
            model = model.condition(X, y)
        yield _reading(model, scaling, split, len(y), row)


def _reading(
    model: PeerModel, scaling: Scaling, split: Split, labels: int, asked: int = -1
) -> Reading:
    mean, v = model.predict(scaling.inputs(split.Xt))
    e = scaling.labels(split.yt) - mean
    log_density = -0.5 * (np.log(2 * np.pi * v) + e**2 / v) - np.log(scaling.y_sd)
    return Reading(labels, scaling.means(mean), log_density, {}, {}, asked=asked)


@dataclass(frozen=True, slots=True, eq=False)
class BotorchModel:
    """A fitted SingleTaskGP."""

    gp: Any

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Mean and variance of a label."""
        with torch_settings():
            posterior = self.gp.posterior(to_tensor(X), observation_noise=True)
            return to_numpy(posterior.mean[:, 0]), to_numpy(posterior.variance[:, 0])

    def covariance(self, X: Array) -> Array:  # (N, N)
        """Posterior covariance of f at the rows of X."""
        with torch_settings():
            return to_numpy(self.gp.posterior(to_tensor(X)).distribution.covariance_matrix)

    def condition(self, X: Array, y: Array) -> Self:
        """The same hyperparameters with all the labels so far."""
        had = len(self.gp.train_targets)
        with torch_settings():
            new = to_tensor(X[had:]), to_tensor(y[had:, None])
            return type(self)(self.gp.condition_on_observations(*new))


def fit_botorch(X: Array, y: Array, rng: np.random.Generator) -> BotorchModel:
    """SingleTaskGP fitted as BoTorch fits it."""
    with torch_settings(int(rng.integers(2**31 - 1)), grad=True):
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from gpytorch.mlls import ExactMarginalLogLikelihood

        gp = SingleTaskGP(to_tensor(X), to_tensor(y[:, None]))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(gp.likelihood, gp))
        return BotorchModel(gp)


def ivr(model: BotorchModel, known: PeerData) -> Array:  # (U,)
    """Minus the mean variance of the candidates after a label of each candidate."""
    K = model.covariance(known.C)  # (U, U)
    _, s = model.predict(known.C)  # (U,)  noise included
    left = np.diag(K) - K**2 / s[:, None]  # (U, U)  at each candidate, after each label
    return np.asarray(-left.mean(axis=1))


@contextmanager
def torch_settings(seed: int = 0, *, grad: bool = False) -> Iterator[None]:
    """Run torch with one thread, this seed and its known warnings off; restore all afterwards."""
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


def to_tensor(A: Array) -> "torch.Tensor":
    """The array as a torch tensor of float64."""
    import torch

    return torch.tensor(A, dtype=torch.float64)


def to_numpy(A: "torch.Tensor") -> Array:
    """The tensor as an array."""
    return np.asarray(A.numpy(), dtype=np.float64)


RESTARTS = 3
CONSTANT_BOUNDS = (1e-3, 1e3)
PEER_LENGTHS = (1e-2, 1e3)
PEER_NOISES = (1e-8, 1e1)


@dataclass(frozen=True, slots=True, eq=False)
class SklearnModel:
    """A fitted GaussianProcessRegressor."""

    gp: GaussianProcessRegressor

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Mean and variance of a label; the variance is at least that of the noise."""
        with _ignore_warnings():
            mean, sd = self.gp.predict(X, return_std=True)
        return mean, np.maximum(sd**2, self.gp.kernel_.k2.noise_level)

    def condition(self, X: Array, y: Array) -> Self:
        """The same kernel with all the labels so far."""
        return type(self)(with_kernel(self.gp.kernel_).fit(X, y))


def fit_sklearn(X: Array, y: Array, rng: np.random.Generator) -> SklearnModel:
    """The GP with the hyperparameters of the largest marginal likelihood found."""
    gp = GaussianProcessRegressor(
        _kernel(X.shape[1]),
        n_restarts_optimizer=RESTARTS,
        random_state=int(rng.integers(2**31 - 1)),
    )
    with _ignore_warnings():
        return SklearnModel(gp.fit(X, y))


def with_kernel(kernel: Kernel) -> GaussianProcessRegressor:
    """An unfitted GP with this kernel fixed."""
    return GaussianProcessRegressor(kernel, optimizer=None)


def skactiveml_igs(model: SklearnModel, known: PeerData) -> Array:  # (U,)
    """Utilities of scikit-activeml's GreedySamplingTarget (its GSi is known as iGS)."""
    from skactiveml.pool import GreedySamplingTarget
    from skactiveml.regressor import SklearnRegressor

    reg = SklearnRegressor(with_kernel(model.gp.kernel_)).fit(known.X, known.y)
    _, utilities = GreedySamplingTarget(method="GSi").query(
        known.X, known.y, reg, fit_reg=False, candidates=known.C, return_utilities=True
    )
    return np.asarray(utilities[0], dtype=np.float64)


def _kernel(d: int) -> Kernel:
    smooth = ConstantKernel(1.0, CONSTANT_BOUNDS) * RBF(np.ones(d), PEER_LENGTHS)
    return smooth + WhiteKernel(1.0, PEER_NOISES)


@contextmanager
def _ignore_warnings() -> Iterator[None]:
    """Ignore scikit-learn's warnings of searches that end on a bound and of rounding."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "Predicted variances smaller than 0", UserWarning)
        yield


LABELS_PER_REFIT = 5  # between two fits of the hyperparameters

_SKLEARN: dict[str, tuple[str, Score[SklearnModel]]] = {
    "sklearn-std": ("scikit-learn, max std", variance),
    "sklearn-igs": ("scikit-learn, iGS", igs),
    "sklearn-random": ("scikit-learn, random", at_random),
}
_SKACTIVEML: dict[str, tuple[str, Score[SklearnModel]]] = {
    "skactiveml-igs": ("scikit-activeml, iGS", skactiveml_igs),
}
_BOTORCH: dict[str, tuple[str, Score[BotorchModel]]] = {
    "botorch-var": ("BoTorch, max variance", variance),
    "botorch-ivr": ("BoTorch, integrated variance", ivr),
    "botorch-random": ("BoTorch, random", at_random),
}


def methods() -> dict[str, Method]:
    """The available methods of other packages, by name.

    >>> list(methods())[:3]
    ['sklearn-std', 'sklearn-igs', 'sklearn-random']
    """
    missing = unavailable()
    named = {
        **_table(fit_sklearn, LABELS_PER_REFIT, _SKLEARN | _SKACTIVEML),
        **_table(fit_botorch, LABELS_PER_REFIT, _BOTORCH),
    }
    return {name: method for name, method in named.items() if name not in missing}


def unavailable() -> dict[str, str]:
    """The methods whose package is missing, by name, each with the command that installs it."""
    return {
        name: f'needs {package}: pip install "weal[peers]"'
        for package, module, names in (
            ("scikit-activeml", "skactiveml", _SKACTIVEML),
            ("BoTorch", "botorch", _BOTORCH),
        )
        if find_spec(module) is None
        for name in names
    }


def _table(fit: Fit[M], every: int, named: dict[str, tuple[str, Score[M]]]) -> dict[str, Method]:
    return {
        name: Method(name, title, partial(run_peer, fit, score, every), "peers")
        for name, (title, score) in named.items()
    }
