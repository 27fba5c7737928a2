"""Weights are exact model probabilities, whatever the labels and their order; the mixture."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from reference import gaussian
from reference.cases import MAGNITUDE, PRIOR, campaign, campaigns, frozen, kind, of_kernels
from weal.core.paper import ensemble
from weal.core.paper.ensemble import log_density, mixture, normalise, predict, update_many
from weal.core.paper.fixed_magnitude import log_normal
from weal.core.paper.kernels import Kernel

KINDS = ("features", "exact")
few = settings(max_examples=15, deadline=None)


def start(name, camp, **changes):
    who = kind(name, camp.d, camp.seed)
    return who, who.ensemble(camp.lam, **changes)


def folded(who, ens, camp, rows=slice(None)):
    points = who.embed(ens.experts, camp.X[rows])
    return update_many(ens, points, camp.y[rows], camp.noise_var[rows])


def updated(who, ens, camp):
    for x, y, noise_var in zip(camp.X, camp.y, camp.noise_var, strict=True):
        ens = ensemble.update(ens, who.embed(ens.experts, x[None]), y, noise_var)
    return ens


def believed(who, ens, camp):
    return predict(ens, who.embed(ens.experts, camp.Z))


def check_same(who, a, b, camp):
    """The two ensembles believe the same, to 1e-8 of the size of the labels and evidences."""
    size = 1.0 + np.abs(a.log_w).max()
    np.testing.assert_allclose(a.log_w, b.log_w, atol=1e-8 * size)
    scale = np.abs(camp.y).max()
    (mu_a, var_a), (mu_b, var_b) = believed(who, a, camp), believed(who, b, camp)
    np.testing.assert_allclose(mu_a, mu_b, atol=1e-8 * scale)
    np.testing.assert_allclose(var_a, var_b, rtol=1e-8)


def label_noise(ens, camp, m):
    """Noise ratios (t,) of the labels under expert m."""
    return ens.noise[m] + camp.noise_var / ens.magnitude[m]


@pytest.mark.parametrize("prior", [PRIOR, frozen([0.5, 0.0, 0.5, 0.0])])
@pytest.mark.parametrize("name", KINDS)
@few
@given(camp=campaigns())
def test_weights_are_exact_model_probabilities(name, prior, camp):
    # [1, eq:w_update, eq:EGP_prior]
    who, before = start(name, camp, prior=prior)
    evidence = [
        gaussian.gp_log_evidence(
            who.correlations(m, camp.X, camp.X), camp.y, MAGNITUDE[m], label_noise(before, camp, m)
        )
        for m in range(4)
    ]
    truth = gaussian.log_probabilities(prior, evidence)
    for ens in (folded(who, before, camp), updated(who, before, camp)):
        possible = prior > 0
        assert (ens.w[~possible] == 0.0).all()
        error = np.abs(ens.log_w[possible] - truth[possible])
        assert (error <= 1e-8 * (1.0 + np.abs(evidence).max())).all()
        assert ens.w.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("name", KINDS)
@few
@given(camp=campaigns())
def test_noise_that_labels_bring_along_is_that_of_the_heteroscedastic_batch(name, camp):
    who, before = start(name, camp)
    for ens in (folded(who, before, camp), updated(who, before, camp)):
        mu, var = believed(who, ens, camp)
        for m in range(4):
            lam = label_noise(before, camp, m)
            mean, cov = who.truth(m, camp.X, camp.y, lam, camp.Z)
            assert np.abs(mu[m] - mean).max() <= 1e-8 * np.abs(camp.y).max()
            np.testing.assert_allclose(var[m], MAGNITUDE[m] * np.diag(cov), rtol=1e-8)


@pytest.mark.parametrize("name", KINDS)
@few
@given(camp=campaigns(), order=st.randoms(use_true_random=False))
def test_order_of_labels_is_irrelevant(name, camp, order):
    # [1, eq:xi_t]
    who, before = start(name, camp)
    shuffled = list(range(len(camp.y)))
    order.shuffle(shuffled)
    check_same(who, folded(who, before, camp), folded(who, before, camp, shuffled), camp)


@pytest.mark.parametrize("name", KINDS)
@few
@given(camp=campaigns(), cuts=st.lists(st.integers(0, 20), max_size=4))
def test_chunking_is_irrelevant(name, camp, cuts):
    who, before = start(name, camp)
    ens, edges = before, [0, *sorted(cuts), len(camp.y)]
    for a, b in pairwise(edges):
        ens = folded(who, ens, camp, slice(a, b))
    check_same(who, ens, folded(who, before, camp), camp)


@pytest.mark.parametrize("name", KINDS)
@few
@given(camp=campaigns(), k=st.floats(1e-6, 1e6))
def test_the_unit_of_the_labels_is_irrelevant(name, camp, k):
    """y and f times k, magnitudes and noise variances times k^2: the same weights."""
    who, before = start(name, camp)
    ens = folded(who, before, camp)
    _, other = start(name, camp, magnitude=frozen(k**2 * MAGNITUDE))
    points = who.embed(other.experts, camp.X)
    scaled = update_many(other, points, k * camp.y, k**2 * camp.noise_var)
    size = 1.0 + np.abs(ens.log_w).max()
    np.testing.assert_allclose(scaled.log_w, ens.log_w, atol=1e-9 * size)
    (mu, var), (mu_k, var_k) = believed(who, ens, camp), believed(who, scaled, camp)
    np.testing.assert_allclose(mu_k, k * mu, rtol=1e-9, atol=1e-9 * k * np.abs(camp.y).max())
    np.testing.assert_allclose(var_k, k**2 * var, rtol=1e-9)


@pytest.mark.parametrize("name", KINDS)
def test_a_label_twice_is_a_label_of_half_the_noise(name):
    camp = campaign(5, d=3, t=6)
    who, before = start(name, camp)
    point = who.embed(before.experts, camp.X[:1])
    twice = who.embed(before.experts, camp.X[[0, 0]])
    one = update_many(before, point, camp.y[:1], frozen([0.0]))
    pair = update_many(before, twice, camp.y[[0, 0]], before.magnitude[0] * before.noise[[0, 0]])
    # under expert 0 the labels of the pair have twice its noise: together they are one label
    for a, b in zip(believed(who, one, camp), believed(who, pair, camp), strict=True):
        np.testing.assert_allclose(a[0], b[0], rtol=1e-10)


LABELS = {
    "zero": [0.0] * 8,
    "tiny": [1e-300, -1e-300] * 4,
    "large": [1e150, -1e150] * 4,
    "huge": [1e300] * 8,
    "huge and opposite": [1e300, -1e300] * 4,
    "all of them": [0.0, 1e300, -1e300, 1e-300, 1e150, -1e150, 3.0, 1e300, 0.0, 1e-300],
}


@pytest.mark.covering(strength=2)
@pytest.mark.parametrize("unit", [1e-5, 1.0, 1e5])
@pytest.mark.parametrize("ratio", [0.1, 1e-4, 1e-10])
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("name", KINDS)
def test_weights_are_weights_whatever_the_labels(name, labels, ratio, unit):
    """Of eight points and of eight duplicates of one, at once and one by one."""
    y = frozen(LABELS[labels])
    for layout in ("scattered", "one point"):
        camp = campaign(1, d=3, t=len(y), ratio=ratio)
        who = kind(name, 3)
        X = camp.X if layout == "scattered" else frozen(np.repeat(camp.X[:1], len(y), axis=0))
        ens = who.ensemble(camp.lam, magnitude=frozen(unit * MAGNITUDE))
        at_once = update_many(ens, who.embed(ens.experts, X), y, np.zeros(len(y)))
        states = [at_once]
        for x, label in zip(X, y, strict=True):
            ens = ensemble.update(ens, who.embed(ens.experts, x[None]), label)
            states.append(ens)
        for state in states:
            assert np.isfinite(state.log_w).all()
            assert state.w.sum() == pytest.approx(1.0, abs=1e-12)
            mu, v = state.experts.predict(who.embed(state.experts, camp.Z))
            assert np.isfinite(mu).all()
            assert (v >= 0.0).all()


def test_a_weight_comes_back_from_beyond_the_range_of_floats():
    """One label speaks against experts 1 and 2 by exp(800), 300 further ones for them."""
    rng = np.random.default_rng(0)
    X = frozen(rng.standard_normal((301, 3)))
    kernels = (Kernel("rbf", 1e-3), Kernel("matern32", 1e-3), Kernel("rq", 1e-3, alpha=5.0))
    who = of_kernels("exact", kernels, 3)
    magnitude, noise = frozen([100.0, 0.01, 0.01]), frozen([1e-3] * 3)
    ens = who.ensemble(noise, magnitude, prior=frozen([0.2, 0.3, 0.5]))
    ens = ensemble.update(ens, who.embed(ens.experts, X[:1]), 4.0)
    assert ens.w.tolist() == [1.0, 0.0, 0.0]
    ens = update_many(ens, who.embed(ens.experts, X[1:]), np.zeros(300), np.zeros(300))
    assert ens.w[0] < 1e-200
    np.testing.assert_allclose(ens.w[1:], [0.375, 0.625], rtol=1e-2)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), M=st.integers(1, 5))
def test_the_mixture_is_that_of_the_loops(seed, M):
    # [1, eq:QBC_mean, eq:var-GPM]
    rng = np.random.default_rng(seed)
    w = frozen(rng.dirichlet(np.full(M, 0.3)))
    mu, var = frozen(3.0 * rng.standard_normal((M, 6))), frozen(rng.exponential(2.0, (M, 6)))
    for ours, theirs in zip(mixture(w, mu, var), gaussian.mixture(w, mu, var), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("prior", [PRIOR, frozen([0.0, 0.7, 0.3, 0.0])])
def test_the_log_density_is_that_of_a_mixture_of_normals(prior):
    # [1, eq:EGP_post, eq:RF_func_post, eq:LF]
    camp = campaign(3, d=4, t=9)
    who, ens = start("exact", camp, prior=prior)
    ens = folded(who, ens, camp)
    mu, var = believed(who, ens, camp)
    y = frozen(np.linspace(-3.0, 4.0, len(camp.Z)))
    sd = np.sqrt(var + (ens.magnitude * ens.noise)[:, None])
    density = sum(w * stats.norm(m, s).pdf(y) for w, m, s in zip(ens.w, mu, sd, strict=True))
    np.testing.assert_allclose(log_density(ens, mu, var, y), np.log(density), rtol=1e-10)
    far = log_density(ens, mu, var, frozen(np.full(len(y), 1e200)))
    assert np.isfinite(far).all()


def test_the_density_of_labels_sums_to_one():
    camp = campaign(3, d=4, t=9)
    who, ens = start("features", camp)
    ens = folded(who, ens, camp)
    mu, var = (part[:, :1] for part in believed(who, ens, camp))
    y = np.linspace(-60.0, 60.0, 40_001)
    log_p = log_density(ens, mu, var, y)
    p = np.exp(log_p)
    mean, variance = mixture(ens.w, mu, var + (ens.magnitude * ens.noise)[:, None])
    assert np.trapezoid(p, y) == pytest.approx(1.0, abs=1e-6)
    assert np.trapezoid(p * y, y) == pytest.approx(mean[0], abs=1e-6)
    assert np.trapezoid(p * (y - mean) ** 2, y) == pytest.approx(variance[0], rel=1e-4)


@settings(max_examples=60, deadline=None)
@given(
    e=st.floats(allow_nan=False, allow_infinity=False),
    var=st.floats(5e-324, allow_nan=False, allow_infinity=False),
)
def test_a_log_normal_density_is_finite_and_right(e, var):
    ours = log_normal(np.array(e), np.array(var))
    assert np.isfinite(ours)
    if abs(e) < 1e100 and 1e-50 < var < 1e100:
        truth = stats.norm(scale=np.sqrt(var)).logpdf(e)
        np.testing.assert_allclose(ours, truth, rtol=1e-10, atol=1e-10)


def test_normalising_keeps_ratios_and_zeros():
    w = np.exp(normalise(frozen([-1000.0, -1001.0, -np.inf])))
    np.testing.assert_allclose(w, [1 / (1 + np.exp(-1.0)), 1 / (1 + np.exp(1.0)), 0.0])
