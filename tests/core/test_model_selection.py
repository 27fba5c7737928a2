"""Which experts play: evidence, posteriors, and how rarely relevance misleads."""

import numpy as np
import pytest
from scipy.stats import norm

from reference.cases import frozen
from reference.gaussian import student_log_evidence
from reference.kernels import matrix
from soak import count
from weal.core.constants import (
    MAGNITUDE_PRIOR_A,
    MAGNITUDE_PRIOR_B,
    MAX_EXPERTS,
    MIN_LABELS_FOR_ARD,
    MIN_MODEL_POSTERIOR,
    NOISE_HILL,
    NOISE_RATIO,
    NOISE_RATIO_GRID,
    NOISE_SPREAD,
    OFFSET_VARIANCE,
    SOUGHT_RATIOS,
)
from weal.core.extensions.conjugate_magnitude import ConjugateMagnitude
from weal.core.extensions.integrated_evidence import log_evidence_grid
from weal.core.extensions.model_selection import candidate_grid, select_models
from weal.core.paper import ensemble
from weal.core.paper.ensemble import Ensemble, normalise
from weal.core.paper.exact_gp import LEAST_RATIO, ExactExperts
from weal.core.paper.kernels import Kernel, correlation

SOME_RATIOS = (1e-4, 1e-2, 1.0)


def problem(seed=0, d=3, t=25, noise=0.1):
    """Labels, of sd about 1, of a function of the first two inputs; a few bring noise along."""
    rng = np.random.default_rng([seed, d, t])
    X = rng.standard_normal((t, d))
    y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1 % d] + noise * rng.standard_normal(t)
    noise_var = rng.exponential(0.1, t) * (rng.random(t) < 0.3)
    return frozen(X), frozen(y), frozen(noise_var)


def folded(best, X, y, noise_var, temper=1.0):
    """The ensemble that plays, after all labels."""
    experts = ExactExperts.prior(best.kernels, X.shape[1])
    scale = ConjugateMagnitude.prior(len(best.noise), unit=best.unit)
    ens = Ensemble(experts, normalise(best.log_prior), scale, best.noise, temper)
    return ensemble.update_many(ens, experts.solved_points(X), y, noise_var)


def log_posts(kernels, ratios, X, y, noise_var, temper):
    """Log posteriors (kernels, ratios) of kernels with even priors, but for a constant.

    Noise is stated: the prior of the magnitude counts as flat in its log. That of log lam is even
    and has a hill, as much lower as labels state theirs.
    """
    evidence, unit = log_evidence_grid(kernels, ratios, X, y, noise_var)
    hill = NOISE_HILL * np.mean(noise_var == 0.0)
    even = 1.0 / np.log(SOUGHT_RATIOS[1] / SOUGHT_RATIOS[0])
    around = norm.pdf(np.log(ratios), np.log(NOISE_RATIO), NOISE_SPREAD)
    prior = np.log((1.0 - hill) * even + hill * around)
    return temper * evidence + MAGNITUDE_PRIOR_A * np.log(unit) + MAGNITUDE_PRIOR_B / unit + prior


def is_fitted(kernel):
    return isinstance(kernel.length_scale, tuple)


def test_the_grid_has_every_family_at_every_lengthscale_and_an_offset():
    kernels = candidate_grid(4)
    assert {kernel.family for kernel in kernels} == {"rbf", "matern52"}
    assert {kernel.offset for kernel in kernels} == {OFFSET_VARIANCE}
    lengths = sorted({kernel.length_scale for kernel in kernels})
    assert len(kernels) == 2 * len(lengths) == 22
    np.testing.assert_allclose(lengths, 2.0 * 10.0 ** np.linspace(-1.25, 1.25, 11))


@pytest.mark.parametrize("seed", range(3))
def test_evidence_is_that_of_a_multivariate_student_t(seed):
    X, y, noise_var = problem(seed, t=9)
    kernels = (
        Kernel("rbf", 0.8, offset=10.0),
        Kernel("matern32", (0.5, 2.0, 7.0)),
        Kernel("rq", 1.4, alpha=0.3, offset=0.5),
    )
    ours, units = log_evidence_grid(kernels, SOME_RATIOS, X, y, noise_var)
    for kernel, row, unit in zip(kernels, ours, units, strict=True):
        K = matrix(kernel, X, X) + kernel.offset
        known = zip(SOME_RATIOS, unit, strict=True)
        truth = [
            student_log_evidence(K, y, ratio + noise_var / u, MAGNITUDE_PRIOR_A, MAGNITUDE_PRIOR_B)
            for ratio, u in known
        ]
        np.testing.assert_allclose(row, truth, rtol=1e-9)


@pytest.mark.parametrize("temper", [1.0, 0.3])
def test_without_relevance_weights_are_the_posteriors_of_the_grid(temper):
    X, y, noise_var = problem()
    best = select_models(
        candidate_grid(3), SOME_RATIOS, X, y, noise_var, relevance=False, temper=temper
    )
    posterior = np.exp(
        normalise(log_posts(candidate_grid(3), SOME_RATIOS, X, y, noise_var, temper).ravel())
    )
    order = np.argsort(-posterior)[:MAX_EXPERTS]
    playing = posterior[order][posterior[order] >= MIN_MODEL_POSTERIOR]
    w = folded(best, X, y, noise_var, temper).w
    np.testing.assert_allclose(w, playing / playing.sum(), rtol=1e-7)
    assert best.fitted == 0.0


@pytest.mark.parametrize("temper", [1.0, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_with_relevance_weights_divide_between_the_classes_as_chosen(seed, temper):
    X, y, noise_var = problem(seed, t=14)
    best = select_models(candidate_grid(3), SOME_RATIOS, X, y, noise_var, temper=temper)
    w = folded(best, X, y, noise_var, temper).w
    fitted = np.array([is_fitted(kernel) for kernel in best.kernels])
    if best.fitted > 0.1:
        assert fitted.any()
    if fitted.any():
        assert w[fitted].sum() == pytest.approx(best.fitted, rel=1e-7)
    posts = [
        log_posts([kernel], [ratio], X, y, noise_var, temper)[0, 0]
        for kernel, ratio in zip(best.kernels, best.noise, strict=True)
    ]
    prior = (np.log(w) - np.array(posts))[~fitted]
    np.testing.assert_allclose(prior, prior[0], atol=1e-7)  # even for the kernels of the grid


@pytest.mark.parametrize("seed", range(6))
def test_a_line_up_depends_on_the_set_of_labels(seed):
    X, y, noise_var = problem(seed, d=4, t=20, noise=0.1 * (seed % 2))
    order = np.random.default_rng(seed).permutation(20)
    one = select_models(candidate_grid(4), NOISE_RATIO_GRID, X, y, noise_var)
    other = select_models(candidate_grid(4), NOISE_RATIO_GRID, X[order], y[order], noise_var[order])
    assert [kernel.family for kernel in one.kernels] == [k.family for k in other.kernels]
    lengths = ([np.log(kernel.length_scale) for kernel in best.kernels] for best in (one, other))
    for a, b in zip(*lengths, strict=True):
        # A long lengthscale hardly moves the evidence: rounding moves it by 0.1 %.
        np.testing.assert_allclose(a, b, atol=5e-3)
    np.testing.assert_allclose(one.noise, other.noise, rtol=1e-2)
    assert one.fitted == pytest.approx(other.fitted, abs=1e-4)


def test_few_play_and_all_of_them_matter():
    X, y, noise_var = problem(t=6, noise=1.0)  # labels that hardly tell experts apart
    best = select_models(candidate_grid(3), NOISE_RATIO_GRID, X, y, noise_var)
    assert len(best.kernels) == len(best.noise) == len(best.log_prior) == MAX_EXPERTS
    X, y, _ = problem(t=60, noise=0.0)  # labels of which one class has all
    w = folded(
        select_models(candidate_grid(3), NOISE_RATIO_GRID, X, y, np.zeros(60)), X, y, np.zeros(60)
    ).w
    assert len(w) < MAX_EXPERTS
    assert w.min() >= MIN_MODEL_POSTERIOR


@pytest.mark.parametrize("t", [1, 2, 3, MIN_LABELS_FOR_ARD])
def test_lengthscales_are_fitted_from_four_labels_on(t):
    X, y, noise_var = problem(t=t)
    best = select_models(candidate_grid(3), NOISE_RATIO_GRID, X, y, noise_var)
    assert any(map(is_fitted, best.kernels)) == (t >= MIN_LABELS_FOR_ARD)
    assert (best.fitted > 0.0) == (t >= MIN_LABELS_FOR_ARD)


def test_relevance_is_found_where_it_matters():
    """Two of five inputs matter: their experts win, with long lengthscales for the others."""
    X, y, noise_var = problem(d=5, t=50)
    new, y_new, _ = problem(seed=1, d=5, t=100)
    best = select_models(candidate_grid(5), NOISE_RATIO_GRID, X, y, noise_var)
    assert best.fitted > 0.99
    ell = np.array(best.kernels[0].length_scale)
    assert ell[2:].min() > 2.0 * ell[:2].max()
    on_grid = select_models(candidate_grid(5), NOISE_RATIO_GRID, X, y, noise_var, relevance=False)
    known = (X, y, noise_var, new, y_new)
    assert held_out(best, *known) > held_out(on_grid, *known) + 0.3


AWKWARD = {
    "one label": (np.zeros((1, 3)), np.zeros(1)),
    "equal labels": (np.arange(24.0).reshape(8, 3) % 5, np.zeros(8)),
    "one point": (np.ones((8, 3)), np.arange(8.0)),
    "a line": (np.linspace(-1, 1, 40)[:, None] * np.ones(3), np.linspace(-1, 1, 40)),
    "a constant input": (np.arange(40.0)[:, None] * [0.1, 0.0, 0.0], np.sin(np.arange(40.0))),
    "an outlier": (np.arange(24.0).reshape(8, 3) % 5, np.append(np.zeros(7), 1e90)),
}


@pytest.mark.parametrize("ratios", [NOISE_RATIO_GRID, (1e-20, 1.0)])
@pytest.mark.parametrize("case", AWKWARD)
def test_awkward_labels_have_a_line_up_too(case, ratios):
    X, y = map(frozen, AWKWARD[case])
    best = select_models(candidate_grid(3), ratios, X, y, np.zeros(len(y)))
    assert np.isfinite(best.log_prior).all()
    assert np.isfinite(folded(best, X, y, np.zeros(len(y))).w).all()


def test_a_ratio_below_what_exact_experts_bear_counts_as_that():
    X, y, _ = problem(noise=0.0)
    kernels, noise_var = candidate_grid(3), np.zeros(len(y))
    assert (
        log_evidence_grid(kernels, [1e-30], X, y, noise_var)[0]
        == log_evidence_grid(kernels, [LEAST_RATIO], X, y, noise_var)[0]
    ).all()


@pytest.mark.parametrize("worst", [np.inf, np.nan])
def test_noise_without_bound_is_refused(worst):
    X, y, _ = problem()
    with pytest.raises(ValueError, match="not finite"):
        select_models(
            candidate_grid(3), NOISE_RATIO_GRID, X, y, np.append(np.zeros(len(y) - 1), worst)
        )


# How often relevance misleads: functions of which every input matters as much as the others


def isotropic(seed, d):
    """Labels of a function drawn from a GP with one lengthscale, and 100 held out."""
    rng = np.random.default_rng([seed, d, 99])
    t, family = int(rng.integers(20, 61)), str(rng.choice(["rbf", "matern52", "matern32"]))
    kernel = Kernel(family, float(d**0.5 * 10.0 ** rng.uniform(-0.5, 0.5)))
    X = rng.standard_normal((t + 100, d))
    C = correlation(kernel, X, X) + 1e-8 * np.eye(len(X))
    noise = rng.choice([0.0, 1e-2, 0.1]) * rng.standard_normal(len(X))
    y = np.linalg.cholesky(C) @ rng.standard_normal(len(X)) + noise
    y = (y - y[:t].mean()) / y[:t].std()
    return frozen(X[:t]), frozen(y[:t]), frozen(X[t:]), frozen(y[t:])


def held_out(best, X, y, noise_var, new, y_new):
    """Mean log density of labels held out."""
    ens = folded(best, X, y, noise_var)
    mu, var = ensemble.predict(ens, ens.experts.solved_points(new))
    return ensemble.log_density(ens, mu, var, y_new).mean()


def misleads(seed, d):
    """Whether fitted lengthscales have more than half of the mass, and labels held out are less
    likely than on the grid alone, by more than 0.02 for each.
    """
    X, y, new, y_new = isotropic(seed, d)
    known = (X, y, np.zeros(len(y)))
    best = select_models(candidate_grid(d), NOISE_RATIO_GRID, *known)
    if best.fitted <= 0.5:
        return False
    without = select_models(candidate_grid(d), NOISE_RATIO_GRID, *known, relevance=False)
    return held_out(best, *known, new, y_new) < held_out(without, *known, new, y_new) - 0.02


@pytest.mark.parametrize(("d", "N"), count([(2, 100), (5, 50)], long=[(2, 300), (5, 150)]))
def test_relevance_misleads_in_less_than_5_percent_of_isotropic_functions(d, N):
    """Measured: 2.3 % of these 300 at d = 2, 2.7 % of these 150 at d = 5; with 0.5 for what is
    fitted and 0.3 for anova, whatever d, and even noise on the grid, it was 12 and 6 %.
    """
    assert sum(misleads(seed, d) for seed in range(N)) < 0.05 * N
