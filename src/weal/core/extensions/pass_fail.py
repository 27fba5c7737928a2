"""Pass/fail labels as a regression: labels, their noise, probabilities, and information.

A label of K = 2 classes is a Dirichlet with the parameter alpha for each class and 1 more for the
class that was seen; its gammas as log-normals of the same mean and variance give each class a
latent label log(a) - s2 / 2 with the noise variance s2 = log(1 + 1 / a), where a = 1 + alpha or
alpha. The difference g of the two latents is all that matters:

    s2+ = log(1 + 1 / (1 + alpha))      s2- = log(1 + 1 / alpha)
    g = +-C,  C = log((1 + alpha) / alpha) + (s2- - s2+) / 2      noise variance s2+ + s2-

so that f = g / C has labels +1 (pass) and -1 (fail) with the noise variance (s2+ + s2-) / C^2. It
is stated with every label, future ones included; the noise that experts estimate is added.
[1] Milios et al.: Dirichlet-based Gaussian processes for large-scale calibrated classification,
2018.

    P(pass) = sum_m w_m E_m sigma(k C f) = sum_m w_m sigma(k C mu_m / sqrt(1 + pi/8 (k C)^2 v_m))

[2] MacKay: The evidence framework applied to classification networks, 1992; right to 0.013. The
slope k minimises the sum of the leave-one-out log losses plus (log k)^2 / (2 SLOPE_VARIANCE): log k
is normal a priori. After 12 passes and no fail P(pass) is about 0.96.

The information of a label about f and about which expert is right (BALD), with h the entropy,

    h(E p) - E h(p),      p = sigma(g),  g = k C f

[3] Houlsby et al.: Bayesian active learning, 2011. Both expectations are over the mixture. Where g
has a large variance s2, nodes of Gauss-Hermite miss the narrow h: they are placed by the product of
N(g; mu, s2) and a normal of variance ENTROPY_VARIANCE, which h resembles. For p, the expectation of
the cdf of a normal of variance 8 / pi has a closed form, and the nodes integrate the rest. Right to
1e-5.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import expit, ndtr

from weal.core.arrays import Array
from weal.core.paper.acquisition import (
    HERMITE_NODES,
    HERMITE_WEIGHTS,
    Acquisition,
    Belief,
    non_negligible,
    score_traits,
)

ALPHA = 0.1  # pseudo-counts of each class
_S2_SEEN, _S2_OTHER = np.log1p(1.0 / (1.0 + ALPHA)), np.log1p(1.0 / ALPHA)
C = float(np.log((1.0 + ALPHA) / ALPHA) + 0.5 * (_S2_OTHER - _S2_SEEN))  # 3.2735
LABEL_NOISE_VARIANCE = float((_S2_SEEN + _S2_OTHER) / C**2)  # 0.2841, of labels +1 and -1
SLOPE_VARIANCE = 0.25  # of log k a priori
MAX_LOG_SLOPE = 3.0  # six sds of the prior
LEAST_PROBABILITY = 1e-12  # in a log loss
ENTROPY_VARIANCE = 6.0  # of a normal about as wide as the entropy of sigma(g) as a function of g
_PROBIT_VARIANCE = 8.0 / np.pi  # of the normal whose cdf resembles sigma


def pass_probability(w: Array, mu: Array, var: Array, slope: float = 1.0) -> Array:
    """P(pass) (N,), from weights (M,) or (M, N), and moments (M, N) of f under each expert."""
    k_C = slope * C
    z = k_C * mu / np.sqrt(1.0 + k_C**2 * var / _PROBIT_VARIANCE)
    return np.asarray((w.reshape(len(w), -1) * expit(z)).sum(axis=0))


def log_loss(p: Array, y: Array) -> Array:
    """Log losses (N,) of probabilities of a pass p (N,), for labels y (N,) of +1 and -1."""
    told = np.where(y > 0.0, p, 1.0 - p)
    return np.asarray(-np.log(np.clip(told, LEAST_PROBABILITY, 1.0)))


def fit_slope(w: Array, mu: Array, var: Array, y: Array) -> float:
    """The slope k for labels y (t,), from leave-one-out weights and moments (M, t).

    It is 1 where all labels are equal: they do not show whether probabilities are overconfident.
    """
    if (y == y[0]).all():
        return 1.0

    from scipy.optimize import minimize_scalar  # its import takes 0.1 s: where it is needed

    def loss(log_k: float) -> float:
        p = pass_probability(w, mu, var, float(np.exp(log_k)))
        return float(log_loss(p, y).sum()) + log_k**2 / (2.0 * SLOPE_VARIANCE)

    found = minimize_scalar(loss, bounds=(-MAX_LOG_SLOPE, MAX_LOG_SLOPE), method="bounded")
    return float(np.exp(found.x))


def entropy(p: Array) -> Array:
    """Entropy of a pass/fail result of these probabilities, elementwise, in nats."""
    p = np.clip(p, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
    return np.asarray(-p * np.log(p) - (1.0 - p) * np.log1p(-p))


def entropy_of_log_odds(g: Array) -> Array:
    """Entropy of a result with the log odds g, elementwise, in nats."""
    g = np.abs(g)
    return np.asarray(np.log1p(np.exp(-g)) + g * expit(-g))


def information(w: Array, mu: Array, var: Array, slope: float = 1.0) -> Array:
    """Information (N,) of a label about f and the experts, from moments (M, N) of f; in nats."""
    k_C, p, h = slope * C, np.zeros(mu.shape[1]), np.zeros(mu.shape[1])
    for weight, m, v in zip(w, k_C * mu, k_C**2 * var, strict=True):
        expect = _expectation(m, v)
        h += weight * expect(entropy_of_log_odds)
        rest = expect(lambda g: np.asarray(expit(g) - ndtr(g / np.sqrt(_PROBIT_VARIANCE))))
        p += weight * (ndtr(m / np.sqrt(_PROBIT_VARIANCE + v)) + rest)
    return np.maximum(entropy(p) - h, 0.0)


def _expectation(mu: Array, var: Array) -> Callable[[Callable[[Array], Array]], Array]:
    """Expectations (N,) under N(mu, var) (N,) of functions of g that vanish far from 0."""
    share = ENTROPY_VARIANCE / (ENTROPY_VARIANCE + var)  # of var that the nodes have
    sd, x = np.sqrt(share * var), HERMITE_NODES[:, None]
    g = share * mu + sd * x  # (Q, N)
    # (g - mu)^2 / var, without a division by var, which may be 0
    both = np.sqrt(ENTROPY_VARIANCE + var)
    far = np.sqrt(share) * x - (mu / both) * (np.sqrt(var) / both)
    weights = np.sqrt(share) * HERMITE_WEIGHTS[:, None] * np.exp(0.5 * (x * x - far * far))
    return lambda function: np.asarray((weights * function(g)).sum(axis=0))


def bald_pass(slope: float = 1.0) -> Acquisition:
    """The information of a pass/fail label, for a model with this slope."""
    if not slope > 0.0:
        raise ValueError(f"bald-pass({slope:g}): the slope must be above 0")

    @score_traits(pointwise=True, amount=True)
    def score(belief: Belief) -> Array:
        return information(*non_negligible(belief), slope)

    return score
