import math
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from weal.benchmark import robot
from weal.benchmark.data_folders import NotAvailable, cache_folder
from weal.benchmark.robot import WORLD, RobotPushing, ends, simulate

try:
    robot._box2d()
except NotAvailable as error:
    pytest.skip(str(error), allow_module_level=True)

SPOTS_3D = [
    ((3, 0.001, 10), (-1.88164, -0.00063)),
    ((4, 1, 20), (-4.04368, -1.01092)),
    ((-2, -3, 30), (4.20760, 6.31138)),
]
SPOTS_4D = [
    ((3, 0.001, 10, 0), (-7.31830, -0.00243)),
    ((4, 1, 20, 0.5), (-7.28086, -3.59209)),
    ((-2, -3, 30, 2.0), (-0.03812, 2.71832)),
]
A_FEW = np.array([[3.0, 0.001, 2.0], [-1.0, 2.0, 1.5], [0.5, -4.0, 3.0]])
STILL = np.zeros((3, 2))


def cache_files():
    return sorted((cache_folder() / "robot").glob("*"))


@pytest.fixture
def _no_simulation(monkeypatch):
    def refuse(*args):
        raise AssertionError("simulated, though it should be in the cache")

    monkeypatch.setattr(robot, "simulate", refuse)


@pytest.mark.parametrize(("spots", "tolerance"), [(SPOTS_3D, 1e-3), (SPOTS_4D, 1e-2)])
def test_the_disc_ends_where_the_facts_say(spots, tolerance):
    # [1, data:robot3d, data:robot4d]
    X = np.array([x for x, _ in spots], dtype=float)
    end = simulate(X, np.zeros((3, 2)))
    np.testing.assert_allclose(end, [o for _, o in spots], rtol=0, atol=tolerance)


def test_masses_and_inertias_are_those_of_the_facts():
    box2d = robot._box2d()
    disc, hand = robot._bodies(box2d, box2d.b2World(gravity=(0, 0)), WORLD, [3.0, 1.0, 1.0])
    got = (disc.mass, disc.inertia, hand.mass, hand.inertia)
    assert got == pytest.approx((0.15708, 0.07854, 0.12, 0.0436), abs=1e-5)


@pytest.mark.parametrize(("d", "mean", "sd"), [(3, 6.07, 2.51), (4, 7.53, 4.42)])
def test_labels_have_the_mean_and_sd_of_the_facts(d, mean, sd):
    n = 600
    _, y = RobotPushing(d).sample(np.random.default_rng(0), n)
    kurtosis = np.mean((y - y.mean()) ** 4) / y.var() ** 2
    assert abs(y.mean() - mean) < 0.005 + 4 * sd / n**0.5
    assert abs(y.std() - sd) < 0.005 + 4 * sd * ((kurtosis - 1) / (4 * n)) ** 0.5


def test_three_inputs_are_no_slice_of_four():
    angle = np.arctan(A_FEW[:, 1] / A_FEW[:, 0])
    four = simulate(np.column_stack([A_FEW, angle]), STILL)
    assert abs(four - simulate(A_FEW, STILL)).max() > 0.1


def test_longer_pushes_move_the_disc_further_and_a_hand_out_of_reach_moves_nothing():
    X = np.array([[2.0, 1.0, t] for t in (5, 10, 20)])
    far = np.linalg.norm(simulate(X, STILL), axis=1)
    assert (np.diff(far) > 0).all()
    assert (simulate(np.array([[5.0, 5.0, 1.0]]), np.zeros((1, 2))) == 0).all()


def test_a_hand_straight_above_is_turned_by_a_right_angle():
    X = np.array([[0.0, 3.0, 10.0], [1e-9, 3.0, 10.0], [0.0, -3.0, 10.0]])
    end = simulate(X, STILL)
    np.testing.assert_allclose(end[0], end[1], atol=1e-3)
    np.testing.assert_allclose(end[0, 1], -end[2, 1], atol=1e-3)


@pytest.mark.parametrize(
    ("X", "dv", "message"),
    [
        (np.ones((2, 5)), np.zeros((2, 2)), "must be"),
        (np.ones((2, 3)), np.zeros((3, 2)), "must be"),
        (np.full((1, 3), np.nan), np.zeros((1, 2)), "finite"),
        (np.array([[0.0, 0.0, 3.0]]), np.zeros((1, 2)), "no direction"),
    ],
)
def test_inputs_that_mean_nothing_are_refused(X, dv, message):
    with pytest.raises(ValueError, match=message):
        simulate(X, dv)


def test_noise_moves_the_label_a_little_and_its_key_fixes_it():
    def labels(noise, seed=3):
        return RobotPushing(3, noise=noise).sample(np.random.default_rng(seed), 40)[1]

    still, noisy = labels(0.0), labels(0.1)
    np.testing.assert_array_equal(noisy, labels(0.1))
    assert 0 < np.median(abs(noisy - still)) < 0.5
    assert (noisy != labels(0.1, seed=4)).all()


def test_no_noise_and_the_same_inputs_give_the_same_ends():
    np.testing.assert_array_equal(simulate(A_FEW, STILL), simulate(A_FEW, STILL))


@pytest.mark.parametrize("bad", [{"d": 2}, {"d": 3, "noise": -1.0}, {"d": 3, "noise": math.nan}])
def test_a_task_with_a_wrong_setting_is_refused(bad):
    with pytest.raises(ValueError, match=r"robot pushing has|noise must be"):
        RobotPushing(**bad)


def test_points_simulated_once_come_from_the_cache(request):
    first = ends(A_FEW, STILL)
    request.getfixturevalue("_no_simulation")
    np.testing.assert_array_equal(ends(A_FEW, STILL), first)


def test_another_goal_costs_no_simulation(request):
    X, y = RobotPushing(4, goal=(0.0, 0.0)).sample(np.random.default_rng(1), 5)
    request.getfixturevalue("_no_simulation")
    again, z = RobotPushing(4, goal=(1.0, -2.0)).sample(np.random.default_rng(1), 5)
    np.testing.assert_array_equal(X, again)
    assert (y != z).all()


def test_another_constant_input_or_noise_does_not_mix_with_the_cache():
    ends(A_FEW, STILL)
    ends(A_FEW, STILL, replace(WORLD, disc_joint=(4.0, 2.0)))
    ends(A_FEW + 1e-12, STILL)
    ends(A_FEW, STILL + 0.01)
    ends(A_FEW[::-1], STILL)
    assert len(cache_files()) == 5


@pytest.mark.parametrize("damage", ["cut", "empty", "flip", "foreign"])
def test_a_damaged_cache_file_is_simulated_again_with_a_warning(damage):
    first = ends(A_FEW, STILL)
    (path,) = cache_files()
    content = bytearray(path.read_bytes())
    place = content.index(first.tobytes())
    content[place] ^= 1
    harm = {"cut": content[:-40], "empty": b"", "flip": content, "foreign": b"not ours"}
    path.write_bytes(bytes(harm[damage]))
    with pytest.warns(UserWarning, match="computed again"):
        np.testing.assert_array_equal(ends(A_FEW, STILL), first)
    np.testing.assert_array_equal(ends(A_FEW, STILL), first)  # whole again, so no warning


def test_a_flip_of_any_byte_of_a_cache_file_changes_no_number():
    first = ends(A_FEW, STILL)
    (path,) = cache_files()
    content = path.read_bytes()
    for place in range(0, len(content), 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x15]) + content[place + 1 :])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.testing.assert_array_equal(ends(A_FEW, STILL), first)


def test_a_cache_that_cannot_be_written_costs_a_warning_and_no_result(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("WEAL_CACHE", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="WEAL_CACHE"):
        np.testing.assert_array_equal(ends(A_FEW, STILL), simulate(A_FEW, STILL))


def test_threads_that_want_the_same_points_take_turns():
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: ends(A_FEW, STILL), range(16)))
    assert len(cache_files()) == 1
    assert all((each == found[0]).all() for each in found)


def test_without_box2d_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "Box2D", None)
    with pytest.raises(NotAvailable, match=r"^robot pushing needs Box2D.*$") as caught:
        simulate(A_FEW, STILL)
    assert "\n" not in str(caught.value)
    if sys.version_info < (3, 14):
        assert 'pip install "weal[bench]"' in str(caught.value)


def test_box2d_is_not_imported_before_it_is_needed_and_survives_warnings_as_errors():
    code = (
        "import sys; from weal.benchmark import robot; assert 'Box2D' not in sys.modules;"
        "robot._box2d(); print('fine')"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "fine", done.stderr
