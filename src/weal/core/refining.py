"""The line-up of many labels: found with some of them, fitted again with more.

A line-up (`lineup`) tries a grid of kernels, and every fit of a lengthscale for each input takes
some forty factors of all labels that it looks at: t^3 each. With few hundred of many labels it
finds its way, and ends where those few have it. From there on a fit to more labels is short. So
the best of each family that plays (and of the other family of the grid, which may have been left
behind by chance) is fitted again to more labels, and all are compared by these,

    log prior + log evidence of the labels

where the log prior of what was fitted again is Laplace's charge, log Z - log evidence. Few labels
may have been met exactly by a function without noise that varies too fast, and a fit from there
stays there. So a fit starts from the likeliest of some longer lengthscales and larger noises.
"""

import numpy as np

from weal.core.arrays import Array
from weal.core.ensemble import normalise
from weal.core.kernels import Kernel
from weal.core.lineup import Lineup, evidence_constant, weighed
from weal.core.relevance import fit
from weal.core.stated_noise import prior_height, units
from weal.core.tuned import GRID_FAMILIES, LEAST_POSTERIOR

LONGER, NOISIER = (1.0, 2.0), (1e-4, 1e-3, 1e-2, 1e-1)  # lengthscales by factors, and noise ratios


def refined(
    found: Lineup, X: Array, y: Array, extra: Array, most: int, temper: float = 1.0
) -> Lineup:
    """The line-up, at most so many, with lengthscales and noise fitted to labels y (t,) at X."""
    stated = bool(extra.any())
    players = list(zip(found.kernels, found.noise.tolist(), strict=True))
    log_z: list[float] = []
    for known in _starts(found):
        kernel, noise = _likeliest(*known, X, y, extra)
        unit = float(units([kernel], [noise], X, y, extra)[0, 0]) if stated else 1.0
        peak = fit(kernel, noise, X, y, extra / unit)
        players.append((peak.kernel, peak.noise))
        log_z.append(peak.log_z + evidence_constant(len(y)))
    each = [weighed([kernel], [noise], X, y, extra) for kernel, noise in players]
    evidence, unit_of = (np.array([part[n][0, 0] for part in each]) for n in (0, 1))
    again = slice(len(found.kernels), None)
    taken = prior_height(unit_of[again]) if stated else 0.0
    log_prior = np.append(found.log_prior, np.array(log_z) - evidence[again] - taken)
    log_post = normalise(log_prior + temper * evidence)
    best = np.argsort(-log_post, kind="stable")[:most]
    best = best[log_post[best] >= np.log(LEAST_POSTERIOR)]
    chosen = [players[n] for n in best.tolist()]
    kernels, noises = tuple(kernel for kernel, _ in chosen), np.array([lam for _, lam in chosen])
    return Lineup(kernels, noises, unit_of[best], log_prior[best], found.fitted)


def _likeliest(
    kernel: Kernel, noise: float, X: Array, y: Array, extra: Array
) -> tuple[Kernel, float]:
    """The start of a fit: a kernel that was found, or a longer one, with its noise or a larger."""
    ell = np.asarray(kernel.length_scale)
    longer = [
        Kernel(kernel.family, (factor * ell).tolist(), kernel.alpha, kernel.offset)
        for factor in LONGER
    ]
    ratios = [noise, *(ratio for ratio in NOISIER if ratio > noise)]
    evidence, _ = weighed(longer, ratios, X, y, extra)
    n, r = np.unravel_index(int(np.argmax(evidence)), evidence.shape)
    return longer[int(n)], ratios[int(r)]


def _starts(found: Lineup) -> list[tuple[Kernel, float]]:
    """The first of each family in the line-up; where that is one of the grid's, both of these."""
    first, noise = found.kernels[0], float(found.noise[0])
    starts: dict[str, tuple[Kernel, float]] = {}
    for kernel, lam in zip(found.kernels, found.noise.tolist(), strict=True):
        starts.setdefault(kernel.family, (kernel, lam))
    for family in GRID_FAMILIES if first.family in GRID_FAMILIES else ():
        other = Kernel(family, first.length_scale, first.alpha, first.offset)
        starts.setdefault(family, (other, noise))
    return list(starts.values())
