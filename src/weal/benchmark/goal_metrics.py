"""Metrics of a search for a goal's rows, from the rows that a method asked for.

f are the N values of the pool without noise, M_t the rows with a label after t queries.

    top_10        |M_t and top 10| / 10        the top 10 are the rows of the 10 largest f
    top_percent   1 if M_t has a row of the largest hundredth of f, else 0
    regret        (max f - max of f over M_t) / (max f - min f)
    f1_fifth      F1 of the rows that the model puts above a level, against the rows that are:
    f1_twentieth  2 hits / (rows said + rows true), for the level that a fifth (a twentieth) of the
                  pool exceeds

Rows that tie with the 10th largest value count as top 10, and 10 of them are all. A level is half
way between two neighbouring values, so no row lies on it; where values tie, it is the level whose
number of rows above is nearest to the share asked for.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from weal.benchmark.methods import Reading
from weal.benchmark.tasks import Split
from weal.core.arrays import Array

Mask = NDArray[np.bool_]
TOP_ROWS = 10
TOP_SHARE = 0.01
LEVEL_SHARES = {"fifth": 0.2, "twentieth": 0.05}


def level_of(values: Array, share: float) -> float:
    """The level that this share of the values (N,) exceeds, half way between two of them.

    >>> level_of(np.array([1.0, 2.0, 3.0, 4.0, 10.0]), 0.2)
    7.0
    >>> level_of(np.array([0.0, 0.0, 0.0, 0.0, 3.0]), 0.5)  # 1 row is nearer to 2.5 than 5
    1.5
    """
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) < 2:
        raise ValueError(f"all {len(values)} values are {distinct[0]:g}: there is no level to find")
    above = len(values) - np.cumsum(counts)[:-1]  # rows above each gap
    gap = int(np.argmin(np.abs(above - share * len(values))))
    return float(0.5 * (distinct[gap] + distinct[gap + 1]))


def top_rows(values: Array, k: int) -> Mask:  # (N,)
    """Whether each of the values is among the k largest; more than k where values tie."""
    return np.asarray(values >= np.sort(values)[-k])


def goal_metrics(split: Split, readings: Sequence[Reading]) -> dict[str, list[float]]:
    """The metrics after each reading, of a split whose test points are the pool (`goal_tasks`)."""
    first, f = len(split.y0), split.yt
    asked = np.array([first + reading.asked for reading in readings[1:]], dtype=np.intp)
    measured = np.concatenate([np.arange(first), asked])  # rows in the order of their labels
    counts = range(first, len(measured) + 1)
    best = np.maximum.accumulate(f[measured])[first - 1 :]
    percent = top_rows(f, max(1, round(TOP_SHARE * len(f))))
    found = {
        "top_10": [_top_share(f, measured[:n]) for n in counts],
        "top_percent": [float(percent[measured[:n]].any()) for n in counts],
        "regret": ((f.max() - best) / np.ptp(f)).tolist(),
    }
    for name, share in LEVEL_SHARES.items():
        level = level_of(f, share)
        found[f"f1_{name}"] = [f1(reading.mean > level, f > level) for reading in readings]
    return found


def f1(said: Mask, true: Mask) -> float:
    """F1 score of predicted rows (N,) against the true ones (N,).

    >>> f1(np.array([True, True, False]), np.array([True, False, True]))
    0.5
    """
    return float(2.0 * np.sum(said & true) / (np.sum(said) + np.sum(true)))


def labels_until(found: Sequence[float], labels: Sequence[float]) -> float:
    """The labels at the first 1 of a series of zeros and ones; one more than all if there is none.

    >>> labels_until([0, 0, 1, 1], [10, 11, 12, 13]), labels_until([0, 0], [10, 11])
    (12.0, 12.0)
    """
    hits = np.flatnonzero(np.asarray(found) > 0)
    return float(labels[hits[0]]) if len(hits) else float(labels[-1]) + 1.0


def _top_share(f: Array, measured: Array) -> float:
    hits = int(top_rows(f, TOP_ROWS)[measured].sum())
    return min(hits, TOP_ROWS) / TOP_ROWS
