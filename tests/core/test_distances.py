"""Squared distances: ours are equal to those of scipy, to the last bit."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from reference.cases import frozen
from weal.core import distances
from weal.core.distances import squared_distances


@pytest.mark.parametrize("d", [1, 2, 3, 8, 61])
@pytest.mark.parametrize(("N", "n"), [(1, 1), (1, 700), (700, 1), (37, 41), (0, 3), (3, 0)])
@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150])
def test_both_ways_are_equal_to_the_last_bit(constants, N, n, d, scale):
    rng = np.random.default_rng([N, n, d])
    X, Y = (frozen(scale * rng.standard_normal((rows, d))) for rows in (N, n))
    constants(distances, DISTANCE_BLOCK=100)
    ours = distances._by_input(X, Y)
    assert ours.shape == (N, n)
    np.testing.assert_array_equal(ours, cdist(X, Y, "sqeuclidean") if N and n else ours)
    np.testing.assert_array_equal(squared_distances(X, Y), ours)


def test_equal_points_are_at_distance_0_however_far_out():
    X = frozen(np.full((2, 3), 1e9) + np.array([[0.0], [1e-4]]))
    assert squared_distances(X, X)[0, 0] == 0.0
    assert distances._by_input(X, X)[1, 1] == 0.0
