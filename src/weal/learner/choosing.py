"""Which candidate next: the acquisition functions in use, their weights, and batches.

One function chooses by itself. Several choose together by Algorithm 2 of the paper (`core.mixing`):
before the first choice after a new label each says what it would ask, pays the loss of its pseudo
label, and the weights omega follow; then the weighted sum of their scores chooses.

A batch is chosen one point after the other. Each point that was asked and not yet answered is
given the mean that the labels let expect of it, weights kept: variances fall around it and the
experts agree there, so that no score sends the next point to its neighbour. The order in which
they were asked does not matter.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weal.core import choice
from weal.core.acquisition import ACQUISITIONS, PAPER, Acquisition, Belief, needs_reduction
from weal.core.arrays import Array
from weal.core.ensemble import Ensemble, step
from weal.core.mixing import SCALINGS, reweigh
from weal.core.scaling import Scaling, location_scale
from weal.core.validation import Judged, Picks, held_out_errors, left_out_errors
from weal.learner.candidates import Candidates
from weal.learner.pool import PoolBelief
from weal.model.checks import FARTHEST

Free = NDArray[np.bool_]
SCORED = 65_536  # candidates scored at a time by our own functions, which look at one by one
TOGETHER_FROM = 16  # pending points from which believing them together is faster
TOGETHER = {"multi": PAPER, "auto": (*PAPER, "igs")}  # names that stand for several functions


def resolve(acquisition: Any) -> dict[str, Acquisition]:
    """Functions by name, for a name, "multi", a function, or a list of names and functions."""
    if isinstance(acquisition, str) and acquisition in TOGETHER:
        return {name: ACQUISITIONS[name] for name in TOGETHER[acquisition]}
    if isinstance(acquisition, str) or callable(acquisition):
        name, function = _one(acquisition)
        return {name: function}
    if not isinstance(acquisition, list | tuple):
        raise TypeError(f"acquisition is {acquisition!r}; it needs a name, a function, or a list")
    several = [pair for part in acquisition for pair in resolve(part).items()]
    if not several or len(dict(several)) != len(several):
        raise ValueError(
            f"acquisition is {acquisition!r}; it needs one or more, each with a name of its own"
        )
    return dict(several)


def is_ours(name: str, function: Acquisition) -> bool:
    """Whether this is our function of that name, and not a user's that is called the same."""
    return ACQUISITIONS.get(name) is function


def _one(acquisition: str | Acquisition) -> tuple[str, Acquisition]:
    if callable(acquisition):
        ours = [name for name, function in ACQUISITIONS.items() if function is acquisition]
        name = ours[0] if ours else getattr(acquisition, "__name__", repr(acquisition))
        return str(name), acquisition
    if acquisition not in ACQUISITIONS:
        raise ValueError(
            f"unknown acquisition {acquisition!r}; there are "
            f"{', '.join([*ACQUISITIONS, *TOGETHER])}, or give a function of your own"
        )
    return acquisition, ACQUISITIONS[acquisition]


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """A candidate, and why."""

    n: int  # position
    score: float
    scores: dict[str, float]  # of each acquisition function
    omega: dict[str, float]  # weight of each
    shares: dict[str, float]  # of each in the score; they sum to 1


class Chooser:
    """The acquisition functions and their weights."""

    def __init__(self, acquisition: Any, eta: float, scaling: str) -> None:
        self.functions = resolve(acquisition)
        if scaling not in SCALINGS:
            raise ValueError(f"score_scaling is {scaling!r}; it is one of {', '.join(SCALINGS)}")
        if not (np.isfinite(eta) and eta >= 0.0):
            raise ValueError(f"eta is {eta!r}; it must be a number of at least 0")
        self.eta, self.scaling, self.scale = float(eta), scaling, SCALINGS[scaling]
        K = len(self.functions)
        self.even: Array = np.full(K, -np.log(K))  # log weights before there was a label
        self.log_omega = self.even

    @property
    def needs_target(self) -> bool:
        """Whether one of the functions looks at a target set."""
        return any(needs_reduction(function) for function in self.functions.values())

    @property
    def omega(self) -> dict[str, float]:
        """Weights of the acquisition functions."""
        return dict(zip(self.functions, np.exp(self.log_omega).tolist(), strict=True))

    def scores(self, belief: Belief, free: Free) -> Array:  # (K, N)
        """Scores of each function on all candidates; finite on the free ones.

        A function that chooses alone may give -inf to what it never wants.
        """
        scores = np.stack([_score(f, belief) for f in self.functions.values()])
        for (name, function), row in zip(self.functions.items(), scores, strict=True):
            if not is_ours(name, function):
                _check_scores(name, row[free], alone=len(scores) == 1)
        return scores

    def picks(self, scores: Array, free: Free, seed: int, ids: Sequence[Hashable]) -> list[int]:
        """What each function would ask for [1, eq:AF_k]."""
        return [choice.best(row, free, seed, ids) for row in scores]

    def adapt(self, picks: list[int], losses: Array) -> None:
        """Update omega by the losses of the different picks, in ascending order."""
        of = dict(zip(sorted(set(picks)), losses.tolist(), strict=True))
        self.log_omega = reweigh(self.log_omega, np.array([of[n] for n in picks]), self.eta)

    def choose(self, scores: Array, free: Free, seed: int, ids: Sequence[Hashable]) -> Chosen:
        """The best of the free candidates [1, eq:AF_1, eq: EGPmultiacq]."""
        if len(scores) == 1:
            parts = scores
        else:
            parts = np.exp(self.log_omega)[:, None] * self.scale(scores, free)  # (K, N)
        total = parts.sum(axis=0)
        n = choice.best(total, free, seed, ids)
        each = dict(zip(self.functions, scores[:, n].tolist(), strict=True))
        shares = dict(zip(self.functions, _shares(parts[:, n]).tolist(), strict=True))
        return Chosen(n, float(total[n]), each, self.omega, shares)


def next_of_start(
    candidates: Candidates, told: list[Array], asked: list[Hashable], free: Free, seed: int
) -> Chosen:
    """The next point while there is no model: far from those told (inputs) and asked (ids)."""
    mean, sd = location_scale(candidates.X)
    scale = Scaling(mean, np.where(sd == 0.0, 1.0, sd))
    rows = [*told, *(candidates.x(name) for name in asked)]
    taken = scale.inputs(np.array(rows).reshape(len(rows), len(mean)))
    taken = np.clip(taken, -FARTHEST, FARTHEST)  # beyond, distances are infinite
    n = choice.spread(scale.inputs(candidates.X), taken, free, seed, candidates.ids)
    return Chosen(n, float("nan"), {}, {}, {})


def _shares(parts: Array) -> Array:  # (K,) -> (K,)
    """Parts of a score as shares of it; even where the parts are nothing."""
    positive = np.maximum(parts, 0.0)
    total = positive.sum()
    even = np.full(len(parts), 1.0 / len(parts))
    return positive / total if 0.0 < total < np.inf else even


def _score(function: Acquisition, belief: Belief) -> Array:
    N = belief.mu.shape[1]
    pointwise = function in ACQUISITIONS.values() and function is not ACQUISITIONS["random"]
    if not pointwise or N <= SCORED:
        scores = np.asarray(function(belief), dtype=np.float64)
    else:
        blocks = (slice(start, start + SCORED) for start in range(0, N, SCORED))
        scores = np.concatenate([function(_part(belief, rows)) for rows in blocks])
    if scores.shape != (N,):
        raise ValueError(
            f"the acquisition function {getattr(function, '__name__', function)!r} returned shape "
            f"{scores.shape}; it must return one score for each of the {N} candidates"
        )
    return scores


def _check_scores(name: str, scores: Array, alone: bool) -> None:
    never = (scores == -np.inf) & (alone and (scores > -np.inf).any())
    bad = np.flatnonzero(~(np.isfinite(scores) | never))
    if len(bad):
        raise ValueError(
            f"the acquisition function {name!r} scored {len(bad)} of {len(scores)} candidates with "
            f"{scores[bad[0]]}; scores must be finite. To leave candidates out, skip or remove them"
        )


def _part(belief: Belief, rows: slice) -> Belief:
    reduction = None if belief.reduction is None else belief.reduction[:, rows]
    return replace(
        belief,
        mu=belief.mu[:, rows],
        var=belief.var[:, rows],
        X=belief.X[rows],
        reduction=reduction,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """Ensemble and pool as they are, or as they would be were all pending points answered."""

    ens: Ensemble
    pool: PoolBelief
    X: Array  # (t, d)  labelled points, scaled
    y: Array  # (t,)    their labels, scaled
    own: bool = False  # whether nobody else uses this pool

    def belief(self, key: tuple[int, int]) -> Belief:
        """What the acquisition functions see."""
        pool, ens = self.pool, self.ens
        held = pool.held
        which: Any = slice(None) if len(held) == len(ens.log_w) else held
        sig2, lam, v = ens.magnitude[which, None], ens.noise[which, None], pool.v[which]
        reduction = None if pool.q is None else sig2 * pool.q[which] / (v + lam)
        noise = (sig2 * lam)[:, 0]
        return Belief(
            ens.w[which], pool.mu[which], sig2 * v, noise, pool.X, self.X, self.y, key, reduction
        )

    def believing(self, at: Sequence[int], y: Array) -> "Outlook":
        """The outlook were the candidates `at` given the labels y (K,), scaled; weights stay.

        An outlook that owns its pool moves it on, and is not to be used again.
        """
        if len(at) >= TOGETHER_FROM:
            return self._believing_together(list(at), y)
        ens, pool = self.ens, self.pool if self.own else self.pool.fork()
        for n, label in zip(at, y.tolist(), strict=True):
            told = step(ens, pool.point(ens, n), label)
            pool.follow(ens, told)
            ens = replace(ens, experts=ens.experts.condition(told))
        pool.hold(ens)
        return self._grown(ens, pool, list(at), y)

    def _believing_together(self, at: list[int], y: Array) -> "Outlook":
        """The same, the belief on the pool computed anew."""
        ens, points = self.ens, self.pool.points(self.ens, at)
        experts, _, _ = ens.experts.absorb(points, y, ens.ratios(np.zeros(len(y))))
        after = replace(ens, experts=experts)
        return self._grown(after, self.pool.renewed(after), at, y)

    def _grown(self, ens: Ensemble, pool: PoolBelief, at: list[int], y: Array) -> "Outlook":
        X = np.concatenate([self.X, pool.X[at]])
        return Outlook(ens, pool, X, np.append(self.y, y), own=True)

    def means(self, at: Sequence[int]) -> Array:  # (K,)
        """What the ensemble expects of the candidates `at`, scaled."""
        held = self.pool.held
        return np.asarray(self.ens.w[held] @ self.pool.mu[held[:, None], np.asarray(at)])


def judge(ens: Ensemble, pool: PoolBelief, judged: Judged, held_out: bool, at: list[int]) -> Array:
    """Losses (K,) of pseudo labels of the candidates `at`."""
    points = pool.points(ens, at)
    mu, v = pool.predict(ens, points, at)
    errors = held_out_errors if held_out else left_out_errors
    return errors(ens, judged, Picks(points, mu, v))
