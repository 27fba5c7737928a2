"""The conformance suite of the pool seam: every way to keep a pool, against brute force.

A new kind of pool joins with one entry in POOLS: a function that makes it for a world (of
`reference.pools`), an ensemble and, for `ivr`, reference points.
"""

from dataclasses import replace

import numpy as np
import pytest

from reference.cases import frozen
from reference.pools import M, Told, lower_limits, world
from weal.core.extensions.acquisition_registry import ACQUISITIONS
from weal.core.paper.acquisition import NEGLIGIBLE_WEIGHT, Belief
from weal.core.scaling import Scaling
from weal.core.tie_breaking import best as best_of_all
from weal.learner.pools import shard_pass
from weal.learner.pools.combined_scores import ShardContext
from weal.learner.pools.protocol import ScorePass
from weal.learner.pools.sharded import ShardedPool
from weal.learner.sharded_candidates import read_shards
from weal.shards import dataset as shards
from weal.shards.executors import ThreadExecutor

U = 40
WEIGHTS = frozen(np.log([0.4, 0.2, 0.3, 0.1]))


def in_memory(place, ens, reference, **settings):
    return place.belief(ens, reference=reference, **settings)


def with_limits(**limits):
    """A pool in memory with lower limits, so that 40 candidates are many."""

    def make(place, ens, reference, constants):
        return in_memory(place, ens, reference, **lower_limits(constants, **limits))

    return make


def in_shards(rows, threads):
    """A pool in shards of so many rows, read by so many threads."""

    def make(place, ens, reference, constants):
        constants(shards, MEMORY_SHARD_ROWS=rows)
        constants(shard_pass, MIN_BLOCK_ROWS=5)
        opened = shards.open_pool(place.X, ids=[f"row {n}" for n in range(len(place.X))])
        as_it_is = Scaling(np.zeros(place.X.shape[1]), np.ones(place.X.shape[1]))
        where = ShardContext(read_shards(opened, 5), ThreadExecutor(threads), 5, None, {})
        return ShardedPool(ens, place.embedding, as_it_is, where, reference)

    return make


POOLS = {
    "in memory": with_limits(),
    "scored in blocks": with_limits(score_block=7),
    "experts apart, in blocks": with_limits(own_group=10, block=7, score_block=11),
    "recomputed": with_limits(memory=0),
    "recomputed, all in blocks": with_limits(memory=0, own_group=10, score_block=1),
    "in shards": in_shards(13, 3),
    "in shards of one": in_shards(1, 1),
    "outgrown": with_limits(memory=M * U * 13 * 2 * 8, score_block=13),
}
KINDS = ("features", "encoded", "exact")
FUNCTIONS = {
    name: ACQUISITIONS[name] for name in ("wvar", "qbc", "gpm-ent", "ivr", "igs", "random")
}


def own(belief):
    """A user's function that looks at all candidates at once."""
    return belief.mean - belief.mean.mean()


def one_by_one(function):
    """The function, said to look at each candidate by itself."""
    function.pointwise = True
    return function


@pytest.fixture(params=[(pool, kind) for pool in POOLS for kind in KINDS], ids="-".join)
def case(request, constants):
    """A world, a pool on it, and 25 labels that both have seen."""
    name, kind = request.param
    place = world(kind, U=U)
    pool = POOLS[name](place, place.ens, place.R, constants)
    told = Told.none(place)
    told.tell_many(pool, 1, 25, log_w=WEIGHTS)
    return place, pool, told


def weighed(told):
    """The ensemble after the labels, with weights that all matter."""
    return replace(told.ens, log_w=WEIGHTS)


def agrees(pool, place, ens):
    """Named rows, of all experts and of those held, are what the posterior from scratch says."""
    mu, v, _ = place.scratch(ens)
    at = [3, 39, 0, 17, 3]
    for found, truth in zip(pool.predict(ens, at), (mu, v), strict=True):
        np.testing.assert_allclose(found, truth[:, at], rtol=1e-9, atol=1e-9)
    held, *kept = pool.predict_kept(np.arange(U))
    for found, truth in zip(kept, (mu, v), strict=True):
        np.testing.assert_allclose(found, truth[held], rtol=1e-9, atol=1e-9)
    assert ens.w[held].sum() > 1.0 - M * NEGLIGIBLE_WEIGHT
    np.testing.assert_array_equal(pool.inputs_at(at), place.X[at])


def brute(place, told, key):
    """What functions see of the pool, all experts from scratch."""
    ens, (mu, v, q) = weighed(told), place.scratch(told.ens)
    sig2, lam = ens.magnitude[:, None], ens.noise[:, None]
    known = (place.X, np.array(told.X), np.array(told.y), key)
    return Belief(ens.w, mu, sig2 * v, (sig2 * lam)[:, 0], *known, sig2 * q / (v + lam))


def the_pass(told, functions, key=(5, 2), seed=0):
    free = np.random.default_rng(seed).random(U) < 0.7
    ids = [f"row {n}" for n in range(U)]
    return ScorePass(weighed(told), functions, np.array(told.X), np.array(told.y), key, free, ids)


def test_after_labels_named_rows_are_those_from_scratch(case):
    place, pool, told = case
    agrees(pool, place, weighed(told))
    told.tell_many(pool, 2, 15)  # these drop experts
    assert len(pool.predict_kept([0])[0]) < M
    agrees(pool, place, told.ens)
    agrees(pool, place, told.refolded())


def test_a_fork_goes_its_own_way(case):
    place, pool, told = case
    twin, other = pool.fork(), replace(told)
    other.tell_many(twin, 3, 6)
    agrees(pool, place, weighed(told))
    told.tell_many(pool, 4, 6, log_w=WEIGHTS)
    agrees(twin, place, other.ens)
    agrees(pool, place, weighed(told))


def test_a_pool_renewed_is_that_of_the_other_ensemble_and_goes_on_from_there(case):
    place, pool, told = case
    other = Told.none(place)
    other.tell_many(place.belief(), 5, 4)
    twin = pool.recompute(other.ens)
    agrees(twin, place, other.ens)
    agrees(pool, place, weighed(told))
    other.tell_many(twin, 6, 5)
    agrees(twin, place, other.ens)


def test_a_pass_gives_the_scores_their_ranges_and_the_best_of_each(case):
    place, pool, told = case
    whole = {} if isinstance(pool, ShardedPool) else {"own": own}
    asked = the_pass(told, {**FUNCTIONS, **whole})
    found, seen = pool.score(asked), brute(place, told, asked.key)
    truth = np.stack([function(seen) for function in asked.functions.values()])
    size = np.abs(truth).max(axis=1)
    for n in range(U):
        np.testing.assert_allclose(found.at(n) / size, truth[:, n] / size, atol=1e-8)
    some = truth[:, asked.free]
    np.testing.assert_allclose(found.low / size, some.min(axis=1) / size, atol=1e-8)
    np.testing.assert_allclose(found.high / size, some.max(axis=1) / size, atol=1e-8)
    for k, row in enumerate(truth):
        best = found.best(lambda scores, k=k: scores[k]).position
        assert best == best_of_all(row, asked.free, 5, asked.ids)


def test_the_best_of_a_combination_is_the_best_of_its_sum(case):
    place, pool, told = case
    asked, omega = the_pass(told, FUNCTIONS, seed=1), np.array([0.1, 0.3, 0.2, 0.1, 0.2, 0.1])
    found, seen = pool.score(asked), brute(place, told, asked.key)
    truth = np.stack([function(seen) for function in asked.functions.values()])
    low, high = (part[:, None] for part in (found.low, found.high))
    best = found.best(lambda scores: omega @ ((scores - low) / (high - low))).position
    total = omega @ ((truth - low) / (high - low))
    assert best == best_of_all(total, asked.free, 5, asked.ids)


def test_ties_are_broken_by_seed_and_id_and_only_free_candidates_are_taken(case):
    _, pool, told = case
    for seed in range(6):
        even = one_by_one(lambda bel: np.ones(bel.mu.shape[1]))
        asked = the_pass(told, {"own": even}, (seed, 0), seed)
        best = pool.score(asked).best(lambda scores: scores[0]).position
        assert asked.free[best]
        assert best == best_of_all(np.ones(U), asked.free, seed, asked.ids)


def test_scores_that_are_no_numbers_are_refused_by_name(case):
    _, pool, told = case

    @one_by_one
    def wild(belief):
        return np.full(belief.mu.shape[1], np.nan)

    def short(belief):
        return np.ones(3)

    short.pointwise = isinstance(pool, ShardedPool)

    with pytest.raises(ValueError, match=r"'wild' scored .* candidates with nan"):
        pool.score(the_pass(told, {"wild": wild, "qbc": ACQUISITIONS["qbc"]}))
    with pytest.raises(ValueError, match=r"'short' returned shape \(3,\)"):
        pool.score(the_pass(told, {"short": short}))


def test_experts_that_fell_are_not_looked_at_and_come_back_as_they_are_then(case):
    place, pool, told = case
    for m in range(M):
        w = np.full(M, 1e-60)
        w[m] = 1.0
        log_w = frozen(np.log(w / w.sum()))
        told.tell_many(pool, 7 + m, 2, log_w=log_w)
        held, mu, v = pool.predict_kept([5])
        assert m in held
        truth = place.scratch(told.ens)
        np.testing.assert_allclose((mu[held == m], v[held == m]), [t[[m], 5:6] for t in truth[:2]])
        assert pool.predict(told.ens, [5])[0].shape == (M, 1)
