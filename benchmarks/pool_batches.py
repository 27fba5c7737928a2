"""Loss from choosing a batch from a shortlist instead of the whole pool.

Campaigns in pairs, on the same rows and with the same noise: five batches of 16, chosen over the
whole pool in memory, and from shortlists of several lengths. A curve is the mean over its batches
of log10 NMSE on held-out points (not below FLOOR), a difference is that of two curves; its interval
is of the mean over tasks and seeds, at 95 %. A shortlist of length n has the n best of every
function and 4 n rows by hash, as ours: n is 1,024.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np

import weal
from weal.benchmark.tasks import TASKS
from weal.learner import choosing
from weal.learner.pools import sharded as sharded

BATCH, BATCHES, TEST, NOISE, FLOOR = 16, 5, 2000, 0.1, 1e-5
TASKS_USED = ("five", "branin", "currin", "ackley")


@dataclass(frozen=True, eq=False)
class Split:
    """Rows of a task, their labels with noise, and points to test on."""

    X: Any  # (rows, d)
    y: Any  # (rows,)
    test: Any  # (TEST, d)
    truth: Any  # (TEST,)


def five(X: Any) -> Any:
    """A function of five inputs."""
    wave = np.sin(3.0 * X[:, 0]) + np.cos(2.0 * X[:, 3]) / 2.0
    return wave + X[:, 1] * X[:, 2] + 0.3 * X[:, 4] ** 2


def split(task: str, rows: int, seed: int) -> Split:
    """A task at that size."""
    rng = np.random.default_rng([3, TASKS_USED.index(task), seed])
    if task == "five":
        X = rng.uniform(-1.0, 1.0, (rows + TEST, 5))
        y = five(X)
    else:
        X, y = TASKS[task].points.sample(rng, rows + TEST)
    noisy = y[:rows] + NOISE * y.std() * rng.standard_normal(rows)
    return Split(X[:rows], noisy, X[rows:], y[rows:])


@contextmanager
def length(n: int) -> Iterator[None]:
    """Shortlists of that length, meanwhile."""
    with (
        patch.object(sharded, "LISTED", n),
        patch.object(choosing, "SAMPLE_SHORTLIST", 4 * n),
    ):
        yield


def area(pool: Any, given: Split, seed: int, **how: Any) -> float:
    """The mean over batches of log10 NMSE."""
    learner, errors = weal.ActiveLearner(pool, seed=seed, **how), []
    for _ in range(BATCHES):
        names = learner.ask(BATCH)
        learner.tell(names, given.y[names])
        error = ((learner.model.predict(given.test) - given.truth) ** 2).mean()
        errors.append(np.log10(max(error / given.truth.var(), FLOOR)))
    return float(np.mean(errors))


def differences(rows: int, seeds: int, lengths: tuple[int, ...]) -> dict[int, list[float]]:
    """By length, shortlist minus whole pool, for every task and seed; printed as they come."""
    found: dict[int, list[float]] = {n: [] for n in lengths}
    for seed in range(seeds):
        for task in TASKS_USED:
            given = split(task, rows, seed)
            whole = area(given.X, given, seed)
            for n in lengths:
                with length(n):
                    pool = weal.open_pool(given.X)
                    found[n].append(area(pool, given, seed, threads=1) - whole)
            last = ", ".join(f"{n}: {found[n][-1]:+.3f}" for n in lengths)
            print(f"{task} {seed}: whole pool {whole:.3f}; {last}", flush=True)
    return found


def interval(values: list[float]) -> tuple[float, float]:
    """The mean, and half the length of its interval."""
    return float(np.mean(values)), float(1.96 * np.std(values, ddof=1) / np.sqrt(len(values)))
