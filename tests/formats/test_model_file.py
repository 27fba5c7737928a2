"""Saving and loading: nothing is lost, and learning goes on."""

import json
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import weal
from weal import EnsembleGPRegressor, Kernel, Scaling
from weal.formats import archive
from weal.formats.model_file import MODEL_KIND
from weal.model import scaled_data
from weal.model.training import add_labels, without_labels

rng = np.random.default_rng(5)
X = rng.normal(size=(14, 3)) * [1.0, 20.0, 0.1] + [0.0, 5.0, -3.0]
y = 40.0 + 7.0 * np.sin(X[:, 0]) + 0.3 * X[:, 1]
x_new = rng.normal(size=(9, 3)) * [1.0, 20.0, 0.1] + [0.0, 5.0, -3.0]
for shared in (X, y, x_new):
    shared.flags.writeable = False

THREE = (Kernel("rbf", 0.7), Kernel("matern32", (1.0, 2.0, 3.0)), Kernel("rq", 2.0, alpha=0.5))
MODELS = {
    "default": EnsembleGPRegressor(),
    "default on features": EnsembleGPRegressor(approximation="features", n_frequencies=30),
    "default with inducing points": EnsembleGPRegressor(approximation="inducing"),
    "inducing": EnsembleGPRegressor(THREE, approximation="inducing", magnitude=None),
    "given": EnsembleGPRegressor(THREE, noise_ratios=(1e-4, 0.1), temper=0.5),
    "features": EnsembleGPRegressor(approximation="features", magnitude=None, random_state=1),
    "exact": EnsembleGPRegressor(approximation="exact", magnitude=None),
    "paper": EnsembleGPRegressor.paper(random_state=2),
    "unusual": EnsembleGPRegressor(
        THREE,
        approximation="features",
        n_frequencies=5,
        orthogonal=True,
        magnitude=(1.0, 2.0, 0.5),
        noise=1e-3**0.5,
        prior_weights=(0.2, 0.5, 0.3),
        random_state=3,
    ),
    "one lengthscale": EnsembleGPRegressor((Kernel(),), magnitude=None, fit_length_scale=True),
}


def assert_same(a, b):
    for one, other in zip(
        a.predict(x_new, return_std=True), b.predict(x_new, return_std=True), strict=True
    ):
        assert_array_equal(one, other)
    labels = np.linspace(30, 50, len(x_new))
    assert_array_equal(
        a.log_predictive_density(x_new, labels), b.log_predictive_density(x_new, labels)
    )
    assert_array_equal(a.predict_interval(x_new), b.predict_interval(x_new))
    assert_array_equal(a.weights_, b.weights_)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_as_it_was(name, tmp_path):
    model = MODELS[name].fit(X, y)
    model.save(tmp_path / "model.weal")
    back = EnsembleGPRegressor.load(tmp_path / "model.weal")
    assert_same(back, model)
    assert back.get_params() == model.get_params()
    assert back.dictionary_ == model.dictionary_
    assert back.n_labels_ == model.n_labels_
    assert back.n_features_in_ == model.n_features_in_
    assert not hasattr(back, "feature_names_in_")
    assert_array_equal(back.magnitude_, model.magnitude_)
    assert_array_equal(back.noise_, model.noise_)


@pytest.mark.parametrize("name", MODELS)
def test_learning_goes_on_after_loading_as_if_nothing_had_been(name, tmp_path):
    """Four labels, then four more: the experts of the default are settled anew after five."""
    model = MODELS[name].fit(X, y)
    model.save(tmp_path / "model.weal")
    back = EnsembleGPRegressor.load(tmp_path / "model.weal")
    for points in (x_new[:4], x_new[4:8]):
        for one in (model, back):
            one.partial_fit(points, [41.0, 39.0, 45.5, 47.0], sample_noise=0.5)
        assert_same(back, model)
        assert back.dictionary_ == model.dictionary_


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_learns_other_labels_from_the_same_prior(name, tmp_path):
    model = MODELS[name].fit(X, y, sample_noise=0.3)
    model.save(tmp_path / "model.weal")
    back = EnsembleGPRegressor.load(tmp_path / "model.weal")
    refolded = []
    for one in (model.model_, back.model_):
        labels = scaled_data.scale_data(one.scaling, X[3:], y[3:], np.full(11, 0.3))
        refolded.append(replace(one, trained=add_labels(without_labels(one.trained), *labels)))
    assert_same(*refolded)
    assert refolded[1].n_labels_ == 11


def test_bent_columns_are_bent_after_loading(tmp_path):
    skewed = np.concatenate([X, x_new])
    skewed[3, 1] = 1e4
    model = EnsembleGPRegressor().fit(skewed[:14], y, X_unlabelled=skewed[14:])
    assert (model.scaling_.x_spread > 0.0).tolist() == [False, True, False]
    model.save(tmp_path / "model.weal")
    assert_same(EnsembleGPRegressor.load(tmp_path / "model.weal"), model)
    given = EnsembleGPRegressor(scaling=model.scaling_).fit(skewed[:14], y)
    given.save(tmp_path / "given.weal")
    back = EnsembleGPRegressor.load(tmp_path / "given.weal")
    assert_same(back, model)
    assert_array_equal(back.scaling.x_median, model.scaling_.x_median)


@pytest.mark.parametrize("name", ["default", "features", "exact"])
def test_a_loaded_model_can_be_fitted_anew_and_saved_again(name, tmp_path):
    model = MODELS[name].fit(X, y)
    model.save(tmp_path / "a")
    back = EnsembleGPRegressor.load(tmp_path / "a").set_params(random_state=6).fit(X[:7], y[:7])
    back.save(tmp_path / "b")
    assert_same(EnsembleGPRegressor.load(tmp_path / "b"), back)


def test_given_scaling_and_arrays_of_parameters_survive(tmp_path):
    given = Scaling(np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0]), 4.0, 5.0)
    model = EnsembleGPRegressor(THREE, magnitude=np.array([1.0, 2.0, 3.0]), scaling=given)
    model.fit(X, y).save(tmp_path / "model.weal")
    back = EnsembleGPRegressor.load(tmp_path / "model.weal")
    assert_same(back, model)
    assert_array_equal(back.magnitude, [1.0, 2.0, 3.0])
    assert_array_equal(back.scaling.x_sd, given.x_sd)
    assert (back.scaling.y_mean, back.scaling.y_sd) == (4.0, 5.0)


@pytest.mark.parametrize("source", [np.random.RandomState(3), np.random], ids=["own", "global"])
def test_the_draws_of_a_random_generator_are_kept(source, tmp_path):
    model = EnsembleGPRegressor(approximation="features", n_frequencies=20, random_state=source)
    model.fit(X, y).save(tmp_path / "model.weal")
    assert_same(EnsembleGPRegressor.load(tmp_path / "model.weal"), model)


def test_feature_names_are_kept(tmp_path):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(X, columns=["heat", "größe", "time"])
    small = EnsembleGPRegressor(THREE).fit(table, y)
    small.save(tmp_path / "model.weal")
    back = EnsembleGPRegressor.load(tmp_path / "model.weal")
    assert_array_equal(back.feature_names_in_, small.feature_names_in_)
    assert_array_equal(back.predict(table), small.predict(table))
    with pytest.raises(ValueError, match="feature names should match"):
        back.predict(table[["time", "heat", "größe"]])


def test_version_and_kind_are_noted_in_the_file(tmp_path):
    MODELS["default"].fit(X, y).save(tmp_path / "model.weal")
    with zipfile.ZipFile(tmp_path / "model.weal") as bundle:
        header = json.loads(bundle.read("header.json"))
    assert header["format"] == "weal"
    assert header["format_version"] == archive.FORMAT_VERSION
    assert header["weal_version"] == weal.__version__
    assert header["kind"] == MODEL_KIND


def test_a_model_without_labels_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted yet"):
        EnsembleGPRegressor().save(tmp_path / "model.weal")
    assert not list(tmp_path.iterdir())


def test_threads_that_write_one_path_leave_one_whole_file(tmp_path):
    path = tmp_path / "file"

    def write(n):
        archive.write(path, MODEL_KIND, {"n": n}, {"part": np.full(20_000, float(n))})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))
    header, arrays = archive.read(path, MODEL_KIND)
    assert (arrays["part"] == header["n"]).all()
    assert [found.name for found in tmp_path.iterdir()] == ["file"]
