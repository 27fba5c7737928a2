"""How 0.1 chose its experts: what the golden files were written with, and nothing else uses.

One peak for each of two families, at three multiples of itself, a prior of the magnitude worth
three labels, and an even prior of log lam. Kept as it was, but for noise that labels state, which
is measured by the prior mean of the magnitude.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import erfcx, gammaln, logsumexp

from weal.core.arrays import Array
from weal.core.ensemble import normalise
from weal.core.exact import LEAST_RATIO
from weal.core.kernels import FAMILIES, Kernel, correlation
from weal.core.likelihood import GAUSSIAN
from weal.core.lineup import Lineup
from weal.core.magnitude import LOG_2_PI, Conjugate
from weal.core.stated_noise import even_sample

A0, B0 = 1.5, 0.5
RAISED = 8.0  # variances, in bent labels, that the mean was raised for
FITTED_SHARE, MULTIPLES, FEWEST_FITTED = 0.2, (0.6, 1.0, 1.7), 4
LEAST_POSTERIOR, MOST_EXPERTS = 1e-4, 12
LENGTH_SPREAD, SOUGHT_LENGTHS, SOUGHT_RATIOS, FIT_ITERATIONS = 1.5, (0.02, 200.0), (1e-11, 10.0), 60
MANY_INPUTS, SHORT_LENGTH, LONG_LENGTH = 6, 1.5, 5.0
FORWARD_RATIO, FORWARD_GAIN, FORWARD_LABELS = 1e-2, 1.0, 200

LEAST_CURVATURE = 2.0 * np.pi / float(np.log(SOUGHT_RATIOS[1] / SOUGHT_RATIOS[0])) ** 2
DIFFERENCE = 1e-3  # of the finite differences of the gradient that H is made of


@dataclass(frozen=True, slots=True, eq=False)
class Peak:
    """Where the evidence of a family peaks over lengthscales and noise ratio."""

    kernel: Kernel
    noise: float  # lam
    log_z: float  # Laplace evidence, without the constant of `evidence_constant`


def fit(start: Kernel, noise: float, X: Array, y: Array, extra: Array) -> Peak:
    """The peak that is reached from a kernel with one lengthscale and a noise ratio."""
    d = X.shape[1]
    D2 = (X.T[:, :, None] - X.T[:, None, :]) ** 2  # (d, t, t)
    loss = partial(_loss, kernel=start, D2=D2, y=y, extra=extra)
    ell = np.broadcast_to(np.asarray(start.length_scale, dtype=np.float64), (d,))
    lengths = np.log([SOUGHT_LENGTHS[0], SOUGHT_LENGTHS[1] * np.sqrt(d)])
    bounds = [tuple(lengths)] * d + [tuple(np.log(SOUGHT_RATIOS))]
    from scipy.optimize import minimize  # its import takes 0.1 s, which only settling pays

    found = minimize(
        loss,
        np.append(np.log(ell), np.log(noise)),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": FIT_ITERATIONS},
    )
    p = found.x
    low, high = np.array(bounds).T
    slope = np.where(p <= low, found.jac, np.where(p >= high, -found.jac, 0.0))
    log_z = -float(found.fun) + _log_volume(_hessian(loss, p), np.maximum(slope, 0.0))
    log_z -= float(np.log(np.log(SOUGHT_RATIOS[1] / SOUGHT_RATIOS[0])))
    return Peak(_with_lengths(start, np.exp(p[:d])), float(np.exp(p[d])), log_z)


def forward(kernel: Kernel, X: Array, y: Array, extra: Array) -> Kernel:
    """The kernel with a short lengthscale for the inputs that matter, long ones for the others.

    From none, the input that lifts the evidence most is taken next, until none lifts it by
    FORWARD_GAIN; at the noise ratio FORWARD_RATIO, with an even sample of FORWARD_LABELS labels
    where there are more.
    """
    X, y, extra = even_sample(FORWARD_LABELS, X, y, extra)
    d = X.shape[1]
    on, off = 1.0 / SHORT_LENGTH**2, 1.0 / (d * LONG_LENGTH**2)
    inverse = np.full(d, off)  # 1 / l^2
    D2 = (X.T[:, :, None] - X.T[:, None, :]) ** 2  # (d, t, t)
    r2 = off * D2.sum(axis=0)
    height = _height(r2, kernel, y, extra)
    for _ in range(d):
        heights = [
            -np.inf if inverse[i] == on else _height(r2 + (on - off) * D2[i], kernel, y, extra)
            for i in range(d)
        ]
        best = int(np.argmax(heights))
        if heights[best] < height + FORWARD_GAIN:
            break
        height, inverse[best] = heights[best], on
        r2 = r2 + (on - off) * D2[best]
    return _with_lengths(kernel, inverse**-0.5)


def _height(r2: Array, kernel: Kernel, y: Array, extra: Array) -> float:
    """L for squared scaled distances r2 (t, t)."""
    factor, _, b = _factored(r2, kernel, FORWARD_RATIO + extra, y)
    return -(A0 + 0.5 * len(y)) * float(np.log(b)) - float(np.log(np.diag(factor[0])).sum())


def _factored(
    r2: Array, kernel: Kernel, noise: Array, y: Array
) -> tuple[tuple[Array, bool], Array, float]:
    """Cholesky factor of C, C^-1 y, and b."""
    C = FAMILIES[kernel.family].correlation(r2, kernel.alpha) + kernel.offset
    C[np.diag_indices(len(y))] += noise
    factor = cho_factor(C, lower=True, overwrite_a=True, check_finite=False)
    C_y = cho_solve(factor, y, check_finite=False)
    return factor, C_y, B0 + 0.5 * float(y @ C_y)


def _with_lengths(kernel: Kernel, ell: Array) -> Kernel:
    return Kernel(kernel.family, tuple(ell.tolist()), kernel.alpha, kernel.offset)


def _log_volume(H: Array, slope: Array) -> float:
    """Log of the integral of the peak over its height; slope is 0 where it is on no bound."""
    free, bound = slope == 0.0, slope > 0.0
    curvature = np.maximum(np.linalg.eigvalsh(H[np.ix_(free, free)]), LEAST_CURVATURE)
    h = np.sqrt(2.0 * np.maximum(np.diag(H)[bound], LEAST_CURVATURE))
    one_sided = np.log(np.sqrt(np.pi) / h * erfcx(slope[bound] / h)).sum()
    return float(0.5 * np.log(2.0 * np.pi / curvature).sum() + one_sided)


def _hessian(loss: partial[tuple[float, Array]], p: Array) -> Array:
    """Second derivatives of the loss, by differences of its gradient."""
    at = loss(p)[1]
    H = np.array([(loss(p + DIFFERENCE * unit)[1] - at) / DIFFERENCE for unit in np.eye(len(p))])
    symmetric: Array = 0.5 * (H + H.T)
    return symmetric


def _loss(p: Array, kernel: Kernel, D2: Array, y: Array, extra: Array) -> tuple[float, Array]:
    """-(L + log prior) and its gradient at p (d + 1,)."""
    d, t = D2.shape[:2]
    inverse = np.exp(-2.0 * p[:d])  # 1 / l^2
    lam = float(np.exp(p[d]))
    r2 = np.tensordot(inverse, D2, axes=1)
    factor, C_y, b = _factored(r2, kernel, lam + extra, y)
    a = A0 + 0.5 * t
    W = (a / b) * np.outer(C_y, C_y) - cho_solve(factor, np.eye(t), check_finite=False)
    slope = W * FAMILIES[kernel.family].slope(r2, kernel.alpha)  # W dk/dr2
    z = (p[:d] - 0.5 * np.log(d)) / LENGTH_SPREAD
    gradient = np.append(
        np.tensordot(D2, slope, axes=2) * inverse + z / LENGTH_SPREAD, -0.5 * lam * np.trace(W)
    )
    log_det = float(np.log(np.diag(factor[0])).sum())  # half of log |C|
    prior = 0.5 * float(z @ z) + d * float(np.log(LENGTH_SPREAD * np.sqrt(2.0 * np.pi)))
    return a * float(np.log(b)) + log_det + prior, gradient


Player = tuple[Kernel, float]  # an expert that could play, with its noise ratio


def choose(
    kernels: Sequence[Kernel], ratios: Sequence[float], X: Array, y: Array, extra: Array,
    relevance: bool = True, temper: float = 1.0, additive: bool = True,
) -> Lineup:  # fmt: skip
    """The line-up for labels y (t,) at X (t, d), with noise variances extra (t,) of their own.

    Where evidences will be raised to the power `temper` (`ensemble`), those play that matter then.
    """
    evidence, unit = weighed(kernels, ratios, X, y, extra)  # (kernels, ratios)
    on_grid = evidence - _taken(unit, extra)
    players = [(kernel, ratio) for kernel in kernels for ratio in ratios]
    evidence, unit = evidence.ravel(), unit.ravel()
    log_post = on_grid.ravel() - np.log(len(players))
    if relevance and len(y) >= FEWEST_FITTED:
        peaks = _peaks(kernels, ratios, on_grid, X, y, extra)
        more, more_evidence, more_unit, more_post = _entries(peaks, X, y, extra)
        players, unit = players + more, np.append(unit, more_unit)
        evidence = np.append(evidence, more_evidence)
        log_post = np.append(log_post + np.log1p(-FITTED_SHARE), more_post + np.log(FITTED_SHARE))
    log_prior = log_post - evidence
    log_post = normalise(log_prior + temper * evidence)
    best = np.argsort(-log_post, kind="stable")[:MOST_EXPERTS]
    best = best[log_post[best] >= np.log(LEAST_POSTERIOR)]
    chosen = [players[n] for n in best.tolist()]
    return Lineup(
        tuple(kernel for kernel, _ in chosen),
        np.array([ratio for _, ratio in chosen]),
        unit[best],
        log_prior[best] + _inherited(log_post, best, on_grid.size),
        float(np.exp(log_post[on_grid.size :]).sum()),
    )


def _inherited(log_post: Array, best: NDArray[np.intp], on_grid: int) -> Array:
    """What makes up for those of each class that do not play, in the logs of those that do."""
    more = np.zeros(len(best))
    for members, playing in (
        (log_post[:on_grid], best < on_grid),
        (log_post[on_grid:], best >= on_grid),
    ):
        if playing.any():
            more[playing] = logsumexp(members) - logsumexp(log_post[best[playing]])
    return more


def weighed(
    kernels: Sequence[Kernel], ratios: Sequence[float], X: Array, y: Array, extra: Array
) -> tuple[Array, Array]:
    """Log evidence (kernels, ratios) of the labels, magnitude integrated out, and units of extra.

    Without extra the unit of an expert is what it expects its magnitude to be after the labels.
    """
    out = np.empty((len(kernels), len(ratios)))
    unit = np.ones_like(out)
    zero, scale = np.zeros_like(y), Conjugate.prior(len(ratios))
    for n, kernel in enumerate(kernels):
        K = correlation(kernel, X, X)
        lam = np.asarray(ratios)[:, None] + extra / unit[n, :, None]  # (ratios, t)
        turns = [GAUSSIAN.in_turn(y, zero, K, row) for row in np.maximum(lam, LEAST_RATIO)]
        root_s = np.array([np.diag(C) for C, _ in turns])
        out[n], _ = GAUSSIAN.learn(scale, root_s * [z for _, z in turns], root_s**2)
    return out, unit


def log_evidences(
    kernels: Sequence[Kernel], ratios: Sequence[float], X: Array, y: Array, extra: Array
) -> Array:
    """Log evidence (kernels, ratios) of the labels, magnitude integrated out."""
    return weighed(kernels, ratios, X, y, extra)[0]


def evidence_constant(t: int) -> float:
    """What the evidence of t labels has in common for all experts."""
    return float(gammaln(A0 + 0.5 * t) - gammaln(A0) + A0 * np.log(B0) - 0.5 * t * LOG_2_PI)


def _peaks(
    kernels: Sequence[Kernel], ratios: Sequence[float], on_grid: Array, X: Array, y: Array,
    extra: Array,
) -> list[Peak]:  # fmt: skip
    """The peak of each family, from the best of its kernels on the grid.

    With MANY_INPUTS or more, of which few may matter, also from where `forward` leads: one
    lengthscale for all may see nothing but noise there, and so would what is fitted from it.
    """
    peaks = []
    for family in dict.fromkeys(kernel.family for kernel in kernels):
        rows = [n for n, kernel in enumerate(kernels) if kernel.family == family]
        n, r = np.unravel_index(int(np.argmax(on_grid[rows])), on_grid[rows].shape)
        starts = [(kernels[rows[int(n)]], float(ratios[int(r)]))]
        if X.shape[1] >= MANY_INPUTS:
            starts.append((forward(kernels[rows[0]], X, y, extra), FORWARD_RATIO))
        found = [_fitted(start, X, y, extra) for start in starts]
        peaks.append(max(found, key=lambda peak: peak.log_z))
    return peaks


def _fitted(start: Player, X: Array, y: Array, extra: Array) -> Peak:
    """The peak from a start, stated noise measured by 1."""
    return fit(*start, X, y, extra)


def _taken(unit: Array, extra: Array) -> Array:
    """What the prior of the magnitude took, and is given back where noise is stated."""
    return -A0 * np.log(unit) - B0 / unit if extra.any() else np.zeros_like(unit)


def _entries(
    peaks: list[Peak], X: Array, y: Array, extra: Array
) -> tuple[list[Player], Array, Array, Array]:
    """Players of the fitted class, their evidences, units and log posteriors within it."""
    players, evidences, found, posts = [], [], [], []
    for peak in peaks:
        ell = np.asarray(peak.kernel.length_scale)
        kind, alpha, offset = peak.kernel.family, peak.kernel.alpha, peak.kernel.offset
        scaled = [Kernel(kind, tuple((m * ell).tolist()), alpha, offset) for m in MULTIPLES]
        evidence, unit = (part[:, 0] for part in weighed(scaled, [peak.noise], X, y, extra))
        taken = _taken(unit, extra)
        log_z = peak.log_z + evidence_constant(len(y)) - np.log(len(peaks))
        log_z -= float(taken[MULTIPLES.index(1.0)])
        players += [(kernel, peak.noise) for kernel in scaled]
        evidences.append(evidence)
        found.append(unit)
        posts.append(log_z + normalise(evidence - taken))
    return players, np.concatenate(evidences), np.concatenate(found), np.concatenate(posts)
