"""Three smooth functions of five and six inputs, with noise, by seed.

    waves       sin(3 x1 + a) + x2 x3 + cos(2 x4 - a) / 2 + 0.3 x5^2 on [-1, 1]^5, a random
    friedman    10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5 on [0, 1]^5
    hartmann    -log of the sum of four peaks, on [0, 1]^6

Noise is given as a share of the sd of f.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
TESTED = 1000  # points that the error is taken over


def waves(X: Array, a: float) -> Array:
    """On [0, 1]^5, stretched to [-1, 1]^5."""
    x = (2.0 * X - 1.0).T
    return np.asarray(
        np.sin(3.0 * x[0] + a) + x[1] * x[2] + np.cos(2.0 * x[3] - a) / 2.0 + 0.3 * x[4] ** 2
    )


def friedman(X: Array, a: float) -> Array:
    """Friedman's first, without inputs that do not matter."""
    x = X.T
    return np.asarray(
        10.0 * np.sin(np.pi * x[0] * x[1]) + 20.0 * (x[2] - 0.5) ** 2 + 10.0 * x[3] + 5.0 * x[4]
    )


_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
_A = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann(X: Array, a: float) -> Array:
    """The log of Hartmann's function of six inputs."""
    r = (_A * (X[:, None, :] - _P) ** 2).sum(axis=2)  # (N, 4)
    return np.asarray(-np.log((_ALPHA * np.exp(-r)).sum(axis=1)))


FUNCTIONS: dict[str, tuple[Callable[[Array, float], Array], int]] = {
    "waves": (waves, 5),
    "friedman": (friedman, 5),
    "hartmann": (hartmann, 6),
}


class Task:
    """Labels of one function, and the points that predictions are judged by."""

    def __init__(self, name: str, t: int, noise: float, seed: int) -> None:
        function, d = FUNCTIONS[name]
        rng = np.random.default_rng([seed, t, list(FUNCTIONS).index(name)])
        a = float(rng.uniform(0.0, 2.0 * np.pi))
        self.X, self.test = rng.random((t, d)), rng.random((TESTED, d))
        self.f, self.truth = function(self.X, a), function(self.test, a)
        self.sd = float(self.truth.std())
        self.y = self.f + noise * self.sd * rng.standard_normal(t)
        self.rng = rng

    def nmse(self, model: object) -> float:
        """Mean square error of f over its variance."""
        mean = model.predict(self.test)  # type: ignore[attr-defined]
        return float(((mean - self.truth) ** 2).mean() / self.sd**2)
