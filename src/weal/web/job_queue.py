"""Jobs in turn: one queue with a thread and a runner of its own.

Jobs that somebody waits for come before those of the pages; among the former, the second job of a
person comes after the first of everybody else, so that nobody waits for the many of another. A job
ends with its answer, with its error, when it is cancelled, or at the limit of its time
(`WEAL_MAX_JOB_SECONDS`).
"""

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from weal.errors import WealError
from weal.limits import variable
from weal.web.job_context import Arguments
from weal.web.job_runners import Runner

CLOSE_SECONDS = 2.0  # that a job of this process gets to end; one of a child is killed at once
STOP_TRIES, STOP_PAUSE = 500, 0.02  # how often a runner is told to stop, and seconds in between


class Cancelled(WealError):
    """A job that somebody has cancelled."""


@dataclass(slots=True, eq=False)
class Job:
    """Something to be done: how far it is, and what came of it."""

    id: str  # empty: a page wants what it finds, and nobody waits
    kind: str
    given: Arguments
    who: str = ""  # who started it
    queue: str = ""
    progress: tuple[str, int, int] | None = None
    answer: Any = None
    error: Exception | None = None
    finished: threading.Event = field(default_factory=threading.Event)
    submitted: float = field(default_factory=time.monotonic)
    started: float | None = None
    order: tuple[bool, int, int] = (False, 0, 0)
    later: int | None = None  # the event after which the same is wanted again

    @property
    def seconds(self) -> float | None:
        """For how long it has been at work; None: it waits."""
        return None if self.started is None else time.monotonic() - self.started


class JobQueue:
    """Jobs that one runner does, one after the other."""

    _numbers = itertools.count()

    def __init__(self, runner: Runner, settle: Callable[[Job], None], seconds: float) -> None:
        self._runner, self._settle, self._seconds = runner, settle, seconds
        self._change = threading.Condition()
        self._waiting: list[Job] = []
        self._running: Job | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="weal jobs", daemon=True)
        self._thread.start()

    def put(self, job: Job) -> None:
        """Add a job."""
        with self._change:
            mine = sum(one.who == job.who for one in self._unfinished())
            job.order = (not job.id, mine if job.id else 0, next(self._numbers))
            self._waiting.append(job)
            self._change.notify()

    def jobs(self) -> list[Job]:
        """The job that is under way, then those that wait, in their order."""
        with self._change:
            return self._unfinished()

    def _unfinished(self) -> list[Job]:
        running = [self._running] if self._running else []
        return running + sorted(self._waiting, key=lambda job: job.order)

    def stop(self, job: Job, error: Exception) -> bool:
        """End a job with this error, whether it waits or is under way; False: it has ended."""
        with self._change:
            if job is not self._running and job not in self._waiting:
                return False
            job.error = error
            waits = job in self._waiting
            if waits:
                self._waiting.remove(job)
        if waits:
            self._settle(job)
        else:
            self._stop_runner(job)
        return True

    def _stop_runner(self, job: Job) -> None:
        """Stop the runner until the job has ended: it may only be about to begin."""
        for _ in range(STOP_TRIES):
            with self._change:
                if job is not self._running:
                    return
                self._runner.stop()
            time.sleep(STOP_PAUSE)

    def close(self) -> None:
        """Stop; what is under way is given up."""
        with self._change:
            self._closed = True
            self._change.notify()
        until = time.monotonic() + CLOSE_SECONDS
        while self._thread.is_alive() and time.monotonic() < until:
            self._runner.close()  # again, where the thread has started a child meanwhile
            self._thread.join(0.1)

    def _next(self) -> Job | None:
        with self._change:
            self._change.wait_for(lambda: self._closed or self._waiting)
            if self._closed:
                return None
            job = min(self._waiting, key=lambda one: one.order)
            self._waiting.remove(job)
            self._running, job.started = job, time.monotonic()
            return job

    def _work(self) -> None:
        while (job := self._next()) is not None:
            alarm = threading.Timer(self._seconds, self._end, (job,))
            alarm.daemon = True
            alarm.start()
            self._run(job)
            alarm.cancel()
            alarm.join()
            self._settle(job)

    def _end(self, job: Job) -> None:
        self.stop(job, _out_of_time(self._seconds))

    def _run(self, job: Job) -> None:
        failure: Exception | None = None
        try:
            job.answer = self._runner(job.kind, job.given, _counter(job))
        except Exception as error:  # noqa: BLE001  whoever waits for the job is told
            failure = error
        with self._change:
            self._running = None
            job.error = failure and (job.error or failure)  # an answer that came is an answer


def _out_of_time(limit: float) -> WealError:
    return WealError(
        f"this was stopped after {limit:g} seconds, the limit for a job of this server: split the "
        f"work, or start weal serve with {variable('job_seconds')} set to more"
    )


def _counter(job: Job) -> Callable[[str, int, int], None]:
    def count(what: str, done: int, total: int) -> None:
        job.progress = (what, done, total)

    return count
