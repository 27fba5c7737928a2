"""Contradicted labels: share of planted errors that are reported, and of false alarms.

    python -m benchmarks.contradictions [SEED ...]

Planted, two campaigns for each seed and kind: 30 labels of a smooth function of two inputs with
noise of 2 % of its sd, of which

    sure     3 are raised by 5 sds and marked as sure
    run      6 in a row have one value: the one before, the first of them, the median or the largest
    group    10, told by one of two people, are of another function

Clean, one campaign for each seed, function and noise (0, 5 and 30 %): 15 to 60 labels of functions
of one to six inputs, smooth, skewed, peaked, with steps, kinks and plateaus, at a bound or not.
Rows are drawn at random, drift along an input, or are chosen by the learner. Labels are as they
are, rounded, or five scores, in the order of the rows or, as of a table, sorted. They are told by
two people, on three days, with two instruments, of which some differ in the region that they
measure; none, a fifth or all of them are sure.

Asked for: each kind is named in 9 of 10 campaigns; of the clean ones, 1 in 200 is given a warning.
The thresholds were chosen with seeds below 500; report with others.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.real_labels.functions import FUNCTIONS
from numpy.typing import NDArray

from weal import ActiveLearner
from weal.diagnostics.contradictions import contradictions

Array = NDArray[np.float64]
Function = Callable[[Array, float], Array]
KINDS = ("sure", "run", "group")
NOISES = (0.0, 0.05, 0.3)
PLANTED = 2  # campaigns of each kind for each seed


def smooth(X: Array, a: float) -> Array:
    """Waves and a slope."""
    return np.asarray(np.sin(3.0 * X[:, 0] + a) + X[:, 1] ** 2 + 0.5 * X[:, 0] * X[:, 1])


def sine(X: Array, a: float) -> Array:
    """A wave on a slope, of one input."""
    return np.asarray(np.sin(7.0 * X[:, 0] + a) + X[:, 0])


def linear(X: Array, a: float) -> Array:
    """A plane, of four inputs."""
    return np.asarray(X @ np.array([1.0, 2.0, -1.5, 0.5 + 0.1 * a]))


def branin(X: Array, a: float) -> Array:
    """Branin's function."""
    x, y = 15.0 * X[:, 0] - 5.0, 15.0 * X[:, 1]
    bowl = (y - 5.1 / (4.0 * np.pi**2) * x**2 + 5.0 / np.pi * x - 6.0) ** 2
    return np.asarray(bowl + 10.0 * (1.0 - 1.0 / (8.0 * np.pi)) * np.cos(x) + 10.0)


def saturated(X: Array, a: float) -> Array:
    """A yield in percent: a sigmoid with plateaus near 0 and 100."""
    z = X @ np.array([1.0, 0.6, -0.4])[: X.shape[1]] - 0.5 + 0.1 * np.sin(a)
    return np.asarray(100.0 / (1.0 + np.exp(-12.0 * z)))


def bounded(X: Array, a: float) -> Array:
    """A yield in percent, cut off at 0 and 100."""
    return np.clip(60.0 * (X[:, 0] + 0.5 * np.sin(3.0 * X[:, 1] + a)) + 30.0, 0.0, 100.0)


def terrace(X: Array, a: float) -> Array:
    """A plateau within the range of the labels."""
    z = 3.0 * np.sin(5.0 * X[:, 0] + a) + 2.0 * X[:, 1]
    return np.where(np.abs(z - 1.0) < 1.0, 1.0, z)


def step(X: Array, a: float) -> Array:
    """A jump along one input."""
    return np.asarray(1.0 * (X[:, 0] > 0.5 + 0.2 * np.sin(a)) + 0.3 * np.sin(4.0 * X[:, 1]))


def skewed(X: Array, a: float) -> Array:
    """A function whose logarithm is smooth."""
    return np.exp(2.0 * np.sin(4.0 * X[:, 0] + a) + 1.5 * X[:, 1])


def peak(X: Array, a: float) -> Array:
    """One peak above a plain."""
    r2 = ((X - 0.3 - 0.05 * np.sin(a)) ** 2).sum(axis=1)
    return np.asarray(10.0 * np.exp(-30.0 * r2))


CLEAN: dict[str, tuple[Function, int]] = {
    **FUNCTIONS,
    "smooth": (smooth, 2),
    "sine": (sine, 1),
    "linear": (linear, 4),
    "branin": (branin, 2),
    "saturated": (saturated, 3),
    "bounded": (bounded, 2),
    "terrace": (terrace, 2),
    "step": (step, 2),
    "skewed": (skewed, 2),
    "peak": (peak, 2),
}
BOUNDED = ("saturated", "bounded")


@dataclass(frozen=True)
class Campaign:
    """Labels in the order they were told."""

    X: Array
    y: Array
    sure: NDArray[np.bool_]
    groups: dict[str, list[str]]

    def named(self) -> list[Any]:
        """What is reported."""
        learner = ActiveLearner(self.X, seed=0)
        learner.tell(range(len(self.y)), self.y, sure=self.sure)
        return contradictions(learner.state.view(), learner.model, self.groups)


def planted(kind: str, seed: int) -> tuple[Campaign, set[int]]:
    """A campaign with an error of that kind, and the labels that are wrong."""
    rng = np.random.default_rng([seed, KINDS.index(kind), 8])
    X, a, t = rng.random((30, 2)), float(rng.uniform(0.0, 2.0 * np.pi)), 30
    f = smooth(rng.random((500, 2)), a)
    y = smooth(X, a) + 0.02 * f.std() * rng.standard_normal(t)
    wrong = rng.permutation(t)[: {"sure": 3, "group": 10}.get(kind, 0)]
    if kind == "sure":
        y[wrong] += 5.0 * f.std()
    if kind == "run":
        first = int(rng.integers(1, t - 6))
        wrong = np.arange(first, first + 6)
        y[wrong] = [y[first - 1], y[first], float(np.median(y)), y.max()][seed % 4]
    if kind == "group":
        y[wrong] = smooth(1.0 - X[wrong], a + 1.0)
    bad = np.isin(np.arange(t), wrong)
    who = ["bob" if one else "ann" for one in bad] if kind == "group" else _people(rng, X)
    sure = bad if kind == "sure" else np.zeros(t, dtype=bool)
    return Campaign(X, y, sure, {"told by": who}), set(wrong.tolist())


def found(kind: str, seed: int) -> bool:
    """Whether the planted error is named: its kind, all of its labels and no other."""
    campaign, wrong = planted(kind, seed)
    return any(one.kind == kind and _same(one, wrong) for one in campaign.named())


def _same(one: Any, wrong: set[int]) -> bool:
    """Whether these are the wrong labels; a run may have begun with the value that it repeats."""
    more = set(one.ids) - wrong
    return wrong <= set(one.ids) and len(more) <= (1 if one.kind == "run" else 0)


def clean(name: str, noise: float, seed: int) -> Campaign:
    """A campaign without errors."""
    function, d = CLEAN[name]
    rng = np.random.default_rng([seed, list(CLEAN).index(name), int(100 * noise), 9])
    a, t = float(rng.uniform(0.0, 2.0 * np.pi)), int(rng.choice([15, 20, 30, 45, 60]))
    sd = float(function(rng.random((500, d)), a).std())

    def measured(X: Array) -> Array:
        y = function(X, a) + noise * sd * rng.standard_normal(len(X))
        y = np.clip(y, 0.0, 100.0) if name in BOUNDED else y
        return y

    X, y = _design(measured, d, t, rng, seed)
    scores = 1.0 + np.searchsorted(np.quantile(y, [0.2, 0.4, 0.6, 0.8]), y)
    y = np.stack([y, y, np.round(y / sd * 5.0) * sd / 5.0, scores])[int(rng.integers(4))]
    days = [f"2026-03-0{1 + 3 * n // t}" for n in range(t)]
    instruments = ["A" if one < 0.5 else "B" for one in rng.random(t)]
    groups = {"told by": _people(rng, X), "told on": days, "instrument": instruments}
    sure = rng.random(t) < float(rng.choice([0.0, 0.2, 1.0]))
    order = np.argsort(y, kind="stable") if rng.random() < 0.1 else np.arange(t)
    groups = {name: [values[n] for n in order] for name, values in groups.items()}
    return Campaign(X[order], y[order], sure[order], groups)


def _design(
    measured: Callable[[Array], Array], d: int, t: int, rng: np.random.Generator, seed: int
) -> tuple[Array, Array]:
    """Rows and their labels: drawn at random, drifting, or chosen."""
    kind = int(rng.integers(4))
    if kind == 3:
        pool = rng.random((200, d))
        learner, labels = ActiveLearner(pool, seed=seed), dict[Any, float]()
        while len(labels) < t:
            ids = learner.ask(min(5, t - len(labels)))
            values = measured(pool[ids])
            learner.tell(ids, values)
            labels |= dict(zip(ids, values.tolist(), strict=True))
        return pool[list(labels)], np.array(list(labels.values()))
    X = rng.random((t, d))
    if kind == 2:
        X[:, 0] = np.clip(np.sort(X[:, 0]) + 0.1 * rng.standard_normal(t), 0.0, 1.0)
    return X, measured(X)


def _people(rng: np.random.Generator, X: Array) -> list[str]:
    """Who told each label: anybody, each a region, sharp or not, or each a part of the time."""
    t, w = len(X), rng.standard_normal(X.shape[1])
    r2 = ((X - 0.5) ** 2).sum(axis=1)
    ways = [
        rng.random(t) > 1.0 / 3.0,
        X[:, 0] > np.quantile(X[:, 0], 0.6),
        X[:, 0] + 0.15 * rng.standard_normal(t) > np.quantile(X[:, 0], 0.6),
        X @ w > np.quantile(X @ w, 0.55),
        r2 < np.quantile(r2, 0.4),
        np.arange(t) < t // 3,
    ]
    return ["ann" if one else "bob" for one in ways[int(rng.integers(len(ways)))]]


def warned(seed: int) -> Iterator[tuple[str, float, list[Any]]]:
    """What is reported of each of the clean campaigns of a seed."""
    for name in CLEAN:
        for noise in NOISES:
            campaign = clean(name, noise, seed)
            yield name, noise, campaign.named()


def main() -> None:
    """Print what was asked for and measured."""
    warnings.simplefilter("ignore")
    seeds = [int(word) for word in sys.argv[1:]] or list(range(500, 512))
    for kind in KINDS:
        hits = [found(kind, PLANTED * seed + n) for seed in seeds for n in range(PLANTED)]
        print(f"{kind}: named in {sum(hits)} of {len(hits)} (asked: 9 of 10)", flush=True)
    campaigns, given = 0, 0
    for seed in seeds:
        for name, noise, reported in warned(seed):
            campaigns, given = campaigns + 1, given + bool(reported)
            for one in reported:
                said = f"{one.kind} {one.gain:.1f} nats, {one.words}"
                print(f"  {name}, noise {noise}, seed {seed}: {said}", flush=True)
    print(f"clean campaigns with a warning: {given} of {campaigns} (asked: 1 in 200)")


if __name__ == "__main__":
    main()
