"""The paper's acquisition functions: pure functions from a belief to one score per candidate.

The paper's five read the weights w, means mu and variances var of the experts alone:

    wvar      sum_m w_m var_m                                             [1, eq:w_var]
    went      1/2 sum_m w_m log(2 pi var_m)                               [1, eq:w_entropy]
    qbc       sum_m w_m (mu_m - mean)^2,   mean = sum_m w_m mu_m          [1, eq:QBC, eq:QBC_mean]
    gpm-var   wvar + qbc: the variance of the mixture                     [1, eq:var-GPM]
    gpm-ent   -sum_m w_m log sum_m' w_m' z_mm': a lower bound of the      [1, eq:mix.ent.]
              entropy of the mixture, z_mm' = N(mu_m; mu_m', var_m + var_m')

`wvar` of one expert is the baseline of maximum variance. `random` draws a number for each candidate
from the key of the step. More functions are in `extensions.more_acquisitions`; a user's own takes
the same `Belief` and returns one score for each candidate.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array

if TYPE_CHECKING:
    from weal.core.extensions.variance_reduction import TargetBelief


# The least variance a score sees: an entropy of certainty is -345 nats a unit of weight, not -inf.
VAR_FLOOR = 1e-300
# gpm-ent and bald leave experts of less weight out. With beta <= M NEGLIGIBLE their weight in all
# and w_m < NEGLIGIBLE each, gpm-ent is off by at most
#     beta (sqrt(2) M + 1/2 max |log(4 pi var)|) + sum_m w_m |log w_m|,
# below 1e-9 for M = 20 and variances from VAR_FLOOR to 1e300.
NEGLIGIBLE_WEIGHT = 1e-13
# Standardised distances beyond this have density exp(-5e3) = 0; held there to square safely.
MAX_STANDARDISED_DISTANCE = 1e2
HERMITE_NODES, HERMITE_WEIGHTS = np.polynomial.hermite_e.hermegauss(24)
HERMITE_WEIGHTS = HERMITE_WEIGHTS / HERMITE_WEIGHTS.sum()


class LabelUnits(Protocol):
    """A change of the units of labels: the scaling, or the warp."""

    def labels(self, y: Array) -> Array:
        """Labels (N,) in the new units."""


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """The posterior at N candidates in scaled units: the argument of an acquisition function."""

    w: Array  # (M,)    weights of the experts
    mu: Array  # (M, N)  means of f
    var: Array  # (M, N)  variances of f
    noise: Array  # (M,)    variances of a label's noise
    X: Array  # (N, d)  the candidates
    X_labelled: Array  # (t, d)  labelled points
    y_labelled: Array  # (t,)    their labels
    key: tuple[int, int]  # (seed, step): all that is random comes from it
    reduction: Array | None = None  # (M, N)  r_m of `ivr`; only where a score needs it
    # Beliefs on the target points of `mvr`; made only for scores that need them.
    target_belief: "TargetBelief | None" = None
    # What turns labels in the user's units into those of `y_labelled`, in this order.
    units: "tuple[LabelUnits, ...]" = ()
    dof: Array | None = None  # (M,)  of the Student-t that f has; None: f is normal
    present: NDArray[np.bool_] | None = None  # (N,)  rows that the pool still has; None: all
    # (M, N)  variances of a label's noise at each candidate; None: `noise`, the same everywhere
    varying_noise: Array | None = None

    @property
    def label_noise(self) -> Array:  # (M, N) or (M, 1)
        """Variances of the noise of a label at each candidate; (M, 1) if the same everywhere."""
        return self.noise[:, None] if self.varying_noise is None else self.varying_noise

    @property
    def mean(self) -> Array:  # (N,)
        """Mean of the mixture [1, eq:QBC_mean]."""
        return self.w @ self.mu

    def scaled(self, value: float) -> float:
        """A value in the user's units, converted to the units of `mu` and `y_labelled`.

        It goes through the scaling and the warp of the labels, so that a threshold such as 90.0
        can be compared with `mu`. ValueError if the belief was made without units.
        """
        if not self.units:
            raise ValueError("this belief has no units: it was not made for a learner's labels")
        y = np.array([value], dtype=np.float64)
        for unit in self.units:
            y = unit.labels(y)
        return float(y[0])


Acquisition = Callable[[Belief], Array]
Score = TypeVar("Score", bound=Acquisition)


def score_traits(**traits: bool) -> Callable[[Score], Score]:
    """A decorator that sets attributes of an acquisition function: its needs and its scores.

        pointwise        the score of a candidate depends on no other, so that a pool may be scored
                         in blocks
        amount           the score is an amount, such as of variance, which the cost of a label may
                         divide
        log_amount       the score is the log of an amount or a probability: the log of the cost is
                         subtracted
        needs_reduction  it reads `Belief.reduction`, at the cost of a second column a label
        needs_targets    it reads `Belief.target_belief`, covariances with the target points
        by_key           it reads `Belief.key` alone

    A function of the user's own sets the same attributes. One that is missing is false.
    """

    def mark(score: Score) -> Score:
        for trait, value in traits.items():
            setattr(score, trait, value)
        return score

    return mark


@score_traits(by_key=True)
def random(belief: Belief) -> Array:
    """A number in [0, 1) for each candidate."""
    rng = np.random.default_rng(belief.key)
    return np.asarray(rng.random(belief.mu.shape[1]))


@score_traits(pointwise=True, amount=True)
def wvar(belief: Belief) -> Array:
    """Weighted variance of the experts [1, eq:w_var]."""
    return belief.w @ belief.var


@score_traits(pointwise=True)
def went(belief: Belief) -> Array:
    """Weighted entropy of the experts [1, eq:w_entropy, claim:entropy]."""
    return 0.5 * (belief.w @ np.log(2.0 * np.pi * np.maximum(belief.var, VAR_FLOOR)))


@score_traits(pointwise=True, amount=True)
def qbc(belief: Belief) -> Array:
    """Query by committee: weighted variance of the experts' means [1, eq:QBC]."""
    return belief.w @ (belief.mu - belief.mean) ** 2


@score_traits(pointwise=True, amount=True)
def gpm_var(belief: Belief) -> Array:
    """Variance of the mixture [1, eq:var-GPM, claim:sum]."""
    return belief.w @ (belief.var + (belief.mu - belief.mean) ** 2)


@score_traits(pointwise=True)
def gpm_ent(belief: Belief) -> Array:
    """Lower bound of the entropy of the mixture [1, eq:mix.ent.], over non-negligible experts."""
    w, mu, var = non_negligible(belief)
    a, b = _pairs(len(w))
    both = var[a]
    both += var[b]  # (P, N)
    z = mu[a]
    z -= mu[b]
    with np.errstate(over="ignore"):  # to inf, whose density is 0
        z *= z
        z /= both
    z *= -0.5
    np.exp(z, out=z)
    both *= 2.0 * np.pi
    z /= np.sqrt(both, out=both)  # [1, eq:z]
    other = np.zeros((len(w), len(a)))  # (M, P)  weight of the other of a pair that m is in
    other[a, np.arange(len(a))] = w[b]
    other[b, np.arange(len(a))] = w[a]
    inner = other @ z
    inner += w[:, None] / np.sqrt(4.0 * np.pi * var)  # of m with itself
    return -(w @ np.log(inner))  # [1, eq:mix.ent., claim:bound]


@lru_cache(maxsize=64)
def _pairs(M: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions of the two experts of each pair; read-only."""
    first, second = np.triu_indices(M, 1)
    first.flags.writeable = second.flags.writeable = False
    return first, second


def non_negligible(belief: Belief) -> tuple[Array, Array, Array]:
    """Weights, means and floored variances of the experts with non-negligible weight."""
    kept = belief.w >= NEGLIGIBLE_WEIGHT
    if kept.all():
        return belief.w, belief.mu, np.maximum(belief.var, VAR_FLOOR)
    return belief.w[kept], belief.mu[kept], np.maximum(belief.var[kept], VAR_FLOOR)


PAPER = ("wvar", "went", "qbc", "gpm-var", "gpm-ent")  # the K = 5 of Algorithm 2
