"""Candidates of a large pool follow labels when they are looked at, and nothing else changes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learning import a_learner, teach
from reference.cases import frozen
from reference.pools import M, world
from weal.core.extensions.acquisition_registry import ACQUISITIONS
from weal.core.paper import ensemble
from weal.core.paper.exact_gp import explained
from weal.learner.pools import memory, score_pass
from weal.learner.pools.deferred_steps import find_largest
from weal.learner.pools.protocol import ScorePass

U = 300


@pytest.fixture
def late(constants):
    """The shortlist is short, and many candidates may follow labels late."""
    constants(memory, SHORTLIST_CANDIDATES=24, PRUNING_SAMPLE=16, MAX_LATE_SHARE=10.0)
    constants(score_pass, SHORTLIST_CANDIDATES=24)


def two_pools(seed=0, ratio=1e-2, labels=12):
    """A pool that defers labels, and one that follows each at once; both start after labels."""
    place, rng = world("exact", seed, U=U, ratio=ratio), np.random.default_rng([seed, 1])
    start = rng.standard_normal((labels, place.X.shape[1]))
    y = 2.0 * rng.standard_normal(labels)
    ens = ensemble.update_many(place.ens, place.points(place.ens, start), y, np.zeros(labels))
    slow = place.belief(ens)
    return place, ens, place.belief(ens, eager=0), slow


def tell(place, ens, pools, n, y):
    step = ensemble.step(ens, place.points(ens, place.X[n : n + 1]), y, 0.0)
    after = ensemble.advance(ens, step)
    for pool in pools:
        pool.follow(ens, step, after)
    return after


def a_pass(place, ens, free, cost=None):
    """A pass of mvr over the pool."""
    order = np.random.default_rng(4).permutation(U)
    targets = place.embedding.targets(ens.experts, place.R)
    known = (ens.experts.X, np.zeros(len(ens.experts.X)), (0, 1), free, range(U))
    functions = {"mvr": ACQUISITIONS["mvr"]}
    return ScorePass(ens, functions, *known, cost, targets=targets, order=order)


@pytest.mark.parametrize("seed", range(4))
def test_whenever_a_candidate_follows_it_has_the_same_bits(late, seed):
    place, ens, lazy, slow = two_pools(seed)
    rng = np.random.default_rng(seed)
    for _ in range(9):
        ens = tell(place, ens, (lazy, slow), int(rng.integers(U)), float(rng.standard_normal()))
        at = rng.permutation(U)[: rng.integers(1, 40)]
        for found, expected in zip(lazy.predict_kept(at), slow.predict_kept(at), strict=True):
            assert (found == expected).all()
    assert lazy.deferred.behind.any()
    found, expected = lazy.snapshot(1), slow.snapshot(1)
    assert not lazy.deferred.steps
    for part in ("members", "mu", "v"):
        assert (getattr(found, part) == getattr(expected, part)).all()
    mu, v, _ = place.scratch(ens)
    np.testing.assert_allclose(found.mu, mu[found.members], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.v, v[found.members], rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("costly", [False, True])
@pytest.mark.parametrize("ratio", [1e-1, 1e-2, 1e-6])
@pytest.mark.parametrize("seed", range(3))
def test_a_pass_that_computes_few_candidates_scores_like_one_that_computes_all(
    late, seed, ratio, costly
):
    place, ens, lazy, slow = two_pools(seed, ratio, labels=60)
    rng = np.random.default_rng(seed)
    cost = frozen(np.exp(rng.normal(0.0, 1.0, U))) if costly else None
    few = []
    for number in range(6):
        y = float(rng.standard_normal()) * (20.0 if number == 4 else 1.0)
        ens = tell(place, ens, (lazy, slow), int(rng.integers(U)), y)
        asked = a_pass(place, ens, rng.random(U) < 0.9, cost)
        found, expected = lazy.score(asked), slow.score(asked)
        assert (found.scores == expected.scores).all()
        few.append(int(lazy.deferred.behind.sum()))
    assert max(few) > U / 3  # most candidates were not computed at least once


@pytest.mark.parametrize("seed", range(4))
def test_bounds_of_variances_hold(late, seed):
    place, ens, lazy, slow = two_pools(seed, ratio=1e-3)
    rng = np.random.default_rng(seed)
    for number in range(8):
        y = float(rng.standard_normal()) * 10.0 ** rng.integers(-1, 3)
        ens = tell(place, ens, (lazy, slow), int(rng.integers(U)), y)
        lazy.predict_kept(rng.permutation(U)[:10])
        bounds = lazy.deferred.largest_variances(ens, lazy.members, lazy.mu, lazy.v)
        w, sig2 = ens.w[slow.members], ens.magnitude[slow.members, None]
        _, mu, v = slow.predict_kept(np.arange(U))
        truth = w @ (sig2 * v + (mu - w @ mu) ** 2)
        assert (bounds >= truth * (1.0 - 1e-9)).all(), number
        exact = ~lazy.deferred.behind
        np.testing.assert_allclose(bounds[exact], truth[exact], rtol=1e-9)


def test_forks_that_defer_go_their_own_ways(late):
    place, ens, lazy, slow = two_pools(7)
    ens = tell(place, ens, (lazy, slow), 5, 1.0)
    lazy.predict_kept(np.arange(20))
    kept = [lazy.mu.copy(), lazy.v.copy(), lazy.deferred.followed.copy()]
    twin, other = lazy.fork(), slow.fork()
    then = tell(place, ens, (twin, other), 9, -1.0)
    twin.predict_kept(np.arange(40))
    for found, before in zip((lazy.mu, lazy.v, lazy.deferred.followed), kept, strict=True):
        assert (found == before).all()
    tell(place, ens, (lazy, slow), 11, 0.5)
    asked = a_pass(place, then, np.ones(U, dtype=bool))
    assert (twin.score(asked).scores == other.score(asked).scores).all()
    for one, truth in ((twin, other), (lazy, slow)):
        for found, expected in zip(
            one.predict_kept(range(U)), truth.predict_kept(range(U)), strict=True
        ):
            assert (found == expected).all()


def test_correlations_are_kept_once_as_many_were_computed_late(late, constants):
    constants(memory, MAX_LATE_SHARE=1.5)
    place, ens, lazy, slow = two_pools(3)
    for number in range(4):
        ens = tell(place, ens, (lazy, slow), 10 * number, 0.3)
        assert lazy.cached == (number >= 2)
        assert (lazy.snapshot(1).mu == slow.snapshot(1).mu).all()
    assert all(group.points.K.shape[1] == 16 for group in lazy.groups)


def test_an_expert_that_comes_back_is_computed_after_all_labels(late):
    place, ens, lazy, slow = two_pools(2)
    for matters in ([1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 1]):
        ens = tell(place, ens, (), 17 * sum(matters), 0.4)
        w = np.where(np.array(matters) == 1, 1.0, 1e-60)
        step = ensemble.step(ens, place.points(ens, place.X[3:4]), 0.1, 0.0)
        after = ensemble.advance(ens, step)
        weighed = replace(after, log_w=frozen(np.log(w / w.sum())))
        lazy, slow = place.belief(ens, eager=0), place.belief(ens)
        for pool in (lazy, slow):
            pool.follow(ens, step, replace(weighed, log_w=frozen(np.log(np.full(M, 0.25)))))
            pool.follow(
                after, ensemble.step(after, place.points(after, place.X[8:9]), 1.0), weighed
            )
        for found, expected in zip(
            lazy.predict_kept(range(U)), slow.predict_kept(range(U)), strict=True
        ):
            assert (found == expected).all()
        ens = after


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 120))
def test_the_largest_are_found_from_bounds(seed, many, n):
    rng = np.random.default_rng(seed)
    values = np.round(rng.exponential(size=n), rng.integers(0, 4))
    bounds, free = values * (1.0 + rng.exponential(0.3, n)), rng.random(n) < 0.8
    seen = np.zeros(n, dtype=bool)

    def exact(at):
        assert not seen[at].any()
        seen[at] = True
        return values[at]

    find_largest(bounds, free, many, exact)
    assert not (seen & ~free).any()
    least = np.sort(values[free])[-many:].min(initial=np.inf)
    assert seen[free & (values >= least)].all()


@pytest.mark.parametrize("n", [1, 2, 3, 17])
def test_sums_over_labels_have_the_same_bits_for_any_points(n):
    rng = np.random.default_rng(n)
    K, a = rng.standard_normal((3, 700, 40)), rng.standard_normal((3, 700))
    whole, at = explained(K, a), rng.permutation(40)[:n]
    for m in range(3):
        assert (explained(K[m][:, at], a[m]) == whole[m, at]).all()
        assert (explained(np.asfortranarray(K[m]), a[m]) == whole[m]).all()
    np.testing.assert_allclose(whole, np.einsum("mtn,mt->mn", K, a), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["mvr", "auto", "multi", "gpm-var"])
def test_the_same_is_asked_whether_labels_are_deferred_or_not(constants, name):
    constants(memory, SHORTLIST_CANDIDATES=16)
    constants(score_pass, SHORTLIST_CANDIDATES=16)
    courses = []
    for most in (memory.POOL_BYTES, 0):
        learner = a_learner(name, "exact", memory=most)
        courses.append([*teach(learner, 9), *learner.ask(3), learner.ask(more=True)])
    assert courses[0] == courses[1]
