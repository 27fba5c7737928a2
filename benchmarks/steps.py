"""Times of tell and ask in an open process, step by step: `python benchmarks/steps.py [--to FILE]`.

    tell               records the label: nothing is computed
    ask, no selection  follows the label by one column over the pool, and scores it; the slowest
                       against the median of all such
    ask, selection     against a bare selection of the experts by the same labels and a bare pass
                       over the candidates, in the same run

Ratios within one run; nothing is asserted. One BLAS thread.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record

from weal import ActiveLearner
from weal.core.arrays import Array
from weal.learner.state import QuantityView
from weal.model import scaled_data, training

INPUTS = 8


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def truth(X: Array, rng: np.random.Generator) -> Array:
    """A smooth function with noise."""
    f = np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * np.cos(2.0 * X[:, 3]) + 0.3 * X[:, 4] ** 2
    return np.asarray(f + 0.05 * rng.standard_normal(len(X)))


def bare(view: QuantityView) -> float:
    """Seconds of selecting the experts of the state again, and of one pass over its candidates."""
    selection, parameters = view.selection, view.settings.parameters
    assert selection is not None
    scale = selection.scaling
    by = scaled_data.scale_data(scale, *selection.labels)
    found: list[training.TrainedEnsemble] = []
    selecting = seconds(
        lambda: found.append(training.begin(parameters.setting, *by, parameters.seed))
    )
    X = scale.inputs(view.candidates.inputs_at(slice(None)))
    return selecting + seconds(lambda: [len(rows[1]) for rows in found[0].beliefs(X)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labels", type=int, default=500)
    parser.add_argument("--candidates", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=90)
    record.add_option(parser)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (given.candidates, INPUTS))
    y = truth(X, rng)
    learner = ActiveLearner(X)
    first = rng.permutation(len(X))[: given.labels].tolist()
    learner.tell(first, y[first])
    learner.ask()
    tells, plain, settled = [], [], []
    for _ in range(given.steps):
        query, before = learner.ask(), learner.state.view().selection
        tells.append(seconds(lambda: learner.tell(query, float(y[query]))))  # noqa: B023
        took = seconds(learner.ask)
        if learner.state.view().selection is before:
            plain.append(took)
        else:
            settled.append((took, bare(learner.state.view())))
    middle = statistics.median(plain)
    print(f"{given.labels:,} labels, {given.candidates:,} candidates, {given.steps} steps")
    print(f"tell                 median {1e3 * statistics.median(tells):8.2f} ms")
    print(
        f"ask, no selection    median {1e3 * middle:8.1f} ms   slowest {max(plain) / middle:.2f} x"
    )
    for took, work in settled:
        print(f"ask, selection       {took:8.2f} s    bare {work:.2f} s    {took / work:.2f} x")
    if given.to:
        size = f"{given.labels:,} labels, {given.candidates:,} candidates"
        record.write(given.to, f"steps, {size}", lines(tells, plain, settled), [0])


def lines(
    tells: list[float], plain: list[float], settled: list[tuple[float, float]]
) -> list[dict[str, Any]]:
    """The lines of the result file."""
    middle = statistics.median(plain)
    found: list[dict[str, Any]] = [
        {"what": "tell", "ms": 1e3 * statistics.median(tells), "ratio": None},
        {"what": "ask, no selection", "ms": 1e3 * middle, "ratio": max(plain) / middle},
    ]
    for took, work in settled:
        found.append({"what": "ask, selection", "ms": 1e3 * took, "ratio": took / work})
    return found


if __name__ == "__main__":
    main()
