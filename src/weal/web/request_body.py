"""The body of a request: how much of it is read, and how a refused body is discarded.

    receive_limited   the body for a view: 413 once it exceeds the limit of its address
    drain             read and drop a body before a refusal, so that a client that sends first and
                      reads later sees the response; without a token at most 64 kB or 1 s
    linger            respond first, then read and drop the rest: closing a connection with unread
                      data resets it, and the response can be lost

A client that waits for `100 Continue` has sent nothing and gets its response at once.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any

from fastapi import HTTPException

Message = MutableMapping[str, Any]  # of ASGI
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

TOO_LARGE = 413
CLOSE = (b"connection", b"close")  # no request follows on this connection
MAX_FORM_BYTES = 2**20  # of a form
MAX_UPLOAD_BYTES = 32 * 2**20  # of a table
UPLOADS = ("/new", "/add", "/sheet")  # addresses that take tables end so
API_UPLOADS = ("/campaigns", "/tell", "/candidates", "/predictions")
DRAIN_BYTES = 2**16  # of a body without a token
DRAIN_SECONDS = 1.0
LINGER_BYTES = 2 * 2**20  # of a body without a declared length, or with an absurd one
LINGER_KNOWN_BYTES = 2**28  # of a body with a declared length
LINGER_SECONDS = 30.0


class Body:
    """The body of a request, and how much of it was read."""

    def __init__(self, receive: Receive, headers: Mapping[str, str], path: str) -> None:
        self._receive, self._limit, self._read = receive, max_body_bytes(path), 0
        self._length = _length(headers)
        self._is_complete = self._length == 0
        self._waits = headers.get("expect", "").strip().lower() == "100-continue"

    @property
    def has_body(self) -> bool:
        """Whether the request has a body."""
        return self._length != 0

    @property
    def is_declared_too_large(self) -> bool:
        """Whether the declared length exceeds the limit."""
        return self._length is not None and self._length > self._limit

    @property
    def too_large_text(self) -> str:
        """The reason of the refusal of the body."""
        return f"This is larger than the limit of {self._limit // 2**20} MB: send it in parts."

    async def receive(self) -> Message:
        """The next part of the body."""
        self._waits = False  # the server sends 100 Continue now
        message = await self._receive()
        self._is_complete = not message.get("more_body")
        self._read += len(message.get("body", b""))
        return message

    async def receive_limited(self) -> Message:
        """The next part; 413 once the parts exceed the limit, whatever the declared length."""
        message = await self.receive()
        if self._read > self._limit:
            raise HTTPException(TOO_LARGE, self.too_large_text)
        return message

    async def drain(self, limit: int = DRAIN_BYTES, seconds: float = DRAIN_SECONDS) -> None:
        """Read and drop the body, up to that many bytes or seconds."""
        end = self._read + limit
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self._is_complete and not self._waits and self._read < end:
                    await self.receive()

    def linger(self, send: Send) -> Send:
        """Send a complete response; then read and drop the rest, and close the connection."""
        declared = self._length is not None and self._length <= LINGER_KNOWN_BYTES
        limit = LINGER_KNOWN_BYTES if declared else LINGER_BYTES

        async def send_and_linger(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], CLOSE]}
            if message["type"] != "http.response.body" or message.get("more_body"):
                return await send(message)
            await send({**message, "more_body": True})
            await self.drain(limit, LINGER_SECONDS)
            await send({"type": "http.response.body", "body": b""})

        return send_and_linger


def max_body_bytes(path: str) -> int:
    """The size limit of a body at this address."""
    if path.startswith("/api/"):
        return MAX_UPLOAD_BYTES if path.endswith(API_UPLOADS) else MAX_FORM_BYTES
    return MAX_UPLOAD_BYTES if path.endswith(UPLOADS) else MAX_FORM_BYTES


def _length(headers: Mapping[str, str]) -> int | None:
    """The declared length of the body: 0 without a body, None if it is not declared."""
    if "transfer-encoding" in headers:
        return None
    said = headers.get("content-length", "0").strip()
    return int(said[:20]) if said.isascii() and said.isdecimal() else None
