"""Outliers: errors against clean labels, false alarms, and the cost of outlier detection.

    python -m benchmarks.real_labels.outliers [first seed] [seeds]

Every row is what was looked at, what is asked, and what was measured: ratios of the NMSE of f to
that of a model of the same labels without the errors, over three functions and the seeds.
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.real_labels.functions import FUNCTIONS, Array, Task

from weal import EnsembleGPRegressor

NOISE = 0.05
Spoilt = tuple[Array, list[int]]  # labels, and which of them are wrong


def shifted(n: int, sds: float = 10.0) -> Callable[[Task], Spoilt]:
    """Labels off by so many sds of f, up or down."""

    def spoil(task: Task) -> Spoilt:
        at = task.rng.choice(len(task.y), n, replace=False)
        y = task.y.copy()
        y[at] += sds * task.sd * task.rng.choice([-1.0, 1.0], n)
        return y, at.tolist()

    return spoil


def multiplied(*factors: float, first: int | None = None) -> Callable[[Task], Spoilt]:
    """Labels in other units; among the first ones, where that is said."""

    def spoil(task: Task) -> Spoilt:
        at = task.rng.choice(first or len(task.y), len(factors), replace=False)
        y = task.y.copy()
        y[at] *= factors
        return y, at.tolist()

    return spoil


def swapped(task: Task) -> Spoilt:
    """Two labels in each other's place."""
    at = task.rng.choice(len(task.y), 2, replace=False)
    y = task.y.copy()
    y[at] = y[at[::-1]]
    return y, at.tolist()


def side_by_side(task: Task) -> Spoilt:
    """Three neighbours, all 10 sds up."""
    at = ((task.X - task.X[0]) ** 2).sum(axis=1).argsort()[:3]
    y = task.y.copy()
    y[at] += 10.0 * task.sd
    return y, at.tolist()


CASES: list[tuple[str, str, int, Callable[[Task], Spoilt]]] = [
    ("60 labels, one off by 10 sd", "<= 1.3", 60, shifted(1)),
    ("60 labels, one times 1000", "<= 1.3", 60, multiplied(1000.0)),
    ("55 labels, one / 100 and one x 10", "<= 1.3", 55, multiplied(0.01, 10.0)),
    ("60 labels, five off by 10 sd", "<= 2", 60, shifted(5)),
    ("15 labels, one off by 10 sd", "", 15, shifted(1)),
    ("30 labels, three off by 10 sd", "", 30, shifted(3)),
    ("60 labels, a pair swapped", "", 60, swapped),
    ("60 labels, three side by side off by 10 sd", "", 60, side_by_side),
    ("10 labels, one times 1000", "", 10, multiplied(1000.0)),
    ("10 labels, one off by 10 sd", "", 10, shifted(1)),
]


def clean(kind: str, task: Task) -> Array:
    """Labels that are right, however odd."""
    rng, f = task.rng, (task.f - task.f.mean()) / task.sd
    noise = rng.standard_normal(len(f))
    made: dict[str, Array] = {
        "noise 5 %": f + 0.05 * noise,
        "noise 30 %": f + 0.3 * noise,
        "no noise": f,
        "a jump": f + 3.0 * (task.X[:, 0] > 0.5) + 0.05 * noise,
        "a rare jump": f + 6.0 * (task.X[:, 0] > 0.85) + 0.05 * noise,
        "Student t3 noise": f + 0.2 * rng.standard_t(3, size=len(f)),
        "log-normal": np.exp(f + 0.05 * noise),
        "log-normal, wide": np.exp(2.0 * f + 0.1 * noise),
        "log-normal noise": f + 0.3 * np.exp(noise),
        "a sharp peak": np.exp(-20.0 * ((task.X[:, :2] - 0.5) ** 2).sum(axis=1)),
    }
    return made[kind]


CLEAN = {
    "noise 5 %": "< 0.5 %",
    "noise 30 %": "< 0.5 %",
    "no noise": "< 0.5 %",
    "a jump": "<= 2 %",
    "a rare jump": "<= 2 %",
    "Student t3 noise": "<= 2 %",
    "log-normal": "<= 2 %",
    "log-normal, wide": "<= 2 %",
    "log-normal noise": "<= 2 %",
    "a sharp peak": "<= 2 %",
}
SIZES, FEW = (15, 30, 60), (8, 10, 12, 15)  # labels of clean fits
BINS = (0.1, 0.5, 0.9, 1.0)  # of probabilities
OFF = (2.0, 3.0, 4.0, 6.0, 10.0)  # sds that the one wrong label of a fit is off by


def fitted(task: Task, y: Array, outliers: bool = True) -> EnsembleGPRegressor:
    """The default model of these labels."""
    return EnsembleGPRegressor(random_state=0, outliers=outliers).fit(task.X, y)


def errors(t: int, spoil: Callable[[Task], Spoilt], seeds: Sequence[int]) -> str:
    """Ratios to clean labels, and how many of the wrong ones were found."""
    ratios, found, false, of, said = [], 0, 0, 0, []
    for name in FUNCTIONS:
        for seed in seeds:
            task = Task(name, t, NOISE, seed)
            best = task.nmse(fitted(task, task.y, outliers=False))
            y, at = spoil(task)
            model = fitted(task, y)
            wrong = model.model_.trained.outliers.wrong
            ratios.append(task.nmse(model) / best)
            found, of = found + int(wrong[at].sum()), of + len(at)
            false += int(wrong.sum() - wrong[at].sum())
            said.append(float(model.outlier_probability_[at].mean()))
    median, high = np.quantile(ratios, [0.5, 0.9])
    return (
        f"median {median:.2f}, 90 % {high:.3g}; found {found} of {of}, false {false}; "
        f"mean probability {np.mean(said):.2f}"
    )


def alarms(kind: str, seeds: Sequence[int], sizes: Sequence[int] = SIZES) -> str:
    """Share of right labels that are set aside, and of labels that are more likely wrong than
    right.
    """
    aside = named = of = 0
    for name in FUNCTIONS:
        for t in sizes:
            for seed in seeds:
                task = Task(name, t, 0.0, seed)
                model = fitted(task, clean(kind, task))
                aside += int(model.model_.trained.outliers.wrong.sum())
                named += int((model.outlier_probability_ > 0.5).sum())
                of += t
    return f"{100.0 * aside / of:.2f} % ({aside} of {of}; {named} likelier wrong than right)"


def calibration(seeds: Sequence[int], sizes: Sequence[int] = SIZES) -> Iterator[tuple[str, str]]:
    """Of labels whose probability of being wrong is so large, how many are; one in a fit is."""
    said, wrong = [], []
    for name in FUNCTIONS:
        for t in sizes:
            for n, seed in enumerate(seeds):
                task = Task(name, t, NOISE, seed)
                y, at = shifted(1, OFF[n % len(OFF)])(task)
                said.append(fitted(task, y).outlier_probability_)
                wrong.append(np.isin(np.arange(t), at))
    p, true = np.concatenate(said), np.concatenate(wrong)
    yield "below 0.1", f"{100.0 * true[p <= BINS[0]].mean():.2f} % of {(p <= BINS[0]).sum()}"
    for low, high in pairwise(BINS):
        within = true[(p > low) & (p <= high)]
        yield f"{low} to {high}", f"{within.sum()} of {len(within)}"


def cost(t: int, seeds: Sequence[int]) -> str:
    """CPU of fits of clean labels with doubt, over that without."""
    spent = {True: 0.0, False: 0.0}
    for name in FUNCTIONS:
        for seed in seeds:
            task = Task(name, t, NOISE, seed)
            for outliers in (False, True, True, False):
                start = time.process_time()
                fitted(task, task.y, outliers)
                spent[outliers] += time.process_time() - start
    return f"{spent[True] / spent[False]:.2f}"


def measured(seeds: Sequence[int]) -> Iterator[tuple[str, str, str]]:
    """The rows, one by one; fewer seeds where nothing is asked, or fits are many."""
    few, fewer = seeds[: max(1, len(seeds) // 3)], seeds[: max(1, len(seeds) // 10)]
    for what, asked, t, spoil in CASES:
        yield what, asked, errors(t, spoil, seeds if asked else few)
    for t in (20, 60, 150, 300):
        what = f"CPU of a settling, {t} clean labels, to without doubt"
        yield what, "<= 1.2", cost(t, fewer)
    for kind, asked in CLEAN.items():
        yield f"right labels doubted: {kind}", asked, alarms(kind, fewer)
        yield f"right labels doubted, 8 to 15: {kind}", "", alarms(kind, fewer, FEW)
    for what, share in calibration(few):
        yield f"probability {what}: wrong", "", share


def rows(seeds: Sequence[int]) -> list[tuple[str, str, str]]:
    """What, asked, measured."""
    return list(measured(seeds))


def main() -> None:
    """Print the rows for the seeds named."""
    first, n = map(int, sys.argv[1:3] if len(sys.argv) > 2 else ("0", "20"))
    for row in measured(range(first, first + n)):
        print(" | ".join(row), flush=True)


if __name__ == "__main__":
    main()
