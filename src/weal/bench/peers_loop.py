"""How a rival plays a split: fit, ask, be told; the same loop for every package.

    X    inputs by the mean and sd of L0 and the candidates        y    labels by those of L0

so that every rival works in the units that we work in, and a density in raw units is one in
scaled units divided by the sd. A rival is two functions:

    fit(X, y, rng)         a model with its hyperparameters fitted to the labels so far
    score(model, known)    what each open candidate is worth; the best is asked next

Hyperparameters are fitted to the first labels and after every few more (`every`); between, the
model is told the labels and its hyperparameters stay. Chance is a key, (seed, t, purpose), and
no stream, so rivals that choose at random are all given the same points.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

import numpy as np
from scipy.spatial.distance import cdist

from weal.bench.methods import Reading
from weal.bench.tasks import Split
from weal.core.arrays import Array
from weal.core.scaling import Scaling, from_data

FIT, ASK = 0, 1  # purposes of a random key


class Model(Protocol):
    """A GP of some package, conditioned on labels, in scaled units."""

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Mean (N,) and variance (N,) of a label at the rows of X, noise included."""

    def told(self, X: Array, y: Array) -> Self:
        """The model given all the labels so far, its hyperparameters kept."""


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What a rival may look at when it asks, in scaled units."""

    X: Array  # (t, d)  labelled inputs
    y: Array  # (t,)    their labels
    C: Array  # (U, d)  open candidates
    rng: np.random.Generator


M = TypeVar("M", bound=Model)
Fit = Callable[[Array, Array, np.random.Generator], M]
Score = Callable[[M, Known], Array]


def variance(model: Model, known: Known) -> Array:  # (U,)
    """Predictive variance of each candidate."""
    return model.predict(known.C)[1]


def igs(model: Model, known: Known) -> Array:  # (U,)
    """Greedy sampling on inputs and outputs: min over labels i of |x - x_i| |mean(x) - y_i|.

    D. Wu, C.-T. Lin and J. Huang, Active learning for regression using greedy sampling, 2019.
    """
    mean, _ = model.predict(known.C)
    apart = cdist(known.C, known.X) * np.abs(mean[:, None] - known.y)  # (U, t)
    return np.asarray(apart.min(axis=1))


def at_random(model: Model, known: Known) -> Array:  # (U,)
    """A draw for each candidate."""
    return known.rng.random(len(known.C))


def play(
    fit: Fit[M], score: Score[M], every: int, split: Split, eta: float, seed: int, T: int
) -> Iterator[Reading]:
    """Readings of a rival whose hyperparameters are fitted after every `every` labels."""
    scaling = from_data(np.concatenate([split.X0, split.Xu]), split.y0)
    Xu, yu = scaling.inputs(split.Xu), scaling.labels(split.yu)
    X, y, left = scaling.inputs(split.X0), scaling.labels(split.y0), np.arange(len(yu))
    model = fit(X, y, np.random.default_rng([seed, 0, FIT]))
    yield _reading(model, scaling, split, len(y))
    for t in range(1, T + 1):
        known = Known(X, y, Xu[left], np.random.default_rng([seed, t, ASK]))
        best = int(np.argmax(score(model, known)))
        X, y = np.vstack([X, Xu[left[best]]]), np.append(y, yu[left[best]])
        left = np.delete(left, best)
        refit = t % every == 0
        model = fit(X, y, np.random.default_rng([seed, t, FIT])) if refit else model.told(X, y)
        yield _reading(model, scaling, split, len(y))


def _reading(model: Model, scaling: Scaling, split: Split, labels: int) -> Reading:
    mean, v = model.predict(scaling.inputs(split.Xt))
    e = scaling.labels(split.yt) - mean
    log_density = -0.5 * (np.log(2 * np.pi * v) + e**2 / v) - np.log(scaling.y_sd)
    return Reading(labels, scaling.means(mean), log_density, {}, {})
