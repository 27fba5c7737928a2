"""What a label does to an expert: the one place where a label meets a belief.

An expert believes f at a point to have mean mu and variance v, v in units of its magnitude sig2. A
label y comes, of whose noise the ratio lam to the magnitude is known. It tells

    e        the innovation
    s        its variance, in units of the magnitude
    log p    its log density, by what is known of the magnitude (`magnitude`)

and from these all follows: the belief moves by c e / s and c^2 / s (`experts`), the magnitude
learns e^2 / s, the weight is multiplied by p (`ensemble`). An expert that is told (e, s) moves as
if told mu + e with the noise ratio s - v, which comes along as `lam`: as a difference it would lose
digits.

`Likelihood` is the seam for labels of other kinds: those that may be wrong, classes, counts. Here
is `Gaussian`: y = f + noise,

    e = y - mu        s = v + lam        log p by the magnitude as it is

so that labels met in turn are a Cholesky factor: with B the covariance of f at their points,
C C' = B + diag(lam) and z = C^-1 (y - mu) hold s = diag(C)^2 and e = z diag(C), each given the
labels before it.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from scipy.linalg import solve_triangular

from weal.core.arrays import Array
from weal.core.magnitude import Magnitude

Scale = TypeVar("Scale", bound=Magnitude)


class Innovation(NamedTuple):
    """What a label tells, elementwise."""

    e: Array  # what is new in it
    s: Array  # variance of that, in units of the magnitude
    lam: Array  # s - v


class Likelihood(Protocol):
    """The seam between kinds of labels; arrays are (M, ...), and all but `in_turn` elementwise."""

    def innovation(self, y: Array | float, mu: Array, v: Array, lam: Array) -> Innovation:
        """What labels y tell, at noise ratios lam, where f is believed to be (mu, v)."""

    def to_come(self, y: Array, mu: Array, v: Array, lam: Array) -> tuple[Array, Array]:
        """What labels would be new by that have not come, e and s; s does not depend on y."""

    def in_turn(self, y: Array, mu: Array, B: Array, lam: Array) -> tuple[Array, Array]:
        """`innovation` for labels y (N,) that one expert meets in turn, as C (N, N) and z (N,).

        B (N, N) is the covariance of f at their points: C is lower triangular, s = diag(C)^2,
        e = z diag(C), and C C' = B but for its diagonal.
        """

    def log_density(self, scale: Magnitude, e: Array, s: Array) -> Array:
        """Log density of innovations e whose variances are sig2 s."""

    def cdf(self, scale: Magnitude, e: Array, s: Array) -> Array:
        """Probability of an innovation below e."""

    def quantile(self, scale: Magnitude, level: float, s: Array) -> Array:
        """The value that an innovation stays below with that probability."""

    def learn(self, scale: Scale, e: Array, s: Array) -> tuple[Array, Scale]:
        """Log density (M,) of innovations e (M, N) met in turn, and the magnitude after them."""


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Labels that are f and normal noise."""

    def innovation(self, y: Array | float, mu: Array, v: Array, lam: Array) -> Innovation:
        """e = y - mu, s = v + lam [1, eq:pred_y]."""
        return Innovation(y - mu, v + lam, lam)

    def to_come(self, y: Array, mu: Array, v: Array, lam: Array) -> tuple[Array, Array]:
        """The same."""
        return y - mu, v + lam

    def in_turn(self, y: Array, mu: Array, B: Array, lam: Array) -> tuple[Array, Array]:
        """C C' = B + diag(lam), and C^-1 (y - mu)."""
        noisy = B.copy()
        noisy[np.diag_indices(len(y))] += lam  # [1, eq:joint_pdf]
        C: Array = np.linalg.cholesky(noisy).astype(np.float64, copy=False)
        return C, solve_triangular(C, y - mu, lower=True, check_finite=False)

    def log_density(self, scale: Magnitude, e: Array, s: Array) -> Array:
        """That of the magnitude."""
        return scale.log_density(e, s)

    def cdf(self, scale: Magnitude, e: Array, s: Array) -> Array:
        """That of the magnitude."""
        return scale.cdf(e, s)

    def quantile(self, scale: Magnitude, level: float, s: Array) -> Array:
        """That of the magnitude."""
        return scale.quantile(level, s)

    def learn(self, scale: Scale, e: Array, s: Array) -> tuple[Array, Scale]:
        """What the magnitude learns."""
        return scale.after(e, s)


GAUSSIAN = Gaussian()
