"""Weights of acquisition functions against the paper's fraction; both ways to scale scores."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.beliefs import belief
from reference.cases import frozen
from weal.core.paper.acquisition import gpm_ent, went
from weal.core.paper.adaptive_acquisition import (
    SCALINGS,
    divide_by_maximum,
    shift_and_scale,
    update_log_weights,
)

few = settings(max_examples=50, deadline=None)
LOSSES = st.lists(st.floats(0.0, 5.0), min_size=2, max_size=6)


def some_scores(seed, K=4, N=9, scale=1.0):
    """Scores of unlike sign and size, and who is free: neither all nor none."""
    rng = np.random.default_rng([seed, K, N])
    size = scale * 10.0 ** rng.integers(-8, 9, (K, 1))
    scores = size * (rng.standard_normal((K, N)) + rng.standard_normal((K, 1)) * 3.0)
    free = rng.random(N) < 0.6
    free[rng.integers(N)] = True
    return frozen(scores), free


def ranges(scores, free):
    """The least and the largest score (K,) of each function over the free candidates."""
    return frozen(scores[:, free].min(axis=1)), frozen(scores[:, free].max(axis=1))


@few
@given(losses=LOSSES, eta=st.sampled_from([0.0, 0.05, 1.0, 20.0, 100.0]), seed=st.integers(0, 99))
def test_reweighing_is_the_papers_fraction(losses, eta, seed):
    omega = np.random.default_rng(seed).dirichlet(np.ones(len(losses)))
    fraction = omega * np.exp(-eta * np.array(losses))  # [1, eq:AF_weight]
    got = np.exp(update_log_weights(frozen(np.log(omega)), frozen(losses), eta))
    np.testing.assert_allclose(got, fraction / fraction.sum(), rtol=1e-11, atol=1e-300)


@few
@given(losses=LOSSES, seed=st.integers(0, 99))
def test_many_reweighings_are_one_by_the_sum_of_their_losses(losses, seed):
    log_omega = np.log(np.random.default_rng(seed).dirichlet(np.ones(len(losses))))
    one_by_one = log_omega
    for share in (0.25, 0.5, 0.25):
        one_by_one = update_log_weights(one_by_one, share * np.array(losses), 20.0)
    np.testing.assert_allclose(
        one_by_one, update_log_weights(log_omega, np.array(losses), 20.0), atol=1e-11
    )


def test_a_function_whose_fraction_would_vanish_keeps_a_weight_to_come_back_with():
    """exp(-eta eps) is 0 in floats; its logarithm is not."""
    log_omega = np.log(np.full(3, 1.0 / 3.0))
    down = update_log_weights(log_omega, frozen([0.0, 1e3, 1e5]), 100.0)
    assert np.isfinite(down).all()
    back = update_log_weights(down, frozen([1e5, 1e5 - 1e3, 0.0]), 100.0)
    np.testing.assert_allclose(np.exp(back), 1.0 / 3.0, rtol=1e-8)


def test_equal_losses_change_nothing():
    log_omega = frozen(np.log([0.1, 0.6, 0.3]))
    np.testing.assert_allclose(
        update_log_weights(log_omega, frozen([2.5] * 3), 20.0), log_omega, atol=1e-14
    )


@few
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([1e-150, 1.0, 1e150]))
def test_shifted_scores_fill_zero_to_one_over_the_free_candidates(seed, scale):
    scores, free = some_scores(seed, scale=scale)
    got = shift_and_scale(scores, *ranges(scores, free))
    if free.sum() > 1:
        np.testing.assert_allclose(got[:, free].min(axis=1), 0.0, atol=1e-12)
        np.testing.assert_allclose(got[:, free].max(axis=1), 1.0, rtol=1e-12)
    for row, was in zip(got, scores, strict=True):
        assert (np.argsort(row[free], kind="stable") == np.argsort(was[free], kind="stable")).all()


@few
@given(seed=st.integers(0, 10**6), shift=st.floats(-10.0, 10.0), factor=st.floats(0.1, 10.0))
def test_shift_and_unit_of_a_score_are_irrelevant_when_it_is_shifted_and_scaled(
    seed, shift, factor
):
    scores, free = some_scores(seed)
    free[:2] = True
    size = np.abs(scores).max(axis=1, keepdims=True)
    other = factor * scores + shift * size
    got, was = (shift_and_scale(a, *ranges(a, free)) for a in (other, scores))
    np.testing.assert_allclose(got, was, atol=1e-10, rtol=1e-10)


@few
@given(seed=st.integers(0, 10**6))
def test_the_papers_scaling_divides_by_the_maximum_of_the_free_candidates(seed):
    # [1, set:maximum]
    scores, free = some_scores(seed)
    got = divide_by_maximum(scores, *ranges(scores, free))
    for row, was in zip(got, scores, strict=True):
        top = max(float(s) for s, open_ in zip(was, free, strict=True) if open_)
        np.testing.assert_allclose(row, [s / top for s in was], rtol=1e-12)


@pytest.mark.parametrize("value", [0.0, -3.5, 7.0, 1e-300])
@pytest.mark.parametrize("scaling", sorted(SCALINGS))
def test_a_constant_score_prefers_nobody(scaling, value):
    scores, free = some_scores(1)
    scores = np.concatenate([scores, np.full((1, scores.shape[1]), value)])
    got = SCALINGS[scaling](frozen(scores), *ranges(scores, free))[-1]
    assert np.isfinite(got).all()
    assert len(set(got.tolist())) == 1
    assert got[0] in (0.0, 1.0)


@pytest.mark.parametrize("scaling", sorted(SCALINGS))
def test_those_who_are_not_free_do_not_decide_the_scale(scaling):
    scores, free = some_scores(2)
    taken = scores.copy()
    taken[:, ~free] = 1e12
    got, was = (SCALINGS[scaling](frozen(a), *ranges(a, free))[:, free] for a in (taken, scores))
    assert (got == was).all()


@pytest.mark.parametrize("entropy", [went, gpm_ent])
def test_dividing_by_the_maximum_turns_the_order_of_a_negative_entropy_around(entropy):
    """Why shift-and-scale is the default: sds of about 0.01 have negative entropies."""
    bel = belief(3, N=12, scale=1e-2, unequal=0.5, blanks=False)
    scores, free = entropy(bel)[None], np.ones(12, dtype=bool)
    assert (scores < 0.0).all()
    order = np.argsort(scores[0])
    assert (np.argsort(shift_and_scale(scores, *ranges(scores, free))[0]) == order).all()
    assert (np.argsort(divide_by_maximum(scores, *ranges(scores, free))[0]) == order[::-1]).all()


@pytest.mark.parametrize("scaling", sorted(SCALINGS))
@pytest.mark.parametrize("cut", [1, 4, 8])
def test_blocks_are_scaled_as_the_whole_is(scaling, cut):
    scores, free = some_scores(3)
    found, whole = ranges(scores, free), SCALINGS[scaling](scores, *ranges(scores, free))
    parts = [SCALINGS[scaling](part, *found) for part in np.split(scores, [cut], axis=1)]
    assert (np.concatenate(parts, axis=1) == whole).all()
