"""Prior of outliers, a wide Cauchy distribution around the labels; and gross outliers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.constants import (
    FAR_OUTLIER_PENALTY_NATS,
    GROSS_ERROR_SDS,
    MAX_OUTLIER_SHARE,
    MIN_LABELS_FOR_OUTLIERS,
    OUTLIER_PENALTY_NATS,
    OUTLIER_PRIOR_WIDTH,
    PRIOR_OUTLIER_PROBABILITY,
)

Mask = NDArray[np.bool_]
MAD = 1.4826  # the sd of a normal over its median absolute deviation


@dataclass(frozen=True, slots=True)
class OutlierPrior:
    """Distribution of outliers, and the range of the other labels, in units of the labels."""

    median: float
    s: float  # robust sd
    low: float  # the least and the largest included label
    high: float

    def log_prior(self, y: Array) -> Array:  # (N,) -> (N,)
        """Log of the density of outliers times their prior odds, at labels y.

        If s is small beside the range of the included labels, as with a sharp peak, labels in
        between are no more suspicious for being close to the median. If s is 0, none is.
        """
        if self.s == 0.0:
            return np.full(np.shape(y), -np.inf)
        odds = float(np.log(PRIOR_OUTLIER_PROBABILITY) - np.log1p(-PRIOR_OUTLIER_PROBABILITY))
        wide = OUTLIER_PRIOR_WIDTH * self.s
        widths = np.array([wide, max(wide, self.high - self.low)])[:, None]
        z = (y - self.median) / widths
        return np.asarray((-np.log(np.pi * widths) - np.log1p(z * z)).min(axis=0) + odds)

    def penalty(self, y: Array) -> Array:  # (N,) -> (N,)
        """Penalty in nats for the exclusion of each label."""
        span = self.high - self.low
        far = (y > self.high + span) | (y < self.low - span)
        return np.where(far, FAR_OUTLIER_PENALTY_NATS, OUTLIER_PENALTY_NATS)


def outlier_prior(y: Array) -> OutlierPrior:
    """The prior of outliers beside the included labels y (t,)."""
    return OutlierPrior(*spread(y), float(y.min()), float(y.max()))


@dataclass(frozen=True, slots=True, eq=False)
class OutlierReport:
    """Outlier probabilities of the labels that selected the experts, in the order they were
    told.
    """

    probability: Array  # (n,)  of being wrong
    wrong: Mask  # (n,)  labels treated as wrong
    prior: OutlierPrior = OutlierPrior(0.0, 0.0, 0.0, 0.0)

    def __len__(self) -> int:
        return len(self.wrong)


NO_OUTLIERS = OutlierReport(np.zeros(0), np.zeros(0, dtype=np.bool_))


def spread(y: Array) -> tuple[float, float]:
    """Median and robust sd of labels y (t,); the sd is 0 where more than half are equal."""
    median = float(np.median(y))
    return median, MAD * float(np.median(np.abs(y - median)))


def gross_outliers(y: Array, sure: Array, farthest: float = GROSS_ERROR_SDS) -> Mask:
    """Labels more than `farthest` robust sds from the median; only the farthest if too many."""
    median, s = spread(y)
    away = np.where(sure > 0, 0.0, np.abs(y - median))
    if s == 0.0 or len(y) < MIN_LABELS_FOR_OUTLIERS:
        return np.zeros(len(y), dtype=np.bool_)
    most = int(MAX_OUTLIER_SHARE * len(y))
    limit = max(farthest * s, float(np.sort(away)[-most - 1]))
    return np.asarray(away > limit)


def beyond_all_others(y: Array, sure: Array) -> Mask:
    """The smallest or largest label, if its gap to the others exceeds their range.

    Among few labels such a label may be no gross outlier by robust sds.
    """
    found, order = np.zeros(len(y), dtype=np.bool_), np.argsort(y)
    low, second, high, top = y[order[[0, 1, -2, -1]]].tolist()
    found[order[-1]] = top - high > high - low
    found[order[0]] = second - low > top - second
    return np.asarray(found & (sure == 0.0))
