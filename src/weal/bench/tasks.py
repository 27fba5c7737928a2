"""The paper's ten tasks as data, and the split of a realisation.

A task names a source of labelled points and how many go where (the paper's Table 1):

    L0    labelled at the start         V       labelled, for validation (EGP-multiAFs)
    U0    candidates without labels     test    held out
    eta   learning rate of the weights over acquisition functions

`draw(task, realisation, seed)` takes L0 + V + U0 + test points from the source with the key
(seed, number of the task, realisation) and deals them out in that order: the same key gives the
same split on any machine and in any order of work. Nothing is scaled: X and y are in raw units.
Sources are `functions.Function`, `robot.Pushing`, `tables.TableRows` and `user_table.OwnRows`.
A goal or noise of one's own is `replace(task, points=Pushing(3, goal=(0.0, 0.0)))`.
"""

import difflib
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from weal.bench import datasets
from weal.bench.functions import FUNCTIONS
from weal.bench.places import Folder, NotAtHand
from weal.bench.robot import Pushing
from weal.core.arrays import Array

Group = Literal["synthetic", "real", "robot", "own"]


class Points(Protocol):
    """A source of labelled points."""

    def sample(
        self, rng: np.random.Generator, n: int, folder: Folder = None
    ) -> tuple[Array, Array]:
        """N labelled points in random order: X (n, d) and y (n,)."""

    def where(self, folder: Folder = None) -> str:
        """Where they come from on this machine; NotAtHand, with how to get them, when nowhere."""


@dataclass(frozen=True, slots=True)
class Task:
    """A regression task and the sizes of its split."""

    name: str
    number: int  # part of the random key: never reuse, never change
    title: str
    group: Group  # the figure it belongs to
    source: str  # what the data is and who it is from
    get: str  # how to get it
    points: Points
    d: int
    L0: int
    V: int
    U0: int
    test: int
    eta: float
    rows: int | None = None  # of the table behind it; None where points are made at will
    stand_in: bool = False  # not the paper's data, but the nearest there is

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
    yu: Array  # (U0,)      their labels, shown one at a time
    Xt: Array  # (test, d)  held out
    yt: Array  # (test,)


def draw(task: Task, realisation: int, seed: int, data_folder: Folder = None) -> Split:
    """The split of a realisation; NotAtHand when the task's data is not on this machine.

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
    """None when the task can be run here; else one line that says how to get what it needs.

    >>> availability(TASKS["branin"]) is None
    True
    """
    try:
        task.points.where(data_folder)
    except NotAtHand as error:
        return str(error)
    return None


def find_task(name: str) -> Task:
    """The task of that name; ValueError with the names there are.

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
        points=Pushing(d),
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
