"""Exact experts against scikit-learn, where they can be, and their numerical bounds."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, RationalQuadratic

from reference.cases import LAYOUTS, campaign, frozen, kind, of_kernels
from reference.gaussian import gp_coefficients
from weal.core.paper import ensemble, exact_gp
from weal.core.paper.exact_gp import LEAST_RATIO, ExactExperts
from weal.core.paper.fixed_magnitude import FixedMagnitude
from weal.core.paper.kernels import Kernel, correlation

PAIRS = (
    (Kernel("rbf", (0.7, 1.5, 3.0)), RBF((0.7, 1.5, 3.0))),
    (Kernel("matern32", 2.2), Matern(2.2, nu=1.5)),
    (Kernel("matern12", 0.9), Matern(0.9, nu=0.5)),
    (Kernel("rq", 1.3, alpha=0.4), RationalQuadratic(1.3, 0.4)),
)


def test_exact_experts_are_scikit_learns():
    # [1, eq:posterior, eq:mean, eq:variance]
    magnitude, lam = frozen([0.4, 3.0, 9.0, 1.5]), frozen([1e-3, 0.2, 0.05, 1e-2])
    camp = campaign(6, d=3, t=25)
    experts = ExactExperts.prior(tuple(ours for ours, _ in PAIRS), 3)
    ens = ensemble.Ensemble(
        experts, frozen(np.log([0.4, 0.3, 0.2, 0.1])), FixedMagnitude(magnitude), lam
    )
    ens = ensemble.update_many(ens, experts.solved_points(camp.X), camp.y, camp.noise_var)
    mu, var = ensemble.predict(ens, ens.experts.solved_points(camp.Z))
    for m, (_, theirs) in enumerate(PAIRS):
        noise = magnitude[m] * lam[m] + camp.noise_var
        gp = GaussianProcessRegressor(
            ConstantKernel(magnitude[m]) * theirs, alpha=noise, optimizer=None
        ).fit(camp.X, camp.y)
        mean, cov = gp.predict(camp.Z, return_cov=True)
        np.testing.assert_allclose(mu[m], mean, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(var[m], np.diag(cov), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("sizes", [(24,), (1, 23), (5, 0, 7, 12), (1,) * 24])
def test_chunks_do_not_matter(sizes):
    camp = campaign(8, d=4, t=24, ratio=1e-4, layout="repeated")
    who = kind("exact", 4)
    lam = np.repeat(camp.lam[:, None], 24, axis=1)
    prior = who.prior()
    whole, _, _ = prior.absorb(who.embed(prior, camp.X), camp.y, lam)
    experts, start = who.prior(), 0
    for size in sizes:
        rows = slice(start, start + size)
        points = who.embed(experts, camp.X[rows])
        experts, _, _ = experts.absorb(points, camp.y[rows], lam[:, rows])
        start += size
    np.testing.assert_allclose(experts.L, whole.L, atol=1e-9)
    for a, b in zip(
        experts.predict(experts.solved_points(camp.Z)),
        whole.predict(whole.solved_points(camp.Z)),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def test_the_factor_is_that_of_the_correlations():
    # [1, eq:joint_pdf]
    camp = campaign(9, d=3, t=10)
    who = kind("exact", 3)
    experts = who.prior()
    for x, y in zip(camp.X, camp.y, strict=True):
        experts = experts.condition(experts.step(experts.solved_points(x[None]), y, camp.lam))
    for m, kernel in enumerate(experts.kernels):
        C = correlation(kernel, camp.X, camp.X) + camp.lam[m] * np.eye(10)
        np.testing.assert_allclose(experts.L[m], np.linalg.cholesky(C), atol=1e-12)
        np.testing.assert_allclose(experts.L[m] @ experts.z[m], camp.y, atol=1e-12)


@pytest.mark.parametrize("ratio", [1e-4, 1e-8, 1e-10])
def test_variances_at_a_labelled_point_are_right_to_about_1e_15(ratio):
    """v = 1 - V'V is a difference: 500 duplicates leave the absolute error that is promised.

    Their coefficients sum to 1, which makes that eps (1 + 1)^2. Measured: 0.5 of it.
    """
    t, x = 500, frozen([[0.3, -1.2, 0.8]])
    who, lam = kind("exact", 3), ratio * np.array([1.0, 3.0, 0.7, 2.0])
    prior = who.prior()
    points = prior.solved_points(np.repeat(x, t, axis=0))
    experts, _, _ = prior.absorb(points, np.full(t, 1.7), np.repeat(lam[:, None], t, axis=1))
    mu, v = experts.predict(experts.solved_points(x))
    assert np.abs(v[:, 0] - lam / (t + lam)).max() < 4.0 * np.finfo(float).eps * 4.0
    np.testing.assert_allclose(mu[:, 0], 1.7 * t / (t + lam), rtol=1e-12)


@pytest.mark.covering
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("ratio", [1e-4, 1e-6, 1e-8, 1e-10])
def test_variances_are_as_right_as_the_rounding_of_the_correlations_allows(ratio, layout):
    """With a the coefficients of the labels, mu = a'y, rounding K and k moves v by up to
    eps (1 + |a|_1)^2. Measured: 1 of it; far from a crowd at a ratio of 1e-10 that is 1e-8.
    """
    t = 30
    camp = campaign(7, d=3, t=t, ratio=ratio, layout=layout)
    who = kind("exact", 3)
    prior = who.prior()
    lam = np.repeat(camp.lam[:, None], t, axis=1)
    experts, _, _ = prior.absorb(prior.solved_points(camp.X), camp.y, lam)
    _, v = experts.predict(experts.solved_points(camp.Z))
    for m in range(4):
        K, k = who.correlations(m, camp.X, camp.X), who.correlations(m, camp.X, camp.Z)
        a = np.abs(gp_coefficients(K, k, lam[m])).sum(axis=0)
        _, cov = who.truth(m, camp.X, camp.y, lam[m], camp.Z)
        bound = 4.0 * np.finfo(float).eps * (1.0 + a) ** 2
        assert (np.abs(v[m] - np.diag(cov)) < bound).all()


@pytest.mark.parametrize("length_scale", [10.0, 1e3, 1e6])
@pytest.mark.parametrize("chunk", [1, 50, 300])
def test_a_singular_matrix_of_correlations_is_conditioned_as_at_the_least_ratio(
    chunk, length_scale
):
    """Where K + lam I has no factor in double precision, lam counts as LEAST_RATIO."""
    t, kernel = 300, Kernel("rbf", length_scale)
    rng = np.random.default_rng(0)
    X, Z = frozen(rng.standard_normal((t, 3))), frozen(rng.standard_normal((20, 3)))
    y = frozen(1.0 + 0.1 * X.sum(axis=1))
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(correlation(kernel, X, X) + 1e-20 * np.eye(t))
    who = of_kernels("exact", (kernel,), 3)
    beliefs = []
    for ratio in (1e-20, LEAST_RATIO):
        experts = who.prior()
        for start in range(0, t, chunk):
            points = experts.solved_points(X[start : start + chunk])
            lam = np.full((1, len(points.X)), ratio)
            if chunk == 1:
                step = experts.step(points, y[start], lam[:, 0])
                experts = experts.condition(step)
            else:
                experts, _, _ = experts.absorb(points, y[start : start + chunk], lam)
        beliefs.append(experts.predict(experts.solved_points(Z)))
    (mu, v), at_least = beliefs
    assert (mu == at_least[0]).all()
    assert (v == at_least[1]).all()
    assert ((v >= 0.0) & (v < 1e-4)).all()
    if length_scale < 1e6:  # there a slope of 0.1 takes weights of 1e5 and is given up
        np.testing.assert_allclose(mu[0], 1.0 + 0.1 * Z.sum(axis=1), atol=2e-2)


def test_points_that_are_used_up_are_predicted_as_any():
    experts = of_three(30)
    X = np.random.default_rng(8).standard_normal((50, 3))
    for n in (1, 50):
        mu, v = experts.predict(experts.solved_points(X[:n]))
        found = experts.predict_in_place(experts.correlated_points(X[:n]))
        np.testing.assert_allclose(found[0], mu, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(found[1], v, rtol=1e-10, atol=1e-12)


def test_experts_that_differ_in_their_noise_alone_share_correlations():
    experts = of_three(12)
    X = np.random.default_rng(9).standard_normal((7, 3))
    for kernel, K in zip(experts.kernels, experts.correlated_points(X).K, strict=True):
        np.testing.assert_array_equal(K, correlation(kernel, experts.X, X))


def test_blocks_of_correlations_change_nothing(constants):
    experts = of_three(12)
    X = np.random.default_rng(10).standard_normal((70, 3))
    whole = experts.correlated_points(X).K
    constants(exact_gp, WIDE_BLOCK=16, BLOCK_CORRELATIONS=64)
    assert (whole == experts.correlated_points(X).K).all()


def of_three(t):
    """Three experts, two of one kernel, after t labels."""
    rng = np.random.default_rng(7)
    kernels = (
        Kernel("matern52", 1.3),
        Kernel("anova", (0.7, 1.0, 2.0), 0.5),
        Kernel("matern52", 1.3),
    )
    experts, X = ExactExperts.prior(kernels, 3), rng.standard_normal((t, 3))
    lam = np.array([1e-3, 1e-2, 0.1])[:, None] * np.ones(t)
    return experts.absorb(experts.solved_points(X), rng.standard_normal(t), lam)[0]
