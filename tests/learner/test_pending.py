"""What would be believed were candidates that are out answered, against labels told one by one."""

from dataclasses import replace

import numpy as np
import pytest

from learner.test_memory_pool import check, replace_told
from reference.pools import Told, world
from weal.learner.pools.protocol import MIN_PENDING_FOR_JOINT_UPDATE, with_pseudo_labels

KINDS = ("features", "encoded", "exact")


def apart(outlook):
    """The outlook with a pool of its own, which believing moves."""
    return replace(outlook, pool=outlook.pool.fork())


@pytest.mark.parametrize("name", KINDS)
def test_a_candidate_believed_is_labelled_with_the_ensembles_mean_and_weights_stay(name):
    place = world(name)
    belief = place.belief(reference=place.R)
    told = Told.none(place)
    told.tell_many(belief, 11, 8)
    kept = [np.copy(a) for a in (belief.mu, belief.v, belief.q)]
    now = place.outlook(told.ens, belief)
    label = now.means([5, 23])
    then = with_pseudo_labels(with_pseudo_labels(apart(now), [5], label[:1]), [23], label[1:])
    for a, b in zip((belief.mu, belief.v, belief.q), kept, strict=True):
        assert (a == b).all()
    other, twin = replace_told(told), belief.fork()
    for n in (5, 23):
        mu, _ = told.ens.experts.predict(place.points(told.ens, place.X[n : n + 1]))
        other.tell(twin, n, float(told.ens.w @ mu[:, 0]), log_w=told.ens.log_w)
    check(then.pool, place, other.ens)
    assert (then.ens.log_w == told.ens.log_w).all()
    np.testing.assert_array_equal(then.X, place.X[[5, 23]])


@pytest.mark.parametrize("name", KINDS)
def test_many_believed_together_are_those_believed_one_by_one(name):
    place = world(name)
    belief = place.belief(reference=place.R)
    told = Told.none(place)
    told.tell_many(belief, 11, 8)
    kept = [np.copy(a) for a in (belief.mu, belief.v, belief.q)]
    now = place.outlook(told.ens, belief)
    at = list(range(12, 12 + MIN_PENDING_FOR_JOINT_UPDATE))
    label = now.means(at)
    together, one_by_one = with_pseudo_labels(apart(now), at, label), apart(now)
    for n, y in zip(at, label, strict=True):
        one_by_one = with_pseudo_labels(one_by_one, [n], np.array([y]))
    check(together.pool, place, one_by_one.ens)
    np.testing.assert_array_equal(together.y, one_by_one.y)
    for a, b in zip((belief.mu, belief.v, belief.q), kept, strict=True):
        assert (a == b).all()
    more = with_pseudo_labels(together, [3], np.array([0.5]))
    check(more.pool, place, with_pseudo_labels(one_by_one, [3], np.array([0.5])).ens)
