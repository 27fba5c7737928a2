import pickle
import subprocess
import sys
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weal.benchmark.data_folders import NotAvailable
from weal.benchmark.datasets import load_california, load_diabetes, load_malaria_standin
from weal.benchmark.robot import RobotPushing
from weal.benchmark.tasks import TASKS, availability, draw, find_task

TABLE_1 = {  # L0, V, U0, test, eta, d
    "ackley": (10, 50, 500, 100, 1, 5),
    "branin": (10, 50, 500, 100, 100, 2),
    "currin": (10, 50, 500, 100, 100, 2),
    "gramacy": (10, 50, 500, 100, 100, 1),
    "higdon": (10, 50, 500, 100, 100, 1),
    "diabetes": (15, 55, 261, 111, 100, 10),
    "malaria-standin": (40, 60, 500, 680, 20, 8),
    "robot3d": (20, 50, 500, 200, 20, 3),
    "robot4d": (20, 50, 500, 200, 20, 4),
    "california": (50, 70, 1000, 1032, 0.05, 8),
}
LOADERS = {
    "california": load_california,
    "malaria-standin": load_malaria_standin,
    "diabetes": load_diabetes,
}
ROBOTS = ("robot3d", "robot4d")


def arrays(split):
    return [getattr(split, field.name) for field in fields(split)]


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(arrays(a), arrays(b), strict=True))


def drawn(name, data_folder, realisation=0, seed=7):
    task = TASKS[name]
    if name in ROBOTS:
        if line := availability(task):
            pytest.skip(line)
        task = replace(task, U0=10, test=5)  # the full size is drawn once below
    return task, draw(task, realisation, seed, data_folder)


def test_there_are_ten_tasks_with_the_sizes_of_table_1():
    # [1, data:ackley, data:branin, data:currin, data:gramacy, data:higdon, data:california]
    # [1, data:malaria, data:diabetes, data:robot3d, data:robot4d]
    got = {t.name: (t.L0, t.V, t.U0, t.test, t.eta, t.d) for t in TASKS.values()}
    assert got == TABLE_1


def test_the_numbers_in_the_random_key_are_as_they_always_were():
    assert {name: task.number for name, task in TASKS.items()} == {
        "ackley": 1,
        "branin": 2,
        "currin": 3,
        "gramacy": 4,
        "higdon": 5,
        "california": 6,
        "malaria-standin": 7,
        "diabetes": 8,
        "robot3d": 9,
        "robot4d": 10,
    }


@pytest.mark.parametrize("name", TASKS)
def test_a_split_has_the_sizes_of_its_task_in_finite_read_only_numbers(name, data_folder):
    task, s = drawn(name, data_folder)
    for X, y, n in ((s.X0, s.y0, task.L0), (s.Xv, s.yv, task.V), (s.Xu, s.yu, task.U0)):
        assert (X.shape, y.shape) == ((n, task.d), (n,))
    assert (s.Xt.shape, s.yt.shape) == ((task.test, task.d), (task.test,))
    assert all(np.isfinite(a).all() and not a.flags.writeable for a in arrays(s))


@pytest.mark.parametrize("name", TASKS)
def test_the_same_key_gives_the_same_split_and_another_another(name, data_folder):
    _, split = drawn(name, data_folder)
    assert same(split, drawn(name, data_folder)[1])
    assert not same(split, drawn(name, data_folder, realisation=1)[1])
    assert not same(split, drawn(name, data_folder, seed=8)[1])


@pytest.mark.parametrize("name", ["currin", "diabetes"])
def test_another_process_draws_the_same_split(name):
    code = (
        "from weal.benchmark.tasks import TASKS, draw;"
        f"print(draw(TASKS[{name!r}], 3, 11).Xt.tobytes().hex())"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == draw(TASKS[name], 3, 11).Xt.tobytes().hex()


def test_tasks_of_equal_size_do_not_share_their_draws():
    branin, currin = draw(TASKS["branin"], 0, 7), draw(TASKS["currin"], 0, 7)
    assert not np.allclose((branin.Xt - [-5, 0]) / 15, currin.Xt)


@pytest.mark.parametrize("name", LOADERS)
def test_the_parts_of_a_table_are_disjoint_rows_of_it(name, data_folder):
    table = LOADERS[name](data_folder)
    rows = np.column_stack([table.X, table.y])
    number = {row.tobytes(): i for i, row in enumerate(rows)}
    assert len(number) == len(rows) == TASKS[name].rows  # no row twice, so a row is its number
    _, s = drawn(name, data_folder)
    X, y = np.vstack([s.X0, s.Xv, s.Xu, s.Xt]), np.concatenate([s.y0, s.yv, s.yu, s.yt])
    taken = [number[row.tobytes()] for row in np.column_stack([X, y])]
    assert len(set(taken)) == len(taken) == TASKS[name].size


def test_the_parts_of_a_table_have_no_order(data_folder):
    table = load_california(data_folder)
    place = {row.tobytes(): i for i, row in enumerate(np.column_stack([table.X, table.y]))}
    s = draw(TASKS["california"], 0, 7, data_folder)
    for X, y in ((s.X0, s.y0), (s.Xu, s.yu), (s.Xt, s.yt)):
        rows = np.array([place[row.tobytes()] for row in np.column_stack([X, y])])
        assert abs(rows.mean() / 20640 - 0.5) < 4 / (12 * len(rows)) ** 0.5
        assert (np.diff(rows) < 0).any()


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**70), realisation=st.integers(0, 10**6))
def test_labels_of_functions_are_exact_whatever_the_key(seed, realisation):
    task = TASKS["branin"]
    s = draw(task, realisation, seed)
    np.testing.assert_array_equal(task.points.formula(s.Xu), s.yu)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_robots_full_split_comes_from_the_cache_the_second_time(name, monkeypatch):
    if line := availability(TASKS[name]):
        pytest.skip(line)
    first = draw(TASKS[name], 0, 7)
    assert len(first.yt) == 200
    monkeypatch.setattr("weal.benchmark.robot.simulate", None)  # calling it would raise
    assert same(first, draw(TASKS[name], 0, 7))


def test_goal_and_noise_of_the_robot_are_parameters():
    task = TASKS["robot3d"]
    assert (task.points.goal, task.points.noise) == ((4.0, 3.5), 0.1)
    if line := availability(task):
        pytest.skip(line)
    small = replace(task, L0=2, V=1, U0=1, test=1)
    moved = draw(replace(small, points=RobotPushing(3, goal=(0.0, 0.0))), 0, 7)
    assert np.array_equal(draw(small, 0, 7).X0, moved.X0)
    assert not np.array_equal(draw(small, 0, 7).y0, moved.y0)


def test_the_malaria_task_is_called_a_stand_in_wherever_it_is_named():
    task = TASKS["malaria-standin"]
    assert task.stand_in
    assert [t.name for t in TASKS.values() if t.stand_in] == ["malaria-standin"]
    assert "stand-in" in task.title
    assert "stand-in" in task.source
    assert "stand-in" in availability(task)


@pytest.mark.parametrize("name", ["california", "malaria-standin"])
def test_data_that_is_not_at_hand_is_one_line_that_says_how_to_get_it(name, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    line = availability(TASKS[name], empty)
    assert "\n" not in line
    assert "--data" in line
    assert "WEAL_DATA" in line
    assert ("weal bench get california" in line) == (name == "california")
    with pytest.raises(NotAvailable):
        draw(TASKS[name], 0, 7, empty)


def test_what_is_at_hand_is_so(data_folder, monkeypatch):
    for name in set(TASKS) - set(ROBOTS):
        assert availability(TASKS[name], data_folder) is None
        assert TASKS[name].points.where(data_folder)
    monkeypatch.setenv("WEAL_DATA", str(data_folder))
    assert availability(TASKS["california"]) is None


def test_an_unknown_task_is_answered_with_the_names_there_are():
    assert find_task("higdon") is TASKS["higdon"]
    with pytest.raises(ValueError, match=r"unknown task 'malaria'.*malaria-standin"):
        find_task("malaria")


def test_a_task_travels_to_another_process_as_it_is():
    for task in TASKS.values():
        assert pickle.loads(pickle.dumps(task)) == task  # noqa: S301
