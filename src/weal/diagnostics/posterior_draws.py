"""Possible gains: functions drawn from the posterior, over the rows without a label.

A function is drawn as in `random_baseline`: an expert by its weight, its magnitude, then joint
values of f at some rows. Joint values matter: neighbouring rows are high together, so the number of
rows above a level varies more than with independent probabilities. The draws give

    possible_gain    by how much the best row without a label exceeds the best measured one, in f:
                     the noise of the best label does not count. Rows: those with the largest
                     mean + OPTIMISM sd. Also the best of as many rows drawn at random.
    expected_rows    how many rows without a label belong to the set of a goal. Rows: a random
                     sample, scaled to all rows

each as the mean and the interval that contains INTERVAL_LEVEL of the draws.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.constants import INTERVAL_LEVEL
from weal.diagnostics.leave_one_out import main_experts
from weal.diagnostics.random_baseline import TAKES_PART_FROM, draw
from weal.goals.protocol import Goal
from weal.model.model import Model

DRAWS = 200
OPTIMISTIC_ROWS, RANDOM_ROWS, SAMPLED_ROWS = 150, 150, 300
OPTIMISM = 2.0  # sds above the mean
_DRAWS_KEY = 17  # part of the random key
Positions = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Interval:
    """A value and the interval that holds it with probability INTERVAL_LEVEL."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PossibleGain:
    """The possible gain on the best label by the best rows, and by random rows."""

    gain: Interval  # at least 0
    random: Interval | None  # best of as many random rows, less the best label; None: too many


def draw_values(model: Model, X: Array, n: int, seed: int) -> Array:  # (n, N)
    """Values of n functions, drawn from the posterior, at rows X (N, d); in the user's units."""
    trained = main_experts(model.trained, TAKES_PART_FROM)
    rng = np.random.default_rng([seed, _DRAWS_KEY, len(trained.y)])
    rows, believed = model.scaling.inputs(X), dict[int, tuple[Array, Array]]()
    drawn = np.stack([draw(trained, rows, rng, believed)[1] for _ in range(n)])
    return model.scaling.means(trained.warp.unwarp(drawn))


def possible_gain(
    model: Model, best: Array, free: Array, pool: Array, lowest: bool, seed: int
) -> PossibleGain:
    """The possible gain of rows `free` (F, d) on the measured row `best` (d,), in a `pool`."""
    sign = -1.0 if lowest else 1.0
    mean, sd = model.predict(free, return_std=True)
    order = np.argsort(-(sign * mean + OPTIMISM * sd), kind="stable")[:OPTIMISTIC_ROWS]
    rng = np.random.default_rng([seed, _DRAWS_KEY])
    others = rng.choice(len(pool), min(RANDOM_ROWS, len(pool)), replace=False)
    f = sign * draw_values(
        model, np.concatenate([best[None], free[order], pool[others]]), DRAWS, seed
    )
    gains = np.maximum(f[:, 1 : 1 + len(order)].max(axis=1) - f[:, 0], 0.0)
    t = model.n_labels_
    if t > len(others):
        return PossibleGain(_interval(gains), None)
    random = f[:, 1 + len(order) :]
    chosen = np.stack([rng.choice(random.shape[1], t, replace=False) for _ in range(DRAWS)])
    found = np.take_along_axis(random, chosen, axis=1).max(axis=1) - f[:, 0]
    return PossibleGain(_interval(gains), _interval(sign * found))


def expected_rows(model: Model, goal: Goal, free: Array, seed: int) -> Interval:
    """The number of rows of the goal's set among rows `free` (F, d)."""
    rng = np.random.default_rng([seed, _DRAWS_KEY])
    which = rng.choice(len(free), min(SAMPLED_ROWS, len(free)), replace=False)
    f = draw_values(model, free[which], DRAWS, seed)
    counts = np.array([goal.true_members(one).sum() for one in f], dtype=np.float64)
    return _interval(counts * (len(free) / len(which)))


def _interval(values: Array) -> Interval:
    ends = np.quantile(values, [0.5 - 0.5 * INTERVAL_LEVEL, 0.5 + 0.5 * INTERVAL_LEVEL])
    return Interval(float(values.mean()), float(ends[0]), float(ends[1]))
