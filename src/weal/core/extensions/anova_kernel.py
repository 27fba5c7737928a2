"""The ANOVA correlation: main effects of every input, and interactions of adjustable strength.

With k_i a one-dimensional Matern 5/2 in input i, at its own lengthscale,

    k = [prod_i (1 + s k_i) - 1] / [(1 + s)^d - 1]

is the sum over all sets of inputs of the products of their k_i, a set of n inputs weighing s^n. As
s -> 0 it is the sum of the k_i, an additive function; as s -> inf, their product. A function with
weak interactions needs far fewer labels than under a product kernel: f(x) = g(x_1) + h(x_2) is
learnt from labels that have only one input in common.
[2] Duvenaud, Nickisch, Rasmussen: Additive Gaussian processes, 2011.

Powers of 1 + s overflow, and at small s the difference loses its digits. So the sum is built input
by input, E_n = [prod_{i <= n} (1 + s k_i) - 1] / (1 + s)^n, from positive terms alone:

    E_n = E_{n-1} (1 + s k_n) / (1 + s) + s k_n / (1 + s)^n        k = E_d / [1 - (1 + s)^-d]
"""

from collections.abc import Callable, Iterable

import numpy as np

from weal.core.arrays import Array
from weal.core.paper.kernels import register_family

ANOVA = "anova"  # the name of the family

# Correlations, and numbers of a matrix (d, T), at a time: they stay in the processor's cache.
CORRELATION_BLOCK, SLOPE_BLOCK = 1 << 14, 1 << 16
# Weight of the empty set up to which k is [prod_i (1 + s k_i)/(1 + s)^d - weight] / (1 - weight):
# the difference loses one digit at most.
MAX_EMPTY_SHARE = 0.9


def correlation(X: Array, Y: Array, s: float) -> Array:
    """Correlations (N, N') of the rows of X (N, d) and Y (N', d), scaled by their lengthscales.

    A correlation depends on its two points alone, to the last bit.
    """
    A, B = (np.multiply(points.T, 5.0**0.5, order="C") for points in (X, Y))  # (d, N), (d, N')
    empty = float(np.exp(-len(A) * np.log1p(s)))
    if empty > MAX_EMPTY_SHARE:
        return _in_blocks(A, B, lambda a, b, out: _sum_form(a, b, s, out))
    return _in_blocks(A, B, lambda a, b, out: _product_form(a, b, s, empty, out))


def _in_blocks(A: Array, B: Array, fill: Callable[[Array, Array, Array], None]) -> Array:
    """The matrix that `fill` computes, in blocks of rows."""
    out = np.empty((A.shape[1], B.shape[1]))
    size = max(1, CORRELATION_BLOCK // max(1, B.shape[1]))
    for start in range(0, len(out), size):
        rows = slice(start, start + size)
        fill(A[:, rows, None], B[:, None, :], out[rows])
    return out


def _product_form(A: Array, B: Array, s: float, empty: float, out: Array) -> None:
    """K by the product, for A (d, n, 1) and B (d, 1, N'), in units of l_i / sqrt(5)."""
    most = s / (1.0 + s)
    r, part = np.empty_like(out), np.empty_like(out)
    for i, (a, b) in enumerate(zip(A, B, strict=True)):  # out *= 1 - most + most k_i
        factor = part if i else out
        np.abs(np.subtract(a, b, out=r), out=r)
        np.multiply(r, most / 3.0, out=factor)
        factor += most
        factor *= r
        factor += most
        np.exp(np.negative(r, out=r), out=r)
        factor *= r
        factor += 1.0 - most
        if i:
            out *= factor
    out -= empty
    out /= 1.0 - empty


def _sum_form(A: Array, B: Array, s: float, out: Array) -> None:
    """K by the sum of positive terms."""
    out[:] = combine_inputs(
        (_matern52(np.abs(a - b)) for a, b in zip(A, B, strict=True)), s, len(A)
    )


def combine_inputs(each: Iterable[Array], s: float, d: int) -> Array:
    """K from the correlations k_i, all of one shape, of d inputs."""
    total: Array | float = 0.0
    weight = s
    for k in each:
        weight /= 1.0 + s
        total = total * ((1.0 + s * k) / (1.0 + s)) + weight * k
    return np.asarray(total / -np.expm1(-d * np.log1p(s)))


def with_slopes(p: Array, D2: Array) -> tuple[Array, Callable[[Array], Array]]:
    """K (T,) at p = (log l_1 .. log l_d, log s), for squared distances D2 (d, T) by input.

    The second value maps w (T,) to w'dk/dp (d + 1,). With f_i = (1 + s k_i) / (1 + s), G their
    product and Z = 1 - (1 + s)^-d, both sums are relative to (1 + s)^d:

        dk/dk_i    = s G / [(1 + s) f_i Z]           dk_i/dlog l_i = a^2 (1 + a) exp(-a) / 3
        dk/dlog s  = s/(1 + s) [G sum_i k_i/f_i - d k] / Z
    """
    d, s, T = len(D2), float(np.exp(p[-1])), D2.shape[1]
    inverse = np.exp(-p[:-1])[:, None]
    k, G, rises, ratios = np.empty(T), np.empty(T), np.empty_like(D2), np.empty_like(D2)
    size = max(1, SLOPE_BLOCK // d)
    for start in range(0, T, size):
        at = slice(start, start + size)
        a = np.multiply(5.0, D2[:, at])
        np.sqrt(a, out=a)
        a *= inverse
        k[at], G[at] = _block_slopes(a, s, rises[:, at], ratios[:, at])

    def slopes(w: Array) -> Array:
        share = s / (1.0 + s) / -np.expm1(-d * np.log1p(s))
        wG = w * G
        strength = float((ratios @ wG).sum()) - d * float(w @ k)
        return np.asarray(share * np.append(rises @ wG, strength))

    return k, slopes


def _block_slopes(a: Array, s: float, rises: Array, ratios: Array) -> tuple[Array, Array]:
    """K and G (T,) at distances a (d, T) in units of l_i / sqrt(5); `a` is overwritten.

    `rises` becomes dk_i/dlog l_i / f_i, and `ratios` k_i / f_i.
    """
    decay = np.exp(np.negative(a, out=ratios), out=ratios)
    np.multiply(a, a, out=rises)
    rises /= 3.0
    each = np.add(a, rises)  # k_i = (1 + a + a^2 / 3) exp(-a)
    each += 1.0
    each *= decay
    a += 1.0
    rises *= a
    rises *= decay
    f = np.multiply(each, s / (1.0 + s), out=a)
    f += 1.0 / (1.0 + s)
    G = f.prod(axis=0)
    empty = float(np.exp(-len(a) * np.log1p(s)))
    many = empty > MAX_EMPTY_SHARE
    k = combine_inputs(each, s, len(a)) if many else (G - empty) / (1.0 - empty)
    rises /= f
    np.divide(each, f, out=ratios)
    return k, G


def _matern52(a: Array) -> Array:
    return np.asarray((1.0 + a + a * a / 3.0) * np.exp(-a))


def _by_input(distances: Iterable[Array], s: float, d: int) -> Array:
    """Correlations from squared distances by input, over the squared lengthscales."""
    return combine_inputs((_matern52(np.sqrt(5.0 * r2)) for r2 in distances), s, d)


register_family(ANOVA, correlation, _by_input)
