"""MV against Monte Carlo, against labels that are really folded in, and against `ivr`."""

from dataclasses import replace

import numpy as np
import pytest

from learning import KERNELS, POOL, a_learner, measure, model, teach
from reference.cases import MAGNITUDE, campaign, frozen, kind
from reference.pools import M, Told, world
from weal.core.constants import MAX_EXPERTS_IN_REDUCTION, N_TARGET_POINTS
from weal.core.extensions.variance_reduction import (
    TargetBelief,
    expected_variance_reduction,
    experts_in_reduction,
)
from weal.core.paper import ensemble
from weal.learner import tracked_points as tracked_points_module
from weal.learner.pools import score_pass as shortlists
from weal.learner.pools.protocol import MIN_PENDING_FOR_JOINT_UPDATE, ScorePass, with_pseudo_labels
from weal.learner.pools.score_pass import shortlist
from weal.learner.tracked_points import target_points

KINDS = ("features", "encoded", "exact")


def unequal(seed, H, ratio, R=16):
    """Weights, means, label variances, and beliefs on targets, of experts that differ much."""
    rng = np.random.default_rng([seed, H, ratio])
    w = np.maximum(rng.dirichlet(np.full(H, 0.7)), 0.01)
    sd = ratio ** -rng.random(H)
    apart, reach = rng.choice([0.1, 0.5, 2.0], 2)
    mu, there = apart * rng.standard_normal(H), reach * rng.standard_normal((H, R))
    C = rng.uniform(0.1, 0.9) * sd[:, None] ** 2 * rng.standard_normal((H, R))
    return tuple(map(frozen, (w / w.sum(), mu, sd**2, there, C)))


def by_drawing(w, mu, s, there, C, draws=100_000):
    """MV and its standard error by Monte Carlo: labels drawn, means at the targets moved."""
    rng = np.random.default_rng(7)
    which = rng.choice(len(w), draws, p=w)
    y = mu[which] + np.sqrt(s[which]) * rng.standard_normal(draws)
    e = y - mu[:, None]  # (H, draws)
    log_p = np.log(w)[:, None] - 0.5 * (np.log(s)[:, None] + e**2 / s[:, None])
    W = np.exp(log_p - log_p.max(axis=0))
    W /= W.sum(axis=0)
    mean = W.T @ there + (W * e / s[:, None]).T @ C  # (draws, R)
    squares = ((mean - w @ there) ** 2).mean(axis=1)
    return squares.mean(), squares.std() / draws**0.5


@pytest.mark.covering
@pytest.mark.parametrize("ratio", [3, 30])
@pytest.mark.parametrize("H", [2, 3, 5, 8])
def test_mv_is_within_five_percent_of_monte_carlo(H, ratio):
    for seed in range(4):
        w, mu, s, there, C = unequal(seed, H, ratio)
        truth, error = by_drawing(w, mu, s, there, C)
        target_belief = TargetBelief(np.arange(H), there, C[:, None])
        found = expected_variance_reduction(w, mu[:, None], s[:, None], target_belief)[0]
        assert abs(found - truth) <= 0.05 * truth + 4.0 * error


@pytest.mark.parametrize("name", ["features", "exact"])
def test_mv_is_how_much_the_variance_of_the_mixture_falls_when_labels_are_folded_in(name):
    """Labels from far below to far above, each told to all experts; magnitudes are given."""
    case = campaign(3, d=3, t=9, ratio=3e-2)
    of = kind(name, case.d)
    ens = of.ensemble(case.lam, MAGNITUDE, frozen([0.3, 0.3, 0.25, 0.15]))
    ens = ensemble.update_many(ens, of.embed(ens.experts, case.X), case.y, np.zeros(9))
    ens = replace(ens, log_w=np.log([0.3, 0.3, 0.25, 0.15]))
    x, R = case.Z[:1], np.random.default_rng(1).standard_normal((11, case.d))
    point, there = of.embed(ens.experts, x), of.embed(ens.experts, R)
    mu, var = ensemble.predict(ens, point)
    s = var + (ens.magnitude * ens.noise)[:, None]
    y = np.concatenate([mu[m, 0] + np.sqrt(s[m, 0]) * np.linspace(-8, 8, 81) for m in range(M)])
    y.sort()
    p = ens.w @ (np.exp(-0.5 * (y - mu) ** 2 / s) / np.sqrt(2.0 * np.pi * s))  # (Y,)
    after = [ensemble.update(ens, point, float(one)) for one in y]
    left = [mixture_variance(one, of.embed(one.experts, R)) for one in after]
    truth = mixture_variance(ens, there) - np.trapezoid(p * np.array(left), y)
    cov = MAGNITUDE[:, None, None] * ens.experts.covariance(point, there)
    target_belief = TargetBelief(np.arange(M), ensemble.predict(ens, there)[0], cov)
    np.testing.assert_allclose(
        expected_variance_reduction(ens.w, mu, s, target_belief), truth, rtol=0.03
    )


def mixture_variance(ens, points):
    """The variance of the mixture, mean over the points."""
    return ensemble.mixture(ens.w, *ensemble.predict(ens, points))[1].mean()


def test_experts_of_little_weight_take_no_part_and_of_many_even_ones_a_few_do():
    assert experts_in_reduction(np.array([0.005, 0.5, 0.009, 0.486])).tolist() == [1, 3]
    assert experts_in_reduction(np.full(200, 0.005)).tolist() == list(
        range(MAX_EXPERTS_IN_REDUCTION)
    )
    assert experts_in_reduction(np.array([1.0])).tolist() == [0]


@pytest.mark.parametrize("approximation", ["features", "exact"])
def test_mvr_of_one_expert_is_ivr(approximation):
    one = {"kernels": KERNELS[1:2], "magnitude": (1.3,), "noise": (0.15,)}
    asked = {}
    for name in ("mvr", "ivr"):
        learner = a_learner(name, model=model(approximation, **one))
        picks = [*teach(learner, 6), *learner.ask(3)]
        scores = [row["score"] for row in learner.history if np.isfinite(row["score"])]
        asked[name] = (picks, scores)
    assert asked["mvr"][0] == asked["ivr"][0]
    np.testing.assert_allclose(asked["mvr"][1], asked["ivr"][1], rtol=1e-7)


def check(targets, place, ens, pool):
    """Means and covariances with the targets are those computed from scratch."""
    every = np.arange(M)
    there, points = place.points(ens, place.R), place.points(ens, place.X)
    mu, _ = ens.experts.predict(there)
    posterior = targets.posterior(ens.experts, every)
    np.testing.assert_allclose(posterior.means, mu, rtol=1e-7, atol=1e-9)
    found = posterior.covariance(pool._points_of(ens, every, np.arange(len(place.X))))
    truth = ens.experts.covariance(points, there)
    np.testing.assert_allclose(found, truth, atol=1e-9)


@pytest.mark.parametrize("ratio", [1e-1, 1e-5])
@pytest.mark.parametrize("memory", [10**9, 0])
@pytest.mark.parametrize("name", KINDS)
def test_targets_follow_labels_and_candidates_believed(name, memory, ratio):
    place = world(name, ratio=ratio)
    pool, told = place.belief(everyone=True, memory=memory), Told.none(place)
    targets = place.embedding.targets(place.ens.experts, place.R)
    rng = np.random.default_rng(5)
    for n in rng.permutation(len(place.X))[:9].tolist():
        told.tell(pool, n, 0.5 + n % 3)
    check(targets, place, told.ens, pool)
    for many in (2, MIN_PENDING_FOR_JOINT_UPDATE):
        now = replace(place.outlook(told.ens, pool.fork()), targets=targets)
        at = list(range(many))
        then = with_pseudo_labels(now, at, now.means(at))
        check(then.targets, place, then.ens, then.pool)
    check(targets, place, told.ens, pool)  # the fork went its own way


@pytest.mark.parametrize("approximation", ["features", "exact"])
def test_a_batch_expects_less_of_every_further_point(approximation):
    learner = a_learner("mvr", approximation)
    ids = learner.ask(6)
    assert len(set(ids)) == 6
    falls = [row["score"] for row in learner.history[-6:]]
    assert falls == sorted(falls, reverse=True)
    assert learner.ask(4, more=True) == a_learner("mvr", approximation).ask(10)[6:]


def in_order(order):
    """Targets, and who is looked at, of the same candidates in some order."""
    ids = [f"c{n}" for n in order]
    learner = a_learner("auto", pool=POOL[order], first=0, ids=ids)
    learner.tell([f"c{n}" for n in range(8)], measure(POOL[:8]))
    aim = target_points(learner.state)
    return {tuple(x) for x in aim.X}, learner.ask()


def test_the_order_of_the_pool_decides_neither_targets_nor_choice(constants):
    constants(tracked_points_module, N_TARGET_POINTS=20)
    constants(shortlists, SHORTLIST_CANDIDATES=16)
    plain = in_order(np.arange(60))
    assert len(plain[0]) == 20
    for seed in range(3):
        assert in_order(np.random.default_rng(seed).permutation(60)) == plain


def test_a_candidate_that_comes_or_goes_changes_one_target_at_the_most(constants):
    constants(tracked_points_module, N_TARGET_POINTS=20)
    learner = a_learner("auto")
    learner.ask()
    targets = {tuple(x) for x in target_points(learner.state).X}
    gone = next(n for n in learner.candidates.ids if tuple(POOL[n]) in targets)
    learner.remove([gone])
    fewer = {tuple(x) for x in target_points(learner.state).X}
    assert tuple(POOL[gone]) not in fewer
    assert len(targets - fewer) == len(fewer - targets) == 1
    learner.add(POOL[:1] + 0.1)
    more = {tuple(x) for x in target_points(learner.state).X}
    assert len(fewer - more) <= 1
    learner.ask(more=True)


def test_targets_are_those_of_the_reference_that_was_given():
    R = POOL[:7] + 0.05
    assert (
        np.sort(target_points(a_learner("mvr", reference=R).state).X, axis=0) == np.sort(R, axis=0)
    ).all()
    assert len(target_points(a_learner("mvr").state).X) == min(len(POOL), N_TARGET_POINTS)


def test_a_large_pool_is_looked_at_where_it_is_unsure_and_by_hash(constants):
    constants(shortlists, SHORTLIST_CANDIDATES=12)
    rng = np.random.default_rng(2)
    variance, order = rng.random(100), rng.permutation(100)
    variance[:50] = variance[50:]  # ties
    free = rng.random(100) < 0.7
    asked = ScorePass(None, {}, None, None, (0, 0), free, range(100), order=order)
    found = shortlist(asked, lambda: variance)
    hashed = [n for n in order.tolist() if free[n]]
    rank = {n: k for k, n in enumerate(hashed)}
    best = sorted(hashed, key=lambda n: (-variance[n], rank[n]))[:6]
    assert found.tolist() == sorted({*hashed[:6], *best})
    noisy = variance * (1.0 + 1e-13 * rng.standard_normal(100))
    assert shortlist(asked, lambda: noisy).tolist() == found.tolist()
    assert shortlist(asked, lambda: np.zeros(100)).tolist() == sorted(hashed[:6])
