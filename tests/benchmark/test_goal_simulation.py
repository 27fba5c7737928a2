"""`weal simulate --goal`: whether choosing rows for a goal would have saved labels."""

import json

import numpy as np
import pytest

from shell import alone_in, typed
from weal.benchmark.goal_simulation import FIRST_LABELS, check_table, metric_of, simulate_goal
from weal.benchmark.user_table import OwnRows
from weal.goals import Above, Best, Learn, Maximise, Minimise


def a_table(N=60):
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(N, 3))
    return OwnRows(X, 40.0 * np.exp(-4.0 * ((X - 0.6) ** 2).sum(axis=1)), ("a", "b", "c"), "y", "t")


def test_rows_found_and_f1_are_counted_by_hand():
    y = np.array([5.0, 1.0, 4.0, 3.0, 2.0])
    share, words = metric_of(Best(2))
    assert (share(y, [0, 1], y), words) == (0.5, "share of the 2 best rows")
    assert metric_of(Best(2, lowest=True))[0](y, [1, 4, 0], y) == 1.0
    f1, words = metric_of(Above(2.5))
    predicted = np.array([0.0, 3.0, 4.0, 0.0, 3.0])  # rows 1, 2, 4; measured are 0 and 1
    assert f1(y, [0, 1], predicted) == pytest.approx(2 * 2 / (3 + 3))  # said 0, 2, 4; true 0, 2, 3
    assert words == "F1 of the rows above 2.5"
    with pytest.raises(ValueError, match="leave out --goal learn"):
        metric_of(Learn())


def test_choosing_for_the_best_rows_finds_them_sooner_and_the_answer_says_so():
    found = simulate_goal(a_table(), Best(5), realisations=3, queries=15, jobs=1)
    assert found.labels == tuple(range(FIRST_LABELS, FIRST_LABELS + 16))
    assert found.chosen[:, -1].mean() > found.drawn[:, -1].mean()
    assert np.all(np.diff(found.chosen) >= 0.0)
    assert found.words[0] == "Undecided: 3 realisations are too few to tell; take 10 or more."
    assert "the share of the 5 best rows was" in found.words[1]
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False)) == found.to_dict()


def test_one_realisation_decides_nothing_and_has_no_interval():
    found = simulate_goal(a_table(40), Minimise(), realisations=1, queries=2, jobs=1)
    assert found.words[0].startswith("Undecided: 1 realisation is too few")
    assert found.to_dict()["saved"]["low"] is None


@pytest.mark.parametrize(
    ("level", "says"), [(99.0, "no row of the table is above 99"), (-1.0, "every row")]
)
def test_a_level_beyond_all_labels_is_refused_with_their_range(level, says):
    with pytest.raises(ValueError, match=says):
        check_table(a_table(), Above(level))


def test_more_rows_than_the_table_has_are_refused():
    with pytest.raises(ValueError, match="more than 60 rows"):
        check_table(a_table(), Best(60))
    check_table(a_table(), Maximise())


def test_the_command_prints_the_answer_or_json(tmp_path, monkeypatch):
    alone_in(tmp_path, monkeypatch)
    points = a_table(45)
    rows = np.column_stack([points.X, points.y])
    np.savetxt("known.csv", rows, delimiter=",", header="a,b,c,y", comments="")
    words = ["simulate", "known.csv", "--target", "y", "--realisations", "1", "--queries", "2"]
    done = typed(*words, "--goal", "maximise", "--jobs", "1")
    assert done.code == 0, done.err
    assert "the share of the 10 best rows was" in done.out
    found = json.loads(typed(*words, "--goal", "above 30", "--jobs", "1", "--json").out)
    assert found["goal"] == {"kind": "above", "text": "above 30", "low": 30.0}
    wrong = typed(*words, "--goal", "above 30,5")
    assert (wrong.code, "write the number with a point: 30.5" in wrong.err) == (2, True)
