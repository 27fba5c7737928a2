"""Covariance and draws of the regressor, against scikit-learn's GP and against sampling.

Sampling errors follow the theory: a mean of n draws is off by 4 sd / sqrt(n) once in 16,000 times,
and a product of two normals of variances a and b has a variance of at most 2 a b.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from weal import EnsembleGPRegressor, Kernel, Scaling
from weal.core.extensions.label_warp import LabelWarp, fit_warp
from weal.model import joint_posterior

THREE = (Kernel("rbf", 0.8), Kernel("matern52", 2.0), Kernel("rq", 5.0, alpha=0.6))
KINDS = {
    "exact": {"kernels": THREE, "approximation": "exact"},
    "features": {"kernels": THREE, "approximation": "features", "n_frequencies": 30},
    "inducing": {"kernels": THREE, "approximation": "inducing"},
    "fitted magnitude": {"kernels": THREE, "approximation": "exact", "magnitude": None},
    "default": {},
}
N_DRAWS = 20_000


def labels(n=30):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 3)) * [1.0, 30.0, 0.01]
    y = 100.0 + 5.0 * np.sin(X[:, 0]) + X[:, 1] / 10.0 + 0.3 * rng.normal(size=n)
    return X, y


def some_rows(n=6):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, 3)) * [1.5, 40.0, 0.02]
    return np.concatenate([X, X[:1]])  # a row twice


@pytest.fixture(scope="module", params=KINDS)
def model(request):
    return EnsembleGPRegressor(random_state=1, **KINDS[request.param]).fit(*labels())


def uneven(n=60):
    """Labels with a wrong one, whose noise grows along the first input."""
    rng = np.random.default_rng(8)
    X = rng.uniform(-1, 1, (n, 2))
    y = np.sin(3 * X[:, 0]) + np.where(X[:, 0] > 0, 0.5, 0.02) * rng.normal(size=n)
    y[7] += 30.0
    return X, y


def test_one_expert_has_the_posterior_of_scikit_learn():
    X, y = labels()
    X = X / [1.0, 30.0, 0.01]
    scaling = Scaling(np.zeros(3), np.ones(3), 100.0, 3.0)
    ours = EnsembleGPRegressor(
        [Kernel("rbf", 0.9)], magnitude=2.0, noise=0.3, scaling=scaling, condition=False
    ).fit(X, y)
    theirs = GaussianProcessRegressor(2.0 * RBF(0.9), alpha=0.3**2, optimizer=None)
    theirs.fit(X, (y - 100.0) / 3.0)
    rows = some_rows() / [1.0, 30.0, 0.01]
    (mean, cov), (their_mean, their_cov) = (
        one.predict(rows, return_cov=True) for one in (ours, theirs)
    )
    assert_allclose(mean, 100.0 + 3.0 * their_mean, rtol=1e-9)
    assert_allclose(cov, 9.0 * their_cov, rtol=1e-7, atol=1e-9)


def test_the_diagonal_of_the_covariance_is_the_variance(model):
    rows = some_rows()
    mean, std = model.predict(rows, return_std=True)
    again, cov = model.predict(rows, return_cov=True)
    assert_allclose(again, mean, rtol=1e-12)
    assert_allclose(np.sqrt(np.diag(cov)), std, rtol=1e-9)
    assert_array_equal(cov, cov.T)
    assert np.linalg.eigvalsh(cov).min() > -1e-9 * cov.max()


def test_equal_rows_have_equal_values(model):
    rows = some_rows()
    cov = model.predict(rows, return_cov=True)[1]
    assert_allclose(cov[0], cov[-1], rtol=1e-7, atol=1e-9 * cov.max())
    drawn = model.sample_y(rows, 50)
    assert_allclose(drawn[0], drawn[-1], atol=1e-5 * np.sqrt(cov.max()))


def test_draws_have_the_mean_and_the_covariance_of_the_mixture(model):
    rows = some_rows()
    mean, cov = model.predict(rows, return_cov=True)
    drawn = model.sample_y(rows, N_DRAWS, random_state=2)
    sd = np.sqrt(np.diag(cov))
    assert drawn.shape == (len(rows), N_DRAWS)
    assert_allclose((drawn.mean(axis=1) - mean) / sd, 0.0, atol=4 / np.sqrt(N_DRAWS))
    off = (np.cov(drawn) - cov) / (sd[:, None] * sd)
    assert_allclose(off, 0.0, atol=8 / np.sqrt(N_DRAWS))  # mixtures have longer tails than normals


def test_the_covariance_of_a_mixture_has_the_spread_between_experts():
    """Two experts that disagree at every row alike: their covariance is that of one coin."""
    X, y = labels()
    model = EnsembleGPRegressor(THREE, random_state=1).fit(X, y)
    rows, ens = some_rows(), model.ensemble_
    scaled = model.scaling_.inputs(rows)
    parts = [
        joint_posterior.expert_posterior(model.model_.trained, m, scaled) for m in range(len(ens.w))
    ]
    means = np.stack([mu for mu, _ in parts])
    mean = sum(w * mu for w, mu in zip(ens.w, means, strict=True))
    within = sum(w * s * C for w, s, (_, C) in zip(ens.w, ens.magnitude, parts, strict=True))
    between = sum(w * np.outer(mu - mean, mu - mean) for w, mu in zip(ens.w, means, strict=True))
    expected = model.scaling_.y_sd**2 * (within + between)
    assert_allclose(model.predict(rows, return_cov=True)[1], expected, rtol=1e-9)


def test_the_covariance_of_warped_labels_is_that_of_drawn_functions():
    """Of u jointly normal, against sampling; and its diagonal is the variance of `moments`."""
    rng = np.random.default_rng(0)
    warp = LabelWarp(median=2.0, spread=1.5, mean=0.2, sd=0.7)
    root = rng.normal(size=(4, 4)) * 0.25
    mu, C, noise = rng.normal(size=4), root @ root.T, np.array([0.0, 0.1, 0.2, 0.05])
    z = mu[:, None] + root @ rng.standard_normal((4, 10**6))
    sampled = np.cov(warp.expected_labels(z, noise[:, None]))
    _, found = warp.joint_moments(mu, C, noise)
    sd = np.sqrt(np.diag(found))
    assert_allclose((sampled - found) / (sd[:, None] * sd), 0.0, atol=0.02)
    assert_allclose(np.diag(found), warp.moments(mu, np.diag(C), noise)[1], rtol=1e-12)


def test_the_covariance_of_very_uncertain_warped_labels_is_one():
    """Variances in u beyond the limit of `moments` are limited in the covariance alike."""
    warp, mu = LabelWarp(0.0, 1.0, 0.0, 1.0), np.array([0.5, -3.0, 2.0])
    C = 400.0 * np.array([[1.0, 0.5, -0.2], [0.5, 1.0, 0.1], [-0.2, 0.1, 1.0]])
    _, found = warp.joint_moments(mu, C, np.zeros(3))
    assert_allclose(np.diag(found), warp.moments(mu, np.diag(C), np.zeros(3))[1])
    assert np.linalg.eigvalsh(found).min() > 0.0


def test_labels_with_a_long_tail_are_drawn_in_their_units():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (50, 2))
    y = np.exp(3 * np.sin(2 * X[:, 0]) + X[:, 1])
    model = EnsembleGPRegressor(warp="asinh", random_state=0).fit(X, y)
    assert model.model_.trained.warp.spread > 0.0
    rows = rng.uniform(-1, 1, (5, 2))
    mean, std = model.predict(rows, return_std=True)
    drawn = model.sample_y(rows, N_DRAWS, random_state=3)
    _, cov = model.predict(rows, return_cov=True)
    assert_allclose(np.sqrt(np.diag(cov)), std, rtol=1e-9)
    assert_allclose((drawn.mean(axis=1) - mean) / std, 0.0, atol=8 / np.sqrt(N_DRAWS))
    assert_allclose(drawn.std(axis=1), std, rtol=0.1)


def test_a_wrong_label_and_uneven_noise_leave_draws_that_agree_with_predict():
    X, y = uneven()
    model = EnsembleGPRegressor(random_state=0).fit(X, y)
    assert model.outlier_probability_[7] > 0.9
    rows = np.array([[-0.5, 0.0], [0.5, 0.0], [0.5, 0.5]])
    mean, std = model.predict(rows, return_std=True)
    drawn = model.sample_y(rows, N_DRAWS)
    assert_allclose((drawn.mean(axis=1) - mean) / std, 0.0, atol=4 / np.sqrt(N_DRAWS))
    assert_allclose(drawn.std(axis=1), std, rtol=8 / np.sqrt(N_DRAWS))


def test_the_seed_decides_the_draws():
    model = EnsembleGPRegressor(THREE).fit(*labels())
    rows = some_rows()
    assert_array_equal(model.sample_y(rows), model.sample_y(rows, 1, random_state=0))
    assert (model.sample_y(rows) != model.sample_y(rows, random_state=1)).any()
    state = np.random.RandomState(5)
    assert_array_equal(
        model.sample_y(rows, 3, np.random.RandomState(5)), model.sample_y(rows, 3, state)
    )
    assert (model.sample_y(rows, 3, state) != model.sample_y(rows, 3, random_state=5)).any()
    assert (
        model.sample_y(rows, random_state=None) != model.sample_y(rows, random_state=None)
    ).any()


def test_wrong_arguments_are_refused(constants):
    model = EnsembleGPRegressor(THREE).fit(*labels())
    with pytest.raises(RuntimeError, match="leave one out"):
        model.predict(some_rows(), return_std=True, return_cov=True)
    for n in (0, -1, 2.5, True, "3"):
        with pytest.raises(ValueError, match="whole number"):
            model.sample_y(some_rows(), n)
    constants(joint_posterior, MAX_JOINT_ROWS=5)
    for call in (lambda X: model.predict(X, return_cov=True), model.sample_y):
        with pytest.raises(ValueError, match=r"5 rows at most, or use return_std"):
            call(some_rows())


@pytest.mark.parametrize("rank", [0, 2, 5])
def test_a_singular_covariance_has_a_root(rank):
    A = np.random.default_rng(rank).normal(size=(5, max(rank, 1)))[:, :rank]
    C = A @ A.T
    assert_allclose(joint_posterior.root(C) @ joint_posterior.root(C).T, C, atol=1e-12)


def test_the_fitted_warp_inverts_itself():
    y = np.exp(np.random.default_rng(0).normal(size=40))
    warp = fit_warp(y)
    assert_allclose(warp.expected_labels(warp.labels(y), np.zeros(40)), y)
