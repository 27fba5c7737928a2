"""Which experts play: the few, out of all that could, that the labels speak for.

All that could are a grid (families x one lengthscale x noise ratio) and, fitted to the labels, one
lengthscale for each input (`relevance`). Both are classes of models with a prior of their own: the
grid has (1 - SHARE) of the mass, spread evenly, and the fitted ones SHARE, which Laplace's evidence
turns into a posterior. A fitted vector is entered at the multiples MULTIPLES of itself, for its
overall scale is what few labels leave open; they divide its weight by their evidence.

Those with a posterior of at least LEAST play, MOST at the most; what the others of its class had
goes to them, for the grid spreads its mass over many and would lose it to the few fitted ones. They
start from the log prior that makes their weights, once all labels are folded in, the posteriors
found here. A line-up depends on the set of labels alone, not on their order or on the line-up
before.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import gammaln, logsumexp

from weal.core.arrays import Array
from weal.core.ensemble import normalise
from weal.core.exact import LEAST_RATIO
from weal.core.kernels import Kernel, correlation, dictionary
from weal.core.magnitude import A0, B0, LOG_2_PI
from weal.core.relevance import START_NOISE, Peak, fit, forward

FAMILIES = ("rbf", "matern52")
LENGTHS = tuple(10.0 ** (c / 4) for c in range(-5, 6))  # times sqrt(d)
RATIOS = (1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1e-1, 1.0)
OFFSET = 10.0  # variance of the unknown constant, in units of the magnitude
SHARE = 0.2  # what a class that ten labels can flatter starts with; test_lineup measures it
MULTIPLES = (0.6, 1.0, 1.7)
LEAST, MOST = 1e-4, 12
MANY = 6  # inputs from which those that matter are looked for one by one
FEWEST = 4  # labels from which lengthscales are fitted


@dataclass(frozen=True, slots=True, eq=False)
class Lineup:
    """The experts that play."""

    kernels: tuple[Kernel, ...]  # H
    noise: Array  # (H,)  lam
    log_prior: Array  # (H,)  their log weights before the first label, not normalised
    fitted: float  # posterior of the class with one lengthscale for each input


def grid(d: int) -> tuple[Kernel, ...]:
    """The kernels of the grid for d inputs."""
    plain = dictionary(FAMILIES, [length * d**0.5 for length in LENGTHS])
    return tuple(Kernel(k.family, k.length_scale, k.alpha, OFFSET) for k in plain)


def choose(
    kernels: Sequence[Kernel], ratios: Sequence[float], X: Array, y: Array, extra: Array,
    relevance: bool = True, temper: float = 1.0,
) -> Lineup:  # fmt: skip
    """The line-up for labels y (t,) at X (t, d), with noise variances extra (t,) of their own.

    Where evidences will be raised to the power `temper` (`ensemble`), those play that matter then.
    """
    on_grid = log_evidences(kernels, ratios, X, y, extra)  # (kernels, ratios)
    players = [(kernel, ratio) for kernel in kernels for ratio in ratios]
    evidence = on_grid.ravel()
    log_post = evidence - np.log(len(players))
    if relevance and len(y) >= FEWEST:
        peaks = _peaks(kernels, ratios, on_grid, X, y, extra)
        more, more_evidence, more_post = _entries(peaks, X, y, extra)
        players, evidence = players + more, np.append(evidence, more_evidence)
        log_post = np.append(log_post + np.log1p(-SHARE), more_post + np.log(SHARE))
    log_prior = log_post - evidence
    log_post = normalise(log_prior + temper * evidence)
    best = np.argsort(-log_post, kind="stable")[:MOST]
    best = best[log_post[best] >= np.log(LEAST)]
    chosen = [players[n] for n in best.tolist()]
    return Lineup(
        tuple(kernel for kernel, _ in chosen),
        np.array([ratio for _, ratio in chosen]),
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


def log_evidences(
    kernels: Sequence[Kernel], ratios: Sequence[float], X: Array, y: Array, extra: Array
) -> Array:
    """Log evidence (kernels, ratios) of the labels, magnitude integrated out."""
    out = np.empty((len(kernels), len(ratios)))
    t = len(y)
    diagonal = np.maximum(np.asarray(ratios)[:, None] + extra, LEAST_RATIO)  # (ratios, t)
    for n, kernel in enumerate(kernels):
        C = np.repeat(correlation(kernel, X, X)[None], len(ratios), axis=0)
        C[:, np.arange(t), np.arange(t)] += diagonal
        L = np.linalg.cholesky(C)
        z = np.array([solve_triangular(one, y, lower=True, check_finite=False) for one in L])
        b = B0 + 0.5 * np.einsum("rt,rt->r", z, z)
        log_det = np.log(L[:, np.arange(t), np.arange(t)]).sum(axis=1)
        out[n] = evidence_constant(t) - (A0 + 0.5 * t) * np.log(b) - log_det
    return out


def evidence_constant(t: int) -> float:
    """What the evidence of t labels has in common for all experts."""
    return float(gammaln(A0 + 0.5 * t) - gammaln(A0) + A0 * np.log(B0) - 0.5 * t * LOG_2_PI)


def _peaks(
    kernels: Sequence[Kernel], ratios: Sequence[float], on_grid: Array, X: Array, y: Array,
    extra: Array,
) -> list[Peak]:  # fmt: skip
    """The peak of each family, from the best of its kernels on the grid.

    With MANY inputs or more, of which few may matter, also from where `forward` leads: one
    lengthscale for all may see nothing but noise there, and so would what is fitted from it.
    """
    peaks = []
    for family in dict.fromkeys(kernel.family for kernel in kernels):
        rows = [n for n, kernel in enumerate(kernels) if kernel.family == family]
        n, r = np.unravel_index(int(np.argmax(on_grid[rows])), on_grid[rows].shape)
        starts = [(kernels[rows[int(n)]], float(ratios[int(r)]))]
        if X.shape[1] >= MANY:
            starts.append((forward(kernels[rows[0]], X, y, extra), START_NOISE))
        found = [fit(kernel, ratio, X, y, extra) for kernel, ratio in starts]
        peaks.append(max(found, key=lambda peak: peak.log_z))
    return peaks


def _entries(
    peaks: list[Peak], X: Array, y: Array, extra: Array
) -> tuple[list[tuple[Kernel, float]], Array, Array]:
    """Players of the fitted class, their evidences and log posteriors within it."""
    players, evidences, posts = [], [], []
    for peak in peaks:
        ell = np.asarray(peak.kernel.length_scale)
        kind, alpha, offset = peak.kernel.family, peak.kernel.alpha, peak.kernel.offset
        scaled = [Kernel(kind, tuple((m * ell).tolist()), alpha, offset) for m in MULTIPLES]
        evidence = log_evidences(scaled, [peak.noise], X, y, extra)[:, 0]
        log_z = peak.log_z + evidence_constant(len(y)) - np.log(len(peaks))
        players += [(kernel, peak.noise) for kernel in scaled]
        evidences.append(evidence)
        posts.append(log_z + normalise(evidence))
    return players, np.concatenate(evidences), np.concatenate(posts)
