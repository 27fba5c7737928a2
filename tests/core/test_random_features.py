"""Random features: form, precision, seeds and blocks; `seams/test_kernel_family` has the rest."""

import numpy as np
import pytest

from reference.cases import frozen
from weal.core.paper import random_features as module
from weal.core.paper.kernels import Kernel
from weal.core.paper.random_features import blocks, draw_frequencies, features


def three_kernels():
    return [Kernel("rbf", 0.3), Kernel("matern52", (0.5, 1.0, 2.0)), Kernel("rq", 4.0, 0.5)]


def test_features_are_those_of_the_paper():
    """[1, eq:phi_x], one entry after the other."""
    zeta = frozen(draw_frequencies(three_kernels(), d=3, D=5, seed=11))
    X = frozen(np.random.default_rng(0).standard_normal((4, 3)))
    Phi = features(X, zeta)
    assert Phi.shape == (3, 4, 10)
    for m in range(3):
        for n in range(4):
            phi = []
            for j in range(5):
                phase = sum(zeta[m, j, i] * X[n, i] for i in range(3))
                phi += [np.sin(phase) / np.sqrt(5), np.cos(phase) / np.sqrt(5)]
            np.testing.assert_allclose(Phi[m, n], phi, atol=1e-13)


def test_features_have_length_one():
    zeta = draw_frequencies([Kernel("matern12", 1e-4), Kernel("rq", 3.0)], d=3, D=37, seed=0)
    Phi = features(frozen(100.0 * np.random.default_rng(0).standard_normal((20, 3))), zeta)
    np.testing.assert_allclose(np.linalg.norm(Phi, axis=2), 1.0, rtol=1e-14)


def test_single_precision_is_as_good_at_a_tiny_lengthscale():
    kernels = [Kernel("rbf", 1e-4), Kernel("rbf", (1e-4, 1.0, 30.0)), Kernel("matern52", 1e-3)]
    zeta = frozen(draw_frequencies(kernels, d=3, D=50, seed=3))
    X = frozen(np.random.default_rng(1).standard_normal((200, 3)))
    single, double = features(X, zeta, np.float32), features(X, zeta)
    assert single.dtype == np.float32
    assert np.abs(single - double).max() < 1e-6


@pytest.mark.parametrize("orthogonal", [False, True])
def test_frequencies_of_an_expert_depend_on_seed_place_and_kernel_alone(orthogonal):
    kernels = three_kernels()
    zeta = draw_frequencies(kernels, 3, 6, 21, orthogonal)
    others = [Kernel("matern12", 9.0), kernels[1], Kernel("rbf", 1.0), Kernel("rbf", 2.0)]
    again = draw_frequencies(others, 3, 6, 21, orthogonal)
    assert (again[1] == zeta[1]).all()
    assert (again[0] != zeta[0]).all()
    assert (draw_frequencies(kernels, 3, 6, 22, orthogonal) != zeta).all()


@pytest.mark.parametrize(
    ("N", "bytes_per_point"), [(0, 8), (1, 0), (10, 1), (1000, 2**17), (7, 2**40)]
)
def test_blocks_cover_every_point_once_and_fit_the_memory(N, bytes_per_point):
    slices = list(blocks(N, bytes_per_point))
    assert [n for rows in slices for n in range(N)[rows]] == list(range(N))
    for rows in slices:
        size = rows.stop - rows.start
        assert size == 1 or size * bytes_per_point <= module.FEATURE_BLOCK_BYTES
