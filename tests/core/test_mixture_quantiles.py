"""Quantiles of mixtures from a table, against those that are solved to the last bit."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr, stdtr

from weal.core.extensions import mixture_quantiles
from weal.core.extensions.conjugate_magnitude import ConjugateMagnitude
from weal.core.extensions.mixture_quantiles import quantiles, table
from weal.core.paper import ensemble
from weal.core.paper.ensemble import Ensemble, normalise
from weal.core.paper.fixed_magnitude import FixedMagnitude

LEVELS = np.array([0.05, 0.5, 0.95, 0.9999])


def beliefs(scale, M=4, N=300, seed=0):
    """An ensemble of M experts that differ, with means and variances at N points."""
    rng = np.random.default_rng(seed)
    ens = Ensemble(None, normalise(rng.normal(size=M)), scale, 10.0 ** rng.uniform(-6, 0, M))
    mu = rng.normal(size=(M, N)) * 10.0 ** rng.uniform(-3, 1, N)
    return ens, mu, ens.magnitude[:, None] * 10.0 ** rng.uniform(-8, 1, (M, N))


def scale_of(kind, M=4):
    b = np.geomspace(0.3, 20.0, M)
    return (
        FixedMagnitude(b)
        if kind == np.inf
        else ConjugateMagnitude(np.full(M, 0.5 * kind), b, np.ones(M))
    )


@pytest.mark.parametrize("nu", [8.0, 11.0, 51.0, 10_001.0, np.inf])
def test_the_table_is_the_distribution_and_its_density(nu):
    t = np.linspace(-30.0, 30.0, 4001)
    found, density = table(nu).cdf(t)
    exact = ndtr(t) if nu == np.inf else stdtr(nu, t)
    np.testing.assert_allclose(found, exact, rtol=0.0, atol=1e-11)
    slopes = np.gradient(exact, t)
    np.testing.assert_allclose(density[1:-1], slopes[1:-1], rtol=0.0, atol=1e-4)


@pytest.mark.parametrize("nu", [8.0, 51.0, np.inf])
@pytest.mark.parametrize("M", [1, 2, 4])
def test_quantiles_are_those_that_are_solved(nu, M):
    ens, mu, var = beliefs(scale_of(nu, M), M)
    found = quantiles(ens, mu, var, LEVELS)
    slow = np.stack([ensemble.quantile(ens, mu, var, level) for level in LEVELS.tolist()])
    sd = np.sqrt(ensemble.mixture(ens.w, mu, var + (ens.magnitude * ens.noise)[:, None])[1])
    assert (np.abs(found - slow) / sd).max() < 1e-8


def test_each_row_is_solved_by_itself(constants):
    ens, mu, var = beliefs(scale_of(21.0))
    together = quantiles(ens, mu, var, LEVELS)
    constants(mixture_quantiles, QUANTILE_BLOCK_ROWS=7)
    order = np.random.default_rng(1).permutation(mu.shape[1])
    apart = quantiles(ens, mu[:, order], var[:, order], LEVELS)
    np.testing.assert_array_equal(apart, together[:, order])


def test_few_degrees_of_freedom_are_solved_as_before():
    ens, mu, var = beliefs(scale_of(3.0))
    slow = np.stack([ensemble.quantile(ens, mu, var, level) for level in LEVELS.tolist()])
    np.testing.assert_array_equal(quantiles(ens, mu, var, LEVELS), slow)


def test_experts_far_apart_leave_a_gap_that_is_crossed():
    """Two narrow components: between them the density is nothing, and Newton's step infinite."""
    ens, _, _ = beliefs(scale_of(51.0, 2), 2, 3)
    ens = replace(ens, log_w=np.log([0.5, 0.5]), noise=np.full(2, 1e-8))
    mu = np.array([[-1e3] * 3, [1e3] * 3])
    for level in (0.05, 0.4999999, 0.6):
        found = quantiles(ens, mu, 1e-8 * np.ones((2, 3)), np.array([level]))
        slow = ensemble.quantile(ens, mu, 1e-8 * np.ones((2, 3)), level)
        np.testing.assert_allclose(found[0], slow, rtol=1e-6)
