"""Checked data in scaled units: inputs, labels and noise variances, and the scaling of a fit."""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from weal.core import scaling
from weal.core.arrays import Array
from weal.core.one_hot import Widths
from weal.core.scaling import Scaling
from weal.model.checks import MAX_ABS_VALUE, _check_input_warp


def check_scaling(scaling: Scaling | None, d: int) -> Scaling | None:
    """Refuse a scaling of another type, for another number of inputs, or not positive."""
    if scaling is None:
        return None
    if not isinstance(scaling, Scaling):
        raise TypeError(f"scaling is {scaling!r}; it needs a weal.Scaling, or None")
    means = np.append(scaling.x_mean, scaling.y_mean)
    sds = np.append(scaling.x_sd, scaling.y_sd)
    good = np.isfinite(means).all() and (np.isfinite(sds) & (sds > 0)).all()
    if np.shape(scaling.x_mean) != (d,) or np.shape(scaling.x_sd) != (d,) or not good:
        raise ValueError(
            f"scaling must have {d} finite x_mean and {d} positive x_sd, one for each column of X, "
            f"and a positive y_sd; got {scaling!r}"
        )
    if scaling.x_median is not None or scaling.x_spread is not None:
        _check_input_warp(scaling, d)
    if scaling.widths is not None:
        _check_widths(scaling.widths, d)
    return scaling


def _check_widths(widths: NDArray[np.intp], d: int) -> None:
    """Refuse numbers of columns that are not whole, or do not add up to d."""
    found = np.asarray(widths)
    if found.ndim != 1 or not np.issubdtype(found.dtype, np.integer) or (found < 1).any():
        raise ValueError(
            "widths of a scaling must be whole numbers of columns, one for each input; "
            f"got {widths!r}"
        )
    if found.sum() != d:
        raise ValueError(
            f"widths of a scaling must add up to the {d} columns of X; they add up to {found.sum()}"
        )


def check_distance(name: str, scaled: Array) -> Array:
    """Refuse data more than FARTHEST standard deviations from the first fit's."""
    if np.abs(scaled).max(initial=0.0) > MAX_ABS_VALUE:
        raise ValueError(
            f"{name} has a value more than {MAX_ABS_VALUE:g} standard deviations of the first "
            "fit's data away; check its unit, leave it out, or fit again with it"
        )
    return scaled


def check_sample_noise(sample_noise: ArrayLike | None, t: int) -> Array:
    """Standard deviations (t,), zero where none are given."""
    if sample_noise is None:
        return np.zeros(t)
    sd = np.asarray(np.nan if np.iscomplexobj(sample_noise) else sample_noise, dtype=np.float64)
    if sd.shape not in ((), (t,)) or not (np.isfinite(sd) & (sd >= 0)).all():
        raise ValueError(
            f"sample_noise must be a finite standard deviation of at least 0 for each of the {t} "
            f"labels, or one for all; got {sample_noise!r}"
        )
    return np.broadcast_to(sd, (t,)).copy()


def find_scaling(
    X: Array, y: Array, given: Scaling | None, warp: bool, encoded: bool, widths: Widths = ()
) -> Scaling:
    """The given scaling, or that of inputs X (N, d), unless encoded, and labels y (t,).

    `widths` are the columns of each input, where some are categories.
    """
    d = X.shape[1]
    fixed = check_scaling(given, d)
    if fixed is not None:
        return fixed
    found = scaling.from_data(X, y, warp and not encoded, widths)
    return replace(found, x_mean=np.zeros(d), x_sd=np.ones(d)) if encoded else found


def inputs(scale: Scaling, X: Array) -> Array:
    """Scaled inputs (N, d); ValueError for values too far from the data of the first fit."""
    return check_distance("X", scale.inputs(X))


def labels(scale: Scaling, y: Array) -> Array:
    """Scaled labels (N,); ValueError for values too far from the data of the first fit."""
    return check_distance("y", scale.labels(y))


def label_zero(scale: Scaling) -> float:
    """The scaled value of a label of 0."""
    return -scale.y_mean / scale.y_sd


def noise_variances(scale: Scaling, sample_noise: ArrayLike | None, t: int) -> Array:
    """Scaled noise variances (t,), from known noise sds of t labels."""
    sd = check_sample_noise(sample_noise, t)
    return check_distance("sample_noise", sd / scale.y_sd) ** 2


def scale_data(
    scale: Scaling, X: Array, y: Array, sample_noise: ArrayLike | None
) -> tuple[Array, Array, Array]:
    """Scaled inputs, labels and noise variances."""
    return inputs(scale, X), labels(scale, y), noise_variances(scale, sample_noise, len(y))
