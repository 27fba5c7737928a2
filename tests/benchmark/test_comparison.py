"""Comparison files: their form, runs that are kept, and the load of a machine."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from benchmarks import comparison_runs, record
from benchmarks.comparison import (
    CURVE_REALISATIONS,
    GOALS,
    METHODS,
    ComparedRun,
    check_rows,
    rows_of,
)
from benchmarks.comparison_runs import ComparisonJob, carry_out, finished

RUN = ComparedRun("learn", "branin", "paper", "weal-auto", 0, (10, 15), (-1.0, -2.0))


def job(realisation, made, task="branin", method="weal-auto"):
    def measure():
        made.append(realisation)
        return [10, 15], [-1.0, -2.0 - realisation]

    return ComparisonJob("learn", task, "paper", method, realisation, "T=5", measure)


def last(jobs, folder):
    return list(carry_out(jobs, folder))[-1]


def test_every_goal_has_methods_and_the_first_is_ours():
    assert set(GOALS) == set(METHODS)
    for methods in METHODS.values():
        assert methods[0].ours
        assert len({method.name for method in methods}) == len(methods)
        assert any("random" in method.name for method in methods)
        assert sum(not method.ours for method in methods) >= 1


def test_a_row_has_one_area_for_each_realisation_and_the_mean_curve_of_the_first():
    runs = [replace(RUN, realisation=n, curve=(-1.0 - n, -2.0 - n)) for n in (12, 1, 0)]
    (row,) = rows_of(runs)
    assert row["realisations"] == [0, 1, 12]
    assert row["areas"] == [-1.5, -2.5, -13.5]
    assert row["curve"] == [-1.5, -2.5]  # realisation 12 is beyond CURVE_REALISATIONS
    assert CURVE_REALISATIONS == 10
    check_rows([row], "learn")


def test_runs_with_other_label_counts_are_no_row():
    with pytest.raises(ValueError, match="different label counts"):
        rows_of([RUN, replace(RUN, realisation=1, labels=(10, 20))])


@pytest.mark.parametrize(
    "change",
    [
        {"goal": "win"},
        {"group": "mine"},
        {"method": "unknown"},
        {"areas": [1.0, 2.0]},
        {"areas": [], "realisations": []},
        {"curve": [1.0]},
    ],
)
def test_a_row_of_another_form_is_refused(change):
    (row,) = rows_of([RUN])
    with pytest.raises(ValueError, match=r"take one of|needs one|run ./scripts/results learn"):
        check_rows([{**row, **change}], "learn")


def test_finished_runs_are_not_made_again(tmp_path):
    made = []
    jobs = [job(n, made) for n in range(3)]
    steps = carry_out(jobs, tmp_path)
    assert len(next(steps)) == 1
    steps.close()  # as Ctrl-C does
    assert [run.realisation for run in last(jobs, tmp_path)] == [0, 1, 2]
    assert made[:3] == [0, 1, 2]
    assert set(finished(tmp_path)) == {one.key for one in jobs}


def test_a_line_that_a_kill_cut_off_is_made_again_and_harms_no_other(tmp_path):
    made = []
    jobs = [job(n, made) for n in range(4, 7)]  # beyond the timed realisations
    last(jobs[:2], tmp_path)
    path = tmp_path / "runs.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    assert [run.realisation for run in last(jobs, tmp_path)] == [4, 5, 6]
    assert made == [4, 5, 5, 6]
    assert len(finished(tmp_path)) == 3


KILLED = """
import sys, time
from pathlib import Path
from benchmarks.comparison_runs import ComparisonJob, carry_out
def measure(n):
    if n == 7:
        print("running", flush=True)
        time.sleep(60)
    return [10], [float(-n)]
jobs = [ComparisonJob("learn", "branin", "paper", "weal-auto", n, "", lambda n=n: measure(n))
        for n in range(5, 9)]
list(carry_out(jobs, Path(sys.argv[1])))
"""


def test_a_killed_process_loses_only_the_run_it_was_at(tmp_path):
    words = [sys.executable, "-c", KILLED, str(tmp_path)]
    with subprocess.Popen(words, cwd=record.ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGKILL)
    assert sorted(run.realisation for run in finished(tmp_path).values()) == [5, 6]


def test_another_model_of_weal_makes_the_runs_of_weal_again_and_no_others(tmp_path, monkeypatch):
    made = []
    jobs = [job(n, made, method=method) for n, method in enumerate(("weal-auto", "sklearn-std"))]
    last(jobs, tmp_path)
    monkeypatch.setattr(comparison_runs, "code", lambda: "another")
    last(jobs, tmp_path)
    assert made == [0, 1, 0]
    monkeypatch.setattr(comparison_runs, "code_of_rivals", lambda: "another split")
    last(jobs, tmp_path)
    assert made == [0, 1, 0, 1]


def stat(path, ticks):
    path.write_text(f"cpu  {ticks} 0 0 999 5 0 0 0 0 0\ncpu0 1 2 3\n")
    return path


@pytest.mark.parametrize(("ticks", "busy"), [(0, False), (10**7, True)])
def test_what_other_processes_took_comes_from_the_counters_of_the_system(tmp_path, ticks, busy):
    path = stat(tmp_path / "stat", 1000)
    clock = record.OtherProcesses(path)
    time.sleep(0.01)
    stat(path, 1000 + ticks)
    assert record.is_busy(clock.cores()) is busy


def test_our_own_time_is_not_counted(tmp_path, monkeypatch):
    path = stat(tmp_path / "stat", 0)
    own = [0.0]
    monkeypatch.setattr(record.os, "times", lambda: (own[0], 0.0, 0.0, 0.0, 0.0))
    monkeypatch.setattr(record.os, "sysconf", lambda name: 100)
    now = [0.0]
    monkeypatch.setattr(record.time, "monotonic", lambda: now[0])
    clock = record.OtherProcesses(path)
    own[0], now[0] = 8.0, 10.0
    stat(path, 1100)  # 11 s of all processes, 8 of them ours, in 10 s
    assert clock.cores() == pytest.approx(0.3)


@pytest.mark.parametrize("text", ["", "cpu", "cpu a b c d e f g h", None])
def test_where_the_system_does_not_tell_nothing_is_marked(tmp_path, text):
    if text is not None:
        (tmp_path / "stat").write_text(text)
    clock = record.OtherProcesses(tmp_path / "stat")
    assert clock.cores() is None
    assert not record.is_busy(None)


def test_a_result_file_says_what_other_processes_took(tmp_path, monkeypatch):
    monkeypatch.setattr(record.OtherProcesses, "cores", lambda self: 0.73)
    monkeypatch.setenv(record.COMMAND_VARIABLE, "./scripts/results learn")
    record.write(tmp_path / "a.json", "a", [{"x": 1}], [0])
    found = json.loads((tmp_path / "a.json").read_text())
    assert (found["machine"]["others"], found["machine"]["busy"]) == (0.73, True)
    assert found["command"] == "./scripts/results learn"
