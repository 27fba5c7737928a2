"""Tasks of the comparison with random choice: those of `weal bench`, noisy functions, more tables.

FUNCTIONS   those of `weal bench` that are not tables
NOISY       two smooth functions with noise of 10 % of their sd; test labels have none
TABLES      those in the data folder, and some of their columns
"""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from weal.benchmark.data_folders import Folder, NotAvailable, data_folders
from weal.benchmark.tasks import TASKS, Points, Task
from weal.core.arrays import Array


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
        raise NotAvailable(f"there is no {self.file} in the data folder")


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
