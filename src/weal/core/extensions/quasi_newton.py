"""Quasi-Newton minimisation from a start near the minimum, with the Hessian of a neighbour.

L-BFGS-B begins without a Hessian and takes tens of evaluations of an ill-conditioned loss. Where
the minimum of a similar problem is known with its Hessian H, such as that of the same labels with
one more input, BFGS from there takes a handful of evaluations:

    p <- clip(p - H_F^-1 g_F)          F: parameters that no bound stops
    H <- H + u u' / s'u - H s s'H / s'H s        s: the step, u: the change of the gradient

Directions in which H is not convex are used with the absolute value of their curvature,
MIN_CURVATURE at least. A step that lowers the loss too little is halved.
[2] Nocedal, Wright: Numerical optimization, 2006, chapters 6 and 18.3 (damping).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from weal.core.arrays import Array

MAX_STEPS, MAX_HALVINGS = 20, 6
MIN_CURVATURE = 0.1
MAX_STEP = 3.0  # of one parameter, which is a logarithm
MIN_DECREASE = 1e-4  # of the decrease that the slope predicts (Armijo)
MIN_CONVEXITY = 0.2  # of s'u over s'H s, below which the update is damped


class Minimum(NamedTuple):
    """A minimum of a loss."""

    p: Array  # (P,)
    loss: float
    gradient: Array  # (P,)
    H: Array  # (P, P)  an approximation of the Hessian


def minimise(
    loss: Callable[[Array], tuple[float, Array]], p: Array, H: Array, low: Array, high: Array,
    tolerance: float,
) -> Minimum:  # fmt: skip
    """The minimum of `loss(p) -> (value, gradient)` between bounds (P,), from p with Hessian H.

    The search ends where the next step is expected to lower the loss by less than `tolerance`.
    """
    p = np.clip(p, low, high)
    value, g = loss(p)
    for _ in range(MAX_STEPS):
        step = _newton_step(p, g, H, low, high)
        if -0.5 * float(g @ step) < tolerance:
            break
        q, reached, g_there = p, value, g
        for _ in range(MAX_HALVINGS):
            q = np.clip(p + step, low, high)
            reached, g_there = loss(q)
            if reached <= value + MIN_DECREASE * float(g @ (q - p)):
                break
            step = 0.5 * step
        else:
            break
        H = _bfgs(H, q - p, g_there - g)
        p, value, g = q, reached, g_there
    return Minimum(p, value, g, H)


def _newton_step(p: Array, g: Array, H: Array, low: Array, high: Array) -> Array:
    """The step (P,) to the minimum of the quadratic model; none for parameters held by a bound."""
    free = ~(((p <= low) & (g > 0.0)) | ((p >= high) & (g < 0.0)))
    curvature, Q = np.linalg.eigh(H[np.ix_(free, free)])
    step = np.zeros(len(p))
    step[free] = -Q @ ((Q.T @ g[free]) / np.maximum(np.abs(curvature), MIN_CURVATURE))
    return step / max(1.0, float(np.abs(step).max(initial=0.0)) / MAX_STEP)


def _bfgs(H: Array, s: Array, u: Array) -> Array:
    """H after a step s (P,) that changed the gradient by u (P,), damped where it is not convex."""
    Hs = H @ s
    sHs, su = float(s @ Hs), float(s @ u)
    if sHs <= 0.0:
        return H
    if su < MIN_CONVEXITY * sHs:
        share = (1.0 - MIN_CONVEXITY) * sHs / (sHs - su)
        u = share * u + (1.0 - share) * Hs
        su = float(s @ u)
    return np.asarray(H + np.outer(u, u) / su - np.outer(Hs, Hs) / sHs)
