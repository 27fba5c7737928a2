"""Known noise variances of labels, converted to ratios to an unknown magnitude.

A label with a stated noise variance x has the variance sig2 (k + lam) + x. With sig2 integrated out
(`conjugate_magnitude`) that has no closed form, unless x is measured by a `unit` and counts as sig2
x / unit. If labels select an expert, its unit is the magnitude at the maximum of

    sig2^-A0 exp(-B0 / sig2) N(y; 0, sig2 C + diag(x)),      C = K + lam I

the posterior mode of log sig2; without stated noise that is b / a. One
decomposition serves every sig2. With L L' = C, L^-1 diag(x) L^-T = Q diag(g) Q' and
q = (Q'L^-1 y)^2, direction i has variance sig2 + g_i, of which a share h_i = sig2 / (sig2 + g_i) is
signal, and the maximum is where

    sig2 = (B0 + 1/2 sum_i h_i^2 q_i) / (A0 + 1/2 sum_i h_i)

each direction weighted by its share of signal. Iterated from where the prior peaks, this
is MacKay's rule. [2] MacKay: Bayesian interpolation, 1992. It depends on the set of labels alone.

Experts that were not selected by labels have the unit under which labels have variance 1, as scaled
labels do. Two standardised points are 2 d apart, squared, so that the variance around a constant is
sig2 (1 - k + lam), with k the correlation at r2 = 2 sum_i 1 / l_i^2.

Without stated noise every label informs about sig2, if only by its noise, and the prior of sig2
hardly matters. With stated noise only the few directions in which a smooth function varies inform
about it, and the prior would penalise long lengthscales, whose magnitudes are large: the errors of
a line were 9 % larger with the true noise stated than without. So when experts are compared, the
log density of the prior of log sig2 at the unit (`prior_height`) is subtracted, as if that prior
were flat.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dtrtrs

from weal.core.arrays import Array
from weal.core.constants import MAGNITUDE_PRIOR_A, MAGNITUDE_PRIOR_B, UNIT_LABELS, UNIT_ROUNDS
from weal.core.packed_factors import cholesky
from weal.core.paper.exact_gp import LEAST_RATIO
from weal.core.paper.kernels import Kernel, correlation


def units(
    kernels: Sequence[Kernel], ratios: Sequence[float], X: Array, y: Array, noise_var: Array
) -> Array:
    """Units (kernels, ratios) of the noise variances noise_var (t,) of labels y (t,) at X (t, d).

    In squared units of y, whose variance is 1.
    """
    X, y, noise_var = even_sample(UNIT_LABELS, X, y, noise_var)
    found = [
        [_unit(K, max(ratio, LEAST_RATIO), y, noise_var) for ratio in ratios]
        for K in (correlation(kernel, X, X) for kernel in kernels)
    ]
    return np.array(found)


def prior_height(unit: Array) -> Array:
    """Log density of the prior of log sig2 at a magnitude, up to a constant; elementwise."""
    return -MAGNITUDE_PRIOR_A * np.log(unit) - MAGNITUDE_PRIOR_B / unit


def expected_units(varied: Sequence[float], ratios: Sequence[float]) -> Array:
    """Units (experts, ratios) before any label, for values of `prior_variance_of_difference`."""
    return np.asarray(1.0 / (np.array(varied)[:, None] + np.maximum(ratios, LEAST_RATIO)))


def prior_variance_of_difference(kernel: Kernel, d: int) -> float:
    """Half the prior variance of f(x) - f(x') over the magnitude, at the rms distance of points."""
    plain, d = replace(kernel, offset=0.0, widths=()), kernel.n_inputs(d)
    return 1.0 - float(correlation(plain, np.zeros((1, d)), np.full((1, d), 2.0**0.5))[0, 0])


def _unit(K: Array, ratio: float, y: Array, noise_var: Array) -> float:
    """The unit of one expert, by MacKay's iteration."""
    scales = np.column_stack([y, np.diag(np.sqrt(noise_var))])
    solved, _ = dtrtrs(cholesky(K + ratio * np.eye(len(y))), scales, lower=1)
    # LAPACK's divide and conquer, that of numpy, does not converge on some such matrices.
    g, Q = eigh(solved[:, 1:] @ solved[:, 1:].T, driver="evr", check_finite=False)
    g, q = np.maximum(g, 0.0), (Q.T @ solved[:, 0]) ** 2  # rounding leaves -1e-16
    sig2 = MAGNITUDE_PRIOR_B / MAGNITUDE_PRIOR_A
    for _ in range(UNIT_ROUNDS):
        h = sig2 / (sig2 + g)
        sig2 = (MAGNITUDE_PRIOR_B + 0.5 * float(h * h @ q)) / (
            MAGNITUDE_PRIOR_A + 0.5 * float(h.sum())
        )
    return sig2


def even_sample(most: int, X: Array, y: Array, noise_var: Array) -> tuple[Array, Array, Array]:
    """At most `most` labels, evenly spread over the sorted y: independent of their order."""
    if len(y) <= most:
        return X, y, noise_var
    rows = np.lexsort((*X.T, y))[np.linspace(0, len(y) - 1, most).round().astype(int)]
    return X[rows], y[rows], noise_var[rows]
