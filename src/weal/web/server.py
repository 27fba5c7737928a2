"""The server of `weal serve`: uvicorn on one port, tokens, TLS, and a worker process.

Connections have a time limit for headers and a cap on anonymous ones. uvicorn waits for headers for
ever. Here an idle connection has ten seconds to send the headers of its next request, the TLS
handshake included. A connection is anonymous until a request on it was authenticated. At most
`anonymous_limit()` anonymous connections are open, and a further one closes the oldest. So a flood
of half-open connections cannot use up the file descriptors of the process: a browser with a session
sends its cookie within milliseconds and is exempt from then on.

`Connection` sits between the transport and uvicorn's protocol and passes everything on. The app
finds it in the state of a request (`scope["state"]["connection"]`) and tells it when a request
begins and ends, and whether it was authenticated.
"""

import asyncio
import logging
import os
import re
import socket
import ssl
from dataclasses import dataclass, replace
from functools import partial
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from weal.logs import record
from weal.store.actors import FULL_ACCESS, READ_ONLY, Actor
from weal.store.protocol import Store, open_store
from weal.store.urls import DEFAULT_URL, read_name
from weal.web.access import (
    LOOPBACK,
    TOKEN_FILES,
    Access,
    AccessPolicy,
    get_or_create_token,
)
from weal.web.app import create_app
from weal.web.job_context import read_only_store
from weal.web.job_runners import ChildProcessRunner
from weal.web.job_worker import Worker
from weal.web.rate_limits import REQUESTS_PER_SECOND, request_limit
from weal.web.server_folder import delete_old_uploads, server_folder

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


PORT = 8765
STORE_WAIT_SECONDS = 3.0  # for a store that cannot be reached
SHUTDOWN_SECONDS = 1  # for open pages when the server ends
OWN_ADDRESSES = frozenset(
    (
        "api",
        "c",
        "healthz",
        "help",
        "login",
        "logout",
        "new",
        "sample",
        "static",
        "tokens",
        "who",
        "work",
    )
)
_ROOT_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)+")


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a server."""

    host: str = "127.0.0.1"
    port: int = PORT
    allowed: tuple[str, ...] = ()  # further host names
    certfile: Path | None = None
    keyfile: Path | None = None
    root_path: str = ""  # "/weal": the path below which a proxy serves it
    proxies: tuple[str, ...] = ()  # addresses whose X-Forwarded-* are believed
    rate: float = REQUESTS_PER_SECOND  # of a token or session; 0: no limit
    named_only: bool = False  # only tokens of the store are taken, and none is printed

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in LOOPBACK

    @property
    def reachable(self) -> str:
        """The URL for other machines; empty: only this one listens, or a proxy has another URL."""
        return "" if self.is_local or self.proxies else self.url

    @property
    def url(self) -> str:
        """The URL without a token."""
        scheme = "https" if self.certfile else "http"
        host = self.host if self.is_local else (*self.allowed, self.host)[0]
        place = f"[{host}]" if ":" in host else host
        return f"{scheme}://{place}:{self.port}{self.root_path}/"


class Server:
    """A server whose socket is open; `run` serves until Ctrl-C."""

    def __init__(
        self, url: str | None, address: Address, read_only: bool = False, new_token: bool = False
    ) -> None:
        self.name = read_name(url)
        check_address(address, new_token)
        tls = _tls(address)
        opened = open_store(url, STORE_WAIT_SECONDS)
        self.store: Store = read_only_store(opened) if read_only else opened
        self._socket = _listen(address)
        port = self._socket.getsockname()[1]
        self.address = replace(address, port=port)
        folder = server_folder(self.name)
        delete_old_uploads(folder)
        self._actor = READ_ONLY if read_only else FULL_ACCESS
        self.access = Access(folder, self.store, address.named_only)
        self.token = ""
        if not address.named_only:
            self.token = _tokens(folder, self.access, new_token)[self._actor]
        hosts = LOOPBACK | {name.lower() for name in address.allowed}
        policy = AccessPolicy(
            self.access, port, frozenset(hosts), read_only, tls is not None, address.root_path,
            request_limit(address.rate), reachable=self.address.reachable,
        )  # fmt: skip
        worker = Worker(partial(ChildProcessRunner, _url_with_password(url), folder, read_only))
        self._connections = Connections(tls)
        self.app = create_app(self.store, policy=policy, folder=folder, worker=worker)

    @property
    def url(self) -> str:
        """The URL with the token, which logs in; without one if only named tokens are taken."""
        return f"{self.address.url}?token={self.token}" if self.token else self.address.url

    def one_time_url(self) -> str:
        """A URL that logs in once, within a minute: command lines and histories may show it."""
        if not self.token:
            return self.address.url
        return f"{self.address.url}?code={self.access.new_code(self._actor)}"

    def has_tokens(self) -> bool:
        """Whether the store has a token that is valid now."""
        now = self.store.now()
        return any(one.state(now) == "valid" for one in self.store.tokens())

    def run(self) -> None:
        """Serve until Ctrl-C."""
        config: dict[str, Any] = {
            "log_level": "critical",
            "access_log": False,  # the first URL contains the token
            "http": self._connections.protocol,
            "loop": "asyncio",
            "backlog": self._connections.limit,
            "server_header": False,
            "timeout_graceful_shutdown": SHUTDOWN_SECONDS,
            "lifespan": "on",
            "ws": "none",
            "proxy_headers": bool(self.address.proxies),
            "forwarded_allow_ips": list(self.address.proxies),
        }
        # else Python prints its warnings on stderr, between the lines of the log
        logging.getLogger("python_multipart").addHandler(logging.NullHandler())
        record("web.server", "INFO", "serving", url=self.address.url, store=self.store.url)
        uvicorn.Server(uvicorn.Config(self.app, **config)).run(sockets=[self._socket])
        record("web.server", "INFO", "stopped", url=self.address.url)
        self.store.close()


def check_address(address: Address, new_token: bool = False) -> None:
    """ValueError for options that contradict each other, or that nobody could use safely."""
    if not address.is_local and not address.allowed:
        raise ValueError(
            f"--host {address.host} accepts other machines: give the host name that their browsers "
            "will use with --allow-host (lab-pc.example.org)"
        )
    if bool(address.certfile) != bool(address.keyfile):
        raise ValueError("--certfile and --keyfile need each other: give both")
    if address.named_only and new_token:
        raise ValueError(
            "--named-only has no shared token: leave out --new-token, or revoke tokens with `weal "
            "token revoke`"
        )
    if address.root_path:
        _check_root_path(address.root_path)
    for proxy in address.proxies:
        _check_proxy(proxy)


def _check_root_path(path: str) -> None:
    """ValueError unless the path can stand before every address of the server."""
    if not _ROOT_PATH.fullmatch(path) or ".." in path:
        raise ValueError(
            f"--root-path {path!r} is not a path: begin it with a slash and end it without one, "
            "such as /weal, of letters, digits, - . _ and ~"
        )
    if path.split("/")[1] in OWN_ADDRESSES:
        raise ValueError(
            f"--root-path {path!r} begins like an address of weal's own: choose another, such as "
            "/weal"
        )


def _check_proxy(proxy: str) -> None:
    """ValueError unless the proxy is an address or a network: one that names all is not named."""
    try:
        network = ip_network(proxy)
    except ValueError as error:
        raise ValueError(
            f"--proxy {proxy!r} is not an IP address or network: give that of the proxy, such as "
            "127.0.0.1"
        ) from error
    if not network.prefixlen:
        raise ValueError(
            f"--proxy {proxy!r} includes every address, so anyone could forge theirs: give that "
            "of the proxy, such as 127.0.0.1"
        )


def _tokens(folder: Path, access: Access, new: bool) -> dict[Actor, str]:
    """The token of every actor; new tokens end all sessions, also on running servers."""
    found = {one: get_or_create_token(folder, new, one) for one in TOKEN_FILES}
    if new:
        access.sessions.end_all()
    return found


def _tls(address: Address) -> ssl.SSLContext | None:
    """The TLS context of the certificate and key, or None."""
    if address.certfile is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(address.certfile, address.keyfile)
    except OSError as error:
        raise ValueError(
            f"{address.certfile} and {address.keyfile} are not a PEM certificate and its key "
            f"({error.args[-1]})"
        ) from error
    return context


def _url_with_password(url: str | None) -> str:
    """The URL of the store with its password, for the worker only."""
    return url or os.environ.get("WEAL_STORE") or DEFAULT_URL


def _listen(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # asyncio: no delay
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((address.host, address.port))
    except OSError as error:
        found.close()
        raise ValueError(
            f"port {address.port} of {address.host} is not available ({error.strerror}): is weal "
            "serve running already? Otherwise choose another with --port"
        ) from error
    found.listen(128)
    found.set_inheritable(False)
    return found
