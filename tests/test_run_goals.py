"""Runs with a goal: what ends them, and what a number in its place means."""

import numpy as np
import pytest

from weal import ActiveLearner
from weal.goals import Above, Maximise


def pool(N=80):
    return np.random.default_rng(2).uniform(size=(N, 3))


def peak(x):
    return float(90.0 * np.exp(-5.0 * np.sum((np.asarray(x) - 0.6) ** 2)))


def test_a_number_in_place_of_a_goal_is_still_an_error():
    one, other = ActiveLearner(pool()), ActiveLearner(pool())
    first, second = one.run(peak, 60, goal=6.0), other.run(peak, 60, until="error < 6")
    assert (first.reason, first.labels) == (second.reason, second.labels)
    assert one.goal.text == "learn"


def test_a_goal_of_a_run_stays_the_goal_and_a_good_label_ends_it():
    learner = ActiveLearner(pool())
    done = learner.run(peak, 60, goal="maximise", until="best > 60")
    assert done.reason == "target"
    assert learner.goal == Maximise()
    assert learner.labels.arrays()[1].max() > 60.0
    assert learner.run(peak, 60, until=f"labels = {done.labels + 2}").labels == 2


@pytest.mark.parametrize("goal", [Maximise(), Above(50.0)], ids=str)
def test_a_run_ends_when_its_goal_has_little_left_to_gain(goal):
    learner = ActiveLearner(pool(), goal=goal)
    done = learner.run(peak, 75, patience=2, least_gain=0.01)
    assert done.reason == "no gain"
    assert done.labels < 75
    if goal == Maximise():
        best = max(map(peak, pool()))
        assert learner.labels.arrays()[1].max() > 0.97 * best


@pytest.mark.parametrize(
    "given",
    [
        {"goal": 6.0, "until": "labels = 3"},
        {"target_error": 3.0, "until": "labels = 3"},
        {"target_error": 3.0, "goal": 6.0},
        {"goal": "above"},
        {"until": "error < 0"},
        {"goal": -1.0},
    ],
)
def test_conditions_that_exclude_each_other_are_refused_before_anything_is_asked(given):
    learner = ActiveLearner(pool(20))
    with pytest.raises(ValueError, match=r"until|goal"):
        learner.run(peak, 5, **given)
    assert not learner.labels
    assert not learner.pending
