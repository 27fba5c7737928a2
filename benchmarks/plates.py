"""Plates with one level of a hard-to-change factor: what they cost, and what the choice gains.

Campaigns in fours, on the same rows with the same noise: START labels that fill the space, and then
PLATES batches of ROWS rows, chosen in one of four ways:

    free      any rows: `ask(n)`
    same      one level of the factor, that of the best joint batch: `ask(n, same=column)`
    best row  the level of the best single row, and the greedy batch of that level
    filter    a free batch of 4 n rows, its most frequent level, and the rows of that level, the
              first n in the order of the choice, completed by the greedy batch of the level

A curve is log10 NMSE (not below FLOOR) after a plate, on held-out points of a function, or on the
rows of a table that have no label yet. Differences are of pairs; intervals are of their mean over
campaigns, at 95 %. Processor seconds are those of `ask`, the fit before it excluded.

    python benchmarks/plates.py --seeds 10-15 --to plates.jsonl
    python benchmarks/plates.py --read plates.jsonl

Runs write each campaign as it ends, and skip campaigns that the file has.
"""

import argparse
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd

import weal
from weal.benchmark.tasks import FUNCTIONS, Function

START, ROWS, PLATES, LEVELS, POOL, TEST = 16, 12, 1, 10, 800, 1000
NOISE, FLOOR = 0.05, 1e-5
FUNCTION_TASKS = ("branin", "currin", "ackley", "five", "ridge")
LAB = Path(__file__).resolve().parents[2] / "shared" / "data" / "lab"
TABLES = {
    "suzuki": ("temperature", "yield"),
    "fullerenes": ("temperature", "product"),
    "lnp3": ("solid_lipid", "particle_diameter"),
    "oer_plate_3496": ("ni_load", "overpotential"),
    "buchwald_a": ("ligand", "yield"),
}
METHODS = ("free", "same", "best row", "filter")


@dataclass(frozen=True, eq=False)
class Plate:
    """The rows of a task with their labels, and how predictions are judged."""

    rows: pd.DataFrame
    y: Any  # (rows,)  with noise
    column: str  # of the factor
    test: pd.DataFrame | None = None  # None: the rows without a label
    truth: Any = None


def five(X: Any) -> Any:
    """A function of five inputs."""
    wave = np.sin(3.0 * X[:, 0]) + np.cos(2.0 * X[:, 3]) / 2.0
    return wave + X[:, 1] * X[:, 2] + 0.3 * X[:, 4] ** 2


def ridge(X: Any) -> Any:
    """A function of three inputs whose first one only shifts the others."""
    return np.sin(4.0 * (X[:, 1] + 0.5 * X[:, 0])) + X[:, 2] ** 2 - 0.5 * X[:, 0]


OWN = {
    "five": Function(five, (-1.0,) * 5, (1.0,) * 5),
    "ridge": Function(ridge, (-1.0,) * 3, (1.0,) * 3),
}


def task_rows(name: str, seed: int) -> Plate:
    """A function with its first input in LEVELS levels, or a table of a laboratory."""
    if name in TABLES:
        return table_rows(name, seed)
    function = OWN.get(name) or FUNCTIONS[name]
    rng = np.random.default_rng([41, (*OWN, *FUNCTIONS).index(name), seed])
    X, _ = function.sample(rng, POOL + TEST)
    low, high = function.lower[0], function.upper[0]
    steps = np.round((X[:POOL, 0] - low) / (high - low) * (LEVELS - 1)) / (LEVELS - 1)
    X[:POOL, 0] = low + steps * (high - low)
    f = function.formula(X)
    noisy = f[:POOL] + NOISE * f.std() * rng.standard_normal(POOL)
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    return Plate(frame[:POOL], noisy, "x0", frame[POOL:].reset_index(drop=True), f[POOL:])


def table_rows(name: str, seed: int) -> Plate:
    """Rows of a table of a laboratory."""
    column, target = TABLES[name]
    table = pd.read_csv(LAB / f"{name}.csv").drop(columns="id")
    table = table.sample(min(POOL, len(table)), random_state=seed).reset_index(drop=True)
    results = [one for one in ("drug_loading", "encap_efficiency", target) if one in table]
    return Plate(table.drop(columns=results), table[target].to_numpy(), column)


def log_nmse(learner: Any, plate: Plate) -> float:
    """log10 of the mean squared error over the variance of the truth."""
    if plate.test is None:
        told = {label.name for label in learner.labels}
        left = [n for n in range(len(plate.rows)) if n not in told]
        guess, truth = learner.predict(plate.rows.loc[left]), plate.y[left]
    else:
        guess, truth = learner.predict(plate.test), plate.truth
    return float(np.log10(max(np.mean((guess - truth) ** 2) / np.var(truth), FLOOR)))


def level_batch(learner: Any, plate: Plate, level: Any, n: int, rows: Iterable[int] = ()) -> Any:
    """The greedy batch of one level, with some rows of it by hand."""
    word = level if isinstance(level, str) else repr(float(level))
    where = f"{plate.column} is '{word}'"
    return learner.ask(n, where=where, rows=list(rows)[:n])


def choose(learner: Any, plate: Plate, method: str, n: int) -> Any:
    """The rows of the next plate."""
    if method == "free":
        return learner.ask(n, more=True)
    if method == "same":
        return learner.ask(n, same=plate.column)
    levels, free = plate.rows[plate.column], set(plate.rows.index) - set(labelled(learner))
    sizes = levels[sorted(free)].value_counts()
    first = learner.ask(1 if method == "best row" else min(4 * n, len(free)), more=True)
    learner.release(first)
    if method == "best row":
        large = [row for row in first if sizes[levels[row]] >= n]
        level = levels[large[0]] if large else sizes.index[0]
        return level_batch(learner, plate, level, n)
    counts = levels[first].value_counts()
    level = next((one for one in counts.index if sizes[one] >= n), sizes.index[0])
    return level_batch(learner, plate, level, n, [row for row in first if levels[row] == level])


def labelled(learner: Any) -> list[Any]:
    """The rows with a label."""
    return [label.name for label in learner.labels]


def campaign(task: str, seed: int, method: str) -> dict[str, Any]:
    """Errors after each plate, its level, and processor seconds of the choice."""
    plate = task_rows(task, seed)
    learner = weal.ActiveLearner(plate.rows, seed=seed)
    first = learner.ask(START)
    learner.tell(first, plate.y[first])
    errors, seconds, levels = [log_nmse(learner, plate)], [], []
    for _ in range(PLATES):
        learner.ask(1)  # the model of the labels so far, and its pool
        learner.release(list(learner.pending))
        start = process_time()
        batch = choose(learner, plate, method, ROWS)
        seconds.append(process_time() - start)
        levels.append(sorted({str(one) for one in plate.rows[plate.column][batch]}))
        learner.tell(batch, plate.y[batch])
        errors.append(log_nmse(learner, plate))
    return {
        "task": task, "seed": seed, "method": method, "errors": errors, "seconds": seconds,
        "levels": levels,
    }  # fmt: skip


def run(tasks: Iterable[str], seeds: Iterable[int], methods: Iterable[str], to: Path) -> None:
    """All campaigns that the file does not have."""
    there = {(one["task"], one["seed"], one["method"]) for one in read(to)}
    for seed in seeds:
        for task in tasks:
            for method in methods:
                if (task, seed, method) not in there:
                    with to.open("a") as file:
                        file.write(json.dumps(campaign(task, seed, method)) + "\n")


def read(path: Path) -> list[dict[str, Any]]:
    """The campaigns of a file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def interval(values: list[float]) -> str:
    """The mean, and its 95 % interval."""
    half = 1.96 * np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{np.mean(values):+.3f} +- {half:.3f}"


def report(found: list[dict[str, Any]]) -> None:
    """Differences to `same`, after each plate, and processor time of `same` over that of `free`."""
    known = {(one["task"], one["seed"], one["method"]): one for one in found}
    tasks = list(dict.fromkeys(one["task"] for one in found))
    for title, names in [*((one, [one]) for one in tasks), ("all", tasks)]:
        pairs = [(seed, task) for task, seed, method in known if method == "same" and task in names]
        cells = [f"{title} ({len(pairs)})"]
        for other in ("free", "best row", "filter"):
            for k in range(1, PLATES + 1):
                gaps = [
                    known[task, seed, "same"]["errors"][k] - known[task, seed, other]["errors"][k]
                    for seed, task in pairs
                    if (task, seed, other) in known
                ]
                cells.append(f"{other} {k}: {interval(gaps) if gaps else '-'}")
        times = {
            one: sum(sum(known[task, seed, one]["seconds"]) for seed, task in pairs)
            for one in ("same", "free")
            if all((task, seed, one) in known for seed, task in pairs)
        }
        if len(times) == 2:
            cells.append(f"time {times['same'] / times['free']:.1f}")
        print(" | ".join(cells))


def main() -> None:
    """Run, or read, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="10-13")
    parser.add_argument("--tasks", default=",".join([*FUNCTION_TASKS, *TABLES]))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--to", type=Path, default=Path("plates.jsonl"))
    parser.add_argument("--read", type=Path)
    given = parser.parse_args()
    if given.read is None:
        low, _, high = given.seeds.partition("-")
        seeds = range(int(low), int(high or low) + 1)
        run(given.tasks.split(","), seeds, given.methods.split(","), given.to)
    report(read(given.read or given.to))


if __name__ == "__main__":
    main()
