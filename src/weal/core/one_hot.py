"""Categories as inputs of several columns: a 0/1 column for each level (one-hot).

A table of d columns has G inputs: numbers, of one column each, and categories, of one column for
each level. `widths` (G,) has the number of columns of each input, in order; an empty tuple means
that every column is an input. The levels of a category are exchangeable: any two of them have the
squared distance LEVEL_DISTANCE2, so a category has one lengthscale, whatever the
number of its levels.

    e_a                one-hot row of level a      |e_a - e_b|^2 = 2
    0                  a level without a column    counts as (1 - sqrt(1 + L)) / L (1, .., 1), the
                                                   point at the same distance from all e_a
    anything else      between levels              the squared Euclidean distance

The columns of a category are not standardised: 2 is the mean squared distance of two rows of a
standardised number, and a rare level is as far from the others as a common one.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from weal.core.arrays import Array
from weal.core.distances import squared_distances

LEVEL_DISTANCE2 = 2.0
MIN_ROWS_TO_DETECT = 8  # rows from which columns of an array that sum to 1 are one category
Widths = tuple[int, ...]
Codes = NDArray[np.intp]


def column_slices(widths: Widths) -> list[slice]:
    """The columns of each input."""
    ends = np.cumsum([0, *widths]).tolist()
    return [slice(start, end) for start, end in pairwise(ends)]


def by_column(values: ArrayLike, widths: Widths) -> Array:  # (d,)
    """A value for each column, from one value for each input, or one for all."""
    each = np.broadcast_to(np.asarray(values, dtype=np.float64), (len(widths),))
    return np.repeat(each, widths)


def level_codes(A: Array) -> Codes | None:  # (N,)
    """The level of each row of the columns A (N, L) of a category, -1 for one without a column.

    None if a row lies between levels.
    """
    least, largest = A.min(axis=1), A.max(axis=1)
    is_level = largest == 1.0
    at_vertex = (least == 0.0) & (A.sum(axis=1) == largest) & (is_level | (largest == 0.0))
    if not at_vertex.all():
        return None
    return np.where(is_level, A.argmax(axis=1), -1)


def level_distances(A: Array, B: Array) -> Array:  # (N, N')
    """Squared distances of rows A (N, L) and B (N', L) in the columns of one category."""
    a, b = level_codes(A), level_codes(B)
    if a is None or b is None:
        return squared_distances(_with_new_levels(A), _with_new_levels(B))
    return np.asarray(LEVEL_DISTANCE2 * (a[:, None] != b))


def _with_new_levels(A: Array) -> Array:
    """Rows with the point of a level without a column where all columns are 0."""
    L = A.shape[1]
    return np.where(A.any(axis=1, keepdims=True), A, (1.0 - np.sqrt(1.0 + L)) / L)


def input_distances(X: Array, Y: Array, widths: Widths) -> Iterator[Array]:
    """Squared distances (N, N') of the rows of X (N, d) and Y (N', d) in each input."""
    for at in column_slices(widths):
        A, B = X[:, at], Y[:, at]
        yield (A - B[:, 0]) ** 2 if A.shape[1] == 1 else level_distances(A, B)


def pair_distances(X: Array, pairs: Any, widths: Widths = ()) -> Array:  # (G, T)
    """Squared distances by input of T pairs of rows of X (N, d), given as rows and columns (T,)."""
    if not widths:
        return np.asarray(np.square((X[pairs[0]] - X[pairs[1]]).T, order="C"))
    return np.array([D2[pairs] for D2 in input_distances(X, X, widths)])


def matrix_distances(X: Array, widths: Widths = ()) -> Array:  # (G, N, N)
    """Squared distances by input of all pairs of rows of X (N, d)."""
    if not widths:
        return np.asarray((X.T[:, :, None] - X.T[:, None, :]) ** 2)
    return np.array(list(input_distances(X, X, widths)))


def find_widths(X: Array) -> Widths:
    """The inputs of an array X (N, d): adjacent columns of 0 and 1 that sum to 1 are a category.

    An empty tuple where there is none, or fewer rows than MIN_ROWS_TO_DETECT. Columns that are
    empty in all rows join the category before them.
    """
    binary = ((X == 0.0) | (X == 1.0)).all(axis=0)
    if len(X) < MIN_ROWS_TO_DETECT or binary.sum() < 2:
        return ()
    found: list[slice] = []
    start, total = 0, np.zeros(len(X))
    for j in range(X.shape[1] + 1):
        fits = j < X.shape[1] and binary[j] and bool((total + X[:, j] <= 1.0).all())
        if not fits and j - start > 1 and (total == 1.0).all():
            found.append(slice(start, j))
            start, total = j, np.zeros(len(X))
        if j < X.shape[1] and not binary[j]:
            start, total = j + 1, np.zeros(len(X))
        elif j < X.shape[1]:
            while ((total + X[:, j]) > 1.0).any():  # a flag before a category, or two flags
                total = total - X[:, start]
                start += 1
            total = total + X[:, j]
    return _widths_of(found, X.shape[1])


def _widths_of(categories: list[slice], d: int) -> Widths:
    """Widths of d columns with these categories."""
    if not categories:
        return ()
    widths, done = list[int](), 0
    for at in categories:
        widths += [1] * (at.start - done) + [at.stop - at.start]
        done = at.stop
    return tuple(widths + [1] * (d - done))
