"""Magnitudes held or integrated out: one suite for both, against scipy and by integration."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from reference import gaussian
from reference.cases import PRIOR, campaigns, frozen, kind
from weal.core.constants import MAGNITUDE_PRIOR_A, MAGNITUDE_PRIOR_B
from weal.core.extensions.conjugate_magnitude import ConjugateMagnitude
from weal.core.paper import ensemble
from weal.core.paper.fixed_magnitude import FixedMagnitude

SCALES = {
    "fixed": FixedMagnitude(frozen([0.3, 2.0, 11.0])),
    "conjugate": ConjugateMagnitude(
        frozen([1.5, 4.0, 31.5]), frozen([0.5, 9.0, 2.5]), frozen([1.0, 0.2, 5.0])
    ),
}
BOTH = pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
M = 3
few = settings(max_examples=15, deadline=None)


def law(scale, m, s):
    """What an innovation of variance sig2 s is believed to be, by scipy."""
    if isinstance(scale, FixedMagnitude):
        return stats.norm(scale=np.sqrt(scale.variance[m] * s))
    return stats.t(2.0 * scale.a[m], scale=np.sqrt(scale.b[m] / scale.a[m] * s))


def innovations(shape, seed=0):
    """Values e and spreads s of that shape after the experts."""
    rng = np.random.default_rng(seed)
    e = frozen(3.0 * rng.standard_normal((M, *shape)))
    return e, frozen(rng.uniform(0.05, 8.0, (M, *shape)))


# What both must be


@BOTH
@pytest.mark.parametrize("shape", [(), (7,), (4, 5)])
def test_densities_and_probabilities_are_scipys(scale, shape):
    e, s = innovations(shape)
    for m in range(M):
        truth = law(scale, m, s[m])
        np.testing.assert_allclose(scale.log_density(e, s)[m], truth.logpdf(e[m]), rtol=1e-10)
        np.testing.assert_allclose(scale.cdf(e, s)[m], truth.cdf(e[m]), rtol=1e-10)
        np.testing.assert_allclose(scale.variance[m] * s[m], truth.var(), rtol=1e-12)


@BOTH
@pytest.mark.parametrize("level", [1e-12, 1e-3, 0.05, 0.5, 0.9, 1.0 - 1e-9])
def test_quantiles_are_scipys_and_undo_probabilities(scale, level):
    _, s = innovations((6,))
    found = scale.quantile(level, s)
    for m in range(M):
        np.testing.assert_allclose(found[m], law(scale, m, s[m]).ppf(level), rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(scale.cdf(found, s), level, rtol=1e-6)


@BOTH
def test_labels_met_in_turn_say_what_they_say_together(scale):
    """And each is as likely as it was before it was met."""
    e, s = innovations((9,))
    log_p, later = scale.after(e, s)
    one_by_one, total = scale, np.zeros(M)
    for n in range(9):
        total += one_by_one.log_density(e[:, n], s[:, n])
        part, one_by_one = one_by_one.after(e[:, n : n + 1], s[:, n : n + 1])
        assert part.shape == (M,)
    np.testing.assert_allclose(log_p, total, rtol=1e-12)
    np.testing.assert_allclose(one_by_one.variance, later.variance, rtol=1e-12)
    turned, other = scale.after(e[:, ::-1], s[:, ::-1])
    np.testing.assert_allclose(turned, log_p, rtol=1e-12)
    np.testing.assert_allclose(other.variance, later.variance, rtol=1e-12)


@BOTH
def test_no_label_says_nothing(scale):
    log_p, later = scale.after(np.zeros((M, 0)), np.ones((M, 0)))
    assert (log_p == 0.0).all()
    np.testing.assert_array_equal(later.variance, scale.variance)


@BOTH
def test_the_unit_of_known_noise_is_the_same_before_and_after_labels(scale):
    _, later = scale.after(*innovations((9,)))
    np.testing.assert_array_equal(later.unit, scale.unit)
    assert scale.unit.shape == (M,)


@BOTH
def test_a_label_unseen_is_as_likely_as_before_it_was_seen(scale):
    """Labels 0..5 were seen; pseudo labels k = 0..3 come on top, and label i is taken away."""
    e, s = innovations((6,))
    extra_e, extra_s = innovations((4,), seed=1)
    _, seen = scale.after(e, s)
    more = seen.with_innovation(extra_e[:, None, :], extra_s[:, None, :])
    pairs = [np.repeat(part[:, :, None], 4, axis=2) for part in (e, s)]  # (M, 6, 4)
    found = more.without(*pairs).log_density(*pairs)
    for i in range(6):
        for k in range(4):
            others = [
                np.append(np.delete(part, i, axis=1), more[:, k : k + 1], axis=1)
                for part, more in ((e, extra_e), (s, extra_s))
            ]
            truth = scale.after(*others)[1].log_density(e[:, i], s[:, i])
            np.testing.assert_allclose(found[:, i, k], truth, rtol=1e-10)


@BOTH
@pytest.mark.parametrize("which", [slice(1, 3), np.array([2, 0]), np.array([1])], ids=str)
def test_some_of_the_experts_are_what_they_were(scale, which):
    e, s = innovations((5,))
    log_p, later = scale.after(e, s)
    some_p, some = scale.take(which).after(e[which], s[which])
    np.testing.assert_array_equal(some_p, log_p[which])
    np.testing.assert_array_equal(some.variance, later.variance[which])
    np.testing.assert_array_equal(some.unit, later.unit[which])


EXTREME = [0.0, 1e-300, -1e-300, 1e150, -1e150, 1e300, -1e300, 3.0]


@BOTH
@pytest.mark.parametrize("spread", [1e-11, 1.0, 1e200])
def test_whatever_the_labels_all_numbers_are_finite(scale, spread):
    e = frozen(np.tile(EXTREME, (M, 1)))
    s = frozen(np.full(e.shape, spread))
    for now in (scale, scale.after(e, s)[1]):
        log_p, later = now.after(e, s)
        assert np.isfinite(log_p).all()
        assert np.isfinite(later.variance).all()
        assert np.isfinite(now.log_density(e, s)).all()
        assert ((now.cdf(e, s) >= 0.0) & (now.cdf(e, s) <= 1.0)).all()
        assert np.isfinite(now.quantile(0.05, s)).all()


# The magnitude integrated out


def inverse_gamma(a, b):
    return stats.invgamma(a, scale=b)


@pytest.mark.parametrize("m", range(M))
def test_the_student_t_is_a_normal_with_its_magnitude_integrated_out(m):
    scale = SCALES["conjugate"]
    belief = inverse_gamma(scale.a[m], scale.b[m])
    log_sig2 = np.linspace(-15.0, 15.0, 6001)
    sig2 = np.exp(log_sig2)
    for e, s in ((0.0, 0.4), (1.3, 0.4), (-5.0, 7.0)):
        joint = stats.norm(scale=np.sqrt(sig2 * s)).pdf(e) * belief.pdf(sig2) * sig2
        ours = scale.log_density(np.full(M, e), np.full(M, s))[m]
        assert ours == pytest.approx(np.log(np.trapezoid(joint, log_sig2)), abs=1e-8)


def test_what_is_known_after_labels_is_the_posterior_by_integration():
    e, s = innovations((5,))
    _, later = SCALES["conjugate"].after(e, s)
    for m in range(M):
        prior = inverse_gamma(SCALES["conjugate"].a[m], SCALES["conjugate"].b[m])
        sig2 = np.exp(np.linspace(-12.0, 12.0, 6001))  # evenly in the log, hence the sig2 in w
        sd = np.sqrt(sig2[:, None] * s[m])
        w = prior.pdf(sig2) * stats.norm(scale=sd).pdf(e[m]).prod(axis=1) * sig2
        assert later.variance[m] == pytest.approx((w * sig2).sum() / w.sum(), rel=1e-6)


def test_before_any_label_the_variance_is_that_of_scaled_labels():
    """The prior itself has none: what counts as such is what makes scaled labels vary by 1."""
    assert MAGNITUDE_PRIOR_A < 1.0
    for unit in (1.0, 1e-6, 40.0):
        prior = ConjugateMagnitude.prior(4, unit)
        np.testing.assert_allclose(prior.variance, unit)
        np.testing.assert_allclose(prior.unit, unit)


# Ensembles of experts whose magnitude is integrated out


def started(name, camp):
    who = kind(name, camp.d, camp.seed)
    ens = replace(who.ensemble(camp.lam), scale=ConjugateMagnitude.prior(4))
    return who, ens


def folded(who, ens, camp, rows):
    points = who.embed(ens.experts, camp.X[rows])
    return ensemble.update_many(ens, points, camp.y[rows], camp.noise_var[rows])


@pytest.mark.parametrize("name", ["features", "exact"])
@few
@given(camp=campaigns())
def test_weights_are_exact_evidence_of_a_multivariate_student_t(name, camp):
    who, before = started(name, camp)
    evidence = [
        gaussian.student_log_evidence(
            who.correlations(m, camp.X, camp.X),
            camp.y,
            camp.lam[m] + camp.noise_var,
            MAGNITUDE_PRIOR_A,
            MAGNITUDE_PRIOR_B,
        )
        for m in range(4)
    ]
    truth = gaussian.log_probabilities(PRIOR, evidence)
    ens = folded(who, before, camp, slice(None))
    np.testing.assert_allclose(ens.log_w, truth, atol=1e-8 * (1.0 + np.abs(evidence).max()))


def test_the_reference_is_scipys_multivariate_student_t():
    rng = np.random.default_rng(3)
    A, y, lam = rng.standard_normal((5, 5)), rng.standard_normal(5), rng.uniform(0.1, 1.0, 5)
    theirs = stats.multivariate_t(shape=2.5 / 1.7 * (A @ A.T + np.diag(lam)), df=2 * 1.7)
    ours = gaussian.student_log_evidence(A @ A.T, y, lam, 1.7, 2.5)
    assert ours == pytest.approx(theirs.logpdf(y), rel=1e-10)


@pytest.mark.parametrize("temper", [1.0, 0.3])
@pytest.mark.parametrize("name", ["features", "exact"])
@few
@given(camp=campaigns(), order=st.randoms(use_true_random=False), cut=st.integers(0, 20))
def test_order_and_chunks_of_labels_are_irrelevant(name, temper, camp, order, cut):
    who, before = started(name, camp)
    before = replace(before, temper=temper)
    rows = list(range(len(camp.y)))
    whole = folded(who, before, camp, rows)
    order.shuffle(rows)
    pieces = folded(who, folded(who, before, camp, rows[:cut]), camp, rows[cut:])
    size = 1.0 + np.abs(whole.log_w).max()
    np.testing.assert_allclose(pieces.log_w, whole.log_w, atol=1e-8 * size)
    np.testing.assert_allclose(pieces.magnitude, whole.magnitude, rtol=1e-8)


@pytest.mark.parametrize("shape", [(), (4,), (4, 2)])
def test_labels_to_come_are_wider_for_fitted_parameters_and_evidence_is_not(shape):
    e, s = innovations(shape)
    plain = SCALES["conjugate"]
    kappa = frozen([0.5, 5.0, 9.0])
    fitted = replace(plain, fitted_freedom=kappa)
    for m in range(M):
        wide = law(plain, m, s[m] * (1.0 + kappa[m] / (2.0 * plain.a[m])))
        np.testing.assert_allclose(fitted.log_predictive(e, s)[m], wide.logpdf(e[m]), rtol=1e-9)
        np.testing.assert_allclose(fitted.cdf(e, s)[m], wide.cdf(e[m]), rtol=1e-9)
        np.testing.assert_allclose(fitted.quantile(0.93, s)[m], wide.ppf(0.93), rtol=1e-9)
    np.testing.assert_array_equal(fitted.log_density(e, s), plain.log_density(e, s))
    np.testing.assert_array_equal(plain.log_predictive(e, s), plain.log_density(e, s))
    for changed, before in (
        (fitted.with_innovation(e, s), plain.with_innovation(e, s)),
        (fitted.without(e, s), plain.without(e, s)),
        (fitted.take([2, 0]), plain.take([2, 0])),
    ):
        np.testing.assert_array_equal(changed.b, before.b)
        assert changed.fitted_freedom is not None
    log_p, later = fitted.after(e.reshape(M, -1), s.reshape(M, -1))
    np.testing.assert_array_equal(log_p, plain.after(e.reshape(M, -1), s.reshape(M, -1))[0])
    np.testing.assert_array_equal(later.fitted_freedom, kappa)
