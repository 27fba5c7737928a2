"""Pools to search: every row has a known value, and the largest values are looked for.

A task of this module is a pool of N rows. The first L0 = 10 labels are of random rows, the other
N - L0 rows are the candidates, and the test points are all N rows with their values without noise
(in the order of the split: first labels, then candidates). So a method's predictions at the test
points are predictions of the whole pool, and `goal_metrics` reads from them and from the rows that
were asked for what a search wants to know.

    branin, hartmann6, ackley5   minus the function: three equal tops, one top of six, a lattice
                                 of local tops in five inputs
    needle                       a wide hill of height 1 with ripples that no few labels resolve
                                 and, elsewhere, a narrow peak of height 2: made so that searches
                                 stay on the hill
    plateau                      the upper 15 % of a smooth function, 0 everywhere else
    ..-noise                     the same with label noise of a fifth of the sd of the values
    diabetes, california         real tables (`datasets`); california draws 1,000 rows

Smaller is better in Branin, Hartmann and Ackley: their values are negated, so that every pool is
searched for its largest.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from weal.benchmark.data_folders import Folder
from weal.benchmark.tasks import FUNCTIONS, TASKS, Function, Points, Task
from weal.core.arrays import Array

FIRST_LABELS = 10
POOL_ROWS = 600
NOISE_SHARE = 0.2  # sd of the noise, in units of the sd of the values
NEEDLE_WIDTH, HILL_WIDTH, RIPPLE_HEIGHT = 0.06, 0.25, 0.4
PLATEAU_SHARE = 0.85
ETA = 20.0  # of Algorithm 2, which none of the methods here uses

_HARTMANN_WEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
_HARTMANN_SCALES = np.array(
    [
        [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
        [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
        [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
        [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
    ]
)
_HARTMANN_CENTRES = 1e-4 * np.array(
    [
        [1312.0, 1696.0, 5569.0, 124.0, 8283.0, 5886.0],
        [2329.0, 4135.0, 8307.0, 3736.0, 1004.0, 9991.0],
        [2348.0, 1451.0, 3522.0, 2883.0, 3047.0, 6650.0],
        [4047.0, 8828.0, 8732.0, 5743.0, 1091.0, 381.0],
    ]
)


def hartmann6(X: Array) -> Array:
    """Minus the Hartmann function of six inputs (Hartman 1973) at X (N, 6); at most 3.32237.

    >>> top = np.array([[0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573]])
    >>> float(hartmann6(top)[0].round(4))
    3.3224
    """
    apart = X[:, None, :] - _HARTMANN_CENTRES  # (N, 4, 6)
    return np.asarray(np.exp(-np.sum(_HARTMANN_SCALES * apart**2, axis=2)) @ _HARTMANN_WEIGHTS)


def needle(X: Array) -> Array:
    """A wide rippled hill and a narrow peak of height 2 at X (N, 2) in the unit square.

    >>> needle(np.array([[0.3, 0.35], [0.78, 0.8], [0.9, 0.1]])).round(2)
    array([0.61, 2.02, 0.02])
    """
    hill = np.exp(-np.sum((X - [0.3, 0.35]) ** 2, axis=1) / (2 * HILL_WIDTH**2))
    peak = np.exp(-np.sum((X - [0.78, 0.8]) ** 2, axis=1) / (2 * NEEDLE_WIDTH**2))
    ripples = 1.0 + RIPPLE_HEIGHT * np.sin(37.0 * X[:, 0]) * np.sin(41.0 * X[:, 1])
    return np.asarray(hill * ripples + 2.0 * peak)


def plateau(X: Array) -> Array:
    """A smooth function of four inputs in the unit cube, cut off below: 0 on most rows."""
    smooth = np.sin(4.0 * X[:, 0]) + X[:, 1] * np.cos(3.0 * X[:, 2]) - (X[:, 3] - 0.6) ** 2
    return np.asarray(np.maximum(smooth - _PLATEAU_LEVEL, 0.0))


_PLATEAU_LEVEL = 1.0  # exceeded by about 15 % of the cube; a test counts


def _minus(name: str) -> Function:
    source = FUNCTIONS[name]
    return replace(source, formula=_Negated(source.formula))


@dataclass(frozen=True, slots=True)
class _Negated:
    formula: Callable[[Array], Array]

    def __call__(self, X: Array) -> Array:
        return -self.formula(X)


@dataclass(frozen=True, slots=True)
class PoolRows:
    """A pool of n / 2 rows with their labels, followed by the same rows with their values."""

    points: Points
    noise_share: float = 0.0

    def sample(
        self, rng: np.random.Generator, n: int, folder: Folder = None
    ) -> tuple[Array, Array]:
        """Rows X (n, d) and labels (n / 2), values (n / 2) of them."""
        X, f = self.points.sample(rng, n // 2, folder)
        y = f + self.noise_share * np.std(f) * rng.standard_normal(len(f))
        return np.concatenate([X, X]), np.concatenate([y, f])

    def where(self, folder: Folder = None) -> str:
        """The place of the rows."""
        return self.points.where(folder)


def pool_task(
    name: str, number: int, title: str, points: Points, d: int, rows: int, **about: str
) -> Task:
    """The task of searching a pool of this many rows; `about` has source and get."""
    return Task(
        name=name,
        number=number,
        title=title,
        group="goals",
        source=about.get("source", "computed here from its formula"),
        get=about.get("get", "nothing to get: computed here"),
        points=points if isinstance(points, PoolRows) else PoolRows(points),
        d=d,
        L0=FIRST_LABELS,
        V=0,
        U0=rows - FIRST_LABELS,
        test=rows,
        eta=ETA,
        rows=None,
    )


def _formula(name: str, number: int, title: str, source: Function, noise: float = 0.0) -> Task:
    points = PoolRows(source, noise)
    return pool_task(name, number, title, points, len(source.lower), POOL_ROWS)


def _table(name: str, number: int, rows: int) -> Task:
    task = TASKS[name]
    about = {"source": task.source, "get": task.get}
    return pool_task(f"{name}-pool", number, task.title, task.points, task.d, rows, **about)


_BRANIN, _ACKLEY = _minus("branin"), _minus("ackley")
_HARTMANN = Function(hartmann6, (0.0,) * 6, (1.0,) * 6)

GOAL_TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        _formula("branin-pool", 101, "Branin", _BRANIN),
        _formula("hartmann6", 102, "Hartmann-6D", _HARTMANN),
        _formula("ackley5", 103, "Ackley-5D", _ACKLEY),
        _formula("needle", 104, "Needle", Function(needle, (0.0,) * 2, (1.0,) * 2)),
        _formula("plateau", 105, "Plateau", Function(plateau, (0.0,) * 4, (1.0,) * 4)),
        _formula("branin-noise", 106, "Branin, noise", _BRANIN, NOISE_SHARE),
        _formula("hartmann6-noise", 107, "Hartmann-6D, noise", _HARTMANN, NOISE_SHARE),
        _table("diabetes", 108, 442),
        _table("california", 109, 1000),
    )
}
