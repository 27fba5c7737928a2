"""How far a job is: shown until it has ended; whoever leaves loses nothing."""

from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query, Response

from weal.web.desk import Sitting

router = APIRouter()


@router.get("/work/{id_}")
def how_far(
    seat: Sitting,
    id_: Annotated[str, Path(pattern="^[0-9a-f]{1,64}$")],
    then: Annotated[str, Query(max_length=4000)] = "/",
) -> Response:
    """How far a job is; when it has ended, the page that was waited for."""
    job = seat.desk.worker.job(id_)
    if job is None or (not then.startswith("/c/") and not then.startswith("/new")):
        raise HTTPException(404, "That work is not known any more: look at the campaign itself.")
    if job.finished.is_set():
        return seat.go(f"{then}{'&' if '?' in then else '?'}work={job.id}")
    template = "work.html" if seat.is_part else "working.html"
    return seat.page(template, job=job, then=then)
