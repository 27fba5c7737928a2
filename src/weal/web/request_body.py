"""The body of a request: how much of it is read, and what becomes of a body that is refused.

    receive_limited   the body for a view: 413 once it is larger than its address takes
    drain             read and drop a body before a refusal, so that a client that sends first and
                      listens later sees the answer; without a token at most 64 kB or 1 s of it
    linger            answer first, then read and drop what still comes: a connection that is closed
                      with unread data is reset, and the answer can be lost

A client that waits for `100 Continue` has sent nothing, and is answered at once.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any

from fastapi import HTTPException

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

TOO_LARGE = 413
CLOSE = (b"connection", b"close")  # a header: no request follows on this connection
MOST_FORM = 2**20  # bytes of a form
MOST_UPLOAD = 32 * 2**20  # bytes of a table
UPLOADS = ("/new", "/add", "/sheet")  # ends of addresses that take tables
DRAIN_BYTES = 2**16  # of a body without a token
DRAIN_SECONDS = 1.0
LINGER_BYTES = 2 * 2**20  # of a body that does not say its length, or one beyond all reason
LINGER_KNOWN_BYTES = 2**28  # of a body that says its length
LINGER_SECONDS = 30.0


class Body:
    """The body of a request to this path, and how far it was read."""

    def __init__(self, receive: Receive, headers: Mapping[str, str], path: str) -> None:
        self._receive, self._most, self._read = receive, most_bytes(path), 0
        self._length = _length(headers)
        self._is_complete = self._length == 0
        self._waits = headers.get("expect", "").strip().lower() == "100-continue"

    @property
    def is_announced(self) -> bool:
        """Whether the request has a body, come or still to come."""
        return self._length != 0

    @property
    def is_said_too_large(self) -> bool:
        """Whether the length that the request gives is more than is taken."""
        return self._length is not None and self._length > self._most

    @property
    def too_large_words(self) -> str:
        """Why the body is refused."""
        return f"This is larger than the {self._most // 2**20} MB taken here."

    async def receive(self) -> Message:
        """The next part of the body."""
        self._waits = False  # the server asks for the body now
        message = await self._receive()
        self._is_complete = not message.get("more_body")
        self._read += len(message.get("body", b""))
        return message

    async def receive_limited(self) -> Message:
        """The next part, counted while it is read, whatever its length is said to be."""
        message = await self.receive()
        if self._read > self._most:
            raise HTTPException(TOO_LARGE, self.too_large_words)
        return message

    async def drain(self, most: int = DRAIN_BYTES, seconds: float = DRAIN_SECONDS) -> None:
        """Read and drop the body until it ends, or until that many bytes or seconds."""
        end = self._read + most
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self._is_complete and not self._waits and self._read < end:
                    await self.receive()

    def linger(self, send: Send) -> Send:
        """Send an answer whole; then read and drop what still comes, and close the connection."""
        known = self._length is not None and self._length <= LINGER_KNOWN_BYTES
        most = LINGER_KNOWN_BYTES if known else LINGER_BYTES

        async def send_and_linger(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], CLOSE]}
            if message["type"] != "http.response.body" or message.get("more_body"):
                return await send(message)
            await send({**message, "more_body": True})
            await self.drain(most, LINGER_SECONDS)
            await send({"type": "http.response.body", "body": b""})

        return send_and_linger


def most_bytes(path: str) -> int:
    """Bytes of a body that are taken at this address."""
    return MOST_UPLOAD if path.endswith(UPLOADS) else MOST_FORM


def _length(headers: Mapping[str, str]) -> int | None:
    """The length that a request gives of its body; 0: it has none, None: it does not say."""
    if "transfer-encoding" in headers:
        return None
    said = headers.get("content-length", "0").strip()
    return int(said[:20]) if said.isascii() and said.isdecimal() else None
