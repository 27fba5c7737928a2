"""Units of stated noise, against the posterior of the magnitude on a fine grid."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from reference.cases import frozen
from reference.kernels import matrix
from weal.core.constants import MAGNITUDE_PRIOR_A, MAGNITUDE_PRIOR_B, NOISE_RATIO_GRID, UNIT_LABELS
from weal.core.extensions import label_noise
from weal.core.extensions.integrated_evidence import log_evidence_grid
from weal.core.extensions.label_noise import expected_units, prior_variance_of_difference, units
from weal.core.extensions.model_selection import candidate_grid, select_models
from weal.core.paper.kernels import Kernel, correlation

KERNELS = (
    Kernel("rbf", 0.9, offset=10.0),
    Kernel("matern52", (1.0, 4.0, 20.0), offset=10.0),
    Kernel("rq", 30.0, alpha=0.7),
)
SOME_RATIOS = (1e-8, 1e-2, 1.0)


def problem(seed, t=25, noise=0.2, d=3):
    """Labels of variance about 1 with unequal noise that is known; of one label in four, none."""
    rng = np.random.default_rng([seed, t])
    X = rng.standard_normal((t, d))
    noise_var = noise**2 * rng.exponential(1.0, t) * (np.arange(t) % 4 > 0)
    y = np.sin(X[:, 0]) + 0.7 * X[:, -1] + np.sqrt(noise_var) * rng.standard_normal(t)
    return frozen(X), frozen(y / y.std()), frozen(noise_var / y.var())


def log_posterior(sig2, kernel, ratio, X, y, noise_var):
    """As the module has it, the obvious way."""
    C = sig2 * (matrix(kernel, X, X) + kernel.offset + ratio * np.eye(len(y))) + np.diag(noise_var)
    _, log_det = np.linalg.slogdet(C)
    return (
        -MAGNITUDE_PRIOR_A * np.log(sig2)
        - MAGNITUDE_PRIOR_B / sig2
        - 0.5 * (log_det + y @ np.linalg.solve(C, y))
    )


@pytest.mark.covering
@pytest.mark.parametrize("noise", [0.01, 0.2, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_unit_is_the_magnitude_that_the_labels_speak_for(seed, noise):
    X, y, noise_var = problem(seed, noise=noise)
    found = units(KERNELS, SOME_RATIOS, X, y, noise_var)
    for kernel, row in zip(KERNELS, found, strict=True):
        for ratio, unit in zip(SOME_RATIOS, row, strict=True):
            heights = [
                log_posterior(unit * factor, kernel, ratio, X, y, noise_var)
                for factor in (0.97, 1.0, 1.03)
            ]
            assert heights[1] > max(heights[0], heights[2])


def test_without_stated_noise_it_is_where_the_log_magnitude_peaks_after_the_labels():
    X, y, noise_var = problem(1)
    none = np.zeros_like(noise_var)
    evidence, found = log_evidence_grid(KERNELS, SOME_RATIOS, X, y, none)
    np.testing.assert_allclose(found, units(KERNELS, SOME_RATIOS, X, y, none), rtol=1e-6)
    for kernel, row in zip(KERNELS, found, strict=True):
        K = matrix(kernel, X, X) + kernel.offset
        square = [y @ np.linalg.solve(K + ratio * np.eye(25), y) for ratio in SOME_RATIOS]
        truth = (MAGNITUDE_PRIOR_B + 0.5 * np.array(square)) / (MAGNITUDE_PRIOR_A + 12.5)
        np.testing.assert_allclose(row, truth, rtol=1e-5)
    assert np.isfinite(evidence).all()


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), t=st.sampled_from([1, 2, 20, UNIT_LABELS + 30]))
def test_units_depend_on_the_set_of_labels(seed, t):
    X, y, noise_var = problem(seed, t=t) if t > 1 else (np.ones((1, 3)), np.ones(1), np.ones(1))
    order = np.random.default_rng(seed).permutation(t)
    one = units(KERNELS, SOME_RATIOS, X, y, noise_var)
    other = units(KERNELS, SOME_RATIOS, X[order], y[order], noise_var[order])
    np.testing.assert_allclose(one, other, rtol=1e-4)


@pytest.mark.parametrize("amplitude", [0.0, 1e-6, 1e6, 1e90])
@pytest.mark.parametrize("stated", [1e-12, 1.0, 1e12])
def test_units_are_positive_whatever_is_stated(amplitude, stated):
    X, y, _ = problem(0, t=8)
    found = units(candidate_grid(3), NOISE_RATIO_GRID, X, amplitude * y, np.full(8, stated))
    assert (np.isfinite(found) & (found > 0.0)).all()


@pytest.mark.parametrize("seed", range(3))
def test_experts_that_play_believe_the_noise_that_was_stated(seed):
    """What they expect of their magnitude after the labels, over the unit, is 1 but for chance."""
    X, y, noise_var = problem(seed, t=60, noise=0.3)
    best = select_models(candidate_grid(3), NOISE_RATIO_GRID, X, y, noise_var)
    for kernel, ratio, unit in zip(best.kernels, best.noise, best.unit, strict=True):
        C = correlation(kernel, X, X) + np.diag(ratio + noise_var / unit)
        magnitude = (MAGNITUDE_PRIOR_B + 0.5 * y @ np.linalg.solve(C, y)) / (
            MAGNITUDE_PRIOR_A + 30.0
        )
        assert magnitude == pytest.approx(unit, rel=4.0 * (2.0 / 60.0) ** 0.5)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_expected_units_make_labels_vary_by_one(kernel):
    """To a factor of 2, for one distance stands for all."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((400, 3))
    K = correlation(kernel, X, X)
    for ratio, unit in zip(
        SOME_RATIOS,
        expected_units([prior_variance_of_difference(kernel, 3)], SOME_RATIOS)[0],
        strict=True,
    ):
        variance = unit * (kernel.variance + ratio - K.mean())
        assert 0.5 < variance < 2.0


def test_the_height_of_the_prior_is_that_of_the_log_magnitude():
    """By scipy's inverse gamma; between two magnitudes, for a constant does not matter."""
    sig2 = np.array([0.01, 1.0, 300.0])
    truth = stats.invgamma(MAGNITUDE_PRIOR_A, scale=MAGNITUDE_PRIOR_B).logpdf(sig2) + np.log(sig2)
    ours = label_noise.prior_height(sig2)
    np.testing.assert_allclose(ours - ours[0], truth - truth[0], rtol=1e-12)


def test_a_sample_is_even_over_the_labels():
    X, y, noise_var = problem(2, t=300)
    _, some, _ = label_noise.even_sample(UNIT_LABELS, X, y, noise_var)
    assert len(some) == UNIT_LABELS
    assert some.min() == y.min()
    assert some.max() == y.max()
    assert some.std() == pytest.approx(y.std(), rel=0.1)
