"""Bad input gets a clear message or a right answer, and never a model that is half changed."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from three_inputs import ALL, MODELS, X, y
from weal import EnsembleGPRegressor, Kernel, Scaling
from weal.core.paper import ensemble, random_features


def regressor(kind="features", **changes):
    plain = {"n_frequencies": 10, "random_state": 0, **MODELS[kind]}
    return EnsembleGPRegressor(**{**plain, **changes})


def with_entry(array, value):
    changed = np.array(array, dtype=np.result_type(np.asarray(array), type(value)))
    changed[tuple(n // 2 for n in changed.shape)] = value
    return changed


BAD_DATA = {
    "NaN in X": ((with_entry(X, np.nan), y), ValueError, "Input X contains NaN"),
    "inf in X": ((with_entry(X, np.inf), y), ValueError, "Input X contains infinity"),
    "NaN in y": ((X, with_entry(y, np.nan)), ValueError, "Input y contains NaN"),
    "inf in y": ((X, with_entry(y, -np.inf)), ValueError, "Input y contains infinity"),
    "None in y": ((X, [None, *y[1:]]), ValueError, "None among its labels; leave out the rows"),
    "no y": ((X, None), ValueError, "requires y to be passed, but the target y is None"),
    "strings in X": (([*X.astype(str).tolist()[:11], ["red"] * 3], y), ValueError, "'red'"),
    "strings in y": ((X, ["high"] * 12), ValueError, "could not convert string to float.*high"),
    "complex X": ((X + 1j, y), ValueError, "Complex data not supported"),
    "complex y": ((X, y + 1j), ValueError, "Complex data not supported"),
    "no rows": ((X[:0], y[:0]), ValueError, r"0 sample\(s\) .*minimum of 1"),
    "no columns": ((X[:, :0], y), ValueError, r"0 feature\(s\) .*minimum of 1"),
    "1-D X": ((X[:, 0], y), ValueError, "Expected 2D array, got 1D array.*[Rr]eshape"),
    "3-D X": ((np.zeros((12, 3, 2)), y), ValueError, "dim 3"),
    "fewer labels": ((X, y[:5]), ValueError, r"inconsistent numbers of samples: \[12, 5\]"),
    "2-D y": ((X, np.column_stack([y, y])), ValueError, r"y should be a 1d array.*\(12, 2\)"),
}
BAD_NOISE = {
    "negative": -0.1,
    "negative entry": with_entry(np.ones(12), -1.0),
    "NaN": np.nan,
    "infinite": np.inf,
    "wrong length": np.ones(5),
    "2-D": np.ones((12, 1)),
    "complex": np.ones(12) + 1j,
}
BAD_PARAMETERS = [
    ({"approximation": "foo"}, "approximation is 'foo'; it must be one of.*'exact', 'features'"),
    ({"n_frequencies": 0}, "n_frequencies is 0; it must be a whole number from 1"),
    ({"n_frequencies": 2.5}, r"n_frequencies is 2\.5; it must be a whole number"),
    ({"kernels": []}, "kernels is empty; it needs one Kernel"),
    ({"kernels": ["rbf"]}, r"kernels holds 'rbf'; it needs weal\.Kernel objects"),
    ({"kernels": "rbf"}, "kernels is 'rbf'; it needs a list"),
    ({"kernels": Kernel("rbf")}, "kernels is Kernel.*; it needs a list"),
    ({"kernels": [Kernel("rbf", (1.0, 2.0))]}, "2 lengthscales, but X has 3 columns; give one"),
    ({"magnitude": -1.0}, r"magnitude must be a positive number.*got -1\.0"),
    ({"magnitude": [1.0, 2.0]}, r"magnitude must be .*each of the 3 experts; got \[1\.0, 2\.0\]"),
    ({"magnitude": "large"}, "magnitude is 'large'; it must be 'integrated', None or numbers"),
    ({"magnitude": "integrated", "noise": 0.1}, "noise and fit_length_scale go with a magnitude"),
    ({"magnitude": "integrated", "fit_length_scale": True}, "give noise_ratios"),
    ({"magnitude": "integrated", "prior_weights": [1.0] * 3}, "prior_weights must be 21 numbers"),
    ({"noise_ratios": ()}, "noise_ratios must be one or more positive numbers"),
    ({"noise_ratios": (1e-3, 0.0)}, "noise_ratios must be one or more positive numbers; got"),
    ({"noise_ratios": 0.1}, "noise_ratios must be one or more positive numbers"),
    ({"temper": 0.0}, r"temper is 0\.0; it must be above 0, and 1 at most"),
    ({"temper": 1.5}, r"temper is 1\.5; it must be"),
    ({"noise": 0.0}, "noise must be a positive number"),
    ({"noise": [1.0, np.nan, 1.0]}, "noise must be a positive number"),
    ({"magnitude_bounds": (1.0, 0.1)}, r"magnitude_bounds is \(1\.0, 0\.1\); it must be \(low, h"),
    ({"noise_bounds": (0.0, 1.0)}, "noise_bounds is .* with 0 < low <= high"),
    ({"noise_bounds": (1e-8, np.inf)}, "noise_bounds is"),
    ({"noise_bounds": (1.0, 2.0, 3.0)}, r"noise_bounds is .*it must be \(low, high\)"),
    ({"noise_bounds": 1e-3}, r"noise_bounds is 0\.001; it must be \(low, high\)"),
    ({"prior_weights": [0.5, 0.5]}, "prior_weights must be 3 numbers"),
    ({"prior_weights": [1.0, -1.0, 1.0]}, "prior_weights must be 3 numbers, none negative"),
    ({"prior_weights": [0.0, 0.0, 0.0]}, "not all zero"),
    ({"scaling": Scaling(np.zeros(2), np.ones(2))}, "3 finite x_mean .* one for each column"),
    ({"scaling": Scaling(np.zeros(3), np.zeros(3))}, "positive x_sd"),
    ({"scaling": Scaling(np.zeros(3), np.ones(3), 0.0, -1.0)}, "positive y_sd"),
    ({"scaling": Scaling(*np.ones((2, 3)), x_median=np.ones(2), x_spread=np.ones(2))}, "x_spread"),
    ({"scaling": Scaling(*np.ones((2, 3)), x_median=np.ones(3), x_spread=-np.ones(3))}, "x_spread"),
    ({"scaling": "robust"}, r"scaling is 'robust'; it needs a weal\.Scaling"),
    ({"random_state": "today"}, "'today' cannot be used to seed"),
]


class Unchanged:
    """A fitted model that must predict after the block what it predicted before."""

    def __init__(self, model):
        self.model = model

    def __enter__(self):
        self.before = self.picture()
        return self.model

    def __exit__(self, *_):
        assert sorted(vars(self.model)) == self.names
        for one, other in zip(self.before, self.picture(), strict=True):
            assert_array_equal(one, other)

    def picture(self):
        model = self.model
        self.names = sorted(vars(model))
        density = model.log_predictive_density(X, y)
        return (*model.predict(X, return_std=True), model.weights_, density, model.n_labels_)


@pytest.mark.covering
@pytest.mark.parametrize("case", BAD_DATA)
@ALL
def test_fit_refuses_bad_data_and_keeps_what_it_knew(case, kind):
    (A, b), error, message = BAD_DATA[case]
    with (
        Unchanged(regressor(kind).fit(X, y)) as model,
        pytest.raises(error, match=f"(?s){message}"),
    ):
        model.fit(A, b)


@pytest.mark.covering
@pytest.mark.parametrize("case", [case for case in BAD_DATA if case not in ("no y", "no columns")])
@ALL
def test_partial_fit_refuses_bad_data_and_keeps_what_it_knew(case, kind):
    (A, b), error, message = BAD_DATA[case]
    with (
        Unchanged(regressor(kind).fit(X, y)) as model,
        pytest.raises(error, match=f"(?s){message}"),
    ):
        model.partial_fit(A, b)


@pytest.mark.parametrize("label", [None, "high", np.nan, np.inf, 1j])
def test_partial_fit_refuses_a_single_bad_label(label):
    with Unchanged(regressor().fit(X, y)) as model, pytest.raises(ValueError, match=r"."):
        model.partial_fit(X[0], label)


def test_the_wrong_number_of_columns_is_refused_everywhere():
    with Unchanged(regressor().fit(X, y)) as model:
        for call in (
            lambda: model.predict(X[:, :2]),
            lambda: model.partial_fit(X[:, :2], y),
            lambda: model.partial_fit(X[0, :2], y[0]),
            lambda: model.log_predictive_density(X[:, :2], y),
            lambda: model.fit(X, y, X_unlabelled=X[:, :2]),
        ):
            with pytest.raises(ValueError, match=r"X has 2 features, but .* expecting 3 features"):
                call()


def test_prediction_refuses_bad_inputs():
    model = regressor().fit(X, y)
    for bad in (with_entry(X, np.nan), X[:0], X[0], X + 1j, [["a", "b", "c"]]):
        with pytest.raises(ValueError, match=r"NaN|0 sample|Expected 2D|Complex|needs numbers"):
            model.predict(bad)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[12, 3\]"):
        model.log_predictive_density(X, y[:3])


@pytest.mark.parametrize("case", BAD_NOISE)
def test_bad_noise_of_labels_is_refused(case):
    message = "sample_noise must be a finite standard deviation of at least 0 .*12 labels.*; got"
    with Unchanged(regressor().fit(X, y)) as model:
        for learn in (model.fit, model.partial_fit):
            with pytest.raises(ValueError, match=message):
                learn(X, y, sample_noise=BAD_NOISE[case])


@pytest.mark.parametrize(("changes", "message"), BAD_PARAMETERS)
def test_a_bad_parameter_is_refused_at_fit_and_changes_nothing(changes, message):
    with Unchanged(regressor().fit(X, y)) as model:
        before = model.get_params()
        model.set_params(**changes)
        with pytest.raises((ValueError, TypeError), match=message):
            model.fit(X, y)
        model.set_params(**before)


def test_a_refused_first_fit_leaves_the_model_unfitted():
    model = regressor(n_frequencies=0)
    with pytest.raises(ValueError, match="n_frequencies"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="not fitted yet"):
        model.predict(X)
    model.set_params(n_frequencies=5)
    model.partial_fit(X[:, :2], y)  # nothing is remembered of the three columns
    assert model.n_features_in_ == 2


@pytest.mark.parametrize("call", ["predict", "save", "log_predictive_density"])
def test_a_model_without_labels_says_that_it_is_not_fitted(call):
    arguments = {"predict": (X,), "save": ("nowhere",), "log_predictive_density": (X, y)}
    with pytest.raises(ValueError, match="is not fitted yet"):
        getattr(regressor(), call)(*arguments[call])


@ALL
def test_data_absurdly_far_away_is_refused_and_changes_nothing(kind):
    far = "more than 1e\\+100 standard deviations .*check its unit"
    with Unchanged(regressor(kind).fit(X, y)) as model:
        for bad in (1e200, -1.7e308):
            with pytest.raises(ValueError, match=f"y has a value {far}"):
                model.partial_fit(X[0], bad)
            with pytest.raises(ValueError, match=f"X has a value {far}"):
                model.partial_fit([bad, 0.0, 0.0], 100.0)
            with pytest.raises(ValueError, match=f"X has a value {far}"):
                model.predict([[0.0, 0.0, bad]])
        with pytest.raises(ValueError, match=f"sample_noise has a value {far}"):
            model.partial_fit(X[0], y[0], sample_noise=1e200)


@ALL
def test_a_fold_that_breaks_off_changes_nothing(kind, monkeypatch, constants):
    constants(random_features, FEATURE_BLOCK_BYTES=1)  # one label for each block
    folds = []

    def interrupted(*arguments):
        folds.append(arguments)
        if len(folds) == 4:
            raise KeyboardInterrupt
        return update_many(*arguments)

    update_many = ensemble.update_many
    with Unchanged(regressor(kind).fit(X, y)) as model, monkeypatch.context() as patch:
        patch.setattr(ensemble, "update_many", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X, y)
