"""Measured rows that are worth a second label, for a goal with a set of rows.

Noise may hide whether a measured row belongs to the set. With p its probability of belonging, v the
variance of f and rho = v / (v + noise) the share that one more label of that row resolves, the
probability afterwards is

    p' = Phi((z + sqrt(rho) xi) / sqrt(1 - rho))        z = Phi^-1(p), xi ~ N(0, 1)

so the label is expected to put gain = min(p, 1 - p) - E min(p', 1 - p') of a row on the right side,
and E min(p', 1 - p') = 2 T(z, sqrt((1 - rho) / rho)), with T Owen's function. A repeat is asked
where this is LEAST_ADVANTAGE times the worth of the next new row (`Goal.worth`) or more, since a
new row is informative about its neighbours, too: on equal terms, searches of laboratory tables
found fewer of the ten best rows. The label must resolve MIN_RESOLVED_SD of f at least: labels
without noise are not repeated.

A row whose label is set aside as wrong is asked again first, once, if the set would be different if
the label were right: the row would enter or leave the set, or have the best label.
"""

from collections.abc import Callable, Hashable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, owens_t

from weal.core.arrays import Array
from weal.core.paper.acquisition import Belief, gpm_var
from weal.goals.protocol import Goal
from weal.learner.pools.protocol import PendingPosterior
from weal.learner.state import QuantityView
from weal.model.model import Model

LEAST_ADVANTAGE = 3.0  # of a repeat over a new row
MIN_RESOLVED_SD = 0.02  # of f, in sds of the labels
DOUBTED = 0.5  # outlier probability from which a label does not count
MAX_RESOLVED_SHARE = 1.0 - 1e-9  # of the variance, by a label without noise
Positions = NDArray[np.intp]


def belief_at(posterior: PendingPosterior, at: Positions) -> Belief:
    """The belief of the experts at the candidates `at`."""
    held, mu, v = posterior.pool.predict_kept(at)
    ens, X = posterior.ens, posterior.pool.inputs_at(at.tolist())
    sig2 = ens.magnitude[held, None]
    noise = (sig2 * ens.noise[held, None])[:, 0]
    varying = None if ens.field is None else sig2 * ens.noise_at(X)[held]
    known = (X, posterior.X, posterior.y, (0, len(posterior.y)))
    return Belief(
        ens.w[held], mu, sig2 * v, noise, *known, units=posterior.units,
        dof=ens.scale.freedom[held], varying_noise=varying,
    )  # fmt: skip


def resolved(belief: Belief) -> tuple[Array, Array]:  # (N,), (N,)
    """The share of the variance of f that a label resolves, and the resolved sd of f."""
    v, noise = gpm_var(belief), belief.w @ belief.label_noise / belief.w.sum()  # (N,) or (1,)
    with np.errstate(invalid="ignore"):
        rho = np.where(v > 0.0, v / (v + noise), 0.0)
    return np.minimum(rho, MAX_RESOLVED_SHARE), np.sqrt(rho * v)


def expected_gain(p: Array, rho: Array) -> Array:  # (N,), (N,) -> (N,)
    """Rows that a label is expected to put on the right side of the set.

    >>> expected_gain(np.array([0.5, 0.5, 0.5]), np.array([0.0, 0.5, 0.999999])).round(2).tolist()
    [0.0, 0.25, 0.5]
    """
    with np.errstate(divide="ignore"):
        wrong = 2.0 * owens_t(ndtri(np.clip(p, 1e-12, 1.0 - 1e-12)), np.sqrt((1.0 - rho) / rho))
    return np.asarray(np.maximum(np.minimum(p, 1.0 - p) - wrong, 0.0))


def best_repeat(
    view: QuantityView,
    posterior: PendingPosterior,
    chosen: int,
    membership: Callable[[Positions], Array],
) -> tuple[int, float] | None:
    """A measured row to ask again instead of the candidate `chosen`, and its gain.

    `membership` gives probabilities of belonging to the set. None if the chosen row is worth more.
    """
    goal, measured = view.settings.goal, _repeatable(view)
    if not len(measured):
        return None
    at = np.append(measured, chosen)
    rho, sd = resolved(belief_at(posterior, at))
    can = sd[:-1] >= MIN_RESOLVED_SD
    if not can.any():
        return None
    p = membership(at)
    gain = expected_gain(p, rho)
    new = LEAST_ADVANTAGE * goal.worth(float(p[-1]), float(gain[-1]))
    worth = np.append(gain[:-1], new)
    value = worth if view.candidates.cost is None else worth / view.candidates.cost[at]
    best = int(np.argmax(np.where(can, value[:-1], -1.0)))
    return (int(measured[best]), float(gain[best])) if value[best] > value[-1] else None


def _repeatable(view: QuantityView) -> Positions:
    """Positions of measured rows that may be asked again, ascending."""
    pool, state = view.candidates, view.state
    names = [n for n in view.labels.by_name if n not in state.asked and n not in state.skipped]
    names = [name for name in names if state.may_hold(name)]
    at = np.sort(np.array([pool.index[name] for name in names], dtype=np.intp))
    return at[pool.present[at]]


def doubted_labels(view: QuantityView, model: Model) -> dict[Hashable, float]:
    """Rows whose one label is probably wrong, with that label; not those asked or skipped."""
    found, state = {}, view.state
    for n in np.flatnonzero(model.outlier_probability_ > DOUBTED).tolist():
        label = view.labels.told[n]
        open_ = label.name not in state.asked and label.name not in state.skipped
        if label.name is not None and open_ and len(view.labels.by_name[label.name]) == 1:
            found[label.name] = label.y
    return found


def doubted_members(
    goal: Goal, belief: Belief, rows: Positions, labels: Array
) -> NDArray[np.bool_]:  # (n,)
    """Mask of the rows that would enter or leave the set if their labels were right.

    `rows` are positions in the belief, `labels` in the user's units.
    """
    p = goal.membership(belief)
    assert p is not None
    mu, var = belief.mu.copy(), belief.var.copy()
    mu[:, rows] = [belief.scaled(y) for y in labels.tolist()]
    var[:, rows] = 0.0
    right = goal.membership(replace(belief, mu=mu, var=var))
    assert right is not None
    return np.asarray((right[rows] > 0.5) != (p[rows] > 0.5))
