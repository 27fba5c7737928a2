"""The joint density of test labels against the chain rule: each label given those before it."""

import numpy as np
import pytest

from weal import EnsembleGPRegressor, Kernel
from weal.benchmark.methods import joint_log_density

KERNELS = [Kernel("rbf", 0.6), Kernel("matern32", 1.7), Kernel("rbf", 40.0)]


def points(n, seed):
    X = np.random.default_rng(seed).uniform(-2.0, 2.0, (n, 3))
    return X, 50.0 + 7.0 * np.sin(2.0 * X[:, 0]) + 3.0 * X[:, 1] * X[:, 2]


def chained(model, X, y):
    """log p(y_1) + log p(y_2 | y_1) + ..., each label learnt before the next is predicted."""
    total = 0.0
    for x, label in zip(X, y, strict=True):
        total += float(model.log_predictive_density(x[None], np.array([label]))[0])
        model.partial_fit(x, label)
    return total


@pytest.mark.parametrize("approximation", ["features", "exact"])
@pytest.mark.parametrize("magnitude", ["integrated", None], ids=["integrated", "fitted"])
@pytest.mark.parametrize("noise", [1e-1, 1e-5])
def test_it_is_the_product_of_each_label_given_those_before(approximation, magnitude, noise):
    # [1, metric:npll]
    settings = {"noise_ratios": [noise]} if magnitude == "integrated" else {"noise": noise}
    model = EnsembleGPRegressor(
        kernels=KERNELS,
        approximation=approximation,
        magnitude=magnitude,
        n_frequencies=20,
        random_state=3,
        **settings,
    ).fit(*points(12, seed=1))
    X, y = points(25, seed=2)
    found = joint_log_density(model.model_, X, y)
    assert found == pytest.approx(chained(model, X, y), rel=1e-6)


def test_it_is_not_the_product_of_single_densities():
    """Near one another labels err together; far apart they do not."""
    model = EnsembleGPRegressor.paper(random_state=1).fit(*points(12, seed=1))
    X, y = points(6, seed=2)
    X, y = np.repeat(X[:1], 6, axis=0) + 1e-3 * X, np.full(6, y[0])
    alone = model.log_predictive_density(X, y).sum()
    assert abs(joint_log_density(model.model_, X, y) - alone) > 1.0


def test_the_unit_of_labels_adds_one_logarithm_a_label():
    X, y = points(12, seed=1)
    Z, labels = points(9, seed=2)
    kept = {"kernels": KERNELS, "approximation": "features", "random_state": 2}
    one = EnsembleGPRegressor(**kept).fit(X, y)
    other = EnsembleGPRegressor(**kept).fit(X, 1000.0 * y)
    moved = joint_log_density(other.model_, Z, 1000.0 * labels)
    assert moved == pytest.approx(
        joint_log_density(one.model_, Z, labels) - 9 * np.log(1000.0), rel=1e-9
    )
