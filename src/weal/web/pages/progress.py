"""Server-sent events of a campaign, the progress of a job, and the page Jobs.

A page that hears the event `moved` asks for its parts again. A job continues when its page is
closed.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from weal.errors import WealError
from weal.web.job_worker import Job
from weal.web.request import (
    CampaignRead,
    CampaignRequest,
    FormToken,
    RequestContext,
    ServerRead,
    state_token,
)

router = APIRouter()
STORE_POLL_SECONDS = 0.7  # between two checks of the store
_GONE = "This job is no longer known: open the campaign to see its result."
UNBUFFERED = {"X-Accel-Buffering": "no"}  # nginx passes every event on at once
HEARTBEAT_SECONDS = 20.0  # so that no proxy closes an idle stream


@router.get("/c/{name}/news", response_class=StreamingResponse, include_in_schema=False)
async def news(context: CampaignRead, request: Request) -> StreamingResponse:
    """A stream with an event `moved` whenever the campaign or its results change."""
    return StreamingResponse(
        _change_events(context, request), media_type="text/event-stream", headers=UNBUFFERED
    )


async def _change_events(context: CampaignRequest, request: Request) -> AsyncIterator[str]:
    before = ""
    quiet = 0.0  # seconds
    yield "retry: 2000\n\n"
    while not await request.is_disconnected() and await asyncio.to_thread(_is_valid, context):
        now = await asyncio.to_thread(state_token, context.server, context.name)
        if now != before:
            yield f"event: moved\ndata: {now}\n\n"
            before, quiet = now, 0.0
        elif quiet > HEARTBEAT_SECONDS:
            yield ": still here\n\n"
            quiet = 0.0
        await asyncio.sleep(STORE_POLL_SECONDS)
        quiet += STORE_POLL_SECONDS


def _is_valid(context: RequestContext) -> bool:
    """Whether the login of a stream is still valid; the stream ends when the store is lost."""
    try:
        return context.is_authenticated
    except WealError:
        return False


Id = Annotated[str, Path(pattern="^[0-9a-f]{1,64}$")]


@router.get("/work")
def list_jobs(context: ServerRead) -> Response:
    """The page Jobs: all unfinished jobs and who started them."""
    worker = context.server.worker
    template = "jobs_part.html" if context.is_part else "jobs.html"
    return context.page(template, unfinished=context.unfinished_jobs(), limit=worker.seconds)


@router.get("/work/{id_}")
def job_progress(
    context: ServerRead, id_: Id, then: Annotated[str, Query(max_length=4000)] = "/"
) -> Response:
    """The progress of a job, and at its end a redirect to the page that waits for it."""
    job = _job(context, id_)
    if not then.startswith((context.address("/c/"), context.address("/new"))):
        raise HTTPException(404, _GONE)
    if job.finished.is_set():
        context.raise_in_place(job)
        return context.redirect(f"{then}{'&' if '?' in then else '?'}work={job.id}")
    return context.job_page("work.html" if context.is_part else "working.html", job, then)


@router.post("/work/{id_}/cancel", status_code=303)
def cancel(context: ServerRead, id_: Id, _: FormToken) -> Response:
    """Cancel a job of this person."""
    context.server.worker.cancel(_job(context, id_), context.who)
    return context.redirect(context.address("/work"))


def _job(context: RequestContext, id_: str) -> Job:
    job = context.server.worker.job(id_)
    if job is None or not context.sees(job):
        raise HTTPException(404, _GONE)
    return job
