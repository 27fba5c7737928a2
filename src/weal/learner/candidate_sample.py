"""The candidates that one ask compares: all, or a random sample of a very large pool.

An ask takes U m^2 multiplications for each expert, with U candidates and experts of m features (or
labels). With thousands of labels and a million candidates that takes minutes. So beyond
SAMPLED_FROM labels an ask compares as many candidates as ASK_WORK allows, LEAST_COMPARED at least:
the candidates with the least hash of (seed, number of labels at the last expert selection, id). The
sample is a function of the state, and changes with every expert selection.

A sample of n candidates contains one of the best share q of all with probability 1 - (1 - q)^n. So
with probability SURE the chosen candidate is among the best 1 - (1 - SURE)^(1/n) of all by its
score: 0.014 % for 32,768 candidates.
"""

from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.hashing import hash_ids, least, mix_with_seed
from weal.learner.candidates import Candidates
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.state import QuantityView, State
from weal.model.model import Model

SAMPLED_FROM = 2000  # labels: up to so many, all candidates are compared
ASK_WORK = 2**34  # candidates times squared features, of all experts
LEAST_COMPARED = 32_768  # candidates
SURE = 0.99


@dataclass(frozen=True, slots=True, eq=False)
class _Sample:
    at: NDArray[np.intp]  # positions of the sample and of all that are labelled, asked or skipped
    candidates: Candidates
    reference: Array


_last: WeakKeyDictionary[Any, _Sample] = WeakKeyDictionary()  # of each pool


def comparison_size(view: QuantityView, model: Model) -> int | None:
    """The number of candidates that one ask compares; None: all of them."""
    if not _is_large(view):
        return None
    width = model.embedding_.width(model.ensemble_.experts)
    most = max(LEAST_COMPARED, ASK_WORK // (len(model.weights_) * width**2))
    return most if most < len(view.candidates) else None


def _is_large(view: QuantityView) -> bool:
    """Whether comparing all candidates in memory could take too long."""
    pool = view.candidates
    many = len(view.labels) > SAMPLED_FROM and len(pool) > LEAST_COMPARED
    return many and not pool.in_shards


def best_share(n: int) -> float:
    """The best share of all candidates that a sample of n hits with probability SURE.

    >>> round(100 * best_share(32_768), 3)
    0.014
    """
    return float(-np.expm1(np.log1p(-SURE) / n))


def with_compared_candidates(state: State, beliefs: PosteriorCache, wanted: int) -> State:
    """The state with only the candidates that one ask compares."""
    large = [state.view(name) for name in state.quantities]
    large = [view for view in large if view.has_model and _is_large(view)]
    sizes = [(comparison_size(view, beliefs.model(view)), view) for view in large]
    found = [(n, view) for n, view in sizes if n is not None]
    if not found:
        return state
    few = _with_sample(*min([(view, n) for n, view in found], key=lambda one: one[1]))
    return state if few.free().sum() < wanted else few


def _with_sample(view: QuantityView, n: int) -> State:
    state, pool, selection = view.state, view.candidates, view.selection
    assert selection is not None
    hashes = mix_with_seed(hash_ids(pool.ids), state.settings.seed)
    drawn = least(mix_with_seed(hashes, selection.n), n)
    at = np.union1d(drawn, np.array([pool.index[name] for name in state.taken], dtype=np.intp))
    last = _last.get(pool)
    if last is None or not np.array_equal(last.at, at):
        last = _last[pool] = _Sample(at, pool.subset(at), pool.inputs_at(drawn))
    reference = last.reference if state.reference is None else state.reference
    allowed = None if state.allowed is None else state.allowed[at]
    return replace(state, candidates=last.candidates, reference=reference, allowed=allowed)
