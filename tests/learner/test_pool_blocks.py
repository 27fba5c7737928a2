"""The answer of a learner does not depend on the number of blocks that its pool is walked in."""

from functools import partial

import numpy as np
import pytest

from learning import OUTSIDE, POOL, a_learner, measure, model, outlook, teach
from reference.pools import lower_limits

KINDS = pytest.mark.parametrize("approximation", ["features", "exact", "inducing"])
LIMITS = {
    "scored in blocks": {"score_block": 7},
    "scored one by one": {"score_block": 1},
    "walked in blocks": {"own_group": 10, "block": 7},
    "recomputed": {"memory": 0},
    "recomputed in blocks": {
        "memory": 0,
        "own_group": 10,
        "score_block": 11,
    },
    "outgrown": {"memory": 3 * 60 * 13 * 2 * 8, "score_block": 50},
}


@pytest.fixture
def lower(constants):
    """Lower the limits; what is left are options of the learner."""
    return partial(lower_limits, constants, feature_bytes=9_000)


def course(name, approximation, **options):
    """What a learner asks, one by one and together."""
    learner = a_learner(name, approximation, validation=(OUTSIDE, measure(OUTSIDE)), **options)
    return [*teach(learner, 8), *learner.ask(3), learner.ask(more=True)], learner


@pytest.mark.covering(strength=2)
@KINDS
@pytest.mark.parametrize("name", ["multi", "auto", "mvr", "ivr", "random", "bald"])
@pytest.mark.parametrize("limits", LIMITS)
def test_the_same_is_asked_however_the_pool_is_walked(lower, name, approximation, limits):
    expected, plain = course(name, approximation)
    found, learner = course(name, approximation, **lower(**LIMITS[limits]))
    assert found == expected
    np.testing.assert_allclose(learner.predicted_error(), plain.predicted_error(), rtol=1e-9)
    for row, was in zip(learner.history, plain.history, strict=True):
        np.testing.assert_allclose(
            [row["score"], row["mean"], row["std"]],
            [was["score"], was["mean"], was["std"]],
            rtol=1e-7,
        )


@KINDS
def test_memory_is_honoured_by_both_kinds_of_experts(approximation):
    """A learner whose pool does not fit keeps means and variances, and nothing of labels x pool."""
    given = model(approximation, prior_weights=[1.0, 1.0, 1.0])
    for budget, kept in ((10**9, True), (0, False)):
        learner = a_learner("gpm-var", model=given, memory=budget)
        teach(learner, 3)
        pool = outlook(learner, budget).pool
        assert pool.cached == kept
        assert all((group.points is not None) == kept for group in pool.groups)


def hunch(belief):
    """A function of the user's own that looks at one candidate at a time."""
    hunch.seen.append(belief.mu.shape[1])
    return belief.w @ np.sqrt(belief.var) + 0.1 * np.cos(belief.X[:, 0])


@pytest.mark.covering
@KINDS
@pytest.mark.parametrize("together", [False, True])
def test_a_pointwise_function_of_the_users_own_is_given_blocks_and_picks_the_same(
    lower, monkeypatch, approximation, together
):
    picks, sizes = [], []
    lower(score_block=17)
    for pointwise in (False, True):
        monkeypatch.setattr(hunch, "pointwise", pointwise, raising=False)
        monkeypatch.setattr(hunch, "seen", [], raising=False)
        learner = a_learner([hunch, "qbc"] if together else hunch, approximation)
        picks.append([*teach(learner, 6), *learner.ask(3)])
        sizes.append(set(hunch.seen))
    assert picks[0] == picks[1]
    assert sizes == [{60}, {17, 60 - 3 * 17}]


def test_the_blocks_of_a_pointwise_function_are_rows_of_the_pool(lower):
    """In order, each once, with the inputs that belong to them."""
    lower(score_block=17)
    rows = []

    def looks(belief):
        rows.append(belief.X)
        assert belief.mu.shape == belief.var.shape == (3, len(belief.X))
        return belief.X[:, 1]

    looks.pointwise = True
    learner = a_learner(looks)
    asked = learner.ask()
    scaled = learner.model.scaling.inputs(POOL)
    np.testing.assert_array_equal(np.concatenate(rows), scaled)
    free = [n for n in range(60) if n not in learner.labels.by_name]
    assert asked == free[scaled[free, 1].argmax()]
