"""What the experts expected of labels, each with the weights and magnitudes of its own time.

A prediction has one set of weights for all points. A label that is left out of the others, or met
before those that came later, has its own: w_mi and sig2_mi for label i under expert m. With means
mu_mi and variances of f in units of the magnitude v_mi, and s_mi those of the label,

    mean_i = sum_m w_mi mu_mi      var_i = sum_m w_mi (sig2_mi v_mi + (mu_mi - mean_i)^2)

and intervals are those of the mixture of the experts' predictive distributions.
"""

from dataclasses import dataclass, replace

import numpy as np

from weal.core.arrays import Array
from weal.core.paper.ensemble import BISECTIONS, Ensemble, normalise
from weal.core.protocols import Magnitude
from weal.core.scaling import Scaling
from weal.model.fold import Fold


@dataclass(frozen=True, slots=True, eq=False)
class Mixtures:
    """The experts of a fold at N labels; as experts see labels."""

    fold: Fold
    w: Array  # (M, N)
    mu: Array  # (M, N)  means of f
    v: Array  # (M, N)  variances of f, in units of the magnitude
    s: Array  # (M, N)  those of the label
    scale: Magnitude  # of (M, N), or of (M,) where it is held

    def moments(self, scale: Scaling) -> tuple[Array, Array]:
        """Mean and sd (N,) of f, in the user's units."""
        sig2 = self.scale.variance.reshape(len(self.w), -1)  # (M, N), or (M, 1) where it is held
        noise = sig2 * self.fold.ensemble.noise[:, None]
        mu, var = self.fold.bend.moments(self.mu, sig2 * self.v, noise)
        mean = (self.w * mu).sum(axis=0)
        sd = np.sqrt((self.w * (var + (mu - mean) ** 2)).sum(axis=0))
        with np.errstate(over="ignore"):
            return scale.means(mean), scale.y_sd * sd

    def interval(self, scale: Scaling, level: float) -> tuple[Array, Array]:
        """Ends (N,), (N,) of intervals that hold a label with that probability; user's units."""
        ends = [self._quantile(0.5 + side * level) for side in (-0.5, 0.5)]
        low, high = (scale.means(self.fold.bend.unbent(end)) for end in ends)
        return low, high

    def levels(self, z: Array) -> Array:  # (N,) -> (N,)
        """Probability of labels below z."""
        below = self.scale.cdf(z - self.mu, self.s)
        return np.asarray((self.w * below).sum(axis=0))

    def _quantile(self, level: float) -> Array:  # (N,)
        """The label that is exceeded with probability 1 - level, by bisection."""
        ends = self.mu + self.scale.quantile(level, self.s)
        low, high = ends.min(axis=0), ends.max(axis=0)
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            below = self.levels(middle) < level
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray(0.5 * (low + high))


def main_experts(fold: Fold, least: float) -> Fold:
    """The fold with the experts alone that have such a weight at the least."""
    which = np.flatnonzero(fold.ensemble.w >= least).tolist()
    if len(which) in (0, len(fold.ensemble.log_w)):
        return fold
    ens, prior = fold.ensemble, fold.prior
    return replace(
        fold,
        dictionary=tuple(fold.dictionary[m] for m in which if fold.dictionary),
        embedding=fold.embedding.take(which),
        ensemble=_some(replace(ens, experts=ens.experts.take(which)), which),
        prior=_some(prior, which),
    )


def _some(ens: Ensemble, which: list[int]) -> Ensemble:
    log_w = normalise(ens.log_w[which])
    return replace(ens, log_w=log_w, scale=ens.scale.take(which), noise=ens.noise[which])


def weights(log_w: Array) -> Array:  # (M, N) -> (M, N)
    """Log weights as weights that sum to 1 over the experts."""
    w = np.exp(log_w - log_w.max(axis=0))
    return np.asarray(w / w.sum(axis=0))
