"""Time of `weal ask` and `weal status` in new processes, against bare imports.

    python benchmarks/startup.py [--quick] [--to FILE]

The unit is `python -c "import numpy, scipy.linalg, scipy.special"`, measured in turn with the
commands; times are medians of three runs, of the clock on the wall, one thread. Candidates have
eight numeric columns, settings are the default ones.

    ask, no settling due     an ask before has left its experts in the store, one label came since
    ask, settling due        labels have come since for which experts are settled anew
    status, first            nothing was computed before but the experts of an ask
    status, nothing new      the status again

Every run starts from a copy of the same store. Nothing is asserted. `scale` has 10,000 labels, a
million candidates and a thousand inputs.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record

from weal import open_campaign
from weal.model.training import last_selection

NAME = "alloys"
INPUTS = 8
UNIT = "import numpy, scipy.linalg, scipy.special"
# For labels and candidates, what was asked of each command, in units.
CASES: dict[tuple[int, int], dict[str, int | None]] = {
    (500, 10_000): {"ask": 3, "ask due": 6, "status": 10, "status again": 5},
    (2000, 5_000): {"ask": 8, "ask due": None, "status": 30, "status again": 8},
}
TITLES = {
    "ask": "weal ask, no settling due",
    "ask due": "weal ask, settling due",
    "status": "weal status, first",
    "status again": "weal status, nothing new",
}


def a_table(U: int) -> pd.DataFrame:
    """Candidates with eight numbers, and what would be measured."""
    rng = np.random.default_rng(1)
    X = rng.random((U, INPUTS))
    y = np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * np.cos(5.0 * X[:, 3] + X[:, 4])
    y += 0.1 * X[:, 5] + rng.normal(0.0, 0.05, U)
    columns = {f"x{n}": X[:, n] for n in range(INPUTS)}
    return pd.DataFrame({"id": [f"A-{k:06d}" for k in range(U)], **columns, "y": y})


def a_store(path: Path, table: pd.DataFrame, labels: int) -> None:
    """A store with one campaign of so many labels; an ask has left its experts there."""
    given = {"pool": table.drop(columns="y"), "id_column": "id"}
    first = table.iloc[:labels]
    with open_campaign(NAME, f"sqlite:///{path}", **given) as campaign:
        campaign.tell(first["id"].tolist(), first["y"].tolist())
        campaign.ask()


def tell(path: Path, table: pd.DataFrame, start: int, end: int) -> None:
    """Tell the labels of some rows that nobody asked for."""
    rows = table.iloc[start:end]
    with open_campaign(NAME, f"sqlite:///{path}") as campaign:
        campaign.tell(rows["id"].tolist(), rows["y"].tolist())


def make_stores(folder: Path, labels: int, U: int) -> dict[str, Path]:
    """For each command, the store that it starts from."""
    table, last = a_table(U), last_selection(10, labels)
    before = last - 1  # so that the next label makes a settling due
    stores = {name: folder / f"{labels}-{name}.db" for name in TITLES}
    a_store(stores["ask"], table, labels - 1)
    a_store(stores["ask due"], table, before)
    tell(stores["ask"], table, labels - 1, labels)
    tell(stores["ask due"], table, before, last)
    shutil.copy(stores["ask"], stores["status"])
    shutil.copy(stores["ask"], stores["status again"])
    run("status", stores["status again"])
    return stores


def run(command: str, store: Path) -> None:
    """A command of weal, in a process of its own."""
    weal = str(Path(sys.executable).with_name("weal"))
    words = [weal, command.split()[0], NAME, "--store", f"sqlite:///{store}"]
    subprocess.run(words, check=True, capture_output=True)


def seconds(work: Callable[[], object]) -> float:
    """Seconds of one run."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def bare() -> None:
    """The unit."""
    subprocess.run([sys.executable, "-c", UNIT], check=True)


def measure(folder: Path, labels: int, U: int, runs: int) -> dict[str, float]:
    """Median seconds of the unit and of each command, run in turn."""
    stores = make_stores(folder, labels, U)
    times: dict[str, list[float]] = {name: [] for name in ("unit", *stores)}
    for _ in range(runs):
        times["unit"].append(seconds(bare))
        for name, store in stores.items():
            copy = Path(shutil.copy(store, folder / "copy.db"))
            times[name].append(seconds(partial(run, name, copy)))
    return {name: statistics.median(each) for name, each in times.items()}


def main() -> None:
    given = record.options(__doc__)
    runs, lines = 1 if given.quick else 3, []
    print(f"{'':<52} {'seconds':>8} {'units':>7}   asked")
    with tempfile.TemporaryDirectory(dir=".") as name:
        for (labels, U), asked in CASES.items():
            times = measure(Path(name).absolute(), labels, U, runs)
            unit = times.pop("unit")
            print(f"{UNIT:<52} {unit:8.2f} {1.0:7.2f}")
            for which, taken in times.items():
                what = f"{TITLES[which]}, {labels} labels, U={U:,}"
                most = "" if asked[which] is None else f"<= {asked[which]}"
                print(f"{what:<52} {taken:8.2f} {taken / unit:7.2f}   {most}".rstrip(), flush=True)
                ratio = {"ms": 1e3 * taken, "ratio": taken / unit, "asked": most}
                lines.append({"what": what, **ratio})
    if given.to:
        record.write(given.to, "commands in a process of their own, against imports", lines, [1])


if __name__ == "__main__":
    main()
