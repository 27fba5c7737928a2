"""ARD: one lengthscale for each input, fitted by evidence, and the prior of kernel parameters.

A kernel of a family has the parameters p = (log l_1 .. log l_d), and after these the log of its
strength, s for anova and tau for trend.
The lengthscales share a level and have a deviation each, so that ten labels cannot switch an input
off, and an input that few labels inform about is like the others:

    log l_i = level + own_i     level ~ N(mean, LEVEL_SPREAD^2)     own_i ~ N(0, LENGTH_SPREAD^2)
    log s ~ N(-log(d) / 2, STRENGTH_SPREAD^2)        log tau ~ N(0, STRENGTH_SPREAD^2)

Correlations are computed for pairs of points, from their squared distances by input.

With p = (kernel parameters, log lam) and C = k(X, X) + offset + diag(lam + noise_var), the evidence
with the magnitude integrated out (`integrated_evidence`) is, up to a constant,

    L(p) = -a log b - 1/2 log |C|       a = A0 + t/2    b = B0 + y'C^-1 y / 2
    dL   = 1/2 tr(W dC)                 W = (a / b) C^-1 y y'C^-1 - C^-1

The log prior of p is added. The prior of log lam is uniform between SOUGHT_RATIOS, with NOISE_HILL
of its mass in a normal around the noise of real labels: some smooth function interpolates any forty
labels of five inputs, and only the prior says that labels without noise are rare. Labels that state
their noise lower the mass of that normal. L-BFGS finds the peak from a fixed start, so that it
depends on the set of labels alone; `forward` finds a start where few of many inputs matter. Peaks
are compared by Laplace's approximation of the integral over the P parameters,

    log Z = L(p*) + log prior(p*) + P/2 log 2 pi - 1/2 log |H|,    H = -d2(L + log prior)

Where p_i* lies on a bound with the slope g against it, as lam does for labels without noise, its
factor is the integral of exp(-g x - H_ii x^2 / 2) over x > 0:
sqrt(pi / (2 H_ii)) erfcx(g / sqrt(2 H_ii)).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.special import erfcx

from weal.core.arrays import Array
from weal.core.constants import (
    ANOVA_LENGTH,
    FIT_ITERATIONS,
    FORWARD_GAIN,
    FORWARD_LABELS,
    FORWARD_RATIO,
    LENGTH_SPREAD,
    LEVEL_LENGTH,
    LEVEL_SPREAD,
    LONG_LENGTH,
    MAGNITUDE_PRIOR_A,
    MAGNITUDE_PRIOR_B,
    NOISE_HILL,
    NOISE_RATIO,
    NOISE_SPREAD,
    SHORT_LENGTH,
    SOUGHT_LENGTHS,
    SOUGHT_RATIOS,
    SOUGHT_STRENGTHS,
    SOUGHT_TREND_STRENGTHS,
    STRENGTH_SPREAD,
    TREND_STRENGTH,
)
from weal.core.extensions import anova_kernel, integrated_evidence, trend_kernel
from weal.core.extensions.anova_kernel import ANOVA
from weal.core.extensions.integrated_evidence import magnitude_posterior
from weal.core.extensions.label_noise import even_sample
from weal.core.extensions.trend_kernel import TREND
from weal.core.one_hot import matrix_distances, pair_distances
from weal.core.paper.kernels import FAMILIES, Kernel

WIDE = 100  # inputs from which formulas for many are used; fits of fewer keep their last digits
Slopes = Callable[[Array], Array]  # w (T,) -> w'dk/dp (P,)
# Families whose alpha is fitted: correlations and their slopes, and steps for many inputs.
WITH_STRENGTH = {
    ANOVA: (anova_kernel.with_slopes, integrated_evidence.anova_steps),
    TREND: (trend_kernel.with_slopes, integrated_evidence.trend_steps),
}


@dataclass(frozen=True, slots=True, eq=False)
class KernelParameters:
    """A family on d inputs, and the prior of its P parameters."""

    like: Kernel  # family, alpha and offset
    mean: Array  # (P,)
    precision: Array  # (P, P)  inverse of the covariance
    log_norm: float  # of the prior
    low: Array  # (P,)
    high: Array  # (P,)

    def log_prior(self, p: Array) -> tuple[float, Array]:
        """Log density at p (P,), and its gradient."""
        away = p - self.mean
        pull = self.precision @ away
        return self.log_norm - 0.5 * float(away @ pull), -pull

    def correlations(self, p: Array, D2: Array) -> tuple[Array, Slopes]:
        """Correlations (T,) at squared distances D2 (d, T) by input, and their slopes."""
        if self.like.family in WITH_STRENGTH:
            return WITH_STRENGTH[self.like.family][0](p, D2)
        family, alpha = FAMILIES[self.like.family], self.like.alpha
        inverse = np.exp(-2.0 * p)  # 1 / l^2
        r2 = inverse @ D2
        return (
            family.correlation(r2, alpha),
            lambda w: -2.0 * inverse * (D2 @ (w * family.slope(r2, alpha))),
        )

    def log_visible_share(self, p: Array) -> tuple[float, float]:
        """Log of the share of the magnitude that labels show, and its slope by the last of p."""
        if self.like.family != TREND:
            return 0.0, 0.0
        return trend_kernel.log_visible_share(float(p[-1]))

    def kernel(self, p: Array) -> Kernel:
        """The kernel with these parameters."""
        family, offset = self.like.family, self.like.offset
        if family in WITH_STRENGTH:
            ell, alpha = tuple(np.exp(p[:-1]).tolist()), float(np.exp(p[-1]))
        else:
            ell, alpha = tuple(np.exp(p).tolist()), self.like.alpha
        return Kernel(family, ell, alpha, offset, self.like.widths)

    def place(self, kernel: Kernel) -> Array:
        """The parameters (P,) of a kernel of this family; a single lengthscale is repeated."""
        strength = [kernel.alpha] if self.like.family in WITH_STRENGTH else []
        d = len(self.mean) - len(strength)
        ell = np.broadcast_to(np.asarray(kernel.length_scale, dtype=np.float64), (d,))
        return np.log([*ell, *strength])


def kernel_parameters(like: Kernel, d: int) -> KernelParameters:
    """The parameters of a kernel's family on d inputs, with their prior.

    The columns of a category (`core.one_hot`) are one input: d is the length of `like.widths`
    where that is given.
    """
    is_anova, has_strength = like.family == ANOVA, like.family in WITH_STRENGTH
    level = np.log(ANOVA_LENGTH) if is_anova else np.log(LEVEL_LENGTH) + 0.5 * np.log(d)
    precision, log_norm = _lengths_prior(d, has_strength) if d > WIDE else _prior(d, has_strength)
    mean, low, high = (
        np.full(d, value)
        for value in (level, np.log(SOUGHT_LENGTHS[0]), np.log(SOUGHT_LENGTHS[1] * d**0.5))
    )
    if has_strength:
        sought = SOUGHT_STRENGTHS if is_anova else SOUGHT_TREND_STRENGTHS
        mean = np.append(mean, -0.5 * np.log(d) if is_anova else np.log(TREND_STRENGTH))
        low, high = (
            np.append(ends, np.log(s)) for ends, s in zip((low, high), sought, strict=True)
        )
    return KernelParameters(like, mean, precision, log_norm, low, high)


def _prior(d: int, has_strength: bool) -> tuple[Array, float]:
    """The precision (P, P) of the prior, and the log of its normalising constant."""
    covariance = LENGTH_SPREAD**2 * np.eye(d) + LEVEL_SPREAD**2
    if has_strength:
        covariance = np.pad(covariance, (0, 1))
        covariance[d, d] = STRENGTH_SPREAD**2
    log_norm = -0.5 * float(np.linalg.slogdet(2.0 * np.pi * covariance)[1])
    return np.asarray(np.linalg.inv(covariance), dtype=np.float64), log_norm


def _lengths_prior(d: int, has_strength: bool) -> tuple[Array, float]:
    """The same by the Sherman-Morrison formula, for many inputs."""
    own, level = LENGTH_SPREAD**2, LEVEL_SPREAD**2
    precision = np.eye(d) / own - level / (own * (own + d * level))
    log_det = d * np.log(2.0 * np.pi) + (d - 1) * np.log(own) + np.log(own + d * level)
    if has_strength:
        precision = np.pad(precision, (0, 1))
        precision[d, d] = STRENGTH_SPREAD**-2
        log_det += np.log(2.0 * np.pi * STRENGTH_SPREAD**2)
    return precision, -0.5 * float(log_det)


LOG_RATIOS = float(np.log(SOUGHT_RATIOS[1] / SOUGHT_RATIOS[0]))
LOG_NOISE_RATIO = float(np.log(NOISE_RATIO))
LOG_ENDS = tuple(np.log(SOUGHT_RATIOS).tolist())  # of log lam
# No direction counts as wider than the prior of log lam, which is flat where noise does not matter.
LEAST_CURVATURE = 2.0 * np.pi / LOG_RATIOS**2
FINITE_DIFFERENCE_STEP = 1e-3  # of the finite differences of the gradient that give H
# Nats that a noise ratio must gain to show beside stated noise, and the slope on its bound where it
# does not: no parameter is free in the direction of a bound.
INVISIBLE_NATS, LEAST_SLOPE = 1e-3, 1e-12
SINGULAR_LOSS = 1e100  # the loss where C is singular in double precision


@dataclass(frozen=True, slots=True, eq=False)
class EvidenceFit:
    """Log evidence of labels as a function of kernel parameters and noise ratio."""

    shape: KernelParameters
    D2: Array  # (d, T)  squared distances by input, for the T = t (t - 1) / 2 pairs of labels
    pairs: Any  # rows and columns (T,), (T,) of the pairs, below the diagonal
    y: Array  # (t,)
    noise_var: Array  # (t,)  stated noise ratios of the labels
    places: Any  # (T,)  places of the pairs in a matrix (t, t) whose columns are contiguous
    untold: float  # share of the labels without stated noise

    @classmethod
    def of(cls, shape: KernelParameters, X: Array, y: Array, noise_var: Array) -> "EvidenceFit":
        """The fit of a kernel family to labels y (t,) at X (t, d)."""
        pairs = np.tril_indices(len(y), -1)
        D2 = pair_distances(X, pairs, shape.like.widths)
        untold = float(np.mean(noise_var == 0.0))
        return cls(shape, D2, pairs, y, noise_var, pairs[1] * len(y) + pairs[0], untold)

    def evidence(self, p: Array) -> tuple[float, float]:
        """L and b at p (P,); L is -IMPOSSIBLE where C is singular."""
        k, _ = self.shape.correlations(p[:-1], self.D2)
        return self.evidence_of(k, p)

    def evidence_of(self, k: Array, p: Array) -> tuple[float, float]:
        """L and b with correlations k (T,) and the noise ratio of p (P,)."""
        L, b, _, _ = _factorise(self._covariance(k, p), self.y)
        return L, b

    def restrict(self, inputs: Sequence[int]) -> "EvidenceFit":
        """The fit of the family on some of the inputs to the same labels."""
        like = replace(self.shape.like, widths=())
        shape = kernel_parameters(like, len(inputs))
        return replace(self, shape=shape, D2=self.D2[list(inputs)])

    @property
    def bounds(self) -> tuple[Array, Array]:  # (P,), (P,)
        """Lower and upper bounds of p."""
        return (
            np.append(self.shape.low, LOG_ENDS[0]),
            np.append(self.shape.high, LOG_ENDS[1]),
        )

    def loss(self, p: Array) -> tuple[float, Array]:
        """-(L + log prior) and its gradient at p (P,)."""
        k, slopes = self.shape.correlations(p[:-1], self.D2)
        L, b, factor, C_y = _factorise(self._covariance(k, p), self.y)
        if L == -SINGULAR_LOSS:
            return SINGULAR_LOSS, np.zeros(len(p))
        inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
        ratio = magnitude_posterior(len(self.y), 0.0)[0] / b
        W = (ratio * C_y)[self.pairs[0]]  # half of tr W dC
        W *= C_y[self.pairs[1]]
        W -= inverse.ravel(order="F")[self.places]
        trace = ratio * float(C_y @ C_y) - float(inverse.diagonal().sum())
        prior, pull = self.log_prior(p)
        gradient = np.empty(len(p))
        gradient[:-1], gradient[-1] = slopes(W), 0.5 * float(np.exp(p[-1])) * trace
        gradient += pull
        return -(L + prior), np.negative(gradient, out=gradient)

    def log_prior(self, p: Array) -> tuple[float, Array]:
        """Log density of the prior at p (P,), and its gradient."""
        pull = np.empty(len(p))
        shape, pull[:-1] = self.shape.log_prior(p[:-1])
        share, turn = self.shape.log_visible_share(p[:-1])
        noise, slope = noise_prior(float(p[-1]) - share, self.untold)
        if share:
            pull[-2] -= (slope + MAGNITUDE_PRIOR_A) * turn
        pull[-1] = slope
        return shape + noise - MAGNITUDE_PRIOR_A * share, pull

    def _covariance(self, k: Array, p: Array) -> Array:
        """C at p, its lower triangle."""
        t, offset = len(self.y), self.shape.like.offset
        C = np.zeros(t * t)
        C[self.places] = k + offset
        C[:: t + 1] = 1.0 + offset + np.exp(p[-1]) + self.noise_var
        return C.reshape(t, t).T


@dataclass(frozen=True, slots=True, eq=False)
class EvidencePeak:
    """A maximum of the evidence over kernel parameters and noise ratio."""

    fit: EvidenceFit
    p: Array  # (P,)
    height: float  # L + log prior there
    H: Array  # (P, P)  minus its second derivatives
    slope: Array  # (P,)  against the bound that a parameter lies on; 0 where it is on none
    log_z: float  # Laplace evidence, without the constant of `evidence_constant`
    unit: float = 1.0  # by which stated noise variances were divided

    @property
    def kernel(self) -> Kernel:
        """The kernel at the maximum."""
        return self.fit.shape.kernel(self.p[:-1])

    @property
    def noise(self) -> float:
        """Noise ratio lam at the maximum."""
        return float(np.exp(self.p[-1]))


def fit(
    start: Kernel, noise: float, X: Array, y: Array, noise_var: Array,
    parameters: KernelParameters | None = None,
) -> EvidencePeak:  # fmt: skip
    """The maximum of the evidence, searched from a kernel and a noise ratio.

    `parameters` may have another prior than that of `kernel_parameters`.
    """
    shape = parameters or kernel_parameters(start, start.n_inputs(X.shape[1]))
    problem = EvidenceFit.of(shape, X, y, noise_var)
    return maximise(problem, np.append(shape.place(start), np.log(noise)))


def start_loss(start: Kernel, noise: float, X: Array, y: Array, noise_var: Array) -> float:
    """-(L + log prior) of a kernel and a noise ratio, where a fit would start."""
    shape = kernel_parameters(start, start.n_inputs(X.shape[1]))
    problem = EvidenceFit.of(shape, X, y, noise_var)
    return problem.loss(np.append(shape.place(start), np.log(noise)))[0]


def maximise(problem: EvidenceFit, p: Array) -> EvidencePeak:
    """The maximum of the evidence, searched from p (P,)."""
    low, high = problem.bounds
    from scipy.optimize import minimize  # its import takes 0.1 s, which only expert selection pays

    found = minimize(
        problem.loss,
        np.clip(p, low, high),
        jac=True,
        method="L-BFGS-B",
        bounds=np.column_stack([low, high]),
        options={"maxiter": FIT_ITERATIONS},
    )
    return peak_at(problem, *without_invisible_noise(problem, found.x, float(found.fun), found.jac))


def without_invisible_noise(
    problem: EvidenceFit, p: Array, loss: float, gradient: Array
) -> tuple[Array, float, Array]:
    """A minimum of the loss, on the bound of the noise ratio if it costs less than INVISIBLE_NATS.

    Where noise is stated the prior of lam is flat, and a small lam does not show: rounding decided
    whether a search stopped on the bound, and the volume of the peak is half as large there.
    """
    if problem.untold:
        return p, loss, gradient
    least = np.append(p[:-1], LOG_ENDS[0])
    at_least, slope = problem.loss(least)
    if at_least >= loss + INVISIBLE_NATS:
        return p, loss, gradient
    slope[-1] = max(slope[-1], LEAST_SLOPE)
    return least, at_least, slope


def peak_at(
    problem: EvidenceFit, p: Array, loss: float, gradient: Array, H: Array | None = None,
    step: float = FINITE_DIFFERENCE_STEP,
) -> EvidencePeak:  # fmt: skip
    """The peak at a minimum p (P,) of the loss, with its Hessian unless H is given."""
    low, high = problem.bounds
    slope = np.where(p <= low, gradient, np.where(p >= high, -gradient, 0.0))
    if H is None:
        H = _hessian(problem, p, gradient, step)
    slope = np.maximum(slope, 0.0)
    return EvidencePeak(problem, p, -loss, H, slope, -loss + _log_volume(H, slope))


def noise_prior(log_lam: float, untold: float = 1.0) -> tuple[float, float]:
    """Log prior density of log lam and its slope, for this share of labels without stated noise."""
    z = (log_lam - LOG_NOISE_RATIO) / NOISE_SPREAD
    share = untold * NOISE_HILL
    hill = share * float(np.exp(-0.5 * z * z)) / (NOISE_SPREAD * (2.0 * np.pi) ** 0.5)
    density = (1.0 - share) / LOG_RATIOS + hill
    return float(np.log(density)), -z / NOISE_SPREAD * hill / density


def forward(kernel: Kernel, X: Array, y: Array, noise_var: Array) -> Kernel:
    """Forward selection: a kernel with short lengthscales for the relevant inputs only.

    Starting with none, the input that raises the evidence most is added, until none raises it by
    FORWARD_GAIN. The noise ratio is FORWARD_RATIO; of more than FORWARD_LABELS labels an even
    sample is used.
    """
    X, y, noise_var = even_sample(FORWARD_LABELS, X, y, noise_var)
    d = kernel.n_inputs(X.shape[1])
    on, off = 1.0 / SHORT_LENGTH**2, 1.0 / (d * LONG_LENGTH**2)
    inverse = np.full(d, off)  # 1 / l^2
    D2 = matrix_distances(X, kernel.widths)  # (d, t, t)
    r2 = off * D2.sum(axis=0)
    height = _height(r2, kernel, y, noise_var)
    for _ in range(d):
        heights = _heights(r2, (on - off) * D2, inverse == on, kernel, y, noise_var)
        best = int(np.argmax(heights))
        if heights[best] < height + FORWARD_GAIN:
            break
        height, inverse[best] = heights[best], on
        r2 = r2 + (on - off) * D2[best]
    return replace(kernel, length_scale=tuple((inverse**-0.5).tolist()))


def _heights(
    r2: Array, more: Array, taken: NDArray[np.bool_], kernel: Kernel, y: Array, noise_var: Array
) -> Array:  # (d,)
    """L with each of `more` (d, t, t) added to r2 (t, t); -inf for inputs already selected."""
    found = np.full(len(more), -np.inf)
    if len(more) <= WIDE:
        for i in np.flatnonzero(~taken).tolist():
            found[i] = _height(r2 + more[i], kernel, y, noise_var)
        return found
    size = max(1, integrated_evidence.NUMBERS // r2.size)
    for start in range(0, len(more), size):
        rows = slice(start, start + size)
        C = FAMILIES[kernel.family].correlation(r2 + more[rows], kernel.alpha) + kernel.offset
        C[:, np.arange(len(y)), np.arange(len(y))] += FORWARD_RATIO + noise_var
        found[rows] = integrated_evidence.heights(C, y)
    return np.where(taken, -np.inf, found)


def _height(r2: Array, kernel: Kernel, y: Array, noise_var: Array) -> float:
    """L for squared scaled distances r2 (t, t)."""
    C = FAMILIES[kernel.family].correlation(r2, kernel.alpha) + kernel.offset
    C[np.diag_indices(len(y))] += FORWARD_RATIO + noise_var
    return _factorise(np.asfortranarray(C), y)[0]


def _factorise(C: Array, y: Array) -> tuple[float, float, Array, Array]:
    """L, b, the Cholesky factor of C (its lower triangle is read and overwritten), and C^-1 y."""
    factor, singular = lapack.dpotrf(C, lower=1, clean=0, overwrite_a=1)
    if singular:
        return -SINGULAR_LOSS, MAGNITUDE_PRIOR_B, factor, y
    C_y, _ = lapack.dpotrs(factor, y, lower=1)
    square, log_det = float(y @ C_y), 2.0 * float(np.log(factor.diagonal()).sum())
    a, b = magnitude_posterior(len(y), square)
    return float(0.0 - a * np.log(b) - 0.5 * log_det), b, factor, C_y


def _log_volume(H: Array, slope: Array) -> float:
    """Log of the peak's volume over its height (Laplace); slope is 0 unless it is on a bound."""
    free, bound = slope == 0.0, slope > 0.0
    curvature = np.maximum(np.linalg.eigvalsh(H[np.ix_(free, free)]), LEAST_CURVATURE)
    h = np.sqrt(2.0 * np.maximum(np.diag(H)[bound], LEAST_CURVATURE))
    one_sided = np.log(np.sqrt(np.pi) / h * erfcx(slope[bound] / h)).sum()
    return float(0.5 * np.log(2.0 * np.pi / curvature).sum() + one_sided)


def _hessian(
    problem: EvidenceFit, p: Array, at: Array, size: float = FINITE_DIFFERENCE_STEP
) -> Array:
    """Hessian of the loss, by differences of its gradient, which is `at` at p."""
    if len(problem.D2) > WIDE:
        return _wide_hessian(problem, p, at)
    steps = size * np.eye(len(p))
    H = np.array([(problem.loss(p + step)[1] - at) / size for step in steps])
    symmetric: Array = 0.5 * (H + H.T)
    return symmetric


def _wide_hessian(problem: EvidenceFit, p: Array, at: Array) -> Array:
    """Hessian of the loss for many inputs, all columns at once (`integrated_evidence`)."""
    shape, d, t = problem.shape, len(problem.D2), len(problem.y)
    H = np.empty((len(p), len(p)))
    _, pull = problem.log_prior(p)
    lam, offset = float(np.exp(p[-1])), shape.like.offset
    known = (problem.pairs, problem.y, 1.0 + offset + lam + problem.noise_var, offset, lam)
    size = max(1, integrated_evidence.NUMBERS // max(t * t, d))
    for start in range(0, d, size):
        which = np.arange(start, min(start + size, d))
        given = (p[:-1], problem.D2, which, FINITE_DIFFERENCE_STEP)
        if shape.like.family in WITH_STRENGTH:
            steps = WITH_STRENGTH[shape.like.family][1](*given)
        else:
            steps = integrated_evidence.family_steps(shape.like, *given)
        H[which] = (
            -(integrated_evidence.gradients(steps, *known) + pull + at) / FINITE_DIFFERENCE_STEP
        )
    H[:d, : len(shape.mean)] += shape.precision[:d]
    for n in range(d, len(p)):  # strength, and noise
        step = FINITE_DIFFERENCE_STEP * (np.arange(len(p)) == n)
        H[n] = (problem.loss(p + step)[1] - at) / FINITE_DIFFERENCE_STEP
    return np.asarray(0.5 * (H + H.T))
