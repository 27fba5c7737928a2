"""The bare pass: the minimal work of scoring a pool, with numpy and pyarrow only.

It reads the columns, and takes correlations with the labels, solves, and the variance of the
mixture of the experts that are held, in float64 as we do. What it finds is the largest variance,
which must be ours.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from scipy.linalg.blas import dtrsm
from threadpoolctl import threadpool_limits

import weal

BLOCK = 1024


@dataclass(frozen=True, eq=False)
class Expert:
    """What the pass needs of an expert."""

    kernel: Any
    L: Any  # (t, t)
    z: Any  # (t,)
    w: float
    magnitude: float


def experts_held(learner: weal.ActiveLearner) -> tuple[list[Expert], Any]:
    """The experts held on the pool, and the labelled points (t, d)."""
    ens = learner.model.ensemble_
    experts: Any = ens.experts
    members = learner._beliefs._pool(learner.state.view()).predict_kept([0])[0].tolist()
    found = [
        Expert(experts.kernels[m], experts.L[m], experts.z[m], ens.w[m], ens.magnitude[m])
        for m in members
    ]
    return found, experts.X


def correlations(kernel: Any, Z: Any, X: Any) -> Any:  # (t, n)
    """Correlations of labelled points Z (t, d) with rows X (n, d)."""
    ell = np.broadcast_to(np.asarray(kernel.length_scale), Z.shape[1:])
    if kernel.family == "anova":
        return _anova(kernel, Z / ell, X / ell) + kernel.offset
    A, B = X / ell, Z / ell
    r2 = (B * B).sum(axis=1)[:, None] + (A * A).sum(axis=1) - 2.0 * B @ A.T
    np.maximum(r2, 0.0, out=r2)
    if kernel.family == "rbf":
        r2 *= -0.5
        K = np.exp(r2, out=r2)
    elif kernel.family == "matern52":
        r2 *= 5.0
        r = np.sqrt(r2)
        K = np.exp(-r)
        r2 /= 3.0
        r2 += r
        r2 += 1.0
        K *= r2
    else:
        raise ValueError(f"no bare pass for {kernel.family}")
    K += kernel.offset
    return K


def _anova(kernel: Any, B: Any, A: Any) -> Any:
    """[prod_i (1 + s k_i) - 1] / [(1 + s)^d - 1], k_i Matern 5/2 in input i."""
    s, d = kernel.alpha, A.shape[1]
    out, k, r = np.ones((len(B), len(A))), np.empty((len(B), len(A))), np.empty((len(B), len(A)))
    for i in range(d):
        np.abs(np.subtract(B[:, i, None], A[None, :, i], out=r), out=r)
        r *= 5.0**0.5
        np.multiply(r, s / 3.0, out=k)
        k += s
        k *= r
        k += s
        k *= np.exp(np.negative(r, out=r), out=r)
        k += 1.0
        out *= k
    out -= 1.0
    out /= (1.0 + s) ** d - 1.0
    return out


def bare(learner: weal.ActiveLearner, folder: Path, names: Sequence[str], threads: int) -> float:
    """The largest variance of the mixture."""
    scale, (experts, Z) = learner.model.scaling, experts_held(learner)

    def block(X: Any) -> float:
        S = (X - scale.x_mean) / scale.x_sd
        mu, var = [], []
        for one in experts:
            K = correlations(one.kernel, Z, S)
            V = dtrsm(1.0, one.L.T, K.T, side=1, lower=0, overwrite_b=1).T
            mu.append(one.z @ V)
            prior = 1.0 + one.kernel.offset
            var.append(one.magnitude * (prior - np.einsum("tn,tn->n", V, V)))
        w = np.array([one.w for one in experts])
        mean = w @ np.array(mu)
        return float((w @ (np.array(var) + (np.array(mu) - mean) ** 2)).max())

    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        files = sorted(folder.glob("*.parquet"))
        return max(pool.map(lambda path: _over(path, names, block), files))


def _over(path: Path, names: Sequence[str], block: Callable[[Any], float]) -> float:
    """The largest that `block` finds in a file."""
    best = -np.inf
    with pq.ParquetFile(path) as opened:
        for batch in opened.iter_batches(32_768, columns=list(names), use_threads=False):
            X = np.stack([column.to_numpy() for column in batch.columns], axis=1)
            for start in range(0, len(X), BLOCK):
                best = max(best, block(X[start : start + BLOCK].astype(np.float64)))
    return best
