"""The log of a sum of exponentials against scipy's, to the last bit."""

import numpy as np
import pytest
from scipy import special

from weal.core.arrays import logsumexp

rng = np.random.default_rng(5)
SPREADS = (1e-9, 1.0, 30.0, 800.0)


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("shape", [(1,), (7,), (300,), (3, 1), (12, 40), (2, 5, 6)])
def test_it_has_the_bits_of_scipy(shape, spread):
    a = spread * rng.normal(size=shape)
    for values in (a, np.round(a), np.asfortranarray(a), -700.0 + a, a.tolist()):
        for axis in (None, 0, len(shape) - 1):
            found, truth = logsumexp(values, axis=axis), special.logsumexp(values, axis=axis)
            assert np.array_equal(found, truth)
            assert np.shape(found) == np.shape(truth)


@pytest.mark.parametrize(
    "a",
    [
        [-np.inf, -np.inf],
        [-np.inf, 1.0],
        [np.inf, 1.0],
        [np.inf, -np.inf],
        [np.nan, 1.0],
        [],
        3.0,
        [[-np.inf, 0.0], [-np.inf, 2.0]],
    ],
)
def test_it_agrees_with_scipy_where_numbers_are_not_finite(a):
    np.testing.assert_array_equal(logsumexp(a), special.logsumexp(a))
    if np.ndim(a) > 1:
        np.testing.assert_array_equal(logsumexp(a, axis=0), special.logsumexp(a, axis=0))


def test_it_leaves_its_argument_alone():
    a = rng.normal(size=(4, 3))
    a.flags.writeable = False
    logsumexp(a, axis=0)
