"""Labels that most candidates of a large pool have not followed yet.

A label costs exact experts a column of correlations with all labels, U t of them for each expert.
`mvr` looks at few candidates (`score_pass`): the ones with the largest mixture variance. After a
label most variances are far from these, and need not be known. So a large pool stores the steps of
labels, and a candidate follows them when it is needed. Its mean and variance are the same, to the
last bit, whenever it follows them and with whichever other candidates.

A step lowers variances, and moves means by at most (Cauchy and Schwarz), with v* the variance at
the labelled point and v the variance of a candidate before the steps,

    |mu' - mu| <= g sqrt(v)     g = min(sum_j |e_j| sqrt(v*_j) / s_j, sqrt(sum_j e_j^2 / s_j))

so that the mixture variance of a candidate that has not followed them is at most

    sum_m w sig2 v + (sqrt(sum_m w (mu - mean)^2) + sqrt(sum_m w g^2 v))^2
"""

from collections.abc import Callable, Iterator
from copy import copy
from typing import Self

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.paper.ensemble import Ensemble
from weal.core.paper.exact_gp import ExactStep, correlations, explained
from weal.core.paper.feature_gp import apply_step
from weal.core.paper.kernels import Kernel

Positions = NDArray[np.intp]
BLOCK_CORRELATIONS = 1 << 17  # of an expert at a time: they stay in the processor's cache
ROUNDING = 1e-12  # of a variance, in units of the prior's: what rounding may add to it
TIES = 1.0 - 1e-8  # share of a variance from which another one may tie with it


class DeferredSteps:
    """Steps of exact experts, and how many of them each of U candidates has followed."""

    def __init__(self, U: int) -> None:
        self.followed = np.zeros(U, dtype=np.intp)
        self.steps: list[ExactStep] = []
        self.X = np.zeros((0, 0))  # (t, d)  labelled points, those of the steps included

    def fork(self) -> Self:
        """A copy that stores further steps independently."""
        twin = copy(self)
        twin.followed, twin.steps = self.followed.copy(), list(self.steps)
        return twin

    def append(self, step: ExactStep, X: Array) -> None:
        """Store a step of experts that were labelled at X (t, d)."""
        self.steps.append(step)
        self.X = np.concatenate([X, step.x])

    @property
    def behind(self) -> NDArray[np.bool_]:  # (U,)
        """Which candidates have steps to follow."""
        return self.followed < len(self.steps)

    def catch_up(self, at: Positions, X: Array, members: Positions, mu: Array, v: Array) -> None:
        """Let the candidates `at` follow all steps: mu and v (M, U) of some experts change there.

        X (U, d) are the inputs of all candidates.
        """
        late = np.unique(at[self.behind[at]])
        for n in np.unique(self.followed[late]).tolist():
            for rows in self._blocks(late[self.followed[late] == n]):
                for m, K in self._correlations(members.tolist(), X[rows]):
                    for step in self.steps[n:]:
                        t, one = step.V.shape[1], step.take(slice(m, m + 1))
                        c = (K[t] - explained(K[:t], step.a[m]))[None]
                        mu[m, rows], v[m, rows] = apply_step(mu[m, rows], v[m, rows], c, one)
                self.followed[rows] = len(self.steps)
        if self.steps and not self.behind.any():
            self.steps, self.followed = [], np.zeros_like(self.followed)

    def _blocks(self, rows: Positions) -> Iterator[Positions]:
        size = max(2, BLOCK_CORRELATIONS // max(1, len(self.X)))
        for start in range(0, len(rows), size):
            yield rows[start : start + size]

    def _correlations(self, members: list[int], X: Array) -> Iterator[tuple[int, Array]]:
        """Correlations (t, n) of the labelled points with X (n, d), for each of some experts."""
        found: dict[Kernel, Array] = {}  # some experts differ in their noise alone
        kernels = self.steps[-1].kernels
        for m in members:
            if kernels[m] not in found:
                found = {kernels[m]: correlations(kernels[m], self.X, X)}
            yield m, found[kernels[m]]

    def mean_shifts(self, n: int) -> Array:  # (M,)
        """The g of candidates that have followed n of the steps."""
        steps = self.steps[n:]
        e, s = (np.array([getattr(step, part) for step in steps]) for part in ("e", "s"))  # (J, M)
        prior = np.array([kernel.variance for kernel in steps[0].kernels])
        v = np.array([prior - np.einsum("mt,mt->m", step.V, step.V) for step in steps])
        each = np.abs(e) * np.sqrt(np.clip(v, 0.0, s) + ROUNDING * prior) / s
        return np.asarray(np.minimum(each.sum(axis=0), np.sqrt((e * e / s).sum(axis=0))))

    def largest_variances(self, ens: Ensemble, members: Positions, mu: Array, v: Array) -> Array:
        """Upper bounds (U,) of the mixture variances of all candidates, after all steps."""
        w, sig2 = ens.w[members], ens.magnitude[members]
        here, v_here = mu[members], v[members]
        variance = (w * sig2) @ v_here
        apart = w @ (here - w @ here) ** 2
        shift = np.zeros(len(variance))
        for n in np.unique(self.followed[self.behind]).tolist():
            rows, g = self.followed == n, self.mean_shifts(n)[members]
            prior = np.array([[self.steps[n].kernels[m].variance] for m in members])
            shift[rows] = (w * g * g) @ (v_here[:, rows] + ROUNDING * prior)
        return np.asarray(variance + (np.sqrt(apart) + np.sqrt(shift)) ** 2)


def find_largest(
    bounds: Array, free: NDArray[np.bool_], many: int, exact: Callable[[Positions], Array]
) -> None:
    """Call `exact` on all free candidates that may be among the `many` largest.

    `bounds` (U,) are upper bounds of their values; `exact` computes the values of some candidates.
    """
    order = np.flatnonzero(free)
    order = order[np.argsort(-bounds[order], kind="stable")]
    values, start = np.zeros(0), 0
    while start < len(order):
        least = -np.inf if len(values) < many else np.partition(values, -many)[-many]
        left = bounds[order[start:]]
        new = min(max(many, start), int((left >= TIES * least).sum()))
        if not new:
            return
        values = np.append(values, exact(order[start : start + new]))
        start += new
