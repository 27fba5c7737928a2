"""What labels do to a state: which of them settle the experts, and that nothing else is done."""

import pytest
from numpy.testing import assert_allclose

from happenings import a_state, picture, plain, told
from learning import OUTSIDE, POOL, Y, a_learner, measure
from weal.learner import events
from weal.learner.choosing import next_query
from weal.learner.pools.memory import POOL_BYTES, MemoryPool
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.transitions import apply
from weal.model import training
from weal.quantities.kinds import UNNAMED

KINDS = pytest.mark.parametrize("kind", ["features", "exact", "default"])


def test_labels_are_taken_without_a_look_at_model_or_pool(monkeypatch):
    """All that a label costs is paid by who asks next."""
    learner = a_learner("multi", "exact")
    learner.ask(2)
    calls = []

    def refuse(name, whole):
        def counted(*args, **kwargs):
            calls.append(name)
            return whole(*args, **kwargs)

        return counted

    for owner, names in {
        MemoryPool: (
            "__init__",
            "follow",
            "keep_experts",
            "fork",
            "recompute",
            "score",
            "predict",
            "predict_kept",
        ),
        training: (
            "select_experts",
            "add_labels",
            "step",
            "advance",
            "train",
            "begin",
            "without_labels",
        ),
        PosteriorCache: (
            "model",
            "posterior",
            "pending_posterior",
            "moments",
            "validation",
            "_entry_of",
        ),
    }.items():
        for name in names:
            monkeypatch.setattr(owner, name, refuse(name, getattr(owner, name)))
    learner.tell(20, Y[20])
    learner.tell(range(30, 40), Y[30:40], noise=5.0)
    learner.tell(20, Y[20] + 1.0, replace=True)
    learner.tell(20, Y[20] + 2.0, repeat=True)
    learner.tell_points(OUTSIDE, measure(OUTSIDE))
    learner.forget(31)
    learner.skip(41)
    learner.unskip(41)
    learner.add(OUTSIDE)
    learner.remove([42])
    assert calls == []
    learner.ask()
    assert {"add_labels", "__init__", "score"} <= set(calls)


@pytest.mark.covering
@KINDS
@pytest.mark.parametrize("sizes", [(1,) * 30, (30,), (7, 1, 22), (29, 1)])
def test_labels_told_together_or_in_turn_settle_the_experts_by_the_same_labels(kind, sizes):
    first = a_state(kind, pool=POOL)
    first = apply(first, told(first, range(6)))
    one_by_one = now = first
    for n in range(6, 36):
        one_by_one = apply(one_by_one, told(one_by_one, [n]))
    at = 6
    for size in sizes:
        now = apply(now, told(now, range(at, at + size)))
        at += size
    assert plain(now.view().selection) == plain(one_by_one.view().selection)
    assert plain(now.view().labels) == plain(one_by_one.view().labels)
    assert picture(PosteriorCache(POOL_BYTES), now) == picture(
        PosteriorCache(POOL_BYTES), one_by_one
    )


@KINDS
def test_a_label_that_is_dropped_settles_experts_that_follow_labels_by_those_left(kind):
    now, beliefs = a_state(kind), PosteriorCache(POOL_BYTES)
    now = apply(now, told(now, range(9)))
    after = apply(now, events.LabelsTold(UNNAMED, dropped=(3,)))
    assert (
        after.view().selection.n == after.view().selection.n_joint == len(after.view().labels) == 8
    )
    assert after.view().selection.scaling is now.view().selection.scaling
    by = after.view().labels.arrays() if kind == "default" else now.view().labels.arrays()
    assert plain(after.view().selection.labels) == plain(by)
    beliefs.model(now.view())  # whose experts serve, where they are the same
    assert picture(beliefs, after) == picture(PosteriorCache(POOL_BYTES), after)


def test_experts_settled_by_the_same_labels_are_not_settled_twice(monkeypatch):
    """After a label was dropped, or many came at once, given kernels keep what was fitted."""
    now, beliefs, calls = a_state("features", pool=POOL), PosteriorCache(POOL_BYTES), []
    now = apply(now, told(now, range(9)))
    settle = training.select_experts
    monkeypatch.setattr(
        training,
        "select_experts",
        lambda *args, **more: calls.append(len(args[2])) or settle(*args, **more),
    )
    beliefs.model(now.view())
    now = apply(now, events.LabelsTold(UNNAMED, dropped=(3,)))
    beliefs.model(now.view())
    more = told(now, range(10, 60)).labels
    now = apply(now, events.LabelsTold(UNNAMED, (*more, *more)))
    assert now.view().selection.n_joint == 108
    beliefs.model(now.view())
    assert calls == [9]


@pytest.mark.covering
@KINDS
@pytest.mark.parametrize("later", [0, 1, 3, 6])
def test_beliefs_that_go_on_from_a_snapshot_of_the_pool_ask_the_same(kind, later):
    """To rounding; and a settling since then (the default's, at 11 labels) makes it of no use."""
    now, beliefs = a_state(kind, "gpm-var"), PosteriorCache(POOL_BYTES)
    now = apply(now, told(now, range(6)))
    now = apply(now, told(now, [6, 7]))
    snapshot = beliefs.snapshot(now.view())
    assert snapshot.n == 8
    now = apply(now, told(now, range(8, 8 + later))) if later else now
    opened = PosteriorCache(POOL_BYTES, {UNNAMED: snapshot})
    found, truth = (
        opened.posterior(now.view()).pool,
        PosteriorCache(POOL_BYTES).posterior(now.view()).pool,
    )
    for one, other in zip(
        found.predict_kept(range(25)), truth.predict_kept(range(25)), strict=True
    ):
        assert_allclose(one, other, rtol=1e-8, atol=1e-10)
    assert next_id(now, opened) == next_id(now, PosteriorCache(POOL_BYTES))
    if kind == "default" and later >= 3:
        assert picture(opened, now) == picture(PosteriorCache(POOL_BYTES), now)


def next_id(now, beliefs):
    return next_query(now, beliefs, True).id
