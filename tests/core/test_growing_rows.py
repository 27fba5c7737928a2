"""Rows as values: trees of forks, copies and rows that widen, against plain arrays."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.cases import frozen
from weal.core.arrays import GrowingRows


def concatenated(plain, row):
    """The rows (M, t, n) and one more, whichever is wider, zeros beyond the shorter."""
    M, t, n = plain.shape
    out = np.zeros((M, t + 1, max(n, row.shape[1])))
    out[:, :t, :n] = plain
    out[:, t, : row.shape[1]] = row
    return out


def check(rows, plain):
    """The value shows the plain array; where it is wider, the rest is 0."""
    n = plain.shape[2]
    shown = rows.array
    assert shown.shape[:2] == plain.shape[:2]
    assert rows.t == plain.shape[1]
    assert (shown[:, :, :n] == plain).all()
    assert (shown[:, :, n:] == 0.0).all()


MOVES = st.tuples(
    st.integers(0, 10**6),  # whom to go on from
    st.booleans(),  # or from the newest
    st.sampled_from(["append", "append", "append", "apart"]),
    st.integers(0, 7),  # how much narrower or wider the row is
)


@settings(max_examples=60, deadline=None)
@given(M=st.integers(1, 3), start=st.integers(0, 9), moves=st.lists(MOVES, max_size=50))
def test_no_fork_changes_what_another_shows(M, start, moves):
    """All values of a tree of forks are looked at after the last of them was made."""
    first = np.random.default_rng([M, start]).standard_normal((M, start, 4))
    values = [(GrowingRows(frozen(first)), first)]
    for number, (parent, newest, move, wider) in enumerate(moves):
        rows, plain = values[-1 if newest else parent % len(values)]
        if move == "apart":
            values.append((rows.copy(), plain))
            continue
        row = frozen(np.full((M, 1 + wider), 1.0 + number))
        values.append((rows.append(row), concatenated(plain, row)))
    for rows, plain in values:
        check(rows, plain)


def test_a_value_owns_nothing_of_the_row_it_was_given():
    row = np.ones((2, 3))
    rows = GrowingRows(np.zeros((2, 0, 3))).append(row)
    row[:] = 7.0
    assert (rows.array == 1.0).all()


def test_the_array_it_began_with_is_never_written_to():
    first = frozen(np.ones((2, 3, 4)))
    rows = GrowingRows(first)
    for _ in range(9):
        rows = rows.append(np.zeros((2, 4)))
    assert (first == 1.0).all()


def test_going_on_from_the_newest_copies_seldom():
    """n rows are copied a few times in all: the buffer doubles."""
    rows, copies = GrowingRows(np.zeros((2, 0, 5))), 0
    for n in range(500):
        grown = rows.append(np.full((2, 5), float(n)))
        copies += not np.shares_memory(grown.array, rows.array) and n > 0
        rows = grown
    assert copies <= 8
    assert (rows.array[1, :, 3] == np.arange(500.0)).all()


def test_rows_that_widen_one_by_one_copy_seldom_too():
    rows, copies = GrowingRows(np.zeros((2, 0, 0))), 0
    for t in range(300):
        grown = rows.append(np.full((2, t + 1), float(t)))
        copies += not np.shares_memory(grown.array, rows.array) and t > 0
        rows = grown
    check(rows, np.tril(np.ones((2, 300, 300))) * np.arange(300.0)[:, None])
    assert copies <= 16


@pytest.mark.parametrize("times", [1, 2, 5])
def test_only_the_first_to_go_on_shares_the_buffer(times):
    rows = GrowingRows(np.zeros((1, 0, 2))).append(np.zeros((1, 2)))
    forks = [rows.append(np.full((1, 2), float(n))) for n in range(times)]
    assert [np.shares_memory(fork.array, rows.array) for fork in forks] == [True] + [False] * (
        times - 1
    )
    assert [fork.array[0, 1, 0] for fork in forks] == list(range(times))
