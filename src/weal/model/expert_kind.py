"""The kind of expert for a number of labels: exact while that fits in memory, then inducing points.

With t labels an exact expert takes t^2 numbers and t^3 / 3 multiplications: little up to
MAX_LABELS_ALWAYS_EXACT labels, and bearable up to MOST_EXACT labels while M of them fit in
MAX_FACTOR_BYTES (3,300 labels for 12 experts); 10,000 would take 3.4 GB and minutes for each ask.
Many labels leave few experts that matter, and as many are selected as can be exact
(`most_experts`).

Inducing points (`core.extensions.inducing_gp`) cost t m^2 with m of them. They replace exact
experts where an eighth of the labels, or fewer, leave a mean remainder of at most
MAX_REMAINDER_NOISE_SHARE of the noise. A rough function needs more: with half of the labels as
inducing points an exact expert is cheaper, so it stays exact while that fits. Beyond MOST_EXACT
labels an expert has as many points as keep the work t m^2 below LABEL_WORK: 926 points for 10,000
labels.

Points are chosen among the labelled inputs; of more than MAX_PIVOT_CANDIDATES, among that many,
evenly spaced in the order of their values. The set of inputs decides, neither its order nor the
last bit of a scaling.
"""

from dataclasses import dataclass

import numpy as np

from weal.core.arrays import Array
from weal.core.extensions.embeddings import EncodedFeatures, RandomFeatures, RawInputs
from weal.core.extensions.inducing_gp import InducingFeatures, pivoted_cholesky
from weal.core.extensions.label_warp import LabelWarp
from weal.core.extensions.outliers.prior import NO_OUTLIERS, OutlierReport
from weal.core.paper import kernels, random_features
from weal.core.paper.ensemble import Ensemble
from weal.core.paper.exact_gp import LEAST_RATIO
from weal.core.paper.feature_gp import FeatureExperts
from weal.core.paper.kernels import Kernel
from weal.core.protocols import Embedding
from weal.model.parameters import ModelParameters, encoded_experts

MAX_LABELS_ALWAYS_EXACT = 2000  # labels up to which nothing is approximated
MAX_FACTOR_BYTES = 2**30  # for the factors of all experts
MOST_EXACT = 4000  # labels of exact experts, above SURELY_EXACT
MAX_INDUCING_POINTS = 4000  # inducing points of an expert
LABEL_WORK = 2**33  # labels times squared inducing points, of all experts, beyond MOST_EXACT labels
MIN_LABELS_PER_INDUCING_POINT = 8  # labels for each inducing point from which these are few
MAX_REMAINDER_NOISE_SHARE = 1e-3  # mean remainder, as a share of the noise ratio
MAX_PIVOT_CANDIDATES = 8000


def most_exact(M: int) -> int:
    """Largest number of labels for which M exact experts fit the memory."""
    return max(MAX_LABELS_ALWAYS_EXACT, min(MOST_EXACT, int((MAX_FACTOR_BYTES / (8 * M)) ** 0.5)))


def most_points(M: int, t: int = 0) -> int:
    """Largest number of inducing points for each of M experts and t labels.

    Memory for a factor and a root, and the work of a label, grow with its square.
    """
    fit = min(MAX_INDUCING_POINTS, int((MAX_FACTOR_BYTES / (2 * 8 * M)) ** 0.5))
    return fit if t <= MOST_EXACT else max(1, min(fit, int((LABEL_WORK / (M * t)) ** 0.5)))


def most_experts(t: int) -> int:
    """Largest number of exact experts for t labels; at least one."""
    return max(1, MAX_FACTOR_BYTES // (8 * max(t, MAX_LABELS_ALWAYS_EXACT) ** 2))


def choose_kind(
    approximation: str, dictionary: tuple[Kernel, ...], noise: Array, X: Array
) -> RawInputs | InducingFeatures:
    """The kind of expert for noise ratios (M,) and labelled inputs X (t, d); not for "features"."""
    t, M = len(X), len(dictionary)
    if approximation == "exact" or (approximation == "auto" and t <= MAX_LABELS_ALWAYS_EXACT):
        return RawInputs()
    if approximation == "auto" and t <= most_exact(M):
        few = _inducing(
            dictionary,
            noise,
            X,
            min(t // MIN_LABELS_PER_INDUCING_POINT, most_points(M)),
            whole=True,
        )
        return few or RawInputs()
    return _inducing(dictionary, noise, X, most_points(M, t)) or RawInputs()


def _inducing(
    dictionary: tuple[Kernel, ...], noise: Array, X: Array, most: int, whole: bool = False
) -> InducingFeatures | None:
    """Inducing features with at most `most` points; with `whole`, None if these do not suffice."""
    X = np.unique(X, axis=0)
    X = X[np.linspace(0, len(X) - 1, min(len(X), MAX_PIVOT_CANDIDATES)).round().astype(np.intp)]
    Z = []
    for kernel, lam in zip(dictionary, np.maximum(noise, LEAST_RATIO).tolist(), strict=True):
        found = pivoted_cholesky(kernel, X, most, MAX_REMAINDER_NOISE_SHARE * lam)
        if whole and not found.enough:
            return None
        Z.append(X[found.rows])
    return InducingFeatures.of(dictionary, Z)


@dataclass(frozen=True, slots=True, eq=False)
class SelectedPrior:
    """The selected experts as a prior: before the first label."""

    dictionary: tuple[Kernel, ...]  # M; empty if the kernels are not ours to know
    embedding: Embedding
    ensemble: Ensemble  # before the first label
    warp: LabelWarp  # of the labels, as the experts see them
    outliers: OutlierReport = NO_OUTLIERS  # of the labels


def _embedding(
    setting: ModelParameters, dictionary: tuple[Kernel, ...], noise: Array, X: Array, seed: int
) -> Embedding:
    """The embedding of inputs for these experts, noise ratios (M,) and labelled inputs X."""
    if setting.approximation == "encoded":
        return EncodedFeatures.of(encoded_experts(setting, X.shape[1]), len(noise))
    if setting.approximation != "features":
        return choose_kind(setting.approximation, dictionary, noise, X)
    d = X.shape[1]
    zeta = random_features.draw_frequencies(
        dictionary, d, setting.n_frequencies, seed, setting.orthogonal
    )
    offset = np.array([kernel.offset for kernel in dictionary])
    return RandomFeatures(zeta, offset if offset.any() else None)


def _correlations(dictionary: tuple[Kernel, ...], X: Array, M: int) -> Array:
    """Correlations (M, t, t) of the kernels, or of encoded features."""
    if dictionary:
        return np.stack([kernels.correlation(kernel, X, X) for kernel in dictionary])
    Phi = EncodedFeatures(M).points(None, X)
    return FeatureExperts.prior(M, Phi.shape[2]).prior_covariance(Phi, Phi)
