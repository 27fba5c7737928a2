"""Upper bounds of the gain from choosing on real tables.

    python -m benchmarks.real_labels.ceiling --data FOLDER [--seeds 0:3] [--queries 60] --to FILE

The areas of `choice`, on the same splits, for bounds, which are not methods but limits to compare
one with:

    all     every label of the pool is known from the start
    twice   random choice, two labels for each query
    oracle  of 30 candidates by lot the candidate whose label lowers the error on the
            test rows most: it looks at labels of candidates and at labels of the test

The oracle sees one half of the test rows. "area seen" is the area on these, which it lowers by
luck, too; "area" is that on the other half, for all methods. It looks one label ahead, and with the
experts as they are.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import record
from benchmarks.real_labels.choice import FIRST, SEED, at_hand
from benchmarks.real_labels.tasks import EVERY, TABLES

from weal import ActiveLearner, EnsembleGPRegressor
from weal.benchmark.data_folders import Folder
from weal.benchmark.summary import MIN_LOG_NMSE
from weal.benchmark.tasks import Split, draw
from weal.core.arrays import Array

LOOKED_AT = 30  # candidates of the oracle
FOR_ORACLE = ("California", "Diabetes", "Tanzania 2015", "elevation")
METHODS = ("auto", "random", "all", "twice", "oracle")
Rows = NDArray[np.intp]
Pick = Callable[[ActiveLearner], int]


def halves(split: Split, realisation: int) -> tuple[Rows, Rows]:
    """Test rows that the oracle sees, and the others."""
    order = np.random.default_rng([6, realisation]).permutation(len(split.yt))
    return order[: len(order) // 2], order[len(order) // 2 :]


def errors(split: Split, predicted: Array, parts: tuple[Rows, Rows]) -> list[float]:
    """log10 NMSE on the rows of each part."""
    found = [
        np.mean((predicted[rows] - split.yt[rows]) ** 2) / np.var(split.yt[rows]) for rows in parts
    ]
    return [float(np.log10(np.maximum(one, MIN_LOG_NMSE))) for one in found]


def knowing_all(split: Split, parts: tuple[Rows, Rows]) -> Array:  # (1, 2)
    """Errors of the model that was told everything."""
    X, y = np.concatenate([split.X0, split.Xu]), np.concatenate([split.y0, split.yu])
    return np.array([errors(split, EnsembleGPRegressor().fit(X, y).predict(split.Xt), parts)])


def oracle(split: Split, seen: Rows, realisation: int) -> Pick:
    """The choice of an oracle that knows all labels."""
    rng = np.random.default_rng([5, realisation])
    left = list(range(len(split.yu)))

    def error(learner: ActiveLearner, n: int) -> float:
        model = EnsembleGPRegressor.of(learner.model)
        model.partial_fit(split.Xu[[n]], split.yu[[n]])
        return float(np.mean((model.predict(split.Xt[seen]) - split.yt[seen]) ** 2))

    def pick(learner: ActiveLearner) -> int:
        some = rng.choice(left, min(LOOKED_AT, len(left)), replace=False).tolist()
        best: int = min(some, key=lambda n: error(learner, n))
        left.remove(best)
        return best

    return pick


def curve(name: str, method: str, realisation: int, queries: int, data: Folder) -> Array:
    """Errors (T, 2) after each query, on the rows that the oracle sees and on the others."""
    task = EVERY[name]
    split = draw(task, FIRST + realisation, SEED, data)
    parts = halves(split, realisation)
    if method == "all":
        return knowing_all(split, parts)
    how = "auto" if method == "auto" else "random"
    options: dict[str, Any] = {"eta": task.eta, "n_start": 1, "seed": realisation}
    learner = ActiveLearner(split.Xu, acquisition=how, **options)
    learner.tell_points(split.X0, split.y0)
    ask: Pick = oracle(split, parts[0], realisation) if method == "oracle" else ActiveLearner.ask
    test, found = learner.watch(split.Xt), []
    for _ in range(queries):
        for _ in range(2 if method == "twice" else 1):
            n = ask(learner)
            learner.tell(n, split.yu[n])
        found.append(errors(split, test.predict()[0], parts))
    return np.array(found)


def runs(seeds: range, queries: int, data: Folder) -> Iterator[dict[str, Any]]:
    """One row for each method, table and realisation."""
    for seed in seeds:
        for method in METHODS:
            for name in at_hand(data, FOR_ORACLE if method == "oracle" else TABLES):
                seen, rest = curve(name, method, seed, queries, data).mean(axis=0)
                row = {"task": name, "method": method, "realisation": seed, "batch": 1}
                yield {**row, "area": rest, "area seen": seen}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0:3", help="first:last, the last left out")
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--data", default=None)
    record.add_option(parser)
    given = parser.parse_args()
    found: list[dict[str, Any]] = []
    for row in runs(range(*map(int, given.seeds.split(":"))), given.queries, given.data):
        print(*row.values(), flush=True)
        found.append(row)
        if given.to:
            what = f"ceiling of choice, {given.queries} queries"
            record.write(
                given.to, what, found, f"seed {SEED}, realisations {FIRST} + {given.seeds}"
            )


if __name__ == "__main__":
    main()
