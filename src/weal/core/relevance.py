"""One lengthscale for each input, fitted to the labels: where the evidence peaks, and how high.

For a family, p = (log l_1 .. log l_d, log lam) and C = k(X, X) + offset + diag(lam + extra), the
evidence with the magnitude integrated out (`magnitude`) is, up to a constant,

    L(p) = -a log b - 1/2 log |C|       a = A0 + t/2    b = B0 + y'C^-1 y / 2
    dL   = 1/2 tr(W dC)                 W = (a / b) C^-1 y y'C^-1 - C^-1

To L is added the log prior of p: log l_i normal around log sqrt(d) with sd LENGTH_SPREAD, so that
ten labels cannot switch an input off by themselves, and log lam uniform. The peak is sought by
L-BFGS from a fixed start, so that it depends on the set of labels alone; where few of many inputs
matter, `forward` finds a start that one lengthscale for all cannot. Its height is compared with
other experts by Laplace's approximation of the integral over p,

    log Z = L(p*) + log prior(p*) + (d + 1)/2 log 2 pi - 1/2 log |H|,    H = -d2(L + log prior)

which charges for every parameter that the labels had to settle. Where p_i* lies on a bound with the
slope g against it, as lam does for labels without noise, its share of the integral is instead that
of exp(-g x - H_ii x^2 / 2) over x > 0: sqrt(pi / (2 H_ii)) erfcx(g / sqrt(2 H_ii)).
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import erfcx

from weal.core.arrays import Array
from weal.core.kernels import FAMILIES, Kernel
from weal.core.stated_noise import even_sample
from weal.core.tuned import (
    A0,
    B0,
    FIT_ITERATIONS,
    FORWARD_GAIN,
    FORWARD_LABELS,
    FORWARD_RATIO,
    LENGTH_SPREAD,
    LONG_LENGTH,
    SHORT_LENGTH,
    SOUGHT_LENGTHS,
    SOUGHT_RATIOS,
)

# No direction counts as wider than the prior of log lam, which has no peak where it is no matter.
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
