"""What an array is here: numpy, floating, its shape in a trailing comment; and arrays that grow."""

from typing import Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]  # float32 where a docstring says so


class Rows:
    """M matrices (M, t, n) that only ever gain rows; a value, like any other array here.

    The buffer behind it has room to spare. The first to append to a given length writes into the
    buffer; whoever appends to an older value (a fork) gets a copy. So one row costs its own size,
    and what a value shows never changes.
    """

    __slots__ = ("_buffer", "_filled", "t")

    def __init__(self, array: Array) -> None:
        self.t = array.shape[1]
        self._buffer = array
        self._filled = [self.t]  # rows of the buffer in use, shared by all values on it

    @property
    def array(self) -> Array:  # (M, t, n)
        """The rows so far, as a view."""
        return self._buffer[:, : self.t]

    def append(self, row: Array) -> Self:
        """These rows and one more (M, n); a longer row widens the matrices, zeros to the left."""
        M, n = row.shape
        t, buffer, filled = self.t, self._buffer, self._filled
        if filled[0] != t or t == buffer.shape[1] or n > buffer.shape[2]:
            width = buffer.shape[2] if n <= buffer.shape[2] else 2 * n
            buffer, filled = np.zeros((M, max(8, 2 * t), width)), [t]
            buffer[:, :t, : self._buffer.shape[2]] = self.array
        buffer[:, t, :n] = row
        filled[0] = t + 1
        grown = type(self)(buffer)
        grown.t, grown._filled = t + 1, filled
        return grown
