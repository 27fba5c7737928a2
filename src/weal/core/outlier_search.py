"""Labels doubted one by one, and believed again, by the evidence of some experts (`outliers`)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln, logsumexp

from weal.core.arrays import Array
from weal.core.exact import LEAST_RATIO
from weal.core.kernels import Kernel, correlation
from weal.core.magnitude import LOG_2_PI, Conjugate
from weal.core.slab import Mask
from weal.core.tuned import (
    A0,
    B0,
    MOST_WRONG,
)

LEAST_STEPPED = 5e-5  # noise ratio from which steps of rank one lose half of the digits at most


@dataclass(frozen=True, slots=True, eq=False)
class Stand:
    """Experts, and which of the labels they believe."""

    C: Array  # (m, t, t)  K + lam
    lam: Array  # (m, t)
    y: Array  # (t,)
    log_prior: Array  # (m,)
    A: Array  # (m, t, t)  inverse over the labels believed, 0 elsewhere
    log_det: Array  # (m,)  of C over the labels believed
    wrong: Mask  # (t,)

    @classmethod
    def of(cls, C: Array, lam: Array, y: Array, log_prior: Array, wrong: Mask) -> "Stand":
        """Experts with covariances C, of whose labels some are doubted."""
        kept = np.flatnonzero(~wrong)
        A, log_det = np.zeros_like(C), np.empty(len(C))
        for m, each in enumerate(C):
            L = np.linalg.cholesky(each[np.ix_(kept, kept)])
            R = np.linalg.inv(L)
            A[m][np.ix_(kept, kept)] = R.T @ R
            log_det[m] = 2.0 * np.log(np.diag(L)).sum()
        return cls(C, lam, y, log_prior, A, log_det, wrong)

    def turned(self, i: int) -> "Stand":
        """The same with label i doubted, or believed again.

        By a step of rank one, or anew where noise is so small that rounding would add up.
        """
        wrong = self.wrong.copy()
        wrong[i] = not wrong[i]
        if self.lam.min() < LEAST_STEPPED:
            return Stand.of(self.C, self.lam, self.y, self.log_prior, wrong)
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
        """A_ii, which lies between 1 / C_ii and 1 / lam; 1 / C_ii for labels that are doubted."""
        least = 1.0 / np.einsum("mtt->mt", self.C)
        return np.asarray(np.clip(np.einsum("mtt->mt", self.A), least, 1.0 / self.lam))

    def weighed(self) -> tuple[Array, Conjugate, Array]:
        """Log posterior of each expert (m,), not normalised; its magnitude; and A y (m, t)."""
        n = int((~self.wrong).sum())
        a, Ay = np.full(len(self.C), A0 + 0.5 * n), self.A @ self.y
        b = B0 + 0.5 * np.maximum(Ay @ self.y, 0.0)
        constant = gammaln(a) - gammaln(A0) + A0 * np.log(B0) - 0.5 * n * LOG_2_PI
        log_z = self.log_prior + constant - a * np.log(b) - 0.5 * self.log_det
        return log_z, Conjugate(a, b, np.ones(len(a))), Ay

    def log_z(self) -> float:
        """Log evidence of the labels believed."""
        return float(logsumexp(self.weighed()[0]))

    def log_density(self) -> Array:  # (t,)
        """Log density of each label given the others that are believed."""
        log_z, scale, Ay = self.weighed()
        on = ~self.wrong
        A_ii = self.diagonal()
        e, s = Ay / A_ii, 1.0 / A_ii
        log_p = scale.without(e, s).log_density(e, s)
        found = logsumexp(log_z) - logsumexp(log_z[:, None] - np.where(on, log_p, 0.0), axis=0)
        off = np.flatnonzero(self.wrong)
        if len(off):
            k = self.C[:, :, off] * on[:, None]  # (m, t, w)
            s = np.einsum("mtt->mt", self.C)[:, off] - np.einsum("mtw,mtw->mw", k, self.A @ k)
            e = self.y[off] - np.einsum("mtw,mt->mw", k, Ay)
            log_p = scale.log_density(e, np.maximum(s, self.lam[:, off]))
            found[off] = logsumexp(log_z[:, None] + log_p, axis=0) - logsumexp(log_z)
        return np.asarray(found)


def stand(
    players: Sequence[tuple[Kernel, float, float]], log_prior: Array, X: Array, y: Array,
    extra: Array, wrong: Mask,
) -> Stand:  # fmt: skip
    """The stand of experts (kernel, noise ratio, unit of extra) on labels y (t,) at X (t, d)."""
    C, lam = np.empty((len(players), len(y), len(y))), np.empty((len(players), len(y)))
    known: dict[Kernel, Array] = {}
    for m, (kernel, ratio, unit) in enumerate(players):
        if kernel not in known:
            known = {kernel: correlation(kernel, X, X)}
        lam[m] = np.maximum(ratio + extra / unit, LEAST_RATIO)
        C[m] = known[kernel] + np.diag(lam[m])
    return Stand.of(C, lam, y, log_prior, wrong)


def search(start: Stand, slab: Array, sure: Array, X: Array) -> Stand:
    """The stand after doubting and believing, one at a time, while the odds (slab, t) say so.

    Labels of one point that are doubted are believed together, where they speak for one another.
    """
    now, most = start, int(MOST_WRONG * len(slab))
    for _ in range(4 * most + 4):
        odds = slab - now.log_density()
        gain = np.where(now.wrong, -odds, np.where(sure > 0, -np.inf, odds))
        if now.wrong.sum() >= most:
            gain[~now.wrong] = -np.inf
        best = int(np.argmax(gain))
        if gain[best] > 0.0:
            now = now.turned(best)
            continue
        together = _replicates(now, slab, X)
        if together is None:
            break
        now = together
    return now


def _replicates(now: Stand, slab: Array, X: Array) -> Stand | None:
    """The stand with doubted labels of one point believed, where that is likelier, or None."""
    off, before = np.flatnonzero(now.wrong), now.log_z()
    for i in off.tolist():
        same = [j for j in off.tolist() if j >= i and np.array_equal(X[i], X[j])]
        if len(same) < 2:
            continue
        after = now
        for j in same:
            after = after.turned(j)
        if after.log_z() - before > slab[same].sum():
            return after
    return None
