"""Which experts play: the few, out of all that could, that the labels speak for.

All that could are a grid (families x one lengthscale x noise ratio) and, fitted to the labels, one
lengthscale for each input (`relevance`). Both are classes of models with a prior of their own: the
grid has (1 - FITTED_SHARE) of the mass, spread evenly, and the fitted ones FITTED_SHARE, which
Laplace's evidence turns into a posterior. A fitted vector is entered at the multiples MULTIPLES of
itself, for its overall scale is what few labels leave open; they divide its weight by their
evidence.

Those with a posterior of at least LEAST_POSTERIOR play, MOST_EXPERTS at the most; what the others
of its class had goes to them, for the grid spreads its mass over many and would lose it to the few
fitted ones. They start from the log prior that makes their weights, once all labels are folded in,
the posteriors found here. Noise that labels bring along is measured by a unit of each one's own
(`stated_noise`). A line-up depends on the set of labels alone, not on their order or on the line-up
before.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from weal.core.arrays import Array
from weal.core.ensemble import normalise
from weal.core.exact import LEAST_RATIO
from weal.core.kernels import Kernel, correlation, dictionary
from weal.core.likelihood import GAUSSIAN
from weal.core.magnitude import LOG_2_PI, Conjugate
from weal.core.relevance import Peak, fit, forward
from weal.core.stated_noise import prior_height, units
from weal.core.tuned import (
    A0,
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
    MULTIPLES,
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
    fitted: float  # posterior of the class with one lengthscale for each input


def grid(d: int) -> tuple[Kernel, ...]:
    """The kernels of the grid for d inputs."""
    plain = dictionary(GRID_FAMILIES, [length * d**0.5 for length in GRID_LENGTHS])
    return tuple(Kernel(k.family, k.length_scale, k.alpha, OFFSET) for k in plain)


def choose(
    kernels: Sequence[Kernel], ratios: Sequence[float], X: Array, y: Array, extra: Array,
    relevance: bool = True, temper: float = 1.0,
) -> Lineup:  # fmt: skip
    """The line-up for labels y (t,) at X (t, d), with noise variances extra (t,) of their own.

    Where evidences will be raised to the power `temper` (`ensemble`), those play that matter then.
    """
    evidence, unit = weighed(kernels, ratios, X, y, extra)  # (kernels, ratios)
    on_grid = evidence - _taken(unit, extra)
    players = [(kernel, ratio) for kernel in kernels for ratio in ratios]
    evidence, unit = evidence.ravel(), unit.ravel()
    log_post = on_grid.ravel() - np.log(len(players))
    if relevance and len(y) >= FEWEST_FITTED:
        peaks = _peaks(kernels, ratios, on_grid, X, y, extra)
        more, more_evidence, more_unit, more_post = _entries(peaks, X, y, extra)
        players, unit = players + more, np.append(unit, more_unit)
        evidence = np.append(evidence, more_evidence)
        log_post = np.append(log_post + np.log1p(-FITTED_SHARE), more_post + np.log(FITTED_SHARE))
    log_prior = log_post - evidence
    log_post = normalise(log_prior + temper * evidence)
    best = np.argsort(-log_post, kind="stable")[:MOST_EXPERTS]
    best = best[log_post[best] >= np.log(LEAST_POSTERIOR)]
    chosen = [players[n] for n in best.tolist()]
    return Lineup(
        tuple(kernel for kernel, _ in chosen),
        np.array([ratio for _, ratio in chosen]),
        unit[best],
        log_prior[best] + _inherited(log_post, best, on_grid.size),
        float(np.exp(log_post[on_grid.size :]).sum()),
    )


def _inherited(log_post: Array, best: NDArray[np.intp], on_grid: int) -> Array:
    """What makes up for those of each class that do not play, in the logs of those that do."""
    more = np.zeros(len(best))
    for members, playing in (
        (log_post[:on_grid], best < on_grid),
        (log_post[on_grid:], best >= on_grid),
    ):
        if playing.any():
            more[playing] = logsumexp(members) - logsumexp(log_post[best[playing]])
    return more


def weighed(
    kernels: Sequence[Kernel], ratios: Sequence[float], X: Array, y: Array, extra: Array
) -> tuple[Array, Array]:
    """Log evidence (kernels, ratios) of the labels, magnitude integrated out, and units of extra.

    Without extra the unit of an expert is what it expects its magnitude to be after the labels.
    """
    out = np.empty((len(kernels), len(ratios)))
    stated = bool(extra.any())
    unit = units(kernels, ratios, X, y, extra) if stated else np.ones_like(out)
    zero, scale = np.zeros_like(y), Conjugate.prior(len(ratios))
    for n, kernel in enumerate(kernels):
        K = correlation(kernel, X, X)
        lam = np.asarray(ratios)[:, None] + extra / unit[n, :, None]  # (ratios, t)
        turns = [GAUSSIAN.in_turn(y, zero, K, row) for row in np.maximum(lam, LEAST_RATIO)]
        root_s = np.array([np.diag(C) for C, _ in turns])
        out[n], after = GAUSSIAN.learn(scale, root_s * [z for _, z in turns], root_s**2)
        unit[n] = unit[n] if stated else after.variance
    return out, unit


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
        kernel, ratio = start
        unit = units([kernel], [ratio], X, y, extra)[0, 0]
        peak = fit(kernel, ratio, X, y, extra / unit)
        start = (peak.kernel, peak.noise)
    return peak


def _taken(unit: Array, extra: Array) -> Array:
    """What the prior of the magnitude took, and is given back where noise is stated."""
    return prior_height(unit) if extra.any() else np.zeros_like(unit)


def _entries(
    peaks: list[Peak], X: Array, y: Array, extra: Array
) -> tuple[list[Player], Array, Array, Array]:
    """Players of the fitted class, their evidences, units and log posteriors within it."""
    players, evidences, found, posts = [], [], [], []
    for peak in peaks:
        ell = np.asarray(peak.kernel.length_scale)
        kind, alpha, offset = peak.kernel.family, peak.kernel.alpha, peak.kernel.offset
        scaled = [Kernel(kind, tuple((m * ell).tolist()), alpha, offset) for m in MULTIPLES]
        evidence, unit = (part[:, 0] for part in weighed(scaled, [peak.noise], X, y, extra))
        taken = _taken(unit, extra)
        log_z = peak.log_z + evidence_constant(len(y)) - np.log(len(peaks))
        log_z -= float(taken[MULTIPLES.index(1.0)])
        players += [(kernel, peak.noise) for kernel in scaled]
        evidences.append(evidence)
        found.append(unit)
        posts.append(log_z + normalise(evidence - taken))
    return players, np.concatenate(evidences), np.concatenate(found), np.concatenate(posts)
