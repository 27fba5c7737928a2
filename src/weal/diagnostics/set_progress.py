"""Progress on the set of a goal: expected F1, misclassified rows, expected improvement.

With p_i the probability that row i belongs to the set, rows with p_i > 1/2 are counted as members:

    wrong = sum_i min(p_i, 1 - p_i)        F1 = 2 sum_in p_i / (number in + sum_i p_i)

F1 is the ratio of the expectations. The largest expected improvement on the best label
(`core.extensions.goal_acquisitions`) is in sds of the labels as the model sees them, times the sd
of the labels: for warped labels it is in their unit around the mean only.
"""

import numpy as np

from weal.core.arrays import Array
from weal.core.extensions.goal_acquisitions import ei, ei_min
from weal.core.paper import ensemble
from weal.core.paper.acquisition import Belief
from weal.core.scaling import Scaling
from weal.goals.protocol import Goal
from weal.model.training import TrainedEnsemble


def belief_at(trained: TrainedEnsemble, scale: Scaling, X: Array) -> Belief:
    """The belief of the experts at scaled rows X (N, d)."""
    ens = trained.ensemble
    mu, var = ensemble.predict(ens, trained.embedding.points(ens.experts, X))
    y = trained.warp.labels(trained.y)
    known = (ens.magnitude * ens.noise, X, trained.X, y, (0, len(y)))
    w = ens.w / ens.w.sum()
    varying = None if ens.field is None else ens.magnitude[:, None] * ens.noise_at(X)
    return Belief(
        w, mu, var, *known, units=(scale, trained.warp), dof=ens.scale.freedom,
        varying_noise=varying,
    )  # fmt: skip


def expected_wrong(p: Array) -> float:
    """The expected number of rows on the wrong side, for probabilities p (N,).

    >>> expected_wrong(np.array([0.9, 0.2, 0.0]))
    0.3
    """
    return round(float(np.minimum(p, 1.0 - p).sum()), 12)


def expected_f1(p: Array) -> float:
    """The expected F1 of the rows with p > 1/2; 1 if no row belongs to the set.

    >>> expected_f1(np.array([1.0, 1.0, 0.0])), expected_f1(np.array([0.8, 0.2]))
    (1.0, 0.8)
    """
    inside = p > 0.5
    total = float(inside.sum() + p.sum())
    return 1.0 if total < 1e-9 else 2.0 * float(p[inside].sum()) / total


def largest_gain(belief: Belief, lowest: bool, label_sd: float) -> float:
    """The largest expected improvement on the best label, in units of the label."""
    if not belief.X.shape[0]:
        return 0.0
    return float(np.exp((ei_min if lowest else ei)(belief).max())) * label_sd


def goal_value(goal: Goal, trained: TrainedEnsemble, scale: Scaling, X: Array) -> float | None:
    """The progress measure of a goal with a set, over scaled rows X (N, d).

    The expected F1, or for the best rows the largest expected improvement; None without a set.
    """
    if goal.curve == "errors" or goal.is_joint:  # a joint goal needs the other models too
        return None
    belief = belief_at(trained, scale, X)
    if goal.curve == "best":
        return largest_gain(belief, goal.lowest, float(scale.y_sd))
    p = goal.membership(belief)
    return None if p is None else expected_f1(p)
