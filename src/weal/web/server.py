"""The server of `weal serve`: uvicorn on one port, tokens, TLS, and a worker process."""

import os
import socket
import ssl
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn

from weal.store.protocol import Store, open_store
from weal.store.urls import DEFAULT_URL, read_name
from weal.web.access import Access
from weal.web.app import create_app
from weal.web.connections import Connections
from weal.web.job_context import read_only_store
from weal.web.job_runners import ChildProcessRunner
from weal.web.job_worker import Worker
from weal.web.middleware import LOOPBACK, AccessPolicy
from weal.web.server_folder import delete_old_uploads, server_folder
from weal.web.token import FILES, FULL, READ_ONLY, Principal, get_or_create_token

PORT = 8765
STORE_WAIT_SECONDS = 3.0  # for a store that cannot be reached
SHUTDOWN_SECONDS = 1  # for open pages when the server ends


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a server."""

    host: str = "127.0.0.1"
    port: int = PORT
    allowed: tuple[str, ...] = ()  # further host names
    certfile: Path | None = None
    keyfile: Path | None = None

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in LOOPBACK

    @property
    def url(self) -> str:
        """The URL without a token."""
        scheme = "https" if self.certfile else "http"
        host = self.host if self.is_local else (*self.allowed, self.host)[0]
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}/"


class Server:
    """A server whose socket is open; `run` serves until Ctrl-C."""

    def __init__(
        self, url: str | None, address: Address, read_only: bool = False, new_token: bool = False
    ) -> None:
        self.name = read_name(url)
        check_address(address)
        tls = _tls(address)
        opened = open_store(url, STORE_WAIT_SECONDS)
        self.store: Store = read_only_store(opened) if read_only else opened
        self._socket = _listen(address)
        port = self._socket.getsockname()[1]
        self.address = Address(
            address.host, port, address.allowed, address.certfile, address.keyfile
        )
        folder = server_folder(self.name)
        delete_old_uploads(folder)
        self._principal = READ_ONLY if read_only else FULL
        self.access = Access(folder)
        self.token = _tokens(folder, self.access, new_token)[self._principal]
        hosts = LOOPBACK | {name.lower() for name in address.allowed}
        policy = AccessPolicy(self.access, port, frozenset(hosts), read_only, tls is not None)
        worker = Worker(partial(ChildProcessRunner, _url_with_password(url), folder, read_only))
        self._connections = Connections(tls)
        self.app = create_app(self.store, policy=policy, folder=folder, worker=worker)

    @property
    def url(self) -> str:
        """The URL with the token, which logs in."""
        return f"{self.address.url}?token={self.token}"

    def one_time_url(self) -> str:
        """A URL that logs in once, within a minute: command lines and histories may show it."""
        return f"{self.address.url}?code={self.access.new_code(self._principal)}"

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
        }
        uvicorn.Server(uvicorn.Config(self.app, **config)).run(sockets=[self._socket])
        self.store.close()


def check_address(address: Address) -> None:
    """ValueError for an address that other machines reach without --allow-host, or half of TLS."""
    if not address.is_local and not address.allowed:
        raise ValueError(
            f"--host {address.host} accepts other machines: give the host name that their browsers "
            "will use with --allow-host (lab-pc.example.org)"
        )
    if bool(address.certfile) != bool(address.keyfile):
        raise ValueError("--certfile and --keyfile need each other: give both")


def _tokens(folder: Path, access: Access, new: bool) -> dict[Principal, str]:
    """The token of every principal; new tokens end all sessions, also on running servers."""
    found = {one: get_or_create_token(folder, new, one) for one in FILES}
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
