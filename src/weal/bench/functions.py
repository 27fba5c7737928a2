"""The five synthetic functions of the paper, as printed in its Table 2, and their usual domains.

    ackley     20 + e - 20 exp(-0.2 sqrt(mean x_i^2)) - exp(mean cos 2 pi x_i)         [-5, 5]^5
    branin     (x2 - 5.1 x1^2 / (4 pi^2) + 5 x1 / pi - 6)^2
               + 10 (1 - 1 / (8 pi)) cos x1 + 10                             [-5, 10] x [0, 15]
    currin     (1 - exp(-1 / (2 x2))) (2300 x1^3 + 1900 x1^2 + 2092 x1 + 60)
               / (100 x1^3 + 500 x1^2 + 4 x1 + 20)                                     [0, 1]^2
    gramacy    sin(10 pi x) / (2 x) + (x - 1)^4                                      [0.5, 2.5]
    higdon     sin(2 pi x / 10) + 0.2 sin(2 pi x / 2.5)                                 [0, 10]

Points are drawn i.i.d. uniform on the domain and evaluated without noise; the paper says neither.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from weal.bench.places import Folder
from weal.core.arrays import Array


def ackley(X: Array) -> Array:
    """Values (N,) at X (N, d); 0 at the origin, its minimum.

    >>> float(ackley(np.ones((1, 5)))[0].round(6))
    3.625385
    """
    bowl = np.exp(-0.2 * np.sqrt(np.mean(X**2, axis=1)))
    ripple = np.exp(np.mean(np.cos(2 * np.pi * X), axis=1))
    return np.asarray(20.0 * (1.0 - bowl) + (np.e - ripple))  # [1, data:ackley]


def branin(X: Array) -> Array:
    """Values (N,) at X (N, 2); 0.397887 at its three minima."""
    x1, x2 = X.T
    valley = x2 - 5.1 / (4 * np.pi**2) * x1**2 + 5 / np.pi * x1 - 6
    # [1, data:branin]
    return np.asarray(valley**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x1) + 10)


def currin(X: Array) -> Array:
    """Values (N,) at X (N, 2); the first factor tends to 1 as x2 falls to 0, and is 1 there."""
    x1, x2 = X.T
    with np.errstate(divide="ignore", over="ignore"):
        factor = 1 - np.exp(-1 / (2 * x2))
    above = 2300 * x1**3 + 1900 * x1**2 + 2092 * x1 + 60
    below = 100 * x1**3 + 500 * x1**2 + 4 * x1 + 20
    return np.asarray(factor * above / below)  # [1, data:currin]


def gramacy(X: Array) -> Array:
    """Values (N,) at X (N, 1) (Gramacy and Lee 2012)."""
    x = X[:, 0]
    return np.asarray(np.sin(10 * np.pi * x) / (2 * x) + (x - 1) ** 4)  # [1, data:gramacy]


def higdon(X: Array) -> Array:
    """Values (N,) at X (N, 1) (Higdon 2002)."""
    x = X[:, 0]
    # [1, data:higdon]
    return np.asarray(np.sin(2 * np.pi * x / 10) + 0.2 * np.sin(2 * np.pi * x / 2.5))


@dataclass(frozen=True, slots=True)
class Function:
    """A formula X (N, d) -> y (N,) on a box, sampled uniformly.

    >>> X, y = FUNCTIONS["branin"].sample(np.random.default_rng(0), 4)
    >>> X.shape, y.shape
    ((4, 2), (4,))
    """

    formula: Callable[[Array], Array]
    lower: tuple[float, ...]
    upper: tuple[float, ...]

    def sample(
        self, rng: np.random.Generator, n: int, folder: Folder = None
    ) -> tuple[Array, Array]:
        """Points X (n, d) i.i.d. uniform on the box and their values y (n,)."""
        X = rng.uniform(self.lower, self.upper, (n, len(self.lower)))
        return X, self.formula(X)

    def where(self, folder: Folder = None) -> str:
        """Where the points come from: nothing is needed."""
        return "computed here from its formula"


FUNCTIONS = {
    "ackley": Function(ackley, (-5.0,) * 5, (5.0,) * 5),
    "branin": Function(branin, (-5.0, 0.0), (10.0, 15.0)),
    "currin": Function(currin, (0.0, 0.0), (1.0, 1.0)),
    "gramacy": Function(gramacy, (0.5,), (2.5,)),
    "higdon": Function(higdon, (0.0,), (10.0,)),
}
