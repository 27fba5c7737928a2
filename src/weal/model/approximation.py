"""Which kind of experts, for how many labels: exact ones as long as they fit, then inducing points.

With t labels an exact expert takes t^2 numbers and t^3 / 3 multiplications. Up to EXACT_LABELS that
is a second or so, and M of them are held to EXACT_BYTES; below SURELY_EXACT nothing is approximated
whatever M is. Beyond, experts know f through inducing points (`core.inducing`), as many as it takes
for what they leave to be small against the noise (ENOUGH), and at the most as many as there would
have been labels to the last exact experts. So more labels never predict worse: right after the
switch every label is an inducing point, which is exact, and from then on points are chosen among
more labels, and more labels are learnt from, at a cost that grows with t and not with t^3.

Points are chosen among the labelled inputs, CHOSEN_FROM times as many at most as are wanted: those
with the least hashes of the row, in the order of these, so that the set of inputs decides and their
order does not.
"""

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.exact import LEAST_RATIO
from weal.core.inducing import Inducing
from weal.core.kernels import Kernel
from weal.core.pivots import pivots

EXACT_LABELS = 4000
EXACT_BYTES = 2**30
SURELY_EXACT = 1500
ENOUGH = 0.01  # mean remainder, as a share of the noise ratio
CHOSEN_FROM = 3


def most_exact(M: int) -> int:
    """Labels up to which M experts are exact ones."""
    by_memory = int((EXACT_BYTES / (8 * max(M, 1))) ** 0.5)
    return min(EXACT_LABELS, max(SURELY_EXACT, by_memory))


def exact(approximation: str, t: int, M: int) -> bool:
    """Whether M experts are exact ones, for t labels."""
    return approximation == "exact" or (approximation == "auto" and t <= most_exact(M))


def inducing(dictionary: tuple[Kernel, ...], noise: Array, X: Array) -> Inducing:
    """Inducing points for experts with noise ratios (M,), out of labelled inputs X (t, d)."""
    most = most_exact(len(dictionary))
    X = np.unique(X + 0.0, axis=0)  # -0.0 is 0.0
    X = X[least_hashes(X, CHOSEN_FROM * most)]
    enough = ENOUGH * np.maximum(noise, LEAST_RATIO)
    each = zip(dictionary, enough.tolist(), strict=True)
    return Inducing.of(dictionary, [X[pivots(kernel, X, most, few)] for kernel, few in each])


def least_hashes(rows: Array, most: int) -> NDArray[np.intp]:
    """Positions of the rows (t, n) with the least hashes of what is in them, in that order."""
    keys = [blake2b(row.tobytes(), digest_size=8).digest() for row in rows + 0.0]
    return np.array(sorted(range(len(rows)), key=keys.__getitem__)[:most], dtype=np.intp)
