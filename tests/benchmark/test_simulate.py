"""`weal.simulate`: its words, its numbers and its table agree, whatever the outcomes are."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import weal
from soak import count
from weal.benchmark import goal_simulation, runner
from weal.benchmark.simulation import simulation_of
from weal.benchmark.statistics import MIN_REALISATIONS_FOR_TEST, interval
from weal.goals import Best, Learn
from weal.text import number

NUMBER = r"-?[0-9.]+(?:e-?[0-9]+)?"


def table(n=60):
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(n, 2))
    columns = {"a": X[:, 0], "b": X[:, 1], "site": ["north", "south"] * (n // 2)}
    return pd.DataFrame({**columns, "y": np.sin(6 * X[:, 0]) + X[:, 1]})


def outcomes(seed, learn):
    """Curves of some realisations, in which choosing is better, as good or worse, more or less."""
    rng = np.random.default_rng(seed)
    R, T = int(rng.integers(1, 15)), int(rng.integers(1, 30))
    ease, spread = rng.normal(0, rng.choice([0.0, 0.1, 1.0])), rng.choice([0.0, 0.05, 0.5])
    t = np.arange(T + 1)
    rates = 0.1 * np.exp(np.array([ease, 0.0])[:, None] + spread * rng.normal(size=(2, R)))
    noise = rng.choice([0.0, 0.02, 0.3]) * rng.normal(size=(2, R, T + 1))
    errors = np.exp(-rates[:, :, None] * t + noise)
    return errors if learn else np.clip(1.0 - errors, 0.0, 1.0).round(2)


@settings(max_examples=count(150, long=1000), deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_words_and_numbers_agree(seed, learn):
    chosen, drawn = outcomes(seed, learn)
    goal = Learn() if learn else Best(3)
    labels = tuple(range(10, 10 + chosen.shape[1]))
    found = simulation_of(goal, "y", "NMSE" if learn else "share of rows", labels, chosen, drawn)
    words, saved, n = found.words[0], found.saved, len(chosen)
    sure = {"fewer": "Yes: choosing", "more": "No: random choice", "undecided": "Undecided: "}
    assert words.startswith(sure[found.verdict])
    if n < MIN_REALISATIONS_FOR_TEST:
        assert (found.verdict, "too few" in words) == ("undecided", True)
        return
    assert f"over {n} realisations" in words
    low, high = map(float, re.search(rf"\(95 %: ({NUMBER}) to ({NUMBER})\)", words).groups())
    if found.verdict == "undecided":
        assert "fewer of" not in words
        assert ("may tell" in words) == (saved.low <= 0 <= saved.high)
        assert ("needed" in words) == (saved.mean < 0)
    else:  # both measures are on the side that is said, and so is the number
        side = 1 if found.verdict == "fewer" else -1
        assert min(side * saved.low, side * saved.high) > 0
        mean = float(re.search(rf"with ({NUMBER}) fewer of {chosen.shape[1] - 1} labels", words)[1])
        assert 0 < low <= mean <= high
        assert mean == float(number(side * saved.mean, 2))
        better = np.log(drawn[:, 1:] / chosen[:, 1:]) if learn else (chosen - drawn)[:, 1:]
        assert side * better.mean() > 0
    assert (low, high) == tuple(
        float(number(end, 2)) for end in (saved.low, saved.high)
    ) or found.verdict == "more"


@settings(max_examples=count(20, long=200), deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_swapping_the_curves_swaps_the_verdict(seed, learn):
    chosen, drawn = outcomes(seed, learn)
    labels = tuple(range(chosen.shape[1]))
    given = (Learn() if learn else Best(3), "y", "NMSE", labels)
    there, back = simulation_of(*given, chosen, drawn), simulation_of(*given, drawn, chosen)
    opposite = {"fewer": "more", "more": "fewer", "undecided": "undecided"}
    assert back.verdict == opposite[there.verdict]
    assert back.saved.mean == -there.saved.mean


def test_the_interval_is_that_of_the_labels_saved_in_each_realisation():
    chosen = np.array([[1.0, 0.4, 0.2, 0.1]] * 6)
    drawn = np.array([[1.0, 0.9, 0.5, 0.2]] * 5 + [[1.0, 0.8, 0.4, 0.3]])
    found = simulation_of(Learn(), "y", "NMSE", (5, 6, 7, 8), chosen, drawn)
    assert found.saved == interval(np.array([1.0] * 6))  # 0.2 after 2 and 3 queries, 0.4 after 1
    assert found.verdict == "fewer"


@pytest.fixture(scope="module")
def learnt():
    return weal.simulate(table(), "y", realisations=2, queries=3, jobs=1)


def test_a_frame_is_simulated_to_be_learnt(learnt):
    assert (learnt.goal, learnt.target, learnt.metric) == (Learn(), "y", "NMSE")
    assert learnt.chosen.shape == learnt.drawn.shape == (2, 4)
    assert learnt.labels == (5, 6, 7, 8)
    assert learnt.verdict == "undecided"
    assert_allclose(learnt.chosen[:, 0], learnt.drawn[:, 0])  # the same first labels
    assert repr(learnt) == "\n".join(learnt.words)
    assert "<script" not in learnt._repr_html_()
    assert "at random" in learnt._repr_html_()


def test_the_curves_are_a_frame_and_a_plot(learnt):
    frame = learnt.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame["labels"].tolist() == list(learnt.labels)
    assert_allclose(frame["random"], learnt.drawn.mean(axis=0))
    ax = learnt.plot()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("labels", "NMSE")
    assert_allclose(ax.lines[0].get_ydata(), frame["choosing"])
    assert learnt.plot(ax) is ax
    assert ax._repr_png_().startswith(b"\x89PNG")


def test_files_and_other_frames_give_the_same(tmp_path, learnt):
    import polars as pl

    goal = {"goal": "best 3", "realisations": 1, "queries": 2, "jobs": 1}
    table().to_csv(tmp_path / "old.csv", index=False)
    table().to_parquet(tmp_path / "old.parquet")
    table().to_excel(tmp_path / "old.xlsx", index=False)
    sources = [tmp_path / f"old.{kind}" for kind in ("csv", "parquet", "xlsx")]
    polars = weal.simulate(pl.from_pandas(table()), "y", **goal)
    assert isinstance(polars.to_frame(), pl.DataFrame)
    for source in sources:
        found = weal.simulate(source, "y", **goal)
        assert found.to_dict() == polars.to_dict()
    assert weal.simulate(str(sources[0]), "y", random_state=1, **goal).chosen.shape == (1, 3)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"target": "z"}, "has no column 'z'"),
        ({"target": "site"}, "must hold numbers"),
        ({"goal": "above 99"}, "no row of the table is above 99"),
        ({"goal": "above 7,5"}, "write the number with a point"),
        ({"goal": "maximize it all"}, "goal"),
        ({"realisations": 0}, "realisations must be a whole number of at least 1"),
        ({"queries": 2.5}, "queries must be a whole number"),
        ({"random_state": -1}, "random_state must be a whole number"),
        ({"table": table(38)}, "a simulation needs 40 or more"),
    ],
)
def test_what_cannot_be_simulated_is_refused(change, says):
    given = {"table": table(), "target": "y", "jobs": 1, "realisations": 1, "queries": 1}
    with pytest.raises(ValueError, match=re.escape(says)):
        weal.simulate(**given | change)


class Interrupted:
    """An executor of one process that Ctrl-C ends before task number `after`."""

    after = 3

    def __init__(self, n=1):
        pass

    def each(self, work, tasks, what="", progress=None, merge=None):
        for n, task in enumerate(tasks):
            if n == self.after and not hasattr(task, "plan"):  # points are drawn before
                raise KeyboardInterrupt
            yield n, work(task)

    def close(self):
        pass


@pytest.mark.parametrize("goal", ["learn", "best 3"])
def test_an_interrupt_keeps_what_is_finished(monkeypatch, goal):
    monkeypatch.setattr(goal_simulation, "SerialExecutor", Interrupted)
    monkeypatch.setattr(runner, "SerialExecutor", Interrupted)
    given = {"realisations": 4, "queries": 2, "jobs": 1}
    found = weal.simulate(table(), "y", goal, **given)
    assert len(found.chosen) == len(found.drawn) == 1
    assert found.words[-1] == "Interrupted after 1 of 4 realisations."
    monkeypatch.setattr(Interrupted, "after", 1)
    with pytest.raises(KeyboardInterrupt):
        weal.simulate(table(), "y", goal, **given)


def test_progress_is_told_and_can_be_silent(capsys):
    steps = []
    given = {"goal": "best 3", "realisations": 1, "queries": 1, "jobs": 1}
    weal.simulate(table(), "y", progress=lambda *step: steps.append(step), **given)
    assert steps
    assert steps[-1][1] == steps[-1][2]
    weal.simulate(table(), "y", progress=False, **given)
    assert capsys.readouterr().err == ""
