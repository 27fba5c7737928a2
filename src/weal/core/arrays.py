"""What an array is here: numpy, floating, its shape in a trailing comment; and arrays that grow.

`root_mean_square` and `standard_deviation` are those of values of any size: labels of 1e300 have
squares that no float holds, and those of 1e-300 squares of 0. Values are divided by a power of two
before they are squared, which is exact, so that ordinary values give the bits that numpy gives.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Index = Any  # which of the M experts: a slice, or positions
Array = NDArray[np.float64]  # float32 where a docstring says so


MANY_ROWS = 1024  # from which on there is room for a quarter as many, and not for as many again


def root_mean_square(values: Array) -> float:
    """The root of the mean of the squares; 0 of no values.

    >>> root_mean_square(np.array([3e300, 4e300])) / 1e300 == root_mean_square(np.array([3.0, 4.0]))
    True
    """
    if not len(values):
        return 0.0
    exponent = _exponent(values)
    return float(np.ldexp(np.sqrt((np.ldexp(values, -exponent) ** 2).mean()), exponent))


def standard_deviation(values: Array) -> float:
    """As numpy's `std`; 0 of no values."""
    if not len(values):
        return 0.0
    exponent = _exponent(values)
    return float(np.ldexp(np.ldexp(values, -exponent).std(), exponent))


def _exponent(values: Array) -> int:
    """The power of two that the largest value is near; 0 where there is none."""
    largest = float(np.abs(values).max())
    return int(np.frexp(largest)[1]) if np.isfinite(largest) else 0


def _more(n: int) -> int:
    """Room to spare for n rows that grow."""
    return n if n < MANY_ROWS else n // 4


class GrowingRows:
    """M matrices (M, t, n) that only ever gain rows; a value, like any other array here.

    The buffer behind it has room to spare. The first to append to a given length writes into the
    buffer; an append to an older value (a fork) makes a copy. So one row costs its own size,
    and what a value shows never changes.
    """

    __slots__ = ("_buffer", "_filled", "t")

    def __init__(self, array: Array) -> None:
        self.t = array.shape[1]
        self._buffer = array
        self._filled = [self.t]  # rows of the buffer in use, shared by all values on it

    @classmethod
    def room(cls, M: int, t: int, n: int) -> Self:
        """M matrices of t rows that are still to be filled, with room for more."""
        made = cls(np.empty((M, max(8, t + _more(t)), n)))
        made.t, made._filled = t, [t]
        return made

    @property
    def array(self) -> Array:  # (M, t, n)
        """The rows so far, as a view."""
        return self._buffer[:, : self.t]

    def append(self, row: Array) -> Self:
        """These rows and one more (M, n); a longer row widens the matrices with zeros."""
        t, n = self.t, row.shape[1]
        room = self if self._has_room(n) else self.apart(n)
        room._buffer[:, t, :n] = row
        room._filled[0] = t + 1
        grown = type(self)(room._buffer)
        grown.t, grown._filled = t + 1, room._filled
        return grown

    def apart(self, n: int = 0) -> Self:
        """The same rows in a buffer of their own, with room for more, and of length n."""
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
