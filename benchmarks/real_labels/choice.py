"""Does active learning pay on noisy labels, and what do batches lose?

    python -m benchmarks.real_labels.choice --data FOLDER [--seeds 0:20] [--queries 60]
        [--what random,others,batches] [--out FILE] [--to FILE]
    python -m benchmarks.real_labels.choice --data FOLDER --what runs --out FILE --to FILE
        [--tasks NAME ...] [--methods auto random ...] [--seeds 0:20] [--batch 8]
    python -m benchmarks.real_labels.choice --data FOLDER --what ten,fits --seeds 0:20 --out FILE

Tasks are the ten of `weal bench`, two noisy functions, and tables: those in the data folder, and
some of their columns. A seed is a realisation: the same points for all methods. The area is the
mean over queries of log10 max(NMSE, 1e-5); differences are paired, with 95 % intervals by sign
flips (`weal.benchmark.statistics`), for which it takes six seeds. NMSE of the noisy functions is
against the function without noise. A batch of 8 is asked at once and told together; its area is
over the numbers of labels at which a batch ends.

Realisations count from 1000 on, with seed 11: none of them was looked at when anything was chosen.
With `--out` finished runs of the same code are kept, and the same call goes on; each run is told on
stderr as it ends. `--what runs` runs these methods on these tasks, one realisation of all of them
after the other: with other `--tasks`, several processes share the runs and the file. `--what ten`
is the default less random choice on the ten tasks of `weal bench`, each and pooled, and `--what
fits` the default less even weights and less `mvr-var` where the model fits well (FITS_WELL).
`--to` writes the area of every run that is kept as a result file (`record`).
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import record
from benchmarks.real_labels.tasks import EVERY, FUNCTIONS, NOISY, TABLES

from weal import ActiveLearner
from weal.benchmark.curve_cache import code
from weal.benchmark.data_folders import Folder
from weal.benchmark.statistics import Interval, interval
from weal.benchmark.summary import MIN_LOG_NMSE
from weal.benchmark.tasks import Task, availability, draw
from weal.core.arrays import Array
from weal.learner.config import EARLIER_AUTO

Row = tuple[str, str, str]  # what, asked, measured
SEED, FIRST = 11, 1000
BATCH = 8
TEN = (*FUNCTIONS, "California", "Diabetes", "Malaria (stand-in)")
FITS_WELL = ("Gramacy", *NOISY)
FOR_BATCHES = ("Malaria (stand-in)", "Diabetes", "elevation", "temperature", "Tanzania 2015")
SINGLE = (
    "mvr-var",
    "mvr",
    "gpm-var",
    "igs",
    "ivr",
)  # single functions that the default is compared with
METHODS: dict[str, dict[str, Any]] = {
    "auto": {},
    "random": {"acquisition": "random"},
    "even": {"acquisition": list(EARLIER_AUTO), "eta": 0.0},
    "six": {"acquisition": list(EARLIER_AUTO)},
    **{name: {"acquisition": name} for name in SINGLE},
}


def curve(of: Task, realisation: int, queries: int, data: Folder, n: int = 1, **how: Any) -> Array:
    """log10 NMSE (T / n,) after each batch of n queries."""
    split = draw(of, FIRST + realisation, SEED, data)
    settings = {"eta": of.eta, "n_start": 1, "seed": realisation, **how}
    learner = ActiveLearner(split.Xu, **settings)
    learner.tell_points(split.X0, split.y0)
    test, found = learner.watch(split.Xt), []
    for _ in range(queries // n):
        ids = learner.ask(n)
        learner.tell(ids, split.yu[ids])
        found.append(np.mean((test.predict()[0] - split.yt) ** 2) / np.var(split.yt))
    return np.log10(np.maximum(found, MIN_LOG_NMSE))


class Runs:
    """Curves, computed once; in a file where one is given."""

    def __init__(self, queries: int, data: Folder, out: Path | None = None) -> None:
        self.queries, self.data, self.out = queries, data, out
        self.code = code()  # runs of other code are not looked at
        kept = out.read_text().splitlines() if out is not None and out.exists() else []
        self.kept = {key: np.array(values) for key, values in map(json.loads, kept)}

    def area(self, name: str, method: str, seed: int, n: int = 1, every: int = 1) -> float:
        """The mean over queries, of those curves that are read at each `every`-th."""
        key = f"{name}|{method}|{seed}|{n}|{self.queries}|{self.code}"
        if key not in self.kept:
            how = METHODS[method]
            self.kept[key] = curve(EVERY[name], seed, self.queries, self.data, n, **how)
            if self.out is not None:
                with self.out.open("a") as file:
                    file.write(json.dumps([key, self.kept[key].tolist()]) + "\n")
            told = f"{name}, {method}, realisation {seed}: {self.kept[key].mean():+.3f}"
            print(told, file=sys.stderr, flush=True)
        return float(self.kept[key][every - 1 :: every].mean())

    def rows(self) -> list[dict[str, Any]]:
        """All runs of so many queries: their areas, and those at the ends of batches."""
        found = []
        for key, curve in self.kept.items():
            name, method, seed, n, *rest = key.split("|")
            if rest != [str(self.queries), self.code]:
                continue
            row = {"task": name, "method": method, "realisation": int(seed), "batch": int(n)}
            ends = curve if int(n) > 1 else curve[BATCH - 1 :: BATCH]
            found.append({**row, "area": curve.mean(), "area at batches": ends.mean()})
        return sorted(found, key=lambda row: [list(EVERY).index(row["task"]), *row.values()])

    def difference(
        self, name: str, one: str, other: str, seeds: Iterable[int], n: int = 1
    ) -> Array:
        """Areas of a method minus those of another (seeds,)."""
        return np.array([self.area(name, one, s, n) - self.area(name, other, s) for s in seeds])


def at_hand(data: Folder, names: Iterable[str]) -> list[str]:
    return [name for name in names if availability(EVERY[name], data) is None]


def shown(found: Interval) -> str:
    return f"{found.mean:+.3f} ({found.low:+.3f} to {found.high:+.3f}; {found.n})"


def against_random(runs: Runs, seeds: Sequence[int]) -> list[Row]:
    """The default minus random choice on every task, and on average over the tables."""
    found, tables = [], []
    for name in at_hand(runs.data, EVERY):
        d = runs.difference(name, "auto", "random", seeds)
        found.append((f"area, auto - random: {name}", "upper end < +0.01", shown(interval(d, 0))))
        if name in TABLES:
            tables.append(d)
    if tables:
        mean = shown(interval(np.mean(tables, axis=0), 0))
        better = sum(d.mean() < 0.0 for d in tables)
        asked = f"better on all {len(tables)}, mean <= -0.15"
        found.append(("area, auto - random: tables", asked, f"better on {better}; {mean}"))
    return found


def on_the_ten(runs: Runs, seeds: Sequence[int]) -> list[Row]:
    """The default minus random choice on each of the ten tasks of `weal bench`, and pooled."""
    found: list[Row] = []
    each = []
    for name in at_hand(runs.data, TEN):
        d = runs.difference(name, "auto", "random", seeds)
        found.append((f"area, auto - random: {name}", "mean <= +0.01", shown(interval(d, 0))))
        each.append(d)
    pooled = shown(interval(np.mean(each, axis=0), 0))
    found.append((f"area, auto - random: {len(each)} tasks pooled", "upper end < 0", pooled))
    return found


def where_it_fits(runs: Runs, seeds: Sequence[int]) -> list[Row]:
    """The default minus even weights and `mvr-var`, on functions that the model fits well."""
    return [
        (f"area, auto - {other}: {name}", "<= 0", shown(interval(d, 0)))
        for name in FITS_WELL
        for other in ("even", "mvr-var")
        for d in [runs.difference(name, "auto", other, seeds)]
    ]


def against_others(runs: Runs, seeds: Sequence[int]) -> list[Row]:
    """The default minus even weights on noisy functions, and minus each single function."""
    found = []
    for name in NOISY:
        d = runs.difference(name, "auto", "even", seeds)
        found.append((f"area, auto - even weights: {name}", "<= 0", shown(interval(d, 0))))
    names = at_hand(runs.data, EVERY)
    for other in SINGLE:
        d = np.mean([runs.difference(name, "auto", other, seeds) for name in names], axis=0)
        found.append(
            (f"area, auto - {other}, mean of tasks", "upper end < +0.01", shown(interval(d, 0)))
        )
    return found


def batches(runs: Runs, seeds: Sequence[int]) -> list[Row]:
    """What ask(8) keeps of the gain over random choice of asking one by one."""
    found: list[Row] = []
    alone: list[float] = []
    together: list[float] = []
    for name in at_hand(runs.data, FOR_BATCHES):
        one, many, none = (
            np.array([runs.area(name, method, s, n, every) for s in seeds])
            for method, n, every in (("auto", 1, BATCH), ("auto", BATCH, 1), ("random", 1, BATCH))
        )
        alone, together = [*alone, one - none], [*together, many - none]
        lost = shown(interval(many - one, 0))
        found.append((f"area, ask({BATCH}) - one by one: {name}", "", lost))
    if alone:
        gain, kept = np.mean(alone), np.mean(together)
        said = f"gain {-gain:.3f} one by one, {-kept:.3f} in batches: {1 - kept / gain:.0%} lost"
        found.append((f"gain over random, ask({BATCH})", "<= 10 % lost", said))
    return found


PARTS = {
    "random": against_random,
    "others": against_others,
    "batches": batches,
    "ten": on_the_ten,
    "fits": where_it_fits,
}


def rows(
    seeds: Sequence[int], *, queries: int = 60, data: Folder = None, out: Path | None = None,
    what: Sequence[str] = ("random", "others", "batches"),
) -> list[Row]:  # fmt: skip
    """The rows of the table: what, asked, measured; tables are looked for in WEAL_DATA, too."""
    runs = Runs(queries, data, out)
    return [row for name in what for row in PARTS[name](runs, list(seeds))]


def write(runs: Runs, to: Path | None, seeds: str) -> None:
    """The areas of all runs there are, in a result file."""
    if to is not None:
        what = f"choice, {runs.queries} queries"
        record.write(to, what, runs.rows(), f"seed {SEED}, realisations {FIRST} + {seeds}")


def play(runs: Runs, given: Any) -> None:
    """Runs of the tasks and methods named, realisation by realisation."""
    first, last = map(int, given.seeds.split(":"))
    for seed in range(first, last):
        for name in at_hand(runs.data, given.tasks or EVERY):
            for method in given.methods:
                runs.area(name, method, seed, given.batch)
        write(runs, given.to, f"{first}:{seed + 1}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0:6", help="first:last, the last left out")
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--data", default=None)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--what", default="random,others,batches", help="or ten, fits, runs")
    parser.add_argument("--tasks", nargs="+", choices=list(EVERY))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=["auto", "random"])
    parser.add_argument("--batch", type=int, default=1)
    record.add_option(parser)
    given = parser.parse_args()
    runs = Runs(given.queries, given.data, given.out)
    if given.what == "runs":
        return play(runs, given)
    seeds = range(*map(int, given.seeds.split(":")))
    for name in given.what.split(","):
        for row in PARTS[name](runs, seeds):
            print("  ".join(row))
    write(runs, given.to, given.seeds)


if __name__ == "__main__":
    main()
