"""Noise that varies: the field, the regions, the test and the weights, against slow references."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import invgamma, multivariate_normal, norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from weal.core.extensions import noise_field, noise_regions, varying_noise
from weal.core.extensions.noise_field import LEVEL_VARIANCE, NoiseField, Residuals
from weal.core.extensions.noise_hypotheses import LOG_PRIOR_ODDS, hypothesis_probability
from weal.core.paper.kernels import Kernel, correlation

T, D = 24, 3


@pytest.fixture
def case(rng):
    X = rng.standard_normal((T, D))
    e = np.exp(0.8 * X[:, 0]) * rng.standard_normal(T)
    return X, Residuals(e * e, np.full(T, 0.05), np.full(T, -0.4), norm.logpdf(e, scale=5) - 4.6)


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def prior(X, variance=1.7):
    return variance * correlation(Kernel("matern52", (0.7, 1.3, 2.0)), X, X) + LEVEL_VARIANCE


def test_mode_maximises_density_times_prior(case):
    X, residuals = case
    K = prior(X)
    found = noise_field.mode(K, residuals)
    L = np.linalg.cholesky(K)

    def height(a):
        g = L @ a
        s = residuals.known + np.exp(residuals.offset + g)
        right = norm.logpdf(np.sqrt(residuals.square), scale=np.sqrt(s))
        return 0.5 * a @ a - np.logaddexp(right, residuals.log_wrong).sum()

    best = minimize(height, np.linalg.solve(L, found.g), method="BFGS", options={"gtol": 1e-9})
    assert_allclose(found.g, L @ best.x, atol=1e-4)
    assert_allclose(K @ found.beta, found.g, atol=1e-8)


def test_laplace_evidence_is_that_of_the_normal_approximation(case):
    X, residuals = case
    K = prior(X)
    found = noise_field.mode(K, residuals)
    slope, information = residuals.slopes(found.g)
    seen = found.g + slope / information  # observations of g with these variances
    C = K + np.diag(1.0 / information)
    log_normal = multivariate_normal(np.zeros(T), C).logpdf(seen)
    height = norm.logpdf(seen, found.g, 1.0 / np.sqrt(information)).sum()
    assert_allclose(found.log_z, found.log_density - height + log_normal, rtol=1e-6)


def test_slopes_are_derivatives(case, rng):
    _, residuals = case
    g, step = rng.standard_normal(T), 1e-6
    rise = residuals.log_density(g + step)[0] - residuals.log_density(g - step)[0]
    assert_allclose(residuals.slopes(g)[0], rise / (2 * step), atol=1e-7)


def test_others_of_a_residual_leave_it_out(case):
    """Normal sites: the cavity is the GP on the other sites, by scikit-learn."""
    X, residuals = case
    kernel = Kernel("matern52", 1.4)
    K = 1.7 * correlation(kernel, X, X) + LEVEL_VARIANCE
    found = noise_field.mode(K, residuals)
    mean, var = noise_field.cavity(K, residuals, found)
    slope, information = residuals.slopes(found.g)
    seen = found.g + slope / information
    for i in (0, 7, 23):
        rest = np.arange(T) != i
        gp = GaussianProcessRegressor(
            ConstantKernel(1.7) * Matern(1.4, nu=2.5) + ConstantKernel(LEVEL_VARIANCE),
            alpha=1.0 / information[rest], optimizer=None,
        ).fit(X[rest], seen[rest])  # fmt: skip
        expected, sd = gp.predict(X[i : i + 1], return_std=True)
        assert_allclose([mean[i], var[i]], [expected[0], sd[0] ** 2], rtol=1e-5, atol=1e-5)


def test_field_is_the_gp_of_its_centres(case, rng):
    X, residuals = case
    kernel = Kernel("matern52", 1.4)
    found = noise_field.mode(1.7 * correlation(kernel, X, X) + LEVEL_VARIANCE, residuals)
    field = NoiseField(X, found.beta, found.root, kernel, 1.7, -0.4)
    slope, information = residuals.slopes(found.g)
    gp = GaussianProcessRegressor(
        ConstantKernel(1.7) * Matern(1.4, nu=2.5) + ConstantKernel(LEVEL_VARIANCE),
        alpha=1.0 / information, optimizer=None,
    ).fit(X, found.g + slope / information)  # fmt: skip
    new = rng.standard_normal((9, D))
    mean, sd = gp.predict(new, return_std=True)
    assert_allclose(field.variances(new), np.exp(-0.4 + mean + 0.5 * sd**2), rtol=1e-5)


def test_test_is_gp_regression_of_the_squares(rng):
    X = rng.standard_normal((T, D))
    q = varying_noise.standardised_squares(rng.standard_normal(T), np.ones(T))
    assert_allclose(q.mean(), 1.0)
    found = varying_noise.test_field(X, q, None)
    every = varying_noise.candidates(X, q, None)
    eye = 2.0 * np.eye(T)
    log_p = [
        one.log_prior + multivariate_normal(np.zeros(T), one.K + eye).logpdf(q - 1) for one in every
    ]
    even = multivariate_normal(np.zeros(T), LEVEL_VARIANCE + eye).logpdf(q - 1)
    assert_allclose(found.log_odds, np.logaddexp.reduce(log_p) - even, rtol=1e-8)


def test_evidence_of_a_box_is_an_integral(rng):
    q = rng.chisquare(1, 30)
    n, Q = np.array(11.0), np.array(q[:11].sum())
    phi = np.exp(np.linspace(-12, 12, 4001))
    a = noise_regions.PRIOR_SHAPE

    def evidence(part):
        log_p = norm.logpdf(np.sqrt(part)[:, None], scale=np.sqrt(phi)).sum(axis=0)
        return np.trapezoid(np.exp(log_p + invgamma(a, scale=a).logpdf(phi)), phi)

    truth = np.log(evidence(q[:11]) * evidence(q[11:]) / evidence(q))
    assert_allclose(noise_regions.log_odds(n, Q, q), truth, rtol=1e-4)


def test_a_noisy_corner_is_found(rng):
    X = rng.uniform(size=(80, 4))
    inside = (X[:, 1] > 0.5) & (X[:, 3] < 0.4)
    squares = np.where(inside, 4.0, 0.1) * rng.chisquare(1, 80)
    found = noise_regions.find_region(X, squares)
    assert found.log_odds > 10.0
    phi = found.region.at(X)
    assert phi[inside].mean() > 0.85
    assert phi[~inside].mean() < 0.1


def test_one_gross_square_makes_no_region(rng):
    squares = rng.chisquare(1, 60)
    squares[5] = 1e9
    assert noise_regions.find_region(rng.uniform(size=(60, 3)), squares).log_odds < 1.0


def every_box(X):
    """Boxes of one side and of two sides of two inputs, as functions."""
    each = []
    for j in range(2):
        values = np.sort(X[:, j])
        cuts = 0.5 * (values[1:] + values[:-1])
        each.append([lambda Z, j=j, c=c: Z[:, j] > c for c in cuts])
        each[j] += [lambda Z, j=j, c=c: Z[:, j] <= c for c in cuts]
    both = [lambda Z, a=a, b=b: a(Z) & b(Z) for a in each[0] for b in each[1]]
    return each[0] + each[1], both


def test_boxes_are_weighted_by_the_likelihood_of_both_noises(rng):
    X, inside, outside = rng.uniform(size=(14, 2)), norm(scale=3.0), norm(scale=0.2)
    corner = (X[:, 0] > 0.4) & (X[:, 1] > 0.3)
    e = np.where(corner, inside.rvs(14, random_state=rng), outside.rvs(14, random_state=rng))
    new = rng.uniform(size=(25, 2))
    p, memberships = [], []
    for boxes in every_box(X):
        some = [box for box in boxes if 5 <= box(X).sum() <= 9]
        for box in some:
            likelihood = np.where(box(X), inside.pdf(e), outside.pdf(e)).prod()
            p.append(likelihood / len(some))
            memberships.append(box(new))
    truth = np.array(p) @ np.array(memberships) / np.sum(p)
    found = noise_regions.find_region_again(X, inside.logpdf(e) - outside.logpdf(e))
    assert_allclose(found.at(new), truth, atol=2e-2)  # boxes of small probability are dropped


def test_new_labels_near_a_threshold_have_the_mean_of_both_noises(rng):
    X = rng.uniform(size=(80, 3))
    inside = (X[:, 0] > 0.5) & (X[:, 2] > 0.5)
    e = np.where(inside, 0.3, 0.1) * rng.standard_normal(80)
    squares = varying_noise.standardised_squares(e, np.full(80, 0.05))
    test = varying_noise.test_field(X, squares, None)
    residuals = Residuals(e * e, np.full(80, 1e-4), np.zeros(80), np.full(80, -np.inf))
    field = varying_noise.fit_field(X, residuals, 0.0, test.likeliest).field
    new = np.column_stack([np.linspace(0.0, 1.0, 401), np.full(401, 0.5), np.full(401, 0.8)])
    quiet, *_, loud = field.expected_variances(new)
    assert_allclose(np.sqrt([loud, quiet]), [0.3, 0.1], rtol=0.3)
    place = field.place
    drawn = rng.choice(len(place.weight), 4000, p=place.weight)  # boxes
    held = ((place.low[drawn][:, None] < new) & (place.high[drawn][:, None] >= new)).all(axis=2)
    expected = np.where(held, loud, quiet).mean(axis=0)
    assert ((held.mean(axis=0) > 0.1) & (held.mean(axis=0) < 0.9)).any()
    assert_allclose(field.expected_variances(new), expected, atol=4.0 * (loud - quiet) / 4000**0.5)


def test_a_noisy_label_between_coarse_thresholds_is_inside():
    """The first search has 21 thresholds; a label outside is learnt with little noise."""
    X = np.linspace(0.0, 1.0, 90)[:, None]
    inside = X[:, 0] > 0.513
    e = np.where(inside, 1.5, 0.01)
    gain = norm(scale=1.0).logpdf(e) - norm(scale=0.01).logpdf(e)
    phi = noise_regions.find_region_again(X, np.clip(gain, -12.0, 12.0)).at(X)
    assert_allclose(phi[inside], 1.0, atol=1e-4)
    odds = np.exp(gain[~inside][-1])  # of the box with one quiet label more
    assert_allclose(phi[~inside][-1], odds / (1.0 + odds), rtol=0.05)
    assert_allclose(phi[~inside][:-1], 0.0, atol=1e-3)


def test_equally_probable_boxes_are_kept_or_dropped_together():
    most = noise_regions.MAX_BOXES
    tied = np.concatenate([[0.0], np.full(most + 6, -1.0), [-1.5]])
    rounded = tied + 1e-13 * np.random.default_rng(0).standard_normal(len(tied))
    for log_post in (tied, rounded):
        kept = noise_regions._most_probable(log_post)
        assert_array_equal(kept, np.arange(most + 7))
    assert_array_equal(noise_regions._most_probable(np.array([-9.0, 0.0, -2.0])), [1, 2])
    assert len(noise_regions._most_probable(np.zeros(10_000))) == 2 * most


@pytest.mark.parametrize("t", [1, 5, 9])
def test_few_labels_have_no_region(rng, t):
    assert noise_regions.find_region(rng.uniform(size=(t, 2)), np.ones(t)) is None


def test_probability_is_the_mean_over_uncertain_gains(rng):
    gains = rng.normal(0.05, 0.4, 60)
    total, sd = gains.sum() + LOG_PRIOR_ODDS, np.sqrt(60 * gains.var())
    drawn = expit(total + sd * np.random.default_rng(0).standard_normal(400_000)).mean()
    assert_allclose(hypothesis_probability(gains), drawn, atol=0.02)


def test_probability_without_gains_is_the_prior():
    assert_allclose(hypothesis_probability(np.zeros(50)), expit(LOG_PRIOR_ODDS))


def test_scaled_field_has_scaled_variances(case, rng):
    X, residuals = case
    found = noise_field.mode(prior(X), residuals)
    field = NoiseField(X, found.beta, found.root, Kernel("matern52", (0.7, 1.3, 2.0)), 1.7, 0.0)
    new = rng.standard_normal((5, D))
    assert_allclose(field.scaled(1e6).variances(new), 1e6 * field.variances(new))
    assert replace(field, log_level=3.0).variances(new).min() > field.variances(new).min()
