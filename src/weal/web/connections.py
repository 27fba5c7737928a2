"""Connections of the server: a time limit for headers, and a cap on those without credentials.

uvicorn waits for headers without end. Here a connection that is not being answered has ten seconds
to send the headers of its next request, the TLS handshake included. A connection is anonymous until
a request on it was authenticated. At most `anonymous_limit()` anonymous connections are open, and a
further one closes the oldest. So a crowd of half-open connections cannot use up the files that the
process may open: whoever has a session sends its cookie within milliseconds of connecting, and is
exempt from then on.

`Connection` stands between the transport and uvicorn's own protocol, and passes everything on. The
app finds it in the state of a request (`scope["state"]["connection"]`), and tells it what it cannot
see: when a request begins and ends, and whether it was authenticated.
"""

import asyncio
import ssl
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0
MAX_ANONYMOUS = 256  # connections


def anonymous_limit() -> int:
    """How many anonymous connections may be open: a quarter of the files we may open, or fewer."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return MAX_ANONYMOUS
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_ANONYMOUS if files == resource.RLIM_INFINITY else min(MAX_ANONYMOUS, files // 4)


class Connections:
    """The connections of a server; `protocol` makes one, as uvicorn asks for it."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.tls = tls
        self.limit = anonymous_limit()  # also of those that are accepted in one go
        self._anonymous: dict[Connection, None] = {}  # the oldest first

    def protocol(self, app_state: dict[str, Any], **given: Any) -> "Connection":
        """A new connection, with uvicorn's protocol behind it."""
        found = Connection(self)
        state = {**app_state, "connection": found}
        found.http = H11Protocol(app_state=state, **given)
        return found

    def add_anonymous(self, connection: "Connection") -> None:
        """Count a connection as anonymous; the oldest is closed where there are too many."""
        self._anonymous[connection] = None
        while len(self._anonymous) > self.limit:
            next(iter(self._anonymous)).abort()

    def remove_anonymous(self, connection: "Connection") -> None:
        """A connection is closed, or known."""
        self._anonymous.pop(connection, None)


class Connection(asyncio.Protocol):
    """One connection, between its transport and uvicorn's protocol."""

    http: H11Protocol

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._handshake: asyncio.Task[None] | None = None
        self._early = b""  # what came between the end of the handshake and its task
        self._requests = 0  # being answered: one, or two while the first of them ends

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
        """The handshake; then uvicorn gets the encrypted transport."""
        assert self._connections.tls is not None
        try:
            found = await asyncio.get_running_loop().start_tls(
                transport, self, self._connections.tls,
                server_side=True, ssl_handshake_timeout=HEADER_SECONDS,
            )  # fmt: skip
        except (OSError, EOFError):  # no TLS, or closed meanwhile
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
        """The headers of a request have come."""
        self._requests += 1
        self._stop_timer()

    def end_request(self) -> None:
        """A request was answered: the next one has its time from now on."""
        self._requests -= 1
        if self._transport is not None and not self._requests:
            self._start_timer()

    def set_authenticated(self, is_authenticated: bool) -> None:
        """The last request came with a token or a session, or did not."""
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
