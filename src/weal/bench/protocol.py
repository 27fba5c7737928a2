"""One method on one realisation of one task: NMSE and NPLL after every label.

    NMSE = mean (mean_i - y_i)^2 / var(y)            over the test points
    NPLL = mean (-log p(y_i)) - log sd(y)            p in raw units, noise included
    joint NPLL = -log p(y_1, ..., y_N)               as the paper writes it (`joint`)

so that predicting mean and sd of the test labels scores 1 and 1/2 log(2 pi e) = 1.42 in the first
two. The joint one is in nats of all N labels together and in their units: it differs from task to
task, but not from method to method.

A run depends on (task, method, realisation, seed, T) and nothing else: results are the same to
the last digit in any order and on any number of processes, as long as each has one BLAS thread.
"""

import time
from dataclasses import dataclass

import numpy as np

from weal.bench.methods import Method
from weal.bench.places import Folder
from weal.bench.tasks import Task, draw
from weal.core.arrays import Array


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """How a method fared on a realisation; entry t is after t queries."""

    task: str
    method: str
    realisation: int
    labels: Array  # (T + 1,)  labels spent
    nmse: Array  # (T + 1,)
    npll: Array  # (T + 1,)
    joint: Array  # (T + 1,)  joint NPLL; NaN where it was not read
    seconds: Array  # (T + 1,)  processor time so far, metrics included
    experts: dict[str, list[float]]  # weight of each expert over time
    acquisitions: dict[str, list[float]]  # weight of each acquisition function over time


def play(
    task: Task, method: Method, realisation: int, seed: int, T: int, data_folder: Folder = None
) -> Curve:
    """The curve of a method on a realisation."""
    split = draw(task, realisation, seed, data_folder)
    key = int(np.random.default_rng([seed, task.number, realisation, 1]).integers(2**31 - 1))
    T = min(T, len(split.yu))
    start = time.process_time()
    rows, experts, acquisitions = [], [], []
    for reading in method.play(split, task.eta, key, T):
        nmse = np.mean((reading.mean - split.yt) ** 2) / np.var(split.yt)  # [1, metric:nmse]
        npll = -np.mean(reading.log_density) - np.log(np.std(split.yt))  # [1, metric:npll]
        rows.append((reading.labels, nmse, npll, -reading.joint, time.process_time() - start))
        experts.append(reading.experts)
        acquisitions.append(reading.acquisitions)
    labels, nmses, nplls, joints, seconds = np.array(rows, dtype=np.float64).T
    return Curve(
        task.name,
        method.name,
        realisation,
        labels,
        nmses,
        nplls,
        joints,
        seconds,
        _over_time(experts),
        _over_time(acquisitions),
    )


def _over_time(weights: list[dict[str, float]]) -> dict[str, list[float]]:
    """Weights by name, one entry for each reading; 0 where a name is not there yet."""
    names = dict.fromkeys(name for reading in weights for name in reading)
    return {name: [reading.get(name, 0.0) for reading in weights] for name in names}
