"""The joint density of all test labels, as the paper writes its NPLL: -log p(y | labels so far).

Given an expert, the N test labels are jointly normal around their means, with r = y - mu and
covariance sig2 C, C = B + lam I, B the posterior covariance of f over the test points; the
ensemble mixes these densities by its weights,

    p(y) = sum_m w_m N(r_m; 0, sig2_m C_m)       (a multivariate t where sig2 is integrated out)

which is not the product of the densities of the single labels: the test points err together. All
that is needed of C is log det C and r'C^-1 r. On features B = A A', A = Phi S (N, F), and with b
the least of |r - A b|^2 / lam + |b|^2, which is r'C^-1 r, both cost N F^2 instead of N^3.
"""

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from weal.core.arrays import Array
from weal.core.extensions.inducing_gp import InducingExperts
from weal.core.paper.exact_gp import LEAST_RATIO, ExactExperts
from weal.core.paper.feature_gp import FeatureExperts
from weal.model.model import Model

Form = tuple[float, float]  # log det C, r'C^-1 r


def joint_log_density(model: Model, X: Array, y: Array) -> float:
    """Log of the joint predictive density of labels y (N,) at X (N, d), in units of y."""
    ens, scale, bend = model.ensemble_, model.scaling_, model.fold.bend
    points, scaled = model.points(X), scale.labels(y)
    mu, _ = ens.experts.predict(points)  # (M, N)
    forms = _forms(ens.experts, points, bend.labels(scaled) - mu, ens.noise)
    log_det, square = np.array(forms).T[:, :, None]  # (M, 1) each
    # N innovations all alike have the same evidence: it sees log det and the square alone
    N = len(y)
    s = np.broadcast_to(np.exp(log_det / N), mu.shape)
    log_p, _ = ens.scale.after(np.sqrt(square * s / N), s)
    parts = ens.log_w + log_p
    top = parts.max()
    slopes = float(np.sum(bend.log_slope(scaled))) - N * float(np.log(scale.y_sd))
    return float(top + np.log(np.exp(parts - top).sum())) + slopes  # [1, metric:npll]


def _forms(experts: Any, points: Any, r: Array, lam: Array) -> list[Form]:
    """The two numbers of every expert, for residuals r (M, N) and noise ratios lam (M,)."""
    if isinstance(experts, FeatureExperts | InducingExperts):
        A = np.matmul(points, experts.root)  # (M, N, F)
        noise = lam[:, None] + experts.remainders(points)  # (M, N)
        return [_on_features(*parts) for parts in zip(A, r, noise, strict=True)]
    assert isinstance(experts, ExactExperts)
    B = experts.covariance(points, points)  # (M, N, N)
    ratios = np.maximum(lam, LEAST_RATIO).tolist()
    return [_in_full(*parts) for parts in zip(B, r, ratios, strict=True)]


def _on_features(A: Array, r: Array, lam: Array) -> Form:
    F, least = A.shape[1], float(lam.min())
    share = least / lam  # (N,)
    factor = cho_factor((A.T * share) @ A + least * np.eye(F), lower=True, check_finite=False)
    b = cho_solve(factor, A.T @ (share * r), check_finite=False)
    log_det = np.log(lam).sum() - F * np.log(least) + 2.0 * np.log(np.diag(factor[0])).sum()
    return float(log_det), float(np.sum((r - A @ b) ** 2 / lam) + b @ b)


def _in_full(B: Array, r: Array, lam: float) -> Form:
    L = np.linalg.cholesky(B + lam * np.eye(len(r)))
    z = solve_triangular(L, r, lower=True, check_finite=False)
    return float(2.0 * np.log(np.diag(L)).sum()), float(z @ z)
