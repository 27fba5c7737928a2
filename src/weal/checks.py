"""Parameters of the estimator, checked once at the border."""

from collections.abc import Sequence
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike

from weal.core.arrays import Array
from weal.core.ensemble import normalise
from weal.core.kernels import Kernel


def check_dictionary(kernels: Sequence[Kernel], d: int) -> None:
    """Refuse an empty dictionary, strangers in it, and lengthscales for other than d inputs."""
    if not kernels:
        raise ValueError("kernels is empty; it needs one Kernel at the least, or None")
    for kernel in kernels:
        if not isinstance(kernel, Kernel):
            raise TypeError(f"kernels holds {kernel!r}; it needs weal.Kernel objects")
        scale = kernel.length_scale
        if isinstance(scale, tuple) and len(scale) != d:
            raise ValueError(f"{kernel} has {len(scale)} lengthscales, but X has {d} columns")


def check_approximation(approximation: str) -> str:
    """Refuse a kind of expert that there is not."""
    if approximation not in ("features", "exact"):
        raise ValueError(f"approximation is {approximation!r}; it must be 'features' or 'exact'")
    return approximation


def check_n_frequencies(n_frequencies: int) -> int:
    """Refuse fewer than one frequency."""
    if not isinstance(n_frequencies, Integral) or n_frequencies < 1:
        raise ValueError(f"n_frequencies is {n_frequencies!r}; it must be a whole number from 1 on")
    return int(n_frequencies)


def check_fixed(name: str, value: ArrayLike | None, M: int) -> Array | None:
    """A positive value for each of the M experts (M,), or None where none is given."""
    if value is None:
        return None
    given = np.asarray(value, dtype=np.float64)
    if given.shape not in ((), (M,)) or not (np.isfinite(given) & (given > 0)).all():
        raise ValueError(
            f"{name} must be a positive number, or one for each of the {M} experts; got {value!r}"
        )
    return np.broadcast_to(given, (M,)).copy()


def check_bounds(name: str, bounds: tuple[float, float]) -> tuple[float, float]:
    """Refuse bounds that are not 0 < low <= high < inf."""
    low, high = bounds
    if not 0.0 < low <= high < np.inf:
        raise ValueError(f"{name} is {bounds!r}; it must be (low, high) with 0 < low <= high")
    return float(low), float(high)


def check_prior_weights(prior_weights: ArrayLike | None, M: int) -> Array:
    """Normalised log weights (M,)."""
    if prior_weights is None:
        return np.full(M, -np.log(M))
    w = np.asarray(prior_weights, dtype=np.float64)
    if w.shape != (M,) or not (np.isfinite(w) & (w >= 0)).all() or not w.any():
        raise ValueError(
            f"prior_weights must be {M} numbers, none negative and not all zero; "
            f"got {prior_weights!r}"
        )
    with np.errstate(divide="ignore"):
        return normalise(np.log(w))


def check_sample_noise(sample_noise: ArrayLike | None, t: int) -> Array:
    """Standard deviations (t,), zero where none are given."""
    if sample_noise is None:
        return np.zeros(t)
    sd = np.asarray(sample_noise, dtype=np.float64)
    if sd.shape not in ((), (t,)) or not (np.isfinite(sd) & (sd >= 0)).all():
        raise ValueError(
            f"sample_noise must be a standard deviation of at least 0 for each of the {t} labels, "
            f"or one for all; got shape {sd.shape}"
            + ("" if np.isfinite(sd).all() else " with NaN or infinite entries")
        )
    return np.broadcast_to(sd, (t,)).copy()
