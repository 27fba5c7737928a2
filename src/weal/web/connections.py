"""Connections of the server: a time limit for headers, and a cap on anonymous connections.

uvicorn waits for headers for ever. Here an idle connection has ten seconds to send the headers of
its next request, the TLS handshake included. A connection is anonymous until a request on it was
authenticated. At most `anonymous_limit()` anonymous connections are open, and a further one closes
the oldest. So a flood of half-open connections cannot use up the file descriptors of the process: a
browser with a session sends its cookie within milliseconds and is exempt from then on.

`Connection` sits between the transport and uvicorn's protocol and passes everything on. The app
finds it in the state of a request (`scope["state"]["connection"]`) and tells it when a request
begins and ends, and whether it was authenticated.
"""

import asyncio
import ssl
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0
MAX_ANONYMOUS = 256  # connections


def anonymous_limit() -> int:
    """The limit of anonymous connections: at most a quarter of the file descriptors."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return MAX_ANONYMOUS
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_ANONYMOUS if files == resource.RLIM_INFINITY else min(MAX_ANONYMOUS, files // 4)


class Connections:
    """The connections of a server; `protocol` is uvicorn's factory."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.tls = tls
        self.limit = anonymous_limit()  # also of connections accepted at once
        self._anonymous: dict[Connection, None] = {}  # the oldest first

    def protocol(self, app_state: dict[str, Any], **options: Any) -> "Connection":
        """A new connection in front of uvicorn's protocol."""
        found = Connection(self)
        state = {**app_state, "connection": found}
        found.http = H11Protocol(app_state=state, **options)
        return found

    def add_anonymous(self, connection: "Connection") -> None:
        """Count a connection as anonymous, and close the oldest if there are too many."""
        self._anonymous[connection] = None
        while len(self._anonymous) > self.limit:
            next(iter(self._anonymous)).abort()

    def remove_anonymous(self, connection: "Connection") -> None:
        """Stop counting a connection: it is closed or authenticated."""
        self._anonymous.pop(connection, None)


class Connection(asyncio.Protocol):
    """One connection, between its transport and uvicorn's protocol."""

    http: H11Protocol

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._handshake: asyncio.Task[None] | None = None
        self._early = b""  # bytes received before the handshake task ended
        self._requests = 0  # in progress: one, or two while the first ends

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._connections.add_anonymous(self)
        self._start_timer()
        if self._connections.tls is None:
            self.http.connection_made(transport)
            return
        transport.pause_reading()
        self._handshake = asyncio.get_running_loop().create_task(self._start_tls(transport))

    async def _start_tls(self, transport: asyncio.Transport) -> None:
        """Do the handshake, then give uvicorn the encrypted transport."""
        assert self._connections.tls is not None
        try:
            found = await asyncio.get_running_loop().start_tls(
                transport, self, self._connections.tls,
                server_side=True, ssl_handshake_timeout=HEADER_SECONDS,
            )  # fmt: skip
        except (OSError, EOFError):  # not TLS, or closed meanwhile
            self.abort()
            return
        if found is None or self._transport is None:  # aborted or lost meanwhile
            self._transport = None
            return
        assert isinstance(found, asyncio.Transport)
        self._transport, self._handshake = found, None
        self.http.connection_made(found)
        if self._early:
            self.http.data_received(self._early)

    def data_received(self, data: bytes) -> None:
        if self._handshake is not None:
            self._early += data
        else:
            self.http.data_received(data)

    def eof_received(self) -> None:
        self.http.eof_received()

    def pause_writing(self) -> None:
        self.http.pause_writing()

    def resume_writing(self) -> None:
        self.http.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._connections.remove_anonymous(self)
        self._transport = None
        if self._handshake is None:
            self.http.connection_lost(exc)

    def begin_request(self) -> None:
        """Stop the timer: the headers of a request have arrived."""
        self._requests += 1
        self._stop_timer()

    def end_request(self) -> None:
        """Start the timer for the headers of the next request."""
        self._requests -= 1
        if self._transport is not None and not self._requests:
            self._start_timer()

    def set_authenticated(self, is_authenticated: bool) -> None:
        """Record whether the last request was authenticated."""
        if is_authenticated:
            self._connections.remove_anonymous(self)
        elif self._transport is not None:
            self._connections.add_anonymous(self)

    def abort(self) -> None:
        """Close the connection at once."""
        self._stop_timer()
        self._connections.remove_anonymous(self)
        if self._transport is not None:
            self._transport.abort()

    def _start_timer(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(HEADER_SECONDS, self.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
