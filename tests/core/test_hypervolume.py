"""Pareto rows, hypervolume and its expected improvement, against brute force and quadrature."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from weal.core.extensions.hypervolume import (
    hypervolume,
    log_hypervolume_improvement,
    pareto_rows,
    reference_point,
    signed,
)
from weal.core.paper.acquisition import Belief


def a_belief(N=5, M=3, dof=None, scale=1.0, shift=0.0, seed=0, tiny=False):
    """Unequal experts; `tiny`: nearly no variance."""
    rng = np.random.default_rng(seed)
    w = rng.dirichlet(np.full(M, 0.7))
    mu = shift + scale * rng.normal(size=(M, N))
    var = scale**2 * 10.0 ** rng.uniform(*((-14, -10) if tiny else (-3, 0.5)), (M, N))
    freedom = None if dof is None else np.full(M, float(dof))
    X, y = rng.normal(size=(N, 3)), rng.normal(size=4)
    return Belief(w, mu, var, np.full(M, 0.1), X, X[:4], y, (0, 1), dof=freedom)


def components(belief, n):
    """The distributions of row n by scipy, with their weights."""
    for m, w in enumerate(belief.w / belief.w.sum()):
        sd = np.sqrt(belief.var[m, n])
        if belief.dof is None:
            yield w, stats.norm(belief.mu[m, n], sd)
        else:
            a = 0.5 * belief.dof[m]
            scale = sd * np.sqrt(max(a - 1.0, 0.5) / a)
            yield w, stats.t(belief.dof[m], belief.mu[m, n], scale)


NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


def area_above(belief, n, low, high):
    """The integral of P(f > x) from low to high, by quadrature."""
    total = 0.0
    for w, one in components(belief, n):
        points = np.clip(one.mean() + one.std() * np.linspace(-30, 30, 41), low, high)
        ends = np.unique([low, *points, *([high] if np.isfinite(high) else [])])
        half = 0.5 * np.diff(ends)[:, None]
        inside = (half * WEIGHTS * one.sf(ends[:-1, None] + half * (1.0 + NODES))).sum()
        rest = 0.0 if np.isfinite(high) else integrate.quad(one.sf, ends[-1], np.inf, epsabs=0)[0]
        total += w * (inside + rest)
    return total


def slow_improvement(first, second, n, Y, r):
    """The integral of P(f_1 > x) P(f_2 > y) over what the rows Y do not dominate."""
    cuts = np.unique([r[0], *Y[Y[:, 0] > r[0], 0]])
    total = 0.0
    for left, right in itertools.pairwise([*cuts, np.inf]):
        height = max([r[1], *Y[Y[:, 0] > left, 1]])
        total += area_above(first, n, left, right) * area_above(second, n, height, np.inf)
    return total


def slow_hypervolume(Y, r):
    """Area of the union of boxes on the grid of all their ends."""
    xs = np.unique([r[0], *np.maximum(Y[:, 0], r[0])])
    total = 0.0
    for left, right in itertools.pairwise(xs):
        total += (right - left) * (max([r[1], *Y[Y[:, 0] >= right, 1]]) - r[1])
    return total


def slow_pareto(Y):
    def dominated(n):
        others = np.delete(Y, n, axis=0)
        return ((others >= Y[n]).all(axis=1) & (others > Y[n]).any(axis=1)).any()

    return {tuple(Y[n]) for n in range(len(Y)) if not dominated(n)}


points = st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), min_size=1, max_size=12).map(
    lambda rows: np.array(rows, dtype=np.float64)
)


@given(points)
def test_pareto_rows_are_those_that_no_row_dominates_with_ties(Y):
    found = pareto_rows(Y)
    assert {tuple(Y[n]) for n in found} == slow_pareto(Y)
    assert len({tuple(Y[n]) for n in found}) == len(found)
    assert (np.diff(Y[found, 0]) > 0.0).all()
    assert (np.diff(Y[found, 1]) < 0.0).all()


def test_rows_without_both_labels_are_in_no_front():
    Y = np.array([[np.nan, 9.0], [9.0, np.nan], [1.0, 1.0]])
    assert pareto_rows(Y).tolist() == [2]
    assert pareto_rows(Y[:2]).tolist() == []
    assert pareto_rows(np.empty((0, 2))).tolist() == []


@given(points, st.tuples(st.integers(-5, 2), st.integers(-5, 2)))
def test_hypervolume_is_the_area_of_the_union(Y, r):
    r = np.array(r, dtype=np.float64)
    assert hypervolume(Y, r) == pytest.approx(slow_hypervolume(Y, r), abs=1e-12)


def test_no_rows_have_no_hypervolume():
    assert hypervolume(np.empty((0, 2)), np.zeros(2)) == 0.0


@pytest.mark.covering
@pytest.mark.parametrize("dof", [None, 3, 7, 40])
@pytest.mark.parametrize("lowest", [(False, False), (True, False), (True, True)])
def test_expected_improvement_is_the_integral_over_what_is_not_dominated(dof, lowest):
    first, second = a_belief(N=3, dof=dof), a_belief(N=3, dof=dof, seed=1)
    first, second = (signed(one, low) for one, low in zip((first, second), lowest, strict=True))
    Y = np.array([[-0.5, 0.9], [0.3, 0.3], [0.3, 0.3], [0.1, -0.4], [0.8, -0.7]])
    r = np.array([-1.5, -1.2])
    found = np.exp(log_hypervolume_improvement(first, second, Y, r))
    truth = [slow_improvement(first, second, n, Y, r) for n in range(3)]
    assert found == pytest.approx(truth, rel=1e-6)


@pytest.mark.parametrize("rows", [0, 1])
def test_an_empty_front_has_its_reference_point(rows):
    first, second = a_belief(), a_belief(seed=1)
    Y, r = np.full((rows, 2), -7.0), np.array([-1.0, 0.5])  # a row below the point counts for none
    found = np.exp(log_hypervolume_improvement(first, second, Y, r))
    truth = [slow_improvement(first, second, n, Y, r) for n in range(5)]
    assert found == pytest.approx(truth, rel=1e-6)


def test_expected_improvement_is_the_mean_over_draws():
    first, second = a_belief(N=2), a_belief(N=2, seed=1)
    Y, r = np.array([[-0.5, 0.9], [0.4, 0.1]]), np.array([-1.5, -1.2])
    rng, draws = np.random.default_rng(3), 4000
    for n in range(2):
        f = [
            rng.normal(one.mu[:, n], np.sqrt(one.var[:, n]), (draws, 3))[
                np.arange(draws), rng.choice(3, draws, p=one.w)
            ]
            for one in (first, second)
        ]
        grown = [hypervolume(np.vstack([Y, row]), r) for row in np.column_stack(f)]
        gains = np.array(grown) - hypervolume(Y, r)
        found = np.exp(log_hypervolume_improvement(first, second, Y, r))[n]
        assert found == pytest.approx(gains.mean(), abs=4.0 * gains.std() / np.sqrt(draws))


@pytest.mark.parametrize("scale", [1e-60, 1e-9, 1e7, 1e60])
def test_a_change_of_units_multiplies_the_improvement(scale):
    Y, r = np.array([[-0.5, 0.9], [0.4, 0.1]]), np.array([-1.5, -1.2])
    plain = log_hypervolume_improvement(a_belief(), a_belief(seed=1), Y, r)
    unit = np.array([scale, 1.0])
    other = log_hypervolume_improvement(a_belief(scale=scale), a_belief(seed=1), Y * unit, r * unit)
    assert other == pytest.approx(plain + np.log(scale), abs=1e-7)


def test_rows_that_are_nearly_known_add_their_own_area():
    first, second = a_belief(tiny=True, M=1), a_belief(tiny=True, M=1, seed=1)
    Y = np.array([[-0.5, 0.2]])
    r = np.array([-4.0, -4.0])
    found = np.exp(log_hypervolume_improvement(first, second, Y, r))
    for n in range(5):
        own = np.array([first.mu[0, n], second.mu[0, n]])
        gain = hypervolume(np.vstack([Y, own]), r) - hypervolume(Y, r)
        assert found[n] == pytest.approx(gain, abs=1e-6)


def test_rows_far_below_the_front_are_told_apart():
    belief = a_belief(N=3, M=1)
    low = replace(belief, mu=np.array([[-50.0, -60.0, -70.0]]), var=np.full((1, 3), 0.5))
    Y, r = np.array([[0.0, 0.0]]), np.array([-1.0, -1.0])
    found = log_hypervolume_improvement(low, low, Y, r)
    assert np.isfinite(found).all()
    assert (np.diff(found) < -100.0).all()


def test_the_reference_point_is_below_all_labels_also_where_they_are_equal():
    Y = np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]])
    assert reference_point(Y).tolist() == pytest.approx([0.8, 4.9])
