"""Checks of the estimator's parameters and of labels, once at the border."""

from collections.abc import Callable, Iterable, Sequence
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike

from weal.core.arrays import Array
from weal.core.paper.ensemble import normalise
from weal.core.paper.kernels import Kernel
from weal.core.scaling import Scaling

# Values this many sds away overflow when squared; such data is in the wrong unit.
MAX_ABS_VALUE = 1e100


def check_dictionary(kernels: Sequence[Kernel], d: int) -> tuple[Kernel, ...]:
    """Refuse a dictionary that is empty, holds no kernels, or has not d lengthscales."""
    if isinstance(kernels, str) or not isinstance(kernels, Iterable):
        raise TypeError(f"kernels is {kernels!r}; it needs a list of weal.Kernel objects, or None")
    found = tuple(kernels)
    if not found:
        raise ValueError("kernels is empty; it needs one Kernel at least, or None")
    for kernel in found:
        if not isinstance(kernel, Kernel):
            raise TypeError(f"kernels holds {kernel!r}; it needs weal.Kernel objects")
        scale = kernel.length_scale
        if kernel.widths and sum(kernel.widths) != d:
            raise ValueError(
                f"{kernel} has inputs of {sum(kernel.widths)} columns, but X has {d}; "
                "give widths that add up to the columns, or none"
            )
        if isinstance(scale, tuple) and len(scale) != kernel.n_inputs(d):
            raise ValueError(
                f"{kernel} has {len(scale)} lengthscales, but X has {d} columns; "
                "give one lengthscale for each column, or a single number"
            )
    return found


def _check_input_warp(scaling: Scaling, d: int) -> None:
    warp = [np.asarray(part) for part in (scaling.x_median, scaling.x_spread)]
    if (
        any(part.shape != (d,) or not np.isfinite(part).all() for part in warp)
        or (warp[1] < 0).any()
    ):
        raise ValueError(
            f"a scaling with a warp must have {d} finite x_median and {d} x_spread, 0 for columns "
            f"without a warp; got {scaling!r}"
        )


def check_outliers(outliers: bool) -> None:
    """Refuse a value of `outliers` that is not a boolean."""
    if not isinstance(outliers, bool | np.bool_):
        raise ValueError(f"outliers is {outliers!r}; it must be True or False")


def check_sure(sure: ArrayLike | None, t: int) -> Array:
    """1 for labels (t,) that are sure and 0 for others; all 0 by default."""
    if sure is None:
        return np.zeros(t)
    found = np.asarray(sure)
    truths = found.dtype == np.bool_ or (found.dtype.kind in "iuf" and np.isin(found, (0, 1)).all())
    if found.shape not in ((), (t,)) or not truths:
        raise ValueError(
            f"sure must be True or False for each of the {t} labels, or one for all; got {sure!r}"
        )
    return np.broadcast_to(found.astype(np.float64), (t,)).copy()


def check_warp(warp: str | None) -> None:
    """Refuse an unknown value of `warp`."""
    if warp not in (None, "asinh", "auto"):
        raise ValueError(f"warp is {warp!r}; it must be 'auto', 'asinh' or None")


# Versions of weal whose selection of experts can be had. What 0.2 wrote names none.
OLD_MODEL_VERSION, MODEL_VERSION = "0.2", "0.3"


def check_model_version(version: object) -> None:
    """Refuse an unknown value of `model_version`."""
    if version not in (OLD_MODEL_VERSION, MODEL_VERSION):
        raise ValueError(
            f"model_version is {version!r}; it must be {MODEL_VERSION!r}, or {OLD_MODEL_VERSION!r} "
            "to select experts as weal 0.2 did"
        )


def check_no_gaps(y: ArrayLike) -> Array:
    """Labels as floats; ValueError for None or NaN, which scikit-learn lets through."""
    labels = np.asarray(y, dtype=np.float64)
    if np.isnan(labels).any():
        raise ValueError("y has None among its labels; leave out the rows without a label")
    return labels


APPROXIMATIONS = ("auto", "exact", "features", "inducing", "encoded")


def check_kind(approximation: str) -> None:
    """Refuse an unknown value of `approximation`."""
    if approximation not in APPROXIMATIONS:
        raise ValueError(f"approximation is {approximation!r}; it must be one of {APPROXIMATIONS}")


def check_n_frequencies(n_frequencies: int) -> None:
    """Refuse fewer than one frequency."""
    if not isinstance(n_frequencies, Integral) or n_frequencies < 1:
        raise ValueError(f"n_frequencies is {n_frequencies!r}; it must be a whole number from 1 on")


def check_fixed(name: str, value: ArrayLike | None, M: int) -> Array | None:
    """A positive value for each of the M experts (M,), or None if none is given."""
    if value is None:
        return None
    given = np.asarray(value, dtype=np.float64)
    if given.shape not in ((), (M,)) or not (np.isfinite(given) & (given > 0)).all():
        raise ValueError(
            f"{name} must be a positive number, or one for each of the {M} experts; got {value!r}"
        )
    return np.broadcast_to(given, (M,)).copy()


def check_bounds(name: str, bounds: tuple[float, float]) -> None:
    """Refuse bounds that are not 0 < low <= high < inf."""
    pair = np.asarray(bounds, dtype=np.float64)
    if pair.shape != (2,) or not 0.0 < pair[0] <= pair[1] < np.inf:
        raise ValueError(f"{name} is {bounds!r}; it must be (low, high) with 0 < low <= high")


def check_ratios(ratios: Sequence[float]) -> None:
    """Refuse noise ratios that are not positive numbers."""
    given = np.asarray(ratios, dtype=np.float64)
    if given.ndim != 1 or not len(given) or not (np.isfinite(given) & (given > 0)).all():
        raise ValueError(f"noise_ratios must be one or more positive numbers; got {ratios!r}")


def check_temper(temper: float) -> None:
    """Refuse a power outside (0, 1]."""
    if not 0.0 < temper <= 1.0:
        raise ValueError(f"temper is {temper!r}; it must be above 0, and 1 at most")


def check_levels(levels: ArrayLike) -> Array:
    """Levels as an array; ValueError unless each is between 0 and 1, and there is one."""
    given = np.asarray(levels, dtype=np.float64)
    if given.ndim != 1 or not len(given) or not ((given > 0.0) & (given < 1.0)).all():
        raise ValueError(f"levels is {levels!r}; it must be probabilities between 0 and 1")
    return given


def check_level(level: float) -> float:
    """Refuse a level that is not a probability between 0 and 1."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level is {level!r}; it must be a probability between 0 and 1")
    return level


def check_count(n: int) -> int:
    """Refuse a value that is not a positive integer."""
    if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
        raise ValueError(f"{n!r} is not a number of points; it must be a whole number from 1 on")
    return int(n)


def check_seed(seed: int) -> int:
    """Refuse a value that is not a seed of every random generator in use."""
    if not isinstance(seed, Integral) or isinstance(seed, bool) or not 0 <= seed < 2**32:
        raise ValueError(f"seed is {seed!r}; it must be a whole number from 0 to 2**32 - 1")
    return int(seed)


def check_validation(
    given: tuple[object, ArrayLike] | None, like: Callable[[object], Array]
) -> tuple[Array, Array] | None:
    """Validation points (V, d), read by `like`, and their finite labels (V,)."""
    if given is None:
        return None
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise ValueError("validation must be a pair (X, y), or None")
    X, y = like(given[0]), given[1]
    labels = np.array(y, dtype=np.float64)  # a copy: the state is ours
    if labels.shape != (len(X),) or not np.isfinite(labels).all():
        raise ValueError(
            f"validation must be (X, y) with a finite label for each of the {len(X)} rows of X; "
            f"got y of shape {labels.shape}"
        )
    return X, labels


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
