"""Bent labels: the bend, what goes back through it, and moments against quadrature."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import trapezoid

from reference.cases import frozen
from weal.core.constants import MAX_WARPED_MEAN_VARIANCE
from weal.core.extensions.label_warp import IDENTITY_WARP, LabelWarp, fit_warp

LABELS = frozen(np.random.default_rng(3).lognormal(1.0, 1.3, size=60))
BENDS = {"lognormal": fit_warp(LABELS), "own": LabelWarp(median=-2.0, spread=0.3, mean=0.4, sd=1.7)}


@pytest.fixture(params=BENDS)
def bend(request):
    return BENDS[request.param]


def test_bent_labels_have_mean_zero_and_sd_one_and_less_of_a_tail():
    z = fit_warp(LABELS).labels(LABELS)
    assert z.mean() == pytest.approx(0.0, abs=1e-12)
    assert z.std() == pytest.approx(1.0)
    assert stats.kurtosis(z) < 0.2 * stats.kurtosis(LABELS)
    assert (np.diff(z[np.argsort(LABELS)]) >= 0.0).all()


def test_unbent_is_the_way_back(bend):
    y = frozen(np.linspace(-30.0, 50.0, 41))
    assert_allclose(bend.unwarp(bend.labels(y)), y, rtol=1e-12, atol=1e-12)


def test_the_slope_is_the_derivative(bend):
    y, h = frozen(np.linspace(-20.0, 30.0, 11)), 1e-6
    slope = (bend.labels(y + h) - bend.labels(y - h)) / (2.0 * h)
    assert_allclose(np.exp(bend.log_slope(y)), slope, rtol=1e-7)
    noise_var = frozen(np.linspace(0.0, 2.0, 11))
    assert_allclose(bend.variances(noise_var, y), noise_var * slope**2, rtol=1e-6)


def test_a_density_of_labels_integrates_to_one(bend):
    y = bend.unwarp(np.linspace(-8.0, 8.0, 20_001))
    density = stats.norm.pdf(bend.labels(y)) * np.exp(bend.log_slope(y))
    assert trapezoid(density, y) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("mu", "var", "noise"),
    [(0.3, 0.1, 0.0), (-1.2, 0.05, 0.04), (-1.2, 0.5, 0.1), (2.0, 0.01, 0.4)],
)
def test_moments_are_those_of_quadrature(bend, mu, var, noise):
    """Of the label that is expected at f, over f, and of that over the label's noise."""
    z, w = np.polynomial.hermite_e.hermegauss(80)
    w = w / w.sum()
    f = mu + np.sqrt(var) * z
    expected = bend.unwarp(f[:, None] + np.sqrt(noise) * z) @ w  # E[y | f]
    mean = w @ expected
    ours = bend.moments(np.array(mu), np.array(var), np.array(noise))
    assert_allclose(ours[1], w @ (expected - mean) ** 2, rtol=1e-8)
    if bend.sd**2 * (var + noise) <= MAX_WARPED_MEAN_VARIANCE:
        assert_allclose(ours[0], mean, rtol=1e-8)
    else:  # not raised as much: the tail of a normal is not believed
        median = bend.unwarp(np.array(mu))
        assert min(median, mean) < ours[0] < max(median, mean)


def test_moments_of_what_is_hardly_known_stay_finite(bend):
    for mu in (-1e6, 0.0, 1e6):
        assert np.isfinite(bend.moments(np.array(mu), np.array(1e12), np.array(1e9))).all()
    assert np.isfinite(bend.unwarp(np.array([-1e300, 1e300]))).all()


@given(st.lists(st.floats(-1e90, 1e90), min_size=1, max_size=5))
@settings(max_examples=50, deadline=None)
def test_straight_labels_are_left_alone(values):
    y = frozen(np.array(values))
    assert (IDENTITY_WARP.labels(y) == y).all()
    assert (IDENTITY_WARP.unwarp(y) == y).all()
    assert (IDENTITY_WARP.variances(y, y) == y).all()
    assert (IDENTITY_WARP.log_slope(y) == 0.0).all()
    assert IDENTITY_WARP.one(3.0, 0.2) == (3.0, 0.2)
    assert all((part == y).all() for part in IDENTITY_WARP.moments(y, y, y))


def test_one_label_is_bent_as_many(bend):
    y, noise_var = frozen(np.array([4.0, -7.0])), frozen(np.array([0.1, 2.0]))
    many = np.transpose([bend.labels(y), bend.variances(noise_var, y)])
    assert_allclose([bend.one(*pair) for pair in zip(y, noise_var, strict=True)], many, rtol=1e-14)


@pytest.mark.parametrize("y", [[1.0], [2.0, 2.0, 2.0], [0.0] * 7 + [1.0, 9.0]])
def test_labels_half_of_which_are_equal_stay_straight(y):
    assert fit_warp(np.array(y)) == IDENTITY_WARP


@given(factor=st.floats(1e-3, 1e3), shift=st.floats(-1e3, 1e3))
@settings(max_examples=30, deadline=None)
def test_units_change_nothing(factor, shift):
    y = shift + factor * LABELS
    assert_allclose(fit_warp(y).labels(y), fit_warp(LABELS).labels(LABELS), atol=1e-6)
