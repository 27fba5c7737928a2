"""Time and memory to read tables of ordinary and of large size.

    python benchmarks/reading.py           10^5 rows as CSV, 10^4 rows as Excel
    python benchmarks/reading.py --large   10^6 rows of 20 columns as CSV, 10^5 rows as Excel too

Seconds are of the processor. Each table is read in a process of its own, whose peak of memory is
that of the whole process. `PYTHONPATH=OTHER/src` reads the same tables with another weal: run both
in turn, since tables are kept in the folder for temporary files.
"""

import json
import subprocess
import sys
import tempfile
import time
from datetime import date, timedelta
from pathlib import Path

import numpy as np

COLUMNS = 20
REPEATS = 3
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
    else:
        main()
