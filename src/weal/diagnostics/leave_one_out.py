"""Leave-one-out predictions of labels, and predictions of labels in sequence; user's units.

`core.extensions.leave_one_out` has the formulas: innovation e_i and its variance s_i of each label
under each expert, its magnitude without the label, and the weights w_m / p_m(y_i | the others).
Here they become means, sds and intervals. Lengthscales and noise ratios stay those selected with
all labels, which is slightly optimistic.

Averages over more than MAX_AVERAGED_LABELS labels use SAMPLED_LABELS of them, evenly spread over
the order in which they came; each of these is still predicted from all others. The root mean square
over 1,000 labels has a standard error of about 2 % (`rms`).

A prediction uses one set of weights for all points. A label that is left out, or predicted before
later ones, has its own weight w_mi and magnitude sig2_mi under each expert m. With means mu_mi and
variances of f in units of the magnitude v_mi, and s_mi those of the label,

    mean_i = sum_m w_mi mu_mi      var_i = sum_m w_mi (sig2_mi v_mi + (mu_mi - mean_i)^2)

and intervals are those of the mixture of the experts' predictive distributions.

Sequential predictions: one factorisation of new labels gives the innovation e_i and variance s_i of
each label under every expert trained on the labels before it. Weights and magnitudes before label i
follow from e and s of the earlier ones, as if each label had been predicted and then learnt.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from weal.core.arrays import Array, root_mean_square, standard_deviation
from weal.core.extensions import leave_one_out as core
from weal.core.extensions.conjugate_magnitude import ConjugateMagnitude
from weal.core.paper.ensemble import Ensemble, normalise, solve_quantile
from weal.core.protocols import Magnitude
from weal.core.scaling import Scaling
from weal.model.training import TrainedEnsemble

LEAST_LOG = -1e300  # of a density: below, it is 0


@dataclass(frozen=True, slots=True, eq=False)
class LabelMixtures:
    """Predictive distributions of the experts at N labels, in scaled and warped labels."""

    trained: TrainedEnsemble
    w: Array  # (M, N)
    mu: Array  # (M, N)  means of f
    v: Array  # (M, N)  variances of f, in units of the magnitude
    s: Array  # (M, N)  those of the label
    scale: Magnitude  # of (M, N), or of (M,) where it is fixed
    lam: Array | None = None  # (M, N)  noise ratios of labels that state none; None: even noise

    def moments(self, scale: Scaling) -> tuple[Array, Array]:
        """Mean and sd (N,) of f, in the user's units."""
        sig2 = self.scale.variance.reshape(len(self.w), -1)  # (M, N), or (M, 1) where it is fixed
        noise = sig2 * (self.trained.ensemble.noise[:, None] if self.lam is None else self.lam)
        mu, var = self.trained.warp.moments(self.mu, sig2 * self.v, noise)
        mean = (self.w * mu).sum(axis=0)
        sd = np.sqrt((self.w * (var + (mu - mean) ** 2)).sum(axis=0))
        with np.errstate(over="ignore"):
            return scale.means(mean), scale.y_sd * sd

    def interval(self, scale: Scaling, level: float) -> tuple[Array, Array]:
        """Ends (N,), (N,) of intervals that contain a label with that probability; user's units."""
        N, sides = self.w.shape[1], np.array([0.5 - 0.5 * level, 0.5 + 0.5 * level])
        both = join_mixtures([self, self])  # the two ends are solved together
        ends = [self.mu + self.scale.quantile(side, self.s) for side in sides.tolist()]
        found = solve_quantile(
            both.levels, both._log_density, np.concatenate(ends, axis=1), np.repeat(sides, N)
        )
        low, high = (scale.means(self.trained.warp.unwarp(end)) for end in (found[:N], found[N:]))
        return low, high

    def levels(self, z: Array) -> Array:  # (N,) -> (N,)
        """Probability of labels below z."""
        below = self.scale.cdf(z - self.mu, self.s)
        return np.asarray((self.w * below).sum(axis=0))

    def _log_density(self, z: Array) -> Array:  # (N,) -> (N,)
        """Log density of labels z."""
        with np.errstate(divide="ignore"):
            log_w = np.log(self.w)
        parts = log_w + self.scale.log_predictive(z - self.mu, self.s)
        largest = np.maximum(parts.max(axis=0), LEAST_LOG)
        with np.errstate(divide="ignore"):
            return np.asarray(largest + np.log(np.exp(parts - largest).sum(axis=0)))


def join_mixtures(several: Sequence[LabelMixtures]) -> LabelMixtures:
    """The labels of several mixtures of one ensemble's experts, one after the other."""
    first = several[0]
    if len(several) == 1:
        return first
    w, mu, v, s = (
        np.concatenate([getattr(one, part) for one in several], axis=1)
        for part in ("w", "mu", "v", "s")
    )
    scale = first.scale
    if isinstance(scale, ConjugateMagnitude):
        a, b = (
            np.concatenate([_by_label(getattr(one.scale, part), one.w) for one in several], axis=1)
            for part in ("a", "b")
        )
        scale = replace(scale, a=a, b=b)
    lam = None
    if first.lam is not None:
        each = [_by_label(one.lam, one.w) for one in several if one.lam is not None]
        lam = np.concatenate(each, axis=1)
    return replace(first, w=w, mu=mu, v=v, s=s, scale=scale, lam=lam)


def _by_label(values: Array, w: Array) -> Array:  # (M, N)
    """Values of M experts, (M,) or (M, N), for each of the labels that w (M, N) belongs to."""
    return np.broadcast_to(values.reshape(len(values), -1), w.shape)


def main_experts(trained: TrainedEnsemble, least: float) -> TrainedEnsemble:
    """The ensemble with only the experts of at least this weight."""
    which = np.flatnonzero(trained.ensemble.w >= least).tolist()
    if len(which) in (0, len(trained.ensemble.log_w)):
        return trained
    ens, prior = trained.ensemble.take(which), trained.prior.take_prior(which)
    return replace(
        trained,
        dictionary=tuple(trained.dictionary[m] for m in which if trained.dictionary),
        embedding=trained.embedding.take(which),
        ensemble=replace(ens, log_w=normalise(ens.log_w)),
        prior=replace(prior, log_w=normalise(prior.log_w)),
    )


def weights(log_w: Array) -> Array:  # (M, N) -> (M, N)
    """Log weights as weights that sum to 1 over the experts."""
    w = np.exp(log_w - log_w.max(axis=0))
    return np.asarray(w / w.sum(axis=0))


MAX_AVERAGED_LABELS = 2000  # averages are over all labels up to this number,
SAMPLED_LABELS = 1000  # and over this number beyond


@dataclass(frozen=True, slots=True, eq=False)
class LeaveOneOut:
    """Predictions of each label from the others, in the user's units."""

    mean: Array  # (t,)
    sd: Array  # (t,)  of f
    low: Array  # (t,)  ends of intervals for the label
    high: Array  # (t,)


def leave_one_out_mixtures(trained: TrainedEnsemble, which: core.Which = None) -> LabelMixtures:
    """Predictive distributions of each label, or of some, given all others."""
    ens, warp = trained.ensemble, trained.warp
    z, noise_var = warp.labels(trained.y), warp.variances(trained.noise_var, trained.y)
    found = core.left_out_mixture(ens, trained.embedding, trained.X, z, noise_var, which)
    X = trained.X if which is None else trained.X[which]
    lam = None if ens.field is None else ens.noise_of_labels(X)
    return LabelMixtures(trained, found.w, found.mu, found.v, found.s, found.scale, lam)


def averaged_labels(t: int) -> core.Which:
    """Positions of the labels that averages over t labels use; None for all."""
    if t <= MAX_AVERAGED_LABELS:
        return None
    return np.linspace(0, t - 1, SAMPLED_LABELS).round().astype(np.intp)


def leave_one_out_means(
    trained: TrainedEnsemble, scale: Scaling, which: core.Which = None
) -> Array:  # (t,)
    """Leave-one-out mean of each label, or of some."""
    return leave_one_out_mixtures(trained, which).moments(scale)[0]


def leave_one_out(trained: TrainedEnsemble, scale: Scaling, level: float) -> LeaveOneOut:
    """Leave-one-out mean and sd of f, with intervals that contain a label with that probability."""
    found = leave_one_out_mixtures(trained)
    return LeaveOneOut(*found.moments(scale), *found.interval(scale, level))


def leave_one_out_levels(trained: TrainedEnsemble, which: core.Which = None) -> Array:  # (t,)
    """Leave-one-out probability of values below each label, or each of some."""
    z = trained.warp.labels(trained.y)
    return leave_one_out_mixtures(trained, which).levels(z if which is None else z[which])


def baseline(y: Array) -> float:
    """Root mean square error of the mean of the other labels as the prediction of each y (t,).

    >>> round(baseline(np.array([1.0, 2.0, 6.0])), 3)
    3.24
    """
    t = len(y)
    return standard_deviation(y) * t / (t - 1) if t > 1 else 0.0


def rms(errors: Array, of: int) -> tuple[float, float | None]:
    """Root mean square of errors (n,), and its standard error if they are a sample of `of`.

    >>> found, error = rms(np.array([1.0, -1.0, 2.0, 0.0]), of=100)
    >>> round(found, 3), round(error, 2)
    (1.225, 0.35)
    """
    found, n = root_mean_square(errors), len(errors)
    if n >= of or n < 2 or found == 0.0:
        return found, None
    share = 1.0 - n / of  # of the labels outside the sample
    ratios = (errors / found) ** 2  # squares of labels of 1e300 would overflow
    return found, float(found * ratios.std(ddof=1) * np.sqrt(share / n) / 2.0)


def sequential_predictions(
    trained: TrainedEnsemble, X: Array, y: Array, noise_var: Array
) -> tuple[LabelMixtures, TrainedEnsemble]:
    """Predictions of labels y (N,) at X (N, d) before each is added; and the ensemble after all.

    Predictions are of a label with the usual noise; `extra` (N,) is the additional noise variance.
    """
    ens = trained.ensemble
    z, usual = trained.warp.labels(y), ens.noise_at(X)
    lam = ens.ratios(ens.known_noise(X, trained.warp.variances(noise_var, y)))
    points = trained.embedding.points(ens.experts, X)
    experts, e, s = ens.experts.absorb(points, z, lam)
    log_w, scales = _sequential_weights(ens, e, s)
    spread = s - (lam - usual)
    known = (weights(log_w[:, :-1]), z - e, np.maximum(s - lam, 0.0), spread)
    expected = LabelMixtures(trained, *known, _stack_magnitudes(scales[:-1]), usual)
    after = replace(ens, experts=experts, log_w=normalise(log_w[:, -1]), scale=scales[-1])
    return expected, replace(
        trained,
        X=np.concatenate([trained.X, X]),
        y=np.append(trained.y, y),
        noise_var=np.append(trained.noise_var, noise_var),
        ensemble=after,
        all_labels=trained.all_labels.append(X, y, noise_var),
    )


def _sequential_weights(ens: Ensemble, e: Array, s: Array) -> tuple[Array, list[Magnitude]]:
    """Log weights (M, N + 1) and N + 1 magnitudes: before each label in turn, and after all."""
    log_w, scales = [ens.log_w], [ens.scale]
    for i in range(e.shape[1]):
        log_p, scale = scales[-1].after(e[:, i : i + 1], s[:, i : i + 1])
        log_w.append(log_w[-1] + ens.temper * log_p)
        scales.append(scale)
    return np.stack(log_w, axis=1), scales


def _stack_magnitudes(scales: list[Magnitude]) -> Magnitude:
    """Magnitudes (M,) of N labels as one of (M, N)."""
    first = scales[0]
    if not isinstance(first, ConjugateMagnitude):
        return first
    a, b = (np.stack([getattr(scale, name) for scale in scales], axis=1) for name in ("a", "b"))
    return replace(first, a=a, b=b)
