"""Verdicts on the paper's claims: `python benchmarks/claims.py --data FOLDER --to FILE`.

The run of `weal bench paper` (ten tasks, the paper's methods and methods that train on validation
labels too), judged claim by claim, with the variants of each. It goes on where it stopped, given
`--out`. Rows are claims and other readings of them; how many comparisons hold is corrected for all
comparisons of a claim, and stands beside the verdict of each without correction. Rows with a task
are the mean curves that the claims are about, every few queries.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record
from benchmarks.robust import say, seeds_of, show

import weal.benchmark
from weal.benchmark.paper_verdicts import (
    DOES_NOT_HOLD,
    HOLDS,
    NO_RESULTS,
    UNDECIDED,
    ClaimFound,
    judge,
)
from weal.benchmark.tasks import TASKS

METHODS = ("paper", "fair")
STEP = 4  # queries between points of a curve


def rows(found: tuple[ClaimFound, ...]) -> list[dict[str, Any]]:
    """A row for each claim, and one for each variant of it."""
    readings = [(f.claim.number, "as it stands", f) for f in found]
    readings += [(f.claim.number, says, other) for f in found for says, other in f.variants]
    return [{"claim": number, "reading": says, **_row(f)} for number, says, f in readings]


def _row(f: ClaimFound) -> dict[str, Any]:
    together = Counter(c.verdict for c in f.comparisons)
    alone = Counter(c.alone for c in f.comparisons if c.verdict != NO_RESULTS)
    return {
        "says": f.claim.says,
        "found": f.verdict,
        "holding parts": [part.part.says for part in f.parts if part.verdict == HOLDS],
        "corrected": [together[word] for word in (HOLDS, DOES_NOT_HOLD, UNDECIDED)],
        "each by itself": [alone[word] for word in (HOLDS, DOES_NOT_HOLD, UNDECIDED)],
        "missing": together[NO_RESULTS],
    }


def curves(results: pd.DataFrame) -> list[dict[str, Any]]:
    """A row for each task and method of the paper: means over realisations, every STEP queries."""
    shown = results[(results["t"] % STEP == 0) & ~results["method"].str.endswith("+v")]
    found = []
    for (task, method), readings in shown.groupby(["task", "method"], sort=False):
        means = readings.groupby("t")[["nmse", "npll"]].mean()
        columns = {name: [float(f"{x:.3g}") for x in means[name]] for name in means}
        found.append({"task": task, "method": method, "t": list(means.index), **columns})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--realisations", type=int, default=10)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", help="folder of the tables")
    parser.add_argument("--out", help="folder that keeps finished curves")
    record.add_option(parser)
    given = parser.parse_args()
    tables = []
    for task in TASKS:
        say(task)
        tables.append(
            weal.benchmark.run(
                task, list(METHODS), T=given.queries, seed=given.seed, jobs=1, data=given.data,
                realisations=given.realisations, out=given.out, progress=show,
            )
        )  # fmt: skip
    results = pd.concat(tables)
    found = rows(judge(results, given.seed))
    for row in found:
        print(row["claim"], row["reading"], row["found"], row["corrected"], row["each by itself"])
    if given.to:
        what = f"the paper's claims, {given.queries} queries"
        record.write(given.to, what, [*found, *curves(results)], seeds_of(given))


if __name__ == "__main__":
    main()
