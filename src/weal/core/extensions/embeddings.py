"""How scaled inputs become the points that experts work on: four ways, one call.

Spectral   random features with these frequencies
Exact      the inputs themselves, with V = L^-1 k(labelled, x)
Inducing   phi(x) = L^-1 k(Z, x) for inducing points Z, and what they leave (`inducing_gp`)
Encoded    the inputs ARE random features already, made by somebody who keeps the
frequencies to himself (`weal.FeatureEncoder`); rows of M F numbers
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike

from weal.core.arrays import Array, Index
from weal.core.paper.exact_gp import ExactExperts
from weal.core.paper.random_features import features
from weal.core.protocols import Points


@dataclass(frozen=True, slots=True, eq=False)
class Spectral:
    """Random features, and a constant one where the function has an offset."""

    zeta: Array  # (M, D, d)
    offset: Array | None = None  # (M,)  variance of the offset

    def points(self, experts: Any, X: Array, dtype: DTypeLike = np.float64) -> Array:
        """Features (M, N, F)."""
        Phi = features(X, self.zeta, dtype)
        if self.offset is None:
            return Phi
        constant = np.sqrt(self.offset).astype(dtype)[:, None, None]
        return np.concatenate([Phi, np.broadcast_to(constant, (*Phi.shape[:2], 1))], axis=2)

    def width(self, experts: Any) -> int:
        """F."""
        return 2 * int(self.zeta.shape[1]) + (self.offset is not None)

    def take(self, which: Index) -> Self:
        """The embedding for some of the experts."""
        offset = None if self.offset is None else self.offset[which]
        return type(self)(self.zeta[which], offset)


@dataclass(frozen=True, slots=True)
class Exact:
    """The inputs themselves."""

    def points(self, experts: ExactExperts, X: Array, dtype: DTypeLike = np.float64) -> Points:
        """The inputs as these experts see them."""
        return experts.near(X)

    def width(self, experts: ExactExperts) -> int:
        """t, and room for one more."""
        return len(experts.X) + 1

    def take(self, which: Index) -> Self:
        """The same for any experts."""
        return self


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """Features made elsewhere."""

    M: int  # features in a row, each of a kernel
    which: Index = ...  # of them, those of each expert; an index, or all

    @classmethod
    def of(cls, M: int, experts: int) -> Self:
        """For so many experts, as many on each of the M features, one after the other."""
        return cls(M) if experts == M else cls(M, np.repeat(np.arange(M), experts // M))

    def points(self, experts: Any, X: Array, dtype: DTypeLike = np.float64) -> Array:
        """Features (M, N, F) out of rows of M F numbers."""
        Phi = X.reshape(len(X), self.M, X.shape[1] // self.M).transpose(1, 0, 2)[self.which]
        return np.ascontiguousarray(Phi, dtype)

    def width(self, experts: Any) -> int:
        """F."""
        return int(experts.theta.shape[1])

    def take(self, which: Index) -> Self:
        """The embedding for some of the experts."""
        return type(self)(self.M, np.arange(self.M)[self.which][which])
