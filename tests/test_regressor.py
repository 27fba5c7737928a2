"""The regressor as scikit-learn sees it, the paper's preset, and the single-GP baseline."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import parametrize_with_checks

from soak import count
from weal import EnsembleGPRegressor, Kernel
from weal.core.paper import ensemble, random_features

rng = np.random.default_rng(3)
X = rng.normal(size=(25, 3)) * [1.0, 50.0, 0.02] + [0.0, 300.0, -1.0]
y = 2000.0 + 300.0 * np.sin(2.0 * X[:, 0]) + 4.0 * (X[:, 1] - 300.0) + rng.normal(size=25) * 40.0
x_new = rng.normal(size=(40, 3)) * [1.0, 50.0, 0.02] + [0.0, 300.0, -1.0]
for shared in (X, y, x_new):
    shared.flags.writeable = False

THREE = (Kernel("rbf", 0.6), Kernel("matern52", (1.0, 2.0, 5.0)), Kernel("rq", 3.0, alpha=0.7))
KINDS = pytest.mark.parametrize("approximation", ["features", "exact"])
MAGNITUDES = pytest.mark.parametrize("magnitude", [None, "integrated"])
DICTIONARIES = pytest.mark.parametrize("kernels", [THREE, None], ids=["given", "ours"])


def regressor(kernels, approximation, magnitude, n_frequencies=30):
    return EnsembleGPRegressor(
        kernels,
        approximation=approximation,
        magnitude=magnitude,
        n_frequencies=n_frequencies,
        noise_ratios=(1e-4, 1e-2, 0.1),
        random_state=0,
    )


CHECKED = [EnsembleGPRegressor(), EnsembleGPRegressor.paper()]
MORE_CHECKED = [
    EnsembleGPRegressor(approximation="exact", magnitude=None),
    EnsembleGPRegressor(approximation="features", n_frequencies=50),
]


@parametrize_with_checks(count(CHECKED, long=CHECKED + MORE_CHECKED))
def test_scikit_learn_finds_nothing_to_complain_of(estimator, check):
    check(estimator)


def test_it_works_at_the_end_of_a_pipeline():
    pipeline = make_pipeline(PolynomialFeatures(2), EnsembleGPRegressor(random_state=0))
    mean, std = pipeline.fit(X, y).predict(x_new, return_std=True)
    assert mean.shape == std.shape == (40,)
    assert pipeline.score(X, y) > 0.5


@pytest.mark.parametrize(("magnitude", "experts"), [(None, 3), ("integrated", 6)])
def test_grid_search_chooses_among_dictionaries(magnitude, experts):
    """Each kernel is one expert, or one for each of the noise ratios."""
    grid = {"kernels": [(Kernel("rbf", 1e-3),), THREE], "approximation": ["features", "exact"]}
    model = EnsembleGPRegressor(magnitude=magnitude, noise_ratios=(1e-3, 0.1), random_state=0)
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert search.best_params_["kernels"] == THREE
    assert search.best_estimator_.weights_.shape == (experts,)
    assert search.best_estimator_.dictionary_[:: experts // 3] == THREE


def test_a_clone_has_the_parameters_and_none_of_the_labels():
    model = EnsembleGPRegressor.paper(squared_grid=True, random_state=4).fit(X, y)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "weights_")
    assert_array_equal(copy.fit(X, y).predict(x_new), model.predict(x_new))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_come_in_and_their_names_are_kept(library):
    frames = pytest.importorskip(library)
    names = ["heat", "length", "time"]

    def table(rows):
        return frames.DataFrame(dict(zip(names, rows.T, strict=True)))

    model = EnsembleGPRegressor(THREE, random_state=0)
    model.fit(table(X), frames.Series(y), X_unlabelled=table(x_new))
    plain = EnsembleGPRegressor(THREE, random_state=0).fit(X, y, X_unlabelled=x_new)
    assert list(model.feature_names_in_) == names
    assert_array_equal(model.predict(table(x_new)), plain.predict(x_new))
    model.partial_fit(table(x_new[:1]), 1900.0)
    plain.partial_fit(x_new[0], 1900.0)
    assert_array_equal(model.predict(table(x_new)), plain.predict(x_new))
    for call in (model.predict, lambda other: model.partial_fit(other, y)):
        with pytest.raises(ValueError, match=r"(?s)feature names should match.*same order"):
            call(table(X)[["time", "heat", "length"]])


def test_lists_and_other_numbers_mean_what_arrays_mean():
    whole = np.arange(24).reshape(8, 3) ** 2 % 17
    labels = [1, 5, 2, 8, 3, 9, 4, 7]
    model = EnsembleGPRegressor(THREE, random_state=0).fit(whole.tolist(), labels)
    same = EnsembleGPRegressor(THREE, random_state=0).fit(whole.astype(np.float32), labels)
    assert_array_equal(model.predict(whole), same.predict(whole.astype(float).tolist()))


# The paper's setting


def log_evidence(C, labels):
    """Log density of N(0, C) at the labels, the obvious way."""
    _, log_det = np.linalg.slogdet(2.0 * np.pi * C)
    return -0.5 * (log_det + labels @ np.linalg.solve(C, labels))


def test_the_preset_is_the_paper_s():
    # [1, set:dictionary, set:frequencies]
    model = EnsembleGPRegressor.paper(random_state=0).fit(X, y)
    assert [kernel.family for kernel in model.dictionary_] == ["rbf"] * 11
    assert_allclose([k.length_scale for k in model.dictionary_], 10.0 ** np.arange(-4.0, 7.0))
    assert model.model_.points(x_new).shape == (11, 40, 100)
    assert model.magnitude_bounds == (1e-5, 1e5)
    assert_allclose(np.square(model.noise_bounds), (1e-5, 1e5))
    for fitted in (model.magnitude_, model.noise_):
        assert ((fitted >= 1e-5) & (fitted <= 1e5)).all()


def test_the_preset_reads_the_grid_as_squared_when_asked():
    squared = EnsembleGPRegressor.paper(squared_grid=True)
    assert_allclose([k.length_scale for k in squared.kernels], 10.0 ** (np.arange(-4.0, 7.0) / 2))


def test_the_preset_takes_changes():
    changed = EnsembleGPRegressor.paper(approximation="exact", noise_bounds=(1e-4, 1.0))
    assert changed.approximation == "exact"
    assert changed.noise_bounds == (1e-4, 1.0)
    assert len(changed.kernels) == 11


def test_hyperparameters_and_scaling_stay_as_the_first_fit_left_them():
    # [1, set:hyperparameters]
    model = EnsembleGPRegressor.paper(random_state=0).fit(X[:10], y[:10])
    fitted, kept = (model.magnitude_, model.noise_), (model.scaling_, model.dictionary_)
    model.partial_fit(X[10:], y[10:] * 3.0)
    assert_array_equal((model.magnitude_, model.noise_), fitted)
    for one, other in zip((model.scaling_, model.dictionary_), kept, strict=True):
        assert one is other
    assert model.n_labels_ == 25


def test_hyperparameters_are_the_likeliest_of_the_exact_kernel():
    # [1, set:hyperparameters]
    model = EnsembleGPRegressor.paper(random_state=0).fit(X, y)
    A, b = model.scaling_.inputs(X), model.scaling_.labels(y)
    r2 = cdist(A, A, "sqeuclidean")
    for kernel, sig2, noise in zip(
        model.dictionary_, model.magnitude_, model.noise_**2, strict=True
    ):
        K = np.exp(-0.5 * r2 / kernel.length_scale**2)
        best = log_evidence(sig2 * K + noise * np.eye(25), b)
        for up, down in ((1.1, 1.0), (0.9, 1.0), (1.0, 1.1), (1.0, 0.9)):
            near = np.clip(sig2 * up, 1e-5, 1e5), np.clip(noise * down, 1e-5, 1e5)
            assert log_evidence(near[0] * K + near[1] * np.eye(25), b) <= best + 1e-6


@pytest.mark.parametrize("prior", [None, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]])
def test_the_first_labels_go_through_the_same_weight_update(prior):
    # [1, eq:w_update, eq:EGP_prior, eq:LF]
    model = EnsembleGPRegressor.paper(prior_weights=prior, random_state=0)
    model.fit(X, y, sample_noise=np.linspace(1.0, 90.0, 25))
    noise_var = (np.linspace(1.0, 90.0, 25) / model.scaling_.y_sd) ** 2
    labels = model.scaling_.labels(y)
    log_w = np.log(np.ones(11) if prior is None else prior) + [
        log_evidence(sig2 * Phi @ Phi.T + np.diag(noise + noise_var), labels)
        for Phi, sig2, noise in zip(
            model.model_.points(X), model.magnitude_, model.noise_**2, strict=True
        )
    ]
    w = np.exp(log_w - log_w.max())
    assert_allclose(model.weights_, w / w.sum(), rtol=1e-7, atol=1e-300)
    assert model.weights_.max() < 0.999  # so that there is something to see


# The single-GP baseline


@pytest.fixture(scope="module", params=["features", "exact"])
def single(request):
    model = EnsembleGPRegressor(
        kernels=[Kernel("rbf")],
        approximation=request.param,
        fit_length_scale=True,
        magnitude=None,
        noise_bounds=(1e-5**0.5, 1e5**0.5),
        random_state=0,
    )
    return model.fit(X, y)


def test_the_baseline_s_lengthscale_is_at_least_as_likely_as_scikit_learn_s(single):
    (kernel,), (sig2,), (noise,) = single.dictionary_, single.magnitude_, single.noise_**2
    theirs = ConstantKernel() * RBF() + WhiteKernel()
    theirs = GaussianProcessRegressor(theirs, n_restarts_optimizer=5, random_state=0)
    theirs.fit(single.scaling_.inputs(X), single.scaling_.labels(y))
    ours = np.log([sig2, kernel.length_scale, noise])
    assert theirs.log_marginal_likelihood(ours) >= theirs.log_marginal_likelihood() - 1e-6


def test_the_baseline_predicts_as_scikit_learn_with_the_same_hyperparameters(single):
    # [1, set:baseline]
    (kernel,), (sig2,), (noise,) = single.dictionary_, single.magnitude_, single.noise_**2
    if single.approximation == "exact":
        signal, view = RBF(kernel.length_scale), single.scaling_.inputs
    else:
        signal, view = (
            DotProduct(0.0, sigma_0_bounds="fixed"),
            lambda rows: single.model_.points(rows)[0],
        )
    theirs = ConstantKernel(sig2) * signal + WhiteKernel(noise)
    theirs = GaussianProcessRegressor(theirs, alpha=0.0, optimizer=None)
    theirs.fit(view(X), single.scaling_.labels(y))
    mean, std_of_label = theirs.predict(view(x_new), return_std=True)
    ours, std = single.predict(x_new, return_std=True)
    assert_allclose(ours, single.scaling_.means(mean), rtol=1e-9)
    assert_allclose(std, single.scaling_.y_sd * np.sqrt(std_of_label**2 - noise), rtol=1e-6)
    assert_array_equal(single.weights_, [1.0])


# What comes out


@pytest.mark.covering
@KINDS
@MAGNITUDES
@DICTIONARIES
def test_the_density_has_unit_mass_and_adds_noise_to_what_predict_says(
    approximation, magnitude, kernels
):
    model = regressor(kernels, approximation, magnitude).fit(X, y)
    mean, std = model.predict(x_new[:3], return_std=True)
    noise = model.weights_ @ model.noise_**2 * model.scaling_.y_sd**2
    variance = std**2 + noise
    if model.ensemble_.scale.freedom[0] < np.inf and model.kernels is None:
        var = ensemble.predict(model.ensemble_, model.model_.points(x_new[:3]))[1]  # (M, 3)
        spent = model.weights_ * model.ensemble_.scale.fitted_freedom / (len(y) + 1.0)
        variance += (spent @ var + spent @ model.noise_**2) * model.scaling_.y_sd**2
    for point, center, sd in zip(x_new[:3], mean, np.sqrt(variance), strict=True):
        labels = center + np.sinh(np.linspace(-6.0, 6.0, 6001)) * sd  # to 200 sds: Student-t tails
        p = np.exp(model.log_predictive_density(np.tile(point, (6001, 1)), labels))
        assert_allclose(np.trapezoid(p, labels), 1.0, rtol=1e-6)
        assert_allclose(np.trapezoid(p * labels, labels), center, rtol=1e-6)
        assert_allclose(np.trapezoid(p * (labels - center) ** 2, labels), sd**2, rtol=1e-5)


@pytest.mark.covering
@KINDS
@MAGNITUDES
@DICTIONARIES
@pytest.mark.parametrize("block", [1, 10_000])
def test_blocks_change_nothing(approximation, magnitude, kernels, block, constants):
    def learn(model):
        model.fit(X, y, sample_noise=np.linspace(1.0, 90.0, 25))
        return model.partial_fit(x_new[:9], y[:9], sample_noise=30.0)

    whole = learn(regressor(kernels, approximation, magnitude))
    expected = *whole.predict(x_new, return_std=True), whole.log_predictive_density(X, y)
    constants(random_features, FEATURE_BLOCK_BYTES=block)
    blocked = learn(clone(whole))
    for model in (whole, blocked):
        found = *model.predict(x_new, return_std=True), model.log_predictive_density(X, y)
        for one, other in zip(found, expected, strict=True):
            assert_allclose(one, other, rtol=1e-9)


@KINDS
@MAGNITUDES
def test_more_labels_than_the_evidence_looks_at(approximation, magnitude):
    draw = np.random.default_rng(0)
    many = draw.normal(size=(600, 3))
    labels = np.sin(many[:, 0]) + many[:, 1] * many[:, 2] + draw.normal(size=600) * 0.1
    kernels = None if (magnitude, approximation) == ("integrated", "exact") else THREE
    model = regressor(kernels, approximation, magnitude, n_frequencies=100)
    mean, std = model.fit(many, labels).predict(many, return_std=True)
    assert model.n_labels_ == 600
    assert np.mean((mean - labels) ** 2) < 0.1 * labels.var()
    assert (std > 0).all()
    noise = model.weights_ @ model.noise_**2 * model.scaling_.y_sd**2
    assert_allclose(np.sqrt(noise), 0.1, rtol=0.5)
