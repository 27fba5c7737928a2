"""Jobs: how far one is, all that have not ended, and the end of one that somebody cancels.

Whoever leaves the page of a job loses nothing: it goes on.
"""

from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Response

from weal.web.desk import Seat, Sitting, genuine
from weal.web.job_queue import Job
from weal.web.worker import title_of

router = APIRouter()
Id = Annotated[str, Path(pattern="^[0-9a-f]{1,64}$")]


@router.get("/work")
def every_job(seat: Sitting) -> Response:
    """All jobs that have not ended, and who started them."""
    worker = seat.desk.worker
    unfinished = [(job, title_of(job)) for job in worker.unfinished()]
    template = "jobs_part.html" if seat.is_part else "jobs.html"
    return seat.page(template, unfinished=unfinished, limit=worker.seconds)


@router.get("/work/{id_}")
def how_far(seat: Sitting, id_: Id, then: Annotated[str, Query(max_length=4000)] = "/") -> Response:
    """How far a job is; when it has ended, the page that was waited for."""
    job = _job(seat, id_)
    if not then.startswith("/c/") and not then.startswith("/new"):
        raise HTTPException(404, "That work is not known any more: look at the campaign itself.")
    if job.finished.is_set():
        return seat.go(f"{then}{'&' if '?' in then else '?'}work={job.id}")
    return seat.work("work.html" if seat.is_part else "working.html", job, then)


@router.post("/work/{id_}/cancel", status_code=303)
def cancel(seat: Sitting, id_: Id, _: Annotated[None, Depends(genuine)]) -> Response:
    """End a job; whoever started it may do so."""
    seat.desk.worker.cancel(_job(seat, id_), seat.who)
    return seat.go("/work")


def _job(seat: Seat, id_: str) -> Job:
    job = seat.desk.worker.job(id_)
    if job is None:
        raise HTTPException(404, "That work is not known any more: look at the campaign itself.")
    return job
