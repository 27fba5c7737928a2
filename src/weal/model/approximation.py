"""Which kind of experts, for how many labels: exact ones as long as they fit, then inducing points.

With t labels an exact expert takes t^2 numbers and t^3 / 3 multiplications. That is next to nothing
up to SURELY_EXACT labels, and bearable while M of them take BYTES at the most, to 3,300 labels for
12 experts, and up to MOST_EXACT labels: 10,000 would take 3.4 GB and minutes for each ask. With
many labels few experts are left that matter, and as many play as can be exact (`most_experts`).

Inducing points (`core.extensions.inducing_gp`) cost t m^2 with m of them. A smooth function is
known through few: where an eighth of the labels, or fewer, leave remainders whose mean is ENOUGH of
the noise, they do as well as exact experts for a fraction of the cost, and are taken. A rough one
needs more than pays: with half of the labels as inducing points an exact expert is cheaper. So it
stays exact while that fits. Beyond MOST_EXACT labels it has the most points whose work t m^2 is
LABEL_WORK, so that the time of a fold is bounded however many labels there are: 926 points for
10,000 labels.

Points are chosen among the labelled inputs, of more than CHOSEN_FROM among so many, taken evenly in
the order of their values: so the set of inputs decides, and not the order in which they came nor
the last bit of a scaling.
"""

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.extensions.embeddings import Exact
from weal.core.extensions.inducing_gp import Inducing
from weal.core.extensions.pivoted_cholesky import pivots
from weal.core.paper.exact_gp import LEAST_RATIO
from weal.core.paper.kernels import Kernel

SURELY_EXACT = 2000  # labels up to which nothing is approximated
BYTES = 2**30  # for the factors of all experts
MOST_EXACT = 4000  # labels of exact experts, above SURELY_EXACT
MOST_POINTS = 4000  # inducing points of an expert
LABEL_WORK = 2**33  # labels times squared inducing points, of all experts, beyond MOST_EXACT labels
FEW = 8  # labels for each inducing point from which these are few
ENOUGH = 1e-3  # mean remainder, as a share of the noise ratio
CHOSEN_FROM = 8000


def most_exact(M: int) -> int:
    """Labels up to which M experts may be exact ones."""
    return max(SURELY_EXACT, min(MOST_EXACT, int((BYTES / (8 * M)) ** 0.5)))


def most_points(M: int, t: int = 0) -> int:
    """Inducing points that M experts of t labels may have each: a factor and a root take their
    square, and so does the work of a label.
    """
    fit = min(MOST_POINTS, int((BYTES / (2 * 8 * M)) ** 0.5))
    return fit if t <= MOST_EXACT else max(1, min(fit, int((LABEL_WORK / (M * t)) ** 0.5)))


def most_experts(t: int) -> int:
    """Experts that may be exact ones for t labels; one at the least."""
    return max(1, BYTES // (8 * max(t, SURELY_EXACT) ** 2))


def chosen(
    approximation: str, dictionary: tuple[Kernel, ...], noise: Array, X: Array
) -> Exact | Inducing:
    """For experts with noise ratios (M,) and labelled inputs X (t, d); not for "features"."""
    t, M = len(X), len(dictionary)
    if approximation == "exact" or (approximation == "auto" and t <= SURELY_EXACT):
        return Exact()
    if approximation == "auto" and t <= most_exact(M):
        few = _inducing(dictionary, noise, X, min(t // FEW, most_points(M)), whole=True)
        return few or Exact()
    return _inducing(dictionary, noise, X, most_points(M, t)) or Exact()


def _inducing(
    dictionary: tuple[Kernel, ...], noise: Array, X: Array, most: int, whole: bool = False
) -> Inducing | None:
    """Experts with at most so many points; None if that is not enough, where it has to be."""
    X = np.unique(X, axis=0)
    X = X[np.linspace(0, len(X) - 1, min(len(X), CHOSEN_FROM)).round().astype(np.intp)]
    Z = []
    for kernel, lam in zip(dictionary, np.maximum(noise, LEAST_RATIO).tolist(), strict=True):
        found = pivots(kernel, X, most, ENOUGH * lam)
        if whole and not found.enough:
            return None
        Z.append(X[found.rows])
    return Inducing.of(dictionary, Z)


def least_hashes(rows: Array, most: int) -> NDArray[np.intp]:
    """Positions of the rows (t, n) with the least hashes of what is in them, in that order."""
    keys = [blake2b(row.tobytes(), digest_size=8).digest() for row in rows + 0.0]
    return np.array(sorted(range(len(rows)), key=keys.__getitem__)[:most], dtype=np.intp)
