"""The relevance q kept label by label, against batch posteriors and against real labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.cases import LAYOUTS, MAGNITUDE, campaign, campaigns, frozen, kind
from weal.core.extensions.more_acquisitions import ivr
from weal.core.extensions.reference_variance import (
    ExactReference,
    FeatureReference,
    moved_relevance,
)
from weal.core.paper.acquisition import Belief

KINDS = ("features", "exact")
EPS = np.finfo(float).eps
few = settings(max_examples=12, deadline=None)


def target_points(camp, R=7):
    """Points to be sure of, one of them labelled and one a candidate."""
    rng = np.random.default_rng([camp.seed, R])
    return frozen(np.concatenate([rng.standard_normal((R - 2, camp.d)), camp.X[:1], camp.Z[:1]]))


def target_of(who, experts, T):
    points = who.embed(experts, T)
    return ExactReference(points) if who.name == "exact" else FeatureReference.of([points], len(T))


def followed(who, camp, T, start=0):
    """Experts, points, target and q after all labels, q kept from label `start` on."""
    experts = who.prior()
    lam = np.repeat(camp.lam[:, None], start, axis=1)
    experts, _, _ = experts.absorb(who.embed(experts, camp.X[:start]), camp.y[:start], lam)
    points, target = who.embed(experts, camp.Z), target_of(who, experts, T)
    q = target.relevance(experts, points)
    for x, y in zip(camp.X[start:], camp.y[start:], strict=True):
        step = experts.step(who.embed(experts, x[None]), y, camp.lam)
        c = step.column(points)
        h, p = target.columns(experts, step, points)
        q = moved_relevance(frozen(q), frozen(c), frozen(h), p, step.s)
        points, target = step.extend(points, c), target.after(step)
        experts = experts.condition(step)
    return experts, points, target, q


def true_relevance(who, camp, T):
    """mean_r cov(f(x), f(r))^2 (M, N) of the batch posterior."""
    N, both = len(camp.Z), np.concatenate([camp.Z, T])
    lam = np.repeat(camp.lam[:, None], len(camp.y), axis=1)
    covariances = [who.truth(m, camp.X, camp.y, lam[m], both)[1] for m in range(len(lam))]
    return np.array([(C[:N, N:] ** 2).mean(axis=1) for C in covariances])


def rounding(camp):
    """What rounding the correlations leaves of a covariance, in the worst layout."""
    return 4.0 * EPS * len(camp.y) / camp.lam.min()


@pytest.mark.parametrize("name", KINDS)
@few
@given(camp=campaigns(least=-3.0, most_labels=14), start=st.integers(0, 14))
def test_the_relevance_kept_is_that_of_the_batch_posterior(name, camp, start):
    who, T = kind(name, camp.d, camp.seed), target_points(camp)
    *_, q = followed(who, camp, T, min(start, len(camp.y)))
    np.testing.assert_allclose(q, true_relevance(who, camp, T), rtol=1e-9, atol=rounding(camp))


@pytest.mark.covering
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("ratio", [1e-1, 1e-5, 1e-8])
def test_after_many_labels_the_relevance_kept_is_the_one_computed_anew(name, layout, ratio):
    """120 labels. Measured: 5e-16 apart, of exact experts in a crowd 2.5e-14: no drift."""
    camp = campaign(4, d=3, t=120, ratio=ratio, layout=layout)
    who, T = kind(name, 3), target_points(camp, 30)
    experts, points, target, q = followed(who, camp, T)
    anew = target_of(who, experts, T).relevance(experts, who.embed(experts, camp.Z))
    bound = 1e-13 if (name, layout) == ("exact", "crowded") else 2e-15
    assert (np.abs(q - anew) <= bound).all()
    assert (np.abs(target.relevance(experts, points) - anew) <= bound).all()


@pytest.mark.parametrize("name", KINDS)
@few
@given(camp=campaigns(least=-10.0, most_labels=30))
def test_the_relevance_kept_is_never_negative(name, camp):
    who = kind(name, camp.d, camp.seed)
    *_, q = followed(who, camp, target_points(camp))
    assert np.isfinite(q).all()
    assert (q >= 0.0).all()


@pytest.mark.covering
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_ivr_is_the_variance_that_a_label_of_the_candidate_really_takes_away(name, seed):
    """By brute force: condition on each candidate, and look at the target again."""
    camp = campaign(seed, d=4, t=9, ratio=1e-2)
    who, T = kind(name, 4, seed), target_points(camp)
    experts, points, _, q = followed(who, camp, T)
    mu, v = experts.predict(points)
    w = frozen([0.0, 0.6, 0.3, 0.1])
    reduction = MAGNITUDE[:, None] * q / (v + camp.lam[:, None])
    belief = Belief(w, mu, v, camp.lam, camp.Z, camp.X, camp.y, (0, 0), reduction)
    truth = np.zeros(len(camp.Z))
    for n, x in enumerate(camp.Z):
        X, y = np.concatenate([camp.X, x[None]]), np.append(camp.y, 1.7)
        for m in range(4):
            lam = np.full(len(y), camp.lam[m])
            _, before = who.truth(m, camp.X, camp.y, lam[1:], T)
            _, after = who.truth(m, X, y, lam, T)
            truth[n] += w[m] * MAGNITUDE[m] * np.mean(np.diag(before) - np.diag(after))
    np.testing.assert_allclose(ivr(belief), truth, rtol=1e-9)


@pytest.mark.parametrize("which", [slice(1, 3), slice(0, 4), np.array([3, 0]), np.array([2])])
@pytest.mark.parametrize("name", KINDS)
def test_some_of_the_experts_have_their_part_of_everything(name, which):
    camp = campaign(2, d=3, t=11)
    who, T = kind(name, 3), target_points(camp)
    experts, points, target, _ = followed(who, camp, T)
    step = experts.step(who.embed(experts, camp.Z[2:3]), 0.7, camp.lam)
    h, p = target.columns(experts, step, points)
    some, part = experts.take(which), target.take(which)
    seen = points.take(which) if name == "exact" else points[which]
    np.testing.assert_allclose(
        part.relevance(some, seen), target.relevance(experts, points)[which], rtol=1e-12
    )
    h_part, p_part = part.columns(some, step.take(which), seen)
    np.testing.assert_allclose(h_part, h[which], rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(p_part, p[which], rtol=1e-12)
    later, whole = part.after(step.take(which)), target.after(step).take(which)
    after = some.condition(step.take(which))
    there = who.embed(after, camp.Z) if name == "exact" else seen
    np.testing.assert_allclose(
        later.relevance(after, there), whole.relevance(after, there), rtol=1e-12
    )


@pytest.mark.parametrize("sizes", [(30,), (1, 29), (7, 7, 7, 9)])
def test_the_blocks_in_which_a_target_comes_are_irrelevant(sizes):
    who, camp = kind("features", 3), campaign(1, d=3, t=5)
    Phi = who.embed(None, target_points(camp, 30))
    ends = np.cumsum(sizes)
    blocks = (Phi[:, end - size : end] for end, size in zip(ends, sizes, strict=True))
    whole = np.einsum("mnf,mng->mfg", Phi, Phi) / 30
    np.testing.assert_allclose(FeatureReference.of(blocks, 30).G, whole, atol=1e-15)


@pytest.mark.parametrize("name", KINDS)
def test_what_was_followed_by_one_label_can_be_followed_by_another(name):
    """A target is a value: a fork of it leaves the first as it was."""
    camp = campaign(6, d=3, t=8)
    who, T = kind(name, 3), target_points(camp)
    experts, points, target, _ = followed(who, camp, T)
    was = target.relevance(experts, points)
    for x, y in ((camp.Z[0], 0.3), (camp.Z[1], -2.0), (camp.Z[0], 5.0)):
        step = experts.step(who.embed(experts, x[None]), y, camp.lam)
        forked, after = target.after(step), experts.condition(step)
        there = who.embed(after, camp.Z)
        anew = target_of(who, after, T).relevance(after, there)
        np.testing.assert_allclose(forked.relevance(after, there), anew, rtol=1e-9, atol=1e-14)
    assert (target.relevance(experts, points) == was).all()
