"""The loop for oracles that can be called: why it stops, and that nothing is ever lost."""

from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from interrupting import Interrupt, calls_of
from learning import POOL, Y, a_learner, everything, measure, model, teach, told
from soak import count
from weal import ActiveLearner, EnsembleGPRegressor


def test_a_run_is_asking_and_telling():
    learner, by_hand = a_learner(), a_learner()
    how = learner.run(measure, 7)
    teach(by_hand, 7)
    assert told(learner) == told(by_hand)
    assert (how.reason, how.labels) == ("budget", 7)
    assert how.predicted_error == learner.predicted_error() == by_hand.predicted_error()


def test_a_run_begins_from_nothing_and_goes_on_where_it_ended():
    learner, at_once = (a_learner("multi", first=0) for _ in range(2))
    assert learner.run(measure, 4).predicted_error == np.inf
    assert learner.run(measure, 9).labels == 9
    at_once.run(measure, 13)
    assert told(learner) == told(at_once)


def test_no_budget_asks_nothing():
    learner = a_learner()
    before = everything(learner)
    assert learner.run(pytest.fail, 0).reason == "budget"
    assert everything(learner) == before


@pytest.mark.parametrize("n", [-1, 2.5, "3", None, True])
def test_a_budget_that_is_no_number_is_refused(n):
    with pytest.raises(ValueError, match="whole number"):
        a_learner().run(pytest.fail, n)
    with pytest.raises(ValueError, match="whole number"):
        a_learner().run(pytest.fail, 3, patience=0 if n is None else n)


# What the oracle and the callback get


def test_the_oracle_gets_a_row_of_its_own():
    rows = []

    def oracle(row):
        rows.append(row.copy())
        row[:] = 0.0  # must not reach the pool
        return 2000.0

    learner = a_learner()
    learner.run(oracle, 3)
    asked = [name for name, _, _ in told(learner)[8:]]
    assert_array_equal(rows, POOL[asked])
    assert_array_equal(learner.candidates.X, POOL)


def test_the_oracle_gets_the_id_when_one_says_so():
    learner = a_learner(ids=[f"sample {n}" for n in range(60)])
    learner.run(lambda name: Y[int(name.removeprefix("sample "))], 5, by_id=True)
    assert all(y == Y[int(name.split()[1])] for name, y, _ in told(learner))


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_the_oracle_of_a_frame_gets_a_dict(kind):
    library = pytest.importorskip(kind)
    data = {"heat": POOL[:, 0], "name": [f"s{n}" for n in range(60)], "n": np.arange(60)}
    table = library.table(data) if kind == "pyarrow" else library.DataFrame(data)
    learner = ActiveLearner(pool=table, id_column="name")

    def oracle(row):
        assert set(row) == {"heat", "name", "n"}
        assert row["name"] == f"s{row['n']}"
        return 3.0 * row["heat"] + POOL[row["n"], 0] * 0.0

    assert learner.run(oracle, 9).labels == 9
    assert_allclose([y for _, y, _ in told(learner)], 3.0 * learner.labels.arrays()[0][:, 0])


def test_the_callback_sees_every_label_after_it_was_learnt():
    seen = []

    def callback(learner, name, label):
        assert learner.labels.values(name) == [label]
        seen.append((name, label, learner.model.n_labels_))

    learner = a_learner()
    learner.run(measure, 4, callback=callback)
    assert seen == [(name, y, 9 + i) for i, (name, y, _) in enumerate(told(learner)[8:])]


# Why it stops


def test_it_stops_when_the_expected_error_is_below_the_target():
    learner, reference = a_learner(), a_learner()
    errors = []
    reference.run(measure, 30, callback=lambda one, *_: errors.append(one.predicted_error()))
    target = (errors[11] + errors[12]) / 2
    first = next(n for n, error in enumerate(errors) if error < target)
    how = learner.run(measure, 30, target_error=target)
    assert (how.reason, how.labels) == ("target", first + 1)
    assert how.predicted_error == errors[first] < target


def test_it_stops_when_there_is_no_more_gain():
    learner = a_learner(pool=np.repeat(POOL[:6], 10, axis=0), first=0)
    how = learner.run(measure, 60, patience=4, least_gain=0.05)
    assert how.reason == "no gain"
    assert how.labels < 50
    patient = a_learner(first=0).run(measure, 25, patience=24, least_gain=0.05)
    assert patient.reason == "budget"


def test_it_stops_when_the_pool_is_exhausted():
    learner = a_learner(pool=POOL[:12])
    learner.skip(11)
    how = learner.run(measure, 50)
    assert (how.reason, how.labels) == ("exhausted", 3)
    assert learner.model.n_labels_ == 11


# Nothing is lost


@pytest.mark.parametrize("first", [0, 8])
def test_an_oracle_that_raises_loses_nothing_and_the_point_is_asked_again(first):
    learner, calm = (a_learner("multi", first=first) for _ in range(2))
    asked = []

    def broken(row):
        asked.append(row.tolist())
        if len(asked) == 4:
            raise OSError("the furnace went out")
        return measure(row)

    with pytest.raises(OSError, match="the furnace went out"):
        learner.run(broken, 10)
    assert len(learner.labels) == first + 3
    assert learner.ask() == next(iter(learner.pending))
    assert learner.run(broken, 7).labels == 7
    assert asked[4] == asked[3]
    calm.run(measure, 10)
    assert told(learner) == told(calm)
    assert repr(learner.history) == repr(calm.history)


@pytest.mark.parametrize("bad", [np.nan, None, "12,5", [1.0], "12 MPa"])
def test_a_label_that_is_none_is_refused_and_the_point_asked_again(bad):
    learner = a_learner()
    query = learner.ask()
    before = everything(learner)
    with pytest.raises(ValueError, match="label"):
        learner.run(lambda row: bad, 10)
    assert everything(learner) == before
    assert learner.ask() == query


def test_ctrl_c_in_the_oracle_ends_the_run_and_keeps_the_labels():
    learner, calm = a_learner(), a_learner()
    left = iter([True, True, True])

    def interrupted(row):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return measure(row)

    how = learner.run(interrupted, 10)
    assert (how.reason, how.labels) == ("interrupted", 3)
    assert how.predicted_error == learner.predicted_error()
    learner.run(measure, 7)
    calm.run(measure, 10)
    assert told(learner) == told(calm)


def test_ctrl_c_in_the_callback_counts_the_label_that_was_told():
    def callback(learner, name, label):
        raise KeyboardInterrupt

    learner = a_learner()
    how = learner.run(measure, 10, callback=callback)
    assert (how.reason, how.labels, len(learner.labels)) == ("interrupted", 1, 9)


@pytest.mark.parametrize("kind", ["features", "default"])
def test_ctrl_c_at_any_call_ends_the_run_and_loses_nothing(kind):
    given = EnsembleGPRegressor() if kind == "default" else model(kind)
    start = a_learner("multi", model=given)
    calm = deepcopy(start)
    calls = calls_of(lambda one: one.run(measure, 5), deepcopy(start), deepcopy(start), "ask")
    calm.run(measure, 12)
    many = count(8, long=15) if kind == "default" else count(60, long=200)
    for n in np.unique(np.linspace(1, calls, many).astype(int)):
        learner, ends = deepcopy(start), []
        assert not Interrupt(n, "ask").during(lambda: ends.append(learner.run(measure, 9)))  # noqa: B023
        [how] = ends
        assert how.reason == "interrupted", n
        assert how.labels == len(learner.labels) - 8, n
        assert told(learner) == told(calm)[: 8 + how.labels], n
        assert learner.run(measure, 3).labels == 3
        assert told(learner) == told(calm)[: 11 + how.labels], n


# The bar


def test_progress_is_drawn_on_standard_error_alone(capfd):
    a_learner().run(measure, 3, progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "3/3" in err
    assert "expected error" in err


@pytest.mark.parametrize("progress", [False, None])
def test_nothing_is_drawn_where_nobody_looks(progress, capfd):
    a_learner().run(measure, 3, progress=progress)
    assert capfd.readouterr() == ("", "")


def test_the_bar_survives_an_oracle_that_raises(capfd):
    learner = a_learner(model=model("exact"))
    with pytest.raises(ZeroDivisionError):
        learner.run(lambda row: 1 / 0, 3, progress=True)
    assert capfd.readouterr().out == ""
    assert learner.run(measure, 2, progress=True).labels == 2
