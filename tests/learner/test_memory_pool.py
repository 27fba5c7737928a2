"""The belief kept on a pool, label by label, against predictions from scratch."""

from dataclasses import replace

import numpy as np
import pytest

from learning import seen_by_functions
from reference.cases import frozen
from reference.pools import M, Told, lower_limits, world
from weal.core.extensions.more_acquisitions import ivr
from weal.core.paper.acquisition import NEGLIGIBLE_WEIGHT

KINDS = ("features", "encoded", "exact")
ON_FEATURES = KINDS[:2]
SINGLE = 3e-7  # what the module promises of float32 features
OUTGROWN = 4 * 40 * 21 * 2 * 8  # bytes of V of exact experts, with room, at 20 labels and one more
# Ways to keep a pool: limits of the module lowered so that 40 candidates are many.
WAYS = {
    "together": {},
    "recomputed": {"memory": 0},
    "one by one": {"own_group": 10},
    "one by one, in blocks": {"own_group": 10, "block": 7},
    "one by one, recomputed": {"own_group": 10, "memory": 0},
    "outgrown": {"memory": OUTGROWN},
    "one by one, outgrown": {"own_group": 10, "memory": OUTGROWN},
}


@pytest.fixture
def limits(constants):
    """Lower the limits; what is left are arguments of the belief."""
    return lambda way, **more: lower_limits(constants, **WAYS[way], **more)


def check(belief, place, ens, atol=1e-12):
    """The belief on the experts held is the one from scratch."""
    held = belief.members
    mu, v, q = place.scratch(ens)
    np.testing.assert_allclose(belief.mu[held], mu[held], rtol=1e-9, atol=100.0 * atol)
    np.testing.assert_allclose(belief.v[held], v[held], rtol=1e-9, atol=atol)
    if belief.q is not None:
        np.testing.assert_allclose(belief.q[held], q[held], rtol=1e-9, atol=atol)


@pytest.mark.covering
@pytest.mark.parametrize("reference", [False, True], ids=["plain", "reference"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", KINDS)
def test_after_many_labels_the_belief_is_the_one_from_scratch(limits, name, way, reference):
    place = world(name)
    belief = place.belief(reference=place.R if reference else None, **limits(way))
    told = Told.none(place)
    check(belief, place, told.ens)
    told.tell_many(belief, 1, 60)
    check(belief, place, told.ens)
    check(belief, place, told.refolded(), atol=1e-11)


@pytest.mark.covering
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ON_FEATURES)
@pytest.mark.parametrize("ratio", [1e-1, 1e-3, 1e-5])
def test_single_precision_features_leave_the_error_that_is_promised(limits, name, way, ratio):
    place = world(name, ratio=ratio)
    belief = place.belief(**limits(way, float32=10, everyone=True))
    assert belief.dtype == np.float32
    assert belief.mu.dtype == belief.v.dtype == np.float64
    told = Told.none(place)
    told.tell_many(belief, 2, 100)
    mu, v, _ = place.scratch(told.ens)
    assert np.abs(belief.v - v).max() < SINGLE
    off = np.abs(belief.mu - mu).max(axis=1)
    assert (off < SINGLE * np.maximum(1.0, told.surprise)).all()


def test_large_pools_are_single_unless_there_is_a_reference_or_no_feature(limits):
    settings = limits("together", float32=40)
    for name in KINDS:
        place = world(name)
        single = name != "exact"
        assert place.belief(**settings).dtype == (np.float32 if single else np.float64)
        assert place.belief(reference=place.R, **settings).dtype == np.float64
        assert world(name, U=39).belief(**settings).dtype == np.float64


@pytest.mark.parametrize("ratio", [1e-2, 1e-4])
def test_on_a_large_pool_the_best_by_ivr_is_the_best(limits, ratio):
    """For each of the experts. Measured: right to 3e-8 of the best; by float32 features, with
    errors of 1e-7 in q, scores were wrong by up to 17 times the best, and the choice with them.
    """
    place = world("features", ratio=ratio, U=300)
    belief = place.belief(reference=place.X, **limits("together", float32=10, everyone=True))
    told = Told.none(place)
    told.tell_many(belief, 3, 120)
    ens = told.ens
    _, v, q = replace(place, R=place.X).scratch(ens)
    truth = ens.magnitude[:, None] * q / (v + ens.noise[:, None])
    seen = seen_by_functions(place.outlook(ens, belief))
    for m, alone in enumerate(np.eye(M)):
        scores = ivr(replace(seen, w=frozen(alone)))
        assert np.abs(scores - truth[m]).max() < 1e-6 * truth[m].max()
        assert truth[m, scores.argmax()] > (1.0 - 1e-6) * truth[m].max()


SCRIPT = ([1, 1, 1, 1], [1, 0, 1, 1], [0, 0, 0, 1], [0, 1, 0, 1], [1, 1, 0, 0], [0, 0, 1, 0])


@pytest.mark.covering
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", KINDS)
def test_experts_that_fell_are_dropped_and_come_back_as_they_are_then(limits, name, way):
    """Weights are set by hand; between them come labels that the dropped do not see."""
    place = world(name)
    belief = place.belief(reference=place.R, **limits(way))
    told = Told.none(place)
    for number, matters in enumerate((*SCRIPT, SCRIPT[0])):
        w = np.where(np.array(matters) == 1, 1.0, 1e-60)
        ens = replace(told.ens, log_w=frozen(np.log(w / w.sum())))
        belief.keep_experts(ens)
        assert belief.members.tolist() == np.flatnonzero(matters).tolist()
        check(belief, place, told.ens)
        told.tell_many(belief, number, 7, log_w=ens.log_w)
        check(belief, place, told.ens)


@pytest.mark.parametrize("way", ["together", "one by one"])
@pytest.mark.parametrize("name", KINDS)
def test_labels_themselves_drop_experts_and_the_rest_stays_right(limits, name, way):
    place = world(name, ratio=1e-4)
    belief = place.belief(**limits(way))
    told = Told.none(place)
    told.tell_many(belief, 4, 40)
    assert 0 < len(belief.members) < M
    assert np.isin(np.flatnonzero(told.ens.w >= NEGLIGIBLE_WEIGHT), belief.members).all()
    check(belief, place, told.ens)


@pytest.mark.parametrize("everyone", [False, True])
def test_everyone_is_held_where_that_is_wanted(everyone):
    place = world("features")
    ens = replace(place.ens, log_w=frozen(np.log([0.5, 1e-300, 0.4, 0.1])))
    belief = place.belief(ens, everyone=everyone)
    assert belief.members.tolist() == ([0, 1, 2, 3] if everyone else [0, 2, 3])


@pytest.mark.covering
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("first", ["twin", "original"])
def test_a_fork_and_its_original_go_their_own_ways(limits, name, way, first):
    place = world(name)
    belief = place.belief(reference=place.R, **limits(way))
    told = Told.none(place)
    told.tell_many(belief, 5, 12)
    twin, other = belief.fork(), replace_told(told)
    kept = [np.copy(a) for a in (twin.mu, twin.v, twin.q)]
    pairs = {"original": (belief, told, 6), "twin": (twin, other, 7)}
    for who in (first, "twin" if first == "original" else "original"):
        one, labels, seed = pairs[who]
        if who != first:  # the other moved on, and this one stayed
            for a, b in zip((one.mu, one.v, one.q), kept, strict=True):
                assert (a == b).all()
        labels.tell_many(one, seed, 15)
    grandchild, third = twin.fork(), replace_told(other)
    third.tell_many(grandchild, 8, 9)
    for one, labels in ((belief, told), (twin, other), (grandchild, third)):
        check(one, place, labels.refolded(), atol=1e-11)


@pytest.mark.parametrize("way", ["together", "one by one"])
def test_a_fork_copies_no_correlations_and_writes_to_none_of_its_parents(limits, way):
    place = world("exact")
    belief = place.belief(everyone=True, **limits(way))
    told = Told.none(place)
    told.tell_many(belief, 5, 12)
    twin, other = belief.fork(), replace_told(told)
    other.tell_many(twin, 7, 4)
    grandchild, third = twin.fork(), replace_told(other)
    third.tell_many(grandchild, 8, 3)
    for parent, child, late in zip(belief.groups, twin.groups, grandchild.groups, strict=True):
        assert np.shares_memory(parent.points.rows.array, child.points.rows.array)
        assert np.shares_memory(parent.points.rows.array, late.points.rows.array)
        assert not np.shares_memory(child.points.tail.array, late.points.tail.array)
        assert [one.points.K.shape[1] for one in (parent, child, late)] == [12, 16, 19]
    told.tell_many(belief, 9, 5)
    for one, labels in ((belief, told), (twin, other), (grandchild, third)):
        check(one, place, labels.refolded(), atol=1e-11)
        for group in one.groups:
            experts = labels.ens.experts.take(group.which)
            assert (group.points.K == experts.correlated_points(place.X).K).all()


def replace_told(told):
    """A copy that other labels can be told to."""
    return Told(told.world, told.ens, list(told.X), list(told.y), list(told.noise_var))


@pytest.mark.covering
@pytest.mark.parametrize("single", [False, True], ids=["double", "single"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", KINDS)
def test_a_candidate_is_the_same_point_for_all_experts_however_the_pool_is_kept(
    limits, name, way, single
):
    """In float64 always, and for experts that are not held too."""
    place = world(name)
    belief = place.belief(**limits(way, float32=10 if single else 10**9))
    told = Told.none(place)
    for seed in (8, 9):
        for n in (0, 17, 39):
            mu, v = told.ens.experts.predict(place.outlook(told.ens, belief).points([n]))
            truth = told.ens.experts.predict(place.points(told.ens, place.X[n : n + 1]))
            np.testing.assert_allclose(mu, truth[0], rtol=1e-12, atol=1e-13)
            np.testing.assert_allclose(v, truth[1], rtol=1e-12, atol=1e-13)
        told.tell_many(belief, seed, 10)
    assert len(belief.members) < M


@pytest.mark.parametrize("name", KINDS)
def test_in_a_large_pool_experts_that_stay_are_not_computed_anew(limits, name):
    place = world(name)
    belief = place.belief(**limits("one by one"))
    first = {int(group.members[0]): group for group in belief.groups}
    for matters in ([1, 0, 1, 1], [1, 1, 0, 1]):
        w = np.where(np.array(matters) == 1, 1.0, 1e-60)
        belief.keep_experts(replace(place.ens, log_w=frozen(np.log(w / w.sum()))))
    kept = {int(group.members[0]): group for group in belief.groups}
    assert kept[0] is first[0]
    assert kept[3] is first[3]
    assert kept[1] is not first[1]


@pytest.mark.parametrize("name", KINDS)
def test_the_memory_budget_decides_whether_features_are_kept(name):
    place = world(name)
    size = M * 40 * 24 * 8
    for budget, kept in ((size, True), (size - 1, name == "exact")):
        belief = place.belief(memory=budget)
        assert belief.cached == kept
        assert all((group.points is not None) == kept for group in belief.groups)


@pytest.mark.parametrize("way", ["outgrown", "one by one, outgrown"])
def test_the_memory_budget_decides_how_long_the_columns_of_exact_experts_are_kept(limits, way):
    """V (M, t, U) has room for twice the labels; what does not fit is computed block by block."""
    place = world("exact")
    belief = place.belief(**limits(way, everyone=True))
    told = Told.none(place)
    for number in range(30):
        told.tell_many(belief, number, 1)
        assert belief.cached == (number + 1 <= 20)
        assert all((group.points is not None) == belief.cached for group in belief.groups)
    check(belief, place, told.ens)


@pytest.mark.parametrize("way", ["recomputed", "outgrown", "one by one, outgrown"])
def test_columns_kept_and_computed_anew_are_the_same_belief(limits, way):
    place = world("exact", U=300)
    pools = []
    for one in ("together", way):
        pools.append(place.belief(reference=place.R, **limits(one)))
        Told.none(place).tell_many(pools[-1], 12, 40)
    kept, anew = pools
    assert (kept.cached, anew.cached) == (True, False)
    assert (kept.members == anew.members).all()
    for part in ("mu", "v", "q"):
        held = [getattr(pool, part)[pool.members] for pool in pools]
        np.testing.assert_allclose(*held, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", KINDS)
def test_scores_see_the_experts_held_in_units_of_the_labels(name):
    place = world(name)
    belief = place.belief(reference=place.R)
    told = Told.none(place)
    told.tell_many(belief, 10, 8)
    ens = replace(told.ens, log_w=frozen(np.log([0.5, 1e-60, 0.3, 0.2])))
    belief.keep_experts(ens)
    seen = seen_by_functions(place.outlook(ens, belief), (3, 4))
    mu, v, q = place.scratch(told.ens)
    for m, row in zip((0, 2, 3), range(3), strict=True):
        sig2, lam = ens.magnitude[m], ens.noise[m]
        assert seen.w[row] == ens.w[m]
        np.testing.assert_allclose(seen.mu[row], mu[m], rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(seen.var[row], sig2 * v[m], rtol=1e-9)
        np.testing.assert_allclose(seen.noise[row], sig2 * lam)
        np.testing.assert_allclose(seen.reduction[row], sig2 * q[m] / (v[m] + lam), rtol=1e-8)
    assert seen.key == (3, 4)
