"""The jobs of a server: submitted, wanted, looked up, cancelled.

There are three queues, each with a runner of its own (`job_queue`), started with its first job:

    model     what needs a model: asks, exports, pictures, and what the pages want to show
    tables    tables of candidates that people bring
    labels    worksheets that come back, checked and kept: they wait for no table and no model

A person has 50 unfinished jobs at the most, and all have 200. Of those that have ended, the last
are remembered: pictures apart, since they are made again in a moment; and of the others, whoever
has most loses the oldest.
"""

import secrets
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable

from weal.errors import NotAllowed, WealError
from weal.limits import read_limits
from weal.web.job_context import Arguments
from weal.web.job_queue import Cancelled, Job, JobQueue
from weal.web.job_runners import Runner

QUEUES = {"look": "tables", "make": "tables", "add": "tables", "preview": "labels",
          "tell_file": "labels"}  # fmt: skip
PICTURES = ("near", "effect", "map")
MAX_FINISHED_JOBS = 200  # jobs that have ended, and as many pictures
UNFINISHED_EACH, UNFINISHED = 50, 200  # jobs of one person, and of all


TITLES = {
    "ask": "Choosing rows",
    "take": "Asking for a row",
    "change": "Changing settings",
    "export": "Writing a file",
    "worksheet": "Writing a worksheet",
    "look": "Reading a table",
    "make": "Creating a campaign",
    "add": "Adding candidates",
    "preview": "Checking a worksheet",
    "tell_file": "Saving the labels of a worksheet",
    "near": "Finding the nearest measured rows",
    "effect": "Drawing the effect of an input",
    "map": "Drawing a map of two inputs",
    "rows": "Reading the candidates",
    "why": "Explaining the suggestions",
    "status": "Updating the status",
    "measured": "Comparing labels with predictions",
    "explore": "Predicting all candidates",
}


class TooManyJobs(WealError):
    """A person who has too many jobs that have not ended."""


def title_of(job: Job) -> str:
    """What a job does, in a few words."""
    return TITLES.get(job.kind, "Working")


class Worker:
    """The jobs of a server, in their queues."""

    def __init__(self, make_runner: Callable[[], Runner]) -> None:
        self._make_runner, self.seconds = make_runner, read_limits().job_seconds
        self._lock = threading.RLock()
        self._queues: dict[str, JobQueue] = {}
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._wanted: dict[tuple[str, str], Job] = {}  # results that are on their way
        self._failed: dict[tuple[str, str], tuple[int, str]] = {}

    def submit(self, kind: str, given: Arguments, key: str | None = None, who: str = "") -> Job:
        """A job that somebody waits for; the same key again is the same job."""
        with self._lock:
            id_ = key or secrets.token_hex(16)
            if id_ in self._jobs:
                return self._jobs[id_]
            self._check_room(who)
            job = self._jobs[id_] = Job(id_, kind, given, who, QUEUES.get(kind, "model"))
            self._queue(job.queue).put(job)
            return job

    def job(self, id_: str) -> Job | None:
        """The job with this id, if it is still remembered."""
        with self._lock:
            return self._jobs.get(id_)

    def forget(self, job: Job) -> None:
        """Remember a job no longer."""
        with self._lock:
            if self._jobs.get(job.id) is job:
                del self._jobs[job.id]

    def check_room(self, who: str) -> None:
        """TooManyJobs where no further job of this person is taken."""
        with self._lock:
            self._check_room(who)

    def unfinished(self) -> list[Job]:
        """All jobs that have not ended, queue by queue, in the order in which they are done."""
        with self._lock:
            queues = list(self._queues.values())
        return [job for queue in queues for job in queue.jobs()]

    def ahead(self, job: Job) -> int:
        """How many jobs come before this one in its queue."""
        jobs = self._queue(job.queue).jobs()
        return jobs.index(job) if job in jobs else 0

    def cancel(self, job: Job, who: str) -> bool:
        """End a job that this person started; False: it had ended. NotAllowed for another's."""
        if not job.id or not who or job.who != who:
            raise NotAllowed("only the person who started a job can cancel it")
        words = "this job was cancelled: what it had saved by then is kept, the rest is not"
        return self._queue(job.queue).stop(job, Cancelled(words))

    def want(self, kind: str, name: str, seq: int) -> None:
        """A result of a campaign, found after `seq` events, when there is time for it."""
        with self._lock:
            under_way = self._wanted.get((kind, name))
            if under_way is None and not self.trouble(kind, name, seq):
                self._want(kind, name, seq)
            elif under_way is not None and under_way.started:  # it may have looked too early
                under_way.later = seq

    def _want(self, kind: str, name: str, seq: int) -> None:
        given = {"name": name, "seq": seq}
        job = self._wanted[kind, name] = Job("", kind, given, queue="model")
        self._queue(job.queue).put(job)

    def trouble(self, kind: str, name: str, seq: int) -> str | None:
        """Why there is no such result after these events; None: nothing went wrong."""
        past, message = self._failed.get((kind, name), (-1, ""))
        return message if past == seq else None

    def wanted(self, kind: str, name: str) -> Job | None:
        """The job that looks for this result, if it is on its way."""
        return self._wanted.get((kind, name))

    def close(self) -> None:
        """Stop; what is under way is given up."""
        with self._lock:
            queues = list(self._queues.values())
        for queue in queues:
            queue.close()

    def _queue(self, name: str) -> JobQueue:
        with self._lock:
            if name not in self._queues:
                self._queues[name] = JobQueue(self._make_runner(), self._settle, self.seconds)
            return self._queues[name]

    def _check_room(self, who: str) -> None:
        waiting = [job for job in self._jobs.values() if not job.finished.is_set()]
        mine = sum(job.who == who for job in waiting)
        if mine >= UNFINISHED_EACH or len(waiting) >= UNFINISHED:
            whose = f"you have {mine}" if mine >= UNFINISHED_EACH else f"there are {len(waiting)}"
            raise TooManyJobs(f"{whose} jobs that have not ended: wait, or cancel some (page Jobs)")

    def _settle(self, job: Job) -> None:
        with self._lock:
            if not job.id:
                self._found(job, (job.kind, str(job.given["name"])))
            job.finished.set()
            self._forget(job.kind in PICTURES)

    def _forget(self, pictures: bool) -> None:
        """Forget jobs that have ended beyond those that are remembered."""
        ended = [
            job
            for job in self._jobs.values()
            if job.finished.is_set() and (job.kind in PICTURES) == pictures
        ]
        if len(ended) > MAX_FINISHED_JOBS:
            [(most, _)] = Counter(job.who for job in ended).most_common(1)
            del self._jobs[next(job.id for job in ended if job.who == most)]

    def _found(self, job: Job, wanted: tuple[str, str]) -> None:
        """A result is there, or cannot be; it is looked for again where labels came meanwhile."""
        if job.error is not None:
            self._failed[wanted] = (job.given["seq"], str(job.error))
        self._wanted.pop(wanted, None)
        if job.later is not None and job.later != job.given["seq"]:
            self._want(*wanted, job.later)
