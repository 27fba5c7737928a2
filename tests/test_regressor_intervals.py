"""Intervals and quantiles of a label: those of the mixture, and covering what they say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.optimize import brentq
from sklearn.base import clone

from weal import EnsembleGPRegressor, Kernel
from weal.core.paper import random_features
from weal.core.paper.kernels import correlation

rng = np.random.default_rng(8)
X = rng.normal(size=(22, 3)) * [1.0, 40.0, 0.1]
y = 500.0 + 60.0 * np.sin(2.0 * X[:, 0]) + X[:, 1] + 8.0 * rng.normal(size=22)
x_new = rng.normal(size=(6, 3)) * [1.5, 60.0, 0.15]
for shared in (X, y, x_new):
    shared.flags.writeable = False

THREE = (Kernel("rbf", 0.6), Kernel("matern52", (1.0, 2.0, 5.0)), Kernel("rq", 3.0, alpha=0.7))
MODELS = {
    "default": EnsembleGPRegressor(),
    "default on features": EnsembleGPRegressor(
        approximation="features", n_frequencies=30, random_state=0
    ),
    "integrated": EnsembleGPRegressor(THREE, noise_ratios=(1e-3, 0.3)),
    "fitted": EnsembleGPRegressor(THREE, magnitude=None),
    "paper": EnsembleGPRegressor.paper(random_state=0),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param].fit(X, y)


def mixture(model, point):
    """The distribution function of a label at one point, in units of y, by scipy."""
    ens, scale = model.ensemble_, model.scaling_
    mu, v = (part[:, 0] for part in ens.experts.predict(model.model_.points(point[None])))
    s = v + ens.noise
    if model.magnitude == "integrated":
        a, b = ens.scale.a, ens.scale.b
        if model.kernels is None:  # kernel parameters were fitted
            s = s * (1.0 + ens.scale.fitted_freedom / (len(y) + 1.0))
        parts = stats.t(2.0 * a, mu, np.sqrt(b / a * s))
    else:
        parts = stats.norm(mu, np.sqrt(ens.magnitude * s))
    return lambda label: ens.w @ parts.cdf((label - scale.y_mean) / scale.y_sd)


@pytest.mark.covering
@pytest.mark.parametrize("level", [1e-12, 0.001, 0.05, 0.5, 0.9, 0.999])
def test_quantiles_are_those_of_the_mixture(model, level):
    found = model.predict_quantiles(x_new, [level])
    assert found.shape == (1, 6)
    for point, ours in zip(x_new, found[0], strict=True):
        cdf = mixture(model, point)
        reach = 1e6 * model.scaling_.y_sd  # a Student-t of 25 degrees has 1e-12 at ten sds
        theirs = brentq(lambda label, cdf=cdf: cdf(label) - level, -reach, reach, xtol=1e-10)
        assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9, 0.99])
def test_an_interval_holds_its_level_with_as_much_on_either_side(model, level):
    low, high = model.predict_interval(x_new, level)
    for point, a, b in zip(x_new, low, high, strict=True):
        cdf = mixture(model, point)
        assert cdf(a) == pytest.approx(0.5 - 0.5 * level, abs=1e-9)
        assert cdf(b) == pytest.approx(0.5 + 0.5 * level, abs=1e-9)


def test_nine_tenths_is_what_an_interval_holds_if_nothing_is_said(model):
    assert_array_equal(model.predict_interval(x_new), model.predict_interval(x_new, 0.9))


@given(levels=st.lists(st.floats(1e-6, 1.0 - 1e-6), min_size=2, max_size=5))
@settings(max_examples=25, deadline=None)
def test_more_probable_intervals_hold_the_less_probable(levels):
    model = MODELS["integrated"].fit(X, y)
    levels = sorted(levels)
    quantiles = model.predict_quantiles(x_new, levels)
    assert (np.diff(quantiles, axis=0) >= 0.0).all()
    low, high = zip(*(model.predict_interval(x_new, level) for level in levels), strict=True)
    assert (np.diff(low, axis=0) <= 0.0).all()
    assert (np.diff(high, axis=0) >= 0.0).all()


def test_blocks_change_nothing(model, constants):
    whole = model.predict_quantiles(x_new, [0.05, 0.7])
    constants(random_features, FEATURE_BLOCK_BYTES=1)
    assert_allclose(model.predict_quantiles(x_new, [0.05, 0.7]), whole, rtol=1e-12)


def test_units_of_labels_change_nothing_else(model):
    quantiles = model.predict_quantiles(x_new, [0.05, 0.7])
    other = clone(model).fit(X, 1e-6 * (y - 300.0))
    theirs = 300.0 + 1e6 * other.predict_quantiles(x_new, [0.05, 0.7])
    assert_allclose(theirs, quantiles, rtol=1e-4)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 1.5, 90, np.nan, np.inf])
def test_levels_that_are_no_probabilities_are_refused(level):
    model = MODELS["fitted"].fit(X, y)
    with pytest.raises(ValueError, match=r"level is .*; it must be a probability between 0 and 1"):
        model.predict_interval(x_new, level)
    with pytest.raises(ValueError, match=r"levels is .*; it must be probabilities between 0 and 1"):
        model.predict_quantiles(x_new, [0.5, level])


@pytest.mark.parametrize("levels", [[], 0.5, [[0.1, 0.9]]])
def test_levels_must_be_a_list(levels):
    with pytest.raises(ValueError, match="levels is"):
        MODELS["fitted"].fit(X, y).predict_quantiles(x_new, levels)


def test_bad_points_and_unfitted_models_are_refused():
    model = MODELS["fitted"].fit(X, y)
    with pytest.raises(ValueError, match="X has 2 features"):
        model.predict_interval(x_new[:, :2])
    with pytest.raises(ValueError, match="not fitted yet"):
        EnsembleGPRegressor().predict_interval(x_new)
    with pytest.raises(ValueError, match="not fitted yet"):
        EnsembleGPRegressor().predict_quantiles(x_new, [0.5])


def covered(seed, t, ratio):
    """The share of 40 labels in their 90 % intervals, and the width of these, the width of those
    that know kernel, magnitude and noise being 1.
    """
    draw = np.random.default_rng([seed, t, 5])
    d = int(draw.choice([1, 2, 3, 5]))
    family, ell = str(draw.choice(["rbf", "matern52"])), d**0.5 * 10.0 ** draw.uniform(-0.75, 0.75)
    points = draw.standard_normal((t + 40, d))
    C = 49.0 * (correlation(Kernel(family, ell), points, points) + (ratio + 1e-9) * np.eye(t + 40))
    labels = 3.0 + np.linalg.cholesky(C) @ draw.standard_normal(t + 40)
    seen, new = slice(0, t), slice(t, None)
    low, high = EnsembleGPRegressor().fit(points[seen], labels[seen]).predict_interval(points[new])
    known = np.diag(C)[new] - np.diag(C[new, seen] @ np.linalg.solve(C[seen, seen], C[seen, new]))
    width = (high - low) / (2.0 * stats.norm.ppf(0.95) * np.sqrt(known))
    return np.mean((low <= labels[new]) & (labels[new] <= high)), np.median(width)


@pytest.mark.parametrize("ratio", [0.0, 0.01, 0.3])
def test_intervals_cover_what_they_say_on_functions_drawn_from_the_prior(ratio):
    """40 functions with 8 to 40 labels each: 85 to 95 % for intervals of 90 %, without width."""
    found = [covered(seed, 8 + 8 * (seed % 5), ratio) for seed in range(40)]
    share, width = np.transpose(found)
    assert 0.85 < share.mean() < 0.95
    assert np.median(width) < 1.5
