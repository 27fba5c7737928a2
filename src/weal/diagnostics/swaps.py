"""Labels that may have been exchanged: pairs of one batch that fit better the other way round.

Every pair of labels that came together is weighed by what the model knows of all others
(`core.extensions.outliers.slips_and_swaps`). A pair is named where that is likelier by more than
SWAP_CHARGE nats and the log of how many others either may have been exchanged with; the best first,
each label once.
"""

from collections.abc import Hashable, Sequence

import numpy as np

from weal.core.arrays import Array
from weal.core.constants import SWAP_CHARGE, SWAP_DOUBTED
from weal.core.extensions.outliers.inclusion import Stand, stand
from weal.core.extensions.outliers.slips_and_swaps import Pairs, gains
from weal.model.fold import Fold
from weal.model.model import Model

MOST_LABELS = 400  # the latest: of these pairs are looked at
MOST_TOGETHER = 200  # labels of one batch; in larger ones any label has its like


def swapped(model: Model, together: Sequence[Hashable | None]) -> dict[int, int]:
    """Labels (by number, as told) that may have been exchanged; `together` says which came so."""
    fold = model.fold
    first = max(len(together) - MOST_LABELS, 0)
    pairs, mates = _pairs(together[first:])
    if not fold.setting.doubting or not len(pairs):
        return {}
    pairs = pairs[(fold.seen.sure[first:][pairs] == 0.0).all(axis=1)]
    now, slab = _stand(fold, first)
    gain = gains(now, slab, pairs)
    doubted = now.wrong[pairs].any(axis=1)
    over = gain - np.where(doubted, SWAP_DOUBTED, SWAP_CHARGE) - np.log(mates[pairs[:, 0]])
    found: dict[int, int] = {}
    for n in np.argsort(-over, kind="stable").tolist():
        i, j = (int(one) + first for one in pairs[n])
        if over[n] > 0.0 and i not in found and j not in found:
            found[i], found[j] = j, i
    return found


def _pairs(together: Sequence[Hashable | None]) -> tuple[Pairs, Array]:
    """Pairs (P, 2) of labels that came together, and with how many others each came (t,)."""
    whole: dict[Hashable, list[int]] = {}
    for n, batch in enumerate(together):
        if batch is not None:
            whole.setdefault(batch, []).append(n)
    mates, pairs = np.ones(len(together)), list[tuple[int, int]]()
    for some in whole.values():
        if 2 <= len(some) <= MOST_TOGETHER:
            mates[some] = len(some) - 1
            pairs += [(i, j) for n, i in enumerate(some) for j in some[n + 1 :]]
    return np.array(pairs, dtype=np.intp).reshape(len(pairs), 2), mates


def _stand(fold: Fold, first: int) -> tuple[Stand, Array]:
    """What experts make of the labels from the first on, and what doubted ones count as (t,)."""
    ens, seen = fold.ensemble, fold.seen
    y, extra = fold.bend.labels(seen.y[first:]), seen.extra[first:]
    variance = float(fold.prior.scale.variance[0])  # of labels that settled the experts
    extra = fold.bend.variances(extra, seen.y[first:]) / variance
    units = ens.scale.unit / variance
    players = list(zip(fold.dictionary, ens.noise.tolist(), units.tolist(), strict=True))
    wrong = ~fold.right[first:]
    now = stand(players, fold.prior.log_w, seen.X[first:], y / np.sqrt(variance), extra, wrong)
    slab = fold.doubt.slab
    if not wrong.any():
        return now, np.zeros(len(y))
    return now, slab.log_prior(y) - slab.charge(y) + 0.5 * float(np.log(variance))
