"""The seam of goals, on every goal there is."""

import dataclasses
import json
import pickle
from itertools import product

import numpy as np
import pytest

from weal.core.paper.acquisition import Belief
from weal.diagnostics.model_status import Estimate
from weal.diagnostics.random_baseline import RandomComparison
from weal.diagnostics.stopping import LabelsToGoal, RecentChange
from weal.goals.best import Best, Maximise, Minimise
from weal.goals.grammar import parse_goal
from weal.goals.learn import NOTHING_LEARNT, Learn
from weal.goals.protocol import GoalProgress, SetProgress
from weal.goals.threshold import Above, Below, Between
from weal.goals.until import Until, until_error
from weal.learner.config import resolve_acquisition
from weal.plots.axes import _CURVES

GOALS = {
    goal.text: goal
    for goal in (
        Learn(),
        *(Maximise(), Minimise(), Best(3), Best(7, lowest=True)),
        *(Above(0.4), Below(-1e-7), Between(40, 60)),
        *(
            Learn((("purity", 2.0), ("melt temp", 0.5))),
            Maximise("yield [%]"),
            Best(3, quantity="y"),
        ),
        *(Above(90, "purity"), Between(40, 60, "is")),
        parse_goal("maximise y subject to 94 <= purity < 99 and crystallised is not no"),
        parse_goal("best 3 y subject to y < 7"),
        parse_goal("between -1 and 1 y subject to phase in alpha, 'b c' and grade >= medium"),
        parse_goal("maximise y and minimise 'total cost'"),
        parse_goal("minimise a and minimise b subject to purity >= 95"),
    )
}
every_goal = pytest.mark.parametrize("goal", GOALS.values(), ids=GOALS)
FELL = RecentChange(5, 0.1, 1.0, 0.93)
STILL = RecentChange(5, 0.1, 1.0, 0.99)
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


class Same:
    """Labels in the units of the belief."""

    def labels(self, y):
        return y


def a_belief(N=30):
    rng = np.random.default_rng(4)
    mu, var = rng.normal(size=(3, N)), rng.uniform(0.01, 1.0, (3, N))
    X = rng.normal(size=(N, 3))
    known = (np.full(3, 0.1), X, X[:4], rng.normal(size=4), (0, 1))
    return Belief(np.array([0.2, 0.5, 0.3]), mu, var, *known, units=(Same(),))


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
    assert parse_goal(f"  {goal.text}  ").text == goal.text
    if not goal.scored([]) and goal.text == goal.text.replace("weights", ""):
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
def test_who_belongs_to_its_set_is_a_probability_of_each_row(goal):
    p = goal.membership(a_belief())
    assert (p is None) is (goal.set_text is None)
    if p is not None:
        assert p.shape == (30,)
        assert ((p >= 0.0) & (p <= 1.0)).all()


@every_goal
def test_its_loss_is_least_for_the_truth(goal):
    truth = np.linspace(-100.0, 100.0, 41)
    if goal.loss is not None:
        assert 0.0 < goal.loss(truth, truth) < goal.loss(-truth, truth)


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


@every_goal
def test_only_learning_says_that_rows_were_picked_for_being_uncertain(goal):
    assert goal.error_bias.endswith(".")
    assert ("uncertain" in goal.error_bias) is (goal.set_text is None)


def test_learning_goes_on_while_labels_cut_the_error():
    goal = Learn()
    assert goal.advice(GoalProgress(0, FELL)) == (
        "Keep going: the last 5 labels cut the expected error by 7 %."
    )
    moved = goal.advice(GoalProgress(0, RecentChange(5, 0.9, 1.0, 1.0)))
    assert moved == "Keep going: the last 5 labels moved predictions by 0.9 of their uncertainty."
    assert goal.advice(GoalProgress(0, STILL)) == (
        "More labels gain little: the last 5 labels cut the expected error by 1 %."
    )
    rose = goal.advice(GoalProgress(0, RecentChange(5, 0.1, 1.0, 1.02)))
    assert rose == "More labels gain little: the last 5 labels raised the expected error by 2 %."
    assert goal.advice(GoalProgress(0, STILL, None, 0.95, 1.0)) == NOTHING_LEARNT


def test_the_best_is_searched_while_a_label_may_gain_and_the_risk_of_stopping_is_said():
    pairs = (0.9, 1.2), (0.01, 0.9), (0.01, 0.02)
    said = [Maximise().advice(replace_gain(*pair)) for pair in pairs]
    assert said[0] == "Keep going: one more label is expected to gain 0.9 at most."
    assert said[1].startswith("Keep going for now: one more label is expected to gain only 0.01")
    assert said[2].startswith("Stop, probably: one more label is expected to gain 0.01 at most")
    assert "its probability cannot be estimated" in said[2]


def replace_gain(gain, before):
    members = dataclasses.replace(FOUND, gain=gain, gain_before=before)
    return dataclasses.replace(PROGRESS["labels help"], members=members)


def test_a_doubted_label_that_would_change_the_set_is_measured_again_first():
    for goal in (Maximise(), Above(7.5)):
        said = goal.advice(PROGRESS["a doubted label"])
        assert said.startswith("Measure A-9 again first (--repeat): its label is treated as wrong")
        assert any(line.startswith("measure again  A-9") for line in goal.lines(DOUBTED))


def test_the_section_of_the_best_says_what_was_found_and_what_is_left():
    assert Best(10).lines(FOUND) == [
        "Goal: best 10",
        "best so far    91.5   row A-7",
        "to be gained   0.9 by one more label, at most (largest expected improvement)",
        "top 10         about 4 of them still unmeasured",
    ]
    assert Best(10).random_lines(None, PROGRESS["labels help"]) == [
        "20 rows chosen at random would contain about 2 of the 10 best, the measured ones about 6"
    ]


def test_the_section_of_a_level_says_how_many_rows_are_wrong_with_the_range():
    assert Above(7.5).lines(FOUND) == [
        "Goal: above 7.5",
        "in the set     about 10 rows, about 4 of them unmeasured",
        "wrong side     about 2.1 rows are on the wrong side (1.1 to 5.5 in a single campaign)",
        "expected F1    0.83",
    ]


@pytest.mark.parametrize(("reach", "says"), [("none", "No row is"), ("all", "All rows are")])
def test_a_level_that_no_row_reaches_or_all_do_is_said(reach, says):
    members = dataclasses.replace(FOUND, reach=reach)
    said = Above(7.5).advice(dataclasses.replace(PROGRESS["labels help"], members=members))
    assert said.startswith(f"{says} likely to be above 7.5")
    assert "Check the level and its unit" in said
    assert any("check the number and its unit" in line for line in Above(7.5).lines(members))


def test_probabilities_at_the_ends_are_bounds():
    assert Best(10).reason(0.31) == "it is among the 10 best with probability 0.31"
    assert Best(10).reason(0.004).endswith("with a probability below 0.02")
    assert Best(10).reason(0.999).endswith("with a probability above 0.98")
    assert Best(10).reason(None) is None


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
