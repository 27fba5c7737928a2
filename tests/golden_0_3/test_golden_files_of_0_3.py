"""Files and stores that weal 0.3 wrote open for ever, and say what they said then.

`make.py` tells how they were made; `expected.json` is what 0.3 itself read from them. Asks, ids,
labels and events are the same to the letter; other numbers may differ by rounding.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import weal
from golden_0_2.reading import RTOL, assert_same, numbers_of, read_asks, read_out, weal_json
from golden_0_2.relocation import broken_seals
from golden_0_3 import reading

HERE = Path(__file__).parent
EXPECTED = json.loads((HERE / "expected.json").read_text("utf-8"))
# Without snapshots experts are selected again, and processors differ in where a fit ends: a weight
# of 0.26 differed by 3e-3, an sd of 0.004 beside labels of order 1 by 3e-4.
REFITTED_RTOL = 1e-2
# Campaigns with classes or grades, whose experts are selected in another way: `make_refitted.py`.
REFITTED = json.loads((HERE / "refitted.json").read_text("utf-8"))
CAMPAIGNS = pytest.mark.parametrize("name", EXPECTED["campaigns"])


@pytest.fixture
def store(tmp_path):
    return Path(shutil.copy(HERE / "campaigns.db", tmp_path))


@pytest.mark.parametrize("name", EXPECTED["models"])
def test_a_model_file_of_0_3_predicts_what_it_predicted(name, tmp_path):
    case = EXPECTED["models"][name]
    model, X = reading.load_estimator(HERE / name), np.array(case["points"])
    assert_same(reading.read_estimator(model, X), case["loaded"], RTOL)
    model.save(tmp_path / name)
    again = reading.load_estimator(tmp_path / name)
    assert_same(reading.read_estimator(again, X), case["loaded"], RTOL)


@pytest.mark.parametrize("name", EXPECTED["learners"])
def test_a_learner_file_of_0_3_has_its_labels_and_asks_what_it_would_have_asked(name, tmp_path):
    case, learner = EXPECTED["learners"][name], weal.ActiveLearner.load(HERE / name)
    assert_same(reading.read_learner(learner), case["loaded"], RTOL)
    learner.save(tmp_path / name)
    again = weal.ActiveLearner.load(tmp_path / name)
    assert_same(reading.read_learner(again), case["loaded"], RTOL)
    expected = {key: case[key] for key in ("asks", "asks after a failure")}
    assert_same(reading.read_next(again), expected, 0.0)


def test_a_store_of_0_3_is_sound_and_has_its_tokens(store):
    assert broken_seals(store) == []
    found = weal_json("doctor", "--store", f"sqlite:///{store}")
    assert {one["level"] for one in found["findings"]} == {"fine"}
    assert reading.read_tokens(store) == EXPECTED["tokens"]


@CAMPAIGNS
def test_a_store_of_0_3_has_all_that_was_written(store, name):
    case = EXPECTED["campaigns"][name]
    assert_same(reading.read_campaign(store, name), case["written"], 0.0)
    assert_same(read_out(store, name), case["out"], RTOL)


@CAMPAIGNS
@pytest.mark.parametrize("snapshots", ["with", "without"])
def test_a_store_of_0_3_predicts_and_asks_what_it_did(store, name, snapshots):
    case, rtol = EXPECTED["campaigns"][name], RTOL
    if snapshots == "without":
        reading.drop_snapshots(store)
        case, rtol = case | REFITTED.get(name, {}), REFITTED_RTOL
    assert_same(reading.read_beliefs(store, name), numbers_of(case["beliefs"]), rtol)
    if case["asks"] is not None:
        assert_same(read_asks(store, name, "-n", "2"), case["asks"], rtol)


def test_a_worksheet_of_0_3_can_be_filled_in_and_told(store, tmp_path):
    header, *lines = (HERE / "worksheet.csv").read_text("utf-8-sig").splitlines()
    columns = header.split(",")
    given = {"strength [MPa]": "71.5", "grade": "medium", "straight": "yes"}
    assert lines
    for n, line in enumerate(lines):
        cells = dict(zip(columns, line.split(","), strict=True)) | given
        lines[n] = ",".join(cells.values())
    (tmp_path / "filled.csv").write_text("\n".join([header, *lines, ""]), encoding="utf-8")
    with weal.open_campaign("boards", f"sqlite:///{store}", by="dan") as campaign:
        assert campaign.tell_file(tmp_path / "filled.csv").counts == {"told": 3 * len(lines)}
