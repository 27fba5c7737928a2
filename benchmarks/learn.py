"""The goal `learn` beside other packages: the paper's tasks, public tables, laboratory pools.

    ./scripts/results learn            ./scripts/results learn-rivals
    python benchmarks/learn.py --methods weal-auto,ridge-random --runs FOLDER --to FILE

Writes a comparison file (`comparison`): log10 of the normalised mean squared error (NMSE) on rows
that are held out, no lower than MIN_LOG_NMSE, after 0, 5, ..., 60 queries. All methods have the
same splits and the same first labels; realisation numbers pair them, also across files.

    paper        the ten tasks of `weal bench`, with the paper's sizes, without validation labels
    public       every fifth table of `benchmarks.tables.TABLES`: eight, whatever a model makes of
                 them
    laboratory   the tables of `benchmarks.goals.LABORATORY`, the first result of each; text columns
                 become one input for each level

Tables have FIRST random labels, a third of the other rows (at most MAX_TEST) held out, and at most
MAX_CANDIDATES candidates. --small-tasks takes tasks of at most SMALL_CANDIDATES candidates and
SMALL_INPUTS inputs. Runs are made round by round (ROUNDS), all tasks and methods in each, so that
an interrupted file has as many realisations of every task.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import hashlib
import sys
from collections.abc import Iterator
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import learn_methods, record
from benchmarks.comparison import ComparedRun, method_of, rows_of
from benchmarks.comparison_runs import ComparisonJob, Measured, finished, write_results
from benchmarks.goals import LABORATORY, pool_rows
from benchmarks.robust import say
from benchmarks.tables import TABLES, table

from weal.benchmark.curve_cache import package_versions
from weal.benchmark.methods import Method
from weal.benchmark.protocol import run_method
from weal.benchmark.runner import one_blas_thread
from weal.benchmark.summary import MIN_LOG_NMSE
from weal.benchmark.tasks import TASKS, Points, Task, availability
from weal.benchmark.user_table import ETA, OwnRows

SEED = 30  # used for nothing else
QUERIES, EVERY = 60, 5
ROUNDS = (6, 10, 20)  # realisations after each round
PUBLIC_STEP = 5  # of the list of public tables, every fifth
FIRST, MAX_TEST, MAX_CANDIDATES = 15, 400, 500
SMALL_CANDIDATES, SMALL_INPUTS = 500, 5
FIRST_NUMBER = 300  # of the random keys of tables


def tasks_of(data: Path, archive: Path) -> list[tuple[str, Task]]:
    """The group and the task of everything that is there; the rest is named on standard error."""
    paper = [("paper", task) for task in TASKS.values()]
    public = [
        ("public", _task(name, FIRST_NUMBER + n, OwnRows(*table(archive, name), (), "", name)))
        for n, name in enumerate(list(TABLES)[::PUBLIC_STEP])
    ]
    first_results = {file: (file, result) for file, result, _ in reversed(LABORATORY)}
    laboratory = []
    for n, (file, result) in enumerate(sorted(first_results.values())):
        if (path := data / "lab" / f"{file}.csv").is_file():
            points = pool_rows(path, result, False)
            laboratory.append(("laboratory", _task(file, FIRST_NUMBER + 100 + n, points)))
        else:
            say(f"{file} is left out: there is no {path.name}; name its folder with --data")
    return [*_available(paper, data), *public, *laboratory]


def _available(tasks: list[tuple[str, Task]], data: Path) -> Iterator[tuple[str, Task]]:
    for group, task in tasks:
        if reason := availability(task, data):
            say(f"{task.name} is left out: {reason}")
        else:
            yield group, task


def _task(name: str, number: int, points: OwnRows) -> Task:
    N, d = points.X.shape
    test = min(MAX_TEST, (N - FIRST) // 3)
    sizes = (d, FIRST, 0, min(MAX_CANDIDATES, N - FIRST - test), test)
    own: Points = points
    return Task(name, number, name, "own", "", "", own, *sizes, ETA, rows=N)


def is_small(task: Task) -> bool:
    """Whether slow methods are run on a task."""
    return task.U0 <= SMALL_CANDIDATES and task.d <= SMALL_INPUTS


def measure(task: Task, method: Method, realisation: int, queries: int, data: Path) -> Measured:
    """Label counts, and log10 NMSE at each."""
    with one_blas_thread():
        curve = run_method(task, method, realisation, SEED, queries, data)
    scores = np.log10(np.maximum(curve.nmse[::EVERY], MIN_LOG_NMSE))
    return [int(n) for n in curve.labels[::EVERY]], scores.tolist()


def jobs_of(given: argparse.Namespace) -> list[ComparisonJob]:
    """All runs that are wanted, round by round."""
    methods = learn_methods.learn_methods()
    wanted = [methods[method_of("learn", name).name] for name in given.methods.split(",")]
    tasks = [
        (group, task)
        for group, task in tasks_of(given.data, given.tables)
        if (not given.tasks or task.name in given.tasks)
        and (is_small(task) or not given.small_tasks)
    ]
    tasks.sort(key=lambda one: one[1].U0 * one[1].d)  # small ones first
    steps = [0, *(n for n in ROUNDS if n < given.realisations), given.realisations]
    return [
        ComparisonJob(
            *("learn", task.name, group, method.name, realisation),
            settings_of(task, given.queries),
            partial(measure, task, method, realisation, given.queries, given.data),
        )
        for first, last in pairwise(steps)
        for group, task in tasks
        for realisation in range(first, last)
        for method in wanted
    ]


def settings_of(task: Task, queries: int) -> str:
    """Everything beside weal's code that decides the scores of a run."""
    sizes = (task.number, task.L0, task.V, task.U0, task.test, SEED, queries, EVERY)
    return f"{sizes} {_code()}"


@cache
def _code() -> str:
    """A hash of the methods that are not in weal, and the versions of other packages."""
    source = hashlib.sha256(Path(str(learn_methods.__file__)).read_bytes()).hexdigest()[:12]
    return f"{source} {package_versions(*record.PACKAGES, *record.RIVALS)}"


def write(given: argparse.Namespace, runs: list[ComparedRun]) -> None:
    """Write the runs so far into the file."""
    if given.to and runs:
        what = f"goal learn, {given.queries} queries"
        most = max(run.realisation for run in runs) + 1
        seeds = f"seed {SEED}, realisations 0:{most}"
        record.write(given.to, what, rows_of(runs), seeds, [*record.RIVALS, "pandas"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", default="weal-auto,weal-random", help="names, with commas")
    parser.add_argument("--tasks", nargs="*", help="names; default: all")
    parser.add_argument("--small-tasks", action="store_true", help="small tasks alone")
    parser.add_argument("--realisations", type=int, default=ROUNDS[-1])
    parser.add_argument("--queries", type=int, default=QUERIES)
    parser.add_argument("--data", type=Path, default=record.ROOT.parent / "shared" / "data")
    parser.add_argument("--tables", type=Path, required=True, help="archive of public tables")
    parser.add_argument("--runs", type=Path, required=True, help="folder that keeps finished runs")
    parser.add_argument("--finished", action="store_true", help="write finished runs, make none")
    record.add_option(parser)
    given = parser.parse_args()
    if given.finished:
        done = finished(given.runs)
        write(given, [done[job.key] for job in jobs_of(given) if job.key in done])
        return
    write_results(jobs_of(given), given.runs, partial(write, given))


if __name__ == "__main__":
    main()
