"""Pass/fail as a regression, against two latent processes, dense integration and Monte Carlo."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import dirichlet, norm

from reference.beliefs import belief
from weal.core.extensions import pass_fail
from weal.core.extensions.acquisition_registry import find_acquisition
from weal.core.extensions.pass_fail import LABEL_NOISE_VARIANCE, C

Z = np.linspace(-12.0, 12.0, 200_001)
DENSITY = norm.pdf(Z) / norm.pdf(Z).sum()


def mixture(seed, M=3, N=6, spread=1.0):
    rng = np.random.default_rng(seed)
    w, mu = rng.dirichlet(np.ones(M)), rng.normal(size=(M, N))
    return w, mu, spread**2 * np.exp(rng.normal(size=(M, N)))


def dense_moments(w, mu, var, slope):
    """E p and E h(p) (N,) by integration on a fine grid."""
    p, h = np.zeros(mu.shape[1]), np.zeros(mu.shape[1])
    for weight, means, variances in zip(w, mu, var, strict=True):
        for n, (m, v) in enumerate(zip(means, variances, strict=True)):
            g = slope * C * (m + np.sqrt(v) * Z)
            p[n] += weight * (DENSITY @ expit(g))
            h[n] += weight * (DENSITY @ pass_fail.entropy(expit(g)))
    return p, h


def test_labels_have_the_moments_of_log_gammas():
    """Gammas as log-normals of the same mean and variance, by their definition."""
    for a, s2 in ((1.1, np.log(1 + 1 / 1.1)), (0.1, np.log(11.0))):
        m = np.log(a) - 0.5 * s2
        assert np.exp(m + 0.5 * s2) == pytest.approx(a)  # mean of a gamma with shape a
        assert (np.exp(s2) - 1.0) * np.exp(2 * m + s2) == pytest.approx(a)  # its variance
    latents = [np.log(a) - 0.5 * np.log1p(1 / a) for a in (1.1, 0.1)]
    assert pytest.approx(latents[0] - latents[1]) == C
    assert pytest.approx(3.2735, abs=1e-4) == C
    assert pytest.approx(0.2841, abs=1e-4) == LABEL_NOISE_VARIANCE


def test_one_label_alone_has_nearly_the_probability_of_its_dirichlet():
    """f known by the label alone, without a prior: log-normals for gammas cost little."""
    p = pass_fail.pass_probability(
        np.ones(1), np.ones((1, 1)), np.full((1, 1), LABEL_NOISE_VARIANCE)
    )
    assert p[0] == pytest.approx(dirichlet([1.1, 0.1]).mean()[0], abs=0.06)


def test_two_latent_processes_are_one():
    """The posterior of the difference of two latents, each with its own labels and noise."""
    rng = np.random.default_rng(3)
    X, x, y = rng.normal(size=(9, 3)), rng.normal(size=(4, 3)), rng.choice([-1.0, 1.0], 9)

    def kernel(a, b):
        return 1.7 * np.exp(-0.5 * ((a[:, None] - b) ** 2).sum(axis=2))

    s2 = [np.log1p(1 / 0.1), np.log1p(1 / 1.1)]
    means = [np.log(0.1) - 0.5 * s2[0], np.log(1.1) - 0.5 * s2[1]]
    K, k = kernel(X, X), kernel(X, x)
    C_pass = K + np.diag(np.where(y > 0, s2[1], s2[0]))
    C_fail = K + np.diag(np.where(y > 0, s2[0], s2[1]))
    # the latents differ in their noise, so that only labels of equal noise make one process
    both = 2.0 * K + np.diag(np.full(9, sum(s2)))
    np.testing.assert_allclose(C_pass + C_fail, both)
    label = np.where(y > 0, means[1] - means[0], means[0] - means[1])
    g = 2.0 * k.T @ np.linalg.solve(both, label)
    f = (2.0 * k.T / C**2) @ np.linalg.solve(both / C**2, y)
    np.testing.assert_allclose(g, C * f, rtol=1e-12)


@pytest.mark.covering
@pytest.mark.parametrize("slope", [0.4, 1.0, 2.7])
@pytest.mark.parametrize("spread", [1e-3, 0.3, 1.0, 5.0])
def test_probabilities_are_those_of_integration(slope, spread):
    w, mu, var = mixture(1, spread=spread)
    p, _ = dense_moments(w, mu, var, slope)
    np.testing.assert_allclose(pass_fail.pass_probability(w, mu, var, slope), p, atol=0.015)
    np.testing.assert_allclose(
        pass_fail.pass_probability(w, -mu, var, slope),
        1.0 - pass_fail.pass_probability(w, mu, var, slope),
        rtol=1e-12,
    )


@pytest.mark.covering
@pytest.mark.parametrize("slope", [0.4, 1.0, 2.7, 20.0])
@pytest.mark.parametrize("spread", [0.0, 1e-8, 1e-3, 0.3, 1.0, 5.0, 100.0])
def test_information_is_that_of_integration(slope, spread):
    """Right to 3e-6 for every mean and variance that was tried."""
    w, mu, var = mixture(2, spread=spread)
    p, h = dense_moments(w, mu, var, slope)
    truth = pass_fail.entropy(p) - h
    np.testing.assert_allclose(pass_fail.information(w, mu, var, slope), truth, atol=1e-5)


def test_information_is_that_of_monte_carlo():
    w, mu, var = mixture(5, N=3)
    rng, n = np.random.default_rng(0), 200_000
    m = rng.choice(len(w), size=n, p=w)
    p = expit(1.3 * C * (mu[m] + np.sqrt(var[m]) * rng.normal(size=(n, 3))))  # (n, N)
    sampled = pass_fail.entropy(p.mean(axis=0)) - pass_fail.entropy(p).mean(axis=0)
    np.testing.assert_allclose(
        pass_fail.information(w, mu, var, 1.3), sampled, atol=4.0 * np.log(2.0) / np.sqrt(n)
    )


def test_information_is_between_0_and_one_bit_at_the_ends_too():
    mu = np.array([[0.0, 1e8, -1e8, 0.0, 0.0, 1e300]])
    var = np.array([[0.0, 0.0, 1.0, 1e300, 5e-324, 1e300]])
    found = pass_fail.information(np.ones(1), mu, var)
    assert np.isfinite(found).all()
    assert ((found >= 0.0) & (found <= np.log(2.0) + 1e-9)).all()
    assert found[:3] == pytest.approx(0.0, abs=1e-6)
    assert found[3] == pytest.approx(np.log(2.0), abs=1e-6)


def test_two_experts_that_disagree_surely_are_worth_a_bit():
    w, mu = np.array([0.5, 0.5]), np.array([[9.0], [-9.0]])
    found = pass_fail.information(w, mu, np.zeros((2, 1)))
    assert found[0] == pytest.approx(np.log(2.0))


@pytest.mark.parametrize("seed", range(6))
def test_the_slope_is_the_best_of_a_fine_grid(seed):
    rng = np.random.default_rng(seed)
    w, mu, var = mixture(seed, M=4, N=30, spread=0.3)
    w = np.broadcast_to(w[:, None], mu.shape)
    y = np.where(rng.random(30) < expit(3.0 * mu.mean(axis=0)), 1.0, -1.0)
    grid = np.exp(np.linspace(-3.0, 3.0, 6001))
    losses = [
        pass_fail.log_loss(pass_fail.pass_probability(w, mu, var, k), y).sum()
        + np.log(k) ** 2 / (2 * 0.25)
        for k in grid
    ]
    assert pass_fail.fit_slope(w, mu, var, y) == pytest.approx(grid[np.argmin(losses)], rel=2e-3)


def test_labels_that_are_all_the_same_leave_the_slope_alone():
    w, mu, var = mixture(0)
    w = np.broadcast_to(w[:, None], mu.shape)
    for y in (np.ones(6), -np.ones(6)):
        assert pass_fail.fit_slope(w, mu, var, y) == 1.0


def test_the_acquisition_has_a_name_and_its_slope():
    name, score = find_acquisition("bald-pass(1.5)")
    bel = belief(1, M=3, N=7)
    assert name == "bald-pass(1.5)"
    np.testing.assert_allclose(
        score(bel), pass_fail.information(bel.w, bel.mu, bel.var, 1.5), atol=1e-9
    )
    for wrong in ("bald-pass(0)", "bald-pass(-1)"):
        with pytest.raises(ValueError, match="slope must be above 0"):
            find_acquisition(wrong)
