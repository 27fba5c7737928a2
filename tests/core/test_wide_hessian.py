"""Curvature and search with many inputs: the same numbers as one parameter at a time."""

import numpy as np
import pytest

from weal.core.extensions import anova_kernel, ard, integrated_evidence
from weal.core.extensions.ard import EvidenceFit, forward, kernel_parameters
from weal.core.paper.kernels import Kernel

T, D = 14, 9


def problem(family, seed=0):
    """A fit with noise of the labels' own, away from its peak."""
    rng = np.random.default_rng(seed)
    X, d = rng.normal(size=(T, D)), D
    y = np.sin(X[:, 0]) + X[:, 1]
    kernel = Kernel(family, 3.0, 0.4 if family == "anova" else 1.3, 10.0)
    shape = kernel_parameters(kernel, d)
    p = np.append(shape.place(kernel) + 0.4 * rng.normal(size=len(shape.mean)), np.log(0.02))
    return EvidenceFit.of(shape, X, y / y.std(), 0.02 * rng.random(T)), p


@pytest.mark.parametrize("family", ["rbf", "matern52", "rq", "anova", "trend"])
def test_columns_found_together_are_those_found_one_by_one(family):
    fit, p = problem(family)
    at = fit.loss(p)[1]
    slow, fast = ard._hessian(fit, p, at), ard._wide_hessian(fit, p, at)
    np.testing.assert_allclose(fast, slow, rtol=0.0, atol=1e-8 * np.abs(slow).max())


@pytest.mark.parametrize("family", ["rbf", "anova"])
def test_blocks_of_columns_change_nothing(family, constants):
    fit, p = problem(family, 1)
    at = fit.loss(p)[1]
    whole = ard._wide_hessian(fit, p, at)
    constants(integrated_evidence, NUMBERS=2 * T * T)
    np.testing.assert_allclose(ard._wide_hessian(fit, p, at), whole, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("is_anova", [False, True])
def test_the_prior_of_many_lengthscales_is_the_same_in_closed_form(is_anova):
    (precision, log_norm), (slow, slow_norm) = (
        prior(D, is_anova) for prior in (ard._lengths_prior, ard._prior)
    )
    np.testing.assert_allclose(precision, slow, atol=1e-12)
    assert log_norm == pytest.approx(slow_norm)


def test_the_search_and_the_slopes_of_many_inputs_are_those_of_few(constants):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, D))
    y, noise_var = 2.0 * np.sin(X[:, 2]) + X[:, 5], 0.01 * rng.random(30)
    kernel, p = Kernel("matern52", 3.0, offset=10.0), rng.normal(size=D + 1)
    few, (k, slopes) = forward(kernel, X, y, noise_var), anova_kernel.with_slopes(p, X[:20].T ** 2)
    constants(ard, WIDE=0)
    constants(anova_kernel, MAX_EMPTY_SHARE=0.0)  # the sum of positive terms
    assert forward(kernel, X, y, noise_var) == few
    again, slopes_again = anova_kernel.with_slopes(p, X[:20].T ** 2)
    np.testing.assert_allclose(again, k, rtol=1e-12)
    np.testing.assert_allclose(slopes_again(np.ones(20)), slopes(np.ones(20)), rtol=1e-9)
