"""Probabilities of bounds, and expected improvement under constraints, against scipy."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats

from weal.core.extensions.feasibility import (
    best_feasible,
    labels_in_model_units,
    log_all_hold,
    log_best_feasible,
    log_feasible_improvement,
    log_within,
)
from weal.core.extensions.goal_acquisitions import log_expected_improvement
from weal.core.extensions.label_warp import IDENTITY_WARP, LabelWarp
from weal.core.extensions.level_probability import best_level
from weal.core.paper.acquisition import Belief
from weal.core.scaling import Scaling


def a_belief(N=40, M=3, dof=None, units=(), seed=0, var=None):
    rng = np.random.default_rng(seed)
    w = rng.dirichlet(np.full(M, 0.7))
    mu = rng.normal(size=(M, N))
    var = 10.0 ** rng.uniform(-4, 0.5, (M, N)) if var is None else var
    freedom = None if dof is None else np.array([5.0, np.inf, 30.0])[:M]
    X, y = rng.normal(size=(N, 3)), rng.normal(size=6)
    known = (w, mu, var, np.full(M, 0.1), X, X[:6], y, (0, 1))
    return Belief(*known, units=units, dof=freedom)


def units(y_mean=0.0, y_sd=1.0, warp=IDENTITY_WARP):
    return (Scaling(np.zeros(3), np.ones(3), y_mean, y_sd), warp)


def distribution(belief, m, n):
    sd = np.sqrt(belief.var[m, n])
    if belief.dof is None or belief.dof[m] == np.inf:
        return stats.norm(belief.mu[m, n], sd)
    a = 0.5 * belief.dof[m]
    return stats.t(belief.dof[m], belief.mu[m, n], sd * np.sqrt(max(a - 1.0, 0.5) / a))


def slow_log_within(belief, low, high):
    """The mixture between two levels in the units of mu, by scipy: the better of two."""
    found = []
    for n in range(belief.mu.shape[1]):
        p = 0.0
        for m, w in enumerate(belief.w / belief.w.sum()):
            one = distribution(belief, m, n)
            p += w * max(one.cdf(high) - one.cdf(low), one.sf(low) - one.sf(high))
        found.append(p)
    with np.errstate(divide="ignore"):
        return np.log(found)


@pytest.mark.parametrize("dof", [None, 3])
@pytest.mark.parametrize(
    ("low", "high"), [(-np.inf, 0.3), (0.7, np.inf), (-0.2, 0.4), (2.0, 2.5), (-9.0, -4.0)]
)
def test_a_bound_has_the_probability_of_the_mixture(dof, low, high):
    belief = a_belief(dof=dof, units=units())
    found, truth = log_within(belief, low, high), slow_log_within(belief, low, high)
    known = truth > -30.0  # scipy's differences are rounding beyond
    assert known.sum() > 3
    assert np.exp(found - truth)[known] == pytest.approx(1.0, rel=1e-3)
    clear = truth > -10.0
    assert found[clear] == pytest.approx(truth[clear], abs=1e-5)
    assert not np.isnan(found).any()
    assert (found <= 0.0).all()


@pytest.mark.parametrize(("y_mean", "y_sd"), [(0.0, 1.0), (1e9, 1e-3), (-3e-7, 1e-9), (5.0, 1e12)])
@pytest.mark.parametrize("warp", [LabelWarp(), LabelWarp(0.2, 0.5, 0.1, 0.8)])
def test_bounds_go_through_the_scaling_and_the_warp(y_mean, y_sd, warp):
    belief = a_belief(units=units(y_mean, y_sd, warp))
    z = np.array([-0.4, 0.6])  # in the units of the experts
    low, high = (y_mean + y_sd * warp.unwarp(z)).tolist()
    expected = slow_log_within(belief, *z.tolist())
    found, clear = log_within(belief, low, high), expected > -8.0
    assert found[clear] == pytest.approx(expected[clear], abs=1e-3)
    assert labels_in_model_units(belief, np.array([low, high])) == pytest.approx(z, abs=1e-3)


def test_no_bound_always_holds_and_an_empty_interval_never():
    belief = a_belief(units=units())
    assert (log_within(belief, -np.inf, np.inf) == 0.0).all()
    assert (log_within(belief, 1.0, 1.0) == -np.inf).all()


def test_a_row_that_is_known_holds_its_bound_or_does_not():
    belief = a_belief(var=np.zeros((3, 40)), units=units())
    found = np.exp(log_within(belief, -0.5, 0.5))
    inside = (np.abs(belief.mu) < 0.5).astype(float)
    assert found == pytest.approx(belief.w @ inside / belief.w.sum(), abs=1e-12)


def test_bounds_on_both_sides_are_the_rest_of_both_tails():
    belief = a_belief(dof=3, units=units())
    parts = [log_within(belief, *pair) for pair in [(-np.inf, -0.3), (-0.3, 1.1), (1.1, np.inf)]]
    assert sum(np.exp(parts)) == pytest.approx(np.ones(40), abs=1e-7)


@pytest.mark.parametrize("lowest", [False, True])
def test_the_score_is_expected_improvement_times_the_probabilities(lowest):
    belief = a_belief(N=6, units=units())
    p = np.linspace(0.01, 0.9, 6), np.linspace(0.7, 0.2, 6)
    log_p = log_all_hold([np.log(one) for one in p], 6)
    found = np.exp(log_feasible_improvement(belief, 0.4, lowest, log_p))
    for n in range(6):
        expected = 0.0
        for m, w in enumerate(belief.w / belief.w.sum()):
            one = distribution(belief, m, n)
            ends = (
                (one.mean() - 12 * one.std(), 0.4) if lowest else (0.4, one.mean() + 12 * one.std())
            )
            if ends[0] < ends[1]:
                tail = one.cdf if lowest else one.sf
                expected += w * integrate.quad(tail, *ends, limit=200)[0]
        assert found[n] == pytest.approx(expected * p[0][n] * p[1][n], rel=1e-6, abs=1e-14)


def test_without_a_feasible_row_the_product_alone_chooses():
    belief, log_p = a_belief(N=6), np.log(np.linspace(0.1, 0.9, 6))
    assert (log_feasible_improvement(belief, None, False, log_p) == log_p).all()


def test_the_best_feasible_row_has_a_label_and_holds_the_constraints():
    y = np.array([9.0, np.nan, 4.0, 5.0, 5.0])
    feasible = np.array([False, True, True, True, True])
    assert best_feasible(y, feasible, lowest=False) == 3
    assert best_feasible(y, feasible, lowest=True) == 2
    assert best_feasible(y, np.zeros(5, bool), lowest=False) is None
    assert best_feasible(np.array([np.nan]), np.ones(1, bool), lowest=False) is None


@pytest.mark.parametrize("lowest", [False, True])
def test_the_k_best_feasible_rows_sum_to_k(lowest):
    belief = a_belief(N=300, seed=4)
    p = np.random.default_rng(0).uniform(0.0, 1.0, 300) ** 2
    found = np.exp(log_best_feasible(belief, 7, lowest, np.log(p)))
    assert found.sum() == pytest.approx(7.0, rel=1e-6)
    assert (found <= p + 1e-12).all()


@pytest.mark.parametrize("seed", range(20))
def test_the_best_feasible_rows_are_found_where_all_rows_are_nearly_known(seed):
    rng = np.random.default_rng(seed)
    N = 400
    f, p = rng.normal(size=N), np.where(rng.random(N) < 0.4, 0.95, 1e-9)
    belief = replace(
        a_belief(N=N, dof=3),
        mu=f + 1e-4 * rng.normal(size=(3, N)),
        var=10.0 ** rng.uniform(-8, -6, (3, N)),
    )
    found = np.exp(log_best_feasible(belief, 10, False, np.log(p)))
    assert found.sum() == pytest.approx(10.0, rel=1e-3)
    best = np.argsort(np.where(p > 0.5, f, -9.0))[::-1]
    assert found[best[:9]] == pytest.approx(0.95, rel=1e-3)
    assert (found[best[12:]] < 0.01).all()


def test_too_few_feasible_rows_are_all_among_the_best():
    log_p = np.log(np.full(40, 0.01))
    assert log_best_feasible(a_belief(), 3, False, log_p) == pytest.approx(log_p)


def test_rows_that_are_surely_feasible_change_nothing():
    belief = a_belief()
    found = log_best_feasible(belief, 5, False, np.zeros(40))
    assert (found == best_level(belief, 5).log_p).all()
    plain = log_expected_improvement(belief, 0.2)
    assert (log_feasible_improvement(belief, 0.2, False, np.zeros(40)) == plain).all()


def test_rows_that_cannot_be_feasible_are_not_chosen():
    belief = a_belief(N=5)
    log_p = np.array([0.0, -np.inf, -1.0, -np.inf, -2.0])
    best = log_best_feasible(replace(belief, present=np.ones(5, bool)), 1, False, log_p)
    assert np.isneginf(best[[1, 3]]).all()
    assert np.isfinite(best[[0, 2, 4]]).all()
