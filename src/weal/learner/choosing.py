"""The next query: a pure function of the state and its posterior.

One acquisition function chooses alone. Several choose together by Algorithm 2 of the paper
(`core.paper.adaptive_acquisition`): before the first choice after a new label, each function names
its best candidate and pays the loss of that candidate's pseudo label; the weights omega follow, and
the weighted sum of scores chooses. The weights depend on the labels, not on pending candidates.

A batch is chosen one candidate after the other, as if every pending candidate had been labelled
with its predicted mean (kriging believer), with fixed expert weights: variances fall around it, so
no score picks its neighbour next. The order of pending candidates does not matter.

Before there is a model, each query is far from all labelled and pending candidates
(`core.distances`).

For a pool in shards, only the first candidate of a batch is the best of a whole pass. The others
are chosen in memory from a shortlist of that pass:

    the best candidates by every acquisition function and by their weighted sum
    SAMPLE_SHORTLIST candidates of the sample (`learner.candidates`), for the score ranges

The shortlist follows from the state in which the batch was opened, whether its candidates are asked
for at once or in turn.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.constants import N_TARGET_POINTS
from weal.core.distances import space_filling_start
from weal.core.extensions.leave_one_out import left_out_errors
from weal.core.paper.adaptive_acquisition import (
    SCALINGS,
    PseudoLabelPoints,
    held_out_errors,
    update_log_weights,
)
from weal.core.scaling import Scaling, location_scale
from weal.learner.candidate_sample import with_compared_candidates
from weal.learner.events import Asked, Reason, Released
from weal.learner.joint_scores import (
    is_joint,
    joint_shortlist,
    outcome_view,
    pool_scores,
    scored_views,
)
from weal.learner.pools.protocol import (
    Combine,
    PoolScores,
    SingleScore,
)
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.repeats import belief_at, best_repeat, doubted_labels, doubted_members
from weal.learner.state import LearnerConfig, QuantityView, State
from weal.learner.transitions import apply
from weal.model.checks import MAX_ABS_VALUE

Free = NDArray[np.bool_]


def next_query(state: State, beliefs: PosteriorCache, opens: bool) -> Asked:
    """The event for the next query; `opens`: it begins a batch."""
    free, views = state.free(1), scored_views(state)
    if not views:
        n = _start(state, _likely_to_work(state, beliefs, free))
        return Asked(state.candidates.ids[n], Reason("start"), opens=opens)
    view, log_omega, scores = views[0], None, None
    if len(state.settings.functions) > 1 and not state.weighed:
        scores = pool_scores(state, beliefs, free, state.n_labels, pending=False)
        log_omega = _updated_log_weights(views, beliefs, scores)
    if (doubted := _find_doubted(view, beliefs)) is not None:
        return _repeat(view, beliefs, doubted, "doubted", opens)
    if scores is None or state.asked:
        scores = scores_of(state, beliefs)
    omega = np.exp(state.log_omega if log_omega is None else log_omega)
    n, total, parts = choose_best(state, scores, omega)
    if (again := _better_repeat(view, beliefs, scores, n)) is not None:
        return _repeat(view, beliefs, again[0], "repeat", opens, again[1])
    reason = _reason(view, beliefs, n, total, scores.at(n), parts, omega)
    return Asked(state.candidates.ids[n], reason, log_omega, opens)


def _likely_to_work(state: State, beliefs: PosteriorCache, free: Free) -> Free:
    """The free candidates whose run probably works; all if this is unknown or none does."""
    outcomes = outcome_view(state)
    if outcomes is None or state.candidates.in_shards:
        return free
    likely: Free = free & (beliefs.pool_pass_probability(outcomes, pending=False) >= 0.5)
    return likely if likely.any() else free


def _repeat(
    view: QuantityView, beliefs: PosteriorCache, n: int, why: str, opens: bool, gain: float = np.nan
) -> Asked:
    """The event that asks for a measured row again."""
    mean, sd = beliefs.moments(view, [n])
    weights = tuple(beliefs.model(view).weights_.tolist())
    reason = Reason(why, gain, mean=float(mean[0]), std=float(sd[0]), expert_weights=weights)
    return Asked(view.candidates.ids[n], reason, opens=opens)


def _offers_repeats(settings: LearnerConfig) -> bool:
    goal = settings.goal
    has_set = goal.set_text is not None and not goal.is_joint
    return settings.repeats and settings.by_goal and has_set


def _better_repeat(
    view: QuantityView, beliefs: PosteriorCache, scores: PoolScores, n: int
) -> tuple[int, float] | None:
    """A measured row that is worth more than candidate n, and its gain."""
    if not _offers_repeats(view.settings):
        return None
    goal, pool, posterior = view.settings.goal, view.candidates, beliefs.pending_posterior(view)

    def membership(at: NDArray[np.intp]) -> Array:
        """The probabilities of belonging to the set, of measured rows and of candidate n."""
        if not goal.pointwise and not pool.in_shards:  # the score is the log of it
            log_p = np.array([scores.at(k)[0] for k in at.tolist()])
            return np.asarray(np.exp(log_p if pool.cost is None else log_p + np.log(pool.cost[at])))
        rows = at if goal.pointwise else np.union1d(at, scores.shortlist(None)).astype(np.intp)
        p = goal.membership(belief_at(posterior, rows))
        assert p is not None
        return p if goal.pointwise else p[np.searchsorted(rows, at)]

    return best_repeat(view, posterior, n, membership)


def _find_doubted(view: QuantityView, beliefs: PosteriorCache) -> int | None:
    """A measured row whose label is doubted, and would change the set of the goal if right."""
    if not _offers_repeats(view.settings):
        return None
    found = [name for name in doubted_of_set(view, beliefs) if view.state.may_hold(name)]
    return view.candidates.index[found[0]] if found else None


def doubted_of_set(view: QuantityView, beliefs: PosteriorCache) -> list[Hashable]:
    """Rows whose only label is doubted, and which are best, enter or leave the set if it is right.

    A row that would be the best one comes first, though it may be in the set as it is.
    """
    pool, goal = view.candidates, view.settings.goal
    if goal.set_text is None or goal.is_joint or not view.has_model:
        return []
    labels = doubted_labels(view, beliefs.model(view))
    labels = {name: y for name, y in labels.items() if pool.present[pool.index[name]]}
    if not labels:
        return []
    rows = np.array([pool.index[name] for name in labels], dtype=np.intp)
    at = np.union1d(rows, _rows_in_question(view, beliefs))
    belief = belief_at(beliefs.posterior(view), at)
    here, y = np.searchsorted(at, rows), np.array(list(labels.values()))
    changes = doubted_members(goal, belief, here, y)
    found = [name for name, is_doubted in zip(labels, changes, strict=True) if is_doubted]
    return list(dict.fromkeys([*_better_than_all(view, labels), *found]))


def _better_than_all(view: QuantityView, labels: Mapping[Hashable, float]) -> list[Hashable]:
    """The rows whose doubted labels are better than the labels of all other rows."""
    goal = view.settings.goal
    if goal.curve != "best":
        return []
    sign = -1.0 if goal.lowest else 1.0
    known = [sign * np.mean([one.y for one in several])
             for name, several in view.labels.by_name.items() if name not in labels]  # fmt: skip
    best = max(known, default=-np.inf)
    return [name for name, y in labels.items() if sign * y > best]


def _rows_in_question(view: QuantityView, beliefs: PosteriorCache) -> NDArray[np.intp]:
    """Positions of the rows that may belong to the set: all, or of a pool in files the best."""
    pool, state = view.candidates, view.state
    if not pool.in_shards:
        return np.flatnonzero(pool.present)
    opening = apply(state, Released(tuple(state.asked)))
    measured = [pool.index[name] for name in view.labels.by_name]
    listed = np.union1d(scores_of(opening, beliefs).shortlist(None), measured).astype(np.intp)
    return listed[pool.present[listed]]


def scores_of(state: State, beliefs: PosteriorCache) -> PoolScores:
    """The scores that choose the next candidate."""
    step = state.n_labels + len(state.asked)
    return pool_scores(state, beliefs, state.free(), step, pending=True)


def _updated_log_weights(
    views: Sequence[QuantityView], beliefs: PosteriorCache, scores: PoolScores
) -> Array:  # (K,)
    """Log weights of the functions after the losses of their picks, the mean over the parts."""
    state = views[0].state
    # [1, eq:AF_k, alg:2 line 5, alg:2 line 6]
    picks = [scores.best(SingleScore(k)).position for k in range(len(state.settings.functions))]
    each = sorted(set(picks))
    judges = [view for view in views if not view.quantity.is_binary]
    if state.settings.validation is not None:  # labels of the first quantity
        judges = judges[:1]
    paid = sum([_losses(view, beliefs, each) for view in judges], np.zeros(len(each)))
    mean = paid / max(len(judges), 1)
    losses = dict(zip(each, mean.tolist(), strict=True))
    paid = np.array([losses[n] for n in picks])
    return update_log_weights(state.log_omega, paid, state.settings.eta)  # [1, alg:2 line 11]


def _losses(view: QuantityView, beliefs: PosteriorCache, at: Sequence[int]) -> Array:
    """Losses (K,) of pseudo labels of the candidates `at`."""
    held_out = view.settings.validation is not None
    if not held_out and not len(view.labels):  # all were withdrawn
        return np.zeros(len(at))
    now = beliefs.posterior(view)
    lam = None if now.ens.field is None else now.ens.noise_at(now.pool.inputs_at(at))
    picks = PseudoLabelPoints(now.points(at), *now.pool.predict(now.ens, at), lam)
    errors = held_out_errors if held_out else left_out_errors
    return errors(now.ens, beliefs.validation(view), picks)


def choose_best(state: State, scores: PoolScores, omega: Array) -> tuple[int, float, Array]:
    """The best free candidate, its score, and the parts (K,) of the functions in the score."""
    if len(omega) == 1:
        n = scores.best(SingleScore(0)).position  # [1, eq:AF_1, alg:1 line 4]
        return n, float(scores.at(n)[0]), scores.at(n)
    parts = _weighted_parts(state, scores, omega)
    # [1, eq: EGPmultiacq, alg:2 line 12]
    n = scores.best(lambda some: np.asarray(parts(some).sum(axis=0))).position
    each = parts(scores.at(n)[:, None])
    return n, float(each.sum(axis=0)[0]), each[:, 0]


def _weighted_parts(state: State, scores: PoolScores, omega: Array) -> Callable[[Array], Array]:
    """A function from scores (K, n) to the weighted parts (K, n) of their sum."""
    scale, low, high = SCALINGS[state.settings.score_scaling], scores.low, scores.high
    return lambda some: omega[:, None] * scale(some, low, high)


def _reason(
    view: QuantityView,
    beliefs: PosteriorCache,
    n: int,
    total: float,
    scores: Array,
    parts: Array,
    omega: Array,
) -> Reason:
    """The reason for candidate n, in plain numbers."""
    names = list(view.settings.functions)
    mean, sd = beliefs.moments(view, [n])

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
        expert_weights=tuple(beliefs.model(view).weights_.tolist()),
    )


def _start(state: State, free: Free) -> int:
    """The next query without a model: far from labelled and pending candidates."""
    pool = state.candidates
    at, X = pool.sample(state.settings.seed)
    mean, sd = location_scale(X)
    scale = Scaling(mean, np.where(sd == 0.0, 1.0, sd))
    told = (label.x for one in state.quantities.values() for label in one.labels)
    rows = [*told, *(pool.x(name) for name in state.asked)]
    taken = scale.inputs(np.array(rows).reshape(len(rows), len(mean)))
    taken = np.clip(taken, -MAX_ABS_VALUE, MAX_ABS_VALUE)  # beyond, distances are infinite
    open_, seed = free[at], state.settings.seed
    if not open_.any():  # no candidate of the sample is left
        at = np.flatnonzero(free)[: len(at)]
        X, open_ = pool.inputs_at(at), free[at]
    ids = pool.ids_at(at)
    return int(at[space_filling_start(scale.inputs(X), taken, open_, seed, ids)])


def _shares(parts: Array) -> Array:  # (K,) -> (K,)
    """Parts of a score as fractions of it; equal fractions if all parts are 0."""
    positive = np.maximum(parts, 0.0)
    total = positive.sum()
    even = np.full(len(parts), 1.0 / len(parts))
    return positive / total if 0.0 < total < np.inf else even


SAMPLE_SHORTLIST = 4096


def queries(state: State, beliefs: PosteriorCache, wanted: int, opens: bool) -> list[Asked]:
    """The events for n more queries; `opens`: they begin a batch."""
    found: list[Asked] = []
    if state.candidates.in_shards and is_joint(state):
        return _from_joint_shortlist(state, beliefs, wanted, opens)
    in_shards = state.candidates.in_shards and bool(scored_views(state))
    state = with_compared_candidates(state, beliefs, wanted)
    while len(found) < wanted and (opens or not in_shards):
        event = next_query(state, beliefs, opens)
        found.append(event)
        state, opens = apply(state, event), False
    left = wanted - len(found)
    return [*found, *_from_shortlist(state, beliefs, left)] if left else found


def _from_joint_shortlist(
    state: State, beliefs: PosteriorCache, wanted: int, opens: bool
) -> list[Asked]:
    """The events for queries of a pool in files, by several models: from a shortlist in memory."""
    state.free(wanted)
    found = list[Asked]()
    while len(found) < wanted:
        now = with_selected_experts(state, beliefs).subset(joint_shortlist(state, beliefs))
        own = PosteriorCache(beliefs.memory)
        for _ in range(min(wanted - len(found), int(now.free(1).sum()))):
            event = next_query(now, own, opens)
            found.append(event)
            now, state, opens = apply(now, event), apply(state, event), False
    return found


def with_selected_experts(state: State, beliefs: PosteriorCache) -> State:
    """The state with the selected experts of each part, so that they are not selected again."""
    for name in state.quantities:
        view = state.view(name)
        if view.has_model:
            state = view.with_experts(beliefs.selected_experts(view))
    return state


def _from_shortlist(state: State, beliefs: PosteriorCache, wanted: int) -> list[Asked]:
    few = shortlist_state(state, beliefs)
    own = PosteriorCache(beliefs.memory)
    found: list[Asked] = []
    left = int(few.free().sum())
    while len(found) < min(wanted, left):
        event = next_query(few, own, opens=False)
        found.append(event)
        few = apply(few, event)
    for event in found:
        state = apply(state, event)
    while len(found) < wanted:  # a batch longer than the shortlist: a pass for each of the rest
        event = next_query(state, beliefs, opens=False)
        found.append(event)
        state = apply(state, event)
    return found


def shortlist_state(state: State, beliefs: PosteriorCache) -> State:
    """The state with the shortlist of the current batch as its pool."""
    candidates, seed = state.candidates, state.settings.seed
    opening = apply(state, Released(state.batch))
    scores = scores_of(opening, beliefs)
    weighted: Combine | None = None
    if len(state.settings.functions) > 1:
        parts = _weighted_parts(opening, scores, np.exp(state.log_omega))
        weighted = lambda some: np.asarray(parts(some).sum(axis=0))  # noqa: E731
    best = scores.shortlist(weighted)
    at = candidates.first_by_hash(seed, SAMPLE_SHORTLIST)
    taken = np.array([candidates.index[name] for name in state.taken], dtype=np.int64)
    few = np.unique(np.concatenate([at[candidates.present[at]], best, taken])).astype(np.intp)
    return state_of_part(state, beliefs, few)


def state_of_part(state: State, beliefs: PosteriorCache, at: NDArray[np.intp]) -> State:
    """The state with only these candidates, whose scores are those in the whole pool.

    That holds for functions that score each candidate independently: `is_pointwise`.
    """
    known = with_selected_experts(state, beliefs)
    return replace(known.subset(at), reference=reference_of(state))


def reference_of(state: State) -> Array:  # (N, d)
    """The reference points of the whole pool, for a state with a part of it."""
    candidates, seed = state.candidates, state.settings.seed
    if state.reference is not None:
        return state.reference
    if state.settings.needs_targets:
        return candidates.target_inputs(seed, N_TARGET_POINTS)
    return candidates.sample(seed)[1]
