"""Which version's classes of models experts are selected from, and who keeps which."""

from pathlib import Path

import numpy as np
import pytest

import weal
from weal.campaign import config
from weal.model import checks
from weal.model.parameters import ModelParameters

GOLDEN = Path(__file__).parents[1] / "golden_0_2"


def test_new_models_have_the_present_version_and_files_of_0_2_keep_theirs(tmp_path):
    assert weal.EnsembleGPRegressor().model_version == "0.3"
    X = np.arange(12.0).reshape(6, 2)
    weal.EnsembleGPRegressor().fit(X, X[:, 0]).save(tmp_path / "new.weal")
    assert weal.EnsembleGPRegressor.load(tmp_path / "new.weal").model_version == "0.3"
    old = weal.EnsembleGPRegressor.load(GOLDEN / "model-default.weal-0.2")
    assert old.model_version == "0.2"
    old.save(tmp_path / "again.weal")
    assert weal.EnsembleGPRegressor.load(tmp_path / "again.weal").model_version == "0.2"


def test_a_learner_of_0_2_keeps_its_version_and_a_new_one_is_saved_with_its_own(tmp_path):
    old = weal.ActiveLearner.load(GOLDEN / "learner-array.weal-0.2")
    assert old.state.settings.parameters.setting.is_of_0_2
    for given, expected in ((None, "0.3"), ({"model_version": "0.2"}, "0.2")):
        learner = weal.ActiveLearner(np.arange(20.0).reshape(10, 2), given)
        learner.save(tmp_path / "learner.weal")
        again = weal.ActiveLearner.load(tmp_path / "learner.weal")
        assert again.state.settings.parameters.setting.model_version == expected


@pytest.mark.parametrize("given", ["0.1", 0.3, None, "", "0.3 "])
def test_an_unknown_version_is_refused(given):
    with pytest.raises(ValueError, match="model_version is"):
        ModelParameters(model_version=given)
    with pytest.raises(ValueError, match="model_version is"):
        config.check_settings({"model_version": given})


def test_campaigns_know_the_same_versions():
    versions = (checks.OLD_MODEL_VERSION, checks.MODEL_VERSION)
    assert versions == config.MODEL_VERSIONS
    assert config.DEFAULTS["model_version"] == checks.MODEL_VERSION
