"""Plain mistakes in Python are named, with what to write instead."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from weal import ActiveLearner, EnsembleGPRegressor

POOL = pd.DataFrame(
    {"T": np.linspace(0.0, 1.0, 8), "p": np.linspace(1.0, 3.0, 8) ** 2, "s": list("abababab")},
    index=[f"r{n}" for n in range(8)],
)


@pytest.fixture
def learner():
    made = ActiveLearner(POOL, n_start=4)
    made.tell(list(POOL.index[:5]), [1.0, 3.0, 2.0, 5.0, 4.0])
    return made


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_points_without_a_column_are_refused_with_its_name(learner, kind):
    with pytest.raises(ValueError, match="the table has no column 's'; it has T, p"):
        learner.predict(kind({"T": [0.5], "p": [2.0]}))


def test_a_series_holds_labels_by_id(learner):
    learner.tell(pd.Series([7.0, 8.5], index=["r6", "r5"]))
    found = {label.name: label.y for label in learner.labels}
    assert (found["r6"], found["r5"]) == (7.0, 8.5)
    learner.tell(pl.Series(["r7"]), pl.Series([2.5]))
    assert learner.labels.told[-1].y == 2.5


@pytest.mark.parametrize(
    "given",
    [pl.DataFrame({"id": ["r5"], "y": [1.0]}), pl.Series([1.0]), POOL, pa.table({"y": [1]})],
)
def test_a_frame_alone_is_no_label(learner, given):
    with pytest.raises(TypeError, match=r"learner\.tell\(frame\['id'\], frame\['label'\]\)"):
        learner.tell(given)


@pytest.mark.parametrize("X", [POOL, POOL[["s"]].to_numpy(), [["a", 1.0]] * 8])
def test_text_for_the_regressor_is_answered_with_who_takes_it(X):
    with pytest.raises(ValueError, match="contain text such as 'a'"):
        EnsembleGPRegressor().fit(X, np.arange(8.0))


def test_results_beside_the_target_are_no_inputs_of_a_learner():
    y = [1.0, 2.0, None, None, 3.0, None, None, None]
    frame = POOL.assign(y=y, purity=[None if one is None else 90 + one for one in y])
    with pytest.warns(UserWarning, match="purity: filled only where the target is"):
        learner = ActiveLearner(frame, target="y", n_start=4)
    assert not any("purity" in name for name in learner.plan.names)
    kept = ActiveLearner(frame, target="y", n_start=4, types={"purity": "number"})
    assert "purity" in kept.plan.names
