"""The default against random choice and other packages, task by task.

    python benchmarks/rivals.py --methods peers --data FOLDER --out FOLDER --to FILE
    python benchmarks/rivals.py --methods weal-auto,weal-random --data FOLDER --out FOLDER --to FILE

plays the ten tasks of `weal bench` and writes a line for each run (`record`); other packages need
`pip install "weal[peers]"`. All methods start from the same first labels of the same splits, so
that what ours and the rivals' files hold is paired, though they were made at other times. It goes
on where it stopped, as `weal bench run` does; the file is written anew after every task.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import sys
from pathlib import Path
from typing import Any

import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record
from benchmarks.robust import runs_of, say, seeds_of, show

import weal.benchmark
from weal.benchmark.summary import method_title
from weal.benchmark.tasks import TASKS

SEED = 11  # used for nothing else


def played(options: Any) -> pd.DataFrame:
    """Results of all tasks, one after the other; of those finished, after Ctrl-C."""
    found = []
    try:
        for task in options.tasks:
            say(task)
            found.append(
                weal.benchmark.run(
                    task, options.methods.split(","), T=options.queries, seed=options.seed,
                    realisations=options.realisations, data=options.data, jobs=1, out=options.out,
                    progress=show,
                )
            )  # fmt: skip
            written(options, pd.concat(found))
    except KeyboardInterrupt:
        say("\nstopped: tasks that are finished are kept")
    if not found:
        raise SystemExit(130)
    return pd.concat(found)


def written(options: Any, results: pd.DataFrame) -> None:
    """What is there so far, in the file."""
    if options.to:
        rows = [{**row, "title": method_title(row["method"])} for row in runs_of(results)]
        what = f"ten tasks, {options.queries} queries"
        record.write(options.to, what, rows, seeds_of(options), record.RIVALS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--methods", default="weal-auto,weal-random", help="names or groups")
    parser.add_argument("--realisations", type=int, default=10)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--data", help="folder of the tables")
    parser.add_argument("--out", help="folder that keeps finished curves")
    record.add_option(parser)
    results = played(parser.parse_args())
    areas = weal.benchmark.summary.area(results)
    print(areas.pivot(index="task", columns="method", values="area_mean").round(3).to_string())


if __name__ == "__main__":
    main()
