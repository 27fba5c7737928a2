"""Candidates from ranges (`weal.box`): number of candidates, refinement, costs of labels.

    python benchmarks/boxes.py [--quick] [--to FILE]

The stirred reactor of docs/guide/simulator.md (three inputs, one of them a category, within a
safety limit), and a function of two inputs that is finer than a small box. Boxes of several sizes,
one of them refined as labels come, are learnt by the default; errors are root mean squares over
TEST rows of the same ranges, in units of the sd of their labels. With costs, labels are taken until
so many minutes of the reactor are spent. Boxes and first labels differ from seed to seed.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record

import weal

SEEDS, TEST, TEST_SEED = 10, 3000, 99
ROUND, NEW = 10, 100  # labels between refinings, and candidates that each adds
MINUTES = 900.0
Row = dict[str, Any]


def conversion(row: Row) -> float:
    """Per cent, of the reactor."""
    speed, barrier = {"A": (3.0, 12.0), "B": (1.0, 16.0)}[row["catalyst"]]
    kelvin = row["temp"] + 273.0
    k = speed * math.exp(barrier * (1.0 - 373.0 / kelvin)) * row["time"] / 10.0
    ruined = row["time"] * math.exp(25.0 * (1.0 - 440.0 / kelvin))
    return float(100.0 * k / (1.0 + k) * math.exp(-ruined))


def safe(row: Row) -> bool:
    return bool(row["temp"] * row["time"] < 6000.0)


def minutes(row: Row) -> float:
    return 2.0 + float(row["time"])


def ripples(row: Row) -> float:
    """Finer than a small box."""
    return math.sin(6.0 * row["a"]) * math.exp(row["b"])


@dataclass(frozen=True)
class Simulator:
    """A function of ranges, the boxes to try, and after how many labels to look."""

    name: str
    compute: Callable[[Row], float]
    inputs: dict[str, Any]
    sizes: tuple[int, int]  # of the large and the small box
    looks: tuple[int, ...]
    constraint: Callable[[Row], bool] | None = None

    def box(self, n: int, seed: int) -> Any:
        return weal.box(self.inputs, n=n, constraint=self.constraint, seed=seed)


REACTOR = Simulator(
    "A stirred reactor",
    conversion,
    {"temp": (20, 200), "time": (1, 60, "log"), "catalyst": ["A", "B"]},
    (2000, 100),
    (30, 60),
    safe,
)
RIPPLES = Simulator(
    "A function finer than its box: sin(6a) exp(b)",
    ripples,
    {"a": (-1.0, 1.0), "b": (-1.0, 1.0)},
    (1000, 60),
    (30, 55),
)


@dataclass(frozen=True, eq=False)
class Test:
    """Rows of the ranges and their labels."""

    X: Any
    y: Any  # (TEST,)

    def error(self, learner: weal.ActiveLearner) -> float:
        """In units of the sd of the labels."""
        off = learner.predict(self.X) - self.y
        return float(np.sqrt(np.mean(off**2)) / self.y.std())


def test_of(simulator: Simulator) -> Test:
    X = simulator.box(TEST, TEST_SEED)
    return Test(X, np.array([simulator.compute(row) for row in X.to_dict("records")]))


def boxes(simulator: Simulator, seeds: int) -> Iterator[Row]:
    """A row for each box, seed and number of labels."""
    test, (large, small) = test_of(simulator), simulator.sizes
    for seed in range(seeds):
        for n, refined in ((large, False), (small, False), (small, True)):
            learner = weal.ActiveLearner(simulator.box(n, seed), seed=seed)
            box = f"{n:,} candidates" + (f", {NEW} more after every {ROUND} labels" * refined)
            while len(learner.labels) < max(simulator.looks):
                if refined and learner.labels:
                    learner.refine(NEW, constraint=simulator.constraint)
                learner.run(simulator.compute, until(simulator, len(learner.labels)))
                if (labels := len(learner.labels)) in simulator.looks:
                    error = test.error(learner)
                    yield {"section": simulator.name, "who": box, "labels": labels,
                           "realisation": seed, "error": error}  # fmt: skip


def until(simulator: Simulator, labels: int) -> int:
    """Labels to the next round, or to the next look if that comes first."""
    to = [look - labels for look in simulator.looks if look > labels]
    return min([ROUND - labels % ROUND, *to])


def costs(seeds: int) -> Iterator[Row]:
    """Errors when so many minutes are spent, without and with costs."""
    test = test_of(REACTOR)
    for seed in range(seeds):
        for who, cost in (("costs not told", None), ("costs told", minutes)):
            learner = weal.ActiveLearner(REACTOR.box(500, seed), seed=seed, cost=cost)
            spent = 0.0
            while spent < MINUTES:
                name = learner.ask()
                row = learner.candidates.row(name)
                spent += minutes(row)
                learner.tell(name, conversion(row))
            yield {"section": f"Costs: {MINUTES:.0f} minutes of the reactor", "who": who,
                   "labels": len(learner.labels), "realisation": seed,
                   "error": test.error(learner)}  # fmt: skip


def main() -> None:
    given = record.options(__doc__)
    seeds = 2 if given.quick else SEEDS
    found = []
    for row in chain(boxes(REACTOR, seeds), boxes(RIPPLES, seeds), costs(seeds)):
        print(*row.values(), sep="  ", flush=True)
        found.append(row)
    if given.to:
        record.write(given.to, "boxes of candidates", found, range(seeds))


if __name__ == "__main__":
    main()
