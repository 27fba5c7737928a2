"""Three ways to make points: the same features, whoever made them, and exact ones beside them."""

from dataclasses import replace

import numpy as np
import pytest

from reference.cases import frozen, kernels
from reference.kernels import matrix
from weal.core.extensions.embeddings import EncodedFeatures, RandomFeatures, RawInputs
from weal.core.paper.exact_gp import ExactExperts
from weal.core.paper.feature_gp import FeatureExperts
from weal.core.paper.random_features import draw_frequencies, features

d, D, M = 3, 40, 4
ZETA = frozen(draw_frequencies(kernels(d), d, D, seed=8))
X = frozen(np.random.default_rng(3).standard_normal((11, d)))
ROWS = frozen(features(X, ZETA).transpose(1, 0, 2).reshape(len(X), -1))  # what an encoder gives
FEATURES = FeatureExperts.prior(M, 2 * D)
LAM = frozen([0.1, 0.01, 0.3, 0.02])
INDICES = [slice(None), slice(1, 3), np.array([3]), np.array([2, 0]), np.array([1, 2, 3])]


def some_experts(seed=0, t=6):
    """Both kinds after labels: features, exact."""
    rng = np.random.default_rng(seed)
    X_seen, y = rng.standard_normal((t, d)), rng.standard_normal(t)
    lam = np.repeat(LAM[:, None], t, axis=1)
    exact = ExactExperts.prior(kernels(d), d)
    by_features, _, _ = FEATURES.absorb(features(X_seen, ZETA), y, lam)
    exactly, _, _ = exact.absorb(exact.solved_points(X_seen), y, lam)
    return by_features, exactly


def test_features_are_the_same_whoever_made_them():
    ours, theirs = (
        RandomFeatures(ZETA).points(FEATURES, X),
        EncodedFeatures(M).points(FEATURES, ROWS),
    )
    assert ours.shape == (M, len(X), 2 * D)
    assert (ours == theirs).all()
    assert (ours == features(X, ZETA)).all()


@pytest.mark.parametrize("rows", [slice(0, 0), slice(4, 5), slice(2, 9)])
def test_points_come_one_by_one_or_together(rows):
    for embedding, table in ((RandomFeatures(ZETA), X), (EncodedFeatures(M), ROWS)):
        whole = embedding.points(FEATURES, table)
        np.testing.assert_allclose(
            embedding.points(FEATURES, table[rows]), whole[:, rows], atol=1e-13
        )
    _, exact = some_experts()
    part = RawInputs().points(exact, X[rows])
    np.testing.assert_array_equal(part.X, X[rows])
    np.testing.assert_allclose(part.V, exact.solved_points(X).V[:, :, rows], atol=1e-13)


@pytest.mark.parametrize("name", ["spectral", "encoded"])
def test_single_precision_is_the_double_one_rounded(name):
    embedding, table = {
        "spectral": (RandomFeatures(ZETA), X),
        "encoded": (EncodedFeatures(M), ROWS),
    }[name]
    single = embedding.points(FEATURES, table, np.float32)
    assert single.dtype == np.float32
    assert np.abs(single - embedding.points(FEATURES, table)).max() < 3e-7 / np.sqrt(D)


def test_correlations_of_the_three_kinds_are_those_of_the_kernels():
    """Exactly, or with an error of at most 4 / sqrt(D)."""
    exact = ExactExperts.prior(kernels(d), d)
    kinds = {
        "spectral": (FEATURES, RandomFeatures(ZETA), X),
        "encoded": (FEATURES, EncodedFeatures(M), ROWS),
        "exact": (exact, RawInputs(), X),
    }
    found = {}
    for name, (experts, embedding, table) in kinds.items():
        points = embedding.points(experts, table)
        found[name] = experts.prior_covariance(points, points)
    truth = np.array([matrix(kernel, X, X) for kernel in kernels(d)])
    np.testing.assert_allclose(found["exact"], truth, atol=1e-12)
    assert (found["spectral"] == found["encoded"]).all()
    assert np.abs(found["spectral"] - truth).max() < 4.0 / np.sqrt(D)


def test_widths_are_the_numbers_that_a_point_takes():
    by_features, exact = some_experts(t=6)
    assert RandomFeatures(ZETA).width(by_features) == 2 * D
    assert EncodedFeatures(M).width(by_features) == 2 * D
    assert RawInputs().width(exact) >= 6


@pytest.mark.parametrize("which", INDICES, ids=str)
def test_some_of_the_experts_see_their_part_of_the_points(which):
    by_features, exact = some_experts()
    for embedding, table, experts in (
        (RandomFeatures(ZETA), X, by_features),
        (EncodedFeatures(M), ROWS, by_features),
        (RawInputs(), X, exact),
    ):
        mu, v = experts.predict(embedding.points(experts, table))
        some = experts.take(which)
        mu_some, v_some = some.predict(embedding.take(which).points(some, table))
        np.testing.assert_allclose(mu_some, mu[which], atol=1e-12)
        np.testing.assert_allclose(v_some, v[which], atol=1e-12)


@pytest.mark.parametrize("second", [slice(0, 1), np.array([1, 0]), np.array([1])], ids=str)
@pytest.mark.parametrize("first", [slice(1, 3), np.array([3, 1, 2]), slice(None)], ids=str)
def test_some_of_some_are_counted_among_the_some(first, second):
    for embedding, table in ((RandomFeatures(ZETA), X), (EncodedFeatures(M), ROWS)):
        twice = embedding.take(first).take(second).points(FEATURES, table)
        assert (twice == embedding.points(FEATURES, table)[first][second]).all()


def test_encoded_points_are_laid_out_for_matrix_products():
    assert EncodedFeatures(M).points(FEATURES, ROWS).flags.c_contiguous
    assert EncodedFeatures(M).take(np.array([2, 0])).points(FEATURES, ROWS).flags.c_contiguous


def test_an_offset_is_one_more_feature():
    """Its product is the variance of the offset; without one there are 2 D features."""
    offset = frozen([0.0, 2.0, 10.0, 0.5])
    plain, moved = RandomFeatures(ZETA), replace(RandomFeatures(ZETA), offset=offset)
    Phi = moved.points(None, X)
    k = FEATURES.prior_covariance(Phi, Phi)
    without = FEATURES.prior_covariance(plain.points(None, X), plain.points(None, X))
    np.testing.assert_allclose(k, without + offset[:, None, None], atol=1e-12)
    assert moved.width(None) == Phi.shape[2] == plain.width(None) + 1
    some = moved.take(np.array([2, 1])).points(None, X, np.float32)
    assert some.dtype == np.float32
    np.testing.assert_allclose(some, Phi[[2, 1]], atol=1e-6)
