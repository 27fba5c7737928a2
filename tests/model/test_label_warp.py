"""A model that bends its labels: every unit right, and bent only where that is likelier."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.integrate import quad

from weal import ActiveLearner, EnsembleGPRegressor, Kernel
from weal.core.extensions import label_warp as bends
from weal.core.extensions.label_warp import IDENTITY_WARP, fit_warp
from weal.model.expert_selection import MIN_LABELS_FOR_WARP
from weal.model.training import refresh_after

rng = np.random.default_rng(12)
X = rng.normal(size=(45, 3)) * [1.0, 40.0, 0.1]
H = 0.8 * np.sin(1.5 * X[:, 0]) + 0.02 * X[:, 1] + 0.1 * rng.normal(size=45)
y = 20.0 + 7.0 * np.exp(1.5 * H)  # a long tail
x_new = rng.normal(size=(5, 3)) * [1.2, 50.0, 0.12]
for shared in (X, H, y, x_new):
    shared.flags.writeable = False

THREE = (Kernel("rbf", 0.9), Kernel("matern52", (1.0, 2.0, 5.0)), Kernel("rq", 3.0, alpha=0.7))
MODELS = {
    "default": EnsembleGPRegressor(warp="asinh"),
    "default on features": EnsembleGPRegressor(
        warp="asinh", approximation="features", n_frequencies=40, random_state=0
    ),
    "integrated": EnsembleGPRegressor(THREE, noise_ratios=(1e-3, 0.3), warp="asinh"),
    "fitted": EnsembleGPRegressor(THREE, magnitude=None, warp="asinh"),
}
NOISE = np.where(np.arange(45) % 4 == 0, 1.5, 0.0)


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param].fit(X, y, sample_noise=NOISE)


def by_hand(model):
    """The same model of labels that were bent before, and the bend, from labels to those."""
    scale = model.scaling_
    bend = fit_warp((y - scale.y_mean) / scale.y_sd)
    scaled = (y - scale.y_mean) / scale.y_sd
    z = (np.arcsinh((scaled - bend.median) / bend.spread) - bend.mean) / bend.sd
    slope = 1.0 / (bend.sd * bend.spread * np.hypot(1.0, (scaled - bend.median) / bend.spread))
    params = {**model.get_params(), "warp": None}
    plain = EnsembleGPRegressor(**params).fit(X, z, sample_noise=NOISE / scale.y_sd * slope)

    def back(z):
        u = bend.mean + bend.sd * np.asarray(z)
        return scale.y_mean + scale.y_sd * (bend.median + bend.spread * np.sinh(u))

    return plain, back


def test_quantiles_are_those_of_a_model_of_bent_labels(model):
    plain, back = by_hand(model)
    levels = [0.01, 0.2, 0.5, 0.9]
    theirs = back(plain.predict_quantiles(x_new, levels))
    assert_allclose(model.predict_quantiles(x_new, levels), theirs, rtol=1e-5)
    ends = back(plain.predict_interval(x_new, 0.8))
    assert_allclose(model.predict_interval(x_new, 0.8), ends, rtol=1e-5)


def test_the_density_is_that_of_a_model_of_bent_labels_times_the_slope(model):
    plain, back = by_hand(model)
    z, h = np.linspace(-1.5, 2.0, 5), 1e-5
    slope = 2.0 * h / (back(z + h) - back(z - h))
    theirs = plain.log_predictive_density(x_new, z) + np.log(slope)
    assert_allclose(model.log_predictive_density(x_new, back(z)), theirs, atol=1e-4)


def test_the_density_integrates_to_one_and_agrees_with_the_quantiles(model):
    point = x_new[:1]
    low, middle, high = model.predict_quantiles(point, [1e-4, 0.6, 1.0 - 1e-4])[:, 0]
    inside = [
        quad(lambda label: np.exp(model.log_predictive_density(point, [label])[0]), *pair)[0]
        for pair in ((low, middle), (middle, high))
    ]
    assert_allclose(inside, [0.6 - 1e-4, 0.4 - 1e-4], atol=2e-5)


def test_mean_and_sd_are_those_of_quadrature(model, constants):
    """Normal experts of variance `magnitude v`, as everywhere; the label that f makes expected.

    As if the tails of normals were believed: where little is known, means are nearer the medians
    (`core/test_bend.py`).
    """
    constants(bends, MAX_WARPED_MEAN_VARIANCE=np.inf)
    plain, back = by_hand(model)
    ens = plain.ensemble_
    mu, v = ens.experts.predict(plain.model_.points(x_new))
    ratios = np.broadcast_to(ens.noise_at(plain.model_.scaled_inputs(x_new)), v.shape)
    sd, noise = np.sqrt(ens.magnitude[:, None] * v), np.sqrt(ens.magnitude[:, None] * ratios)
    x, p = np.polynomial.hermite_e.hermegauss(60)
    p = p / p.sum()
    unit = plain.scaling_
    f = unit.y_mean + unit.y_sd * (mu[..., None] + sd[..., None] * x)  # (M, N, 60)
    label = back(f[..., None] + unit.y_sd * noise[..., None, None] * x) @ p
    means = label @ p
    mean = ens.w @ means
    var = ens.w @ ((label**2) @ p - means**2 + (means - mean) ** 2)
    ours = model.predict(x_new, return_std=True)
    assert_allclose(ours[0], mean, rtol=1e-5)
    assert_allclose(ours[1], np.sqrt(var), rtol=1e-4)


def test_a_long_tail_is_better_predicted_bent():
    rows, held = slice(0, 35), slice(35, None)
    log_p = [
        EnsembleGPRegressor(warp=warp)
        .fit(X[rows], y[rows])
        .log_predictive_density(X[held], y[held])
        for warp in ("asinh", None)
    ]
    assert log_p[0].mean() > log_p[1].mean() + 0.2


def test_auto_bends_what_has_a_tail_and_nothing_else():
    assert EnsembleGPRegressor(warp="auto").fit(X, y).model_.trained.warp != IDENTITY_WARP
    auto, plain = (EnsembleGPRegressor(warp=warp).fit(X, H) for warp in ("auto", None))
    assert auto.model_.trained.warp == IDENTITY_WARP
    assert_array_equal(auto.predict(x_new), plain.predict(x_new))
    few = EnsembleGPRegressor(warp="auto").fit(
        X[: MIN_LABELS_FOR_WARP - 1], y[: MIN_LABELS_FOR_WARP - 1]
    )
    assert few.model_.trained.warp == IDENTITY_WARP


@pytest.mark.parametrize("seed", range(3))
def test_auto_does_not_warp_labels_that_are_nearly_all_equal(seed):
    """A peak in a plain: the mean of warped labels would be decades larger than any label."""
    draw = np.random.default_rng(seed)
    points = draw.uniform(-2.0, 6.0, (530, 2))
    f = points[:, 0] * np.exp(-(points**2).sum(axis=1))
    seen, held = slice(0, 30), slice(30, None)
    ours, plain, of_0_2 = (
        EnsembleGPRegressor(**options).fit(points[seen], f[seen])
        for options in ({}, {"warp": None}, {"model_version": "0.2"})
    )
    assert ours.model_.trained.warp == IDENTITY_WARP
    assert_array_equal(ours.predict(points[held]), plain.predict(points[held]))
    assert of_0_2.model_.trained.warp != IDENTITY_WARP  # stores of 0.2 predict what they did


def test_auto_thinks_again_when_experts_are_settled_anew():
    model = EnsembleGPRegressor(warp="auto").fit(X[:20], y[:20])
    model.partial_fit(X[20:], y[20:])
    assert model.model_.trained.warp != IDENTITY_WARP
    settled = model.model_.trained.n_selection_labels
    assert refresh_after(settled) > 45  # settled by some of the labels that came later
    given = EnsembleGPRegressor(THREE, warp="auto").fit(X, y)
    assert given.model_.trained.warp == IDENTITY_WARP


@pytest.mark.parametrize("warp", ["asinh", "auto"])
def test_labels_one_by_one_are_labels_together(warp):
    one, many = (EnsembleGPRegressor(warp=warp).fit(X[:20], y[:20]) for _ in range(2))
    for x, label in zip(X[20:], y[20:], strict=True):
        one.partial_fit(x, label)
    many.partial_fit(X[20:], y[20:])
    assert_allclose(one.predict(x_new, True), many.predict(x_new, True), rtol=1e-5)


def test_labels_are_bent_by_evidence_unless_somebody_says_no():
    assert EnsembleGPRegressor().warp == "auto"
    assert EnsembleGPRegressor().fit(X, y).model_.trained.warp != IDENTITY_WARP
    plain = EnsembleGPRegressor(warp=None).fit(X, y)
    assert plain.model_.trained.warp == IDENTITY_WARP


@pytest.mark.parametrize("warp", ["log", True, 3])
def test_other_warps_are_refused(warp):
    with pytest.raises(ValueError, match=r"warp is .*; it must be"):
        EnsembleGPRegressor(warp=warp).fit(X, y)


def test_a_bent_model_is_saved_and_learns_on(model, tmp_path):
    model.save(tmp_path / "model")
    again = EnsembleGPRegressor.load(tmp_path / "model")
    assert again.model_.trained.warp == model.model_.trained.warp
    assert_array_equal(again.predict(x_new, True), model.predict(x_new, True))
    assert_array_equal(again.predict_interval(x_new), model.predict_interval(x_new))
    assert_array_equal(again.log_predictive_density(X, y), model.log_predictive_density(X, y))
    for one in (again, before := EnsembleGPRegressor.load(tmp_path / "model")):
        one.partial_fit(x_new, [30.0, 25.0, 90.0, 22.0, 40.0], sample_noise=0.5)
    assert_array_equal(again.predict(X), before.predict(X))


def learner(warp="asinh", acquisition="auto", told=12, **options):
    found = ActiveLearner(
        X, EnsembleGPRegressor(warp=warp), acquisition, n_start=8, seed=1, **options
    )
    found.tell(list(range(told)), y[:told])
    return found


@pytest.mark.parametrize("acquisition", ["auto", "ivr", "igs"])
def test_a_learner_believes_what_its_model_does(acquisition):
    ours = learner(acquisition=acquisition, validation=(X[30:36], y[30:36]))
    watch = ours.watch(x_new)
    for _ in range(9):
        query = ours.ask()
        mean, sd = ours.model.predict(X[[query]], return_std=True)
        assert_allclose(ours.history[-1]["mean"], mean[0], rtol=1e-6)
        assert_allclose(ours.history[-1]["std"], sd[0], rtol=1e-5)
        ours.tell(query, y[query], noise=0.5 * (query % 2))
        assert_allclose(watch.predict(), ours.model.predict(x_new, True), rtol=1e-5)
        labels = np.array([21.0, 25.0, 30.0, 60.0, 22.0])
        theirs = ours.model.log_predictive_density(x_new, labels)
        assert_allclose(watch.log_predictive_density(labels), theirs, atol=1e-5)
        sds = ours.model.predict(X[ours.candidates.present], return_std=True)[1]
        assert ours.predicted_error() == pytest.approx(np.sqrt((sds**2).mean()), rel=1e-4)


def test_a_saved_learner_goes_on_as_the_unbroken_one(tmp_path):
    ours = learner(warp="auto", told=32)
    ours.save(tmp_path / "learner")
    again = ActiveLearner.load(tmp_path / "learner")
    assert again.model.trained.warp == ours.model.trained.warp != IDENTITY_WARP
    for _ in range(6):
        query = ours.ask()
        assert again.ask() == query
        ours.tell(query, y[query])
        again.tell(query, y[query])
    assert_allclose(again.model.predict(x_new), ours.model.predict(x_new), rtol=1e-9)


def test_intervals_of_skewed_labels_cover():
    draw = np.random.default_rng(3)
    inside = []
    for _ in range(12):
        points = draw.normal(size=(90, 2))
        labels = np.exp(np.sin(points[:, 0]) + 0.5 * points[:, 1] + 0.3 * draw.normal(size=90))
        low, high = MODELS["default"].fit(points[:50], labels[:50]).predict_interval(points[50:])
        inside.append((low <= labels[50:]) & (labels[50:] <= high))
    # 480 labels of 12 functions: 4 standard errors, were they independent, are 5 %
    assert abs(np.mean(inside) - 0.9) < 4.0 * np.sqrt(0.09 / 480)
    assert stats.skew(labels) > 1.0
