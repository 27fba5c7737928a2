"""Hyperparameters by marginal likelihood, judged by scikit-learn's own likelihood function."""

import warnings

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from reference.cases import frozen, kernels
from reference.gaussian import gp_log_evidence
from soak import count
from weal.core.paper.kernels import Kernel, correlation
from weal.core.paper.marginal_likelihood import (
    SINGULAR_RATIO,
    _negative_log_likelihood,
    fit_hyperparameters,
    fit_known_noise,
    fit_length_scale,
    fit_magnitude_noise,
)

BOUNDS = (1e-5, 1e5)  # scikit-learn's defaults


def labels(rng, X):
    """A function of X with more or less noise, in some unit."""
    t, d = X.shape
    f = (
        np.sin(3.0 * X.sum(axis=1)),
        X @ rng.standard_normal(d),
        rng.standard_normal(t),
        np.sign(X[:, 0]),
        np.sin(20.0 * X[:, 0]) + X[:, 1],
    )[rng.integers(5)]
    noise = 10.0 ** rng.uniform(-6, 0) * rng.standard_normal(t)
    return 10.0 ** rng.uniform(-2, 2) * (f + noise)


def problem(case, most=40):
    rng = np.random.default_rng([case, 7])
    X = rng.standard_normal((int(rng.integers(3, most)), int(rng.integers(3, 6))))
    return rng, frozen(X), frozen(labels(rng, X))


def scikit_learn(kernel, X, y, restarts):
    """Its optimum; that a hyperparameter lies on a bound is no news."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return GaussianProcessRegressor(
            ConstantKernel(1.0, BOUNDS) * kernel + WhiteKernel(1.0, BOUNDS),
            alpha=1e-14,
            n_restarts_optimizer=restarts,
            random_state=0,
        ).fit(X, y)


def within(values, bounds):
    low, high = bounds
    return ((low <= values) & (values <= high)).all()


@pytest.mark.parametrize("case", range(count(20, long=50)))
def test_magnitude_and_noise_are_at_least_as_likely_as_scikit_learns(case):
    rng, X, y = problem(case)
    length_scale = 10.0 ** rng.uniform(-2, 2)
    fitted = fit_magnitude_noise(
        correlation(Kernel("rbf", length_scale), X, X)[None], y, BOUNDS, BOUNDS
    )
    gp = scikit_learn(RBF(length_scale, "fixed"), X, y, restarts=3)
    ours = gp.log_marginal_likelihood(np.log([fitted.magnitude[0], fitted.noise[0]]))
    assert ours >= gp.log_marginal_likelihood_value_ - 1e-6
    assert fitted.log_likelihood[0] == pytest.approx(ours, abs=1e-6)
    assert within(fitted.magnitude, BOUNDS)
    assert within(fitted.noise, BOUNDS)


def test_experts_are_fitted_together_as_they_would_be_apart():
    _, X, y = problem(3)
    K = np.stack([correlation(kernel, X, X) for kernel in kernels(X.shape[1])])
    together = fit_magnitude_noise(K, y, BOUNDS, BOUNDS)
    for m in range(len(K)):
        apart = fit_magnitude_noise(K[m : m + 1], y, BOUNDS, BOUNDS)
        for a, b in zip(together, apart, strict=True):
            np.testing.assert_allclose(a[m], b[0], rtol=1e-9)


def test_the_reported_likelihood_is_the_exact_evidence():
    _, X, y = problem(6)
    K = np.stack([correlation(kernel, X, X) for kernel in kernels(X.shape[1])])
    fitted = fit_magnitude_noise(K, y, BOUNDS, (1e-3, 1e5))
    for K_m, magnitude, noise, reported in zip(K, *fitted, strict=True):
        lam = np.full(len(y), noise / magnitude)
        assert reported == pytest.approx(gp_log_evidence(K_m, y, magnitude, lam), rel=1e-9)


def test_where_correlations_are_the_identity_everything_is_signal():
    y = frozen(np.random.default_rng(1).standard_normal(12))
    for noise_bounds in (BOUNDS, (1e-8, 1e5), (0.01, 0.3)):
        fitted = fit_magnitude_noise(np.eye(12)[None], y, BOUNDS, noise_bounds)
        np.testing.assert_allclose(fitted.noise, noise_bounds[0], rtol=1e-4)
        np.testing.assert_allclose(fitted.magnitude + fitted.noise, np.mean(y**2), rtol=1e-5)


@pytest.mark.parametrize(
    ("magnitude_bounds", "noise_bounds"),
    [
        ((1e-5, 0.02), BOUNDS),
        ((50.0, 1e5), BOUNDS),
        (BOUNDS, (0.5, 1e5)),
        (BOUNDS, (1e-5, 1e-4)),
        ((1e-5, 1e-3), (1e-5, 1e-3)),
        ((30.0, 1e5), (20.0, 1e5)),
        ((2.0, 2.0), (0.1, 0.1)),
    ],
)
def test_on_a_bound_the_search_runs_along_it(magnitude_bounds, noise_bounds):
    """Against the best of a fine grid over the box in both hyperparameters."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((15, 3))
    y = frozen(np.sin(X.sum(axis=1)) + 0.3 * rng.standard_normal(15))
    K = correlation(Kernel("matern52", 1.5), X, X)
    fitted = fit_magnitude_noise(K[None], y, magnitude_bounds, noise_bounds)
    assert within(fitted.magnitude, magnitude_bounds)
    assert within(fitted.noise, noise_bounds)
    ell, Q = np.linalg.eigh(K)
    sig2 = np.geomspace(*magnitude_bounds, 400)[:, None, None]
    a = sig2 * ell + np.geomspace(*noise_bounds, 400)[:, None]  # (400, 400, t)
    grid = -0.5 * ((Q.T @ y) ** 2 / a + np.log(2.0 * np.pi * a)).sum(axis=2)
    assert fitted.log_likelihood[0] >= grid.max() - 1e-6


@pytest.mark.parametrize("scale", [0.0, 1e-100, 1e100])
def test_labels_of_any_size_take_a_bound_without_a_warning(scale):
    _, X, y = problem(2)
    K = correlation(Kernel("rbf", 1.0), X, X)[None]
    fitted = fit_magnitude_noise(K, frozen(scale * y), BOUNDS, BOUNDS)
    assert np.isfinite(fitted).all()
    expected = BOUNDS[1] if scale > 1.0 else BOUNDS[0]
    np.testing.assert_allclose([fitted.magnitude, fitted.noise], expected, rtol=1e-4)


@pytest.mark.parametrize("t", [1, 2])
def test_one_label_or_two_are_enough(t):
    X = frozen(np.random.default_rng(0).standard_normal((t, 3)))
    K = correlation(Kernel("rbf", 1.0), X, X)[None]
    fitted = fit_magnitude_noise(K, frozen([0.7, -1.0][:t]), BOUNDS, BOUNDS)
    assert np.isfinite(fitted).all()
    if t == 1:
        assert fitted.magnitude[0] + fitted.noise[0] == pytest.approx(0.49, rel=1e-4)


@pytest.mark.parametrize("case", range(12))
def test_a_fitted_lengthscale_is_at_least_as_likely_as_scikit_learns(case):
    _, X, y = problem(case, most=30)
    family, theirs = (
        ("rbf", RBF(1.0, BOUNDS)),
        ("matern32", Matern(1.0, BOUNDS, nu=1.5)),
        ("matern52", Matern(1.0, BOUNDS, nu=2.5)),
    )[case % 3]
    found = fit_length_scale(Kernel(family), X, y, BOUNDS, BOUNDS, BOUNDS)
    assert found.family == family
    fitted = fit_magnitude_noise(correlation(found, X, X)[None], y, BOUNDS, BOUNDS)
    gp = scikit_learn(theirs, X, y, restarts=4)
    theta = np.log([fitted.magnitude[0], found.length_scale, fitted.noise[0]])
    # a likelihood at a noise ratio of 1e-10 has a rounding of 1e-5 of its own
    assert gp.log_marginal_likelihood(theta) >= gp.log_marginal_likelihood_value_ - 1e-4


def test_a_fitted_lengthscale_keeps_to_its_bounds_and_its_alpha():
    X = frozen(np.random.default_rng(0).standard_normal((20, 3)))
    found = fit_length_scale(
        Kernel("rq", alpha=0.3), X, frozen(X.sum(axis=1)), BOUNDS, BOUNDS, (0.1, 2.0)
    )
    assert found.alpha == 0.3
    assert found.length_scale == pytest.approx(2.0)


@pytest.mark.covering
@pytest.mark.parametrize("brought", [0.0, 0.2])
@pytest.mark.parametrize("hold", [{}, {"magnitude": 2.5}, {"noise": 0.03}])
def test_a_fitted_lengthscale_honours_what_is_held_and_what_labels_bring(hold, brought):
    rng = np.random.default_rng(4)
    X = frozen(rng.standard_normal((16, 3)))
    y = frozen(np.sin(1.5 * X.sum(axis=1)) + 0.3 * rng.standard_normal(16))
    noise_var = frozen(rng.exponential(brought, 16))
    bounds = [(hold[name],) * 2 if name in hold else BOUNDS for name in ("magnitude", "noise")]

    found = fit_length_scale(Kernel("matern52", offset=3.0), X, y, *bounds, BOUNDS, noise_var)
    assert (found.family, found.offset) == ("matern52", 3.0)
    lengths = [found.length_scale, *np.geomspace(0.03, 300.0, 61)]
    K = np.stack([correlation(Kernel("matern52", ell, offset=3.0), X, X) for ell in lengths])
    ours, *others = fit_hyperparameters(K, y, noise_var, *bounds).log_likelihood
    assert ours >= max(others) - 1e-6


def noisy(case):
    """A problem whose labels bring noise variances, of some size or zero, along."""
    rng, X, y = problem(case, most=25)
    noise_var = np.var(y) * 10.0 ** rng.uniform(-6, 0.5, len(y)) * (rng.random(len(y)) < 0.7)
    K = correlation(Kernel("rbf", 10.0 ** rng.uniform(-1, 1.5)), X, X)
    return rng, K, y, frozen(noise_var)


def likelihood(log_parameters, K, y, noise_var):
    """-log p(y) by slogdet; with the floor of the ratio that the package has."""
    sig2, noise = np.exp(log_parameters)
    C = sig2 * (K + np.diag(np.maximum((noise + noise_var) / sig2, SINGULAR_RATIO)))
    return 0.5 * (y @ np.linalg.solve(C, y) + np.linalg.slogdet(2.0 * np.pi * C)[1])


@pytest.mark.parametrize("case", range(count(16, long=40)))
def test_noise_that_labels_bring_along_leaves_the_best_of_many_climbs(case):
    rng, K, y, noise_var = noisy(case)
    fitted = fit_known_noise(K[None], y, noise_var, BOUNDS, BOUNDS)
    box = np.log([BOUNDS, BOUNDS])
    best = min(
        minimize(likelihood, start, (K, y, noise_var), bounds=box, method="L-BFGS-B").fun
        for start in rng.uniform(*box[0], (8, 2))
    )
    ours = likelihood(np.log([fitted.magnitude[0], fitted.noise[0]]), K, y, noise_var)
    assert ours <= best + 1e-5
    assert fitted.log_likelihood[0] == pytest.approx(-ours, abs=1e-5)
    assert within(fitted.magnitude, BOUNDS)
    assert within(fitted.noise, BOUNDS)


@pytest.mark.parametrize("case", range(3))
def test_the_gradient_of_the_likelihood_is_its_slope(case):
    rng, K, y, noise_var = noisy(case)
    for at in rng.uniform(-4.0, 4.0, (5, 2)):
        value, gradient = _negative_log_likelihood(at, K, y, noise_var)
        assert value == pytest.approx(likelihood(at, K, y, noise_var), rel=1e-9)
        slope = approx_fprime(at, likelihood, 1e-6, K, y, noise_var)
        np.testing.assert_allclose(gradient, slope, rtol=1e-4, atol=1e-3)


def test_equal_noise_of_the_labels_is_so_much_less_to_fit():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 3))
    y = frozen(np.sin(X.sum(axis=1)) + 0.5 * rng.standard_normal(40))
    K = np.stack([correlation(kernel, X, X) for kernel in kernels(3)])
    plain = fit_magnitude_noise(K, y, BOUNDS, BOUNDS)
    known = fit_known_noise(K, y, np.full(40, 0.05), BOUNDS, BOUNDS)
    np.testing.assert_allclose(known.noise + 0.05, plain.noise, rtol=1e-3)
    np.testing.assert_allclose(known.magnitude, plain.magnitude, rtol=1e-2)
    np.testing.assert_allclose(known.log_likelihood, plain.log_likelihood, atol=1e-6)


@pytest.mark.covering
@pytest.mark.parametrize("brought", [0.0, 0.1])
@pytest.mark.parametrize("hold", ["magnitude", "noise", "both"])
def test_what_is_held_stays_and_the_rest_is_fitted_to_it(hold, brought):
    _, X, y = problem(5)
    K = np.stack([correlation(kernel, X, X) for kernel in kernels(X.shape[1])])
    noise_var = frozen(brought * np.var(y) * (np.arange(len(y)) % 2))
    magnitude = frozen(np.var(y) * np.array([0.5, 1.0, 3.0, 20.0])) if hold != "noise" else None
    noise = frozen(np.var(y) * np.array([0.1, 1e-3, 0.4, 2.0])) if hold != "magnitude" else None
    fitted = fit_hyperparameters(K, y, noise_var, BOUNDS, BOUNDS, magnitude, noise)
    for m in range(len(K)):
        free = np.geomspace(*BOUNDS, 4001)
        trials = [
            (
                magnitude[m] if magnitude is not None else value,
                noise[m] if noise is not None else value,
            )
            for value in (free if hold != "both" else free[:1])
        ]
        best = min(likelihood(np.log(trial), K[m], y, noise_var) for trial in trials)
        ours = likelihood(np.log([fitted.magnitude[m], fitted.noise[m]]), K[m], y, noise_var)
        assert ours <= best + 1e-6
        assert fitted.log_likelihood[m] == pytest.approx(-ours, abs=1e-5)
    for held, got in ((magnitude, fitted.magnitude), (noise, fitted.noise)):
        assert held is None or got == pytest.approx(held)


@pytest.mark.parametrize("noise_var", [np.zeros(30), np.r_[1e-14, np.zeros(29)]])
@pytest.mark.parametrize("noise", [1e-9, 1e-12, 1e-15])
def test_a_noise_held_next_to_nothing_does_not_hold_the_magnitude_down(noise, noise_var):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    K = correlation(Kernel("matern52", 2.0), X, X)
    y = frozen(np.linalg.cholesky(K) @ rng.standard_normal(30))
    fitted = fit_hyperparameters(K[None], y, noise_var, BOUNDS, BOUNDS, noise=np.array([noise]))
    assert fitted.magnitude[0] == pytest.approx(y @ np.linalg.solve(K, y) / 30, rel=1e-3)
    assert fitted.noise[0] == noise


@pytest.mark.parametrize("noise_var", [np.zeros(30), np.r_[1e-14, np.zeros(29)]])
@pytest.mark.parametrize("length_scale", [30.0, 1e4])
def test_correlations_that_are_singular_count_as_with_the_least_ratio(length_scale, noise_var):
    X = np.random.default_rng(0).standard_normal((30, 3))
    y = frozen(2.0 + 0.1 * np.sin(X.sum(axis=1)))
    K = correlation(Kernel("rbf", length_scale), X, X)
    fitted = fit_hyperparameters(K[None], y, noise_var, BOUNDS, BOUNDS, noise=np.array([1e-17]))
    C = K + SINGULAR_RATIO * np.eye(30)
    best = np.clip(y @ np.linalg.solve(C, y) / 30, *BOUNDS)
    assert fitted.magnitude[0] == pytest.approx(best, rel=1e-2)
    truth = gp_log_evidence(K, y, best, np.full(30, SINGULAR_RATIO))
    assert fitted.log_likelihood[0] == pytest.approx(truth, rel=1e-2)
