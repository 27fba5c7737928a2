"""The log of requests: one record for each, without query, headers and body.

    weal.web.requests   INFO    method, path, status, milliseconds, request id, name of the token
                        DEBUG   the same of static files and health checks
                        ERROR   the same of a status of 500 and above

A query can carry a token or the text of a label, so that no record has one. Where a client puts a
secret into the path, `weal.logs` masks it.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from weal.logs import record
from weal.web.request_body import Message, Send
from weal.web.request_head import Head

CLIENT_GONE = 499  # the status of a request whose client hung up before the answer, as of nginx
MAX_PATH_LETTERS = 300


@contextmanager
def log_request(head: Head, state: dict[str, Any], send: Send) -> Iterator[Send]:
    """A block for one request; the function to send its response with."""
    started, status = time.perf_counter(), CLIENT_GONE

    async def send_and_note(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        await send(message)

    try:
        yield send_and_note
    finally:
        actor = state.get("actor")
        named = {"actor": actor.name} if actor is not None and actor.name else {}
        record(
            "web.requests", _level(head, status), "request",
            request_id=state["request_id"], method=head.method[:20],
            path=head.path[:MAX_PATH_LETTERS], status=status,
            ms=round(1000.0 * (time.perf_counter() - started), 1), **named,
        )  # fmt: skip


def _level(head: Head, status: int) -> str:
    if status >= 500:
        return "ERROR"
    return "DEBUG" if head.is_open else "INFO"
