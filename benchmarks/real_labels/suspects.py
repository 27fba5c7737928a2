"""Suspect labels: false alarms on clean campaigns, and share of planted typos found.

    python -m benchmarks.real_labels.suspects [swap] [SEED ...]

A campaign is a learner that asks 30 to 55 rows of a pool of 300 in batches of five, on each of the
functions, scaled to 100 +- 20, with noise of 5 or 20 % of that spread. Clean ones give the false
alarms: labels that `suspects` names after the last one, and labels that `tell` would have named, by
what was expected when their row was asked. Then, in each, one label is multiplied or divided by 10,
100 or 1000, or swapped with another of its batch, where that moves it by more than 4 predictive sds
of the fit without it; with the word swap, swaps only. Found is what `suspects` names among all
labels once it is told so.

Asked for: at most 1 false alarm in 200 labels; at least 80 % of the planted ones found.
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.real_labels.functions import FUNCTIONS

from weal import ActiveLearner
from weal.core.constants import INTERVAL_LEVEL
from weal.diagnostics.suspects import suspects
from weal.quantities.number import FAR_HALF_WIDTHS as TOLD_FROM

POOL, BATCH = 300, 5
FAR = 4.0  # predictive sds
NORMAL = 1.6449
FACTORS = {"10": 10.0, "100": 100.0, "1000": 1000.0, "1/10": 0.1, "1/100": 0.01}


@dataclass(frozen=True)
class Row:
    """What came of one campaign."""

    task: str
    seed: int
    labels: int
    alarms: int  # of `suspects`
    told: int  # alarms of `tell`
    expected: int  # labels that had an expectation
    kind: str = ""  # of what was planted; empty: it would have moved the label too little
    found: bool = False
    explained: bool = False


def rows(seeds: Iterable[int], kind: str | None = None) -> Iterator[Row]:
    """The results of all functions, for each seed."""
    for seed in seeds:
        for name in FUNCTIONS:
            yield one(name, seed, kind or [*FACTORS, "swap"][seed % 6])


def one(name: str, seed: int, kind: str) -> Row:
    """One campaign, clean and with one label wrong."""
    function, d = FUNCTIONS[name]
    rng = np.random.default_rng([seed, list(FUNCTIONS).index(name), 5])
    X, a = rng.random((POOL, d)), float(rng.uniform(0.0, 2.0 * np.pi))
    f = function(X, a)
    y = 100.0 + 20.0 * (f - f.mean()) / f.std()
    y += 20.0 * (0.05 if seed % 2 else 0.2) * rng.standard_normal(POOL)
    learner, batches = ActiveLearner(X, seed=seed), dict[object, object]()
    told = expected = 0
    for n in range(int(rng.integers(6, 12))):
        ids = learner.ask(BATCH)
        if learner.fitted:
            mean, half = expectation(learner, X[ids])
            told += int((np.abs(y[ids] - mean) > TOLD_FROM * half).sum())
            expected += len(ids)
        learner.tell(ids, y[ids])
        batches |= dict.fromkeys(ids, n)
    clean = Row(
        name, seed, len(batches), len(suspects(learner.state.view(), learner.model, batches)), told,
        expected,
    )  # fmt: skip
    return planted(clean, kind, learner, y, X, batches, rng)


def expectation(learner: ActiveLearner, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What is expected of labels at X, and half the width of the interval."""
    low, high = learner.model.predict_interval(X, INTERVAL_LEVEL)
    return learner.model.predict(X), 0.5 * (high - low)


def planted(
    row: Row, kind: str, learner: ActiveLearner, y: np.ndarray, X: np.ndarray,
    batches: dict[Any, object], rng: np.random.Generator,
) -> Row:  # fmt: skip
    """The row, with what came of one wrong label."""
    ids = list(batches)
    victim = ids[int(rng.integers(len(ids)))]
    mates = [one for one in ids if batches[one] == batches[victim] and one != victim]
    other = max(mates, key=lambda one: abs(y[one] - y[victim])) if kind == "swap" else None
    wrong = {victim: y[victim] * FACTORS[kind]} if other is None else {victim: y[other]}
    wrong |= {} if other is None else {other: y[victim]}
    for name in wrong:
        learner.forget(name)
    at = np.array(list(wrong))
    mean, half = expectation(learner, X[at])
    if abs(wrong[victim] - mean[0]) <= FAR * half[0] / NORMAL:
        return row
    learner.tell(list(wrong), list(wrong.values()))
    named = {one.id: one for one in suspects(learner.state.view(), learner.model, batches)}
    found = named.get(victim)
    right = found is not None and (
        found.swap == other if other is not None else found.factor == FACTORS[kind]
    )
    return Row(
        row.task, row.seed, row.labels, row.alarms, row.told, row.expected, kind,
        found is not None, right,
    )  # fmt: skip


def main() -> None:
    """Print what was asked for and measured."""
    words = sys.argv[1:]
    kind = "swap" if "swap" in words else None
    seeds = [int(word) for word in words if word != "swap"] or range(6)
    found = []
    for row in rows(seeds, kind):
        found.append(row)
        print(row, flush=True)
    labels, expected = sum(row.labels for row in found), sum(row.expected for row in found)
    alarms, told = sum(row.alarms for row in found), sum(row.told for row in found)
    tried = [row for row in found if row.kind]
    hits, right = sum(row.found for row in tried), sum(row.explained for row in tried)
    print(f"false alarms of suspects: {alarms} of {labels} labels (asked: <= 1 in 200)")
    print(f"false alarms of tell: {told} of {expected} labels (asked: <= 1 in 200)")
    print(f"planted and found: {hits} of {len(tried)} (asked: >= 80 %); explained rightly: {right}")


if __name__ == "__main__":
    main()
