"""The user's units to ours and back."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.cases import frozen
from weal.core.scaling import from_data, location_scale, principal_axes

FACTORS = st.sampled_from([1e-200, 1e-6, 0.3, 7.0, 1e6, 1e200]) | st.floats(1e-3, 1e3)


def data(seed=0, N=20, d=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, d)) * np.array([1e-3, 1.0, 20.0, 1e5])[:d] + np.arange(d)
    return frozen(X), frozen(3.0 + 0.1 * rng.standard_normal(N))


def test_scaled_data_has_mean_zero_and_sd_one():
    X, y = data()
    scaling = from_data(X, y)
    for A in (scaling.inputs(X), scaling.labels(y)):
        np.testing.assert_allclose(A.mean(axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose(A.std(axis=0), 1.0, rtol=1e-12)
    np.testing.assert_allclose(scaling.means(scaling.labels(y)), y, rtol=1e-14)


def test_location_and_scale_are_mean_and_sd():
    X, _ = data()
    mean, sd = location_scale(X)
    np.testing.assert_allclose(mean, X.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(sd, X.std(axis=0), rtol=1e-13)


@settings(max_examples=40, deadline=None)
@given(factor=FACTORS, seed=st.integers(0, 10**6))
def test_a_change_of_unit_changes_nothing_however_extreme(factor, seed):
    X, y = data(seed)
    before, after = from_data(X, y), from_data(frozen(X * factor), frozen(y * factor))
    np.testing.assert_allclose(after.inputs(X * factor), before.inputs(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(after.labels(y * factor), before.labels(y), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(after.y_sd / factor, before.y_sd, rtol=1e-12)
    np.testing.assert_allclose(after.x_sd / factor, before.x_sd, rtol=1e-12)


@settings(max_examples=40, deadline=None)
@given(shift=st.floats(-1e4, 1e4), seed=st.integers(0, 10**6))
def test_a_shift_changes_nothing(shift, seed):
    X, y = data(seed)
    before, after = from_data(X, y), from_data(frozen(X + shift), frozen(y + shift))
    rounding = 1e-15 * 1e5 / 1e-3  # of a shifted entry, in units of the least sd
    np.testing.assert_allclose(after.inputs(X + shift), before.inputs(X), atol=rounding)
    np.testing.assert_allclose(after.labels(y + shift), before.labels(y), atol=rounding)


@pytest.mark.parametrize("value", [0.0, 0.1, -7.3, 1e-200, 1e200])
def test_a_constant_column_is_centred_and_keeps_its_unit(value):
    X, y = data()
    X = np.array(X)
    X[:, 1] = value
    scaling = from_data(frozen(X), y)
    assert scaling.x_sd[1] == 1.0
    assert np.abs(scaling.inputs(X)[:, 1]).max() <= 4e-16 * abs(value)


@pytest.mark.parametrize("factor", [1.0, -1.0, 1e-200, 1e200])
def test_constant_labels_are_measured_against_their_own_size(factor):
    X, _ = data()
    y = frozen(np.full(len(X), 0.1 * factor))
    scaling = from_data(X, y)
    assert scaling.y_sd == pytest.approx(abs(0.1 * factor))
    np.testing.assert_allclose(scaling.labels(y), 0.0, atol=1e-15)
    np.testing.assert_allclose(scaling.labels(2.0 * y), np.sign(factor), rtol=1e-12)


def test_labels_that_are_all_zero_keep_their_unit():
    X, _ = data()
    scaling = from_data(X, frozen(np.zeros(len(X))))
    assert (scaling.y_mean, scaling.y_sd) == (0.0, 1.0)


def test_one_label_is_a_constant():
    X, _ = data(N=1)
    scaling = from_data(X, frozen([5.0]))
    assert (scaling.x_sd == 1.0).all()
    assert (scaling.y_mean, scaling.y_sd) == (5.0, 5.0)


# Columns with heavy tails


def skewed(N=200, seed=0):
    """Like California: rooms, people in a household with one value at 1243, income, latitude."""
    rng = np.random.default_rng(seed)
    people = 3.0 + 0.7 * rng.standard_normal(N)
    people[N // 3] = 1243.0
    columns = (rng.uniform(1, 50, N), people, rng.lognormal(1.3, 0.45, N), rng.normal(35, 2, N))
    return frozen(np.column_stack(columns)), frozen(rng.standard_normal(N))


def test_a_column_with_an_outlier_is_bent_and_no_other():
    X, y = skewed()
    scaling = from_data(X, y, warp=True)
    assert (scaling.x_spread > 0.0).tolist() == [False, True, False, False]
    A, plain = scaling.inputs(X), from_data(X, y).inputs(X)
    np.testing.assert_allclose(A.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(A.std(axis=0), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(A[:, [0, 2, 3]], plain[:, [0, 2, 3]])
    rest = np.arange(len(X)) != len(X) // 3
    assert plain[rest, 1].std() < 0.02  # squeezed to a point
    assert A[rest, 1].std() > 0.5
    assert (np.argsort(A[:, 1]) == np.argsort(X[:, 1])).all()


def test_without_heavy_tails_nothing_is_bent():
    X, y = data(N=200)
    scaling = from_data(X, y, warp=True)
    assert scaling.x_median is None
    assert scaling.x_spread is None
    np.testing.assert_array_equal(scaling.inputs(X), from_data(X, y).inputs(X))


@settings(max_examples=40, deadline=None)
@given(factor=FACTORS, shift=st.floats(-1e3, 1e3), seed=st.integers(0, 10**6))
def test_a_change_of_unit_bends_the_same_columns_the_same_way(factor, shift, seed):
    X, y = skewed(seed=seed)
    theirs = frozen(factor * (X + shift))
    before, after = from_data(X, y, warp=True), from_data(theirs, y, warp=True)
    np.testing.assert_allclose(after.inputs(theirs), before.inputs(X), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("outlier", [1e6, 1e100, 1e300])
@pytest.mark.parametrize("spread", [1.0, 1e-300])
def test_an_outlier_may_be_as_far_away_as_floats_allow(outlier, spread):
    X, y = skewed()
    X = np.array(X)
    X[:, 1] = spread * np.linspace(-1.0, 1.0, len(X))
    X[5, 1] = outlier
    A = from_data(frozen(X), y, warp=True).inputs(X)
    assert np.isfinite(A).all()
    assert np.ptp(np.delete(A[:, 1], 5)) > 1e-3


def test_a_column_that_is_nearly_constant_is_not_bent():
    """Its interquartile range is 0: there is no middle to keep."""
    X, y = skewed()
    X = np.array(X)
    X[:, 1] = 0.0
    X[7, 1] = 5.0
    scaling = from_data(frozen(X), y, warp=True)
    assert scaling.x_spread is None
    assert np.isfinite(scaling.inputs(X)).all()


def test_rounding_is_no_spread_and_a_small_spread_is_no_rounding():
    rounding = frozen(np.full((3, 1), 0.1) + np.array([[0.0], [1e-17], [0.0]]))
    assert location_scale(rounding)[1] == 0.0
    small = frozen(1e6 + np.array([[0.0], [1e-5], [2e-5]]))
    assert location_scale(small)[1] == pytest.approx(1e-5 * np.sqrt(2 / 3), rel=1e-3)


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_principal_axes_are_those_of_a_singular_value_decomposition(scale):
    rng = np.random.default_rng(3)
    X = scale * (rng.normal(size=(40, 4)) @ rng.normal(size=(4, 4)) + 5.0)
    X[:, 2] = scale  # a constant column
    weights = np.array([1.0, 0.5, 1.0, 0.5])
    centre, unit, axes, shares = principal_axes(X, weights)
    Z = X / scale - (X / scale).mean(axis=0)
    Z[:, 2] = 0.0
    Z = Z / np.where(Z.std(axis=0) > 0.0, Z.std(axis=0), 1.0) * np.sqrt(weights)
    _, singular, rows = np.linalg.svd(Z, full_matrices=False)
    np.testing.assert_allclose(shares[:3], singular[:3] ** 2 / (singular**2).sum(), rtol=1e-9)
    for k in range(3):
        np.testing.assert_allclose(np.abs(axes[:, k] @ rows[k]), 1.0, rtol=1e-9)
    np.testing.assert_allclose((X - centre) / unit, Z, atol=1e-9)
    assert (axes.max(axis=0) >= -axes.min(axis=0)).all()
