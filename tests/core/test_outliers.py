"""Labels that may be wrong: the algebra of the search, against a slow reference."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from weal.core.constants import (
    DECIMAL_SLIP_POWERS,
    MIN_NATS_AGAINST_ZERO,
    NOISE_RATIO_GRID,
    PRIOR_SLIPPED,
)
from weal.core.extensions.conjugate_magnitude import ConjugateMagnitude
from weal.core.extensions.model_selection import candidate_grid, select_models
from weal.core.extensions.outliers import slips_and_swaps
from weal.core.extensions.outliers.decision import find_outliers
from weal.core.extensions.outliers.inclusion import include_all, search
from weal.core.extensions.outliers.prior import (
    OutlierPrior,
    beyond_all_others,
    gross_outliers,
    spread,
)
from weal.core.paper.kernels import Kernel, correlation

PLAYERS = [
    (Kernel("rbf", 0.8, offset=10.0), 1e-2, 1.0),
    (Kernel("matern52", (0.5, 1.0, 2.0), offset=10.0), 1e-3, 0.7),
    (Kernel("rbf", 3.0, offset=10.0), 0.3, 2.0),
]
LOG_PRIOR = np.log([0.2, 0.5, 0.3])


def labels(t=14, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(t, 3))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.05 * rng.normal(size=t)
    return X, y, np.where(np.arange(t) % 5 == 0, 0.04, 0.0)


def evidence(X, y, noise_var):
    """Log evidence of labels, summed over the experts, the slow way."""
    each = []
    for (kernel, ratio, unit), prior in zip(PLAYERS, LOG_PRIOR, strict=True):
        C = correlation(kernel, X, X) + np.diag(ratio + noise_var / unit)
        L = np.linalg.cholesky(C)
        z = np.linalg.solve(L, y)
        s = np.diag(L) ** 2
        log_p, _ = ConjugateMagnitude.prior(1).after((z * np.sqrt(s))[None], s[None])
        each.append(prior + log_p[0])
    return logsumexp(each)


def slabs(y):
    log_prior = OutlierPrior(*spread(y), y.min(), y.max()).log_prior(y)
    return lambda now: log_prior


def test_the_density_of_a_label_is_the_ratio_of_evidences_with_and_without_it():
    X, y, noise_var = labels()
    wrong = np.isin(np.arange(len(y)), [2, 9])
    right = np.flatnonzero(~wrong)
    found = include_all(PLAYERS, LOG_PRIOR, X, y, noise_var, wrong)
    whole = evidence(X[right], y[right], noise_var[right])
    assert_allclose(found.log_z(), whole, rtol=1e-10)
    expected = []
    for i in range(len(y)):
        rows = [*right, i] if wrong[i] else [j for j in right if j != i]
        sign = 1.0 if wrong[i] else -1.0
        expected.append(sign * (evidence(X[rows], y[rows], noise_var[rows]) - whole))
    assert_allclose(found.log_density(), expected, rtol=1e-8, atol=1e-8)


def test_the_density_of_a_slip_is_that_of_what_was_meant_given_the_others():
    X, y, noise_var = labels()
    y[7] = -3.0 + (y[7] + 3.0) * 100.0  # zero is at -3
    wrong = np.isin(np.arange(len(y)), [2, 7])
    now = include_all(PLAYERS, LOG_PRIOR, X, y, noise_var, wrong)
    found = slips_and_swaps.log_prior(now.others(), y, -3.0)
    expected = []
    for i in range(len(y)):
        rest = [j for j in np.flatnonzero(~wrong) if j != i]

        def p(value, i=i, rest=rest):
            rows, told = [*rest, i], np.append(y[rest], value)
            return np.exp(
                evidence(X[rows], told, noise_var[rows])
                - evidence(X[rest], y[rest], noise_var[rest])
            )

        meant = [(k, -3.0 + (y[i] + 3.0) / 10.0**k) for k in DECIMAL_SLIP_POWERS]
        more = [
            10.0**-k * max(p(v) - np.exp(MIN_NATS_AGAINST_ZERO) * p(-3.0), 0.0) for k, v in meant
        ]
        expected.append(
            PRIOR_SLIPPED / (1.0 - PRIOR_SLIPPED) * np.sum(more) / len(DECIMAL_SLIP_POWERS)
        )
    assert np.argmax(found - now.log_density()) == 7
    assert_allclose(np.exp(found), expected, rtol=1e-6, atol=1e-300)


def test_nothing_has_slipped_where_others_expect_zero_or_nobody_knows_where_it_is():
    X, y, noise_var = labels()
    y[4] = 50.0
    now = include_all(PLAYERS, LOG_PRIOR, X, y, noise_var, np.arange(len(y)) == 4)
    assert slips_and_swaps.log_prior(now.others(), y, 0.0)[4] == -np.inf  # labels are -2 to 2
    assert (slips_and_swaps.log_prior(now.others(), y, np.nan) == -np.inf).all()


def test_doubting_and_believing_again_are_steps_of_rank_one():
    X, y, noise_var = labels()
    nobody = np.zeros(len(y), dtype=bool)
    now = include_all(PLAYERS, LOG_PRIOR, X, y, noise_var, nobody)
    for i in (3, 7, 3, 11):
        now = now.toggle(i)
    there = include_all(PLAYERS, LOG_PRIOR, X, y, noise_var, np.isin(np.arange(len(y)), [7, 11]))
    assert_array_equal(now.wrong, there.wrong)
    assert_allclose(now.A, there.A, rtol=1e-7, atol=1e-7)
    assert_allclose(now.log_det, there.log_det, rtol=1e-9)


def test_the_search_finds_a_label_far_off_and_leaves_one_that_is_sure():
    X, y, noise_var = labels()
    y[4] += 8.0
    slab = slabs(y)
    start = include_all(PLAYERS, LOG_PRIOR, X, y, noise_var, np.zeros(len(y), dtype=bool))
    assert np.flatnonzero(search(start, slab, np.zeros(len(y)), X).wrong).tolist() == [4]
    sure = (np.arange(len(y)) == 4).astype(float)
    assert not search(start, slab, sure, X).wrong[4]


def test_doubted_replicates_that_agree_are_believed_together():
    X, y, noise_var = labels()
    X[5], y[4:6] = X[4], 6.0
    slab = slabs(y)
    both = np.isin(np.arange(len(y)), [4, 5])
    start = include_all(PLAYERS, LOG_PRIOR, X, y, 0.0 * noise_var, both)
    assert not search(start, slab, np.zeros(len(y)), X).wrong[4:6].any()


def test_a_label_apart_lies_beyond_the_others_by_more_than_their_range():
    y, none = np.array([3.0, 1.0, 5.1, 2.0]), np.zeros(4)
    assert np.flatnonzero(beyond_all_others(y, none)).tolist() == [2]
    assert np.flatnonzero(beyond_all_others(-y, none)).tolist() == [2]
    assert not beyond_all_others(y, np.array([0.0, 0.0, 1.0, 0.0])).any()  # it is sure
    y[2] = 4.9
    assert not beyond_all_others(y, none).any()
    assert not beyond_all_others(np.ones(4), none).any()


def test_a_robust_sd_next_to_nothing_is_no_reason_to_doubt_labels_close_to_the_median():
    peak, bell = OutlierPrior(0.0, 1e-9, -0.1, 1.0), OutlierPrior(0.0, 1.0, -2.0, 2.0)
    y = np.array([0.0, 1e-8, 0.5, 1e3])
    wide = OutlierPrior(0.0, 1.1 / 5.0, 0.0, 0.0).log_prior(y)  # as wide as their range
    assert_allclose(peak.log_prior(y[:2]), wide[:2])
    assert (peak.log_prior(y[2:]) < wide[2:]).all()  # far from the median the tail is as it was
    assert_allclose(bell.log_prior(y), OutlierPrior(0.0, 1.0, 0.0, 0.0).log_prior(y))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_gross_labels_are_the_farthest_and_a_fifth_at_the_most(scale):
    y = scale * np.append(np.linspace(-1.0, 1.0, 16), [50.0, -60.0, 70.0, 80.0, 90.0])
    assert np.flatnonzero(gross_outliers(y, np.zeros(21))).tolist() == [17, 18, 19, 20]
    assert not gross_outliers(np.ones(20), np.zeros(20)).any()  # no scale
    assert not gross_outliers(y[-5:], np.zeros(5)).any()  # too few


def judged(X, y, noise_var, sure=None):
    def settle(kept, bend):
        z, noise = bend.labels(y[kept]), bend.variances(noise_var[kept], y[kept])
        variance = float(np.var(z))
        known = (X[kept], z / variance**0.5, noise / variance)
        return select_models(candidate_grid(X.shape[1]), NOISE_RATIO_GRID, *known), variance

    return find_outliers(
        X, y, noise_var, np.zeros(len(y)) if sure is None else sure, settle
    ).outliers


def test_the_judgement_does_not_depend_on_the_order_of_labels():
    X, y, _ = labels(24, seed=3)
    y[[3, 17]] += [6.0, -5.0]
    found = judged(X, y, np.zeros(24))
    assert np.flatnonzero(found.wrong).tolist() == [3, 17]
    order = np.random.default_rng(1).permutation(24)
    again = judged(X[order], y[order], np.zeros(24))
    assert_array_equal(again.wrong, found.wrong[order])
    assert_allclose(again.probability, found.probability[order], atol=1e-3)


def test_stated_noise_that_explains_a_label_speaks_for_it():
    X, y, noise_var = labels(24, seed=3)
    y[3] += 6.0
    assert judged(X, y, noise_var).wrong[3]
    assert not judged(X, y, np.where(np.arange(24) == 3, 36.0, noise_var)).wrong[3]
