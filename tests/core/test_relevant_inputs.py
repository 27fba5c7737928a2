"""Subsets of relevant inputs, against an enumeration of all subsets."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import comb

from reference.cases import frozen
from weal.core.constants import IRRELEVANT, NOISE_RATIO_GRID
from weal.core.extensions import quasi_newton
from weal.core.extensions.ard import fit
from weal.core.extensions.integrated_evidence import evidence_constant, log_evidence_grid
from weal.core.extensions.model_selection import candidate_grid, refit_selection, select_models
from weal.core.extensions.relevant_inputs import (
    fit_relevant,
    log_subset_prior,
    max_subset_odds,
    nested_subsets,
    on_all_inputs,
    relevance_probability,
    relevant,
    subset_candidates,
)
from weal.core.extensions.varying_noise import selected_ensemble
from weal.core.paper.kernels import Kernel

START = {"rbf": 6.0, "matern52": 6.0}


def problem(seed=0, t=40, d=4, noise=0.1):
    """Labels of sd about 1 that depend on the first and the third input."""
    rng = np.random.default_rng([seed, t, d])
    X = rng.standard_normal((t, d))
    y = np.sin(1.5 * X[:, 0] + X[:, 2]) + noise * rng.standard_normal(t)
    return frozen(X), frozen((y - y.mean()) / y.std()), frozen(np.zeros(t))


def peaks(X, y, noise_var):
    return [
        fit(Kernel(family, ell, offset=10.0), 1e-2, X, y, noise_var)
        for family, ell in START.items()
    ]


def enumerated(family, X, y, noise_var):
    """Laplace evidence times prior of every subset, each fitted from scratch."""
    d, found = X.shape[1], {}
    for size in range(1, d):
        for S in combinations(range(d), size):
            start = Kernel(family, START[family], offset=10.0)
            peak = fit(start, 1e-2, X[:, S], y, noise_var)
            found[S] = peak.log_z - np.log(d) - np.log(comb(d, size))
    return found


def subset_of(kernel):
    return tuple(np.flatnonzero(relevant(kernel, len(kernel.length_scale))).tolist())


def posteriors(found, places):
    """Log posterior of each family and subset, of the inputs at these places."""
    each = {}
    for (kernel, _), log_post in zip(found.models, found.log_post, strict=True):
        key = (kernel.family, tuple(sorted(places[n] for n in subset_of(kernel))))
        each[key] = np.logaddexp(each.get(key, -np.inf), log_post)
    return each


@pytest.mark.parametrize("seed", range(2))
def test_posteriors_of_subsets_are_those_of_an_enumeration(seed):
    X, y, noise_var = problem(seed)
    known = peaks(X, y, noise_var)
    found = subset_candidates(known, -np.inf, X, y, noise_var)
    each = posteriors(found, range(4))
    constant = evidence_constant(len(y)) - np.log(2)
    for family in START:
        truth = enumerated(family, X, y, noise_var)
        likeliest = max(truth, key=truth.get)
        assert likeliest == (0, 2)
        if truth[likeliest] + constant > max(each.values()) - 7.0:
            assert (family, likeliest) in each
        for (other, S), log_post in each.items():
            if other == family:
                assert log_post == pytest.approx(truth[S] + constant, abs=0.1)


def test_prior_probabilities_of_all_subsets_leave_one_size_for_all_inputs():
    total = sum(comb(7, size) * np.exp(log_subset_prior(7, size)) for size in range(1, 7))
    assert total == pytest.approx(6 / 7)


def test_a_chain_of_subsets_is_nested_and_keeps_relevant_inputs_longest():
    X, y, noise_var = problem(3, t=60, d=7)
    for peak in peaks(X, y, noise_var):
        chain = [set(one.inputs) for one in nested_subsets(peak, -np.inf, 0.0)]
        assert all(small < large for large, small in pairwise(chain))
        assert {0, 2} in chain


@pytest.mark.parametrize("columns", [(3, 1, 0, 2), (2, 3, 1, 0)])
def test_order_of_labels_and_of_columns_does_not_matter(columns):
    X, y, noise_var = problem(5)
    rows = np.random.default_rng(0).permutation(len(y))
    known = [(X, y, noise_var), (X[np.ix_(rows, columns)], y[rows], noise_var)]
    first, other = (
        posteriors(subset_candidates(peaks(*one), -np.inf, *one), places)
        for one, places in zip(known, (range(4), columns), strict=True)
    )
    assert first.keys() == other.keys()
    np.testing.assert_allclose([other[key] for key in first], list(first.values()), atol=1e-3)


def test_stated_noise_enters_the_evidence_of_a_subset():
    X, y, _ = problem(2, t=30)
    noise_var = frozen(np.where(np.arange(30) % 3 == 0, 0.05, 0.0))
    found = select_models(candidate_grid(4), NOISE_RATIO_GRID, X, y, noise_var)
    assert np.isfinite(found.log_prior).all()
    assert np.isfinite(found.unit).all()
    assert any(subset_of(k) == (0, 2) for k in found.kernels if isinstance(k.length_scale, tuple))


def test_without_subsets_every_input_matters_to_every_expert():
    X, y, noise_var = problem(1)
    found = select_models(candidate_grid(4), NOISE_RATIO_GRID, X, y, noise_var, subsets=False)
    assert all(relevant(kernel, 4).all() for kernel in found.kernels)


def test_a_refit_to_more_labels_keeps_irrelevant_inputs_irrelevant():
    X, y, noise_var = problem(4, t=90)
    some = slice(0, 45)
    found = select_models(candidate_grid(4), NOISE_RATIO_GRID, X[some], y[some], noise_var[some])
    assert subset_of(found.kernels[0]) == (0, 2)
    again = refit_selection(found, X, y, noise_var, most=4)
    assert subset_of(again.kernels[0]) == (0, 2)
    assert IRRELEVANT in again.kernels[0].length_scale


def test_a_fit_of_relevant_inputs_is_a_fit_on_these_columns():
    X, y, noise_var = problem(6)
    kernel, noise, log_post = fit_relevant(
        Kernel("rbf", (2.0, IRRELEVANT, 3.0, IRRELEVANT), offset=10.0), 1e-2, X, y, noise_var
    )
    alone = fit(Kernel("rbf", (2.0, 3.0), offset=10.0), 1e-2, X[:, [0, 2]], y, noise_var)
    assert kernel.length_scale[1] == kernel.length_scale[3] == IRRELEVANT
    np.testing.assert_allclose(
        [kernel.length_scale[0], kernel.length_scale[2], noise],
        [*alone.kernel.length_scale, alone.noise],
        rtol=1e-9,
    )
    assert log_post == pytest.approx(alone.log_z - np.log(4 * 6))


def test_quasi_newton_finds_the_minimum_that_scipy_finds():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, 6))
    A, b = A @ A.T + 0.1 * np.eye(6), rng.standard_normal(6)

    def loss(p):
        value = 0.5 * p @ A @ p - b @ p + 0.1 * np.sum(p**4)
        return value, A @ p - b + 0.4 * p**3

    low, high = np.full(6, -0.3), np.full(6, 0.6)
    truth = minimize(
        loss, np.zeros(6), jac=True, method="L-BFGS-B", bounds=list(zip(low, high, strict=True)),
        options={"maxiter": 1000, "ftol": 1e-14, "gtol": 1e-10},
    )  # fmt: skip
    for H in (np.eye(6), A, -np.eye(6)):
        found = quasi_newton.minimise(loss, np.zeros(6), H, low, high, 1e-9)
        assert found.loss == pytest.approx(truth.fun, abs=1e-6)
        assert ((low <= found.p) & (found.p <= high)).all()


@pytest.mark.parametrize(("t", "share"), [(28, 0.9), (60, 36.0 / 37.0), (90, 81.0 / 82.0)])
def test_experts_of_all_inputs_keep_their_share_however_sure_the_evidence_is(t, share):
    X, y, noise_var = problem(t=t, d=6, noise=0.0)
    found = select_models(candidate_grid(6), NOISE_RATIO_GRID, X, y, noise_var)
    trained = selected_ensemble(found, X, y, noise_var)
    of_subset = np.array([not relevant(kernel, 6).all() for kernel in found.kernels])
    assert trained.w[of_subset].sum() == pytest.approx(share, abs=1e-3)
    assert share / (1.0 - share) == pytest.approx(max_subset_odds(t))
    irrelevant = relevance_probability(found.kernels, trained.w, 6, t)[[1, 3, 4, 5]]
    np.testing.assert_allclose(irrelevant, 0.0, atol=0.01)


def test_inputs_that_do_not_matter_leave_no_trace_in_evidence_without_noise():
    """At a lengthscale of 1e6 they did: noise ratios are as small as 1e-11."""
    X, y, noise_var = problem(t=80, d=12, noise=0.0)
    inputs = [0, 2]
    small = Kernel("rbf", (2.0, 3.0), offset=10.0)
    large = on_all_inputs(small, inputs, (), 12)
    each = [
        log_evidence_grid([kernel], [1e-11], Z, y, noise_var)[0][0, 0]
        for kernel, Z in ((small, X[:, inputs]), (large, X))
    ]
    assert each[0] == pytest.approx(each[1], abs=0.05)
