"""Runs that fail, a quantity that tells about another, and the cost of a query with several.

    python benchmarks/failing_runs.py fails --seeds 5
    python benchmarks/failing_runs.py search --seeds 5
    python benchmarks/failing_runs.py sources --seeds 5 --data FOLDER
    python benchmarks/failing_runs.py cost

`fails`: a box of six inputs in which a tenth of the volume fails (a corner of three inputs), 500
random rows, ROWS runs, the function smooth with 5 % noise. `teach` tells failures as such, `ignore`
skips the rows, `random` draws rows; `known` chooses on the rows that work, with ROWS runs, and the
others have 10 % more.
Share of failed runs, and log10 NMSE over the rows that work.

`search`: the same box with the goal maximise; runs until the best row that works is measured.

`sources`: two results of a table, the second measured on a quarter of the rows; log10 NMSE of the
second with the first one as a source, and alone.

`cost`: processor time of a query with one number, and with three quantities, as a ratio.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.goals import BESIDE, pool_rows

from weal import ActiveLearner
from weal.core.arrays import Array

Mask = NDArray[np.bool_]
POOL_ROWS, ROWS, INPUTS = 500, 60, 6
FAILING_SHARE = 0.1
SOURCE_PAIRS = (("drug_loading", "encap_efficiency"), ("encap_efficiency", "particle_diameter"))
_BOX_KEY, _ROWS_KEY = 261, 262  # parts of random keys


def box(seed: int) -> tuple[Array, Array, Mask]:
    """Rows (U, 6), results (U,), and whether the run of a row fails (U,)."""
    rng = np.random.default_rng((_BOX_KEY, seed))
    X = rng.uniform(0.0, 1.0, (POOL_ROWS, INPUTS))
    y = np.sin(4.0 * X[:, 0]) + 2.0 * X[:, 1] * X[:, 2] + np.cos(3.0 * X[:, 3]) + 0.5 * X[:, 4]
    corner = X[:, :3].min(axis=1)
    fails = corner > np.quantile(corner, 1.0 - FAILING_SHARE)
    return X, y + 0.05 * y.std() * rng.normal(size=POOL_ROWS), fails


def log_nmse(learner: ActiveLearner, X: Array, y: Array, works: Mask, quantity: str) -> float:
    """log10 of the mean squared error over the rows that work, in units of their variance."""
    mean = learner.predict(X[works], quantity=quantity)
    return float(np.log10(np.mean((mean - y[works]) ** 2) / y[works].var()))


def run(method: str, seed: int, goal: str = "learn") -> tuple[float, float, int]:
    """Share of failed runs, log10 NMSE where runs work, and runs to the best row that works."""
    X, y, fails = box(seed)
    rows = np.flatnonzero(~fails) if method == "known" else np.arange(POOL_ROWS)
    learner = ActiveLearner(X[rows], target="y", goal=goal, repeats=False, seed=seed)
    order = np.random.default_rng((_ROWS_KEY, seed)).permutation(len(rows))
    failed, found, best = 0, 0, int(np.argmax(np.where(fails, -np.inf, y)))
    budget = ROWS if method == "known" else round(1.1 * ROWS)
    for n in range(budget):
        query = int(order[n]) if method == "random" else learner.ask()
        at = int(rows[query])
        if fails[at]:
            failed += 1
            learner.fail(query, accident=method != "teach")
        else:
            learner.tell(query, y[at])
        found = n + 1 if at == best else found
    return failed / budget, log_nmse(learner, X, y, ~fails, "y"), found or budget + 1


def show_failures(seeds: int, goal: str) -> None:
    """The table of `fails` and of `search`."""
    methods = ("teach", "ignore", "random") + (("known",) if goal == "learn" else ())
    each: dict[str, list[tuple[float, float, int]]] = {method: [] for method in methods}
    for seed in range(seeds):
        for method in methods:
            each[method].append(run(method, seed, goal))
            print(f"seed {seed} {method}", file=sys.stderr)
    print("method    failed   log10 NMSE (se)   runs to the best row (se)")
    for method, found in each.items():
        table = np.array(found)
        mean, se = table.mean(axis=0), table.std(axis=0) / np.sqrt(len(table))
        runs = f"{mean[2]:.1f} ({se[2]:.1f})"
        print(f"{method:8} {mean[0]:6.1%}   {mean[1]:+.3f} ({se[1]:.3f})   {runs}")


def show_sources(seeds: int, data: Path) -> None:
    """log10 NMSE of a second result with the first one as a source, and alone."""
    print("results, labels of the second   with source  alone  share in which it was used")
    path = data / "lnp3.csv"
    for first, second in SOURCE_PAIRS:
        rows = [pool_rows(path, one, lowest=False) for one in (first, second)]
        X, Y = rows[0].X, np.column_stack([one.y for one in rows])
        for few in (40, 80):
            found = [_with_and_without(X, Y, few, seed) for seed in range(seeds)]
            print(f"{first} for {second}, {few}", np.round(np.mean(found, axis=0), 3).tolist())


def _with_and_without(X: Array, Y: Array, few: int, seed: int) -> list[float]:
    """log10 NMSE of the second result with the first on four times the rows, and alone."""
    order = np.random.default_rng((_ROWS_KEY, seed)).permutation(len(X)).tolist()
    both = ActiveLearner(X, target=["a", "b"], seed=seed)
    alone = ActiveLearner(X, target=["b"], seed=seed)
    both.tell(order[: 4 * few], Y[order[: 4 * few], 0], quantity="a")
    rest = np.ones(len(X), dtype=bool)
    rest[order[:few]] = False
    for learner in (both, alone):
        learner.tell(order[:few], Y[order[:few], 1], quantity="b")
    errors = [log_nmse(one, X, Y[:, 1], rest, "b") for one in (both, alone)]
    print(f"{few} labels, seed {seed}", file=sys.stderr)
    return [*errors, float(both.source_of("b") is not None)]


def show_cost() -> None:
    """Processor time of queries with three quantities, in units of that with one."""
    X, y, fails = box(0)
    results = {"a": y, "b": y[::-1].copy(), "c": np.where(fails, "no", "yes")}
    seconds = {}
    for names in (["a"], ["a", "b", "c"]):
        learner = ActiveLearner(X, target=names, types={"c": "pass"} if "c" in names else None)
        for n in range(40):
            learner.tell(n, {name: results[name][n] for name in names})
        start = time.process_time()
        for _ in range(30):
            query = learner.ask()
            learner.tell(query, {name: results[name][query] for name in names})
        seconds[len(names)] = time.process_time() - start
    print(f"three quantities: {seconds[3] / seconds[1]:.2f} times one ({seconds[1]:.2f} s)")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["fails", "search", "sources", "cost"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--data", type=Path, default=BESIDE)
    given = parser.parse_args()
    if given.what == "cost":
        show_cost()
    elif given.what == "sources":
        show_sources(given.seeds, given.data)
    else:
        show_failures(given.seeds, "learn" if given.what == "fails" else "maximise")


if __name__ == "__main__":
    main()
