"""Laws of the regressor: order and chunks of labels, units, noise of labels, random state.

Where hyperparameters are fitted again, they are found to about 1e-5 (the finest grid of the search
over the noise ratio), and so are predictions; where they are given, to rounding. Experts that
follow the labels climb to lengthscales that are found to about 1e-4.
"""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from soak import count
from weal import EnsembleGPRegressor, Kernel, Scaling
from weal.core.paper.kernels import correlation

DICTIONARY = (Kernel("rbf", 0.8), Kernel("matern52", 2.0), Kernel("rq", 5.0, alpha=0.6))
WITH_OFFSET = tuple(Kernel(k.family, k.length_scale, k.alpha, 10.0) for k in DICTIONARY)
FITTED = {"kernels": DICTIONARY, "magnitude": None, "condition": False}
GIVEN = {"kernels": WITH_OFFSET}
MODELS = {
    "features": {**FITTED, "approximation": "features"},
    "exact": {**FITTED, "approximation": "exact"},
    "integrated features": {**GIVEN, "approximation": "features"},
    "integrated exact": {**GIVEN, "approximation": "exact"},
    "integrated inducing": {**GIVEN, "approximation": "inducing"},
    "default": {},
}
FIXED = [name for name in MODELS if name != "default"]  # dictionaries that stay
LASTING = [name for name in FIXED if "inducing" not in name]  # whom the first labels tell nothing
ALL = pytest.mark.parametrize("model", MODELS)
KINDS = pytest.mark.parametrize("model", ["features", "exact"])
SEEDS = st.integers(0, 10_000)
FEW = settings(max_examples=count(6, long=12), deadline=None)
EXACTLY = {"rtol": 1e-7, "atol": 1e-9}
REFITTED = {"rtol": 1e-4, "atol": 1e-4}


def problem(seed):
    """Points (N, d), labels (N,) of sd about 1 and new points, of some smooth noisy function."""
    rng = np.random.default_rng(seed)
    N, d = int(rng.integers(8, 25)), int(rng.integers(3, 6))
    X = rng.normal(size=(N + 10, d))
    w = rng.normal(size=(2, d))
    y = np.sin(X @ w[0]) + 0.4 * X @ w[1] + 0.3 * rng.normal(size=N + 10)
    for shared in (X, y):
        shared.flags.writeable = False
    return X[:N], y[:N], X[N:], y[N:]


def regressor(model="features", **changes):
    plain = {"n_frequencies": 20, "noise_bounds": (1e-3**0.5, 1e5**0.5), "random_state": 7}
    ratios = {"noise_ratios": (1e-4, 1e-2, 1.0)}
    return EnsembleGPRegressor(**{**plain, **ratios, **MODELS[model], **changes})


def settled(model):
    """The same model with scaling, dictionary and hyperparameters of a fit held fixed."""
    twin = clone(model).set_params(scaling=model.scaling_)
    if model.magnitude == "integrated":
        return twin
    return twin.set_params(
        kernels=model.dictionary_,
        magnitude=model.magnitude_,
        noise=model.noise_,
        fit_length_scale=False,
    )


def picture(model, X, y):
    """All that can be asked of a model at X: means, sds, log densities of y, weights."""
    return (
        *model.predict(X, return_std=True),
        model.log_predictive_density(X, y),
        model.weights_,
    )


def assert_same(one, other, **tolerance):
    for a, b in zip(one, other, strict=True):
        assert_allclose(a, b, **(tolerance or EXACTLY))


@pytest.mark.parametrize(
    ("model", "changes"),
    [(name, {}) for name in LASTING]
    + [(kind, {"fit_length_scale": True}) for kind in ("features", "exact")],
)
@given(seed=SEEDS, cuts=st.lists(st.integers(1, 24), max_size=4), sd=st.sampled_from([0.0, 0.3]))
@FEW
def test_fit_equals_fit_of_some_and_partial_fit_of_the_rest(model, changes, seed, cuts, sd):
    X, y, x_new, y_new = problem(seed)
    whole = regressor(model, **changes).fit(X, y, sample_noise=sd)
    parts = np.split(np.arange(len(y)), sorted({min(cut, len(y) - 1) for cut in cuts}))
    pieces = settled(whole).fit(X[parts[0]], y[parts[0]], sample_noise=sd)
    for rows in parts[1:]:
        pieces.partial_fit(X[rows], y[rows], sample_noise=sd)
    assert pieces.n_labels_ == whole.n_labels_ == len(y)
    assert_same(picture(pieces, x_new, y_new), picture(whole, x_new, y_new))


@ALL
@given(seed=SEEDS)
@FEW
def test_a_first_partial_fit_is_a_fit(model, seed):
    X, y, x_new, y_new = problem(seed)
    first = regressor(model).partial_fit(X, y, sample_noise=0.1)
    fit = regressor(model).fit(X, y, sample_noise=0.1)
    for one, other in zip(picture(first, x_new, y_new), picture(fit, x_new, y_new), strict=True):
        assert_array_equal(one, other)


@ALL
@given(seed=SEEDS)
@FEW
def test_order_of_labels_is_irrelevant(model, seed):
    X, y, x_new, y_new = problem(seed)
    order = np.random.default_rng(seed).permutation(len(y))
    sd = np.linspace(0.0, 1.0, len(y))
    forth = regressor(model).fit(X, y, sample_noise=sd)
    if model in FIXED:
        mixed = settled(forth).fit(X[order], y[order], sample_noise=sd[order])
        assert_same(picture(mixed, x_new, y_new), picture(forth, x_new, y_new))
    refitted = regressor(model).fit(X[order], y[order], sample_noise=sd[order])
    assert_same(picture(refitted, x_new, y_new), picture(forth, x_new, y_new), **REFITTED)


HELD = {"magnitude": [1.0, 2.0, 0.5], "noise": 0.05**0.5}
UNITS = pytest.mark.parametrize(
    ("model", "fixed"), [(name, {}) for name in MODELS] + [("features", HELD), ("exact", HELD)]
)


@UNITS
@given(
    seed=SEEDS, power=st.floats(-6, 6), shift=st.floats(-100, 100), sign=st.sampled_from([-1, 1])
)
@example(seed=1, power=12.0, shift=0.0, sign=1)
@example(seed=2, power=-12.0, shift=30.0, sign=-1)
@example(seed=3, power=6.0, shift=-100.0, sign=1)
@FEW
def test_units_of_labels_change_nothing_else(model, fixed, seed, power, shift, sign):
    X, y, x_new, y_new = problem(seed)
    scale = sign * 10.0**power

    def theirs(labels):
        return scale * (labels + shift)

    plain = regressor(model, **fixed).fit(X, y, sample_noise=0.1)
    other = regressor(model, **fixed)
    other.fit(X, theirs(y), sample_noise=0.1 * abs(scale))
    mean, std, log_p, w = picture(other, x_new, theirs(y_new))
    back = (mean / scale - shift, std / abs(scale), log_p + np.log(abs(scale)), w)
    tolerance = EXACTLY if fixed or "integrated" in model else REFITTED
    assert_same(back, picture(plain, x_new, y_new), **tolerance)


@UNITS
@given(
    seed=SEEDS,
    powers=st.lists(st.floats(-6, 6), min_size=5, max_size=5),
    shifts=st.lists(st.floats(-100, 100), min_size=5, max_size=5),
)
@example(seed=4, powers=[12.0, -12.0, 0.0, 6.0, -6.0], shifts=[0.0, 100.0, -100.0, 0.0, 50.0])
@FEW
def test_units_of_inputs_change_nothing(model, fixed, seed, powers, shifts):
    X, y, x_new, y_new = problem(seed)
    d = X.shape[1]

    def theirs(points):
        return 10.0 ** np.array(powers[:d]) * (points + shifts[:d])

    plain = regressor(model, **fixed).fit(X, y, X_unlabelled=x_new)
    other = regressor(model, **fixed)
    other.fit(theirs(X), y, X_unlabelled=theirs(x_new))
    tolerance = EXACTLY if fixed or "integrated" in model else REFITTED
    expected = picture(plain, x_new, y_new)
    assert_same(picture(other, theirs(x_new), y_new), expected, **tolerance)


@pytest.mark.covering
@ALL
@pytest.mark.parametrize("condition", [False, True])
@given(seed=SEEDS)
@FEW
def test_unlabelled_points_enter_the_scaling_of_inputs_and_nothing_else(model, condition, seed):
    X, y, x_new, y_new = problem(seed)
    pool = 3.0 * x_new + 1.0
    known = np.concatenate([X, pool])
    fit = regressor(model, condition=condition).fit(X, y, X_unlabelled=pool)
    if not condition:
        assert_allclose(fit.scaling_.x_mean, known.mean(axis=0))
        assert_allclose(fit.scaling_.x_sd, known.std(axis=0))
    assert_allclose([fit.scaling_.y_mean, fit.scaling_.y_sd], [y.mean(), y.std()])
    given = regressor(model, scaling=fit.scaling_).fit(X, y)
    for one, other in zip(picture(given, x_new, y_new), picture(fit, x_new, y_new), strict=True):
        assert_array_equal(one, other)


@ALL
@given(seed=SEEDS, random_state=st.integers(0, 2**32 - 2))
@FEW
def test_the_same_random_state_gives_the_same_bits(model, seed, random_state):
    X, y, x_new, y_new = problem(seed)
    first, again, other = (
        picture(regressor(model, random_state=state).fit(X, y), x_new, y_new)
        for state in (random_state, np.random.RandomState(random_state), random_state + 1)
    )
    for a, b, c in zip(first, again, other, strict=True):
        assert_array_equal(a, b)
        assert np.array_equal(a, c) == ("features" not in model)


@given(seed=SEEDS)
@FEW
def test_orthogonal_frequencies_are_other_frequencies(seed):
    X, y, x_new, _ = problem(seed)
    plain, orthogonal = (regressor(orthogonal=choice).fit(X, y) for choice in (False, True))
    assert not np.array_equal(plain.predict(x_new), orthogonal.predict(x_new))


# Noise of labels; scaling and hyperparameters are given, in units that are not those of y


def known(model, d, noise=0.05**0.5):
    given = Scaling(np.full(d, 0.2), np.full(d, 1.5), y_mean=0.3, y_sd=4.0)
    return regressor(model, magnitude=[1.0, 2.0, 0.5], noise=noise, scaling=given)


@KINDS
@given(seed=SEEDS, wild=st.floats(-20, 20))
@FEW
def test_a_label_of_huge_noise_is_ignored(model, seed, wild):
    X, y, x_new, y_new = problem(seed)
    without = known(model, X.shape[1]).fit(X, y)
    noisy = known(model, X.shape[1])
    noisy.fit(np.vstack([X, X[0]]), [*y, wild], sample_noise=[0.0] * len(y) + [1e8])
    assert_same(picture(noisy, x_new, y_new), picture(without, x_new, y_new))


@KINDS
@given(seed=SEEDS, sd=st.floats(0.01, 5))
@FEW
def test_known_noise_adds_to_the_model_s(model, seed, sd):
    X, y, x_new, _ = problem(seed)
    told = known(model, X.shape[1]).fit(X, y, sample_noise=sd)
    each = known(model, X.shape[1]).fit(X, y, sample_noise=np.full(len(y), sd))
    added = known(model, X.shape[1], noise=(0.05 + (sd / 4.0) ** 2) ** 0.5).fit(X, y)
    for one, other in ((told, each), (told, added)):
        assert_same(
            (*one.predict(x_new, return_std=True), one.weights_),
            (*other.predict(x_new, return_std=True), other.weights_),
        )


@KINDS
@given(seed=SEEDS, k=st.integers(2, 5), sd=st.floats(0.5, 3))
@FEW
def test_replicates_tell_what_their_mean_tells(model, seed, k, sd):
    """K labels of noise sd^2 + n are worth one, their mean, of noise (sd^2 + n) / k."""
    X, y, x_new, y_new = problem(seed)
    n = 1e-3  # the model's own noise variance; 4.0 is the sd of the scaling above
    rest = np.sqrt((sd**2 + 16.0 * n) / k - 16.0 * n)
    replicates = y[0] + np.random.default_rng(seed).normal(size=k)
    many = known(model, X.shape[1], noise=n**0.5).fit(X[1:], y[1:])
    many.partial_fit(np.tile(X[0], (k, 1)), replicates, sample_noise=sd)
    mean = known(model, X.shape[1], noise=n**0.5).fit(X[1:], y[1:])
    mean.partial_fit(X[0], replicates.mean(), sample_noise=rest)
    assert_same(picture(many, x_new, y_new), picture(mean, x_new, y_new))


@ALL
@given(seed=SEEDS)
@FEW
def test_no_known_noise_is_noise_zero(model, seed):
    X, y, x_new, y_new = problem(seed)
    none = regressor(model).fit(X, y)
    zero = regressor(model).fit(X, y, sample_noise=np.zeros(len(y)))
    for one, other in zip(picture(none, x_new, y_new), picture(zero, x_new, y_new), strict=True):
        assert_array_equal(one, other)


@given(seed=SEEDS)
@FEW
def test_noise_that_is_known_is_not_fitted_again(seed):
    """Labels of known noise n: the noise on top is fitted as if the bounds were n higher."""
    X, y, _, _ = problem(seed)
    n = (0.3 / y.std()) ** 2
    told = regressor("exact").fit(X, y, sample_noise=0.3)
    plain = regressor("exact", noise_bounds=((1e-3 + n) ** 0.5, (1e5 + n) ** 0.5)).fit(X, y)
    A, b = told.scaling_.inputs(X), told.scaling_.labels(y)
    for m, kernel in enumerate(told.dictionary_):
        K, likelihoods = correlation(kernel, A, A), []
        for sig2, noise in (
            (told.magnitude_[m], told.noise_[m] ** 2 + n),
            (plain.magnitude_[m], plain.noise_[m] ** 2),
        ):
            C = sig2 * K + noise * np.eye(len(b))
            likelihoods.append(-0.5 * (np.linalg.slogdet(C)[1] + b @ np.linalg.solve(C, b)))
        assert_allclose(*likelihoods, atol=1e-6)
