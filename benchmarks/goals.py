"""Searches of pools: laboratory tables and formulas, beside other packages; the cost of a query.

    python benchmarks/goals.py search --methods ours --out FOLDER --to FILE
    python benchmarks/goals.py search --methods peers --out FOLDER --to FILE
    python benchmarks/goals.py cost --to FILE

`search` runs the pools of `weal bench goals` and the laboratory tables of --data FOLDER, and
writes a line for each pool and method (`record`). A table that is not there is left out with a
reason. All methods start from the same 10 random labels of the same realisations, so that the files
of weal and of the peers are paired, though they were made at other times. The same call goes on
where it stopped; the file is written again after every pool. Peers need `pip install
"weal[peers]"`.

LABORATORY names the tables, by file and result, and whether small results are good (they are
negated). They come from the collection Olympus (Haese et al. 2021, Hickman et al. 2023). Text
columns become one input for each level, for all methods alike. vapdiff_crystal, whose result is a
grade in words, is left out: goals are for numbers.

`cost` times a query with each goal as a ratio to a query with `auto`, in one process, on pools of
600 and of 100,000 rows in memory.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record
from benchmarks.robust import say, show

from weal import ActiveLearner
from weal.benchmark.goal_methods import GOAL_METHODS, goal_methods
from weal.benchmark.goal_summary import QUESTIONS, by_run, compare
from weal.benchmark.goal_tasks import GOAL_TASKS, pool_task
from weal.benchmark.protocol import check_whole, make_plan
from weal.benchmark.runner import carry_out
from weal.benchmark.tasks import Task, availability
from weal.benchmark.user_table import OwnRows
from weal.core.arrays import Array
from weal.tables.columns import row_ids, row_labels
from weal.tables.plan import encode
from weal.tables.plan import make_plan as make_table_plan
from weal.tables.table import read_table

SEED = 24  # used for nothing else
FIRST_NUMBER = 120  # of the random keys of the laboratory pools
BESIDE = record.ROOT.parent / "shared" / "data" / "lab"
# File, result, and whether small results are good.
LABORATORY: tuple[tuple[str, str, bool], ...] = (
    ("agnp", "spectrum_score", False),
    ("fullerenes", "product", False),
    ("hplc", "peak_area", False),
    ("p3ht", "conductivity", False),
    ("photo_pce10", "degradation", True),
    ("oer_plate_3496", "overpotential", True),
    ("buchwald_a", "yield", False),
    ("lnp3", "drug_loading", False),
    ("lnp3", "encap_efficiency", False),
    ("lnp3", "particle_diameter", True),
    ("perovskites", "hse_gap", True),
    ("suzuki", "yield", False),
)
RESULTS = {result for _, result, _ in LABORATORY}
TYPES = {"additive": "category"}  # of 22 levels, which would be left out
OURS = ("weal-best", "weal-fifth", "weal-twentieth", "weal-auto", "weal-random")
DIGITS = 3
EVERY = 10  # labels between two numbers of a curve in the file
COST_ROWS, COST_LABELS, COST_QUERIES = (600, 100_000), 40, 15


def laboratory(folder: Path) -> tuple[list[Task], dict[str, str]]:
    """The pools of a folder, and the missing ones with the reason."""
    found, missing = [], {}
    for number, (file, result, lowest) in enumerate(LABORATORY, FIRST_NUMBER):
        name = f"{file}-{result}" if file == "lnp3" else file
        if (path := folder / f"{file}.csv").is_file():
            found.append(_pool(name, number, path, result, lowest))
        else:
            missing[name] = f"there is no {path.name} in the folder; name another with --data"
    return found, missing


def _pool(name: str, number: int, path: Path, result: str, lowest: bool) -> Task:
    points = pool_rows(path, result, lowest)
    N, d = points.X.shape
    title = f"{name}, {'minus ' if lowest else ''}{result}"
    return pool_task(name, number, title, points, d, N, source="Olympus")


def pool_rows(path: Path, result: str, lowest: bool) -> OwnRows:
    """Inputs and results of a laboratory table; results are negated where small ones are good."""
    table = read_table(path)
    y = row_labels(table, result, row_ids(table, "id"))
    inputs = [column for column in table.columns if column not in {"id", *RESULTS}]
    types = {name: kind for name, kind in TYPES.items() if name in inputs}
    plan = make_table_plan(table, id_column="id", target=result, features=inputs, types=types)
    X = encode(plan, table)
    return OwnRows(X, -y if lowest else y, tuple(plan.names), result, path.name)


def chosen_pools(options: argparse.Namespace) -> list[Task]:
    """The pools that were asked for and are there."""
    tables, missing = laboratory(options.data)
    for name, reason in missing.items():
        say(f"{name} is left out: {reason}")
    formulas = [
        task for task in GOAL_TASKS.values() if availability(task, options.data.parent) is None
    ]
    groups = {"laboratory": tables, "formulas": formulas, "all": [*tables, *formulas]}
    wanted = options.pools.split(",")
    return [
        task
        for task in groups["all"]
        if any(task.name == one or task in groups.get(one, ()) for one in wanted)
    ]


def chosen_methods(text: str) -> list[str]:
    """Names of methods; ours, peers or all of them that are installed."""
    usable, absent = goal_methods()
    groups = {"ours": OURS, "peers": [m for m in usable if m not in OURS], "all": list(usable)}
    names = [name for one in text.split(",") for name in groups.get(one, [one])]
    for name in names:
        if name not in usable:
            raise SystemExit(f"{name}: {absent.get(name, 'no such method: ' + ', '.join(usable))}")
    return names


def search(options: argparse.Namespace) -> None:
    """Run the pools one after the other, and write the results after each."""
    methods, rows, runs = chosen_methods(options.methods), [], []
    for task in chosen_pools(options):
        say(task.name)
        plan = make_plan(
            task,
            [GOAL_METHODS[name] for name in methods],
            realisations=options.realisations,
            T=options.queries,
            seed=options.seed,
            data=options.data.parent,
        )
        outcome = carry_out(plan, out=options.out, jobs=1, progress=show)
        runs.append(by_run(outcome.goals))
        rows += rows_of(outcome.goals, task)
        if options.to:
            what = f"searches of pools, {options.queries} queries after 10 random labels"
            seeds = f"seed {options.seed}, realisations 0:{options.realisations}"
            record.write(options.to, what, rows, seeds, record.RIVALS)
    if runs:
        print_means(pd.concat(runs))


def rows_of(goals: pd.DataFrame, task: Task) -> list[dict[str, Any]]:
    """A line for each method: a list of the runs for each number, and curves every few labels."""
    group = "formulas" if task.name in GOAL_TASKS else "laboratory"
    runs, found = by_run(goals), []
    for method, own in runs.groupby("method", sort=False):
        asked = [one for one in QUESTIONS if method in one.methods]
        columns = [column for one in asked for column in one.columns]
        each = {name: own[name].round(DIGITS).tolist() for name in columns}
        means = goals[goals["method"] == method].groupby("labels").mean(numeric_only=True)[::EVERY]
        curves = {f"{one.series} curve": means[one.series].round(DIGITS).tolist() for one in asked}
        about = {"task": task.name, "method": method, "group": group, "realisations": len(own)}
        title = GOAL_METHODS[str(method)].title
        found.append({**about, "title": title, **each, "labels": means.index.tolist(), **curves})
    return found


def print_means(runs: pd.DataFrame) -> None:
    """Means over pools, and ours less each other method."""
    for question in QUESTIONS:
        for one in compare(runs):
            if one.question == question.name:
                d = one.difference
                print(f"{question.name:10s} {one.column:18s} {one.method:18s} {one.mean:7.3f} "
                      f"{d.mean:+.3f} ({d.low:+.3f} to {d.high:+.3f})")  # fmt: skip


def cost(options: argparse.Namespace) -> None:
    """Time queries with each goal and with `auto` in turn."""
    rows = []
    for n in COST_ROWS:
        rng = np.random.default_rng(n)
        X = rng.uniform(size=(n, 4))
        y = np.sin(4.0 * X[:, 0]) + X[:, 1] * np.cos(3.0 * X[:, 2]) - (X[:, 3] - 0.6) ** 2
        level = float(np.quantile(y, 0.8))
        goals = {"learn": "learn", "best 10": "best 10", "above": f"above {level!r}"}
        learners = {name: _learner(X, y, goal) for name, goal in goals.items()}
        times = _times(learners, y, options.queries)
        base = times["learn"]
        for name, spent in times.items():
            ratios = [one / other for one, other in zip(spent, base, strict=True)]
            row = {"rows": n, "goal": name, "ms": 1e3 * statistics.median(spent),
                   "ratio": statistics.median(ratios)}  # fmt: skip
            say(f"{n} rows, {name}: {row['ms']:.2f} ms, {row['ratio']:.2f} times learn")
            rows.append(row)
    if options.to:
        what = f"processor time of a query with {COST_LABELS} labels and more, 4 inputs"
        record.write(options.to, what, rows, [0])


def _learner(X: Array, y: Array, goal: str) -> ActiveLearner:
    learner = ActiveLearner(X, goal=goal)
    learner.tell(range(COST_LABELS), y[:COST_LABELS])
    return learner


def _times(learners: dict[str, ActiveLearner], y: Array, queries: int) -> dict[str, list[float]]:
    """Seconds of a query of each, one after the other, so that all meet the same load."""
    found: dict[str, list[float]] = {name: [] for name in learners}
    for _ in range(queries + 1):
        for name, learner in learners.items():
            began = time.process_time()
            row = learner.ask()
            found[name].append(time.process_time() - began)
            learner.tell(row, float(y[row]))
    return {name: spent[1:] for name, spent in found.items()}  # the first query fills caches


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = parser.add_subparsers(dest="part", required=True)
    one = parts.add_parser("search", help="laboratory tables and formulas")
    one.add_argument("--pools", default="all", help="laboratory, formulas, all, or names")
    one.add_argument("--methods", default="all", help="ours, peers, all, or names")
    one.add_argument("--realisations", type=int, default=5)
    one.add_argument("--queries", type=int, default=50)
    one.add_argument("--seed", type=int, default=SEED)
    one.add_argument("--data", type=Path, default=BESIDE, help="folder of the laboratory tables")
    one.add_argument("--out", help="folder that keeps finished curves")
    two = parts.add_parser("cost", help="a query with a goal beside one with auto")
    two.add_argument("--queries", type=int, default=COST_QUERIES)
    for part in (one, two):
        record.add_option(part)
    options = parser.parse_args()
    check_whole("queries", options.queries, 1)
    (search if options.part == "search" else cost)(options)


if __name__ == "__main__":
    main()
