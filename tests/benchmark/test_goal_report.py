"""Comparisons of searches, and the command that makes them."""

import json

import numpy as np
import pandas as pd
import pytest

from shell import alone_in, typed
from weal.benchmark import goal_methods
from weal.benchmark.goal_summary import QUESTIONS, by_run, compare


def test_differences_are_paired_by_realisation_and_the_mean_over_pools():
    shares = {("a", 0): 0.1, ("a", 1): 0.3, ("b", 0): 0.5, ("b", 1): 0.5}
    goals = pd.DataFrame(
        {"task": task, "method": method, "realisation": r, "t": 0, "labels": 20,
         "top_10": share + gain, "top_percent": 0.0, "regret": 0.1, "f1_fifth": 0.5,
         "f1_twentieth": 0.5}
        for (task, r), share in shares.items()
        for method, gain in (("weal-best", 0.2), ("weal-auto", 0.0))
    )  # fmt: skip
    found = {(one.method, one.column): one for one in compare(by_run(goals))}
    auto = found["weal-auto", "top_10 at 20"]
    assert auto.mean == pytest.approx(0.35)
    assert auto.difference.mean == pytest.approx(0.2)
    assert auto.difference.n == 2
    assert np.isnan(found["weal-auto", "top_10 at 40"].mean)  # the runs have 20 labels
    assert found["weal-auto", "labels to 1 %"].mean == 21  # never found


def test_every_method_of_a_question_is_known():
    for question in QUESTIONS:
        assert set(question.methods) <= goal_methods.GOAL_METHODS.keys()


def test_the_command_resumes_and_writes_what_it_says(tmp_path, monkeypatch):
    alone_in(tmp_path, monkeypatch)
    words = ["bench", "goals", "--tasks", "needle,plateau", "--methods", "weal-best,weal-random",
             "--realisations", "1", "--queries", "2", "--jobs", "1", "--out", "found"]  # fmt: skip
    done = typed(*words)
    assert done.code == 0, done.err
    assert "The ten best rows" in done.out
    again = typed(*words)
    assert "4 of 4 curves were finished before" in again.err
    assert again.out == done.out
    written = {path.name for path in (tmp_path / "found").rglob("*") if path.is_file()}
    assert {"report.html", "goals.csv", "runs.csv", "comparisons.csv", "goals.png"} <= written
    setting = json.loads((tmp_path / "found" / "setting.json").read_text())
    assert {"date", "code", "load", "seed", "command"} <= setting.keys()
