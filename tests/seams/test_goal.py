"""The seam of goals, on every goal there is."""

import dataclasses
import pickle

import pytest

from weal.diagnostics.random_baseline import RandomComparison
from weal.diagnostics.stopping import Change, LabelsToGoal
from weal.goals.learn import NOTHING_LEARNT, Learn
from weal.goals.protocol import GoalProgress
from weal.learner.config import resolve_acquisition

GOALS = {"learn": Learn(), "learn until an error": Learn(0.4)}
every_goal = pytest.mark.parametrize("goal", GOALS.values(), ids=GOALS)
FELL = Change(5, 0.1, 1.0, 0.93)
STILL = Change(5, 0.1, 1.0, 0.99)
PROGRESS = {
    "no model": GoalProgress(3),
    "a new model": GoalProgress(0),
    "labels help": GoalProgress(0, FELL, None, 0.5, 1.0),
    "labels do not help": GoalProgress(0, STILL, None, 0.5, 1.0),
}


def needed(reached, low=None, median=None):
    return LabelsToGoal(0.4, 0.5, reached, low, median, None, 90, "about 20 more labels")


@every_goal
def test_a_goal_is_a_frozen_value_of_plain_numbers(goal):
    assert pickle.loads(pickle.dumps(goal)) == goal  # noqa: S301  our own bytes
    with pytest.raises(dataclasses.FrozenInstanceError):
        goal.limit = 3.0
    assert goal.name.split()[0].islower()


@every_goal
def test_its_acquisition_is_one_that_there_is(goal):
    assert list(resolve_acquisition(goal.acquisition)) == [goal.acquisition]


@every_goal
@pytest.mark.parametrize("progress", PROGRESS.values(), ids=PROGRESS)
def test_advice_is_one_or_two_sentences_without_placeholders(goal, progress):
    words = goal.advice(progress)
    assert words[0].isupper()
    assert words.endswith(".")
    assert "None" not in words
    assert "nan" not in words
    assert goal.advice(progress) == words


@every_goal
def test_before_there_is_a_model_advice_says_how_many_labels_are_missing(goal):
    assert "3 more labels are needed" in goal.advice(GoalProgress(3))
    assert "1 more label is needed" in goal.advice(GoalProgress(1))


@every_goal
def test_lines_of_status_are_short_and_about_this_goal(goal):
    found = RandomComparison(labels=20, ratio=1.4, low=0.9, high=2.0, draws=30)
    lines = [*goal.random_lines(found), *goal.needed_lines(needed(0.1, 5, 20))]
    assert lines
    assert all(line and len(line) < 100 and "\n" not in line for line in lines)
    assert goal.needed_lines(needed(0.9)) == []


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


def test_a_limit_that_is_reached_ends_learning():
    goal = Learn(0.4)
    sure, unsure = (goal.advice(GoalProgress(0, FELL, needed(p))) for p in (0.9, 0.6))
    assert sure.startswith("The goal of 0.4 is probably reached (90 %")
    assert unsure.startswith("The goal of 0.4 is perhaps reached (60 %")
    assert goal.advice(GoalProgress(0, FELL, needed(0.3))).startswith("Keep going")


def test_random_choice_that_does_as_well_is_said_to():
    found = RandomComparison(labels=20, ratio=1.003, low=0.9, high=1.2, draws=30)
    assert "would probably have done as well" in Learn().random_lines(found)[0]


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan"), float("inf")])
def test_a_limit_that_is_no_error_is_refused(limit):
    with pytest.raises(ValueError, match="it needs an error above 0, in units of the label"):
        Learn(limit)
