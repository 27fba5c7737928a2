"""Goals with a set (best, threshold): their words, their bad input, and who belongs to the set."""

import numpy as np
import pytest

from weal.core.paper.acquisition import Belief
from weal.goals.best import Best, Maximise, Minimise
from weal.goals.threshold import Above, Below, Between, Threshold, reach

SETS = [Maximise(), Minimise(), Best(3), Best(7, lowest=True)]
GOALS = [*SETS, Above(0.4), Below(-1), Between(0, 1)]


class Doubled:
    """Labels in half their unit."""

    def labels(self, y):
        return 2.0 * y


def a_belief(N=30):
    rng = np.random.default_rng(4)
    mu, var = rng.normal(size=(3, N)), rng.uniform(0.01, 1.0, (3, N))
    X = rng.normal(size=(N, 3))
    known = (np.full(3, 0.1), X, X[:4], rng.normal(size=4), (0, 1))
    return Belief(np.array([0.2, 0.5, 0.3]), mu, var, *known, units=(Doubled(),))


@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: goal.text)
def test_a_goal_is_a_value_with_a_text_and_json(goal):
    assert goal.to_dict()["text"] == goal.text
    assert goal == type(goal)(*(getattr(goal, name) for name in goal.__slots__))
    assert hash(goal) == hash(eval(repr(goal), vars(__import__("weal.goals", fromlist=["x"]))))


def test_texts_and_scores():
    assert [goal.text for goal in GOALS] == [
        "maximise", "minimise", "best 3", "lowest 7", "above 0.4", "below -1", "between 0 and 1",
    ]  # fmt: skip
    assert [goal.acquisition(in_shards=False) for goal in GOALS] == [
        "best(10)", "lowest(10)", "best(3)", "lowest(7)",
        "straddle(0.4)", "straddle(-1)", "straddle(0, 1)",
    ]  # fmt: skip
    assert [goal.acquisition(in_shards=True) for goal in GOALS][:4] == [
        "ucb(2)", "lcb(2)", "ucb(2)", "lcb(2)",
    ]  # fmt: skip


def test_members_of_best_sum_to_k_and_levels_go_through_the_units():
    belief = a_belief()
    assert Best(3).membership(belief).sum() == pytest.approx(3.0, rel=1e-6)
    assert Minimise().membership(belief).sum() == pytest.approx(10.0, rel=1e-6)
    above, below = Above(0.2).membership(belief), Below(0.2).membership(belief)
    assert above + below == pytest.approx(1.0)
    rng = np.random.default_rng(0)
    m = rng.choice(3, p=belief.w, size=20_000)
    f = rng.normal(belief.mu[m], np.sqrt(belief.var[m]))  # the level 0.2 is 0.4 in units of mu
    assert above == pytest.approx((f > 0.4).mean(axis=0), abs=4 * 0.5 / np.sqrt(20_000))
    between = Between(-0.1, 0.2).membership(belief)
    inside = ((f > -0.2) & (f < 0.4)).mean(axis=0)
    assert between == pytest.approx(inside, abs=4 * 0.5 / np.sqrt(20_000))


@pytest.mark.parametrize("k", [0, -3, 2.5, True, "10", None, float("nan")])
def test_a_number_of_rows_that_is_none_is_refused(k):
    with pytest.raises(ValueError, match="whole number of 1 or more, as in 'best 10'"):
        Best(k)


@pytest.mark.parametrize("level", [None, "7.5", float("nan"), float("inf"), True, [1.0]])
@pytest.mark.parametrize("make", [Above, Below, lambda level: Between(0, level)])
def test_a_level_that_is_no_number_is_refused(make, level):
    with pytest.raises(ValueError, match="needs a number in units of the label"):
        make(level)


def test_levels_in_the_wrong_order_say_the_right_one():
    with pytest.raises(ValueError, match="'between 40 and 60'"):
        Between(60, 40)
    with pytest.raises(ValueError, match="the lower level comes first"):
        Between(5, 5)
    with pytest.raises(ValueError, match=r"above 7\.5"):
        Threshold()


def test_the_best_k_need_more_rows_than_k():
    Best(3).check_rows(4)
    Maximise().check_rows(2)
    with pytest.raises(ValueError, match="more than 3 rows, and there are 3"):
        Best(3).check_rows(3)


def test_levels_that_no_row_reaches_or_all_do_are_noticed():
    belief = a_belief()
    assert reach(Above(1e6).membership(belief)) == "none"
    assert reach(Below(1e6).membership(belief)) == "all"
    assert reach(Above(0.2).membership(belief)) is None
    assert reach(np.zeros(0)) is None


def test_numbers_keep_all_their_digits():
    assert Above(np.float64(0.1) + 0.2).text == "above 0.30000000000000004"
    assert Best(np.int64(4)).to_dict() == {"kind": "best", "text": "best 4", "k": 4}
