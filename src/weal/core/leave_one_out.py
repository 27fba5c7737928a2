"""Every label predicted from all the others, by the experts that there are, in closed form.

With C = K + diag(lam) the covariance of the labels y (as experts see them) in units of the
magnitude, A = C^-1 and a = A y, the innovation that label i would have been to an expert that knows
all the others, and its variance, are

    e_i = a_i / A_ii        s_i = 1 / A_ii

The magnitude of the expert would be known from the others alone: b without e^2 / (2 s), a without
1/2 (`magnitude`); and its weight would have been w_m / p_m(y_i | the others), normalised. No expert
is settled anew: lengthscales and noise ratios are those that all labels settled, which is slightly
optimistic. A row that was labelled twice keeps its other label.

There are two ways to a and A_ii. By a Cholesky factor L L' = C, with R = L^-1:

    a = R'R y        A_ii = sum_j R_ji^2

and from the posterior at the labels, which costs next to nothing where that is at hand:

    a = (y - mu) / lam        A_ii = (lam - v) / lam^2

but where lam is tiny v comes too close to it, and the factor is needed.
"""

from dataclasses import replace

import numpy as np
from scipy.linalg import solve_triangular

from weal.core.arrays import Array
from weal.core.embedding import Embedding
from weal.core.ensemble import Ensemble, normalise
from weal.core.exact import LEAST_RATIO, ExactExperts
from weal.core.magnitude import Magnitude


def innovations(a: Array, A_ii: Array) -> tuple[Array, Array]:
    """Innovations e and variances s of labels left out, from a and A_ii, elementwise."""
    return a / A_ii, 1.0 / A_ii


def by_posterior(y: Array, mu: Array, v: Array, lam: Array) -> tuple[Array, Array]:
    """a and A_ii (M, t) from the belief mu, v (M, t) at the points of labels y (t,)."""
    return (y - mu) / lam, (lam - v) / lam**2


def inverse_root(C: Array) -> Array:
    """R (t, t) with R'R = C^-1."""
    return _inverted(np.linalg.cholesky(C).astype(np.float64, copy=False))


def by_root(R: Array, y: Array) -> tuple[Array, Array]:
    """a and A_ii (t,) of one expert from R (t, t) with R'R = A."""
    return R.T @ (R @ y), np.einsum("ji,ji->i", R, R)


def left_out(
    ens: Ensemble, embedding: Embedding, X: Array, y: Array, extra: Array
) -> tuple[Array, Array, Array]:
    """Innovations e, variances s and noise ratios lam (M, t) of the labels y (t,) at X (t, d), each
    left out of the others; `extra` (t,) is what is known of their noise.
    """
    lam = np.maximum(ens.ratios(extra), LEAST_RATIO)
    pairs = [by_root(_root(ens, embedding, m, X, lam[m]), y) for m in range(len(lam))]
    a, A_ii = (np.stack(part) for part in zip(*pairs, strict=True))
    return *innovations(a, A_ii), lam


def without(ens: Ensemble, e: Array, s: Array) -> Ensemble:
    """Weights and magnitudes as if a label that is left out with e and s (M,) had not come.

    Its experts still know the label: what they believe of its point without it is e and s.
    """
    scale, added = unlearnt(ens, ens.scale, e, s)
    return replace(ens, log_w=normalise(ens.log_w - added), scale=scale)


def unlearnt(ens: Ensemble, scale: Magnitude, e: Array, s: Array) -> tuple[Magnitude, Array]:
    """The magnitudes without each of the labels that are left out with e and s (M, ...), and what
    these labels have added to the log weights (M, ...).
    """
    less = scale.without(e, s)
    return less, ens.temper * less.log_density(e, s)


def _root(ens: Ensemble, embedding: Embedding, m: int, X: Array, lam: Array) -> Array:
    """R of expert m; exact ones have factored C already."""
    experts = ens.experts
    if isinstance(experts, ExactExperts):
        return _inverted(experts.L[m])
    some = experts.take([m])
    points = embedding.take([m]).points(some, X)
    noise = lam + some.remainders(points)[0]
    return inverse_root(some.prior_covariance(points, points)[0] + np.diag(noise))


def _inverted(L: Array) -> Array:
    return np.asarray(solve_triangular(L, np.eye(len(L)), lower=True, check_finite=False))
