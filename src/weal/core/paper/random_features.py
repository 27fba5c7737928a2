"""Random Fourier features phi(x): F = 2 D features with an unbiased estimate of k.

    phi(x) = [sin(zeta_1'x), cos(zeta_1'x), ..., sin(zeta_D'x), cos(zeta_D'x)] / sqrt(D)
                                                                              [1, eq:phi_x]

so that phi(x)'phi(x') = mean_j cos(zeta_j'(x - x')), with error at most about 1/sqrt(D), and
|phi(x)| = 1 exactly. Phases are taken in float64 and in turns, where the whole turns can be
dropped without error; single precision enters only after that (at lengthscale 1e-4 a float32
phase would be wrong by 3e-2).
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import DTypeLike

from weal.core.arrays import Array
from weal.core.paper.kernels import FAMILIES, PAIRWISE_FAMILIES, Kernel


def spectral_draw(
    kernel: Kernel, d: int, D: int, rng: np.random.Generator, orthogonal: bool = False
) -> Array:
    """D frequency vectors zeta (D, d) from the spectral density of the kernel."""
    if kernel.family in PAIRWISE_FAMILIES:
        raise ValueError(
            f"{kernel.family} has no random features; take approximation='exact' with it, or "
            "another family"
        )
    normal = _orthogonal_normal if orthogonal else _independent_normal
    h = FAMILIES[kernel.family].mixing(rng, D, kernel.alpha)  # (D,)
    ell = kernel.column_scales(d)
    return normal(rng, D, d) * np.sqrt(h)[:, None] / ell  # [1, eq:bochner]


def _independent_normal(rng: np.random.Generator, D: int, d: int) -> Array:
    return rng.standard_normal((D, d))


def _orthogonal_normal(rng: np.random.Generator, D: int, d: int) -> Array:
    """Rows (D, d), each marginally N(0, I), with directions orthogonal in blocks of d."""
    blocks = rng.standard_normal((-(-D // d), d, d))
    Q = np.linalg.qr(blocks).Q.reshape(-1, d)[:D]
    return Q * np.sqrt(rng.chisquare(d, D))[:, None]


FEATURE_BLOCK_BYTES = (
    32 * 2**20
)  # memory for the features of one block of points, when going in blocks


def draw_frequencies(
    kernels: Sequence[Kernel], d: int, D: int, seed: int, orthogonal: bool = False
) -> Array:
    """Frequencies zeta (M, D, d); those of expert m depend on (seed, m) and its kernel alone."""
    return np.stack(
        [
            spectral_draw(kernel, d, D, np.random.default_rng([seed, m]), orthogonal)
            for m, kernel in enumerate(kernels)
        ]
    )


def features(X: Array, zeta: Array, dtype: DTypeLike = np.float64) -> Array:
    """Features Phi (M, N, F) of the points X (N, d) under the frequencies zeta (M, D, d)."""
    M, D, _ = zeta.shape
    turns = np.matmul(X, zeta.transpose(0, 2, 1) / (2.0 * np.pi))  # (M, N, D)
    turns -= np.rint(turns)
    angle = (2.0 * np.pi * turns).astype(dtype, copy=False)
    Phi = np.empty((M, len(X), D, 2), dtype)
    np.sin(angle, out=Phi[..., 0])  # [1, eq:phi_x]
    np.cos(angle, out=Phi[..., 1])
    Phi /= np.sqrt(D).astype(dtype)
    return Phi.reshape(M, len(X), 2 * D)


def blocks(N: int, bytes_per_point: int) -> Iterator[slice]:
    """Slices of 0..N whose points fit FEATURE_BLOCK_BYTES together; one point at least."""
    size = max(1, FEATURE_BLOCK_BYTES // max(1, bytes_per_point))
    for start in range(0, N, size):
        yield slice(start, min(start + size, N))
