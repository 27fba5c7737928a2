"""Whether labels are bent (`core.extensions.label_warp`): never, always, or where that makes them
likelier.

With z the labels bent, and the evidence p of experts with their magnitude integrated out,

    log p(y | bent) = log p(z) + sum_i log dz_i/dy_i        log p(y | straight) = log p(y)

Both are averaged over every second kernel and noise ratio of our grid
(`core.extensions.model_selection`). A bend has to be MARGIN better, and not by less than
FEWEST_BENT labels: they look bent by chance more easily than by the grid alone, and to bend what is
straight costs decades where functions are smooth. Asked anew whenever experts are settled anew;
with given experts, which are settled once, "auto" is never.
"""

import numpy as np
from scipy.special import logsumexp

from weal.core.arrays import Array
from weal.core.constants import RATIOS
from weal.core.extensions import model_selection
from weal.core.extensions.integrated_evidence import log_evidences
from weal.core.extensions.label_warp import STRAIGHT, Bend, fit_warp

MARGIN = 10.0  # nats
FEWEST_BENT = 30  # labels from which "auto" may bend


def choose(warp: str | None, X: Array, y: Array, extra: Array) -> Bend:
    """The bend for scaled labels y (t,) at X (t, d), with noise variances extra (t,)."""
    bend = (
        fit_warp(y) if warp == "asinh" or (warp == "auto" and len(y) >= FEWEST_BENT) else STRAIGHT
    )
    if warp == "asinh" or not bend.spread:
        return bend
    known = (X, y, extra)
    gain = _log_evidence(bend, *known) - _log_evidence(STRAIGHT, *known)
    return bend if gain > MARGIN else STRAIGHT


def _log_evidence(bend: Bend, X: Array, y: Array, extra: Array) -> float:
    """Log density of the labels y (t,), up to what both have in common."""
    z, noise = bend.labels(y), bend.variances(extra, y)
    kernels, ratios = model_selection.grid(X.shape[1])[::2], RATIOS[::2]
    unit = float(np.var(z)) or 1.0
    each = log_evidences(kernels, ratios, X, z / unit**0.5, noise / unit)
    slope = float(bend.log_slope(y).sum()) - 0.5 * len(y) * float(np.log(unit))
    return float(logsumexp(each)) + slope
