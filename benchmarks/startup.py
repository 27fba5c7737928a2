"""Time of `weal ask` and `weal status` in new processes, against bare imports.

    python benchmarks/startup.py [--quick] [--to FILE]

The unit is `python -c "import numpy, scipy.linalg, scipy.special"`, measured in turn with the
commands; times are medians of three runs, of the processor and of the clock on the wall, one
thread. On a machine that does other work too the processor's time is the one to compare. Memory is
the largest resident set of the process. Candidates have eight numeric columns, settings are the
default ones. Compiled modules are cached, as they are where weal is installed.

    ask, no selection due    an ask before has left its experts in the store, one label came since
    ask, selection due       labels have come since for which experts are selected again
    status, first            nothing was computed before but the experts of an ask
    status, nothing new      the status again

Every run starts from a copy of the same store. Nothing is asserted. `scale` has 10,000 labels, a
million candidates and a thousand inputs.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record

from weal import open_campaign
from weal.model.training import last_selection

NAME = "alloys"
INPUTS = 8
# Starts a command and prints what it took. A child counts the memory that its parent had at the
# start, so that this process, which is large, starts none itself.
LAUNCHER = """
import json, os, subprocess, sys
with subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL) as one:
    _, status, used = os.wait4(one.pid, 0)
    one.returncode = os.waitstatus_to_exitcode(status)
took = (one.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
print(json.dumps(took))
"""
UNIT = "import numpy, scipy.linalg, scipy.special"
MAX_ASK_MB = 400  # limit of the memory of an ask
# For labels and candidates, the limit of each command, in units.
CASES: dict[tuple[int, int], dict[str, int | None]] = {
    (500, 10_000): {"ask": 4, "ask due": 8, "status": 10, "status again": 4},
    (2000, 5_000): {"ask": 8, "ask due": None, "status": 30, "status again": 8},
}
TITLES = {
    "ask": "weal ask, no selection due",
    "ask due": "weal ask, selection due",
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
    before = last - 1  # so that experts are selected again at the next label
    stores = {name: folder / f"{labels}-{name}.db" for name in TITLES}
    a_store(stores["ask"], table, labels - 1)
    a_store(stores["ask due"], table, before)
    tell(stores["ask"], table, labels - 1, labels)
    tell(stores["ask due"], table, before, last)
    shutil.copy(stores["ask"], stores["status"])
    shutil.copy(stores["ask"], stores["status again"])
    run("status", stores["status again"])
    return stores


@dataclass(frozen=True)
class Usage:
    """What a process took."""

    processor: float  # seconds
    wall: float  # seconds
    memory: float  # largest resident set, MB


def run(command: str, store: Path) -> Usage:
    """A command of weal, in a process of its own."""
    weal = str(Path(sys.executable).with_name("weal"))
    return process([weal, command.split()[0], NAME, "--store", f"sqlite:///{store}"])


def process(words: list[str]) -> Usage:
    """Run a process to its end."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    launched = [sys.executable, "-S", "-c", LAUNCHER, *words]
    done = subprocess.run(launched, env=env, capture_output=True, text=True, check=True)
    wall = time.perf_counter() - start
    code, processor, memory = json.loads(done.stdout)
    if code:
        raise RuntimeError(f"{' '.join(words)} failed: {done.stderr}")
    return Usage(processor, wall, memory)


def measure(folder: Path, labels: int, U: int, runs: int) -> dict[str, Usage]:
    """Medians of the unit and of each command, run in turn."""
    stores = make_stores(folder, labels, U)
    used: dict[str, list[Usage]] = {name: [] for name in ("unit", *stores)}
    for _ in range(runs):
        used["unit"].append(process([sys.executable, "-c", UNIT]))
        for name, store in stores.items():
            used[name].append(run(name, Path(shutil.copy(store, folder / "copy.db"))))
    return {name: _medians(each) for name, each in used.items()}


def _medians(each: list[Usage]) -> Usage:
    parts = ("processor", "wall", "memory")
    return Usage(*(statistics.median(getattr(one, part) for one in each) for part in parts))


def main() -> None:
    given = record.options(__doc__)
    runs, lines = 1 if given.quick else 3, []
    print(f"{'':<52} {'processor':>10} {'units':>7} {'wall':>8} {'units':>7} {'MB':>6}   asked")
    with tempfile.TemporaryDirectory(dir=".") as name:
        for (labels, U), asked in CASES.items():
            found = measure(Path(name).absolute(), labels, U, runs)
            unit = found.pop("unit")
            _show(UNIT, unit, unit, "")
            for which, used in found.items():
                what = f"{TITLES[which]}, {labels} labels, U={U:,}"
                most = "" if asked[which] is None else f"<= {asked[which]}"
                most += f", {MAX_ASK_MB} MB" if which.startswith("ask") else ""
                _show(what, used, unit, most.removeprefix(", "))
                ratio = {"ratio": used.processor / unit.processor, "asked": most}
                memory = {"MB": used.memory, "wall ratio": used.wall / unit.wall}
                lines.append({"what": what, "ms": 1e3 * used.processor, **ratio, **memory})
    if given.to:
        record.write(given.to, "commands in a process of their own, against imports", lines, [1])


def _show(what: str, used: Usage, unit: Usage, asked: str) -> None:
    times = f"{used.processor:10.2f} {used.processor / unit.processor:7.2f}"
    wall = f"{used.wall:8.2f} {used.wall / unit.wall:7.2f}"
    print(f"{what:<52} {times} {wall} {used.memory:6.0f}   {asked}".rstrip(), flush=True)


if __name__ == "__main__":
    main()
