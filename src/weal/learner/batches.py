"""Several candidates for one batch: one after the other, and of a pool in shards from one pass.

A batch is chosen in turn (`choosing`): whoever was asked is given the label that is expected of
it, and the next is chosen by what would be believed then. Over shards a pass for each would take
too long. The first of a batch is the best of all; the others are chosen from a shortlist of that
pass, in memory:

    the best SHORTLIST of every acquisition function, and of their weighted sum
    SOME of the sample that stands for all (`sampling`), which carry the ranges of the scores

Of a pool in memory that is too large for its labels, a sample is compared (`candidate_sample`).
So the shortlist follows from the state in which the batch was opened, whether its candidates were
asked for at once or in turn.
"""

from dataclasses import replace

import numpy as np

from weal.core.constants import TARGETS
from weal.learner.apply import apply
from weal.learner.beliefs import Beliefs
from weal.learner.candidate_sample import sampled
from weal.learner.choosing import chosen, next_query, scores_of
from weal.learner.events import Asked, Released
from weal.learner.sampling import standing_for
from weal.learner.sharded.candidates import ShardedCandidates
from weal.learner.sharded.scores import ShardedScores
from weal.learner.state import State, with_experts

SOME = 4096


def queries(state: State, beliefs: Beliefs, wanted: int, opens: bool) -> list[Asked]:
    """The events of asking for so many candidates more; `opens` if a batch begins with them."""
    found: list[Asked] = []
    in_shards = isinstance(state.candidates, ShardedCandidates) and state.fitted
    state = sampled(state, beliefs, wanted)
    while len(found) < wanted and (opens or not in_shards):
        event = next_query(state, beliefs, opens)
        found.append(event)
        state, opens = apply(state, event), False
    left = wanted - len(found)
    return [*found, *_from_shortlist(state, beliefs, left)] if left else found


def _from_shortlist(state: State, beliefs: Beliefs, wanted: int) -> list[Asked]:
    few = shortlisted(state, beliefs)
    own = Beliefs(beliefs.memory)
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


def shortlisted(state: State, beliefs: Beliefs) -> State:
    """The state of a learner whose pool is the shortlist of the batch that is being chosen."""
    candidates = state.candidates
    assert isinstance(candidates, ShardedCandidates)
    opening = apply(state, Released(state.batch))
    scores = scores_of(opening, beliefs)
    assert isinstance(scores, ShardedScores)
    if len(state.settings.functions) > 1 and not scores.weighed:
        chosen(opening, scores, np.exp(state.log_omega))
    for top in scores.found.top:
        candidates.X.remember(top.at.tolist(), top.X)
    _, reference = standing_for(candidates, state.settings.seed)
    at = candidates.first(state.settings.seed)[:SOME]
    names = [*state.labels.by_name, *state.asked, *state.skipped]
    taken = np.array([candidates.index[name] for name in names], dtype=np.int64)
    present = candidates.present
    every = np.concatenate([at[present[at]], scores.shortlist, taken])
    few = candidates.chosen(np.unique(every))
    if state.reference is not None:
        reference = state.reference
    elif state.settings.needs_targets:
        reference = candidates.X[candidates.least(state.settings.seed, TARGETS, candidates.gone)]
    known = with_experts(state, beliefs.settled(state))
    return replace(known, candidates=few, reference=reference)
