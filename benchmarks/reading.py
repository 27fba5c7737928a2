"""Time and memory to read tables of ordinary and of large size, and of the commands that do.

    python benchmarks/reading.py                   10^5 rows as CSV, 10^4 rows as Excel
    python benchmarks/reading.py --large           10^6 rows of 20 columns, 10^5 rows as Excel too
    python benchmarks/reading.py --against OTHER   `weal new` of 10^5 rows and `weal tell` of one
                                                   label, beside those of another checkout

Seconds are of the processor. Each table is read in a process of its own, whose peak of memory is
that of the whole process. `PYTHONPATH=OTHER/src` reads the same tables with another weal: run both
in turn, since tables are kept in the folder for temporary files. With `--against`, the commands of
both checkouts take turns, and the ratio of their medians is printed (below 1: faster than OTHER).
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import date, timedelta
from pathlib import Path

import numpy as np

COLUMNS = 20
REPEATS = 3
NEW_ROWS, NEW_REPEATS, TELL_REPEATS = 10**5, 5, 15
SIZES = {"plain.csv": 10**5, "quoted.csv": 10**5, "plain.xlsx": 10**4, "dates.xlsx": 10**4}
LARGE = {"large.csv": 10**6, "large.xlsx": 10**5}


def main() -> None:
    """Read each table in a process of its own."""
    folder = Path(tempfile.gettempdir()) / "weal-reading"
    folder.mkdir(exist_ok=True)
    for name, rows in {**SIZES, **(LARGE if "--large" in sys.argv else {})}.items():
        path = folder / name
        if not path.exists():
            write(path, rows)
        found = [measured(path) for _ in range(REPEATS if name in SIZES else 1)]
        seconds, peak, read = min(found)
        print(f"{name:12} {read:>9,} rows  {seconds:7.2f} s  {peak / 2**20:6.0f} MB")


def compare(other: Path) -> None:
    """Run both commands of both checkouts in turn, and print the ratio of their seconds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pool = folder / "pool.csv"
        write(pool, NEW_ROWS)
        here = Path(__file__).resolve().parents[1]
        for what, repeats in (("new", NEW_REPEATS), ("tell", TELL_REPEATS)):
            seconds: dict[Path, list[float]] = {here: [], other: []}
            for n in range(repeats):
                for place in (here, other) if n % 2 else (other, here):
                    store = folder / f"{place.name}.db"
                    if what == "new":
                        store.unlink(missing_ok=True)
                        words = ["new", "runs", "--pool", str(pool), "--id", "id"]
                    else:
                        words = ["tell", "runs", f"A-{n}", "0.5"]
                    seconds[place].append(command_seconds(place, store, words))
            own, theirs = (float(np.median(seconds[place])) for place in (here, other))
            ratio = f"{own / theirs:.2f} times as long"
            print(f"weal {what:5} {own:7.3f} s  against {theirs:7.3f} s: {ratio}")


def command_seconds(place: Path, store: Path, words: list[str]) -> float:
    """Seconds of the processor of one command of a checkout."""
    run = [sys.executable, "-c", "from weal.cli.main import main; main()", *words]
    settings = {"PYTHONPATH": str(place / "src"), "WEAL_STORE": f"sqlite:///{store}"}
    single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    child = subprocess.Popen(
        run, env={**os.environ, **settings, **single},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(words)} failed in {place}")
    return used.ru_utime + used.ru_stime


def measured(path: Path) -> tuple[float, int, int]:
    """Seconds, peak of memory in bytes and rows of one reading."""
    words = [sys.executable, __file__, "--read", str(path)]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    seconds, peak, rows = json.loads(done.stdout)
    return seconds, peak, rows


def read(path: Path) -> None:
    """Read one table, and print what it took."""
    from weal.tables.table import read_table

    begun = time.process_time()
    rows = read_table(path, text=["id"]).n
    seconds = time.process_time() - begun
    status = Path("/proc/self/status").read_text().splitlines()
    peak = next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    json.dump([seconds, peak, rows], sys.stdout)


def write(path: Path, rows: int) -> None:
    """Write a table of random numbers, with ids of text."""
    rng = np.random.default_rng(1)
    names = ["id", *(f"c{k}" for k in range(COLUMNS - 1))]
    lines = ([f"A-{n}", *rng.random(COLUMNS - 1).tolist()] for n in range(rows))
    if path.suffix == ".csv":
        quoted = path.stem == "quoted"
        with path.open("w") as file:
            file.write(",".join(names) + "\n")
            for first, *others in lines:
                id_ = f'"{first}"' if quoted else first
                file.write(",".join([id_, *map(repr, others)]) + "\n")
        return
    from openpyxl import Workbook

    book = Workbook(write_only=True)
    sheet = book.create_sheet("table")
    sheet.append(names)
    for n, line in enumerate(lines):
        if path.stem == "dates":
            line[1] = date(2026, 1, 1) + timedelta(days=n % 365)
        sheet.append(line)
    book.save(path)


if __name__ == "__main__":
    if "--read" in sys.argv:
        read(Path(sys.argv[-1]))
    elif "--against" in sys.argv:
        compare(Path(sys.argv[sys.argv.index("--against") + 1]).resolve())
    else:
        main()
