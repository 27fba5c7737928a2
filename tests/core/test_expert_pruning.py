"""What experts left out of a pool change in any score, beside all of them held."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.cases import frozen
from reference.pools import M, Told, world
from weal.core.extensions.acquisition_registry import ACQUISITIONS
from weal.core.extensions.expert_pruning import (
    MAX_SCORE_ERROR,
    ReachableMoments,
    reachable_moments,
    select_experts_to_keep,
)
from weal.core.paper.acquisition import NEGLIGIBLE_WEIGHT, VAR_FLOOR
from weal.learner.pools.protocol import ScorePass
from weal.learner.pools.score_pass import belief_of

KINDS = ("features", "encoded", "exact")
EXEMPT = {
    "random",
    "mvr",
    "mvr-var",
    "mvr-var-igs",
    "mvr-var-misfit",
}  # mvr looks at experts of some weight alone
EPS = np.finfo(float).eps
# Logs of weights at awkward moments: one expert has all but nothing; a chain of ever smaller
# ones; two alike and two that are gone; just above and below what is negligible; almost even.
MOMENTS = {
    "one has all": [0.0, -46.0, -80.0, -120.0],
    "a chain": [0.0, -23.1, -46.2, -69.3],
    "two alike": [-0.7, -0.7, -60.0, -600.0],
    "at the edge": [0.0, -29.9, -29.95, -30.0],
    "near the old edge": [0.0, -23.1, -23.2, -24.0],
    "almost even": [0.0, -1.0, -2.0, -3.0],
    "gone": [0.0, -2000.0, -40.0, -2000.0],
}


def scores(ens, every, told, members=slice(None)):
    """All scores but those that are exempt, and the mean, over the pool, by some experts' beliefs.

    All from one belief with everybody held: computed anew, tiny variances differ by rounding.
    """
    X, y = np.array(told.X).reshape(len(told.y), -1), np.array(told.y)
    U = len(every.X)
    asked = ScorePass(ens, {}, X, y, (0, 0), np.ones(U, dtype=bool), range(U))
    seen = belief_of(asked, slice(None), every.mu, every.v, every.q, every.X)
    rows = {name: getattr(seen, name)[members] for name in ("w", "mu", "var", "noise", "reduction")}
    seen = replace(seen, **rows)
    names = [name for name in ACQUISITIONS if name not in EXEMPT]
    return {name: ACQUISITIONS[name](seen) for name in names} | {"mean": seen.mean}


def promised(name, truth, ens, far, w_out, diameter):
    """What `core.extensions.expert_pruning` says of a score, and what rounding may do to it
    besides.
    """
    b = float(ens.w @ far.mean)
    top = np.abs(truth[name]).max()
    rounding = 1e-11 * top + 1e3 * EPS**2 * max(b * b, float(far.var.max()))
    spread = np.sqrt(MAX_SCORE_ERROR * w_out * max(truth["qbc"].max(), EPS**2 * b * b)) + 1e-13 * b
    bounds = {
        "wvar": MAX_SCORE_ERROR * top,
        "ivr": MAX_SCORE_ERROR * top,
        "qbc": MAX_SCORE_ERROR * top,
        "gpm-var": 2.0 * MAX_SCORE_ERROR * top,
        "went": MAX_SCORE_ERROR,
        "gpm-ent": 0.0,
        "bald": 0.0,
        "ei": 0.0,
        "ei-min": 0.0,
        "mean": spread,
        "igs": diameter * spread,
    }
    return bounds[name] + rounding


def at_a_moment(name, moment, ratio, seed=3, t=25):
    """A pool after some labels, with weights set by hand, and the same with everybody held."""
    place = world(name, ratio=ratio)
    every = place.belief(reference=place.R, everyone=True)
    told = Told.none(place)
    told.tell_many(every, seed, t)
    log_w = np.array(MOMENTS[moment])
    ens = replace(told.ens, log_w=frozen(log_w - np.log(np.exp(log_w).sum())))
    every.keep_experts(ens)
    return place, ens, place.belief(ens, reference=place.R), every, told


@pytest.mark.covering(strength=2)
@pytest.mark.parametrize("ratio", [1e-1, 1e-5, 1e-10], ids=["noisy", "little noise", "noise-free"])
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("name", KINDS)
def test_no_score_is_changed_by_more_than_is_promised(name, moment, ratio):
    place, ens, belief, every, told = at_a_moment(name, moment, ratio)
    assert len(every.members) == M
    truth, found = scores(ens, every, told), scores(ens, every, told, belief.members)
    far = reachable_moments(ens, place.embedding.largest_prior_variance(ens.experts, place.X))
    w_out = ens.w.sum() - ens.w[belief.members].sum()
    diameter = max(np.linalg.norm(a - b) for a in belief.X for b in told.X)
    for score, values in truth.items():
        off = np.abs(found[score] - values).max()
        assert off <= promised(score, truth, ens, far, w_out, diameter), score


def test_a_bound_on_weights_alone_does_not_keep_that_promise():
    """What was the rule before: experts of weight 1e-10 are held, and qbc is their alone."""
    worst = 0.0
    for moment in MOMENTS:
        _, ens, _, every, told = at_a_moment("exact", moment, 1e-5)
        truth = scores(ens, every, told)["qbc"]
        few = scores(ens, every, told, np.flatnonzero(ens.w >= 1e-10))["qbc"]
        worst = max(worst, np.abs(few - truth).max() / truth.max())
    assert worst > 1e-3


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("ratio", [1e-1, 1e-10])
def test_no_belief_goes_beyond_the_reach_of_its_expert(name, ratio):
    place = world(name, ratio=ratio)
    belief = place.belief(everyone=True)
    told = Told.none(place)
    prior = place.embedding.largest_prior_variance(told.ens.experts, place.X)
    for seed in range(6):
        told.tell_many(belief, seed, 5)
        far = reachable_moments(told.ens, prior)
        var = told.ens.magnitude[:, None] * belief.v
        assert (np.abs(belief.mu) <= far.mean[:, None] * (1.0 + 1e-6)).all()
        assert (var <= far.var[:, None] * (1.0 + 1e-9)).all()


def made_up(seed, M, N, tiny):
    """Weights down to 10^-tiny, reaches over decades, and beliefs that go to the ends of them."""
    rng = np.random.default_rng([seed, M, N])
    w = 10.0 ** -(tiny * rng.random(M))
    w[rng.random(M) < 0.1] = 0.0
    w[rng.integers(M)] = 1.0
    far = ReachableMoments(10.0 ** rng.uniform(-3, 6, M), 10.0 ** rng.uniform(-9, 3, M))
    size = np.where(rng.random((M, N)) < 0.5, 1.0, rng.random((M, N)) ** 4)
    mu = far.mean[:, None] * size * rng.choice([-1.0, 1.0], (M, N))
    var = far.var[:, None] * size**2
    return w / w.sum(), far, frozen(mu), frozen(var)


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    M=st.integers(1, 12),
    N=st.integers(1, 9),
    tiny=st.sampled_from([3.0, 20.0, 60.0, 300.0]),
)
def test_those_left_out_add_no_more_than_is_promised_wherever_their_beliefs_are(seed, M, N, tiny):
    w, far, mu, var = made_up(seed, M, N, tiny)
    members = select_experts_to_keep(
        frozen(w), far, lambda which: (mu[which], var[which], var[which])
    )
    assert np.isin(np.flatnonzero(w >= NEGLIGIBLE_WEIGHT), members).all()
    some, b = w[members], float(w @ far.mean)
    for whole, part, floor in (
        (w @ var, some @ var[members], EPS**2 * far.var.max()),
        (
            w @ (mu - w @ mu) ** 2,
            some @ (mu[members] - some @ mu[members]) ** 2,
            1e3 * EPS**2 * b * b,
        ),
    ):
        assert np.abs(whole - part).max() <= (MAX_SCORE_ERROR + 1e-11) * whole.max() + floor
    logs = 0.5 * np.log(2.0 * np.pi * np.maximum(var, VAR_FLOOR))
    assert np.abs(w @ logs - some @ logs[members]).max() <= MAX_SCORE_ERROR + 1e-10


def test_who_has_no_weight_at_all_is_never_held():
    w = frozen([0.0, 1.0, 0.0])
    mu, var = np.full((3, 2), 1e9), np.full((3, 2), 1e9)
    far = ReachableMoments(np.full(3, 1e9), np.full(3, 1e9))
    assert select_experts_to_keep(w, far, lambda which: (mu[which], var[which], None)).tolist() == [
        1
    ]


def test_where_one_has_all_the_weight_the_one_that_disagrees_most_is_held_too():
    w = frozen([1.0, 1e-20, 1e-35])
    mu = np.array([[1.0, 1.0], [1.0, 3.0], [5.0, 2.0]])
    var, far = np.full((3, 2), 0.1), ReachableMoments(np.full(3, 5.0), np.full(3, 0.1))
    assert select_experts_to_keep(w, far, lambda which: (mu[which], var[which], None)).tolist() == [
        0,
        1,
    ]


def test_the_experts_held_depend_on_the_labels_and_not_on_who_was_held_before():
    place = world("exact", ratio=1e-4)
    belief = place.belief(reference=place.R)
    told = Told.none(place)
    for seed in range(8):
        told.tell_many(belief, seed, 5)
        anew = place.belief(told.ens, reference=place.R)
        assert belief.members.tolist() == anew.members.tolist()


def test_no_score_is_without_a_promise():
    """Every score of the package is in the table of the module, and in this test."""
    place, ens, _, every, told = at_a_moment("features", "a chain", 1e-2)
    far = reachable_moments(ens, place.embedding.largest_prior_variance(ens.experts, place.X))
    truth = scores(ens, every, told)
    assert set(ACQUISITIONS) - EXEMPT <= set(truth)
    assert all(promised(name, truth, ens, far, 0.0, 1.0) >= 0.0 for name in truth)
