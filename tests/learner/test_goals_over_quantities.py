"""A learner with goals over several quantities: constraints, two objectives, weights."""

import numpy as np
import pandas as pd
import pytest

from weal import ActiveLearner
from weal.learner.best_rows import remaining_gain
from weal.learner.joint_beliefs import joint_labels, pareto_rows_of

TARGETS = ["yield [%]", "purity", "crystallised"]
X = np.random.default_rng(3).uniform(size=(150, 3))
POOL = pd.DataFrame(X, columns=["temp", "time", "conc"], index=[f"R-{n}" for n in range(150)])
YIELD = np.sin(3.0 * X[:, 0]) + X[:, 1]
PURITY = 90.0 - 10.0 * X[:, 0] + 4.0 * X[:, 2]
SOLID = X[:, 2] > 0.4
FEASIBLE = (PURITY >= 88.0) & SOLID


def a_learner(goal="maximise yield", **given):
    return ActiveLearner(
        POOL, target=TARGETS, types={"crystallised": "pass"}, goal=goal, n_start=8, **given
    )


def results(name):
    n = POOL.index.get_loc(name)
    return {"yield": YIELD[n], "purity": PURITY[n], "crystallised": "yes" if SOLID[n] else "no"}


def measure(learner, n):
    for _ in range(n):
        row = learner.ask()
        learner.tell(row, results(row))
    return learner


def numbers(learner):
    return [POOL.index.get_loc(name) for name in learner.state.labelled]


def test_the_best_feasible_row_is_found():
    learner = a_learner(subject_to=["purity >= 88", "crystallised is yes"])
    assert learner.goal.text == ("maximise yield subject to purity >= 88 and crystallised is yes")
    measure(learner, 30)
    told = numbers(learner)
    best = int(np.argmax(np.where(FEASIBLE, YIELD, -np.inf)))
    assert best in told
    assert FEASIBLE[told].sum() > 12  # a random choice of 30 has about 8
    found = learner.best(5)
    assert found["id"].iloc[0] == f"R-{best}"
    assert found["yield measured"].iloc[0] == pytest.approx(YIELD[best])
    assert found["crystallised expected"].tolist() == ["yes"] * 5
    assert ((found["feasible"] >= found["probability"] - 1e-9) & (found["feasible"] <= 1.0)).all()


def test_two_objectives_reach_nearly_the_whole_front():
    learner = measure(a_learner(["maximise yield", "maximise purity"]), 35)
    assert learner.goal.text == "maximise yield and maximise purity"
    front = pareto_rows_of(learner.state, learner._beliefs, learner.goal)
    found = learner.best(20)
    assert found["id"].tolist()[: len(front)] == [id for id, _, _ in front]
    assert found["pareto"].tolist() == [n < len(front) for n in range(20)]
    told = numbers(learner)
    missed = [
        n for n in range(150) if n not in told
        and not any(YIELD[m] >= YIELD[n] and PURITY[m] >= PURITY[n] for m in told)
    ]  # fmt: skip
    assert len(missed) <= 3
    assert remaining_gain(learner.state, learner._beliefs) < 0.05


def test_the_front_is_listed_by_the_first_objective_whatever_its_direction():
    learner = measure(a_learner(["minimise yield", "maximise purity"]), 12)
    front = pareto_rows_of(learner.state, None, learner.goal)
    first = [y for _, y, _ in front]
    assert len(first) > 1
    assert first == sorted(first)


def test_a_constraint_does_not_change_what_an_unconstrained_learner_asks_before_there_is_a_model():
    plain, under = a_learner(), a_learner(subject_to="purity >= 88")
    assert plain.ask(5) == under.ask(5)


def test_batches_and_pending_rows_are_distinct():
    learner = measure(a_learner(["maximise yield", "maximise purity"]), 10)
    batch = learner.ask(6)
    assert len(set(batch)) == 6
    assert learner.ask(6) == batch
    assert not set(batch) & set(learner.state.labelled)


def test_a_row_without_its_constraint_is_not_known_to_be_feasible():
    learner = measure(a_learner(subject_to="purity >= 88"), 10)
    row = learner.ask()
    learner.tell(row, {"yield": 99.0})
    told = joint_labels(learner.state)
    assert not learner.goal.meets(told.labels)[told.ids.index(row)]
    learner.ask(more=True)


def test_a_failed_run_weighs_the_scores_of_a_joint_goal():
    learner = measure(a_learner(["maximise yield", "maximise purity"]), 10)
    for _ in range(4):
        learner.fail(learner.ask())
    assert learner.ask() not in learner.state.labelled


def test_goal_and_state_go_through_a_file(tmp_path):
    learner = measure(a_learner(subject_to=["crystallised is yes", "purity >= 88"]), 12)
    learner.save(tmp_path / "learner.weal")
    again = ActiveLearner.load(tmp_path / "learner.weal")
    assert again.goal == learner.goal
    assert again.goal.requirements[0].codes == (1,)
    assert again.ask(3) == learner.ask(3)


def test_the_order_of_labels_does_not_matter_for_the_score():
    learner = measure(a_learner(subject_to="purity >= 88"), 14)
    other = a_learner(subject_to="purity >= 88")
    other.tell({name: results(name) for name in sorted(learner.state.labelled)})
    assert other.ask() == learner.ask()


def test_weights_change_what_is_asked_and_0_leaves_a_quantity_out():
    purity = a_learner("learn", weights={"yield": 0, "crystallised": 0})
    assert purity.goal.scored(["yield", "purity", "crystallised"]) == ["purity"]
    alone = ActiveLearner(POOL, target="purity", n_start=8)
    for row in measure(alone, 0).ask(8):
        purity.tell(row, results(row))
        alone.tell(row, results(row)["purity"])
    for _ in range(5):
        row = purity.ask()
        assert alone.ask() == row
        purity.tell(row, results(row))
        alone.tell(row, results(row)["purity"])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"subject_to": "prity >= 88"}, "did you mean purity"),
        ({"subject_to": "temp < 0.5"}, "temp is an input"),
        ({"subject_to": "crystallised >= 1"}, "write 'crystallised is yes'"),
        ({"subject_to": "crystallised is blue"}, "is not a label of crystallised"),
        ({"weights": {"yield": 2}}, "weights are for the goal learn"),
        ({"subject_to": "purity > 1", "acquisition": "ei"}, "leave out the acquisition 'ei'"),
        ({"goal": ["maximise yield", "minimise yield"]}, "contradict each other"),
    ],
)
def test_a_wrong_goal_is_refused_when_the_learner_is_made(given, says):
    with pytest.raises(ValueError, match=says):
        a_learner(**given)


def test_a_joint_goal_over_an_acquisition_by_name_is_refused():
    learner = a_learner("learn", acquisition="gpm-var")
    with pytest.raises(ValueError, match="leave out the acquisition"):
        learner.change_goal("maximise yield subject to purity > 1")
    assert learner.goal.text == "learn"


def test_costs_prefer_the_cheaper_of_equal_rows():
    twice = pd.concat([POOL, POOL.add_suffix("")], ignore_index=True)
    twice["price"] = np.repeat([1.0, 50.0], 150)
    learner = ActiveLearner(
        twice, target=TARGETS, types={"crystallised": "pass"}, cost="price", n_start=8,
        features=["temp", "time", "conc"], goal=["maximise yield", "maximise purity"],
    )  # fmt: skip
    for n in range(8):
        learner.tell(n, {"yield": YIELD[n], "purity": PURITY[n]})
    assert all(row < 150 for row in learner.ask(4))


def test_a_run_ends_at_a_good_feasible_label_and_not_at_another():
    learner = a_learner(subject_to="purity >= 88")
    best = float(np.where(PURITY >= 88.0, YIELD, -np.inf).max())
    done = learner.run(results, 60, by_id=True, until=f"best > {best - 1e-6}")
    assert done.reason == "target"
    told = numbers(learner)
    assert YIELD[told][PURITY[told] >= 88.0].max() == best


def test_a_run_of_two_objectives_ends_when_little_is_to_be_gained():
    learner = a_learner()
    both = ["maximise yield", "maximise purity"]
    done = learner.run(results, 100, by_id=True, goal=both, patience=3, least_gain=0.002)
    assert (done.reason, done.labels < 100) == ("no gain", True)
