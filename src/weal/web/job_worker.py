"""The worker of a server: queues of jobs, each with a thread and a runner of its own.

    model     jobs that need a model: asks, exports, pictures, and results that the pages show
    tables    tables of candidates that people upload
    labels    worksheets that come back: they wait for no table and for no model

Each queue is started with its first job. Jobs that a person waits for come before the results of
the pages; the second job of a person comes after the first job of everybody else, so nobody waits
for the many jobs of another. A job ends with its answer, with its error, when it is cancelled, or
at its time limit (`WEAL_MAX_JOB_SECONDS`).

A person may have 50 unfinished jobs, and all people together 200. The last finished jobs are kept;
when there are too many, the person with the most of them loses the oldest. Pictures are counted
apart, since they are quickly drawn again.
"""

import itertools
import secrets
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from weal.errors import NotAllowed, WealError, error_code
from weal.limits import read_limits, variable
from weal.logs import current_request, record, request
from weal.web.job_context import Arguments
from weal.web.job_runners import Runner

QUEUES = {"look": "tables", "make": "tables", "look_more": "tables", "add": "tables",
          "create_campaign": "tables", "add_rows": "tables", "copy_campaign": "tables",
          "copy": "tables",
          "preview": "labels", "tell_file": "labels", "import_labels": "labels"}  # fmt: skip
PICTURES = ("near", "effect", "map", "candidate_map", "png")
MAX_FINISHED_JOBS = 200  # and as many pictures
MAX_JOBS_PER_PERSON, MAX_JOBS = 50, 200  # unfinished
CLOSE_SECONDS = 2.0  # for a job of this process to end; a child process is killed at once
STOP_TRIES, STOP_PAUSE_SECONDS = 500, 0.02  # how often a runner is told to stop
JOB_TITLES = {
    "ask": "Choosing rows",
    "take": "Asking for a row",
    "change": "Changing settings",
    "export": "Writing a file",
    "suggest": "Choosing rows",
    "asked": "Explaining the suggestions",
    "report": "Updating the status",
    "best": "Finding the best rows",
    "card": "Explaining a row",
    "predict_rows": "Predicting rows",
    "create_campaign": "Creating a campaign",
    "copy": "Copying a campaign",
    "copy_campaign": "Copying a campaign",
    "add_rows": "Adding candidates",
    "change_settings": "Changing settings",
    "import_labels": "Saving the labels of a file",
    "write_table": "Writing a file",
    "worksheet": "Writing a worksheet",
    "look": "Reading a table",
    "make": "Creating a campaign",
    "look_more": "Reading a table",
    "add": "Adding candidates",
    "preview": "Checking a worksheet",
    "tell_file": "Saving the labels of a worksheet",
    "near": "Finding the nearest measured rows",
    "effect": "Drawing the effect of an input",
    "map": "Drawing a map of two inputs",
    "candidate_map": "Drawing a map of the candidates",
    "png": "Drawing a picture",
    "rows": "Reading the candidates",
    "why": "Explaining the suggestions",
    "status": "Updating the status",
    "measured": "Comparing labels with predictions",
    "explore": "Predicting all candidates",
}


class Cancelled(WealError):
    """A job was cancelled by the person who started it."""

    code = "cancelled"


class TooManyJobs(WealError):
    """A person, or everybody together, has too many unfinished jobs."""

    code = "too_many_jobs"


@dataclass(slots=True, eq=False)
class Job:
    """A job: its arguments, its progress, and its answer or error."""

    id: str  # empty for a result that pages show, which nobody waits for
    kind: str
    arguments: Arguments
    who: str = ""  # the person who started it
    queue: str = ""
    progress: tuple[str, int, int] | None = None
    answer: object = None
    error: Exception | None = None
    finished: threading.Event = field(default_factory=threading.Event)
    started: float | None = None
    order: tuple[bool, int, int] = (False, 0, 0)
    callbacks: list[Callable[[], object]] = field(default_factory=list)  # called at its end
    rerun: int | None = None  # the event after which the same result is needed again
    request_id: str = field(default_factory=current_request)  # of the request that started it

    @property
    def seconds(self) -> float | None:
        """Seconds since the job started; None while it waits."""
        return None if self.started is None else time.monotonic() - self.started

    @property
    def title(self) -> str:
        """The title of the job on the page."""
        return JOB_TITLES.get(self.kind, "Working")


class JobQueue:
    """A queue of jobs that one runner runs one after the other."""

    _numbers = itertools.count()

    def __init__(self, runner: Runner, finish: Callable[[Job], None], seconds: float) -> None:
        self._runner, self._finish, self._seconds = runner, finish, seconds
        self._change = threading.Condition()
        self._waiting: list[Job] = []
        self._running: Job | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._run_jobs, name="weal jobs", daemon=True)
        self._thread.start()

    def put(self, job: Job) -> None:
        """Add a job."""
        with self._change:
            own = sum(one.who == job.who for one in self._list_jobs())
            job.order = (not job.id, own if job.id else 0, next(self._numbers))
            self._waiting.append(job)
            self._change.notify()

    def jobs(self) -> list[Job]:
        """The running job, then the waiting ones in their order."""
        with self._change:
            return self._list_jobs()

    def _list_jobs(self) -> list[Job]:
        running = [self._running] if self._running else []
        return running + sorted(self._waiting, key=lambda job: job.order)

    def stop(self, job: Job, error: Exception) -> bool:
        """End a waiting or running job with this error; False if it has ended already."""
        with self._change:
            if job is not self._running and job not in self._waiting:
                return False
            job.error = error
            is_waiting = job in self._waiting
            if is_waiting:
                self._waiting.remove(job)
        if is_waiting:
            self._finish(job)
        else:
            self._stop_runner(job)
        return True

    def _stop_runner(self, job: Job) -> None:
        """Signal the runner to stop until the job has ended: the job may not have begun yet.

        The lock ensures that no other job is stopped. Nothing is waited for under it.
        """
        for _ in range(STOP_TRIES):
            with self._change:
                if job is not self._running:
                    return
                self._runner.stop()
            time.sleep(STOP_PAUSE_SECONDS)

    def close(self) -> None:
        """Stop the thread; a running job is given up."""
        with self._change:
            self._closed = True
            self._change.notify()
        until = time.monotonic() + CLOSE_SECONDS
        while self._thread.is_alive() and time.monotonic() < until:
            self._runner.close()  # repeatedly: the thread may have started a child meanwhile
            self._thread.join(0.1)

    def _run_jobs(self) -> None:
        while (job := self._next()) is not None:
            with request(job.request_id):
                self._run_within_limit(job)
            self._finish(job)

    def _next(self) -> Job | None:
        with self._change:
            self._change.wait_for(lambda: self._closed or self._waiting)
            if self._closed:
                return None
            job = min(self._waiting, key=lambda one: one.order)
            self._waiting.remove(job)
            self._running, job.started = job, time.monotonic()
            return job

    def _run_within_limit(self, job: Job) -> None:
        """Run a job with its time limit; without a timer the job fails and is not run."""
        timer = threading.Timer(self._seconds, self.stop, (job, _out_of_time(self._seconds)))
        timer.daemon = True
        try:
            timer.start()
        except RuntimeError as error:  # the process may start no more threads
            failure = WealError(f"the server is overloaded ({error}): try again later")
            return self._end(job, failure)
        self._run(job)
        timer.cancel()
        timer.join()

    def _run(self, job: Job) -> None:
        def report(what: str, done: int, total: int) -> None:
            job.progress = (what, done, total)

        failure: Exception | None = None
        try:
            job.answer = self._runner(job.kind, job.arguments, report)
        except Exception as error:  # noqa: BLE001  raised in the view that waits for the job
            failure = error
        self._end(job, failure)

    def _end(self, job: Job, failure: Exception | None) -> None:
        seconds = round(job.seconds or 0.0, 3)
        level, more = ("WARNING", {"code": error_code(failure)}) if failure else ("INFO", {})
        name = job.arguments.get("name", "")
        record(
            "web.jobs", level, "job ended", kind=job.kind, campaign=name, seconds=seconds, **more
        )
        with self._change:
            self._running = None
            job.error = failure and (job.error or failure)  # an answer counts despite a late stop


def _out_of_time(limit: float) -> WealError:
    return WealError(
        f"this job was stopped after {limit:g} seconds, the time limit of this server: split the "
        f"work, or start weal serve with a larger {variable('job_seconds')}"
    )


class Worker:
    """All jobs of a server: submit, look up, list and cancel them."""

    def __init__(self, make_runner: Callable[[], Runner]) -> None:
        self._make_runner, self.seconds = make_runner, read_limits().job_seconds
        self._lock = threading.RLock()
        self._queues: dict[str, JobQueue] = {}
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._pending: dict[tuple[str, str], Job] = {}  # results of pages, by kind and campaign
        self._failed: dict[tuple[str, str], tuple[int, str]] = {}

    def submit(self, kind: str, arguments: Arguments, key: str | None = None, who: str = "") -> Job:
        """A job that a person waits for; the same key again returns the same job."""
        with self._lock:
            id_ = key or secrets.token_hex(16)
            if id_ in self._jobs:
                return self._jobs[id_]
            self._check_capacity(who)
            job = Job(id_, kind, arguments, who, QUEUES.get(kind, "model"))
            self._queue(job.queue).put(job)
            self._jobs[id_] = job
            return job

    def job(self, id_: str) -> Job | None:
        """The job with this id, if it is still kept."""
        with self._lock:
            return self._jobs.get(id_)

    def forget(self, job: Job) -> None:
        """Delete a job."""
        with self._lock:
            if self._jobs.get(job.id) is job:
                del self._jobs[job.id]

    def when_finished(self, job: Job, callback: Callable[[], object]) -> None:
        """Call a function once the job has ended, in the thread of its queue."""
        with self._lock:
            if not job.finished.is_set():
                job.callbacks.append(callback)
                return
        callback()

    def give_up(self, job: Job) -> None:
        """End a job that nobody waits for any more, unless it has begun."""
        if job.started is None:
            self._queue(job.queue).stop(job, Cancelled("this job is no longer needed"))
        self.forget(job)

    def check_capacity(self, who: str) -> None:
        """Raise TooManyJobs if this person can submit no further job."""
        with self._lock:
            self._check_capacity(who)

    def unfinished_jobs(self) -> list[Job]:
        """All unfinished jobs, queue by queue, in the order in which they run."""
        with self._lock:
            queues = list(self._queues.values())
        return [job for queue in queues for job in queue.jobs()]

    def jobs_ahead(self, job: Job) -> int:
        """The number of jobs before this one in its queue."""
        jobs = self._queue(job.queue).jobs()
        return jobs.index(job) if job in jobs else 0

    def cancel(self, job: Job, who: str) -> bool:
        """End a job that this person started; False if it had ended. NotAllowed for others'."""
        if not job.id or not who or job.who != who:
            raise NotAllowed("only the person who started a job can cancel it")
        words = "this job was cancelled: what it had saved by then is kept, the rest is not"
        return self._queue(job.queue).stop(job, Cancelled(words))

    def request_result(self, kind: str, name: str, seq: int) -> None:
        """Queue the computation of a campaign's result as of event `seq`, without waiting."""
        with self._lock:
            pending = self._pending.get((kind, name))
            if pending is None and not self.failure(kind, name, seq):
                self._queue_result(kind, name, seq)
            elif pending is not None and pending.started:  # it may have read older events
                pending.rerun = seq

    def _queue_result(self, kind: str, name: str, seq: int) -> None:
        job = Job("", kind, {"name": name, "seq": seq}, queue="model")
        self._queue(job.queue).put(job)
        self._pending[kind, name] = job

    def failure(self, kind: str, name: str, seq: int) -> str | None:
        """The error of the computation of this result as of that event; None without one."""
        past, message = self._failed.get((kind, name), (-1, ""))
        return message if past == seq else None

    def pending_job(self, kind: str, name: str) -> Job | None:
        """The job that computes this result, if there is one."""
        return self._pending.get((kind, name))

    def close(self) -> None:
        """Stop all queues; running jobs are given up."""
        with self._lock:
            queues = list(self._queues.values())
        for queue in queues:
            queue.close()

    def _queue(self, name: str) -> JobQueue:
        with self._lock:
            if name not in self._queues:
                self._queues[name] = JobQueue(self._make_runner(), self._finish, self.seconds)
            return self._queues[name]

    def _check_capacity(self, who: str) -> None:
        waiting = [job for job in self._jobs.values() if not job.finished.is_set()]
        own = sum(job.who == who for job in waiting)
        if own >= MAX_JOBS_PER_PERSON or len(waiting) >= MAX_JOBS:
            whose = f"you have {own}" if own >= MAX_JOBS_PER_PERSON else f"there are {len(waiting)}"
            raise TooManyJobs(f"{whose} unfinished jobs: wait, or cancel some (page Jobs)")

    def _finish(self, job: Job) -> None:
        with self._lock:
            if not job.id:
                self._record_result(job, (job.kind, job.arguments["name"]))
            job.finished.set()
            self._drop_finished(job.kind in PICTURES)
        for callback in job.callbacks:
            with suppress(RuntimeError):  # the event loop of the server is closed
                callback()

    def _drop_finished(self, pictures: bool) -> None:
        """Drop the oldest finished job of the person with most of them, if there are too many."""
        ended = [
            job
            for job in self._jobs.values()
            if job.finished.is_set() and (job.kind in PICTURES) == pictures
        ]
        if len(ended) > MAX_FINISHED_JOBS:
            [(most, _)] = Counter(job.who for job in ended).most_common(1)
            del self._jobs[next(job.id for job in ended if job.who == most)]

    def _record_result(self, job: Job, key: tuple[str, str]) -> None:
        """Note a failure; compute the result again if events came meanwhile."""
        seq = job.arguments["seq"]
        if job.error is not None:
            self._failed[key] = (seq, str(job.error))
        self._pending.pop(key, None)
        if job.rerun is not None and job.rerun != seq:
            self._queue_result(*key, job.rerun)
