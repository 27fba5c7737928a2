"""Learners with a goal: what they ask, the table of the best rows, repeats, files and bad input."""

from dataclasses import replace

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from scipy.special import ndtr, ndtri

from weal import ActiveLearner
from weal.core.extensions.level_probability import best_level
from weal.goals.best import Best, Maximise, Minimise
from weal.goals.learn import Learn
from weal.goals.threshold import Above, Below, Between
from weal.learner.best_rows import set_membership
from weal.learner.choosing import doubted_of_set, scores_of
from weal.learner.repeats import belief_at, expected_gain

GOALS = [Maximise(), Minimise(), Best(3), Best(4, lowest=True), Above(1.0), Below(0.0)]
GOALS += [Between(0.2, 0.9)]
each_goal = pytest.mark.parametrize("goal", GOALS, ids=lambda goal: goal.text)


def a_pool(n=80, seed=2):
    X = np.random.default_rng(seed).uniform(size=(n, 3))
    return X, np.sin(5 * X[:, 0]) + X[:, 1] ** 2


def a_learner(goal, labels=12, noise=0.0, **options):
    X, y = a_pool()
    learner = ActiveLearner(X, goal=goal, seed=1, **options)
    start = range(0, 80, 80 // labels)[:labels]
    y = y + noise * np.random.default_rng(5).normal(size=len(y))
    learner.tell(start, y[start])
    return learner, X, y


@each_goal
def test_the_row_asked_has_the_highest_score_of_the_goal(goal):
    learner, _, _ = a_learner(goal)
    state, beliefs = learner.state, learner._beliefs
    scores = scores_of(state, beliefs).scores[0]
    assert list(state.settings.functions) == [goal.acquisition(in_shards=False)]
    assert learner.ask() == int(np.argmax(np.where(state.free(), scores, -np.inf)))


def test_the_score_of_best_is_the_probability_of_the_table():
    learner, _, _ = a_learner(Best(5))
    scores = scores_of(learner.state, learner._beliefs).scores[0]
    table = learner.best(80)
    assert len(table) == 80
    assert table["probability"].sum() == pytest.approx(5.0, rel=1e-6)
    assert np.exp(scores[table["id"]]) == pytest.approx(table["probability"], abs=1e-9)


@each_goal
def test_goals_find_their_rows_with_few_labels(goal):
    learner, _, y = a_learner(goal)
    for _ in range(28):
        query = learner.ask()
        learner.tell(query, y[query])
    p = set_membership(learner.state, learner._beliefs).p
    if goal.pointwise:
        low, high = goal.low, goal.high
        assert (((y > low) & (y < high)) == (p > 0.5)).mean() > 0.95
    else:
        first = np.argsort(y if goal.lowest else -y)[: goal.k]
        assert np.isin(first, list(learner.labels.by_name)).mean() > 0.7


@each_goal
def test_a_batch_has_no_row_twice_and_begins_with_the_single_row(goal):
    learner, _, _ = a_learner(goal)
    first = ActiveLearner.of(learner.state).ask()
    batch = learner.ask(6)
    assert batch[0] == first
    assert len(set(batch)) == 6
    assert not set(batch) & set(learner.labels.by_name)


@each_goal
def test_a_saved_learner_keeps_its_goal(goal, tmp_path):
    learner, _, _ = a_learner(goal, repeats=False)
    learner.ask(2)
    learner.save(tmp_path / "l.weal")
    again = ActiveLearner.load(tmp_path / "l.weal")
    assert again.goal == goal
    assert not again.state.settings.repeats
    assert again.ask(4) == learner.ask(4)
    again.change_goal(Learn())
    assert list(again.acquisition_weights) == ["mvr-var-igs"]


def test_minimise_is_maximise_of_negated_labels():
    asked = []
    for goal, sign in ((Maximise(), 1.0), (Minimise(), -1.0)):
        X, y = a_pool()
        learner = ActiveLearner(X, goal=goal, seed=3)
        learner.tell(range(12), sign * y[:12])
        for _ in range(8):
            learner.tell(query := learner.ask(), sign * y[query])
        asked.append(list(learner.labels.by_name))
    assert asked[0] == asked[1]


@pytest.mark.parametrize("unit", [1e-6, 1.0, 3.7e8])
def test_the_unit_of_the_labels_changes_nothing(unit):
    learner, X, _ = a_learner(Maximise())
    other = ActiveLearner(X, goal=Maximise(), seed=1)
    labels = [unit * label.y - 5 * unit for label in learner.labels]
    other.tell(list(learner.labels.by_name), labels)
    assert other.ask(5) == learner.ask(5)


def test_probabilities_do_not_depend_on_the_warp():
    X, y = a_pool()
    learner = ActiveLearner(X, goal=Maximise(), seed=1)
    learner.tell(range(30), np.exp(3 * y[:30]))
    posterior = learner._beliefs.posterior(learner.state.view())
    assert posterior.units[1].spread > 0.0  # the labels are warped
    belief = belief_at(posterior, np.arange(80))
    level = best_level(belief, 10).tau
    y_level = posterior.units[0].means(posterior.units[1].unwarp(np.array([level])))[0]
    above = Above(float(y_level)).membership(belief)
    assert above == pytest.approx(Maximise().membership(belief), abs=1e-6)


def test_the_table_is_of_the_kind_of_the_pool():
    X, y = a_pool()
    columns = {"heat": X[:, 0], "mean": X[:, 1], "speed": X[:, 2]}
    plain = pandas.DataFrame({"name": [f"r{n}" for n in range(80)], **columns})
    for frame in (plain, polars.from_pandas(plain), pyarrow.Table.from_pandas(plain)):
        learner = ActiveLearner(frame, id_column="name", goal=Maximise(), target="yield")
        learner.tell([f"r{n}" for n in range(12)], y[:12])
        table = learner.best(5)
        assert type(table) is type(frame)
        names = list(table.column_names if hasattr(table, "column_names") else table.columns)
        assert names == ["id", "heat", "mean", "speed", "measured", "mean_", "sd", "probability"]
        assert len(table["id"]) == 5
        p = np.array(table["probability"])
        assert (np.diff(p) <= 1e-3).all()
        for name, value in zip(list(table["id"]), list(table["measured"]), strict=True):
            number = int(str(name)[1:])
            value = getattr(value, "as_py", lambda value=value: value)()
            assert value == pytest.approx(y[number]) if number < 12 else np.isnan(value)


def test_an_indexed_frame_keeps_its_ids():
    X, y = a_pool()
    frame = pandas.DataFrame(X, columns=list("abc"), index=[f"P-{n}" for n in range(80)])
    learner = ActiveLearner(frame, goal=Above(1.0))
    learner.tell(list(frame.index[:12]), y[:12])
    table = learner.best(3)
    assert list(table["id"]) == list(table.index)
    assert table[["a", "b", "c"]].equals(frame.loc[table["id"]])


def test_the_table_of_another_goal_changes_nothing():
    learner, _, _ = a_learner(None)
    with pytest.raises(ValueError, match="goal='maximise'"):
        learner.best()
    state = learner.state
    assert len(learner.best(4, goal=Minimise())) == 4
    assert learner.state is state


def test_a_goal_may_change_while_rows_are_out():
    learner, _, y = a_learner(Maximise())
    out = learner.ask(3)
    learner.change_goal(Between(0.2, 0.5))
    assert set(learner.pending) == set(out)
    assert not set(learner.ask(3)) & set(out)
    learner.tell(out, y[out])
    assert len(learner.labels) == 15


def test_an_acquisition_by_name_stays_when_the_goal_changes():
    learner, _, _ = a_learner(Maximise(), acquisition="ucb(1)")
    learner.change_goal(Above(0.4))
    assert list(learner.acquisition_weights) == ["ucb(1)"]
    assert learner.goal == Above(0.4)


def test_bad_goals_say_the_way_out():
    X, _ = a_pool(8)
    with pytest.raises(ValueError, match="more than 8 rows, and there are 8"):
        ActiveLearner(X, goal=Best(8))
    learner = ActiveLearner(X, goal=Maximise())
    with pytest.raises(ValueError, match="goal is 3"):
        learner.change_goal(3)
    assert learner.goal == Maximise()


@pytest.mark.parametrize("goal", [Maximise(), Minimise(), Best(2), Above(5.0), Below(9.0)])
def test_equal_labels_are_no_obstacle(goal):
    X, _ = a_pool()
    learner = ActiveLearner(X, goal=goal)
    for _ in range(15):
        learner.tell(learner.ask(), 5.0)
    assert len(learner.labels.by_name) + len(learner.best(3)) >= 3
    assert np.isfinite(learner.history[-1]["score"])


def test_costs_enter_as_a_share_of_the_probability():
    X, y = a_pool()
    cost = np.where(np.arange(80) % 2, 1.0, 1e9)
    for goal in (Maximise(), Above(1.0), Between(0.2, 0.9)):
        learner = ActiveLearner(X, goal=goal, cost=cost, repeats=False)
        learner.tell(range(12), y[:12])
        assert learner.ask() % 2
        plain = ActiveLearner(X, goal=goal, repeats=False)
        plain.tell(range(12), y[:12])
        same = ActiveLearner(X, goal=goal, cost=np.full(80, 7.0), repeats=False)
        same.tell(range(12), y[:12])
        assert plain.ask(5) == same.ask(5)


def test_rows_that_left_the_pool_are_not_among_the_best():
    learner, _, _ = a_learner(Best(5))
    gone = list(learner.best(3)["id"])
    learner.remove(gone)
    table = learner.best(80)
    assert not set(gone) & set(table["id"])
    assert table["probability"].sum() == pytest.approx(5.0, rel=1e-6)


def test_noise_is_answered_by_repeats_and_repeats_are_counted():
    learner, _, y = a_learner(Best(2), labels=40, noise=0.5)
    rng = np.random.default_rng(9)
    for _ in range(12):
        query = learner.ask()
        learner.tell(query, y[query] + 0.5 * rng.normal())
    again = [row for row in learner.history if row["why"] == "repeat"]
    assert again
    assert all(row["label"] is not None for row in again)
    assert len(learner.labels) == 52
    assert len(learner.labels.by_name) == 52 - len(again)


@pytest.mark.parametrize(("p", "rho"), [(0.5, 0.5), (0.3, 0.2), (0.9, 0.8), (0.05, 0.95)])
def test_the_gain_of_a_repeat_is_that_of_drawn_labels(p, rho):
    xi = np.random.default_rng(0).normal(size=200_000)
    after = ndtr((ndtri(p) + np.sqrt(rho) * xi) / np.sqrt(1.0 - rho))
    drawn = min(p, 1.0 - p) - np.minimum(after, 1.0 - after)
    found = expected_gain(np.array([p]), np.array([rho]))[0]
    assert found == pytest.approx(drawn.mean(), abs=4 * drawn.std() / np.sqrt(len(xi)))


def test_repeats_may_be_forbidden():
    learner, _, y = a_learner(Best(2), labels=40, noise=0.5, repeats=False)
    for _ in range(12):
        learner.tell(query := learner.ask(), y[query])
    assert len(learner.labels.by_name) == 52


def test_the_same_number_again_is_a_second_measurement_where_it_was_asked():
    learner, _, _ = a_learner(Best(2), labels=40, noise=0.5)
    while (query := learner.ask()) not in learner.labels.by_name:
        learner.tell(query, 0.0)
    before = learner.labels.values(query)
    learner.tell(query, before[0])
    assert learner.labels.values(query) == [*before, before[0]]
    learner.tell(query, before[0])  # told twice by mistake: no news
    assert len(learner.labels.values(query)) == len(before) + 1


def test_labels_without_noise_are_not_repeated():
    learner, _, y = a_learner(Maximise())
    for _ in range(30):
        learner.tell(query := learner.ask(), y[query])
    assert not [row for row in learner.history if row["why"] == "repeat"]


def test_a_doubted_label_that_would_be_the_best_is_asked_again_first():
    X, y = a_pool()
    for goal, wrong in ((Maximise(), 60.0), (Above(1.0), 60.0), (Minimise(), -60.0)):
        learner = ActiveLearner(X, goal=goal)
        learner.tell(range(30), y[:30])
        learner.tell(31, wrong)
        assert doubted_of_set(learner.state.view(), learner._beliefs) == [31]
        assert learner.ask() == 31
        assert learner.history[-1]["why"] == "doubted"
        learner.tell(31, y[31])
        assert learner.ask() != 31
        other = ActiveLearner(X, goal=goal, repeats=False)
        other.tell(range(30), y[:30])
        other.tell(31, wrong)
        assert other.ask() != 31


def test_a_doubted_label_that_changes_nothing_is_left_alone():
    X, y = a_pool()
    learner = ActiveLearner(X, goal=Maximise())
    learner.tell(range(30), y[:30])
    learner.tell(int(np.argmin(y)) if np.argmin(y) >= 30 else 31, -60.0)
    assert doubted_of_set(learner.state.view(), learner._beliefs) == []


@each_goal
def test_refine_adds_rows_near_those_that_are_wanted(goal):
    learner, _, _ = a_learner(goal)
    assert len(learner.refine(6)) == 6
    assert learner.ask() is not None


def test_a_run_follows_the_goal():
    X, y = a_pool()
    learner = ActiveLearner(X, goal=Maximise())
    learner.run(lambda x: float(np.sin(5 * x[0]) + x[1] ** 2), 30)
    assert int(np.argmax(y)) in learner.labels.by_name


def test_files_without_a_goal_open_as_learn(tmp_path):
    learner, _, _ = a_learner(None)
    assert learner.goal == Learn()
    assert learner.state.settings.by_goal
    state = replace(learner.state, settings=replace(learner.state.settings, goal=Learn()))
    ActiveLearner.of(state).save(tmp_path / "l.weal")
    assert ActiveLearner.load(tmp_path / "l.weal").goal == Learn()
