"""Every label predicted from all the others, by the experts that there are, in the user's units.

`core.extensions.leave_one_out` has the formulas: innovation e_i and its variance s_i of each label
under each expert, its magnitude without the label, and the weights w_m / p_m(y_i | the others).
Here they become means, sds and intervals. Nothing is fitted anew: lengthscales and noise ratios are
those that all labels settled, which is slightly optimistic.

Averages over more than ALL_LABELS labels are taken over SOME_LABELS of them, evenly spread over the
order in which they came; each of these is still predicted from all others. A root mean square over
1,000 labels is known to about 2 % (`rms`).

What the experts expected of labels, each with the weights and magnitudes of its own time.

A prediction has one set of weights for all points. A label that is left out of the others, or met
before those that came later, has its own: w_mi and sig2_mi for label i under expert m. With means
mu_mi and variances of f in units of the magnitude v_mi, and s_mi those of the label,

    mean_i = sum_m w_mi mu_mi      var_i = sum_m w_mi (sig2_mi v_mi + (mu_mi - mean_i)^2)

and intervals are those of the mixture of the experts' predictive distributions.

Labels that come on top of a fold, each predicted from all before it, by the experts there are.

Folding labels in together gives the innovation e_i and its variance s_i that each was to every
expert which had met those before it. Weights and magnitudes before label i follow from the e and s
of the others before it. So a whole stretch of labels costs one factorisation, as if each had been
predicted, told and folded in by itself.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from weal.core.arrays import Array, root_mean_square, standard_deviation
from weal.core.extensions import leave_one_out as core
from weal.core.extensions.conjugate_magnitude import ConjugateMagnitude
from weal.core.paper.ensemble import Ensemble, normalise, solve_quantile
from weal.core.protocols import Magnitude
from weal.core.scaling import Scaling
from weal.model.training import TrainedEnsemble


@dataclass(frozen=True, slots=True, eq=False)
class LabelMixtures:
    """The experts of a fold at N labels; as experts see labels."""

    fold: TrainedEnsemble
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
        """The label that is exceeded with probability 1 - level."""
        ends = self.mu + self.scale.quantile(level, self.s)
        return solve_quantile(self.levels, self._log_density, ends, level)

    def _log_density(self, z: Array) -> Array:  # (N,) -> (N,)
        """Log density of labels z."""
        with np.errstate(divide="ignore"):
            log_w = np.log(self.w)
        return np.asarray(logsumexp(log_w + self.scale.log_density(z - self.mu, self.s), axis=0))


def main_experts(fold: TrainedEnsemble, least: float) -> TrainedEnsemble:
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


ALL_LABELS, SOME_LABELS = 2000, 1000  # up to so many, averages are over all; beyond, over so many


@dataclass(frozen=True, slots=True, eq=False)
class LeaveOneOut:
    """What was expected of each label by the others, in the user's units."""

    mean: Array  # (t,)
    sd: Array  # (t,)  of f
    low: Array  # (t,)  ends of intervals for the label
    high: Array  # (t,)


def without_each(fold: TrainedEnsemble, which: core.Which = None) -> LabelMixtures:
    """What the experts expect of each label of a fold, or of some, by all others."""
    ens, bend = fold.ensemble, fold.bend
    z, extra = bend.labels(fold.y), bend.variances(fold.extra, fold.y)
    e, s, lam = core.left_out(ens, fold.embedding, fold.X, z, extra, which)
    z = z if which is None else z[which]
    scale = ens.scale.without(e, s)
    log_w = ens.log_w[:, None] - ens.temper * scale.log_density(e, s)
    return LabelMixtures(fold, weights(log_w), z - e, np.maximum(s - lam, 0.0), s, scale)


def some_labels(t: int) -> core.Which:
    """Positions of the labels that stand for t in averages; None up to ALL_LABELS, which all do."""
    if t <= ALL_LABELS:
        return None
    return np.linspace(0, t - 1, SOME_LABELS).round().astype(np.intp)


def left_out_means(
    fold: TrainedEnsemble, scale: Scaling, which: core.Which = None
) -> Array:  # (t,)
    """What each label, or each of some, was expected to be by the others."""
    return without_each(fold, which).moments(scale)[0]


def left_out(fold: TrainedEnsemble, scale: Scaling, level: float) -> LeaveOneOut:
    """The same, with intervals that hold a label with that probability."""
    found = without_each(fold)
    return LeaveOneOut(*found.moments(scale), *found.interval(scale, level))


def left_out_levels(fold: TrainedEnsemble, which: core.Which = None) -> Array:  # (t,)
    """The probability that the others gave to values below each label, or each of some."""
    z = fold.bend.labels(fold.y)
    return without_each(fold, which).levels(z if which is None else z[which])


def baseline(y: Array) -> float:
    """Root mean square error when each of the labels y (t,) is guessed by the mean of the others.

    >>> round(baseline(np.array([1.0, 2.0, 6.0])), 3)
    3.24
    """
    t = len(y)
    return standard_deviation(y) * t / (t - 1) if t > 1 else 0.0


def rms(errors: Array, of: int) -> tuple[float, float | None]:
    """Root mean square of errors (n,), and its standard error where they stand for more than n.

    >>> found, error = rms(np.array([1.0, -1.0, 2.0, 0.0]), of=100)
    >>> round(found, 3), round(error, 2)
    (1.225, 0.35)
    """
    found, n = root_mean_square(errors), len(errors)
    if n >= of or n < 2 or found == 0.0:
        return found, None
    share = 1.0 - n / of  # of the labels that are not looked at
    ratios = (errors / found) ** 2  # squares of labels of 1e300 would overflow
    return found, float(found * ratios.std(ddof=1) * np.sqrt(share / n) / 2.0)


def sequential_predictions(
    fold: TrainedEnsemble, X: Array, y: Array, extra: Array
) -> tuple[LabelMixtures, TrainedEnsemble]:
    """What the experts expect of labels y (N,) at X (N, d), each told once it was predicted; and
    the fold after them.

    That is of a label with the noise of every label; `extra` (N,) more is known of the noise with
    which they came.
    """
    ens = fold.ensemble
    z, lam = fold.bend.labels(y), ens.ratios(fold.bend.variances(extra, y))
    points = fold.embedding.points(ens.experts, X)
    experts, e, s = ens.experts.absorb(points, z, lam)
    log_w, scales = _along(ens, e, s)
    spread = s - (lam - ens.noise[:, None])
    known = (weights(log_w[:, :-1]), z - e, np.maximum(s - lam, 0.0), spread)
    expected = LabelMixtures(fold, *known, _together(scales[:-1]))
    after = replace(ens, experts=experts, log_w=normalise(log_w[:, -1]), scale=scales[-1])
    return expected, replace(
        fold,
        X=np.concatenate([fold.X, X]),
        y=np.append(fold.y, y),
        extra=np.append(fold.extra, extra),
        ensemble=after,
        seen=fold.seen.joined(X, y, extra),
    )


def _along(ens: Ensemble, e: Array, s: Array) -> tuple[Array, list[Magnitude]]:
    """Log weights (M, N + 1) and N + 1 magnitudes: before each label met in turn, and after all."""
    log_w, scales = [ens.log_w], [ens.scale]
    for i in range(e.shape[1]):
        log_p, scale = scales[-1].after(e[:, i : i + 1], s[:, i : i + 1])
        log_w.append(log_w[-1] + ens.temper * log_p)
        scales.append(scale)
    return np.stack(log_w, axis=1), scales


def _together(scales: list[Magnitude]) -> Magnitude:
    """Magnitudes (M,) of N labels as one of (M, N)."""
    first = scales[0]
    if not isinstance(first, ConjugateMagnitude):
        return first
    a, b = (np.stack([getattr(scale, name) for scale in scales], axis=1) for name in ("a", "b"))
    return replace(first, a=a, b=b)
