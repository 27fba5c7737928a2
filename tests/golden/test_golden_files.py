"""Files and stores that weal 0.1 wrote open for ever, and say what they said then.

`make.py` tells how they were made; `expected.json` is what 0.1 itself read from them. Picks, ids,
labels and events are the same to the letter; other numbers may differ by rounding.

Experts are chosen otherwise since 0.2, and so is their prior of the magnitude; means of bent labels
are nearer their medians. Where labels settle experts anew, the numbers are those of 0.1 once that
alone is as it was (`experts_of_0_1`).
"""

import json
import shutil
import sqlite3
from contextlib import closing
from math import isclose

import pytest

import weal
from golden import experts_of_0_1, reading
from golden.reading import HERE, asks, campaign_says, learner_says, name_of, status_says
from weal.core import bend, lineup, magnitude
from weal.learner import functions

EXPECTED = json.loads((HERE / "expected.json").read_text("utf-8"))
RTOL = 1e-6
MODELS = pytest.mark.parametrize("name", EXPECTED["models"])
LEARNERS = pytest.mark.parametrize("name", EXPECTED["learners"])
CAMPAIGNS = pytest.mark.parametrize(
    ("store", "name"), [(s, name) for s, names in EXPECTED["stores"].items() for name in names]
)


# Files of learners with what "auto" was then; it is given by name, to ask what was asked.
EARLIER_AUTO = ("array", "begun", "pandas", "polars")


@pytest.fixture(autouse=True)
def as_0_1_chose_experts(monkeypatch):
    """By the code of 0.1, with its prior of the magnitude and its mean of bent labels."""
    monkeypatch.setattr(lineup, "choose", experts_of_0_1.choose)
    monkeypatch.setattr(lineup, "log_evidences", experts_of_0_1.log_evidences)
    for module in (lineup, magnitude):
        monkeypatch.setattr(module, "A0", experts_of_0_1.A0)
    monkeypatch.setattr(bend, "RAISED", experts_of_0_1.RAISED)


def assert_same(found, expected, rtol, place=""):
    """Equal, but for the rounding of floats; says where it is not."""
    if isinstance(expected, dict):
        assert list(found) == list(expected), place
        for name, one in expected.items():
            assert_same(found[name], one, rtol, f"{place}/{name}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), place
        for n, one in enumerate(expected):
            assert_same(found[n], one, rtol, f"{place}/{n}")
    elif isinstance(expected, float) and isinstance(found, float):
        assert isclose(found, expected, rel_tol=rtol, abs_tol=1e-3 * rtol), (
            f"{place}: {found!r} is not {expected!r}"
        )
    else:
        assert found == expected, place


# Models


def loaded_model(path, case):
    encoder = weal.FeatureEncoder.load(HERE / case["encoder"]) if "encoder" in case else None
    return weal.EnsembleGPRegressor.load(path), encoder


@MODELS
def test_a_model_file_of_0_1_predicts_what_it_predicted(name):
    case = EXPECTED["models"][name]
    model, encoder = loaded_model(HERE / name, case)
    assert_same(reading.estimator_says(model, case, encoder), case["loaded"], RTOL)


@MODELS
def test_a_model_file_of_0_1_goes_on_learning_from_where_it_was(name):
    case = EXPECTED["models"][name]
    model, encoder = loaded_model(HERE / name, case)
    model.partial_fit(reading.inputs(case, "more", encoder), case["more labels"])
    assert_same(reading.estimator_says(model, case, encoder), case["after more"], RTOL)


@MODELS
def test_a_model_file_of_0_1_has_the_parameters_it_was_made_with(name):
    case = EXPECTED["models"][name]
    model, encoder = loaded_model(HERE / name, case)
    model.fit(reading.inputs(case, "anew", encoder), case["labels anew"])
    assert_same(reading.estimator_says(model, case, encoder), case["fitted anew"], RTOL)


@MODELS
def test_a_model_file_of_0_1_can_be_saved_again(name, tmp_path):
    case = EXPECTED["models"][name]
    model, _ = loaded_model(HERE / name, case)
    model.save(tmp_path / "again.weal")
    model, encoder = loaded_model(tmp_path / "again.weal", case)
    assert_same(reading.estimator_says(model, case, encoder), case["loaded"], RTOL)


def test_an_encoder_of_0_1_encodes_as_it_did():
    case = EXPECTED["models"]["model-encoded.weal-0.1"]
    encoder = weal.FeatureEncoder.load(HERE / case["encoder"])
    assert_same(encoder.transform(case["points"][:2]).tolist(), case["encoded"], RTOL)


# Learners


def loaded_learner(name):
    for library in ("pandas", "polars"):
        if library in name:
            pytest.importorskip(library)
    earlier = ["multi", "igs"] if any(part in name for part in EARLIER_AUTO) else None
    return weal.ActiveLearner.load(HERE / name, earlier), EXPECTED["learners"][name]


@LEARNERS
def test_a_learner_file_of_0_1_knows_what_it_knew(name):
    learner, case = loaded_learner(name)
    assert_same(learner_says(learner, case), case["loaded"], RTOL)


@LEARNERS
def test_a_learner_file_of_0_1_remembers_what_was_asked_and_why(name):
    learner, case = loaded_learner(name)
    assert_same(reading.history_says(learner), case["history"], RTOL)


@LEARNERS
def test_a_learner_file_of_0_1_asks_what_it_would_have_asked(name):
    learner, case = loaded_learner(name)
    assert asks(learner) == case["asks"]
    assert asks(loaded_learner(name)[0], more=True) == case["asks more"]


@LEARNERS
def test_a_learner_file_of_0_1_has_the_same_candidates_left(name):
    learner, case = loaded_learner(name)
    assert reading.left(learner, case["pool"]) == case["left"]


@LEARNERS
def test_a_learner_file_of_0_1_learns_from_new_labels_as_it_would_have(name):
    learner, case = loaded_learner(name)
    asks(learner)
    for given, label in case["tells"]:
        learner.tell(name_of(given), label)
    assert_same(learner_says(learner, case), case["after"], RTOL)
    assert asks(learner) == case["asks after"]


@LEARNERS
def test_a_learner_file_of_0_1_can_be_saved_again(name, tmp_path):
    learner, case = loaded_learner(name)
    learner.save(tmp_path / "again.weal")
    again = weal.ActiveLearner.load(tmp_path / "again.weal")  # which names its functions itself
    assert_same(learner_says(again, case), case["loaded"], RTOL)
    assert_same(reading.history_says(again), case["history"], RTOL)
    assert asks(again) == case["asks"]


def test_a_learner_file_of_0_1_wants_to_be_sure_where_it_wanted_to():
    learner, case = loaded_learner("learner-ivr.weal-0.1")
    assert_same(reading.reference_says(learner), case["reference"], RTOL)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_learner_file_of_0_1_has_the_kind_of_frame_it_was_given(kind):
    learner, case = loaded_learner(f"learner-{kind}.weal-0.1")
    rows = learner.rows(case["asks"])
    assert type(rows).__module__.partition(".")[0] == kind
    assert list(rows["sample"]) == case["asks"]


@pytest.mark.parametrize("part", EARLIER_AUTO[:2])
def test_a_learner_file_with_an_earlier_default_goes_on_with_that_of_now_and_says_so(part):
    name = f"learner-{part}.weal-0.1"
    with pytest.warns(UserWarning, match="the default is mvr-var-igs now"):
        learner = weal.ActiveLearner.load(HERE / name)
    assert learner.acquisition_weights == {"mvr-var-igs": 1.0}
    assert_same(
        learner_says(learner, EXPECTED["learners"][name]),
        EXPECTED["learners"][name]["loaded"],
        RTOL,
    )
    learner.ask(more=True)
    assert learner.history[-1]["why"] in ("mvr-var-igs", "start")


# Stores


@pytest.fixture
def as_auto_was(monkeypatch):
    """The default of 0.1."""
    monkeypatch.setitem(functions.TOGETHER, "auto", functions.EARLIER_AUTO)


@pytest.mark.parametrize(("store", "name"), [("campaigns.db", "alloys")])
def test_a_store_with_an_earlier_default_goes_on_with_that_of_now_and_says_so(opened, store, name):
    case = EXPECTED["stores"][store][name]
    assert opened.learner.acquisition_weights == {"mvr-var-igs": 1.0}
    assert "mvr-var" in opened.status().choice
    assert any("the default is mvr-var-igs now" in line for line in opened.status().lines())
    (row,) = opened.ask(1)
    assert [one.shares for one in opened.asked([row])] == [{"mvr-var-igs": 1.0}]
    assert opened.status().choice == ""
    predictions = campaign_says(opened, case["ids"])["predictions"]
    assert_same(predictions, case["loaded"]["predictions"], RTOL)


@pytest.fixture
def opened(store, name, tmp_path):
    """A campaign in a copy of the golden store: opening may write."""
    copy = shutil.copy(HERE / store, tmp_path / "copy.db")
    with reading.opened(copy, name) as campaign:
        yield campaign


@CAMPAIGNS
def test_a_store_of_0_1_has_all_that_was_written(opened, store, name):
    case = EXPECTED["stores"][store][name]
    says = campaign_says(opened, case["ids"])
    assert_same(says | {"predictions": None}, case["loaded"] | {"predictions": None}, 0.0)


@CAMPAIGNS
def test_a_store_of_0_1_predicts_what_it_predicted(opened, store, name):
    case = EXPECTED["stores"][store][name]
    predictions = campaign_says(opened, case["ids"])["predictions"]
    assert_same(predictions, case["loaded"]["predictions"], RTOL)


@pytest.mark.usefixtures("as_auto_was")
@CAMPAIGNS
def test_a_store_of_0_1_needs_no_snapshot(store, name, tmp_path):
    case, copy = EXPECTED["stores"][store][name], tmp_path / "copy.db"
    shutil.copy(HERE / store, copy)
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute("DELETE FROM weal_snapshot")
    with reading.opened(copy, name) as campaign:
        assert_same(campaign_says(campaign, case["ids"]), case["loaded"], RTOL)
        assert_same(status_says(campaign), case["status"], RTOL)


@pytest.mark.usefixtures("as_auto_was")
@CAMPAIGNS
def test_a_store_of_0_1_is_as_far_as_it_was(opened, store, name):
    assert_same(status_says(opened), EXPECTED["stores"][store][name]["status"], RTOL)


@pytest.mark.usefixtures("as_auto_was")
@CAMPAIGNS
def test_a_store_of_0_1_asks_what_it_would_have_asked(opened, store, name):
    case = EXPECTED["stores"][store][name]
    assert opened.ask(2) == case["asks"]
    opened.tell(*case["tells"])
    assert opened.ask(2) == case["asks after"]
    predictions = campaign_says(opened, case["ids"])["predictions"]
    after = {column: predictions[column] for column in case["after"]}
    assert_same(after, case["after"], RTOL)


@CAMPAIGNS
def test_a_store_of_0_1_draws_the_rows_of_a_check_that_it_would_have_drawn(opened, store, name):
    assert opened.ask(2, check=True) == EXPECTED["stores"][store][name]["checks"]


@pytest.mark.parametrize(("store", "name"), [("campaigns.db", "alloys")])
def test_a_key_that_was_used_in_0_1_is_not_used_again(opened, store, name):
    keyed = EXPECTED["stores"][store][name]["keyed"]
    before = len(opened.events())
    assert opened.tell(keyed["ids"], keyed["labels"], key=keyed["key"]) == keyed["event"]
    assert len(opened.events()) == before
