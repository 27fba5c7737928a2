"""Time of a campaign on disk, with ratios to the bare operations in the same run, one thread.

    python benchmarks/campaign.py [--quick] [--to FILE]

"opening" is from nothing but the store's name to a learner that has been through all labels and
predicts; with "checkpoint" an earlier ask has left its experts in the store. "bare insert" is one
row written to a SQLite file of its own with the same pragmas: what a write that reaches the disk
costs here. Times do not count imports. For opening and asking they are the least of several runs,
of the processor, since other programs would be counted too; for writes and commands the median, of
the clock on the wall, taken in turn with what they are compared with. Nothing is asserted.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record

from weal import open_campaign
from weal.campaign.campaign import Campaign

U, LABELS = 10_000, 500
GROWTH = (62, 125, 250, 500)
NAME = "alloys"
LINES: list[dict[str, Any]] = []  # what was reported
BASE = 'python -c "import click, sqlite3"'


def least(
    work: Callable[[], object], runs: int, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Seconds of the fastest of some runs."""
    times = []
    for _ in range(runs):
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)


def computing(work: Callable[[], object], runs: int) -> float:
    """The same, of the processor."""
    return least(work, runs, time.process_time)


def in_turn(works: Sequence[Callable[[], object]], runs: int) -> list[float]:
    """Median seconds of each, run in turn: what else the disk has to do is the same for all."""
    times = [[least(work, 1) for work in works] for _ in range(runs)]
    return [statistics.median(column) for column in zip(*times, strict=True)]


def a_table(U: int) -> pd.DataFrame:
    """Candidates with three numbers and a category, and what would be measured."""
    rng = np.random.default_rng(1)
    X = rng.random((U, 3))
    steel = rng.choice(list("ABCD"), U)
    y = np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * np.cos(9.0 * X.sum(axis=1))
    y += 0.2 * (steel == "A") + rng.normal(0.0, 0.05, U)
    ids = [f"A-{k:06d}" for k in range(U)]
    return pd.DataFrame(
        {"id": ids, "a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "steel": steel, "y": y}
    )


def a_store(folder: Path, labels: int) -> str:
    """A store with one campaign of so many labels, and no checkpoint."""
    url = f"sqlite:///{folder}/labels{labels}.db"
    table = a_table(U)
    given = {"pool": table.drop(columns="y"), "id_column": "id"}
    with open_campaign(NAME, url, **given) as campaign:
        first = table.iloc[:labels]
        campaign.tell(first["id"].tolist(), first["y"].tolist())
    return url


def opened(url: str) -> Any:
    """A prediction of a campaign that was just opened."""
    with open_campaign(NAME, url) as campaign:
        return campaign.read_model().predict(
            campaign.read_learner().candidates.inputs_at([0]), return_std=True
        )


def bare_insert(folder: Path) -> Callable[[], None]:
    """One row in a file with the pragmas that ours has, on disk when it returns."""
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("CREATE TABLE event (seq INTEGER PRIMARY KEY, body TEXT NOT NULL)")
    with_log = sqlite3.sqlite_version_info >= (3, 51, 3)
    connection.execute(f"PRAGMA journal_mode={'WAL' if with_log else 'DELETE'}")
    for setting in ("fullfsync=ON", "synchronous=EXTRA"):
        connection.execute(f"PRAGMA {setting}")

    def insert() -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO event (body) VALUES (?)", ("x" * 300,))
        connection.execute("COMMIT")

    return insert


def telling(campaign: Campaign, first: int) -> Callable[[], object]:
    """The next label of a row that nobody asked for."""
    rows = iter(range(first, U))
    return lambda: campaign.tell(f"A-{next(rows):06d}", 1.5)


def ask_then_tell(campaign: Campaign, y: dict[str, float]) -> Callable[[], object]:
    """One round of the daily work."""

    def step() -> None:
        name = campaign.ask()
        campaign.tell(name, y[name])

    return step


def command(*words: str) -> Callable[[], object]:
    """A run of a program of its own."""
    return lambda: subprocess.run(words, check=True, capture_output=True)


def report(what: str, ours: float, asked: str = "", other: float | None = None) -> None:
    """One line of the table."""
    ratio = f"{ours / other:8.2f}x" if other else " " * 9
    print(f"{what:<58} {1e3 * ours:9.2f} ms {ratio}   {asked}".rstrip(), flush=True)
    beside = ours / other if other else None
    LINES.append({"what": what, "ms": 1e3 * ours, "ratio": beside, "asked": asked})


def report_opening(folder: Path, runs: int) -> None:
    """How opening grows with labels, without and with what an earlier ask has left."""
    stores = {labels: a_store(folder, labels) for labels in GROWTH}
    opened(stores[GROWTH[0]])  # imports
    report_growth("no checkpoint", stores, runs)
    for url in stores.values():
        with open_campaign(NAME, url) as campaign:
            assert campaign.read_model()
            campaign.read_session().keep()
    report_growth("checkpoint", stores, runs)


def report_growth(what: str, stores: dict[int, str], runs: int) -> None:
    """Opening for each number of labels, which doubles, beside the one before."""
    before = None
    for labels, url in stores.items():
        taken = computing(partial(opened, url), runs)
        asked = "asked <= 2x the one before" if before else ""
        asked += ", < 1 s" if labels == LABELS else ""
        report(f"opening, {labels} labels, U={U:,}, {what}", taken, asked, before)
        before = taken


def report_work(folder: Path, runs: int) -> None:
    """Asking and telling."""
    url = a_store(folder, LABELS + 1)
    table = a_table(U)
    y = dict(zip(table["id"], table["y"], strict=True))
    with open_campaign(NAME, url) as campaign:
        bare, told = in_turn([bare_insert(folder), telling(campaign, 5000)], 20 * runs)
        report("bare insert, on disk", bare)
        report("tell, on disk", told, "asked <= 3x bare insert", bare)
    with open_campaign(NAME, a_store(folder, LABELS + 2)) as campaign:
        campaign.ask()
        step = computing(ask_then_tell(campaign, y), 2 * runs)
        report(f"ask then tell, {LABELS} labels, U={U:,}", step, "asked < 150 ms")


def report_commands(folder: Path, runs: int) -> None:
    """Programs of their own, from start to end."""
    url, weal = a_store(folder, 50), str(Path(sys.executable).with_name("weal"))
    rows = iter(range(5000, U))

    def tell() -> None:
        command(weal, "tell", NAME, f"A-{next(rows):06d}", "1.5", "--store", url)()

    works = {
        "python -c pass": command(sys.executable, "-c", "pass"),
        BASE: command(sys.executable, "-c", "import click, sqlite3"),
        "weal --help": command(weal, "--help"),
        "weal tell": tell,
    }
    times = dict(zip(works, in_turn(list(works.values()), runs), strict=True))
    for what, taken in times.items():
        ours = what.startswith("weal")
        report(what, taken, "asked < 400 ms" if ours else "", times[BASE] if ours else None)


def main() -> None:
    given = record.options(__doc__)
    runs = 1 if given.quick else 5
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name).absolute()
        report_commands(folder, 3 * runs)
        report_work(folder, runs)
        report_opening(folder, runs)
    if given.to:
        record.write(given.to, "a campaign on disk", LINES, [1])


if __name__ == "__main__":
    main()
