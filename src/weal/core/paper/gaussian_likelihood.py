"""The Gaussian likelihood: labels are f and normal noise, y = f + noise [1, eq:pred_y].

An expert predicts f at a point with mean mu and variance v, v in units of its magnitude sig2. The
noise of a label y has the ratio lam to the magnitude. The innovation and its variance are

    e = y - mu        s = v + lam

and everything else follows from them: the predictions move by c e / s and c^2 / s (`feature_gp`),
the magnitude learns e^2 / s, and the weight is multiplied by the density of e, which the magnitude
gives (`fixed_magnitude`). Labels in turn are a Cholesky factor: with B the prior covariance of f at
their points, C C' = B + diag(lam) and z = C^-1 (y - mu), s = diag(C)^2 and e = z diag(C), each
given the labels before it.
"""

import numpy as np
from scipy.linalg import solve_triangular

from weal.core.arrays import Array


def innovation(y: Array | float, mu: Array, v: Array, lam: Array) -> tuple[Array, Array]:
    """The innovation e = y - mu of labels y and its variance s = v + lam, elementwise."""
    return y - mu, v + lam  # [1, eq:pred_y]


def cholesky_innovations(y: Array, mu: Array, B: Array, lam: Array) -> tuple[Array, Array]:
    """C (N, N) and z (N,) of labels y (N,) in turn, for B (N, N) and noise ratios lam (N,)."""
    noisy = B.copy()
    noisy[np.diag_indices(len(y))] += lam  # [1, eq:joint_pdf]
    C: Array = np.linalg.cholesky(noisy).astype(np.float64, copy=False)
    return C, solve_triangular(C, y - mu, lower=True, check_finite=False)
