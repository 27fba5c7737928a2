"""The goals best, threshold and pass-fail beside other packages, as comparison files.

    ./scripts/results best             ./scripts/results best-botorch
    ./scripts/results threshold        ./scripts/results pass-fail
    python benchmarks/searches.py best --methods weal-best,sklearn-ei --runs FOLDER --to FILE

All methods of `comparison.METHODS` start from the same 10 random labels and ask for 50 rows, one at
a time. The score is read after every fifth label:

    best        share of the ten largest values of the pool among the measured rows
    threshold   F1 of the rows that the model puts above the level that a fifth of the pool exceeds
    pass-fail   log loss of rows outside the pool (`weal.benchmark.pass_fail_methods`)

Pools of best and threshold are the laboratory tables of `benchmarks.goals` and the formulas and
public tables of `weal bench goals`; their methods are those of `weal.benchmark.goal_methods`.
Pools of pass-fail are the pass/fail tables of `benchmarks.results_of_runs`. A table that is not
there is left out with a reason. --small-pools takes pools of at most SMALL_ROWS rows.

Finished runs are kept in --runs: the same command resumes. Runs are made round by round (ROUNDS),
all pools and methods in each, so that an interrupted file has as many realisations of every pool.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record
from benchmarks.comparison import ComparedRun, method_of, rows_of
from benchmarks.comparison_runs import ComparisonJob, Measured, write_results
from benchmarks.goals import SEED, laboratory
from benchmarks.results_of_runs import ClassTask
from benchmarks.results_of_runs import tasks as class_tasks
from benchmarks.robust import say

from weal.benchmark import goal_methods, pass_fail_methods, peers
from weal.benchmark.curve_cache import package_versions
from weal.benchmark.goal_methods import above, best_ten, random_rows, with_goal
from weal.benchmark.goal_metrics import LEVEL_SHARES
from weal.benchmark.goal_tasks import GOAL_TASKS
from weal.benchmark.methods import Method
from weal.benchmark.pass_fail_methods import (
    PASS_FAIL_METHODS,
    PassFailMethod,
    pass_fail_metrics,
    pass_fail_split,
)
from weal.benchmark.peers import LABELS_PER_REFIT
from weal.benchmark.protocol import run_method
from weal.benchmark.runner import one_blas_thread
from weal.benchmark.tasks import Split, Task, availability
from weal.goals.protocol import Goal

QUERIES, EVERY = 50, 5
ROUNDS = (2, 4, 6, 10, 20)  # realisations after each round
SMALL_ROWS = 300
SERIES = {"best": "top_10", "threshold": "f1_fifth"}  # of `goal_metrics`
PUBLIC_POOLS = ("diabetes-pool", "california-pool")
PUBLIC_CLASSES = ("breast cancer", "diabetes", "digits, even", "California")
Pool = Task | ClassTask


def methods_of(goal: str) -> dict[str, Method] | dict[str, PassFailMethod]:
    """All methods of a goal whose packages are installed, by name."""
    if goal == "pass-fail":
        return PASS_FAIL_METHODS
    fifth = partial(above, LEVEL_SHARES["fifth"])
    refits: dict[str, Callable[[Split], Goal]] = {
        "weal-best-refit-5": best_ten,
        "weal-fifth-refit-5": fifth,
    }
    own = [
        Method(name, name, partial(with_goal, goal_of, refit_every=LABELS_PER_REFIT), "goals")
        for name, goal_of in refits.items()
    ]
    own.append(Method("random-rows", "random rows", random_rows, "goals"))
    return {**goal_methods.goal_methods()[0], **{method.name: method for method in own}}


def pools_of(goal: str, data: Path) -> Iterator[Pool]:
    """The pools of a goal that are there; the others are named on standard error."""
    if goal == "pass-fail":
        yield from (task for task in class_tasks(data / "lab") if task.kind == "pass")
        return
    tables, missing = laboratory(data / "lab")
    yield from tables
    for task in GOAL_TASKS.values():
        if reason := availability(task, data):
            missing[task.name] = reason
        else:
            yield task
    for name, reason in missing.items():
        say(f"{name} is left out: {reason}")


def group_of(pool: Pool) -> str:
    """The group of a pool: public tables, formulas, or laboratory tables."""
    if pool.name in (*PUBLIC_POOLS, *PUBLIC_CLASSES):
        return "public"
    return "paper" if pool.name in GOAL_TASKS else "laboratory"


def rows_in(pool: Pool) -> int:
    """Rows of a pool."""
    return len(pool.codes) if isinstance(pool, ClassTask) else pool.test


def measure(
    goal: str, pool: Pool, method: str, realisation: int, queries: int, data: Path
) -> Measured:
    """Label counts, and the score at each."""
    one = methods_of(goal)[method]
    with one_blas_thread():
        if isinstance(pool, ClassTask) and isinstance(one, PassFailMethod):
            return _measure_pass_fail(pool, one, realisation, queries)
        assert isinstance(pool, Task)
        assert isinstance(one, Method)
        curve = run_method(pool, one, realisation, SEED, queries, data)
    return [int(n) for n in curve.labels[::EVERY]], curve.goals[SERIES[goal]][::EVERY]


def _measure_pass_fail(
    pool: ClassTask, method: PassFailMethod, realisation: int, queries: int
) -> Measured:
    split = pass_fail_split(pool.X, pool.codes > 0, realisation)
    readings = list(method.run(split, realisation, min(queries, len(split.yu))))
    losses = [pass_fail_metrics(reading.p, split.yt)["log_loss"] for reading in readings]
    return [reading.labels for reading in readings], losses


def jobs_of(given: argparse.Namespace) -> list[ComparisonJob]:
    """All runs that are wanted, round by round."""
    names = [method_of(given.goal, name).name for name in given.methods.split(",")]
    if absent := [name for name in names if name not in methods_of(given.goal)]:
        raise SystemExit(f'{", ".join(absent)} needs BoTorch: pip install "weal[peers]"')
    pools = [
        pool
        for pool in pools_of(given.goal, given.data)
        if (not given.pools or pool.name in given.pools)
        and (rows_in(pool) <= SMALL_ROWS or not given.small_pools)
    ]
    steps = [0, *(n for n in ROUNDS if n < given.realisations), given.realisations]
    about = settings_of(given.goal, given.queries)
    return [
        ComparisonJob(
            *(given.goal, pool.name, group_of(pool), name, realisation, about),
            partial(measure, given.goal, pool, name, realisation, given.queries, given.data),
        )
        for first, last in pairwise(steps)
        for pool in pools
        for realisation in range(first, last)
        for name in names
    ]


def settings_of(goal: str, queries: int) -> str:
    """Everything beside weal's model that decides the scores of a run."""
    modules = (pass_fail_methods,) if goal == "pass-fail" else (goal_methods, peers)
    source = "".join(inspect.getsource(module) for module in modules)
    digest = hashlib.sha256(source.encode()).hexdigest()[:12]
    return f"{SEED} {queries} {EVERY} {digest} {package_versions(*record.PACKAGES, 'botorch')}"


def write(given: argparse.Namespace, runs: list[ComparedRun]) -> None:
    """Write the runs so far into the file."""
    if given.to and runs:
        what = f"goal {given.goal}, {given.queries} queries after 10 random labels"
        most = max(run.realisation for run in runs) + 1
        seeds = f"seed {SEED}, realisations 0:{most}"
        record.write(given.to, what, rows_of(runs), seeds, record.RIVALS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("goal", choices=["best", "threshold", "pass-fail"])
    parser.add_argument("--methods", required=True, help="names, with commas")
    parser.add_argument("--pools", nargs="*", help="names; default: all")
    parser.add_argument("--small-pools", action="store_true", help="small pools alone")
    parser.add_argument("--realisations", type=int, default=ROUNDS[-1])
    parser.add_argument("--queries", type=int, default=QUERIES)
    parser.add_argument("--data", type=Path, default=record.ROOT.parent / "shared" / "data")
    parser.add_argument("--runs", type=Path, required=True, help="folder that keeps finished runs")
    record.add_option(parser)
    given = parser.parse_args()
    write_results(jobs_of(given), given.runs, partial(write, given))


if __name__ == "__main__":
    main()
