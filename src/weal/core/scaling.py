"""Standardisation of inputs and labels to mean 0 and sd 1, and the inverse.

    x_scaled = (x - x_mean) / x_sd        y_scaled = (y - y_mean) / y_sd

A density of y is one of y_scaled divided by y_sd. A column that does not vary has no scale: it is
centred and left in its own unit, so that it adds nothing to any distance. Labels that do not vary
are scaled by their own size, so that a change of units makes no difference.

A column with heavy tails (one value at 1243 among threes) would be squeezed to a point by its sd. A
column with a large fourth moment is warped first, x -> asinh((x - median) / spread), where spread
is the interquartile range divided by that of a standard normal: nearly the identity in the middle,
a logarithm in the tails.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.one_hot import Widths, by_column

HEAVY_TAIL_KURTOSIS = 10.0  # fourth moment of a standardised column that is warped; a normal has 3
NORMAL_RANGE = 1.349  # interquartile range of a normal with sd 1
MAX_FLOAT = np.finfo(np.float64).max
# A spread below this share of the largest entry is rounding: np.std([0.1] * 3) is 1e-17, not 0.
ROUNDING = 16 * np.finfo(np.float64).eps


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """Locations and scales of inputs and label, in the user's units.

    A scaling given to `EnsembleGPRegressor` stays fixed; otherwise it is computed from the data of
    the first fit.

    Parameters
    ----------
    x_mean : array (d,)
        Location of each input.
    x_sd : array (d,)
        Scale of each input, above 0.
    y_mean : float
        Location of the labels.
    y_sd : float
        Scale of the labels, above 0.
    x_median : array (d,) or None
        Medians of inputs with heavy tails, which are warped by asinh before they are scaled; if
        None, no input is warped.
    x_spread : array (d,) or None
        Spreads of these inputs; 0 for inputs that are not warped.
    widths : array (G,) of int, or None
        Number of columns of each input, in order: 1 for a number, and the number of levels for a
        one-hot encoded category, whose columns have mean 0 and scale 1. If None, every column is an
        input.
    source : function or None
        Function that maps inputs X (N, d) in the user's units to additional scaled inputs (N, s):
        the predictions of another model. `inputs` appends them; if None, there are none.

    Examples
    --------
    >>> import numpy as np
    >>> from weal import Scaling
    >>> scaling = Scaling(np.array([100.0, 0.5]), np.array([50.0, 0.1]), y_mean=300.0, y_sd=20.0)
    >>> scaling.inputs(np.array([[150.0, 0.4]])).round(6)
    array([[ 1., -1.]])
    >>> scaling.means(np.array([0.5]))
    array([310.])
    """

    x_mean: Array  # (d,)
    x_sd: Array  # (d,)
    y_mean: float = 0.0
    y_sd: float = 1.0
    x_median: Array | None = None  # (d,)  of warped columns; None: none is
    x_spread: Array | None = None  # (d,)  0 for columns that are not warped
    widths: NDArray[np.intp] | None = None  # (G,)  columns of each input; None: one each
    source: Callable[[Array], Array] | None = None  # (N, d) -> (N, s)  further inputs, scaled

    def inputs(self, X: Array) -> Array:  # (N, d) -> (N, d + s)
        """Scaled inputs; infinite, without a warning, beyond the range of floats.

        Parameters
        ----------
        X : array (N, d), or (d,)
            In the user's units.

        Returns
        -------
        array (N, d + s), or (d + s,)
            Scaled inputs, with the additional inputs of the source.
        """
        with np.errstate(over="ignore"):
            own = (_compress_tails(X, self.x_median, self.x_spread) - self.x_mean) / self.x_sd
        if self.source is None:
            return own
        more = self.source(np.atleast_2d(X))
        return np.concatenate([own, more.reshape(*own.shape[:-1], more.shape[1])], axis=-1)

    def labels(self, y: Array) -> Array:  # (N,) -> (N,)
        """Scaled labels; infinite, without a warning, beyond the range of floats.

        Parameters
        ----------
        y : array (N,)
            In the user's units.

        Returns
        -------
        array (N,)
            Scaled.
        """
        with np.errstate(over="ignore"):
            return (y - self.y_mean) / self.y_sd

    def means(self, mean: Array) -> Array:  # (N,) -> (N,)
        """Scaled means converted to the user's units; infinite beyond the range of floats.

        Parameters
        ----------
        mean : array (N,)
            Scaled.

        Returns
        -------
        array (N,)
            In the user's units.
        """
        with np.errstate(over="ignore"):
            return self.y_mean + self.y_sd * mean


def from_data(X: Array, y: Array, warp: bool = False, widths: Widths = ()) -> Scaling:
    """Scaling by mean and sd of X (N, d), warped where heavy-tailed, and of labels y (t,).

    Columns of categories, of inputs with a width above 1, stay as they are.
    """
    median, spread = _heavy(X) if warp else (None, None)
    x_mean, x_sd = location_scale(_compress_tails(X, median, spread))
    (y_mean,), (y_sd,) = location_scale(y[:, None])
    if y_sd == 0.0:
        y_sd = abs(y_mean) or 1.0
    x_sd = np.where(x_sd == 0.0, 1.0, x_sd)
    found = Scaling(x_mean, x_sd, float(y_mean), float(y_sd), median, spread)
    return _with_categories(found, widths) if widths else found


def _with_categories(scaling: Scaling, widths: Widths) -> Scaling:
    """The scaling, with columns of categories as they are."""
    of_category = by_column(widths, widths) > 1.0  # (d,)
    spread = scaling.x_spread
    return replace(
        scaling,
        x_mean=np.where(of_category, 0.0, scaling.x_mean),
        x_sd=np.where(of_category, 1.0, scaling.x_sd),
        x_spread=None if spread is None else np.where(of_category, 0.0, spread),
        widths=np.array(widths, dtype=np.intp),
    )


def _heavy(X: Array) -> tuple[Array | None, Array | None]:
    """Medians and spreads (d,) of the columns of X to warp, spread 0 for the others."""
    mean, sd = location_scale(X)
    with np.errstate(over="ignore"):
        z = (X - mean) / np.where(sd == 0.0, 1.0, sd)
    low, median, high = np.percentile(X, [25, 50, 75], axis=0)
    spread = np.where((z**4).mean(axis=0) > HEAVY_TAIL_KURTOSIS, (high - low) / NORMAL_RANGE, 0.0)
    return (median, spread) if spread.any() else (None, None)


def _compress_tails(X: Array, median: Array | None, spread: Array | None) -> Array:
    if median is None or spread is None:
        return X
    warp = spread > 0.0
    with np.errstate(over="ignore"):
        u = np.clip((X - median) / np.where(warp, spread, 1.0), -MAX_FLOAT, MAX_FLOAT)
    return np.where(warp, np.arcsinh(u), X)


def principal_axes(X: Array, weights: Array) -> tuple[Array, Array, Array, Array]:
    """Principal axes of rows X (N, d), with columns of variances `weights` (d,) > 0.

    Centre and unit (d,) of the columns, axes (d, d) as columns of (X - centre) / unit, the one of
    the largest variance first, and their shares of the variance (d,). The largest entry of an axis
    is positive.
    """
    centre, sd = location_scale(X)
    unit = np.where(sd > 0.0, sd, 1.0) / np.sqrt(weights)
    scaled = (X - centre) / unit
    variances, axes = np.linalg.eigh(scaled.T @ scaled / len(X))
    variances, axes = np.maximum(variances[::-1], 0.0), axes[:, ::-1]
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=0)[None], axis=0)
    shares = variances / max(float(variances.sum()), np.finfo(float).tiny)
    return centre, unit, axes * np.where(largest < 0.0, -1.0, 1.0), shares


def location_scale(A: Array) -> tuple[Array, Array]:
    """Mean and sd of each column of A (N, d); the sd of a constant column is exactly 0.

    Taken relative to the largest entry: squares of 1e200 or 1e-200 leave the range of floats.
    """
    largest = np.abs(A).max(axis=0)  # (d,)
    unit = np.where(largest == 0.0, 1.0, largest)
    B = A / unit
    mean, sd = B.mean(axis=0), B.std(axis=0)
    return mean * unit, np.where(sd <= ROUNDING, 0.0, sd * unit)
