"""Sign flips: against all flips one by one, and how often chance decides, by simulation."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weal.benchmark.statistics import (
    ERROR_RATE,
    MAX_EXACT_FLIPS,
    MIN_REALISATIONS_FOR_TEST,
    p_values,
)

N = 10  # realisations, as in the paper
SIMULATIONS = 2_000


def t_of(d):
    """Student's t, whose square is infinite where all differences are the same."""
    sd = d.std(ddof=1)
    mean = abs(d.mean())
    return mean / sd if sd > 1e-9 * mean else np.inf if mean else 0.0


def slowly(D):
    """P alone and step-down (C,), by the words of Westfall and Young: flip by flip, by t."""
    n, C = D.shape
    flipped = [np.array([t_of(np.array(s) * d) for d in D.T]) for s in product((1, -1), repeat=n)]
    seen = flipped[0] * (1 - 1e-9)
    alone = np.mean([t >= seen for t in flipped], axis=0)
    together, left, last = np.empty(C), list(range(C)), 0.0
    while left:
        k = max(left, key=lambda c: seen[c])
        last = together[k] = max(last, np.mean([t[left].max() >= seen[k] for t in flipped]))
        left.remove(k)
    return alone, together


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 7), C=st.integers(1, 4))
def test_they_are_all_flips_one_by_one(seed, n, C):
    rng = np.random.default_rng([seed, n, C])
    D = rng.standard_normal((n, C)) + rng.exponential(1.0, C)
    for fast, slow in zip(p_values(D), slowly(D), strict=True):
        np.testing.assert_allclose(fast, slow)


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 12),
    C=st.integers(1, 8),
    unit=st.sampled_from([1e-150, 1e-9, 1.0, 1e9, 1e150]),
)
def test_units_signs_and_order_are_irrelevant_and_together_is_never_below_alone(seed, n, C, unit):
    rng = np.random.default_rng([seed, n, C])
    D = rng.standard_cauchy((n, C)) * rng.choice([0.0, 1.0], (n, C), p=[0.2, 0.8])
    alone, together = p_values(D)
    assert (together >= alone).all()
    assert (alone > 0.0).all()
    assert (together <= 1.0).all()
    other = p_values(unit * rng.choice([-1.0, 1.0], C) * D[rng.permutation(n)])
    np.testing.assert_allclose(other, (alone, together))
    order = rng.permutation(C)
    np.testing.assert_allclose(p_values(D[:, order]), (alone[order], together[order]))


def test_enough_is_where_equal_signs_by_chance_are_rarer_than_one_in_twenty():
    for n in (MIN_REALISATIONS_FOR_TEST - 1, MIN_REALISATIONS_FOR_TEST):
        (alone,), _ = p_values(np.ones((n, 1)))
        assert alone == 2 * 0.5**n
        assert (alone <= ERROR_RATE) == (n == MIN_REALISATIONS_FOR_TEST)


def test_thirty_comparisons_can_be_decided_with_ten_realisations():
    """Holm's rule never could: the least p is 2 / 1024, and 30 of it is 0.059."""
    D = np.random.default_rng(1).standard_normal((N, 30))
    D[:, 4] = 1.0 + 0.01 * D[:, 4]
    alone, together = p_values(D)
    assert 30 * alone[4] > ERROR_RATE
    assert together[4] <= ERROR_RATE


def test_no_difference_decides_nothing():
    alone, together = p_values(np.zeros((N, 3)))
    assert (alone == 1.0).all()
    assert (together == 1.0).all()


def test_many_realisations_are_sampled_by_the_key():
    D = np.random.default_rng(3).standard_normal((MAX_EXACT_FLIPS + 5, 4)) + 0.4
    first, again, other = p_values(D, 5), p_values(D, 5), p_values(D, 6)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    np.testing.assert_allclose(first, other, atol=0.03)


# How often chance decides. NMSEs of two methods that are equally good: a part that the realisation
# gives to both, and a part of their own that has the same distribution for both.
NULLS = {
    "normal": lambda rng, size: rng.standard_normal(size),
    "lognormal": lambda rng, size: rng.lognormal(0.0, 1.0, size),
    "very skewed": lambda rng, size: rng.lognormal(0.0, 3.0, size),
    "no mean": lambda rng, size: rng.pareto(0.5, size),
}


def a_family(rng, draw, C, shift=0.0):
    """Differences (N, C) of C methods to one baseline, which they all share."""
    own = draw(rng, (N, C + 1)) + rng.standard_normal((N, 1))
    return own[:, :C] - own[:, C:] + shift


def rate(hits):
    """A share and 4 standard errors of it at 5 %."""
    return np.mean(hits), 4 * np.sqrt(ERROR_RATE * (1 - ERROR_RATE) / len(hits))


@pytest.mark.parametrize("null", NULLS)
def test_a_single_comparison_is_decided_by_chance_in_one_of_twenty(null):
    rng = np.random.default_rng([1, len(null)])
    hits = [p_values(a_family(rng, NULLS[null], 1))[0][0] <= ERROR_RATE for _ in range(SIMULATIONS)]
    found, error = rate(hits)
    assert abs(found - 25 / 512) < error  # p is a multiple of 2 / 1024; 25 of them are below 5 %


@pytest.mark.parametrize("null", NULLS)
def test_not_one_of_a_claim_is_decided_by_chance_in_nineteen_of_twenty(null):
    rng = np.random.default_rng([2, len(null)])
    alone, together = [], []
    for _ in range(SIMULATIONS // 2):
        p = p_values(a_family(rng, NULLS[null], 30))
        alone.append((p[0] <= ERROR_RATE).any())
        together.append((p[1] <= ERROR_RATE).any())
    found, error = rate(together)
    assert found < ERROR_RATE + error
    assert np.mean(alone) > 0.15  # which is why they are corrected


@pytest.mark.parametrize("null", ["normal", "lognormal"])
def test_true_differences_beside_them_do_not_change_that(null):
    """Some of a claim truly differ: the others are decided no more often, and those are found."""
    rng = np.random.default_rng([3, len(null)])
    shift = np.where(np.arange(30) < 10, 12.0, 0.0)
    wrong, right = [], []
    for _ in range(SIMULATIONS // 2):
        own = NULLS[null](rng, (N, 30)) - NULLS[null](rng, (N, 30))
        _, p = p_values(own + shift)
        wrong.append((p[10:] <= ERROR_RATE).any())
        right.append(np.mean(p[:10] <= ERROR_RATE))
    found, error = rate(wrong)
    assert found < ERROR_RATE + error
    assert np.mean(right) > 0.8


def test_skewed_differences_are_beyond_what_is_promised():
    """Differences of mean 0 that are not symmetric: no test of ten numbers keeps 5 % for all such.

    Measured: 15 % for lognormal ones. It is said where the rule is stated.
    """
    rng = np.random.default_rng(4)
    skewed = rng.lognormal(0.0, 1.0, (SIMULATIONS, N, 1)) - np.exp(0.5)
    found = np.mean([p_values(d)[0][0] <= ERROR_RATE for d in skewed])
    assert abs(found - 0.15) < 4 * np.sqrt(0.15 * 0.85 / SIMULATIONS)
