"""The conformance suite of expert kinds: features and exact, against posteriors of 50 digits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.cases import LAYOUTS, campaign, campaigns, frozen, kind, of_kernels
from reference.gaussian import weight_posterior
from weal.core.paper.feature_gp import apply_step
from weal.core.paper.kernels import Kernel

KINDS = ("features", "exact")
EPS = np.finfo(float).eps
few = settings(max_examples=15, deadline=None)


def absorbed(kind, camp, lam):
    """The experts after all labels at once; lam (M,) or (M, t)."""
    prior = kind.prior()
    lam = np.broadcast_to(np.reshape(lam, (len(lam), -1)), (len(lam), len(camp.y)))
    return prior.absorb(kind.embed(prior, camp.X), camp.y, frozen(lam))


def stepped(kind, camp, lam):
    """The experts after one label after the other, with the e and s (M, t) met."""
    experts, met = kind.prior(), []
    for x, y in zip(camp.X, camp.y, strict=True):
        step = experts.step(kind.embed(experts, x[None]), y, lam)
        experts = experts.condition(step)
        met.append((step.e, step.s))
    return experts, *np.array(met).transpose(1, 2, 0)


def rounding(camp):
    """Absolute error of a covariance that rounding the correlations allows, 4 eps t / lam."""
    return 4.0 * EPS * len(camp.y) / camp.lam.min()


def check_against_batch(kind, experts, camp, lam, relative):
    mu, v = experts.predict(kind.embed(experts, camp.Z))
    for m in range(len(lam)):
        mean, cov = kind.truth(m, camp.X, camp.y, lam[m], camp.Z)
        assert np.abs(mu[m] - mean).max() <= relative * np.abs(camp.y).max()
        np.testing.assert_allclose(v[m], np.diag(cov), rtol=relative)


@pytest.mark.parametrize("name", KINDS)
@few
@given(camp=campaigns())
def test_labels_one_by_one_come_to_the_batch_posterior(name, camp):
    # [1, eq:mean, eq:variance, eq:mu_check, eq:sigma_check]
    who = kind(name, camp.d, camp.seed)
    experts, _, _ = stepped(who, camp, camp.lam)
    lam = np.repeat(camp.lam[:, None], len(camp.y), axis=1)
    check_against_batch(who, experts, camp, lam, 1e-8)


@pytest.mark.parametrize("name", KINDS)
@few
@given(camp=campaigns(), start=st.integers(0, 20))
def test_labels_in_chunks_with_noise_of_their_own_come_to_the_batch_posterior(name, camp, start):
    who = kind(name, camp.d, camp.seed)
    lam = frozen(camp.lam[:, None] * (1.0 + np.arange(len(camp.y)) % 3))
    experts = who.prior()
    for rows in (slice(None, start), slice(start, None)):
        points = who.embed(experts, camp.X[rows])
        experts, _, _ = experts.absorb(points, camp.y[rows], lam[:, rows])
    check_against_batch(who, experts, camp, lam, 1e-8)


@few
@given(camp=campaigns())
def test_weights_of_the_features_have_the_batch_posterior(camp):
    # [1, eq:f_check, eq:posterior_update_1, eq:theta_Sigma]
    who = kind("features", camp.d, camp.seed)
    experts, _, _ = absorbed(who, camp, camp.lam)
    Phi = who.embed(experts, camp.X)
    for m, ratio in enumerate(camp.lam):
        theta, Sigma = weight_posterior(Phi[m], camp.y, np.full(len(camp.y), ratio))
        assert np.abs(experts.theta[m] - theta).max() <= 1e-8 * np.abs(theta).max()
        assert np.abs(experts.Sigma[m] - Sigma).max() <= 1e-8 * np.abs(Sigma).max()


@pytest.mark.parametrize("name", KINDS)
@few
@given(camp=campaigns())
def test_absorbing_meets_the_innovations_of_the_steps(name, camp):
    who = kind(name, camp.d, camp.seed)
    _, e, s = absorbed(who, camp, camp.lam)
    _, e_steps, s_steps = stepped(who, camp, camp.lam)
    assert e.shape == s.shape == (4, len(camp.y))
    np.testing.assert_allclose(s, s_steps, rtol=1e-8)
    np.testing.assert_allclose(e, e_steps, atol=1e-8 * np.abs(camp.y).max())


@pytest.mark.parametrize("name", KINDS)
@few
@given(camp=campaigns())
def test_a_column_moves_the_belief_on_any_points(name, camp):
    """mu += c e / s and v -= c^2 / s, label after label, equal a prediction from scratch."""
    who = kind(name, camp.d, camp.seed)
    experts = who.prior()
    points = who.embed(experts, camp.Z)
    mu, v = experts.predict(points)
    for x, y in zip(camp.X, camp.y, strict=True):
        step = experts.step(who.embed(experts, x[None]), y, camp.lam)
        c = step.column(points)
        by_hand = mu + c * (step.e / step.s)[:, None], v - c**2 / step.s[:, None]
        mu, v = apply_step(mu, v, c, step)
        np.testing.assert_allclose(mu, by_hand[0], rtol=1e-14)
        np.testing.assert_allclose(v, np.maximum(by_hand[1], 0.0), rtol=1e-14)
        points, experts = step.extend(points, c), experts.condition(step)
    scale = np.abs(camp.y).max()
    for again in (points, who.embed(experts, camp.Z)):
        mu_after, v_after = experts.predict(again)
        np.testing.assert_allclose(mu, mu_after, atol=1e-8 * scale)
        np.testing.assert_allclose(v, v_after, atol=rounding(camp))


@pytest.mark.parametrize("name", KINDS)
@few
@given(camp=campaigns())
def test_covariances_are_those_of_the_batch_posterior(name, camp):
    # [1, eq:gp_prior]
    who = kind(name, camp.d, camp.seed)
    experts, _, _ = absorbed(who, camp, camp.lam)
    a, b = who.embed(experts, camp.Z), who.embed(experts, camp.Z[:2])
    cov, before = experts.covariance(a, b), experts.prior_covariance(a, b)
    _, v = experts.predict(a)
    for m, ratio in enumerate(camp.lam):
        _, truth = who.truth(m, camp.X, camp.y, np.full(len(camp.y), ratio), camp.Z)
        np.testing.assert_allclose(cov[m], truth[:, :2], rtol=1e-12, atol=rounding(camp))
        np.testing.assert_allclose(np.diag(cov[m]), v[m, :2], rtol=1e-12, atol=1e-14)
        k = np.array(who.correlations(m, camp.Z, camp.Z[:2]), dtype=float)
        np.testing.assert_allclose(before[m], k, atol=1e-13)


@pytest.mark.parametrize("which", [slice(1, 3), np.array([3, 0]), np.array([2])])
@pytest.mark.parametrize("name", KINDS)
def test_some_of_the_experts_are_the_same_experts(name, which):
    camp = campaign(3, d=4, t=9)
    who = kind(name, 4)
    experts, _, _ = absorbed(who, camp, camp.lam)
    points, x = who.embed(experts, camp.Z), who.embed(experts, camp.X[:1] + 0.3)
    step = experts.step(x, 0.7, camp.lam)
    some, some_step = experts.take(which), step.take(which)
    some_points = points.take(which) if name == "exact" else points[which]
    for part, whole in zip(some.predict(some_points), experts.predict(points), strict=True):
        np.testing.assert_allclose(part, whole[which], rtol=1e-12, atol=1e-14)
    c = some_step.column(some_points)
    np.testing.assert_allclose(c, step.column(points)[which], rtol=1e-12, atol=1e-14)
    after, some_after = experts.condition(step), some.condition(some_step)
    extended = some_step.extend(some_points, c)
    whole = after.predict(step.extend(points, step.column(points)))
    for part, all_of_them in zip(some_after.predict(extended), whole, strict=True):
        np.testing.assert_allclose(part, all_of_them[which], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", KINDS)
def test_no_labels_change_nothing(name):
    camp = campaign(3, d=3, t=5)
    who = kind(name, 3)
    before, _, _ = absorbed(who, camp, camp.lam)
    nothing = who.embed(before, camp.X[:0])
    after, e, s = before.absorb(nothing, camp.y[:0], np.zeros((4, 0)))
    assert e.shape == s.shape == (4, 0)
    for a, b in zip(
        after.predict(who.embed(after, camp.Z)),
        before.predict(who.embed(before, camp.Z)),
        strict=True,
    ):
        assert (a == b).all()


@pytest.mark.parametrize("name", KINDS)
def test_an_update_leaves_the_state_before_it_alone(name):
    camp = campaign(4, d=3, t=8)
    who = kind(name, 3)
    before, _, _ = absorbed(who, camp, camp.lam)
    points = who.embed(before, camp.Z)
    belief = before.predict(points)
    forks = []
    for label in (1.0, -1.0, 5.0):  # three futures of one past
        step = before.step(who.embed(before, camp.Z[:1]), label, camp.lam)
        after, extended = before.condition(step), step.extend(points, step.column(points))
        forks.append((after, extended, after.predict(extended)))
    for a, b in zip(before.predict(points), belief, strict=True):
        assert (a == b).all()
    for after, extended, known in forks:
        for a, b in zip(after.predict(extended), known, strict=True):
            assert (a == b).all()


def root_bound(t, lam):
    """Relative error of v that the root form keeps to; the plain downdate has eps t / lam.

    Sigma^-1 <= 1 + t / lam, so that the condition of the root is at most sqrt(1 + t / lam).
    Measured: 3 eps sqrt(t / lam) for 500 duplicates, 1 for points apart, at ratios to 1e-14.
    """
    return 8.0 * EPS * np.sqrt(1.0 + t / lam)


@pytest.mark.parametrize("ratio", [1e-4, 1e-8, 1e-10, 1e-12])
def test_five_hundred_duplicates_keep_the_digits_of_the_root(ratio):
    """Below 4e-10 at a ratio of 1e-8, 4e-9 at 1e-10."""
    t, lam = 500, ratio * np.array([1.0, 3.0, 0.7, 2.0])
    who, x = kind("features", 3), frozen([[0.3, -1.2, 0.8]])
    experts = who.prior()
    phi = who.embed(experts, np.repeat(x, t, axis=0))
    experts, _, _ = experts.absorb(phi, np.full(t, 1.7), np.repeat(lam[:, None], t, axis=1))
    mu, v = experts.predict(phi[:, :1])
    truth = lam / (t + lam)  # a prior variance of 1 and t labels
    assert (np.abs(v[:, 0] / truth - 1.0) < root_bound(t, lam)).all()
    np.testing.assert_allclose(mu[:, 0], 1.7 * t / (t + lam), rtol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("ratio", [1e-6, 1e-8, 1e-10])
def test_below_a_ratio_of_1e_4_the_error_is_that_of_the_root(ratio, layout):
    t = 30
    camp = campaign(7, d=3, t=t, ratio=ratio, layout=layout)
    who = kind("features", 3)
    experts, _, _ = absorbed(who, camp, camp.lam)
    _, v = experts.predict(who.embed(experts, camp.Z))
    for m, lam in enumerate(camp.lam):
        _, cov = who.truth(m, camp.X, camp.y, np.full(t, lam), camp.Z)
        np.testing.assert_allclose(v[m], np.diag(cov), rtol=root_bound(t, lam))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_sigma_stays_a_covariance_after_5000_labels_at_a_ratio_of_1e_8(scale):
    rng, t = np.random.default_rng(1), 5000
    kernels = (Kernel("rbf", 2.0), Kernel("matern52", (0.5, 1.0, 3.0)), Kernel("rq", 50.0))
    who = of_kernels("features", kernels, 3, n_frequencies=6)
    X = frozen(rng.standard_normal((t, 3)))
    y = frozen(scale * np.sin(X.sum(axis=1)))
    prior = who.prior()
    Phi = who.embed(prior, X)
    experts, _, _ = prior.absorb(Phi, y, np.full((3, t), 1e-8))
    Sigma = experts.Sigma
    spread = np.sqrt(np.einsum("mff->mf", Sigma))
    asymmetry = np.abs(Sigma - Sigma.transpose(0, 2, 1))
    assert (asymmetry <= 4 * EPS * spread[:, :, None] * spread[:, None, :]).all()
    assert (spread > 0.0).all()
    assert np.linalg.eigvalsh(Sigma / spread[:, :, None] / spread[:, None, :]).min() > -1e-14
    assert (experts.predict(Phi)[1] > 0.0).all()
    theta, truth = weight_posterior(Phi[1], y, np.full(t, 1e-8))
    np.testing.assert_allclose(np.diag(Sigma[1]), np.diag(truth), rtol=root_bound(t, 1e-8))
    assert np.abs(experts.theta[1] - theta).max() <= 1e-8 * np.abs(theta).max()


@pytest.mark.parametrize("ratio", [1e-16, 1e-30])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", KINDS)
def test_labels_next_to_free_of_noise_leave_a_finite_belief(name, layout, ratio):
    """At any ratio: variances from 0 to 1, and means of the size of the labels at the labels."""
    camp = campaign(2, d=3, t=60, ratio=ratio, layout=layout)
    who = of_kernels(name, (Kernel("rbf", 50.0), Kernel("rq", 1e4), Kernel("matern52", 3.0)), 3)
    y = frozen(np.cos(camp.X.sum(axis=1)))  # no noise
    prior = who.prior()
    lam = np.full((3, 60), ratio)
    experts, _, s = prior.absorb(who.embed(prior, camp.X), y, lam)
    mu, v = experts.predict(who.embed(experts, camp.X))
    assert (s > 0.0).all()
    assert ((v >= 0.0) & (v <= 1.0 + 1e-12)).all()
    assert np.abs(mu).max() < 10.0
