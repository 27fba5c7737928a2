"""The Gaussian likelihood, and that every reading of a label agrees with it."""

from dataclasses import replace

import numpy as np
import pytest

from reference.cases import campaign, frozen, kind
from weal.core.extensions.conjugate_magnitude import ConjugateMagnitude
from weal.core.paper import ensemble
from weal.core.paper.fixed_magnitude import FixedMagnitude, cholesky_innovations, innovation

SCALES = {
    "fixed": FixedMagnitude(frozen([0.3, 2.0, 11.0])),
    "conjugate": ConjugateMagnitude(
        frozen([1.5, 4.0, 31.5]), frozen([0.5, 9.0, 2.5]), frozen(np.ones(3))
    ),
}
BOTH = pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
KINDS = pytest.mark.parametrize("name", ["features", "exact"])


def test_an_innovation_is_that_of_the_paper():
    """[1, eq:pred_y]: N(mu, sig2 (v + lam))."""
    rng = np.random.default_rng(0)
    y, mu = rng.standard_normal(5), rng.standard_normal((3, 5))
    v, lam = rng.uniform(0.1, 1.0, (3, 5)), rng.uniform(0.1, 1.0, (3, 1))
    e, s = innovation(y, mu, v, lam)
    np.testing.assert_array_equal(e, y - mu)
    np.testing.assert_array_equal(s, v + lam)


def test_labels_in_turn_are_those_of_one_after_the_other():
    """mu and B conditioned by hand between them."""
    rng = np.random.default_rng(2)
    A = rng.standard_normal((6, 6))
    B, mu, lam = A @ A.T, rng.standard_normal(6), rng.uniform(0.01, 2.0, 6)
    y = mu + 4.0 * rng.standard_normal(6)
    C, z = cholesky_innovations(y, mu, B, lam)
    np.testing.assert_array_equal(C, np.tril(C))
    for n in range(6):
        seen = np.arange(n)
        gain = np.linalg.solve(B[np.ix_(seen, seen)] + np.diag(lam[seen]), B[seen, n])
        mean = mu[n] + gain @ (y - mu)[seen]
        e, s = innovation(y[n], mean, B[n, n] - gain @ B[seen, n], lam[n])
        np.testing.assert_allclose([z[n] * C[n, n], C[n, n] ** 2], [e, s], rtol=1e-9)


@BOTH
def test_densities_probabilities_and_quantiles_agree(scale):
    e = frozen(np.tile(np.linspace(-6.0, 6.0, 41), (3, 1)))
    s = frozen(np.tile(np.geomspace(0.1, 5.0, 41), (3, 1)))
    step = 1e-4
    slope = (scale.cdf(e + step, s) - scale.cdf(e - step, s)) / (2.0 * step)
    np.testing.assert_allclose(np.exp(scale.log_density(e, s)), slope, atol=1e-6)
    for level in (0.01, 0.5, 0.9):
        np.testing.assert_allclose(scale.cdf(scale.quantile(level, s), s), level, rtol=1e-6)


@BOTH
def test_a_magnitude_learns_the_density_of_each_label_before_it(scale):
    rng = np.random.default_rng(3)
    e, s = frozen(rng.standard_normal((3, 5))), frozen(rng.uniform(0.1, 2.0, (3, 5)))
    whole, after = scale.after(e, s)
    total = np.zeros(3)
    for n in range(5):
        total += scale.log_density(e[:, n], s[:, n])
        _, scale = scale.after(e[:, n : n + 1], s[:, n : n + 1])
    np.testing.assert_allclose(whole, total, rtol=1e-12)
    np.testing.assert_allclose(after.variance, scale.variance, rtol=1e-12)


@KINDS
def test_experts_told_in_turn_or_together_believe_the_same(name):
    camp = campaign(4, d=3, t=9, ratio=1e-2)
    who = kind(name, 3, 4)
    start = replace(who.ensemble(camp.lam), scale=ConjugateMagnitude.prior(4))
    y = frozen(np.where(np.arange(9) == 5, 30.0, camp.y))  # one that is far off
    together = ensemble.update_many(start, who.embed(start.experts, camp.X), y, camp.noise_var)
    in_turn = start
    for x, label, noise_var in zip(camp.X, y.tolist(), camp.noise_var.tolist(), strict=True):
        in_turn = ensemble.update(in_turn, who.embed(in_turn.experts, x[None]), label, noise_var)
    np.testing.assert_allclose(in_turn.log_w, together.log_w, atol=1e-7)
    new = [ensemble.predict(ens, who.embed(ens.experts, camp.Z)) for ens in (in_turn, together)]
    np.testing.assert_allclose(new[0], new[1], rtol=1e-7, atol=1e-9)


def test_densities_and_quantiles_of_the_mixture_agree_with_its_probabilities():
    camp = campaign(4, d=3, t=9, ratio=1e-2)
    who = kind("exact", 3, 4)
    start = replace(who.ensemble(camp.lam), scale=ConjugateMagnitude.prior(4))
    ens = ensemble.update_many(start, who.embed(start.experts, camp.X), camp.y, camp.noise_var)
    mu, var = ensemble.predict(ens, who.embed(ens.experts, camp.Z))
    for level in (0.05, 0.7):
        found = ensemble.quantile(ens, mu, var, level)
        np.testing.assert_allclose(ensemble.cdf(ens, mu, var, found), level, rtol=1e-9)
        step = 1e-5
        ends = [ensemble.cdf(ens, mu, var, found + side * step) for side in (-1.0, 1.0)]
        density = np.exp(ensemble.log_density(ens, mu, var, found))
        np.testing.assert_allclose((ends[1] - ends[0]) / (2.0 * step), density, rtol=1e-3)
