"""Labels that may be wrong: a typo, another unit, another sample.

A label is right, with the noise that experts know of, or, with prior probability p, wrong: it then
tells nothing of f and comes from a wide Cauchy around the median of the labels,

    slab_i = log Cauchy(y_i; median, WIDTH s) + log(p / (1 - p)),     s = 1.4826 MAD

Which labels are wrong is decided by evidence, as a function of the set of labels. With C = K + lam,
A = C^-1 over the labels believed and log Z = sum over experts of prior and evidence, magnitude
integrated out (`magnitude`), every label has a density given all others believed, in closed form:

    believed    e_i = (A y)_i / A_ii     s_i = 1 / A_ii               b without e_i^2 / (2 s_i)
    doubted     e_j = y_j - k_j'A y      s_j = C_jj - k_j'A k_j

and the log odds of a label being wrong are slab_i - charge_i - log p(y_i | others). To doubt i, or
to believe j again, is a rank-one step of A (`Stand`):

    A -= A_i A_i' / A_ii           A += u u' / s_j,    u = A k_j - e_j

`judge` first looks at the odds by the experts that all labels settle. Where none is surprising,
that is all. Otherwise it searches, forward and backward, from the gross
ones: over a coarse grid of experts, then with experts settled by the labels believed. What it finds
is weighed against nobody being wrong by the evidence of the whole line-up, straight and bent
(`bend`): a skewed function is no typo. Each doubt is charged, for no model is true: CHARGE nats, or
FAR_CHARGE where a label lies beyond all others by more than their range.

[2] Box, Tiao: A Bayesian approach to some outlier problems, 1968.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaln, logit, logsumexp

from weal.core.arrays import Array
from weal.core.bend import STRAIGHT, Bend, bend_of
from weal.core.ensemble import Ensemble
from weal.core.exact import LEAST_RATIO
from weal.core.kernels import Kernel, correlation
from weal.core.lineup import Lineup, grid, log_evidences
from weal.core.magnitude import LOG_2_PI, Conjugate
from weal.core.tuned import (
    A0,
    B0,
    BENT_CHARGE,
    CHARGE,
    FAR_CHARGE,
    FEWEST_DOUBTED,
    GROSS,
    MOST_WRONG,
    PRIOR_WRONG,
    RATIOS,
    SLAB_WIDTH,
    SUSPICIOUS,
)

Mask = NDArray[np.bool_]
LEAST_STEPPED = 5e-5  # noise ratio from which steps of rank one lose half of the digits at most
HOPELESS = 4.0  # nats by which the grid may be against doubts that fitted experts are asked about
OPEN = 10.0  # nats, and twice what fitted experts add, within which a coarse grid decides nothing
MAD = 1.4826  # the sd of a normal over its median absolute deviation


@dataclass(frozen=True, slots=True)
class Slab:
    """Where wrong labels come from, and where those believed lie; in units of the labels."""

    median: float
    s: float  # robust sd
    low: float  # the least and the largest label believed
    high: float

    def log_prior(self, y: Array) -> Array:  # (N,) -> (N,)
        """Log density of labels that are wrong, times the prior odds of being so."""
        width = SLAB_WIDTH * self.s
        z = (y - self.median) / width
        odds = float(np.log(PRIOR_WRONG) - np.log1p(-PRIOR_WRONG))
        return np.asarray(-np.log(np.pi * width) - np.log1p(z * z) + odds)

    def charge(self, y: Array) -> Array:  # (N,) -> (N,)
        """What doubting each of the labels costs."""
        span = self.high - self.low
        far = (y > self.high + span) | (y < self.low - span)
        return np.where(far, FAR_CHARGE, CHARGE)

    def scaled(self, unit: float) -> "Slab":
        """The same in other units."""
        return Slab(*(part / unit for part in (self.median, self.s, self.low, self.high)))


@dataclass(frozen=True, slots=True, eq=False)
class Doubt:
    """What was found of the labels that experts were settled by, in the order told."""

    probability: Array  # (n,)  of being wrong
    wrong: Mask  # (n,)  those that are taken to be
    slab: Slab = Slab(0.0, 0.0, 0.0, 0.0)

    def __len__(self) -> int:
        return len(self.wrong)


NO_DOUBT = Doubt(np.zeros(0), np.zeros(0, dtype=np.bool_))


def spread(y: Array) -> tuple[float, float]:
    """Median and robust sd of labels y (t,); the sd is 0 where more than half are equal."""
    median = float(np.median(y))
    return median, MAD * float(np.median(np.abs(y - median)))


def gross(y: Array, sure: Array, farthest: float = GROSS) -> Mask:
    """Labels more than so many robust sds away; the farthest, where those are too many."""
    median, s = spread(y)
    away = np.where(sure > 0, 0.0, np.abs(y - median))
    if s == 0.0 or len(y) < FEWEST_DOUBTED:
        return np.zeros(len(y), dtype=np.bool_)
    most = int(MOST_WRONG * len(y))
    limit = max(farthest * s, float(np.sort(away)[-most - 1]))
    return np.asarray(away > limit)


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


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What a judgement ends in."""

    doubt: Doubt
    lineup: Lineup
    variance: float  # of the labels believed


# Labels to believe (t,), and how they are bent -> the line-up for them, and their variance.
Settle = Callable[[Mask, Bend], tuple[Lineup, float]]


def judge(X: Array, y: Array, extra: Array, sure: Array, settle: Settle) -> Found:
    """Which of the labels y (t,) at X (t, d) are wrong, and the experts settled by the others.

    `extra` (t,) are noise variances of their own; those called `sure` (t,) are believed.
    """
    t = len(y)
    everyone = np.zeros(t, dtype=np.bool_)
    lineup, variance = settle(~everyone, STRAIGHT)
    median, s = spread(y)
    if s == 0.0 or t < FEWEST_DOUBTED:
        return Found(Doubt(np.zeros(t), everyone), lineup, variance)
    far = gross(y, sure)
    case = _Case(X, y, extra, sure, Slab(median, s, *_range(y[~far])))
    none = case.stand(lineup, variance, everyone)
    odds = np.where(sure > 0, -np.inf, case.odds(none, variance))
    nobody = Found(Doubt(expit(odds), everyone, case.slab), lineup, variance)
    if not (odds + case.charges > SUSPICIOUS).any():
        return nobody
    return case.searched(nobody, far, settle)


def _range(y: Array) -> tuple[float, float]:
    return float(y.min()), float(y.max())


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """Labels that are judged."""

    X: Array  # (t, d)
    y: Array  # (t,)
    extra: Array  # (t,)
    sure: Array  # (t,)
    slab: Slab

    @property
    def charges(self) -> Array:  # (t,)
        return self.slab.charge(self.y)

    def stand(self, lineup: Lineup, variance: float, wrong: Mask) -> Stand:
        """The stand of a line-up that was settled with labels of that variance."""
        players = list(
            zip(lineup.kernels, lineup.noise.tolist(), lineup.unit.tolist(), strict=True)
        )
        y, extra = self.y / np.sqrt(variance), self.extra / variance
        return stand(players, lineup.log_prior, self.X, y, extra, wrong)

    def slabs(self, variance: float) -> Array:  # (t,)
        """Log slab of each label, in units of labels of that variance."""
        return self.slab.log_prior(self.y) + 0.5 * float(np.log(variance))

    def odds(self, now: Stand, variance: float) -> Array:  # (t,)
        """Log odds of each label being wrong, its charge paid."""
        return self.slabs(variance) - self.charges - now.log_density()

    def on_grid(self, far: Mask) -> Mask:
        """Labels to doubt by a coarse grid of experts, found without a charge; none where with it
        that is far from likely.
        """
        variance = float(np.var(self.y[~far])) or 1.0
        kernels, ratios = grid(self.X.shape[1])[::2], RATIOS[3:]
        players = [(kernel, ratio, 1.0) for kernel in kernels for ratio in ratios]
        y, extra = self.y / np.sqrt(variance), self.extra / variance
        even = np.full(len(players), -np.log(len(players)))
        start = stand(players, even, self.X, y, extra, far)
        found = search(start, self.slabs(variance), self.sure, self.X)
        nobody = np.zeros_like(far)
        doubts = (self.slabs(variance) - self.charges)[found.wrong].sum()
        everyone = Stand.of(start.C, start.lam, y, even, nobody)
        return found.wrong if found.log_z() + doubts > everyone.log_z() - HOPELESS else nobody

    def searched(self, nobody: Found, far: Mask, settle: Settle) -> Found:
        """The judgement where a label is suspicious."""
        order = np.lexsort((*self.X.T, self.y))  # decisions do not hang on rounding
        back = np.argsort(order)
        X, y, extra, sure = (part[order] for part in (self.X, self.y, self.extra, self.sure))
        sorted_case = _Case(X, y, extra, sure, self.slab)
        wrong = sorted_case.on_grid(far[order])[back]
        if not wrong.any():
            return nobody
        lineup, variance = settle(~wrong, STRAIGHT)
        case = replace(self, slab=replace(self.slab, **_ends(self.y[~wrong])))
        start = self.stand(lineup, variance, wrong)
        after = search(start, case.slabs(variance) - case.charges, self.sure, self.X)
        if after.wrong.any() and (after.wrong != wrong).any():
            wrong = after.wrong
            lineup, variance = settle(~wrong, STRAIGHT)
            case = replace(self, slab=replace(self.slab, **_ends(self.y[~wrong])))
            after = case.stand(lineup, variance, wrong)
        if not after.wrong.any():
            return nobody
        return case.weighed(nobody, after, lineup, variance, settle)

    def weighed(
        self, nobody: Found, now: Stand, lineup: Lineup, variance: float, settle: Settle
    ) -> Found:
        """The judgement: these are wrong, or nobody is."""
        wrong, right = now.wrong, ~now.wrong
        everyone = np.ones_like(wrong)
        doubts = float((self.slab.log_prior(self.y) - self.charges)[wrong].sum())
        gain = self.log_z(right, lineup, variance) + doubts
        gain -= self.log_z(everyone, nobody.lineup, nobody.variance)
        if gain > 0.0:
            straight = self.log_z(right, lineup, variance) + doubts
            gain = min(gain, self.against_skew(straight, doubts, right, settle))
        odds = np.where(self.sure > 0, -np.inf, self.odds(now, variance))
        probability = expit(np.minimum(np.where(wrong, gain, np.inf), odds))
        if gain > 0.0:
            return Found(Doubt(probability, wrong, self.slab), lineup, variance)
        log_odds = np.minimum(logit(nobody.doubt.probability), gain)
        kept = expit(np.where(wrong, gain, log_odds))
        return replace(nobody, doubt=replace(nobody.doubt, probability=kept))

    def against_skew(self, straight: float, doubts: float, right: Mask, settle: Settle) -> float:
        """How much likelier labels are with some of them wrong than skewed, in nats.

        `straight` is their log evidence with these wrong. Experts are settled by bent labels only
        where a coarse grid of them leaves it open.
        """
        everyone = np.ones_like(right)
        none = self.coarse(everyone, bends=True) - BENT_CHARGE
        some = self.coarse(right, bends=True) - BENT_CHARGE + doubts
        if none > max(straight, some):
            return max(straight, some) - none
        fitted = max(straight - doubts - self.coarse(right, bends=False), 0.0)
        if (room := straight - none - 2.0 * fitted - OPEN) > 0.0:
            return room
        some = self.bent(right, settle) + doubts
        return max(straight, some) - self.bent(everyone, settle)

    def coarse(self, kept: Mask, bends: bool) -> float:
        """Log evidence of some of the labels by a coarse grid of experts, in units of y."""
        y, extra, X = self.y[kept], self.extra[kept], self.X[kept]
        bend = bend_of(y) if bends else STRAIGHT
        if bends and not bend.spread:
            return -np.inf
        z, noise = bend.labels(y), bend.variances(extra, y)
        unit = float(np.var(z)) or 1.0
        kernels, ratios = grid(X.shape[1])[::2], RATIOS[::2]
        log_p = log_evidences(kernels, ratios, X, z / unit**0.5, noise / unit)
        slope = float(bend.log_slope(y).sum()) - 0.5 * len(y) * float(np.log(unit))
        return float(logsumexp(log_p)) - float(np.log(log_p.size)) + slope

    def bent(self, kept: Mask, settle: Settle) -> float:
        """Log evidence of some of the labels, were they bent, which few are."""
        bend = bend_of(self.y[kept])
        if not bend.spread:
            return -np.inf
        return self.log_z(kept, *settle(kept, bend), bend) - BENT_CHARGE

    def log_z(self, kept: Mask, lineup: Lineup, variance: float, bend: Bend = STRAIGHT) -> float:
        """Log evidence of some of the labels by a line-up, in units of y."""
        y, right = self.y[kept], np.zeros(int(kept.sum()), dtype=np.bool_)
        noise = bend.variances(self.extra[kept], y)
        seen = _Case(self.X[kept], bend.labels(y), noise, self.sure[kept], self.slab)
        slope = float(bend.log_slope(y).sum()) - 0.5 * len(y) * float(np.log(variance))
        return seen.stand(lineup, variance, right).log_z() + slope


def _ends(y: Array) -> dict[str, float]:
    low, high = _range(y)
    return {"low": low, "high": high}


def judge_others(
    found: Found, rows: tuple[Array, Array, Array], every: tuple[Array, Array, Array], which: Mask
) -> Array:
    """Log odds (N,) of labels that were not looked at, by the experts and labels that were.

    `rows` and `every` are inputs, labels and noise variances: of those judged, and of all.
    """
    (X, y, extra), (others, labels, noise) = rows, (part[which] for part in every)
    root, lineup = float(np.sqrt(found.variance)), found.lineup
    kept = ~found.doubt.wrong
    case = _Case(X[kept], y[kept], extra[kept], np.zeros(int(kept.sum())), found.doubt.slab)
    now = case.stand(lineup, found.variance, np.zeros(int(kept.sum()), dtype=np.bool_))
    log_z, scale, Ay = now.weighed()
    e, s = np.empty((2, len(log_z), len(labels)))
    for m, kernel in enumerate(lineup.kernels):
        k = correlation(kernel, case.X, others)  # (t, N)
        own = lineup.noise[m] + noise / found.variance / lineup.unit[m]
        s[m] = np.maximum(kernel.variance - np.einsum("tn,tn->n", k, now.A[m] @ k), 0.0) + own
        e[m] = labels / root - Ay[m] @ k
    log_p = scale.log_density(e, np.maximum(s, LEAST_RATIO))
    log_p = logsumexp(log_z[:, None] + log_p, axis=0) - logsumexp(log_z) - np.log(root)
    slab = found.doubt.slab
    return np.asarray(slab.log_prior(labels) - slab.charge(labels) - log_p)


def put(doubt: Doubt, rows: Array, odds: Array, elsewhere: Mask, sure: Array) -> Doubt:
    """The doubt of all labels, from that of some and the odds of those elsewhere."""
    probability = np.zeros(len(elsewhere))
    probability[rows], probability[elsewhere] = doubt.probability, expit(odds)
    wrong = np.zeros(len(elsewhere), dtype=np.bool_)
    wrong[rows], wrong[elsewhere] = doubt.wrong, odds > 0.0
    free = sure == 0.0
    return replace(doubt, probability=probability * free, wrong=wrong & free)


def odds_to_come(
    ens: Ensemble, slab: Slab, mu: Array, v: Array, z: Array, extra: Array
) -> tuple[Array, Array]:
    """Log odds (N,) of labels z (N,) being wrong where f is believed to be mu, v (M, N), v in units
    of the magnitude; and how far they are from the mean of the mixture.
    """
    e, s = ens.likelihood.to_come(z, mu, v, np.maximum(ens.ratios(extra), LEAST_RATIO))
    log_p = logsumexp(ens.log_w[:, None] + ens.likelihood.log_density(ens.scale, e, s), axis=0)
    return slab.log_prior(z) - slab.charge(z) - log_p, z - ens.w @ mu
