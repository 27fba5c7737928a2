"""The paper's ten tasks as data, and the split of a realisation.

A task names a source of labelled points and the sizes of its split (the paper's Table 1):

    L0    labelled at the start         V       labelled, for validation (EGP-multiAFs)
    U0    candidates without labels     test    held out
    eta   learning rate of the weights over acquisition functions

`draw(task, realisation, seed)` takes L0 + V + U0 + test points from the source with the key
(seed, number of the task, realisation) and splits them in that order: the same key gives the same
split on any machine and in any order of work. X and y are in raw units, not scaled. Sources are
`Function`, `robot.RobotPushing`, `datasets.TableRows` and `user_table.OwnRows`. Another goal is
`replace(task, points=RobotPushing(3, goal=(0.0, 0.0)))`.

The five synthetic functions are as printed in the paper's Table 2, on their usual domains:

    ackley     20 + e - 20 exp(-0.2 sqrt(mean x_i^2)) - exp(mean cos 2 pi x_i)         [-5, 5]^5
    branin     (x2 - 5.1 x1^2 / (4 pi^2) + 5 x1 / pi - 6)^2
               + 10 (1 - 1 / (8 pi)) cos x1 + 10                             [-5, 10] x [0, 15]
    currin     (1 - exp(-1 / (2 x2))) (2300 x1^3 + 1900 x1^2 + 2092 x1 + 60)
               / (100 x1^3 + 500 x1^2 + 4 x1 + 20)                                     [0, 1]^2
    gramacy    sin(10 pi x) / (2 x) + (x - 1)^4                                      [0.5, 2.5]
    higdon     sin(2 pi x / 10) + 0.2 sin(2 pi x / 2.5)                                 [0, 10]

Points are drawn i.i.d. uniform on the domain and evaluated without noise; the paper says neither.
"""

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from weal.benchmark import datasets
from weal.benchmark.data_folders import Folder, NotAvailable
from weal.benchmark.robot import RobotPushing
from weal.core.arrays import Array


def ackley(X: Array) -> Array:
    """Values (N,) at X (N, d); 0 at the origin, its minimum.

    >>> float(ackley(np.ones((1, 5)))[0].round(6))
    3.625385
    """
    bowl = np.exp(-0.2 * np.sqrt(np.mean(X**2, axis=1)))
    ripple = np.exp(np.mean(np.cos(2 * np.pi * X), axis=1))
    return np.asarray(20.0 * (1.0 - bowl) + (np.e - ripple))  # [1, data:ackley]


def branin(X: Array) -> Array:
    """Values (N,) at X (N, 2); 0.397887 at its three minima."""
    x1, x2 = X.T
    valley = x2 - 5.1 / (4 * np.pi**2) * x1**2 + 5 / np.pi * x1 - 6
    # [1, data:branin]
    return np.asarray(valley**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x1) + 10)


def currin(X: Array) -> Array:
    """Values (N,) at X (N, 2); the first factor is 1 at x2 = 0, its limit."""
    x1, x2 = X.T
    with np.errstate(divide="ignore", over="ignore"):
        factor = 1 - np.exp(-1 / (2 * x2))
    above = 2300 * x1**3 + 1900 * x1**2 + 2092 * x1 + 60
    below = 100 * x1**3 + 500 * x1**2 + 4 * x1 + 20
    return np.asarray(factor * above / below)  # [1, data:currin]


def gramacy(X: Array) -> Array:
    """Values (N,) at X (N, 1) (Gramacy and Lee 2012)."""
    x = X[:, 0]
    return np.asarray(np.sin(10 * np.pi * x) / (2 * x) + (x - 1) ** 4)  # [1, data:gramacy]


def higdon(X: Array) -> Array:
    """Values (N,) at X (N, 1) (Higdon 2002)."""
    x = X[:, 0]
    # [1, data:higdon]
    return np.asarray(np.sin(2 * np.pi * x / 10) + 0.2 * np.sin(2 * np.pi * x / 2.5))


@dataclass(frozen=True, slots=True)
class Function:
    """A formula X (N, d) -> y (N,) on a box, sampled uniformly.

    >>> X, y = FUNCTIONS["branin"].sample(np.random.default_rng(0), 4)
    >>> X.shape, y.shape
    ((4, 2), (4,))
    """

    formula: Callable[[Array], Array]
    lower: tuple[float, ...]
    upper: tuple[float, ...]

    def sample(
        self, rng: np.random.Generator, n: int, folder: Folder = None
    ) -> tuple[Array, Array]:
        """Points X (n, d) i.i.d. uniform on the box and their values y (n,)."""
        X = rng.uniform(self.lower, self.upper, (n, len(self.lower)))
        return X, self.formula(X)

    def where(self, folder: Folder = None) -> str:
        """The source of the points."""
        return "computed here from its formula"


FUNCTIONS = {
    "ackley": Function(ackley, (-5.0,) * 5, (5.0,) * 5),
    "branin": Function(branin, (-5.0, 0.0), (10.0, 15.0)),
    "currin": Function(currin, (0.0, 0.0), (1.0, 1.0)),
    "gramacy": Function(gramacy, (0.5,), (2.5,)),
    "higdon": Function(higdon, (0.0,), (10.0,)),
}

Group = Literal["synthetic", "real", "robot", "own", "goals"]


class Points(Protocol):
    """A source of labelled points."""

    def sample(
        self, rng: np.random.Generator, n: int, folder: Folder = None
    ) -> tuple[Array, Array]:
        """N labelled points in random order: X (n, d) and y (n,)."""

    def where(self, folder: Folder = None) -> str:
        """The place of the points on this machine; NotAvailable, with advice, if there is none."""


@dataclass(frozen=True, slots=True)
class Task:
    """A regression task and the sizes of its split."""

    name: str
    number: int  # part of the random key: never reuse, never change
    title: str
    group: Group  # the figure it belongs to
    source: str  # description and origin of the data
    get: str  # how to get it
    points: Points
    d: int
    L0: int
    V: int
    U0: int
    test: int
    eta: float
    rows: int | None = None  # of its table; None if points are computed
    stand_in: bool = False  # a substitute for data that is not public

    @property
    def size(self) -> int:
        """Points in a realisation."""
        return self.L0 + self.V + self.U0 + self.test


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The points of one realisation in raw units, read-only."""

    X0: Array  # (L0, d)    labelled at the start
    y0: Array  # (L0,)
    Xv: Array  # (V, d)     validation
    yv: Array  # (V,)
    Xu: Array  # (U0, d)    candidates
    yu: Array  # (U0,)      their labels, given one at a time
    Xt: Array  # (test, d)  held out
    yt: Array  # (test,)


def draw(task: Task, realisation: int, seed: int, data_folder: Folder = None) -> Split:
    """The split of a realisation; NotAvailable if the task's data is not on this machine.

    >>> split = draw(TASKS["currin"], realisation=0, seed=1)
    >>> split.X0.shape, split.Xv.shape, split.Xu.shape, split.Xt.shape
    ((10, 2), (50, 2), (500, 2), (100, 2))
    """
    rng = np.random.default_rng([seed, task.number, realisation])
    X, y = task.points.sample(rng, task.size, data_folder)
    cuts = np.cumsum([task.L0, task.V, task.U0])
    parts = [
        part for pair in zip(np.split(X, cuts), np.split(y, cuts), strict=True) for part in pair
    ]
    for part in parts:
        part.flags.writeable = False
    return Split(*parts)


def availability(task: Task, data_folder: Folder = None) -> str | None:
    """None if the task can be run here; else one line that says how to get its data.

    >>> availability(TASKS["branin"]) is None
    True
    """
    try:
        task.points.where(data_folder)
    except NotAvailable as error:
        return str(error)
    return None


def find_task(name: str) -> Task:
    """The task of that name; ValueError with all names if there is none.

    >>> find_task("brannin")
    Traceback (most recent call last):
    ValueError: unknown task 'brannin' (did you mean 'branin'?); there are ackley, branin, ...
    """
    if name in TASKS:
        return TASKS[name]
    near = difflib.get_close_matches(name, TASKS, 1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise ValueError(f"unknown task {name!r}{hint}; there are {', '.join(TASKS)}")


def _synthetic(name: str, number: int, title: str, eta: float, source: str) -> Task:
    points = FUNCTIONS[name]
    get = "nothing to get: computed here"
    sizes = (len(points.lower), 10, 50, 500, 100)  # d, L0, V, U0, test
    return Task(name, number, title, "synthetic", source, get, points, *sizes, eta)


def _robot(d: int, number: int) -> Task:
    return Task(
        name=f"robot{d}d",
        number=number,
        title=f"Robot pushing {d}D",
        group="robot",
        source="Box2D simulation, after Wang and Jegelka 2017",
        get='pip install "weal[bench]" (Box2D)',
        points=RobotPushing(d),
        d=d,
        L0=20,
        V=50,
        U0=500,
        test=200,
        eta=20.0,
    )


_CALIFORNIA = Task(
    name="california",
    number=6,
    title="California housing",
    group="real",
    source="Pace and Barry 1997, 1990 US census, in scikit-learn's form",
    get=datasets.GET_CALIFORNIA,
    # [1, data:california]
    points=datasets.TableRows(datasets.find_california, datasets.load_california),
    d=8,
    L0=50,
    V=70,
    U0=1000,
    test=1032,
    eta=0.05,
    rows=datasets.CALIFORNIA_ROWS,
)
_MALARIA_STANDIN = Task(
    name="malaria-standin",
    number=7,
    title="Malaria (stand-in)",
    group="real",
    source="stand-in: schistosomiasis in Ivory Coast, from the data of Maddox et al. 2021",
    get=datasets.GET_MALARIA,
    # [1, data:malaria]
    points=datasets.TableRows(datasets.find_malaria_standin, datasets.load_malaria_standin),
    d=8,
    L0=40,
    V=60,
    U0=500,
    test=680,
    eta=20.0,
    rows=datasets.MALARIA_ROWS,
    stand_in=True,
)
_DIABETES = Task(
    name="diabetes",
    number=8,
    title="Diabetes",
    group="real",
    source="Efron et al. 2004, scikit-learn's load_diabetes",
    get="nothing to get: ships with scikit-learn",
    points=datasets.TableRows(datasets.find_diabetes, datasets.load_diabetes),  # [1, data:diabetes]
    d=10,
    L0=15,
    V=55,
    U0=261,
    test=111,
    eta=100.0,
    rows=442,
)

TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        # [1, data:ackley]
        _synthetic("ackley", 1, "Ackley-5D", 1.0, "Ackley 1987, on [-5, 5]^5"),
        # [1, data:branin]
        _synthetic("branin", 2, "Branin", 100.0, "Branin 1972"),
        # [1, data:currin]
        _synthetic("currin", 3, "Currin exponential", 100.0, "Currin et al. 1988"),
        # [1, data:gramacy]
        _synthetic("gramacy", 4, "Gramacy", 100.0, "Gramacy and Lee 2012"),
        # [1, data:higdon]
        _synthetic("higdon", 5, "Higdon", 100.0, "Higdon 2002"),
        _CALIFORNIA,
        _MALARIA_STANDIN,
        _DIABETES,
        _robot(3, 9),  # [1, data:robot3d]
        _robot(4, 10),  # [1, data:robot4d]
    )
}
