"""Which candidate next: a pure function of the state and of what it believes.

One acquisition function chooses by itself. Several choose together by Algorithm 2 of the paper
(`core.paper.adaptive_acquisition`): before the first choice after a new label each says what it
would ask, pays the loss of its pseudo label, and the weights omega follow; then the weighted sum of
their scores chooses. The weights depend on the labels alone, not on who is out.

A batch is chosen one point after the other. Each candidate that was asked and not yet answered is
given the mean that the labels let expect of it, weights kept: variances fall around it and the
experts agree there, so that no score sends the next point to its neighbour. The order in which
they were asked does not matter.

Before there is a model, each next point is far from all that were told and asked
(`core.tie_breaking`).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.distances import spread
from weal.core.extensions.leave_one_out import left_out_errors
from weal.core.paper.adaptive_acquisition import SCALINGS, Picks, held_out_errors, reweigh
from weal.core.scaling import Scaling, location_scale
from weal.learner.beliefs import Beliefs
from weal.learner.events import Asked, Reason
from weal.learner.outlook import Outlook
from weal.learner.pool import Only, Pass, Scores
from weal.learner.sampling import ids_at, standing_for
from weal.learner.state import State
from weal.model.checks import FARTHEST

Free = NDArray[np.bool_]


def next_query(state: State, beliefs: Beliefs, opens: bool) -> Asked:
    """The event of asking for one candidate more; `opens` if a batch begins with it."""
    free = state.free(1)
    if not state.fitted:
        n = _start(state, free)
        return Asked(state.candidates.ids[n], Reason("start"), opens=opens)
    log_omega, scores = None, None
    if len(state.settings.functions) > 1 and not state.weighed:
        scores = _scores(state, beliefs.now(state), free, len(state.labels))
        log_omega = _weighed(state, beliefs, scores)
    if scores is None or state.asked:
        scores = scores_of(state, beliefs)
    omega = np.exp(state.log_omega if log_omega is None else log_omega)
    n, total, parts = chosen(state, scores, omega)
    reason = _reason(state, beliefs, n, total, scores.at(n), parts, omega)
    return Asked(state.candidates.ids[n], reason, log_omega, opens)


def scores_of(state: State, beliefs: Beliefs) -> Scores:
    """The scores that the next candidate is chosen by."""
    step = len(state.labels) + len(state.asked)
    return _scores(state, beliefs.ahead(state), state.free(), step)


def _scores(state: State, outlook: Outlook, free: Free, step: int) -> Scores:
    """The scores of the functions in use."""
    key, functions = (state.settings.seed, step), state.settings.functions
    pool = state.candidates
    asked = Pass(outlook.ens, functions, outlook.X, outlook.y, key, free, pool.ids, pool.cost)
    asked = replace(asked, targets=outlook.targets, order=outlook.order)
    return outlook.pool.scored(asked)


def _weighed(state: State, beliefs: Beliefs, scores: Scores) -> Array:  # (K,)
    """Log weights of the functions once each has paid for its pick."""
    K = len(state.settings.functions)
    # [1, eq:AF_k, alg:2 line 5, alg:2 line 6]
    picks = [scores.best(Only(k)).position for k in range(K)]
    each = sorted(set(picks))
    losses = dict(zip(each, _losses(state, beliefs, each).tolist(), strict=True))
    paid = np.array([losses[n] for n in picks])
    return reweigh(state.log_omega, paid, state.settings.eta)  # [1, alg:2 line 11]


def _losses(state: State, beliefs: Beliefs, at: Sequence[int]) -> Array:
    """Losses (K,) of pseudo labels of the candidates `at`."""
    held_out = state.settings.validation is not None
    if not held_out and not len(state.labels):  # all forgotten: nothing to judge by
        return np.zeros(len(at))
    now = beliefs.now(state)
    picks = Picks(now.points(at), *now.pool.predict(now.ens, at))
    errors = held_out_errors if held_out else left_out_errors
    return errors(now.ens, beliefs.judged(state), picks)


def chosen(state: State, scores: Scores, omega: Array) -> tuple[int, float, Array]:
    """The best of the free candidates, its score, and the parts (K,) of the functions in it."""
    if len(omega) == 1:
        n = scores.best(Only(0)).position  # [1, eq:AF_1, alg:1 line 4]
        return n, float(scores.at(n)[0]), scores.at(n)
    scale, low, high = SCALINGS[state.settings.score_scaling], scores.low, scores.high

    def parts(some: Array) -> Array:  # (K, n) -> (K, n)
        return omega[:, None] * scale(some, low, high)

    # [1, eq: EGPmultiacq, alg:2 line 12]
    n = scores.best(lambda some: np.asarray(parts(some).sum(axis=0))).position
    each = parts(scores.at(n)[:, None])
    return n, float(each.sum(axis=0)[0]), each[:, 0]


def _reason(
    state: State, beliefs: Beliefs, n: int, total: float, scores: Array, parts: Array, omega: Array
) -> Reason:
    """Why candidate n, in numbers that a file can keep."""
    names = list(state.settings.functions)
    mean, sd = beliefs.moments(state, [n])

    def by_name(values: Array) -> dict[str, float]:
        return dict(zip(names, values.tolist(), strict=True))

    return Reason(
        why=" + ".join(names),
        score=total,
        scores=by_name(scores),
        shares=by_name(_shares(parts)),
        mean=float(mean[0]),
        std=float(sd[0]),
        acquisition_weights=by_name(omega),
        expert_weights=tuple(beliefs.model(state).weights_.tolist()),
    )


def _start(state: State, free: Free) -> int:
    """The next point while there is no model: far from those told and those asked."""
    pool = state.candidates
    at, X = standing_for(pool, state.settings.seed)
    mean, sd = location_scale(X)
    scale = Scaling(mean, np.where(sd == 0.0, 1.0, sd))
    rows = [*(label.x for label in state.labels), *(pool.x(name) for name in state.asked)]
    taken = scale.inputs(np.array(rows).reshape(len(rows), len(mean)))
    taken = np.clip(taken, -FARTHEST, FARTHEST)  # beyond, distances are infinite
    open_, seed = free[at], state.settings.seed
    if not open_.any():  # of the sample none is left
        at = np.flatnonzero(free)[: len(at)]
        X, open_ = pool.X[at], free[at]
    ids = ids_at(pool, at)
    return int(at[spread(scale.inputs(X), taken, open_, seed, ids)])


def _shares(parts: Array) -> Array:  # (K,) -> (K,)
    """Parts of a score as shares of it; even where the parts are nothing."""
    positive = np.maximum(parts, 0.0)
    total = positive.sum()
    even = np.full(len(parts), 1.0 / len(parts))
    return positive / total if 0.0 < total < np.inf else even
