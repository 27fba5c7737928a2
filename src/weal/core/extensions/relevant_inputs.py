"""Subsets of relevant inputs: a class of models in which the other inputs do not matter.

The prior of lengthscales (`ard`) does not switch off any input. Here a subset S of the d inputs
matters and f is constant along the others, whose lengthscale is IRRELEVANT:

    log P(S) = -log d - log C(d, |S|)          all sizes equally, all subsets of a size equally

The |S| lengthscales have the prior of a table of |S| inputs. Evidence is Laplace's, as for all
fitted kernels, and the class is averaged with the others by evidence, up to `max_subset_odds`.

2^d subsets are too many. For each family a chain of nested subsets leads from its peak on all
inputs downwards: the input left out next is the one without which the labels stay most probable
with the other lengthscales and the noise unchanged, one Cholesky factor for each input; several are
left out at once if together they cost less than FREE_NATS. The other parameters are fitted again
from there (`quasi_newton`), with the Hessian of the larger set as a start. The chain ends where no
input can be left out for HOPELESS_NATS, or MAX_FALL_NATS below the most probable subset or class.
Every subset that may get MIN_SUBSET_POSTERIOR is represented by posterior points, the more of them
the more probable it is.

The columns of a category are one input (`core.one_hot`): they enter and leave together.
[2] Linkletter, Bingham, Hengartner, Higdon, Ye: Variable selection for Gaussian process models in
computer experiments, 2006.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from weal.core.arrays import Array, logsumexp
from weal.core.constants import IRRELEVANT, POSTERIOR_POINT_PAIRS
from weal.core.extensions import ard, quasi_newton
from weal.core.extensions.ard import EvidenceFit, EvidencePeak, KernelParameters, kernel_parameters
from weal.core.extensions.integrated_evidence import evidence_constant
from weal.core.extensions.posterior_points import (
    CandidateModels,
    concat_candidates,
    point_candidates,
    prior_correction,
)
from weal.core.one_hot import Widths
from weal.core.paper.ensemble import normalise
from weal.core.paper.kernels import FAMILIES, Kernel

# Prior probability of the class. On six fits to 50 and 70 labels of the malaria task, of whose 8
# inputs some matter little, log10 NMSE was higher by 0.05 with 0.3, by 0.035 with 0.1.
SUBSET_SHARE = 0.1
MIN_INPUTS = 4  # from which the class exists
MIN_SUBSET_POSTERIOR = 0.01  # of a subset that gets experts, over that of the most probable model
# Largest odds of the class, and the number of labels from which they grow with its square: experts
# of all inputs have the rest. A chain has few of all subsets, and with few labels without noise the
# evidence overstates their probability: a yield was predicted as 85.3 +- 0.8 from 16 labels and
# measured as 71.3. Three of 15 inputs that matter, labels without noise, eight seeds: with odds of
# 9, 99 and 999 log10 NMSE was -4.26, -4.48 and -4.50 at 50 labels, -5.90, -6.34 and -6.38 at 100.
# On 22 real tables, 88 fits to 50 and 100 labels, 99 in place of 9 changed no third digit.
MAX_SUBSET_ODDS, ODDS_LABELS = 9.0, 30
HOPELESS_NATS = 8.0  # log evidence that an input left out may cost before the rest is fitted
FREE_NATS = 1.0  # log evidence that inputs left out at once may cost together
MAX_FALL_NATS = 8.0
# nats of a fit within a chain, and of a subset that gets experts: the order of labels must not show
CHAIN_TOLERANCE, PEAK_TOLERANCE = 1e-2, 1e-8
HESSIAN_STEP = 1e-2  # longer than `ard`'s: rounding shows where labels have no noise
# nats that leaving out one more input may gain: a subset below by more than all these is dropped
MAX_GAIN_NATS = 2.0
MAX_FAMILY_NATS = 6.0  # that a family may be behind on all inputs
LAPLACE_NATS = 1.5  # by which an evidence changes with the exact Hessian


@dataclass(frozen=True, slots=True, eq=False)
class SubsetPeak:
    """A maximum of the evidence on a subset of the inputs."""

    inputs: tuple[int, ...]
    peak: EvidencePeak  # on these inputs alone
    log_prior: float  # of the subset
    log_share: float  # of its family, and the constant of the evidence
    widths: Widths  # of all inputs
    d: int  # their number

    @property
    def log_post(self) -> float:
        """Log of Laplace evidence times prior probability within the class."""
        return self.peak.log_z + self.log_prior + self.log_share


def log_subset_prior(d: int, size: int) -> float:
    """Log prior probability of one subset of this size of d inputs."""
    return float(-np.log(d) - gammaln(d + 1) + gammaln(size + 1) + gammaln(d - size + 1))


def subset_candidates(
    peaks: Sequence[EvidencePeak], best: float, X: Array, y: Array, noise_var: Array
) -> CandidateModels | None:
    """Experts on subsets of the inputs, from the peaks of some families on all inputs.

    `best` is the largest log posterior of the other classes over the prior of this class.
    None if no subset is likely enough.
    """
    found: list[SubsetPeak] = []
    for peak in _competitive(peaks):
        unit = prior_correction(np.array(peak.unit), noise_var)
        share = float(evidence_constant(len(y)) - unit - np.log(len(peaks)))
        found += nested_subsets(peak, best, share)
        best = max([best, *(one.log_post for one in found)])
    least = best + float(np.log(MIN_SUBSET_POSTERIOR)) - LAPLACE_NATS
    kept = [_polish(one) for one in found if one.log_post > least]
    if not kept:
        return None
    log_post = np.array([one.log_post for one in kept])
    likely = log_post > max(best, float(log_post.max())) + np.log(MIN_SUBSET_POSTERIOR)
    weights = np.exp(normalise(log_post)).tolist()
    parts = [
        _experts(one, _pairs(weight), X, y, noise_var)
        for one, weight, is_likely in zip(kept, weights, likely, strict=True)
        if is_likely
    ]
    return concat_candidates(parts) if parts else None


def _competitive(peaks: Sequence[EvidencePeak]) -> list[EvidencePeak]:
    """The peaks of families that may be likely on a subset, the most probable first."""
    best = max(peak.log_z for peak in peaks)
    return sorted(
        (peak for peak in peaks if peak.log_z > best - MAX_FAMILY_NATS), key=lambda one: -one.log_z
    )


def nested_subsets(peak: EvidencePeak, best: float, log_share: float) -> list[SubsetPeak]:
    """Peaks on nested subsets of the inputs, the largest first, with approximate Hessians.

    `best` is the largest log posterior so far, and `log_share` that of a subset of prior and
    Laplace evidence 1.
    """
    d, widths = len(peak.fit.D2), peak.fit.shape.like.widths
    if peak.fit.shape.like.family not in FAMILIES or len(peak.p) != d + 1:
        return []
    inputs, found = tuple(range(d)), list[SubsetPeak]()
    while len(inputs) > 1:
        left_out = _left_out(peak)
        if not len(left_out):
            break
        kept = np.delete(np.arange(len(inputs)), left_out)
        peak = _refit(peak, kept)
        inputs = tuple(inputs[n] for n in kept)
        found.append(
            SubsetPeak(inputs, peak, log_subset_prior(d, len(inputs)), log_share, widths, d)
        )
        best = max(best, found[-1].log_post)
        fall = best - found[-1].log_post - MAX_GAIN_NATS * (len(inputs) - 1)
        if (
            fall > MAX_FALL_NATS
            or peak.log_z < max(one.peak.log_z for one in found) - MAX_FALL_NATS
        ):
            break
    return found


def _left_out(peak: EvidencePeak) -> NDArray[np.intp]:
    """Positions of the inputs to leave out next, not all; none if every input matters."""
    problem, p = peak.fit, peak.p
    family, alpha = FAMILIES[problem.shape.like.family], problem.shape.like.alpha
    scaled = np.exp(-2.0 * p[:-1])[:, None] * problem.D2  # (d, T)
    total = scaled.sum(axis=0)

    def log_evidence(r2: Array) -> float:
        return problem.evidence_of(family.correlation(np.maximum(r2, 0.0), alpha), p)[0]

    without = np.array([log_evidence(total - one) for one in scaled])
    order = np.argsort(-without, kind="stable")
    at_peak = log_evidence(total)
    if without[order[0]] < at_peak - HOPELESS_NATS:
        return order[:0]
    n = 1
    r2 = total - scaled[order[0]]
    while n < len(order) - 1 and without[order[n]] > at_peak - FREE_NATS:
        r2 = r2 - scaled[order[n]]
        if log_evidence(r2) < at_peak - FREE_NATS:
            break
        n += 1
    return order[:n]


def _refit(peak: EvidencePeak, kept: NDArray[np.intp]) -> EvidencePeak:
    """The peak on the inputs at these positions, searched from the peak on more of them."""
    old, new = peak.fit, peak.fit.restrict(kept.tolist())
    at = np.append(kept, len(peak.p) - 1)
    H = peak.H[np.ix_(at, at)].copy()
    H[:-1, :-1] += new.shape.precision - old.shape.precision[np.ix_(kept, kept)]
    found = quasi_newton.minimise(new.loss, peak.p[at], H, *new.bounds, CHAIN_TOLERANCE)
    least = ard.without_invisible_noise(new, found.p, found.loss, found.gradient)
    again = ard.peak_at(new, *least, found.H)
    return replace(again, unit=peak.unit)


def _polish(one: SubsetPeak) -> SubsetPeak:
    """The subset at its peak, to all significant digits, with the Hessian there."""
    problem, peak = one.peak.fit, one.peak
    found = quasi_newton.minimise(problem.loss, peak.p, peak.H, *problem.bounds, PEAK_TOLERANCE)
    least = ard.without_invisible_noise(problem, found.p, found.loss, found.gradient)
    exact = ard.peak_at(problem, *least, step=HESSIAN_STEP)
    return replace(one, peak=replace(exact, unit=peak.unit))


def _pairs(share: float) -> int:
    """Pairs of posterior points of a subset with this share of the class."""
    return min(POSTERIOR_POINT_PAIRS, round(2 * POSTERIOR_POINT_PAIRS * share))


def _experts(one: SubsetPeak, pairs: int, X: Array, y: Array, noise_var: Array) -> CandidateModels:
    """The posterior points of a subset as experts on all inputs."""
    on_all = partial(on_all_inputs, inputs=one.inputs, widths=one.widths, d=one.d)
    found = point_candidates(one.peak, X, y, noise_var, pairs, on_all)
    total = found.log_post - logsumexp(found.log_post) + one.log_post
    return found._replace(log_post=total)


def on_all_inputs(kernel: Kernel, inputs: Sequence[int], widths: Widths, d: int) -> Kernel:
    """A kernel on a subset of d inputs as one of all, on which the others do not matter."""
    ell = np.full(d, IRRELEVANT)
    ell[list(inputs)] = kernel.length_scale
    return replace(kernel, length_scale=tuple(ell.tolist()), widths=widths)


def relevant(kernel: Kernel, d: int) -> NDArray[np.bool_]:  # (d,)
    """Which of d inputs matter to a kernel."""
    return np.broadcast_to(np.asarray(kernel.length_scale) < IRRELEVANT, (d,))


def max_subset_odds(t: int) -> float:
    """The largest odds of the class with t labels."""
    return MAX_SUBSET_ODDS * max(1.0, t / ODDS_LABELS) ** 2


def relevance_probability(
    kernels: Sequence[Kernel], weights: Array, d: int, t: int
) -> Array:  # (d,)
    """Posterior probability that each of d columns matters, of experts with these weights (M,).

    The weight that experts of all inputs always have favours no input. It is that of t labels; if
    the experts were selected by a few less, the probabilities are 0.02 too high at most.
    """
    irrelevant = np.array([kernel.column_scales(d) >= IRRELEVANT for kernel in kernels])  # (M, d)
    spoken = weights @ irrelevant.astype(np.float64) * (1.0 + 1.0 / max_subset_odds(t))
    return np.maximum(1.0 - spoken, 0.0)


def fit_relevant(
    kernel: Kernel, noise: float, X: Array, y: Array, noise_var: Array,
    prior: KernelParameters | None = None,
) -> tuple[Kernel, float, float]:  # fmt: skip
    """Kernel, noise ratio and log posterior of a fit in which irrelevant inputs stay irrelevant.

    `prior` is another prior of the parameters than that of the family.
    """
    d = kernel.n_inputs(X.shape[1])
    inputs = np.flatnonzero(relevant(kernel, d))
    if len(inputs) == d:
        peak = ard.fit(kernel, noise, X, y, noise_var, prior)
        return peak.kernel, peak.noise, peak.log_z
    part = EvidenceFit.of(kernel_parameters(kernel, d), X, y, noise_var).restrict(inputs.tolist())
    ell = tuple(np.asarray(kernel.length_scale)[inputs].tolist())
    start = part.shape.place(replace(kernel, length_scale=ell, widths=()))
    peak = ard.maximise(part, np.append(start, np.log(noise)))
    found = on_all_inputs(peak.kernel, inputs.tolist(), kernel.widths, d)
    return found, peak.noise, peak.log_z + log_subset_prior(d, len(inputs))
