"""A campaign from the first ask to the export, by the `weal` command, with a simulated laboratory.

python scripts/demo_campaign.py FOLDER      the campaign is stored there; it needs no extra

Ctrl-C loses no label that was told.
"""

import csv
import json
import math
import os
import random
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

from weal import ActiveLearner, open_campaign
from weal.samples import path, reactions

FIRST, ROUNDS, BATCH, CHECKS = 6, 4, 8, 6
LABELLED, DRAWS = 10, 5  # labels that the table has, and draws of random rows
Row = dict[str, Any]


def weal(line: str, folder: Path, quiet: bool = False) -> str:
    """Run a command as a user would, in that folder; its data come back when it is quiet."""
    words = shlex.split(line)
    if not quiet:
        print(f"\n$ weal {line}", flush=True)
    command = [sys.executable, "-c", "from weal.cli.main import main; main()", *words]
    own = {"OMP_NUM_THREADS": "1", **os.environ, "WEAL_STORE": "sqlite:///weal.db"}
    to = subprocess.PIPE if quiet else None
    done = subprocess.run(
        command, cwd=folder, env=own, text=True, check=False, stdout=to, stderr=to
    )
    if done.returncode:
        if quiet:
            print(done.stderr, end="", file=sys.stderr)
        sys.exit(done.returncode)
    return done.stdout or ""


def asked(folder: Path, how: str) -> list[Row]:
    """Ask, without a table."""
    rows: list[Row] = json.loads(weal(f"ask reactions {how} --json", folder, quiet=True))
    return rows


def measure(ids: list[str], file: Path) -> list[float]:
    """The laboratory writes what it found for these rows to a file, and gives it back."""
    found = [cast(float, reactions.measure(name)) for name in ids]
    with file.open("w", encoding="utf-8", newline="") as out:
        lines = csv.writer(out)
        lines.writerow(["run", "yield"])
        lines.writerows(zip(ids, found, strict=True))
    return found


def fill_in(worksheet: Path) -> tuple[str, float]:
    """The laboratory fills a worksheet in; of one number the point is lost, the last row fails."""
    with worksheet.open(encoding="utf-8-sig", newline="") as file:
        header, *rows = csv.reader(file)
    at = header.index("yield")
    for row in rows:
        row[at] = str(reactions.measure(row[0]))
    typo, right = rows[1][0], float(rows[1][at])
    rows[1][at] = rows[1][at].replace(".", "")
    rows[-1][at] = "failed"
    with worksheet.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return typo, right


def first_round(folder: Path) -> None:
    """Every step of a round, as one types it."""
    weal("new reactions --pool reactions.csv --id run --target yield --by ann", folder)
    weal(f"ask reactions -n {FIRST} --by ann --to batch.csv", folder)
    print("\nThe laboratory fills the worksheet in. One run failed, one point is lost:")
    typo, right = fill_in(folder / "batch.csv")
    weal("tell reactions --file batch.csv --by ann", folder)
    print("\nThe label is saved, with a warning. It was a typo:")
    weal(f"tell reactions {typo} {right} --replace --by ann", folder)


def other_round(folder: Path, n: int, how: str, by: str) -> None:
    """A round in a few lines: expected and measured."""
    rows = asked(folder, f"{how} --by {by}")
    found = measure([row["id"] for row in rows], folder / "results.csv")
    weal(f"tell reactions --file results.csv --by {by}", folder, quiet=True)
    for row, value in zip(rows, found, strict=True):
        inside = row["low"] <= value <= row["high"]
        print(
            f"  round {n}  {row['id']}  expected {row['mean']:5.1f} +- {row['sd']:4.1f}   "
            f"measured {value:5.1f}{'' if inside else '   outside its 90 % interval'}",
            flush=True,
        )


def compare_with_random(folder: Path) -> str:
    """The true error of the chosen rows, beside that of as many rows drawn at random."""
    with open_campaign("reactions", f"sqlite:///{folder}/weal.db") as campaign:
        session = campaign.read_session()
        labels = session.ledger.quantity().labels
        told = [str(event.id) for event in campaign.events() if event.kind == "told"]
        first = told[:LABELLED]  # those of the table
        pool = session.state.candidates
        ids, X = [str(name) for name in pool.ids], pool.inputs_at(slice(None))
        chosen = error(session.model().predict(X), ids)
    y = {name: cast(float, reactions.measure(name)) for name in ids}
    free, others = [name for name in ids if name not in first], []
    for seed in range(DRAWS):
        drawn = random.Random(seed).sample(free, len(labels) - len(first))
        learner = ActiveLearner(X, ids=ids, seed=seed)
        learner.tell([*first, *drawn], [y[name] for name in (*first, *drawn)])
        others.append(error(learner.model.predict(X), ids))
    mean = sum(others) / len(others)
    return (
        f"With {len(labels)} labels, predictions of all recipes are {chosen:.1f} off the truth. "
        f"With as many rows drawn at random they would be {mean:.1f} off (mean of {DRAWS} draws, "
        f"{min(others):.1f} to {max(others):.1f}): {mean / chosen:.2f} times as much."
    )


def error(predicted: Any, ids: list[str]) -> float:
    """Root mean square error against the truth, without the noise of the laboratory."""
    squares = [(p - reactions.truth(name)) ** 2 for p, name in zip(predicted, ids, strict=True)]
    return math.sqrt(sum(squares) / len(squares))


def story(folder: Path) -> None:
    """All of it."""
    print("400 recipes of a reaction, 10 of them run. Which of the others should be run next?")
    shutil.copy(path("reactions.csv"), folder)
    first_round(folder)
    print(f"\n{ROUNDS} more rounds of weal ask -n {BATCH} and weal tell --file:")
    for n in range(2, ROUNDS + 2):
        other_round(folder, n, f"-n {BATCH}", "ann" if n % 2 else "bo")
    print(f"\nAnd {CHECKS} rows drawn at random for an honest test (weal ask --check {CHECKS}):")
    other_round(folder, ROUNDS + 2, f"--check {CHECKS}", "bo")
    weal("status reactions --until 'error < 6'", folder)
    weal("export reactions --what predictions --to predictions.csv", folder)
    weal("doctor --store sqlite:///weal.db", folder)
    print(f"\nCompared with the true yields of the simulation. {compare_with_random(folder)}")
    print(f"\nThe campaign and its files are in {folder}. To continue: {go_on(folder)}")


def go_on(folder: Path) -> str:
    """What to type next."""
    return f"cd {folder} && {Path(sys.executable).with_name('weal')} status reactions"


def main(folder: Path) -> None:
    """Run the story; say where the campaign is when it is stopped."""
    try:
        story(folder)
    except KeyboardInterrupt:
        print(f"\nStopped. All labels are saved. To continue: {go_on(folder)}")
        sys.exit(130)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
