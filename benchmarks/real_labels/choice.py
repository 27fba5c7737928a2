"""Does choosing pay on noisy labels, and what does a batch cost?

    python -m benchmarks.real_labels.choice --data FOLDER [--seeds 0:20] [--queries 60] [--out FILE]

Tasks are the ten of `weal bench`, two noisy functions, and tables: those in the data folder, and
some of their columns. A seed is a realisation: the same points for all methods. The area is the
mean over queries of log10 max(NMSE, 1e-5); differences are paired, with 95 % intervals by sign
flips (`weal.bench.paired`), for which it takes six seeds. NMSE of the noisy functions is against
the function without noise. A batch of 8 is asked at once and told together; its area is over the
numbers of labels at which a batch ends.

Realisations count from 1000 on, with seed 11: none of them was looked at when anything was chosen.
With `--out` finished runs are kept, and the same call goes on.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import csv
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from weal import ActiveLearner
from weal.bench.paired import Interval, interval
from weal.bench.places import Folder, NotAtHand, data_folders
from weal.bench.summary import FLOOR
from weal.bench.tasks import TASKS, Points, Task, availability, draw
from weal.core.arrays import Array
from weal.learner.functions import EARLIER_AUTO

Row = tuple[str, str, str]  # what, asked, measured
SEED, FIRST = 11, 1000
BATCH = 8
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


@dataclass(frozen=True, slots=True)
class Noisy:
    """A smooth function with noise, a share of its sd; the last `clean` labels have none."""

    f: Callable[[Array, float], Array]
    low: float
    d: int
    noise: float
    clean: int

    def sample(
        self, rng: np.random.Generator, n: int, folder: Folder = None
    ) -> tuple[Array, Array]:
        """N labelled points: X (n, d) and y (n,)."""
        X = rng.uniform(self.low, 1.0, (n, self.d))
        y = self.f(X, rng.uniform(0.0, 6.0))
        noise = self.noise * y.std() * rng.standard_normal(n)
        noise[n - self.clean :] = 0.0
        return X, y + noise

    def where(self, folder: Folder = None) -> str:
        """Nowhere to look."""
        return "computed here"


@dataclass(frozen=True, slots=True)
class Columns:
    """Some columns of a table in the data folder."""

    file: str
    inputs: tuple[str, ...]
    target: str

    def sample(
        self, rng: np.random.Generator, n: int, folder: Folder = None
    ) -> tuple[Array, Array]:
        """N rows: X (n, d) and y (n,)."""
        with Path(self.where(folder)).open() as file:
            rows = list(csv.DictReader(file))
        some = [rows[k] for k in rng.permutation(len(rows))[:n]]
        X = np.array([[float(row[name]) for name in self.inputs] for row in some])
        return X, np.array([float(row[self.target]) for row in some])

    def where(self, folder: Folder = None) -> str:
        """The path of the table."""
        for place in data_folders(folder):
            if (place / self.file).is_file():
                return str(place / self.file)
        raise NotAtHand(f"there is no {self.file} in the data folder")


def waves(X: Array, a: float) -> Array:
    bent = np.sin(3.0 * X[:, 0] + a) + X[:, 1] * X[:, 2] + np.cos(2.0 * X[:, 3] - a) / 2.0
    return np.asarray(bent + 0.3 * X[:, 4] ** 2)


def friedman(X: Array, a: float) -> Array:
    bent = 10.0 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20.0 * (X[:, 2] - 0.5) ** 2
    return np.asarray(bent + 10.0 * X[:, 3] + 5.0 * X[:, 4])


def task(name: str, number: int, points: Points, d: int, L0: int, U0: int, test: int) -> Task:
    return Task(name, number, name, "own", "", "", points, d, L0, 0, U0, test, 20.0)


CIV, TZ = "malaria_standin_hotspots_civ.csv", "malaria_tz2015_pfpr.csv"
TZ_INPUTS = ("Long", "Lat", "EVI", "Temperature", "Precipitation", "Population", "ITN", "NTL")
SITES = ("lng", "lat", "bioclim12", "bioclim15", "dist_to_water_m")
CLIMATE = ("lng", "lat", "bioclim12", "bioclim15", "bioclim4", "elev_m")
HOUSES = ("Latitude", "Longitude", "MedInc")
NOISY = {
    "waves, noise 10 %": task("waves", 101, Noisy(waves, -1.0, 5, 0.1, 300), 5, 10, 500, 300),
    "Friedman, noise 10 %": task(
        "friedman", 102, Noisy(friedman, 0.0, 6, 0.1, 300), 6, 10, 500, 300
    ),
}
TABLES = {
    "California": TASKS["california"],
    "Diabetes": TASKS["diabetes"],
    "Malaria (stand-in)": TASKS["malaria-standin"],
    "Tanzania 2015": task("tz2015", 104, Columns(TZ, TZ_INPUTS, "PfPR_2_10"), 8, 15, 250, 120),
    "California, 3 columns": task(
        "houses", 105, Columns("california.csv", HOUSES, "MedHouseVal"), 3, 15, 500, 500
    ),
    "Malaria, place alone": task("place", 106, Columns(CIV, SITES[:2], "theta"), 2, 15, 500, 500),
    "elevation": task("elevation", 107, Columns(CIV, SITES, "elev_m"), 5, 15, 500, 500),
    "temperature": task("warmth", 108, Columns(CIV, CLIMATE, "bioclim1"), 6, 15, 500, 500),
}
FUNCTIONS = {one.title: one for one in TASKS.values() if one not in TABLES.values()}
EVERY = {**FUNCTIONS, **NOISY, **TABLES}
FOR_BATCHES = ("Malaria (stand-in)", "Diabetes", "elevation", "temperature", "Tanzania 2015")


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
    return np.log10(np.maximum(found, FLOOR))


class Runs:
    """Curves, computed once; in a file where one is given."""

    def __init__(self, queries: int, data: Folder, out: Path | None = None) -> None:
        self.queries, self.data, self.out = queries, data, out
        kept = out.read_text().splitlines() if out is not None and out.exists() else []
        self.kept = {key: np.array(values) for key, values in map(json.loads, kept)}

    def area(self, name: str, method: str, seed: int, n: int = 1, every: int = 1) -> float:
        """The mean over queries, of those curves that are read at each `every`-th."""
        key = f"{name}|{method}|{seed}|{n}|{self.queries}"
        if key not in self.kept:
            how = METHODS[method]
            self.kept[key] = curve(EVERY[name], seed, self.queries, self.data, n, **how)
            if self.out is not None:
                with self.out.open("a") as file:
                    file.write(json.dumps([key, self.kept[key].tolist()]) + "\n")
        return float(self.kept[key][every - 1 :: every].mean())

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
    """The default minus random choice on every task, and in the mean over the tables."""
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


def rows(
    seeds: Sequence[int], *, queries: int = 60, data: Folder = None, out: Path | None = None,
    what: Sequence[str] = ("random", "others", "batches"),
) -> list[Row]:  # fmt: skip
    """The rows of the table: what, asked, measured; tables are looked for in WEAL_DATA, too."""
    runs = Runs(queries, data, out)
    parts = {"random": against_random, "others": against_others, "batches": batches}
    return [row for name in what for row in parts[name](runs, list(seeds))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0:6", help="first:last, the last left out")
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--data", default=None)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--what", default="random,others,batches")
    given = parser.parse_args()
    first, last = map(int, given.seeds.split(":"))
    kept = {"queries": given.queries, "data": given.data, "out": given.out}
    for row in rows(range(first, last), **kept, what=given.what.split(",")):
        print("  ".join(row))


if __name__ == "__main__":
    main()
