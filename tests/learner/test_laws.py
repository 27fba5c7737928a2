"""Laws: order, replay, candidates that come and go, interruptions, and any mixture of calls."""

from copy import deepcopy

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from interrupting import Interrupt, calls_of
from learning import (
    OUTSIDE,
    POOL,
    SCALING,
    Y,
    a_learner,
    beliefs,
    measure,
    model,
    points,
    teach,
    told,
)
from soak import count
from weal import ActiveLearner, EnsembleGPRegressor
from weal.core.paper import ensemble
from weal.learner.pools.memory import POOL_BYTES, MemoryPool
from weal.learner.posterior_cache import PosteriorCache

KINDS = pytest.mark.parametrize("approximation", ["features", "exact", "inducing"])
# Inducing points are chosen among the first labels; of the others the first labels choose nothing.
LASTING = pytest.mark.parametrize("approximation", ["features", "exact"])
MODEST = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def settled(approximation, **changes):
    """A model in which nothing depends on the first labels."""
    return model(approximation, scaling=SCALING, **changes)


# Order


def tell_all(learner, events):
    """Events are (ids or points, labels, noise); points outside the pool are arrays."""
    for where, y, noise in events:
        if isinstance(where, np.ndarray):
            learner.tell_points(where, y, noise=noise)
        else:
            learner.tell(where, y, noise=noise, repeat=True)


EVENTS = [
    *((n, Y[n], None) for n in (3, 14, 15, 40)),
    (3, Y[3] + 40.0, None),  # a replicate
    (22, Y[22], 25.0),
    ([50, 51, 52], Y[[50, 51, 52]], [0.0, 10.0, 80.0]),
    (OUTSIDE[:2], measure(OUTSIDE[:2]), None),
    (OUTSIDE[2], measure(OUTSIDE[2]), 12.0),
]


@LASTING
@MODEST
@given(order=st.permutations(range(len(EVENTS))), n_start=st.integers(1, 12))
def test_any_order_of_the_same_tells_gives_the_same_belief(approximation, order, n_start):
    learners = []
    for events in (EVENTS, [EVENTS[i] for i in order]):
        learner = ActiveLearner(POOL, settled(approximation), "gpm-ent", n_start=n_start)
        tell_all(learner, events)
        learners.append(learner)
    one, other = learners
    assert sorted(map(repr, told(one))) == sorted(map(repr, told(other)))
    assert_allclose(beliefs(other, POOL), beliefs(one, POOL), rtol=1e-8, atol=1e-6)
    assert_allclose(other.model.weights_, one.model.weights_, rtol=1e-7)
    assert other.ask(3) == one.ask(3)


@KINDS
@pytest.mark.parametrize("n", [5, 70])
def test_labels_told_together_or_one_by_one_are_the_same(approximation, n):
    pool = points(90)  # 70 labels at once are folded in bulk
    one, other = (ActiveLearner(pool, settled(approximation), n_start=6) for _ in range(2))
    for learner in (one, other):
        learner.tell(range(80, 88), measure(pool[80:88]))
    one.tell(range(n), measure(pool[:n]))
    for name in range(n):
        other.tell(name, measure(pool[name]))
    assert_allclose(beliefs(other), beliefs(one), rtol=1e-7, atol=1e-5)
    assert other.ask(2) == one.ask(2)


# Replay


@pytest.mark.covering
@pytest.mark.parametrize("name", ["gpm-var", "multi", "ivr"])
@pytest.mark.parametrize("approximation", ["features", "exact", None])
def test_a_replay_of_the_labels_asks_what_the_live_learner_asks(name, approximation):
    def begun():
        given = EnsembleGPRegressor() if approximation is None else model(approximation)
        return ActiveLearner(POOL, given, name, seed=3)

    live = begun()
    asked = teach(live, 12)
    replayed = begun()
    assert teach(replayed, 12) == asked
    assert told(replayed) == told(live)
    assert repr(replayed.history) == repr(live.history)
    late = begun()
    for label in live.labels:  # never asked, only told
        late.tell(label.name, label.y)
    assert_allclose(beliefs(late), beliefs(live), rtol=1e-9)
    if name != "multi":  # whose weights follow what was asked
        assert late.ask(3) == live.ask(3)


# Candidates that come and go


@KINDS
@pytest.mark.parametrize("name", ["gpm-var", "multi", "bald"])
def test_a_pool_that_grew_is_believed_as_one_that_was_that_large(approximation, name):
    grown = ActiveLearner(POOL[:40], settled(approximation), name, n_start=6)
    large = ActiveLearner(POOL, settled(approximation), name, n_start=6)
    for learner in (grown, large):
        learner.tell(range(9), Y[:9])
    grown.add(POOL[40:55])
    grown.tell(44, Y[44])
    grown.add(POOL[55:])
    large.tell(44, Y[44])
    assert list(grown.candidates.ids) == list(range(60))
    assert_allclose(grown.predicted_error(), large.predicted_error(), rtol=1e-9)
    assert grown.ask(4) == large.ask(4)
    assert teach(grown, 3) == teach(large, 3)


@LASTING
def test_what_ivr_aims_at_stays_the_first_pool_unless_one_says_otherwise(approximation):
    far = points(20, seed=9) + np.array([8.0, 0.0, 0.0])
    first, both = (
        ActiveLearner(POOL, settled(approximation), "ivr", reference=aim, n_start=6)
        for aim in (POOL, np.concatenate([POOL, far]))
    )
    plain, aimed = (ActiveLearner(POOL, settled(approximation), "ivr", n_start=6) for _ in range(2))
    for learner, to_reference in ((first, False), (both, False), (plain, False), (aimed, True)):
        learner.tell(range(9), Y[:9])
        learner.add(far, to_reference=to_reference)
    assert plain.ask(5) == first.ask(5)
    assert aimed.ask(5) == both.ask(5)
    assert max(plain.ask(5)) < 60 <= max(aimed.ask(5))


def test_candidates_that_were_removed_are_not_asked_and_their_labels_stay():
    learner = a_learner(first=9)
    pending = learner.ask(2)
    before = beliefs(learner)
    learner.remove([0, 1, pending[0]])
    assert list(learner.pending) == pending[1:]
    rest = learner.ask(49)
    assert not set(rest) & {0, 1, *pending}
    assert_allclose(beliefs(learner), before, rtol=0)
    learner.tell(pending[0], Y[pending[0]])  # it was measured all the same
    assert learner.model.n_labels_ == 10


def test_watched_points_follow_the_model():
    learner = a_learner("multi", first=0, validation=(OUTSIDE[:5], measure(OUTSIDE[:5])))
    watch = learner.watch(OUTSIDE)
    with pytest.raises(RuntimeError, match="no model yet"):
        watch.predict()
    for _ in range(3):
        teach(learner, 6)
        expected = learner.model.predict(OUTSIDE, return_std=True)
        assert_allclose(watch.predict(), expected, rtol=1e-9)
        log_p = learner.model.log_predictive_density(OUTSIDE, measure(OUTSIDE))
        assert_allclose(watch.log_predictive_density(measure(OUTSIDE)), log_p, rtol=1e-9)
        learner.forget(learner.labels.told[0].name)


# Interruptions


def test_ctrl_c_while_the_pool_is_moved_keeps_the_label(monkeypatch):
    learner, calm = (a_learner("multi") for _ in range(2))
    watch = learner.watch(OUTSIDE)
    query = learner.ask()
    assert calm.ask() == query
    assert watch.predict()[0].shape == (9,)
    whole = MemoryPool.follow

    def half(pool, before, step, after):
        whole(pool, before, step, after)
        raise KeyboardInterrupt

    monkeypatch.setattr(MemoryPool, "follow", half)
    learner.tell(query, Y[query])  # the pool moves when somebody asks
    for work in (learner.ask, learner.predicted_error):
        with pytest.raises(KeyboardInterrupt):
            work()
    monkeypatch.undo()
    assert learner.labels.values(query) == [Y[query]]
    calm.tell(query, Y[query])
    assert_allclose(watch.predict(), calm.model.predict(OUTSIDE, return_std=True), rtol=1e-9)
    assert_allclose(beliefs(learner), beliefs(calm), rtol=1e-9)
    assert learner.model.n_labels_ == 9
    assert learner.ask(3) == calm.ask(3)


JOBS = {
    "tell": lambda learner, batch: learner.tell(batch, Y[batch]),
    "first model": lambda learner, batch: learner.tell(range(8), Y[:8]),
    "replace": lambda learner, batch: learner.tell([2, 3], Y[[2, 3]] + 5.0, replace=True),
    "forget": lambda learner, batch: learner.forget(2) if 2 in learner.labels.by_name else None,
    "ask": lambda learner, batch: learner.ask(3, more=False),
    "add": lambda learner, batch: None if 60 in learner.candidates.index else learner.add(OUTSIDE),
}


@pytest.mark.covering
@pytest.mark.parametrize("job", JOBS)
@pytest.mark.parametrize("kind", ["features", "exact", "default"])
def test_ctrl_c_anywhere_loses_nothing_and_the_work_can_be_done_again(job, kind):
    given = EnsembleGPRegressor() if kind == "default" else model(kind)
    start = a_learner("multi", model=given, first=0 if job == "first model" else 8, n_start=8)
    if job != "first model":
        start.tell([40, 41, 42], Y[40:43])  # two more, and the default settles its experts anew
    batch = start.ask(2)
    if job == "ask":
        start.tell(batch, Y[batch])

    def work(learner):
        """The job, and what was put off by it."""
        JOBS[job](learner, batch)
        learner.ask(3)
        learner.predicted_error()

    calm = deepcopy(start)
    calls = calls_of(work, deepcopy(start), calm)
    expected = told(calm), beliefs(calm), calm.ask(3), list(calm.pending)
    many = count(6, long=12) if kind == "default" else count(24, long=60)
    for n in np.unique(np.linspace(1, calls, many).astype(int)):
        learner = deepcopy(start)
        assert Interrupt(n).during(lambda: work(learner))  # noqa: B023
        assert told(learner) in (told(start), told(calm)), n
        JOBS[job](learner, batch)
        assert told(learner) == expected[0], n
        assert_allclose(beliefs(learner), expected[1], rtol=1e-9)
        fresh, kept = (
            PosteriorCache(POOL_BYTES).posterior(learner.state.view()),
            learner._beliefs.posterior(learner.state.view()),
        )
        for one, other in zip(
            kept.pool.predict_kept(range(60)), fresh.pool.predict_kept(range(60)), strict=True
        ):
            assert_array_equal(one, other)
        assert learner.ask(3) == expected[2], n
        assert list(learner.pending) == expected[3], n


@KINDS
@pytest.mark.parametrize("name", ["gpm-var", "ivr"])
def test_the_belief_kept_on_the_pool_is_that_of_the_model(approximation, name):
    learner, kept = a_learner(name, approximation), PosteriorCache(POOL_BYTES)
    for _ in range(25):
        teach(learner, 1)
        pool, ens = kept.posterior(learner.state.view()).pool, learner.model.ensemble_
        mu, var = ensemble.predict(ens, learner.model.points(POOL))
        held, moved = pool.members, ens.magnitude[:, None] * pool.v
        assert_allclose(pool.mu[held], mu[held], rtol=1e-9, atol=1e-9)
        assert_allclose(moved[held], var[held], rtol=1e-8, atol=1e-10)
