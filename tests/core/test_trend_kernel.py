"""The trend correlation: a linear model plus a GP, and what the class of models gains by it."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from reference.cases import frozen
from reference.kernels import matrix
from weal import EnsembleGPRegressor, Kernel
from weal.core.constants import NOISE_RATIO_GRID
from weal.core.extensions import trend_kernel
from weal.core.extensions.model_selection import (
    candidate_grid,
    refit_selection,
    select_models,
)
from weal.core.paper.kernels import correlation

STRENGTHS = (0.01, 0.3, 1.0, 100.0)


def points(seed, n, d):
    return frozen(np.random.default_rng([seed, n, d]).standard_normal((n, d)))


def line(t=30, d=4, noise=0.3, seed=0):
    """Labels with a linear trend in unequal slopes, a small wave and noise."""
    X = points(seed, t, d)
    w = 2.0 ** -np.arange(d)
    rng = np.random.default_rng([seed, t])
    y = X @ w + 0.3 * np.sin(3.0 * X[:, 0]) + noise * rng.standard_normal(t)
    return X, frozen((y - y.mean()) / y.std()), frozen(np.zeros(t))


@pytest.mark.parametrize("tau", STRENGTHS)
@pytest.mark.parametrize("d", [1, 3, 40])
def test_it_is_positive_definite_and_one_at_home(d, tau):
    X = points(0, 50, d)
    kernel = Kernel("trend", tuple(np.linspace(0.3, 4.0, d)), tau)
    K = correlation(kernel, X, X)
    np.testing.assert_allclose(K, matrix(kernel, X, X), rtol=1e-12)
    np.testing.assert_array_equal(np.diag(K), 1.0)
    assert np.linalg.eigvalsh(K).min() > -1e-13 * len(K)
    np.linalg.cholesky(K + 1e-11 * np.eye(50))


@pytest.mark.parametrize("tau", STRENGTHS)
def test_its_slopes_are_those_of_finite_differences(tau):
    D2 = points(1, 3, 25) ** 2
    p, w = np.array([0.2, -0.7, 1.5, np.log(tau)]), np.random.default_rng(2).normal(size=25)
    k, slopes = trend_kernel.with_slopes(p, D2)
    r2 = np.exp(-2.0 * p[:-1]) @ D2
    np.testing.assert_allclose(k, trend_kernel.correlation(r2, tau), rtol=1e-14)
    truth = approx_fprime(p, lambda q: float(w @ trend_kernel.with_slopes(q, D2)[0]), 1e-7)
    np.testing.assert_allclose(slopes(w), truth, rtol=1e-5, atol=1e-6)
    by_tau = approx_fprime(
        p[-1:], lambda q: trend_kernel.correlation(r2, float(np.exp(q[0]))), 1e-7
    )
    np.testing.assert_allclose(trend_kernel.slope_by_strength(r2, tau), by_tau[:, 0], atol=1e-6)
    share, turn = trend_kernel.log_visible_share(p[-1])
    rise = (trend_kernel.log_visible_share(p[-1] + 1e-6)[0] - share) / 1e-6
    assert turn == pytest.approx(rise, abs=1e-5)


@pytest.mark.parametrize("tau", [0.1, 1.0, 5.0])
def test_it_is_a_bayesian_linear_model_and_a_matern_process(tau):
    """Means and variances far outside the labels, in the limit of long lengthscales."""
    X, new = points(3, 20, 3), 3.0 * points(4, 15, 3)
    ell, offset, lam = np.array([30.0, 50.0, 90.0]), 1e3, 1e-7
    y = X @ [1.0, -0.5, 0.2] + 0.1 * np.sin(2.0 * X[:, 0])
    deviation = Kernel("matern52", tuple(ell))
    s = 100.0 * tau

    def explicit(A, B):
        slopes = tau * (A / ell) @ (B / ell).T
        return (correlation(deviation, A, B) + slopes) / (1.0 + s) + offset

    def ours(A, B):
        return correlation(Kernel("trend", tuple(ell), tau, offset), A, B)

    found = []
    for k in (explicit, ours):
        weights = np.linalg.solve(k(X, X) + lam * np.eye(20), k(X, new)).T
        prior = k(new, new)
        covariance = prior - weights @ k(X, new)
        found.append((weights @ y, np.diag(covariance)))
    (mean, variance), (our_mean, our_variance) = found
    np.testing.assert_allclose(our_mean, mean, atol=2e-3 * np.abs(mean).max())
    np.testing.assert_allclose(our_variance, variance, rtol=0.01)


def test_a_line_is_learnt_by_trend_and_extrapolated():
    X, y, none = line()
    grid = candidate_grid(4)
    best = select_models(grid, NOISE_RATIO_GRID, X, y, none)
    without = select_models(grid, NOISE_RATIO_GRID, X, y, none, trend=False)
    assert any(kernel.family == "trend" for kernel in best.kernels)
    assert all(kernel.family != "trend" for kernel in without.kernels)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_units_of_labels_and_inputs_change_nothing(unit):
    X, y, _ = line(t=14, d=3, seed=5)
    new = points(6, 5, 3)
    plain = EnsembleGPRegressor(random_state=0, model_version="0.3").fit(X, y)
    scaled = EnsembleGPRegressor(random_state=0, model_version="0.3").fit(
        X * [unit, 1.0, 1 / unit], 3.0 + unit * y
    )
    mean = scaled.predict(new * [unit, 1.0, 1 / unit])
    np.testing.assert_allclose((mean - 3.0) / unit, plain.predict(new), rtol=2e-3, atol=2e-3)


def test_the_order_of_labels_does_not_matter():
    X, y, none = line(t=12, d=3, seed=7)
    other = np.random.default_rng(0).permutation(12)
    grid = candidate_grid(3)
    first = select_models(grid, NOISE_RATIO_GRID, X, y, none)
    again = select_models(grid, NOISE_RATIO_GRID, X[other], y[other], none)
    assert [kernel.family for kernel in first.kernels] == [k.family for k in again.kernels]
    np.testing.assert_allclose(first.log_prior, again.log_prior, rtol=1e-3, atol=1e-3)


def test_many_labels_fit_the_trend_again():
    X, y, none = line(t=60, seed=8)
    found = select_models(candidate_grid(4), NOISE_RATIO_GRID, X[:20], y[:20], none[:20])
    refitted = refit_selection(found, X, y, none, most=8)
    known = set(found.kernels)
    assert any(one.family == "trend" and one not in known for one in refitted.kernels)


@pytest.mark.parametrize("d", [2, 5])
def test_labels_without_noise_and_repeated_points_have_a_trend_model(d):
    X = np.repeat(points(9, 8, d), 2, axis=0)
    y = X @ np.arange(1.0, d + 1.0)
    model, before = (
        EnsembleGPRegressor(model_version=version, random_state=0).fit(X, y)
        for version in ("0.3", "0.2")
    )
    errors = [np.mean((one.predict(2.0 * X) - 2.0 * y) ** 2) for one in (model, before)]
    assert errors[0] < errors[1]
    np.testing.assert_allclose(model.predict(X), y, atol=1e-3 * np.abs(y).max())


def test_a_model_with_a_trend_is_kept_whole_and_runs_on_features(tmp_path):
    X, y, _ = line(t=25, d=3, seed=10)
    for approximation in ("exact", "features"):
        model = EnsembleGPRegressor(
            approximation=approximation, random_state=0, model_version="0.3"
        ).fit(X, y)
        assert any(kernel.family == "trend" for kernel in model.dictionary_)
        model.save(tmp_path / "model.weal")
        loaded = EnsembleGPRegressor.load(tmp_path / "model.weal")
        assert loaded.dictionary_ == model.dictionary_
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_weal_0_2_selects_no_trend():
    X, y, _ = line(t=25, d=3, seed=10)
    model = EnsembleGPRegressor(model_version="0.2", random_state=0).fit(X, y)
    assert all(kernel.family != "trend" for kernel in model.dictionary_)


def test_intervals_of_0_2_are_not_widened():
    X, y, _ = line(t=12, d=3, seed=10)
    old, new = (
        EnsembleGPRegressor(model_version=version, random_state=0).fit(X, y)
        for version in ("0.2", "0.3")
    )
    assert old.ensemble_.scale.fitted_freedom is None
    assert (new.ensemble_.scale.fitted_freedom > 0.0).all()
    given = EnsembleGPRegressor([Kernel("rbf", 1.0)], random_state=0).fit(X, y)
    assert given.ensemble_.scale.fitted_freedom is None


def test_intervals_are_widened_the_more_the_more_noise_labels_have():
    X = np.random.default_rng(12).uniform(-1.0, 1.0, (25, 2))
    f, more = np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2, np.random.default_rng(13).standard_normal(25)
    spent = []
    for noise in (0.0, 0.1, 1.0):
        scale = EnsembleGPRegressor(random_state=0).fit(X, f + noise * more).ensemble_
        spent.append(float(scale.w @ scale.scale.fitted_freedom))
    assert 2.0 < spent[0] < spent[1] < spent[2] < 7.0


def test_warped_labels_have_no_trend():
    """A line in warped labels would be exponential in labels."""
    rng = np.random.default_rng(11)
    X = rng.standard_normal((40, 2))
    y = np.exp(2.0 * X[:, 0] + 0.1 * rng.standard_normal(40))
    model = EnsembleGPRegressor(warp="asinh", random_state=0, model_version="0.3").fit(X, y)
    assert model.model_.trained.warp.spread > 0.0
    assert all(kernel.family != "trend" for kernel in model.dictionary_)
    assert np.abs(model.predict(8.0 * X)).max() < 20.0 * y.max()
