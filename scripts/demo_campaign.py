"""A campaign from the first ask to the export, by the `weal` command, with a simulated laboratory.

Everything happens in a temporary folder that stays; Ctrl-C loses nothing that was told. With
--serve the campaign ends as a page in a browser (further words go to `weal serve`).
"""

import csv
import json
import math
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from weal import open_campaign
from weal.samples import alloys, path

FIRST, ROUNDS, BATCH, CHECKS = 4, 5, 8, 6
Row = dict[str, Any]


def weal(line: str, folder: Path, quiet: bool = False) -> str:
    """Run a command as a user would, in that folder; its data come back when it is quiet."""
    words = shlex.split(line)
    if not quiet:
        print(f"\n$ weal {line}", flush=True)
    command = [sys.executable, "-c", "from weal.cli.main import main; main()", *words]
    own = {"OMP_NUM_THREADS": "1", **os.environ, "WEAL_STORE": "sqlite:///weal.db"}
    out = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} if quiet else {}
    done = subprocess.run(command, cwd=folder, env=own, text=True, check=False, **out)
    if done.returncode:
        if quiet:
            print(done.stderr, end="", file=sys.stderr)
        sys.exit(done.returncode)
    return done.stdout or ""


def asked(folder: Path, how: str) -> list[Row]:
    """Ask, without a table."""
    rows: list[Row] = json.loads(weal(f"ask alloys {how} --json", folder, quiet=True))
    return rows


def measure(ids: list[str], file: Path) -> list[float]:
    """The laboratory writes what it found for these rows to a file, and gives it back."""
    found = [alloys.measure(name) for name in ids]
    with file.open("w", encoding="utf-8", newline="") as out:
        lines = csv.writer(out)
        lines.writerow(["sample", "hardness"])
        lines.writerows(zip(ids, found, strict=True))
    return found


def first_round(folder: Path) -> None:
    """Every step of a round, as one types it."""
    weal("new alloys --pool alloys.csv --id sample --target hardness --by ann", folder)
    weal(f"ask alloys -n {FIRST} --by ann", folder)
    with open_campaign("alloys", f"sqlite:///{folder}/weal.db") as campaign:
        first, *others = campaign.ledger.leases  # the rows that are out
    print("\nThe laboratory measures them. One label comes by hand, the others in a file:")
    weal(f"tell alloys {first} {alloys.measure(first)} --by ann", folder)
    measure(others, folder / "results.csv")
    weal("tell alloys --file results.csv --by ann", folder)


def other_round(folder: Path, n: int, how: str, by: str) -> None:
    """A round in a few lines: expected and measured."""
    rows = asked(folder, f"{how} --by {by}")
    found = measure([row["id"] for row in rows], folder / "results.csv")
    weal(f"tell alloys --file results.csv --by {by}", folder, quiet=True)
    for row, value in zip(rows, found, strict=True):
        inside = row["low"] <= value <= row["high"]
        print(
            f"  round {n}  {row['id']}  expected {row['mean']:5.1f} +- {row['sd']:4.1f}   "
            f"measured {value:5.1f}{'' if inside else '   outside its 90 % interval'}",
            flush=True,
        )


def true_error(predictions: Path) -> float:
    """Root mean square error of the rows without a label, noise of the laboratory included."""
    with predictions.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["labelled"] == "False"]
    squares = [(float(row["mean"]) - alloys.measure(row["id"])) ** 2 for row in rows]
    return math.sqrt(sum(squares) / len(squares))


def story(folder: Path) -> None:
    """All of it."""
    print("300 alloys, 12 of them measured. Which of the others should be measured next?")
    shutil.copy(path("alloys.csv"), folder)
    first_round(folder)
    print(f"\n{ROUNDS} more rounds of weal ask -n {BATCH} and weal tell --file:")
    for n in range(2, ROUNDS + 2):
        other_round(folder, n, f"-n {BATCH}", "ann" if n % 2 else "bo")
    print(f"\nAnd {CHECKS} rows drawn at random for an honest test (weal ask --check {CHECKS}):")
    other_round(folder, ROUNDS + 2, f"--check {CHECKS}", "bo")
    weal("status alloys --goal 6", folder)
    weal("plot alloys --to pictures", folder)
    weal("export alloys --what predictions --to predictions.csv", folder)
    weal("doctor --store sqlite:///weal.db", folder)
    print(
        "\nWhat only a simulation can know: measured, the alloys without a label are "
        f"{true_error(folder / 'predictions.csv'):.1f} off their predictions (root mean square)."
    )
    print(f"\nThe campaign and its files are in {folder}. To go on: {go_on(folder)}")


def go_on(folder: Path) -> str:
    """What to type next."""
    return f"cd {folder} && {Path(sys.executable).with_name('weal')} status alloys"


def main() -> None:
    """Run the story; say where things are when it is stopped."""
    folder = Path(tempfile.mkdtemp(prefix="weal-demo-"))
    try:
        story(folder)
        if "--serve" in sys.argv[1:]:
            asked(folder, f"-n {BATCH} --by ann")  # something to do at the bench, as ann
            words = [one for one in sys.argv[1:] if one != "--serve"]
            weal(shlex.join(["serve", *words]), folder)
    except KeyboardInterrupt:
        print(f"\nStopped. What was told is kept: {go_on(folder)}")
        sys.exit(130)


if __name__ == "__main__":
    main()
