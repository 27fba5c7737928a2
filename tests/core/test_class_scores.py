"""Scores of predicted classes, against scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, log_loss

from weal.core.extensions.class_scores import class_scores


@pytest.mark.parametrize("K", [2, 3, 7])
def test_scores_are_those_of_scikit_learn(K):
    rng = np.random.default_rng(K)
    p, codes = rng.dirichlet(np.ones(K), size=50), rng.integers(K, size=50)
    found = class_scores(p, codes)
    assert found.log_loss == pytest.approx(log_loss(codes, p, labels=range(K)))
    assert found.accuracy == accuracy_score(codes, p.argmax(axis=1))
    assert sum(one.n for one in found.calibration) == (50 if K == 2 else 50 * K)


def test_calibrated_probabilities_have_no_calibration_error():
    p = np.repeat([0.05, 0.2, 0.4, 0.6, 0.8, 0.95], 200)
    codes = np.concatenate(
        [np.repeat([1, 0], [round(200 * q), 200 - round(200 * q)]) for q in p[::200]]
    )
    found = class_scores(np.column_stack([1.0 - p, p]), codes)
    assert found.calibration_error == pytest.approx(0.0, abs=1e-12)
    assert len(found.calibration) == 6
    sure = class_scores(np.column_stack([1.0 - (p > 0.5), p > 0.5]).astype(float), codes)
    assert sure.calibration_error > 0.1
    assert sure.log_loss > found.log_loss


def test_the_baseline_counts_the_other_labels():
    codes = np.array([0, 0, 0, 1])
    shares = [3 / 5, 3 / 5, 3 / 5, 1 / 5]  # of 3 others and one more of each class
    found = class_scores(np.full((4, 2), 0.5), codes)
    assert found.baseline_log_loss == pytest.approx(-np.log(shares).mean())


def test_a_certain_mistake_costs_a_finite_amount():
    found = class_scores(np.array([[1.0, 0.0]]), np.array([1]))
    assert 20.0 < found.log_loss < 30.0
    assert found.accuracy == 0.0
