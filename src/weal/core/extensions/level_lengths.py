"""A lengthscale for each level of a category: the class of models beside exchangeable levels.

`core.one_hot` makes a category one input: any two of its levels are equally alike. Some levels may
be less like the others than the rest are (a solvent that reacts, a supplier of another material).
Here every column of a category has a lengthscale of its own, which deviates from that of the
category, so that exchangeable levels are in the middle of the prior:

    log l_j = level + own_i(j) + more_j     level ~ N(mean, LEVEL_SPREAD^2)
                                            own_i ~ N(0, LENGTH_SPREAD^2)     one for each input
                                            more_j ~ N(0, LENGTH_SPREAD^2)    one for each level
    r2 = sum_j (x_j - x'_j)^2 / l_j^2       = 1 / l_a^2 + 1 / l_b^2 for levels a and b

The fit starts from the peak of the same family with exchangeable levels, and the Laplace evidence
decides between the two. A fit has as many parameters as columns, so the class is used for at most
MAX_LEVEL_COLUMNS columns.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.constants import LENGTH_SPREAD, LEVEL_SPREAD
from weal.core.extensions.ard import EvidencePeak, KernelParameters, fit, kernel_parameters
from weal.core.extensions.posterior_points import (
    CandidateModels,
    concat_candidates,
    point_candidates,
)
from weal.core.one_hot import Widths, by_column, column_slices
from weal.core.paper.kernels import Kernel

MAX_LEVEL_COLUMNS = 60


def level_parameters(like: Kernel, widths: Widths) -> KernelParameters:
    """The parameters of a kernel's family with one lengthscale for each column of the inputs."""
    grouped = kernel_parameters(like, len(widths))
    mean, low, high = (
        by_column(ends, widths) for ends in (grouped.mean, grouped.low, grouped.high)
    )
    covariance = prior_covariance(widths)
    log_norm = -0.5 * float(np.linalg.slogdet(2.0 * np.pi * covariance)[1])
    return KernelParameters(
        replace(like, length_scale=1.0, widths=()),
        mean,
        np.asarray(np.linalg.inv(covariance), dtype=np.float64),
        log_norm,
        low,
        high,
    )


def prior_covariance(widths: Widths) -> Array:  # (d, d)
    """Prior covariance of the log lengthscales of the columns."""
    which = np.repeat(np.arange(len(widths)), widths)  # (d,)
    same = which[:, None] == which
    of_category = by_column(widths, widths) > 1.0
    own = np.diag(np.where(of_category, LENGTH_SPREAD**2, 0.0))
    return np.asarray(LEVEL_SPREAD**2 + LENGTH_SPREAD**2 * same + own)


def level_order(X: Array, y: Array, widths: Widths) -> NDArray[np.intp]:  # (d,)
    """Columns in an order that follows from the labels: that of the levels does not matter.

    The levels of a category are ordered by their number of labels, then by the sums of these and of
    their squares. Levels without a label keep their order.
    """
    sums = np.stack([X.T @ (y * y), X.T @ y, X.sum(axis=0)])  # (3, d)
    each = [at.start + np.lexsort(sums[:, at]) for at in column_slices(widths)]
    return np.concatenate(each)


def level_candidates(
    peaks: Sequence[EvidencePeak], X: Array, y: Array, noise_var: Array
) -> CandidateModels:
    """The candidates with a lengthscale for each level, from peaks with exchangeable levels."""
    order = level_order(X, y, peaks[0].fit.shape.like.widths)
    place = np.argsort(order)  # of each column in the order

    def in_place(kernel: Kernel) -> Kernel:
        ell = np.asarray(kernel.length_scale)[place]
        return replace(kernel, length_scale=tuple(ell.tolist()))

    found = [fit_levels(peak, X[:, order], y, noise_var) for peak in peaks]
    known = (X, y, noise_var)
    return concat_candidates([point_candidates(one, *known, on_all=in_place) for one in found])


def fit_levels(peak: EvidencePeak, X: Array, y: Array, noise_var: Array) -> EvidencePeak:
    """The peak with a lengthscale for each level, from one with exchangeable levels."""
    grouped = peak.kernel
    ell = tuple(grouped.column_scales(X.shape[1]).tolist())
    start = Kernel(grouped.family, ell, grouped.alpha, grouped.offset)
    shape = level_parameters(grouped, grouped.widths)
    return replace(fit(start, peak.noise, X, y, noise_var / peak.unit, shape), unit=peak.unit)
