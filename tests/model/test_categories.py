"""Models of categories: levels are exchangeable, new ones are like none, order does not matter."""

import numpy as np
import pandas as pd
import pytest

import weal
from weal import EnsembleGPRegressor, Scaling
from weal.core.constants import LEVELS_SHARE
from weal.core.extensions import model_selection
from weal.core.extensions.level_lengths import level_parameters, prior_covariance
from weal.core.extensions.model_selection import candidate_grid
from weal.core.paper.kernels import Kernel
from weal.diagnostics.effects import column_importance


def reactions(n=60, levels=(9, 5), seed=0):
    """Rows of two categories and a number, with additive effects; columns, labels and levels."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, L, n) for L in levels])
    x = rng.random(n)
    effects = [rng.standard_normal(L) for L in levels]
    y = sum(effect[code] for effect, code in zip(effects, codes.T, strict=True)) + 0.3 * x
    X = np.column_stack([*[np.eye(L)[c] for L, c in zip(levels, codes.T, strict=True)], x])
    X.flags.writeable = False
    return X, y + 0.05 * rng.standard_normal(n), codes


def test_one_hot_columns_are_one_input():
    X, y, _ = reactions()
    model = EnsembleGPRegressor(model_version="0.3").fit(X, y)
    assert model.scaling_.widths.tolist() == [9, 5, 1]
    assert model.model_.trained.setting.widths == (9, 5, 1)
    importance = column_importance(model.model_, {"a": range(9), "b": range(9, 14), "x": [14]})
    assert sum(importance.values()) == pytest.approx(1.0)
    assert importance["x"] < importance["a"]


def test_the_model_of_0_2_and_given_kernels_keep_a_column_an_input():
    X, y, _ = reactions()
    for given in ({"model_version": "0.2"}, {"kernels": [Kernel("rbf", 2.0)]}):
        model = EnsembleGPRegressor(**{"model_version": "0.3", **given}).fit(X, y)
        assert model.scaling_.widths is None
        assert not model.model_.trained.setting.widths
        np.testing.assert_allclose(model.scaling_.x_sd[:9], X[:, :9].std(axis=0))


def test_order_of_levels_does_not_matter():
    X, y, _ = reactions(80)
    order = np.r_[np.random.default_rng(1).permutation(9), 9 + np.array([3, 0, 4, 2, 1]), 14]
    one, other = (
        EnsembleGPRegressor(model_version="0.3").fit(Z[:60], y[:60]) for Z in (X, X[:, order])
    )
    mean, sd = one.predict(X[60:], return_std=True)
    again, sd_again = other.predict(X[60:, order], return_std=True)
    np.testing.assert_allclose(again, mean, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(sd_again, sd, rtol=1e-3)


def test_levels_never_measured_are_predicted_by_the_mean_with_a_wide_interval():
    X, y, codes = reactions(120)
    known = codes[:, 0] != 8
    model = EnsembleGPRegressor(model_version="0.3").fit(X[known], y[known], X_unlabelled=X)
    assert model.scaling_.widths.tolist() == [9, 5, 1]
    levels = np.zeros((10, 15))
    levels[:, 9], levels[:, 14] = 1.0, 0.5
    levels[range(9), range(9)] = 1.0  # the last row has a level without a column
    mean, sd = model.predict(levels, return_std=True)
    assert sd[8] > 3.0 * sd[:8].max()
    assert sd[9] > 3.0 * sd[:8].max()
    assert mean[8] == pytest.approx(mean[:8].mean(), abs=sd[8])
    assert mean[9] == pytest.approx(mean[8], abs=0.3 * sd[8])
    low, high = model.predict_interval(levels[8:], 0.9)
    truth = y[(codes[:, 0] == 8) & (codes[:, 1] == 0)]
    assert ((low[0] < truth) & (truth < high[0])).all()


@pytest.mark.parametrize("levels", [(1, 4), (2, 2), (500, 3)])
def test_one_level_and_500_levels(levels):
    X, y, _ = reactions(40, levels)
    model = EnsembleGPRegressor(model_version="0.3").fit(X, y)
    mean, sd = model.predict(X, return_std=True)
    assert np.isfinite(mean).all()
    assert (sd > 0).all()
    assert np.corrcoef(mean, y)[0, 1] > 0.8


def test_a_saved_model_goes_on_as_the_one_that_was_not(tmp_path):
    X, y, _ = reactions(60)
    model = EnsembleGPRegressor(model_version="0.3").fit(X[:20], y[:20], X_unlabelled=X)
    model.save(tmp_path / "model.weal")
    again = EnsembleGPRegressor.load(tmp_path / "model.weal")
    assert again.scaling_.widths.tolist() == [9, 5, 1]
    for one in (model, again):
        one.partial_fit(X[20:], y[20:])  # selects experts again
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.dictionary_ == model.dictionary_


def test_a_given_scaling_states_the_columns_of_each_input():
    X, y, _ = reactions()
    flags = X[:7, [0, 1, 14]]  # too few rows to find them
    stated = Scaling(np.zeros(3), np.ones(3), widths=np.array([2, 1]))
    assert EnsembleGPRegressor(model_version="0.3").fit(flags, y[:7]).scaling_.widths is None
    model = EnsembleGPRegressor(model_version="0.3", scaling=stated).fit(flags, y[:7])
    assert model.model_.trained.setting.widths == (2, 1)
    for wrong in ([2, 2], [3, 0], [1.5, 1.5]):
        scaling = Scaling(np.zeros(3), np.ones(3), widths=np.array(wrong))
        with pytest.raises(ValueError, match="widths of a scaling"):
            EnsembleGPRegressor(model_version="0.3", scaling=scaling).fit(flags, y[:7])


HOSTILE = [
    "=1+1",
    "",
    " ",
    "a=b",
    "x missing",
    "'; DROP TABLE label; --",
    "\u202eabc",
    "nan",
    "é",
    "e\u0301",
]


def test_hostile_names_of_levels_are_levels():
    rng = np.random.default_rng(2)
    names = [name for name in HOSTILE if name.strip()]
    code = rng.integers(0, len(names), 90)
    table = pd.DataFrame({"what": [names[n] for n in code], "x": rng.random(90)})
    learner = weal.ActiveLearner(
        table, {"model_version": "0.3"}, n_start=4, types={"what": "category"}
    )
    for _ in range(14):
        row = learner.ask()
        at = table.index[learner.candidates.index[row]]
        learner.tell(row, float(code[at]) + float(table["x"][at]))
    (found,) = learner.state.quantities.values()
    assert sum(found.selection.scaling.widths) == len(learner.candidates.plan.names)
    assert np.isfinite(learner.predict(table)).all()


def test_a_lengthscale_for_each_level_is_a_class_weighed_by_evidence():
    """The prior is a sum: a level, a deviation of each input, and one of each level."""
    widths = (1, 3, 2)
    A = np.zeros((6, 1 + 3 + 5))
    A[:, 0] = 1.0
    A[range(6), [1, 2, 2, 2, 3, 3]] = 1.0
    A[range(1, 6), range(4, 9)] = 1.0
    np.testing.assert_allclose(prior_covariance(widths), A @ A.T)
    shape = level_parameters(Kernel("rbf", 1.0, 1.0, 10.0, widths), widths)
    np.testing.assert_allclose(shape.precision @ prior_covariance(widths), np.eye(6), atol=1e-9)
    assert shape.like.widths == ()
    assert len(shape.mean) == 6


def test_levels_unlike_the_others_get_their_own_lengthscales():
    rng = np.random.default_rng(3)
    codes = np.column_stack([rng.integers(0, 4, 120), rng.integers(0, 6, 120)])
    y = 0.2 * rng.standard_normal(6)[codes[:, 1]]
    odd = codes[:, 0] == 0
    y = np.where(odd, 3.0 * rng.standard_normal(6)[codes[:, 1]], y)
    X = np.column_stack([np.eye(4)[codes[:, 0]], np.eye(6)[codes[:, 1]]])
    y = (y - y.mean()) / y.std() + 0.02 * rng.standard_normal(120)
    kernels = candidate_grid(10, (4, 6))
    found = model_selection.select_models(kernels, (1e-4, 1e-2), X, y, np.zeros(120))
    assert not found.kernels[0].widths
    assert len(found.kernels[0].length_scale) == 10
    assert found.kernels[0].length_scale[0] < min(found.kernels[0].length_scale[1:4])
    even = 2.0 * rng.standard_normal(4)[codes[:, 0]] + rng.standard_normal(6)[codes[:, 1]]
    found = model_selection.select_models(kernels, (1e-4, 1e-2), X, even, np.zeros(120))
    assert found.kernels[0].widths == (4, 6)
    assert LEVELS_SHARE < 0.5
    more = model_selection.refit_selection(found, X, even, np.zeros(120), most=6, widths=(4, 6))
    assert {len(np.atleast_1d(kernel.length_scale)) for kernel in more.kernels} <= {1, 2, 10}
