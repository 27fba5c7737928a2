"""Goals over several quantities: the best row under constraints, and two objectives.

    python benchmarks/quantity_goals.py search --seeds 4 --to FILE
    python benchmarks/quantity_goals.py pareto --seeds 4 --to FILE

Pools are functions of 3 to 6 inputs at 400 random points, with noise of 2 % of their sd, and the
laboratory table lnp3, which has three results (--data FOLDER; left out where it is missing). Every
method starts from the same FIRST_LABELS random rows, and measures all quantities of a row.

`search` counts rows until the best feasible one is measured, at most SEARCH_ROWS:

    feasible   goal 'maximise a subject to b > level'        ignoring   goal 'maximise a'
    random     rows drawn at random

`pareto` has the share of the hypervolume of the whole pool that PARETO_ROWS rows reach, above the
worst values of the pool:

    hypervolume  goal 'maximise a and maximise b'            alternating  EI of a, of b, of a, ...
    scalarised   EI of the augmented Chebyshev sum of both with random weights (ParEGO)
    random       rows drawn at random
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.goals import BESIDE, pool_rows

from weal import ActiveLearner
from weal.core.arrays import Array
from weal.core.extensions.goal_acquisitions import ei
from weal.core.extensions.hypervolume import hypervolume
from weal.core.paper.acquisition import Belief
from weal.goals.grammar import parse_goal
from weal.goals.protocol import JointBelief
from weal.learner.repeats import belief_at

FIRST_LABELS, SEARCH_ROWS, PARETO_ROWS = 10, 100, 60
POOL_ROWS, NOISE = 400, 0.02
FEASIBLE_SHARE = 0.2  # of the rows of a pool
_POOL_KEY, _START_KEY, _WEIGHT_KEY = 251, 252, 253  # parts of random keys


@dataclass(frozen=True)
class Pool:
    """Inputs, and two results to maximise."""

    name: str
    X: Array  # (N, d)
    Y: Array  # (N, 2)


def made_up(
    name: str, d: int, functions: Callable[[Array], tuple[Array, Array]], seed: int
) -> Pool:
    """A pool of random points and two functions with a little noise."""
    rng = np.random.default_rng([seed, _POOL_KEY, d])
    X = rng.uniform(size=(POOL_ROWS, d))
    Y = np.column_stack(functions(X))
    return Pool(name, X, Y + NOISE * Y.std(axis=0) * rng.normal(size=Y.shape))


def _ridge(X: Array) -> tuple[Array, Array]:
    """A yield that grows with the first inputs, and a purity that falls with them."""
    x = X.T
    return (np.sin(3.0 * x[0]) + x[1] + 0.5 * x[2] ** 2,
            -((x[0] - 0.2) ** 2) - 0.8 * x[1] + 0.5 * np.cos(4.0 * x[2]))  # fmt: skip


def _peaks(X: Array) -> tuple[Array, Array]:
    """Two peaks at different places of four inputs."""
    a, b = np.array([0.7, 0.3, 0.6, 0.5]), np.array([0.3, 0.6, 0.4, 0.5])
    return (np.exp(-4.0 * ((X - a) ** 2).sum(axis=1)), np.exp(-3.0 * ((X - b) ** 2).sum(axis=1)))


def _waves(X: Array) -> tuple[Array, Array]:
    """Waves in six inputs, of which some matter little."""
    x = X.T
    return (np.sin(5.0 * x[0]) * x[1] + x[2] + 0.1 * x[5],
            np.cos(4.0 * x[0]) - x[2] * x[3] + 0.3 * x[4])  # fmt: skip


def pools(seed: int, folder: Path) -> list[Pool]:
    """The pools of a seed; those of the laboratory table are the same for every seed."""
    found = [
        made_up("ridge, 3 inputs", 3, _ridge, seed),
        made_up("peaks, 4 inputs", 4, _peaks, seed),
        made_up("waves, 6 inputs", 6, _waves, seed),
    ]
    path = folder / "lnp3.csv"
    if path.is_file():
        names = ("drug_loading", "encap_efficiency"), ("encap_efficiency", "particle_diameter")
        for first, second in names:
            rows = [pool_rows(path, one, one == "particle_diameter") for one in (first, second)]
            Y = np.column_stack([one.y for one in rows])
            found.append(Pool(f"lnp3, {first} and {second}", rows[0].X, Y))
    return found


class Models:
    """A learner for each quantity of a pool, and the rows measured so far."""

    def __init__(self, pool: Pool, seed: int) -> None:
        self.pool, self.rows = pool, start(pool, seed)
        self.learners = [
            ActiveLearner(pool.X, goal="maximise", seed=seed, n_start=FIRST_LABELS, repeats=False)
            for _ in range(2)
        ]
        for learner, y in zip(self.learners, pool.Y.T, strict=True):
            learner.tell(self.rows, y[self.rows])

    def measure(self, row: int) -> None:
        """Both results of a row."""
        for learner, y in zip(self.learners, self.pool.Y[row], strict=True):
            learner.tell(row, float(y))
        self.rows.append(row)

    @property
    def free(self) -> NDArray[np.intp]:  # (n,)
        """Rows that are not measured."""
        return np.setdiff1d(np.arange(len(self.pool.X), dtype=np.intp), self.rows)

    def joint(self) -> JointBelief:
        """Predictions of both models for the free rows."""
        at = self.free
        numbers = {name: self.belief(k, at) for k, name in enumerate("ab")}
        measured = dict(zip("ab", self.pool.Y[self.rows].T, strict=True))
        return JointBelief(len(at), numbers, measured=measured)

    def belief(self, k: int, at: NDArray[np.intp]) -> Belief:
        """The belief in one quantity."""
        learner = self.learners[k]
        return belief_at(learner._beliefs.posterior(learner.state.view()), at)


def start(pool: Pool, seed: int) -> list[int]:
    """The first rows, the same for every method."""
    rng = np.random.default_rng([seed, _START_KEY])
    return [int(n) for n in rng.permutation(len(pool.X))[:FIRST_LABELS]]


Chooser = Callable[[Models, int], int]


def by_goal(text: str) -> Chooser:
    """Rows by the joint scores of a goal."""
    goal = parse_goal(text)

    def choose(models: Models, step: int) -> int:
        scores = goal.joint_scores(models.joint())
        assert scores is not None
        return int(models.free[np.argmax(scores)])

    return choose


def alternating(models: Models, step: int) -> int:
    """The largest expected improvement of one quantity, then of the other."""
    free = models.free
    return int(free[np.argmax(ei(models.belief(step % 2, free)))])


def first_alone(models: Models, step: int) -> int:
    """The row that the goal maximise asks for, of the first quantity."""
    return int(models.learners[0].ask())


def scalarised(models: Models, step: int) -> int:
    """The largest expected improvement of a random augmented Chebyshev sum (ParEGO)."""
    rows, Y = models.rows, models.pool.Y
    low, high = Y[rows].min(axis=0), Y[rows].max(axis=0)
    share = np.random.default_rng([len(rows), step, _WEIGHT_KEY]).uniform()
    parts = (Y[rows] - high) / np.where(high > low, high - low, 1.0) * [share, 1.0 - share]
    y = parts.min(axis=1) + 0.05 * parts.sum(axis=1)
    learner = ActiveLearner(models.pool.X, goal="maximise", n_start=FIRST_LABELS, repeats=False)
    learner.tell(rows, y)
    free = models.free
    return int(
        free[np.argmax(ei(belief_at(learner._beliefs.posterior(learner.state.view()), free)))]
    )


def play(
    pool: Pool, seed: int, choose: Chooser, rows: int, goal_row: int | None = None
) -> list[int]:
    """The rows that a method measures, up to a number of them or to a row."""
    models = Models(pool, seed)
    while len(models.rows) < rows and goal_row not in models.rows:
        models.measure(choose(models, len(models.rows)))
    return models.rows


def at_random(pool: Pool, seed: int, rows: int) -> list[int]:
    """The first rows, and others drawn at random."""
    return [
        int(n) for n in np.random.default_rng([seed, _START_KEY]).permutation(len(pool.X))[:rows]
    ]


def search(pool: Pool, seed: int) -> dict[str, float]:
    """Rows that each method measured up to the best feasible one."""
    level = float(np.quantile(pool.Y[:, 1], 1.0 - FEASIBLE_SHARE))
    can = pool.Y[:, 1] > level
    best = int(np.argmax(np.where(can, pool.Y[:, 0], -np.inf)))
    feasible = by_goal(f"maximise a subject to b > {level!r}")
    found = {
        "feasible": play(pool, seed, feasible, SEARCH_ROWS, best),
        "ignoring": play(pool, seed, first_alone, SEARCH_ROWS, best),
        "random": at_random(pool, seed, len(pool.X)),
    }
    return {
        name: float(min(rows.index(best) + 1 if best in rows else SEARCH_ROWS, SEARCH_ROWS))
        for name, rows in found.items()
    }


def pareto(pool: Pool, seed: int) -> dict[str, float]:
    """The share of the hypervolume of the pool that each method reached."""
    both = by_goal("maximise a and maximise b")
    found = {
        "hypervolume": play(pool, seed, both, PARETO_ROWS),
        "alternating": play(pool, seed, alternating, PARETO_ROWS),
        "scalarised": play(pool, seed, scalarised, PARETO_ROWS),
        "random": at_random(pool, seed, PARETO_ROWS),
    }
    worst = pool.Y.min(axis=0)
    scale = pool.Y.max(axis=0) - worst
    whole = hypervolume((pool.Y - worst) / scale, np.zeros(2))
    return {
        name: hypervolume((pool.Y[rows] - worst) / scale, np.zeros(2)) / whole
        for name, rows in found.items()
    }


MEASURES: dict[str, Callable[[Pool, int], dict[str, float]]] = {"search": search, "pareto": pareto}


def table(which: str, seeds: int, folder: Path) -> str:
    """Mean of each method and pool over the seeds, as Markdown; in the last line over all."""
    runs: dict[str, list[dict[str, float]]] = {}
    begun = time.process_time()
    for seed in range(seeds):
        for pool in pools(seed, folder):
            runs.setdefault(pool.name, []).append(MEASURES[which](pool, seed))
            print(f"{which} seed {seed} {pool.name}: {runs[pool.name][-1]}", file=sys.stderr)
    names = list(next(iter(runs.values()))[0])
    digits = 1 if which == "search" else 3
    lines = ["| pool | " + " | ".join(names) + " |", "|" + "---|" * (len(names) + 1)]
    every = [run for several in runs.values() for run in several]
    for name, several in [*runs.items(), ("mean (standard error)", every)]:
        Y = np.array([[run[one] for one in names] for run in several])
        error = Y.std(axis=0, ddof=1) / len(Y) ** 0.5 if len(Y) > 1 else np.zeros(len(names))
        cells = [
            f"{m:.{digits}f} ({e:.{digits}f})" for m, e in zip(Y.mean(axis=0), error, strict=True)
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    what = f"{seeds} seeds, {time.process_time() - begun:.0f} s of CPU"
    return "\n".join([f"{which}: {what}", "", *lines, ""])


def main() -> None:
    """Print the table, and append it to a file."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("which", choices=[*MEASURES])
    asked.add_argument("--seeds", type=int, default=4)
    asked.add_argument("--data", type=Path, default=BESIDE)
    asked.add_argument("--to", type=Path)
    given = asked.parse_args()
    text = table(given.which, given.seeds, given.data)
    print(text)
    if given.to is not None:
        with given.to.open("a", encoding="utf-8") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    main()
