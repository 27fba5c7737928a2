"""The advice to stop a search for the best row, followed on laboratory tables.

    python benchmarks/stopping.py --starts 8 --to FILE

Each search begins with FIRST_LABELS random labels of a table of `goals.LABORATORY` and goes on to
LABELS. After each label two largest expected improvements are noted, in sds of the labels: over the
unmeasured rows, and over the sample of all rows that `weal status` keeps from one label to the
next. The advice to stop comes when the first of them, and before the last label the second, are
below `goals.best.LITTLE_GAIN`. What counts is the regret: how far the best label is below the best
row of the table, as a share of the range of its results.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record
from benchmarks.goals import BESIDE, LABORATORY, pool_rows
from benchmarks.robust import say

from weal import ActiveLearner
from weal.benchmark.user_table import OwnRows
from weal.core.arrays import Array
from weal.diagnostics.error_trend import expected_error_inputs
from weal.diagnostics.set_progress import goal_value
from weal.goals.best import LITTLE_GAIN, Maximise

FIRST_LABELS, LABELS = 10, 60
MUCH = 0.02  # regret, as a share of the range
_START_KEY = 77  # part of the random key of the first labels


def search(points: OwnRows, seed: int) -> tuple[int | None, Array]:
    """The number of labels at which the advice comes (None: never), and the regret after each."""
    X, y = points.X, points.y
    told = np.random.default_rng([seed, _START_KEY]).permutation(len(y))[:FIRST_LABELS].tolist()
    learner = ActiveLearner(X, goal="maximise", seed=seed, n_start=FIRST_LABELS)
    learner.tell(told, y[told])
    stop, before = None, np.inf
    while True:
        sd = float(y[told].std(ddof=1))
        if stop is None and _gain(learner, np.delete(X, told, axis=0)) < LITTLE_GAIN * sd > before:
            stop = len(told)
        if len(told) >= LABELS:
            break
        before = _gain(learner, expected_error_inputs(learner.state))
        row = int(learner.ask())
        learner.tell(row, float(y[row]))
        told.append(row)
    best = np.maximum.accumulate(y[told])
    return stop, (y.max() - best) / (y.max() - y.min())


def _gain(learner: ActiveLearner, X: Array) -> float:
    """The largest expected improvement over rows X (N, d), in units of the label."""
    model = learner.model
    found = goal_value(Maximise(), model.trained, model.scaling, model.scaling.inputs(X))
    return np.inf if found is None else found


def summary(found: Sequence[tuple[int | None, Array]]) -> dict[str, float]:
    """Searches that were advised to stop, their labels, and the regret then and at the end."""
    stops = [(stop, regret[stop - 1], regret[-1]) for stop, regret in found if stop is not None]
    labels, then, end = np.array(stops).T
    return {
        "searches": len(found), "stopped": len(stops), "labels": float(np.median(labels)),
        "regret": float(then.mean()), "median_regret": float(np.median(then)),
        "worst_regret": float(then.max()), "much": int((then > MUCH).sum()),
        "end_regret": float(end.mean()),
        "much_at_end": int(sum(regret[-1] > MUCH for _, regret in found)),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=8)
    parser.add_argument("--data", type=Path, default=BESIDE, help="folder of the laboratory tables")
    record.add_option(parser)
    options = parser.parse_args()
    found = []
    for file, result, lowest in LABORATORY:
        points = pool_rows(options.data / f"{file}.csv", result, lowest)
        own = [search(points, seed) for seed in range(options.starts)]
        say(f"{file}, {result}: stopped at {[stop for stop, _ in own]}")
        found += own
    rows = [summary(found)]
    say(str(rows[0]))
    if options.to:
        what = f"the advice to stop, {FIRST_LABELS} random labels and up to {LABELS} in all"
        record.write(options.to, what, rows, f"0:{options.starts}")


if __name__ == "__main__":
    main()
