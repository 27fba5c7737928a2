"""Models of pass/fail results, classes and grades, against models that never saw a label."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from weal.core.extensions.pass_fail import C
from weal.core.paper.kernels import Kernel, correlation
from weal.model import class_model
from weal.model.class_model import GRADE_NOISE_SD, LABEL_NOISE_SD
from weal.model.model import Model
from weal.model.parameters import parameters_of
from weal.model.training import add_labels, without_labels
from weal.quantities import grades, pass_fail


def labels(seed=0, n=25, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1.0, 100.0, 1e-3][:d]
    score = X[:, 0] + (X[:, 1] / 100.0) ** 2 - 0.5
    return X, np.where(score + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)


def pass_fail_model(X, y, **given):
    parameters = class_model.pass_fail_parameters(parameters_of(given, X.shape[1]))
    return class_model.fit(parameters, X, y, LABEL_NOISE_SD)


def trained_on(model, rows):
    """The model with the same experts, trained on some of its labels."""
    empty, every = without_labels(model.trained), model.trained
    part = add_labels(empty, every.X[rows], every.y[rows], every.noise_var[rows])
    return Model(part, model.scaling)


def test_quantities_state_the_noise_of_the_models():
    assert pytest.approx(LABEL_NOISE_SD, rel=1e-12) == pass_fail.PASS_FAIL_NOISE_SD
    assert grades.GRADE_NOISE_SD == GRADE_NOISE_SD


def test_labels_are_neither_scaled_nor_warped_nor_doubted():
    X, y = labels(n=40)
    y[:35] = 1.0  # nearly all the same: a lone fail looks like an outlier
    model = pass_fail_model(X, y)
    assert (model.scaling.y_mean, model.scaling.y_sd) == (0.0, 1.0)
    np.testing.assert_array_equal(model.trained.y, y)
    assert model.trained.included.all()
    assert not model.trained.warp.spread
    np.testing.assert_allclose(model.trained.noise_var, 0.2841, atol=1e-4)


def test_one_expert_is_dense_algebra():
    X, y = labels(2)
    kernel = Kernel("matern52", 1.7)
    model = pass_fail_model(X, y, kernels=[kernel], magnitude=[2.0], noise=[0.1])
    scaled, x = model.scaling.inputs(X), model.scaling.inputs(X[:4] * 1.1)
    K, k = 2.0 * correlation(kernel, scaled, scaled), 2.0 * correlation(kernel, scaled, x)
    solved = np.linalg.solve(K + (0.01 + 0.28411012) * np.eye(len(y)), np.column_stack([y, k]))
    mu = k.T @ solved[:, 0]
    var = np.diag(2.0 * correlation(kernel, x, x)) - (k * solved[:, 1:]).sum(axis=0)
    for slope in (0.5, 2.0):
        g = slope * C
        p = expit(g * mu / np.sqrt(1.0 + np.pi / 8.0 * g**2 * var))
        found = class_model.pass_probability(model, X[:4] * 1.1, slope)
        np.testing.assert_allclose(found, p, rtol=1e-6)


@pytest.mark.parametrize("given", [{}, {"approximation": "features", "n_frequencies": 30}])
def test_labels_left_out_are_as_if_never_told(given):
    X, y = labels(1)
    model = pass_fail_model(X, y, **given)
    slope = class_model.slope_of(model.trained)
    found = class_model.left_out_pass_probability(model)
    for i in range(len(y)):
        others = trained_on(model, np.delete(np.arange(len(y)), i))
        truth = class_model.pass_probability(others, X[i : i + 1], slope)
        assert found[i] == pytest.approx(truth[0], abs=1e-6)


def test_classes_sum_to_one_and_follow_their_models():
    X, _ = labels(3, n=40)
    codes = np.digitize(X[:, 0], [-0.4, 0.4])
    models = [pass_fail_model(X, np.where(codes == k, 1.0, -1.0)) for k in range(3)]
    p = class_model.class_probabilities(models, X)
    assert p.shape == (40, 3)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    alone = np.stack([class_model.pass_probability(one, X) for one in models], axis=1)
    np.testing.assert_allclose(p, alone / alone.sum(axis=1)[:, None])
    assert (p.argmax(axis=1) == codes).mean() > 0.9
    left_out = class_model.left_out_class_probabilities(models)
    np.testing.assert_allclose(left_out.sum(axis=1), 1.0)


def test_two_classes_are_pass_and_fail():
    X, y = labels(4)
    one, other = pass_fail_model(X, y), pass_fail_model(X, -y)
    p = class_model.class_probabilities([other, one], X)
    np.testing.assert_allclose(p[:, 1], class_model.pass_probability(one, X), atol=1e-5)


def grade_models(codes, X, levels):
    parameters = class_model.grade_parameters(parameters_of({}, X.shape[1]))
    number = class_model.fit(parameters, X, codes.astype(float), GRADE_NOISE_SD)
    classes = [pass_fail_model(X, np.where(codes == k, 1.0, -1.0)) for k in range(levels)]
    return number, classes


def test_grades_left_out_are_as_if_never_told():
    X, _ = labels(5)
    codes = np.clip(np.round(1.5 + X[:, 0]), 0, 4).astype(int)
    number, _ = grade_models(codes, X, 5)
    found = class_model.left_out_grade_probabilities(number, 5)
    for i in (0, 7, 24):
        others = trained_on(number, np.delete(np.arange(len(codes)), i))
        truth = class_model.grade_probabilities(others, X[i : i + 1], 5)
        np.testing.assert_allclose(found[i], truth[0], atol=1e-7)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_intervals_and_densities_have_the_noise_of_labels_to_come():
    X, _ = labels(8)
    codes = np.clip(np.round(1.5 + X[:, 0]), 0, 4)
    parameters = class_model.grade_parameters(
        parameters_of({"kernels": [Kernel("rbf", 2.0)], "magnitude": [1.5], "noise": [0.2]}, 3)
    )
    model = class_model.fit(parameters, X, codes, GRADE_NOISE_SD)
    mean, sd = model.predict(X, return_std=True)
    own = 0.2 * model.scaling.y_sd
    spread = np.sqrt(sd**2 + own**2 + GRADE_NOISE_SD**2)
    low, high = model.predict_interval(X, 0.9)
    np.testing.assert_allclose(high - mean, norm.ppf(0.95) * spread, rtol=1e-6)
    np.testing.assert_allclose(model.summary(X, 0.9)[2:], [low, high], rtol=1e-6)
    np.testing.assert_allclose(
        model.log_predictive_density(X, codes), norm.logpdf(codes, mean, spread), rtol=1e-6
    )
    p = class_model.grade_probabilities(model, X, 5)
    ends = np.array([-np.inf, 0.5, 1.5, 2.5, 3.5, np.inf])
    dense = np.diff(norm.cdf((ends[:, None] - mean) / spread), axis=0).T
    np.testing.assert_allclose(p, dense, atol=1e-9)


def test_an_order_makes_numbers_and_disorder_makes_classes():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(40, 2))
    latent = X[:, 0] + 0.4 * rng.normal(size=40)
    ordered = np.digitize(latent, [-1.0, -0.3, 0.3, 1.0])
    shuffled = np.array([2, 0, 4, 1, 3])[ordered]
    assert class_model.grades_are_numbers(*grade_models(ordered, X, 5), ordered)
    assert not class_model.grades_are_numbers(*grade_models(shuffled, X, 5), shuffled)


@pytest.mark.covering
@pytest.mark.parametrize("d", [1, 20])
@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("n", [1, 2, 12])
def test_few_labels_of_one_kind_give_sensible_probabilities(n, scale, d):
    rng = np.random.default_rng(n)
    X, x = scale * rng.normal(size=(n, d)), scale * rng.normal(size=(30, d))
    for y in (1.0, -1.0):
        p = class_model.pass_probability(pass_fail_model(X, np.full(n, y)), X)
        p_told = p if y > 0 else 1.0 - p
        low, high = {1: (0.7, 0.9), 2: (0.8, 0.95), 12: (0.95, 0.97)}[n]
        assert low < p_told.min() <= p_told.max() < high
    if n == 12:
        p = class_model.pass_probability(pass_fail_model(X, np.ones(n)), x)
        assert 0.9 < p.min() <= p.max() < 0.97


def test_constant_inputs_give_the_share_of_passes():
    X, y = np.ones((40, 3)), np.repeat([1.0, -1.0], [30, 10])
    p = class_model.pass_probability(pass_fail_model(X, y), X[:1])
    assert p[0] == pytest.approx(0.75, abs=0.06)


def test_the_slope_of_many_labels_does_not_depend_on_their_order(constants):
    constants(class_model, MAX_SLOPE_LABELS=12)
    X, y = labels(7, n=30)
    model, order = pass_fail_model(X, y), np.random.default_rng(0).permutation(30)
    again = trained_on(model, order)
    assert len(class_model.slope_labels(model.trained)) == 12
    assert class_model.slope_of(again.trained) == pytest.approx(
        class_model.slope_of(model.trained), rel=1e-4
    )
