"""What two labels gain by being exchanged is what fresh evidence of the exchanged labels says."""

import numpy as np
import pytest

from weal.core.constants import PRIOR_OUTLIER_PROBABILITY
from weal.core.extensions.outliers.inclusion import include_all
from weal.core.extensions.outliers.slips_and_swaps import gains, log_odds
from weal.core.paper.kernels import Kernel


@pytest.fixture
def case():
    rng = np.random.default_rng(2)
    X = rng.uniform(-1.0, 1.0, (9, 3))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(9)
    y[[2, 5]] = y[[5, 2]]
    y[7] = 40.0
    noise_var = np.where(np.arange(9) == 3, 0.2, 0.0)
    players = [(Kernel("rbf", 0.7), 1e-2, 1.0), (Kernel("matern32", 2.0), 0.3, 0.5)]

    def made(y, wrong):
        return include_all(players, np.log([0.3, 0.7]), X, y, noise_var, wrong)

    return made, y


@pytest.mark.parametrize("wrong", [(), (7,), (2, 7), (2, 5, 7)])
def test_gains_are_those_of_evidence_computed_anew(case, wrong):
    made, y = case
    off = np.isin(np.arange(9), wrong)
    slab = np.linspace(-4.0, -3.0, 9)
    pairs = np.array([(2, 5), (5, 2), (0, 1), (2, 7), (3, 8), (4, 6)])
    found = gains(made(y, off), slab, pairs)
    for (i, j), gain in zip(pairs.tolist(), found.tolist(), strict=True):
        z, on = y.copy(), off.copy()
        z[[i, j]], on[[i, j]] = y[[j, i]], False
        doubts = slab[[one for one in (i, j) if off[one]]].sum()
        whole = made(z, on).log_z() - made(y, off).log_z() - doubts
        assert gain == pytest.approx(whole, abs=1e-8)


def test_those_that_were_exchanged_gain_most(case):
    made, y = case
    pairs = np.array([(i, j) for i in range(9) for j in range(i) if 7 not in (i, j)])
    found = gains(made(y, np.arange(9) == 7), np.zeros(9), pairs)
    assert sorted(pairs[np.argmax(found)].tolist()) == [2, 5]


def test_the_log_odds_of_a_label_are_those_of_its_likeliest_exchange(case):
    made, y = case
    sure, off = (np.arange(9) == 4).astype(float), np.arange(9) == 7
    found = log_odds(made(y, off), sure)
    assert np.isneginf(found[[4, 7]]).all()  # sure, and doubted already
    prior = np.log(PRIOR_OUTLIER_PROBABILITY / (1.0 - PRIOR_OUTLIER_PROBABILITY) / 8.0)
    for i in (0, 2, 5):
        others = [(i, j) for j in range(9) if j not in (i, 4, 7)]
        best = gains(made(y, off), np.zeros(9), np.array(others)).max()
        assert found[i] == pytest.approx(best + prior, abs=1e-9)
    assert set(np.argsort(found)[-2:].tolist()) == {2, 5}
    assert np.isneginf(log_odds(made(y, off), np.ones(9))).all()
