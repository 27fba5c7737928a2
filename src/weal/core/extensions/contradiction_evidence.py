"""Evidence that a set of labels is in error: groups, runs of equal labels, and wrong labels.

Under H0 the labels y (t,) are one function plus noise; under H1 a set S of them has another origin.
Both have the evidence of the same experts: kernels at several lengthscales, each with the noise
ratios RATIOS, all equally likely, magnitude integrated out (`integrated_evidence`), on labels as
they are and warped (`label_warp`), since a skewed function is not an error. With C = K + lam the
covariance of the labels under an expert, R the other labels, log Z the log of the mean evidence:

    group    S is of another function, or shifted. C has 0 between S and R, or 1 more within S:
             (Z(C without S x R) + Z(C + 1_S 1_S')) / 2 Z(C). Within S and within R the prior is
             that of H0, so that only the covariance of S and R matters: labels of another region,
             however they vary there, do not count as evidence.
    run      S is one value v, whatever f is: Z(R) prod_S q(y_i) / Z(C), q a normal with an sd of
             RUN_SDS. Where v is the smallest or the largest label it may be a bound, and values
             beyond it are measured as v: then Z(C) is also computed with y_S as R predicts it
             beyond v, and the larger one is used.
    wrong    each label of S is wrong independently: Z(R) prod_S q(y_i) / (Z(C) binomial(n, k)), k
             of n free labels, q a Cauchy of the width WRONG_SDS.

Gains are logs of these ratios, in nats. Wrong sets are searched under each expert alone: A = C^-1,
and the label with the largest e_i^2 / s_i = (A y)_i^2 / A_ii is left out, then the next, by steps
of rank one (`outliers.inclusion`); the best sets are compared under all experts.

A region of the inputs may explain a group as well, and then the group is not reported:

    one input above a threshold    of the RIVAL_INPUTS that differ most between group and rest, the
                                   threshold that agrees best with the group; for STEP_INPUTS of
                                   them quantiles too, since the function may jump elsewhere
    a half-space                   by ridge regression of the group on all inputs
    the neighbourhood              labels most of whose NEAREST others are of the group
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln

from weal.core.arrays import Array, logsumexp
from weal.core.distances import squared_distances
from weal.core.extensions.conjugate_magnitude import LEAST_LEFT
from weal.core.extensions.integrated_evidence import log_evidence, whiten
from weal.core.extensions.label_warp import IDENTITY_WARP, fit_warp
from weal.core.extensions.outliers.prior import Mask
from weal.core.paper.exact_gp import LEAST_RATIO
from weal.core.paper.kernels import Kernel, correlation

RATIOS = (1e-6, 1e-4, 1e-2, 1e-1, 1.0)  # noise over magnitude, of the experts
SHIFT = 1.0  # variance of the shift of all labels of a group, in units of the magnitude
RUN_SDS, WRONG_SDS = 2.0, 5.0  # widths of stuck and wrong labels, in sds of the labels
MOST_SHARE, MOST_WRONG = 0.2, 10  # largest share and number of labels in a wrong set
WEIGHED = 8  # wrong sets that are compared under all experts
MIN_WARP_SPREAD = 1e-6  # spread over sd from which labels are also warped
DECILES = 2.563  # between the first and the ninth decile of a normal, in sds


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Labels, plain and warped (w transforms), and their covariances under m experts."""

    C: Array  # (m, t, t)
    Y: Array  # (t, w)
    log_slope: Array  # (t, w)  of the transform

    def log_z(self) -> float:
        """Log of the mean evidence over experts and transforms."""
        return _log_mean(self.log_evidences())

    def log_evidences(self) -> Array:  # (m, w)
        """Log evidence of each expert under each transform."""
        square, log_det = zip(*[_squares(C, self.Y) for C in self.C], strict=True)
        return self._log_evidence(np.stack(square), np.array(log_det))

    def with_shift(self, group: Mask) -> Array:  # (m, w)
        """Log evidence with one unknown shift of all labels of a group.

        C has SHIFT more within the group: an update of rank one.
        """
        square, log_det, g = np.empty((len(self.C), self.Y.shape[1])), np.empty(len(self.C)), group
        for m, C in enumerate(self.C):
            Z, log_det[m] = whiten(C, np.column_stack([self.Y, np.sqrt(SHIFT) * g]))
            u, more = Z[:, -1], 1.0 + float(Z[:, -1] @ Z[:, -1])
            square[m] = np.einsum("tw,tw->w", Z, Z)[:-1] - (u @ Z[:, :-1]) ** 2 / more
            log_det[m] += np.log(more)
        return self._log_evidence(square, log_det)

    def with_own_function(self, group: Mask) -> Array:  # (m, w)
        """Log evidence with a function of its own for a group: C is 0 between it and the rest."""
        square, log_det = np.zeros((len(self.C), self.Y.shape[1])), np.zeros(len(self.C))
        for kept in (group, ~group):
            part = self.subset(kept)
            for m, C in enumerate(part.C):
                more, det = _squares(C, part.Y)
                square[m] += more
                log_det[m] += det
        return self._log_evidence(square, log_det)

    def _log_evidence(self, square: Array, log_det: Array) -> Array:
        log_p = log_evidence(len(self.Y), square, log_det[:, None])
        return np.asarray(log_p + self.log_slope.sum(axis=0))

    def subset(self, kept: Mask) -> "Evidence":
        """The evidence of a subset of the labels."""
        return Evidence(self.C[:, kept][:, :, kept], self.Y[kept], self.log_slope[kept])

    def predict(self, out: Mask) -> Array:  # (n, w)
        """Mean predictions of the labels in `out` from the others, under each transform."""
        rest = self.subset(~out)
        log_w = rest.log_evidences()
        w = np.exp(log_w - log_w.max(axis=0))
        k = self.C[:, out][:, :, ~out]
        mu = np.stack([k[m] @ np.linalg.solve(C, rest.Y) for m, C in enumerate(rest.C)])
        return np.asarray(np.einsum("mw,mnw->nw", w / w.sum(axis=0), mu))


def _squares(C: Array, Y: Array) -> tuple[Array, float]:
    """y'C^-1 y of each column of Y, and log |C|."""
    Z, log_det = whiten(C, Y)
    return np.einsum("tw,tw->w", Z, Z), log_det


def _log_mean(log_p: Array) -> float:
    return float(logsumexp(log_p) - np.log(log_p.size))


def standardise(y: Array, noise_var: Array) -> tuple[Array, Array]:
    """Labels y (t,) and noise variances, standardised by the median and the deciles."""
    low, high = np.quantile(y, [0.1, 0.9]).tolist()
    sd = (high - low) / DECILES or float(y.std()) or 1.0
    return (y - np.median(y)) / sd, noise_var / sd**2


def evidence(kernels: Sequence[Kernel], X: Array, y: Array, noise_var: Array) -> Evidence:
    """The evidence of experts with these kernels for standardised labels y (t,) at X (t, d)."""
    t = len(y)
    C = np.empty((len(kernels), len(RATIOS), t, t))
    for k, kernel in enumerate(kernels):
        K = correlation(kernel, X, X)
        for r, ratio in enumerate(RATIOS):
            C[k, r] = K + np.diag(np.maximum(ratio + noise_var, LEAST_RATIO))
    ways = [
        IDENTITY_WARP,
        *([warp] if (warp := fit_warp(y, MIN_WARP_SPREAD)).spread else []),
    ]
    Y, slopes = np.column_stack([one.labels(y) for one in ways]), [one.log_slope(y) for one in ways]
    return Evidence(C.reshape(-1, t, t), Y, np.column_stack(slopes))


def group_gain(labels: Evidence, group: Mask, log_z: float) -> float:
    """Log evidence ratio, in nats, of a group with its own function or a shift against neither.

    `log_z` is that of the labels.
    """
    both = np.stack([labels.with_own_function(group), labels.with_shift(group)])
    return _log_mean(both) - log_z


def run_gain(labels: Evidence, run: Mask, bound: int = 0) -> float:
    """Log evidence ratio, in nats, of a stuck value against right labels, for a run.

    `bound` is 1 where no label is larger than the run, -1 where none is smaller.
    """
    y, k = labels.Y[:, 0], int(run.sum())
    v = float(y[run][0])
    stuck = -k * (np.log(RUN_SDS) + 0.5 * np.log(2.0 * np.pi) + 0.5 * (v / RUN_SDS) ** 2)
    right = labels.log_z()
    if bound:
        beyond, Y = np.maximum if bound > 0 else np.minimum, labels.Y.copy()
        Y[run] = beyond(Y[run], labels.predict(run))
        right = max(right, replace(labels, Y=Y).log_z())
    return float(labels.subset(~run).log_z() + stuck - right)


def wrong_labels(labels: Evidence, free: Mask) -> tuple[Mask, float]:
    """The most probable set of wrong labels among the `free` ones (t,), and its gain in nats."""
    n, y, log_z = int(free.sum()), labels.Y[:, 0], labels.log_z()
    best, gain = np.zeros(len(y), dtype=np.bool_), -np.inf
    for wrong in _wrong_sets(labels, free):
        found = labels.subset(~wrong).log_z() + _wrong_prior(y[wrong], n) - log_z
        if found > gain:
            best, gain = wrong, found
    return best, gain


def _wrong_prior(y: Array, n: int) -> float:
    """Log density of wrong labels y (k,), divided by the number of sets of k among n labels."""
    k = len(y)
    density = -np.log(np.pi * WRONG_SDS) - np.log1p((y / WRONG_SDS) ** 2)
    return float(density.sum() - gammaln(n + 1) + gammaln(k + 1) + gammaln(n - k + 1))


def _wrong_sets(labels: Evidence, free: Mask) -> list[Mask]:
    """The sets of labels with the most evidence against them under single experts."""
    most = min(int(MOST_SHARE * len(free)), MOST_WRONG, int(free.sum()))
    found: dict[bytes, tuple[float, Mask]] = {}
    inverse: Array = np.linalg.inv(labels.C).astype(np.float64, copy=False)
    for w in range(labels.Y.shape[1]):
        for score, wrong in _greedy_wrong_sets(labels, inverse, w, free, most):
            key = wrong.tobytes()
            if key not in found or found[key][0] < score:
                found[key] = (score, wrong)
    ranked = sorted(found.values(), key=lambda pair: -pair[0])
    return [wrong for _, wrong in ranked[:WEIGHED]]


def _greedy_wrong_sets(
    labels: Evidence, inverse: Array, w: int, free: Mask, most: int
) -> list[tuple[float, Mask]]:
    """Greedy sets of wrong labels under each expert, with their scores."""
    y, z, m = labels.Y[:, 0], labels.Y[:, w], len(inverse)
    A, rows, out = inverse.copy(), np.arange(m), np.zeros((m, len(y)), dtype=np.bool_)
    square = np.einsum("t,mts,s->m", z, A, z, optimize=True)
    log_det, slope = -np.linalg.slogdet(A)[1], labels.log_slope[:, w]
    found = []
    for k in range(1, most + 1):
        Az, A_ii = A @ z, np.maximum(np.einsum("mtt->mt", A), LEAST_LEFT)
        i = np.where(free & ~out, Az**2 / A_ii, -1.0).argmax(axis=1)
        column, own = A[rows, :, i], A_ii[rows, i]
        square, log_det = square - Az[rows, i] ** 2 / own, log_det + np.log(own)
        A -= column[:, :, None] * (column / own[:, None])[:, None, :]
        A[rows, i], A[rows, :, i], out[rows, i] = 0.0, 0.0, True
        log_p = log_evidence(len(y) - k, np.maximum(square, 0.0), log_det)
        best = np.argsort(-log_p)[:WEIGHED].tolist()
        prior = [_wrong_prior(y[out[n]], int(free.sum())) + slope[~out[n]].sum() for n in best]
        found += [(float(log_p[n]) + p, out[n].copy()) for n, p in zip(best, prior, strict=True)]
    return found


RIVAL_INPUTS, STEP_INPUTS = 10, 3
QUANTILES = (0.2, 0.35, 0.5, 0.65, 0.8)
NEAREST = 3
RIDGE = 0.1  # of the ridge regression, in units of the variances of the inputs
FEWEST = 2  # least number of labels in a region, and outside of it


def regions(X: Array, group: Mask) -> list[Mask]:
    """Regions of the inputs X (t, d) that agree best with a group (t,), each of at least FEWEST."""
    found = [region for region in _every(X, group) if FEWEST <= region.sum() <= len(X) - FEWEST]
    return list({region.tobytes(): region for region in found}.values())


def _every(X: Array, group: Mask) -> Iterator[Mask]:
    sd = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(sd > 0.0, sd, 1.0)
    centred = group - group.mean()
    alike = np.abs(centred @ Z)
    order = np.argsort(-alike, kind="stable").tolist()
    for j in order[:RIVAL_INPUTS]:
        yield _above(Z[:, j], group)
    for j in order[:STEP_INPUTS]:
        yield from (Z[:, j] > threshold for threshold in np.quantile(Z[:, j], QUANTILES).tolist())
    # Ridge regression by its dual form: t is small, d may be thousands.
    weights = np.linalg.solve(Z @ Z.T + RIDGE * len(Z) * np.eye(len(Z)), centred)
    yield _above(Z @ (Z.T @ weights), group)
    r2 = squared_distances(Z, Z)
    np.fill_diagonal(r2, np.inf)
    near = np.argsort(r2, axis=1, kind="stable")[:, :NEAREST]
    yield group[near].mean(axis=1) > 0.5


def _above(x: Array, group: Mask) -> Mask:
    """The labels with x (t,) at or above the threshold that agrees best with the group."""
    values = np.unique(x)
    if len(values) < 2:
        return np.zeros(len(x), dtype=np.bool_)
    inside = x >= values[1:, None]  # (thresholds, t)
    centred = group - group.mean()
    p = inside.mean(axis=1)
    alike = np.abs(inside @ centred) / np.sqrt(p * (1.0 - p))
    return np.asarray(inside[int(alike.argmax())])
