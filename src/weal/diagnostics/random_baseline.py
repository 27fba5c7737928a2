"""The error of random choice, by simulation: both strategies on functions drawn from the model.

A function is drawn from the present posterior: an expert by its weight, its magnitude, then joint
values at the labelled rows, at rows for random choice, and at test rows (all drawn from the
candidates; they may coincide). On each function noisy labels are drawn, and the present experts,
with their prior weights, are trained on

    the labelled rows, as they are      and      as many rows chosen at random

The ratio of their root mean square errors on the test rows is the gain of choosing. It is an
estimate: both strategies use the experts selected with the labels, and the functions are draws of
the model.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.extensions.conjugate_magnitude import ConjugateMagnitude
from weal.core.paper import ensemble
from weal.core.paper.ensemble import Ensemble
from weal.core.scaling import Scaling
from weal.diagnostics.leave_one_out import main_experts
from weal.goals.protocol import Loss
from weal.model.model import in_units
from weal.model.training import TrainedEnsemble
from weal.progress import Progress

# functions: all of them up to this number of labels, then fewer
FUNCTIONS_DRAWN, FEWEST_DRAWN, MAX_LABELS_FOR_ALL_DRAWS = 24, 8, 120
MAX_TEST_ROWS = 200  # rows, at most, that errors are taken over
MAX_LABELS = 300  # labels up to which it is done: it costs t^3 for each draw
TAKES_PART_FROM = 1e-3  # weight of an expert that takes part
Places = NDArray[np.intp]
_RANDOM_BASELINE_KEY = 13  # part of the random key


@dataclass(frozen=True, slots=True)
class RandomComparison:
    """Error of random choice over the error of the labelled rows: median and 80 % interval."""

    ratio: float
    low: float
    high: float
    draws: int
    labels: int


def compare_with_random(
    trained: TrainedEnsemble, scale: Scaling, X: Array, seed: int, loss: Loss,
    progress: Progress | None = None,
) -> RandomComparison | None:  # fmt: skip
    """Compare the labelled rows with random choice among scaled candidates X (U, d), by a loss.

    None with fewer than two labels, or more than MAX_LABELS.
    """
    t = len(trained.y)
    if not 1 < t <= MAX_LABELS:
        return None
    trained = main_experts(trained, TAKES_PART_FROM)
    rng = np.random.default_rng([seed, _RANDOM_BASELINE_KEY, t])
    U = len(X)
    test = rng.choice(U, min(MAX_TEST_ROWS, U), replace=False)
    others = rng.choice(U, min(2 * t, U), replace=False)
    rows = np.concatenate([trained.X, X[others], X[test]])
    where = np.arange(t + len(others), len(rows))
    believed: dict[int, tuple[Array, Array]] = {}  # by expert
    ratios = []
    draws = int(
        np.clip(
            FUNCTIONS_DRAWN * (MAX_LABELS_FOR_ALL_DRAWS / t) ** 2, FEWEST_DRAWN, FUNCTIONS_DRAWN
        )
    )
    for n in range(draws):
        m, f = draw(trained, rows, rng, believed)
        chosen = t + rng.choice(len(others), min(t, len(others)), replace=False)
        errors = [
            _error(trained, scale, rows, f, m, learnt, where, rng, loss)
            for learnt in (np.arange(t), chosen)
        ]
        ratios.append(errors[1] / errors[0])
        if progress:
            progress("comparison with random choice", n + 1, draws)
    low, ratio, high = np.quantile(ratios, [0.1, 0.5, 0.9]).tolist()
    return RandomComparison(ratio, low, high, draws, t)


def draw(
    trained: TrainedEnsemble,
    X: Array,
    rng: np.random.Generator,
    believed: dict[int, tuple[Array, Array]],
) -> tuple[int, Array]:
    """Draw a function from the posterior at scaled X (N, d): its expert, and warped values (N,).

    The posterior of each expert at X is cached in `believed`.
    """
    ens = trained.ensemble
    m = int(rng.choice(len(ens.log_w), p=ens.w / ens.w.sum()))
    if m not in believed:
        believed[m] = _mean_and_root(trained, m, X)
    mean, root = believed[m]
    sig2 = ens.magnitude[m]
    if isinstance(ens.scale, ConjugateMagnitude):  # 1 / sig2 ~ gamma(a, rate b)
        sig2 = ens.scale.b[m] / rng.gamma(ens.scale.a[m])
    return m, mean + np.sqrt(sig2) * (root @ rng.standard_normal(len(X)))


def _mean_and_root(trained: TrainedEnsemble, m: int, X: Array) -> tuple[Array, Array]:
    """Means of expert m at X, and a root of its covariance in units of the magnitude.

    By eigenvectors: rows may coincide, and there is then no Cholesky factor. The covariance is not
    that of `joint_posterior`, which rounds it to the variances of predictions: drawn functions of
    campaigns of 0.2 stay as they were.
    """
    experts = trained.ensemble.experts.take([m])
    points = trained.embedding.take([m]).points(experts, X)
    alone = np.diag(experts.remainders(points)[0])
    values, vectors = np.linalg.eigh(experts.covariance(points, points)[0] + alone)
    return experts.predict(points)[0][0], vectors * np.sqrt(np.maximum(values, 0.0))


def _error(
    trained: TrainedEnsemble, scale: Scaling, rows: Array, f: Array, m: int, learnt: Places,
    test: Places, rng: np.random.Generator, loss: Loss,
) -> float:  # fmt: skip
    """The loss on the test rows of experts that learn the labels of some rows."""
    ens = trained.ensemble
    noise = ens.magnitude[m] * np.broadcast_to(ens.noise_at(rows)[m], len(rows))  # (N,)
    z = f[learnt] + np.sqrt(noise[learnt]) * rng.standard_normal(len(learnt))
    after = _train_on_draw(trained, rows[learnt], z)
    points = trained.embedding.points(after.experts, rows[test])
    lam = trained.noise_at(rows[test])
    moments = ensemble.predict(after, points)
    mean, _ = in_units(replace(trained, ensemble=after), scale, *moments, lam=lam)
    truth = scale.means(trained.warp.moments(f[test], np.zeros(len(test)), noise[test])[0])
    return loss(mean, truth)


def _train_on_draw(trained: TrainedEnsemble, X: Array, z: Array) -> Ensemble:
    experts = trained.embedding.prior_experts(
        trained.dictionary, X.shape[1], len(trained.prior.log_w)
    )
    start = replace(trained.prior, experts=experts)
    known = start.known_noise(X, np.zeros(len(z)))
    return ensemble.update_many(start, trained.embedding.points(experts, X), z, known)
