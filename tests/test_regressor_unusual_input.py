"""Unusual input with a right answer: one label, labels or columns that do not vary, huge scales."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from three_inputs import ALL, MODELS, X, y
from weal import EnsembleGPRegressor
from weal.core.constants import MAGNITUDE_PRIOR_A, MAGNITUDE_PRIOR_B


def regressor(kind, **changes):
    plain = {"n_frequencies": 10, "random_state": 0, **MODELS[kind]}
    return EnsembleGPRegressor(**{**plain, **changes})


@ALL
def test_data_merely_very_far_away_is_learned(kind):
    model = regressor(kind, n_frequencies=100).fit(X, y)
    outside = X[:2] + 3.0 * X.std(axis=0)
    model.partial_fit(outside, [1e90, -1e90], sure=[True, True])  # or they were taken for typos
    model.partial_fit([1e90, 0.0, 0.0], 3.0).partial_fit(X[2], y[2], sample_noise=1e90)
    mean, std = model.predict(outside, return_std=True)
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()
    assert_allclose(model.weights_.sum(), 1.0)
    assert_allclose(mean, [1e90, -1e90], rtol=0.05)


@ALL
def test_one_label_predicts_itself_everywhere(kind):
    model = regressor(kind).fit(X[:1], y[:1])
    mean, std = model.predict(X, return_std=True)
    assert_allclose(mean, y[0], rtol=1e-12)
    assert (std > 0).all()
    assert_allclose(model.weights_.sum(), 1.0)
    if kind in ("features", "exact"):
        assert_allclose(model.weights_, 1 / 3)


@ALL
@pytest.mark.parametrize("value", [0.0, 0.1, -7e8, 3e-9])
def test_constant_labels_predict_the_constant(kind, value):
    model = regressor(kind).fit(X, np.full(12, value))
    mean, std = model.predict(X + 0.1, return_std=True)
    assert_allclose(mean, value, rtol=1e-12)
    # A magnitude that is integrated out keeps its prior, if nothing says that kernels are long.
    bound = (
        np.sqrt(MAGNITUDE_PRIOR_B / (MAGNITUDE_PRIOR_A - 1.0 + 12 / 2))
        if "integrated" in kind
        else 0.01
    )
    assert (std <= bound * (abs(value) or 1.0)).all()
    assert np.isfinite(model.log_predictive_density(X, np.full(12, value))).all()
    model.partial_fit(X[0] + 1.0, value + (abs(value) or 1.0))  # and goes on from there
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("kind", ["features", "exact", "integrated exact"])
@pytest.mark.parametrize("constant", [0.0, 0.1, 1e12])
def test_a_constant_column_changes_nothing(kind, constant):
    padded = np.column_stack([X, np.full(12, constant)])
    plain = regressor(kind).fit(X, y)
    model = regressor(kind).fit(padded, y)
    assert_allclose(model.magnitude_, plain.magnitude_)
    assert_allclose(model.noise_, plain.noise_)
    if "exact" in kind:
        assert_allclose(model.predict(padded), plain.predict(X))


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e12])
def test_a_constant_column_means_little_to_experts_that_follow_the_labels(constant):
    """Their lengthscales are laid out for d inputs, and so start elsewhere."""
    padded = np.column_stack([X, np.full(12, constant)])
    mean, std = regressor("default").fit(X, y).predict(X + 0.3 * X.std(axis=0), return_std=True)
    model = regressor("default").fit(padded, y)
    beside = np.column_stack([X + 0.3 * X.std(axis=0), np.full(12, constant)])
    assert (np.abs(model.predict(beside) - mean) < 0.5 * std).all()


@ALL
def test_a_single_point_is_a_row_with_a_scalar_label(kind):
    points = X[3:5] + 0.4 * X.std(axis=0)
    one, other = regressor(kind).fit(X, y), regressor(kind).fit(X, y)
    one.partial_fit(points[0], 101.0, sample_noise=0.2).partial_fit([points[1]], 99.0)
    other.partial_fit(points, [101.0, 99.0], sample_noise=[0.2, 0.0])
    # exact experts lose as many digits as their noise ratio has: here up to ten
    assert_allclose(one.predict(X), other.predict(X), rtol=1e-12 if "features" in kind else 1e-9)


@pytest.mark.parametrize("kind", ["exact", "default"])
@pytest.mark.parametrize("label_unit", [1e-200, 1e200])
@pytest.mark.parametrize("input_unit", [1e-200, 1e200])
def test_units_may_be_as_extreme_as_floats_allow(kind, label_unit, input_unit):
    plain, other = regressor(kind).fit(X, y), regressor(kind)
    other.fit(input_unit * X, label_unit * y)
    mean, std = plain.predict(X + 0.01, return_std=True)
    theirs, their_std = other.predict(input_unit * (X + 0.01), return_std=True)
    assert_allclose(theirs / label_unit, mean, rtol=1e-4)
    assert_allclose(their_std / label_unit, std, rtol=1e-3, atol=1e-6)
