"""Goals of pools in shards: the same rows as of a pool in memory, batches, tables and repeats."""

import numpy as np
import pytest

import weal
from shards.pools import f, inputs, names_of, write
from weal.goals import Above, Below, Best, Between, Maximise, Minimise
from weal.learner.best_rows import set_membership
from weal.learner.choosing import doubted_of_set
from weal.learner.pools import shard_pass
from weal.shards import dataset as pools

U = 700
GOALS = [Maximise(), Minimise(), Best(4), Above(1.0), Below(-0.5), Between(0.2, 0.6)]
each_goal = pytest.mark.parametrize("goal", GOALS, ids=lambda goal: goal.text)


@pytest.fixture(autouse=True)
def small(constants):
    """Limits so low that 700 candidates are many."""
    constants(shard_pass, MAX_SCORED_BLOCK_ROWS=128, MIN_BLOCK_ROWS=64)
    constants(pools, MIN_SHARD_ROWS=100, MEMORY_SHARD_ROWS=170)


def both(tmp_path, goal, labels=20):
    """A learner of a pool in memory with the score of shards, and one of shards."""
    X, names = inputs(U), names_of(U)
    y = f(X)
    score = goal.acquisition(in_shards=True)
    memory = weal.ActiveLearner(X, ids=names, acquisition=score, goal=goal)
    folder = write(tmp_path / "pool", X, [150, 420], groups=60)
    sharded = weal.ActiveLearner(weal.open_pool(folder, id_column="id"), goal=goal, threads=2)
    for learner in (memory, sharded):
        learner.tell(names[:labels], y[:labels])
    return memory, sharded


@each_goal
def test_shards_ask_by_the_pointwise_score_of_the_goal(tmp_path, goal):
    memory, sharded = both(tmp_path, goal)
    assert list(sharded.acquisition_weights) == [goal.acquisition(in_shards=True)]
    assert sharded.ask() == memory.ask()
    batch = sharded.ask(5)
    assert len(set(batch)) == 5
    assert not set(batch) & set(sharded.labels.by_name)


@each_goal
def test_the_table_of_shards_is_that_of_memory(tmp_path, goal):
    memory, sharded = both(tmp_path, goal, labels=40)
    here, there = memory.best(8), sharded.best(8)
    assert there.column_names[0] == "id"
    assert there.column_names[-4:] == ["measured", "mean", "sd", "probability"]
    assert there["mean"].to_pylist() == pytest.approx(list(here["mean"]), abs=1e-5)
    assert there["probability"].to_pylist() == pytest.approx(list(here["probability"]), abs=0.01)
    found = set_membership(sharded.state, sharded._beliefs)
    if not goal.pointwise:
        assert found.p.sum() == pytest.approx(goal.k, rel=1e-6)


def test_a_goal_of_shards_may_change_and_is_saved(tmp_path):
    _, sharded = both(tmp_path, Maximise())
    sharded.change_goal("above 1")
    assert list(sharded.acquisition_weights) == ["straddle(1)"]
    sharded.save(tmp_path / "l.weal")
    again = weal.ActiveLearner.load(tmp_path / "l.weal")
    assert again.goal == Above(1.0)
    assert again.ask(3) == sharded.ask(3)


def test_a_doubted_label_of_shards_is_asked_again(tmp_path):
    _, sharded = both(tmp_path, Maximise(), labels=40)
    sharded.tell("c00050", 60.0)
    assert doubted_of_set(sharded.state.view(), sharded._beliefs) == ["c00050"]
    assert sharded.ask() == "c00050"


def test_noise_in_shards_is_answered_by_repeats(tmp_path):
    X, rng = inputs(70), np.random.default_rng(1)
    pool = weal.open_pool(write(tmp_path / "pool", X, [30], groups=20), id_column="id")
    sharded = weal.ActiveLearner(pool, goal=Best(2), threads=2)
    sharded.tell(names_of(60), f(X[:60]) + 0.6 * rng.normal(size=60))
    for _ in range(8):
        name = sharded.ask()
        sharded.tell(name, float(f(sharded.candidates.x(name)) + 0.6 * rng.normal()))
    assert len(sharded.labels) == 68
    assert len(sharded.labels.by_name) < 68
