"""Regions of noisy labels: boxes with one or two sides, averaged by their posterior probability.

A box has inputs above or below a threshold, of one input or of two. Residuals over their expected
sd, z_i, have one variance inside and another outside, each with an inverse-gamma prior, so that the
evidence of n of them with the sum of squares Q is closed,

    log Gamma(a + n/2) - log Gamma(a) + a log b - (a + n/2) log(b + Q/2)

Half of the prior probability is on boxes of one side, half on those of two. The posterior of all
boxes makes the membership of a point,

    phi(x) = sum over boxes of P(box) 1[x in box]

a number from 0 to 1, which is smooth where the labels leave the thresholds open. Squares are
limited to MAX_SQUARE, so that no single label makes a region.

The limit weakens the evidence: boxes that reach too far cost it little. Once the noise inside and
outside is known (`varying_noise.fit_field`), boxes are searched again, with the sum of the log
density ratios of the labels inside as their log evidence.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from weal.core.arrays import Array, logsumexp

MAX_THRESHOLDS, MAX_FINE_THRESHOLDS = 21, 100  # of an input, in the first and the second search
MAX_SIDE_INPUTS = 6  # inputs of boxes with two sides: those whose single sides are most probable
MIN_REGION_LABELS = 5  # inside and outside
MAX_SQUARE = 9.0
MAX_BOXES, MIN_BOX_SHARE = 128, 1e-3  # boxes that are kept, and their least posterior over the best
TIE_NATS = 1e-9  # boxes of the same labels differ by rounding alone
PRIOR_SHAPE = 1.0  # a = b of the variances inside and outside


@dataclass(frozen=True, slots=True, eq=False)
class NoiseRegion:
    """Weighted boxes."""

    low: Array  # (B, d)  -inf: no bound
    high: Array  # (B, d)
    weight: Array  # (B,)  posterior probabilities, which sum to 1

    def at(self, X: Array, centres: Array | None = None) -> Array:  # (N, d) -> (N,)
        """Memberships phi of the rows of X."""
        found, columns = np.zeros(len(X)), np.ascontiguousarray(X.T)
        for low, high, weight in zip(self.low, self.high, self.weight.tolist(), strict=True):
            inside = np.ones(len(X), dtype=np.bool_)
            for j in np.flatnonzero((low > -np.inf) | (high < np.inf)).tolist():
                inside &= (low[j] < columns[j]) & (high[j] >= columns[j])
            found += weight * inside
        return found

    def mean(self, X: Array, inside: float, outside: float) -> Array:  # (N, d) -> (N,)
        """The mean of a number that has one value inside and another outside, at the rows of X."""
        phi = self.at(X)
        return phi * inside + (1.0 - phi) * outside


class RegionSearch(NamedTuple):
    """The posterior of all boxes."""

    region: NoiseRegion
    log_odds: float  # log evidence of all boxes minus that of no box
    log_share: float  # log of the evidence of all boxes over that of the best


class _Sides(NamedTuple):
    """The two sides of every threshold of an input."""

    bounds: Array  # (n, 3)  input, 1 if above and 0 if below, threshold
    inside: Array  # (n, t)  labels on this side, as 1 and 0


class _Boxes(NamedTuple):
    """Boxes and their log evidence minus that of no box."""

    bounds: Array  # (n, 2, 3)  of both sides; a box of one side has it twice
    log_z: Array  # (n,)


# Log evidence of boxes from their numbers of labels and the sums of some numbers of these labels.
BoxEvidence = Callable[[Array, Array], Array]


def find_region(X: Array, squares: Array) -> RegionSearch | None:
    """The boxes for squared standardised residuals (t,) at X (t, d); None if too few labels."""
    q = np.minimum(squares, MAX_SQUARE)
    return _posterior(X, q, lambda n, Q: log_odds(n, Q, q))


def find_region_again(X: Array, gain: Array) -> NoiseRegion | None:
    """The boxes once both noises are known, for gains (t,) of labels at X (t, d).

    A gain is the log density of a residual with the noise inside minus that outside.
    """
    found = _posterior(X, gain, lambda n, total: _with_enough(n, len(gain), total), fine=True)
    return None if found is None else found.region


def _posterior(X: Array, q: Array, log_z: BoxEvidence, fine: bool = False) -> RegionSearch | None:
    """The posterior of all boxes, whose evidence follows from the sums of q (t,) inside.

    `fine`: with MAX_FINE_THRESHOLDS, and a side and its complement differ.
    """
    most = MAX_FINE_THRESHOLDS if fine else MAX_THRESHOLDS
    sides = [_sides(X, j, most) for j in range(X.shape[1])]
    single = [_one_side(side, q, log_z, both=fine) for side in sides]
    best = [float(boxes.log_z.max(initial=-np.inf)) for boxes in single]
    chosen = np.argsort([-height for height in best], kind="stable")[:MAX_SIDE_INPUTS].tolist()
    double = [_two_sides(sides[j], sides[k], q, log_z) for j in chosen for k in chosen if j < k]
    groups = [_concat(group) for group in (single, double) if group]
    groups = [group for group in groups if len(group.log_z)]
    if not groups:
        return None
    every = _concat(groups)
    log_prior = np.concatenate(
        [np.full(len(group.log_z), -np.log(len(groups) * len(group.log_z))) for group in groups]
    )
    return _average(every, every.log_z + log_prior, X.shape[1])


def _average(every: _Boxes, log_post: Array, d: int) -> RegionSearch:
    """The region of the most probable boxes."""
    total = float(logsumexp(log_post))
    best = _most_probable(log_post)
    low, high = np.full((len(best), d), -np.inf), np.full((len(best), d), np.inf)
    for n, box in enumerate(every.bounds[best].tolist()):
        for j, above, threshold in box:
            (low if above else high)[n, int(j)] = threshold
    weight = np.exp(log_post[best] - logsumexp(log_post[best]))
    return RegionSearch(NoiseRegion(low, high, weight), total, total - float(every.log_z.max()))


def _most_probable(log_post: Array) -> NDArray[np.intp]:
    """Positions of the MAX_BOXES most probable boxes, and of all as probable as the last of them.

    Boxes of the same labels are equally probable but for rounding, which must not choose. Of more
    than twice as many the first are taken.
    """
    ranked = np.sort(log_post)[::-1]
    last = max(ranked[:MAX_BOXES][-1], ranked[0] + np.log(MIN_BOX_SHARE))
    return np.flatnonzero(log_post >= last - TIE_NATS)[: 2 * MAX_BOXES]


def _sides(X: Array, j: int, most: int) -> _Sides:
    """Thresholds of an input, halfway between its values; at most so many.

    They are even over the ranks of the labels, so that rounding cannot choose.
    """
    values, counts = np.unique(X[:, j], return_counts=True)
    middles = 0.5 * (values[1:] + values[:-1])
    if len(middles) > most:
        ranks = np.linspace(0.0, len(X), most + 2)[1:-1]
        found = np.searchsorted(np.cumsum(counts), ranks)
        middles = middles[np.unique(found.clip(0, len(middles) - 1))]
    above = (X[:, j] > middles[:, None]).astype(np.float64)
    is_above = np.repeat([1.0, 0.0], len(middles))
    bounds = np.column_stack([np.full(2 * len(middles), float(j)), is_above, np.tile(middles, 2)])
    return _Sides(bounds, np.concatenate([above, 1.0 - above]))


def _one_side(side: _Sides, q: Array, evidence: BoxEvidence, both: bool) -> _Boxes:
    """Boxes of one side. If its complement is the same split, the side above is used."""
    some = slice(0, len(side.bounds) // (1 if both else 2))
    log_z = evidence(side.inside[some].sum(axis=1), side.inside[some] @ q)
    bounds = np.repeat(side.bounds[some, None], 2, axis=1)
    return _Boxes(bounds[np.isfinite(log_z)], log_z[np.isfinite(log_z)])


def _two_sides(a: _Sides, b: _Sides, q: Array, evidence: BoxEvidence) -> _Boxes:
    """Boxes with a side of each of two inputs."""
    n, Q = a.inside @ b.inside.T, (a.inside * q) @ b.inside.T
    log_z = evidence(n, Q)
    i, k = np.nonzero(np.isfinite(log_z))
    return _Boxes(np.stack([a.bounds[i], b.bounds[k]], axis=1), log_z[i, k])


def _concat(parts: list[_Boxes]) -> _Boxes:
    bounds = np.concatenate([part.bounds for part in parts])
    return _Boxes(bounds, np.concatenate([part.log_z for part in parts]))


def log_odds(n: Array, Q: Array, q: Array) -> Array:
    """Log evidence of boxes with n of the labels q (t,) and sums of squares Q, minus that of none.

    -inf where too few labels are inside or outside.
    """
    t, whole = float(len(q)), float(q.sum())
    inside, outside = _log_evidence(n, Q), _log_evidence(t - n, whole - Q)
    return _with_enough(n, t, inside + outside - _log_evidence(np.array(t), np.array(whole)))


def _with_enough(n: Array, t: float, log_z: Array) -> Array:
    """The evidence of boxes with n of t labels, -inf where too few are inside or outside."""
    enough = (n >= MIN_REGION_LABELS) & (t - n >= MIN_REGION_LABELS)
    return np.where(enough, log_z, -np.inf)


def _log_evidence(n: Array, Q: Array) -> Array:
    a, shape = PRIOR_SHAPE, PRIOR_SHAPE + 0.5 * n
    half = np.maximum(0.5 * Q, 0.0)  # of a difference, which rounding may take below
    return np.asarray(gammaln(shape) - gammaln(a) + a * np.log(a) - shape * np.log(a + half))
