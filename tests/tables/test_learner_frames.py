"""Frames given to `ActiveLearner` are read as the shell reads tables: rows, units, spellings."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from weal import ActiveLearner

SOLVENTS = ["THF", "Toluol", "toluene", "thf ", "DMF"]


def columns(n=20):
    rng = np.random.default_rng([4, 1])
    volume = [
        f"{v:.1f} mL" if k % 3 else f"{v / 1000:.4f} L" for k, v in enumerate(rng.uniform(5, 40, n))
    ]
    return {
        "run": [f"R-{k}" for k in range(n)],
        "T": [f"{60 + 2 * k} °C" for k in range(n)],
        "volume": volume,
        "solvent": [SOLVENTS[k % 5].strip() for k in range(n)],
        "yield": [30.0 + k if k < 9 else None for k in range(n)],
    }


def plain(n=20):
    """The same table after a person has cleaned it."""
    given = columns(n)
    litres = [v.endswith(" L") for v in given["volume"]]
    volumes = [float(v.split()[0]) for v in given["volume"]]
    tidy = {"Toluol": "toluene", "thf": "THF"}
    return {
        **given,
        "T": [60.0 + 2 * k for k in range(n)],
        "volume": [1000 * v if is_l else v for v, is_l in zip(volumes, litres, strict=True)],
        "solvent": [tidy.get(one, one) for one in given["solvent"]],
    }


SAME = {"solvent": {"Toluol": "toluene", "thf": "THF"}}
GIVEN = {"id_column": "run", "target": "yield"}


def quiet(*given, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ActiveLearner(*given, **more)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_units_and_spellings_are_read_as_a_clean_table(frame):
    messy = quiet(frame(columns()), same=SAME, units={"volume": "mL"}, **GIVEN)
    clean = quiet(frame(plain()), **GIVEN)
    assert pytest.approx(clean.candidates.X, rel=1e-12) == messy.candidates.X
    assert messy.plan.names == clean.plan.names
    assert messy.predict(frame(columns()))[0] == pytest.approx(clean.predict(frame(plain()))[0])


def test_another_unit_is_that_of_the_inputs():
    learner = quiet(pd.DataFrame(columns()), units={"volume": "L", "T": "K"}, **GIVEN)
    clean = plain()
    X = learner.candidates.X[:, :2]
    assert X[:, 0] == pytest.approx(np.array(clean["T"]) + 273.15)
    assert X[:, 1] == pytest.approx(np.array(clean["volume"]) / 1000)
    later = pd.DataFrame(columns()).assign(run=[f"S-{k}" for k in range(20)])
    learner.add(later)
    assert learner.candidates.X[20:, :2] == pytest.approx(X)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_rows_without_inputs_are_left_out_and_named(frame):
    given = {name: [*cells, None, None] for name, cells in plain().items()}
    given["run"][-2:] = ["* by hand", "Signed: MK"]
    message = "2 rows were each left out because it has no inputs: '[*] by hand', 'Signed: MK'"
    with pytest.warns(UserWarning, match=message):
        learner = ActiveLearner(frame(given), **GIVEN)
    assert learner.candidates.ids == tuple(plain()["run"])
    assert not [name for name in learner.plan.names if name.endswith("missing")]
    assert len(learner.labels) == 9
    assert pytest.approx(quiet(frame(plain()), **GIVEN).candidates.X) == learner.candidates.X


def test_rows_of_which_one_input_is_missing_stay():
    given = plain()
    given["T"][3] = None
    learner = quiet(pd.DataFrame(given), **GIVEN)
    assert len(learner.candidates.ids) == 20
    assert "T missing" in learner.plan.names


def test_ids_of_ones_own_keep_every_row():
    frame = pd.DataFrame({"a": [1.0, None, 3.0], "b": [2.0, None, 5.0]})
    assert len(quiet(frame, ids=["x", "y", "z"]).candidates.ids) == 3
    assert len(quiet(frame).candidates.ids) == 2


def test_a_file_of_the_learner_reads_later_rows_alike(tmp_path):
    learner = quiet(pd.DataFrame(columns()), same=SAME, units={"volume": "mL"}, **GIVEN)
    learner.save(tmp_path / "learner.weal")
    again = ActiveLearner.load(tmp_path / "learner.weal")
    frame = pd.DataFrame(columns())
    assert again.predict(frame)[0] == pytest.approx(learner.predict(frame)[0])


def test_arrays_have_no_columns_to_name():
    with pytest.raises(ValueError, match="give a frame, or leave them out"):
        ActiveLearner(np.arange(12.0).reshape(4, 3), units={"a": "mL"})


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"same": {"solvent": {"benzene": "toluene"}}}, "write one of"),
        ({"units": {"T": "mL"}}, "different units that cannot be converted|says '°C'"),
    ],
)
def test_wrong_options_are_refused_with_the_way_out(more, says):
    with pytest.raises(ValueError, match=says):
        quiet(pd.DataFrame(columns()), **GIVEN, **more)
