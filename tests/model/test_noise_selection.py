"""Varying noise in a fitted model: found, kept apart from outliers and stated noise, replayed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from weal import EnsembleGPRegressor
from weal.core.extensions.embeddings import RawInputs
from weal.core.extensions.leave_one_out import left_out_mixture
from weal.model import noise_selection

N = 70


def f(X):
    return 3.0 * np.sin(3.0 * X[:, 0]) + 4.0 * X[:, 1] ** 2


def loud(X):
    return (X[:, 0] > 0.5) & (X[:, 1] > 0.5)


def data(seed=1, quiet=0.05, noisy=1.0, n=N):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    sd = np.where(loud(X), noisy, quiet)
    return X, f(X) + sd * rng.standard_normal(n)


@pytest.fixture(scope="module")
def corner():
    X, y = data()
    return EnsembleGPRegressor(random_state=0, model_version="0.3").fit(X, y)


IN, OUT = [0.8, 0.8, 0.5], [0.2, 0.3, 0.5]


def varying(model):
    ens = model.model_.ensemble_
    return 0.0 if ens.varies is None else float(ens.w @ ens.varies)


def test_a_noisy_corner_is_found(corner):
    assert varying(corner) > 0.95
    inside, outside = corner.predict_noise([IN, OUT])
    assert 0.5 < inside < 1.8
    assert outside < 0.15


def wavy(X):
    along = 1.5 * np.sin(3.0 * X[:, 0]) + 1.5 * X[:, 0] * X[:, 2]
    return 1.7 * (along + 4.0 * (X[:, 1] - 0.5) ** 2)


@pytest.mark.parametrize("seed", [110, 118])
def test_a_noisy_corner_is_found_where_experts_with_even_noise_follow_its_noise(seed):
    """These experts find little noise: they take that of the corner for the function."""
    rng = np.random.default_rng([seed, 0])
    X, new = rng.random((80, 3)), rng.random((500, 3))
    y = wavy(X) + np.where(loud(X), 1.0, 0.05) * rng.standard_normal(80)
    model = EnsembleGPRegressor(random_state=0, model_version="0.3").fit(X, y)
    assert varying(model) > 0.95
    inside, outside = model.predict_noise([IN, OUT])
    assert 0.5 < inside < 1.8
    assert outside < 0.15
    quiet = new[~loud(new)]
    assert np.sqrt(np.mean((model.predict(quiet) - wavy(quiet)) ** 2)) < 0.2


@pytest.mark.parametrize("seed", range(3))
def test_a_steep_function_without_noise_has_no_noisy_region(seed):
    """Gramacy's function oscillates at one end and is smooth at the other."""
    X = np.random.default_rng(seed).uniform(0.5, 2.5, size=(60, 1))
    y = np.sin(10.0 * np.pi * X[:, 0]) / (2.0 * X[:, 0]) + (X[:, 0] - 1.0) ** 4
    assert varying(EnsembleGPRegressor(random_state=0, model_version="0.3").fit(X, y)) == 0.0


def test_intervals_and_density_have_the_noise_of_the_place(corner):
    low, high = corner.predict_interval([IN, OUT])
    assert high[0] - low[0] > 4.0 * (high[1] - low[1])
    mean = corner.predict([IN, OUT])
    log_p = corner.log_predictive_density([IN, OUT], mean + 0.4)
    assert log_p[0] > log_p[1] + 3.0
    assert_allclose(corner.predict_quantiles([IN, OUT], [0.05, 0.95]), [low, high])
    assert_allclose(corner.model_.summary([IN, OUT])[2:], [low, high])


def test_density_is_the_mixture_by_hand(corner):
    model, X, y = corner.model_, np.array([IN, OUT]), np.array([5.0, 2.0])
    ens, scale = model.ensemble_, model.scaling
    mu, v = ens.experts.predict(model.points(X))
    s = (
        v
        + ens.noise[:, None]
        + ens.varies[:, None] * ens.field.variances(scale.inputs(X)) / (ens.scale.unit[:, None])
    )
    z = model.trained.warp.labels(scale.labels(y))
    by_hand = logsumexp(ens.log_w[:, None] + ens.scale.log_predictive(z - mu, s), axis=0)
    slope = model.trained.warp.log_slope(scale.labels(y)) - np.log(scale.y_sd)
    assert_allclose(corner.log_predictive_density(X, y), by_hand + slope)


def test_leave_one_out_is_the_ensemble_without_the_label(corner):
    """Weights, magnitudes and experts from scratch, with the noise of the field."""
    model = corner.model_
    trained, ens = model.trained, model.ensemble_
    z = trained.warp.labels(trained.y)
    found = left_out_mixture(ens, trained.embedding, trained.X, z, np.zeros(len(z)))
    i = int(np.flatnonzero(loud(trained.X * model.scaling.x_sd + model.scaling.x_mean))[0])
    rest = np.arange(len(z)) != i
    from weal.core.paper import ensemble
    from weal.model.training import without_labels

    bare = without_labels(trained).ensemble
    points = RawInputs().points(bare.experts, trained.X[rest])
    known = bare.known_noise(trained.X[rest], np.zeros(len(z) - 1))
    less = ensemble.update_many(bare, points, z[rest], known)
    mu, var = ensemble.predict(less, RawInputs().points(less.experts, trained.X[i : i + 1]))
    assert_allclose(found.mu[:, i], mu[:, 0], rtol=1e-6, atol=1e-8)
    assert_allclose(found.w[:, i], less.w, rtol=1e-5, atol=1e-8)
    assert_allclose(found.var[:, i], var[:, 0], rtol=1e-5)


@pytest.mark.parametrize("seed", [1, 3, 4, 8, 11, 25, 33])
def test_order_of_labels_is_irrelevant(seed):
    """At thresholds of regions in the middle of two labels, and where lam does not show."""
    X, y = data(seed=seed)
    order = np.random.default_rng(5).permutation(N)
    one, other = (
        EnsembleGPRegressor(random_state=0, model_version="0.3").fit(X[rows], y[rows])
        for rows in (slice(None), order)
    )
    new = np.random.default_rng(6).uniform(size=(20, 3))
    assert_allclose(other.predict_noise(new), one.predict_noise(new), rtol=1e-5)
    assert_allclose(other.predict(new), one.predict(new), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("scale", [1e-9, 1e8])
def test_units_are_irrelevant(corner, scale):
    X, y = data()
    x_scale = np.array([1e-6, 1.0, 1e5])
    other = EnsembleGPRegressor(random_state=0, model_version="0.3").fit(
        X * x_scale, scale * y - 3.0 * scale
    )
    new = np.random.default_rng(6).uniform(size=(20, 3))
    noise = other.predict_noise(new * x_scale)
    assert_allclose(noise / scale, corner.predict_noise(new), rtol=1e-5)


def test_even_noise_is_left_alone_to_the_last_bit(constants):
    X, y = data(seed=3, quiet=0.2, noisy=0.2)
    now = EnsembleGPRegressor(random_state=0, model_version="0.3").fit(X, y)
    constants(noise_selection, MIN_LABELS=10**9)
    before = EnsembleGPRegressor(random_state=0, model_version="0.3").fit(X, y)
    assert now.model_.ensemble_.field is None
    assert_array_equal(now.predict(X), before.predict(X))
    assert_array_equal(now.model_.weights_, before.model_.weights_)
    assert_allclose(now.predict_noise(X), now.predict_noise(X)[0])


def test_one_gross_error_is_no_noisy_region():
    X, y = data(seed=3, quiet=0.1, noisy=0.1)
    y[7] += 40.0
    model = EnsembleGPRegressor(random_state=0, model_version="0.3").fit(X, y)
    assert varying(model) == 0.0
    assert model.outlier_probability_[7] > 0.9


def test_labels_of_a_noisy_region_are_not_outliers(corner):
    assert corner.model_.trained.included.sum() >= N - 1


def test_stated_noise_is_kept():
    """What is stated explains the region, and nothing is found on top."""
    X, y = data()
    stated = np.where(loud(X), 1.0, 0.05)
    model = EnsembleGPRegressor(random_state=0, model_version="0.3").fit(X, y, sample_noise=stated)
    assert_allclose(np.sort(model.model_.trained.noise_var), np.sort((stated / y.std()) ** 2))
    inside, outside = model.predict_noise([IN, OUT])
    assert inside < 0.5
    assert outside < 0.3


def test_few_labels_and_few_values_have_even_noise():
    X, y = data(n=29)
    assert varying(EnsembleGPRegressor(random_state=0, model_version="0.3").fit(X, y)) == 0.0
    X, y = data()
    steps = np.where(y > np.median(y), 1.0, -1.0)
    assert varying(EnsembleGPRegressor(random_state=0, model_version="0.3").fit(X, steps)) == 0.0


def test_models_of_0_2_have_even_noise():
    X, y = data()
    assert varying(EnsembleGPRegressor(random_state=0, model_version="0.2").fit(X, y)) == 0.0


def test_constant_inputs_and_repeated_rows_are_taken():
    X, y = data()
    X = np.column_stack([np.repeat(X[:35], 2, axis=0), np.ones(N)])
    y = f(X) + np.where(loud(X), 1.0, 0.05) * np.random.default_rng(2).standard_normal(N)
    noise = EnsembleGPRegressor(random_state=0, model_version="0.3").fit(X, y).predict_noise(X)
    assert np.isfinite(noise).all()
    assert (noise > 0.0).all()


def test_a_file_keeps_the_noise_to_the_last_bit(corner, tmp_path):
    corner.save(tmp_path / "m.weal")
    again = EnsembleGPRegressor.load(tmp_path / "m.weal")
    X = np.random.default_rng(6).uniform(size=(20, 3))
    assert_array_equal(again.predict_noise(X), corner.predict_noise(X))
    assert_array_equal(again.predict_interval(X), corner.predict_interval(X))


@pytest.mark.parametrize("noise", ["region", "input", "level"])
def test_every_kind_of_field_is_kept_in_files(tmp_path, noise):
    X, _ = data(n=90)
    sd = {"region": np.where(loud(X), 1.0, 0.05), "input": np.exp(4.0 * X[:, 2] - 4.0)}.get(
        noise, np.exp(0.8 * f(X) - 4.0)
    )
    y = f(X) + sd * np.random.default_rng(8).standard_normal(90)
    model = EnsembleGPRegressor(random_state=0, warp=None, model_version="0.3").fit(X, y)
    assert varying(model) > 0.5
    model.save(tmp_path / "m.weal")
    assert_array_equal(
        EnsembleGPRegressor.load(tmp_path / "m.weal").predict_noise(X), model.predict_noise(X)
    )


def test_mvr_prefers_quiet_places():
    """Of twins with the same variance of f, the quiet one reduces more."""
    from dataclasses import replace

    from weal.core.extensions.more_acquisitions import bald, mvr
    from weal.core.extensions.variance_reduction import TargetBelief
    from weal.core.paper.acquisition import Belief

    w, mu = np.array([0.7, 0.3]), np.zeros((2, 2))
    targets = TargetBelief(np.arange(2), np.zeros((2, 4)), np.full((2, 2, 4), 0.5))
    even = Belief(
        w, mu, np.ones((2, 2)), np.array([0.1, 0.2]), np.zeros((2, 3)), np.zeros((0, 3)),
        np.zeros(0), (0, 0), target_belief=targets,
    )  # fmt: skip
    uneven = replace(even, varying_noise=np.array([[0.1, 2.0], [0.2, 3.0]]))
    for score in (mvr, bald):
        same = score(even)
        assert_allclose(same[0], same[1])
        first, second = score(uneven)
        assert_allclose(first, same[0])
        assert second < first


def test_misfit_of_a_function_without_noise_is_not_taken_for_noise():
    """Residuals of Currin's function are large where it is steep; labels have no noise."""
    rng = np.random.default_rng(0)
    X = rng.random((60, 2))
    x, z = X.T
    y = (1.0 - np.exp(-0.5 / np.maximum(z, 1e-9))) * (
        (2300.0 * x**3 + 1900.0 * x**2 + 2092.0 * x + 60.0)
        / (100.0 * x**3 + 500.0 * x**2 + 4.0 * x + 20.0)
    )
    model = EnsembleGPRegressor(random_state=0, model_version="0.3").fit(X, y)
    assert model.model_.ensemble_.field is None
