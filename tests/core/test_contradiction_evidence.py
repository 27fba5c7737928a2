"""Evidence that a set of labels has another origin, beside the densities written out in full."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_t

from weal.core.constants import MAGNITUDE_PRIOR_A, MAGNITUDE_PRIOR_B
from weal.core.extensions.contradiction_evidence import (
    RATIOS,
    RUN_SDS,
    SHIFT,
    evidence,
    group_gain,
    regions,
    run_gain,
    standardise,
    wrong_labels,
)
from weal.core.extensions.label_warp import fit_warp
from weal.core.paper.kernels import Kernel, correlation

KERNELS = [Kernel("rbf", 0.7, offset=10.0), Kernel("matern52", (2.0, 0.5, 1.0), offset=10.0)]


@pytest.fixture
def labels():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((9, 3))
    y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(9)
    return X, y, np.where(np.arange(9) < 4, 0.05, 0.0)


def log_mean_density(X, y, noise_var, changed=lambda C: C):
    """Of a multivariate Student-t for each expert: the magnitude is integrated out."""
    found = []
    for kernel in KERNELS:
        for ratio in RATIOS:
            C = changed(correlation(kernel, X, X) + np.diag(ratio + noise_var))
            found.append(
                multivariate_t(
                    shape=MAGNITUDE_PRIOR_B / MAGNITUDE_PRIOR_A * C, df=2 * MAGNITUDE_PRIOR_A
                ).logpdf(y)
            )
    return logsumexp(found) - np.log(len(found))


def straight(X, y, noise_var):
    """Evidence of labels as they are."""
    found = evidence(KERNELS, X, y, noise_var)
    return type(found)(found.C, found.Y[:, :1], found.log_slope[:, :1])


def test_evidence_is_that_of_a_student_t(labels):
    assert straight(*labels).log_z() == pytest.approx(log_mean_density(*labels), abs=1e-8)


def test_bent_labels_have_a_density_of_labels_as_they_are(labels):
    X, y, noise_var = labels
    at, more = evidence(KERNELS, X, y, noise_var).Y[:, 1], 1e-6
    assert evidence(KERNELS, X, y, noise_var).Y.shape == (9, 2)
    bend = fit_warp(y)
    slope = (bend.labels(y + more) - bend.labels(y - more)) / (2 * more)
    np.testing.assert_allclose(at, bend.labels(y))
    found = evidence(KERNELS, X, y, noise_var).log_slope
    np.testing.assert_allclose(found, np.column_stack([np.zeros(9), np.log(slope)]), atol=1e-6)


def test_a_group_is_of_another_function_or_shifted(labels):
    X, y, noise_var = labels
    group = np.arange(9) % 3 == 0
    across = group[:, None] != group[None, :]
    apart = log_mean_density(X, y, noise_var, lambda C: np.where(across, 0.0, C))
    shifted = log_mean_density(X, y, noise_var, lambda C: C + SHIFT * np.outer(group, group))
    one = log_mean_density(X, y, noise_var)
    seen = straight(X, y, noise_var)
    expected = np.logaddexp(apart, shifted) - np.log(2) - one
    assert group_gain(seen, group, seen.log_z()) == pytest.approx(expected, abs=1e-8)


def test_a_run_tells_nothing_of_the_function(labels):
    X, y, noise_var = labels
    run = (np.arange(9) >= 3) & (np.arange(9) < 6)
    y = np.where(run, 0.2, y)
    rest = log_mean_density(X[~run], y[~run], noise_var[~run])
    stuck = 3 * (-np.log(RUN_SDS * np.sqrt(2 * np.pi)) - 0.5 * (0.2 / RUN_SDS) ** 2)
    expected = rest + stuck - log_mean_density(X, y, noise_var)
    assert run_gain(straight(X, y, noise_var), run) == pytest.approx(expected, abs=1e-8)


def test_a_run_at_a_bound_is_right_where_the_others_expect_what_is_beyond():
    x = np.linspace(-2.0, 2.0, 21)
    y = np.minimum(2.0 * x, 1.0)
    run = y == 1.0
    seen = evidence([Kernel("rbf", 2.0, offset=10.0)], x[:, None], y, np.zeros(21))
    assert run_gain(seen, run) > 5.0
    assert run_gain(seen, run, bound=1) < 0.0


def test_wrong_labels_are_found_together_and_only_those_that_may_be():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (30, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    y[[3, 11, 20]] += 5.0
    y, noise_var = standardise(y, np.zeros(30))
    seen = evidence(
        [Kernel("rbf", 1.0, offset=10.0), Kernel("rbf", 3.0, offset=10.0)], X, y, noise_var
    )
    wrong, gain = wrong_labels(seen, np.ones(30, dtype=bool))
    assert np.flatnonzero(wrong).tolist() == [3, 11, 20]
    assert gain > 20.0
    free = np.arange(30) < 12
    wrong, _ = wrong_labels(seen, free)
    assert not wrong[~free].any()


def test_what_the_others_expect_is_the_mean_of_the_experts(labels):
    X, y, noise_var = labels
    seen, out = straight(X, y, noise_var), np.arange(9) == 5
    log_w, means = [], []
    for kernel in KERNELS:
        for ratio in RATIOS:
            C = correlation(kernel, X, X) + np.diag(ratio + noise_var)
            kept = C[np.ix_(~out, ~out)]
            means.append(C[5, ~out] @ np.linalg.solve(kept, y[~out]))
            log_w.append(
                multivariate_t(
                    shape=MAGNITUDE_PRIOR_B / MAGNITUDE_PRIOR_A * kept, df=2 * MAGNITUDE_PRIOR_A
                ).logpdf(y[~out])
            )
    w = np.exp(np.array(log_w) - logsumexp(log_w))
    assert seen.predict(out)[0, 0] == pytest.approx(w @ means, abs=1e-8)


def test_units_of_labels_do_not_matter(labels):
    _, y, noise_var = labels
    once = standardise(y, noise_var)
    again = standardise(1e6 - 250.0 * y, 250.0**2 * noise_var)
    np.testing.assert_allclose(again[0], -once[0], atol=1e-9)
    np.testing.assert_allclose(again[1], once[1])


@pytest.mark.parametrize("d", [1, 3, 40])
def test_a_group_of_one_region_is_found_as_a_region(d):
    rng = np.random.default_rng(d)
    X = rng.standard_normal((40, d))
    group = X[:, 0] > 0.3
    assert any((one == group).all() or (one == ~group).all() for one in regions(X, group))


def test_inputs_that_do_not_vary_make_no_region():
    X = np.zeros((12, 2))
    assert regions(X, np.arange(12) < 5) == []
