"""Which experts play: the few, out of all that could, that the labels speak for.

All that could are a grid (families x one lengthscale x noise ratio) and, fitted to the labels, one
lengthscale for each input (`relevance`), in a family of the grid or in anova (`anova`). They are
classes of models with a prior of their own:

    anova            1 - (1 - ANOVA_SHARE)^(d - 1)   nothing with one input
    one for each     FITTED_SHARE of the rest        evenly to the families
    the grid         what is left, evenly to the kernels

all with one prior of the noise ratio (`relevance.noise_prior`), or a class would gain or lose by
the noise that the labels have. Evidence, Laplace's for what is fitted, turns them into a posterior.
A peak is entered as several experts (`draws`), for few labels leave its lengthscales and noise
open; they divide its weight.

Those with a posterior of at least LEAST_POSTERIOR play, MOST_EXPERTS at the most, and of a class
that has as much its best in any case; what the others of its class had goes to them, for the grid
spreads its mass over many and would lose it to the few fitted ones. They start from the log prior
that makes their weights, once all labels are folded in, the posteriors found here. Noise that
labels bring along is measured by a unit of each one's own (`stated_noise`). A line-up depends on
the set of labels alone, not on their order or on the line-up before.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.special import gammaln, logsumexp

from weal.core.anova import ANOVA
from weal.core.arrays import Array
from weal.core.draws import draws
from weal.core.ensemble import normalise
from weal.core.exact import LEAST_RATIO
from weal.core.kernels import Kernel, correlation, dictionary
from weal.core.magnitude import LOG_2_PI
from weal.core.relevance import Peak, fit, forward, noise_prior
from weal.core.stated_noise import prior_height, units
from weal.core.tuned import (
    A0,
    ANOVA_RATIO,
    ANOVA_SHARE,
    ANOVA_START,
    B0,
    FEWEST_FITTED,
    FIT_ROUNDS,
    FITTED_SHARE,
    FORWARD_RATIO,
    GRID_FAMILIES,
    GRID_LENGTHS,
    LEAST_POSTERIOR,
    MANY_INPUTS,
    MOST_EXPERTS,
    OFFSET,
)

Player = tuple[Kernel, float]  # an expert that could play, with its noise ratio


@dataclass(frozen=True, slots=True, eq=False)
class Lineup:
    """The experts that play."""

    kernels: tuple[Kernel, ...]  # H
    noise: Array  # (H,)  lam
    unit: Array  # (H,)  of the noise that labels bring along
    log_prior: Array  # (H,)  their log weights before the first label, not normalised
    fitted: float  # posterior of the classes with one lengthscale for each input


def grid(d: int) -> tuple[Kernel, ...]:
    """The kernels of the grid for d inputs."""
    plain = dictionary(GRID_FAMILIES, [length * d**0.5 for length in GRID_LENGTHS])
    return tuple(Kernel(k.family, k.length_scale, k.alpha, OFFSET) for k in plain)


def choose(
    kernels: Sequence[Kernel], ratios: Sequence[float], X: Array, y: Array, extra: Array,
    relevance: bool = True, temper: float = 1.0, additive: bool = True,
) -> Lineup:  # fmt: skip
    """The line-up for labels y (t,) at X (t, d), with noise variances extra (t,) of their own.

    Where evidences will be raised to the power `temper` (`ensemble`), those play that matter then.
    Without `additive` anova is left out, for experts that are not exact. Labels whose noise has no
    bound tell nothing, and have to be left out.
    """
    if not np.isfinite(extra).all():
        raise ValueError("a noise variance is not finite; leave out labels that tell nothing")
    evidence, unit = weighed(kernels, ratios, X, y, extra)  # (kernels, ratios)
    on_grid = evidence - _taken(unit, extra) + _noise_shares(ratios, extra)
    players = [(kernel, ratio) for kernel in kernels for ratio in ratios]
    parts = [Entries(players, evidence.ravel(), unit.ravel(), on_grid.ravel())]
    shares = [1.0 / len(kernels)]
    if relevance and len(y) >= FEWEST_FITTED:
        anova_share = 1.0 - (1.0 - ANOVA_SHARE) ** (X.shape[1] - 1) if additive else 0.0
        peaks = _peaks(kernels, ratios, on_grid, X, y, extra)
        shares = [(1.0 - anova_share) * (1.0 - FITTED_SHARE) / len(kernels)]
        shares.append((1.0 - anova_share) * FITTED_SHARE / len(peaks))
        parts.append(_joined([_entries(peak, X, y, extra) for peak in peaks]))
        if anova_share:
            start = (Kernel(ANOVA, ANOVA_START, X.shape[1] ** -0.5, OFFSET), ANOVA_RATIO)
            parts.append(_entries(_fitted(start, X, y, extra), X, y, extra))
            shares.append(anova_share)
    kind = np.repeat(np.arange(len(parts)), [len(part.players) for part in parts])
    every = _joined(parts)
    return _best(every, every.log_post + np.log(shares)[kind], kind, temper)


class Entries(NamedTuple):
    """Experts that could play."""

    players: list[Player]  # n
    evidence: Array  # (n,)
    unit: Array  # (n,)
    log_post: Array  # (n,)  without the share of their class


def _joined(parts: Sequence[Entries]) -> Entries:
    """All of them, in turn."""
    players = [player for part in parts for player in part.players]
    evidence, unit, log_post = (np.concatenate([part[n] for part in parts]) for n in (1, 2, 3))
    return Entries(players, evidence, unit, log_post)


def _best(every: Entries, log_post: Array, kind: NDArray[np.intp], temper: float) -> Lineup:
    """Those with the largest posteriors, for log posteriors (n,) and classes (n,)."""
    log_prior = log_post - every.evidence
    log_post = normalise(log_prior + temper * every.evidence)
    best = _playing(log_post, kind)
    chosen = [every.players[n] for n in best.tolist()]
    return Lineup(
        tuple(kernel for kernel, _ in chosen),
        np.array([ratio for _, ratio in chosen]),
        every.unit[best],
        log_prior[best] + _inherited(log_post, best, kind),
        float(np.exp(log_post[kind > 0]).sum()),
    )


def _playing(log_post: Array, kind: NDArray[np.intp]) -> NDArray[np.intp]:
    """Positions of those that play, best first; the best of each class goes before all others."""
    order = np.argsort(-log_post, kind="stable")
    leads = np.zeros(len(order), dtype=bool)
    for one in np.unique(kind):
        if logsumexp(log_post[kind == one]) >= np.log(LEAST_POSTERIOR):
            leads[np.flatnonzero(kind[order] == one)[0]] = True
    rest = ~leads & (log_post[order] >= np.log(LEAST_POSTERIOR))
    rest &= np.cumsum(rest) <= MOST_EXPERTS - leads.sum()
    return np.asarray(order[leads | rest])


def _inherited(log_post: Array, best: NDArray[np.intp], kind: NDArray[np.intp]) -> Array:
    """What makes up for those of each class that do not play, in the logs of those that do."""
    more = np.zeros(len(best))
    for one in np.unique(kind[best]):
        playing = kind[best] == one
        more[playing] = logsumexp(log_post[kind == one]) - logsumexp(log_post[best[playing]])
    return more


def weighed(
    kernels: Sequence[Kernel], ratios: Sequence[float], X: Array, y: Array, extra: Array
) -> tuple[Array, Array]:
    """Log evidence (kernels, ratios) of the labels, magnitude integrated out, and units of extra.

    Without extra the unit of an expert is where what it believes of its log magnitude peaks.
    """
    stated = bool(extra.any())
    unit = units(kernels, ratios, X, y, extra) if stated else np.ones((len(kernels), len(ratios)))
    square, log_det = np.empty_like(unit), np.empty_like(unit)
    for n, kernel in enumerate(kernels):
        K = correlation(kernel, X, X)
        diagonal = np.diag(K).copy()
        for r, ratio in enumerate(ratios):
            np.fill_diagonal(K, diagonal + np.maximum(ratio + extra / unit[n, r], LEAST_RATIO))
            square[n, r], log_det[n, r] = _factored(K, y)
    a, b = A0 + 0.5 * len(y), B0 + 0.5 * square
    evidence = evidence_constant(len(y)) - a * np.log(b) - 0.5 * log_det
    return evidence, unit if stated else b / a


def _factored(C: Array, y: Array) -> tuple[float, float]:
    """y'C^-1 y and log |C|."""
    L, failed = lapack.dpotrf(C.T, lower=1, clean=0)  # symmetric: its transpose needs no copy
    if failed:
        raise np.linalg.LinAlgError("correlations are not positive definite")
    z, _ = lapack.dtrtrs(L, y, lower=1)
    return float(z @ z), 2.0 * float(np.log(np.diag(L)).sum())


def log_evidences(
    kernels: Sequence[Kernel], ratios: Sequence[float], X: Array, y: Array, extra: Array
) -> Array:
    """Log evidence (kernels, ratios) of the labels, magnitude integrated out."""
    return weighed(kernels, ratios, X, y, extra)[0]


def evidence_constant(t: int) -> float:
    """What the evidence of t labels has in common for all experts."""
    return float(gammaln(A0 + 0.5 * t) - gammaln(A0) + A0 * np.log(B0) - 0.5 * t * LOG_2_PI)


def _peaks(
    kernels: Sequence[Kernel], ratios: Sequence[float], on_grid: Array, X: Array, y: Array,
    extra: Array,
) -> list[Peak]:  # fmt: skip
    """The peak of each family, from the best of its kernels on the grid.

    With MANY_INPUTS or more, of which few may matter, also from where `forward` leads: one
    lengthscale for all may see nothing but noise there, and so would what is fitted from it.
    """
    peaks = []
    for family in dict.fromkeys(kernel.family for kernel in kernels):
        rows = [n for n, kernel in enumerate(kernels) if kernel.family == family]
        n, r = np.unravel_index(int(np.argmax(on_grid[rows])), on_grid[rows].shape)
        starts = [(kernels[rows[int(n)]], float(ratios[int(r)]))]
        if X.shape[1] >= MANY_INPUTS:
            starts.append((forward(kernels[rows[0]], X, y, extra), FORWARD_RATIO))
        found = [_fitted(start, X, y, extra) for start in starts]
        peaks.append(max(found, key=lambda peak: peak.log_z))
    return peaks


def _fitted(start: Player, X: Array, y: Array, extra: Array) -> Peak:
    """The peak from a start, stated noise measured by the unit of the start, then of the peak."""
    if not extra.any():
        return fit(*start, X, y, extra)
    for _ in range(FIT_ROUNDS):
        unit = float(units([start[0]], [start[1]], X, y, extra)[0, 0])
        peak = replace(fit(*start, X, y, extra / unit), unit=unit)
        start = (peak.kernel, peak.noise)
    return peak


def _noise_shares(ratios: Sequence[float], extra: Array) -> Array:
    """Log prior (ratios,) of the noise ratios of the grid: that of what is fitted, at these."""
    untold = float(np.mean(extra == 0.0))
    return normalise(np.array([noise_prior(float(np.log(ratio)), untold)[0] for ratio in ratios]))


def _taken(unit: Array, extra: Array) -> Array:
    """What the prior of the magnitude took, and is given back where noise is stated."""
    return prior_height(unit) if extra.any() else np.zeros_like(unit)


def _entries(peak: Peak, X: Array, y: Array, extra: Array) -> Entries:
    """The experts that stand for a peak, and their log posteriors within its class."""
    points, log_share, L, b = draws(peak)
    constant, shape = evidence_constant(len(y)), peak.fit.shape
    players = [(shape.kernel(p[:-1]), float(np.exp(p[-1]))) for p in points]
    log_post = peak.log_z + constant + log_share
    if not extra.any():
        return Entries(players, L + constant, b / (A0 + 0.5 * len(y)), log_post)
    each = [weighed([kernel], [ratio], X, y, extra) for kernel, ratio in players]
    evidence, unit = (np.array([pair[n][0, 0] for pair in each]) for n in (0, 1))
    return Entries(players, evidence, unit, log_post - _taken(np.array(peak.unit), extra))
