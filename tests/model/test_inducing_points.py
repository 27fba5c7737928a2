"""Many labels: which kind of experts they have, and that the next ones never cost accuracy."""

from itertools import pairwise

import numpy as np
import pytest

from weal import ActiveLearner, EnsembleGPRegressor, Kernel
from weal.core.extensions.embeddings import RawInputs
from weal.core.extensions.inducing_gp import InducingFeatures
from weal.core.paper.kernels import correlation
from weal.learner import tracked_points
from weal.model import expert_kind, expert_selection

SMOOTH, ROUGH = Kernel("rbf", 3.0, offset=10.0), Kernel("matern32", 0.5, offset=10.0)


def labels(n, seed=0, d=4):
    """A smooth function of four inputs with noise of 10 %, and the function."""
    rng = np.random.default_rng([seed, n])
    X = rng.uniform(-1.0, 1.0, (n, d))
    f = np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * X[:, 3] ** 2
    return X, f + 0.1 * f.std() * rng.standard_normal(n), f


@pytest.fixture
def soon(constants):
    """The limits of thousands of labels, met with tens of them."""
    constants(expert_kind, MAX_LABELS_ALWAYS_EXACT=40, MAX_FACTOR_BYTES=8 * 160**2)


def kind(kernel, t, M=1, lam=1e-2, name="auto"):
    X, _, _ = labels(t)
    return expert_kind.choose_kind(name, (kernel,) * M, np.full(M, lam), X)


@pytest.mark.usefixtures("soon")
def test_experts_are_exact_while_they_fit_unless_few_points_say_it_all():
    assert isinstance(kind(SMOOTH, 40), RawInputs)
    assert isinstance(kind(ROUGH, 160), RawInputs)
    assert isinstance(kind(ROUGH, 161), InducingFeatures)
    assert isinstance(kind(SMOOTH, 140, lam=1.0), InducingFeatures)
    assert isinstance(kind(SMOOTH, 140, lam=1e-9), RawInputs)
    assert isinstance(kind(ROUGH, 100, M=2), RawInputs)
    assert isinstance(kind(ROUGH, 120, M=2), InducingFeatures)
    assert isinstance(kind(SMOOTH, 500, lam=1.0, name="exact"), RawInputs)
    assert isinstance(kind(ROUGH, 10, name="inducing"), InducingFeatures)


@pytest.mark.usefixtures("soon")
def test_a_budget_of_memory_is_kept():
    for M in (1, 2, 5):
        points = kind(ROUGH, 400, M)
        assert 2 * 8 * sum(len(Z) ** 2 for Z in points.Z) <= expert_kind.MAX_FACTOR_BYTES
    for t in (41, 100, 160):
        assert 8 * expert_kind.most_experts(t) * t**2 <= expert_kind.MAX_FACTOR_BYTES
    assert expert_kind.most_experts(10**6) == 1


def test_what_the_points_leave_is_small_against_the_noise(soon):
    X, _, _ = labels(150)
    found = kind(SMOOTH, 150, lam=1.0)
    K, k = correlation(SMOOTH, found.Z[0], found.Z[0]), correlation(SMOOTH, found.Z[0], X)
    r = SMOOTH.variance - np.einsum("zn,zn->n", k, np.linalg.solve(K, k))
    assert len(found.Z[0]) <= 150 // expert_kind.MIN_LABELS_PER_INDUCING_POINT
    assert r.mean() <= expert_kind.MAX_REMAINDER_NOISE_SHARE  # times 1, the noise ratio


@pytest.mark.usefixtures("soon")
def test_the_points_depend_on_the_set_of_inputs_alone():
    X, _, _ = labels(200)
    X = np.concatenate([X, X[:20]])
    order = np.random.default_rng(1).permutation(len(X))
    one, other = (
        expert_kind.choose_kind("auto", (ROUGH,), np.array([1e-2]), rows) for rows in (X, X[order])
    )
    np.testing.assert_array_equal(one.Z[0], other.Z[0])


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("enough", [1e-9, 1e-3])
def test_a_switch_does_not_lose_what_was_learnt(enough, constants):
    """From exact experts to inducing points and on: errors fall, but for the noise of one fit."""
    constants(expert_kind, MAX_REMAINDER_NOISE_SHARE=enough)
    X, y, _ = labels(500)
    new, _, f = labels(400, 10)
    errors, kinds = [], []
    for t in (40, 120, 170, 500):
        model = EnsembleGPRegressor().fit(X[:t], y[:t])
        kinds.append(type(model.model_.embedding_))
        errors.append(np.mean((model.predict(new) - f) ** 2) / f.var())
    assert RawInputs in kinds
    assert kinds[-1] is InducingFeatures
    assert all(later < 1.1 * sooner for sooner, later in pairwise(errors))
    assert errors[-1] < 0.5 * errors[0]


@pytest.mark.usefixtures("soon")
def test_labels_one_by_one_or_together_are_the_same_beyond_the_switch():
    X, y, _ = labels(200, 3)
    one = EnsembleGPRegressor().fit(X[:150], y[:150]).partial_fit(X[150:], y[150:])
    other = EnsembleGPRegressor(scaling=one.scaling_).fit(X[:150], y[:150])
    for n in range(150, 200):
        other.partial_fit(X[n : n + 1], y[n : n + 1])
    assert isinstance(one.model_.embedding_, InducingFeatures)
    for a, b in zip(one.predict(X, True), other.predict(X, True), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)


@pytest.mark.usefixtures("soon")
def test_a_learner_goes_on_beyond_the_switch_and_within_its_memory():
    X, y, _ = labels(300, 4)
    asked = []
    for memory in (2**30, 10_000):
        learner = ActiveLearner(X, acquisition="multi", memory=memory)
        learner.tell(range(170), y[:170])
        mine = []
        for _ in range(4):
            (name,) = learner.ask(1)
            learner.tell(name, y[name])
            mine.append(name)
        assert isinstance(learner.model.embedding_, InducingFeatures)
        asked.append(mine)
    assert asked[0] == asked[1]


def test_what_few_labels_have_found_is_fitted_to_more_as_if_these_had_found_it(constants):
    X, y, _ = labels(300, 5)
    new, _, f = labels(400, 15)

    def error(few, more):
        constants(expert_selection, EVIDENCE_LABELS=few, REFINED_LABELS=more)
        model = EnsembleGPRegressor().fit(X, y)
        return np.mean((model.predict(new) - f) ** 2) / f.var()

    few, refined, all_ = error(30, 30), error(30, 150), error(150, 150)
    assert few > 1.5 * all_  # there is something to gain
    assert refined - all_ < 0.25 * (few - all_)


def test_many_labels_are_judged_by_some_whatever_their_order(constants):
    constants(tracked_points, MAX_VALIDATION_LABELS=10)
    X, y, _ = labels(30)
    noise = np.zeros(30)
    order = np.random.default_rng(2).permutation(30)
    some = tracked_points.sample_labels(X, y, noise)
    again = tracked_points.sample_labels(X[order], y[order], noise)
    assert len(some[1]) == 10
    for one, other in zip(some, again, strict=True):
        np.testing.assert_array_equal(one, other)
