"""The joint posterior of f at several points: its covariance, and functions drawn from it.

Under expert m, f at N points is normal, with mean mu_m (N,) and covariance sig2_m C_m (N, N). The
covariance of the mixture follows from the law of total covariance,

    mean = sum_m w_m mu_m      cov = sum_m w_m (sig2_m C_m + (mu_m - mean)(mu_m - mean)')

and its diagonal is the variance of `core.paper.ensemble.mixture`. A function is drawn in two steps:
an expert by its weight, then its joint normal. Under inducing points f has a part that is
independent between points (`Experts.remainders`); equal rows share it.

Means and covariances of warped labels are those of `core.extensions.label_warp`. A drawn function
is mapped back value by value, so its quantiles are exact.

All in scaled inputs X (N, d); values are in the user's units.
"""

from typing import Any

import numpy as np
from scipy.linalg.lapack import dpstrf

from weal.core.arrays import Array
from weal.core.scaling import Scaling
from weal.model.training import TrainedEnsemble

MAX_JOINT_ROWS = 20_000  # rows of a covariance matrix: 3.2 GB, and a few of them at a time


def check_joint_rows(N: int) -> None:
    """Raise ValueError if the covariance matrix of N rows does not fit the memory."""
    if N > MAX_JOINT_ROWS:
        raise ValueError(
            f"a covariance of {N:,} rows takes {8e-9 * N * N:,.0f} GB for each expert; pass "
            f"{MAX_JOINT_ROWS:,} rows at most, or use return_std, which needs no covariance"
        )


def expert_posterior(trained: TrainedEnsemble, m: int, X: Array) -> tuple[Array, Array]:
    """Mean (N,) of f under expert m, and its covariance (N, N) in units of the magnitude."""
    experts = trained.ensemble.experts.take([m])
    points = trained.embedding.take([m]).points(experts, X)
    (mu,), (v,) = experts.predict(points)
    C: Array = experts.covariance(points, points)[0].astype(np.float64, copy=False)
    alone = experts.remainders(points)[0]
    if alone.any():
        C += _equal_rows(X) * alone
    np.fill_diagonal(C, v)  # as `predict` rounds it
    return mu, 0.5 * (C + C.T)


def _equal_rows(X: Array) -> Array:  # (N, N)
    """1 where two rows are equal, else 0."""
    _, inverse = np.unique(X, axis=0, return_inverse=True)
    which = np.asarray(inverse).reshape(-1)
    return np.asarray(which[:, None] == which, dtype=np.float64)


def mean_covariance(trained: TrainedEnsemble, scale: Scaling, X: Array) -> tuple[Array, Array]:
    """Mean (N,) and covariance (N, N) of f under the mixture."""
    ens, N = trained.ensemble, len(X)
    means, cov = np.empty((len(ens.log_w), N)), np.zeros((N, N))
    noise = ens.magnitude[:, None] * np.broadcast_to(ens.noise_at(X), means.shape)
    for m, (w, sig2) in enumerate(zip(ens.w.tolist(), ens.magnitude.tolist(), strict=True)):
        mu, C = expert_posterior(trained, m, X)
        means[m], C = trained.warp.joint_moments(mu, sig2 * C, noise[m])
        cov += w * C
    mean = ens.w @ means
    apart = np.sqrt(ens.w)[:, None] * (means - mean)
    with np.errstate(over="ignore"):
        return scale.means(mean), scale.y_sd**2 * (cov + apart.T @ apart)


def draw_functions(
    trained: TrainedEnsemble, scale: Scaling, X: Array, n: int, rng: np.random.RandomState
) -> Array:  # (N, n)
    """Values of n functions drawn from the mixture, one in each column."""
    ens, N = trained.ensemble, len(X)
    chosen: Any = rng.choice(len(ens.log_w), size=n, p=ens.w / ens.w.sum())
    normal, drawn = rng.standard_normal((N, n)), np.empty((N, n))
    noise = ens.magnitude[:, None] * np.broadcast_to(ens.noise_at(X), (len(ens.log_w), N))
    for m in np.unique(chosen).tolist():
        mu, C = expert_posterior(trained, m, X)
        z = mu[:, None] + np.sqrt(ens.magnitude[m]) * (root(C) @ normal[:, chosen == m])
        drawn[:, chosen == m] = trained.warp.expected_labels(z, noise[m][:, None])
    with np.errstate(over="ignore"):
        return scale.means(drawn)


def root(C: Array) -> Array:
    """A (N, N) with A A' = C, for a covariance C (N, N) that may be singular.

    By Cholesky with pivots, which ends at the rank of C: equal rows, and rows that labels determine
    to the last digit, need no jitter.
    """
    if not C.size or C.diagonal().max() <= 0.0:
        return np.zeros_like(C)
    L, pivots, rank, _ = dpstrf(C, lower=1)
    A = np.zeros_like(C)
    A[pivots - 1, :rank] = np.tril(L)[:, :rank]
    return A
