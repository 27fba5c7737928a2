"""The seam of goals, on every goal there is."""

import dataclasses
import json
import pickle
from itertools import product

import pytest

from weal.campaign.status import Estimate
from weal.diagnostics.random_baseline import RandomComparison
from weal.diagnostics.stopping import Change, LabelsToGoal
from weal.goals.grammar import parse_goal
from weal.goals.learn import NOTHING_LEARNT, Learn
from weal.goals.protocol import GoalProgress, SetProgress
from weal.goals.until import Until, until_error
from weal.learner.config import resolve_acquisition
from weal.plots.axes import _CURVES

GOALS = {goal.text: goal for goal in (Learn(),)}
every_goal = pytest.mark.parametrize("goal", GOALS.values(), ids=GOALS)
FELL = Change(5, 0.1, 1.0, 0.93)
STILL = Change(5, 0.1, 1.0, 0.99)
FOUND = SetProgress(100, 20, 6.2, 3.8, 2.1, 0.83, 4.0, "A-7", 91.5, 0.9, 1.2)
EQUAL = SetProgress(100, 20, 2.0, 8.0, 8.0, 0.2, 0.0, "A-7", 3.0, 0.0, 0.0)  # labels without spread
SETTLED = SetProgress(100, 100, 10.0, 0.0, 0.0, 1.0, 4.0, "A-7", 91.5, None, None)
DOUBTED = dataclasses.replace(FOUND, doubted=("A-9",))
PROGRESS = {
    "no model": GoalProgress(3),
    "a new model": GoalProgress(0, labels=5, members=FOUND),
    "labels help": GoalProgress(0, FELL, None, 0.5, 1.0, 20, 1.0, 91.5, FOUND),
    "labels do not help": GoalProgress(0, STILL, None, 0.5, 1.0, 20, 1.0, 91.5, FOUND),
    "all labels equal": GoalProgress(0, None, None, 0.0, 0.0, 20, 3.0, 3.0, EQUAL),
    "all rows measured": GoalProgress(0, STILL, None, 0.5, 1.0, 100, 1.0, 91.5, SETTLED),
    "a doubted label": GoalProgress(0, STILL, None, 0.5, 1.0, 20, 1.0, 91.5, DOUBTED),
}
every_progress = pytest.mark.parametrize("progress", PROGRESS.values(), ids=PROGRESS)
BESIDE_RANDOM = RandomComparison(labels=20, ratio=1.4, low=0.9, high=2.0, draws=30)


def needed(reached, low=None, median=None):
    return LabelsToGoal(0.4, 0.5, reached, low, median, None, 90, "about 20 more labels")


@every_goal
def test_a_goal_is_a_frozen_value_that_can_be_compared_and_hashed(goal):
    again = pickle.loads(pickle.dumps(goal))  # noqa: S301  our own bytes
    assert again == goal
    assert hash(again) == hash(goal)
    with pytest.raises((dataclasses.FrozenInstanceError, AttributeError, TypeError)):
        goal.text = "other"


@every_goal
def test_its_text_is_read_back_by_the_grammar(goal):
    assert parse_goal(goal.text) == goal
    assert parse_goal(f"  {goal.text.upper()} ").text == goal.text
    assert parse_goal(goal) is goal


@every_goal
def test_as_a_dict_it_is_json_with_its_kind_and_text(goal):
    found = goal.to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["text"] == goal.text
    assert found["kind"].isidentifier()


@every_goal
@pytest.mark.parametrize("in_shards", [False, True])
def test_its_acquisition_is_one_that_there_is(goal, in_shards):
    name = goal.acquisition(in_shards)
    assert list(resolve_acquisition(name)) == [name]


@every_goal
@every_progress
def test_advice_is_sentences_without_placeholders(goal, progress):
    words = goal.advice(progress)
    assert words[0].isupper()
    assert words.endswith(".")
    assert not {"None", "nan", "inf"} & set(words.replace(".", " ").split())
    assert goal.advice(progress) == words


@every_goal
def test_before_there_is_a_model_advice_says_how_many_labels_are_missing(goal):
    assert "3 more labels are needed" in goal.advice(GoalProgress(3))
    assert "1 more label is needed" in goal.advice(GoalProgress(1))


@every_goal
@every_progress
def test_lines_of_status_are_short(goal, progress):
    lines = [
        *(goal.lines(progress.members) if progress.members else []),
        *goal.random_lines(BESIDE_RANDOM, progress),
        *goal.random_lines(None, progress),
    ]
    assert all(line and len(line) < 120 and "\n" not in line for line in lines)
    assert not any(word in " ".join(lines).split() for word in ("None", "nan", "inf"))


@every_goal
def test_a_goal_with_a_set_has_lines_and_reasons_and_one_without_has_none(goal):
    assert bool(goal.lines(FOUND)) is (goal.set_text is not None)
    assert bool(goal.reason(0.31)) is (goal.set_text is not None)
    if goal.set_text is not None:
        assert goal.set_text in goal.reason(0.31)
        assert "0.31" in goal.reason(0.31)


@every_goal
@pytest.mark.parametrize("target", [None, "yield [%]"])
def test_its_learning_curve_is_one_that_can_be_drawn_and_has_a_label(goal, target):
    assert goal.curve in _CURVES
    label = goal.curve_label(target)
    assert label
    assert "None" not in label


def test_learning_goes_on_while_labels_cut_the_error():
    goal = Learn()
    assert goal.advice(GoalProgress(0, FELL)) == (
        "Keep going: the last 5 labels cut the expected error by 7 %."
    )
    moved = goal.advice(GoalProgress(0, Change(5, 0.9, 1.0, 1.0)))
    assert moved == "Keep going: the last 5 labels moved predictions by 0.9 of their uncertainty."
    assert goal.advice(GoalProgress(0, STILL)) == (
        "More labels gain little: the last 5 labels cut the expected error by 1 %."
    )
    rose = goal.advice(GoalProgress(0, Change(5, 0.1, 1.0, 1.02)))
    assert rose == "More labels gain little: the last 5 labels raised the expected error by 2 %."
    assert goal.advice(GoalProgress(0, STILL, None, 0.95, 1.0)) == NOTHING_LEARNT


def test_random_choice_that_does_as_well_is_said_to():
    found = RandomComparison(labels=20, ratio=1.003, low=0.9, high=1.2, draws=30)
    said = Learn().random_lines(found, GoalProgress(0))
    assert "would probably have done as well" in said[0]


def test_an_error_that_is_reached_is_said_with_its_probability():
    until = until_error(0.4)
    sure, unsure = (until.advice(GoalProgress(0, FELL, needed(p))) for p in (0.9, 0.6))
    assert sure.startswith("The error of 0.4 is probably reached (90 %")
    assert unsure.startswith("The error of 0.4 is perhaps reached (60 %")
    assert until.advice(GoalProgress(0, FELL, needed(0.3))) is None
    assert until.lines(GoalProgress(0, FELL, needed(0.9))) == []
    assert until.lines(GoalProgress(0, FELL, needed(0.1, 5, 20))) == [
        "until error < 0.4: about 20 more labels",
        "(the trend of the expected error, continued; not a promise)",
    ]


def test_a_number_of_labels_and_a_label_that_is_good_enough_end_a_campaign():
    labels, above, below = Until("labels", "=", 20), Until("best", ">", 90.0), Until("best", "<", 1)
    so_far = PROGRESS["labels help"]
    assert labels.advice(so_far) == "Stop: there are 20 labels, as many as planned (labels = 20)."
    assert above.advice(so_far) == "Stop: the label 91.5 meets best > 90."
    assert below.advice(so_far) is None
    assert below.lines(so_far) == ["until best < 1: the lowest label is 1"]
    assert Until("labels", "=", 80).lines(so_far) == ["until labels = 80: 60 to come"]
    assert above.lines(GoalProgress(3)) == ["until best > 90: no label yet"]


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_a_condition_that_is_no_error_is_refused(value):
    with pytest.raises(ValueError, match="until"):
        until_error(value)


@pytest.mark.parametrize(
    ("watched", "relation"), [p for p in product(("error", "labels"), "<=>") if p[1] == ">"]
)
def test_a_condition_that_makes_no_sense_is_refused_with_the_way_out(watched, relation):
    with pytest.raises(ValueError, match="write 'error < 6'"):
        Until(watched, relation, 3.0)


def test_a_curve_has_a_value_now_and_a_course():
    assert Estimate(1.0, ((1, 2.0), (2, 1.0))).course[-1] == (2, 1.0)
