"""Many labels: errors from 500 to 10,000 labels, expert selection, and a step of the learner.

    python benchmarks/real.py many --seeds 10:15
    python -m benchmarks.real_labels.many --functions "rough, 6 inputs" --seeds 10:11 --to FILE

Noise of 10 %: its sd is a tenth of that of f. Errors are NMSE of f on 1,000 points that nobody
labelled, and times are of the processor with one BLAS thread, as ratios within one run. Of the
seeds given, GROWTH_SEEDS grow to 10,000 labels, for that takes minutes; the second command does
that alone, says how far it is, and keeps what it has after every function.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np
from benchmarks import record

from weal import ActiveLearner, EnsembleGPRegressor

Row = tuple[str, str, str]
COUNTS = (500, 1000, 1500, 1700, 2500, 5000, 10_000)
GROWTH_SEEDS, SWITCH_SEEDS = 2, 5
TESTED, CANDIDATES = 1000, 5000


def _waves(X: np.ndarray, a: float) -> np.ndarray:
    x1, x2, x3, x4, x5 = X.T
    return np.asarray(np.sin(3 * x1 + a) + x2 * x3 + np.cos(2 * x4 - a) / 2 + 0.3 * x5**2)


def _friedman(X: np.ndarray, a: float) -> np.ndarray:
    x1, x2, x3, x4, x5 = 0.5 * (X.T + 1.0)
    return np.asarray(10 * np.sin(np.pi * x1 * x2) + 20 * (x3 - 0.5) ** 2 + 10 * x4 + 5 * x5)


def _rough(X: np.ndarray, a: float) -> np.ndarray:
    x1, x2, x3, x4, x5, x6 = X.T
    kink = np.abs(x3 + x4 - 0.3) + np.tanh(5 * (x5 - x6 * x1))
    return np.asarray(np.sin(6 * x1 + a) * np.exp(-(x2**2)) + kink + 0.5 * np.cos(5 * x2 + a))


FUNCTIONS: dict[str, tuple[Callable[[np.ndarray, float], np.ndarray], int]] = {
    "waves, 5 inputs": (_waves, 5),
    "Friedman 1": (_friedman, 5),
    "rough, 6 inputs": (_rough, 6),
}


class Data:
    """Labels of a function in [-1, 1]^d, and points to test on."""

    def __init__(self, name: str, n: int, seed: int) -> None:
        f, d = FUNCTIONS[name]
        rng = np.random.default_rng([seed, 77])
        a = rng.uniform(0.0, 2.0 * np.pi)
        self.test, self.X = rng.uniform(-1, 1, (TESTED, d)), rng.uniform(-1, 1, (n, d))
        self.truth, clean = f(self.test, a), f(self.X, a)
        self.y = clean + 0.1 * clean.std() * rng.standard_normal(n)

    def fitted(self, t: int) -> tuple[EnsembleGPRegressor, float]:
        """The default model of the first t labels, and the seconds that it took."""
        start = time.process_time()
        model = EnsembleGPRegressor().fit(self.X[:t], self.y[:t])
        return model, time.process_time() - start

    def error(self, model: EnsembleGPRegressor) -> float:
        """NMSE of f."""
        off = np.mean((model.predict(self.test) - self.truth) ** 2)
        return float(off / self.truth.var())


def growth(name: str, seeds: Sequence[int], counts: Sequence[int] = COUNTS) -> list[Row]:
    """NMSE by the number of labels, and the largest rise from one number to the next."""
    errors, took = np.empty((len(seeds), len(counts))), np.empty((len(seeds), len(counts)))
    for i, seed in enumerate(seeds):
        data = Data(name, counts[-1], seed)
        for j, t in enumerate(counts):
            model, took[i, j] = data.fitted(t)
            errors[i, j] = data.error(model)
            print(f"  {name}, {t:,}: {errors[i, j]:.2g}, {took[i, j]:.1f} s", file=sys.stderr)
    mean = np.exp(np.log(errors).mean(axis=0))
    rise = max(later / sooner for sooner, later in pairwise(mean.tolist()))
    course = ", ".join(f"{t:,}: {e:.2g}" for t, e in zip(counts, mean, strict=True))
    seconds = ", ".join(f"{t:,}: {s:.1f}" for t, s in zip(counts, took.mean(0), strict=True))
    return [
        (f"NMSE from {counts[0]:,} to {counts[-1]:,} labels, {name}", "falls", course),
        ("    largest ratio of one to the one before", "<= 1", f"{rise:.2f}"),
        ("    seconds of selection and fitting", "", seconds),
    ]


def switch(seeds: Sequence[int]) -> list[Row]:
    """From 1,500 to 1,700 labels, and expert selection at 1,500 and 2,000."""
    errors, took = [], []
    for seed in seeds:
        data = Data("rough, 6 inputs", 2000, seed)
        fits = [data.fitted(t) for t in (1500, 1700, 2000)]
        errors.append(data.error(fits[1][0]) / data.error(fits[0][0]))
        took.append(fits[2][1] / fits[0][1])
    each = f"{np.exp(np.mean(np.log(errors))):.2f} ({min(errors):.2f} to {max(errors):.2f})"
    selection = f"{np.mean(took):.2f} ({min(took):.2f} to {max(took):.2f})"
    return [
        ("from 1,500 to 1,700 labels, six inputs: ratio of NMSE", "<= 1", each),
        ("selection and fitting, 2,000 labels against 1,500: seconds", "<= 2.5 x", selection),
    ]


def step(name: str, seed: int, t: int) -> float:
    """Median seconds to tell a label and ask for the next, without expert selection."""
    data = Data(name, t + CANDIDATES, seed)
    learner = ActiveLearner(data.X)
    learner.tell(range(t), data.y[:t])
    query, took = learner.ask(), []
    for _ in range(4):
        start = time.process_time()
        learner.tell(query, data.y[query])
        query = learner.ask()
        took.append(time.process_time() - start)
    return float(np.median(took))


def rows(seeds: Sequence[int]) -> Iterator[Row]:
    """What was asked, and what was measured."""
    seeds = list(seeds)
    yield from switch(seeds[:SWITCH_SEEDS])
    for name in FUNCTIONS:
        few, many = (step(name, seeds[0], t) for t in (50, 5000))
        measured = f"{many / few:.0f} x ({1e3 * few:.0f} and {1e3 * many:.0f} ms)"
        what = f"a step, 5,000 labels against 50, 5,000 candidates, {name}"
        yield what, "<= 100 x", measured
    for name in FUNCTIONS:
        yield from growth(name, seeds[:GROWTH_SEEDS])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--functions", nargs="+", choices=list(FUNCTIONS), default=list(FUNCTIONS))
    parser.add_argument("--seeds", default="10:12", help="first:last, the last left out")
    parser.add_argument("--most", type=int, default=COUNTS[-1], help="labels in the end")
    record.add_option(parser)
    given = parser.parse_args()
    counts, found = [t for t in COUNTS if t <= given.most], []
    for name in given.functions:
        for what, asked, measured in growth(name, range(*map(int, given.seeds.split(":"))), counts):
            print(f"{what:60s} {asked:>8s}   {measured}", flush=True)
            row = {"section": "many", "what": what, "asked": asked, "measured": measured}
            found.append(row)
        if given.to:
            record.write(given.to, "real labels: many", found, given.seeds)


if __name__ == "__main__":
    main()
