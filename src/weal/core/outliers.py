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
and none lies apart, that is all. Otherwise it searches, forward and backward, from the gross
ones: over a coarse grid of experts, then with experts settled by the labels believed. What it finds
is weighed against nobody being wrong by the evidence of the whole line-up, straight and bent
(`bend`): a skewed function is no typo. Each doubt is charged, for no model is true: CHARGE nats, or
FAR_CHARGE where a label lies beyond all others by more than their range. Such a label is set aside
where it is undecided whether it is wrong: one in ten that is believed spoils more than one that is
missing. Two labels that are likely exchanged (`swaps`) are not set aside, but undecided.

[2] Box, Tiao: A Bayesian approach to some outlier problems, 1968.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit, logsumexp

from weal.core import swaps
from weal.core.arrays import Array
from weal.core.bend import STRAIGHT, Bend, bend_of
from weal.core.ensemble import Ensemble
from weal.core.exact import LEAST_RATIO
from weal.core.kernels import correlation
from weal.core.lineup import Lineup, grid, log_evidences
from weal.core.outlier_search import Stand, search, stand
from weal.core.slab import Doubt, Mask, Slab, apart, gross, spread
from weal.core.tuned import (
    BENT_CHARGE,
    CHARGE,
    FEWEST_DOUBTED,
    RATIOS,
    SUSPICIOUS,
    UNDECIDED,
)

HOPELESS = 4.0  # nats by which the grid may be against doubts that fitted experts are asked about
MOST_EXCHANGED = 0.45  # probability of being wrong of a label that is likely in another's place
LEAST_BENT = 1e-15  # spread over sd down to which labels may be skewed
OPEN = 10.0  # nats, and twice what fitted experts add, within which a coarse grid decides nothing


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
    alone = apart(y, sure) & ~far.any()
    far |= alone
    case = _Case(X, y, extra, sure, Slab(median, s, *_range(y[~far])))
    none = case.stand(lineup, variance, everyone)
    odds = np.where(sure > 0, -np.inf, case.odds(none, variance))
    nobody = Found(Doubt(expit(odds), everyone, case.slab), lineup, variance)
    if not (alone | (odds + case.charges > SUSPICIOUS)).any():
        return _or_exchanged(nobody, none, sure)
    found = case.searched(nobody, far, settle)
    if found.doubt.wrong.any():
        none = case.stand(found.lineup, found.variance, found.doubt.wrong)
    return _or_exchanged(found, none, sure)


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
            return _cleared(nobody)
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
            return _cleared(nobody)
        return case.weighed(nobody, after, lineup, variance, settle)

    def weighed(
        self, nobody: Found, now: Stand, lineup: Lineup, variance: float, settle: Settle
    ) -> Found:
        """The judgement: these are wrong, or nobody is.

        Labels that lie apart are set aside while it is undecided: what they would spoil is more.
        """
        wrong, right = now.wrong, ~now.wrong
        everyone = np.ones_like(wrong)
        doubts = float((self.slab.log_prior(self.y) - self.charges)[wrong].sum())
        gain = self.log_z(right, lineup, variance) + doubts
        gain -= self.log_z(everyone, nobody.lineup, nobody.variance)
        least = UNDECIDED if (self.charges[wrong] < CHARGE).all() else 0.0
        if gain > least:
            straight = self.log_z(right, lineup, variance) + doubts
            gain = min(gain, self.against_skew(straight, doubts, right, settle))
        odds = np.where(self.sure > 0, -np.inf, self.odds(now, variance))
        probability = expit(np.minimum(np.where(wrong, gain, np.inf), odds))
        if gain > least:
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
        bend = bend_of(y, LEAST_BENT) if bends else STRAIGHT
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
        bend = bend_of(self.y[kept], LEAST_BENT)
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


def _or_exchanged(found: Found, now: Stand, sure: Array) -> Found:
    """The judgement with labels of pairs that may be exchanged undecided at the least.

    None is set aside for that: what would put it right is known to whoever told them.
    """
    exchanged = np.minimum(expit(swaps.log_odds(now, sure)), MOST_EXCHANGED)
    probability = np.maximum(found.doubt.probability, exchanged)
    return replace(found, doubt=replace(found.doubt, probability=probability))


def _cleared(nobody: Found) -> Found:
    """The judgement where no set of doubts is likely: none of them is likelier than not."""
    most = np.minimum(nobody.doubt.probability, 0.5)
    return replace(nobody, doubt=replace(nobody.doubt, probability=most))


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
