"""Run a benchmark: tasks x methods x realisations, each a curve, on all cores.

    make_plan      tasks, methods and realisations (`protocol`)
    _jobs_of_plan  draw the points of every realisation, on the cores of this machine
    _fill          compute the missing curves, on these cores or on a Dask cluster
                   (`weal.shards.executors`); each is written before the next is computed
    Outcome        the tables of all curves of the plan, in its order

The library prints nothing; it calls a progress callback. The same call resumes an interrupted run:
a curve is computed only if its key is not in the folder's file. Numbers are the same to the last
digit on any number of processes, except for `seconds`.

Points are drawn on this machine, where the data is, and sent with the job: a worker on another
machine needs weal and nothing else. It must have the same source code; this is checked.
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
from weal.benchmark.curve_cache import CurveStore, check_folder, open_store, package_versions
from weal.benchmark.data_folders import Folder
from weal.benchmark.methods import Method
from weal.benchmark.protocol import (
    BenchmarkPlan,
    Curve,
    Methods,
    RunSetting,
    Tasks,
    check_whole,
    make_plan,
    run_method,
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
    """Points that are already drawn, in the order of the parts of a split."""

    X: Array  # (N, d)
    y: Array  # (N,)

    def sample(
        self, rng: np.random.Generator, n: int, folder: Folder = None
    ) -> tuple[Array, Array]:
        """All of the points: X (n, d) and y (n,)."""
        return self.X, self.y

    def where(self, folder: Folder = None) -> str:
        """The points are in memory."""
        return "already drawn"


@dataclass(frozen=True, slots=True, eq=False)
class CurveJob:
    """One curve to compute."""

    key: str
    task: Task  # with its points drawn
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
class DrawJob:
    """One realisation to draw."""

    task: Task
    realisation: int
    plan: BenchmarkPlan
    rows: int = 1  # of the progress

    @property
    def name(self) -> str:
        """The task and the realisation."""
        return f"{self.task.name}, realisation {self.realisation}"


def draw_realisation(job: DrawJob) -> tuple[Task, int]:
    """The task with the points of a realisation in it, and the realisation."""
    split = draw(job.task, job.realisation, job.plan.seed, job.plan.data)
    if np.ptp(split.yt) == 0:
        raise ValueError(
            f"all {len(split.yt)} test labels of {job.task.name} (realisation "
            f"{job.realisation}) are {split.yt[0]:g}: no error can be measured; "
            "take another seed, or a target that varies more"
        )
    X = np.concatenate([split.X0, split.Xv, split.Xu, split.Xt])
    y = np.concatenate([split.y0, split.yv, split.yu, split.yt])
    return replace(job.task, points=DrawnPoints(X, y)), job.realisation


def jobs_of(plan: BenchmarkPlan, task: Task, realisation: int) -> list[CurveJob]:
    """One job for each method on a task with drawn points."""
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
            return job.key, run_method(job.task, job.method, job.realisation, job.seed, job.T)
    except Exception as error:
        raise CurveFailed(f"{job.name}: {type(error).__name__}: {error}") from error


@dataclass(frozen=True, slots=True)
class RunProgress:
    """Progress of a run."""

    stage: str  # "splits" or "curves"
    done: int
    total: int
    kept: int = 0  # of those done, the number that was in the folder before


Progress = Callable[[RunProgress], None]


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The tables of a finished plan, and its settings."""

    results: "pd.DataFrame"
    weights: "pd.DataFrame"
    goals: "pd.DataFrame"  # metrics of the goals; empty unless a task has them
    setting: RunSetting


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

    Tasks and methods are names, groups, objects, or lists of those (`protocol`). `out` is a folder
    that stores finished curves: the same call resumes. `jobs` are processes (None: all cores);
    `scheduler` is the address of a Dask cluster. A task without its data is left out with a
    warning. `progress` is called with a `RunProgress` after every step.

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
    keep_finished: bool = False,
) -> Outcome:
    """Compute the missing curves of a plan; the tables of all its curves.

    With `keep_finished`, Ctrl-C ends it with the tables of the curves that are finished.
    """
    began = time.perf_counter()
    report = progress or _ignore_progress
    workers = _cores() if jobs is None else check_whole("jobs", jobs, 1)
    check_folder(out)
    size = len(plan.tasks) * len(plan.methods) * plan.realisations
    with one_blas_thread(), ExitStack() as stack:
        there = stack.enter_context(closing(_cluster(scheduler))) if scheduler else None
        here = stack.enter_context(closing(_processes(min(workers, size))))
        wanted = _jobs_of_plan(plan, here, report)
        store = stack.enter_context(open_store(out))
        try:
            _fill(store, wanted, there or here, report, (command, began))
        except KeyboardInterrupt:
            if not keep_finished:
                raise
            finished = store.has(job.key for job in wanted)
            wanted = [job for job in wanted if job.key in finished]
        return _outcome(plan, store, wanted, command)


def _cores() -> int:
    """Processors that this process may use, limits of its container included."""
    from joblib import cpu_count

    return int(cpu_count())


def _processes(jobs: int) -> Executor:
    """An executor of this many processes on this machine; this process itself for one."""
    return SerialExecutor() if jobs == 1 else ProcessExecutor(jobs)


def _cluster(address: str) -> Executor:
    """The Dask cluster of that address; WorkerLost if none answers."""
    check_address(address)
    executor = DaskExecutor(address, spread=True)
    executor.connect()
    return executor


_thread_limits: list[Any] = []  # one for each thread that computes now
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


def _jobs_of_plan(plan: BenchmarkPlan, here: Executor, report: Progress) -> list[CurveJob]:
    """The jobs of a plan, realisation by realisation, so that the time left can be estimated."""
    draws = [DrawJob(task, r, plan) for r, task in product(range(plan.realisations), plan.tasks)]
    found = {}
    for _, (task, realisation) in here.each(draw_realisation, draws):
        found[task.name, realisation] = task
        report(RunProgress("splits", len(found), len(draws)))
    tasks = ((found[one.task.name, one.realisation], one.realisation) for one in draws)
    return [job for task, realisation in tasks for job in jobs_of(plan, task, realisation)]


def _fill(
    store: CurveStore,
    wanted: list[CurveJob],
    there: Executor,
    report: Progress,
    session: tuple[str, float],
) -> None:
    """Compute the curves that are not in the store, and save each as it is finished."""
    old = store.has(job.key for job in wanted)
    missing = [job for job in wanted if job.key not in old]
    kept = done = len(wanted) - len(missing)
    report(RunProgress("curves", done, len(wanted), kept))
    if not missing:
        return
    command, began = session
    number = store.begin_session(command)
    for _, (key, curve) in there.each(curve_of, missing):
        store.save(key, curve, number, time.perf_counter() - began)
        done += 1
        report(RunProgress("curves", done, len(wanted), kept))


def _outcome(
    plan: BenchmarkPlan, store: CurveStore, wanted: list[CurveJob], command: str
) -> Outcome:
    from weal.benchmark.protocol import goals_table, results_table, weights_table

    curves = [store.get(job.key) for job in sorted(wanted, key=_sort_key(plan))]
    setting: RunSetting = {
        "seed": plan.seed,
        "T": plan.T,
        "realisations": plan.realisations,
        "versions": versions(),
        "wall_seconds": store.wall_seconds(job.key for job in wanted),
        "command": command,
        "skipped": dict(plan.skipped),
    }
    return Outcome(results_table(curves), weights_table(curves), goals_table(curves), setting)


def _sort_key(plan: BenchmarkPlan) -> Callable[[CurveJob], tuple[int, int, int]]:
    """The sort key of a job: by task, then method, then realisation."""
    tasks = {task.name: n for n, task in enumerate(plan.tasks)}
    methods = {method.name: n for n, method in enumerate(plan.methods)}
    return lambda job: (tasks[job.task.name], methods[job.method.name], job.realisation)


def versions() -> dict[str, str]:
    """Versions of weal, Python and the packages that computed the numbers."""
    packages = package_versions("numpy", "scipy", "scikit-learn", "pandas", "Box2D", "botorch")
    machine = f"{platform.system()} {platform.machine()}"
    python = platform.python_version()
    return {"weal": weal.__version__, "Python": python, **packages, "machine": machine}


def _ignore_progress(step: RunProgress) -> None:
    pass
