import numpy as np
import pandas as pd
import pytest

from campaign.taught import measured, taught
from weal.campaign.campaign import open_campaign
from weal.campaign.quantity_status import random_test
from weal.campaign.session import trend
from weal.errors import WealError
from weal.plots.learner_figures import inputs, learning_curve
from weal.quantities.number import Number

NAMES = ["learning-curve.png", "predicted.png", "experts.png", "inputs.png"]


def test_four_pictures_are_written_and_nothing_else(tmp_path):
    one = taught(14, rows=60)
    for name in one.ask(3, check=True):
        one.tell(name, measured(name))
    one.change(goal=0.2)
    paths = one.plot.save(tmp_path / "deep" / "down")
    assert [path.name for path in paths] == NAMES
    assert sorted(path.name for path in paths[0].parent.iterdir()) == [
        ".weal-folder",
        *sorted(NAMES),
    ]
    first = [path.read_bytes() for path in paths]
    assert all(data.startswith(b"\x89PNG") and len(data) > 5000 for data in first)
    assert [path.read_bytes() for path in one.plot.save(paths[0].parent)] == first


def test_the_learning_curve_shows_the_estimates_the_goal_and_the_test():
    one = taught(14, rows=60)
    for name in one.ask(3, check=True):
        one.tell(name, measured(name))
    course, check = trend(one.read_session()), random_test(one.read_ledger().quantity())
    given = (course, 0.2, (check.rmse, check.error), one.name)
    ax = learning_curve(*given, guessing=1.5, quantity=Number("hardness"))
    lines = [line.get_ydata() for line in ax.lines]
    marks = course.marks
    np.testing.assert_allclose(lines[0], [mark.left_out for mark in marks])
    np.testing.assert_allclose(lines[2], [mark.expected for mark in marks])
    assert len(ax.figure.legends[0].texts) == 6


def test_there_is_nothing_to_draw_before_there_is_a_model(tmp_path):
    with pytest.raises(WealError, match="2 of 5 labels"):
        taught(2).plot.save(tmp_path)
    assert not list(tmp_path.iterdir())


def test_odd_names_and_few_labels_are_drawn(tmp_path):
    rng = np.random.default_rng(0)
    long = [f"_a long name with $ and \U0001f600 and ] of column {n}\n" for n in range(18)]
    table = pd.DataFrame(rng.normal(size=(30, 18)), columns=long)
    one = open_campaign("a $ name _ 100 %", "memory:", pool=table, n_start=3)
    for name in one.ask(3):
        one.tell(name, 1e12 * float(rng.normal()))
    assert len(one.plot.save(tmp_path)) == 4


def test_inputs_beyond_the_first_are_shown_together():
    few = inputs({"x": 1.0})
    many = inputs({f"input {n}": 0.05 for n in range(20)})
    assert len(few.patches) == 1
    assert len(many.patches) == 16
    assert many.get_yticklabels()[-1].get_text() == "5 others together"
    assert many.patches[-1].get_width() == pytest.approx(25.0)
