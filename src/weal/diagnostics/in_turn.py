"""Labels that come on top of a fold, each predicted from all before it, by the experts there are.

Folding labels in together gives the innovation e_i and its variance s_i that each was to every
expert which had met those before it. Weights and magnitudes before label i follow from the e and s
of the others before it. So a whole stretch of labels costs one factorisation, as if each had been
predicted, told and folded in by itself.
"""

from dataclasses import replace

import numpy as np

from weal.core.arrays import Array
from weal.core.extensions.conjugate_magnitude import Conjugate
from weal.core.paper.ensemble import Ensemble, normalise
from weal.core.protocols import Magnitude
from weal.diagnostics.mixtures import Mixtures, weights
from weal.model.fold import Fold


def in_turn(fold: Fold, X: Array, y: Array, extra: Array) -> tuple[Mixtures, Fold]:
    """What the experts expect of labels y (N,) at X (N, d), each told once it was predicted; and
    the fold after them.

    That is of a label with the noise of every label; `extra` (N,) more is known of the noise with
    which they came.
    """
    ens = fold.ensemble
    z, lam = fold.bend.labels(y), ens.ratios(fold.bend.variances(extra, y))
    points = fold.embedding.points(ens.experts, X)
    experts, e, s = ens.experts.absorb(points, z, lam)
    log_w, scales = _along(ens, e, s)
    spread = s - (lam - ens.noise[:, None])
    known = (weights(log_w[:, :-1]), z - e, np.maximum(s - lam, 0.0), spread)
    expected = Mixtures(fold, *known, _together(scales[:-1]))
    after = replace(ens, experts=experts, log_w=normalise(log_w[:, -1]), scale=scales[-1])
    return expected, replace(
        fold,
        X=np.concatenate([fold.X, X]),
        y=np.append(fold.y, y),
        extra=np.append(fold.extra, extra),
        ensemble=after,
        seen=fold.seen.joined(X, y, extra),
    )


def _along(ens: Ensemble, e: Array, s: Array) -> tuple[Array, list[Magnitude]]:
    """Log weights (M, N + 1) and N + 1 magnitudes: before each label met in turn, and after all."""
    log_w, scales = [ens.log_w], [ens.scale]
    for i in range(e.shape[1]):
        log_p, scale = scales[-1].after(e[:, i : i + 1], s[:, i : i + 1])
        log_w.append(log_w[-1] + ens.temper * log_p)
        scales.append(scale)
    return np.stack(log_w, axis=1), scales


def _together(scales: list[Magnitude]) -> Magnitude:
    """Magnitudes (M,) of N labels as one of (M, N)."""
    first = scales[0]
    if not isinstance(first, Conjugate):
        return first
    a, b = (np.stack([getattr(scale, name) for scale in scales], axis=1) for name in ("a", "b"))
    return replace(first, a=a, b=b)
