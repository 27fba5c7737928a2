"""Processor time and memory of commands at 10,000 labels, 1,000,000 candidates, or 1,000 inputs.

    python benchmarks/scale.py [--quick] [--only WORD] [--source FOLDER] [--limit S] [--to FILE]

The unit is that of `startup`: `python -c "import numpy, scipy.linalg, scipy.special"`. Times are
those of the processor, user and system together, one thread, so that other programs on the machine
matter little; the unit is measured before and after each command. Memory is the largest resident
set of the process. `--source` is the `src` folder of another checkout whose commands are measured
instead, for a comparison in one place; `--quick` leaves the rows of a million candidates out.

    smooth, rough    a smooth function with 5 % noise; a rough one without, that no few inducing
                     points describe
    first            nothing was computed before but the experts of an ask
    again            the same command with nothing new
    predict          `weal predict` of 1,000,000 rows of a CSV file, over a bare pass of the experts
                     over as many rows; and mean, sd and interval alone, without the file

Nothing is asserted; a command that takes longer than the limit is ended, and its row says so.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record
from benchmarks.startup import UNIT

from weal import open_campaign

NAME = "alloys"
LABELS, WIDE_LABELS = 10_000, 20


class Case(NamedTuple):
    """A campaign, and the limits of its commands: units, and megabytes."""

    kind: str
    candidates: int
    ask: int
    status: int
    again: int
    megabytes: int | None


# As many rows as candidates are free, besides the labelled ones.
CASES = (
    Case("smooth", 20_000, 40, 60, 10, 1000),
    Case("rough", 20_000, 40, 60, 10, 1000),
    Case("wide", 500, 20, 20, 20, None),
    Case("smooth", 1_000_000, 120, 180, 30, 2000),
    Case("rough", 1_000_000, 120, 180, 30, 2000),
)
PREDICT_ROWS, PREDICT_TIMES = 1_000_000, 3
CHILD = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], capture_output=True).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3)
"""
BARE = """
import sys, time, json
import numpy as np
from weal import open_campaign
with open_campaign("alloys", sys.argv[1]) as campaign:
    model = campaign.read_model()
    rows = int(sys.argv[2])
    X = np.random.default_rng(5).random((rows, model.n_features_in_))
    start = time.process_time()
    for n in range(0, rows, 20_000):
        for _ in model.trained.beliefs(model.scaling.inputs(X[n : n + 20_000])):
            pass
    bare = time.process_time() - start
    start = time.process_time()
    for n in range(0, rows, 20_000):
        part = X[n : n + 20_000]
        if hasattr(model, "summary"):
            model.summary(part)
        else:
            model.predict(part, return_std=True), model.predict_interval(part)
    print(json.dumps([bare, time.process_time() - start]))
"""


def a_table(kind: str, U: int) -> pd.DataFrame:
    """Candidates, and what would be measured."""
    rng = np.random.default_rng(1)
    d = 1000 if kind == "wide" else 8
    X = rng.random((U, d))
    if kind == "rough":
        y = np.sin(9.0 * X[:, 0]) + np.sign(np.sin(7.0 * X[:, 1] + 5.0 * X[:, 2]))
        y += np.abs(np.sin(5.0 * X[:, 3] + 4.0 * X[:, 4] * X[:, 6])) + np.cos(8.0 * X[:, 5])
        noise = 1e-4
    else:
        y = np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * np.cos(5.0 * X[:, 3] + X[:, 4])
        noise = 0.05
    y = y + rng.normal(0.0, noise, U)
    columns = {f"x{n}": X[:, n] for n in range(d)}
    return pd.DataFrame({"id": [f"A-{k:07d}" for k in range(U)], **columns, "y": y})


def make_store(path: Path, table: pd.DataFrame, labels: int) -> None:
    """A store with one campaign of so many labels."""
    first = table.iloc[:labels]
    given = {"pool": table.drop(columns="y"), "id_column": "id"}
    with open_campaign(NAME, f"sqlite:///{path}", **given) as campaign:
        campaign.tell(first["id"].tolist(), first["y"].tolist())


def run(words: list[str], source: str | None, limit: float) -> tuple[float, float] | None:
    """Seconds of the processor and megabytes of a command; None if it took too long."""
    environment = {**os.environ, **({"PYTHONPATH": source} if source else {})}
    command = [sys.executable, "-c", CHILD, *words]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    try:
        out, _ = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, 9)
        child.communicate()
        return None
    code, seconds, megabytes = out.split()
    if int(code):
        raise RuntimeError(f"{' '.join(words)} ended with {code}")
    return float(seconds), float(megabytes)


def weal(*words: str, store: Path) -> list[str]:
    """A command of weal."""
    program = "import sys; from weal.cli.main import main; sys.exit(main())"
    return [sys.executable, "-c", program, *words, "--store", f"sqlite:///{store}"]


def unit() -> float:
    """Seconds of the unit."""
    found = run([sys.executable, "-c", UNIT], None, 600.0)
    assert found is not None
    return found[0]


class Bench:
    """Commands measured in turn, each beside the unit, and printed as they end."""

    def __init__(self, source: str | None, limit: float) -> None:
        self.source, self.limit = source, limit
        self.rows: list[dict[str, Any]] = []

    def measure(self, what: str, words: list[str], most: int | None, megabytes: int | None) -> bool:
        """Whether the command ended in time."""
        before = unit()
        found = run(words, self.source, self.limit)
        each = 0.5 * (before + unit())
        asked = ", ".join(
            [f"<= {most}"] * (most is not None) + [f"{megabytes} MB"] * (megabytes is not None)
        )
        if found is None:
            print(f"{what:<60} over {self.limit:.0f} s            {asked}", flush=True)
            self.rows.append({"what": what, "ms": None, "ratio": None, "asked": asked})
            return False
        seconds, used = found
        print(
            f"{what:<60} {seconds:7.1f} s {seconds / each:7.1f} {used:6.0f} MB   {asked}",
            flush=True,
        )
        row = {"what": what, "ms": 1e3 * seconds, "ratio": seconds / each, "megabytes": used}
        self.rows.append({**row, "asked": asked})
        return True

    def campaign(self, case: Case, folder: Path) -> Path:
        """The commands of one campaign; returns a store that has its experts."""
        labels = WIDE_LABELS if case.kind == "wide" else LABELS
        store = folder / "store.db"
        store.unlink(missing_ok=True)
        make_store(store, a_table(case.kind, case.candidates), labels)
        of = f"{case.kind}, {labels:,} labels, {case.candidates:,} candidates"
        ask, status = weal("ask", NAME, store=store), weal("status", NAME, store=store)
        self.measure(f"ask, experts selected, {of}", ask, None, case.megabytes)
        self.measure(f"ask, {of}", ask, case.ask, case.megabytes)
        if self.measure(f"status first, {of}", status, case.status, case.megabytes):
            self.measure(f"status again, {of}", status, case.again, case.megabytes)
        return store

    def predict(self, store: Path, folder: Path, rows: int) -> None:
        """`weal predict` of many rows, and the bare pass over the experts."""
        new = folder / "new.csv"
        a_table("smooth", rows).drop(columns="y").to_csv(new, index=False)
        url, environment = f"sqlite:///{store}", dict(os.environ)
        if self.source:
            environment["PYTHONPATH"] = self.source
        words = [sys.executable, "-c", BARE, url, str(rows)]
        bare, alone = json.loads(
            subprocess.run(words, check=True, capture_output=True, env=environment).stdout
        )
        to = str(folder / "out.parquet")
        found = run(
            weal("predict", NAME, str(new), "--to", to, store=store), self.source, self.limit
        )
        for what, seconds in (("predictions", alone), ("weal predict", found and found[0])):
            ratio = None if seconds is None else seconds / bare
            line = "over the limit" if ratio is None else f"{seconds:7.1f} s {ratio:7.2f}"
            line += f" times the bare pass ({bare:.1f} s)   <= {PREDICT_TIMES}"
            line += f"   {found[1]:.0f} MB" if found and what == "weal predict" else ""
            print(f"{f'{what}, {rows:,} rows':<60} {line}", flush=True)
            row = {"what": f"{what}, {rows:,} rows, over the bare pass", "ratio": ratio}
            self.rows.append({**row, "asked": f"<= {PREDICT_TIMES}"})


def read_options() -> Any:
    """What it was told."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="no rows of a million candidates")
    parser.add_argument("--only", metavar="WORD", help="cases with this word: rough, wide, predict")
    parser.add_argument("--source", metavar="FOLDER", help="src of the checkout to measure")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds of a command")
    record.add_option(parser)
    return parser.parse_args()


def main() -> None:
    given = read_options()
    bench = Bench(given.source, given.limit)
    print(f"{'':<60} {'processor':>9} {'units':>7} {'memory':>9}   asked")
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name).absolute()
        for case in CASES:
            large = case.candidates >= 1_000_000
            if given.only not in (None, case.kind) or (large and given.quick):
                continue
            store = bench.campaign(case, folder)
            if case == CASES[0]:
                shutil.copy(store, folder / "predict.db")
        if given.only == "predict":
            bench.campaign(CASES[0], folder)
            shutil.copy(folder / "store.db", folder / "predict.db")
        if (folder / "predict.db").exists():
            rows = PREDICT_ROWS // 10 if given.quick else PREDICT_ROWS
            bench.predict(folder / "predict.db", folder, rows)
    if given.to:
        what = "commands at 10,000 labels, a million candidates, a thousand inputs, against imports"
        record.write(given.to, what, bench.rows, [1])


if __name__ == "__main__":
    main()
