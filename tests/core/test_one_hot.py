"""Categories as inputs of several columns: the grouped kernels, and how columns are grouped."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import OneHotEncoder

from weal.core.extensions.ard import EvidenceFit, fit, forward, kernel_parameters
from weal.core.one_hot import find_widths, level_codes, matrix_distances, pair_distances
from weal.core.paper.kernels import Kernel, correlation
from weal.core.paper.random_features import draw_frequencies, features
from weal.core.scaling import from_data

WIDTHS = (1, 3, 1, 4)
ELL = (0.7, 1.3, 2.1, 0.4)


def rows(n: int, seed: int = 0, new: bool = True) -> tuple[np.ndarray, list[tuple]]:
    """One-hot rows of two numbers and two categories, and the same rows as numbers and levels."""
    rng = np.random.default_rng(seed)
    numbers, levels = rng.standard_normal((n, 2)), rng.integers(-1 if new else 0, [3, 4], (n, 2))
    one_hot = [np.vstack([np.eye(L), np.zeros(L)])[levels[:, c]] for c, L in enumerate((3, 4))]
    X = np.column_stack([numbers[:, 0], one_hot[0], numbers[:, 1], one_hot[1]])
    plain = [(x, int(a), z, int(b)) for (x, z), (a, b) in zip(numbers, levels, strict=True)]
    X.flags.writeable = False
    return X, plain


def squared(one: tuple, other: tuple) -> list[float]:
    """Squared distances by input, over the squared lengthscales, of two rows."""
    parts = [(one[0] - other[0]) ** 2, 2.0 * (one[1] != other[1])]
    parts += [(one[2] - other[2]) ** 2, 2.0 * (one[3] != other[3])]
    return [part / ell**2 for part, ell in zip(parts, ELL, strict=True)]


def matern52(r2: float) -> float:
    a = math.sqrt(5.0 * r2)
    return (1.0 + a + a * a / 3.0) * math.exp(-a)


def anova(parts: list[float], s: float) -> float:
    product = math.prod(1.0 + s * matern52(r2) for r2 in parts)
    return (product - 1.0) / ((1.0 + s) ** len(parts) - 1.0)


REFERENCES = {
    "rbf": lambda parts, alpha: math.exp(-0.5 * sum(parts)),
    "matern12": lambda parts, alpha: math.exp(-math.sqrt(sum(parts))),
    "matern52": lambda parts, alpha: matern52(sum(parts)),
    "rq": lambda parts, alpha: (1.0 + sum(parts) / (2.0 * alpha)) ** -alpha,
    "anova": anova,
}


@pytest.mark.parametrize("family", REFERENCES)
def test_the_grouped_kernel_is_the_slow_one_pair_by_pair(family):
    (X, plain), (Y, others) = rows(17, 1), rows(9, 2)
    kernel = Kernel(family, ELL, 0.8, 0.5, WIDTHS)
    expected = [[REFERENCES[family](squared(a, b), 0.8) + 0.5 for b in others] for a in plain]
    np.testing.assert_allclose(correlation(kernel, X, Y), expected, rtol=1e-12)


@pytest.mark.parametrize("family", ["rbf", "matern52", "anova"])
def test_rows_of_known_levels_are_as_far_apart_as_their_columns(family):
    X, _ = rows(12, 3, new=False)
    plain = Kernel("rbf", tuple(np.repeat(ELL, WIDTHS)))
    if family != "anova":  # whose columns are inputs of their own without widths
        grouped, plain = Kernel(family, ELL, widths=WIDTHS), Kernel(family, plain.length_scale)
        expected = correlation(plain, X, X)
        np.testing.assert_allclose(correlation(grouped, X, X), expected, rtol=1e-12)
    shares = X.copy()
    shares[0, 1:4] = [0.5, 0.25, 0.25]  # between levels: all rows by Euclidean distances
    kernel = Kernel(family, ELL, 0.8, widths=WIDTHS)
    before, after = correlation(kernel, X, X), correlation(kernel, shares, shares)
    np.testing.assert_allclose(after[1:, 1:], before[1:, 1:], rtol=1e-12)


def test_new_levels_are_as_far_from_all_levels_on_both_ways():
    A = np.vstack([np.eye(5), np.zeros(5)])
    between = np.vstack([A, np.full(5, 0.2)])
    kernel = Kernel("rbf", (1.7,), widths=(5,))
    np.testing.assert_allclose(
        correlation(kernel, between, between)[:6, :6], correlation(kernel, A, A), atol=1e-12
    )
    assert level_codes(A).tolist() == [0, 1, 2, 3, 4, -1]
    assert level_codes(between) is None
    assert level_codes(np.array([[1.0, 1.0]])) is None
    assert level_codes(np.array([[1.0, -0.5], [0.0, 1.0]])) is None


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), st.integers(0, 10**6))
def test_one_hot_columns_of_an_encoder_are_found(levels, seed):
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.permutation(np.arange(60) % L) for L in levels])
    X = OneHotEncoder(sparse_output=False).fit_transform(codes)
    X = np.column_stack([rng.random(60), X, rng.random(60)])
    expected = (1, *levels, 1) if max(levels) > 1 else ()
    # a level that all rows have looks like a category of its own, of one column
    assert find_widths(X) == expected


def test_flags_counts_mixtures_and_few_rows_are_no_categories():
    rng = np.random.default_rng(4)
    assert find_widths((rng.random((50, 4)) < 0.5).astype(float)) == ()
    assert find_widths(rng.dirichlet(np.ones(3), 50)) == ()
    assert find_widths(np.vstack([np.eye(3)] * 10 + [np.full((1, 3), 1 / 3)])) == ()
    assert find_widths(np.eye(2)[[0, 1, 0]]) == ()
    assert find_widths(rng.integers(0, 3, (50, 3)).astype(float)) == ()
    assert find_widths(np.zeros((50, 3))) == ()


def test_a_flag_before_a_category_is_no_part_of_it():
    codes = np.arange(60) % 3
    flag = (codes == 1) & (np.arange(60) > 30)
    X = np.column_stack([flag, np.eye(3)[codes], flag]).astype(float)
    assert find_widths(X) == (1, 3, 1)


def test_columns_of_categories_stay_as_they_are_and_others_are_scaled():
    X, _ = rows(40, 5)
    scaling = from_data(X, X[:, 0], True, WIDTHS)
    Z = scaling.inputs(X)
    for at in (slice(1, 4), slice(5, 9)):
        np.testing.assert_array_equal(Z[:, at], X[:, at])
    np.testing.assert_allclose(Z[:, [0, 4]].std(axis=0), 1.0)
    assert scaling.widths.tolist() == list(WIDTHS)


@pytest.mark.parametrize("family", ["rbf", "matern52", "anova"])
def test_the_slope_of_the_evidence_is_that_of_finite_differences(family):
    X, _ = rows(20, 6)
    y = np.random.default_rng(7).standard_normal(20)
    kernel = Kernel(family, ELL, 0.6, 10.0, WIDTHS)
    shape = kernel_parameters(kernel, 4)
    problem = EvidenceFit.of(shape, X, y, np.zeros(20))
    p = np.append(shape.place(kernel), np.log(0.1))
    assert shape.kernel(p[:-1]).widths == WIDTHS
    assert len(p) == 5 + (family == "anova")
    _, slope = problem.loss(p)
    for n, step in enumerate(1e-6 * np.eye(len(p))):
        rise = (problem.loss(p + step)[0] - problem.loss(p - step)[0]) / 2e-6
        assert slope[n] == pytest.approx(rise, rel=1e-5, abs=1e-7)


def test_a_category_of_500_levels_has_one_lengthscale():
    rng = np.random.default_rng(8)
    X = np.eye(500)[rng.integers(0, 500, 40)]
    X = np.column_stack([X, rng.standard_normal(40)])
    y = np.sin(X[:, -1])
    kernel = Kernel("rbf", 1.0, 1.0, 10.0, (500, 1))
    peak = fit(kernel, 1e-2, X, y, np.zeros(40))
    assert len(peak.kernel.length_scale) == 2
    assert peak.H.shape == (3, 3)
    assert len(forward(kernel, X, y, np.zeros(40)).length_scale) == 2


def test_distances_by_input_are_those_of_the_columns():
    X, _ = rows(11, 9, new=False)
    pairs = np.tril_indices(11, -1)
    by_column = pair_distances(X, pairs)
    summed = np.array([by_column[:1].sum(0), by_column[1:4].sum(0)])
    np.testing.assert_allclose(pair_distances(X, pairs, WIDTHS)[:2], summed, atol=1e-12)
    full = matrix_distances(X, WIDTHS)
    np.testing.assert_array_equal(full[:, *pairs], pair_distances(X, pairs, WIDTHS))


def test_random_features_of_known_levels_have_the_grouped_kernel():
    X, _ = rows(8, 10, new=False)
    kernel, D = Kernel("rbf", ELL, widths=WIDTHS), 20000
    (Phi,) = features(X, draw_frequencies([kernel], X.shape[1], D, 3))
    error = np.abs(Phi @ Phi.T - correlation(kernel, X, X)).max()
    assert error < 4.0 / D**0.5


def test_widths_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="widths must be"):
        Kernel("rbf", (1.0, 2.0), widths=(3,))
    with pytest.raises(ValueError, match="widths must be"):
        Kernel("rbf", 1.0, widths=(0, 3))
