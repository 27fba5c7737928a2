"""Scores of candidates by several models: of several quantities, and of the outcome of runs.

Where a goal looks at several parts, each part is scored by its own functions, and the scores are
added (`core.extensions.score_combination`); the weight of a quantity is divided by the number of
its parts. With acquisition "auto", a pass/fail part is scored by the mutual information of its
label and f (BALD), others by the function of the goal.

A goal over several quantities (constraints, two objectives) has scores of its own: logs of amounts,
of the beliefs in all of them at once (`goals.protocol`).

Where runs have failed, scores are those of a run that works with probability P(works).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from weal.core.extensions.acquisition_registry import is_log_amount
from weal.core.extensions.pass_fail import bald_pass
from weal.core.extensions.score_combination import (
    add_scaled,
    uncertainty_in_noise,
    weigh_by_probability,
)
from weal.learner.joint_beliefs import joint_belief
from weal.learner.pools.protocol import PoolScores, ScorePass
from weal.learner.pools.score_pass import MemoryScores
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.repeats import belief_at
from weal.learner.state import QuantityView, State
from weal.quantities.kinds import WORKED
from weal.quantities.protocol import Quantity

LEAST_LOG_SCORE = -1e300  # of a row that no quantity allows
JOINT_SAMPLE = 4096  # candidates of a pool in files that are compared besides the best of each part

Free = NDArray[np.bool_]


def choice_parts(quantity: Quantity) -> Sequence[Quantity]:
    """The parts of a quantity whose models choose rows: the number of a grade, else all."""
    numbers = [part for part in quantity.parts() if not part.is_binary]
    return numbers or quantity.parts()


def scored_views(state: State) -> list[QuantityView]:
    """The parts that the goal looks at and that have a model; the first one leads."""
    names = state.settings.goal.scored([one.name for one in state.measured])
    parts = [part for name in names for part in choice_parts(state.find_measured(name))]
    views = [state.view(part.name) for part in parts]
    return [view for view in views if view.has_model]


def lead_view(state: State) -> QuantityView:
    """The part that the goal looks at first, with a model or without."""
    names = state.settings.goal.scored([one.name for one in state.measured])
    return state.view(choice_parts(state.find_measured(names[0]))[0].name)


def outcome_view(state: State) -> QuantityView | None:
    """The part "worked", once it has a model."""
    view = state.view(WORKED) if WORKED in state.quantities else None
    return view if view is not None and view.has_model else None


def is_joint(state: State) -> bool:
    """Whether rows are chosen by more than one model, or by the scores of a joint goal."""
    by_goal = state.settings.by_goal and state.settings.goal.is_joint
    views = scored_views(state)
    return bool(views) and (by_goal or outcome_view(state) is not None or len(views) > 1)


def pool_scores(
    state: State, beliefs: PosteriorCache, free: Free, step: int, pending: bool
) -> PoolScores:
    """The scores of all functions in use; `pending`: as if pending candidates had their labels."""
    if state.settings.by_goal and state.settings.goal.is_joint:
        return _goal_scores(state, beliefs, free, step, pending)
    views = scored_views(state)
    each = [score_part(view, beliefs, free, step, pending) for view in views]
    outcomes = outcome_view(state)
    if len(each) == 1 and outcomes is None:
        return each[0]
    passes = [_in_memory(one) for one in each]
    total, are_logs = passes[0].scores, _are_logs(state)
    if len(passes) > 1:
        shares = [_weight(state, view) * _left_to_learn(view, beliefs) for view in views]
        total = add_scaled(shares, [one.scores for one in passes], free)
        are_logs = [False] * len(total)
    if outcomes is not None:
        works = beliefs.pool_pass_probability(outcomes, pending)
        total = weigh_by_probability(total, works, free, are_logs)
    return MemoryScores(passes[0].asked, total)


def _are_logs(state: State) -> list[bool]:
    return [is_log_amount(function) for function in state.settings.functions.values()]


def _left_to_learn(view: QuantityView, beliefs: PosteriorCache) -> float:
    """The mean posterior sd of f over the pool, in units of the noise of a label."""
    belief = belief_at(beliefs.posterior(view), np.flatnonzero(view.candidates.present))
    return uncertainty_in_noise(belief, view.quantity.label_noise)


def _goal_scores(
    state: State, beliefs: PosteriorCache, free: Free, step: int, pending: bool
) -> PoolScores:
    """The scores of a goal over several quantities: logs of amounts."""
    goal, pool, outcomes = state.settings.goal, state.candidates, outcome_view(state)
    at = np.arange(len(pool), dtype=np.intp)
    found = goal.joint_scores(joint_belief(state, beliefs, goal, at, pending))
    assert found is not None
    scores = found[None]
    if outcomes is not None:
        works = beliefs.pool_pass_probability(outcomes, pending)
        scores = weigh_by_probability(scores, works, free, [True])
    if pool.cost is not None:
        scores = scores - np.log(pool.cost)
    posterior = beliefs.posterior(scored_views(state)[0])
    key, functions = (state.settings.seed, step), state.settings.functions
    asked = ScorePass(
        posterior.ens, functions, posterior.X, posterior.y, key, free, pool.ids, pool.cost
    )
    return MemoryScores(asked, np.maximum(scores, LEAST_LOG_SCORE))


def score_part(
    view: QuantityView, beliefs: PosteriorCache, free: Free, step: int, pending: bool
) -> PoolScores:
    """The scores of the functions of one part."""
    state, pool = view.state, view.candidates
    posterior = beliefs.pending_posterior(view) if pending else beliefs.posterior(view)
    key, functions = (state.settings.seed, step), state.settings.functions
    if view.is_scored_by_information:
        functions = {"bald-pass": bald_pass(beliefs.slope(view))}
    asked = ScorePass(
        posterior.ens, functions, posterior.X, posterior.y, key, free, pool.ids, pool.cost
    )
    asked = replace(asked, targets=posterior.targets, order=posterior.order, units=posterior.units)
    if not pool.in_shards and not pool.present.all():
        asked = replace(asked, present=pool.present)
    return posterior.pool.score(asked)


def joint_shortlist(state: State, beliefs: PosteriorCache) -> NDArray[np.intp]:
    """Positions of a pool in files that several models choose from.

    They are the best rows of each part, a sample, and the rows that are taken.
    """
    pool, seed = state.candidates, state.settings.seed
    views = [*scored_views(state), *filter(None, [outcome_view(state)])]
    free, step = state.free(), state.n_labels + len(state.asked)
    best = [score_part(one, beliefs, free, step, pending=False).shortlist(None) for one in views]
    sample = pool.first_by_hash(seed, JOINT_SAMPLE)
    taken = np.array([pool.index[name] for name in state.taken], dtype=np.intp)
    return np.unique(np.concatenate([sample[pool.present[sample]], taken, *best])).astype(np.intp)


def _in_memory(scores: PoolScores) -> MemoryScores:
    assert isinstance(scores, MemoryScores)  # `choosing` takes a shortlist of a pool in files
    return scores


def _weight(state: State, view: QuantityView) -> float:
    """The weight of the quantity of a part, divided by the number of its parts."""
    for one in state.measured:
        parts = choice_parts(one)
        if any(part.name == view.quantity.name for part in parts):
            return state.settings.goal.weight(one.name) / len(parts)
    return 1.0
