"""Noise is a standard deviation wherever a user meets it; variances stay in the formulas."""

import json
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from learning import KERNELS, MAGNITUDE, NOISE, OUTSIDE, POOL, SCALING, Y, a_learner, measure, model
from reference.kernels import matrix
from weal import ActiveLearner, EnsembleGPRegressor

SD = np.array([0.3, 0.02, 1.5])


def header(path):
    with zipfile.ZipFile(path) as bundle:
        return json.loads(bundle.read("header.json"))


@pytest.mark.parametrize("approximation", ["features", "exact"])
def test_the_noise_given_is_the_sd_that_every_expert_has(approximation):
    given = model(approximation, noise=SD).fit(POOL, Y)
    assert_allclose(given.noise_, SD, rtol=1e-12)
    assert_allclose(given.model_.noise_, SD, rtol=1e-12)
    same = model(approximation, noise=0.3).fit(POOL, Y)
    assert_allclose(same.noise_, 0.3, rtol=1e-12)


def test_predictions_are_those_of_gaussian_processes_with_that_sd():
    """One expert at a time, by the textbook's formula, in scaled units."""
    a, b, new = SCALING.inputs(POOL), SCALING.labels(Y), SCALING.inputs(OUTSIDE)
    for kernel, sig2, sd in zip(KERNELS, MAGNITUDE, SD, strict=True):
        one = EnsembleGPRegressor(
            (kernel,), approximation="exact", magnitude=sig2, noise=sd, scaling=SCALING
        ).fit(POOL, Y)
        K, k = sig2 * matrix(kernel, a, a), sig2 * matrix(kernel, a, new)
        solved = np.linalg.solve(K + sd**2 * np.eye(len(b)), np.c_[b, k])
        var = sig2 * matrix(kernel, new, new).diagonal() - (k * solved[:, 1:]).sum(axis=0)
        mean, std = one.predict(OUTSIDE, return_std=True)
        assert_allclose(mean, SCALING.means(k.T @ solved[:, 0]), rtol=1e-8)
        assert_allclose(std, SCALING.y_sd * np.sqrt(var), rtol=1e-6)
        low, high = one.predict_interval(OUTSIDE, 0.6826894921370859)  # one sd to both sides
        assert_allclose((high - low) / 2.0, SCALING.y_sd * np.sqrt(var + sd**2), rtol=1e-6)


@pytest.mark.parametrize("bounds", [(0.5, 2.0), (1e-3, 1e-2)])
def test_bounds_of_the_noise_bound_the_sd(bounds):
    fitted = EnsembleGPRegressor(KERNELS, magnitude=None, noise_bounds=bounds).fit(POOL, Y)
    assert (fitted.noise_ >= bounds[0] * (1.0 - 1e-9)).all()
    assert (fitted.noise_ <= bounds[1] * (1.0 + 1e-9)).all()
    assert np.isclose(fitted.noise_, bounds[0]).any() or np.isclose(fitted.noise_, bounds[1]).any()


def test_a_label_told_with_an_sd_is_one_of_an_expert_with_more_noise():
    """Known sd s in units of y, on top of the model's own: sqrt(noise^2 + (s / y_sd)^2)."""
    told = model("exact", noise=0.3, scaling=SCALING).fit(POOL, Y, sample_noise=120.0)
    more = np.hypot(0.3, 120.0 / SCALING.y_sd)
    plain = model("exact", noise=more, scaling=SCALING).fit(POOL, Y)
    for one, other in zip(
        told.predict(OUTSIDE, return_std=True), plain.predict(OUTSIDE, return_std=True), strict=True
    ):
        assert_allclose(one, other, rtol=1e-9)
    learner = a_learner(model=model("exact", noise=0.3, scaling=SCALING), first=0)
    learner.tell(range(60), Y, noise=120.0)
    assert_allclose(learner.model.predict(OUTSIDE), plain.predict(OUTSIDE), rtol=1e-9)


def test_files_keep_the_sd(tmp_path):
    given = model("exact", noise=tuple(SD), noise_bounds=(1e-3, 7.0)).fit(POOL, Y)
    given.save(tmp_path / "model.weal")
    learner = ActiveLearner(POOL, given)
    learner.tell(range(8), measure(POOL[:8]), noise=9.0)
    learner.save(tmp_path / "learner.weal")
    for name in ("model", "learner"):
        params = header(tmp_path / f"{name}.weal")["params"]
        assert params["noise"] == SD.tolist()
        assert params["noise_bounds"] == [1e-3, 7.0]
    back = EnsembleGPRegressor.load(tmp_path / "model.weal")
    assert back.noise == tuple(SD)
    assert_array_equal(back.noise_, given.noise_)
    opened = ActiveLearner.load(tmp_path / "learner.weal")
    assert opened.state.settings.parameters.setting.noise == tuple(SD)
    assert {label.noise for label in opened.labels} == {9.0}
    assert_allclose(opened.model.noise_, SD, rtol=1e-12)


def test_the_estimator_of_a_learners_model_has_its_noise():
    learner = a_learner()
    estimator = EnsembleGPRegressor.of(learner.model)
    assert_allclose(estimator.noise, NOISE)
    assert_allclose(estimator.noise_, NOISE, rtol=1e-12)
    assert_allclose(learner.state.settings.parameters.setting.noise, NOISE)
