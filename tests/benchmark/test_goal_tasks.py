"""Pools: rows in the order of the split, formulas with known tops, laboratory tables."""

import numpy as np
import pytest
from benchmarks import goals

from weal.benchmark import goal_tasks
from weal.benchmark.tasks import draw


@pytest.mark.parametrize("name", [name for name in goal_tasks.GOAL_TASKS if "calif" not in name])
def test_the_test_points_of_a_pool_are_its_rows_in_the_order_of_the_split(name):
    split = draw(goal_tasks.GOAL_TASKS[name], 1, 3)
    assert np.array_equal(split.Xt, np.concatenate([split.X0, split.Xu]))
    labels = np.concatenate([split.y0, split.yu])
    noise = np.std(labels - split.yt) / np.std(split.yt)
    expected = goal_tasks.NOISE_SHARE if name.endswith("noise") else 0.0
    assert noise == pytest.approx(expected, abs=0.02)  # 4 sds of the sd of 600 numbers


def test_formulas_have_the_tops_that_they_are_known_for():
    rng = np.random.default_rng(0)
    for name, top in (("branin-pool", -0.397887), ("hartmann6", 3.32237), ("ackley5", 0.0)):
        values = goal_tasks.GOAL_TASKS[name].points.points.sample(rng, 20_000)[1]
        assert values.max() < top
    share = np.mean(goal_tasks.plateau(rng.uniform(size=(100_000, 4))) > 0)
    assert share == pytest.approx(1 - goal_tasks.PLATEAU_SHARE, abs=0.01)


def test_a_folder_without_tables_says_which_are_missing(tmp_path):
    found, missing = goals.laboratory(tmp_path)
    assert not found
    assert len(missing) == len(goals.LABORATORY)
    assert "--data" in missing["agnp"]


def test_laboratory_pools_hold_no_other_result_and_search_for_the_largest():
    if not goals.BESIDE.is_dir():
        pytest.skip("no laboratory tables beside the clone")
    pools, missing = goals.laboratory(goals.BESIDE)
    assert not missing
    for pool in pools:
        rows = pool.points.points
        assert not goals.RESULTS & set(rows.columns)
        assert np.isfinite(rows.X).all()
        assert rows.X.shape == (pool.test, pool.d)
    smallest = {pool.name: pool.points.points.y.max() for pool in pools}
    assert smallest["perovskites"] < 0  # minus a band gap
    assert smallest["suzuki"] > 0
