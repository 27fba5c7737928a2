"""Marginal likelihood of t labels under one GP: its magnitude, noise and lengthscale.

With K = Q diag(l) Q' the correlations of the labelled points, q = (Q'y)^2 and r the noise ratio,

    log p(y) = -1/2 sum_i [ q_i / (sig2 (l_i + r)) + log(sig2 (l_i + r)) + log 2 pi ]

so that one eigendecomposition serves every (sig2, r). For given r the likelihood has one maximum in
sig2, at mean_i q_i / (l_i + r), and falls off on both sides; within bounds on the magnitude and on
the noise r sig2 the best sig2 is therefore that value, clipped to the interval that the bounds
leave. What remains is a search over r alone, which follows a bound automatically wherever the clip
holds. It looks on a grid and then in ever finer grids around the two best peaks, for all experts at
once.

At very short lengthscales K is the identity and only sig2 + noise is determined: among equally
likely ratios the smallest is taken, which calls everything signal.

Labels that bring a noise variance of their own, diag(n), break the common eigenvectors; the
two-dimensional problem then goes to L-BFGS-B, with gradient 1/2 tr((aa' - C^-1) dC), a = C^-1 y.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from weal.core.arrays import Array
from weal.core.paper.kernels import Kernel, correlation

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult  # its import takes 0.1 s: where it is needed

Bounds = tuple[float, float]

NOISE_GRID_POINTS = 64  # points of the first grid over log r
N_ZOOMS = 7  # finer grids of ZOOM_GRID points, each over two cells of the one before
ZOOM_GRID = 13
SINGULAR_RATIO = 1e-10  # below it K + r I is singular in double precision: r counts as this much
LIKELIHOOD_TIE = 1e-11  # log likelihoods closer than this, relative to t, are the same likelihood
NEXT_TO_NOTHING = 1e-3  # share of the signal in a climb that starts from noise
# factor around a lengthscale where unequal noises look again
LENGTH_SCALE_FACTOR, REFINED_GRID = 4.0, 9


class MaximumLikelihood(NamedTuple):
    """Maximum of the marginal likelihood of each of M kernels."""

    magnitude: Array  # (M,)  sig2
    noise: Array  # (M,)  noise variance, in the units of the magnitude's
    log_likelihood: Array  # (M,)


def fit_magnitude_noise(
    K: Array, y: Array, magnitude_bounds: Bounds, noise_bounds: Bounds
) -> MaximumLikelihood:
    """Maximum-likelihood magnitude and noise variance of labels y (t,), for each of K (M, t, t)."""
    ell, Q = np.linalg.eigh(K)
    ell = np.maximum(ell, 0.0)  # (M, t); rounding leaves -1e-16
    q = np.matmul(y, Q) ** 2  # (M, t)

    def profile(log_r: Array) -> tuple[Array, Array]:  # (M, G) -> log likelihood, sig2
        r = np.exp(log_r)
        a = ell[:, None, :] + np.maximum(r, SINGULAR_RATIO)[:, :, None]  # (M, G, t)
        mean = (q[:, None, :] / a).mean(axis=2)
        low = np.maximum(magnitude_bounds[0], noise_bounds[0] / r)
        high = np.minimum(magnitude_bounds[1], noise_bounds[1] / r)
        sig2 = np.clip(mean, low, np.maximum(low, high))
        log_det = np.log(a).sum(axis=2)
        t = len(y)
        return -0.5 * (t * (mean / sig2 + np.log(2.0 * np.pi * sig2)) + log_det), sig2

    # Ratios below SINGULAR_RATIO only where the bounds leave no other way to a large magnitude.
    enough = min(SINGULAR_RATIO, noise_bounds[1] / magnitude_bounds[1])
    least = max(noise_bounds[0] / magnitude_bounds[1], enough)
    most = max(noise_bounds[1] / magnitude_bounds[0], least)
    ends = float(np.log(least)), float(np.log(most))
    log_r, log_likelihood = _search(lambda x: profile(x)[0], len(K), ends, LIKELIHOOD_TIE * len(y))
    sig2 = profile(log_r[:, None])[1][:, 0]
    noise = np.clip(np.exp(log_r) * sig2, *noise_bounds)
    return MaximumLikelihood(sig2, noise, log_likelihood)


def fit_hyperparameters(
    K: Array,
    y: Array,
    noise_var: Array,
    magnitude_bounds: Bounds,
    noise_bounds: Bounds,
    magnitude: Array | None = None,
    noise: Array | None = None,
) -> MaximumLikelihood:
    """Magnitude and noise (M,) for each of K (M, t, t); a given one stays fixed.

    `noise_var` (t,) has known noise variances of the labels.
    """
    fit = partial(fit_known_noise, noise_var=noise_var) if noise_var.any() else fit_magnitude_noise
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
    return MaximumLikelihood(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def fit_known_noise(
    K: Array, y: Array, noise_var: Array, magnitude_bounds: Bounds, noise_bounds: Bounds
) -> MaximumLikelihood:
    """As `fit_magnitude_noise`, for labels with additional known noise variances (t,)."""
    typical = float(np.median(noise_var))  # where all bring the same, this start is the answer
    raised = (noise_bounds[0] + typical, noise_bounds[1] + typical)
    start = fit_magnitude_noise(K, y, magnitude_bounds, raised)
    noises = np.maximum(start.noise - typical, noise_bounds[0])
    box = np.log([magnitude_bounds, noise_bounds])  # (2, 2)
    found = [
        _highest_peak(K_m, y, noise_var, box, sig2, noise)
        for K_m, sig2, noise in zip(K, start.magnitude, noises, strict=True)
    ]
    sig2, noise = np.exp([best.x for best in found]).T
    return MaximumLikelihood(
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
    noise_var: Array | None = None,
) -> Kernel:
    """The kernel with the maximum-likelihood lengthscale for labels y (t,) at X (t, d).

    Two equal bounds fix a magnitude or noise. Known noise variances (t,) of the labels count as
    their median at first; where they differ, the best within a factor of REFINED is sought again.
    """
    known = np.zeros(len(y)) if noise_var is None else noise_var
    typical = float(np.median(known))
    raised = (noise_bounds[0] + typical, noise_bounds[1] + typical)

    def at(log_ell: float) -> Kernel:
        return replace(family, length_scale=float(np.exp(log_ell)))

    def likelihood(log_ell: Array) -> Array:  # (1, G) -> (1, G)
        K = np.stack([correlation(at(ell), X, X) for ell in log_ell[0]])
        return fit_magnitude_noise(K, y, magnitude_bounds, raised).log_likelihood[None]

    def loss(log_ell: float) -> float:
        K = correlation(at(log_ell), X, X)[None]
        fitted = fit_known_noise(K, y, known, magnitude_bounds, noise_bounds)
        return -float(fitted.log_likelihood[0])

    ends = float(np.log(length_bounds[0])), float(np.log(length_bounds[1]))
    best = float(_search(likelihood, 1, ends, LIKELIHOOD_TIE * len(y))[0][0])
    if (known != typical).any():
        near = np.clip(
            best + np.log(LENGTH_SCALE_FACTOR) * np.linspace(-1.0, 1.0, REFINED_GRID), *ends
        )
        n = int(np.argmin([loss(log_ell) for log_ell in near]))
        around = near[max(n - 1, 0)], near[min(n + 1, len(near) - 1)]
        from scipy.optimize import minimize_scalar

        best = float(minimize_scalar(loss, bounds=around, options={"xatol": 1e-4}).x)
    return at(best)


def _highest_peak(
    K: Array, y: Array, noise_var: Array, box: Array, sig2: float, noise: float
) -> "OptimizeResult":
    """The best of three local searches: from equal noises, all signal, and nearly all noise.

    The first alone ends on a lower peak in 2 cases of 100, by up to 10 in the log likelihood.
    """
    from scipy.optimize import minimize

    total = np.log(sig2 + noise)
    starts = np.log([sig2, noise]), (total, box[1, 0]), (total + np.log(NEXT_TO_NOTHING), total)
    climbs = [
        minimize(
            _negative_log_likelihood,
            np.clip(start, box[:, 0], box[:, 1]),
            args=(K, y, noise_var),
            jac=True,
            bounds=box,
            method="L-BFGS-B",
            options={"ftol": 1e-13, "gtol": 1e-8},
        )
        for start in starts
    ]
    return min(climbs, key=lambda climb: float(climb.fun))


def _negative_log_likelihood(
    log_parameters: Array, K: Array, y: Array, noise_var: Array
) -> tuple[float, Array]:
    """-log p(y) and its gradient, for C = sig2 K + diag(noise + noise_var)."""
    sig2, noise = np.exp(log_parameters)
    ratio = (noise + noise_var) / sig2
    R = K + np.diag(np.maximum(ratio, SINGULAR_RATIO))
    factor = cho_factor(sig2 * R, lower=True)
    a = cho_solve(factor, y)
    inner = np.outer(a, a) - cho_solve(factor, np.eye(len(y)))
    above = ratio >= SINGULAR_RATIO
    gradient = -0.5 * np.array([sig2 * np.sum(inner * K), noise * np.diag(inner)[above].sum()])
    gradient[0] -= 0.5 * sig2 * SINGULAR_RATIO * np.diag(inner)[~above].sum()
    log_det = 2.0 * np.log(np.diag(factor[0])).sum()
    return 0.5 * float(y @ a + log_det + len(y) * np.log(2.0 * np.pi)), gradient


def _search(
    f: Callable[[Array], Array], M: int, ends: tuple[float, float], tie: float
) -> tuple[Array, Array]:
    """The least x (M,) in `ends` at which f (M, G) -> (M, G) is within `tie` of its maximum."""
    grid = np.linspace(*ends, NOISE_GRID_POINTS)
    peaks = grid[_two_peaks(f(np.broadcast_to(grid, (M, NOISE_GRID_POINTS))), tie)]  # (M, 2)
    half = (ends[1] - ends[0]) / (NOISE_GRID_POINTS - 1)
    for _ in range(N_ZOOMS):
        x = np.clip(peaks[:, :, None] + np.linspace(-half, half, ZOOM_GRID), *ends)  # (M, 2, G)
        peaks, heights = _least_best(x, f(x.reshape(M, -1)).reshape(x.shape), tie)
        half /= (ZOOM_GRID - 1) / 2
    return _least_best(peaks, heights, tie)


def _two_peaks(values: Array, tie: float) -> NDArray[np.intp]:
    """Indices (M, 2), in order, of the highest point of each row (M, G) and the next local one.

    Signal and noise can explain labels about as well: on a grid the lower peak may look higher.
    """
    rows = np.arange(len(values))
    first = np.argmax(values >= values.max(axis=1, keepdims=True) - tie, axis=1)
    walled = np.pad(values, ((0, 0), (1, 1)), constant_values=-np.inf)
    local = (values >= walled[:, :-2]) & (values >= walled[:, 2:])
    local[rows, first] = False
    second = np.argmax(np.where(local, values, -np.inf), axis=1)
    second = np.where(local.any(axis=1), second, first)
    return np.sort(np.stack([first, second], axis=1), axis=1)


def _least_best(x: Array, values: Array, tie: float) -> tuple[Array, Array]:
    """The first x along the last axis whose value is within `tie` of the best, and its value."""
    at = np.argmax(values >= values.max(axis=-1, keepdims=True) - tie, axis=-1)[..., None]
    return (
        np.take_along_axis(x, at, axis=-1)[..., 0],
        np.take_along_axis(values, at, axis=-1)[..., 0],
    )
