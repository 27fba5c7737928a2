"""Array types, sums and means that do not overflow, and matrices that grow by rows.

`root_mean_square` and `standard_deviation` accept values of any size: the squares of labels of
1e300 overflow, and those of labels of 1e-300 underflow. Values are divided by a power of two before
they are squared, which is exact, so that ordinary values give the bits that numpy gives.
`logsumexp` equals that of `scipy.special` to the last bit, and is ten times as fast on short
arrays.
"""

from collections.abc import Callable
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

Index = Any  # which of the M experts: a slice, or positions
Array = NDArray[np.float64]  # float32 where a docstring says so


MANY_ROWS = 1024  # rows from which a buffer grows by a quarter instead of doubling


def root_mean_square(values: Array) -> float:
    """Root mean square of the values; 0 for an empty array.

    >>> root_mean_square(np.array([3e300, 4e300])) / 1e300 == root_mean_square(np.array([3.0, 4.0]))
    True
    """
    if not len(values):
        return 0.0
    exponent = _exponent(values)
    return float(np.ldexp(np.sqrt((np.ldexp(values, -exponent) ** 2).mean()), exponent))


def standard_deviation(values: Array) -> float:
    """Standard deviation of the values, as numpy's `std`; 0 for an empty array."""
    if not len(values):
        return 0.0
    exponent = _exponent(values)
    return float(np.ldexp(np.ldexp(values, -exponent).std(), exponent))


def _exponent(values: Array) -> int:
    """Exponent of the power of two next to the largest absolute value; 0 if that is not finite."""
    largest = float(np.abs(values).max())
    return int(np.frexp(largest)[1]) if np.isfinite(largest) else 0


def _more(n: int) -> int:
    """Number of spare rows to allocate for a buffer of n rows."""
    return n if n < MANY_ROWS else n // 4


def logsumexp(a: Any, axis: int | None = None) -> Any:
    """Log of the sum of exponentials, over an axis or over all elements.

    >>> round(float(logsumexp([0.0, 0.0])), 6)
    0.693147
    """
    values = np.asarray(a, dtype=np.float64)
    over = tuple(range(values.ndim)) if axis is None else axis
    if not values.size or not values.ndim:
        return _logsumexp_of_scipy(values, axis)
    largest = values.max(axis=over, keepdims=True)
    is_largest = values == largest
    with np.errstate(all="ignore"):
        rest = np.exp(np.where(is_largest, -np.inf, values - largest)).sum(axis=over, keepdims=True)
        n = is_largest.sum(axis=over, keepdims=True, dtype=np.float64)
        found = np.log1p(rest / n) + np.log(n) + largest
    if not np.isfinite(found).all():
        return _logsumexp_of_scipy(values, axis)
    return np.squeeze(found, axis=over)[()]


def _logsumexp_of_scipy(values: Array, axis: int | None) -> Any:
    """The same by scipy, for arrays that are empty or not finite."""
    from scipy.special import logsumexp as slow  # its import takes longer than most commands

    return slow(values, axis=axis)


class LazyArray:
    """An array that is computed when it is first read.

    >>> LazyArray(lambda: np.ones(2)).array.tolist()
    [1.0, 1.0]
    """

    __slots__ = ("_array", "_make")

    def __init__(self, make: Callable[[], Array]) -> None:
        self._make: Callable[[], Array] | None = make
        self._array: Array | None = None

    @property
    def array(self) -> Array:
        """The array."""
        if self._array is None:
            make = self._make
            if make is not None:  # None: another thread has just computed it
                self._array = make()
            self._make = None  # frees the arrays that it was computed from
        return cast(Array, self._array)

    def __reduce__(self) -> tuple[Callable[[Array], "LazyArray"], tuple[Array]]:
        return _known, (self.array,)


def _known(array: Array) -> LazyArray:
    """The array as a value that was computed already, for pickle."""
    return LazyArray(lambda: array)


class GrowingRows:
    """M matrices (M, t, n) with an amortised `append` of rows; immutable like any other array.

    The buffer has spare rows. The first append to a given length writes into the buffer; an append
    to an older value (a fork) makes a copy. So one row costs its own size, and the rows of a value
    never change.
    """

    __slots__ = ("_buffer", "_filled", "t")

    def __init__(self, array: Array) -> None:
        self.t = array.shape[1]
        self._buffer = array
        self._filled = [self.t]  # rows of the buffer in use, shared by all values on it

    @classmethod
    def empty(cls, M: int, t: int, n: int) -> Self:
        """M uninitialised matrices of t rows, with spare rows."""
        made = cls(np.empty((M, max(8, t + _more(t)), n)))
        made.t, made._filled = t, [t]
        return made

    @property
    def array(self) -> Array:  # (M, t, n)
        """The rows so far, as a view."""
        return self._buffer[:, : self.t]

    def append(self, row: Array) -> Self:
        """The matrices with one more row (M, n); a longer row pads the others with zeros."""
        t, n = self.t, row.shape[1]
        room = self if self._has_room(n) else self.copy(n)
        room._buffer[:, t, :n] = row
        room._filled[0] = t + 1
        grown = type(self)(room._buffer)
        grown.t, grown._filled = t + 1, room._filled
        return grown

    def copy(self, n: int = 0) -> Self:
        """A copy in a buffer of its own, with spare rows of at least n columns."""
        M, _, width = self._buffer.shape
        wide = width if n <= width else n + _more(n)
        buffer = np.zeros((M, max(8, self.t + _more(self.t)), wide))
        buffer[:, : self.t, :width] = self.array
        twin = type(self)(buffer)
        twin.t, twin._filled = self.t, [self.t]
        return twin

    def _has_room(self, n: int) -> bool:
        _, rows, width = self._buffer.shape
        return bool(self._filled[0] == self.t < rows and n <= width)
