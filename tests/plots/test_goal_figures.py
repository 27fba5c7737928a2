"""Figures of goals over several quantities: the values that are drawn."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.cbook import pts_to_prestep

from weal import ActiveLearner
from weal.learner.joint_beliefs import pareto_rows_of
from weal.plots.goal_figures import best_curve, pareto_front

X = np.random.default_rng(1).uniform(size=(60, 3))
POOL = pd.DataFrame(X, columns=["a", "b", "c"])


def a_learner(goal, **given):
    learner = ActiveLearner(POOL, target=["yield [%]", "cost $x$"], goal=goal, n_start=8, **given)
    told = range(14)
    learner.tell(
        {n: {"yield": 50 + 30 * X[n, 0], "cost $x$": X[n, 0] ** 2 + X[n, 1]} for n in told}
    )
    return learner


def points(line):
    return sorted(zip(line.get_xdata().tolist(), line.get_ydata().tolist(), strict=True))


@pytest.mark.parametrize("first", ["maximise", "minimise"])
@pytest.mark.parametrize("second", ["maximise", "minimise"])
def test_the_front_is_drawn_with_its_rows_and_says_what_is_better(first, second):
    learner = a_learner([f"{first} yield", f"{second} 'cost $x$'"])
    ax = learner.plot.pareto()
    every, _, front = ax.lines
    assert len(points(every)) == 14
    rows = pareto_rows_of(learner.state, None, learner.goal)
    assert points(front) == sorted((a, b) for _, a, b in rows)
    better = {"maximise": "higher is better", "minimise": "lower is better"}
    assert ax.get_xlabel() == f"yield [%] ({better[first]})"
    assert better[second] in ax.get_ylabel()


def test_the_line_of_the_front_passes_no_measured_row_that_is_better():
    Y = np.random.default_rng(0).normal(size=(40, 2))
    for signs in ((1.0, 1.0), (-1.0, 1.0), (1.0, -1.0), (-1.0, -1.0)):
        lowest = (signs[0] < 0.0, signs[1] < 0.0)
        Z = Y * signs
        best = [n for n in range(40) if not ((Z[n] < Z).all(axis=1)).any()]
        front = np.array(sorted(best, key=lambda n: Z[n, 0]))
        ax = pareto_front(Y, front, lowest, "", labels=("a", "b"))
        step = ax.lines[1]
        assert step.get_drawstyle() == "steps-pre"
        corners = pts_to_prestep(step.get_xdata(), step.get_ydata())
        for x, y in corners.T:
            assert not ((np.array([x, y]) * signs < Z).all(axis=1)).any()


def test_a_front_needs_two_objectives():
    with pytest.raises(ValueError, match="a front has two objectives"):
        a_learner("maximise yield").plot.pareto()


def test_the_learning_curve_of_a_constrained_goal_counts_feasible_rows_alone():
    learner = a_learner("maximise yield", subject_to="'cost $x$' < 0.8")
    ax = learner.plot.learning_curve()
    told = [(50 + 30 * X[n, 0], X[n, 0] ** 2 + X[n, 1]) for n in range(14)]
    feasible = [y if c < 0.8 else np.nan for y, c in told]
    assert ax.lines[0].get_ydata() == pytest.approx(feasible, nan_ok=True)
    assert ax.lines[1].get_ydata()[-1] == pytest.approx(np.nanmax(feasible))
    assert ax.get_ylabel() == "highest yield so far, of feasible rows"


def test_the_learning_curve_of_two_objectives_grows_to_1():
    ax = a_learner(["maximise yield", "minimise 'cost $x$'"]).plot.learning_curve()
    values = ax.lines[0].get_ydata()
    assert (np.diff(values) >= -1e-12).all()
    assert values[-1] == 1.0


def test_labels_that_do_not_count_leave_a_gap():
    ax = best_curve(np.array([np.nan, 3.0, np.nan, 5.0]), False, None, "", label="y")
    assert ax.lines[1].get_ydata() == pytest.approx([np.nan, 3.0, 3.0, 5.0], nan_ok=True)
