"""The start, batches, and points that wait for their label."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist

from learning import (
    OUTSIDE,
    POOL,
    Y,
    a_learner,
    beliefs,
    everything,
    measure,
    model,
    outlook,
    points,
    seen_by_functions,
    told,
)
from weal import ActiveLearner, AlreadyLabelled, Exhausted, Kernel

KINDS = pytest.mark.parametrize("approximation", ["features", "exact"])
SPATIAL = ["wvar", "went", "gpm-var", "gpm-ent", "ivr", "bald", "multi"]


# The start


def test_the_start_comes_from_the_seed_and_is_not_row_0():
    pool = points(300)
    starts = [ActiveLearner(pool=pool, seed=seed).ask(6) for seed in (0, 0, 1, 2)]
    assert starts[0] == starts[1]
    assert len({tuple(start) for start in starts}) == 3
    assert all(start[0] != 0 for start in starts)
    one_by_one = ActiveLearner(pool=pool, seed=0)
    assert [one_by_one.ask(more=True) for _ in range(6)] == starts[0]


def test_the_start_fills_space_better_than_chance():
    rng = np.random.default_rng(0)
    square = rng.random((400, 2)) * [1.0, 1e3]  # units must not matter
    start = ActiveLearner(pool=square).ask(9)
    by_chance = [
        pdist(square[rng.choice(400, 9, replace=False)] / [1.0, 1e3]).min() for _ in range(200)
    ]
    assert pdist(square[start] / [1.0, 1e3]).min() > np.quantile(by_chance, 0.99)


@pytest.mark.parametrize("inside", [True, False])
def test_the_start_keeps_away_from_labels_told_in_advance(inside):
    line = np.linspace(0.0, 1.0, 41)[:, None]
    learner = ActiveLearner(pool=line, n_start=8)
    left = [[0.0], [0.1], [0.2], [0.3]]
    if inside:
        learner.tell([0, 4, 8, 12], [1.0, 2.0, 3.0, 4.0])
    else:
        learner.tell_points(left, [1.0, 2.0, 3.0, 4.0])
    batch = learner.ask(3)
    assert line[batch].min() > 0.4
    assert [row["why"] for row in learner.history[-3:]] == ["start"] * 3


def test_a_start_of_all_equal_candidates_works():
    learner = ActiveLearner(pool=np.full((7, 2), 3.0))
    assert sorted(learner.ask(7)) == list(range(7))


# Batches


def nearest(X, batch):
    return pdist(np.asarray(X)[batch]).min()


def top_scores(learner, n, name):
    """What asking by score alone would give: the n best."""
    belief = seen_by_functions(outlook(learner))
    names = ["wvar"] if name == "multi" else [name]
    scores = learner.state.settings.functions[names[0]](belief)
    scores[list(learner.labels.by_name)] = -np.inf
    return np.argsort(-scores)[:n]


@pytest.mark.parametrize("name", SPATIAL)
@KINDS
def test_no_two_neighbours_come_together_on_a_dense_line(name, approximation):
    line = np.linspace(0.0, 1.0, 301)[:, None]
    kernels = (Kernel("rbf", 0.3), Kernel("matern52", 0.8), Kernel("rbf", 1.2))
    chosen = model(
        approximation, kernels=kernels, magnitude=1.0, noise=1e-3**0.5, n_frequencies=100
    )
    learner = ActiveLearner(line, chosen, name, n_start=3)
    at = [60, 150, 240]
    learner.tell(at, np.sin(9.0 * line[at, 0]))
    alone = nearest(line, top_scores(learner, 6, name))
    together = nearest(line, learner.ask(6))
    assert alone < 0.01
    assert together > 0.04
    assert together > 10 * alone


@pytest.mark.parametrize("name", SPATIAL)
@KINDS
def test_no_two_neighbours_come_together_on_a_grid(name, approximation):
    side = np.linspace(-1.0, 1.0, 21)
    grid = np.stack(np.meshgrid(side, 100.0 * side), axis=-1).reshape(-1, 2)
    kernels = (Kernel("rbf", 0.5), Kernel("matern52", 1.0), Kernel("rbf", 2.0))
    chosen = model(approximation, kernels=kernels, magnitude=1.0, noise=0.1, n_frequencies=100)
    learner = ActiveLearner(grid, chosen, name, n_start=4)
    at = [115, 125, 325, 220]
    learner.tell(at, np.sin(3.0 * grid[at, 0]) + grid[at, 1] / 100.0)
    unit = [1.0, 100.0]
    alone = nearest(grid / unit, top_scores(learner, 8, name))
    together = nearest(grid / unit, learner.ask(8))
    assert alone <= 0.1 + 1e-9
    assert together >= 0.3 - 1e-9


@pytest.mark.parametrize("name", ["wvar", "gpm-var"])
@KINDS
def test_a_batch_is_what_asking_and_telling_the_models_own_mean_would_ask(name, approximation):
    learner, twin = (a_learner(name, approximation) for _ in range(2))
    weights = twin.model.weights_.copy()
    batch = learner.ask(5)
    for n, query in enumerate(batch):
        fitted = twin.model
        if name == "wvar":  # variances do not depend on what the labels are
            experts = fitted.ensemble_.experts.predict(fitted.points(POOL))[1]
            scores = weights @ (fitted.ensemble_.magnitude[:, None] * experts)
            scores[[*twin.labels.by_name]] = -np.inf
            assert query == scores.argmax(), n
        twin.tell(query, fitted.predict(POOL[[query]])[0])
    assert len(set(batch)) == 5


@pytest.mark.parametrize("name", ["gpm-ent", "multi", "random", "ivr"])
@KINDS
def test_asking_again_without_news_gives_the_same_answer(name, approximation):
    learner = a_learner(name, approximation)
    first = learner.ask()
    rows = len(learner.history)
    assert learner.ask() == first
    assert learner.ask(1) == [first]
    assert len(learner.history) == rows
    three = learner.ask(3)
    assert three[0] == first
    eight = learner.ask(8)
    assert eight[:3] == three
    assert learner.ask(2) == three[:2]
    assert len(learner.history) == rows + 7
    assert list(learner.pending) == eight


def test_a_longer_batch_is_the_same_whether_asked_in_parts_or_at_once():
    in_parts = a_learner("gpm-var")
    in_parts.ask(3)
    assert in_parts.ask(8) == a_learner("gpm-var").ask(8)


def test_what_is_returned_is_the_users_to_change():
    learner = a_learner()
    batch = learner.ask(3)
    batch.clear()
    assert len(learner.ask(3)) == 3
    assert len(set(learner.ask(3))) == 3


def test_more_asks_beyond_all_that_was_asked():
    learner = a_learner()
    eight = a_learner().ask(8)
    assert learner.ask(3) == eight[:3]
    assert learner.ask(2, more=True) == eight[3:5]
    assert learner.ask(more=True) == eight[5]
    assert learner.ask(more=True) == eight[6]
    assert list(learner.pending) == eight[:7]


@KINDS
def test_pending_points_are_not_asked_again_after_news(approximation):
    learner = a_learner("gpm-var", approximation)
    batch = learner.ask(4)
    learner.tell(batch[2], Y[batch[2]])
    later = learner.ask(5)
    assert not set(later) & set(batch)
    assert set(learner.pending) == {*batch, *later} - {batch[2]}
    apart = pdist(POOL[[*batch, *later]] / [1.0, 50.0, 0.02]).min()
    assert apart > 0.2


# Labels that come late, in any order, of anything


def test_labels_may_come_late_and_in_any_order_and_for_points_never_asked():
    learner = a_learner()
    batch = learner.ask(4)
    never = next(n for n in range(60) if n not in {*batch, *range(8)})
    learner.tell(never, Y[never])
    for query in reversed(batch):
        learner.tell(query, Y[query])
    assert not learner.pending
    assert [name for name, _, _ in told(learner)] == [*range(8), never, *reversed(batch)]
    by_id = {row["id"]: row for row in learner.history}
    assert by_id[never]["why"] == "told"
    assert all(by_id[query]["label"] == Y[query] for query in batch)
    assert all(by_id[query]["step"] == 8 for query in batch)


def test_a_label_outside_the_pool_counts_and_is_not_a_candidate():
    learner = a_learner()
    learner.tell_points(OUTSIDE[0], measure(OUTSIDE[0]))
    learner.tell_points(OUTSIDE[1:3], measure(OUTSIDE[1:3]))
    assert learner.model.n_labels_ == 11
    assert_allclose(learner.model.predict(OUTSIDE[:3]), measure(OUTSIDE[:3]), atol=60.0)
    assert len(learner.ask(52)) == 52
    assert [row["id"] for row in learner.history[8:11]] == [None] * 3


def test_a_skipped_point_is_not_asked_until_it_is_brought_back():
    learner = a_learner()
    first = learner.ask()
    learner.skip(first)
    assert not learner.pending
    assert first not in learner.ask(51)
    with pytest.raises(Exhausted, match="1 skipped"):
        learner.ask(52)
    learner.unskip(first)
    assert learner.ask(more=True) == first


def test_a_label_told_of_a_skipped_point_is_taken_and_unskips_it():
    learner = a_learner()
    learner.skip(40)
    learner.tell(40, Y[40])
    assert not learner.skipped
    learner.forget(40)
    assert 40 in learner.ask(52)


@KINDS
def test_forgetting_a_label_is_never_having_told_it(approximation):
    learner, other = (a_learner("gpm-var", approximation) for _ in range(2))
    batch = learner.ask(3)
    learner.tell([30, 31, *batch], Y[[30, 31, *batch]])
    learner.forget(30)
    learner.forget(batch[1])
    other.tell([31, batch[0], batch[2]], Y[[31, batch[0], batch[2]]])
    assert_allclose(beliefs(learner), beliefs(other), rtol=1e-9)
    assert told(learner) == told(other)
    assert learner.ask(4) == other.ask(4)
    for name in list(learner.labels.by_name):
        learner.forget(name)
    assert learner.model.n_labels_ == 0
    assert_allclose(beliefs(learner)[0], learner.model.scaling_.y_mean)
    assert len(learner.ask(56)) == 56  # four are asked already


def test_the_same_label_again_changes_nothing():
    learner = a_learner()
    learner.tell(40, Y[40], noise=3.0)
    learner.ask(3)
    before = everything(learner)
    learner.tell(40, Y[40], noise=3.0)
    learner.tell([0, 1, 40], Y[[0, 1, 40]], noise=[0.0, 0.0, 3.0])
    learner.tell([], [])
    assert everything(learner) == before


def test_another_label_is_refused_unless_one_says_what_it_is():
    learner = a_learner()
    before = everything(learner)
    for labels in ([9.0, 1.0], [Y[3], Y[4] + 1e-9]):
        with pytest.raises(AlreadyLabelled, match=r"replace=True .* repeat=True"):
            learner.tell([3, 4], labels)
    with pytest.raises(AlreadyLabelled, match=r"noise 2\.0"):
        learner.tell(3, Y[3], noise=2.0)
    with pytest.raises(AlreadyLabelled):
        learner.tell([30, 30], [1.0, 2.0])
    with pytest.raises(ValueError, match="not both"):
        learner.tell(3, 1.0, replace=True, repeat=True)
    assert everything(learner) == before


@KINDS
def test_a_correction_replaces_all_labels_of_a_point(approximation):
    learner = a_learner("gpm-var", approximation)
    learner.tell(3, Y[3] + 50.0, repeat=True)
    learner.tell([3, 5], [Y[3] - 7.0, Y[5]], noise=[0.0, 4.0], replace=True)
    assert learner.labels.values(3) == [Y[3] - 7.0]
    other = a_learner("gpm-var", approximation)
    other.tell([3, 5], [Y[3] - 7.0, Y[5]], noise=[0.0, 4.0], replace=True)
    assert told(learner) == told(other)
    assert [row for row in told(learner) if row[0] == 5] == [(5, Y[5], 4.0)]
    assert_allclose(beliefs(learner), beliefs(other), rtol=1e-12)


@KINDS
def test_replicates_are_both_used(approximation):
    learner = a_learner("gpm-var", approximation, n_start=8)
    learner.tell([3, 3, 20], [Y[3] + 60.0, Y[3] + 60.0, Y[20]], repeat=True)
    plain = model(approximation).fit(POOL[:8], Y[:8], X_unlabelled=POOL[8:])
    plain.partial_fit(POOL[[3, 3, 20]], [Y[3] + 60.0, Y[3] + 60.0, Y[20]])
    assert learner.model.n_labels_ == 11
    assert learner.labels.values(3) == [Y[3], Y[3] + 60.0, Y[3] + 60.0]
    assert_allclose(beliefs(learner), np.stack(plain.predict(OUTSIDE, return_std=True)), rtol=1e-9)
