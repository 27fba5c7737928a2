"""Probabilities of rows to lie above a level, and the level of k rows, against scipy and laws."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from weal.core.extensions.goal_acquisitions import best, ei, ei_min, lowest
from weal.core.extensions.level_probability import (
    best_level,
    likely_best_level,
    log_lower_tail,
    log_probability_above,
    negated,
)
from weal.core.paper.acquisition import Belief


def a_belief(N=40, M=3, dof=None, scale=1.0, seed=0, shift=0.0, var=None):
    """Beliefs of unequal experts."""
    rng = np.random.default_rng(seed)
    w = rng.dirichlet(np.full(M, 0.7))
    mu = shift + scale * rng.normal(size=(M, N))
    if var is None:
        var = scale**2 * 10.0 ** rng.uniform(-4, 0.5, (M, N))
    X = rng.normal(size=(N, 3))
    y = shift + scale * rng.normal(size=6)
    freedom = None if dof is None else np.full(M, float(dof))
    return Belief(w, mu, var, np.full(M, 0.1), X, X[:6], y, (0, 1), dof=freedom)


def slow_log_p(belief, tau):
    """The mixture's tail by scipy, one component at a time."""
    parts = []
    for m, w in enumerate(belief.w / belief.w.sum()):
        nu = np.inf if belief.dof is None else belief.dof[m]
        a = 0.5 * nu
        sd = np.sqrt(belief.var[m])
        if nu == np.inf:
            tail = stats.norm.logsf(tau, belief.mu[m], sd)
        else:
            tail = stats.t.logsf(tau, nu, belief.mu[m], sd * np.sqrt(max(a - 1.0, 0.5) / a))
        parts.append(np.log(w) + tail)
    return np.logaddexp.reduce(parts, axis=0)


@pytest.mark.parametrize("nu", [1.0, 2.0, 3.0, 6.0, 11.0, 41.0, 201.0, 2001.0, 1e5])
def test_tails_of_a_student_t_are_those_of_scipy(nu):
    t = np.concatenate([np.linspace(0.0, 40.0, 997), np.geomspace(1e-8, 1e120, 301)])
    truth = stats.t.logsf(t, nu)
    known = truth > -600.0  # scipy's are 0 beyond
    assert log_lower_tail(t, nu)[known] == pytest.approx(truth[known], abs=3e-8)


def test_far_tails_fall_as_a_power_and_keep_the_order():
    t = np.geomspace(1e30, 1e139, 50)
    found = log_lower_tail(t, 41.0)
    assert np.diff(found) / np.diff(np.log(t)) == pytest.approx(-41.0, rel=1e-9)


@pytest.mark.parametrize("dof", [None, 1, 2, 7, 60])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e7])
def test_probabilities_are_those_of_the_mixture(dof, scale):
    belief = a_belief(dof=dof, scale=scale)
    for tau in (-2.0 * scale, 0.1 * scale, 3.0 * scale):
        truth = slow_log_p(belief, tau)
        known = truth > -600.0
        found = log_probability_above(belief, tau)
        assert found[known] == pytest.approx(truth[known], abs=1e-7)
        assert np.isfinite(found).all()


def test_experts_may_have_different_degrees_of_freedom():
    belief = a_belief(dof=5)
    belief = replace(belief, dof=np.array([5.0, np.inf, 30.0]))
    truth = slow_log_p(belief, 0.7)
    found = log_probability_above(belief, 0.7)
    assert found[truth > -600] == pytest.approx(truth[truth > -600], abs=1e-7)


@pytest.mark.parametrize("dof", [None, 1, 6, 45])
@pytest.mark.parametrize("k", [1, 3, 10, 39])
@pytest.mark.parametrize("seed", range(4))
def test_k_rows_are_expected_above_the_level_of_k_rows(dof, k, seed):
    belief = a_belief(dof=dof, scale=3.0, shift=-50.0, seed=seed)
    found = best_level(belief, k)
    assert np.exp(slow_log_p(belief, found.tau)).sum() == pytest.approx(k, rel=2e-7)
    assert found.log_p == pytest.approx(slow_log_p(belief, found.tau), abs=1e-7)


@pytest.mark.parametrize("k", [1, 4, 9])
def test_rows_known_without_noise_are_steps_and_still_sum_to_k(k):
    belief = a_belief(N=12, M=1, var=np.zeros((1, 12)))
    found = np.exp(best_level(belief, k).log_p)
    assert found.sum() == pytest.approx(k)
    order = np.argsort(-belief.mu[0])
    assert found[order[:k]] == pytest.approx(1.0, abs=1e-8)
    assert found[order[k:]] == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("value", [0.0, 1.0, -3e9, 1e-12])
def test_equal_rows_share_the_places(value):
    belief = a_belief(N=20, M=2, var=np.zeros((2, 20)))
    belief = replace(belief, mu=np.full((2, 20), value))
    assert np.exp(best_level(belief, 5).log_p) == pytest.approx(0.25, abs=1e-6)


def test_a_known_best_set_leaves_the_others_in_order():
    rng = np.random.default_rng(1)
    mu = np.concatenate([10.0 + np.arange(5.0), rng.normal(size=30)])[None, :]
    var = np.concatenate([np.zeros(5), np.full(30, 0.01)])[None, :]
    belief = a_belief(N=35, M=1, dof=30, var=var)
    scores = best(5)(replace(belief, mu=mu))
    assert np.isfinite(scores).all()
    assert (np.argsort(-scores[5:]) == np.argsort(-mu[0, 5:])).all()


def test_rows_that_left_the_pool_do_not_count():
    belief = a_belief(N=30, dof=9)
    present = np.arange(30) % 3 > 0
    kept = replace(
        belief, mu=belief.mu[:, present], var=belief.var[:, present], X=belief.X[present]
    )
    found = best_level(replace(belief, present=present), 4)
    assert found.tau == pytest.approx(best_level(kept, 4).tau)
    assert found.log_p[present] == pytest.approx(best_level(kept, 4).log_p)


@pytest.mark.parametrize("dof", [None, 8])
def test_lowest_is_best_of_negated_labels(dof):
    belief = a_belief(dof=dof)
    other = replace(belief, mu=-belief.mu, y_labelled=-belief.y_labelled)
    assert lowest(7)(belief) == pytest.approx(best(7)(other), abs=1e-12)
    assert ei_min(belief) == pytest.approx(ei(other), abs=1e-12)
    assert negated(negated(belief)).mu == pytest.approx(belief.mu)


@pytest.mark.parametrize("dof", [None, 7])
def test_scores_do_not_depend_on_units(dof):
    belief, other = a_belief(dof=dof), a_belief(dof=dof, scale=1e5, shift=-3e5)
    assert best(6)(belief) == pytest.approx(best(6)(other), abs=1e-6)


@pytest.mark.covering
@pytest.mark.parametrize("dof", [None, 7, 60])
@pytest.mark.parametrize("k", [1, 10, 100])
@pytest.mark.parametrize("seed", range(3))
def test_a_large_pool_is_scored_by_its_likely_rows(dof, k, seed):
    belief = a_belief(N=20_000, dof=dof, seed=seed)
    rng = np.random.default_rng(seed)  # experts that mostly agree
    mu = rng.normal(size=20_000) + 0.1 * belief.mu
    var = belief.var[:1] * np.array([[0.8], [1.0], [1.3]])
    belief = replace(belief, mu=mu, var=var)
    found, truth = likely_best_level(belief, k), best_level(belief, k)
    assert np.exp(truth.log_p).sum() == pytest.approx(k, rel=1e-6)
    assert np.exp(log_probability_above(belief, found.tau)).sum() == pytest.approx(k, rel=0.05)
    exact = log_probability_above(belief, found.tau)
    likely = np.argsort(-exact)[:20]
    assert found.log_p[likely] == pytest.approx(exact[likely], abs=1e-9)
    assert found.log_p.argmax() == exact.argmax()
    assert np.isfinite(found.log_p).all()


def test_removed_rows_are_not_likely_rows():
    belief = a_belief(N=9000, dof=9)
    present = np.arange(9000) % 3 > 0
    kept = replace(
        belief, mu=belief.mu[:, present], var=belief.var[:, present], X=belief.X[present]
    )
    found = likely_best_level(replace(belief, present=present), 10)
    assert found.log_p[present] == pytest.approx(likely_best_level(kept, 10).log_p)


def test_k_rows_or_fewer_are_all_best():
    belief = a_belief(N=5)
    assert (best(5)(belief) == 0.0).all()


@pytest.mark.parametrize("dof", [None, 4, 25, 400])
def test_expected_improvement_is_that_of_an_integral(dof):
    belief = a_belief(N=15, dof=dof)
    beyond = np.concatenate([[0.0], np.geomspace(1e-6, 1e3, 1001)])
    above = [np.exp(slow_log_p(belief, belief.y_labelled.max() + x)) for x in beyond]
    truth = np.trapezoid(above, beyond, axis=0)
    assert np.exp(ei(belief)) == pytest.approx(truth, rel=2e-3, abs=1e-9)


def test_far_improvements_are_finite_and_keep_the_order():
    for dof in (None, 6, 300):
        belief = a_belief(N=50, M=1, dof=dof, var=np.full((1, 50), 1e-8))
        belief = replace(belief, mu=-np.geomspace(1e-3, 1e60, 50)[None, :], y_labelled=np.zeros(3))
        assert (np.diff(ei(belief)) < 0.0).all()
        assert np.isfinite(ei(belief)).all()


@pytest.mark.parametrize("k", [0, -1, 2.5, float("nan")])
def test_a_number_of_rows_is_whole_and_positive(k):
    with pytest.raises(ValueError, match="number of rows"):
        best(k)
