"""Batch posteriors, evidence and the mixture, from their definitions.

Noise ratios lam (t,) are one for each label; variances are in units of the magnitude.
"""

import math

import numpy as np

from reference.decimals import PI, exact, rounded, solve


def weight_posterior(Phi, y, lam):
    """Mean theta (F,) and covariance Sigma (F, F) of one expert's feature weights.

    Sigma^-1 = I + sum_n phi_n phi_n' / lam_n,   theta = Sigma sum_n phi_n y_n / lam_n: what the
    steps of [1, eq:posterior_update_1] come to.
    """
    Phi, y, lam = exact(Phi), exact(y), exact(lam)
    F = Phi.shape[1]
    precision, b = exact(np.eye(F)), exact(np.zeros(F))
    for phi, label, ratio in zip(Phi, y, lam, strict=True):
        precision = precision + np.outer(phi, phi) / ratio
        b = b + phi * label / ratio
    Sigma, _ = solve(precision, exact(np.eye(F)))
    return rounded(Sigma @ b), rounded(Sigma)


def gp_joint_posterior(K, k, K_new, y, lam):
    """Mean (N,) and covariance (N, N) of f [1, eq:mean, eq:variance].

    K (t, t) among labelled points, k (t, N) with the new ones, K_new (N, N) among those; for
    experts on features K = Phi Phi', which is the same posterior as that of the weights.
    """
    K, k, K_new, y, lam = (_exact(a) for a in (K, k, K_new, y, lam))
    if not len(K):
        return np.zeros(len(K_new)), rounded(K_new)
    right = np.concatenate([k, y[:, None]], axis=1)
    solved, _ = solve(K + np.diag(lam), right)
    return rounded(k.T @ solved[:, -1]), rounded(K_new - k.T @ solved[:, :-1])


def gp_coefficients(K, k, lam):
    """a (t, N) with which the labels enter the means, mu = a'y: a = (K + diag(lam))^-1 k."""
    return rounded(solve(_exact(K) + np.diag(_exact(lam)), _exact(k))[0])


def gp_log_evidence(K, y, magnitude, lam):
    """log N(y; 0, magnitude (K + diag(lam)))."""
    K, y, lam, magnitude = _exact(K), _exact(y), _exact(lam), exact(magnitude).item()
    if not len(y):
        return 0.0
    C = magnitude * (K + np.diag(lam))
    solved, log_det = solve(C, y[:, None].copy())
    return float(-(y @ solved[:, 0] + log_det + len(y) * (2 * PI).ln()) / 2)


def student_log_evidence(K, y, lam, a, b):
    """Log density of y under N(0, sig2 (K + diag(lam))), sig2 ~ inverse gamma(a, b) integrated out:
    a multivariate Student-t.
    """
    K, y, lam = _exact(K), _exact(y), _exact(lam)
    if not len(y):
        return 0.0
    solved, log_det = solve(K + np.diag(lam), y[:, None].copy())
    later, rest = a + len(y) / 2, (len(y) * (2 * PI).ln() + log_det) / 2
    quadratic = exact(b).item() + y @ solved[:, 0] / 2
    constant = math.lgamma(later) - math.lgamma(a) + a * math.log(b)
    return constant - later * float(quadratic.ln()) - float(rest)


def _exact(A):
    A = np.asarray(A)
    return A if A.dtype == object else exact(A)


def log_probabilities(prior, log_evidence):
    """log Pr(m | labels), Pr = prior_m p(labels | m) / sum: [1, eq:w_update] unrolled."""
    joint = [
        math.log(p) + e if p > 0 else -math.inf for p, e in zip(prior, log_evidence, strict=True)
    ]
    top = max(joint)
    total = top + math.log(sum(math.exp(a - top) for a in joint))
    return np.array([a - total for a in joint])


def mixture(w, mu, var):
    """Mean and variance (N,) of the mixture [1, eq:QBC_mean, eq:var-GPM], in loops."""
    M, N = mu.shape
    mean, variance = np.zeros(N), np.zeros(N)
    for n in range(N):
        for m in range(M):
            mean[n] += w[m] * mu[m, n]
        for m in range(M):
            variance[n] += w[m] * (var[m, n] + (mu[m, n] - mean[n]) ** 2)
    return mean, variance
