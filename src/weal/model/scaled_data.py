"""Checked data in scaled units: inputs, labels and noise variances, and the scaling of a fit."""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from weal.core import scaling
from weal.core.arrays import Array
from weal.core.scaling import Scaling
from weal.model.checks import check_distance, check_sample_noise, check_scaling


def find_scaling(X: Array, y: Array, given: Scaling | None, warp: bool, encoded: bool) -> Scaling:
    """The given scaling, or that of inputs X (N, d), unless encoded, and labels y (t,)."""
    d = X.shape[1]
    fixed = check_scaling(given, d)
    if fixed is not None:
        return fixed
    found = scaling.from_data(X, y, warp and not encoded)
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
