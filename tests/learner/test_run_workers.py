"""Runs with workers: threads and real processes, time limits, crashes, Ctrl-C; no label lost."""

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import slow_oracles
from weal import ActiveLearner
from weal.learner.workers import ProcessWorkers, ThreadWorkers

X = np.random.default_rng(3).uniform(size=(40, 2))


def labels(learner):
    return {label.name: label.y for label in learner.labels}


def is_true(learner):
    """Whether each label is that of its own row, whatever the order in which they came."""
    found = labels(learner)
    return all(y == slow_oracles.plain(X[name]) for name, y in found.items())


def test_threads_measure_at_the_same_time_and_no_row_twice():
    learner, calls, most, lock = ActiveLearner(X), [], [0], threading.Lock()
    gate = threading.Barrier(4, timeout=60)

    def measure(row):
        with lock:
            calls.append(tuple(row))
        if len(calls) <= 4:
            gate.wait()  # four at once, or never
            most[0] = 4
        time.sleep(0.02 * row[0])  # they end in another order
        return slow_oracles.plain(row)

    run = learner.run(measure, 22, workers=4)
    assert (run.reason, run.labels, run.failures) == ("budget", 22, ())
    assert most == [4]
    assert len(set(calls)) == len(calls) == len(labels(learner)) == 22
    assert is_true(learner)
    assert not learner.state.batch


def test_a_run_of_workers_ends_with_the_rows_and_the_next_goes_on():
    learner = ActiveLearner(X[:13])
    assert learner.run(slow_oracles.plain, 5, workers=3).labels == 5
    assert learner.run(slow_oracles.plain, 99, workers=3).reason == "exhausted"
    assert len(labels(learner)) == 13
    assert learner.run(slow_oracles.plain, 9, workers=3).reason == "exhausted"


def test_a_stop_condition_waits_for_the_rows_under_way():
    learner = ActiveLearner(X)
    run = learner.run(slow_oracles.plain, 40, workers=4, until="labels = 9")
    assert run.reason == "target"
    assert 9 <= run.labels <= 12
    assert len(labels(learner)) == run.labels


@pytest.mark.parametrize("workers", [1, 3])
def test_processes_measure_elsewhere(workers):
    learner = ActiveLearner(X[:, :1] + X[:, 1:])
    run = learner.run(slow_oracles.process_id, 2 * workers, workers=workers, timeout=100)
    used = set(labels(learner).values())
    assert run.labels == 2 * workers
    assert float(os.getpid()) not in used
    assert len(used) <= workers


@pytest.mark.parametrize(
    ("oracle", "limit", "why"),
    [
        (slow_oracles.sleeps, 1.5, "TimeoutError: no label within 1.5 s"),
        (slow_oracles.crashes, 100, "RuntimeError: the process of the oracle ended (exit 7)"),
        (slow_oracles.raises, 100, "Odd: 1 and 2"),
        (slow_oracles.exits, 100, "RuntimeError: the oracle raised SystemExit('diverged')"),
        (slow_oracles.not_a_number, 100, "ValueError"),
    ],
)
def test_failures_of_processes_are_skipped_with_their_reason(oracle, limit, why):
    learner = ActiveLearner(X[:12], n_start=4)
    run = learner.run(oracle, 12, workers=2, timeout=limit, on_failure="skip")
    wrong = {name for name in range(12) if X[name, 0] > 0.7}
    assert len(wrong) >= 2
    assert {failure.id for failure in run.failures} == wrong
    assert all(why in failure.why for failure in run.failures)
    assert set(labels(learner)) == set(range(12)) - wrong
    assert is_true(learner)
    assert learner.skipped == wrong


def test_failures_may_teach():
    learner = ActiveLearner(X, n_start=6)
    run = learner.run(slow_oracles.raises, 14, workers=2, on_failure="fail")
    assert run.failures
    assert not learner.skipped
    assert run.labels + len(run.failures) == 14


def test_an_error_is_raised_once_the_other_labels_are_told():
    learner = ActiveLearner(X)
    with pytest.raises(slow_oracles.Odd, match="1 and 2"):
        learner.run(slow_oracles.raises, 40, workers=4)
    told = len(labels(learner))
    assert told
    assert is_true(learner)
    assert not learner.state.batch
    learner.run(slow_oracles.plain, 40 - told, workers=2)
    assert len(labels(learner)) == 40  # the row that raised came again


class HoldsALock:
    def __init__(self):
        self.lock = threading.Lock()

    def __call__(self, row):
        return 1.0


def closure():
    return lambda row: row[0]


@pytest.mark.parametrize("oracle", [lambda row: 1.0, closure(), HoldsALock()])
def test_an_oracle_that_cannot_be_sent_is_refused_before_anything_starts(oracle):
    learner = ActiveLearner(X)
    with pytest.raises(ValueError, match=r"cannot be sent.*at the top of a module, or leave"):
        learner.run(oracle, 5, timeout=3)
    assert not learner.state.batch
    assert not learner.state.asked


def test_an_oracle_that_the_process_cannot_load_is_refused(monkeypatch):
    def measure(row):
        return 1.0

    measure.__qualname__ = "nowhere"
    monkeypatch.setattr(slow_oracles, "nowhere", measure, raising=False)
    measure.__module__ = "slow_oracles"
    learner = ActiveLearner(X)
    with pytest.raises(ValueError, match="a process cannot load the oracle: AttributeError"):
        learner.run(measure, 5, timeout=30)
    assert not learner.state.asked


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"workers": 0}, "whole number"),
        ({"workers": 2.5}, "whole number"),
        ({"workers": 10**6}, "from 1 to 1000"),
        ({"timeout": 0}, "write seconds above 0"),
        ({"timeout": -3}, "write seconds above 0"),
        ({"timeout": float("nan")}, "write seconds above 0"),
        ({"timeout": "5"}, "write seconds above 0"),
        ({"workers": 2, "batch": 3}, "leave one of them out"),
        ({"on_failure": "ignore"}, "write 'raise', 'skip' or 'fail'"),
        ({"max_cost": 0}, "write a number above 0"),
        ({"max_cost": "5"}, "write a number above 0"),
    ],
)
def test_wrong_arguments_are_refused(how, says):
    learner = ActiveLearner(X)
    with pytest.raises((ValueError, TypeError), match=says):
        learner.run(slow_oracles.plain, 5, **how)
    assert not learner.labels


@pytest.mark.parametrize("limit", [None, 100])
def test_ctrl_c_keeps_every_label_that_has_come(limit):
    learner, seen = ActiveLearner(X), []

    def callback(own, name, label):
        seen.append(name)
        if len(seen) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    run = learner.run(slow_oracles.plain, 40, workers=3, timeout=limit, callback=callback)
    assert run.reason == "interrupted"
    assert run.labels == len(labels(learner)) >= 3
    assert is_true(learner)
    assert not learner.state.batch
    again = learner.run(slow_oracles.plain, 40 - run.labels, workers=3)
    assert run.labels + again.labels == 40
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_time_limit_ends_the_children_of_the_oracle_too(tmp_path, monkeypatch):
    monkeypatch.setenv("SOLVER_PID", str(tmp_path / "pid"))
    learner = ActiveLearner(X)
    run = learner.run(slow_oracles.begins_a_solver, 1, timeout=3, on_failure="skip")
    assert "no label within 3 s" in run.failures[0].why
    solver = int((tmp_path / "pid").read_text())
    for _ in range(100):
        try:
            os.kill(solver, 0)
        except ProcessLookupError:
            break
        status = Path(f"/proc/{solver}/status").read_text()
        if "State:\tZ" in status:  # ended, and not yet collected
            break
        time.sleep(0.1)
    else:
        pytest.fail("the solver is still there")


def test_workers_are_free_again_after_every_kind_of_end():
    workers = ProcessWorkers(slow_oracles.crashes, 1, 60.0)
    try:
        for name, row in (("a", [0.9, 1.0]), ("b", [0.1, 1.0])):
            workers.start(name, row)
            found = []
            while not found:
                found = workers.wait(1.0)
            assert [one for one, _ in found] == [name]
        assert_allclose(found[0][1], 1.01)
    finally:
        workers.close()
    threads = ThreadWorkers(slow_oracles.exits, 1)
    threads.start("a", [0.9, 1.0])
    assert "SystemExit" in str(threads.wait(60.0)[0][1].error)
    assert threads.wait(0.0) == []


@pytest.mark.parametrize("how", [{}, {"workers": 3}, {"batch": 4}])
def test_a_run_ends_before_its_costs_exceed_the_limit(how):
    costs = 1.0 + 4.0 * X[:, 0]
    learner = ActiveLearner(X, cost=costs)

    def measure(points):
        return [slow_oracles.plain(row) for row in points] if "batch" in how else (
            slow_oracles.plain(points)
        )  # fmt: skip

    run = learner.run(measure, 40, max_cost=30.0, **how)
    spent = sum(costs[name] for name in labels(learner))
    assert run.reason == "cost"
    assert_allclose(run.cost, spent)
    assert 25.0 < spent <= 30.0
    assert not learner.state.batch
    free = ActiveLearner(X)
    run = free.run(slow_oracles.plain, 40, max_cost=7, workers=how.get("workers", 1))
    assert (run.reason, run.labels, run.cost) == ("cost", 7, 7.0)


def test_failures_cost_as_much_as_labels():
    learner = ActiveLearner(X)
    run = learner.run(slow_oracles.raises, 40, max_cost=10, on_failure="skip")
    assert run.failures
    assert run.labels + len(run.failures) == run.cost == 10
