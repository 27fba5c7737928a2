"""Experts that know f through inducing points, against exact algebra and against exact experts."""

import numpy as np
import pytest

from reference.cases import campaign, frozen, kernels
from weal.core.extensions.inducing_gp import (
    BLOCK_LABELS,
    InducingExperts,
    InducingFeatures,
    pivoted_cholesky,
)
from weal.core.paper.exact_gp import ExactExperts
from weal.core.paper.feature_gp import apply_step
from weal.core.paper.kernels import Kernel, correlation

M = 4


def rough(seed, t, d=3):
    """Labels of a rough function with noise."""
    rng = np.random.default_rng([seed, t])
    X = rng.uniform(-2.0, 2.0, (t, d))
    return X, np.sin(4.0 * X[:, 0]) + np.abs(X[:, 1]) + 0.1 * rng.standard_normal(t)


def learnt(embedding, X, y, lam):
    """Experts with these inducing points after the labels; lam (M,)."""
    prior = InducingExperts.prior(len(lam), embedding.width(None))
    ratios = np.repeat(np.asarray(lam)[:, None], len(y), axis=1)
    return prior.absorb(embedding.points(prior, X), y, frozen(ratios))


def fitc(kernel, Z, X, y, lam, new):
    """Mean and variance of f at new points by the definition: dense, and with solves."""

    def explained(a, b):
        return correlation(kernel, a, Z) @ np.linalg.solve(
            correlation(kernel, Z, Z), correlation(kernel, Z, b)
        )

    noise = lam + kernel.variance - np.diag(explained(X, X))
    C = explained(X, X) + np.diag(noise)
    k = explained(X, new)
    return k.T @ np.linalg.solve(C, y), kernel.variance - np.sum(k * np.linalg.solve(C, k), axis=0)


def some_points(d, X, counts=(7, 5, 7, 3)):
    """Different points for each expert, and different numbers of them."""
    return InducingFeatures.of(kernels(d), [X[m : m + n] for m, n in enumerate(counts)])


def test_they_are_the_dense_formula():
    camp = campaign(1, d=3, t=12)
    embedding = some_points(3, camp.X)
    experts, _, _ = learnt(embedding, camp.X, camp.y, camp.lam)
    mu, v = experts.predict(embedding.points(experts, camp.Z))
    for m, kernel in enumerate(kernels(3)):
        mean, var = fitc(kernel, embedding.Z[m], camp.X, camp.y, camp.lam[m], camp.Z)
        np.testing.assert_allclose(mu[m], mean, atol=1e-7)
        np.testing.assert_allclose(v[m], var, atol=1e-7)


@pytest.mark.parametrize("layout", ["scattered", "repeated"])
@pytest.mark.parametrize("ratio", [1e-8, 1e-2, 1.0])
def test_with_all_labels_as_inducing_points_they_are_exact(layout, ratio):
    camp = campaign(2, d=4, t=15, ratio=ratio, layout=layout)
    embedding = InducingFeatures.of(kernels(4), [np.unique(camp.X, axis=0)] * M)
    experts, e, s = learnt(embedding, camp.X, camp.y, camp.lam)
    exact = ExactExperts.prior(kernels(4), 4)
    ratios = np.repeat(camp.lam[:, None], len(camp.y), axis=1)
    exact, e_exact, s_exact = exact.absorb(exact.solved_points(camp.X), camp.y, ratios)
    rounding = 1e-9 / min(1.0, ratio) ** 0.5
    np.testing.assert_allclose(s, s_exact, rtol=1e-2 * rounding, atol=rounding * 1e-2)
    np.testing.assert_allclose(e, e_exact, atol=rounding * 10)
    mu, v = experts.predict(embedding.points(experts, camp.Z))
    mu_exact, v_exact = exact.predict(exact.solved_points(camp.Z))
    np.testing.assert_allclose(mu, mu_exact, atol=rounding * 10)
    np.testing.assert_allclose(v, v_exact, atol=rounding)


@pytest.mark.parametrize("ratio", [1e-9, 1e-3])
def test_blocks_and_single_labels_come_to_the_same(ratio):
    X, y = rough(3, BLOCK_LABELS + 20)
    lam = ratio * np.array([1.0, 30.0, 1.7, 6.0])
    embedding = some_points(3, X, (40, 31, 25, 40))
    together, e, s = learnt(embedding, X, y, lam)
    single, met = InducingExperts.prior(M, 41), []
    for x, label in zip(X, y, strict=True):
        step = single.step(embedding.points(single, x[None]), label, lam)
        single = single.condition(step)
        met.append((step.e, step.s))
    e_steps, s_steps = np.array(met).transpose(1, 2, 0)
    np.testing.assert_allclose(s, s_steps, rtol=1e-6)
    np.testing.assert_allclose(e, e_steps, atol=1e-6)
    np.testing.assert_allclose(together.Sigma, single.Sigma, atol=1e-8)
    new = embedding.points(single, X[:7] + 0.1)
    for part, other in zip(together.predict(new), single.predict(new), strict=True):
        np.testing.assert_allclose(part, other, rtol=1e-6, atol=1e-7)


def test_a_column_moves_the_belief_on_any_points():
    camp = campaign(5, d=3, t=12)
    embedding = some_points(3, camp.X)
    experts = InducingExperts.prior(M, embedding.width(None))
    points = embedding.points(experts, camp.Z)
    mu, v = experts.predict(points)
    for x, y in zip(camp.X, camp.y, strict=True):
        step = experts.step(embedding.points(experts, x[None]), y, camp.lam)
        mu, v = apply_step(mu, v, step.column(points), step)
        experts = experts.condition(step)
    for kept, anew in zip((mu, v), experts.predict(points), strict=True):
        np.testing.assert_allclose(kept, anew, atol=1e-10)


def test_covariances_and_remainders_make_the_variance():
    camp = campaign(6, d=3, t=12)
    embedding = some_points(3, camp.X)
    experts, _, _ = learnt(embedding, camp.X, camp.y, camp.lam)
    points = embedding.points(experts, camp.Z)
    _, v = experts.predict(points)
    r, prior = experts.remainders(points), experts.prior_covariance(points, points)
    for m, kernel in enumerate(kernels(3)):
        np.testing.assert_allclose(np.diag(prior[m]) + r[m], kernel.variance, atol=1e-12)
        np.testing.assert_allclose(
            np.diag(experts.covariance(points, points)[m]) + r[m], v[m], atol=1e-12
        )


@pytest.mark.parametrize("which", [slice(1, 3), np.array([3, 0]), np.array([3])], ids=str)
def test_some_of_the_experts_are_the_same_experts(which):
    camp = campaign(7, d=3, t=12)
    embedding = some_points(3, camp.X)
    experts, _, _ = learnt(embedding, camp.X, camp.y, camp.lam)
    some, part = experts.take(which), embedding.take(which)
    assert part.width(some) == embedding.width(experts)
    whole = experts.predict(embedding.points(experts, camp.Z))
    for few, all_of_them in zip(some.predict(part.points(some, camp.Z)), whole, strict=True):
        np.testing.assert_allclose(few, all_of_them[which], atol=1e-12)


# Error that is controlled


def test_more_points_leave_less_and_predict_what_exact_experts_do():
    kernel = Kernel("matern52", (0.7, 1.5, 3.0), offset=10.0)
    (X, y), (new, _) = rough(8, 400), rough(9, 50)
    lam = np.full((1, len(y)), 1e-2)
    exact = ExactExperts.prior((kernel,), 3)
    exact, _, _ = exact.absorb(exact.solved_points(X), y, lam)
    mean, var = exact.predict(exact.solved_points(new))
    off, left = [], []
    for m in (25, 100, 400):
        chosen = pivoted_cholesky(kernel, X, m, 0.0)
        embedding = InducingFeatures.of([kernel], [X[chosen.rows]])
        experts, _, _ = learnt(embedding, X, y, [1e-2])
        mu, v = experts.predict(embedding.points(experts, new))
        off.append(np.abs(mu - mean).max())
        left.append(chosen.left)
        assert (v >= var - 1e-9).all()  # never too sure
    assert off[0] > 2.0 * off[1] > 1e3 * off[2]
    assert left[0] > 2.0 * left[1] > 1e3 * left[2]


def test_points_are_those_that_the_ones_before_explain_least():
    """Each has half of the largest remainder there is when its turn comes, at least."""
    kernel, (X, _) = Kernel("matern32", (0.7, 1.5, 3.0), offset=10.0), rough(10, 300)
    K = correlation(kernel, X, X)
    rows = pivoted_cholesky(kernel, X, 60, 0.0).rows
    assert len(set(rows.tolist())) == 60
    for j in range(1, 60):
        Z = rows[:j]
        r = np.diag(K) - np.einsum("zn,zn->n", K[Z], np.linalg.solve(K[np.ix_(Z, Z)], K[Z]))
        assert r[rows[j]] >= 0.3 * r.max()


def test_as_few_points_are_taken_as_leave_enough():
    kernel, (X, _) = Kernel("rbf", 2.0, offset=10.0), rough(11, 500)
    found = pivoted_cholesky(kernel, X, 400, 1e-4)
    assert found.enough
    assert 10 < len(found.rows) < 150
    K, Z = correlation(kernel, X, X), found.rows
    r = np.diag(K) - np.einsum("zn,zn->n", K[Z], np.linalg.solve(K[np.ix_(Z, Z)], K[Z]))
    others = np.delete(r, Z)
    assert others.mean() == pytest.approx(found.left, abs=1e-9)
    assert others.mean() <= 1e-4
    short = pivoted_cholesky(kernel, X, 10, 1e-4)
    assert len(short.rows) == 10
    assert not short.enough


@pytest.mark.parametrize("offset", [0.0, 10.0, 1e8])
def test_nearly_equal_points_and_huge_offsets_leave_a_factor(offset):
    X, _ = rough(12, 60)
    kernel, X = Kernel("rbf", 5.0, offset=offset), np.concatenate([X, X + 1e-7, X[:5] + 1e-13])
    found = pivoted_cholesky(kernel, X, 125, 0.0)
    points = InducingFeatures.of([kernel], [X[found.rows]]).points(None, X)
    assert np.isfinite(points).all()
    assert points[0, :, -1].max() <= 1e-5 * kernel.variance**0.5


def test_equal_points_are_taken_once_and_one_is_enough_for_them():
    X = np.repeat([[0.1, 0.2, 0.3]], 30, axis=0)
    found = pivoted_cholesky(Kernel("rbf", 1.0), X, 20, 0.0)
    assert found.rows.tolist() == [0]
    assert found.enough
