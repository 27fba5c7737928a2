"""Packed Cholesky factors, against square matrices: solutions, forks, parts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import solve_triangular

from reference.cases import frozen
from weal.core.packed_factors import PackedFactors


def factors(M, t, scale=1.0, seed=0):
    """Lower triangles (M, t, t) with pivots away from 0."""
    rng = np.random.default_rng([seed, M, t])
    L = np.tril(rng.standard_normal((M, t, t))) / max(t, 1)
    return scale * (L + np.eye(t) * rng.uniform(0.5, 2.0, (M, 1, t)))


@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150])
@pytest.mark.parametrize(("M", "t"), [(1, 1), (3, 2), (2, 65), (4, 130)])
def test_solutions_are_those_of_square_matrices(M, t, scale):
    L = factors(M, t, scale)
    b = np.random.default_rng(t).standard_normal((M, t))
    packed = PackedFactors.of(frozen(L))
    assert_array_equal(packed.squares(), L)
    for m in range(M):
        forward = solve_triangular(L[m], b[m], lower=True)
        back = solve_triangular(L[m], b[m], lower=True, trans=1)
        assert_allclose(packed.solve(frozen(b))[m], forward, rtol=1e-10)
        assert_allclose(packed.solve_transposed(b)[m], back, rtol=1e-10)


def test_a_solution_has_the_same_bits_whatever_room_is_behind_the_rows():
    L, b = factors(2, 40), np.random.default_rng(1).standard_normal((2, 40))
    whole, grown = PackedFactors.of(L), PackedFactors(np.zeros((2, 0)), 0)
    for n in range(40):
        grown = grown.append(L[:, n, : n + 1])
    longer = grown.append(np.ones((2, 41)))
    for one in (grown, longer.first(40), whole.take([1, 0]).take([1, 0])):
        assert_array_equal(one.solve(b), whole.solve(b))
        assert_array_equal(one.solve_transposed(b), whole.solve_transposed(b))


@settings(max_examples=40, deadline=None)
@given(
    M=st.integers(1, 3),
    start=st.integers(0, 12),
    moves=st.lists(st.tuples(st.integers(0, 10**6), st.booleans(), st.booleans()), max_size=40),
)
def test_no_fork_changes_what_another_shows(M, start, moves):
    first = factors(M, start)
    values = [(PackedFactors.of(frozen(first)), first)]
    for number, (parent, newest, shorter) in enumerate(moves):
        packed, plain = values[-1 if newest else parent % len(values)]
        if shorter:
            n = packed.t // 2
            values.append((packed.first(n), plain[:, :n, :n]))
            continue
        row = np.full((M, packed.t + 1), 1.0 + number)
        longer = np.zeros((M, packed.t + 1, packed.t + 1))
        longer[:, :-1, :-1], longer[:, -1] = plain, row
        values.append((packed.append(frozen(row)), longer))
    for packed, plain in values:
        assert_array_equal(packed.squares(), plain)


def test_no_experts_and_no_labels_are_empty():
    none = PackedFactors(np.zeros((0, 0)), 0)
    assert none.squares().shape == (0, 0, 0)
    assert PackedFactors.of(np.zeros((2, 0, 0))).squares().shape == (2, 0, 0)
    assert PackedFactors.of(np.zeros((2, 0, 0))).packed.shape == (2, 0)
