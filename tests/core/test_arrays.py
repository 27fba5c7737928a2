"""Rows that only ever grow, and yet are values."""

import pickle

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from weal.core.arrays import GrowingRows, LazyArray


@settings(max_examples=60, deadline=None)
@given(
    M=st.integers(1, 3),
    start=st.integers(0, 9),
    choices=st.lists(st.tuples(st.integers(0, 10**6), *[st.booleans()] * 2), max_size=40),
)
def test_what_a_value_shows_never_changes_whoever_appends_to_whom(M, start, choices):
    """Every value of a tree of appends is compared with a plain copy of it, at the end."""
    n = 3
    first = np.arange(M * start * n, dtype=float).reshape(M, start, n)
    values = [(GrowingRows(first.copy()), first)]
    for number, (parent, newest, apart) in enumerate(choices):
        rows, plain = values[-1 if newest else parent % len(values)]
        if apart:
            rows = rows.copy()
        row = np.full((M, n), -1.0 - number)
        values.append((rows.append(row), np.concatenate([plain, row[:, None]], axis=1)))
    for rows, plain in values:
        assert rows.t == plain.shape[1]
        assert (rows.array == plain).all()


def test_longer_rows_widen_the_matrices_with_zeros():
    """The rows of a Cholesky factor: row t has t + 1 entries."""
    rows = GrowingRows(np.zeros((2, 0, 0)))
    plain = np.zeros((2, 30, 30))
    for t in range(30):
        row = np.random.default_rng(t).standard_normal((2, t + 1))
        plain[:, t, : t + 1] = row
        rows = rows.append(row)
    assert (rows.array[:, :, :30] == plain).all()
    assert (rows.array[:, :, 30:] == 0.0).all()


def test_a_lazy_array_is_computed_once_and_only_when_it_is_read():
    times = []
    lazy = LazyArray(lambda: times.append(1) or np.arange(3.0))
    assert not times
    assert lazy.array is lazy.array
    assert times == [1]
    again = pickle.loads(pickle.dumps(LazyArray(lambda: np.arange(3.0))))  # noqa: S301
    assert again.array.tolist() == [0.0, 1.0, 2.0]
