"""One scoring pass over a pool in memory, in blocks.

Functions of one candidate at a time (`is_pointwise`) get blocks of SCORE_BLOCK_CANDIDATES, whose
temporary arrays stay small; others get the whole pool. Functions with targets (`mvr`) score the
free candidates, or a shortlist of a large pool; all others get the least score of the shortlist.

Where there are more than SHORTLIST_CANDIDATES free candidates, one half of the shortlist has the
largest mixture variances (gpm-var), the other half the least hashes of (seed, id). Variances within
1e-9 of one another count as equal, and the hash decides: rounding, the order of the pool, blocks
and shards change nothing.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.constants import SHORTLIST_CANDIDATES
from weal.core.extensions.acquisition_registry import (
    is_log_amount,
    is_pointwise,
    is_registered,
    needs_targets,
)
from weal.core.extensions.variance_reduction import TargetBelief, experts_in_reduction
from weal.core.paper.acquisition import Acquisition, Belief, gpm_var
from weal.core.protocols import Points
from weal.core.tie_breaking import BestCandidates, best_candidates, merge
from weal.learner.pools.protocol import Combine, ScorePass

_VARIANCE_STEPS = 2.0**30  # relative difference at which variances differ, within a factor of two


def shortlist(asked: ScorePass, variances: Callable[[], Array]) -> NDArray[np.intp]:
    """Positions, ascending, of the candidates that functions with targets score."""
    free = np.flatnonzero(asked.free)
    if len(free) <= SHORTLIST_CANDIDATES:
        return free
    hashed = _by_hash(asked)
    values = variances()[hashed]
    if asked.cost is not None:  # else cheap candidates might never be listed
        values = values / asked.cost[hashed]
    best = _best(round_variances(values))
    return np.unique(np.concatenate([hashed[: SHORTLIST_CANDIDATES // 2], hashed[best]]))


def _by_hash(asked: ScorePass) -> NDArray[np.intp]:
    """Positions of the free candidates, by the hash of (seed, id)."""
    assert asked.order is not None
    return np.asarray(asked.order[asked.free[asked.order]])


def hashed_half(asked: ScorePass) -> NDArray[np.intp]:
    """Positions of the part of the shortlist that does not depend on variances."""
    return _by_hash(asked)[: SHORTLIST_CANDIDATES // 2]


def round_variances(variances: Array) -> Array:  # (N,) -> (N,)
    """Variances rounded to 30 bits, so that rounding errors do not decide."""
    mantissa, exponent = np.frexp(variances)
    return np.asarray(np.ldexp(np.rint(mantissa * _VARIANCE_STEPS) / _VARIANCE_STEPS, exponent))


def _best(values: Array) -> NDArray[np.intp]:
    """Positions of the half of SHORTLIST largest values; of equal ones, the first."""
    half = SHORTLIST_CANDIDATES // 2
    least = np.partition(values, len(values) - half)[len(values) - half]
    above = np.flatnonzero(values > least)
    return np.concatenate([above, np.flatnonzero(values == least)[: half - len(above)]])


SCORE_BLOCK_CANDIDATES = 65_536  # candidates of a block


@dataclass(frozen=True, slots=True, eq=False)
class MemoryScores:
    """Scores of K functions on U candidates."""

    asked: ScorePass
    scores: Array  # (K, U); finite on the free ones

    @property
    def low(self) -> Array:  # (K,)
        """The least score of each function over the free candidates."""
        return np.asarray(self.scores.min(axis=1, where=self.asked.free, initial=np.inf))

    @property
    def high(self) -> Array:  # (K,)
        """The largest score of each function over the free candidates."""
        return np.asarray(self.scores.max(axis=1, where=self.asked.free, initial=-np.inf))

    def best(self, combine: Combine) -> BestCandidates:
        """The best of the free candidates by their combined scores."""
        return reduce(merge, (self._best(combine, rows) for rows in _blocks(self.scores.shape[1])))

    def _best(self, combine: Combine, rows: slice) -> BestCandidates:
        asked, start = self.asked, rows.start
        ids = asked.ids[rows] if rows.stop < len(asked.ids) or start else asked.ids
        return best_candidates(
            combine(self.scores[:, rows]), asked.free[rows], asked.seed, ids, start
        )

    def at(self, n: int) -> Array:  # (K,)
        """The scores of candidate n."""
        return np.asarray(self.scores[:, n])

    def shortlist(self, combine: Combine | None) -> NDArray[np.intp]:
        """All free candidates."""
        return np.flatnonzero(self.asked.free)

    @property
    def new_values(self) -> Mapping[str, int]:
        """None if the plan was made with all rows."""
        return {}


# Of experts (H,) and candidates (N,): these candidates in the form of these experts.
PointsOf = Callable[[NDArray[np.intp], NDArray[np.intp]], Points]


def score(
    asked: ScorePass,
    kept: NDArray[np.intp],
    belief: Belief,
    points_of: PointsOf,
    current: NDArray[np.bool_] | None = None,
) -> MemoryScores:
    """Scores of all functions on all candidates, given the belief of the kept experts.

    `current` (U,) are the candidates whose belief is known, with the shortlist among them, where
    all functions have targets; None: all. A function that chooses alone may give -inf to candidates
    that must not be chosen.
    """
    functions = asked.functions.values()
    some, listed = belief, np.zeros(0, dtype=np.intp)
    if asked.targets is not None:
        listed = shortlist(asked, partial(_variances, belief, current))
        some = _with_target_covariance(asked, kept, _part(belief, listed), listed, points_of)
    scores = np.zeros((len(functions), belief.mu.shape[1]))
    for row, function in zip(scores, functions, strict=True):
        if needs_targets(function):
            found = _score(function, some)
            row[:] = found.min(initial=np.inf, where=~np.isnan(found))
            row[listed] = found
        else:
            row[:] = _score(function, belief)
    for (name, function), row in zip(asked.functions.items(), scores, strict=True):
        if not is_registered(name, function):
            _check_scores(name, row[asked.free], alone=len(scores) == 1)
    return MemoryScores(asked, scores if asked.cost is None else _per_cost(asked, scores))


def _variances(belief: Belief, current: NDArray[np.bool_] | None) -> Array:  # (U,)
    """Mixture variances; -inf where the belief is not known."""
    found = gpm_var(belief)
    return found if current is None else np.where(current, found, -np.inf)


def _per_cost(asked: ScorePass, scores: Array) -> Array:  # (K, U) -> (K, U)
    """Scores for the cost of a label: of equal scores the cheaper one is larger."""
    cost = np.asarray(asked.cost)
    found: Array = np.where(scores > 0.0, scores / cost, scores * cost)
    logs = [is_log_amount(function) for function in asked.functions.values()]
    found[logs] = scores[logs] - np.log(cost)
    return found


def belief_of(
    asked: ScorePass, which: Any, mu: Array, v: Array, q: Array | None, X: Array,
    varying: Array | None = None,
) -> Belief:  # fmt: skip
    """The belief that the functions of a pass get, in units of the labels.

    `varying` (N,) are noise variances at X, where they are computed already.
    """
    ens = asked.ens
    sig2, lam = ens.magnitude[which, None], ens.noise_at(X, varying)[which]
    reduction = None if q is None else sig2 * q / (v + lam)
    noise = (sig2 * ens.noise[which, None])[:, 0]
    known = (X, asked.X, asked.y, asked.key)
    return Belief(
        ens.w[which], mu, sig2 * v, noise, *known, reduction,
        units=asked.units, dof=ens.scale.freedom[which], present=asked.present,
        varying_noise=None if ens.field is None else sig2 * lam,
    )  # fmt: skip


def _with_target_covariance(
    asked: ScorePass,
    kept: NDArray[np.intp],
    belief: Belief,
    listed: NDArray[np.intp],
    points_of: PointsOf,
) -> Belief:
    """The belief with target means, variances and covariances of its experts of larger weights."""
    ens, which = asked.ens, experts_in_reduction(belief.w)
    members = kept[which]
    assert asked.targets is not None
    targets = asked.targets.posterior(ens.experts, members)
    cov = targets.covariance(points_of(members, listed))
    cov *= ens.magnitude[members, None, None]
    var = targets.variances * ens.magnitude[members, None]
    return replace(belief, target_belief=TargetBelief(which, targets.means, cov, var))


def _blocks(U: int) -> Iterator[slice]:
    for start in range(0, U, SCORE_BLOCK_CANDIDATES):
        yield slice(start, min(start + SCORE_BLOCK_CANDIDATES, U))


def _score(function: Acquisition, belief: Belief) -> Array:
    N = belief.mu.shape[1]
    if N <= SCORE_BLOCK_CANDIDATES or not is_pointwise(function):
        scores = np.asarray(function(belief), dtype=np.float64)
    else:
        parts = [np.asarray(function(_part(belief, rows)), np.float64) for rows in _blocks(N)]
        scores = np.concatenate(parts)
    if scores.shape != (N,):
        raise ValueError(
            f"the acquisition function {getattr(function, '__name__', function)!r} returned shape "
            f"{scores.shape}; it must return one score for each of the {N} candidates"
        )
    return scores


def _part(belief: Belief, rows: Any) -> Belief:
    """The belief restricted to some of the candidates."""
    reduction = None if belief.reduction is None else belief.reduction[:, rows]
    target_belief = None if belief.target_belief is None else belief.target_belief.at(rows)
    mu, var = belief.mu[:, rows], belief.var[:, rows]
    present = None if belief.present is None else belief.present[rows]
    noise = None if belief.varying_noise is None else belief.varying_noise[:, rows]
    return replace(
        belief, mu=mu, var=var, X=belief.X[rows], reduction=reduction, target_belief=target_belief,
        present=present, varying_noise=noise,
    )  # fmt: skip


def _check_scores(name: str, scores: Array, alone: bool) -> None:
    never = (scores == -np.inf) & (alone and (scores > -np.inf).any())
    bad = np.flatnonzero(~(np.isfinite(scores) | never))
    if len(bad):
        raise ValueError(
            f"the acquisition function {name!r} scored {len(bad)} of {len(scores)} candidates with "
            f"{scores[bad[0]]}; scores must be finite. To leave candidates out, skip or remove them"
        )
