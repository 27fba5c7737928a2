"""Drop experts from pool scoring, with a bounded error in every acquisition score.

Kept experts H have means and variances on every candidate. The contribution of the dropped ones R
to a score is not computed but bounded, by their weights and the reach of their posteriors. A
posterior variance is at most the prior's, and a mean is an inner product with the coefficients of
the expert (Cauchy and Schwarz):

    var_m(x) <= V_m = sig2_m k_m(x, x)
    |mu_m(x)| <= B_m = sqrt(k_m(x, x)) |theta_m|  on features,  sqrt(k_m(x, x)) |z_m|  exact

With mean_H = sum_H w mu, b >= |mean_H|, T a lower bound of the largest score over the pool, and
BOUND = MAX_SCORE_ERROR:

    score             contribution of dropped experts             at most           tolerance
    wvar              sum_R w var                                 sum_R w V             BOUND T
    ivr               sum_R w r,   r <= V                         sum_R w V             BOUND T
    qbc               sum_R w (mu - mean_H)^2 - (sum_R w mu)^2    sum_R w (B + b)^2     BOUND T
    gpm-var           both of wvar and qbc                        their sum             2 BOUND T
    went              1/2 sum_R w log(2 pi var)                   sum_R w c             BOUND nats
    gpm-ent, bald,
    bald-pass         nothing: they leave out all below NEGLIGIBLE themselves           0
    ei, best, lowest  nothing: likewise                                                 0
    ucb, straddle     those of the mean and of gpm-var
    mean              sum_R w mu                                  sqrt(sum_R w sum_R w B^2)
                                                                  <= sqrt(BOUND sum_R w T_qbc)
    igs               its largest distance times that of the mean
    mvr               exempt: it uses only experts of weight 1e-2 or more

c is the largest of |1/2 log(2 pi var)| from VAR_FLOOR to V, 345 nats. Experts with a weight of
NEGLIGIBLE or more are kept, and then, one after the other, the expert that could add most, until
the sums are within the tolerances. Where one expert has all the weight, disagreement comes from the
others alone: a bound on weights only would change the order of qbc. A score as small as rounding
(eps^2 of b^2, or of V) is not bounded any further.

The kept experts are a function of the ensemble and the pool alone. A user's own score sees the kept
experts, with weights that sum to 1 - sum_R w.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.paper.acquisition import NEGLIGIBLE_WEIGHT, VAR_FLOOR
from weal.core.paper.ensemble import Ensemble

MAX_SCORE_ERROR = 1e-9  # within the tolerance of ties (`tie_breaking.TIE_RTOL`)
_EPS = float(np.finfo(np.float64).eps)

Members = NDArray[np.intp]
# Of some experts (H,): means, variances and, where ivr is used, reductions (H, N) on some of the
# candidates, in scaled units; None if it is not used.
Believed = Callable[[Members], tuple[Array, Array, Array | None]]


@dataclass(frozen=True, slots=True, eq=False)
class ReachableMoments:
    """Bounds of the means and variances of the experts at any candidate, in scaled units."""

    mean: Array  # (M,)  B
    var: Array  # (M,)  V


def reachable_moments(ens: Ensemble, prior: Array) -> ReachableMoments:
    """The bounds for an ensemble, given the largest prior variances (M,) of a candidate."""
    coefficients = ens.experts.coefficients
    size = np.sqrt(np.einsum("mf,mf->m", coefficients, coefficients))
    return ReachableMoments(np.sqrt(prior) * size, prior * ens.magnitude)


def select_experts_to_keep(w: Array, far: ReachableMoments, believed: Believed) -> Members:
    """Positions of the experts to keep, ascending, for weights w (M,)."""
    inside = w >= NEGLIGIBLE_WEIGHT
    while (left := ~inside & (w > 0.0)).any():
        members = np.flatnonzero(inside)
        adds, allowed = _left_out(w, far, members, *believed(members))
        if (adds[:, left].sum(axis=1) <= allowed).all():
            break
        share = np.where(left, (adds / allowed[:, None]).max(axis=0), -1.0)
        inside[share.argmax()] = True
    return np.flatnonzero(inside)


def _left_out(
    w: Array,
    far: ReachableMoments,
    members: Members,
    mu: Array,
    var: Array,
    reduction: Array | None,
) -> tuple[Array, Array]:
    """Bounds (kinds, M) of the score errors from dropping each expert, and the tolerances."""
    here = w[members]
    mean = here @ mu  # (N,)
    b = float(here @ far.mean[members])
    V, floor = float(far.var[members].max()), _EPS * _EPS
    lowest = np.abs(0.5 * np.log(2.0 * np.pi * VAR_FLOOR))
    entropy = np.maximum(np.abs(0.5 * np.log(2.0 * np.pi * np.maximum(far.var, VAR_FLOOR))), lowest)
    variance, apart = w * far.var, w * (far.mean + b) ** 2
    tops = [here @ var, here @ (mu - mean) ** 2]
    kinds, floors = [variance, apart], [floor * V, floor * b * b]
    if reduction is not None:
        tops, kinds, floors = [*tops, here @ reduction], [*kinds, variance], [*floors, floor * V]
    least = np.finfo(np.float64).tiny
    allowed = [
        max(MAX_SCORE_ERROR * float(top.max()), low, least)
        for top, low in zip(tops, floors, strict=True)
    ]
    return np.array([*kinds, w * entropy]), np.array([*allowed, MAX_SCORE_ERROR])
