"""Cholesky factors that grow by a row: M lower triangles, packed by rows.

    L = [[1, 0, 0],
         [2, 3, 0],      packed: 1 2 3 4 5 6
         [4, 5, 6]]

A further row is t + 1 numbers at the end, and the first n rows are the first n (n + 1) / 2 numbers.
So BLAS solves with the numbers in place (`dtpsv`), whatever spare room follows them. A square
matrix with spare room is not contiguous: it would be copied for every solution, which takes five
times as long as the solution itself at 2,000 labels.
"""

from typing import Self

import numpy as np
from scipy.linalg.blas import dtpsv
from scipy.linalg.lapack import dpotrf, dtpttr, dtrttp

from weal.core.arrays import Array, Index

MIN_ROOM = 64  # numbers


def cholesky(C: Array) -> Array:
    """L (t, t) with L L' = C, in Fortran order; its upper triangle is undefined.

    LinAlgError if C is not positive definite.
    """
    L, failed = dpotrf(C.T, lower=1, clean=0)  # symmetric: the transpose of C needs no copy
    if failed:
        raise np.linalg.LinAlgError("a covariance is not positive definite")
    return np.asarray(L)


def packed_size(t: int) -> int:
    """The number of entries of a packed triangle of t rows.

    >>> packed_size(3)
    6
    """
    return t * (t + 1) // 2


def pack(L: Array) -> Array:
    """The lower triangle of L (t, t), packed by rows."""
    return np.asarray(dtrttp(L.T)[0]) if len(L) else np.zeros(0)


class PackedFactors:
    """M lower triangles (M, t, t) with an amortised `append` of a row; immutable.

    The first append to a given length writes into the spare room of the buffer; an append to an
    older value (a fork) makes a copy. The rows of a value never change.
    """

    __slots__ = ("_buffer", "_filled", "t")

    def __init__(self, packed: Array, t: int) -> None:
        self._buffer, self.t = packed, t  # (M, >= t (t + 1) / 2)
        self._filled = [t]  # rows of the buffer in use, shared by all values on it

    @classmethod
    def of(cls, L: Array) -> Self:
        """The factors of square matrices (M, t, t)."""
        M, t, _ = L.shape
        packed = np.empty((M, packed_size(t)))
        for m in range(M):
            packed[m] = pack(L[m])
        return cls(packed, t)

    @property
    def packed(self) -> Array:  # (M, t (t + 1) / 2)
        """The numbers, as a view."""
        return self._buffer[:, : packed_size(self.t)]

    def square(self, m: int) -> Array:  # (t, t)
        """Factor m as a matrix."""
        if not self.t:
            return np.zeros((0, 0))
        upper, _ = dtpttr(self.t, self.packed[m])  # zeros elsewhere
        return np.asarray(upper.T)

    def squares(self) -> Array:  # (M, t, t)
        """All factors as matrices."""
        each = [self.square(m) for m in range(len(self._buffer))]
        return np.stack(each) if each else np.zeros((0, self.t, self.t))

    def solve(self, b: Array) -> Array:
        """L^-1 b (M, t) for vectors b (M, t)."""
        return self._solve(b, 1)

    def solve_transposed(self, b: Array) -> Array:
        """L^-T b (M, t) for vectors b (M, t)."""
        return self._solve(b, 0)

    def _solve(self, b: Array, trans: int) -> Array:
        """Rows of L are columns of L', an upper triangle packed by columns as BLAS has it."""
        out = np.empty(b.shape)
        for m, packed in enumerate(self._buffer):
            out[m] = dtpsv(self.t, packed, b[m], trans=trans)
        return out

    def append(self, row: Array) -> Self:
        """The factors with one more row (M, t + 1)."""
        t = self.t
        room = self if self._has_room() else self._copy()
        room._buffer[:, packed_size(t) : packed_size(t + 1)] = row
        room._filled[0] = t + 1
        grown = type(self)(room._buffer, t + 1)
        grown._filled = room._filled
        return grown

    def first(self, n: int) -> Self:
        """The factors of the first n rows."""
        return type(self)(self._buffer[:, : packed_size(n)], n)

    def take(self, which: Index) -> Self:
        """Some of the factors."""
        return type(self)(self.packed[which].copy(), self.t)

    def _has_room(self) -> bool:
        return bool(self._filled[0] == self.t and packed_size(self.t + 1) <= self._buffer.shape[1])

    def _copy(self) -> Self:
        """A copy in a buffer of its own, with room for a quarter more rows."""
        size = max(MIN_ROOM, packed_size(self.t + self.t // 4 + 1))
        buffer = np.empty((len(self._buffer), size))
        buffer[:, : packed_size(self.t)] = self.packed
        return type(self)(buffer, self.t)
