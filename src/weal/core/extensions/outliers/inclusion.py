"""Exclude and include labels one at a time, by the evidence of given experts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from weal.core.arrays import Array, logsumexp
from weal.core.constants import MAX_OUTLIER_SHARE
from weal.core.extensions.conjugate_magnitude import ConjugateMagnitude
from weal.core.extensions.integrated_evidence import (
    evidence_constant,
    log_evidence,
    magnitude_posterior,
)
from weal.core.extensions.outliers.prior import Mask
from weal.core.packed_factors import cholesky
from weal.core.paper.exact_gp import LEAST_RATIO
from weal.core.paper.kernels import Kernel, correlation

LEAST_STEPPED = 5e-5  # noise ratio from which steps of rank one lose half of the digits at most


@dataclass(frozen=True, slots=True, eq=False)
class InclusionState:
    """Experts, and the labels that are included or excluded."""

    C: Array  # (m, t, t)  K + lam
    lam: Array  # (m, t)
    y: Array  # (t,)
    log_prior: Array  # (m,)
    A: Array  # (m, t, t)  inverse over the included labels, 0 elsewhere
    log_det: Array  # (m,)  of C over the included labels
    wrong: Mask  # (t,)

    @classmethod
    def of(cls, C: Array, lam: Array, y: Array, log_prior: Array, wrong: Mask) -> "InclusionState":
        """Experts with covariances C, with some labels excluded."""
        kept = np.ix_(~wrong, ~wrong)
        A, log_det = np.zeros_like(C), np.empty(len(C))
        for m, each in enumerate(C):
            A[m][kept], log_det[m] = _inverse(each[kept])
        return cls(C, lam, y, log_prior, A, log_det, wrong)

    def toggle(self, i: int) -> "InclusionState":
        """The state with label i toggled between included and excluded.

        By a step of rank one, or by a new inverse where noise is so small that rounding would add
        up.
        """
        wrong = self.wrong.copy()
        wrong[i] = not wrong[i]
        if self.lam.min() < LEAST_STEPPED:
            return InclusionState.of(self.C, self.lam, self.y, self.log_prior, wrong)
        if self.wrong[i]:
            u = np.matmul(self.A, self.C[:, :, i, None])[:, :, 0]  # A k
            s = self.C[:, i, i] - np.einsum("mt,mt->m", self.C[:, i] * ~self.wrong, u)
            u[:, i] -= 1.0
            A, log_det = self.A + u[:, :, None] * (u / s[:, None])[:, None, :], np.log(s)
        else:
            column, A_ii = self.A[:, :, i], self.A[:, i, i]
            A = self.A - column[:, :, None] * (column / A_ii[:, None])[:, None, :]
            A[:, i], A[:, :, i], log_det = 0.0, 0.0, np.log(A_ii)
        return replace(self, A=A, log_det=self.log_det + log_det, wrong=wrong)

    def diagonal(self) -> Array:  # (m, t)
        """A_ii, clipped to 1 / C_ii .. 1 / lam; 1 / C_ii for excluded labels."""
        least = 1.0 / np.einsum("mtt->mt", self.C)
        return np.asarray(np.clip(np.einsum("mtt->mt", self.A), least, 1.0 / self.lam))

    def weigh(self) -> tuple[Array, ConjugateMagnitude, Array]:
        """Unnormalised log posterior (m,) of each expert, its magnitude, and A y (m, t)."""
        n = int((~self.wrong).sum())
        Ay = self.A @ self.y
        square = np.maximum(Ay @ self.y, 0.0)
        log_z = log_evidence(n, square, self.log_det, self.log_prior + evidence_constant(n))
        a, b = magnitude_posterior(n, square)
        return log_z, ConjugateMagnitude(np.full(len(b), a), b, np.ones(len(b))), Ay

    def log_z(self) -> float:
        """Log evidence of the included labels."""
        return float(logsumexp(self.weigh()[0]))

    def others(self) -> "MixturePrediction":
        """Prediction of each label from the other included labels."""
        log_z, scale, Ay = self.weigh()
        A_ii, on = self.diagonal(), ~self.wrong
        e, s = Ay / A_ii, 1.0 / A_ii
        less = scale.without(e, s)
        log_w = log_z[:, None] - np.where(on, less.log_density(e, s), 0.0)
        a, b = np.where(on, less.a[:, None], scale.a[:, None]), less.b
        off = np.flatnonzero(self.wrong)
        if len(off):
            k = self.C[:, :, off] * on[:, None]  # (m, t, w)
            left = np.einsum("mtt->mt", self.C)[:, off] - np.einsum("mtw,mtw->mw", k, self.A @ k)
            s[:, off] = np.maximum(left, self.lam[:, off])
            e[:, off] = self.y[off] - np.einsum("mtw,mt->mw", k, Ay)
            b[:, off] = scale.b[:, None]
        log_w -= logsumexp(log_w, axis=0)
        return MixturePrediction(log_w, ConjugateMagnitude(a, b, scale.unit), e, s)

    def log_density(self) -> Array:  # (t,)
        """Log density of each label given the other included labels."""
        return self.others().log_density(np.zeros(len(self.y)))


def _inverse(C: Array) -> tuple[Array, float]:
    """C^-1 of a covariance C (n, n), and the log of its determinant."""
    L = cholesky(C)
    log_det = 2.0 * float(np.log(np.diag(L)).sum())
    lower, _ = lapack.dpotri(L, lower=1)
    lower = np.tril(lower)
    return lower + np.tril(lower, -1).T, log_det


@dataclass(frozen=True, slots=True, eq=False)
class MixturePrediction:
    """Predictive distribution of labels: a mixture of Student-t."""

    log_w: Array  # (m, t)  their weights
    scale: ConjugateMagnitude  # (m, t)
    e: Array  # (m, t)  labels minus their predictions
    s: Array  # (m, t)

    def log_density(self, more: Array) -> Array:  # (t,) -> (t,)
        """Log density at the labels plus a shift."""
        log_p = self.log_w + self.scale.log_density(self.e + more, self.s)
        return np.asarray(logsumexp(log_p, axis=0))


# Log density of labels that are wrong, times the odds of being so (t,), by the inclusion state.
LogOutlierPrior = Callable[[InclusionState], Array]


def include_all(
    models: Sequence[tuple[Kernel, float, float]], log_prior: Array, X: Array, y: Array,
    noise_var: Array, wrong: Mask,
) -> InclusionState:  # fmt: skip
    """The state under experts (kernel, noise ratio, unit) for labels y (t,) at X (t, d).

    Noise variances are (t,), or (m, t), those of each expert.
    """
    C, lam = np.empty((len(models), len(y), len(y))), np.empty((len(models), len(y)))
    known: dict[Kernel, Array] = {}
    for m, (kernel, ratio, unit) in enumerate(models):
        if kernel not in known:
            known = {kernel: correlation(kernel, X, X)}
        own = noise_var if noise_var.ndim == 1 else noise_var[m]
        lam[m] = np.maximum(ratio + own / unit, LEAST_RATIO)
        C[m] = known[kernel] + np.diag(lam[m])
    return InclusionState.of(C, lam, y, log_prior, wrong)


def search(start: InclusionState, prior: LogOutlierPrior, sure: Array, X: Array) -> InclusionState:
    """The state after excluding and including labels one at a time while the odds improve.

    Excluded labels of one point are included together where they confirm one another.
    """
    now, most = start, int(MAX_OUTLIER_SHARE * len(start.y))
    for _ in range(4 * most + 4):
        odds = prior(now) - now.log_density()
        gain = np.where(now.wrong, -odds, np.where(sure > 0, -np.inf, odds))
        if now.wrong.sum() >= most:
            gain[~now.wrong] = -np.inf
        best = int(np.argmax(gain))
        if gain[best] > 0.0:
            now = now.toggle(best)
            continue
        together = _replicates(now, prior(now), X)
        if together is None:
            break
        now = together
    return now


def _replicates(now: InclusionState, prior: Array, X: Array) -> InclusionState | None:
    """The state with excluded replicates of one point included if that is more probable, else
    None.
    """
    off, before = np.flatnonzero(now.wrong), now.log_z()
    for i in off.tolist():
        same = [j for j in off.tolist() if j >= i and np.array_equal(X[i], X[j])]
        if len(same) < 2:
            continue
        after = now
        for j in same:
            after = after.toggle(j)
        if after.log_z() - before > prior[same].sum():
            return after
    return None
