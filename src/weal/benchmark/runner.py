"""Running a benchmark: tasks x methods x realisations, each a curve, on all cores.

    plan       what is to be run (`plans`)
    draw       the points of every realisation, on the cores of this machine
    fill       compute the curves that are not in the folder's file yet, on these cores or on a
               Dask cluster (`weal.shards.executors`); each is written before the next is computed
    outcome    the tables of all curves of the plan, in its order (`frames`)

The library says nothing; it tells a callback how far it is. A run that was stopped, by whatever,
is resumed by the same call: the key of a curve decides whether it is there (`keys`). Numbers are
the same to the last digit on any number of processes, but for `seconds`.

The two things that a worker does: draw the points of a realisation, and compute a curve.

Points are drawn on this machine, where the data is, and travel with the job: a worker on another
machine needs weal and nothing else. It must be the same weal to the letter; this is checked.
"""

import platform
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

import weal
from weal.benchmark import curve_cache
from weal.benchmark.curve_cache import CurveStore, check_room, open_store, package_versions
from weal.benchmark.data_folders import Folder
from weal.benchmark.methods import Method
from weal.benchmark.protocol import (
    BenchmarkPlan,
    Curve,
    Methods,
    Tasks,
    check_whole,
    make_plan,
    play,
)
from weal.benchmark.tasks import Task, draw
from weal.core.arrays import Array
from weal.errors import WealError
from weal.shards.dask_executor import DaskExecutor
from weal.shards.executors import Executor, ProcessExecutor, SerialExecutor, check_address

if TYPE_CHECKING:
    import pandas as pd


class CurveFailed(WealError):
    """A method raised an error on a realisation."""


@dataclass(frozen=True, slots=True, eq=False)
class DrawnPoints:
    """Points that were drawn already, in the order in which `draw` deals them out."""

    X: Array  # (N, d)
    y: Array  # (N,)

    def sample(
        self, rng: np.random.Generator, n: int, folder: Folder = None
    ) -> tuple[Array, Array]:
        """All of the points: X (n, d) and y (n,)."""
        return self.X, self.y

    def where(self, folder: Folder = None) -> str:
        """Nothing is looked for any more."""
        return "drawn already"


@dataclass(frozen=True, slots=True, eq=False)
class CurveJob:
    """One curve to compute."""

    key: str
    task: Task  # with points that were drawn
    method: Method
    realisation: int
    seed: int
    T: int
    code: str
    rows: int = 1  # of the progress

    @property
    def name(self) -> str:
        """The method, the task and the realisation."""
        return f"{self.method.name} on {self.task.name}, realisation {self.realisation}"


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """The points of one realisation to draw."""

    task: Task
    realisation: int
    plan: BenchmarkPlan
    rows: int = 1  # of the progress

    @property
    def name(self) -> str:
        """The task and the realisation."""
        return f"{self.task.name}, realisation {self.realisation}"


def draw_realisation(wish: Draw) -> tuple[Task, int]:
    """The task with the points of a realisation in it, and the realisation."""
    split = draw(wish.task, wish.realisation, wish.plan.seed, wish.plan.data)
    if np.ptp(split.yt) == 0:
        raise ValueError(
            f"all {len(split.yt)} test labels of {wish.task.name} (realisation "
            f"{wish.realisation}) are {split.yt[0]:g}: no error can be measured; "
            "take another seed, or a target that varies more"
        )
    X = np.concatenate([split.X0, split.Xv, split.Xu, split.Xt])
    y = np.concatenate([split.y0, split.yv, split.yu, split.yt])
    return replace(wish.task, points=DrawnPoints(X, y)), wish.realisation


def jobs_of(plan: BenchmarkPlan, task: Task, realisation: int) -> list[CurveJob]:
    """One job for each method on a task that was drawn."""
    split = draw(task, realisation, plan.seed)
    code, rest = curve_cache.code(), (realisation, plan.seed, plan.T)
    return [
        CurveJob(curve_cache.curve_key(task, split, method, *rest), task, method, *rest, code)
        for method in plan.methods
    ]


def curve_of(job: CurveJob) -> tuple[str, Curve]:
    """The key of a job and its curve, computed with one BLAS thread."""
    if job.code != curve_cache.code():
        raise CurveFailed(
            f"a worker has weal {curve_cache.code()}, but this is {job.code}: install the same "
            "there (or it was edited just now: run again)"
        )
    try:
        with one_blas_thread():
            return job.key, play(job.task, job.method, job.realisation, job.seed, job.T)
    except Exception as error:
        raise CurveFailed(f"{job.name}: {type(error).__name__}: {error}") from error


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run has come."""

    stage: str  # "splits" or "curves"
    done: int
    total: int
    kept: int = 0  # of those done, how many were in the folder before


Progress = Callable[[RunProgress], None]


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What came of a plan: the tables of `frames`, and the circumstances."""

    results: "pd.DataFrame"
    weights: "pd.DataFrame"
    setting: dict[str, Any]  # seed, T, realisations, versions, wall_seconds, command, skipped


def run(
    tasks: Tasks,
    methods: Methods,
    *,
    realisations: int = 10,
    T: int = 100,
    seed: int = 0,
    data: Folder = None,
    out: Folder = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> "pd.DataFrame":
    """A table of NMSE and NPLL of every method on every task, after every label.

    Tasks and methods are names, groups, objects, or lists of those (`plans`). `out` is a folder
    that keeps finished curves: the same call resumes. `jobs` are processes (None: all cores);
    `scheduler` is the address of a Dask cluster. A task whose data is not at hand is left out with
    a warning. `progress` is called with a `Step` whenever there is one.

    >>> import weal.benchmark
    >>> table = weal.benchmark.run("higdon", ["random", "egp-wvar"], realisations=2, T=3, jobs=1)
    >>> table.columns.tolist()
    ['task', 'method', 'realisation', 't', 'labels', 'nmse', 'npll', 'joint', 'seconds']
    >>> len(table) == 1 * 2 * 2 * (3 + 1)
    True
    """
    plan = make_plan(tasks, methods, realisations=realisations, T=T, seed=seed, data=data)
    for name, reason in plan.skipped.items():
        warnings.warn(f"{name} is left out: {reason}", stacklevel=2)
    return carry_out(plan, out=out, jobs=jobs, scheduler=scheduler, progress=progress).results


def carry_out(
    plan: BenchmarkPlan,
    *,
    out: Folder = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
    command: str = "weal.benchmark.run",
) -> Outcome:
    """Compute what is missing of a plan; all that there is of it then."""
    began = time.perf_counter()
    tell = progress or _nobody
    workers = _cores() if jobs is None else check_whole("jobs", jobs, 1)
    check_room(out)
    size = len(plan.tasks) * len(plan.methods) * plan.realisations
    with one_blas_thread(), ExitStack() as leaving:
        there = leaving.enter_context(closing(_cluster(scheduler))) if scheduler else None
        here = leaving.enter_context(closing(_processes(min(workers, size))))
        wanted = _jobs_of_plan(plan, here, tell)
        store = leaving.enter_context(open_store(out))
        _fill(store, wanted, there or here, tell, (command, began))
        return _outcome(plan, store, wanted, command)


def _cores() -> int:
    """Processors that this process may use, limits of its container included."""
    from joblib import cpu_count

    return int(cpu_count())


def _processes(jobs: int) -> Executor:
    """So many processes on this machine; for one job at a time, this process itself."""
    return SerialExecutor() if jobs == 1 else ProcessExecutor(jobs)


def _cluster(address: str) -> Executor:
    """The Dask cluster of that address; WorkerLost at once where none answers."""
    check_address(address)
    executor = DaskExecutor(address, spread=True)
    executor.connect()
    return executor


_thread_limits: list[Any] = []  # one for each thread that computes now; the first restores
_limits_lock = threading.Lock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """One thread for BLAS and OpenMP in this process, until the last block is left."""
    from threadpoolctl import threadpool_limits

    with _limits_lock:
        _thread_limits.append(threadpool_limits(1))
    try:
        yield
    finally:
        with _limits_lock:
            last = _thread_limits.pop()
            if not _thread_limits:
                last.restore_original_limits()


def _jobs_of_plan(plan: BenchmarkPlan, here: Executor, tell: Progress) -> list[CurveJob]:
    """The jobs of a plan. A realisation of everything before the next: time left can be told."""
    wishes = [Draw(task, r, plan) for r, task in product(range(plan.realisations), plan.tasks)]
    found = {}
    for _, (task, realisation) in here.each(draw_realisation, wishes):
        found[task.name, realisation] = task
        tell(RunProgress("splits", len(found), len(wishes)))
    tasks = ((found[wish.task.name, wish.realisation], wish.realisation) for wish in wishes)
    return [job for task, realisation in tasks for job in jobs_of(plan, task, realisation)]


def _fill(
    store: CurveStore,
    wanted: list[CurveJob],
    there: Executor,
    tell: Progress,
    sitting: tuple[str, float],
) -> None:
    """Compute the curves that are not in the store, and keep each as it comes."""
    old = store.has(job.key for job in wanted)
    missing = [job for job in wanted if job.key not in old]
    kept = done = len(wanted) - len(missing)
    tell(RunProgress("curves", done, len(wanted), kept))
    if not missing:
        return
    command, began = sitting
    number = store.sit_down(command)
    for _, (key, curve) in there.each(curve_of, missing):
        store.keep(key, curve, number, time.perf_counter() - began)
        done += 1
        tell(RunProgress("curves", done, len(wanted), kept))


def _outcome(
    plan: BenchmarkPlan, store: CurveStore, wanted: list[CurveJob], command: str
) -> Outcome:
    from weal.benchmark.protocol import results_of, weights_of

    curves = [store.get(job.key) for job in sorted(wanted, key=_place(plan))]
    setting = {
        "seed": plan.seed,
        "T": plan.T,
        "realisations": plan.realisations,
        "versions": versions(),
        "wall_seconds": store.wall_seconds(job.key for job in wanted),
        "command": command,
        "skipped": dict(plan.skipped),
    }
    return Outcome(results_of(curves), weights_of(curves), setting)


def _place(plan: BenchmarkPlan) -> Callable[[CurveJob], tuple[int, int, int]]:
    """Where the rows of a job go: by task, then method, then realisation."""
    tasks = {task.name: n for n, task in enumerate(plan.tasks)}
    methods = {method.name: n for n, method in enumerate(plan.methods)}
    return lambda job: (tasks[job.task.name], methods[job.method.name], job.realisation)


def versions() -> dict[str, str]:
    """What the numbers were computed with, by name."""
    packages = package_versions("numpy", "scipy", "scikit-learn", "pandas", "Box2D", "botorch")
    machine = f"{platform.system()} {platform.machine()}"
    python = platform.python_version()
    return {"weal": weal.__version__, "Python": python, **packages, "machine": machine}


def _nobody(step: RunProgress) -> None:
    pass
