"""Server-sent events: that something has changed, by whomever; pages then ask for what is new.

Jobs: how far one is, all that have not ended, and the end of one that somebody cancels.

Whoever leaves the page of a job loses nothing: it goes on.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from weal.web.job_queue import Job
from weal.web.job_worker import title_of
from weal.web.request import (
    CampaignRequest,
    Here,
    RequestContext,
    Sitting,
    check_form_token,
    state_token,
)

router = APIRouter()
STORE_POLL_SECONDS = 0.7  # seconds between two looks at the store
HEARTBEAT_SECONDS = 20.0  # seconds after which something is said, so that no proxy hangs up


@router.get("/c/{name}/news", response_class=StreamingResponse, include_in_schema=False)
async def news(here: Here, request: Request) -> StreamingResponse:
    """An event `moved` whenever the campaign, or what was found of it, is another than before."""
    return StreamingResponse(_moves(here, request), media_type="text/event-stream")


async def _moves(here: CampaignRequest, request: Request) -> AsyncIterator[str]:
    before = ""
    quiet = 0.0
    yield "retry: 2000\n\n"
    while not await request.is_disconnected() and here.is_admitted:
        now = await asyncio.to_thread(state_token, here.desk, here.name)
        if now != before:
            yield f"event: moved\ndata: {now}\n\n"
            before, quiet = now, 0.0
        elif quiet > HEARTBEAT_SECONDS:
            yield ": still here\n\n"
            quiet = 0.0
        await asyncio.sleep(STORE_POLL_SECONDS)
        quiet += STORE_POLL_SECONDS


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
def cancel(seat: Sitting, id_: Id, _: Annotated[None, Depends(check_form_token)]) -> Response:
    """End a job; whoever started it may do so."""
    seat.desk.worker.cancel(_job(seat, id_), seat.who)
    return seat.go("/work")


def _job(seat: RequestContext, id_: str) -> Job:
    job = seat.desk.worker.job(id_)
    if job is None:
        raise HTTPException(404, "That work is not known any more: look at the campaign itself.")
    return job
