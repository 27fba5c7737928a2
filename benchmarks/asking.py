"""Time of ask and tell as ratios to bare matrix-vector products, in one run, one thread.

    python benchmarks/asking.py [--quick] [--to FILE]

"bare" is M products of the cached features (U x F) with a vector, the least that a label costs.
"per expert" is numpy that recomputes phi' Sigma phi for every candidate and expert at each step.
Times are the least of several runs; nothing is asserted.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import resource
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record

import weal.learner.pools.memory
from weal import ActiveLearner, EnsembleGPRegressor
from weal.core.arrays import Array

M, D, F = 11, 50, 100
LINES: list[dict[str, Any]] = []  # what was reported
weal.learner.pools.memory.MemoryPool._experts_to_keep = (  # type: ignore[method-assign]
    lambda self, ens: np.arange(len(ens.log_w))  # keep all M experts
)


def least(work: Callable[[], object], runs: int) -> float:
    """Seconds of the fastest of some runs."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def bare(U: int, dtype: Any, runs: int) -> float:
    """Seconds of M bare products."""
    rng = np.random.default_rng(0)
    Phi = rng.random((M, U, F), dtype=dtype)
    g = rng.random((M, F, 1), dtype=dtype)
    return least(lambda: np.matmul(Phi, g), runs)


def a_function(X: Array) -> Array:
    """Something smooth with a ripple on it."""
    y: Array = np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * np.cos(9.0 * X.sum(axis=1))
    return y


def a_learner(
    U: int, acquisition: Any, approximation: str = "features", first: int = 10, **options: Any
) -> Any:
    """A learner of the paper's size after its first labels, all experts held on the pool."""
    rng = np.random.default_rng(1)
    X = rng.random((U, 3))
    model = EnsembleGPRegressor.paper(magnitude=1.0, noise=0.5**0.5, approximation=approximation)
    learner = ActiveLearner(X, model, acquisition=acquisition, **options)
    learner.tell(list(range(first)), a_function(X[:first]))
    return learner


def step_seconds(learner: Any, runs: int) -> float:
    """Seconds of ask + tell."""

    def step() -> None:
        query = learner.ask()
        learner.tell(query, float(a_function(learner.candidates.X[[query]])[0]))

    return least(step, runs)


def per_expert_step(U: int) -> Callable[[], None]:
    """One step of Algorithm 2 the obvious way, expert by expert: nothing kept, all recomputed."""
    rng = np.random.default_rng(0)
    Phi, Phi_v = rng.random((M, U, F)), rng.random((M, 50, F))
    theta, Sigma = rng.random((M, F)), np.stack([np.eye(F)] * M)
    w, y_v = np.full(M, 1.0 / M), rng.random(50)

    def normal(x: Any, mean: Any, var: Any) -> Any:
        return np.exp(-0.5 * (x - mean) ** 2 / var) / np.sqrt(2.0 * np.pi * var)

    def update(n: int, y: float) -> tuple[Array, Array, Array]:
        later, theta_new, Sigma_new = w.copy(), theta.copy(), Sigma.copy()
        for m in range(M):
            g = Sigma[m] @ Phi[m, n]
            s = Phi[m, n] @ g + 0.1
            e = y - Phi[m, n] @ theta[m]
            later[m] *= normal(e, 0.0, s)
            theta_new[m] += g * e / s
            Sigma_new[m] -= np.outer(g, g) / s
        return later / later.sum(), theta_new, Sigma_new

    def step() -> None:
        mu = np.array([Phi[m] @ theta[m] for m in range(M)])
        v = np.array([[phi @ Sigma[m] @ phi for phi in Phi[m]] for m in range(M)])
        mean = w @ mu
        disagreement = w @ (mu - mean) ** 2
        inner = [sum(w[k] * normal(mu[m], mu[k], v[m] + v[k]) for k in range(M)) for m in range(M)]
        entropy = -sum(w[m] * np.log(inner[m]) for m in range(M))
        for scores in (w @ v, w @ np.log(v), disagreement, w @ v + disagreement, entropy):
            n = int(np.argmax(scores))
            later, after, _ = update(n, float(mean[n]))
            y_hat = sum(later[m] * (Phi_v[m] @ after[m]) for m in range(M))
            np.mean((y_v - y_hat) ** 2)
        update(0, 1.0)

    return step


def exact_ratio(runs: int) -> tuple[float, float]:
    """Seconds of ask + tell with exact experts at t = 200, U = 1000, and of scikit-learn's GPs."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    learner = a_learner(1000, "wvar", "exact", first=200)
    X = learner.candidates.X
    ours = step_seconds(learner, runs)
    y = a_function(X[:200])

    def refit() -> None:
        for c in range(-4, 7):
            kernel = ConstantKernel(1.0, "fixed") * RBF(10.0**c, "fixed")
            gp = GaussianProcessRegressor(kernel, alpha=0.5, optimizer=None).fit(X[:200], y)
            gp.predict(X, return_std=True)

    return ours, least(refit, 3)


def report(what: str, ours: float, other: float, asked: str, faster: bool = False) -> None:
    """One line of the table."""
    ratio = other / ours if faster else ours / other
    print(f"{what:<58} {1e3 * ours:9.2f} ms {ratio:8.2f}x   asked {asked}", flush=True)
    LINES.append({"what": what, "ms": 1e3 * ours, "ratio": ratio, "asked": asked})


def main() -> None:
    warnings.simplefilter("error")
    given = record.options(__doc__)
    measure(given.quick)
    if given.to:
        record.write(given.to, "asking and telling, against bare products", LINES, [0, 1, 2])


def measure(quick: bool) -> None:
    """All lines."""
    rng = np.random.default_rng(2)
    X_v = rng.random((50, 3))
    held_apart = (X_v, a_function(X_v))
    base = bare(500, np.float64, 300)
    print(f"bare products, U=500: {1e3 * base:.3f} ms")
    report("wvar step, U=500", step_seconds(a_learner(500, "wvar"), 150), base, "<= 6x bare")
    multi = step_seconds(a_learner(500, "multi", validation=held_apart), 150)
    report("multi step (5 AFs, V=50), U=500", multi, base, "<= 15x bare")
    slow = least(per_expert_step(500), 3)
    report("multi step against per-expert numpy", multi, slow, ">= 30x faster", True)
    plain = step_seconds(a_learner(10_000, "wvar"), 20)
    ivr = step_seconds(a_learner(10_000, "ivr"), 20)
    report("ivr step over the whole pool, U=10,000", ivr, plain, "<= 5x wvar step")
    ours, others = exact_ratio(30)
    report(
        "exact wvar step, t=200, U=1000, against scikit-learn", ours, others, ">= 30x faster", True
    )
    if quick:
        return
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    learner = a_learner(200_000, "wvar")
    large = step_seconds(learner, 10)
    used = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    del learner
    report("wvar step, U=200,000, float32", large, bare(200_000, np.float32, 10), "<= 1.8x bare")
    cached = M * 200_000 * F * 4
    print(
        f"memory: {used / 2**20:.0f} MiB, {used / cached:.2f}x the cached features (asked <= 1.3x)"
    )


if __name__ == "__main__":
    main()
