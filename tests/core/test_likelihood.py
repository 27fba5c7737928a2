"""What a label does to an expert: one suite for all kinds of labels.

`Doubtful` is the smallest likelihood that is not Gaussian: a label far off is believed less, and
any label may be a wrong one. It is here to show that the seam carries such labels.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from reference.cases import campaign, frozen, kind
from weal.core import ensemble
from weal.core.likelihood import GAUSSIAN, Innovation
from weal.core.magnitude import Conjugate, Fixed


@dataclass(frozen=True)
class Doubtful:
    """Labels more than `far` sds off have noise as large as they are off; wrong ones are wide."""

    far: float = 2.0
    wrong: float = 0.1  # of the labels
    wide: float = 25.0  # times the variance of right ones

    def innovation(self, y, mu, v, lam):
        e, s, _ = GAUSSIAN.innovation(y, mu, v, lam)
        lam = np.where(np.abs(e) > self.far * np.sqrt(s), lam + e**2, lam)
        return Innovation(e, v + lam, lam)

    def to_come(self, y, mu, v, lam):
        return GAUSSIAN.to_come(y, mu, v, lam)

    def in_turn(self, y, mu, B, lam):
        N = len(y)
        C, z, mu, B = np.zeros((N, N)), np.zeros(N), mu.copy(), B.copy()
        for n in range(N):
            e, s, _ = self.innovation(y[n], mu[n], B[n, n], lam[n])
            c = B[:, n].copy()
            C[n:, n], z[n] = c[n:] / np.sqrt(s), e / np.sqrt(s)
            C[n, n] = np.sqrt(s)
            mu, B = mu + c * e / s, B - np.outer(c, c) / s
        return C, z

    def log_density(self, scale, e, s):
        right, wide = scale.log_density(e, s), scale.log_density(e, self.wide * s)
        return np.logaddexp(np.log1p(-self.wrong) + right, np.log(self.wrong) + wide)

    def cdf(self, scale, e, s):
        return (1.0 - self.wrong) * scale.cdf(e, s) + self.wrong * scale.cdf(e, self.wide * s)

    def quantile(self, scale, level, s):
        low, high = (scale.quantile(level, k * s) for k in (1.0, self.wide))
        low, high = np.minimum(low, high), np.maximum(low, high)
        for _ in range(100):
            middle = 0.5 * (low + high)
            below = self.cdf(scale, middle, s) < level
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return 0.5 * (low + high)

    def learn(self, scale, e, s):
        total = np.zeros(len(e))
        for n in range(e.shape[1]):
            total += self.log_density(scale, e[:, n], s[:, n])
            _, scale = scale.after(e[:, n : n + 1], s[:, n : n + 1])
        return total, scale


LIKELIHOODS = {"gaussian": GAUSSIAN, "doubtful": Doubtful()}
ALL = pytest.mark.parametrize("likelihood", LIKELIHOODS.values(), ids=LIKELIHOODS)
SCALES = {
    "fixed": Fixed(frozen([0.3, 2.0, 11.0])),
    "conjugate": Conjugate(frozen([1.5, 4.0, 31.5]), frozen([0.5, 9.0, 2.5]), frozen(np.ones(3))),
}
BOTH = pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
KINDS = pytest.mark.parametrize("name", ["features", "exact"])


def test_the_gaussian_one_is_that_of_the_paper():
    """[1, eq:pred_y]: N(mu, sig2 (v + lam))."""
    rng = np.random.default_rng(0)
    y, mu = rng.standard_normal(5), rng.standard_normal((3, 5))
    v, lam = rng.uniform(0.1, 1.0, (3, 5)), rng.uniform(0.1, 1.0, (3, 1))
    e, s, known = GAUSSIAN.innovation(y, mu, v, lam)
    np.testing.assert_array_equal(e, y - mu)
    np.testing.assert_array_equal(s, v + lam)
    assert known is lam


@ALL
def test_the_noise_that_comes_along_is_the_variance_less_that_of_f(likelihood):
    rng = np.random.default_rng(1)
    v, lam = rng.uniform(0.1, 1.0, (3, 40)), rng.uniform(0.1, 1.0, (3, 40))
    told = likelihood.innovation(3.0 * rng.standard_normal(40), np.zeros((3, 40)), v, lam)
    np.testing.assert_allclose(told.s - v, told.lam, rtol=1e-12)
    assert (told.s > v).all()


@ALL
def test_labels_in_turn_are_those_of_one_after_the_other(likelihood):
    """mu and B conditioned by hand between them."""
    rng = np.random.default_rng(2)
    A = rng.standard_normal((6, 6))
    B, mu, lam = A @ A.T, rng.standard_normal(6), rng.uniform(0.01, 2.0, 6)
    y = mu + 4.0 * rng.standard_normal(6)
    C, z = likelihood.in_turn(y, mu, B, lam)
    np.testing.assert_array_equal(C, np.tril(C))
    np.testing.assert_allclose((C @ C.T - B)[~np.eye(6, dtype=bool)], 0.0, atol=1e-12)
    for n in range(6):
        seen = np.arange(n)
        known = B[np.ix_(seen, seen)] + np.diag((C @ C.T - B)[seen, seen])
        gain = np.linalg.solve(known, B[seen, n])
        mean = mu[n] + gain @ ((C @ z)[seen])  # C z: the labels as they were believed
        v = B[n, n] - gain @ B[seen, n]
        e, s, _ = likelihood.innovation(y[n], mean, v, lam[n])
        np.testing.assert_allclose([z[n] * C[n, n], C[n, n] ** 2], [e, s], rtol=1e-9)


@ALL
@BOTH
def test_densities_probabilities_and_quantiles_agree(likelihood, scale):
    e = frozen(np.tile(np.linspace(-6.0, 6.0, 41), (3, 1)))
    s = frozen(np.tile(np.geomspace(0.1, 5.0, 41), (3, 1)))
    step = 1e-4
    slope = (
        likelihood.cdf(scale, e + step, s) - likelihood.cdf(scale, e - step, s)
    ) / (2.0 * step)  # fmt: skip
    np.testing.assert_allclose(np.exp(likelihood.log_density(scale, e, s)), slope, atol=1e-6)
    for level in (0.01, 0.5, 0.9):
        found = likelihood.quantile(scale, level, s)
        np.testing.assert_allclose(likelihood.cdf(scale, found, s), level, rtol=1e-6)


@ALL
@BOTH
def test_what_is_learnt_is_the_density_of_each_before_it_was_learnt(likelihood, scale):
    rng = np.random.default_rng(3)
    e, s = frozen(rng.standard_normal((3, 5))), frozen(rng.uniform(0.1, 2.0, (3, 5)))
    whole, after = likelihood.learn(scale, e, s)
    total = np.zeros(3)
    for n in range(5):
        total += likelihood.log_density(scale, e[:, n], s[:, n])
        _, scale = likelihood.learn(scale, e[:, n : n + 1], s[:, n : n + 1])
    np.testing.assert_allclose(whole, total, rtol=1e-12)
    np.testing.assert_allclose(after.variance, scale.variance, rtol=1e-12)


@ALL
@KINDS
def test_experts_told_in_turn_or_together_believe_the_same(likelihood, name):
    camp = campaign(4, d=3, t=9, ratio=1e-2)
    who = kind(name, 3, 4)
    start = replace(who.ensemble(camp.lam), scale=Conjugate.prior(4), likelihood=likelihood)
    y = frozen(np.where(np.arange(9) == 5, 30.0, camp.y))  # one that is far off
    together = ensemble.fold(start, who.embed(start.experts, camp.X), y, camp.extra)
    in_turn = start
    for x, label, extra in zip(camp.X, y.tolist(), camp.extra.tolist(), strict=True):
        in_turn = ensemble.update(in_turn, who.embed(in_turn.experts, x[None]), label, extra)
    assert in_turn.likelihood is together.likelihood is likelihood
    np.testing.assert_allclose(in_turn.log_w, together.log_w, atol=1e-7)
    new = [ensemble.predict(ens, who.embed(ens.experts, camp.Z)) for ens in (in_turn, together)]
    np.testing.assert_allclose(new[0], new[1], rtol=1e-7, atol=1e-9)


@KINDS
def test_a_label_that_is_believed_less_moves_the_experts_less(name):
    """And they are asked for its density, so that no expert loses all weight to a wrong label."""
    camp = campaign(4, d=3, t=9, ratio=1e-2)
    who = kind(name, 3, 4)
    start = replace(who.ensemble(camp.lam), scale=Conjugate.prior(4))
    points = who.embed(start.experts, camp.X)
    y = np.where(np.arange(9) == 5, 1e3, camp.y)
    spread = []
    for likelihood in (GAUSSIAN, Doubtful()):
        after = ensemble.fold(replace(start, likelihood=likelihood), points, y, camp.extra)
        mu, _ = ensemble.predict(after, who.embed(after.experts, camp.Z))
        spread.append(np.abs(mu).max())
    assert spread[1] < 0.1 * spread[0]


@ALL
def test_predictions_of_labels_go_through_the_seam(likelihood):
    camp = campaign(4, d=3, t=9, ratio=1e-2)
    who = kind("exact", 3, 4)
    start = replace(who.ensemble(camp.lam), scale=Conjugate.prior(4), likelihood=likelihood)
    ens = ensemble.fold(start, who.embed(start.experts, camp.X), camp.y, camp.extra)
    mu, var = ensemble.predict(ens, who.embed(ens.experts, camp.Z))
    for level in (0.05, 0.7):
        found = ensemble.quantile(ens, mu, var, level)
        np.testing.assert_allclose(ensemble.cdf(ens, mu, var, found), level, rtol=1e-9)
        step = 1e-5
        ends = [ensemble.cdf(ens, mu, var, found + side * step) for side in (-1.0, 1.0)]
        density = np.exp(ensemble.log_density(ens, mu, var, found))
        np.testing.assert_allclose((ends[1] - ends[0]) / (2.0 * step), density, rtol=1e-3)
