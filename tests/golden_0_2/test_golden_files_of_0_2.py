"""Files and stores that weal 0.2 wrote open for ever, and say what they said then.

`make.py` tells how they were made; `expected.json` is what 0.2 itself read from them. Asks, ids,
labels and events are the same to the letter; other numbers may differ by rounding.
"""

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import weal
from golden_0_2 import reading
from golden_0_2.reading import RTOL, assert_same
from golden_0_2.relocation import broken_seals, relocate_learner, relocate_store

HERE = Path(__file__).parent
EXPECTED = json.loads((HERE / "expected.json").read_text("utf-8"))
MODELS = pytest.mark.parametrize("name", EXPECTED["models"])
LEARNERS = pytest.mark.parametrize("name", EXPECTED["learners"])
CAMPAIGNS = pytest.mark.parametrize(
    ("store", "name"), [(s, name) for s, names in EXPECTED["stores"].items() for name in names]
)
LIBRARIES = {"learner-table.weal-0.2": "pandas", "learner-polars.weal-0.2": "polars"}


# Models


@MODELS
def test_a_model_file_of_0_2_predicts_what_it_predicted(name, tmp_path):
    case = EXPECTED["models"][name]
    model, encoder = reading.load_model(HERE / name, case)
    assert_same(reading.read_estimator(model, case, encoder), case["loaded"], RTOL)
    model.save(tmp_path / "again.weal")
    again = weal.EnsembleGPRegressor.load(tmp_path / "again.weal")
    assert_same(reading.read_estimator(again, case, encoder), case["loaded"], RTOL)


@MODELS
def test_a_model_file_of_0_2_goes_on_learning_from_where_it_was(name):
    case = EXPECTED["models"][name]
    model, encoder = reading.load_model(HERE / name, case)
    model.partial_fit(reading.inputs(case, "more", encoder), case["more labels"])
    assert_same(reading.read_estimator(model, case, encoder), case["after more"], RTOL)


@MODELS
def test_a_model_file_of_0_2_has_the_parameters_it_was_made_with(name):
    case = EXPECTED["models"][name]
    model, encoder = reading.load_model(HERE / name, case)
    model.fit(reading.inputs(case, "anew", encoder), case["labels anew"])
    assert_same(reading.read_estimator(model, case, encoder), case["fitted anew"], RTOL)


def test_an_encoder_of_0_2_encodes_as_it_did():
    case = EXPECTED["models"]["model-encoded.weal-0.2"]
    encoder = weal.FeatureEncoder.load(HERE / case["encoder"])
    assert_same(encoder.transform(case["points"][:2]).tolist(), case["encoded"], RTOL)


# Learners


@pytest.fixture
def path(name, tmp_path):
    """A copy of a learner's file; its pool, where that is in files, is found where it is now."""
    if name in LIBRARIES:
        pytest.importorskip(LIBRARIES[name])
    copy = Path(shutil.copy(HERE / name, tmp_path / "copy.weal"))
    if name == "learner-shards.weal-0.2":
        relocate_learner(copy, EXPECTED["folder"], HERE)
    return copy


@LEARNERS
def test_a_learner_file_of_0_2_has_its_labels_its_history_and_its_model(path, name, tmp_path):
    case, learner = EXPECTED["learners"][name], weal.ActiveLearner.load(path)
    assert_same(reading.read_learner(learner, case), case["loaded"], RTOL)
    assert_same(reading.read_history(learner), case["history"], RTOL)
    learner.save(tmp_path / "again.weal")
    again = weal.ActiveLearner.load(tmp_path / "again.weal")
    assert_same(reading.read_learner(again, case), case["loaded"], RTOL)
    assert_same(reading.read_history(again), case["history"], RTOL)
    assert reading.asks(again) == case["asks"]


@LEARNERS
def test_a_learner_file_of_0_2_asks_what_it_would_have_asked(path, name):
    case, learner = EXPECTED["learners"][name], weal.ActiveLearner.load(path)
    assert reading.asks(learner) == case["asks"]
    assert reading.asks(weal.ActiveLearner.load(path), more=True) == case["asks more"]
    for given, label in case["tells"]:
        learner.tell(reading.id_of(given), label)
    assert_same(reading.read_learner(learner, case), case["after"], RTOL)
    assert reading.asks(learner) == case["asks after"]


@pytest.mark.parametrize(
    "name", [name for name, case in EXPECTED["learners"].items() if "left" in case]
)
def test_a_learner_file_of_0_2_has_the_same_candidates_left(path, name):
    assert reading.left(weal.ActiveLearner.load(path)) == EXPECTED["learners"][name]["left"]


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_learner_file_of_0_2_has_the_kind_of_frame_it_was_given(path, name):
    rows = weal.ActiveLearner.load(path).rows(EXPECTED["learners"][name]["asks"])
    assert type(rows).__module__.partition(".")[0] == LIBRARIES[name]


# Pools in files


def test_a_csv_that_0_2_converted_is_not_converted_again(tmp_path):
    folder = tmp_path / "pool.csv.parquet"
    shutil.copytree(HERE / folder.name, folder)
    source = Path(shutil.copy(HERE / "pool.csv", tmp_path))
    note = json.loads((folder / "converted.json").read_text())
    os.utime(source, ns=(note["changed"], note["changed"]))
    before = {one.name: (one.stat().st_ino, one.read_bytes()) for one in folder.iterdir()}
    case = EXPECTED["converted"]
    model = weal.EnsembleGPRegressor(model_version="0.2")  # the learner is a new one
    learner = weal.ActiveLearner(weal.open_pool(source, id_column="sample"), model, threads=1)
    learner.tell(case["ids"], case["labels"])
    assert learner.ask(3) == case["asks"]
    assert {one.name: (one.stat().st_ino, one.read_bytes()) for one in folder.iterdir()} == before


# Stores


@pytest.fixture
def copied(store, tmp_path):
    """A copy of a golden store, with its index of ids; its pool is found where it is now."""
    copy = Path(shutil.copy(HERE / store, tmp_path / store))
    if store == "shards.db":
        shutil.copytree(HERE / "shards.db.pools", tmp_path / "shards.db.pools")
        relocate_store(copy, EXPECTED["folder"], HERE)
    return copy


@pytest.mark.parametrize("store", EXPECTED["stores"])
def test_a_store_of_0_2_is_sealed_as_the_documentation_says(store):
    assert broken_seals(HERE / store) == []


def as_it_was(written, store):
    """What was written, with the folder of the pool and the hashes that cover it left out."""
    if store != "shards.db":
        return written
    text = json.dumps(written).replace(str(HERE), EXPECTED["folder"])
    return reading.numbers_of(json.loads(text), {"hash"})


@CAMPAIGNS
def test_a_store_of_0_2_has_all_that_was_written(copied, store, name):
    case = EXPECTED["stores"][store][name]
    found = reading.read_campaign(copied, name, case["ids"])
    expected = {**case["written"], "settings": with_goal(case["written"]["settings"])}
    assert_same(as_it_was(found, store), as_it_was(expected, store), 0.0)
    assert_same(reading.read_out(copied, name), case["out"], RTOL)


def with_goal(written):
    """What 0.2 wrote, its goal, an error, as the stop condition that it is today."""
    error, until = written["goal"], None
    if error is not None:
        own = {"watched": "error", "relation": "<", "value": error}
        until = {"text": f"error < {error:g}", **own}
    return {**written, "goal": {"kind": "learn", "text": "learn"}, "until": until}


def fields_of_0_2(found, case):
    """A status without fields that later versions have added."""
    return _common(found, numbers_of_0_2(case))


def numbers_of_0_2(case):
    """The status of 0.2 in today's terms."""
    return reading.numbers_of(with_goal(case["status"]))


def _common(found, expected):
    if isinstance(found, dict) and isinstance(expected, dict):
        return {name: _common(found[name], one) for name, one in expected.items()}
    return found


@CAMPAIGNS
def test_a_store_of_0_2_predicts_what_it_predicted_and_is_as_far_as_it_was(copied, store, name):
    case = EXPECTED["stores"][store][name]
    assert_same(reading.read_predicted(copied, name, case["ids"]), case["predictions"], RTOL)
    assert_same(fields_of_0_2(reading.read_status(copied, name), case), numbers_of_0_2(case), RTOL)


@CAMPAIGNS
def test_a_store_of_0_2_needs_no_snapshot_and_no_index(copied, store, name):
    case = EXPECTED["stores"][store][name]
    with closing(sqlite3.connect(copied)) as connection, connection:
        connection.execute("DELETE FROM weal_snapshot")
    shutil.rmtree(f"{copied}.pools", ignore_errors=True)
    assert_same(reading.read_predicted(copied, name, case["ids"]), case["predictions"], RTOL)
    assert_same(fields_of_0_2(reading.read_status(copied, name), case), numbers_of_0_2(case), RTOL)


@CAMPAIGNS
def test_a_store_of_0_2_asks_what_it_would_have_asked(copied, store, name):
    case = EXPECTED["stores"][store][name]
    assert_same(reading.read_asks(copied, name, "-n", "2"), case["asks"], RTOL)
    place = ("--store", f"sqlite:///{copied}", "--by", "dan")
    reading.weal_json("tell", *place, name, *case["tells"])
    assert_same(reading.read_asks(copied, name, "-n", "2"), case["asks after"], RTOL)
    after = reading.read_predicted(copied, name, case["ids"])
    assert_same(after, case["predictions after"], RTOL)


@CAMPAIGNS
def test_a_store_of_0_2_draws_the_rows_of_a_check_that_it_would_have_drawn(copied, store, name):
    found = reading.read_asks(copied, name, "--check", "2")
    assert_same(found, EXPECTED["stores"][store][name]["checks"], RTOL)


BOARDS = pytest.mark.parametrize(("store", "name"), [("campaigns.db", "boards")])


@BOARDS
def test_keys_that_were_used_in_0_2_are_not_used_again(copied, store, name):
    written = EXPECTED["stores"][store][name]["written"]["log"]
    by_seq = {event["seq"]: event for event in written}
    keys = EXPECTED["stores"][store][name]["keys"]
    asked = [by_seq[seq]["id"] for key, (seq,) in keys.items() if key.startswith("ask monday")]
    told = [by_seq[seq] for key, (seq,) in keys.items() if key.startswith("tuesday")]
    with weal.open_campaign(name, f"sqlite:///{copied}", by="bob") as campaign:
        assert campaign.ask(4, key="monday") == asked
    with weal.open_campaign(name, f"sqlite:///{copied}", by="dan") as campaign:
        with pytest.raises(weal.WealError, match=r"4 rows for dan\. Nothing was written"):
            campaign.ask(4, key="monday")
        labels = {event["id"]: event["body"]["y"] for event in told}
        assert campaign.tell(labels, key="tuesday") == told[-1]["seq"]
        assert len(campaign.to_frame("events")) == len(written)


@BOARDS
def test_a_worksheet_of_0_2_can_be_filled_in_and_told(copied, store, name, tmp_path):
    header, *lines = (HERE / "worksheet.csv").read_text("utf-8").splitlines()
    assert lines
    filled = [line.removesuffix(",,") + ",61.5,done" for line in lines]
    (tmp_path / "filled.csv").write_text("\n".join([header, *filled, ""]), encoding="utf-8")
    with weal.open_campaign(name, f"sqlite:///{copied}", by="dan") as campaign:
        assert campaign.tell_file(tmp_path / "filled.csv").counts == {"told": len(lines)}


@pytest.mark.parametrize("store", EXPECTED["stores"])
def test_a_store_of_0_2_is_sound(copied, store):
    found = reading.weal_json("doctor", "--store", f"sqlite:///{copied}")
    assert {one["level"] for one in found["findings"]} == {"fine"}
