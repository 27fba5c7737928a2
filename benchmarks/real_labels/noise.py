"""Noisy labels: errors, estimated noise, intervals: `python benchmarks/real_labels/noise.py`.

Three smooth functions of five and six inputs, noise in % of the sd of f; log10 NMSE is that of f at
400 new points, beside scikit-learn's GP with one lengthscale for each input and three restarts.
Seeds from 100 on were tuned on; those below were not. Nothing is asserted.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weal import EnsembleGPRegressor

Array = NDArray[np.float64]
Row = tuple[str, str, str]
NEW = 400


def smooth(X: Array, rng: np.random.Generator) -> Array:
    """A function of five inputs in [-1, 1], two of which interact."""
    a = rng.uniform(0.0, 2.0 * np.pi)
    waves = np.sin(3.0 * X[:, 0] + a) + 0.5 * np.cos(2.0 * X[:, 3] - a)
    return np.asarray(waves + X[:, 1] * X[:, 2] + 0.3 * X[:, 4] ** 2)


def friedman(X: Array, rng: np.random.Generator) -> Array:
    """Friedman's first."""
    U = 0.5 * (X + 1.0)
    bent = 10.0 * np.sin(np.pi * U[:, 0] * U[:, 1]) + 20.0 * (U[:, 2] - 0.5) ** 2
    return np.asarray(bent + 10.0 * U[:, 3] + 5.0 * U[:, 4])


def circuit(X: Array, rng: np.random.Generator) -> Array:
    """The midpoint voltage of an output transformerless push-pull circuit: six inputs."""
    low, high = np.array([[50, 25, 0.5, 1.2, 0.25, 50], [150, 70, 3, 2.5, 1.2, 300]])
    Rb1, Rb2, Rf, Rc1, Rc2, beta = (low + (high - low) * 0.5 * (X + 1.0)).T
    gain = beta * (Rc2 + 9.0)
    voltage = 12.0 * Rb2 / (Rb1 + Rb2) + 0.74
    rest = 11.35 * Rf + 0.74 * Rf * gain / Rc1
    return np.asarray((voltage * gain + rest) / (gain + Rf))


FUNCTIONS = {"smooth": (smooth, 5), "friedman": (friedman, 5), "circuit": (circuit, 6)}


def drawn(name: str, seed: int, n: int, noise: float) -> tuple[Array, Array, Array, Any, float]:
    """Inputs, f, labels, n of them to be told and NEW new ones; and the sd of the noise."""
    function, d = FUNCTIONS[name]
    rng = np.random.default_rng([seed, n, d])
    X = rng.uniform(-1.0, 1.0, (n + NEW, d))
    f = function(X, rng)
    sd = noise * float(f.std())
    return X, f, f + sd * rng.standard_normal(len(f)), np.arange(len(f)) < n, sd


def log_error(mean: Array, f: Array) -> float:
    return float(np.log10(np.mean((mean - f) ** 2) / f.var()))


def rival(X: Array, y: Array, new: Array) -> Array:
    """What scikit-learn's GP predicts."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    kernel = ConstantKernel(1.0) * RBF(np.ones(X.shape[1])) + WhiteKernel(0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gp = GaussianProcessRegressor(
            kernel, normalize_y=True, n_restarts_optimizer=3, random_state=0
        )
        return np.asarray(gp.fit(X, y).predict(new))


def outcome(name: str, seed: int, n: int, noise: float, beside: bool = False) -> Array:
    """Log error (less that of scikit-learn, if asked), noise found over noise, and coverage."""
    X, f, y, told, sd = drawn(name, seed, n, noise)
    model = EnsembleGPRegressor().fit(X[told], y[told])
    error = log_error(model.predict(X[~told]), f[~told])
    if beside:
        error -= log_error(rival(X[told], y[told], X[~told]), f[~told])
    found = np.sqrt(model.weights_ @ model.noise_**2) * model.scaling_.y_sd
    low, high = model.predict_interval(X[~told])
    covered = np.mean((low <= y[~told]) & (y[~told] <= high))
    return np.array([error, found / sd if sd else np.nan, covered])


def rows(seeds: Sequence[int]) -> list[Row]:
    """The requirements for noisy labels, and what was measured."""
    cells = {
        (n, noise): np.array([
            outcome(name, seed, n, noise, beside=n == 60) for name in FUNCTIONS for seed in seeds
        ])
        for n in (20, 40, 60)
        for noise in (0.1, 0.3)
    }  # fmt: skip
    found: list[Row] = []
    for noise in (0.1, 0.3):
        gap = cells[60, noise][:, 0]
        said = f"{gap.mean():+.3f} (se {gap.std(ddof=1) / len(gap) ** 0.5:.3f})"
        what = f"noise {noise:.0%}, 60 labels: log10 NMSE less scikit-learn's"
        found.append((what, "<= 0", said))
    ratio = cells[40, 0.1][:, 1]
    said = f"median {np.median(ratio):.2f}, 10 % quantile {np.quantile(ratio, 0.1):.2f}"
    found.append(("noise found, 10 %, 40 labels, over the truth", "0.8 to 1.25, > 0.4", said))
    for (n, noise), each in cells.items():
        what = f"coverage of 90 % intervals, noise {noise:.0%}, {n} labels"
        mean, se = each[:, 2].mean(), each[:, 2].std(ddof=1) / len(each) ** 0.5
        found.append((what, "87 to 93 %", f"{100 * mean:.1f} % (se {100 * se:.1f})"))
    return found


if __name__ == "__main__":
    for row in rows(range(20)):
        print(f"{row[0]:60} {row[1]:20} {row[2]}")
