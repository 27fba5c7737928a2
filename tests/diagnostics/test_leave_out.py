"""The probability that an input matters, and columns that could be left out of the sheet."""

import numpy as np
import pytest

from weal import ActiveLearner, EnsembleGPRegressor, open_campaign
from weal.diagnostics import effects

pd = pytest.importorskip("pandas")


def labels(t, d, noise=0.02, seed=0):
    """Inputs, and labels of a function of the second and third that is not additive."""
    rng = np.random.default_rng([seed, t, d])
    X = rng.uniform(-1.0, 1.0, (t, d))
    y = np.sin(3.0 * X[:, 1] + 1.5 * X[:, 2])
    return X, y + noise * rng.standard_normal(t)


def test_the_probability_of_inputs_that_matter_is_1_and_of_others_small():
    X, y = labels(60, 6)
    found = EnsembleGPRegressor(model_version="0.3").fit(X, y).input_importance()
    assert list(found)[:2] == ["x1", "x2"]
    assert found["x1"] == found["x2"] == pytest.approx(1.0)
    assert max(found[f"x{n}"] for n in (0, 3, 4, 5)) < 0.1


def test_labels_of_noise_say_of_no_input_that_it_can_be_left_out():
    rng = np.random.default_rng(3)
    model = (
        EnsembleGPRegressor(model_version="0.3")
        .fit(rng.standard_normal((30, 4)), rng.standard_normal(30))
        .model_
    )
    assert effects.columns_to_leave_out(model, effects.columns_of(list("abcd"), None)) == []


def test_few_labels_say_nothing():
    X, y = labels(12, 5, noise=0.0)
    model = EnsembleGPRegressor(model_version="0.3").fit(X, y).model_
    assert effects.columns_to_leave_out(model, effects.columns_of(list("abcde"), None)) == []


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_units_of_inputs_and_labels_do_not_matter(unit):
    X, y = labels(40, 5)
    here, there = (
        EnsembleGPRegressor(model_version="0.3").fit(X * scale, unit_y * y).input_importance()
        for scale, unit_y in ((np.ones(5), 1.0), (np.array([unit, 1, 1 / unit, 1, unit]), unit))
    )
    assert there == pytest.approx(here, abs=1e-3)


def test_a_model_of_0_2_believes_in_all_inputs():
    X, y = labels(40, 5)
    found = EnsembleGPRegressor(model_version="0.2").fit(X, y).input_importance()
    assert set(found.values()) == {1.0}


def test_a_saved_model_and_a_replayed_learner_report_the_same(tmp_path):
    X, y = labels(40, 5)
    model = EnsembleGPRegressor(model_version="0.3").fit(X, y)
    model.save(tmp_path / "model.weal")
    assert EnsembleGPRegressor.load(tmp_path / "model.weal").input_importance() == (
        model.input_importance()
    )
    learner = ActiveLearner(X, {"model_version": "0.3"})
    learner.tell(range(40), y)
    learner.save(tmp_path / "learner.weal")
    again = ActiveLearner.load(tmp_path / "learner.weal")
    assert again.input_importance() == learner.input_importance()


def test_a_category_enters_and_leaves_as_one_input():
    X, y = labels(60, 4)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    frame["operator"] = rng.choice(["ann", "bob", "cy", "dan"], 60)
    frame["solvent"] = rng.choice(["THF", "DMF", "water"], 60)
    y = y + frame["solvent"].map({"THF": 0.0, "DMF": 1.0, "water": -1.0}).to_numpy()
    learner = ActiveLearner(frame, {"model_version": "0.3"})
    learner.tell(range(60), y)
    found = learner.input_importance()
    assert set(found) == {"a", "b", "c", "d", "operator", "solvent"}
    assert found["solvent"] > 0.95
    assert found["operator"] < 0.2
    each = learner.model.input_importance_
    at = effects.columns_of(learner.candidates.input_names, learner.plan)["operator"]
    assert len(at) == 4
    assert len(set(each[at].tolist())) == 1


def test_status_names_the_columns_that_could_be_left_out():
    X, y = labels(60, 5)
    frame = pd.DataFrame(X, columns=["pressure", "heat", "time", "operator", "mass"])
    frame.insert(0, "id", [f"r{n}" for n in range(60)])
    frame["y"] = y
    with open_campaign(
        "alloys", "memory:", model_version="0.3", pool=frame, target="y", by="ann"
    ) as campaign:
        status = campaign.status()
        assert set(status.beliefs.leave_out) == {"pressure", "operator", "mass"}
        assert status.beliefs.probability["heat"] == pytest.approx(1.0)
        text = str(status)
    assert "pressure, operator, mass: they could be left out of the sheet" in text
    assert "(probability that they matter below 5 %)" in text
    assert "1e+06" not in text
