"""Varying noise in the selection of experts: which labels are tested, and which are included.

`core.extensions.noise_hypotheses` tests and weighs the hypothesis. Here labels are sampled, in
units of their variance, and the report on outliers is brought up to date: a label that noise
explains is no outlier any more.

Noise may vary from MIN_LABELS labels with MIN_VALUES different values on: results that pass or
fail, classes and grades have few values, and a noise of their own.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.extensions.model_selection import ModelSelection
from weal.core.extensions.noise_field import NoiseField
from weal.core.extensions.noise_hypotheses import Labels, NoiseHypotheses, weigh_noise
from weal.core.extensions.outliers.prior import OutlierReport

MIN_LABELS, MIN_VALUES = 40, 10
MAX_TESTED_LABELS = 200  # included ones, whose residuals are looked at
# Rows of labels, at most so many: by a hash of their content.
Sample = Callable[[Labels, int], NDArray[np.intp]]
# Experts for labels with stated noise, and the rows that they were fitted to.
SelectNoisy = Callable[[Labels], tuple[ModelSelection, Any]]


def may_vary(y: Array) -> bool:
    """Whether labels y (t,) are enough to tell varying noise from even noise."""
    return len(y) >= MIN_LABELS and len(np.unique(y)) >= MIN_VALUES


@dataclass(frozen=True, slots=True, eq=False)
class NoiseCase:
    """All labels in units of their variance, and the report on outliers among them."""

    labels: Labels
    outliers: OutlierReport
    log_wrong: Array  # (t,)  log density of wrong labels, times their odds

    @classmethod
    def of(
        cls, labels: Labels, outliers: OutlierReport, variance: float, sure: Array
    ) -> "NoiseCase":
        """The case of labels; sure labels (t,) are never wrong."""
        log_wrong = outliers.prior.log_prior(labels.y * np.sqrt(variance)) + 0.5 * np.log(variance)
        return cls(labels, outliers, np.where(sure > 0.0, -np.inf, log_wrong))

    def tested(self, sample: Sample) -> NDArray[np.intp]:
        """Rows that are tested: a sample of the included labels, and all that were set aside."""
        kept = np.flatnonzero(~self.outliers.wrong)
        some = kept[sample(self.labels.at(kept), MAX_TESTED_LABELS)]
        return np.sort(np.append(some, np.flatnonzero(self.outliers.wrong)))

    def included(self, rows: NDArray[np.intp], right: Array) -> NDArray[np.bool_]:
        """Mask (t,) of included labels, given that some rows are right with these probabilities."""
        found = ~self.outliers.wrong
        found[rows[right > 0.5]] = True
        return found

    def report(self, rows: NDArray[np.intp], right: Array) -> OutlierReport:
        """The report, without the outliers that varying noise explains."""
        again = self.outliers.wrong[rows] & (right > 0.5)
        probability = self.outliers.probability.copy()
        probability[rows[again]] = np.minimum(probability[rows[again]], 1.0 - right[again])
        return replace(self.outliers, probability=probability, wrong=~self.included(rows, right))


def weigh(
    even: ModelSelection, case: NoiseCase, select: SelectNoisy, sample: Sample, temper: float,
    most: int,
) -> tuple[NoiseHypotheses, OutlierReport] | None:  # fmt: skip
    """Experts of both hypotheses, and the report on outliers; None if noise is even."""
    rows = case.tested(sample)

    def select_again(field: NoiseField, right: Array) -> tuple[ModelSelection, Labels]:
        some = case.labels.at(np.flatnonzero(case.included(rows, right)))
        found, compared = select(some.with_noise(field))
        return found, some.at(compared)

    kept = ~case.outliers.wrong[rows]
    known = (case.labels.at(rows), kept, case.log_wrong[rows])
    found = weigh_noise(even, *known, select_again, temper, most)
    return None if found is None else (found, case.report(rows, found.right))
