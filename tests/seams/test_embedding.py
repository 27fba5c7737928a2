"""One conformance suite for all embeddings: their answers are those of the experts they serve."""

import numpy as np
import pytest

from reference.cases import frozen, kernels
from weal.core.extensions.embeddings import EncodedFeatures, RandomFeatures, RawInputs
from weal.core.extensions.inducing_gp import InducingFeatures
from weal.core.paper.random_features import draw_frequencies, features

M, D, d = 4, 9, 3
RNG = np.random.default_rng(3)
X, Z = frozen(RNG.standard_normal((12, d))), frozen(RNG.standard_normal((7, d)))
Y, LAM = frozen(np.sin(X.sum(axis=1))), frozen(np.outer([0.01, 0.3, 0.02, 0.1], np.ones(12)))
ZETA = draw_frequencies(kernels(d), d, D, 5)


def rows(points):
    return features(points, ZETA).transpose(1, 0, 2).reshape(len(points), -1)


CASES = {
    "Spectral": (RandomFeatures(ZETA), X, Z),
    "Encoded": (EncodedFeatures(M), rows(X), rows(Z)),
    "Exact": (RawInputs(), X, Z),
    "Inducing": (InducingFeatures.of(kernels(d), [X[:5]] * M), X, Z),
}


@pytest.fixture(params=CASES)
def case(request):
    embedding, labelled, others = CASES[request.param]
    assert embedding.tag == request.param  # files have it
    prior = embedding.prior_experts(kernels(d), labelled.shape[1], M)
    experts, _, _ = prior.absorb(embedding.points(prior, labelled), Y, LAM)
    return embedding, prior, experts, others


def test_predictions_without_points_are_those_with_points(case):
    embedding, _, experts, others = case
    whole = experts.predict(embedding.points(experts, others))
    for found, expected in zip(embedding.predict(experts, others), whole, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_points_follow_labels_as_if_computed_after_them(case):
    embedding, prior, _, others = case
    points = embedding.points(prior, others)
    for n in (0, 2, 5, len(Y)):
        first = embedding.points(prior, CASES[embedding.tag][1][:n])
        now, _, _ = prior.absorb(first, Y[:n], LAM[:, :n])
        points = embedding.update_points(now, points)
        truth = now.predict(embedding.points(now, others))
        for found, expected in zip(now.predict(points), truth, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_no_posterior_exceeds_the_largest_prior_variance_nor_a_mean_its_reach(case):
    embedding, prior, experts, others = case
    largest = embedding.largest_prior_variance(experts, others)
    mu, v = experts.predict(embedding.points(experts, others))
    _, before = prior.predict(embedding.points(prior, others))
    assert (before.max(axis=1) <= largest * (1.0 + 1e-9)).all()
    assert (v <= largest[:, None] * (1.0 + 1e-9)).all()
    size = np.sqrt((experts.coefficients**2).sum(axis=1))
    assert (np.abs(mu).max(axis=1) <= np.sqrt(largest) * size * (1.0 + 1e-9)).all()


def test_targets_have_the_covariances_and_means_of_the_experts(case):
    embedding, _, experts, others = case
    targets, which = embedding.targets(experts, others[:3]), np.array([2, 0])
    there = embedding.points(experts, others[:3])
    points = embedding.take(which).pool_points(experts.take(which), others)
    truth = experts.covariance(embedding.points(experts, others), there)[which]
    posterior = targets.posterior(experts, which)
    found = posterior.covariance(points)
    np.testing.assert_allclose(found, truth, rtol=1e-7, atol=1e-9)
    means = experts.predict(there)[0][which]
    np.testing.assert_allclose(posterior.means, means, rtol=1e-9, atol=1e-12)


def test_relevance_is_the_mean_squared_covariance_with_reference_points(case):
    embedding, _, experts, others = case
    points = embedding.points(experts, others)
    truth = (experts.covariance(points, points) ** 2).mean(axis=2)
    found = embedding.reference(experts, others).relevance(experts, points)
    np.testing.assert_allclose(found, truth, rtol=1e-7, atol=1e-10)


def test_a_root_of_the_covariance_and_a_factor_of_the_labels_are_right_where_there_is_one(case):
    embedding, _, experts, others = case
    points = embedding.points(experts, others)
    root, factor = experts.covariance_root(points), experts.label_factor(1)
    assert (root is None) == (factor is not None) == embedding.points_grow
    if root is not None:
        covariance = experts.covariance(points, points)
        np.testing.assert_allclose(root @ root.transpose(0, 2, 1), covariance, atol=1e-10)
    else:
        np.testing.assert_allclose(factor, np.tril(factor))
