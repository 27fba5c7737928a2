"""The two things that a worker does: draw the points of a realisation, and compute a curve.

Points are drawn on this machine, where the data is, and travel with the job: a worker on another
machine needs weal and nothing else. It must be the same weal to the letter; this is checked.
"""

from dataclasses import dataclass, replace

import numpy as np

from weal.bench import keys
from weal.bench.methods import Method
from weal.bench.places import Folder
from weal.bench.plans import Plan
from weal.bench.protocol import Curve, play
from weal.bench.tasks import Task, draw
from weal.bench.workers import one_blas_thread
from weal.core.arrays import Array
from weal.errors import WealError


class CurveFailed(WealError):
    """A method raised an error on a realisation."""


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
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
class Job:
    """One curve to compute."""

    key: str
    task: Task  # with points that were drawn
    method: Method
    realisation: int
    seed: int
    T: int
    code: str


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """The points of one realisation to draw."""

    task: Task
    realisation: int
    plan: Plan


def drawn(wish: Draw) -> tuple[Task, int]:
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
    return replace(wish.task, points=Drawn(X, y)), wish.realisation


def jobs_of(plan: Plan, task: Task, realisation: int) -> list[Job]:
    """One job for each method on a task that was drawn."""
    split = draw(task, realisation, plan.seed)
    code, rest = keys.code(), (realisation, plan.seed, plan.T)
    return [
        Job(keys.curve_key(task, split, method, *rest), task, method, *rest, code)
        for method in plan.methods
    ]


def curve_of(job: Job) -> tuple[str, Curve]:
    """The key of a job and its curve, computed with one BLAS thread."""
    if job.code != keys.code():
        raise CurveFailed(
            f"a worker has weal {keys.code()}, but this is {job.code}: install the same there "
            "(or it was edited just now: run again)"
        )
    try:
        with one_blas_thread():
            return job.key, play(job.task, job.method, job.realisation, job.seed, job.T)
    except Exception as error:
        what = f"{job.method.name} on {job.task.name}, realisation {job.realisation}"
        raise CurveFailed(f"{what}: {type(error).__name__}: {error}") from error
