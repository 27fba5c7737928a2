"""Scores of predicted probabilities of classes: log loss, accuracy, calibration.

With p_ik the probability of class k for label i, and c_i the class that was seen,

    log loss      -1/t sum_i log p_i,c_i
    accuracy      share of labels whose class is the most probable
    baseline      the log loss of the shares of the classes among the other labels, each class
                  counted once more: (n_c - 1 + 1) / (t - 1 + K); that of a model without inputs
    calibration   in bins of the probability of a class: its mean, the share of labels that are of
                  the class, and their number; over all classes, for two classes of the second
    calibration error   mean absolute difference of the two, weighted by the numbers

Log loss is below its baseline where inputs are informative about the class.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array

CALIBRATION_EDGES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
LEAST_PROBABILITY = 1e-12  # in a log loss

Codes = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """Labels whose class had a predicted probability in a range."""

    predicted: float  # mean probability
    observed: float  # share of labels of the class
    n: int


@dataclass(frozen=True, slots=True)
class ClassScores:
    """Scores of predicted probabilities; lower log loss and higher accuracy are better."""

    n: int
    log_loss: float
    accuracy: float
    baseline_log_loss: float
    calibration: tuple[CalibrationBin, ...]

    @property
    def calibration_error(self) -> float:
        """Mean absolute difference of predicted probabilities and observed shares."""
        total = sum(one.n for one in self.calibration)
        off = sum(one.n * abs(one.predicted - one.observed) for one in self.calibration)
        return off / total if total else 0.0


def log_losses(p: Array, codes: Codes) -> Array:
    """Log losses (t,) of probabilities p (t, K) for labels of classes `codes` (t,).

    >>> log_losses(np.array([[0.5, 0.5], [0.0, 1.0]]), np.array([0, 1])).round(3).tolist()
    [0.693, -0.0]
    """
    return -np.log(np.clip(p[np.arange(len(codes)), codes], LEAST_PROBABILITY, 1.0))


def class_scores(p: Array, codes: Codes) -> ClassScores:
    """The scores of probabilities p (t, K) for labels of classes `codes` (t,); t >= 1."""
    right = p.argmax(axis=1) == codes
    return ClassScores(
        len(codes),
        float(log_losses(p, codes).mean()),
        float(right.mean()),
        _baseline(codes, p.shape[1]),
        _calibration(p, codes),
    )


def _baseline(codes: Codes, K: int) -> float:
    """Log loss of the shares of classes among the other labels."""
    n = np.bincount(codes, minlength=K)
    return float(-np.log(n[codes] / (len(codes) - 1 + K)).mean())


def _calibration(p: Array, codes: Codes) -> tuple[CalibrationBin, ...]:
    K = p.shape[1]
    seen = codes[:, None] == np.arange(K)  # (t, K)
    p, seen = (p[:, 1], seen[:, 1]) if K == 2 else (p.ravel(), seen.ravel())
    bins = np.clip(np.digitize(p, CALIBRATION_EDGES) - 1, 0, len(CALIBRATION_EDGES) - 2)
    return tuple(
        CalibrationBin(float(p[rows].mean()), float(seen[rows].mean()), int(rows.sum()))
        for rows in (bins == k for k in range(len(CALIBRATION_EDGES) - 1))
        if rows.any()
    )
