"""Marginal likelihood of t labels under one GP: its magnitude, noise and lengthscale.

With K = Q diag(l) Q' the correlations of the labelled points, q = (Q'y)^2 and r the noise ratio,

    log p(y) = -1/2 sum_i [ q_i / (sig2 (l_i + r)) + log(sig2 (l_i + r)) + log 2 pi ]

so that one eigendecomposition serves every (sig2, r). For given r the likelihood has one maximum
in sig2, at mean_i q_i / (l_i + r), and falls off on both sides; within bounds on the magnitude
and on the noise r sig2 the best sig2 is therefore that value, clipped to the interval that the
bounds leave. What remains is a search over r alone, which runs along a bound by itself wherever
the clip holds. It looks on a grid and then in ever finer grids around the best, for all experts
at once.

At very short lengthscales K is the identity and only sig2 + noise is determined: among equally
likely ratios the smallest is taken, which calls everything signal.

Labels that bring a noise variance of their own, diag(n), break the common eigenvectors; the
two-dimensional problem then goes to L-BFGS-B, with gradient 1/2 tr((aa' - C^-1) dC), a = C^-1 y.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from weal.core.arrays import Array
from weal.core.kernels import Kernel, correlation

Bounds = tuple[float, float]

GRID = 64  # points of the first grid over log r
ZOOMS = 7  # finer grids of ZOOM_GRID points, each over two cells of the one before
ZOOM_GRID = 13
LEAST_RATIO = 1e-10  # below it K + r I is singular in double precision for a smooth kernel
TIE = 1e-11  # log likelihoods closer than this, relative to t, are the same likelihood


class Fitted(NamedTuple):
    """Maximum of the marginal likelihood of each of M kernels."""

    magnitude: Array  # (M,)  sig2
    noise: Array  # (M,)  noise variance, in the units of the magnitude's
    log_likelihood: Array  # (M,)


def fit_magnitude_noise(
    K: Array, y: Array, magnitude_bounds: Bounds, noise_bounds: Bounds
) -> Fitted:
    """The magnitude and noise variance that make y (t,) likeliest, for each of K (M, t, t)."""
    ell, Q = np.linalg.eigh(K)
    ell = np.maximum(ell, 0.0)  # (M, t); rounding leaves -1e-16
    q = np.matmul(y, Q) ** 2  # (M, t)

    def profile(log_r: Array) -> tuple[Array, Array]:  # (M, G) -> log likelihood, sig2
        r = np.exp(log_r)
        a = ell[:, None, :] + r[:, :, None]  # (M, G, t)
        mean = (q[:, None, :] / a).mean(axis=2)
        low = np.maximum(magnitude_bounds[0], noise_bounds[0] / r)
        high = np.minimum(magnitude_bounds[1], noise_bounds[1] / r)
        sig2 = np.clip(mean, low, np.maximum(low, high))
        log_det = np.log(a).sum(axis=2)
        t = len(y)
        return -0.5 * (t * (mean / sig2 + np.log(2.0 * np.pi * sig2)) + log_det), sig2

    least = max(noise_bounds[0] / magnitude_bounds[1], LEAST_RATIO)
    most = max(noise_bounds[1] / magnitude_bounds[0], least)
    ends = float(np.log(least)), float(np.log(most))
    log_r, log_likelihood = _search(lambda x: profile(x)[0], len(K), ends, TIE * len(y))
    sig2 = profile(log_r[:, None])[1][:, 0]
    noise = np.clip(np.exp(log_r) * sig2, *noise_bounds)
    return Fitted(sig2, noise, log_likelihood)


def fit_hyperparameters(
    K: Array,
    y: Array,
    extra: Array,
    magnitude_bounds: Bounds,
    noise_bounds: Bounds,
    magnitude: Array | None = None,
    noise: Array | None = None,
) -> Fitted:
    """Magnitude and noise (M,) for each of K (M, t, t), with either held where it is given.

    `extra` (t,) are noise variances that the labels bring along.
    """
    fit = partial(fit_known_noise, extra=extra) if extra.any() else fit_magnitude_noise
    if magnitude is None and noise is None:
        return fit(K, y, magnitude_bounds=magnitude_bounds, noise_bounds=noise_bounds)
    parts = [
        fit(
            K[m : m + 1],
            y,
            magnitude_bounds=magnitude_bounds if magnitude is None else (magnitude[m],) * 2,
            noise_bounds=noise_bounds if noise is None else (noise[m],) * 2,
        )
        for m in range(len(K))
    ]
    return Fitted(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def fit_known_noise(
    K: Array, y: Array, extra: Array, magnitude_bounds: Bounds, noise_bounds: Bounds
) -> Fitted:
    """As `fit_magnitude_noise`, for labels with noise variances extra (t,) of their own besides."""
    start = fit_magnitude_noise(K, y, magnitude_bounds, noise_bounds)
    box = np.log([magnitude_bounds, noise_bounds])  # (2, 2)
    found = [
        minimize(
            _negative_log_likelihood,
            np.clip(np.log([sig2, noise]), box[:, 0], box[:, 1]),
            args=(K_m, y, extra),
            jac=True,
            bounds=box,
            method="L-BFGS-B",
            options={"ftol": 1e-13, "gtol": 1e-8},
        )
        for K_m, sig2, noise in zip(K, start.magnitude, start.noise, strict=True)
    ]
    sig2, noise = np.exp([best.x for best in found]).T
    return Fitted(
        np.clip(sig2, *magnitude_bounds),
        np.clip(noise, *noise_bounds),
        np.array([-best.fun for best in found]),
    )


def fit_length_scale(
    family: Kernel,
    X: Array,
    y: Array,
    magnitude_bounds: Bounds,
    noise_bounds: Bounds,
    length_bounds: Bounds,
) -> Kernel:
    """The kernel with the one lengthscale that makes y (t,) at X (t, d) likeliest."""

    def likelihood(log_ell: Array) -> Array:  # (1, G) -> (1, G)
        kernels = [Kernel(family.family, float(ell), family.alpha) for ell in np.exp(log_ell[0])]
        K = np.stack([correlation(kernel, X, X) for kernel in kernels])
        return fit_magnitude_noise(K, y, magnitude_bounds, noise_bounds).log_likelihood[None]

    ends = float(np.log(length_bounds[0])), float(np.log(length_bounds[1]))
    log_ell, _ = _search(likelihood, 1, ends, TIE * len(y))
    return Kernel(family.family, float(np.exp(log_ell[0])), family.alpha)


def _negative_log_likelihood(
    log_parameters: Array, K: Array, y: Array, extra: Array
) -> tuple[float, Array]:
    """-log p(y) and its gradient by (log sig2, log noise), for C = sig2 K + diag(noise + extra)."""
    sig2, noise = np.exp(log_parameters)
    factor = cho_factor(sig2 * K + np.diag(noise + extra), lower=True)
    a = cho_solve(factor, y)
    inner = np.outer(a, a) - cho_solve(factor, np.eye(len(y)))
    gradient = -0.5 * np.array([sig2 * np.sum(inner * K), noise * np.trace(inner)])
    log_det = 2.0 * np.log(np.diag(factor[0])).sum()
    return 0.5 * float(y @ a + log_det + len(y) * np.log(2.0 * np.pi)), gradient


def _search(
    f: Callable[[Array], Array], M: int, ends: tuple[float, float], tie: float
) -> tuple[Array, Array]:
    """The least x (M,) in `ends` at which f (M, G) -> (M, G) is within `tie` of its maximum."""
    x = np.broadcast_to(np.linspace(*ends, GRID), (M, GRID))
    half = (ends[1] - ends[0]) / (GRID - 1)
    rows = np.arange(M)
    for zoom in range(ZOOMS + 1):
        values = f(x)  # (M, G)
        at = np.argmax(values >= values.max(axis=1, keepdims=True) - tie, axis=1)
        best = x[rows, at]
        if zoom == ZOOMS:
            break
        x = np.clip(best[:, None] + np.linspace(-half, half, ZOOM_GRID), *ends)
        half /= (ZOOM_GRID - 1) / 2
    return best, values[rows, at]
