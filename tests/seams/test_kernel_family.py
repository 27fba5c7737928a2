"""The conformance suite of kernel families: correlations, slopes, frequencies and random features.

Correlations are compared with scikit-learn and the textbook, frequencies with their law, features
with the exact correlation. A new family joins by its entry in FAMILIES.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import RBF, Matern, RationalQuadratic

from reference.cases import frozen
from reference.kernels import matrix, profile
from weal.core.paper.kernels import (
    FAMILIES,
    Kernel,
    correlation,
    default_dictionary,
    dictionary,
    paper_dictionary,
)
from weal.core.paper.random_features import draw_frequencies, features, spectral_draw

SKLEARN = {
    "rbf": RBF,
    "matern12": lambda length_scale: Matern(length_scale, nu=0.5),
    "matern32": lambda length_scale: Matern(length_scale, nu=1.5),
    "matern52": lambda length_scale: Matern(length_scale, nu=2.5),
}
LENGTHS = (0.6, (0.3, 2.0, 1.1, 5.0))  # a scalar, and one for each of four inputs


def points(N, d, seed=0):
    return frozen(np.random.default_rng(seed).standard_normal((N, d)))


@pytest.mark.parametrize("length_scale", LENGTHS)
@pytest.mark.parametrize("family", SKLEARN)
def test_correlation_is_scikit_learns(family, length_scale):
    # [1, eq:gp_prior]
    X, Z = points(7, 4), points(5, 4, seed=1)
    theirs = SKLEARN[family](length_scale)(X, Z)
    np.testing.assert_allclose(correlation(Kernel(family, length_scale), X, Z), theirs, rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.3, 1.0, 7.0])
def test_rational_quadratic_is_scikit_learns(alpha):
    X, Z = points(7, 4), points(5, 4, seed=1)
    theirs = RationalQuadratic(length_scale=0.6, alpha=alpha)(X, Z)
    np.testing.assert_allclose(correlation(Kernel("rq", 0.6, alpha), X, Z), theirs, rtol=1e-12)


@settings(max_examples=30, deadline=None)
@given(
    family=st.sampled_from(list(FAMILIES)),
    length_scale=st.floats(0.05, 50.0) | st.tuples(*[st.floats(0.05, 50.0)] * 3),
    alpha=st.floats(0.1, 10.0),
    seed=st.integers(0, 10**6),
)
def test_correlation_is_the_textbooks(family, length_scale, alpha, seed):
    kernel = Kernel(family, length_scale, alpha)
    X, Z = points(4, 3, seed), points(3, 3, seed + 1)
    np.testing.assert_allclose(
        correlation(kernel, X, Z), matrix(kernel, X, Z), rtol=1e-9, atol=1e-14
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_equal_points_correlate_exactly_one_at_a_tiny_lengthscale(family):
    X = frozen(1e3 + points(6, 3))
    assert (np.diag(correlation(Kernel(family, 1e-4), X, X.copy())) == 1.0).all()


@pytest.mark.parametrize("length_scale", [1e-4, 0.7, (0.2, 3.0, 40.0), 1e6])
@pytest.mark.parametrize("family", FAMILIES)
def test_correlations_are_symmetric_and_positive_semidefinite(family, length_scale):
    X = points(40, 3)
    K = correlation(Kernel(family, length_scale, alpha=0.4), X, X)
    assert (K == K.T).all()
    assert (K >= 0.0).all()
    assert (K <= 1.0).all()
    assert np.linalg.eigvalsh(K).min() > -40 * len(X) * np.finfo(float).eps


@pytest.mark.parametrize("family", FAMILIES)
def test_points_far_apart_do_not_correlate_and_raise_no_warning(family):
    X = frozen([[0.0, 0.0, 0.0], [1e100, -1e100, 0.0]])
    K = correlation(Kernel(family, 1e-5), X, X)
    np.testing.assert_allclose(K, np.eye(2), atol=1e-100)


def test_a_family_that_there_is_not_is_refused_with_those_that_there_are():
    with pytest.raises(ValueError, match="'squared'") as caught:
        Kernel("squared")
    assert all(family in str(caught.value) for family in FAMILIES)


@pytest.mark.parametrize(
    "length_scale",
    [0.0, -1.0, np.nan, np.inf, (), (1.0, -2.0), (1.0, np.nan), [[1.0, 2.0], [3.0, 4.0]]],
)
def test_a_lengthscale_must_be_positive(length_scale):
    with pytest.raises(ValueError, match="length_scale must be a positive number"):
        Kernel("rbf", length_scale)


@pytest.mark.parametrize("alpha", [0.0, -1.0, np.nan, np.inf])
def test_alpha_must_be_positive(alpha):
    with pytest.raises(ValueError, match="alpha must be a positive number"):
        Kernel("rq", 1.0, alpha)


@pytest.mark.parametrize("offset", [-1.0, np.nan, np.inf])
def test_an_offset_must_not_be_negative(offset):
    with pytest.raises(ValueError, match="offset must be a number of at least 0"):
        Kernel("rbf", 1.0, offset=offset)


@pytest.mark.parametrize("family", FAMILIES)
def test_an_offset_adds_its_variance_to_every_covariance(family):
    X, Z = points(7, 4), points(5, 4, seed=1)
    plain, moved = (Kernel(family, LENGTHS[1], 0.7, offset) for offset in (0.0, 2.5))
    np.testing.assert_allclose(correlation(moved, X, Z), correlation(plain, X, Z) + 2.5, rtol=1e-14)
    assert (plain.variance, moved.variance) == (1.0, 3.5)
    assert (np.diag(correlation(moved, X, X)) == moved.variance).all()


@pytest.mark.parametrize("alpha", [0.3, 4.0])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_slope_is_the_derivative_by_the_squared_distance(family, alpha):
    r2 = frozen(np.geomspace(1e-3, 300.0, 40))
    h = 1e-5 * r2
    ours = FAMILIES[family]
    rise = ours.correlation(r2 + h, alpha) - ours.correlation(r2 - h, alpha)
    np.testing.assert_allclose(ours.slope(r2, alpha), rise / (2.0 * h), rtol=1e-6, atol=1e-12)
    assert np.isfinite(ours.slope(np.zeros(1), alpha)).all()


def test_a_kernel_is_a_value():
    given = Kernel("rq", np.array([0.5, 2.0, 3.0]), np.float64(3.0))
    assert given == Kernel("rq", (0.5, 2.0, 3.0), 3.0)
    assert hash(given) == hash(Kernel("rq", [0.5, 2.0, 3.0], 3))
    assert eval(repr(given), {"Kernel": Kernel}) == given
    moved = Kernel("matern32", 0.25, offset=10)
    assert moved != Kernel("matern32", 0.25)
    assert eval(repr(moved), {"Kernel": Kernel}) == moved


def test_dictionaries_are_what_they_say():
    # [1, set:dictionary]
    assert [k.length_scale for k in paper_dictionary()] == pytest.approx(
        [1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100, 1e3, 1e4, 1e5, 1e6]
    )
    assert [k.length_scale**2 for k in paper_dictionary(squared=True)] == pytest.approx(
        [k.length_scale for k in paper_dictionary()]
    )
    assert {k.family for k in paper_dictionary()} == {"rbf"}
    assert dictionary(["rq", "rbf"], iter([0.5, 2.0])) == tuple(
        Kernel(f, ell) for f in ("rq", "rbf") for ell in (0.5, 2.0)
    )
    assert len(default_dictionary(4)) == 10
    assert max(k.length_scale for k in default_dictionary(4)) == pytest.approx(20.0)


@pytest.mark.parametrize("D", [1, 7, 8, 20])
@pytest.mark.parametrize("d", [1, 3, 8])
def test_orthogonal_directions_are_orthogonal_within_blocks(d, D):
    scales = np.linspace(0.5, 2.0, d)
    zeta = spectral_draw(
        Kernel("matern32", tuple(scales)), d, D, np.random.default_rng(2), orthogonal=True
    )
    assert zeta.shape == (D, d)
    n = zeta * scales
    directions = n / np.linalg.norm(n, axis=1, keepdims=True)
    for start in range(0, D, d):
        block = directions[start : start + d]
        np.testing.assert_allclose(block @ block.T, np.eye(len(block)), atol=1e-12)


@pytest.mark.parametrize("orthogonal", [False, True])
def test_every_frequency_has_the_law_of_the_spectral_density_by_itself(orthogonal):
    """Each frequency of an orthogonal block, not only their mean, stands for the kernel."""
    # [1, eq:bochner]
    d, n = 3, 20_000
    kernel, x = Kernel("rbf", (0.5, 1.0, 2.0)), np.array([0.4, -0.9, 1.3])
    zeta = spectral_draw(kernel, d, d * n, np.random.default_rng(4), orthogonal)
    by_place = np.cos(zeta @ x).reshape(n, d).mean(axis=0)
    k = correlation(kernel, x[None], np.zeros((1, d)))[0, 0]
    np.testing.assert_allclose(by_place, k, atol=5.0 / np.sqrt(n))


# Random features of every family against the exact correlation

D = 40_000
# A cosine lies in [-1, 1]: by Hoeffding a mean of D of them is farther than 5 / sqrt(D) from its
# expectation with probability 7e-6.
TOLERANCE = 5.0 / np.sqrt(D)
# Of trend 99 % are an RBF, and products are the kernel itself.
HEAVY = [family for family in FAMILIES if family not in ("rbf", "trend")]


def kernel_of(family, d):
    """Unequal lengthscales of about 1 sqrt(d) / sqrt(3)."""
    return Kernel(
        family, tuple((d / 3) ** 0.5 * (0.8 + 0.4 * (i % 2)) for i in range(d)), alpha=0.8
    )


def spread_points(d, N=8):
    """Points whose differences point everywhere, the diagonals included."""
    X = np.random.default_rng(8).standard_normal((N, d))
    X[0], X[1] = 0.5, -0.5
    return frozen(X)


def estimate(X, zeta):
    Phi = features(X, zeta[None])[0]
    return Phi @ Phi.T


@pytest.mark.covering(strength=2)
@pytest.mark.parametrize("orthogonal", [False, True])
@pytest.mark.parametrize("d", [1, 3, 8])
@pytest.mark.parametrize("family", FAMILIES)
def test_features_stand_for_the_kernel(family, d, orthogonal):
    # [1, eq:kern_est, eq:bochner]
    kernel, X = kernel_of(family, d), spread_points(d)
    zeta = spectral_draw(kernel, d, D, np.random.default_rng([1, d]), orthogonal)
    error = np.abs(estimate(X, zeta) - correlation(kernel, X, X))
    assert error.max() < TOLERANCE


@pytest.mark.parametrize("family", HEAVY)
def test_the_product_of_one_dimensional_kernels_would_not_pass(family):
    """At d = 3, with one mixing scale for each coordinate, the test above would fail."""
    kernel, X = kernel_of(family, 3), spread_points(3)
    K = correlation(kernel, X, X)
    product = np.ones_like(K)
    for i, ell in enumerate(kernel.length_scale):
        gaps = np.abs(X[:, None, i] - X[None, :, i]) / ell
        product *= np.vectorize(lambda r: profile(family, r, kernel.alpha))(gaps)
    assert np.abs(product - K).max() > 2.0 * TOLERANCE

    one_by_one = [
        spectral_draw(Kernel(family, ell, kernel.alpha), 1, D, np.random.default_rng([1, i]))
        for i, ell in enumerate(kernel.length_scale)
    ]
    wrong = estimate(X, np.concatenate(one_by_one, axis=1))
    assert np.abs(wrong - product).max() < TOLERANCE
    assert np.abs(wrong - K).max() > TOLERANCE


# Measured ratios of the errors at d = 3 and 8: rbf 0.73 and 0.59, matern52 0.80 and 0.77,
# rq 0.86 and 0.83, matern32 0.85 and 0.83, matern12 0.95 and 0.94.
# Not of trend: which of two scales a frequency has is left to chance, and is all of its error.
MARGIN = {"rbf": 0.85, "matern52": 0.9, "rq": 0.95, "matern32": 0.95, "matern12": 0.99}


@pytest.mark.covering
@pytest.mark.parametrize("d", [3, 8])
@pytest.mark.parametrize("family", MARGIN)
def test_orthogonal_draws_make_a_smaller_error_at_equal_cost(family, d):
    """Root mean square over 1500 draws and all pairs; its own error is about 1 %."""
    kernel, draws = Kernel(family, d**0.5), 1500
    X = frozen(np.random.default_rng(0).standard_normal((8, d)))
    K, pairs = correlation(kernel, X, X), np.triu_indices(8, 1)
    rms = []
    for orthogonal in (False, True):
        Phi = features(X, draw_frequencies([kernel] * draws, d, 4 * d, 3, orthogonal))
        error = np.matmul(Phi, Phi.transpose(0, 2, 1)) - K
        rms.append(np.sqrt(np.mean(error[:, *pairs] ** 2)))
    assert rms[1] < MARGIN[family] * rms[0]
