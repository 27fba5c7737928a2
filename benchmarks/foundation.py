"""Time of update, predict and scoring as ratios, in one run on one thread, with seconds.

    import            a fresh interpreter each, `import weal` beside `import numpy`
    hyperparameters   of the paper's 11 experts on 50 points, beside 11 fits of scikit-learn
    update, predict   of 11 experts with 100 features, beside numpy that goes expert by expert and
                      computes phi' Sigma phi again for every point

Competitors take turns and each keeps its best time, so that a busy machine slows all alike.
Run with `python benchmarks/foundation.py [--to FILE]`.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record

from weal.core.arrays import Array
from weal.core.paper import ensemble, kernels, marginal_likelihood, random_features
from weal.core.paper.ensemble import Ensemble
from weal.core.paper.feature_gp import FeatureExperts, apply_step
from weal.core.paper.fixed_magnitude import FixedMagnitude

BOUNDS = (1e-5, 1e5)
DICTIONARY = kernels.paper_dictionary()
M, D, POINTS, LABELS, INPUTS = len(DICTIONARY), 50, 500, 50, 8


class Row(NamedTuple):
    """One line of the table."""

    what: str
    ours: float  # seconds
    theirs: float  # seconds


def best_times(contestants: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """Least seconds of each contestant over some rounds, in which they take turns."""
    times: list[list[float]] = [[] for _ in contestants]
    for _ in range(rounds + 1):
        for contestant, seconds in zip(contestants, times, strict=True):
            start = time.perf_counter()
            contestant()
            seconds.append(time.perf_counter() - start)
    return [min(seconds[1:]) for seconds in times]  # the first round warms up


def import_seconds(module: str) -> float:
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def imports() -> Row:
    pairs = [(import_seconds("weal"), import_seconds("numpy")) for _ in range(15)]
    ours, theirs = (statistics.median(times) for times in zip(*pairs, strict=True))
    return Row("import weal | import numpy", ours, theirs)


def hyperparameters(X: Array, y: Array) -> Row:
    def ours() -> None:
        K = np.stack([kernels.correlation(kernel, X, X) for kernel in DICTIONARY])
        marginal_likelihood.fit_magnitude_noise(K, y, BOUNDS, BOUNDS)

    def theirs() -> None:
        for kernel in DICTIONARY:
            signal = ConstantKernel() * RBF(kernel.length_scale, "fixed")
            GaussianProcessRegressor(signal + WhiteKernel()).fit(X, y)

    return Row("hyperparameters | scikit-learn", *best_times([ours, theirs], 5))


class PerExpert:
    """The ensemble as most would write it first: lists of experts, loops over them."""

    def __init__(self, ens: Ensemble) -> None:
        experts = ens.experts
        assert isinstance(experts, FeatureExperts)
        self.theta, self.Sigma = list(experts.theta), list(experts.Sigma)
        self.log_w, self.sig2, self.lam = list(ens.log_w), ens.magnitude, ens.noise

    def update(self, phi: Array, y: float) -> tuple[list[Array], list[Array], Array]:
        """New theta, Sigma and log weights after the label y of the features phi (M, F)."""
        theta, Sigma, log_w = [], [], []
        for m in range(M):
            g = self.Sigma[m] @ phi[m]
            s = phi[m] @ g + self.lam[m]
            e = y - phi[m] @ self.theta[m]
            theta.append(self.theta[m] + g * e / s)
            Sigma.append(self.Sigma[m] - np.outer(g, g) / s)
            var = self.sig2[m] * s
            log_w.append(self.log_w[m] - 0.5 * (np.log(2.0 * np.pi * var) + e**2 / var))
        return theta, Sigma, np.array(log_w) - np.logaddexp.reduce(log_w)

    def predict_pointwise(self, Phi: Array) -> tuple[Array, Array]:
        """Means and variances (M, N), one phi' Sigma phi after the other."""
        mu = [[phi @ self.theta[m] for phi in Phi[m]] for m in range(M)]
        var = [[self.sig2[m] * (phi @ self.Sigma[m] @ phi) for phi in Phi[m]] for m in range(M)]
        return np.array(mu), np.array(var)

    def predict(self, Phi: Array) -> tuple[Array, Array]:
        """Means and variances (M, N), all points of an expert at once."""
        mu = [Phi[m] @ self.theta[m] for m in range(M)]
        var = [self.sig2[m] * ((Phi[m] @ self.Sigma[m]) * Phi[m]).sum(axis=1) for m in range(M)]
        return np.array(mu), np.array(var)


def updates(X: Array, y: Array, X_pool: Array) -> list[Row]:
    zeta = random_features.draw_frequencies(DICTIONARY, INPUTS, D, seed=0)
    fresh = Ensemble(
        FeatureExperts.prior(M, 2 * D),
        np.full(M, -np.log(M)),
        FixedMagnitude(np.ones(M)),
        np.full(M, 0.01),
    )
    ens = ensemble.update_many(fresh, random_features.features(X, zeta), y, np.zeros(LABELS))
    Phi, per_expert = random_features.features(X_pool, zeta), PerExpert(ens)
    point, label = Phi[:, :1], 0.5
    mu, v = ens.experts.predict(Phi)
    np.testing.assert_allclose(ensemble.predict(ens, Phi), per_expert.predict(Phi), rtol=1e-6)

    def label_on_pool() -> None:
        told = ensemble.step(ens, point, label)
        apply_step(mu, v, told.column(Phi), told)
        ensemble.advance(ens, told)

    def label_and_recompute() -> None:
        per_expert.update(point[:, 0], label)
        per_expert.predict(Phi)

    duels: list[tuple[str, Callable[[], object], Callable[[], object], int]] = [
        (
            "update | expert by expert",
            lambda: ensemble.update(ens, point, label),
            lambda: per_expert.update(point[:, 0], label),
            200,
        ),
        (
            f"predict {POINTS} points | point by point",
            lambda: ensemble.predict(ens, Phi),
            lambda: per_expert.predict_pointwise(Phi),
            7,
        ),
        (
            f"predict {POINTS} points | expert by expert",
            lambda: ensemble.predict(ens, Phi),
            lambda: per_expert.predict(Phi),
            50,
        ),
        (f"a label on {POINTS} points | recomputed", label_on_pool, label_and_recompute, 50),
    ]
    return [Row(what, *best_times([ours, theirs], rounds)) for what, ours, theirs, rounds in duels]


def main() -> None:
    given = record.options(__doc__)
    warnings.simplefilter("ignore")  # scikit-learn warns when it ends on a bound
    rng = np.random.default_rng(0)
    X, X_pool = rng.normal(size=(LABELS, INPUTS)), rng.normal(size=(POINTS, INPUTS))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=LABELS)
    y = (y - y.mean()) / y.std()
    print(f"M = {M} experts, D = {D} frequencies, d = {INPUTS} inputs, one thread")
    print(f"{'ours | theirs':42} {'ours':>12} {'theirs':>12} {'ratio':>8}")
    rows = [imports(), hyperparameters(X, y), *updates(X, y, X_pool)]
    for what, ours, theirs in rows:
        print(f"{what:42} {1e3 * ours:9.3f} ms {1e3 * theirs:9.3f} ms {theirs / ours:8.1f}")
    if given.to:
        record.write(given.to, "the foundation, ours against theirs", map(Row._asdict, rows), [0])


if __name__ == "__main__":
    main()
