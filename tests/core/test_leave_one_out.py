"""Labels left out in closed form, against experts that really never saw them."""

from dataclasses import replace

import numpy as np
import pytest

from reference.cases import campaign, kind
from weal.core.extensions import leave_one_out
from weal.core.extensions.conjugate_magnitude import ConjugateMagnitude
from weal.core.extensions.embeddings import EncodedFeatures, RawInputs
from weal.core.paper import ensemble

PRIOR = np.log([0.1, 0.5, 0.15, 0.25])


class Case:
    """An ensemble after labels of unequal noise, and the way to its points."""

    def __init__(self, name, integrated, temper=1.0, ratio=1e-2, t=8):
        self.camp = campaign(6, d=3, t=t, ratio=ratio)
        self.who = kind(name, 3, 6)
        self.start = replace(self.who.ensemble(self.camp.lam), log_w=PRIOR, temper=temper)
        if integrated:
            unit = np.array([0.5, 1.0, 7.0, 40.0])
            self.start = replace(self.start, scale=ConjugateMagnitude.prior(4, 2.0, unit))
        self.ens = self.folded(np.arange(t))
        if name == "exact":
            self.embedding, self.X = RawInputs(), self.camp.X
        else:  # features as they come encoded: rows of M F numbers
            Phi = self.who.embed(self.start.experts, self.camp.X)
            self.embedding, self.X = EncodedFeatures(4), Phi.transpose(1, 0, 2).reshape(t, -1)

    def folded(self, rows):
        points = self.who.embed(self.start.experts, self.camp.X[rows])
        return ensemble.update_many(
            self.start, points, self.camp.y[rows], self.camp.noise_var[rows]
        )

    def left_out(self):
        known = (self.X, self.camp.y, self.camp.noise_var)
        return leave_one_out.left_out(self.ens, self.embedding, *known)


@pytest.mark.parametrize("temper", [1.0, 0.4])
@pytest.mark.parametrize("integrated", [False, True], ids=["given", "integrated"])
@pytest.mark.parametrize("name", ["features", "exact"])
def test_what_is_left_out_is_as_if_it_had_never_come(name, integrated, temper):
    case = Case(name, integrated, temper)
    e, s, lam = case.left_out()
    np.testing.assert_allclose(lam, case.ens.ratios(case.camp.noise_var))
    for i in range(8):
        others = case.folded(np.delete(np.arange(8), i))
        point = case.who.embed(others.experts, case.camp.X[i : i + 1])
        mu, v = others.experts.predict(point)
        np.testing.assert_allclose(e[:, i], case.camp.y[i] - mu[:, 0], rtol=1e-7)
        np.testing.assert_allclose(s[:, i], v[:, 0] + lam[:, i], rtol=1e-7)
        without = leave_one_out.without(case.ens, e[:, i], s[:, i])
        np.testing.assert_allclose(without.log_w, others.log_w, atol=1e-7)
        np.testing.assert_allclose(without.magnitude, others.magnitude, rtol=1e-7)
        assert without.experts is case.ens.experts


@pytest.mark.parametrize("name", ["features", "exact"])
def test_both_ways_to_the_inverse_agree(name):
    case = Case(name, integrated=False, ratio=0.1)
    _, s, lam = case.left_out()
    mu, v = case.ens.experts.predict(case.who.embed(case.ens.experts, case.camp.X))
    a, A_ii = leave_one_out.by_posterior(case.camp.y, mu, v, lam)
    e, spread = leave_one_out.innovations(a, A_ii)
    np.testing.assert_allclose(spread, s, rtol=1e-9)
    np.testing.assert_allclose(e, case.left_out()[0], rtol=1e-9)


@pytest.mark.parametrize("name", ["features", "exact"])
def test_one_label_alone_is_left_to_the_prior(name):
    case = Case(name, integrated=True, t=1)
    e, s, _ = case.left_out()
    without = leave_one_out.without(case.ens, e[:, 0], s[:, 0])
    np.testing.assert_allclose(without.magnitude, case.start.magnitude, rtol=1e-12)
    np.testing.assert_allclose(without.log_w, PRIOR, atol=1e-12)
