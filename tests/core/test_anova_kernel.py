"""The ANOVA correlation: the sum over all sets of inputs, its limits, and what it is for."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from reference.cases import frozen
from reference.kernels import matrix
from weal import EnsembleGPRegressor, Kernel
from weal.core.constants import NOISE_RATIO_GRID, POSTERIOR_POINT_PAIRS
from weal.core.extensions import anova_kernel
from weal.core.extensions.ard import fit
from weal.core.extensions.integrated_evidence import evidence_constant, log_evidence_grid
from weal.core.extensions.model_selection import candidate_grid, select_models
from weal.core.extensions.posterior_points import directions, posterior_points
from weal.core.paper.kernels import correlation
from weal.core.paper.random_features import spectral_draw

STRENGTHS = (1e-3, 0.2, 3.0, 1e3)


def points(seed, n, d):
    return frozen(np.random.default_rng([seed, n, d]).standard_normal((n, d)))


def of_each(X, ell):
    """One-dimensional Matern 5/2 (d, N, N)."""
    return [
        correlation(Kernel("matern52", el), x[:, None], x[:, None])
        for x, el in zip(X.T, ell, strict=True)
    ]


@pytest.mark.parametrize("s", STRENGTHS)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_it_is_the_sum_over_all_sets_of_inputs(d, s):
    X, kernel = points(0, 6, d), Kernel("anova", tuple(np.linspace(0.5, 3.0, d)), s, offset=10.0)
    truth = matrix(kernel, X, X) + 10.0
    np.testing.assert_allclose(correlation(kernel, X, X), truth, rtol=1e-12)


def test_weak_interactions_leave_a_sum_and_strong_ones_a_product():
    X, ell = points(1, 9, 3), (0.7, 1.5, 4.0)
    each = of_each(X, ell)
    weak, strong = (correlation(Kernel("anova", ell, s), X, X) for s in (1e-9, 1e9))
    np.testing.assert_allclose(weak, np.mean(each, axis=0), rtol=1e-7)
    np.testing.assert_allclose(strong, np.prod(each, axis=0), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("s", STRENGTHS)
@pytest.mark.parametrize("d", [2, 300])
def test_it_is_positive_definite_and_one_at_home(d, s):
    X = points(2, 40, d)
    K = correlation(Kernel("anova", 2.0, s), X, X)
    np.testing.assert_allclose(np.diag(K), 1.0, rtol=1e-12)
    assert np.isfinite(K).all()
    assert np.linalg.eigvalsh(K).min() > -1e-12


@pytest.mark.parametrize("log_s", np.log(STRENGTHS))
def test_its_slopes_are_those_of_finite_differences(log_s):
    rng = np.random.default_rng(3)
    D2, w = rng.exponential(1.0, (4, 7)), rng.standard_normal(7)
    p = np.append(rng.standard_normal(4), log_s)
    _, slopes = anova_kernel.with_slopes(p, D2)
    numeric = approx_fprime(p, lambda q: w @ anova_kernel.with_slopes(q, D2)[0], 1e-6)
    np.testing.assert_allclose(slopes(w), numeric, atol=1e-5)


def test_blocks_of_rows_change_nothing(constants):
    X, kernel = points(4, 30, 3), Kernel("anova", (0.5, 1.0, 2.0), 0.7)
    whole = correlation(kernel, X, X)
    constants(anova_kernel, CORRELATION_BLOCK=64)
    assert (correlation(kernel, X, X) == whole).all()


@pytest.mark.parametrize("s", STRENGTHS)
@pytest.mark.parametrize("d", [1, 4])
def test_a_product_and_a_sum_of_positive_terms_are_the_same(d, s, constants):
    X, Y = points(6, 20, d), points(7, 33, d)
    found = anova_kernel.correlation(X, Y, s)
    constants(anova_kernel, MAX_EMPTY_SHARE=-1.0)
    np.testing.assert_allclose(found, anova_kernel.correlation(X, Y, s), rtol=1e-12, atol=1e-13)


def test_correlations_depend_on_two_points_alone_to_the_last_bit():
    X, Y = points(8, 11, 5), points(9, 300, 5)
    K = anova_kernel.correlation(X, Y, 0.4)
    rows = np.concatenate([anova_kernel.correlation(x[None], Y, 0.4) for x in X])
    columns = np.concatenate([anova_kernel.correlation(X, y[None], 0.4) for y in Y], axis=1)
    assert (rows == K).all()
    assert (columns == K).all()


def additive(t=40):
    X = points(5, t, 4)
    y = np.sin(2.0 * X[:, 0]) + np.cos(X[:, 1]) + 0.5 * X[:, 2] ** 2
    return X, frozen((y - y.mean()) / y.std())


def test_a_sum_is_learnt_by_anova_unless_experts_are_not_exact():
    X, y = additive()
    known = (X, y, np.zeros(len(y)))
    best = select_models(candidate_grid(4), NOISE_RATIO_GRID, *known)
    assert best.kernels[0].family == "anova"
    assert best.kernels[0].alpha < 1.0
    without = select_models(candidate_grid(4), NOISE_RATIO_GRID, *known, additive=False)
    assert all(kernel.family != "anova" for kernel in without.kernels)


def test_experts_on_features_do_without():
    X, y = additive()
    model = EnsembleGPRegressor(approximation="features", n_frequencies=20, random_state=0)
    assert all(kernel.family != "anova" for kernel in model.fit(X, y).dictionary_)
    with pytest.raises(ValueError, match="anova has no random features"):
        spectral_draw(Kernel("anova"), 3, 8, np.random.default_rng(0))


def test_a_model_with_anova_is_kept_whole(tmp_path):
    X, y = additive()
    model = EnsembleGPRegressor().fit(X, y)
    assert model.dictionary_[0].family == "anova"
    model.save(tmp_path / "model.weal")
    again = EnsembleGPRegressor.load(tmp_path / "model.weal")
    assert again.dictionary_ == model.dictionary_
    new = points(6, 5, 4)
    assert (again.predict(new) == model.predict(new)).all()
    again.partial_fit(new[:1], [0.3])
    assert np.isfinite(again.predict(new)).all()


def test_draws_have_the_mean_and_covariance_of_the_approximation():
    """All pairs of them do; a third of the pairs have at least the mean."""
    z = directions(POSTERIOR_POINT_PAIRS)
    np.testing.assert_allclose(z.T @ z / len(z), np.eye(POSTERIOR_POINT_PAIRS), atol=1e-12)
    few = directions(3 * POSTERIOR_POINT_PAIRS)
    assert len(few) == 2 * POSTERIOR_POINT_PAIRS
    np.testing.assert_allclose(few.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose((few**2).sum(axis=1), 3 * POSTERIOR_POINT_PAIRS)


@pytest.mark.parametrize("family", ["rbf", "anova"])
def test_shares_of_draws_are_the_truth_over_the_approximation(family):
    X, y = additive(30)
    y = y + 0.3 * np.random.default_rng(7).standard_normal(30)
    peak = fit(Kernel(family, 2.0, offset=10.0), 1e-2, X, y, np.zeros(30))
    points_, log_share, L, b = posterior_points(peak)
    assert (peak.slope == 0.0).all()
    away = points_ - peak.p
    heights = [-peak.fit.loss(p)[0] - peak.height for p in points_]
    ratio = np.array(heights) + 0.5 * np.einsum("np,pq,nq->n", away, peak.H, away)
    truth = np.exp(np.minimum(ratio, 2.0))
    np.testing.assert_allclose(np.exp(log_share), truth / truth.sum(), rtol=1e-4)
    kernel, lam = peak.fit.shape.kernel(points_[0, :-1]), float(np.exp(points_[0, -1]))
    evidence = log_evidence_grid([kernel], [lam], X, y, np.zeros(30))[0][0, 0]
    assert L[0] + evidence_constant(30) == pytest.approx(evidence, rel=1e-9)
    assert b[0] > 0.0


def test_blocks_of_pairs_change_neither_correlations_nor_slopes(constants):
    rng, D2 = np.random.default_rng(6), points(6, 50, 4).T ** 2
    p, w = rng.normal(size=5), rng.normal(size=50)
    k, slopes = anova_kernel.with_slopes(p, D2)
    constants(anova_kernel, SLOPE_BLOCK=3 * 4)  # three pairs at a time, the last block of two
    again, slopes_again = anova_kernel.with_slopes(p, D2)
    np.testing.assert_array_equal(again, k)
    np.testing.assert_array_equal(slopes_again(w), slopes(w))
