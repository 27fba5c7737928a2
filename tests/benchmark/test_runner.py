"""Runs: the same numbers however they are computed, and resumed after whatever stopped them."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import psutil
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import weal.benchmark
from weal.benchmark.curve_cache import open_store
from weal.benchmark.data_folders import NotAvailable
from weal.benchmark.methods import METHODS, Method, Reading
from weal.benchmark.protocol import make_plan
from weal.benchmark.runner import CurveFailed, RunProgress, carry_out
from weal.benchmark.tasks import TASKS
from weal.errors import WorkerLost

TINY = {"realisations": 2, "T": 3, "jobs": 1}
TASKS_2, METHODS_2 = ["gramacy", "higdon"], ["random", "egp-wvar"]


def numbers(table):
    """All but the seconds, which nobody can promise."""
    return table.drop(columns="seconds")


def kept(out, tasks=TASKS_2, methods=METHODS_2, **options):
    """How many curves of this run were in the folder before."""
    steps = []
    weal.benchmark.run(tasks, methods, out=out, progress=steps.append, **{**TINY, **options})
    return steps[-1].kept


def guess(split, eta, seed, T, offset=0.0):
    """A method of the user's own: the mean of what it was told."""
    for t in range(T + 1):
        mean = np.full(len(split.yt), split.y0.mean() + offset)
        yield Reading(len(split.y0) + t, mean, -((split.yt - mean) ** 2), {}, {})


def blas_threads(split, eta, seed, T):
    """A method that counts BLAS threads instead of labels."""
    blas = [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]
    for _ in range(T + 1):
        yield Reading(max(blas), split.yt, np.zeros(len(split.yt)), {}, {})


def slowly(split, eta, seed, T):
    for reading in guess(split, eta, seed, T):
        time.sleep(0.01)
        yield reading


def failing(split, eta, seed, T):
    yield from guess(split, eta, seed, 1)
    raise ArithmeticError("the matrix fell over")


GUESS = Method("guess", "Guess", guess)


def test_there_is_a_row_for_every_reading_in_the_order_asked_for():
    table = weal.benchmark.run(["higdon", "gramacy"], ["random", GUESS], **TINY)
    assert len(table) == 2 * 2 * 2 * 4
    assert table["task"].unique().tolist() == ["higdon", "gramacy"]
    assert table["method"].unique().tolist() == ["random", "guess"]
    first = table.iloc[:8]
    assert first["t"].tolist() == [0, 1, 2, 3] * 2
    assert first["realisation"].tolist() == [0] * 4 + [1] * 4
    assert first["labels"].tolist() == [10, 11, 12, 13] * 2


def test_a_curve_is_what_the_protocol_says():
    # [1, metric:nmse, metric:npll]
    table = weal.benchmark.run("branin", GUESS, realisations=1, T=2, seed=4, jobs=1)
    split = weal.benchmark.tasks.draw(TASKS["branin"], 0, 4)
    expected = np.mean((split.y0.mean() - split.yt) ** 2) / np.var(split.yt)
    np.testing.assert_array_equal(table["nmse"], expected)
    log_p = -((split.yt - split.y0.mean()) ** 2)
    np.testing.assert_allclose(table["npll"], -log_p.mean() - np.log(split.yt.std()), rtol=1e-12)


TASKS_OF_TWO = ["ackley", "diabetes"]
METHODS_OF_TWO = ["gp-var", "egp-multiafs", "egp-gpm-ent", GUESS]
COUNT = Method("count", "Count", blas_threads)


@pytest.fixture(scope="module")
def two_processes():
    """A run on two processes, whose start takes longer than its curves: its table, by method."""
    by = 0.5
    mine = Method("mine", "Mine", lambda *args: guess(*args, offset=by))  # as in a notebook
    with threadpool_limits(2, "blas"):
        methods = [*METHODS_OF_TWO, COUNT, mine]
        table = weal.benchmark.run(TASKS_OF_TWO, methods, **{**TINY, "jobs": 2})
        assert own_blas_threads() == {2}
    return dict(list(table.groupby("method")))


def own_blas_threads():
    return {x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas"}


def test_numbers_are_the_same_on_one_and_two_processes_to_the_last_digit(two_processes):
    table = weal.benchmark.run(TASKS_OF_TWO, METHODS_OF_TWO, **TINY)
    for method, one in table.groupby("method"):
        one, two = (numbers(x).reset_index(drop=True) for x in (one, two_processes[method]))
        pd.testing.assert_frame_equal(one, two, check_exact=True)


def test_every_process_has_one_blas_thread_during_a_run_and_its_own_number_after_it(two_processes):
    assert set(two_processes["count"]["labels"]) == {1}
    with threadpool_limits(2, "blas"):
        table = weal.benchmark.run("higdon", COUNT, realisations=2, T=1, jobs=1)
        assert set(table["labels"]) == {1}
        assert own_blas_threads() == {2}


def test_a_method_from_a_notebook_runs_on_other_processes(two_processes):
    mine, theirs = (two_processes[name]["nmse"] for name in ("mine", "guess"))
    assert (mine.to_numpy() != theirs.to_numpy()).all()


def test_a_second_run_computes_nothing_and_gives_the_same(tmp_path):
    one = weal.benchmark.run(TASKS_2, METHODS_2, out=tmp_path, **TINY)
    steps = []
    two = weal.benchmark.run(TASKS_2, METHODS_2, out=tmp_path, progress=steps.append, **TINY)
    pd.testing.assert_frame_equal(one, two, check_exact=True)
    assert steps[-1] == RunProgress("curves", done=8, total=8, kept=8)


def test_more_of_the_same_computes_only_what_is_new(tmp_path):
    assert kept(tmp_path) == 0
    assert kept(tmp_path, realisations=3) == 8
    assert kept(tmp_path, methods=[*METHODS_2, GUESS]) == 8


def test_a_changed_setting_does_not_mix_with_old_results(tmp_path):
    kept(tmp_path, methods=["random", GUESS])
    other = [replace(TASKS[name], eta=7.0) for name in TASKS_2]
    fewer = [replace(TASKS[name], U0=400) for name in TASKS_2]
    shifted = Method("guess", "Guess", partial(guess, offset=1.0))
    assert kept(tmp_path, methods=["random", GUESS], seed=1) == 0
    assert kept(tmp_path, methods=["random", GUESS], T=2) == 0
    assert kept(tmp_path, tasks=other, methods=["random", GUESS]) == 0
    assert kept(tmp_path, tasks=fewer, methods=["random", GUESS]) == 0
    assert kept(tmp_path, methods=["random", shifted]) == 4  # random's


def test_results_of_other_settings_stay_out_of_the_table(tmp_path):
    weal.benchmark.run(TASKS_2, METHODS_2, out=tmp_path, **{**TINY, "T": 2})
    table = weal.benchmark.run(TASKS_2, METHODS_2, out=tmp_path, **TINY)
    alone = weal.benchmark.run(TASKS_2, METHODS_2, **TINY)
    pd.testing.assert_frame_equal(numbers(table), numbers(alone), check_exact=True)


KILLED = """
import os, pathlib, signal, sys
import psutil, weal.benchmark
folder, jobs, moment, workers = sys.argv[1:]
writes = []

def die():
    pids = [str(child.pid) for child in psutil.Process().children(recursive=True)]
    pathlib.Path(workers).write_text(" ".join(pids))
    os.kill(os.getpid(), signal.SIGKILL)

def die_before_the_second_write(frame, event, arg):
    if event == "c_call" and (frame.f_code.co_name, arg.__name__) == ("save", "execute"):
        writes.append(arg)
        if len(writes) == 2:
            die()

def progress(step):
    if (step.stage, step.done) == ("curves", 3):
        sys.setprofile(die_before_the_second_write) if moment == "writing" else die()

weal.benchmark.run(["gramacy", "higdon"], ["random", "gp-var", "egp-wvar"], realisations=3, T=8,
               out=folder, jobs=int(jobs), progress=progress)
"""
PLAN = (["gramacy", "higdon"], ["random", "gp-var", "egp-wvar"])
SIZES = {"realisations": 3, "T": 8, "jobs": 1}


def curves_in(folder):
    with open_store(folder) as store:
        return len(store._read("SELECT key FROM curve"))


def killed(folder, jobs, moment):
    """Run in a process that is killed after three curves; the numbers of its workers."""
    workers = folder.with_name("workers")
    done = subprocess.run([sys.executable, "-c", KILLED, folder, str(jobs), moment, workers])
    assert done.returncode == -signal.SIGKILL
    return [int(pid) for pid in workers.read_text().split()]


def works(pid):
    """Whether a process is there, and not only waits for somebody to note its end."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture(scope="module")
def unbroken():
    return weal.benchmark.run(*PLAN, **SIZES)


@pytest.mark.parametrize(("jobs", "moment"), [(1, "writing"), (2, "between curves")])
def test_a_run_that_was_killed_goes_on_where_it_stopped(tmp_path, jobs, moment, unbroken):
    workers = killed(tmp_path / "out", jobs, moment)
    assert len(workers) >= (jobs if jobs > 1 else 0)
    assert curves_in(tmp_path / "out") == 3
    steps = []
    resumed = weal.benchmark.run(*PLAN, out=tmp_path / "out", progress=steps.append, **SIZES)
    assert steps[-1] == RunProgress("curves", done=18, total=18, kept=3)
    pd.testing.assert_frame_equal(numbers(resumed), numbers(unbroken), check_exact=True)
    while any(map(works, workers)):  # they look for their parent once a second
        time.sleep(0.05)


def test_the_wall_clock_is_that_of_all_sittings(tmp_path):
    plan = make_plan("higdon", [Method("slowly", "Slowly", slowly)], realisations=2, T=5)
    first = carry_out(plan, out=tmp_path, jobs=1).setting["wall_seconds"]
    again = carry_out(plan, out=tmp_path, jobs=1).setting["wall_seconds"]
    assert again == first > 2 * 6 * 0.01


def test_the_setting_says_how_the_numbers_came_about():
    outcome = carry_out(make_plan("higdon", GUESS, realisations=2, T=3, seed=5), jobs=1)
    setting = outcome.setting
    assert {"seed": 5, "T": 3, "realisations": 2}.items() <= setting.items()
    assert setting["versions"]["weal"] == weal.__version__
    assert {"Python", "numpy", "scipy", "scikit-learn"} <= set(setting["versions"])


def test_weights_of_experts_and_acquisitions_come_along():
    plan = make_plan("higdon", ["egp-multiafs", GUESS], realisations=2, T=3)
    weights = carry_out(plan, jobs=1).weights
    assert set(weights["method"]) == {"egp-multiafs"}
    assert set(weights["kind"]) == {"expert", "acquisition"}
    sums = weights.groupby(["kind", "realisation", "t"])["weight"].sum()
    np.testing.assert_allclose(sums, 1.0)
    assert len(sums) == 2 * 2 * 4


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_method_that_fails_is_named_and_the_others_are_kept(tmp_path, jobs):
    bad = Method("bad", "Bad", failing)
    with pytest.raises(CurveFailed, match=r"bad on higdon, realisation 0: ArithmeticError: the m"):
        weal.benchmark.run("higdon", [GUESS, bad], out=tmp_path, realisations=1, T=3, jobs=jobs)
    if jobs == 1:
        assert curves_in(tmp_path) == 1


def test_a_worker_that_is_killed_is_reported_in_one_line():
    def end(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(WorkerLost, match="a worker process was killed"):
        weal.benchmark.run("higdon", Method("end", "End", end), realisations=2, T=3, jobs=2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tasks": "higdn"}, "unknown task 'higdn' .did you mean 'higdon'"),
        ({"methods": "egp-wvr"}, "unknown method 'egp-wvr' .did you mean 'egp-wvar'"),
        ({"tasks": []}, "name at least one task"),
        ({"methods": []}, "name at least one method"),
        ({"methods": [GUESS, replace(GUESS, title="x")]}, "two different methods are called"),
        ({"T": 0}, "T must be a whole number of at least 1; got 0"),
        ({"T": 2.5}, "T must be a whole number"),
        ({"realisations": 0}, "realisations must be a whole number of at least 1"),
        ({"realisations": True}, "realisations must be a whole number of at least 1"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"jobs": 0}, "jobs must be a whole number of at least 1"),
        ({"data": "/no/such/folder"}, "there is no such folder"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_written(tmp_path, change, words):
    call = {"tasks": "higdon", "methods": "random", "out": tmp_path / "out", **TINY, **change}
    with pytest.raises(ValueError, match=words):
        weal.benchmark.run(**call)
    assert not list(tmp_path.iterdir())


def test_a_task_whose_labels_do_not_vary_is_refused_before_anything_is_written(tmp_path):
    flat = replace(TASKS["higdon"].points, formula=lambda X: np.zeros(len(X)))
    with pytest.raises(ValueError, match=r"all 100 test labels of higdon .* are 0"):
        weal.benchmark.run(
            replace(TASKS["higdon"], points=flat), "random", out=tmp_path / "out", **TINY
        )
    assert not list(tmp_path.iterdir())


def test_a_task_that_is_not_at_hand_is_left_out_with_a_warning():
    with pytest.warns(UserWarning, match="california is left out: .*weal bench get california"):
        table = weal.benchmark.run(["california", "higdon"], GUESS, **TINY)
    assert set(table["task"]) == {"higdon"}


def test_when_no_task_is_at_hand_it_is_an_error():
    with pytest.raises(NotAvailable, match="weal bench get california"):
        weal.benchmark.run("california", GUESS, **TINY)


def test_a_rival_that_is_not_installed_is_left_out_with_a_warning(monkeypatch):
    reason = {"botorch-var": 'needs BoTorch: pip install "weal[peers]"'}
    monkeypatch.setattr("weal.benchmark.peers.unavailable", lambda: reason)
    with pytest.warns(UserWarning, match="botorch-var is left out: needs BoTorch"):
        table = weal.benchmark.run("higdon", ["botorch-var", GUESS], **TINY)
    assert set(table["method"]) == {"guess"}


def test_groups_name_their_members():
    plan = make_plan(["robot", "higdon"], ["fair", "random"])
    assert [task.name for task in plan.tasks] == ["robot3d", "robot4d", "higdon"]
    fair = [name for name, method in METHODS.items() if method.group == "fair"]
    assert [method.name for method in plan.methods] == [*fair, "random"]
    assert {task.name for task in make_plan("all", GUESS).tasks} <= set(TASKS)
