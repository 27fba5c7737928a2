"""Server-sent events: that something has changed, by whomever; pages then ask for what is new."""

import asyncio
from collections.abc import AsyncIterator

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from weal.web.desk import At, Here, standing

router = APIRouter()
PAUSE = 0.7  # seconds between two looks at the store
BREATH = 20.0  # seconds after which something is said, so that no proxy hangs up


@router.get("/c/{name}/news", response_class=StreamingResponse, include_in_schema=False)
async def news(here: Here, request: Request) -> StreamingResponse:
    """An event `moved` whenever the campaign, or what was found of it, is another than before."""
    return StreamingResponse(_moves(here, request), media_type="text/event-stream")


async def _moves(here: At, request: Request) -> AsyncIterator[str]:
    before = ""
    quiet = 0.0
    yield "retry: 2000\n\n"
    while not await request.is_disconnected() and here.is_admitted:
        now = await asyncio.to_thread(standing, here.desk, here.name)
        if now != before:
            yield f"event: moved\ndata: {now}\n\n"
            before, quiet = now, 0.0
        elif quiet > BREATH:
            yield ": still here\n\n"
            quiet = 0.0
        await asyncio.sleep(PAUSE)
        quiet += PAUSE
