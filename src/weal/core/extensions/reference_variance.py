"""Expected variance reduction at reference points: the q of `ivr`, updated label by label.

q(x) is the mean over the reference points r of cov(f(x), f(r))^2; a label of x lowers variances
there by sig2 q / (v + lam) on average. When a label comes, with c its column on the points, c_r on
the reference points and s its innovation variance, cov(x, r) -= c(x) c_r / s, so that

    q -= 2 c h / s - c^2 p / s^2       h(x) = mean_r cov(x, r) c_r       p = mean_r c_r^2

two columns for each label instead of a quadratic form. The formula of h depends on the kind of
expert:

    features   h = Phi Sigma G g, p = g'G g, with G = mean_r phi_r phi_r' fixed at the start
    exact      h = (k(x, R) c_R - V(x)'V(R) c_R) / |R|, over a sample R of the reference points
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from weal.core.arrays import Array, Index
from weal.core.paper.exact_gp import (
    CorrelatedPoints,
    ExactExperts,
    ExactStep,
    SolvedPoints,
    product,
)
from weal.core.paper.feature_gp import FeatureExperts, FeatureStep, project

N_REFERENCE_POINTS = 256  # reference points that exact experts look at


def moved_relevance(q: Array, c: Array, h: Array, p: Array, s: Array) -> Array:
    """Q (M, N) after a label with columns c and h (M, N), p and s (M,); never below 0."""
    s, p = s[:, None], p[:, None]
    return np.maximum(q - c * (2.0 * h - c * (p / s)) / s, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class FeatureReference:
    """The reference points of experts on features: their Gram matrix."""

    G: Array  # (M, F, F)

    @classmethod
    def of(cls, blocks: Iterable[Array], N: int) -> Self:
        """The reference from features (M, n, F) of the N reference points, block by block."""
        G = sum(np.matmul(Phi.transpose(0, 2, 1), Phi) for Phi in blocks)
        return cls(np.asarray(G, dtype=np.float64) / N)

    def relevance(self, experts: FeatureExperts, points: Array) -> Array:
        """Q (M, N)."""
        B = np.matmul(np.matmul(experts.Sigma, self.G), experts.Sigma)
        q: Array = np.einsum("mnf,mnf->mn", np.matmul(points, B.astype(points.dtype)), points)
        return q

    def columns(
        self, experts: FeatureExperts, step: FeatureStep, points: Array
    ) -> tuple[Array, Array]:
        """h (M, N) and p (M,) of a label, under the experts before that label."""
        Gg = np.matmul(self.G, step.g[:, :, None])[..., 0]
        S = experts.root
        inner = np.matmul(S, np.matmul(Gg[:, None, :], S).transpose(0, 2, 1))[..., 0]
        return project(points, inner), np.einsum("mf,mf->m", step.g, Gg)

    def after(self, step: FeatureStep) -> Self:
        """Features do not change with labels."""
        return self

    def take(self, which: Index) -> Self:
        """The reference points for some of the experts."""
        return type(self)(self.G[which])

    def recompute(self, experts: FeatureExperts) -> Self:
        """Features do not change with labels."""
        return self


@dataclass(frozen=True, slots=True, eq=False)
class ExactReference:
    """The reference points of exact experts: a sample of them."""

    near: SolvedPoints

    def relevance(self, experts: ExactExperts, points: SolvedPoints) -> Array:
        """Q (M, N)."""
        C = experts.covariance(points, self.near)
        q: Array = np.einsum("mnr,mnr->mn", C, C) / C.shape[2]
        return q

    def columns(
        self, experts: ExactExperts, step: ExactStep, points: SolvedPoints | CorrelatedPoints
    ) -> tuple[Array, Array]:
        """h (M, N) and p (M,) of a label, under the experts before that label."""
        c_r = step.column(self.near)  # (M, R)
        k = experts.prior_covariance(points, self.near)  # (M, N, R)
        Vc = np.matmul(self.near.V, c_r[:, :, None])[..., 0]  # (M, t)
        h = np.matmul(k, c_r[:, :, None])[..., 0] - product(points, Vc, experts.back(Vc))
        R = c_r.shape[1]
        return h / R, np.einsum("mr,mr->m", c_r, c_r) / R

    def after(self, step: ExactStep) -> Self:
        """The sample after the label."""
        return type(self)(step.extend(self.near, step.column(self.near)))

    def take(self, which: Index) -> Self:
        """The reference points for some of the experts."""
        return type(self)(self.near.take(which))

    def recompute(self, experts: ExactExperts) -> Self:
        """The same sample for experts after other labels."""
        return type(self)(experts.solved_points(self.near.X))
